// SPDX-License-Identifier: MIT
/*
 * What the quality of a hot path table depends on (table 4 of the paper): a Plackett-Burman design
 * over six factors, three of the table and three of the machine, and all combinations of the
 * table's three.
 *
 * All tables and all machines observe one run of a program: eight machines, each with path
 * profilers for its events, each of those with eight tables.
 */
#include "lab/experiments.h"
#include "lab/machine_profilers.h"
#include "lab/paths/path_tables.h"
#include "lab/statistics.h"
#include "machine/keys.h"

enum { ENTRIES, WAYS, INDEX, L2_SIZE, L2_WAYS, PREDICTOR, N_FACTORS };
enum { EXECUTIONS, L2, MISPREDICTIONS, N_METRICS };
#define N_TABLES   8 /* bit 0: entries, bit 1: ways, bit 2: index */
#define N_MACHINES 8 /* bit 0: L2 size, bit 1: L2 ways, bit 2: predictor */

/* The tables: effects of each metric, ranks, effects by all combinations, the table's combinations.
 */
enum { RANKS = N_METRICS, ALL, FULL };

static const char *const factors[N_FACTORS] = {"entries", "ways",    "index",
                                               "l2_size", "l2_ways", "predictor"};
static const char *const metrics[N_METRICS] = {"executions", "l2", "mispredictions"};

static const struct hp_lab_table tables[N_TABLES] = {
    {"128x2 address", NULL, "128x2,index=address"},
    {"2048x2 address", NULL, "2048x2,index=address"},
    {"128x32 address", NULL, "128x32,index=address"},
    {"2048x32 address", NULL, "2048x32,index=address"},
    {"128x2 xor", NULL, "128x2,index=xor"},
    {"2048x2 xor", NULL, "2048x2,index=xor"},
    {"128x32 xor", NULL, "128x32,index=xor"},
    {"2048x32 xor", NULL, "2048x32,index=xor"},
};

/* --- Machines --------------------------------------------------------------------------------- */

/* The paper's machine with the levels given by the bits of `which`. */
static enum hp_err make_machine(unsigned which, struct hp_machine **machine)
{
    HP_TRY(hp_machine_load("vaswani", machine));
    struct hp_machine *m = *machine;
    m->l2.size = which & 1 ? 2048 << 10 : 256 << 10;
    m->l2.ways = which & 2 ? 8 : 1;
    /* The two-level predictor: 2K counters, indexed by 11 branches of history. */
    m->branch.predictor = which & 4 ? HP_PREDICT_combined : HP_PREDICT_gshare;
    *hp_machine_value(m, "gshare", "entries") = 2048;
    *hp_machine_value(m, "gshare", "history") = 11;
    *hp_machine_value(m, "combined", "first") = HP_PREDICT_bimodal;
    *hp_machine_value(m, "combined", "second") = HP_PREDICT_gshare;
    *hp_machine_value(m, "combined", "meta") = 8192;
    *hp_machine_value(m, "bimodal", "entries") = 8192;
    return HP_OK;
}

/* --- Sheets ----------------------------------------------------------------------------------- */

static const char *const titles[] = {
    "Executions: effect of a factor's high level on the overlap, points of percent",
    "L2 misses: effect of a factor's high level on the overlap",
    "Mispredictions: effect of a factor's high level on the overlap",
    "Mean rank of each factor over the programs (1: the largest effect)",
    "Effects by all 64 combinations instead of 24, mean over the programs",
    "Overlap with the complete profile, percent, mean over programs and machines",
};

static enum hp_err begin(struct hp_lab *lab)
{
    for (size_t i = 0; i <= FULL; i++) {
        static const char *const keys[] = {"ranks", "effects", "full"};
        const char *key = i < N_METRICS ? metrics[i] : keys[i - RANKS];
        const char *rows = i < N_METRICS ? "program" : i < FULL ? "metric" : "table";
        struct hp_lab_results *results = hp_lab_add_results(lab, key, titles[i], rows);
        if (!results)
            return HP_ERR_NOMEM;
        results->mean = i < N_METRICS;
        for (size_t c = 0; c < (i == FULL ? (size_t)N_METRICS : (size_t)N_FACTORS); c++)
            hp_lab_results_column(results, i == FULL ? metrics[c] : factors[c], NULL, 1);
    }
    return HP_OK;
}

/* Adds to a cell that starts at 0: a sum over programs, divided by their number at the end. */
static enum hp_err accumulate(struct hp_lab_results *results, const char *row, size_t column,
                              double value)
{
    struct hp_lab_results_row *r;
    size_t before = results->n_rows;
    HP_TRY(hp_lab_results_row(results, row, &r));
    for (size_t c = 0; results->n_rows > before && c < results->n_columns; c++)
        r->values[c] = 0;
    r->values[column] += value;
    return HP_OK;
}

