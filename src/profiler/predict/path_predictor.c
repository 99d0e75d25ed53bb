// SPDX-License-Identifier: MIT
/*
 * A predictor for JITs and emulators: a detector of forward paths that is fed with branches,
 * followed by one scheme.
 *
 * The branches of the current path are kept as they come. With a scheme that counts only heads
 * (NET), the index holds only predicted paths, so memory grows with heads and predictions;
 * otherwise it holds all paths, and `mark` distinguishes those not predicted.
 */
#include "base/grow.h"
#include "hotpath/predict.h"

#include <stdlib.h>
#include <string.h>

struct hp_path_predictor {
    struct hp_scheme_host host;
    struct hp_scheme *scheme;
    struct hp_index *index;
    struct hp_path_predictor_stats stats;
    uint32_t max_length;
    uint64_t elsewhere;  /* paths that were executed unobserved */
    struct hp_path path; /* the current one */
    bool started;
    uint64_t *hot_heads; /* one bit per head */
    size_t cap_hot_heads;
    size_t n_paths, n_heads; /* for which the scheme has room */
    bool predicted_other;    /* by the scheme itself */
    struct hp_hot_path hot;
    struct hp_flow_branch branches[HP_PATH_MAX_LENGTH];
    struct hp_flow_branch hot_branches[HP_PATH_MAX_LENGTH];
    uint64_t targets[HP_PATH_MAX_LENGTH];
};

static struct hp_path_predictor *predictor_of(struct hp_scheme_host *host)
{
    return (struct hp_path_predictor *)((char *)host - offsetof(struct hp_path_predictor, host));
}

/* --- Predicting ------------------------------------------------------------------------------- */

/* A path is hot now. Returns false when it was before, or there is no room to record it. */
static bool remember(struct hp_path_predictor *p, const struct hp_path *path,
                     const uint64_t *targets, const struct hp_flow_branch *branches)
{
    uint32_t id = hp_index_intern(p->index, path, targets);
    uint32_t head = hp_index_head(p->index, path->start);
    if (id == HP_NO_ID || head == HP_NO_ID ||
        hp_grow(&p->hot_heads, &p->cap_hot_heads, head / 64 + 1, sizeof *p->hot_heads) != HP_OK) {
        p->stats.lost++;
        return false;
    }
    struct hp_indexed_path *known = &hp_index_paths(p->index)[id];
    if (!known->mark)
        return false;
    known->mark = 0;
    p->hot_heads[head / 64] |= UINT64_C(1) << head % 64;
    p->stats.predicted++;
    p->hot = (struct hp_hot_path){.start = path->start,
                                  .outcomes = path->outcomes,
                                  .length = path->length,
                                  .branches = p->hot_branches};
    memcpy(p->hot_branches, branches, path->length * sizeof *branches);
    return true;
}

static bool grow_scheme(struct hp_path_predictor *p)
{
    size_t n_paths = hp_index_n_paths(p->index), n_heads = hp_index_n_heads(p->index);
    if (n_paths == p->n_paths && n_heads == p->n_heads)
        return true;
    if (p->scheme->ops->grow(p->scheme, n_paths, n_heads) != HP_OK)
        return false;
    p->n_paths = n_paths;
    p->n_heads = n_heads;
    return true;
}

/* Finds the current path; false: already predicted, or it could not be recorded. */
static bool find_step(struct hp_path_predictor *p, struct hp_flow_step *step)
{
    bool counts_paths = p->scheme->ops->counts_paths;
    step->path = counts_paths ? hp_index_intern(p->index, &p->path, p->targets)
                              : hp_index_find(p->index, &p->path);
    step->length = p->path.length;
    step->flow = p->stats.flow + p->elsewhere;
    if (step->path != HP_NO_ID && !hp_index_paths(p->index)[step->path].mark)
        return false;
    step->head = hp_index_head(p->index, p->path.start);
    if (step->head != HP_NO_ID && (step->path != HP_NO_ID || !counts_paths) && grow_scheme(p))
        return true;
    p->stats.lost++;
    return false;
}

/* Ends the current path. Returns whether a path is hot now. */
static bool end_path(struct hp_path_predictor *p)
{
    struct hp_flow_step step;
    p->stats.flow++;
    if (!find_step(p, &step))
        return false;
    p->stats.profiled++;
    p->predicted_other = false;
    if (p->scheme->ops->profile(p->scheme, &step))
        return remember(p, &p->path, p->targets, p->branches) || p->predicted_other;
    return p->predicted_other;
}

