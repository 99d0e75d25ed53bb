// SPDX-License-Identifier: MIT
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/commands/ci_environment.h"
#include "cli/session_options.h"
#include "diff/baseline.h"
#include "diff/gate.h"
#include "engine/environment.h"
#include "engine/program.h"
#include "report/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_REGRESSION = 3 };

#define DEFAULT_FILE      "hotpath.baseline"
#define DEFAULT_THRESHOLD 1.0

struct options {
    struct hp_cli_session session;
    const char *baseline, *name, *threshold, *function_threshold, *json, *summary, *output;
    struct hp_texts limits, modules, environment;
    bool update, keep_environment;
};

/* What is made on the way. */
struct ci {
    struct options *o;
    struct hp_gate_limits limits;
    struct hp_baseline *baseline;
    struct hp_digest *old, *new;
    struct hp_profile *profile;
    struct hp_diff *diff;
    struct hp_gate *gate;
    char **environment;
    char *program; /* key of its file */
    const char *modules[HP_TEXTS_MAX + 1];
};

/* --- Options ---------------------------------------------------------------------------------- */

/* "mispredictions=5%" */
static enum hp_err read_limit(const char *text, struct hp_gate_limits *limits)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    for (int i = 0; i < HP_TOTALS; i++) {
        const char *name = hp_total_name((enum hp_total)i);
        if (n == strlen(name) && memcmp(text, name, n) == 0)
            return hp_parse_percent(equals + 1, &limits->totals[i]);
    }
    return hp_fail(HP_ERR_INVALID,
                   "--limit %s: what is limited is instructions, branches, cycles, mispredictions, "
                   "l1i.misses, l1d.misses, l2.misses, ... (example: branches=2%%)",
                   text);
}

static enum hp_err read_limits(struct ci *ci)
{
    double threshold = DEFAULT_THRESHOLD;
    if (ci->o->threshold)
        HP_TRY(hp_parse_percent(ci->o->threshold, &threshold));
    for (int i = 0; i < HP_TOTALS; i++)
        ci->limits.totals[i] = -1;
    ci->limits.totals[HP_TOTAL_INSTRUCTIONS] = threshold;
    ci->limits.totals[HP_TOTAL_CYCLES] = threshold;
    ci->limits.functions = -1;
    if (ci->o->function_threshold)
        HP_TRY(hp_parse_percent(ci->o->function_threshold, &ci->limits.functions));
    for (size_t i = 0; i < ci->o->limits.n; i++)
        HP_TRY(read_limit(ci->o->limits.items[i], &ci->limits));
    return HP_OK;
}

/* A machine is run in cycles, all of the run: numbers that are extrapolated do not repeat so well.
 */
static void choose_profile(struct hp_session_settings *session)
{
    if (!session->profile)
        session->profile = session->machine ? "exact,cycles" : "exact";
}

/* The name of the program's own file in the profile; NULL when it is not found (the run will tell).
 */
static char *own_module(char *const *argv)
{
    struct hp_executable program;
    hp_executable_find(argv, &program);
    char *real = program.path ? realpath(program.path, NULL) : NULL;
    char *key = real ? hp_module_key(real) : NULL;
    free(real);
    hp_executable_fini(&program);
    return key;
}

/* --- The baseline ----------------------------------------------------------------------------- */

static enum hp_err advise(enum hp_err err, const char *how)
{
    char reason[320];
    snprintf(reason, sizeof reason, "%s", hp_error_text());
    return hp_fail(err, "%s; %s", reason, how);
}

/* Before the program runs, as it may run for long. */
static enum hp_err open_baseline(struct ci *ci)
{
    enum hp_err err = hp_baseline_load(ci->o->baseline, &ci->baseline);
    if (err == HP_ERR_NOTFOUND && ci->o->update)
        return hp_baseline_new(&ci->baseline);
    if (err == HP_ERR_NOTFOUND)
        return advise(err, "make the baseline with: hotpath ci --update -- PROGRAM ARGUMENTS");
    if (err == HP_ERR_FORMAT || err == HP_ERR_VERSION)
        return advise(err, "to make a new one, remove it and use --update");
    HP_TRY(err);
    if (ci->o->update)
        return HP_OK;
    err = hp_baseline_get(ci->baseline, ci->o->name, &ci->old);
    if (err == HP_ERR_NOTFOUND)
        return advise(err, "--update adds it");
    return err == HP_ERR_FORMAT ? advise(err, "--update writes it anew") : err;
}

