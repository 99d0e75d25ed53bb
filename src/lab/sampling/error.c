// SPDX-License-Identifier: MIT
/*
 * The error of sampling methods: the time of instructions they report, against the exact
 * attribution of every cycle on the same pipeline. Applied to every cycle, so that the error is the
 * method's and not that of few samples; and ProfileMe as it is, with samples.
 */
#include "lab/experiments.h"
#include "lab/sampling/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLER "profileme,interval=1000"

static const struct way {
    const char *key, *title;
    double paper;
} ways[] = {{"dispatch", "dispatch (IBS, SPE)", 53.1},
            {"next", "next (PEBS)", 9.3},
            {"profileme", "ProfileMe", (double)NAN}};
#define N_WAYS (sizeof ways / sizeof *ways)

static const struct machine {
    const char *name, *title;
} machines[] = {
    {"modern", "Machine modern: percent of the time that is with the wrong instruction (function)"},
    {"alpha21264", "Machine alpha21264"}};
#define N_MACHINES (sizeof machines / sizeof *machines)

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, machines[m].name, machines[m].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        for (size_t w = 0; w < N_WAYS; w++) {
            hp_lab_results_column(results, ways[w].key, ways[w].title, 1);
            hp_lab_results_paper(results, "TIP, mean", ways[w].key, ways[w].paper);
        }
        hp_lab_results_column(results, "sampled", "ProfileMe, 1 in 1000", 1);
        for (size_t w = 0; w < N_WAYS; w++) {
            char key[HP_LAB_RESULTS_NAME], title[HP_LAB_RESULTS_NAME];
            snprintf(key, sizeof key, "%s_function", ways[w].key);
            snprintf(title, sizeof title, "%s, function", ways[w].key);
            hp_lab_results_column(results, key, title, 1);
        }
        hp_lab_results_column(results, "cpi", "CPI", 2);
    }
    return HP_OK;
}

struct probe {
    const char *program;
    struct hp_lab_results *results;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    static const char *const samplers[] = {SAMPLER};
    (void)context;
    return hp_lab_insns_attach(session, samplers, 1);
}

/* Fills one or two columns of the row. Frees `weights`. */
static enum hp_err set_errors(const struct hp_profile *profile, const double *exact,
                              double *weights, double *by_insn, double *by_function)
{
    enum hp_err err = exact && weights ? HP_OK : HP_ERR_NOMEM;
    if (err == HP_OK)
        err = hp_lab_weights_error(profile, exact, weights, HP_AGREE_BY_INSN, by_insn);
    if (err == HP_OK && by_function)
        err = hp_lab_weights_error(profile, exact, weights, HP_AGREE_BY_FUNCTION, by_function);
    free(weights);
    return err;
}

static double cpi_of(const struct hp_profile *profile, const double *exact)
{
    double parts = 0, retired = 0;
    for (size_t i = 0; i < profile->n_insns; i++)
        parts += exact[i];
    for (size_t i = 0; i < profile->n_insn_tallies; i++)
        if (strcmp(profile->insn_tallies[i].seen, "exact") == 0)
            retired += (double)profile->insn_tallies[i].tally.retired;
    return parts / HP_CYCLE_PARTS / retired;
}

static enum hp_err fill_row(const struct probe *probe, const struct hp_profile *profile,
                            const double *exact)
{
    struct hp_lab_results *results = probe->results;
    struct hp_lab_results_row *row;
    char key[256];
    HP_TRY(hp_lab_results_row(results, probe->program, &row));
    for (size_t w = 0; w < N_WAYS; w++) {
        snprintf(key, sizeof key, "%s_function", ways[w].key);
        HP_TRY(set_errors(profile, exact, hp_lab_way_weights(profile, ways[w].key),
                          &row->values[hp_lab_results_find(results, ways[w].key)],
                          &row->values[hp_lab_results_find(results, key)]));
    }
    HP_TRY(hp_lab_sampler_name(SAMPLER, key, sizeof key));
    HP_TRY(set_errors(profile, exact, hp_lab_sampler_weights(profile, key),
                      &row->values[hp_lab_results_find(results, "sampled")], NULL));
    row->values[hp_lab_results_find(results, "cpi")] = cpi_of(profile, exact);
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct hp_profile *profile;
    HP_TRY(hp_session_profile(session, &profile));
    double *exact = hp_lab_exact_weights(profile);
    enum hp_err err = exact ? fill_row(context, profile, exact) : HP_ERR_NOMEM;
    free(exact);
    hp_profile_free(profile);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    for (size_t m = 0; m < N_MACHINES; m++) {
        struct probe probe = {.program = name, .results = lab->results[m]};
        HP_TRY(hp_lab_observe_cycles(lab, command, machines[m].name, false,
                                     &(struct hp_lab_probe){attach, collect, &probe}));
    }
    return HP_OK;
}

const struct hp_experiment hp_sampling_error = {
    .name = "sampling-error",
    .summary = "how wrong ways of sampling are against the exact attribution of cycles",
    .paper =
        "  Gottschall, Eeckhout, Jahre: TIP: Time-Proportional Instruction Profiling. MICRO 2021.\n"
        "  SPEC CPU2017 and PARSEC on a four-wide out-of-order BOOM core, instruction level: "
        "tagging at\n"
        "  dispatch (AMD IBS, Arm SPE) 53.1 % wrong on average, the next instruction to commit "
        "(Intel\n"
        "  PEBS) 9.3 %, their own 1.6 %. Function level: all but dispatch are below a few "
        "percent.\n",
    .begin = begin,
    .measure = measure,
};
