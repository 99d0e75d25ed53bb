// SPDX-License-Identifier: MIT
/*
 * Lists path segments: from where they begin along the links of the walk to the sample. Every link
 * leads there, so no step is wasted, except in a loop without a conditional branch; therefore steps
 * are bounded.
 */
#include "base/grow.h"
#include "profiler/sample/reconstruct_own.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH 4096 /* places of a segment, at most */
#define STEPS  256  /* for each requested segment */

static enum hp_err add_start(struct hp_reconstruct_paths *paths, size_t at, uint64_t start)
{
    HP_TRY(hp_grow(&paths->starts, &paths->cap_starts, at + 1, sizeof *paths->starts));
    paths->starts[at] = start;
    return HP_OK;
}

static enum hp_err end_path(struct hp_reconstruct_paths *paths, size_t end)
{
    HP_TRY(hp_grow(&paths->first, &paths->cap_first, paths->n + 2, sizeof *paths->first));
    paths->first[++paths->n] = end;
    return HP_OK;
}

static enum hp_err clear(struct hp_reconstruct_paths *paths)
{
    HP_TRY(hp_grow(&paths->first, &paths->cap_first, 2, sizeof *paths->first));
    paths->n = 0;
    paths->first[0] = 0;
    paths->complete = true;
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

/* The current way: its states, and the next link to try from each. */
struct lister {
    const struct hp_backward_walk *walk;
    struct hp_reconstruct_paths *paths;
    size_t limit, steps;
    uint32_t states[LENGTH], links[LENGTH];
    size_t n;
};

/* Stores the current way. */
static enum hp_err put_down(struct lister *l)
{
    struct hp_reconstruct_paths *paths = l->paths;
    size_t at = paths->first[paths->n];
    for (size_t i = 0; i < l->n; i++) {
        uint32_t place = l->walk->states[l->states[i]].place;
        HP_TRY(add_start(paths, at + i, l->walk->graph->places[place].start));
    }
    return end_path(paths, at + l->n);
}

/* Advances to the next state of the way, or back when everything from here was tried. */
static void go_on(struct lister *l)
{
    uint32_t link = l->links[l->n - 1];
    if (link == 0) {
        l->n--;
        return;
    }
    l->links[l->n - 1] = l->walk->links[link].next;
    if (l->n == LENGTH) {
        l->paths->complete = false;
        return;
    }
    uint32_t state = l->walk->links[link].state;
    l->states[l->n] = state;
    l->links[l->n++] = l->walk->states[state].link;
}

/* All ways from a state to the sample, which is state 0. */
static enum hp_err list_from(struct lister *l, uint32_t state)
{
    l->states[0] = state;
    l->links[0] = l->walk->states[state].link;
    l->n = 1;
    bool fresh = true;
    while (l->n) {
        if (l->paths->n == l->limit || l->steps == 0) {
            l->paths->complete = false;
            return HP_OK;
        }
        l->steps--;
        if (fresh && l->states[l->n - 1] == 0)
            HP_TRY(put_down(l));
        size_t before = l->n;
        go_on(l);
        fresh = l->n > before;
    }
    return HP_OK;
}

/* With `likeliest` the segment is known by its end; otherwise by the state. */
static bool ends_here(const struct hp_backward_walk *walk, uint32_t id)
{
    return walk->query->likeliest ? id == walk->end : walk->states[id].ends;
}

static enum hp_err list_all(struct hp_reconstruct *r, const struct hp_walk_query *q, size_t limit,
                            struct hp_reconstruct_paths *paths)
{
    struct hp_reconstruct_answer answer;
    HP_TRY(q->likeliest ? hp_walk_best(&r->walk, q, 1, true, &answer) : hp_walk_all(&r->walk, q));
    bool found = q->likeliest ? r->walk.end != HP_NO_ID : !r->walk.over;
    paths->complete = found || !r->walk.over;
    struct lister *l = malloc(sizeof *l);
    if (!l)
        return hp_fail_nomem();
    l->walk = &r->walk;
    l->paths = paths;
    l->limit = limit;
    l->steps = limit > SIZE_MAX / 2 / STEPS ? SIZE_MAX : (limit + 64) * STEPS;
    enum hp_err err = HP_OK;
    for (uint32_t s = 0; s < r->walk.n_states && err == HP_OK && found; s++)
        if (ends_here(&r->walk, s))
            err = list_from(l, s);
    free(l);
    return err;
}

/* --- One -------------------------------------------------------------------------------------- */

static enum hp_err list_greedy(struct hp_reconstruct *r, const struct hp_walk_query *q,
                               struct hp_reconstruct_paths *paths)
{
    struct hp_walk_trail trail = {0};
    struct hp_reconstruct_answer answer;
    enum hp_err err = hp_walk_greedy(&r->walk, q, &trail, &answer);
    paths->complete = !r->walk.over;
    if (err == HP_OK && answer.known == q->bits) {
        for (size_t i = 0; i < trail.n && err == HP_OK; i++)
            err = add_start(paths, i, r->graph.places[trail.places[trail.n - 1 - i]].start);
        if (err == HP_OK)
            err = end_path(paths, trail.n);
    }
    free(trail.places);
    return err;
}

enum hp_err hp_reconstruct_list(struct hp_reconstruct *r, const struct hp_reconstruct_query *query,
                                size_t limit, struct hp_reconstruct_paths *paths)
{
    struct hp_walk_query q;
    HP_TRY(hp_reconstruct_prepare(r, query, &q));
    HP_TRY(clear(paths));
    if (q.place == HP_NO_ID)
        return HP_OK;
    return hp_reconstruct_greedy(q.scheme) ? list_greedy(r, &q, paths)
                                           : list_all(r, &q, limit, paths);
}

void hp_reconstruct_paths_fini(struct hp_reconstruct_paths *paths)
{
    free(paths->starts);
    free(paths->first);
    *paths = (struct hp_reconstruct_paths){0};
}

/* --- For a profile by paths ------------------------------------------------------------------- */

enum hp_err hp_reconstruct_sample(struct hp_reconstruct *r, uint64_t pc, uint32_t history,
                                  uint32_t bits, bool likeliest,
                                  struct hp_reconstruct_segment *segment)
{
    struct hp_reconstruct_query query = {.scheme = HP_RECONSTRUCT_HISTORY,
                                         .likeliest = likeliest,
                                         .pc = pc,
                                         .history = history,
                                         .bits = bits};
    struct hp_reconstruct_answer answer;
    *segment = (struct hp_reconstruct_segment){0};
    HP_TRY(hp_reconstruct_ask(r, &query, &answer));
    if (answer.known < bits || answer.paths[bits] != 1)
        return HP_OK;
    HP_TRY(hp_reconstruct_list(r, &query, 1, &r->paths));
    segment->id = answer.path[bits];
    segment->starts = r->paths.starts;
    segment->n = r->paths.n ? r->paths.first[1] : 0;
    return HP_OK;
}