static enum hp_err update(struct ci *ci)
{
    HP_TRY(hp_baseline_put(ci->baseline, ci->o->name, ci->new));
    HP_TRY(hp_baseline_save(ci->baseline, ci->o->baseline));
    if (!ci->o->session.quiet)
        fprintf(stderr, "hotpath: baseline written to %s\n", ci->o->baseline);
    return HP_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */

static enum hp_err write_json(const struct ci *ci, const struct hp_gate_print *print)
{
    if (strcmp(ci->o->json, "-") == 0)
        return hp_gate_print_json(ci->gate, print, stdout);
    struct hp_outfile out;
    HP_TRY(hp_outfile_open(&out, ci->o->json));
    enum hp_err err = hp_gate_print_json(ci->gate, print, out.file);
    if (err != HP_OK) {
        hp_outfile_abort(&out);
        return err;
    }
    return hp_outfile_commit(&out);
}

/* Appended, as other steps write there, too. */
static enum hp_err write_summary(const struct ci *ci, const struct hp_gate_print *print)
{
    FILE *out = fopen(ci->o->summary, "ae");
    if (!out)
        return hp_fail(HP_ERR_IO, "cannot write %s: %m", ci->o->summary);
    enum hp_err err = hp_gate_print_markdown(ci->gate, print, out);
    if (fclose(out) != 0 && err == HP_OK)
        err = hp_fail(HP_ERR_IO, "cannot write %s: %m", ci->o->summary);
    return err;
}

static enum hp_err judge(struct ci *ci)
{
    struct hp_report_options style = {0};
    hp_cli_style(&style, stderr);
    struct hp_gate_print print = {
        .name = ci->o->name,
        .baseline = ci->o->baseline,
        .program = ci->program,
        .color = style.color,
    };
    HP_TRY(hp_diff_make(ci->old, ci->new, &(struct hp_diff_options){0}, &ci->diff));
    HP_TRY(hp_gate_make(ci->diff, &ci->limits, &ci->gate));
    if (ci->o->json)
        HP_TRY(write_json(ci, &print));
    if (ci->o->summary)
        HP_TRY(write_summary(ci, &print));
    if (ci->profile->run.lost)
        fprintf(stderr, "hotpath: parts of the run were lost: the counts are too low\n");
    if (ci->o->session.quiet && ci->gate->verdict == HP_GATE_WITHIN)
        return HP_OK;
    return hp_gate_print_text(ci->gate, &print, stderr);
}

/* The run, and what is to be made of it. `*status`: 0, or what the command exits with. */
static enum hp_err run(struct ci *ci, char **argv, int *status)
{
    HP_TRY(read_limits(ci));
    HP_TRY(open_baseline(ci));
    if (!ci->o->keep_environment) {
        HP_TRY(hp_ci_environment(&ci->o->environment, &ci->environment));
        ci->o->session.settings.environment = ci->environment;
    }
    ci->program = own_module(argv);
    HP_TRY(hp_cli_session_begin(&ci->o->session));
    HP_TRY(hp_session_run(&ci->o->session.settings, argv, &ci->profile, status));
    if (ci->o->output)
        HP_TRY(hp_profile_save(ci->profile, ci->o->output));
    if (*status != 0)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s failed with status %d: nothing was %s", argv[0],
                       *status, ci->o->update ? "updated" : "compared");
    for (size_t i = 0; i < ci->o->modules.n; i++)
        ci->modules[i] = ci->o->modules.items[i];
    struct hp_digest_options options = {.modules = ci->o->modules.n ? ci->modules : NULL};
    HP_TRY(hp_digest_make(ci->profile, &options, &ci->new));
    ci->new->about[HP_ABOUT_CPU] = hp_ci_cpu();
    if (ci->new->totals[HP_TOTAL_INSTRUCTIONS] == 0)
        return hp_fail(HP_ERR_UNSUPPORTED,
                       "nothing was counted: the part of the run that was asked for never came");
    if (ci->o->update)
        return update(ci);
    HP_TRY(judge(ci));
    *status = ci->gate->verdict == HP_GATE_REGRESSED ? EXIT_REGRESSION : 0;
    return HP_OK;
}

static void close_ci(struct ci *ci)
{
    hp_gate_free(ci->gate);
    hp_diff_free(ci->diff);
    hp_digest_free(ci->old);
    hp_digest_free(ci->new);
    hp_baseline_free(ci->baseline);
    hp_profile_free(ci->profile);
    hp_environment_free(ci->environment);
    free(ci->program);
}

