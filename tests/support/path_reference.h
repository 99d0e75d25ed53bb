// SPDX-License-Identifier: MIT
/*
 * The slow reference of path detection: paths recomputed from the raw stream, a direct
 * implementation of the rules of docs/paths.md. A path is the list of the blocks retired along it
 * and of the outcomes it recorded; everything else is computed from these lists when it is
 * finished. It shares nothing with the detector it is compared with. It is for tests: it aborts
 * when memory runs out.
 */
#ifndef HP_TESTS_PATH_REFERENCE_H
#define HP_TESTS_PATH_REFERENCE_H

#include "hotpath/path.h"

/* A finished path, with everything known about it; valid in the callback only. */
struct reference_path {
    uint64_t start;
    uint32_t block;
    uint32_t length;
    const uint8_t *outcomes; /* `length` of them, in order */
    uint32_t n_targets;
    const uint64_t *targets;
    uint64_t insns;
    uint64_t events; /* saturated as the control register says */
    uint64_t began;  /* blocks that retired before it */
    bool definite;   /* because of an operation of its first branch, not because frames were lost,
                        or a path was full */
};

struct reference;

/* `frames` may be NULL. `found` is called for every finished path, in order. */
struct reference *reference_new(const struct hp_ppcr *ppcr, struct hp_frame_source *frames,
                                void (*found)(void *context, const struct reference_path *path),
                                void *context);
void reference_free(struct reference *r);

void reference_batch(struct reference *r, const struct hp_batch *batch);
void reference_event(struct reference *r, const struct hp_event *event);
const struct hp_detector_stats *reference_stats(const struct reference *r);

/* The presets, defined independently: "bl", "wpp", "extended-loop:N", "extended-call:N", "forward".
 * False: no such preset. */
bool reference_preset(const char *name, struct hp_ppcr *ppcr);

/* The path as the detector's struct; `targets` are those of the callback. */
struct hp_path reference_descriptor(const struct reference_path *path);

#endif