static enum hp_err end(struct hp_lab *lab)
{
    double programs = (double)lab->results[EXECUTIONS]->n_rows;
    for (size_t i = RANKS; i <= FULL; i++)
        for (size_t r = 0; r < lab->results[i]->n_rows; r++)
            for (size_t c = 0; c < lab->results[i]->n_columns; c++)
                lab->results[i]->rows[r].values[c] /= programs;
    return HP_OK;
}

/* --- Measuring -------------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_profiler *groups[N_MACHINES];
    double overlap[N_METRICS][N_MACHINES][N_TABLES];
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    for (unsigned i = 0; i < N_MACHINES; i++) {
        struct hp_machine *machine;
        HP_TRY(make_machine(i, &machine));
        HP_TRY(hp_machine_profilers_new(hp_session_code(session), machine, &probe->groups[i]));
        HP_TRY(hp_session_add(session, probe->groups[i]));
        for (size_t k = 0; k < N_METRICS; k++) {
            size_t m = (k + 1) % N_METRICS; /* the one independent of the machine last, once */
            struct hp_profiler *profiler;
            char ppcr[64];
            if (m == EXECUTIONS && i > 0)
                continue;
            hp_lab_ppcr(metrics[m], ppcr, sizeof ppcr);
            HP_TRY(hp_lab_paths_new(session, ppcr, tables, N_TABLES, 0, &profiler));
            HP_TRY(hp_machine_profilers_add(probe->groups[i], profiler));
        }
    }
    return HP_OK;
}

static enum hp_err collect_overlaps(struct probe *probe)
{
    for (size_t m = 0; m < N_METRICS; m++)
        for (size_t i = 0; i < N_MACHINES; i++) {
            struct hp_lab_overlaps o;
            const struct hp_profiler *group = probe->groups[m == EXECUTIONS ? 0 : i];
            HP_TRY(hp_machine_profilers_check(group));
            HP_TRY(hp_lab_overlaps(hp_machine_profilers_get(group, (m + N_METRICS - 1) % N_METRICS),
                                   &o));
            for (size_t t = 0; t < N_TABLES; t++)
                probe->overlap[m][i][t] = o.complete[t];
        }
    return HP_OK;
}

/* Which table, or machine: a bit for each of three factors. */
static unsigned levels(const int *level, size_t first)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < 3; i++)
        bits |= (level[first + i] > 0 ? 1u : 0u) << i;
    return bits;
}

/* The effects on a metric, from those runs of a design. */
static void effects_by(const struct probe *probe, size_t m, const struct hp_design *design,
                       double *effects)
{
    double overlaps[HP_DESIGN_RUNS];
    for (size_t r = 0; r < design->runs; r++)
        overlaps[r] =
            probe->overlap[m][levels(design->level[r], L2_SIZE)][levels(design->level[r], ENTRIES)];
    hp_design_effects(design, overlaps, effects);
}

static enum hp_err set_effects(struct probe *probe, size_t m, const struct hp_design *design,
                               const struct hp_design *full)
{
    double effects[N_FACTORS], all[N_FACTORS];
    unsigned ranks[N_FACTORS];
    effects_by(probe, m, design, effects);
    effects_by(probe, m, full, all);
    hp_design_rank(effects, N_FACTORS, ranks);
    for (size_t f = 0; f < N_FACTORS; f++) {
        HP_TRY(hp_lab_results_set(probe->lab->results[m], probe->program, f, effects[f]));
        HP_TRY(accumulate(probe->lab->results[RANKS], metrics[m], f, ranks[f]));
        HP_TRY(accumulate(probe->lab->results[ALL], metrics[m], f, all[f]));
    }
    return HP_OK;
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct hp_design design, full;
    (void)session;
    HP_TRY(collect_overlaps(probe));
    HP_TRY(hp_design_plackett_burman(N_FACTORS, 12, true, &design));
    HP_TRY(hp_design_full(N_FACTORS, &full));
    for (size_t m = 0; m < N_METRICS; m++) {
        HP_TRY(set_effects(probe, m, &design, &full));
        for (size_t t = 0; t < N_TABLES; t++)
            for (size_t i = 0; i < N_MACHINES; i++)
                HP_TRY(accumulate(probe->lab->results[FULL], tables[t].key, m,
                                  probe->overlap[m][i][t] / N_MACHINES));
    }
    return HP_OK;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe_machine(lab, command, 5, &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_paths_factors = {
    .name = "paths-factors",
    .summary = "what a table's quality depends on: Plackett-Burman, all combinations (table 4)",
    .paper =
        "  Vaswani, Thazhuthaveetil, Srikant: A Programmable Hardware Path Profiler. CGO 2005.\n"
        "  Size, ways and index of the table are the three factors that matter; cache and "
        "predictor matter\n"
        "  significantly less. An index that takes in length and outcomes beats one of address "
        "bits alone.\n"
        "  Low and high: entries 128/2048, ways 2/32, index address/xor, L2 256 KB/2 MB, L2 ways "
        "1/8,\n"
        "  predictor two-level of 2K / hybrid of 8K bimodal, 2K two-level and 8K meta.\n",
    .begin = begin,
    .measure = measure,
    .end = end,
};
