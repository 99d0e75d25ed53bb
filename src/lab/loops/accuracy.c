// SPDX-License-Identifier: MIT
/*
 * Hardware loop profilers compared with the exact loops (figures 4, 5 and 7 of the paper): errors
 * in iterations, executions and execution time of the ten heaviest loops, and how much of the
 * execution the reported loops capture.
 */
#include "lab/experiments.h"
#include "lab/loops/code_sizes.h"
#include "lab/loops/comparison.h"
#include "lab/loops/coverage.h"
#include "lab/loops/skip_linker.h"
#include "profiler/loop/model.h"
#include "profiler/loop/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The compared models: one column each. */
static const struct model {
    const char *key;
    const char *text;           /* for hp_loop_config_parse() */
    bool frequent;              /* it does not count executions */
    bool instructions;          /* it counts instructions, and so knows shares of the whole run */
    struct hp_lab_errors paper; /* 0: not given */
    double captured;            /* likewise */
} models[] = {
    {.key = "full", .text = "daprof-full", .paper = {11, 3, 5}},
    {.key = "16way", .text = "daprof-16way", .paper = {11, 3, 5}},
    {.key = "8way", .text = "daprof", .paper = {10, 3, 5}, .captured = 78},
    {.key = "full-calls", .text = "daprof-full,calls"},
    {.key = "16way-calls", .text = "daprof-16way,calls"},
    {.key = "8way-calls", .text = "daprof,calls", .paper = {2, 3, 5}},
    {.key = "calls-first", .text = "daprof,calls,first-average"},
    {.key = "calls-first-wide", .text = "daprof,calls,first-average,iteration-bits=20"},
    {.key = "frequent",
     .text = "frequent,max-offset=1024",
     .frequent = true,
     .paper = {.time = 6},
     .captured = 62},
    {.key = "ranges", .text = "ranges", .instructions = true},
};
#define N_MODELS  (sizeof models / sizeof *models)
#define EIGHT_WAY 2 /* the paper's choice */

/* FIFOs in front of the 8-way cache. */
static const char *const fifos[] = {"1", "2", "4", "8", "16"};
#define N_FIFOS (sizeof fifos / sizeof *fifos)

/* Sets of loops, for what is executed within them: one per model, and these. */
enum { BEST = N_MODELS, LOOPS, N_SETS };
_Static_assert(N_SETS <= 30 && N_MODELS + N_FIFOS <= HP_LOOP_MODELS, "too many models");

/* --- Sheets ----------------------------------------------------------------------------------- */

enum {
    LOOPS_SHEET,
    ERRORS, /* three for each choice */
    CAPTURED = ERRORS + 9,
    CAPTURED_ALL,
    CAPTURED_CALLEES,
    CALM,
    FIFO,
    HARDWARE,
};
enum { ITERATIONS, EXECUTIONS, TIME };

/* From which loops the ten are chosen, and the tables of their errors. */
static const struct choice {
    enum hp_lab_choice choice;
    bool detail;
    struct {
        const char *key, *title;
    } results[3];
} choices[] = {
    {HP_LAB_HOT,
     false,
     {{"iterations", "Error in average iterations of the ten heaviest loops, percent"},
      {"executions", "Error in their shares of executions, points"},
      {"time", "Error in their shares of execution time, points"}}},
    {HP_LAB_SEEN,
     false,
     {{"iterations_seen", "The same of the ten heaviest loops that short backward branches show: "
                          "average iterations"},
      {"executions_seen", "Executions of these"},
      {"time_seen", "Execution time of these"}}},
    {HP_LAB_ANY,
     true,
     {{"iterations_any",
       "The same of the ten heaviest of all loops, also of those that hardly ever "
       "go back: average iterations"},
      {"executions_any", "Executions of these"},
      {"time_any", "Execution time of these"}}},
};
#define N_CHOICES (sizeof choices / sizeof *choices)
_Static_assert(3 * N_CHOICES == CAPTURED - ERRORS, "tables of errors");

