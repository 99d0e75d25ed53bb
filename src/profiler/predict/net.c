// SPDX-License-Identifier: MIT
/*
 * Next executing tail (Duesterwald and Bala, section 4.1): only heads are counted. A head is
 * counted when control arrives there. When its count exceeds the delay, the path executed next from
 * there, which starts with this arrival, is predicted as a whole.
 *
 * Afterwards the count restarts (after = reset), so another path of the head takes as many arrivals
 * again; or it stays (after = keep), so that every other path of the head is predicted at its first
 * execution.
 *
 * Operations: one for a counted arrival; for a prediction, one for each branch that is collected.
 */
#include "base/grow.h"
#include "profiler/predict/scheme.h"

#include <stdlib.h>

struct net {
    struct hp_scheme base; /* first */
    uint32_t delay;
    uint32_t after;   /* the counter after a prediction */
    uint32_t *counts; /* by head: 1 + its count; 0: never counted */
    size_t cap_counts;
    struct hp_scheme_cost cost;
};

static enum hp_err net_grow(struct hp_scheme *scheme, size_t n_paths, size_t n_heads)
{
    struct net *net = (struct net *)scheme;
    (void)n_paths;
    return hp_grow(&net->counts, &net->cap_counts, n_heads, sizeof *net->counts);
}

static bool net_profile(struct hp_scheme *scheme, const struct hp_flow_step *step)
{
    struct net *net = (struct net *)scheme;
    uint32_t *count = &net->counts[step->head];
    if (*count == 0) {
        net->cost.counters++;
        *count = 1;
    }
    net->cost.operations++;
    *count += 1;
    if (*count - 1 <= net->delay)
        return false;
    net->cost.operations += step->length;
    *count = net->after;
    return true;
}

static struct hp_scheme_cost net_cost(const struct hp_scheme *scheme)
{
    return ((const struct net *)scheme)->cost;
}

static void net_free(struct hp_scheme *scheme)
{
    struct net *net = (struct net *)scheme;
    free(net->counts);
    free(net);
}

static const struct hp_scheme_ops net_ops = {
    .name = "net",
    .grow = net_grow,
    .profile = net_profile,
    .cost = net_cost,
    .free = net_free,
};

static enum hp_err net_make(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    struct net *net = calloc(1, sizeof *net);
    if (!net)
        return hp_fail_nomem();
    net->base.ops = &net_ops;
    net->delay = (uint32_t)config->delay;
    net->after = config->keep ? net->delay + 1 : 1; /* the next arrival exceeds the delay again */
    *scheme = &net->base;
    return HP_OK;
}

static const char *const after_words[] = {"reset", "keep", NULL};
static const struct hp_setting keys[] = {
    HP_SCHEME_DELAY(HP_DELAY_MAX),
    {"after", HP_SETTING_CHOICE, HP_MEMBER(struct hp_scheme_config, keep), 0, 0,
     "the count of a head after a prediction", after_words},
};
const struct hp_scheme_kind hp_scheme_net = {
    .model =
        HP_SCHEME_MODEL("net", "NET: when a head of paths is hot, the next path from there", keys),
    .make = net_make,
};
