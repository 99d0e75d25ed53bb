// SPDX-License-Identifier: MIT
#include "lab/lab.h"
#include "base/outfile.h"
#include "cli/cli.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- list ------------------------------------------------------------------------------------- */

static enum hp_err print_list(void)
{
    struct hp_lab_programs programs;
    size_t n;
    const struct hp_experiment *const *experiments = hp_lab_experiments(&n);
    HP_TRY(hp_lab_programs(NULL, &programs));
    printf("Experiments\n");
    for (size_t i = 0; i < n; i++)
        printf("  %-20s %s\n", experiments[i]->name, experiments[i]->summary);
    printf("\nPrograms (and the Debian packages they are in)\n");
    for (size_t i = 0; i < programs.n; i++) {
        const struct hp_lab_program *p = &programs.programs[i];
        printf("  %-10s %-20s %s\n", p->name, p->package, p->stands_for);
    }
    hp_lab_programs_fini(&programs);
    return HP_OK;
}

/* --- Running ---------------------------------------------------------------------------------- */

struct watch {
    struct hp_progress progress;
    bool quiet;
    const char *program;
};

static void show_progress(void *context, const char *program, uint64_t instructions)
{
    struct watch *watch = context;
    if (!program) {
        hp_progress_end(&watch->progress);
        return;
    }
    if (program != watch->program) {
        hp_progress_end(&watch->progress);
        hp_progress_start(&watch->progress, watch->quiet);
        watch->program = program;
        if (watch->progress.enabled)
            fprintf(stderr, "hotpath: %s\n", program);
    }
    if (instructions < watch->progress.last_instructions) /* its next run */
        watch->progress.last_instructions = 0;
    if (instructions && hp_progress_due(&watch->progress))
        hp_progress_show(&watch->progress, instructions);
}

/* Where inputs are kept when nobody says. Free the result; NULL without memory. */
static char *default_inputs(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = cache && *cache ? asprintf(&path, "%s/hotpath/lab", cache)
            : home && *home ? asprintf(&path, "%s/.cache/hotpath/lab", home)
                            : asprintf(&path, "/tmp/hotpath-lab-%u", (unsigned)getuid());
    return n < 0 ? NULL : path;
}

static enum hp_err write_json(const struct hp_lab *lab, const char *path)
{
    struct hp_outfile out;
    if (strcmp(path, "-") == 0)
        return hp_lab_write(lab, stdout);
    HP_TRY(hp_outfile_open(&out, path));
    enum hp_err err = hp_lab_write(lab, out.file);
    if (err != HP_OK) {
        hp_outfile_abort(&out);
        return hp_fail(err, "%s: cannot be written", path);
    }
    return hp_outfile_commit(&out);
}

/* A program that failed is a failure of the whole, after all the others were shown. */
static enum hp_err check_outcomes(const struct hp_lab *lab)
{
    for (size_t i = 0; i < lab->programs.n; i++)
        if (lab->outcomes[i].failed)
            return hp_fail(HP_ERR_UNSUPPORTED, "%s: %s", lab->programs.programs[i].name,
                           lab->outcomes[i].problem);
    return HP_OK;
}

static enum hp_err run(const char *name, struct hp_lab_options *options, bool quiet,
                       const char *json)
{
    const struct hp_experiment *experiment;
    struct watch watch = {.quiet = quiet};
    struct hp_lab *lab;
    HP_TRY(hp_lab_find(name, &experiment));
    options->progress = show_progress;
    options->context = &watch;
    enum hp_err err = hp_lab_run(experiment, options, &lab);
    hp_progress_end(&watch.progress);
    HP_TRY(err);
    if (json)
        err = write_json(lab, json);
    if (err == HP_OK && !(json && strcmp(json, "-") == 0))
        hp_lab_print(lab, stdout);
    if (err == HP_OK)
        err = check_outcomes(lab);
    hp_lab_free(lab);
    return err;
}

struct request {
    struct hp_lab_options lab;
    const char *json;
    bool quiet;
};

static const struct hp_option rows[] = {
    {"programs", 0, HP_OPT_TEXT, offsetof(struct request, lab.programs), "A,B,...",
     "only these (default: those that the experiment is for)", 0},
    {"arch", 0, HP_OPT_TEXT, offsetof(struct request, lab.arch), "arm",
     "programs of another architecture, under the qemu engine\n(lab/arm-sysroot fetches them)", 0},
    {"short", 's', HP_OPT_FLAG, offsetof(struct request, lab.short_form), NULL,
     "small inputs, and only the first 50M instructions of\nthem: a look, not a figure", 0},
    {"json", 'j', HP_OPT_TEXT, offsetof(struct request, json), "FILE",
     "write every number to FILE ('-': stdout, and no tables)", HP_WORDS_FILES},
    {"inputs", 0, HP_OPT_TEXT, offsetof(struct request, lab.inputs), "DIR",
     "where generated inputs are kept\n(default: hotpath/lab in the user's cache)",
     HP_WORDS_DIRECTORIES},
    {"instructions", 0, HP_OPT_COUNT, offsetof(struct request, lab.instructions), "N",
     "of each program that are observed (default: all)", 0},
    {"machine-instructions", 0, HP_OPT_COUNT, offsetof(struct request, lab.machine_instructions),
     "N", "the same where a machine model counts, which is slower\n(default 300M)", 0},
    {"cycle-instructions", 0, HP_OPT_COUNT, offsetof(struct request, lab.cycle_instructions), "N",
     "of these, in cycles, where a machine has them\n(default 30M)", 0},
    {"window", 0, HP_OPT_COUNT, offsetof(struct request, lab.window), "N",
     "instructions of a window of a dynamic profile\n(default 100M; short form 5M)", 0},
    {"quiet", 'q', HP_OPT_FLAG, offsetof(struct request, quiet), NULL, "no progress", 0},
    {0},
};

static const struct hp_option_group options[] = {
    {rows, 0},
    {0},
};

static enum hp_err run_command(void *values, int n, char **words, int *status)
{
    struct request *r = values;
    (void)n, (void)status;
    if (strcmp(words[0], "list") == 0)
        return print_list();
    char *inputs = default_inputs();
    if (!r->lab.inputs)
        r->lab.inputs = inputs;
    enum hp_err err = r->lab.inputs ? run(words[0], &r->lab, r->quiet, r->json) : hp_fail_nomem();
    free(inputs);
    return err;
}

const struct hp_command hp_command_lab = {
    .name = "lab",
    .summary = "run the papers' experiments on real programs",
    .synopsis = "[OPTIONS] list|EXPERIMENT",
    .help =
        "Runs an experiment of the papers that hotpath is built after, on real programs with\n"
        "generated inputs, and prints what it measures beside what the paper says. 'list' names\n"
        "the experiments and the programs. docs/lab.md explains them.\n",
    .examples = "  hotpath lab list\n"
                "  hotpath lab paths-overlap                        all programs, minutes\n"
                "  hotpath lab paths-overlap --short                seconds, for a first look\n"
                "  hotpath lab prediction-curves --programs gzip,lua --json curves.json\n"
                "  hotpath lab loops-accuracy --arch arm            once lab/arm-sysroot was run\n",
    .options = options,
    .least = 1,
    .most = 1,
    .wrong = "lab takes the name of an experiment",
    .instead = "hotpath lab list",
    .size = sizeof(struct request),
    .run = run_command,
};
