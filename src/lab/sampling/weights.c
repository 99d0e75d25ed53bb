// SPDX-License-Identifier: MIT
#include "lab/sampling/weights.h"

#include "hotpath/sample.h"
#include "profiler/cycles/profiler.h"
#include "profiler/exact/exact.h"
#include "profiler/sample/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum hp_err hp_lab_insns_attach(struct hp_session *session, const char *const *samplers, size_t n)
{
    struct hp_profiler *profiler;
    struct hp_cycles_config config = {.interval = 0};
    /* Without symbols, functions are what was called: the exact profile knows. */
    HP_TRY(hp_exact_new(hp_session_code(session), hp_session_functions(session), false, &profiler));
    HP_TRY(hp_session_add(session, profiler));
    HP_TRY(hp_cycles_profiler_new(&config, hp_session_program(session), &profiler));
    HP_TRY(hp_session_add(session, profiler));
    for (size_t i = 0; i < n; i++) {
        struct hp_sample_config sampler;
        HP_TRY(hp_sample_config_parse(samplers[i], &sampler));
        HP_TRY(hp_sample_profiler_new(&sampler, hp_session_program(session), &profiler));
        HP_TRY(hp_session_add(session, profiler));
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

enum hp_err hp_lab_weights_error(const struct hp_profile *profile, const double *a, const double *b,
                                 enum hp_agreement_by by, double *percent)
{
    uint32_t n_groups, *groups = calloc(profile->n_insns + 1, sizeof *groups);
    double overlap;
    if (!groups)
        return hp_fail_nomem();
    enum hp_err err = hp_agreement_groups(profile, by, groups, &n_groups);
    if (err == HP_OK)
        err = hp_agreement_of(groups, n_groups, a, b, profile->n_insns, &overlap);
    free(groups);
    if (err == HP_OK)
        *percent = sum(a, profile->n_insns) > 0 && sum(b, profile->n_insns) > 0
                       ? 100 * (1 - overlap)
                       : NAN;
    return err;
}
