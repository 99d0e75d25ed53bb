// SPDX-License-Identifier: MIT
/*
 * Estimates from samples, with 95 % intervals (ProfileMe, 5.1 and 5.2.3).
 *
 * The number of samples with a property is nearly Poisson distributed: they are rare and far apart.
 * The interval bounds the mean of that distribution. The exact bounds (Garwood, 1936) are quantiles
 * of the gamma distribution, for which Byar's approximation (that of Wilson and Hilferty) is good
 * from a count of 1 on (to 0.5 %, or 0.02 of a count). A sum of quantities, one per sample, is
 * bounded in the same way: by the bounds of the count with the same relative error, sum^2 /
 * squares, which need not be an integer (Fay and Feuer, 1997).
 */
#include "hotpath/sample.h"

#include <math.h>

#define Z        1.959963984540054  /* 97.5 % quantile of the normal distribution */
#define ZERO_TOP 3.6888794541139363 /* -ln 0.025: the upper bound for a count of 0 */

/* The quantile of a gamma distribution of this shape, z standard deviations from the mean of its
 * cubic root. */
static double byar(double shape, double z)
{
    double root = 1 - 1 / (9 * shape) + z / (3 * sqrt(shape));
    return root > 0 ? shape * root * root * root : 0;
}

static double count_low(double count)
{
    return count > 0 ? byar(count, -Z) : 0;
}

static double count_high(double count)
{
    return count > 0 ? byar(count + 1, Z) : ZERO_TOP;
}

struct hp_estimate hp_estimate_count(uint64_t k, double distance, double scale)
{
    double unit = distance * scale, count = (double)k;
    return (struct hp_estimate){count * unit, count_low(count) * unit, count_high(count) * unit};
}

struct hp_estimate hp_estimate_total(double sum, double squares, double distance, double scale)
{
    if (!(sum > 0) || !(squares > 0))
        return hp_estimate_count(0, distance, scale);
    double count = sum * sum / squares;             /* so many samples ... */
    double unit = squares / sum * distance * scale; /* ... of so much each */
    return (struct hp_estimate){sum * distance * scale, count_low(count) * unit,
                                count_high(count) * unit};
}

/* Wilson's interval. */
struct hp_estimate hp_estimate_share(uint64_t k, uint64_t n)
{
    if (!n)
        return (struct hp_estimate){0, 0, 1};
    double total = (double)n, share = (double)(k < n ? k : n) / total;
    double middle = share + Z * Z / (2 * total);
    double half = Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total));
    double below = 1 + Z * Z / total;
    double low = (middle - half) / below, high = (middle + half) / below;
    return (struct hp_estimate){share, k ? fmax(low, 0) : 0, k < n ? fmin(high, 1) : 1};
}

/*
 * A pair that contains the instruction, l cycles in progress and with u = 1 when the overlap is
 * useful, adds x = l C S / 2 - u W S; the total has the variance of the sum of x^2. Only the sums
 * of l and u are known, and the squares of few samples would not tell much either: latencies are
 * mostly short and rarely very long. So l is assumed to spread more than an exponential
 * distribution (squares: 3 L^2 / n instead of 2), u to be independent of it, and one overlap is
 * added, as in Byar's upper bound. On timings of real programs this interval contains the truth in
 * 84 to 100 %, one from the squares of the samples in 60 to 95 % (docs/instructions.md).
 */
#define SPREAD 3

struct hp_estimate hp_estimate_wasted(uint64_t progress, uint64_t useful, uint64_t pairs,
                                      uint64_t width, uint64_t window, double interval,
                                      double scale)
{
    double slots = (double)width * interval * scale / 2;
    double uses = (double)window * interval * scale;
    double cycles = (double)progress, overlaps = (double)useful;
    double value = cycles * slots - overlaps * uses;
    if (!pairs)
        return (struct hp_estimate){value, value, value};
    double mean = cycles / (double)pairs;
    double squares = SPREAD * mean * cycles * slots * slots + (overlaps + 1) * uses * uses -
                     2 * mean * slots * overlaps * uses;
    double half = Z * sqrt(fmax(squares, 0));
    return (struct hp_estimate){value, value - half, value + half};
}

/* The share of the 2 W instructions around it that retire near it equals the share of its pairs
 * that do: half of its pairs sample the W before it, half the W after it. */
struct hp_estimate hp_estimate_ipc(uint64_t near, uint64_t retired, uint64_t window,
                                   uint64_t cycles)
{
    struct hp_estimate share = hp_estimate_share(near, retired);
    double around = 2 * (double)window, span = 2 * (double)cycles + 1;
    return (struct hp_estimate){(share.value * around + 1) / span, (share.low * around + 1) / span,
                                (share.high * around + 1) / span};
}
