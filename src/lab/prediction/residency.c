// SPDX-License-Identifier: MIT
#include "lab/prediction/residency.h"

#include "base/grow.h"

#include <stdlib.h>

#define QUIET 4 /* a quarter of the time since the phase began */

/* A path. */
struct tally {
    uint64_t window;                          /* of `executed` and `inside`: its number + 1 */
    uint64_t predicted[HP_RESIDENT_POLICIES]; /* when; 0: it is not resident */
    uint32_t executed, inside[HP_RESIDENT_POLICIES];
};

/* One policy. */
struct kept {
    struct hp_scheme *scheme;
    uint32_t *paths; /* resident, in the order of their predictions */
    size_t n, cap;
    uint32_t *rate; /* by window */
    size_t cap_rate;
    uint64_t begun, last, quiet, burst_begun; /* this phase; a prediction; before the burst; it */
    uint32_t burst;                           /* predictions; 0: there was no quiet time */
    struct hp_residency_stats stats;
};

struct hp_residency {
    struct hp_flow_sink sink; /* first */
    const struct hp_index *index;
    uint64_t size, flow, windows; /* of a window; executions; finished windows */
    struct tally *tallies;
    size_t n_tallies, cap_tallies;
    uint32_t *touched; /* in this window */
    size_t n_touched, cap_touched;
    struct kept kept[HP_RESIDENT_POLICIES];
    bool out_of_memory;
};

/* --- Removing --------------------------------------------------------------------------------- */

/* Removes the paths that were predicted before `time`. */
static void flush(struct hp_residency *r, enum hp_residency_policy p, uint64_t time)
{
    struct kept *k = &r->kept[p];
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        struct tally *tally = &r->tallies[k->paths[i]];
        if (tally->predicted[p] < time)
            tally->predicted[p] = 0;
        else
            k->paths[n++] = k->paths[i];
    }
    k->stats.flushes++;
    k->stats.removed += k->n - n;
    k->n = n;
}

static void remove_idle(struct hp_residency *r)
{
    struct kept *k = &r->kept[HP_RESIDENT_IDLE];
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++) {
        struct tally *tally = &r->tallies[k->paths[i]];
        if (tally->window == r->windows + 1)
            k->paths[n++] = k->paths[i];
        else
            tally->predicted[HP_RESIDENT_IDLE] = 0;
    }
    k->stats.removed += k->n - n;
    k->n = n;
}

/* There was a prediction; whether a new phase began, with the burst. */
static bool rises(struct kept *k, uint64_t now)
{
    uint64_t gap = now - k->last;
    k->last = now;
    if (k->n > HP_RESIDENT_BURST && gap >= (now - k->begun) / QUIET) {
        k->burst = 1;
        k->burst_begun = now;
        k->quiet = gap;
    } else if (k->burst) {
        k->burst = now - k->burst_begun < k->quiet ? k->burst + 1 : 0;
    }
    if (k->burst < HP_RESIDENT_BURST)
        return false;
    k->burst = 0;
    k->begun = now;
    return true;
}

/* --- Windows ---------------------------------------------------------------------------------- */

static void end_window(struct hp_residency *r, uint64_t flow)
{
    uint64_t hot_resident[HP_RESIDENT_POLICIES] = {0}, hot_flow = 0;
    for (size_t i = 0; i < r->n_touched; i++) {
        const struct tally *tally = &r->tallies[r->touched[i]];
        bool hot = (uint64_t)tally->executed * HP_RESIDENT_HOT > flow;
        hot_flow += hot ? tally->executed : 0;
        for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++) {
            struct hp_residency_stats *stats = &r->kept[p].stats;
            *(hot ? &stats->hits : &stats->noise) += tally->inside[p];
            hot_resident[p] += hot && tally->predicted[p];
        }
    }
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++) {
        struct hp_residency_stats *stats = &r->kept[p].stats;
        stats->flow += flow;
        stats->hot_flow += hot_flow;
        stats->resident += r->kept[p].n;
        stats->stale += r->kept[p].n - hot_resident[p];
        stats->windows++;
    }
    remove_idle(r);
    r->windows++;
    if (r->windows % HP_RESIDENT_PERIOD == 0)
        flush(r, HP_RESIDENT_EVERY, UINT64_MAX);
    r->n_touched = 0;
}

static bool grow_rates(struct hp_residency *r)
{
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++)
        if (hp_grow(&r->kept[p].rate, &r->kept[p].cap_rate, r->windows + 1,
                    sizeof *r->kept[p].rate) != HP_OK)
            return false;
    return true;
}

