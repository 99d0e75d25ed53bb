// SPDX-License-Identifier: MIT
/*
 * NET with a clock: a head is hot by its rate, not by its count. See docs/better.md.
 *
 * With NET every head that is reached often enough becomes hot eventually, however slowly. But hot
 * means a share of the execution (one path in a thousand), not a number. Here time is divided into
 * epochs, and a head must exceed the delay within one: counts of earlier epochs are dropped. An
 * epoch has WINDOW executions of paths (any paths, predicted or not: the clock) for each required
 * count, so what is slower than one in WINDOW is never predicted. The required count grows with the
 * running time of the program, one in GROWTH executions: the later a path appears, the more
 * executions it needs to be hot in the end, so the more evidence is required.
 *
 * It has as many counters as NET, each in one word of 32 bits: the count and the number of its
 * epoch, modulo 16, so that nothing has to be swept. (A head not reached for exactly 16 epochs
 * continues from its old count: rare, and harmless.)
 *
 * Operations: as NET's.
 */
#include "base/grow.h"
#include "profiler/predict/scheme.h"

#include <stdlib.h>

#define WINDOW     700   /* executions for each count: hot is more than one in 1000 */
#define GROWTH     20000 /* executions until the required count grows by one */
#define COUNT_BITS 28
#define COUNT_MASK ((1u << COUNT_BITS) - 1)
#define MAX_COUNT  (COUNT_MASK - 2) /* the highest required count */

struct net_rate {
    struct hp_scheme base; /* first */
    uint32_t delay;
    uint32_t threshold; /* of this epoch */
    uint32_t epoch;     /* its number, in the bits above the count */
    uint64_t end;       /* of the epoch, by the clock */
    uint32_t *words;    /* by head: epoch and 1 + the count; 0: never counted */
    size_t cap_words;
    struct hp_scheme_cost cost;
};

static enum hp_err net_rate_grow(struct hp_scheme *scheme, size_t n_paths, size_t n_heads)
{
    struct net_rate *net = (struct net_rate *)scheme;
    (void)n_paths;
    return hp_grow(&net->words, &net->cap_words, n_heads, sizeof *net->words);
}

static void begin_epoch(struct net_rate *net, uint64_t flow)
{
    uint64_t threshold = net->delay + flow / GROWTH;
    net->threshold = threshold < MAX_COUNT ? (uint32_t)threshold : MAX_COUNT;
    net->epoch += 1u << COUNT_BITS;
    net->end = flow + WINDOW * ((uint64_t)net->threshold + 1);
}

static bool net_rate_profile(struct hp_scheme *scheme, const struct hp_flow_step *step)
{
    struct net_rate *net = (struct net_rate *)scheme;
    uint32_t *word = &net->words[step->head];
    if (step->flow >= net->end)
        begin_epoch(net, step->flow);
    net->cost.counters += *word == 0;
    net->cost.operations++;
    if (*word == 0 || (*word & ~COUNT_MASK) != net->epoch)
        *word = net->epoch | 1;
    *word += 1;
    if ((*word & COUNT_MASK) - 1 <= net->threshold)
        return false;
    net->cost.operations += step->length;
    *word = net->epoch | 1;
    return true;
}

static struct hp_scheme_cost net_rate_cost(const struct hp_scheme *scheme)
{
    return ((const struct net_rate *)scheme)->cost;
}

static void net_rate_free(struct hp_scheme *scheme)
{
    struct net_rate *net = (struct net_rate *)scheme;
    free(net->words);
    free(net);
}

static const struct hp_scheme_ops net_rate_ops = {
    .name = "net-rate",
    .grow = net_rate_grow,
    .profile = net_rate_profile,
    .cost = net_rate_cost,
    .free = net_rate_free,
};

static enum hp_err net_rate_make(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    struct net_rate *net = calloc(1, sizeof *net);
    if (!net)
        return hp_fail_nomem();
    net->base.ops = &net_rate_ops;
    net->delay = (uint32_t)config->delay;
    *scheme = &net->base;
    return HP_OK;
}

static const struct hp_setting keys[] = {HP_SCHEME_DELAY(MAX_COUNT)};
const struct hp_scheme_kind hp_scheme_net_rate = {
    .model = HP_SCHEME_MODEL(
        "net-rate", "NET by rate: a head has to be hot within an epoch (docs/better.md)", keys),
    .make = net_rate_make,
};
