// SPDX-License-Identifier: MIT
/*
 * The checker: a profiler that verifies the stream. It derives everything from the code map again,
 * independently of the cursor, so that a mistake in either shows.
 *
 * Invariants; breaking one is a violation:
 *   - a block starts where the block before says: at its target, after it, or anywhere after a
 *     computed transfer; `taken` says which
 *   - a block's addresses are in order, it has instructions, and its code decodes to exactly those,
 *     ending with its branch
 *   - signals and signal returns are balanced: no more returns than signals
 *   - nothing follows the end of a thread
 *
 * It also counts how calls and returns match, which programs may break (longjmp, coroutines).
 */
#ifndef HP_PROFILER_CHECK_H
#define HP_PROFILER_CHECK_H

#include "hotpath/profiler.h"

struct hp_check_stats {
    uint64_t transfers; /* checked */
    uint64_t blocks;    /* distinct, checked */
    uint64_t violations;
    uint64_t calls, returns;
    uint64_t matched_returns;   /* to where the latest open call expects it */
    uint64_t unwinding_returns; /* to an earlier open call */
    uint64_t losses, discontinuities, cuts, signals;
    uint64_t aborts; /* of restartable sequences; not a violation */
    char first[160]; /* the first violation, in words */
};

enum hp_err hp_check_new(struct hp_code *code, struct hp_profiler **profiler);

/* The findings so far. */
const struct hp_check_stats *hp_check_stats(const struct hp_profiler *profiler);

#endif