static void host_path(struct hp_scheme_host *host, const struct hp_flow_step *step,
                      struct hp_path *path, const uint64_t **targets)
{
    (void)step;
    *path = predictor_of(host)->path;
    *targets = predictor_of(host)->targets;
}

static size_t host_branches(struct hp_scheme_host *host, const struct hp_flow_step *step,
                            struct hp_flow_branch *branches)
{
    struct hp_path_predictor *p = predictor_of(host);
    (void)step;
    memcpy(branches, p->branches, p->path.length * sizeof *branches);
    return p->path.length;
}

static bool host_predict(struct hp_scheme_host *host, struct hp_scheme *scheme,
                         const struct hp_path *path, const uint64_t *targets,
                         const struct hp_flow_branch *branches)
{
    struct hp_path_predictor *p = predictor_of(host);
    (void)scheme;
    bool is_new = remember(p, path, targets, branches);
    p->predicted_other |= is_new;
    return is_new;
}

/* --- Branches --------------------------------------------------------------------------------- */

void hp_path_predictor_start(struct hp_path_predictor *predictor, uint64_t address)
{
    predictor->path = (struct hp_path){.start = address, .block = HP_NO_ID, .events = 1};
    predictor->started = true;
}

enum hp_news hp_path_predictor_branch(struct hp_path_predictor *predictor, uint64_t address,
                                      uint64_t target, bool taken, enum hp_flow kind)
{
    struct hp_path_predictor *p = predictor;
    p->stats.branches++;
    if (!p->started) {
        hp_path_predictor_start(p, target);
        return HP_NEWS_STARTED;
    }
    bool indirect = kind == HP_FLOW_JUMP_IND || kind == HP_FLOW_CALL_IND || kind == HP_FLOW_RETURN;
    bool back = taken && target <= address, split = p->path.length == p->max_length;
    if (!split) {
        p->branches[p->path.length++] = (struct hp_flow_branch){
            .address = address, .target = target, .taken = taken, .indirect = indirect};
        p->path.outcomes = p->path.outcomes << 1 | taken;
        if (taken && indirect && !back) {
            p->targets[p->path.n_targets++] = target;
            p->path.targets = hp_path_hash_target(p->path.targets, target);
        }
        if (!back)
            return HP_NEWS_NOTHING;
    }
    bool hot = end_path(p);
    hp_path_predictor_start(p, target);
    return hot ? HP_NEWS_HOT : HP_NEWS_STARTED;
}

void hp_path_predictor_ran(struct hp_path_predictor *predictor, uint64_t paths)
{
    predictor->elsewhere += paths;
}

const struct hp_hot_path *hp_path_predictor_path(const struct hp_path_predictor *predictor)
{
    return &predictor->hot;
}

bool hp_path_predictor_is_hot(const struct hp_path_predictor *predictor, uint64_t start)
{
    uint32_t head = hp_index_find_head(predictor->index, start);
    return head != HP_NO_ID && head / 64 < predictor->cap_hot_heads &&
           (predictor->hot_heads[head / 64] >> head % 64 & 1);
}

const struct hp_path_predictor_stats *hp_path_predictor_stats(struct hp_path_predictor *predictor)
{
    predictor->stats.heads = hp_index_n_heads(predictor->index);
    predictor->stats.cost = predictor->scheme->ops->cost(predictor->scheme);
    return &predictor->stats;
}

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_path_predictor_new(const struct hp_path_predictor_config *config,
                                  struct hp_path_predictor **predictor)
{
    if (config->max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "paths of %u branches: 1 to %d are possible",
                       config->max_length, HP_PATH_MAX_LENGTH);
    struct hp_path_predictor *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->host = (struct hp_scheme_host){
        .path = host_path, .branches = host_branches, .predict = host_predict};
    p->max_length = config->max_length ? config->max_length : HP_PATH_MAX_LENGTH;
    enum hp_err err = hp_scheme_new(&config->scheme, &p->scheme);
    if (err == HP_OK)
        err = hp_index_new(config->max_paths, 1, &p->index);
    if (err != HP_OK) {
        hp_path_predictor_free(p);
        return err;
    }
    p->scheme->host = &p->host;
    p->scheme->max_length = p->max_length;
    *predictor = p;
    return HP_OK;
}

void hp_path_predictor_free(struct hp_path_predictor *predictor)
{
    if (!predictor)
        return;
    hp_scheme_free(predictor->scheme);
    hp_index_free(predictor->index);
    free(predictor->hot_heads);
    free(predictor);
}
