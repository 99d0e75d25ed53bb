// SPDX-License-Identifier: MIT
/*
 * What the best choice of code would cover: of all executed instructions the most frequent ones,
 * chosen when the run is over.
 */
#ifndef HP_LAB_HOTSPOTS_HINDSIGHT_H
#define HP_LAB_HOTSPOTS_HINDSIGHT_H

#include "hotpath/code.h"

/* A block, and how often it was executed. Blocks that end alike overlap. */
struct hp_lab_executed {
    uint64_t start, end;
    uint64_t count;
    uint32_t module, insns;
};

struct hp_lab_hindsight {
    struct hp_lab_executed *parts; /* that do not overlap, the most frequent first */
    size_t n;
    uint64_t insns;    /* static */
    uint64_t executed; /* instructions */
};

/* Changes the order of the blocks. HP_ERR_NOMEM. */
enum hp_err hp_lab_hindsight_init(struct hp_lab_hindsight *hindsight,
                                  struct hp_lab_executed *blocks, size_t n);
void hp_lab_hindsight_fini(struct hp_lab_hindsight *hindsight);

/* The most that `insns` static instructions have of the execution, in percent. */
double hp_lab_hindsight_best(const struct hp_lab_hindsight *hindsight, double insns);

#endif
