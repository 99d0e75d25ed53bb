// SPDX-License-Identifier: MIT
/*
 * How often a sample's path follows from its branch history (figure 6 of ProfileMe): for histories
 * of 1 to 16 bits, within routines and across them. One run: samples with the way that really led
 * to each, and the edges; after it, the graph is complete and every sample is queried.
 */
#include "base/grow.h"
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

/* Graphs that are asked: with the run's edges, all or those executed; with what other samples of
 * the same run tell of the edges. */
enum { ALL, EXECUTED, SAMPLED, N_GRAPHS };

/* The compared schemes: first those that are given the run's edges. */
static const struct scheme {
    const char *key;
    const char *title;
    enum hp_reconstruct_scheme scheme;
    uint32_t graph;
    bool likeliest;
} schemes[] = {
    {"counts", "counts", HP_RECONSTRUCT_COUNTS, ALL, false},
    {"edges", "edges", HP_RECONSTRUCT_EDGES, ALL, false},
    {"history", "history", HP_RECONSTRUCT_HISTORY, ALL, false},
    {"pair", "and pair", HP_RECONSTRUCT_PAIR, ALL, false},
    {"distance", "at distance", HP_RECONSTRUCT_DISTANCE, ALL, false},
    {"executed", "executed", HP_RECONSTRUCT_HISTORY, EXECUTED, false},
    {"likeliest", "likeliest", HP_RECONSTRUCT_HISTORY, ALL, true},
    {"likeliest-distance", "and distance", HP_RECONSTRUCT_DISTANCE, ALL, true},
    {"sampled-counts", "counts", HP_RECONSTRUCT_COUNTS, SAMPLED, false},
    {"sampled-edges", "edges", HP_RECONSTRUCT_EDGES, SAMPLED, false},
    {"sampled-history", "history", HP_RECONSTRUCT_HISTORY, SAMPLED, false},
    {"sampled-pair", "and pair", HP_RECONSTRUCT_PAIR, SAMPLED, false},
    {"sampled-likeliest", "likeliest", HP_RECONSTRUCT_HISTORY, SAMPLED, true},
    {"sampled-likeliest-pair", "and pair", HP_RECONSTRUCT_PAIR, SAMPLED, true},
};
#define N_SCHEMES (sizeof schemes / sizeof *schemes)

/* In the tables by programs. */
static const size_t shown[] = {0, 2, 3, 6, 12};
#define N_SHOWN (sizeof shown / sizeof *shown)

static const char *const modes[] = {"intra", "inter"};

/* The tables by length: given the run's edges, and from samples alone; each in both modes. */
static const struct part {
    const char *key;
    const char *titles[2];
    size_t first, n; /* schemes */
} parts[] = {
    {"",
     {"Samples with one path, the true one, %, by bits of history: within a routine",
      "The same across routines"},
     0,
     8},
    {"-sampled",
     {"From samples alone, %: within a routine", "From samples alone, %: across routines"},
     8,
     N_SCHEMES - 8},
};
#define N_PARTS (sizeof parts / sizeof *parts)

enum { LENGTHS, PROGRAMS = LENGTHS + 2 * N_PARTS, CHECKS, DETAIL };

/* --- Sheets ----------------------------------------------------------------------------------- */

static enum hp_err begin_lengths(struct hp_lab *lab, const struct part *part, size_t mode)
{
    char key[HP_LAB_RESULTS_NAME];
    snprintf(key, sizeof key, "%s%s", modes[mode], part->key);
    struct hp_lab_results *results = hp_lab_add_results(lab, key, part->titles[mode], "bits");
    if (!results)
        return HP_ERR_NOMEM;
    for (size_t s = part->first; s < part->first + part->n; s++)
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
    hp_lab_results_column(results, "sampled_edges", "sampled: overlap of edges %", 1);
    hp_lab_results_column(results, "sampled_sound", "sound %", 1);
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
    for (size_t i = 0; i < 2 * N_PARTS; i++)
        HP_TRY(begin_lengths(lab, &parts[i / 2], i % 2));
    HP_TRY(begin_programs(lab));
    HP_TRY(begin_checks(lab));
    for (size_t mode = 0; mode < 2; mode++)
        for (size_t s = 0; s < N_SCHEMES; s++)
            HP_TRY(begin_detail(lab, mode, s));
    return HP_OK;
}

