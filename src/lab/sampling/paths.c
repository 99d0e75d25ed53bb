// SPDX-License-Identifier: MIT
/*
 * How often a sample's path follows from its branch history (figure 6 of ProfileMe): for histories
 * of 1 to 16 bits, within routines and across them. One run: samples with the way that really led
 * to each, and the edges; after it, the graph is complete and every sample is queried.
 */
#include "hotpath/reconstruct.h"
#include "lab/experiments.h"
#include "lab/flow.h"
#include "lab/sampling/path_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS   16
#define WINDOW 50 /* the paper's: distance of a pair in instructions */
#define SHOWN  8  /* bits in the tables by programs */

/* The compared schemes. */
static const struct scheme {
    const char *key;
    const char *title;
    enum hp_reconstruct_scheme scheme;
    bool executed; /* on the graph of executed edges */
    bool likeliest;
} schemes[] = {
    {"counts", "counts", HP_RECONSTRUCT_COUNTS, false, false},
    {"edges", "edges", HP_RECONSTRUCT_EDGES, false, false},
    {"history", "history", HP_RECONSTRUCT_HISTORY, false, false},
    {"pair", "and pair", HP_RECONSTRUCT_PAIR, false, false},
    {"distance", "at distance", HP_RECONSTRUCT_DISTANCE, false, false},
    {"executed", "executed", HP_RECONSTRUCT_HISTORY, true, false},
    {"likeliest", "likeliest", HP_RECONSTRUCT_HISTORY, false, true},
    {"likeliest-distance", "and distance", HP_RECONSTRUCT_DISTANCE, false, true},
};
#define N_SCHEMES (sizeof schemes / sizeof *schemes)

/* In the tables by programs. */
static const size_t shown[] = {0, 2, 3, 6};
#define N_SHOWN (sizeof shown / sizeof *shown)

static const char *const modes[] = {"intra", "inter"};

enum { INTRA, INTER, PROGRAMS, CHECKS, DETAIL };

/* --- Sheets ----------------------------------------------------------------------------------- */

static enum hp_err begin_lengths(struct hp_lab *lab, size_t mode)
{
    static const char *const titles[] = {
        "Samples with one path, the true one, %, by bits of history: within a routine",
        "The same across routines",
    };
    struct hp_lab_results *results = hp_lab_add_results(lab, modes[mode], titles[mode], "bits");
    if (!results)
        return HP_ERR_NOMEM;
    for (size_t s = 0; s < N_SCHEMES; s++)
        hp_lab_results_column(results, schemes[s].key, schemes[s].title, 1);
    return HP_OK;
}

static enum hp_err begin_programs(struct hp_lab *lab)
{
    struct hp_lab_results *results =
        hp_lab_add_results(lab, "programs", "By program, 8 bits, %", "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->mean = true;
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t s = 0; s < N_SHOWN; s++) {
            char key[HP_LAB_RESULTS_NAME];
            snprintf(key, sizeof key, "%s-%s", modes[mode], schemes[shown[s]].key);
            hp_lab_results_column(results, key, NULL, 1);
        }
    return HP_OK;
}

static enum hp_err begin_checks(struct hp_lab *lab)
{
    struct hp_lab_results *results =
        hp_lab_add_results(lab, "checks", "What was asked, and of what", "program");
    if (!results)
        return HP_ERR_NOMEM;
    hp_lab_results_column(results, "samples", NULL, 0);
    hp_lab_results_column(results, "places", NULL, 0);
    hp_lab_results_column(results, "edges", NULL, 0);
    hp_lab_results_column(results, "executed", NULL, 0);
    hp_lab_results_column(results, "sound", "sound %", 3);
    hp_lab_results_column(results, "unnested", "unnested %", 3);
    hp_lab_results_column(results, "over_intra", "over, intra %", 2);
    hp_lab_results_column(results, "over_inter", "over, inter %", 2);
    return HP_OK;
}

/* One for each mode and scheme, in this order: programs over bits. */
static enum hp_err begin_detail(struct hp_lab *lab, size_t mode, size_t s)
{
    char key[HP_LAB_RESULTS_NAME];
    snprintf(key, sizeof key, "%s-%s", modes[mode], schemes[s].key);
    struct hp_lab_results *results =
        hp_lab_add_results(lab, key, "Success by program and bits, %", "program");
    if (!results)
        return HP_ERR_NOMEM;
    results->detail = results->mean = true;
    for (uint32_t bits = 1; bits <= BITS; bits++) {
        snprintf(key, sizeof key, "%u", bits);
        hp_lab_results_column(results, key, NULL, 1);
    }
    return HP_OK;
}

