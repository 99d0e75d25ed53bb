// SPDX-License-Identifier: MIT
#include "lab/lab.h"

#include "base/base.h"
#include "cli/cli.h"

#include <unistd.h>

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

static enum hp_err write_json(void *lab, FILE *out)
{
    return hp_lab_write(lab, out);
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

struct request {
    struct hp_lab_options lab;
    const char *json;
    bool quiet;
};

HP_CLEANUP_POINTER(free_lab, struct hp_lab, hp_lab_free)

static enum hp_err run(struct hp_invocation *call)
{
    struct request *r = call->values;
    const struct hp_experiment *experiment;
    struct watch watch = {.quiet = r->quiet};
    struct hp_lab *lab HP_CLEANUP(free_lab) = NULL;
    if (strcmp(call->words[0], "list") == 0)
        return print_list();
    char *inputs HP_CLEANUP(hp_free) = default_inputs();
    if (!r->lab.inputs)
        r->lab.inputs = inputs;
    if (!r->lab.inputs)
        return hp_fail_nomem();
    HP_TRY(hp_lab_find(call->words[0], &experiment));
    r->lab.progress = show_progress;
    r->lab.context = &watch;
    enum hp_err err = hp_lab_run(experiment, &r->lab, &lab);
    hp_progress_end(&watch.progress);
    HP_TRY(err);
    if (r->json)
        HP_TRY(hp_cli_write(r->json, write_json, lab));
    if (!r->json || strcmp(r->json, "-") != 0)
        hp_lab_print(lab, stdout);
    return check_outcomes(lab);
}

static const struct hp_option rows[] = {
    {"programs", 0, HP_TEXT(lab.programs), "A,B,...",
     "only these (default: those that the experiment is for)"},
    {"arch", 0, HP_TEXT(lab.arch), "arm",
     "programs of another architecture, under the qemu engine (lab/arm-sysroot fetches them)"},
    {"short", 's', HP_FLAG(lab.short_form), NULL,
     "small inputs, and only the first 50M instructions of them: a look, not a figure"},
    {"json", 'j', HP_TEXT(json), "FILE", "write every number to FILE ('-': stdout, and no tables)"},
    {"inputs", 0, HP_TEXT(lab.inputs), "DIR",
     "where generated inputs are kept (default: hotpath/lab in the user's cache)"},
    {"instructions", 0, HP_COUNT(lab.instructions), "N",
     "of each program that are observed (default: all)"},
    {"machine-instructions", 0, HP_COUNT(lab.machine_instructions), "N",
     "the same where a machine model counts, which is slower (default 300M; short form 20M)"},
    {"cycle-instructions", 0, HP_COUNT(lab.cycle_instructions), "N",
     "of these, in cycles, where a machine has them, in windows of 100K (default 30M; short form "
     "1M)"},
    {"window", 0, HP_COUNT(lab.window), "N",
     "instructions of a window of a dynamic profile (default 100M; short form 5M)"},
    {"quiet", 'q', HP_FLAG(quiet), NULL, "no progress"},
    {0},
};

const struct hp_command hp_command_lab = {
    .name = "lab",
    .summary = "run the papers' experiments on real programs",
    .synopsis = "[OPTIONS] EXPERIMENT",
    .help = "Runs an experiment of the papers that hotpath is built after, on real programs with "
            "generated inputs, and prints what it measures beside what the paper says. 'list' "
            "names the experiments and the programs. docs/lab.md explains them.\n",
    .examples = "  hotpath lab list\n"
                "  hotpath lab paths-overlap                        all programs, minutes\n"
                "  hotpath lab paths-overlap --short                seconds, for a first look\n"
                "  hotpath lab prediction-curves --programs gzip,lua --json curves.json\n"
                "  hotpath lab loops-accuracy --arch arm            once lab/arm-sysroot was run\n",
    .options = {rows},
    .words = "EXPERIMENT",
    .values = {sizeof(struct request), NULL},
    .run = run,
};
