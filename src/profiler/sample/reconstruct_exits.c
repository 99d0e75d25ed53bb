// SPDX-License-Identifier: MIT
/*
 * Where routines are left, so that every exit of a callee may return to a call, also those that
 * never returned to this call.
 */
#include "profiler/sample/reconstruct_impl.h"

#include <stdlib.h>

/* Where control can go from a place without entering callees, and where it returned from. */
struct forward {
    struct hp_place_graph *graph;
    size_t *first; /* by place */
    uint32_t *to;  /* PLAIN and TAIL */
    size_t *returns_first;
    uint32_t *returns; /* RETURN: from */
    uint32_t *mark;    /* the last routine for which a place was reached, + 1 */
    uint32_t *seen;    /* the last one for which it was observed to return, + 1 */
    uint32_t *todo;
    uint32_t *exits; /* of one routine */
    uint32_t n_exits;
    bool guess; /* where none was observed to return, all do */
};

static bool is_inner(const struct hp_arrow *arrow)
{
    return arrow->kind == HP_ARROW_PLAIN || arrow->kind == HP_ARROW_TAIL;
}

/* Counting sort: the sizes are stored two entries further, then each list's start advances to
 * become the next one's. */
static void group(struct forward *f)
{
    const struct hp_place_graph *g = f->graph;
    for (size_t i = 0; i < g->n_arrows; i++) {
        const struct hp_arrow *arrow = &g->arrows[i];
        f->first[arrow->from + 2] += is_inner(arrow);
        f->returns_first[arrow->to + 2] += arrow->kind == HP_ARROW_RETURN;
    }
    for (uint32_t p = 2; p < g->n + 2; p++) {
        f->first[p] += f->first[p - 1];
        f->returns_first[p] += f->returns_first[p - 1];
    }
    for (size_t i = 0; i < g->n_arrows; i++) {
        const struct hp_arrow *arrow = &g->arrows[i];
        if (is_inner(arrow))
            f->to[f->first[arrow->from + 1]++] = arrow->to;
        if (arrow->kind == HP_ARROW_RETURN)
            f->returns[f->returns_first[arrow->to + 1]++] = arrow->from;
    }
}

static enum hp_err forward_init(struct forward *f, struct hp_place_graph *g)
{
    size_t n = (size_t)g->n + 2;
    *f = (struct forward){.graph = g};
    f->first = calloc(n, sizeof *f->first);
    f->to = calloc(g->n_arrows + 1, sizeof *f->to);
    f->returns_first = calloc(n, sizeof *f->returns_first);
    f->returns = calloc(g->n_arrows + 1, sizeof *f->returns);
    f->mark = calloc(n, sizeof *f->mark);
    f->seen = calloc(n, sizeof *f->seen);
    f->todo = calloc(n, sizeof *f->todo);
    f->exits = calloc(n, sizeof *f->exits);
    if (!f->first || !f->to || !f->returns_first || !f->returns || !f->mark || !f->seen ||
        !f->todo || !f->exits)
        return hp_fail_nomem();
    group(f);
    return HP_OK;
}

static void forward_fini(struct forward *f)
{
    free(f->first);
    free(f->to);
    free(f->returns_first);
    free(f->returns);
    free(f->mark);
    free(f->seen);
    free(f->todo);
    free(f->exits);
}

static void meet(struct forward *f, uint32_t place, uint32_t routine, uint32_t *n)
{
    if (place == HP_MAP64_NONE || f->mark[place] == routine + 1)
        return;
    f->mark[place] = routine + 1;
    f->todo[(*n)++] = place;
}

/* The returns that can be reached from the entry of a routine, including those of its tail
 * calls. */
static void find_exits(struct forward *f, uint32_t routine)
{
    const struct hp_place_graph *g = f->graph;
    uint32_t n = 0;
    f->n_exits = 0;
    meet(f, routine, routine, &n);
    while (n) {
        uint32_t p = f->todo[--n];
        const struct hp_graph_place *place = &g->places[p];
        if (place->flow == HP_FLOW_RETURN)
            f->exits[f->n_exits++] = p;
        if (hp_place_calls(place))
            meet(f, hp_map64_get(&g->by_start, place->end), routine, &n);
        for (size_t i = f->first[p]; i < f->first[p + 1]; i++)
            meet(f, f->to[i], routine, &n);
    }
}

/* Marks the returns observed from the routine that calls[0] to calls[n - 1] call. */
static void mark_returns(struct forward *f, const struct hp_arrow *calls, size_t n)
{
    const struct hp_place_graph *g = f->graph;
    for (size_t i = 0; i < n; i++) {
        uint32_t behind = hp_map64_get(&g->by_start, g->places[calls[i].from].end);
        if (behind == HP_MAP64_NONE)
            continue;
        for (size_t k = f->returns_first[behind]; k < f->returns_first[behind + 1]; k++)
            f->seen[f->returns[k]] = calls->to + 1;
    }
}

/* Any call of a routine may be returned to from all its exits: the returns that can be reached in
 * it and were observed after a call of it. (Reachability is not enough: the dynamic linker jumps to
 * whatever is called for the first time, so everything is reachable through it.) */
static enum hp_err add_routine(struct forward *f, const struct hp_arrow *calls, size_t n)
{
    struct hp_place_graph *g = f->graph;
    find_exits(f, calls->to);
    mark_returns(f, calls, n);
    bool any = false;
    for (uint32_t k = 0; k < f->n_exits; k++)
        any |= f->seen[f->exits[k]] == calls->to + 1;
    bool all = f->guess && !any;
    for (size_t i = 0; i < n; i++) {
        uint32_t behind = hp_map64_get(&g->by_start, g->places[calls[i].from].end);
        for (uint32_t k = 0; k < f->n_exits && behind != HP_MAP64_NONE; k++)
            if (all || f->seen[f->exits[k]] == calls->to + 1)
                HP_TRY(hp_place_graph_add(g, f->exits[k], behind, 0));
    }
    return HP_OK;
}

static int by_routine(const void *a, const void *b)
{
    const struct hp_arrow *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static enum hp_err add_returns(struct forward *f)
{
    struct hp_place_graph *g = f->graph;
    size_t n = 0;
    struct hp_arrow *calls = calloc(g->n_arrows + 1, sizeof *calls);
    if (!calls)
        return hp_fail_nomem();
    for (size_t i = 0; i < g->n_arrows; i++)
        if (g->arrows[i].kind == HP_ARROW_CALL)
            calls[n++] = g->arrows[i];
    qsort(calls, n, sizeof *calls, by_routine);
    enum hp_err err = HP_OK;
    for (size_t i = 0, end; i < n && err == HP_OK; i = end) {
        for (end = i + 1; end < n && calls[end].to == calls[i].to;)
            end++;
        err = add_routine(f, calls + i, end - i);
    }
    free(calls);
    return err;
}

enum hp_err hp_place_graph_exits(struct hp_place_graph *g, bool guess)
{
    struct forward f;
    enum hp_err err = forward_init(&f, g);
    f.guess = guess;
    if (err == HP_OK)
        err = add_returns(&f);
    forward_fini(&f);
    return err;
}
