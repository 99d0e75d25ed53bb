// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "cli/cli.h"
#include "diff/baseline.h"
#include "diff/gate.h"
#include "engine/environment.h"
#include "engine/program.h"
#include "report/tables.h"

enum { EXIT_REGRESSION = 3 };

#define DEFAULT_FILE      "hotpath.baseline"
#define DEFAULT_THRESHOLD 1.0

/* What the command line says, and what is made on the way. */
struct request {
    struct hp_cli_session session; /* first */
    const char *file, *name, *threshold, *function_threshold, *json, *summary, *output;
    struct hp_texts limit_texts, modules, variables;
    bool update, keep_environment;

    struct hp_gate_limits limits;
    struct hp_baseline *baseline;
    struct hp_digest *old, *new;
    struct hp_profile *profile;
    struct hp_diff *diff;
    struct hp_gate *gate;
    struct hp_gate_print print;
    char **environment;
    char *program; /* key of its file */
};

static void close_ci(struct request **at)
{
    struct request *ci = *at;
    free(ci->gate);
    hp_diff_free(ci->diff);
    hp_digest_free(ci->old);
    hp_digest_free(ci->new);
    hp_baseline_free(ci->baseline);
    hp_profile_free(ci->profile);
    hp_environment_free(ci->environment);
    free(ci->program);
}

/* "mispredictions=5%" */
static enum hp_err read_limit(const char *text, struct hp_gate_limits *limits)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    for (int i = 0; i < HP_TOTALS; i++) {
        const char *name = hp_total_names[i];
        if (n == strlen(name) && memcmp(text, name, n) == 0)
            return hp_parse_percent(equals + 1, &limits->totals[i]);
    }
    return hp_fail(HP_ERR_INVALID,
                   "--limit %s: what is limited is instructions, branches, cycles, mispredictions, "
                   "l1i.misses, l1d.misses, l2.misses, ... (example: branches=2%%)",
                   text);
}

static enum hp_err read_limits(struct request *ci)
{
    double threshold = DEFAULT_THRESHOLD;
    if (ci->threshold)
        HP_TRY(hp_parse_percent(ci->threshold, &threshold));
    for (int i = 0; i < HP_TOTALS; i++)
        ci->limits.totals[i] = -1;
    ci->limits.totals[HP_TOTAL_INSTRUCTIONS] = threshold;
    ci->limits.totals[HP_TOTAL_CYCLES] = threshold;
    ci->limits.functions = -1;
    if (ci->function_threshold)
        HP_TRY(hp_parse_percent(ci->function_threshold, &ci->limits.functions));
    for (size_t i = 0; i < ci->limit_texts.n; i++)
        HP_TRY(read_limit(ci->limit_texts.items[i], &ci->limits));
    return HP_OK;
}

/* "NAME=VALUE", or "NAME" as it is here. */
static enum hp_err set_variable(char **environment, const char *text)
{
    const char *equals = strchrnul(text, '=');
    size_t length = (size_t)(equals - text);
    const char *value = *equals ? equals + 1 : getenv(text);
    if (length == 0 || length > 1000 || !value)
        return hp_fail(HP_ERR_INVALID, "--env %s: %s", text,
                       value ? "a variable has a name" : "it is not set here");
    return hp_environment_set(environment, text, length, value);
}

/* The name of the program's own file in the profile; NULL: not found, as the run will tell. */
static char *own_module(char *const *argv)
{
    struct hp_executable program HP_CLEANUP(hp_executable_fini) = {0};
    hp_executable_find(argv, &program);
    char *real HP_CLEANUP(hp_free) = program.path ? realpath(program.path, NULL) : NULL;
    return real ? hp_module_key(real) : NULL;
}

static enum hp_err advise(enum hp_err err, const char *how)
{
    return hp_fail(err, "%s; %s", hp_error_text(), how);
}