static enum hp_err add_errors(struct hp_lab *lab, size_t c, size_t kind)
{
    const struct choice *choice = &choices[c];
    struct hp_lab_results *results =
        hp_lab_add_results(lab, choice->results[kind].key, choice->results[kind].title, "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    results->detail = choice->detail;
    for (size_t m = 0; m < N_MODELS; m++) {
        const double paper[] = {models[m].paper.iterations, models[m].paper.executions,
                                models[m].paper.time};
        if (models[m].frequent && kind != TIME)
            continue;
        hp_lab_results_column(results, models[m].key, NULL, 1);
        if (c == 0 && paper[kind] > 0)
            hp_lab_results_paper(results, "paper", models[m].key, paper[kind]);
    }
    return HP_OK;
}

static enum hp_err add_captured(struct hp_lab *lab, const char *key, const char *title, bool paper)
{
    struct hp_lab_results *results = hp_lab_add_results(lab, key, title, "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t m = 0; m < N_MODELS; m++) {
        hp_lab_results_column(results, models[m].key, NULL, 1);
        if (paper && models[m].captured > 0)
            hp_lab_results_paper(results, "paper", models[m].key, models[m].captured);
    }
    hp_lab_results_column(results, "best", NULL, 1);
    hp_lab_results_column(results, "loops", NULL, 1);
    return HP_OK;
}

static enum hp_err begin_loops(struct hp_lab *lab)
{
    struct hp_lab_results *results = hp_lab_add_results(
        lab, "loops", "Loops of the exact profile, and the ten heaviest", "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    hp_lab_results_column(results, "loops", NULL, 0);
    hp_lab_results_column(results, "hot", "compared", 0);
    hp_lab_results_column(results, "hot_share", "% in them", 1);
    hp_lab_results_column(results, "seen", "of them short", 0);
    hp_lab_results_column(results, "calling", "of them calling", 0);
    hp_lab_results_column(results, "iterations", "mean iterations", 1);
    hp_lab_results_column(results, "longest", "largest mean", 1);
    return HP_OK;
}

static enum hp_err begin_rest(struct hp_lab *lab)
{
    struct hp_lab_results *calm = hp_lab_add_results(
        lab, "calm", "8-way, the ten heaviest loops that call nothing: errors, points", "program");
    struct hp_lab_results *fifo = hp_lab_add_results(
        lab, "fifo", "Short backward branches lost at a FIFO of that many entries, percent",
        "program");
    struct hp_lab_results *hardware =
        hp_lab_add_results(lab, "hardware", "The models, over all programs", "model");
    if (!calm || !fifo || !hardware)
        return HP_ERR_NOMEM;
    calm->mean = fifo->mean = true;
    hp_lab_results_column(calm, "iterations", NULL, 1);
    hp_lab_results_column(calm, "executions", NULL, 1);
    hp_lab_results_column(calm, "time", NULL, 1);
    hp_lab_results_paper(calm, "paper, figure 7", "iterations", 4);
    hp_lab_results_paper(calm, "paper, figure 7", "executions", 3);
    hp_lab_results_paper(calm, "paper, figure 7", "time", 5);
    for (size_t f = 0; f < N_FIFOS; f++)
        hp_lab_results_column(fifo, fifos[f], NULL, 3);
    hp_lab_results_column(hardware, "bits", NULL, 0);
    hp_lab_results_column(hardware, "branches", NULL, 0);
    hp_lab_results_column(hardware, "replacements", NULL, 0);
    hp_lab_results_column(hardware, "halvings", NULL, 0);
    hp_lab_results_column(hardware, "saturations", NULL, 0);
    hp_lab_results_column(hardware, "overflows", NULL, 0);
    return HP_OK;
}

static enum hp_err begin(struct hp_lab *lab)
{
    HP_TRY(begin_loops(lab));
    for (size_t c = 0; c < N_CHOICES; c++)
        for (size_t kind = ITERATIONS; kind <= TIME; kind++)
            HP_TRY(add_errors(lab, c, kind));
    HP_TRY(add_captured(lab, "captured", "Execution in the ten heaviest reported loops, percent",
                        true));
    HP_TRY(add_captured(lab, "captured_all", "Execution in all reported loops, percent", false));
    HP_TRY(add_captured(lab, "captured_callees",
                        "Execution in all reported loops and what they call, percent", false));
    return begin_rest(lab);
}

/* --- The first run ---------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *name; /* of the program */
    const char *path;
    struct hp_profiler *exact, *models, *coverage, *filter;
    struct hp_loop_config configs[N_MODELS + N_FIFOS];
    struct hp_lab_loops loops;
    struct hp_lab_code_sizes sizes;
    struct hp_lab_block_sets sets;
};

static enum hp_err parse_models(struct probe *probe, enum hp_arch arch)
{
    /* Debian's programs for ARM are Thumb code. */
    const char *rest = arch == HP_ARCH_ARM ? ",insn-bytes=2" : "";
    for (size_t m = 0; m < N_MODELS + N_FIFOS; m++) {
        char text[128];
        if (m < N_MODELS)
            snprintf(text, sizeof text, "%s%s", models[m].text, rest);
        else
            snprintf(text, sizeof text, "daprof,fifo=%s%s", fifos[m - N_MODELS], rest);
        HP_TRY(hp_loop_config_parse(text, &probe->configs[m]));
        hp_loop_config_widths(&probe->configs[m], arch);
    }
    return HP_OK;
}

/* Hides what the dynamic linker does before the program's own code: the paper's programs have
 * none. */
static enum hp_err add_without_linker(struct probe *probe, struct hp_session *session,
                                      struct hp_profiler *profiler)
{
    HP_TRY(hp_lab_skip_linker_new(hp_session_code(session), probe->path, profiler, &probe->filter));
    return hp_session_add(session, probe->filter);
}

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(parse_models(probe, hp_code_arch(hp_session_code(session))));
    HP_TRY(
        hp_exact_new(hp_session_code(session), hp_session_functions(session), true, &probe->exact));
    HP_TRY(add_without_linker(probe, session, probe->exact));
    HP_TRY(hp_loop_models_new(hp_session_code(session), hp_session_functions(session),
                              probe->configs, N_MODELS + N_FIFOS, &probe->models));
    return add_without_linker(probe, session, probe->models);
}

