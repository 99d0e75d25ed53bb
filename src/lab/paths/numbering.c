// SPDX-License-Identifier: MIT
/*
 * What it costs to profile paths by numbering them in advance (Ball and Larus), or by keeping the
 * last branches (Young and Smith): docs/numbering.md. The graphs are those of the executed parts of
 * the functions.
 */
#include "base/grow.h"
#include "hotpath/cfg.h"
#include "lab/experiments.h"
#include "lab/flow.h"
#include "lab/paths/path_tables.h"
#include "profiler/predict/branches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERING, GENERAL };
#define K 4 /* branches of a general path */

/* --- Numbers ---------------------------------------------------------------------------------- */

struct totals {
    uint64_t functions; /* executed */
    uint64_t numbered;
    uint64_t too_many;         /* more than 2^63 paths */
    uint64_t no_graph;         /* never entered at their start, or changed while they ran */
    uint64_t blocks, branches; /* executed in numbered functions */
    uint64_t edges; /* of their graphs, executed; a back edge counts as its two dummies */
    uint64_t counted, estimated; /* of these the chords executed, with either tree */
    double *possible;            /* log2 of the paths of each numbered function */
    size_t n_possible, cap_possible;
};

/* Both numberings are of the same graph and have the same edges; only one has the counts. */
static void add_edges(struct totals *t, const struct hp_numbering *counted,
                      const struct hp_numbering *estimated)
{
    for (uint32_t i = 0; i < counted->n_edges; i++) {
        const struct hp_numbered_edge *edge = &counted->edges[i];
        if (edge->kind == HP_EDGE_BACK || edge->kind == HP_EDGE_UNREACHABLE)
            continue;
        t->edges += edge->weight;
        t->counted += edge->chord ? edge->weight : 0;
        t->estimated += estimated->edges[i].chord ? edge->weight : 0;
    }
}

static enum hp_err number_graph(struct totals *t, const struct hp_graph *graph, bool *numbered)
{
    struct hp_numbering *counted = NULL, *estimated = NULL;
    enum hp_err err = hp_numbering_new(graph, true, &counted);
    *numbered = err == HP_OK;
    if (err == HP_ERR_UNSUPPORTED) {
        t->too_many++;
        return HP_OK;
    }
    if (err == HP_OK)
        err = hp_numbering_new(graph, false, &estimated);
    if (err == HP_OK)
        err = hp_grow(&t->possible, &t->cap_possible, t->n_possible + 1, sizeof *t->possible);
    if (err == HP_OK) {
        add_edges(t, counted, estimated);
        t->possible[t->n_possible++] = log2((double)counted->paths);
        t->numbered++;
    }
    hp_numbering_free(counted);
    hp_numbering_free(estimated);
    return err;
}

static void add_executions(struct totals *t, const struct hp_lab_survey *s, uint32_t f)
{
    for (size_t i = s->first_edge[f]; i < s->first_edge[f + 1]; i++) {
        const struct hp_edge_count *edge = &s->edges[i];
        if (s->function[edge->from] != f)
            continue;
        t->blocks += edge->count;
        t->branches += hp_rule_is_branch(hp_code_block(hp_session_code(s->session), edge->from))
                           ? edge->count
                           : 0;
    }
}

static enum hp_err number_function(struct totals *t, const struct hp_lab_survey *s, uint32_t f)
{
    const uint32_t *blocks = s->blocks + s->first_block[f];
    size_t n = s->first_block[f + 1] - s->first_block[f], entry = 0;
    struct hp_cfg *cfg;
    bool numbered = false;
    if (n == 0)
        return HP_OK; /* known, but not executed */
    t->functions++;
    while (entry < n && !hp_functions_is_entry(hp_session_functions(s->session), blocks[entry]))
        entry++;
    enum hp_err err = entry == n ? HP_ERR_UNSUPPORTED
                                 : hp_cfg_new(hp_session_code(s->session), blocks, n, blocks[entry],
                                              s->edges + s->first_edge[f],
                                              s->first_edge[f + 1] - s->first_edge[f], &cfg);
    if (err == HP_ERR_UNSUPPORTED) {
        t->no_graph++;
        return HP_OK;
    }
    if (err != HP_OK)
        return err;
    err = number_graph(t, &cfg->graph, &numbered);
    hp_cfg_free(cfg);
    if (numbered)
        add_executions(t, s, f);
    return err;
}

/* --- The tables ------------------------------------------------------------------------------- */

