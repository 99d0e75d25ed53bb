// SPDX-License-Identifier: MIT
#include "profiler/exact/exact_impl.h"

#include "base/grow.h"

#include <stdlib.h>

/* --- Threads ---------------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    HP_TRY(hp_grow(&exact->threads, &exact->cap_threads, exact->n_threads + 1,
                   sizeof *exact->threads));
    struct hp_exact_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    thread->exact = exact;
    thread->info = *info;
    thread->fresh = true;
    exact->threads[exact->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

/* What is needed only while the thread runs. */
static void free_tables(struct hp_exact_thread *thread)
{
    free(thread->cells);
    thread->cells = NULL;
    thread->n_cells = thread->cap_cells = 0;
    hp_map64_fini(&thread->extra_of);
    free(thread->extra);
    thread->extra = NULL;
    hp_map64_fini(&thread->tail_of);
    free(thread->tails);
    thread->tails = NULL;
    free(thread->frames);
    thread->frames = NULL;
    thread->n_frames = thread->cap_frames = 0;
    hp_map64_fini(&thread->call_of);
}

static void free_thread(struct hp_exact_thread *thread)
{
    free_tables(thread);
    free(thread->edges);
    free(thread->calls);
    free(thread->activities);
    free(thread);
}

static void seal_map(struct hp_exact_thread *t, const struct hp_map64 *map, const uint64_t *counts,
                     bool tails)
{
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        const struct hp_map64_slot *slot = &map->slots[i];
        if (slot->value == HP_MAP64_NONE)
            continue;
        uint32_t from = (uint32_t)(tails ? slot->key : slot->key >> 32);
        uint32_t to = tails ? HP_NO_ID : (uint32_t)slot->key;
        t->edges[t->n_edges++] = (struct hp_exact_edge){from, to, counts[slot->value]};
    }
}

void hp_exact_seal(struct hp_exact_thread *t)
{
    size_t n = t->extra_of.used + t->tail_of.used;
    for (size_t i = 0; i < t->n_cells; i++)
        for (int k = 0; k < 2; k++)
            n += t->cells[i].count[k] != 0;
    if (!n || t->edges)
        return;
    t->edges = malloc(n * sizeof *t->edges);
    if (!t->edges) {
        t->exact->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < t->n_cells; i++)
        for (int k = 0; k < 2; k++)
            if (t->cells[i].count[k])
                t->edges[t->n_edges++] =
                    (struct hp_exact_edge){(uint32_t)i, t->cells[i].next[k], t->cells[i].count[k]};
    seal_map(t, &t->extra_of, t->extra, false);
    seal_map(t, &t->tail_of, t->tails, true);
    free_tables(t);
}

/* --- Counting --------------------------------------------------------------------------------- */

