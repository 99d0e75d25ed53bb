// SPDX-License-Identifier: MIT
#include "export/viewers/callgrind_rows.h"

#include "base/bisect.h"
#include "export/viewers/views.h"
#include "report/items.h"
#include "text/number.h"

/* --- Jumps ------------------------------------------------------------------------------------ */

static void add_jump(const struct hp_cg_code *code, uint32_t i, uint64_t executed,
                     struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->profile;
    const struct hp_cg_edge *edge = &code->edges[i];
    struct hp_cg_row *row =
        hp_cg_add(rows, HP_CG_JUMP, hp_cg_where(code, edge->from, p->blocks[edge->from].branch));
    row->jump.to = hp_cg_where(code, edge->to, 0);
    row->jump.taken = edge->count;
    row->jump.executed = p->edges[i].flow == HP_FLOW_COND ? executed : 0;
}

static bool is_known(const struct hp_cg_edge *edge)
{
    return edge->from != HP_PROFILE_NONE && edge->to != HP_PROFILE_NONE && edge->count;
}

static bool is_jump(uint8_t flow)
{
    return flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_JUMP_IND;
}

void hp_cg_add_jumps(const struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows)
{
    const struct hp_pedge *edges = code->profile->edges;
    const uint32_t *following = code->jumps.next;
    uint32_t first = code->jumps.first[hp_views_slot(function, code->profile->n_functions)], next;
    for (; first != HP_PROFILE_NONE; first = next) {
        uint64_t executed = 0; /* of a conditional branch, whose edges follow each other */
        for (next = first;
             next != HP_PROFILE_NONE && hp_place_compare(edges[next].from, edges[first].from) == 0;
             next = following[next])
            if (edges[next].flow == HP_FLOW_COND)
                hp_add_up(&executed, code->edges[next].count);
        for (uint32_t i = first; i != next; i = following[i])
            if (is_jump(edges[i].flow) && edges[i].taken && is_known(&code->edges[i]) &&
                code->edges[i].callee == function)
                add_jump(code, i, executed, rows);
    }
}

/* --- Calls ------------------------------------------------------------------------------------ */

static bool is_site(const struct hp_cg_code *code, uint32_t i)
{
    const struct hp_cg_edge *edge = &code->edges[i];
    const struct hp_pedge *e = &code->profile->edges[i];
    if (!is_known(edge))
        return false;
    const struct hp_pblock *from = &code->profile->blocks[edge->from];
    if (e->flow == HP_FLOW_CALL || e->flow == HP_FLOW_CALL_IND) /* of what follows: reads the pc */
        return e->to.module != from->place.module ||
               e->to.offset != from->place.offset + from->size;
    return is_jump(e->flow) && edge->caller != edge->callee; /* tail calls, cold parts */
}

uint32_t hp_cg_call_of(const struct hp_cg_code *code, uint32_t i)
{
    const struct hp_pcall *calls = code->profile->calls;
    const struct hp_cg_edge *edge = &code->edges[i];
    if (!is_site(code, i))
        return HP_PROFILE_NONE;
    size_t call = HP_BISECT(k, 0, code->profile->n_calls,
                            calls[k].caller < edge->caller || (calls[k].caller == edge->caller &&
                                                               calls[k].callee < edge->callee));
    return call < code->profile->n_calls && calls[call].caller == edge->caller &&
                   calls[call].callee == edge->callee
               ? (uint32_t)call
               : HP_PROFILE_NONE;
}

/* part/whole of an amount, rounded down. */
static uint64_t share(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

static void add_call(struct hp_cg_rows *rows, struct hp_cg_where where, uint32_t callee,
                     uint64_t count, uint64_t inclusive)
{
    struct hp_cg_row *row = hp_cg_add(rows, HP_CG_CALL, where);
    row->call.callee = callee;
    row->call.count = count;
    row->call.inclusive = inclusive;
}

/* Shares a call out to the instructions that made it; what is rounded off goes to later ones.
 * Without any (the run began in the middle of it) it is where the function begins. Readers take the
 * cost of 0 calls for the function's own: a jump into a part of another function, which is not
 * counted as a call, is written as one. */
static void share_call(const struct hp_cg_code *code, uint32_t call, struct hp_pcall_count sum,
                       struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->profile;
    uint32_t callee = p->calls[call].callee, first = code->sites.first[call];
    uint64_t all = 0, so_far = 0;
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = code->sites.next[i])
        hp_add_up(&all, code->edges[i].count);
    if (!sum.count)
        sum.count = all ? all : 1;
    if (!all)
        add_call(rows, hp_cg_function(p, p->calls[call].caller), callee, sum.count, sum.inclusive);
    struct hp_pcall_count given = {0};
    for (uint32_t i = first; i != HP_PROFILE_NONE; i = code->sites.next[i]) {
        uint32_t from = code->edges[i].from;
        hp_add_up(&so_far, code->edges[i].count);
        uint64_t count = share(sum.count, so_far, all),
                 inclusive = share(sum.inclusive, so_far, all);
        if (count == given.count)
            continue;
        add_call(rows, hp_cg_where(code, from, p->blocks[from].branch), callee, count - given.count,
                 inclusive - given.inclusive);
        given.count = count;
        given.inclusive = inclusive;
    }
}

void hp_cg_add_calls(const struct hp_cg_code *code, uint32_t function, struct hp_cg_rows *rows)
{
    const struct hp_profile *p = code->profile;
    size_t n, n_counts;
    if (function == HP_PROFILE_NONE) /* the start of a thread, or a signal: nobody calls */
        return;
    const struct hp_pcall *calls = hp_items_of(p->calls, p->n_calls, sizeof *calls, function, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t call = (uint32_t)(&calls[i] - p->calls);
        struct hp_pcall_count sum = {0};
        const struct hp_pcall_count *counts =
            hp_items_of(p->call_counts, p->n_call_counts, sizeof *counts, call, &n_counts);
        for (size_t k = 0; k < n_counts; k++) {
            hp_add_up(&sum.count, counts[k].count);
            hp_add_up(&sum.inclusive, counts[k].inclusive);
        }
        if (sum.count || sum.inclusive)
            share_call(code, call, sum, rows);
    }
}
