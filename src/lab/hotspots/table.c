// SPDX-License-Identifier: MIT
/*
 * The hot spot detector on real programs (the table of the slides): how little code covers how much
 * of the execution, and how soon it is found.
 */
#include "lab/experiments.h"
#include "lab/flow.h"
#include "lab/hotspots/hindsight.h"
#include "profiler/hotspot/profiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The compared configurations: one table each. */
static const struct detector {
    const char *key;
    const char *text; /* for hp_hotspot_config_parse() */
    const char *title;
    bool detail; /* its own table is in JSON only */
} detectors[] = {
    {"merten", "merten", "The slides' detector", false},
    {"dense", "dense", "Ours, in no more bits", false},
    /* What the slides propose for it. */
    {"conditional", "merten,only=conditional-indirect",
     "Only conditional and computed branches are profiled", true},
    {"half", "merten,only=conditional-indirect,entries=1024", "... in half of the buffer", true},
    {"direction", "merten,index=direction", "The buffer is indexed with the direction", true},
    {"target", "merten,index=target", "The buffer is indexed with the target", true},
    {"bounded", "merten,monitor-entries=512", "A monitor table of 512 branches", true},
    {"two-level", "merten,monitor-entries=256,ranges=64",
     "One of 64 ranges in front of 256 branches", true},
    {"thread", "merten,share=thread", "Each thread has a detector of its own", true},
};
#define N_DETECTORS (sizeof detectors / sizeof *detectors)
#define REFINED     N_DETECTORS /* the table of all detectors */

#define LITTLE 0.03 /* of the static code: what the slides have, for the best choice */

/* The slides' table, for the programs that ours represent or resemble. Millions of instructions. */
static const struct published {
    const char *name;
    double hotspots, insns, of_static, total, detected, after;
} published[] = {
    {"slides: go (gnugo)", 6, 2398, 3.46, 37.84, 35.39, 31.7},
    {"slides: gcc (cc1)", 47, 17665, 8.90, 58.42, 52.12, 617},
    {"slides: compress", 7, 918, 2.12, 99.93, 99.81, 2870},
    {"slides: ijpeg (cjpeg)", 8, 2556, 3.48, 91.07, 91.00, 1420},
    {"slides: perl", 5, 1738, 2.13, 88.43, 85.99, 2010},
    {"slides: vortex (sqlite3)", 5, 2161, 1.76, 72.30, 71.93, 1580},
    {"slides: Ghostview (gs)", 33, 8938, 2.82, 73.39, 72.55, 2300},
    {"slides: mean of 14", (double)NAN, (double)NAN, 2.9, 79.6, (double)NAN, (double)NAN},
};
#define N_PUBLISHED (sizeof published / sizeof *published)

static void add_columns(struct hp_lab_results *results)
{
    hp_lab_results_column(results, "hotspots", "hot spots", 0);
    hp_lab_results_column(results, "insns", "static insns", 0);
    hp_lab_results_column(results, "of_static", "% of static", 2);
    hp_lab_results_column(results, "total", "% of execution", 2);
    hp_lab_results_column(results, "detected", "% detected", 2);
    hp_lab_results_column(results, "after", "after, M", 1);
    hp_lab_results_column(results, "lost", "% lost", 2);
    hp_lab_results_column(results, "first", "branches to first", 0);
    hp_lab_results_column(results, "profiled", "% profiled", 2);
    hp_lab_results_column(results, "bits", NULL, 0);
    hp_lab_results_column(results, "monitor_bits", "monitor bits", 0);
    hp_lab_results_column(results, "best", "best, as much", 2);
    hp_lab_results_column(results, "best_3", "best, 3 %", 2);
    hp_lab_results_column(results, "passed_on", NULL, 0);
}

static void set_published(struct hp_lab_results *results)
{
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        const struct published *p = &published[i];
        hp_lab_results_paper(results, p->name, "hotspots", p->hotspots);
        hp_lab_results_paper(results, p->name, "insns", p->insns);
        hp_lab_results_paper(results, p->name, "of_static", p->of_static);
        hp_lab_results_paper(results, p->name, "total", p->total);
        hp_lab_results_paper(results, p->name, "detected", p->detected);
        hp_lab_results_paper(results, p->name, "after", p->after);
        hp_lab_results_paper(results, p->name, "lost",
                             i + 1 < N_PUBLISHED ? p->total - p->detected : 2.4);
    }
}

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t d = 0; d < N_DETECTORS; d++) {
        struct hp_lab_results *results =
            hp_lab_add_results(lab, detectors[d].key, detectors[d].title, "program");
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = true;
        results->detail = detectors[d].detail;
        add_columns(results);
        if (d == 0)
            set_published(results);
    }
    struct hp_lab_results *refined = hp_lab_add_results(
        lab, "refinements", "Every detector: means over the programs", "detector");
    if (!refined)
        return HP_ERR_NOMEM;
    add_columns(refined);
    return HP_OK;
}

