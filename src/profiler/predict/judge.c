// SPDX-License-Identifier: MIT
/*
 * The judge: several schemes on one index, measured exactly.
 *
 * Only the time of a prediction depends on the order of executions: how often the path had been run
 * by then. A path has a bit for each scheme that has not predicted it yet; these schemes are shown
 * its executions. Once all have predicted it an execution costs one addition to its tally, the only
 * thing of a path that is touched then. In the end the measures follow from the counts.
 */
#include "base/grow.h"
#include "hotpath/predict.h"

#include <stdlib.h>

#define BILLION 1000000000u

/* A path's tally: its executions, above a bit that is set while a scheme has not predicted it. */
#define TALLY_OPEN UINT64_C(1)
#define TALLY_ONE  UINT64_C(2)

struct judged {
    struct hp_scheme *scheme;
    struct hp_predicted *predicted;
    size_t n_predicted, cap_predicted;
};

struct hp_judge {
    struct hp_path_sink sink; /* first */
    struct hp_flow_sink flow_sink;
    struct hp_scheme_host host; /* of all schemes */
    struct hp_judge_config config;
    struct hp_branch_source *source;
    struct hp_index *index;
    struct judged schemes[HP_JUDGE_SCHEMES];
    uint32_t ids[HP_PATHS_MAX];
    size_t n_paths, n_heads; /* for which the schemes have room */
    uint64_t *tallies;       /* by path */
    size_t n_tallies, cap_tallies;
    uint64_t flow, lost;
    bool out_of_memory;
};

static struct hp_judge *judge_of(struct hp_scheme_host *host)
{
    return (struct hp_judge *)((char *)host - offsetof(struct hp_judge, host));
}

/* --- Running schemes -------------------------------------------------------------------------- */

static uint64_t count_of(const struct hp_judge *j, size_t id)
{
    return j->tallies[id] / TALLY_ONE;
}

/* Gives new paths of the index a tally. */
static bool grow_tallies(struct hp_judge *j)
{
    size_t n = hp_index_n_paths(j->index);
    if (hp_grow(&j->tallies, &j->cap_tallies, n, sizeof *j->tallies) != HP_OK)
        return false;
    for (; j->n_tallies < n; j->n_tallies++)
        j->tallies[j->n_tallies] = TALLY_OPEN;
    return true;
}

/* Scheme `s` has predicted the path `id`. */
static void note_prediction(struct hp_judge *j, size_t s, uint32_t id)
{
    struct judged *judged = &j->schemes[s];
    struct hp_indexed_path *path = &hp_index_paths(j->index)[id];
    path->mark &= ~(UINT64_C(1) << s);
    if (!path->mark)
        j->tallies[id] &= ~TALLY_OPEN;
    if (hp_grow(&judged->predicted, &judged->cap_predicted, judged->n_predicted + 1,
                sizeof *judged->predicted) != HP_OK) {
        j->out_of_memory = true;
        return;
    }
    judged->predicted[judged->n_predicted++] =
        (struct hp_predicted){.path = id, .at = count_of(j, id), .flow = j->flow};
}

/* Shows the execution to the schemes that have not predicted the path. */
static __attribute__((noinline)) void show(struct hp_judge *j, uint32_t id)
{
    const struct hp_indexed_path *path = &hp_index_paths(j->index)[id];
    const struct hp_flow_step step = {
        .path = id, .head = path->head, .length = path->length, .flow = j->flow};
    for (uint64_t open = path->mark; open; open &= open - 1) {
        size_t s = (size_t)__builtin_ctzll(open);
        struct hp_scheme *scheme = j->schemes[s].scheme;
        if (scheme->ops->profile(scheme, &step) && hp_index_paths(j->index)[id].mark >> s & 1)
            note_prediction(j, s, id);
    }
}

static bool grow_schemes(struct hp_judge *j)
{
    size_t n_paths = hp_index_n_paths(j->index), n_heads = hp_index_n_heads(j->index);
    if (n_paths == j->n_paths && n_heads == j->n_heads)
        return true;
    for (size_t i = 0; i < j->config.n_schemes; i++)
        if (j->schemes[i].scheme->ops->grow(j->schemes[i].scheme, n_paths, n_heads) != HP_OK)
            return false;
    j->n_paths = n_paths;
    j->n_heads = n_heads;
    return grow_tallies(j);
}

