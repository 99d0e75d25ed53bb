// SPDX-License-Identifier: MIT
#include "export/viewers/callgrind_rows.h"

#include "base/grow.h"
#include "report/items.h"
#include "text/number.h"

#include <stdlib.h>

/* --- Jumps ------------------------------------------------------------------------------------ */

static uint32_t target_function(const struct hp_profile *p, const struct hp_cg_edge *edge)
{
    return edge->to == HP_PROFILE_NONE ? HP_PROFILE_NONE : p->blocks[edge->to].function;
}

static enum hp_err add_jump(const struct hp_cg_code *code, uint32_t i, uint64_t executed,
                            struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_cg_edge *edge = &code->edges[i];
    const struct hp_pedge *e = &p->edges[i];
    struct hp_cg_row *row;
    HP_TRY(hp_cg_rows_add(rows, HP_CG_JUMP, e->from,
                          hp_cg_code_source(code, edge->from, p->blocks[edge->from].branch), &row));
    row->jump.to = e->to;
    row->jump.source = hp_cg_code_source(code, edge->to, 0);
    row->jump.conditional = e->flow == HP_FLOW_COND;
    row->jump.taken = edge->count;
    row->jump.executed = executed;
    return HP_OK;
}

/* Whether an edge is a jump inside of a function. */
static bool is_jump(const struct hp_cg_code *code, uint32_t i, uint32_t function)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_cg_edge *edge = &code->edges[i];
    const struct hp_pedge *e = &p->edges[i];
    bool jumps = e->flow == HP_FLOW_JUMP || e->flow == HP_FLOW_COND || e->flow == HP_FLOW_JUMP_IND;
    return jumps && e->taken && edge->count && edge->from != HP_PROFILE_NONE &&
           edge->to != HP_PROFILE_NONE && target_function(p, edge) == function;
}

