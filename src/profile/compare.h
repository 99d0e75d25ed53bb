// SPDX-License-Identifier: MIT
/*
 * What the parts of comparing profiles share.
 */
#ifndef HP_PROFILE_COMPARE_H
#define HP_PROFILE_COMPARE_H

#include "profile/profile_impl.h"

/* hp_comparison_free() finds the strings behind the public part. */
struct hp_comparison_own {
    struct hp_comparison public;
    struct hp_strings strings;
};

struct hp_compare {
    const struct hp_profile *a, *b;
    /* Modules of both in one numbering: those of A keep their index, a module of B has that of the
     * same module of A, or one that A does not have. */
    uint32_t *of_b;
    bool *in_b; /* of the modules of A */
    struct hp_comparison_own *result;
};

/* A module in the common numbering; `modules`: NULL for A, of_b for B. */
static inline uint32_t hp_compare_module(const uint32_t *modules, uint32_t module)
{
    return modules && module != HP_PROFILE_NONE ? modules[module] : module;
}

/* The smaller of two shares, times both totals. */
static inline unsigned __int128 hp_smaller_share(uint64_t a, uint64_t total_a, uint64_t b,
                                                 uint64_t total_b)
{
    unsigned __int128 x = (unsigned __int128)a * total_b, y = (unsigned __int128)b * total_a;
    return x < y ? x : y;
}

static inline double hp_overlap_percent(unsigned __int128 sum, uint64_t total_a, uint64_t total_b)
{
    if (total_a == 0 || total_b == 0)
        return total_a == total_b ? 100.0 : 0.0;
    double part = (double)((long double)sum / (long double)((unsigned __int128)total_a * total_b));
    /* Only totals that do not fit 64 bits could give more. */
    return part > 1.0 ? 100.0 : part * 100.0;
}

/* Overlaps of what is at a place: blocks or edges, paths (into the comparison's kinds), loops.
 * HP_ERR_NOMEM. */
enum hp_err hp_compare_code(struct hp_compare *compare, bool edges, double *overlap);
enum hp_err hp_compare_paths(struct hp_compare *compare, bool by_insns);
enum hp_err hp_compare_loops(struct hp_compare *compare, bool by_insns, double *overlap);

#endif
