// SPDX-License-Identifier: MIT
#include "lab/insns.h"

#include "hotpath/sample.h"
#include "profiler/cycles/profiler.h"
#include "profiler/exact/exact.h"
#include "profiler/sample/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum hp_err hp_lab_insns_attach(struct hp_observation *observation, const char *const *samplers,
                                size_t n)
{
    struct hp_profiler *profiler;
    struct hp_cycles_config config = {.interval = 0};
    /* Where there are no symbols, functions are what was called: the exact profile knows. */
    HP_TRY(hp_exact_new(observation->code, observation->functions, false, &profiler));
    HP_TRY(hp_observation_add(observation, profiler));
    HP_TRY(hp_cycles_profiler_new(&config, observation->program, &profiler));
    HP_TRY(hp_observation_add(observation, profiler));
    for (size_t i = 0; i < n; i++) {
        struct hp_sample_config sampler;
        HP_TRY(hp_sample_config_parse(samplers[i], &sampler));
        HP_TRY(hp_sample_profiler_new(&sampler, observation->program, &profiler));
        HP_TRY(hp_observation_add(observation, profiler));
    }
    return HP_OK;
}

const struct hp_pinsn_tally **hp_lab_tallies(const struct hp_profile *profile, const char *seen)
{
    const struct hp_pinsn_tally **tallies = calloc(profile->n_insns + 1, sizeof *tallies);
    if (!tallies) {
        hp_fail_nomem();
        return NULL;
    }
    for (size_t i = 0; i < profile->n_insn_tallies; i++)
        if (strcmp(profile->insn_tallies[i].seen, seen) == 0)
            tallies[profile->insn_tallies[i].insn] = &profile->insn_tallies[i];
    return tallies;
}

enum hp_err hp_lab_sampler_name(const char *text, char *name, size_t size)
{
    struct hp_sample_config config;
    HP_TRY(hp_sample_config_parse(text, &config));
    hp_sample_config_format(&config, name, size);
    return HP_OK;
}

/* --- Weights ---------------------------------------------------------------------------------- */

static double *new_weights(const struct hp_profile *profile)
{
    double *weights = calloc(profile->n_insns + 1, sizeof *weights);
    if (!weights)
        hp_fail_nomem();
    return weights;
}

double *hp_lab_exact_weights(const struct hp_profile *profile)
{
    double *weights = new_weights(profile);
    for (size_t i = 0; i < profile->n_insn_cycles && weights; i++)
        weights[profile->insn_cycles[i].insn] += (double)profile->insn_cycles[i].parts;
    return weights;
}

double *hp_lab_way_weights(const struct hp_profile *profile, const char *way)
{
    double *weights = new_weights(profile);
    for (size_t i = 0; i < profile->n_attributions && weights; i++)
        if (strcmp(profile->attributions[i].scheme, way) == 0)
            weights[profile->attributions[i].insn] += (double)profile->attributions[i].weight;
    return weights;
}

double hp_lab_in_progress(const struct hp_insn_tally *tally)
{
    double cycles = 0;
    for (int stage = HP_STAGE_MAP; stage <= HP_STAGE_EXECUTE; stage++)
        cycles += (double)tally->stages[stage];
    return cycles;
}

double *hp_lab_sampler_weights(const struct hp_profile *profile, const char *seen)
{
    double *weights = new_weights(profile);
    for (size_t i = 0; i < profile->n_insn_tallies && weights; i++) {
        const struct hp_pinsn_tally *t = &profile->insn_tallies[i];
        if (strcmp(t->seen, seen) == 0)
            weights[t->insn] += hp_lab_in_progress(&t->tally);
    }
    return weights;
}

/* --- Comparing -------------------------------------------------------------------------------- */

static double sum(const double *values, size_t n)
{
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += values[i];
    return total;
}

/* By function, those without one together; n_functions + 1 of them. */
static double *by_function(const struct hp_profile *profile, const double *weights)
{
    double *sums = calloc(profile->n_functions + 1, sizeof *sums);
    for (size_t i = 0; i < profile->n_insns && sums; i++) {
        uint32_t function = profile->insns[i].function;
        sums[function < profile->n_functions ? function : profile->n_functions] += weights[i];
    }
    if (!sums)
        hp_fail_nomem();
    return sums;
}

static double difference(const double *a, const double *b, size_t n)
{
    double whole_a = sum(a, n), whole_b = sum(b, n), apart = 0;
    if (whole_a == 0 || whole_b == 0)
        return NAN;
    for (size_t i = 0; i < n; i++)
        apart += fabs(a[i] / whole_a - b[i] / whole_b);
    return 50 * apart;
}

enum hp_err hp_lab_weights_error(const struct hp_profile *profile, const double *a, const double *b,
                                 enum hp_lab_level level, double *percent)
{
    if (level == HP_LAB_BY_INSN) {
        *percent = difference(a, b, profile->n_insns);
        return HP_OK;
    }
    double *of_a = by_function(profile, a), *of_b = by_function(profile, b);
    if (of_a && of_b)
        *percent = difference(of_a, of_b, profile->n_functions + 1);
    enum hp_err err = of_a && of_b ? HP_OK : HP_ERR_NOMEM;
    free(of_a);
    free(of_b);
    return err;
}