/* The means over the programs, by bits. */
static enum hp_err end_lengths(struct hp_lab *lab, size_t i)
{
    const struct part *part = &parts[i / 2];
    for (size_t s = 0; s < part->n; s++) {
        size_t sheet = DETAIL + i % 2 * N_SCHEMES + part->first + s;
        for (uint32_t bits = 1; bits <= BITS; bits++) {
            char row[HP_LAB_RESULTS_NAME];
            snprintf(row, sizeof row, "%u", bits);
            HP_TRY(hp_lab_results_set(lab->results[LENGTHS + i], row, s,
                                      hp_lab_results_mean(lab->results[sheet], bits - 1)));
        }
    }
    return HP_OK;
}

static enum hp_err end(struct hp_lab *lab)
{
    for (size_t i = 0; i < 2 * N_PARTS; i++)
        HP_TRY(end_lengths(lab, i));
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
    uint64_t over[2]; /* by history, all bits */
    /* Answers with the true path, without it: should be 0 where the run's edges are given. */
    uint64_t listed[N_GRAPHS], unlisted[N_GRAPHS];
    uint64_t followed, unnested;
};

struct asker {
    const struct hp_lab_path_samples *samples;
    struct hp_code *code;
    struct hp_reconstruct *graphs[N_GRAPHS];
    struct totals totals;
};

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
        t->unlisted[schemes[s].graph] += missing;
        t->listed[schemes[s].graph] += !missing;
    }
}

static enum hp_err ask_mode(struct asker *a, const struct hp_lab_path_sample *sample, size_t mode,
                            struct hp_reconstruct_query *query)
{
    struct totals *t = &a->totals;
    struct hp_reconstruct_answer truth, answer;
    bool nested;
    query->across = mode == 1;
    HP_TRY(hp_reconstruct_follow(a->graphs[ALL], a->samples->blocks + sample->at, sample->n,
                                 sample->insn, query->bits, query->across, &truth, &nested));
    t->followed++;
    t->unnested += !nested;
    for (uint32_t bits = 1; bits <= (nested ? truth.known : query->bits); bits++)
        t->asked[mode][bits]++; /* outside the rules: no scheme can be right */
    for (size_t s = 0; s < N_SCHEMES; s++) {
        query->scheme = schemes[s].scheme;
        query->likeliest = schemes[s].likeliest;
        HP_TRY(hp_reconstruct_ask(a->graphs[schemes[s].graph], query, &answer));
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
    HP_TRY(hp_lab_path_address(a->code, block, sample->insn, &query.pc));
    HP_TRY(hp_lab_path_address(a->code, sample->other, sample->other_insn, &query.other));
    HP_TRY(ask_mode(a, sample, 0, &query));
    return ask_mode(a, sample, 1, &query);
}

/* --- A program -------------------------------------------------------------------------------- */

struct probe {
    struct hp_lab *lab;
    const char *program;
    struct hp_lab_flow *flow;
    struct hp_lab_path_samples *samples;
    struct hp_lab_path_samples *others; /* that tell of the edges */
};

static enum hp_err attach(void *context, struct hp_session *session)
{
    struct probe *probe = context;
    size_t wanted = probe->lab->options.short_form ? 10000 : 100000;
    HP_TRY(hp_lab_flow_new(0, &probe->flow));
    HP_TRY(hp_session_add(session, &probe->flow->profiler));
    HP_TRY(hp_lab_path_samples_new(wanted, BITS, WINDOW, &probe->samples));
    HP_TRY(hp_session_add(session, &probe->samples->profiler));
    HP_TRY(hp_lab_path_samples_new(wanted, BITS, WINDOW, &probe->others));
    probe->others->seed = 1;
    return hp_session_add(session, &probe->others->profiler);
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : (double)NAN;
}

/* How much of the executed edges is where the estimate says, in percent. */
static enum hp_err overlap_of(const struct hp_reconstruct *exact,
                              const struct hp_reconstruct *estimate, double *percent_common)
{
    struct hp_map64 known = {0};
    size_t n = hp_reconstruct_stats(exact)->edges, m = hp_reconstruct_stats(estimate)->edges;
    double all = 0, estimated = 0, common = 0;
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < n && err == HP_OK; i++) {
        struct hp_reconstruct_edge edge = hp_reconstruct_edge(exact, i);
        all += (double)edge.count;
        err = hp_map64_put(&known, hp_hash64(edge.from) ^ edge.to, (uint32_t)i);
    }
    for (size_t i = 0; i < m; i++)
        estimated += (double)hp_reconstruct_edge(estimate, i).count;
    for (size_t i = 0; i < m && err == HP_OK; i++) {
        struct hp_reconstruct_edge edge = hp_reconstruct_edge(estimate, i);
        uint32_t at = hp_map64_get(&known, hp_hash64(edge.from) ^ edge.to);
        if (at != HP_MAP64_NONE)
            common += fmin((double)hp_reconstruct_edge(exact, at).count / all,
                           (double)edge.count / estimated);
    }
    hp_map64_fini(&known);
    *percent_common = 100 * common;
    return err;
}