static enum hp_err begin(struct hp_lab *lab)
{
    HP_TRY(begin_lengths(lab, 0));
    HP_TRY(begin_lengths(lab, 1));
    HP_TRY(begin_programs(lab));
    HP_TRY(begin_checks(lab));
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t s = 0; s < N_SCHEMES; s++)
            HP_TRY(begin_detail(lab, mode, s));
    return HP_OK;
}

/* The mean over the programs, by bits. */
static enum hp_err end(struct hp_lab *lab)
{
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t s = 0; s < N_SCHEMES; s++)
            for (uint32_t bits = 1; bits <= BITS; bits++) {
                const struct hp_lab_results *detail = lab->results[DETAIL + mode * N_SCHEMES + s];
                char row[HP_LAB_RESULTS_NAME];
                snprintf(row, sizeof row, "%u", bits);
                HP_TRY(hp_lab_results_set(lab->results[mode], row, s,
                                          hp_lab_results_mean(detail, bits - 1)));
            }
    return HP_OK;
}

/* --- Queries ---------------------------------------------------------------------------------- */

/* Functions as found by the survey. */
struct frames {
    struct hp_frame_source source; /* first */
    const struct hp_lab_survey *survey;
};

static uint32_t function_of(struct hp_frame_source *source, uint32_t block)
{
    return ((struct frames *)source)->survey->function[block];
}

static bool is_entry(struct hp_frame_source *source, uint32_t block)
{
    const struct hp_lab_survey *survey = ((struct frames *)source)->survey;
    return hp_functions_is_entry(hp_session_functions(survey->session), block);
}

struct totals {
    uint64_t asked[2][BITS + 1];
    uint64_t right[2][N_SCHEMES][BITS + 1];
    uint64_t over[2];          /* by history, all bits */
    uint64_t listed, unlisted; /* answers with the true path, without it: should be 0 */
    uint64_t followed, unnested;
};

struct asker {
    const struct hp_lab_path_samples *samples;
    struct hp_code *code;
    struct hp_reconstruct *graphs[2]; /* all edges; those executed */
    struct totals totals;
};

static enum hp_err address_of(struct hp_code *code, uint32_t block, uint32_t insn,
                              uint64_t *address)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(code, block, &insns));
    *address = insns[insn].address;
    return HP_OK;
}

/* Whether an answer is right, for each length; the true path must be among those that agree. */
static void judge(struct totals *t, size_t mode, size_t s,
                  const struct hp_reconstruct_answer *truth,
                  const struct hp_reconstruct_answer *answer)
{
    for (uint32_t bits = 1; bits <= truth->known && bits <= answer->known; bits++) {
        bool same = answer->path[bits] == truth->path[bits];
        t->right[mode][s][bits] += answer->paths[bits] == 1 && same;
        if (schemes[s].scheme < HP_RECONSTRUCT_HISTORY || schemes[s].likeliest)
            continue;
        bool missing = answer->paths[bits] == 0 || (answer->paths[bits] == 1 && !same);
        t->unlisted += missing;
        t->listed += !missing;
    }
}

static enum hp_err ask_mode(struct asker *a, const struct hp_lab_path_sample *sample, size_t mode,
                            struct hp_reconstruct_query *query)
{
    struct totals *t = &a->totals;
    struct hp_reconstruct_answer truth, answer;
    bool nested;
    query->across = mode == 1;
    HP_TRY(hp_reconstruct_follow(a->graphs[0], a->samples->blocks + sample->at, sample->n,
                                 sample->insn, query->bits, query->across, &truth, &nested));
    t->followed++;
    t->unnested += !nested;
    for (uint32_t bits = 1; bits <= (nested ? truth.known : query->bits); bits++)
        t->asked[mode][bits]++; /* outside the rules: no scheme can be right */
    for (size_t s = 0; s < N_SCHEMES; s++) {
        query->scheme = schemes[s].scheme;
        query->likeliest = schemes[s].likeliest;
        HP_TRY(hp_reconstruct_ask(a->graphs[schemes[s].executed], query, &answer));
        judge(t, mode, s, &truth, &answer);
        if (strcmp(schemes[s].key, "history") == 0)
            t->over[mode] += answer.known < query->bits;
    }
    return HP_OK;
}

static enum hp_err ask(struct asker *a, const struct hp_lab_path_sample *sample)
{
    uint32_t block = a->samples->blocks[sample->at + sample->n - 1];
    struct hp_reconstruct_query query = {.distance = sample->distance};
    query.bits = hp_lab_path_history(a->samples, a->code, sample, &query.history);
    if (query.bits == 0)
        return HP_OK;
    HP_TRY(address_of(a->code, block, sample->insn, &query.pc));
    HP_TRY(address_of(a->code, sample->other, sample->other_insn, &query.other));
    HP_TRY(ask_mode(a, sample, 0, &query));
    return ask_mode(a, sample, 1, &query);
}