static enum hp_err begin(struct hp_lab *lab)
{
    struct hp_lab_results *numbering = hp_lab_add_results(
        lab, "numbering", "Ball-Larus numbering of the functions that were executed", "program");
    struct hp_lab_results *general =
        hp_lab_add_results(lab, "general", "General paths of at most 4 branches", "program");
    if (!numbering || !general)
        return HP_ERR_NOMEM;
    numbering->mean = general->mean = true;
    hp_lab_results_column(numbering, "functions", NULL, 0);
    hp_lab_results_column(numbering, "numbered", NULL, 0);
    hp_lab_results_column(numbering, "too_many", "> 2^63", 0);
    hp_lab_results_column(numbering, "no_graph", "no graph", 0);
    hp_lab_results_column(numbering, "covered", "% of blocks", 1);
    hp_lab_results_column(numbering, "chords_counted", "chords %", 1);
    hp_lab_results_column(numbering, "chords_estimated", "estimated %", 1);
    hp_lab_results_column(numbering, "operations_counted", "per branch", 3);
    hp_lab_results_column(numbering, "operations_estimated", "estimated", 3);
    hp_lab_results_column(numbering, "possible_median", "log2 median", 1);
    hp_lab_results_column(numbering, "possible_largest", "log2 largest", 1);
    hp_lab_results_column(numbering, "distinct", "executed", 0);
    hp_lab_results_paper(numbering, "bit tracing", "operations_counted", 1);
    hp_lab_results_paper(numbering, "bit tracing", "operations_estimated", 1);
    hp_lab_results_column(general, "branches", NULL, 0);
    hp_lab_results_column(general, "steps", NULL, 0);
    hp_lab_results_column(general, "static", "static branches", 0);
    hp_lab_results_column(general, "states", NULL, 0);
    hp_lab_results_column(general, "states_per_static", "states/static", 2);
    hp_lab_results_column(general, "lost", NULL, 0);
    return HP_OK;
}

static double ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : (double)NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum hp_err set_numbering(struct hp_lab_results *results, const char *program,
                                 const struct totals *t, uint64_t blocks, size_t distinct)
{
    size_t n = t->n_possible;
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(results, program, &row));
    const double values[] = {
        (double)t->functions,
        (double)t->numbered,
        (double)t->too_many,
        (double)t->no_graph,
        100 * ratio(t->blocks, blocks),
        100 * ratio(t->counted, t->edges),
        100 * ratio(t->estimated, t->edges),
        ratio(t->counted, t->branches),
        ratio(t->estimated, t->branches),
        n ? (t->possible[(n - 1) / 2] + t->possible[n / 2]) / 2 : (double)NAN,
        n ? t->possible[n - 1] : (double)NAN,
        (double)distinct,
    };
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

/* Static branches that are steps of general paths. Several blocks may end with the same one. */
static enum hp_err count_static(const struct hp_lab_flow *flow, const struct hp_code *code,
                                size_t *n)
{
    struct hp_map64 seen = {0};
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < flow->n_edges && err == HP_OK; i++) {
        const struct hp_block *block = hp_code_block(code, flow->edges[i].from);
        if (hp_rule_is_branch(block) && !hp_lab_is_call(block) && block->flow != HP_FLOW_RETURN)
            err = hp_map64_put(&seen, block->last, 0);
    }
    *n = seen.used;
    hp_map64_fini(&seen);
    return err;
}

static enum hp_err set_general(struct hp_lab_results *results, const char *program,
                               const struct hp_lab_flow *flow, const struct hp_code *code)
{
    struct hp_general_stats sum = hp_lab_flow_general(flow);
    struct hp_lab_results_row *row;
    size_t n_static = 0;
    HP_TRY(count_static(flow, code, &n_static));
    HP_TRY(hp_lab_results_row(results, program, &row));
    const double values[] = {(double)sum.branches, (double)sum.steps,           (double)n_static,
                             (double)sum.states,   ratio(sum.states, n_static), (double)sum.lost};
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

/* --- A program -------------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_lab_flow *flow;
    struct hp_profiler *paths;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    HP_TRY(hp_lab_paths_new(session, "bl", NULL, 0, 0, &probe->paths));
    HP_TRY(hp_session_add(session, probe->paths));
    HP_TRY(hp_lab_flow_new(K, &probe->flow));
    return hp_session_add(session, &probe->flow->profiler);
}

static enum hp_err collect_numbers(struct probe *probe, struct hp_lab_survey *s, struct totals *t)
{
    struct hp_path_count *paths;
    size_t distinct;
    uint64_t blocks = 0;
    for (uint32_t f = 0; f < s->n_functions; f++)
        HP_TRY(number_function(t, s, f));
    if (t->n_possible)
        qsort(t->possible, t->n_possible, sizeof *t->possible, ascending);
    for (size_t i = 0; i < probe->flow->n_edges; i++)
        blocks += probe->flow->edges[i].count;
    HP_TRY(hp_lab_all_paths(probe->paths, &paths, &distinct));
    free(paths);
    return set_numbering(probe->lab->results[NUMBERING], probe->program, t, blocks, distinct);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_lab_survey survey;
    struct totals totals = {0};
    HP_TRY(hp_lab_survey(session, probe->flow, &survey));
    enum hp_err err = collect_numbers(probe, &survey, &totals);
    hp_lab_survey_fini(&survey);
    free(totals.possible);
    if (err == HP_OK)
        err = set_general(probe->lab->results[GENERAL], probe->program, probe->flow,
                          hp_session_code(session));
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_paths_numbering = {
    .name = "paths-numbering",
    .summary = "what numbered paths and general paths take: operations, paths, states",
    .paper = "  Ball and Larus' instrumentation, as Vaswani, Thazhuthaveetil and Srikant quote it "
             "(CGO 2005): programs take "
             "30 to\n"
             "  45 % longer. Duesterwald and Bala (ASPLOS 2000): bit tracing does one operation "
             "for every branch; with a "
             "spanning\n"
             "  tree the number of branches with an operation is less, but remains in the order of "
             "all branches. Both "
             "increase\n"
             "  a counter as well where a path ends. There is no paper's figure for the general "
             "paths.\n",
    .begin = begin,
    .measure = measure,
};
