// SPDX-License-Identifier: MIT
/*
 * How far two ways of attributing time agree: the sum over all groups of instructions of the smaller of their two shares. One minus this is
 * the error of docs/instructions.md.
 */
#ifndef HP_PROFILER_CYCLES_OVERLAP_H
#define HP_PROFILER_CYCLES_OVERLAP_H

#include "hotpath/profile.h"

/* What instructions are taken together. */
enum hp_overlap_by {
    HP_OVERLAP_INSN,
    HP_OVERLAP_LINE, /* source line; without one: function */
    HP_OVERLAP_FUNCTION,
    HP_OVERLAPS
};
/* "instruction", "line", "function". */
const char *hp_overlap_by_name(enum hp_overlap_by by);

/* The group of each instruction of the profile, into groups[n_insns]: 0, 1, ...; how many there are. HP_ERR_NOMEM. */
enum hp_err hp_overlap_groups(const struct hp_profile *profile, enum hp_overlap_by by,
                              uint32_t *groups, uint32_t *n_groups);

/* In 0 ... 1; of weights by instruction. 0 when one has no weight at all, 1 when both have none. HP_ERR_NOMEM. */
enum hp_err hp_overlap_of(const uint32_t *groups, uint32_t n_groups, const uint64_t *a,
                          const uint64_t *b, size_t n_insns, double *overlap);

#endif
