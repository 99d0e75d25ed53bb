// SPDX-License-Identifier: MIT
/*
 * The loop profiler "ranges": our own (docs/better.md). A loop is a range of addresses, from the
 * lowest target of its backward branches to the highest of these branches, and the place where it
 * is entered: its head.
 *
 * It sees every retired run: the instructions from `start`, where control arrived, to the branch at
 * `address`. A loop is *on* from the first run that ends in its range until its activation returns,
 * or branches back to below the range. Calls are counted: a callee is another activation. A run of
 * the head while the loop is on is an iteration; the first one makes it an execution. Instructions
 * count for the smallest loop that contains them.
 */
#ifndef HP_PROFILER_LOOP_RANGES_H
#define HP_PROFILER_LOOP_RANGES_H

#include "hotpath/code.h"
#include "hotpath/loop.h"

#define HP_RANGES_MAX      64   /* entries */
#define HP_RANGES_CURRENT  1023 /* iterations that a loop counts itself while it is on */
#define HP_RANGES_INSNS    40   /* bits of the instructions charged at once */
#define HP_RANGES_ASIDE    16   /* bits of the instructions kept aside */
#define HP_RANGES_EXPONENT 5    /* bits */
#define HP_RANGES_CHANGES  16   /* of ranges that are remembered */

/* A number as mantissa and exponent; what addition loses is rounded at random. */
struct hp_ranges_float {
    uint32_t mantissa;
    uint8_t exponent;
};

struct hp_ranges_slot {
    uint64_t low, high; /* first instruction, and the last that branches back to it */
    uint64_t head;
    struct hp_ranges_float executions, iterations, instructions;
    uint8_t trust; /* how much more often it was entered at its head than elsewhere, at most 15 */
    bool used;
    bool shunned; /* found not to be a loop */
};

/* A loop that is on. */
struct hp_ranges_live {
    uint32_t slot;
    uint32_t current; /* iterations not yet in the slot */
    uint32_t calls;   /* open ones, up to the next one's activation */
    bool counted;     /* as an execution */
    bool many;        /* it had HP_RANGES_CURRENT iterations */
};

/* What a unit of the code map does when nothing changes: see hp_loop_ranges_steps(). */
struct hp_ranges_plan {
    uint64_t first, top; /* all its addresses, and where it may branch to at its end */
    uint64_t slots;      /* whose ranges contain the ends of its runs */
    uint64_t lowest;     /* of the targets of inner backward branches */
    uint64_t low;        /* where it may branch back to at its end */
    uint64_t fall;       /* where it falls through to at its end */
    uint64_t from, to;   /* last inner forward branch; to: 0: none */
    uint32_t generation;
    uint32_t insns;
    uint16_t home;  /* the smallest of the slots, the same for all runs; HP_RANGES_MAX: none */
    uint16_t heads; /* runs of its head */
    uint16_t backs; /* inner backward branches */
    bool simple;    /* else only `generation` is valid */
};

/* A range that was or is there has changed, or its head; for the generation that begins with it. */
struct hp_ranges_change {
    uint64_t low, high;
};

/* The ranges that contain the end of a block. */
struct hp_ranges_block {
    uint64_t slots;
    uint32_t generation;
};

struct hp_loop_ranges {
    struct hp_loop_config config;
    struct hp_loop_stats *stats;
    struct hp_ranges_slot slots[HP_RANGES_MAX];
    struct hp_ranges_live *live; /* `contexts` of them, the latest last */
    size_t n_live;
    uint64_t frame;     /* slots that are on in this activation */
    uint64_t frame_low; /* the highest low of these */
    uint64_t steady;    /* those of them whose instructions count once */
    size_t frame_first; /* the first of live[] in this activation */
    uint32_t charged;   /* the slot that gets `insns`; HP_NO_ID: none */
    uint64_t insns;     /* not yet in the slot */
    uint32_t aside;     /* instructions outside all ranges, since the activation was in one */
    uint64_t jump_from, jump_to; /* the last forward branch */
    uint64_t next;               /* the target of the last branch */
    uint32_t random;
    uint32_t generation; /* of ranges and heads; more than HP_RANGES_CHANGES */
    struct hp_ranges_change changes[HP_RANGES_CHANGES]; /* the last ones */
    struct hp_ranges_plan *plans;                       /* of units */
    size_t cap_plans;
    struct hp_ranges_block *blocks;
    size_t cap_blocks;
};

/* Counts in `*stats`. HP_ERR_NOMEM. */
enum hp_err hp_loop_ranges_new(const struct hp_loop_config *config, struct hp_loop_stats *stats,
                               struct hp_loop_ranges **ranges);
void hp_loop_ranges_free(struct hp_loop_ranges *ranges);

/* A retired run and the branch that ends it. */
void hp_loop_ranges_branch(struct hp_loop_ranges *ranges, const struct hp_branch *branch);

/* An activation begins without a call: a signal handler's. */
void hp_loop_ranges_call(struct hp_loop_ranges *ranges);

/* The same for `n` steps: without steps[n], except its inner runs. HP_ERR_NOMEM. */
enum hp_err hp_loop_ranges_steps(struct hp_loop_ranges *ranges, const struct hp_code *code,
                                 const struct hp_step *steps, size_t n);

/* The loops it knows: at most `entries`, unordered. Loops with the same head are one. */
size_t hp_loop_ranges_entries(const struct hp_loop_ranges *ranges, struct hp_loop_entry *entries);

/* Its total size in bits. */
uint64_t hp_loop_ranges_bits(const struct hp_loop_config *config);

/* Whether it ever iterated since it has its slot. What did not may be no loop: instructions there
 * belong to what is around it. */
static inline bool hp_loop_ranges_is_loop(const struct hp_ranges_slot *slot)
{
    return slot->executions.mantissa != 0;
}

/* For ranges_steps.c: the slots whose range contains an address; a run that ends in these; the
 * transfer after it, `depth` is 1 for a call, -1 for a return. */
uint64_t hp_loop_ranges_find(const struct hp_loop_ranges *ranges, uint64_t address);
void hp_loop_ranges_run(struct hp_loop_ranges *ranges, uint64_t slots, uint64_t start,
                        uint64_t address, uint32_t insns);
void hp_loop_ranges_transfer(struct hp_loop_ranges *ranges, uint64_t address, uint64_t target,
                             uint8_t flow, int depth);

/* Charges instructions to a slot in which nothing begins, with those kept aside. HP_RANGES_MAX:
 * they are outside all ranges. */
void hp_loop_ranges_charge(struct hp_loop_ranges *ranges, uint32_t slot, uint32_t insns);

#endif
