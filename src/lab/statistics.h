// SPDX-License-Identifier: MIT
/*
 * Designing experiments, and reading curves: Plackett-Burman designs (Biometrika 33, 1946) and
 * interpolation.
 */
#ifndef HP_LAB_STATISTICS_H
#define HP_LAB_STATISTICS_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>

#define HP_DESIGN_RUNS    64
#define HP_DESIGN_FACTORS 11

/* Which level each factor has in each run: +1 or -1. */
struct hp_design {
    size_t factors, runs;
    int level[HP_DESIGN_RUNS][HP_DESIGN_FACTORS];
};

/*
 * A Plackett-Burman design of 8 or 12 `runs`, for fewer factors than that; with `foldover` as many
 * again with all levels turned round, which keeps the effect of a factor apart from those of pairs.
 * What three factors do together is still mixed with the effects of others: of 8 runs whole, of 12
 * to a third. HP_ERR_INVALID: no such design.
 */
enum hp_err hp_design_plackett_burman(size_t factors, size_t runs, bool foldover,
                                      struct hp_design *design);

/* All combinations: run r has the high level of factor f when bit f of r is set. At most 6 factors.
 */
enum hp_err hp_design_full(size_t factors, struct hp_design *design);

/* The effect of each factor on the results, one a run: mean at its high level minus mean at its low
 * one. */
void hp_design_effects(const struct hp_design *design, const double *results, double *effects);

/* The rank of each of the n factors by the size of its effect: 1 the largest; equal ones by their
 * order. */
void hp_design_rank(const double *effects, size_t n, unsigned *ranks);

/*
 * The y at x on the line through n points in any order (sorted by x here; of points with the same x
 * the mean counts). NAN: x is outside of them, or there are none. Points with a NAN are left out.
 */
double hp_interpolate(const double *xs, const double *ys, size_t n, double x);

#endif