/* Before the program runs, as it may run for long. */
static enum hp_err open_baseline(struct request *ci)
{
    enum hp_err err = hp_baseline_load(ci->file, &ci->baseline);
    if (err == HP_ERR_NOTFOUND && ci->update)
        return hp_baseline_new(&ci->baseline);
    if (err == HP_ERR_NOTFOUND)
        return advise(err, "make the baseline with: hotpath ci --update -- PROGRAM ARGUMENTS");
    if (err == HP_ERR_FORMAT || err == HP_ERR_VERSION)
        return advise(err, "to make a new one, remove it and use --update");
    HP_TRY(err);
    if (ci->update)
        return HP_OK;
    err = hp_baseline_get(ci->baseline, ci->name, &ci->old);
    if (err == HP_ERR_NOTFOUND)
        return advise(err, "--update adds it");
    return err == HP_ERR_FORMAT ? advise(err, "--update writes it anew") : err;
}

static enum hp_err print_json(void *context, FILE *out)
{
    const struct request *ci = context;
    return hp_gate_print_json(ci->gate, &ci->print, out);
}

/* Appended, as other steps write there, too. */
static enum hp_err write_summary(const struct request *ci)
{
    FILE *out = fopen(ci->summary, "ae");
    if (!out)
        return hp_fail(HP_ERR_IO, "cannot write %s: %m", ci->summary);
    enum hp_err err = hp_gate_print_markdown(ci->gate, &ci->print, out);
    if (fclose(out) != 0 && err == HP_OK)
        err = hp_fail(HP_ERR_IO, "cannot write %s: %m", ci->summary);
    return err;
}

static enum hp_err judge(struct request *ci)
{
    struct hp_report_options style = {0};
    hp_cli_style(&style, stderr);
    ci->print = (struct hp_gate_print){
        .name = ci->name, .baseline = ci->file, .program = ci->program, .color = style.color};
    HP_TRY(hp_diff_make(ci->old, ci->new, &(struct hp_diff_options){0}, &ci->diff));
    HP_TRY(hp_gate_make(ci->diff, &ci->limits, &ci->gate));
    if (ci->json)
        HP_TRY(hp_cli_write(ci->json, print_json, ci));
    if (ci->summary)
        HP_TRY(write_summary(ci));
    if (ci->profile->run.lost)
        fprintf(stderr, "hotpath: parts of the run were lost: the counts are too low\n");
    if (ci->session.quiet && ci->gate->verdict == HP_GATE_WITHIN)
        return HP_OK;
    return hp_gate_print_text(ci->gate, &ci->print, stderr);
}

/* The level of the processor's instructions, by which libraries choose routines; "": none. */
static const char *cpu_level(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return "x86-64-v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("fma"))
        return "x86-64-v3";
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
        return "x86-64-v2";
    return "x86-64-v1";
#else
    return "";
#endif
}

/* Of the profile, as it is compared. */
static enum hp_err make_digest(struct request *ci)
{
    const char *modules[HP_TEXTS_MAX + 1] = {NULL};
    memcpy(modules, ci->modules.items, ci->modules.n * sizeof *modules);
    struct hp_digest_options options = {.modules = ci->modules.n ? modules : NULL};
    HP_TRY(hp_digest_make(ci->profile, &options, &ci->new));
    ci->new->about[HP_ABOUT_CPU] = cpu_level();
    if (ci->new->totals[HP_TOTAL_INSTRUCTIONS] == 0)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "nothing was counted: the part of the run that was asked for never came");
    return HP_OK;
}

static enum hp_err run_program(struct request *ci, char **argv, int *status)
{
    struct hp_session_settings *settings = &ci->session.settings;
    if (!ci->keep_environment) {
        HP_TRY(hp_environment_fixed(ci->variables.n, &ci->environment));
        for (size_t i = 0; i < ci->variables.n; i++)
            HP_TRY(set_variable(ci->environment, ci->variables.items[i]));
        settings->environment = ci->environment;
    }
    /* All of a machine in cycles: numbers that are extrapolated do not repeat so well. */
    if (!settings->profile)
        settings->profile = settings->machine ? "exact,cycles" : "exact";
    ci->program = own_module(argv);
    HP_TRY(hp_cli_session_begin(&ci->session));
    HP_TRY(hp_session_run(settings, argv, &ci->profile, status));
    if (ci->output)
        HP_TRY(hp_profile_save(ci->profile, ci->output));
    if (*status != 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s failed with status %d: nothing was %s", argv[0],
                       *status, ci->update ? "updated" : "compared");
    return HP_OK;
}

