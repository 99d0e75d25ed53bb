// SPDX-License-Identifier: MIT
/*
 * How good a loop profiler is: compares its report with the exact loops of the same run. The
 * measures are those of docs/lab.md.
 */
#ifndef HP_LAB_LOOPS_COMPARISON_H
#define HP_LAB_LOOPS_COMPARISON_H

#include "base/map64.h"
#include "hotpath/loop.h"
#include "profiler/exact/exact.h"

#define HP_LAB_TOP   10    /* loops compared */
#define HP_LAB_SHARE 0.001 /* the minimum share of the execution of each of them */
#define HP_LAB_SHORT 1024  /* bytes: a backward branch this long or longer is not short */

/* An exact loop for the comparison. */
struct hp_lab_loop {
    /* Instructions of its blocks, without those of nested loops and callees. */
    uint64_t own;
    uint64_t executions; /* only those that go back */
    uint64_t back_edges;
    uint64_t header; /* address; one of several */
    uint32_t parent; /* HP_NO_ID: none */
    bool closed;     /* a back edge is a short backward branch */
    bool seen;       /* some short backward branch stands for it */
    bool goes;       /* on average at least one back edge per execution */
    bool calls;      /* something is called from it, or from a loop nested in it */
};

struct hp_lab_closing; /* a back edge; private */

struct hp_lab_loops {
    struct hp_lab_loop *loops; /* in the order of hp_exact_loops() */
    size_t n;
    uint64_t instructions; /* of the run */
    const struct hp_code *code;
    struct hp_lab_closing *closings;
    size_t n_closings;
    struct hp_map64 loop_at;  /* the innermost, by a block's start */
    struct hp_map64 block_of; /* the shortest one that ends with this branch */
};

/* Keeps `code`. HP_ERR_NOMEM; `*loops` is empty then. */
enum hp_err hp_lab_loops_init(struct hp_lab_loops *loops, const struct hp_code *code,
                              const struct hp_exact_loop *exact, size_t n, uint64_t instructions);
void hp_lab_loops_fini(struct hp_lab_loops *loops);

/*
 * The index of the loop that a backward branch stands for; loops->n: none. Either the branch is a
 * back edge of it. Or the branch is in it, but in no loop nested in it, and `target` is its header
 * or it has no back edge that is a short backward branch (it is entered in the middle).
 */
size_t hp_lab_loops_find(const struct hp_lab_loops *loops, uint64_t branch, uint64_t target);

/* Which loops the ten are chosen from. */
enum hp_lab_choice {
    HP_LAB_ANY,
    HP_LAB_HOT,  /* have HP_LAB_SHARE of the execution, and go back */
    HP_LAB_SEEN, /* of these: those that a short backward branch stands for */
    HP_LAB_CALM, /* of these: those without calls */
};

/* The ten with the most own instructions, heaviest first; fewer if there are not that many. Ties go
 * to the first one. Returns how many. */
size_t hp_lab_loops_top(const struct hp_lab_loops *loops, enum hp_lab_choice choice,
                        size_t top[HP_LAB_TOP]);

/* What a model reports about an exact loop. */
struct hp_lab_said {
    double executions, iterations, instructions;
    bool reported;
    bool named; /* an entry has its header */
};

struct hp_lab_report {
    struct hp_lab_said *said; /* one per loop */
    double all; /* sum of the instructions of all entries, including those that are not a loop */
    size_t heaviest[HP_LAB_TOP]; /* by instructions; loops->n: not a loop */
    size_t n_heaviest;
};

/* HP_ERR_NOMEM; `*report` is empty then. */
enum hp_err hp_lab_report_init(struct hp_lab_report *report, const struct hp_lab_loops *loops,
                               const struct hp_loop_entry *entries, size_t n);
void hp_lab_report_fini(struct hp_lab_report *report);

/* Percent; NAN without a loop. */
struct hp_lab_errors {
    double iterations, executions, time;
};

/* `whole`: the total for the shares of the loops' instructions. */
void hp_lab_errors(const struct hp_lab_loops *loops, const struct hp_lab_report *report,
                   enum hp_lab_choice choice, double whole, struct hp_lab_errors *errors);

/* The share, in percent of all instructions, of the own instructions of those loops that the report
 * considers heaviest; or of all its loops. */
double hp_lab_captured(const struct hp_lab_loops *loops, const struct hp_lab_report *report);
double hp_lab_captured_all(const struct hp_lab_loops *loops, const struct hp_lab_report *report);

#endif