/* --- Executions ------------------------------------------------------------------------------- */

static bool grow(struct hp_residency *r)
{
    size_t n = hp_index_n_paths(r->index), heads = hp_index_n_heads(r->index);
    if (n == r->n_tallies)
        return true;
    if (hp_grow(&r->tallies, &r->cap_tallies, n, sizeof *r->tallies) != HP_OK ||
        hp_grow(&r->touched, &r->cap_touched, n, sizeof *r->touched) != HP_OK)
        return false;
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++)
        if (r->kept[p].scheme->ops->grow(r->kept[p].scheme, n, heads) != HP_OK)
            return false;
    r->n_tallies = n;
    return true;
}

static bool predict(struct hp_residency *r, enum hp_residency_policy p, uint32_t path)
{
    struct kept *k = &r->kept[p];
    if (hp_grow(&k->paths, &k->cap, k->n + 1, sizeof *k->paths) != HP_OK)
        return false;
    k->paths[k->n++] = path;
    r->tallies[path].predicted[p] = r->flow;
    k->stats.predictions++;
    k->rate[r->windows]++;
    if (rises(k, r->flow) && p == HP_RESIDENT_RISE)
        flush(r, p, k->burst_begun);
    return true;
}

static bool execute(struct hp_residency *r, uint32_t path)
{
    struct tally *tally = &r->tallies[path];
    const struct hp_indexed_path *known = &hp_index_paths(r->index)[path];
    const struct hp_flow_step step = {
        .path = path, .head = known->head, .length = known->length, .flow = r->flow};
    if (tally->window != r->windows + 1) {
        tally->window = r->windows + 1;
        tally->executed = 0;
        for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++)
            tally->inside[p] = 0;
        r->touched[r->n_touched++] = path;
    }
    tally->executed++;
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++) {
        struct kept *k = &r->kept[p];
        if (tally->predicted[p]) {
            tally->inside[p]++;
            continue;
        }
        k->stats.profiled++;
        if (k->scheme->ops->profile(k->scheme, &step) && !predict(r, p, path))
            return false;
    }
    return true;
}

static void take_flow(struct hp_flow_sink *sink, const uint32_t *paths, size_t n)
{
    struct hp_residency *r = (struct hp_residency *)sink;
    if (r->out_of_memory || !grow(r)) {
        r->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < n && !r->out_of_memory; i++) {
        r->out_of_memory = r->flow % r->size == 0 && !grow_rates(r);
        r->flow++;
        if (paths[i] != HP_NO_ID && !r->out_of_memory)
            r->out_of_memory = !execute(r, paths[i]);
        if (r->flow % r->size == 0)
            end_window(r, r->size);
    }
}

/* --- Creating, reading ------------------------------------------------------------------------ */

enum hp_err hp_residency_new(const struct hp_scheme_config *scheme, uint64_t window,
                             const struct hp_index *index, struct hp_residency **residency)
{
    struct hp_residency *r = calloc(1, sizeof *r);
    enum hp_err err = r ? HP_OK : hp_fail_nomem();
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES && err == HP_OK; p++)
        err = hp_scheme_new(scheme, &r->kept[p].scheme);
    if (err != HP_OK) {
        hp_residency_free(r);
        return err;
    }
    r->sink.flow = take_flow;
    r->size = window;
    r->index = index;
    *residency = r;
    return HP_OK;
}

void hp_residency_free(struct hp_residency *r)
{
    if (!r)
        return;
    for (unsigned p = 0; p < HP_RESIDENT_POLICIES; p++) {
        hp_scheme_free(r->kept[p].scheme);
        free(r->kept[p].paths);
        free(r->kept[p].rate);
    }
    free(r->tallies);
    free(r->touched);
    free(r);
}

struct hp_flow_sink *hp_residency_sink(struct hp_residency *r)
{
    return &r->sink;
}

enum hp_err hp_residency_finish(struct hp_residency *r)
{
    if (r->out_of_memory)
        return hp_fail_nomem();
    if (r->flow % r->size)
        end_window(r, r->flow % r->size);
    return HP_OK;
}

const struct hp_residency_stats *hp_residency_stats(const struct hp_residency *r,
                                                    enum hp_residency_policy policy)
{
    return &r->kept[policy].stats;
}

const uint32_t *hp_residency_rate(const struct hp_residency *r, enum hp_residency_policy policy)
{
    return r->kept[policy].rate;
}
