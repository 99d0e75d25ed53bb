// SPDX-License-Identifier: MIT
#include "profiler/exact/exact_impl.h"

#include "base/grow.h"
#include "base/memory_size.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/excursions.h"
#include "profiler/exact/loops.h"
#include "profiler/exact/phrases.h"
#include "profiler/exact/syscalls.h"

#include <stdlib.h>
#include <string.h>

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
    if (hp_exact_contexts_start(thread) != HP_OK ||
        (exact->loops && hp_exact_loops_start(thread) != HP_OK)) {
        free(thread->contexts);
        free(thread->context_more);
        free(thread);
        return HP_ERR_NOMEM;
    }
    exact->threads[exact->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

/* Frees what is needed only while the thread runs. */
static void free_tables(struct hp_exact_thread *thread)
{
    free(thread->cells);
    thread->cells = NULL;
    thread->n_cells = thread->cap_cells = 0;
    free(thread->ops);
    thread->ops = NULL;
    hp_excursions_fini(&thread->excursions);
    hp_tally64_fini(&thread->extra);
    hp_tally64_fini(&thread->tails);
    free(thread->frames);
    thread->frames = NULL;
    thread->n_frames = thread->cap_frames = 0;
    hp_search_fini(&thread->search);
    hp_map64_fini(&thread->call_of);
    hp_map64_fini(&thread->context_of);
    hp_exact_syscalls_seal(thread);
}

void hp_exact_forget(struct hp_exact_thread *thread)
{
    if (!thread->loops) { /* loops need them at the end */
        free(thread->edges);
        thread->edges = NULL;
        thread->n_edges = 0;
    }
    free(thread->calls);
    free(thread->activities);
    free(thread->contexts);
    free(thread->context_more);
    thread->calls = NULL;
    thread->activities = NULL;
    thread->contexts = NULL;
    thread->context_more = NULL;
    thread->n_calls = thread->n_activities = thread->n_contexts = 0;
    hp_exact_syscalls_fini(thread);
}

static void free_thread(struct hp_exact_thread *thread)
{
    free_tables(thread);
    hp_exact_forget(thread);
    free(thread->edges);
    hp_exact_loops_stop(thread);
    free(thread);
}

/* Adds to the edges of a sealed thread; several units may share an edge. */
static bool add_edge(struct hp_exact_thread *t, size_t *cap, struct hp_map64 *index, uint32_t from,
                     uint32_t to, uint64_t count)
{
    uint64_t key = (uint64_t)from << 32 | to;
    uint32_t i = hp_map64_get(index, key);
    if (i == HP_MAP64_NONE) {
        i = (uint32_t)t->n_edges;
        if (hp_grow(&t->edges, cap, t->n_edges + 1, sizeof *t->edges) != HP_OK ||
            hp_map64_put(index, key, i) != HP_OK)
            return false;
        t->edges[t->n_edges++] = (struct hp_exact_edge){from, to, 0};
    }
    t->edges[i].count += count;
    return true;
}

/* Everything that left a unit went through all of it. */
static bool add_unit(struct hp_exact_thread *t, size_t *cap, struct hp_map64 *index, uint32_t unit,
                     uint32_t to, uint64_t count)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(t->exact->code, unit, &n);
    bool good = count == 0 || add_edge(t, cap, index, blocks[n - 1], to, count);
    for (uint32_t i = 0; i + 1 < n && good && count; i++)
        good = add_edge(t, cap, index, blocks[i], blocks[i + 1], count);
    return good;
}

static bool seal_tables(struct hp_exact_thread *t, struct hp_map64 *index)
{
    size_t cap = 0;
    bool good = true;
    for (uint32_t i = 0; i < t->n_cells && good; i++)
        for (int k = 0; k < 2 && good; k++)
            good = add_unit(t, &cap, index, i, t->cells[i].next[k], t->cells[i].count[k]);
    for (size_t i = 0; i < t->extra.n_slots && good; i++) {
        const struct hp_tally64_slot *slot = &t->extra.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            good = add_unit(t, &cap, index, (uint32_t)(slot->key >> 32), (uint32_t)slot->key,
                            slot->count);
    }
    for (size_t i = 0; i < t->tails.n_slots && good; i++) {
        const struct hp_tally64_slot *slot = &t->tails.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            good = add_edge(t, &cap, index, (uint32_t)slot->key, HP_NO_ID, slot->count);
    }
    return good;
}

