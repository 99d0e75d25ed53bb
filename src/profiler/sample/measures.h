// SPDX-License-Identifier: MIT
/*
 * Measures of overlap beside the paper's own (ProfileMe, 5.2.4), by instruction: sums over the
 * pairs that it is part of, both ways round; and the same apart for loads that hit, and that
 * missed.
 */
#ifndef HP_PROFILER_SAMPLE_MEASURES_H
#define HP_PROFILER_SAMPLE_MEASURES_H

#include "hotpath/profile.h"
#include "hotpath/sample.h"

#define HP_MEASURES 3 /* useful, around, busy */

struct hp_measures_row {
    struct hp_measure_sum {
        uint64_t pairs, sum, squares;
    } sums[2][HP_MEASURES]; /* all, or those that hit; those that missed */
};

struct hp_measures {
    bool on[HP_MEASURES];
    bool split;
    uint32_t unit; /* of `busy`; HP_UNITS: any */
    struct hp_measures_row *rows;
    size_t n, cap;
};

void hp_measures_init(struct hp_measures *measures, const struct hp_sample_config *config);
void hp_measures_fini(struct hp_measures *measures);
bool hp_measures_on(const struct hp_measures *measures);

/* A sample, of the instruction with this row, and the other one of its pair. HP_ERR_NOMEM. */
enum hp_err hp_measures_add(struct hp_measures *measures, size_t row, const struct hp_sample *it,
                            const struct hp_sample *other, int64_t later);

/* Adds what is known of a row to the profile, as that of one of its instructions. HP_ERR_NOMEM. */
enum hp_err hp_measures_write(const struct hp_measures *measures, size_t row, uint32_t insn,
                              const char *seen, struct hp_profile *profile);

#endif
