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

/* The level of each factor in each run: +1 or -1. */
struct hp_design {
    size_t factors, runs;
    int level[HP_DESIGN_RUNS][HP_DESIGN_FACTORS];
};

/*
 * A Plackett-Burman design of 8 or 12 `runs`, for fewer factors than that; with `foldover` as many
 * again with all levels reversed, which separates the effect of a factor from those of pairs.
 * Effects of three factors together are still confounded with others: fully with 8 runs, to a third
 * with 12. HP_ERR_INVALID: no such design.
 */
enum hp_err hp_design_plackett_burman(size_t factors, size_t runs, bool foldover,
                                      struct hp_design *design);

/* All combinations: run r has the high level of factor f when bit f of r is set. At most 6 factors.
 */
enum hp_err hp_design_full(size_t factors, struct hp_design *design);

/* The effect of each factor on the results, one per run: mean at its high level minus mean at its
 * low one. */
void hp_design_effects(const struct hp_design *design, const double *results, double *effects);

/* The rank of each of the n factors by the size of its effect: 1: the largest; ties by order. */
void hp_design_rank(const double *effects, size_t n, unsigned *ranks);

/*
 * The y at x on the line through n points in any order (sorted by x here; points with the same x
 * are averaged). NAN: x is outside, or there are no points. Points with a NAN are left out.
 */
double hp_interpolate(const double *xs, const double *ys, size_t n, double x);

#endif
