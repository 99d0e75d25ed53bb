// SPDX-License-Identifier: MIT
#include "lab/statistics.h"

#include <math.h>

/* The first rows of the designs; the others are these, each rotated by one more, and one with all
 * low. */
static const int row_of_8[7] = {1, 1, 1, -1, 1, -1, -1};
static const int row_of_12[11] = {1, 1, -1, 1, 1, 1, -1, -1, -1, 1, -1};

enum hp_err hp_design_plackett_burman(size_t factors, size_t runs, bool foldover,
                                      struct hp_design *design)
{
    if ((runs != 8 && runs != 12) || factors < 1 || factors >= runs)
        return hp_fail(HP_ERR_INVALID, "there is no design of %zu runs for %zu factors", runs,
                       factors);
    const int *row = runs == 8 ? row_of_8 : row_of_12;
    *design = (struct hp_design){.factors = factors, .runs = foldover ? 2 * runs : runs};
    for (size_t r = 0; r < runs; r++)
        for (size_t f = 0; f < factors; f++) {
            int level = r + 1 < runs ? row[(f + runs - 1 - r) % (runs - 1)] : -1;
            design->level[r][f] = level;
            if (foldover)
                design->level[runs + r][f] = -level;
        }
    return HP_OK;
}

enum hp_err hp_design_full(size_t factors, struct hp_design *design)
{
    if (factors < 1 || factors > 6)
        return hp_fail(HP_ERR_INVALID, "all combinations of 1 to 6 factors, not of %zu", factors);
    *design = (struct hp_design){.factors = factors, .runs = (size_t)1 << factors};
    for (size_t r = 0; r < design->runs; r++)
        for (size_t f = 0; f < factors; f++)
            design->level[r][f] = r >> f & 1 ? 1 : -1;
    return HP_OK;
}

void hp_design_effects(const struct hp_design *design, const double *results, double *effects)
{
    for (size_t f = 0; f < design->factors; f++) {
        double sum = 0;
        for (size_t r = 0; r < design->runs; r++)
            sum += design->level[r][f] * results[r];
        effects[f] = sum / ((double)design->runs / 2);
    }
}

void hp_design_rank(const double *effects, size_t n, unsigned *ranks)
{
    for (size_t i = 0; i < n; i++) {
        ranks[i] = 1;
        for (size_t k = 0; k < n; k++)
            if (fabs(effects[k]) > fabs(effects[i]) ||
                (k < i && fabs(effects[k]) >= fabs(effects[i])))
                ranks[i]++;
    }
}

/* The nearest point at or below x (above: at or above it), and the mean of the ys there. */
static bool nearest(const double *xs, const double *ys, size_t n, double x, bool above,
                    double *near_x, double *near_y)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        bool there = !isnan(ys[i]) && (above ? xs[i] >= x : xs[i] <= x);
        if (!there || (count && (above ? xs[i] > *near_x : xs[i] < *near_x)))
            continue;
        if (!count || (above ? xs[i] < *near_x : xs[i] > *near_x)) {
            *near_x = xs[i];
            sum = 0;
            count = 0;
        }
        sum += ys[i];
        count++;
    }
    *near_y = count ? sum / (double)count : NAN;
    return count > 0;
}

double hp_interpolate(const double *xs, const double *ys, size_t n, double x)
{
    double x0, y0, x1, y1;
    if (!nearest(xs, ys, n, x, false, &x0, &y0) || !nearest(xs, ys, n, x, true, &x1, &y1))
        return NAN;
    return x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y0;
}