static enum hp_err set(const struct probe *probe, size_t kind, const char *column, double value)
{
    struct hp_lab_results *results = probe->lab->results[kind];
    return hp_lab_results_set(results, probe->name, hp_lab_results_find(results, column), value);
}

static double own_share(const struct hp_lab_loops *loops, const size_t *which, size_t n)
{
    double own = 0;
    for (size_t k = 0; k < n; k++)
        own += (double)loops->loops[which ? which[k] : k].own;
    return 100 * own / (double)loops->instructions;
}

/* The exact profile. */
static enum hp_err set_loops(struct probe *probe)
{
    const struct hp_lab_loops *loops = &probe->loops;
    size_t top[HP_LAB_TOP], n = hp_lab_loops_top(loops, HP_LAB_HOT, top);
    double seen = 0, calling = 0, averages = 0, longest = 0;
    for (size_t k = 0; k < n; k++) {
        const struct hp_lab_loop *loop = &loops->loops[top[k]];
        double average = (double)loop->back_edges / (double)loop->executions;
        seen += loop->seen;
        calling += loop->calls;
        averages += average;
        longest = fmax(longest, average);
    }
    HP_TRY(set(probe, LOOPS_SHEET, "loops", (double)loops->n));
    HP_TRY(set(probe, LOOPS_SHEET, "hot", (double)n));
    HP_TRY(set(probe, LOOPS_SHEET, "hot_share", own_share(loops, top, n)));
    HP_TRY(set(probe, LOOPS_SHEET, "seen", seen));
    HP_TRY(set(probe, LOOPS_SHEET, "calling", calling));
    HP_TRY(set(probe, LOOPS_SHEET, "iterations", n ? averages / (double)n : (double)NAN));
    HP_TRY(set(probe, LOOPS_SHEET, "longest", n ? longest : (double)NAN));
    n = hp_lab_loops_top(loops, HP_LAB_ANY, top);
    for (size_t kind = CAPTURED; kind <= CAPTURED_ALL; kind++) {
        HP_TRY(set(probe, kind, "best", own_share(loops, top, n)));
        HP_TRY(set(probe, kind, "loops", own_share(loops, NULL, loops->n)));
    }
    return HP_OK;
}