static enum hp_err run(struct hp_invocation *call)
{
    struct request *ci HP_CLEANUP(close_ci) = call->values;
    if (!ci->name)
        ci->name = hp_base_name(call->words[0]);
    if (!*ci->name)
        return hp_fail(HP_ERR_INVALID, "--name is empty");
    HP_TRY(read_limits(ci));
    HP_TRY(open_baseline(ci));
    HP_TRY(run_program(ci, call->words, &call->status));
    HP_TRY(make_digest(ci));
    if (!ci->update) {
        HP_TRY(judge(ci));
        call->status = ci->gate->verdict == HP_GATE_REGRESSED ? EXIT_REGRESSION : 0;
        return HP_OK;
    }
    HP_TRY(hp_baseline_put(ci->baseline, ci->name, ci->new));
    HP_TRY(hp_baseline_save(ci->baseline, ci->file));
    if (!ci->session.quiet)
        fprintf(stderr, "hotpath: baseline written to %s\n", ci->file);
    return HP_OK;
}

static const struct hp_option rows[] = {
    {"baseline", 'b', HP_TEXT(file), "FILE", "the baseline (default: " DEFAULT_FILE ")"},
    {"update", 'u', HP_FLAG(update), NULL,
     "write what is found to the baseline; other benchmarks stay as they are"},
    {"name", 0, HP_TEXT(name), "NAME",
     "of the benchmark; a baseline may have several (default: PROGRAM)"},
    {"threshold", 't', HP_TEXT(threshold), "PERCENT",
     "how many more instructions, and with --machine cycles, there may be (default 1%; 0%: none)"},
    {"function-threshold", 0, HP_TEXT(function_threshold), "PERCENT",
     "how many more in a function that has at least 0.1% of all (default: any number)"},
    {"limit", 0, HP_TEXTS(limit_texts), "NAME=PERCENT",
     "likewise of branches, cycles, mispredictions, l1d.misses, ... (may be repeated)"},
    {"module", 0, HP_TEXTS(modules), "NAME",
     "count only the instructions that are executed in this file: the program, libz.so (may be "
     "repeated)"},
    {"json", 'j', HP_TEXT(json), "FILE", "write the result as JSON ('-': stdout)"},
    {"summary", 0, HP_TEXT(summary), "FILE", "append the result in Markdown: $GITHUB_STEP_SUMMARY"},
    {"output", 'o', HP_TEXT(output), "FILE", "keep the profile, too"},
    {"env", 0, HP_TEXTS(variables), "NAME[=VALUE]",
     "a variable for the program; without a value, as it is here (may be repeated)"},
    {"keep-env", 0, HP_FLAG(keep_environment), NULL,
     "run the program in the environment as it is, and do not pad it"},
    {"machine", 0, HP_TEXT(session.settings.machine), "MACHINE",
     "model a machine, too: cycles, misses, mispredictions"},
    {"windows", 0, HP_TEXT(session.settings.windows), "WINDOWS",
     "what is run in cycles: all (default), or period=1M,detail=50K,ramp=2K,warm=all"},
    {0},
};

const struct hp_command hp_command_ci = {
    .name = "ci",
    .summary = "compare a run with a baseline, and fail when it got slower",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM and compares what it executed with a baseline, a text file that is kept with "
        "the source. Exits with 3 when there are more instructions than the threshold allows, and "
        "says which functions they are in. Counts are exact and the same from run to run, so the "
        "threshold may be small. The program gets an environment of its own (--env adds to it).\n",
    .examples =
        "  hotpath ci --update -- ./bench input               make the baseline, and commit it\n"
        "  hotpath ci -- ./bench input                        in CI: compare with it\n"
        "  hotpath ci --name sort --threshold 0.5% -- ./bench sort\n"
        "  hotpath ci --summary \"$GITHUB_STEP_SUMMARY\" -- ./bench input\n",
    .options = {rows, hp_options_region, hp_options_engine},
    .values = {HP_VALUES(.session = {HP_CLI_SESSION_DEFAULTS}, .file = DEFAULT_FILE)},
    .run = run,
};