static const struct options defaults = {.session = HP_CLI_SESSION_DEFAULTS,
                                        .baseline = DEFAULT_FILE};

static const struct hp_option rows[] = {
    {"baseline", 'b', HP_OPT_TEXT, offsetof(struct options, baseline), "FILE",
     "the baseline (default: " DEFAULT_FILE ")", HP_WORDS_FILES},
    {"update", 'u', HP_OPT_FLAG, offsetof(struct options, update), NULL,
     "write what is found to the baseline", 0},
    {"name", 0, HP_OPT_TEXT, offsetof(struct options, name), "NAME",
     "of the benchmark; a baseline may have several\n(default: PROGRAM)", 0},
    {"threshold", 't', HP_OPT_TEXT, offsetof(struct options, threshold), "PERCENT",
     "how many more instructions (and cycles) there may be\n(default 1%)", 0},
    {"function-threshold", 0, HP_OPT_TEXT, offsetof(struct options, function_threshold), "PERCENT",
     "how many more in a function (default: any number)", 0},
    {"limit", 0, HP_OPT_TEXTS, offsetof(struct options, limits), "NAME=PERCENT",
     "likewise of branches, cycles, mispredictions,\nl1d.misses, ... (may be repeated)", 0},
    {"module", 0, HP_OPT_TEXTS, offsetof(struct options, modules), "NAME",
     "count only what is executed in this file: the program,\nlibz.so (may be repeated)", 0},
    {"json", 'j', HP_OPT_TEXT, offsetof(struct options, json), "FILE",
     "write the result as JSON ('-': stdout)", HP_WORDS_FILES},
    {"summary", 0, HP_OPT_TEXT, offsetof(struct options, summary), "FILE",
     "append the result in Markdown: $GITHUB_STEP_SUMMARY", HP_WORDS_FILES},
    {"output", 'o', HP_OPT_TEXT, offsetof(struct options, output), "FILE", "keep the profile, too",
     HP_WORDS_FILES},
    {"env", 0, HP_OPT_TEXTS, offsetof(struct options, environment), "NAME[=VALUE]",
     "a variable for the program (may be repeated)", 0},
    {"keep-env", 0, HP_OPT_FLAG, offsetof(struct options, keep_environment), NULL,
     "run the program in the environment as it is", 0},
    {"machine", 0, HP_OPT_TEXT, offsetof(struct options, session.settings.machine), "NAME",
     "model a machine, too: cycles, misses, mispredictions", HP_WORDS_MACHINES},
    {"windows", 0, HP_OPT_TEXT, offsetof(struct options, session.settings.windows), "WINDOWS",
     "what is run in cycles: all (default), or\nperiod=1M,detail=50K,ramp=2K,warm=all", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {hp_options_region, offsetof(struct options, session)},
    {hp_options_engine, offsetof(struct options, session)},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct options *o = values;
    struct ci ci = {.o = o};
    (void)n;
    if (!o->name)
        o->name = hp_base_name(words[0]);
    if (!*o->name)
        return hp_fail(HP_ERR_INVALID, "--name is empty");
    choose_profile(&o->session.settings);
    enum hp_err err = run(&ci, words, status);
    close_ci(&ci);
    return err;
}

const struct hp_command hp_command_ci = {
    .name = "ci",
    .summary = "compare a run with a baseline, and fail when it got slower",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
    .help =
        "Runs PROGRAM and compares what it executed with a baseline, a text file that is kept "
        "with\n"
        "the source. Exits with 3 when there are more instructions than the threshold allows, and\n"
        "says which functions they are in. Counts are exact and the same from run to run, so the\n"
        "threshold may be small. The program gets an environment of its own (--env adds to it).\n",
    .examples =
        "  hotpath ci --update -- ./bench input               make the baseline, and commit it\n"
        "  hotpath ci -- ./bench input                        in CI: compare with it\n"
        "  hotpath ci --name sort --threshold 0.5% -- ./bench sort\n"
        "  hotpath ci --summary \"$GITHUB_STEP_SUMMARY\" -- ./bench input\n",
    .options = options,
    .stop_at_word = true,
    .least = 1,
    .wrong = "no program given",
    .instead = "hotpath ci -- PROGRAM ARGUMENTS",
    .defaults = &defaults,
    .size = sizeof(struct options),
    .run = run_command,
};
