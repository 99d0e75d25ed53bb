// SPDX-License-Identifier: MIT
/*
 * Counts the Ball-Larus paths of one function in one thread's stream, as an instrumented program
 * would: each frame has a register, which changes only on the chords of the spanning tree, and a
 * counter is incremented where a path ends.
 */
#ifndef HOTPATH_NUMBERED_H
#define HOTPATH_NUMBERED_H

#include "hotpath/cfg.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hp_numbered_count {
    uint64_t number;
    uint64_t count;
};

struct hp_numbered_stats {
    uint64_t entered;    /* times the function was entered */
    uint64_t paths;      /* finished */
    uint64_t unfinished; /* open at the end, or left by a longjmp, an exception, a loss */
    uint64_t unknown;    /* given up: the graph does not have the edge that was taken */
    uint64_t edges;      /* of the graph that were executed */
    uint64_t chords;     /* ... that changed the register */
};

struct hp_numbered;

/* Keeps the pointers. */
HP_MUST_CHECK enum hp_err hp_numbered_new(const struct hp_cfg *cfg,
                                          const struct hp_numbering *numbering,
                                          struct hp_numbered **numbered);
void hp_numbered_free(struct hp_numbered *numbered);

void hp_numbered_batch(struct hp_numbered *numbered, const struct hp_batch *batch);
void hp_numbered_event(struct hp_numbered *numbered, const struct hp_event *event);

/* HP_ERR_NOMEM: some counts are missing. Counts are in the order of first execution. */
HP_MUST_CHECK enum hp_err hp_numbered_check(const struct hp_numbered *numbered);
const struct hp_numbered_count *hp_numbered_counts(const struct hp_numbered *numbered, size_t *n);
const struct hp_numbered_stats *hp_numbered_stats(const struct hp_numbered *numbered);

#ifdef __cplusplus
}
#endif
#endif