enum hp_err hp_cg_add_jumps(const struct hp_cg_code *code, uint32_t function,
                            struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    size_t n, next;
    const uint32_t *items = hp_cg_items(code, &code->by_edges, function, &n);
    for (size_t i = 0; i < n; i = next) {
        uint64_t executed = 0; /* of a conditional branch, whose edges follow each other */
        struct hp_place from = p->edges[items[i]].from;
        for (next = i; next < n && hp_place_compare(p->edges[items[next]].from, from) == 0; next++)
            if (p->edges[items[next]].flow == HP_FLOW_COND)
                executed = hp_saturating_add(executed, code->edges[items[next]].count);
        for (size_t k = i; k < next; k++)
            if (is_jump(code, items[k], function))
                HP_TRY(add_jump(code, items[k], executed, rows));
    }
    return HP_OK;
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* Edges of a function that call another, by callee. */
struct sites {
    uint32_t *edges;
    size_t n, capacity;
};

static bool is_site(const struct hp_cg_code *code, uint32_t i)
{
    const struct hp_profile *p = code->tables->profile;
    const struct hp_cg_edge *edge = &code->edges[i];
    const struct hp_pedge *e = &p->edges[i];
    if (edge->from == HP_PROFILE_NONE || edge->to == HP_PROFILE_NONE || !edge->count)
        return false;
    const struct hp_pblock *from = &p->blocks[edge->from], *to = &p->blocks[edge->to];
    bool next =
        e->to.module == from->place.module && e->to.offset == from->place.offset + from->size;
    switch (e->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: return !next; /* a call of the next instruction reads the pc */
    case HP_FLOW_JUMP:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_COND: return from->function != to->function; /* tail calls, cold parts */
    default: return false;
    }
}

static int compare_sites(const void *a, const void *b, void *context)
{
    const struct hp_cg_code *code = context;
    const struct hp_profile *p = code->tables->profile;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t callee_x = target_function(p, &code->edges[x]);
    uint32_t callee_y = target_function(p, &code->edges[y]);
    if (callee_x != callee_y)
        return callee_x < callee_y ? -1 : 1;
    return (x > y) - (x < y);
}

static enum hp_err find_sites(const struct hp_cg_code *code, uint32_t function, struct sites *sites)
{
    size_t n;
    const uint32_t *items = hp_cg_items(code, &code->by_edges, function, &n);
    for (size_t i = 0; i < n; i++) {
        if (!is_site(code, items[i]))
            continue;
        HP_TRY(hp_grow(&sites->edges, &sites->capacity, sites->n + 1, sizeof *sites->edges));
        sites->edges[sites->n++] = items[i];
    }
    if (sites->n)
        qsort_r(sites->edges, sites->n, sizeof *sites->edges, compare_sites, (void *)code);
    return HP_OK;
}

/* part/whole of an amount, rounded down. */
static uint64_t share(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

static enum hp_err add_call(struct hp_cg_rows *rows, struct hp_place place,
                            struct hp_cg_source source, uint32_t callee, uint64_t count,
                            uint64_t inclusive)
{
    struct hp_cg_row *row;
    HP_TRY(hp_cg_rows_add(rows, HP_CG_CALL, place, source, &row));
    row->call.callee = callee;
    row->call.count = count;
    row->call.inclusive = inclusive;
    return HP_OK;
}

/* Shares a call out to the instructions that made it; what is rounded off goes to later ones.
 * Without any (the run began in the middle of it) it is where the function begins. Readers take the
 * cost of 0 calls for the function's own: a jump into a part of another function, which is not
 * counted as a call, is written as one. */
static enum hp_err add_pair(const struct hp_cg_code *code, const struct hp_pcall *call,
                            struct hp_pcall_count sum, const uint32_t *sites, size_t n,
                            struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    uint64_t all = 0, so_far = 0, count = 0, inclusive = 0;
    for (size_t i = 0; i < n; i++)
        all = hp_saturating_add(all, code->edges[sites[i]].count);
    if (!sum.count)
        sum.count = all ? all : 1;
    if (!all) {
        const struct hp_pfunction *f = &p->functions[call->caller];
        return add_call(rows, f->place, (struct hp_cg_source){hp_text(f->file), f->line},
                        call->callee, sum.count, sum.inclusive);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t from = code->edges[sites[i]].from;
        so_far = hp_saturating_add(so_far, code->edges[sites[i]].count);
        uint64_t count_to = share(sum.count, so_far, all);
        uint64_t inclusive_to = share(sum.inclusive, so_far, all);
        if (count_to == count)
            continue;
        HP_TRY(add_call(rows, p->edges[sites[i]].from,
                        hp_cg_code_source(code, from, p->blocks[from].branch), call->callee,
                        count_to - count, inclusive_to - inclusive));
        count = count_to;
        inclusive = inclusive_to;
    }
    return HP_OK;
}

static struct hp_pcall_count sum_call(const struct hp_profile *p, uint32_t call)
{
    struct hp_pcall_count sum = {.item = call};
    size_t n;
    const struct hp_pcall_count *counts =
        hp_items_of(p->call_counts, p->n_call_counts, sizeof *counts, call, &n);
    for (size_t i = 0; i < n; i++) {
        sum.count = hp_saturating_add(sum.count, counts[i].count);
        sum.inclusive = hp_saturating_add(sum.inclusive, counts[i].inclusive);
    }
    return sum;
}

enum hp_err hp_cg_add_calls(const struct hp_cg_code *code, uint32_t function,
                            struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->tables->profile;
    struct sites sites = {0};
    size_t n, at = 0;
    if (function == HP_PROFILE_NONE) /* the start of a thread, or a signal: nobody calls */
        return HP_OK;
    const struct hp_pcall *calls = hp_items_of(p->calls, p->n_calls, sizeof *calls, function, &n);
    enum hp_err err = n ? find_sites(code, function, &sites) : HP_OK;
    for (size_t i = 0; err == HP_OK && i < n; i++) {
        while (at < sites.n && target_function(p, &code->edges[sites.edges[at]]) < calls[i].callee)
            at++;
        size_t end = at;
        while (end < sites.n &&
               target_function(p, &code->edges[sites.edges[end]]) == calls[i].callee)
            end++;
        struct hp_pcall_count sum = sum_call(p, (uint32_t)(&calls[i] - p->calls));
        if (sum.count || sum.inclusive)
            err = add_pair(code, &calls[i], sum, sites.n ? sites.edges + at : NULL, end - at, rows);
        at = end;
    }
    free(sites.edges);
    return err;
}
