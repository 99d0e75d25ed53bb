// SPDX-License-Identifier: MIT
#include "lab/loops/coverage.h"

#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

#define KNOWN (1u << 31) /* marks also a block without sets */

/* Instructions of a block that are in the same sets. */
struct piece {
    uint32_t insns, mask;
};

struct span {
    uint32_t first, n; /* of its pieces; n 0: not computed yet */
};

struct frame {
    uint64_t expected; /* the call's return address; 0: a signal handler */
    uint32_t base;
};

struct coverage;

struct thread {
    struct coverage *coverage;
    struct frame *frames;
    size_t n_frames, cap_frames;
    uint32_t base; /* sets of the open calls */
    uint32_t last; /* sets of the previous block */
};

struct coverage {
    struct hp_profiler profiler; /* first */
    struct hp_code *code;
    const struct hp_lab_block_sets *sets;
    struct span *spans; /* by block */
    size_t cap_spans;
    struct piece *pieces;
    size_t n_pieces, cap_pieces;
    struct hp_map64 by_mask; /* of `counts` */
    struct count {
        uint32_t mask;
        uint64_t insns;
    } * counts;
    size_t n_counts, cap_counts;
    uint32_t recent; /* of `counts` */
    struct thread **threads;
    size_t n_threads, cap_threads;
    enum hp_err err;
};

/* --- Sets ------------------------------------------------------------------------------------- */

enum hp_err hp_lab_block_sets_add(struct hp_lab_block_sets *sets, uint64_t address, uint32_t mask)
{
    uint32_t old = hp_map64_get(&sets->masks, address);
    return hp_map64_put(&sets->masks, address, KNOWN | mask | (old == HP_MAP64_NONE ? 0 : old));
}