/* What the shadow stack needs to know of blocks that are new in the code map. */
static enum hp_err grow_spots(struct hp_exact *exact, size_t n)
{
    HP_TRY(hp_grow(&exact->spots, &exact->cap_spots, n, sizeof *exact->spots));
    for (; exact->n_spots < n; exact->n_spots++) {
        const struct hp_block *block = hp_code_block(exact->code, (uint32_t)exact->n_spots);
        exact->spots[exact->n_spots] = (struct hp_spot){
            .start = block->start,
            .end = block->end,
            .function = HP_NO_ID,
            .module = block->module,
            .flow = block->flow,
            .may_not_go = (block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0};
    }
    return HP_OK;
}

/* Cells and spots for blocks that are new in the code map. */
static __attribute__((noinline)) bool grow_tables(struct hp_exact_thread *t, size_t n)
{
    if (grow_spots(t->exact, n) != HP_OK ||
        hp_grow(&t->cells, &t->cap_cells, n, sizeof *t->cells) != HP_OK) {
        t->exact->out_of_memory = true;
        return false;
    }
    for (; t->n_cells < n; t->n_cells++) {
        const struct hp_block *block = hp_code_block(t->exact->code, (uint32_t)t->n_cells);
        t->cells[t->n_cells] = (struct hp_exact_cell){.next = {HP_NO_ID, HP_NO_ID},
                                                      .insns = block->insns,
                                                      .watch = hp_exact_always_watch(block)};
    }
    return true;
}

/* Makes the tables cover the code map; false when there is no memory for them. */
static bool cover_code(struct hp_exact_thread *t)
{
    size_t n = hp_code_n_blocks(t->exact->code);
    return t->n_cells >= n || grow_tables(t, n);
}

/* Adds one to the counter that `map` knows under `key`. */
static bool count_in(struct hp_map64 *map, uint64_t **counts, size_t *n, size_t *cap, uint64_t key)
{
    uint32_t index = hp_map64_get(map, key);
    if (index == HP_MAP64_NONE) {
        if (hp_grow(counts, cap, *n + 1, sizeof **counts) != HP_OK ||
            hp_map64_put(map, key, (uint32_t)*n) != HP_OK)
            return false;
        index = (uint32_t)(*n)++;
    }
    (*counts)[index]++;
    return true;
}

/* An edge that is not in the cell's first place. */
void hp_exact_count_edge(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    struct hp_exact_cell *cell = &t->cells[from];
    for (int i = 0; i < 2; i++) {
        if (cell->next[i] == HP_NO_ID) { /* seen for the first time */
            cell->next[i] = to;
            cell->count[i] = 1;
            if (hp_exact_leaves_function(t, from, to))
                cell->watch = 1;
            return;
        }
        if (cell->next[i] == to) {
            cell->count[i]++;
            return;
        }
    }
    /* A direct jump has more than two only where there were several blocks at one place. */
    if (!cell->watch && hp_exact_leaves_function(t, from, to))
        cell->watch = 1;
    if (!count_in(&t->extra_of, &t->extra, &t->n_extra, &t->cap_extra, (uint64_t)from << 32 | to))
        t->exact->out_of_memory = true;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct hp_exact_thread *t = state;
    if (!cover_code(t))
        return;
    if (t->fresh) {
        t->fresh = false;
        hp_exact_begin(t, batch->blocks[0]);
    }
    hp_exact_count(t, batch->blocks, batch->n);
}

/* A block without a known successor. */
static void count_tail(struct hp_exact_thread *t, const struct hp_event *event)
{
    if (!cover_code(t))
        return;
    if (t->fresh) {
        t->fresh = false;
        hp_exact_begin(t, event->block);
    }
    t->clock += event->insns;
    t->uncertain += !event->exact;
    if (!count_in(&t->tail_of, &t->tails, &t->n_tails, &t->cap_tails, event->block))
        t->exact->out_of_memory = true;
}

static void on_event(void *state, const struct hp_event *event)
{
    struct hp_exact_thread *t = state;
    switch (event->kind) {
    case HP_EVENT_TAIL: count_tail(t, event); break;
    case HP_EVENT_SIGNAL: hp_exact_enter_signal(t); break;
    case HP_EVENT_SIGRETURN: hp_exact_leave_signal(t); break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY:
        hp_exact_unwind(t);
        t->fresh = true;
        break;
    case HP_EVENT_END:
        hp_exact_unwind(t);
        hp_exact_seal(t);
        break;
    default: break;
    }
}

/* --- The profiler ----------------------------------------------------------------------------- */

static void free_exact(struct hp_profiler *profiler)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    for (size_t i = 0; i < exact->n_threads; i++)
        free_thread(exact->threads[i]);
    free(exact->threads);
    free(exact->spots);
    free(exact);
}

static const struct hp_profiler_ops ops = {
    .name = "exact",
    .start_thread = start_thread,
    .batch = on_batch,
    .event = on_event,
    .finish = hp_exact_finish,
    .free = free_exact,
};

enum hp_err hp_exact_new(struct hp_code *code, struct hp_functions *functions,
                         struct hp_profiler **profiler)
{
    struct hp_exact *exact = calloc(1, sizeof *exact);
    if (!exact)
        return hp_fail_nomem();
    exact->base.ops = &ops;
    exact->code = code;
    exact->functions = functions;
    *profiler = &exact->base;
    return HP_OK;
}