static enum hp_err set_errors(struct probe *probe, size_t m, const struct hp_lab_report *report)
{
    const char *key = models[m].key;
    double whole = models[m].instructions ? (double)probe->loops.instructions : report->all;
    struct hp_lab_errors errors;
    for (size_t c = 0; c < N_CHOICES; c++) {
        size_t first = ERRORS + 3 * c;
        hp_lab_errors(&probe->loops, report, choices[c].choice, whole, &errors);
        if (!models[m].frequent) {
            HP_TRY(set(probe, first + ITERATIONS, key, errors.iterations));
            HP_TRY(set(probe, first + EXECUTIONS, key, errors.executions));
        }
        HP_TRY(set(probe, first + TIME, key, errors.time));
    }
    HP_TRY(set(probe, CAPTURED, key, hp_lab_captured(&probe->loops, report)));
    HP_TRY(set(probe, CAPTURED_ALL, key, hp_lab_captured_all(&probe->loops, report)));
    if (m != EIGHT_WAY)
        return HP_OK;
    hp_lab_errors(&probe->loops, report, HP_LAB_CALM, whole, &errors);
    HP_TRY(set(probe, CALM, "iterations", errors.iterations));
    HP_TRY(set(probe, CALM, "executions", errors.executions));
    return set(probe, CALM, "time", errors.time);
}

/* Adds the blocks of a loop to a set. */
static enum hp_err add_set(struct probe *probe, const struct hp_code *code,
                           const struct hp_exact_loop *loop, unsigned bit)
{
    for (size_t k = 0; k < loop->n_nodes; k++)
        HP_TRY(hp_lab_block_sets_add(&probe->sets, hp_code_block(code, loop->nodes[k])->start,
                                     1u << bit));
    return HP_OK;
}

static enum hp_err add_hardware(struct probe *probe, size_t m, const struct hp_loop_stats *stats)
{
    const double values[] = {(double)stats->branches, (double)stats->replacements,
                             (double)stats->halvings, (double)stats->saturations,
                             (double)stats->overflows};
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(probe->lab->results[HARDWARE], models[m].key, &row));
    row->values[0] = (double)hp_loop_config_bits(&probe->configs[m]);
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        row->values[v + 1] = values[v] + (isnan(row->values[v + 1]) ? 0 : row->values[v + 1]);
    return HP_OK;
}

/* The entries of a model, and the loops they stand for. */
static enum hp_err collect_model(struct probe *probe, const struct hp_code *code, size_t m,
                                 const struct hp_exact_loop *exact)
{
    const struct hp_loop_model *model = hp_loop_models_get(probe->models, m);
    struct hp_lab_report report;
    struct hp_loop_entry *entries;
    size_t n;
    HP_TRY(add_hardware(probe, m, hp_loop_model_stats(model)));
    HP_TRY(hp_loop_model_entries(model, &entries, &n));
    for (size_t i = 0; i < n && !models[m].instructions; i++) /* more precise than from bytes */
        entries[i].instructions =
            entries[i].iterations *
            (double)hp_lab_code_sizes_count(&probe->sizes, entries[i].target, entries[i].address);
    enum hp_err err = hp_lab_report_init(&report, &probe->loops, entries, n);
    free(entries);
    HP_TRY(err);
    err = set_errors(probe, m, &report);
    for (size_t i = 0; i < probe->loops.n && err == HP_OK; i++)
        if (report.said[i].reported)
            err = add_set(probe, code, &exact[i], (unsigned)m);
    hp_lab_report_fini(&report);
    return err;
}

