// SPDX-License-Identifier: MIT
#include "lab/lab.h"

#include "engine/environment.h"
#include "lab/experiments.h"

#include <stdlib.h>
#include <string.h>

static const struct hp_experiment *const experiments[] = {
    &hp_paths_overlap,        &hp_paths_factors,     &hp_paths_distribution,
    &hp_paths_causes,         &hp_paths_extended,    &hp_paths_numbering,
    &hp_paths_overhead,       &hp_paths_power,       &hp_prediction_curves,
    &hp_prediction_space,     &hp_prediction_phases, &hp_prediction_dynamo,
    &hp_loops_accuracy,       &hp_hotspots_table,    &hp_sampling_skid,
    &hp_sampling_convergence, &hp_sampling_paths,    &hp_sampling_bottlenecks,
    &hp_sampling_ipc,         &hp_sampling_cost,     &hp_sampling_error,
    &hp_sampling_fidelity,    &hp_hardware_size,
};

const struct hp_experiment *const *hp_lab_experiments(size_t *n)
{
    *n = sizeof experiments / sizeof *experiments;
    return experiments;
}

enum hp_err hp_lab_find(const char *name, const struct hp_experiment **experiment)
{
    size_t n;
    const struct hp_experiment *const *all = hp_lab_experiments(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i]->name, name) == 0) {
            *experiment = all[i];
            return HP_OK;
        }
    return hp_fail(HP_ERR_NOTFOUND,
                   "there is no experiment '%.64s'; 'hotpath lab list' names those there are",
                   name);
}

/* --- Running ---------------------------------------------------------------------------------- */

static void fill_in(const struct hp_experiment *experiment, struct hp_lab_options *options)
{
    bool brief = options->short_form;
    if (!options->programs)
        options->programs = experiment->programs ? experiment->programs : HP_LAB_PROGRAMS;
    if (!options->instructions && brief)
        options->instructions = 50000000;
    if (!options->machine_instructions)
        options->machine_instructions = brief ? 20000000 : 300000000;
    if (!options->cycle_instructions)
        options->cycle_instructions = brief ? 1000000 : 30000000;
    if (!options->window)
        options->window = brief ? 5000000 : 100000000;
}

static void measure_program(struct hp_lab *lab)
{
    const struct hp_lab_program *program = &lab->programs.programs[lab->current];
    struct hp_lab_outcome *outcome = &lab->outcomes[lab->current];
    struct hp_lab_command command;
    if (lab->options.progress)
        lab->options.progress(lab->options.context, program->name, 0);
    enum hp_err err = hp_lab_command(
        program,
        &(struct hp_lab_request){lab->options.inputs, lab->options.arch, lab->options.short_form},
        &command);
    outcome->missing = err == HP_ERR_UNSUPPORTED;
    if (err == HP_OK) {
        err = lab->experiment->measure(lab, program->name, &command);
        hp_lab_command_fini(&command);
    }
    outcome->failed = err != HP_OK && !outcome->missing;
    if (err != HP_OK)
        snprintf(outcome->problem, sizeof outcome->problem, "%s", hp_error_text());
}

static enum hp_err run(struct hp_lab *lab)
{
    size_t measured = 0;
    if (lab->options.arch && strcmp(lab->options.arch, "arm") != 0)
        return hp_fail(HP_ERR_INVALID, "there are no programs for '%.32s', only for arm",
                       lab->options.arch);
    if (!lab->experiment->measure)
        return lab->experiment->begin(lab);
    HP_TRY(hp_lab_programs(lab->options.programs, &lab->programs));
    lab->outcomes = calloc(lab->programs.n, sizeof *lab->outcomes);
    if (!lab->outcomes)
        return hp_fail_nomem();
    HP_TRY(hp_environment_fixed(0, &lab->environment));
    HP_TRY(lab->experiment->begin(lab));
    for (lab->current = 0; lab->current < lab->programs.n; lab->current++) {
        measure_program(lab);
        measured += !lab->outcomes[lab->current].missing && !lab->outcomes[lab->current].failed;
    }
    if (lab->options.progress)
        lab->options.progress(lab->options.context, NULL, 0);
    if (!measured)
        return hp_fail(HP_ERR_INVALID, "none of the programs could be run: %s: %s",
                       lab->programs.programs[0].name, lab->outcomes[0].problem);
    return lab->experiment->end ? lab->experiment->end(lab) : HP_OK;
}

enum hp_err hp_lab_run(const struct hp_experiment *experiment, const struct hp_lab_options *options,
                       struct hp_lab **lab)
{
    struct hp_lab *l = calloc(1, sizeof *l);
    if (!l)
        return hp_fail_nomem();
    l->experiment = experiment;
    l->options = *options;
    fill_in(experiment, &l->options);
    enum hp_err err = run(l);
    if (err == HP_OK)
        *lab = l;
    else
        hp_lab_free(l);
    return err;
}

void hp_lab_free(struct hp_lab *lab)
{
    if (!lab)
        return;
    for (size_t i = 0; i < lab->n_results; i++) {
        hp_lab_results_fini(lab->results[i]);
        free(lab->results[i]);
    }
    free(lab->outcomes);
    hp_environment_free(lab->environment);
    hp_lab_programs_fini(&lab->programs);
    free(lab);
}

struct hp_lab_results *hp_lab_add_results(struct hp_lab *lab, const char *key, const char *title,
                                          const char *rows_are)
{
    struct hp_lab_results *results =
        lab->n_results < HP_LAB_RESULTS ? malloc(sizeof *results) : NULL;
    if (!results) {
        hp_fail_nomem();
        return NULL;
    }
    hp_lab_results_init(results, key, title, rows_are);
    return lab->results[lab->n_results++] = results;
}
