// SPDX-License-Identifier: MIT
/*
 * Compares the exact loops with those of the slow reference. Leaves out what may differ by the
 * rules of docs/loops.md: which iterations belong to which execution of an irreducible loop, and
 * what depends on when a loop became known.
 */
#ifndef HP_TESTS_LOOP_JUDGE_H
#define HP_TESTS_LOOP_JUDGE_H

#include "loop_reference.h"

#include "profiler/exact/exact.h"

struct loop_verdict {
    const struct hp_code *code;
    const struct hp_exact_loop *exact;
    size_t n_exact;
    const struct loop_result *reference;
    size_t n_reference;
    struct hp_functions *exact_functions, *reference_functions;
    const struct hp_profile *profile; /* with the exact loops, not normalized */
    bool recursion; /* also compare the inclusive counts of loops in recursion, where the shadow
                       stack is reliable */
    uint64_t differences, full; /* found: differences, and loops of which everything was compared */
};

/* Fills in the last two. Prints the first differences. */
void loop_judge(struct loop_verdict *v);

/* One line about a loop of the reference. */
void loop_judge_print(const struct loop_verdict *v, const struct loop_result *loop);

#endif