static enum hp_err set_checks(struct probe *probe, const struct asker *a)
{
    const struct hp_reconstruct_stats *stats = hp_reconstruct_stats(a->graphs[ALL]);
    const struct totals *t = &a->totals;
    struct hp_lab_results_row *row;
    double overlap;
    HP_TRY(overlap_of(a->graphs[ALL], a->graphs[SAMPLED], &overlap));
    HP_TRY(hp_lab_results_row(probe->lab->results[CHECKS], probe->program, &row));
    const double values[] = {
        (double)probe->samples->n,
        (double)stats->places,
        (double)stats->edges,
        (double)stats->executed,
        percent(t->listed[ALL] + t->listed[EXECUTED],
                t->listed[ALL] + t->listed[EXECUTED] + t->unlisted[ALL] + t->unlisted[EXECUTED]),
        percent(t->unnested, t->followed),
        percent(t->over[0], probe->samples->n),
        percent(t->over[1], probe->samples->n),
        overlap,
        percent(t->listed[SAMPLED], t->listed[SAMPLED] + t->unlisted[SAMPLED]),
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

static enum hp_err make_graphs(struct probe *probe, struct hp_lab_survey *survey, struct asker *a)
{
    struct frames frames = {{function_of, is_entry}, survey};
    struct hp_path_observation *observations;
    for (uint32_t graph = ALL; graph <= EXECUTED; graph++) {
        struct hp_reconstruct_config config = {.executed = graph == EXECUTED, .cached = 1u << 16};
        HP_TRY(hp_reconstruct_new(a->code, probe->flow->edges, probe->flow->n_edges, &frames.source,
                                  &config, &a->graphs[graph]));
    }
    const struct hp_reconstruct_config config = {.cached = 1u << 16};
    bool *known; /* the code is: what was executed of it, and no more */
    HP_TRY(hp_new(&known, survey->n_blocks, sizeof *known));
    for (uint32_t i = 0; i < survey->n_blocks; i++)
        known[i] = survey->function[i] != HP_NO_ID;
    enum hp_err err = hp_lab_path_observations(probe->others, a->code, &observations);
    if (err == HP_OK) {
        err = hp_reconstruct_new_sampled(a->code, observations, probe->others->n, known,
                                         &frames.source, &config, &a->graphs[SAMPLED]);
        free(observations);
    }
    free(known);
    HP_TRY(err);
    /* Paths are compared by their numbers, which are of places. */
    if (hp_reconstruct_stats(a->graphs[SAMPLED])->places !=
        hp_reconstruct_stats(a->graphs[ALL])->places)
        return hp_fail(HP_ERR_INTERNAL, "the two graphs are not of the same code");
    return HP_OK;
}

static enum hp_err ask_all(struct probe *probe, struct hp_lab_survey *survey, struct asker *a)
{
    HP_TRY(make_graphs(probe, survey, a));
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
    enum hp_err err = probe->samples->err ? probe->samples->err : probe->others->err;
    if (err == HP_OK)
        err = hp_lab_survey(session, probe->flow, &survey);
    if (err == HP_OK) {
        err = ask_all(probe, &survey, a);
        hp_lab_survey_fini(&survey);
    }
    for (size_t i = 0; i < N_GRAPHS; i++)
        hp_reconstruct_free(a->graphs[i]);
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