struct probe {
    struct hp_lab *lab;
    const char *name; /* of the program */
    struct hp_hotspot_config configs[N_DETECTORS];
    struct hp_profiler *profilers[N_DETECTORS];
    struct hp_lab_flow *flow;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_flow_new(0, &probe->flow));
    HP_TRY(hp_session_add(session, &probe->flow->profiler));
    for (size_t d = 0; d < N_DETECTORS; d++) {
        HP_TRY(hp_hotspot_config_parse(detectors[d].text, &probe->configs[d]));
        HP_TRY(hp_hotspot_profiler_new(hp_session_code(session), hp_session_functions(session),
                                       &probe->configs[d], &probe->profilers[d]));
        HP_TRY(hp_session_add(session, probe->profilers[d]));
    }
    return HP_OK;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : (double)NAN;
}

/* How often each block was executed: as often as control came to it. */
static enum hp_err look_back(const struct probe *probe, const struct hp_code *code,
                             struct hp_lab_hindsight *hindsight)
{
    size_t n = hp_code_n_blocks(code), executed = 0;
    struct hp_lab_executed *blocks = calloc(n + 1, sizeof *blocks);
    if (!blocks)
        return hp_fail_nomem();
    for (size_t i = 0; i < probe->flow->n_edges; i++)
        blocks[probe->flow->edges[i].to].count += probe->flow->edges[i].count;
    for (uint32_t b = 0; b < n; b++) {
        const struct hp_block *block = hp_code_block(code, b);
        if (blocks[b].count)
            blocks[executed++] = (struct hp_lab_executed){.start = block->start,
                                                          .end = block->end,
                                                          .count = blocks[b].count,
                                                          .module = block->module,
                                                          .insns = block->insns};
    }
    enum hp_err err = hp_lab_hindsight_init(hindsight, blocks, executed);
    free(blocks);
    return err;
}

static enum hp_err collect_detector(const struct probe *probe, size_t d,
                                    const struct hp_lab_hindsight *hindsight)
{
    const struct hp_hotspot_stats *stats = hp_hotspot_profiler_stats(probe->profilers[d]);
    struct hp_hotspot_summary s;
    struct hp_lab_results_row *row;
    uint64_t monitor = 0;
    HP_TRY(hp_hotspot_summary(probe->profilers[d], &s));
    uint64_t bits = hp_hotspot_config_bits(&probe->configs[d], stats->monitored, &monitor);
    const double values[] = {
        (double)s.hotspots,
        (double)s.insns,
        percent(s.insns, s.executed),
        percent(s.total, s.instructions),
        percent(s.after, s.instructions),
        (double)s.after * 1e-6,
        percent(s.total - s.after, s.instructions),
        s.hotspots ? (double)s.first_branches : (double)NAN,
        percent(stats->profiled, s.branches),
        (double)bits,
        (double)monitor,
        hp_lab_hindsight_best(hindsight, (double)s.insns),
        hp_lab_hindsight_best(hindsight, LITTLE * (double)hindsight->insns),
        (double)stats->passed_on,
    };
    HP_TRY(hp_lab_results_row(probe->lab->results[d], probe->name, &row));
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    const struct probe *probe = context;
    struct hp_lab_hindsight hindsight;
    HP_TRY(look_back(probe, hp_session_code(session), &hindsight));
    enum hp_err err = HP_OK;
    for (size_t d = 0; d < N_DETECTORS && err == HP_OK; d++)
        err = collect_detector(probe, d, &hindsight);
    hp_lab_hindsight_fini(&hindsight);
    return err;
}

/* The means of all tables. */
static enum hp_err end(struct hp_lab *lab)
{
    for (size_t d = 0; d < N_DETECTORS; d++) {
        const struct hp_lab_results *results = lab->results[d];
        for (size_t c = 0; c < results->n_columns; c++)
            HP_TRY(hp_lab_results_set(lab->results[REFINED], detectors[d].key, c,
                                      hp_lab_results_mean(results, c)));
    }
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .name = name};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_hotspots_table = {
    .name = "hotspots-table",
    .summary = "hot spots: how little code covers how much, and how soon it is found (table)",
    .programs = HP_LAB_PROGRAMS ",gs,several",
    .paper =
        "  Merten, Trick, George, Gyllenhaal, Hwu: A Hardware-Driven Profiling Scheme for "
        "Identifying\n"
        "  Program Hot Spots to Support Runtime Optimization. ISCA 1999; its slides. SPEC95 and\n"
        "  desktop programs under Windows NT. On average 2.9 % of the executed static code is in "
        "hot\n"
        "  spots, which are 79.6 % of the execution; 2.4 % are missed during detection.\n",
    .begin = begin,
    .measure = measure,
    .end = end,
};
