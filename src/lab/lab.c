// SPDX-License-Identifier: MIT
#include "lab/lab.h"

#include "lab/experiments.h"

#include <stdlib.h>
#include <string.h>

static const struct hp_experiment *const experiments[] = {
    &hp_paths_overlap,        &hp_paths_factors,  &hp_paths_distribution,   &hp_paths_extended,
    &hp_paths_numbering,      &hp_paths_overhead, &hp_paths_power,          &hp_prediction_curves,
    &hp_prediction_space,     &hp_loops_accuracy, &hp_hotspots_table,       &hp_sampling_skid,
    &hp_sampling_convergence, &hp_sampling_paths, &hp_sampling_bottlenecks, &hp_sampling_ipc,
    &hp_sampling_error,
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

/* One run of the current program. */
struct observation {
    struct hp_lab *lab;
    const struct hp_lab_command *command;
    const struct hp_lab_probe *probe;
    struct hp_windows windows;
};

uint64_t hp_lab_instructions(struct hp_session *session)
{
    uint64_t instructions = hp_session_info(session).instructions;
    uint64_t bound = session->settings->length;
    return bound && instructions > bound ? bound : instructions;
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    const struct observation *o = context;
    enum hp_arch arch = hp_code_arch(hp_session_code(session));
    if (arch != o->command->arch)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s is a program for %s, not for %s",
                       o->command->argv[0], hp_arch_name(arch), hp_arch_name(o->command->arch));
    return o->probe->attach(o->probe->context, session);
}

static void tick(void *context, struct hp_session *session)
{
    const struct hp_lab *lab = ((struct observation *)context)->lab;
    if (lab->options.progress && !hp_session_is_over(session))
        lab->options.progress(lab->options.context, lab->programs.programs[lab->current].name,
                              hp_session_info(session).instructions);
}

/* A program that did not end as it should did something else than what is measured. */
static enum hp_err check_end(const struct hp_lab_command *command,
                             const struct hp_session_info *info)
{
    const char *name = command->argv[0];
    if (info->stopped)
        return HP_OK;
    if (info->status > 128)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s ended with signal %d", name, info->status - 128);
    if (info->status != command->status)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s ended with status %d instead of %d", name,
                       info->status, command->status);
    if (info->lost)
        return hp_fail(HP_ERR_FORMAT, "%s: a part of what it did was lost", name);
    return HP_OK;
}

/* Figures of nothing are none. */
static enum hp_err check_windows(const struct hp_windows *windows, uint64_t instructions)
{
    if (!windows->period || instructions > windows->period - windows->detail)
        return HP_OK;
    return hp_fail(HP_ERR_UNSUPPORTED,
                   "it ended after %llu instructions, before the first that are run in cycles",
                   (unsigned long long)instructions);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    const struct observation *o = context;
    struct hp_lab_outcome *outcome = &o->lab->outcomes[o->lab->current];
    struct hp_session_info info = hp_session_info(session);
    uint64_t instructions = hp_lab_instructions(session);
    if (instructions > outcome->instructions)
        outcome->instructions = instructions;
    outcome->seconds += info.seconds;
    HP_TRY(check_end(o->command, &info));
    HP_TRY(check_windows(&o->windows, instructions));
    return o->probe->collect(o->probe->context, session);
}

/* The settings come with what differs: addresses, instructions, machine, windows. */
static enum hp_err observe(struct observation *o, struct hp_session_settings *settings)
{
    int status;
    settings->engine = o->command->sysroot ? "qemu" : "native";
    settings->sysroot = o->command->sysroot;
    settings->input = o->command->input;
    settings->output = "/dev/null";
    settings->no_follow = settings->stop = true;
    settings->lines = HP_LINES_NONE;
    settings->context = o;
    settings->attach = attach;
    settings->tick = tick;
    settings->collect = collect;
    return hp_session_run(settings, o->command->argv, NULL, &status);
}

enum hp_err hp_lab_observe(struct hp_lab *lab, const struct hp_lab_command *command,
                           const struct hp_lab_probe *probe)
{
    struct observation o = {lab, command, probe, {0}};
    return observe(&o, &(struct hp_session_settings){.length = lab->options.instructions});
}

enum hp_err hp_lab_observe_machine(struct hp_lab *lab, const struct hp_lab_command *command,
                                   unsigned nth, const struct hp_lab_probe *probe)
{
    uint64_t instructions = lab->options.machine_instructions / nth;
    struct observation o = {lab, command, probe, {0}};
    return observe(&o, &(struct hp_session_settings){.addresses = true,
                                                     .length = instructions ? instructions : 1});
}

struct hp_windows hp_lab_windows(const struct hp_lab *lab, unsigned nth)
{
    struct hp_windows w = {.detail = 100000, .ramp = 2000};
    uint64_t all = lab->options.machine_instructions / nth;
    uint64_t detailed = lab->options.cycle_instructions / nth;
    if (detailed < w.detail)
        w.detail = detailed ? detailed : 1;
    w.period = all / (detailed > w.detail ? detailed / w.detail : 1);
    if (w.period < w.detail + w.ramp)
        w.period = w.detail + w.ramp;
    w.warm = w.period - w.detail - w.ramp;
    return w;
}