static void judge_flow(struct hp_flow_sink *sink, const uint32_t *paths, size_t n)
{
    struct hp_judge *j = (struct hp_judge *)((char *)sink - offsetof(struct hp_judge, flow_sink));
    if (j->out_of_memory || !grow_schemes(j)) {
        j->out_of_memory = true;
        return;
    }
    uint64_t *tallies = j->tallies, flow = j->flow;
    for (size_t i = 0; i < n; i++) {
        flow++;
        if (__builtin_expect(paths[i] == HP_NO_ID, 0)) {
            j->lost++;
            continue;
        }
        uint64_t tally = tallies[paths[i]] += TALLY_ONE;
        if (tally & TALLY_OPEN) {
            j->flow = flow;
            show(j, paths[i]);
            tallies = j->tallies;
        }
    }
    j->flow = flow;
}

static void judge_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_judge *j = (struct hp_judge *)sink;
    for (size_t i = 0; i < paths->n; i += HP_PATHS_MAX) {
        struct hp_paths some = *paths;
        some.paths += i;
        some.n = paths->n - i < HP_PATHS_MAX ? paths->n - i : HP_PATHS_MAX;
        hp_index_add(j->index, &some, j->ids);
        judge_flow(&j->flow_sink, j->ids, some.n);
    }
}

/* --- Queries of schemes ----------------------------------------------------------------------- */

static void host_path(struct hp_scheme_host *host, const struct hp_flow_step *step,
                      struct hp_path *path, const uint64_t **targets)
{
    struct hp_judge *j = judge_of(host);
    const struct hp_indexed_path *p = &hp_index_paths(j->index)[step->path];
    *path = (struct hp_path){.start = p->start,
                             .outcomes = p->outcomes,
                             .targets = p->targets,
                             .block = p->block,
                             .events = 1,
                             .length = p->length,
                             .n_targets = p->n_targets};
    *targets = p->n_targets ? hp_index_targets(j->index) + p->first_target : NULL;
}

static size_t host_branches(struct hp_scheme_host *host, const struct hp_flow_step *step,
                            struct hp_flow_branch *branches)
{
    struct hp_judge *j = judge_of(host);
    struct hp_path path;
    const uint64_t *targets;
    if (!j->source)
        return 0;
    host_path(host, step, &path, &targets);
    return j->source->branches(j->source, &path, targets, branches);
}

static bool host_predict(struct hp_scheme_host *host, struct hp_scheme *scheme,
                         const struct hp_path *path, const uint64_t *targets,
                         const struct hp_flow_branch *branches)
{
    struct hp_judge *j = judge_of(host);
    size_t s = 0;
    (void)branches;
    while (j->schemes[s].scheme != scheme)
        s++;
    uint32_t id = hp_index_intern(j->index, path, targets);
    if (!grow_tallies(j)) {
        j->out_of_memory = true;
        return false;
    }
    if (id == HP_NO_ID || !(hp_index_paths(j->index)[id].mark >> s & 1))
        return false;
    note_prediction(j, s, id);
    return true;
}

/* --- Creating --------------------------------------------------------------------------------- */

static enum hp_err check_config(struct hp_judge_config *config)
{
    if (!config->n_schemes || config->n_schemes > HP_JUDGE_SCHEMES)
        return hp_fail(HP_ERR_INVALID, "%zu prediction schemes: 1 to %d are possible",
                       config->n_schemes, HP_JUDGE_SCHEMES);
    if (config->hot == 0)
        config->hot = 0.001;
    if (!(config->hot >= 1.0 / BILLION && config->hot < 1))
        return hp_fail(HP_ERR_INVALID,
                       "a path cannot be hot with %g of the flow: above 0 and below 1 is possible",
                       config->hot);
    if (!config->max_paths)
        config->max_paths = HP_INDEX_DEFAULT;
    if (!config->max_length)
        config->max_length = HP_PATH_MAX_LENGTH;
    if (config->max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "paths of %u branches: 1 to %d are possible",
                       config->max_length, HP_PATH_MAX_LENGTH);
    return HP_OK;
}

static enum hp_err make_schemes(struct hp_judge *j)
{
    for (size_t i = 0; i < j->config.n_schemes; i++) {
        HP_TRY(hp_scheme_new(&j->config.schemes[i], &j->schemes[i].scheme));
        j->schemes[i].scheme->host = &j->host;
        j->schemes[i].scheme->max_length = j->config.max_length;
    }
    return hp_index_new(j->config.max_paths, UINT64_MAX >> (64 - j->config.n_schemes), &j->index);
}

