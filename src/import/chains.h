// SPDX-License-Identifier: MIT
/*
 * From samples and their call chains to functions and calling contexts.
 */
#ifndef HP_IMPORT_CHAINS_H
#define HP_IMPORT_CHAINS_H

#include "base/map64.h"
#include "base/tally64.h"
#include "hotpath/profile.h"
#include "import/samples.h"
#include "import/spaces.h"
#include "symbols/functions.h"

/* A function that was sampled, or that called one that was. */
struct hp_import_frame {
    uint32_t module;                /* of the code map; or one of the next two */
    uint64_t offset;                /* in it, where it begins; 0 where that is not known */
    const struct hp_symbol *symbol; /* NULL: none */
};
#define HP_FRAME_KERNEL  (HP_NO_ID - 1)
#define HP_FRAME_UNKNOWN (HP_NO_ID - 2) /* code in no file that is known */

struct hp_import_context {
    uint32_t parent; /* index; HP_NO_ID: none */
    uint32_t frame;
};

/* What the samples of a thread add up to. */
struct hp_import_weights {
    struct hp_tally64 self;      /* by context */
    struct hp_tally64 inclusive; /* by frame */
    struct hp_tally64 samples;   /* by the innermost frame: how many there are of it */
    struct hp_tally64 squares;   /* of what each stands for */
    uint64_t sum;
};

struct hp_import_chains {
    struct hp_import_spaces *spaces;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_import_frame *frames;
    size_t n_frames, cap_frames;
    struct hp_map64 *known; /* by view: address -> frame */
    size_t n_views;
    struct hp_import_context *contexts; /* a parent comes before its children */
    size_t n_contexts, cap_contexts;
    struct hp_map64 context_of;        /* (parent + 1) << 32 | frame */
    struct hp_import_weights *weights; /* by thread */
    size_t n_weights;
    bool chained;     /* a sample had a chain */
    uint64_t unknown; /* samples in code that is in no known file */
};

/* Keeps the pointers. */
enum hp_err hp_chains_new(struct hp_import_spaces *spaces, struct hp_code *code,
                          struct hp_functions *functions, struct hp_import_chains **chains);
void hp_chains_free(struct hp_import_chains *chains);

/* Takes a sample of a thread. HP_ERR_NOMEM. */
enum hp_err hp_chains_add(struct hp_import_chains *chains, uint32_t thread,
                          struct hp_perf_sampled *sample);

/*
 * Adds what was found of a thread to the profile, whose modules are those of the code map: its
 * contexts, and without `counted` its functions. `index`: the thread's in the profile. With
 * `counted` its instructions are known, and the contexts are made to add up to them; without they
 * become what the samples add up to. HP_ERR_NOMEM.
 */
enum hp_err hp_chains_finish(struct hp_import_chains *chains, uint32_t thread, uint32_t index,
                             bool counted, struct hp_profile *profile);

#endif