enum hp_err hp_lab_observe_cycles(struct hp_lab *lab, const struct hp_lab_command *command,
                                  const char *machine, bool whole, const struct hp_lab_probe *probe)
{
    char text[128];
    struct observation o = {lab, command, probe, {0}};
    struct hp_session_settings settings = {.machine = machine,
                                           .timings = true,
                                           .addresses = true,
                                           .length = lab->options.cycle_instructions};
    if (!whole) {
        o.windows = hp_lab_windows(lab, 1);
        hp_windows_format(&o.windows, text, sizeof text);
        settings.windows = text;
        settings.length = lab->options.machine_instructions;
    }
    return observe(&o, &settings);
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
    HP_TRY(hp_lab_programs(lab->options.programs, &lab->programs));
    lab->outcomes = calloc(lab->programs.n, sizeof *lab->outcomes);
    if (!lab->outcomes)
        return hp_fail_nomem();
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
    for (size_t i = 0; i < lab->n_sheets; i++) {
        hp_sheet_fini(lab->sheets[i]);
        free(lab->sheets[i]);
    }
    free(lab->outcomes);
    hp_lab_programs_fini(&lab->programs);
    free(lab);
}

struct hp_sheet *hp_lab_sheet(struct hp_lab *lab, const char *key, const char *title,
                              const char *rows_are)
{
    struct hp_sheet *sheet = lab->n_sheets < HP_LAB_SHEETS ? malloc(sizeof *sheet) : NULL;
    if (!sheet) {
        hp_fail_nomem();
        return NULL;
    }
    hp_sheet_init(sheet, key, title, rows_are);
    return lab->sheets[lab->n_sheets++] = sheet;
}

/* --- Printing --------------------------------------------------------------------------------- */

void hp_lab_print(const struct hp_lab *lab, FILE *out)
{
    fprintf(out, "%s: %s\n", lab->experiment->name, lab->experiment->summary);
    for (size_t i = 0; i < lab->n_sheets; i++)
        if (!lab->sheets[i]->detail) {
            fputc('\n', out);
            hp_sheet_print(lab->sheets[i], out);
        }
    for (size_t i = 0; i < lab->programs.n; i++)
        if (lab->outcomes[i].problem[0])
            fprintf(out, "\n! %s is left out: %s\n", lab->programs.programs[i].name,
                    lab->outcomes[i].problem);
    fprintf(out, "\nThe paper\n%s", lab->experiment->paper);
}

static void write_programs(const struct hp_lab *lab, struct hp_json *json)
{
    hp_json_begin_array(json);
    for (size_t i = 0; i < lab->programs.n; i++) {
        const struct hp_lab_outcome *outcome = &lab->outcomes[i];
        hp_json_begin_object(json);
        hp_json_key(json, "name");
        hp_json_string(json, lab->programs.programs[i].name);
        hp_json_key(json, "stands_for");
        hp_json_string(json, lab->programs.programs[i].stands_for);
        hp_json_key(json, "instructions");
        hp_json_uint(json, outcome->instructions);
        hp_json_key(json, "seconds");
        hp_json_fixed(json, outcome->seconds, 2);
        hp_json_key(json, "problem");
        hp_json_string(json, outcome->problem[0] ? outcome->problem : NULL);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

enum hp_err hp_lab_write(const struct hp_lab *lab, FILE *out)
{
    struct hp_json json = {.out = out, .lines = 4};
    hp_json_begin_object(&json);
    hp_json_key(&json, "hotpath");
    hp_json_string(&json, HP_VERSION);
    hp_json_key(&json, "experiment");
    hp_json_string(&json, lab->experiment->name);
    hp_json_key(&json, "arch");
    hp_json_string(&json, lab->options.arch ? lab->options.arch : "x86_64");
    hp_json_key(&json, "short");
    hp_json_bool(&json, lab->options.short_form);
    hp_json_key(&json, "instructions");
    hp_json_uint(&json, lab->options.instructions);
    hp_json_key(&json, "machine_instructions");
    hp_json_uint(&json, lab->options.machine_instructions);
    hp_json_key(&json, "cycle_instructions");
    hp_json_uint(&json, lab->options.cycle_instructions);
    hp_json_key(&json, "window");
    hp_json_uint(&json, lab->options.window);
    hp_json_key(&json, "programs");
    write_programs(lab, &json);
    hp_json_key(&json, "sheets");
    hp_json_begin_object(&json);
    for (size_t i = 0; i < lab->n_sheets; i++) {
        hp_json_key(&json, lab->sheets[i]->key);
        hp_sheet_write(lab->sheets[i], &json);
    }
    hp_json_end_object(&json);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}