void hp_lab_block_sets_fini(struct hp_lab_block_sets *sets)
{
    hp_map64_fini(&sets->masks);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static enum hp_err add_piece(struct coverage *w, struct span *span, uint32_t mask)
{
    HP_TRY(hp_grow(&w->pieces, &w->cap_pieces, w->n_pieces + 1, sizeof *w->pieces));
    w->pieces[w->n_pieces++] = (struct piece){.mask = mask};
    span->n++;
    return HP_OK;
}

/* Divides a block where others start inside it. */
static enum hp_err divide(struct coverage *w, uint32_t id, struct span *span)
{
    const struct hp_insn *insns;
    HP_TRY(hp_code_insns(w->code, id, &insns));
    const struct hp_block *block = hp_code_block(w->code, id);
    span->first = (uint32_t)w->n_pieces;
    for (uint32_t i = 0; i < block->insns; i++) {
        uint32_t mask = hp_map64_get(&w->sets->masks, insns[i].address);
        bool known = mask != HP_MAP64_NONE;
        if (known || i == 0)
            HP_TRY(add_piece(w, span, known ? mask & ~KNOWN : 0));
        w->pieces[w->n_pieces - 1].insns++;
    }
    return HP_OK;
}

static enum hp_err find_span(struct coverage *w, uint32_t id, const struct span **span)
{
    if (id >= w->cap_spans)
        HP_TRY(hp_grow(&w->spans, &w->cap_spans, hp_code_n_blocks(w->code), sizeof *w->spans));
    if (!w->spans[id].n)
        HP_TRY(divide(w, id, &w->spans[id]));
    *span = &w->spans[id];
    return HP_OK;
}

/* --- Counting --------------------------------------------------------------------------------- */

static enum hp_err add_count(struct coverage *w, uint32_t mask, uint32_t insns)
{
    if (w->recent < w->n_counts && w->counts[w->recent].mask == mask) {
        w->counts[w->recent].insns += insns;
        return HP_OK;
    }
    uint32_t i = hp_map64_get(&w->by_mask, mask);
    if (i == HP_MAP64_NONE) {
        i = (uint32_t)w->n_counts;
        HP_TRY(hp_grow(&w->counts, &w->cap_counts, w->n_counts + 1, sizeof *w->counts));
        HP_TRY(hp_map64_put(&w->by_mask, mask, i));
        w->counts[w->n_counts++] = (struct count){.mask = mask};
    }
    w->recent = i;
    w->counts[i].insns += insns;
    return HP_OK;
}

/* Runs at most `limit` instructions of a block. */
static enum hp_err run_block(struct thread *t, uint32_t id, uint32_t limit)
{
    struct coverage *w = t->coverage;
    const struct span *span;
    HP_TRY(find_span(w, id, &span));
    for (uint32_t k = 0; k < span->n && limit; k++) {
        const struct piece *piece = &w->pieces[span->first + k];
        uint32_t insns = piece->insns < limit ? piece->insns : limit;
        HP_TRY(add_count(w, t->base | piece->mask, insns));
        t->last = piece->mask;
        limit -= insns;
    }
    return HP_OK;
}

static enum hp_err push(struct thread *t, uint64_t expected)
{
    HP_TRY(hp_grow(&t->frames, &t->cap_frames, t->n_frames + 1, sizeof *t->frames));
    t->frames[t->n_frames++] = (struct frame){expected, t->base};
    t->base |= t->last;
    return HP_OK;
}

/* Returns to the nearest frame that expects it, if there is one above the running handler. */
static void pop(struct thread *t, uint64_t expected)
{
    for (size_t i = t->n_frames; i-- > 0;) {
        if (t->frames[i].expected == expected) {
            t->base = t->frames[i].base;
            t->n_frames = i;
            return;
        }
        if (t->frames[i].expected == 0)
            return;
    }
}

static enum hp_err transfer(struct thread *t, const struct hp_block *block, uint64_t target)
{
    bool is_call = block->flow == HP_FLOW_CALL || block->flow == HP_FLOW_CALL_IND;
    if (is_call && target != block->end)
        return push(t, block->end);
    if (block->flow == HP_FLOW_RETURN)
        pop(t, target);
    return HP_OK;
}

static void take_batch(void *state, const struct hp_batch *batch)
{
    struct thread *t = state;
    struct coverage *w = t->coverage;
    for (size_t i = 0; i < batch->n && w->err == HP_OK; i++) {
        const struct hp_block *block = &batch->table[batch->blocks[i]];
        w->err = run_block(t, batch->blocks[i], UINT32_MAX);
        if (w->err == HP_OK && batch->taken[i])
            w->err = transfer(t, block, batch->table[batch->blocks[i + 1]].start);
    }
}

static void take_event(void *state, const struct hp_event *event)
{
    struct thread *t = state;
    struct coverage *w = t->coverage;
    if (w->err != HP_OK)
        return;
    if (event->kind == HP_EVENT_TAIL) {
        w->err = run_block(t, event->block, event->insns);
    } else if (event->kind == HP_EVENT_SIGNAL) {
        t->last = 0; /* what it interrupts may come later */
        w->err = push(t, 0);
    } else if (event->kind == HP_EVENT_SIGRETURN) {
        while (t->n_frames && t->frames[t->n_frames - 1].expected)
            t->n_frames--;
        pop(t, 0);
    } else if (event->kind == HP_EVENT_LOST || event->kind == HP_EVENT_DISCONTINUITY) {
        t->n_frames = 0;
        t->base = 0;
    }
}

/* --- Creating and queries --------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state)
{
    struct coverage *w = (struct coverage *)profiler;
    (void)thread;
    HP_TRY(hp_grow(&w->threads, &w->cap_threads, w->n_threads + 1, sizeof *w->threads));
    struct thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->coverage = w;
    w->threads[w->n_threads++] = t;
    *state = t;
    return HP_OK;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)result;
    return ((struct coverage *)profiler)->err;
}

static void free_coverage(struct hp_profiler *profiler)
{
    struct coverage *w = (struct coverage *)profiler;
    for (size_t i = 0; i < w->n_threads; i++) {
        free(w->threads[i]->frames);
        free(w->threads[i]);
    }
    free(w->threads);
    free(w->spans);
    free(w->pieces);
    free(w->counts);
    hp_map64_fini(&w->by_mask);
    free(w);
}

static const struct hp_profiler_ops coverage_ops = {
    .name = "coverage",
    .start_thread = start_thread,
    .batch = take_batch,
    .event = take_event,
    .finish = finish,
    .free = free_coverage,
};

enum hp_err hp_lab_coverage_new(struct hp_code *code, const struct hp_lab_block_sets *sets,
                                struct hp_profiler **coverage)
{
    struct coverage *w = calloc(1, sizeof *w);
    if (!w)
        return hp_fail_nomem();
    w->profiler.ops = &coverage_ops;
    w->code = code;
    w->sets = sets;
    *coverage = &w->profiler;
    return HP_OK;
}

enum hp_err hp_lab_coverage_share(const struct hp_profiler *coverage, unsigned bit, double *share)
{
    const struct coverage *w = (const struct coverage *)coverage;
    uint64_t all = 0, in = 0;
    HP_TRY(w->err);
    for (size_t i = 0; i < w->n_counts; i++) {
        all += w->counts[i].insns;
        in += w->counts[i].mask >> bit & 1 ? w->counts[i].insns : 0;
    }
    *share = all ? 100 * (double)in / (double)all : (double)NAN;
    return HP_OK;
}
