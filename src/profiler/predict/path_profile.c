// SPDX-License-Identifier: MIT
/*
 * Path profile based prediction (Duesterwald and Bala, section 4): every path is counted, and
 * predicted when its count exceeds the delay.
 *
 * Operations: for an execution, one for each branch (its outcome is shifted into the history) and
 * one for the counter.
 */
#include "base/grow.h"
#include "profiler/predict/scheme.h"

#include <stdlib.h>

struct path_profile {
    struct hp_scheme base; /* first */
    uint32_t delay;
    uint32_t *counts; /* by path */
    size_t cap_counts;
    struct hp_scheme_cost cost;
};

static enum hp_err path_profile_grow(struct hp_scheme *scheme, size_t n_paths, size_t n_heads)
{
    struct path_profile *profile = (struct path_profile *)scheme;
    (void)n_heads;
    return hp_grow(&profile->counts, &profile->cap_counts, n_paths, sizeof *profile->counts);
}

static bool path_profile_profile(struct hp_scheme *scheme, const struct hp_flow_step *step)
{
    struct path_profile *profile = (struct path_profile *)scheme;
    uint32_t count = ++profile->counts[step->path];
    profile->cost.counters += count == 1;
    profile->cost.operations += (uint64_t)step->length + 1;
    return count > profile->delay;
}

static struct hp_scheme_cost path_profile_cost(const struct hp_scheme *scheme)
{
    return ((const struct path_profile *)scheme)->cost;
}

static void path_profile_free(struct hp_scheme *scheme)
{
    struct path_profile *profile = (struct path_profile *)scheme;
    free(profile->counts);
    free(profile);
}

static const struct hp_scheme_ops path_profile_ops = {
    .name = "path-profile",
    .counts_paths = true,
    .grow = path_profile_grow,
    .profile = path_profile_profile,
    .cost = path_profile_cost,
    .free = path_profile_free,
};

static enum hp_err path_profile_make(const struct hp_scheme_config *config,
                                     struct hp_scheme **scheme)
{
    struct path_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return hp_fail_nomem();
    profile->base.ops = &path_profile_ops;
    profile->delay = (uint32_t)config->delay;
    *scheme = &profile->base;
    return HP_OK;
}

const struct hp_scheme_kind hp_scheme_path_profile = {
    .model = HP_SCHEME_MODEL("path-profile", "every path is counted, and predicted when it is hot",
                             hp_scheme_delay),
    .make = path_profile_make,
};
