// SPDX-License-Identifier: MIT
/*
 * Runs a program with what an experiment compares attached to it.
 */
#include "lab/lab.h"

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

/* A program that ended unexpectedly did not do what is to be measured. */
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

/* Without a window in cycles there is nothing to report. */
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

/* The settings already have what differs: addresses, instructions, machine, windows. */
static enum hp_err observe(struct observation *o, struct hp_session_settings *settings)
{
    int status;
    settings->engine = o->command->sysroot ? "qemu" : "native";
    settings->sysroot = o->command->sysroot;
    settings->input = o->command->input;
    settings->output = "/dev/null";
    settings->environment = o->lab->environment;
    settings->no_follow = !o->command->several;
    settings->stop = true;
    settings->lines = HP_LINES_NONE;
    settings->context = o;
    settings->attach = o->probe->attach ? attach : NULL;
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

enum hp_err hp_lab_observe_traces(struct hp_lab *lab, const struct hp_lab_command *command,
                                  const char *traces, bool counted,
                                  const struct hp_lab_probe *probe)
{
    struct observation o = {lab, command, probe, {0}};
    return observe(&o, &(struct hp_session_settings){.profile = counted ? "counts" : "none",
                                                     .record = counted ? "count" : "none",
                                                     .traces = traces});
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
