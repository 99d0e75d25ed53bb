// SPDX-License-Identifier: MIT
/*
 * How good a loop profiler is: what it reports beside the exact loops of the same run. The measures
 * are those of docs/lab.md.
 */
#ifndef HP_LAB_LOOPS_COMPARISON_H
#define HP_LAB_LOOPS_COMPARISON_H

#include "base/map64.h"
#include "hotpath/loop.h"
#include "profiler/exact/exact.h"

#define HP_LAB_TOP   10    /* loops that are compared */
#define HP_LAB_SHARE 0.001 /* of the execution that each of them has at least */
#define HP_LAB_SHORT 1024  /* bytes: a longer backward branch is not a short one */

/* An exact loop as it is compared. */
struct hp_lab_loop {
    /* Instructions of its blocks; not those of nested loops, not those of what it calls. */
    uint64_t own;
    uint64_t executions; /* in which it goes back */
    uint64_t back_edges;
    uint64_t header; /* address; of several one */
    uint32_t parent; /* HP_NO_ID: none */
    bool closed;     /* a back edge is a short backward branch */
    bool seen;       /* there is a short backward branch that stands for it */
    bool goes;       /* back at least once in an execution, on average */
    bool calls;      /* something is called from it, or from a loop nested in it */
};

struct hp_lab_closing; /* a back edge; private */

struct hp_lab_loops {
    struct hp_lab_loop *loops; /* as hp_exact_loops() has them */
    size_t n;
    uint64_t instructions; /* of the run */
    const struct hp_code *code;
    struct hp_lab_closing *closings;
    size_t n_closings;
    struct hp_map64 loop_at;  /* the innermost, by a block's start */
    struct hp_map64 block_of; /* the shortest that ends with this branch */
};

/* Keeps `code`. HP_ERR_NOMEM; `*loops` is empty then. */
enum hp_err hp_lab_loops_init(struct hp_lab_loops *loops, const struct hp_code *code,
                              const struct hp_exact_loop *exact, size_t n, uint64_t instructions);
void hp_lab_loops_fini(struct hp_lab_loops *loops);

/*
 * The index of the loop that a backward branch stands for; loops->n: none. The branch is a back
 * edge of it; or the branch is in it and in no loop nested in it, and it has no back edge that is a
 * short backward branch (it is entered in its midst), or `target` is its header.
 */
size_t hp_lab_loops_find(const struct hp_lab_loops *loops, uint64_t branch, uint64_t target);

/* Which loops the ten are chosen from. */
enum hp_lab_choice {
    HP_LAB_ANY,
    HP_LAB_HOT,  /* have HP_LAB_SHARE of the execution, and go back */
    HP_LAB_SEEN, /* of these: a short backward branch stands for them */
    HP_LAB_CALM, /* of these: nothing is called */
};

/* The ten with the most own instructions, that first; fewer when there are not that many. Of equals
 * the first one counts. Returns how many. */
size_t hp_lab_loops_top(const struct hp_lab_loops *loops, enum hp_lab_choice choice,
                        size_t top[HP_LAB_TOP]);

/* What a model says of an exact loop. */
struct hp_lab_said {
    double executions, iterations, instructions;
    bool reported;
};

struct hp_lab_report {
    struct hp_lab_said *said; /* one a loop */
    double all; /* sum of the instructions of all entries, also of those that are no loop */
    size_t heaviest[HP_LAB_TOP]; /* by instructions; loops->n: no loop */
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

/* `whole`: what a loop's instructions are a share of. */
void hp_lab_errors(const struct hp_lab_loops *loops, const struct hp_lab_report *report,
                   enum hp_lab_choice choice, double whole, struct hp_lab_errors *errors);

/* Percent of all instructions that are own ones of the loops that the report takes for the
 * heaviest; or of all it has. */
double hp_lab_captured(const struct hp_lab_loops *loops, const struct hp_lab_report *report);
double hp_lab_captured_all(const struct hp_lab_loops *loops, const struct hp_lab_report *report);

#endif
