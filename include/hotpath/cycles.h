// SPDX-License-Identifier: MIT
/*
 * Where the cycles went: every cycle of a core is attributed to the instruction responsible for it,
 * with a cause (time-proportional attribution: Gottschall, Eeckhout, Jahre, "TIP", MICRO 2021).
 * docs/instructions.md has the rules.
 */
#ifndef HOTPATH_CYCLES_H
#define HOTPATH_CYCLES_H

#include "hotpath/pipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A cycle is this many parts. It can be divided without remainder among the instructions (up to 16)
 * that retire in it. */
#define HP_CYCLE_PARTS 720720

/* Whole cycles, rounded. */
static inline uint64_t hp_cycles_of(uint64_t parts)
{
    return (parts + HP_CYCLE_PARTS / 2) / HP_CYCLE_PARTS;
}

enum hp_cause {
    HP_CAUSE_RETIRE, /* instructions retire: each has an equal share */
    /* The oldest instruction is not done: */
    HP_CAUSE_EXECUTE, /* it is being executed, no load */
    HP_CAUSE_UNIT,    /* it waits to be issued */
    HP_CAUSE_L1,      /* its load is served by the L1, or a store in flight */
    HP_CAUSE_L2,
    HP_CAUSE_L3,
    HP_CAUSE_MEMORY,
    HP_CAUSE_DTLB,    /* L1, but the page was missing */
    HP_CAUSE_BLOCKED, /* L1, but its load had to wait for an older store and began late */
    HP_CAUSE_QUEUE,   /* it is done; the branch queue is full */
    /* There is no oldest instruction: */
    HP_CAUSE_MISPREDICT, /* the last one retired, a mispredicted branch, is responsible */
    HP_CAUSE_TRAP,       /* the next one to retire, aborted by a trap before, is responsible */
    HP_CAUSE_L1I,        /* the next one was late, because its line was missing */
    HP_CAUSE_ITLB,       /* or its page */
    HP_CAUSE_FETCH, /* or for another reason: taken branches, BTB, the end of a line, the length of
                       the front end */
    /* Either: */
    HP_CAUSE_SERIAL, /* it was fetched, but waited to run alone, or for one that does, and began
                        late */
    HP_CAUSES
};
/* "retire", "execute", "unit", "l1", "l2", "l3", "memory", "dtlb", "blocked", "queue",
 * "mispredict", "trap", "l1i", "itlb", "fetch", "serial". */
const char *hp_cause_name(enum hp_cause cause);

/* Ways to attribute time to instructions. */
enum hp_attribution {
    HP_ATTRIBUTE_EXACT,     /* the above */
    HP_ATTRIBUTE_PROFILEME, /* an instruction sampled at fetch, weighed by its latency from fetch to
                               retire ready */
    HP_ATTRIBUTE_DISPATCH,  /* a cycle goes to the instruction that is mapped next (AMD IBS, Arm
                               SPE); to none when that aborts */
    HP_ATTRIBUTE_NEXT,      /* a cycle goes to the instruction that retires next (Intel PEBS) */
    HP_ATTRIBUTIONS
};
/* "exact", "profileme", "dispatch", "next". */
const char *hp_attribution_name(enum hp_attribution kind);

#ifdef __cplusplus
}
#endif
#endif
