// SPDX-License-Identifier: MIT
/*
 * What samples show of things, to know how sure an estimate is: of each thing in how many samples
 * it is, the sum over them, and the sum of squares.
 */
#ifndef HP_IMPORT_SHOWN_H
#define HP_IMPORT_SHOWN_H

#include "base/map64.h"
#include "import/stretches.h"
#include "profiler/path/path_index.h"
#include "profiler/result.h"

struct hp_shown_item {
    uint32_t sample;                /* the latest that it is in, + 1 */
    uint64_t now;                   /* in that one */
    uint64_t samples, sum, squares; /* in those before */
};

/* By index. All zero is an empty one. */
struct hp_shown {
    struct hp_shown_item *items;
    size_t n, capacity;
};

void hp_shown_fini(struct hp_shown *shown);

/* The sample shows so much of an item. Samples come one after the other. HP_ERR_NOMEM. */
enum hp_err hp_shown_add(struct hp_shown *shown, uint32_t item, uint32_t sample, uint64_t amount);

/* After the last sample: what they show of an item; false: nothing. `out->item` is unchanged. */
bool hp_shown_get(const struct hp_shown *shown, uint32_t item, struct hp_psamples *out);

/* Adds to the profile, which has the code, what the stretches show of its functions, blocks and
 * edges. HP_ERR_NOMEM. */
enum hp_err hp_shown_code(struct hp_import_stacks *stacks, struct hp_result *result);

/* A receiver of finished paths, which notes them of the sample that is being shown. */
struct hp_shown_paths {
    struct hp_path_sink sink; /* first */
    const uint32_t *sample;
    struct hp_path_index index;
    struct hp_path_count *all;
    size_t n, capacity;
    struct hp_shown shown; /* by index in `all` */
    enum hp_err err;       /* HP_ERR_NOMEM: memory ran out */
};

void hp_shown_paths_init(struct hp_shown_paths *paths, const uint32_t *sample);
void hp_shown_paths_fini(struct hp_shown_paths *paths);

/* Adds to the profile what was shown of the paths that the profiler added to it, from row `first`
 * on. HP_ERR_NOMEM. */
enum hp_err hp_shown_paths_finish(struct hp_shown_paths *paths, const struct hp_profiler *profiler,
                                  uint32_t first, struct hp_profile *profile);

#endif