/* --- A program -------------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_lab_flow *flow;
    struct hp_lab_path_samples *samples;
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    size_t wanted = probe->lab->options.short_form ? 10000 : 100000;
    HP_TRY(hp_lab_flow_new(0, &probe->flow));
    HP_TRY(hp_session_add(session, &probe->flow->profiler));
    HP_TRY(hp_lab_path_samples_new(wanted, BITS, WINDOW, &probe->samples));
    return hp_session_add(session, &probe->samples->profiler);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : (double)NAN;
}

static enum hp_err set_checks(struct probe *probe, const struct asker *a)
{
    const struct hp_reconstruct_stats *stats = hp_reconstruct_stats(a->graphs[0]);
    const struct totals *t = &a->totals;
    struct hp_lab_results_row *row;
    HP_TRY(hp_lab_results_row(probe->lab->results[CHECKS], probe->program, &row));
    const double values[] = {
        (double)probe->samples->n,
        (double)stats->places,
        (double)stats->edges,
        (double)stats->executed,
        percent(t->listed, t->listed + t->unlisted),
        percent(t->unnested, t->followed),
        percent(t->over[0], probe->samples->n),
        percent(t->over[1], probe->samples->n),
    };
    memcpy(row->values, values, sizeof values);
    return HP_OK;
}

static enum hp_err set_rates(struct probe *probe, const struct totals *t)
{
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t s = 0; s < N_SCHEMES; s++) {
            struct hp_lab_results *detail = probe->lab->results[DETAIL + mode * N_SCHEMES + s];
            for (uint32_t bits = 1; bits <= BITS; bits++)
                HP_TRY(hp_lab_results_set(detail, probe->program, bits - 1,
                                          percent(t->right[mode][s][bits], t->asked[mode][bits])));
        }
    for (size_t i = 0; i < 2 * N_SHOWN; i++) {
        size_t mode = i / N_SHOWN, s = shown[i % N_SHOWN];
        HP_TRY(hp_lab_results_set(probe->lab->results[PROGRAMS], probe->program, i,
                                  percent(t->right[mode][s][SHOWN], t->asked[mode][SHOWN])));
    }
    return HP_OK;
}

static enum hp_err ask_all(struct probe *probe, struct hp_lab_survey *survey, struct asker *a)
{
    struct frames frames = {{function_of, is_entry}, survey};
    for (int executed = 0; executed < 2; executed++) {
        struct hp_reconstruct_config config = {.executed = executed, .cached = 1u << 16};
        HP_TRY(hp_reconstruct_new(a->code, probe->flow->edges, probe->flow->n_edges, &frames.source,
                                  &config, &a->graphs[executed]));
    }
    for (size_t i = 0; i < probe->samples->n; i++)
        HP_TRY(ask(a, &probe->samples->samples[i]));
    HP_TRY(set_checks(probe, a));
    return set_rates(probe, &a->totals);
}

static enum hp_err collect(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    struct asker *a = calloc(1, sizeof *a);
    struct hp_lab_survey survey;
    if (!a)
        return hp_fail_nomem();
    a->samples = probe->samples;
    a->code = hp_session_code(session);
    enum hp_err err = probe->samples->err;
    if (err == HP_OK)
        err = hp_lab_survey(session, probe->flow, &survey);
    if (err == HP_OK) {
        err = ask_all(probe, &survey, a);
        hp_lab_survey_fini(&survey);
    }
    hp_reconstruct_free(a->graphs[0]);
    hp_reconstruct_free(a->graphs[1]);
    free(a);
    return err;
}

static enum hp_err measure(struct hp_lab *lab, const char *name,
                           const struct hp_lab_command *command)
{
    struct probe probe = {.lab = lab, .program = name};
    return hp_lab_observe(lab, command, &(struct hp_lab_probe){attach, collect, &probe});
}

const struct hp_experiment hp_sampling_paths = {
    .name = "sampling-paths",
    .summary = "how often a sample's path can be told from its branch history (figure 6)",
    .paper =
        "  Dean, Hicks, Waldspurger, Weihl, Chrysos: ProfileMe. MICRO 1997, figure 6 (curves, no "
        "numbers): SPECint95,\n"
        "  every instruction of 33 to 83 M. The accuracy of counts, history and history with a "
        "pair decreases as\n"
        "  paths become longer; history is noticeably better than counts, a pair improves it "
        "further. All are\n"
        "  considerably less accurate across routines, in the same order. Ours: edges, at "
        "distance, executed, likeliest.\n",
    .begin = begin,
    .measure = measure,
    .end = end,
};