enum hp_err hp_judge_new(const struct hp_judge_config *config, struct hp_branch_source *source,
                         struct hp_judge **judge)
{
    struct hp_judge_config checked = *config;
    HP_TRY(check_config(&checked));
    struct hp_judge *j = calloc(1, sizeof *j);
    if (!j)
        return hp_fail_nomem();
    j->sink.paths = judge_paths;
    j->flow_sink.flow = judge_flow;
    j->host = (struct hp_scheme_host){
        .path = host_path, .branches = host_branches, .predict = host_predict};
    j->config = checked;
    j->source = source;
    enum hp_err err = make_schemes(j);
    if (err != HP_OK) {
        hp_judge_free(j);
        return err;
    }
    *judge = j;
    return HP_OK;
}

void hp_judge_free(struct hp_judge *judge)
{
    if (!judge)
        return;
    for (size_t i = 0; i < judge->config.n_schemes; i++) {
        hp_scheme_free(judge->schemes[i].scheme);
        free(judge->schemes[i].predicted);
    }
    hp_index_free(judge->index);
    free(judge->tallies);
    free(judge);
}

struct hp_path_sink *hp_judge_sink(struct hp_judge *judge)
{
    return &judge->sink;
}

struct hp_flow_sink *hp_judge_flow_sink(struct hp_judge *judge)
{
    return &judge->flow_sink;
}

const struct hp_judge_config *hp_judge_config(const struct hp_judge *judge)
{
    return &judge->config;
}

struct hp_index *hp_judge_index(const struct hp_judge *judge)
{
    return judge->index;
}

const struct hp_predicted *hp_judge_predicted(const struct hp_judge *judge, size_t i, size_t *n)
{
    *n = judge->schemes[i].n_predicted;
    return judge->schemes[i].predicted;
}

enum hp_err hp_judge_check(const struct hp_judge *judge)
{
    if (judge->out_of_memory)
        return hp_fail_nomem();
    for (size_t i = 0; i < judge->config.n_schemes; i++) {
        const struct hp_scheme *scheme = judge->schemes[i].scheme;
        if (scheme->ops->check)
            HP_TRY(scheme->ops->check(scheme));
    }
    return hp_index_check(judge->index);
}

/* --- Measures --------------------------------------------------------------------------------- */

/* In billionths, so that "more than 0.1 %" is exact. */
uint64_t hp_judge_threshold(const struct hp_judge *judge)
{
    uint64_t share = (uint64_t)(judge->config.hot * BILLION + 0.5);
    return (uint64_t)((unsigned __int128)judge->flow * share / BILLION);
}

static void measure_paths(const struct hp_judge *j, uint64_t threshold, struct hp_prediction *m)
{
    const struct hp_indexed_path *paths = hp_index_paths(j->index);
    for (size_t i = 0; i < j->n_tallies; i++) {
        uint64_t count = count_of(j, i);
        m->paths += count != 0;
        m->branches += count * paths[i].length;
        m->splits += paths[i].flags & HP_INDEXED_SPLIT ? count : 0;
        if (count > threshold) {
            m->hot_paths++;
            m->hot_flow += count;
        }
    }
    m->heads = hp_index_n_heads(j->index);
    m->flow = m->profiled = j->flow;
    m->lost = j->lost;
}

void hp_judge_result(const struct hp_judge *judge, size_t i, struct hp_prediction *prediction)
{
    const struct judged *judged = &judge->schemes[i];
    uint64_t threshold = hp_judge_threshold(judge);
    int64_t delay = (int64_t)judge->config.schemes[i].delay;
    struct hp_prediction m = {.predicted = judged->n_predicted};
    measure_paths(judge, threshold, &m);
    for (size_t k = 0; k < judged->n_predicted; k++) {
        const struct hp_predicted *p = &judged->predicted[k];
        uint64_t count = count_of(judge, p->path), after = count - p->at;
        m.profiled -= after;
        m.never_ran += count == 0;
        if (count > threshold) {
            m.predicted_hot++;
            m.hits += after;
            m.missed += p->at;
            m.closed_hits += (int64_t)count - delay;
            m.closed_missed += delay;
        } else {
            m.noise += after;
            m.closed_noise += (int64_t)count - delay;
        }
    }
    m.cost = judged->scheme->ops->cost(judged->scheme);
    *prediction = m;
}