static enum hp_err collect_sets(struct probe *probe, const struct hp_code *code,
                                const struct hp_exact_loop *exact)
{
    size_t top[HP_LAB_TOP], n = hp_lab_loops_top(&probe->loops, HP_LAB_ANY, top);
    for (uint32_t b = 0; b < hp_code_n_blocks(code); b++)
        HP_TRY(hp_lab_block_sets_add(&probe->sets, hp_code_block(code, b)->start, 0));
    for (size_t k = 0; k < n; k++)
        HP_TRY(add_set(probe, code, &exact[top[k]], BEST));
    for (size_t i = 0; i < probe->loops.n; i++)
        HP_TRY(add_set(probe, code, &exact[i], LOOPS));
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    const struct hp_exact_loop *exact;
    size_t n;
    HP_TRY(hp_exact_loops(probe->exact, &exact, &n));
    uint64_t instructions = hp_lab_instructions(session) - hp_lab_skip_linker_hidden(probe->filter);
    HP_TRY(hp_lab_loops_init(&probe->loops, hp_session_code(session), exact, n, instructions));
    HP_TRY(hp_lab_code_sizes_init(&probe->sizes, hp_session_code(session)));
    HP_TRY(set_loops(probe));
    HP_TRY(collect_sets(probe, hp_session_code(session), exact));
    for (size_t m = 0; m < N_MODELS; m++)
        HP_TRY(collect_model(probe, hp_session_code(session), m, exact));
    for (size_t f = 0; f < N_FIFOS; f++) {
        const struct hp_loop_stats *stats =
            hp_loop_model_stats(hp_loop_models_get(probe->models, N_MODELS + f));
        double lost =
            stats->branches ? 100 * (double)stats->overflows / (double)stats->branches : 0;
        HP_TRY(set(probe, FIFO, fifos[f], lost));
    }
    return HP_OK;
}

/* --- The second run --------------------------------------------------------------------------- */

static enum hp_err attach_coverage(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_coverage_new(hp_session_code(session), &probe->sets, &probe->coverage));
    return add_without_linker(probe, session, probe->coverage);
}

static enum hp_err collect_coverage(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    (void)session;
    for (unsigned s = 0; s < N_SETS; s++) {
        const char *key = s < N_MODELS ? models[s].key : s == BEST ? "best" : "loops";
        double share;
        HP_TRY(hp_lab_coverage_share(probe->coverage, s, &share));
        HP_TRY(set(probe, CAPTURED_CALLEES, key, share));
    }
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .name = name, .path = command->argv[0]};
    enum hp_err err = hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
    if (err == HP_OK)
        err = hp_lab_observe(lab, command,
                             &(struct hp_lab_probe){attach_coverage, collect_coverage, &probe});
    hp_lab_loops_fini(&probe.loops);
    hp_lab_code_sizes_fini(&probe.sizes);
    hp_lab_block_sets_fini(&probe.sets);
    return err;
}

const struct hp_experiment hp_loops_accuracy = {
    .name = "loops-accuracy",
    .summary = "loop profilers in hardware beside the exact loops (figures 4, 5 and 7)",
    .programs = "cjpeg,djpeg,lame,madplay,tiff2bw,tiff2rgba,tiffdither,tiffmedian",
    .paper =
        "  Nair, Lysecky: Non-Intrusive Dynamic Application Profiler for Detailed Loop Execution\n"
        "  Characterization. CASES 2008. The consumer programs of MiBench on ARM. Errors in "
        "average\n"
        "  iterations, executions, execution time: fully associative 11, 3, 5 %, 16-way 11, 3, 5 "
        "%,\n"
        "  8-way 10, 3, 5 %; without loops that calls interfere with 4, 3, 5 %; when calls are\n"
        "  watched accuracies of 98, 97, 95 %. The ten heaviest loops of DAProf capture 78 % of "
        "the\n"
        "  execution, those of frequent loop detection 62 %.\n",
    .begin = begin,
    .measure = measure,
};