void hp_exact_seal(struct hp_exact_thread *t)
{
    struct hp_map64 index = {0};
    if (!t->sealed)
        hp_exact_syscalls_settle(t);
    if (t->n_frames)
        hp_exact_unwind(t); /* it did not end properly */
    if (t->loops)
        hp_exact_phrases_settle(t);
    if (t->loops)
        hp_exact_loops_seal(t);
    if (t->sealed)
        return;
    t->sealed = true;
    hp_excursions_settle(t);
    hp_exact_contexts_seal(t);
    if (!t->unordered && !seal_tables(t, &index))
        t->exact->out_of_memory = true;
    struct hp_exact_edge *edges = realloc(t->edges, (t->n_edges + 1) * sizeof *edges);
    t->edges = edges ? edges : t->edges;
    hp_map64_fini(&index);
    free_tables(t);
}

/* --- Counting --------------------------------------------------------------------------------- */

/* Prepares the shadow stack's data for new blocks of the code map. */
static enum hp_err grow_spots(struct hp_exact *exact)
{
    size_t n = hp_code_n_blocks(exact->code);
    HP_TRY(hp_grow(&exact->spots, &exact->cap_spots, n, sizeof *exact->spots));
    HP_TRY(hp_grow(&exact->member_of, &exact->cap_member_of, n, sizeof *exact->member_of));
    HP_TRY(hp_grow(&exact->homes, &exact->cap_homes, n, sizeof *exact->homes));
    HP_TRY(hp_grow(&exact->reliance_of, &exact->cap_reliance_of, n, sizeof *exact->reliance_of));
    for (; exact->n_spots < n; exact->n_spots++) {
        const struct hp_block *block = hp_code_block(exact->code, (uint32_t)exact->n_spots);
        exact->homes[exact->n_spots] = HP_NO_ID;
        exact->spots[exact->n_spots] = (struct hp_stack_block){
            .start = block->start,
            .end = block->end,
            .function = HP_NO_ID,
            .module = block->module,
            .unit = hp_code_unit_of_block(exact->code, (uint32_t)exact->n_spots),
            .flow = block->flow,
            .may_not_go = (block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0};
    }
    return HP_OK;
}

static bool is_direct_jump(const struct hp_exact *exact, uint32_t block)
{
    uint8_t flow = exact->spots[block].flow;
    return flow == HP_FLOW_JUMP || flow == HP_FLOW_COND;
}

/* Registers the blocks of a run that may have to be watched later: see watch_block(). */
static enum hp_err add_members(struct hp_exact *exact, uint32_t unit, const uint32_t *blocks,
                               uint32_t n)
{
    HP_TRY(hp_grow(&exact->members, &exact->cap_members, exact->n_members + n,
                   sizeof *exact->members));
    for (uint32_t i = 0; i < n; i++) {
        if (!is_direct_jump(exact, blocks[i]))
            continue;
        exact->members[exact->n_members++] =
            (struct hp_member){.unit = unit,
                               .next = exact->member_of[blocks[i]],
                               .watch = i + 1 < n ? HP_WATCH_INNER | HP_WATCH_NEW : HP_WATCH_JUMP};
        exact->member_of[blocks[i]] = (uint32_t)exact->n_members;
    }
    return HP_OK;
}

static enum hp_err grow_units(struct hp_exact *exact, size_t n_units)
{
    HP_TRY(hp_grow(&exact->lasts, &exact->cap_lasts, n_units, sizeof *exact->lasts));
    for (; exact->n_lasts < n_units; exact->n_lasts++) {
        uint32_t n;
        const uint32_t *blocks = hp_code_unit(exact->code, (uint32_t)exact->n_lasts, &n);
        if (n > 1)
            HP_TRY(add_members(exact, (uint32_t)exact->n_lasts, blocks, n));
        exact->lasts[exact->n_lasts] = blocks[n - 1];
    }
    return HP_OK;
}

/* Grows the tables for new units of the code map. */
static __attribute__((noinline)) bool grow_tables(struct hp_exact_thread *t, size_t n)
{
    const struct hp_code *code = t->exact->code;
    if (grow_spots(t->exact) != HP_OK || grow_units(t->exact, n) != HP_OK ||
        hp_grow(&t->cells, &t->cap_cells, n, sizeof *t->cells) != HP_OK) {
        t->exact->out_of_memory = true;
        return false;
    }
    for (; t->n_cells < n; t->n_cells++) {
        uint32_t n_blocks, insns = 0;
        const uint32_t *blocks = hp_code_unit(code, (uint32_t)t->n_cells, &n_blocks);
        for (uint32_t i = 0; i < n_blocks; i++)
            insns += hp_code_block(code, blocks[i])->insns;
        t->cells[t->n_cells] = (struct hp_exact_cell){
            .next = {HP_NO_ID, HP_NO_ID},
            .insns = insns,
            .watch = n_blocks > 1 ? HP_WATCH_INNER | HP_WATCH_NEW
                                  : hp_exact_always_watch(hp_code_block(code, blocks[0]))};
    }
    return true;
}

/* Makes the tables cover the code map; false: out of memory. */
static bool cover_code(struct hp_exact_thread *t)
{
    size_t n = hp_code_n_units(t->exact->code);
    if (t->n_cells < n && !grow_tables(t, n))
        return false;
    return !t->loops ||
           (t->loops->n_sites == t->exact->n_spots && t->loops->n_heads == t->n_cells) ||
           hp_exact_loops_cover(t);
}

/* From now on the transfers of this block, a direct jump, are shown to the shadow stack, in every
 * run that contains it. */
static void watch_block(struct hp_exact_thread *t, uint32_t block)
{
    struct hp_exact_cell *cell = &t->cells[t->exact->spots[block].unit];
    if (cell->watch & HP_WATCH_LAST)
        return;
    t->exact->watched++;
    cell->watch |= HP_WATCH_JUMP;
    for (uint32_t i = t->exact->member_of[block]; i; i = t->exact->members[i - 1].next)
        t->cells[t->exact->members[i - 1].unit].watch |= t->exact->members[i - 1].watch;
}

/*
 * A successor in `extra` has become clearly more frequent than the cell's `side`: they change
 * places, as a program's usual way may not be its first. Both stay known in `extra`.
 */
static __attribute__((noinline)) void promote(struct hp_exact_thread *t, uint32_t from, uint32_t to,
                                              size_t side)
{
    struct hp_exact_cell *cell = &t->cells[from];
    uint64_t unit = (uint64_t)from << 32;
    uint64_t *out = hp_tally64_add(&t->extra, unit | cell->next[side]);
    if (!out)
        return; /* it does without */
    uint64_t *in = hp_tally64_get(&t->extra, unit | to);
    *out = cell->count[side];
    cell->next[side] = to;
    cell->count[side] = *in;
    *in = 0;
}

/* add_to_edge() for an edge whose successor is not in the cell. */
static bool add_to_extra(struct hp_exact_thread *t, uint32_t from, uint32_t to, uint64_t add)
{
    struct hp_exact_cell *cell = &t->cells[from];
    uint64_t key = (uint64_t)from << 32 | to;
    uint64_t *count = hp_tally64_get(&t->extra, key);
    if (!count) {
        count = hp_tally64_add(&t->extra, key);
        if (count)
            *count = add;
        else
            t->exact->out_of_memory = true;
        return count;
    }
    *count += add;
    size_t side = cell->count[1] < cell->count[0];
    if (*count > 16 + cell->count[side] + cell->count[side] / 4)
        promote(t, from, to, side);
    return false;
}

/* Adds to the count of an edge; returns whether it is new. */
static bool add_to_edge(struct hp_exact_thread *t, uint32_t from, uint32_t to, uint64_t add)
{
    struct hp_exact_cell *cell = &t->cells[from];
    for (int i = 0; i < 2; i++) {
        if (cell->next[i] == to || cell->next[i] == HP_NO_ID) {
            bool is_new = cell->next[i] == HP_NO_ID;
            cell->next[i] = to;
            cell->count[i] += add;
            return is_new;
        }
    }
    return add_to_extra(t, from, to, add);
}

void hp_exact_add_to_edge(struct hp_exact_thread *t, uint32_t from, uint32_t to, uint64_t count)
{
    add_to_edge(t, from, to, count);
}

/* The block `to` came after `from` for the first time. */
static __attribute__((noinline)) void new_edge(struct hp_exact_thread *t, uint32_t from,
                                               uint32_t to)
{
    if (hp_exact_leaves_function(t, from, to))
        watch_block(t, from);
    if (!t->loops)
        return;
    if (t->cells[t->exact->spots[from].unit].watch & HP_WATCH_LAST)
        t->loops->is_new = true; /* it depends on the stack */
    else
        hp_exact_loops_learn(t, from, to);
}

void hp_exact_note_edge(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    if (add_to_edge(t, t->exact->spots[from].unit, to, 0))
        new_edge(t, from, to);
}

void hp_exact_count_edge(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    uint32_t last = t->exact->lasts[from];
    if (!add_to_edge(t, from, to, 1))
        return;
    if (t->exact->spots[last].unit != from)
        hp_exact_note_edge(t, last, to);
    else
        new_edge(t, last, to);
}

static void count_steps(struct hp_exact_thread *t, const struct hp_step *steps, size_t n)
{
    if (t->loops && t->exact->out_of_memory)
        return;
    if (t->loops)
        hp_exact_loops_resume(t, t->fresh ? HP_NO_ID : steps[0].first);
    if (t->fresh) {
        t->fresh = false;
        hp_exact_begin(t, steps[0].first);
    }
    hp_exact_count(t, steps, n);
    if (t->loops)
        t->loops->current = t->exact->lasts[steps[n].unit];
}

/* Stops at each system call, to see where the stack is. What comes then begins with the last block
 * alone, as in any steps. */
static __attribute__((noinline)) void count_with_syscalls(struct hp_exact_thread *t,
                                                          const struct hp_step *all, size_t n)
{
    struct hp_step *steps = t->exact->buffer;
    size_t done = 0;
    if (all != steps)
        memcpy(steps, all, (n + 1) * sizeof *steps);
    for (size_t i = 0; i < t->syscalls.n_pending;) {
        size_t at = t->syscalls.pending[i].at < n ? t->syscalls.pending[i].at : n;
        if (at > done || t->fresh)
            count_steps(t, steps + done, at - done);
        done = at;
        steps[at].first = t->exact->lasts[steps[at].unit];
        steps[at].unit = t->exact->spots[steps[at].first].unit;
        i = hp_exact_syscalls_here(t, i, at == n ? SIZE_MAX : at);
    }
    t->syscalls.n_pending = 0;
    if (done < n)
        count_steps(t, steps + done, n - done);
}

static void count_all(struct hp_exact_thread *t, const struct hp_step *steps, size_t n)
{
    if (__builtin_expect(t->syscalls.n_pending != 0, 0))
        count_with_syscalls(t, steps, n);
    else
        count_steps(t, steps, n);
}

static void on_steps(void *state, const struct hp_steps *steps)
{
    struct hp_exact_thread *t = state;
    if (cover_code(t))
        count_all(t, steps->steps, steps->n);
}

static void on_syscall(void *state, size_t at, const struct hp_syscall *call)
{
    hp_exact_syscall(state, at, call);
}

/* All edges of a thread at once. It gets no tables by unit: there may be many threads, each of
 * which ran little of the code. */
static void on_edges(void *state, const struct hp_edge_count *edges, size_t n)
{
    struct hp_exact_thread *t = state;
    size_t cap = 0;
    t->unordered = true;
    if (grow_spots(t->exact) != HP_OK || hp_grow(&t->edges, &cap, n, sizeof *t->edges) != HP_OK) {
        t->exact->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        t->edges[i] = (struct hp_exact_edge){edges[i].from, edges[i].to, edges[i].count};
    t->n_edges = n;
    hp_exact_count_calls(t, edges, n);
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct hp_exact_thread *t = state;
    struct hp_step *steps = t->exact->buffer;
    if (!cover_code(t))
        return;
    for (size_t i = 0; i <= batch->n; i++)
        steps[i] = (struct hp_step){.unit = t->exact->spots[batch->blocks[i]].unit,
                                    .first = batch->blocks[i]};
    count_all(t, steps, batch->n);
}

/* A block without a known successor. */
static void count_tail(struct hp_exact_thread *t, const struct hp_event *event)
{
    if (!cover_code(t))
        return;
    if (t->loops && t->exact->out_of_memory)
        return;
    if (t->fresh) {
        t->fresh = false;
        if (t->loops)
            hp_exact_loops_resume(t, HP_NO_ID);
        hp_exact_begin(t, event->block);
        if (t->loops)
            t->loops->current = event->block;
    }
    t->clock += event->insns;
    if (t->loops && t->loops->cover && event->block == t->loops->current)
        hp_exact_loops_covered(t, t->exact->spots[event->block].unit);
    t->uncertain += !event->exact;
    uint64_t *count = hp_tally64_add(&t->tails, event->block);
    if (count)
        ++*count;
    else
        t->exact->out_of_memory = true;
}

static void on_event(void *state, const struct hp_event *event)
{
    struct hp_exact_thread *t = state;
    if (event->kind != HP_EVENT_TAIL) /* which may be the thread's first block */
        hp_exact_syscalls_settle(t);
    switch (event->kind) {
    case HP_EVENT_TAIL:
        count_tail(t, event);
        hp_exact_syscalls_settle(t);
        break;
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
    free(exact->lasts);
    free(exact->members);
    free(exact->member_of);
    free(exact->reliances);
    free(exact->reliance_of);
    free(exact->homes);
    free(exact->buffer);
    hp_exact_loops_free(exact);
    free(exact);
}

static const struct hp_profiler_ops ops = {
    .name = "exact",
    .start_thread = start_thread,
    .batch = on_batch,
    .steps = on_steps,
    .edges = on_edges,
    .event = on_event,
    .syscall = on_syscall,
    .finish = hp_exact_finish,
    .free = free_exact,
};

/* Memory for a context: in the profile, where it is loaded, joined and written, and while the
 * program runs, when it is some 80 bytes. */
#define MEMORY_KEPT    (32 << 10)
#define MEMORY_RUNNING (1 << 10)
#define CONTEXTS_LEAST 20000
#define CONTEXTS_MOST  (UINT64_C(1) << 29) /* indices have 30 bits */

uint64_t hp_exact_contexts_room(void)
{
    uint64_t room = hp_memory_size() / MEMORY_KEPT;
    return room < CONTEXTS_LEAST ? CONTEXTS_LEAST : room;
}

void hp_exact_expect_samples(struct hp_profiler *profiler)
{
    ((struct hp_exact *)profiler)->sampled = true;
}

void hp_exact_limit_contexts(struct hp_profiler *profiler, uint64_t kept)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    uint64_t most = hp_exact_contexts_room() * (MEMORY_KEPT / MEMORY_RUNNING);
    if (most < kept)
        most = kept;
    exact->kept_contexts = kept;
    exact->most_contexts = most < CONTEXTS_MOST ? most : CONTEXTS_MOST;
}

enum hp_err hp_exact_new(struct hp_code *code, struct hp_functions *functions, bool loops,
                         struct hp_profiler **profiler)
{
    struct hp_exact *exact = calloc(1, sizeof *exact);
    if (!exact)
        return hp_fail_nomem();
    exact->buffer = calloc(HP_BATCH_MAX + 1, sizeof *exact->buffer);
    exact->base.ops = &ops;
    exact->code = code;
    exact->functions = functions;
    hp_exact_limit_contexts(&exact->base, hp_exact_contexts_room());
    exact->most_frames = HP_FRAMES_MAX;
    if (!exact->buffer || (loops && hp_exact_loops_new(exact) != HP_OK)) {
        free_exact(&exact->base);
        return hp_fail_nomem();
    }
    *profiler = &exact->base;
    return HP_OK;
}
