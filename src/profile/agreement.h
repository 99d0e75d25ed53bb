// SPDX-License-Identifier: MIT
/*
 * How far two ways of attributing time agree: the sum over all groups of instructions of the
 * smaller of their two shares. One minus this is the error of docs/instructions.md.
 */
#ifndef HP_PROFILE_AGREEMENT_H
#define HP_PROFILE_AGREEMENT_H

#include "hotpath/profile.h"

/* What instructions are taken together. */
enum hp_agreement_by {
    HP_AGREE_BY_INSN,
    HP_AGREE_BY_LINE, /* source line; without one: function */
    HP_AGREE_BY_FUNCTION,
    HP_AGREEMENTS
};
/* "instruction", "line", "function". */
const char *hp_agreement_by_name(enum hp_agreement_by by);

/* The group of each instruction, into groups[n_insns]: 0, 1, ...; their number. HP_ERR_NOMEM. */
enum hp_err hp_agreement_groups(const struct hp_profile *profile, enum hp_agreement_by by,
                                uint32_t *groups, uint32_t *n_groups);

/* 0 ... 1, of weights by instruction: 0 when one has none at all, 1 when both. HP_ERR_NOMEM. */
enum hp_err hp_agreement_of(const uint32_t *groups, size_t n_groups, const double *a,
                            const double *b, size_t n_insns, double *overlap);

#endif
