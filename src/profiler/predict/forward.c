// SPDX-License-Identifier: MIT
/*
 * The fast detector of forward paths: one automaton for all threads. Between calls a thread keeps
 * its current path itself, so the automaton can be dropped and rebuilt when it has grown too large.
 */
#include "profiler/predict/forward.h"

#include "base/grow.h"
#include "profiler/predict/automaton.h"
#include "profiler/predict/branches.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SAVED     64        /* paths interrupted by signals; older ones are dropped */
#define DEFAULT_NODES (1 << 20) /* about 150 MB; a large compiler makes as many */
#define MAX_OUT       1024      /* paths handed over at a time */

_Static_assert(HP_LIST_FEW <= HP_RUN_MAX, "few fit where many do");

struct saved {
    struct hp_prefix at;
    bool fresh; /* there is no current path */
};

struct hp_forward_thread {
    struct hp_forward *forward;
    struct hp_forward_counts counts;
    struct saved now;
    struct saved *saved;
    size_t n_saved, cap_saved;
};

struct hp_forward {
    const struct hp_code *code;
    struct hp_flow_sink *sink;
    size_t max_nodes;
    struct hp_automaton automaton;
    uint64_t *weights; /* by unit: see weight_of() */
    size_t n_weights, cap_weights;
    struct hp_forward_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_forward_stats stats;
    bool out_of_memory;
    uint32_t out[MAX_OUT + HP_RUN_MAX + 1];
    struct hp_step steps[HP_BATCH_MAX + 1]; /* of a batch */
};

/* --- What was executed ------------------------------------------------------------------------ */

/* Instructions, blocks and branches in one number, so that one addition sums all three; for CHUNK
 * runs. */
#define CHUNK      1024
#define ONE_BLOCK  (UINT64_C(1) << 30)
#define ONE_BRANCH (UINT64_C(1) << 47)
_Static_assert(CHUNK *HP_RUN_MAX *HP_BLOCK_MAX_INSNS < ONE_BLOCK, "instructions fit");
_Static_assert(CHUNK *HP_RUN_MAX < ONE_BRANCH / ONE_BLOCK, "blocks fit");

static uint64_t weight_of(const struct hp_code *code, uint32_t id)
{
    const struct hp_block *block = hp_code_block(code, id);
    return block->insns + ONE_BLOCK + (hp_rule_is_branch(block) ? ONE_BRANCH : 0);
}

static void count(struct hp_forward_counts *counts, uint64_t weight)
{
    counts->instructions += weight % ONE_BLOCK;
    counts->blocks += weight % ONE_BRANCH / ONE_BLOCK;
    counts->branches += weight / ONE_BRANCH;
}

/* Weighs new units of the code map. */
static bool weigh_units(struct hp_forward *f)
{
    uint32_t n = hp_code_n_units(f->code);
    if (hp_grow(&f->weights, &f->cap_weights, n, sizeof *f->weights) != HP_OK)
        return false;
    for (; f->n_weights < n; f->n_weights++) {
        uint32_t n_blocks;
        const uint32_t *blocks = hp_code_unit(f->code, (uint32_t)f->n_weights, &n_blocks);
        uint64_t weight = 0;
        for (uint32_t i = 0; i < n_blocks; i++)
            weight += weight_of(f->code, blocks[i]);
        f->weights[f->n_weights] = weight;
    }
    return true;
}

/* --- Steps ------------------------------------------------------------------------------------ */

/* Copies the paths of an arc that has many; returns how many. Mostly there are few: so many are
 * copied at once, without a loop. */
static size_t copy_many(const struct hp_automaton *a, uint32_t path, uint32_t *out)
{
    const uint32_t *list = a->lists + (path & ~HP_ARC_MANY);
    memcpy(out, list + 1, HP_LIST_FEW * sizeof *out);
    if (__builtin_expect(list[0] > HP_LIST_FEW, 0))
        memcpy(out, list + 1, list[0] * sizeof *out);
    return list[0];
}

/* Walks along steps[1] ... steps[n] from `node`; returns the last node. Each step waits for the
 * previous one's node, so everything else costs no time. */
static uint32_t walk(struct hp_forward *f, uint32_t node, const struct hp_step *steps, size_t n,
                     struct hp_forward_counts *counts)
{
    struct hp_automaton *a = &f->automaton;
    const struct hp_node_arcs *near = a->near;
    const uint64_t *weights = f->weights;
    uint32_t *out = f->out;
    uint64_t weight = 0;
    size_t n_out = 0;
    for (size_t i = 1; i <= n; i++) {
        const uint32_t unit = steps[i].unit;
        const struct hp_arc *arc = &near[node].arcs[0];
        weight += weights[unit];
        if (arc->unit != unit || !arc->next) {
            arc++;
            if (__builtin_expect(arc->unit != unit || !arc->next, 0)) {
                arc = hp_automaton_arc(a, node, unit);
                if (!arc) {
                    f->out_of_memory = true;
                    break;
                }
                near = a->near;
            }
        }
        const uint32_t path = arc->path;
        node = arc->next;
        if (__builtin_expect(hp_arc_is_many(path), 0)) {
            n_out += copy_many(a, path, out + n_out);
        } else {
            out[n_out] = path;
            n_out += path != HP_ARC_NONE;
        }
        if (__builtin_expect(n_out >= MAX_OUT, 0)) {
            f->sink->flow(f->sink, out, n_out);
            n_out = 0;
        }
    }
    f->sink->flow(f->sink, out, n_out);
    count(counts, weight);
    return node;
}

/* Starts an empty current path at `block`. */
static void start_path(struct hp_forward *f, struct saved *now, uint32_t block)
{
    now->at.start = hp_code_block(f->code, block)->start;
    now->at.outcomes = now->at.targets = 0;
    now->at.block = block;
    now->at.length = now->at.n_targets = 0;
    now->fresh = false;
}

void hp_forward_steps(struct hp_forward_thread *thread, const struct hp_steps *steps)
{
    struct hp_forward *f = thread->forward;
    struct saved *now = &thread->now;
    struct hp_forward_counts *counts = &thread->counts;
    const uint32_t first = steps->steps[0].first;
    uint32_t node;
    if (!steps->n || f->out_of_memory)
        return;
    if (f->automaton.n_nodes > f->max_nodes) {
        hp_automaton_clear(&f->automaton);
        f->stats.flushes++;
    }
    if (now->fresh)
        start_path(f, now, first);
    now->at.last = first; /* may differ from before if it was cut short */
    if (!weigh_units(f) || hp_automaton_node(&f->automaton, &now->at, &node) != HP_OK) {
        f->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < steps->n && !f->out_of_memory; i += CHUNK) {
        size_t n = steps->n - i < CHUNK ? steps->n - i : CHUNK;
        node = walk(f, node, steps->steps + i, n, counts);
    }
    hp_automaton_prefix(&f->automaton, node, &now->at);
    /* A block is known to be retired when its successor is known. */
    struct hp_forward_counts last = {0};
    count(counts, weight_of(f->code, first));
    count(&last, weight_of(f->code, now->at.last));
    counts->instructions -= last.instructions;
    counts->blocks -= last.blocks;
    counts->branches -= last.branches;
}

void hp_forward_batch(struct hp_forward_thread *thread, const struct hp_batch *batch)
{
    struct hp_forward *f = thread->forward;
    struct hp_steps steps = {.code = batch->code, .steps = f->steps, .n = batch->n};
    for (size_t i = 0; i <= batch->n; i++) {
        uint32_t block = batch->blocks[i];
        f->steps[i] =
            (struct hp_step){.unit = hp_code_unit_of_block(f->code, block), .first = block};
    }
    hp_forward_steps(thread, &steps);
}

/* --- Events ----------------------------------------------------------------------------------- */

/* A loss or the like: the current path is unknown. */
static void purge(struct hp_forward_thread *thread)
{
    thread->forward->stats.purges += !thread->now.fresh || thread->n_saved;
    thread->now.fresh = true;
    thread->n_saved = 0;
}

static void enter_signal(struct hp_forward_thread *thread)
{
    if (thread->n_saved == MAX_SAVED) {
        memmove(&thread->saved[0], &thread->saved[1], (MAX_SAVED - 1) * sizeof *thread->saved);
        thread->n_saved--;
    }
    if (hp_grow(&thread->saved, &thread->cap_saved, thread->n_saved + 1, sizeof *thread->saved) !=
        HP_OK) {
        thread->forward->out_of_memory = true;
        return;
    }
    thread->saved[thread->n_saved++] = thread->now;
    thread->now.fresh = true;
}

void hp_forward_event(struct hp_forward_thread *thread, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_TAIL:
        thread->counts.instructions += event->insns;
        thread->counts.blocks++;
        break;
    case HP_EVENT_SIGNAL: enter_signal(thread); break;
    case HP_EVENT_SIGRETURN:
        if (thread->n_saved)
            thread->now = thread->saved[--thread->n_saved];
        else
            purge(thread);
        break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: purge(thread); break;
    case HP_EVENT_END:
        thread->now.fresh = true;
        free(thread->saved);
        thread->saved = NULL;
        thread->n_saved = thread->cap_saved = 0;
        break;
    default: break;
    }
}

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_forward_thread_new(struct hp_forward *forward, struct hp_forward_thread **thread)
{
    HP_TRY(hp_grow(&forward->threads, &forward->cap_threads, forward->n_threads + 1,
                   sizeof *forward->threads));
    struct hp_forward_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->forward = forward;
    t->now.fresh = true;
    forward->threads[forward->n_threads++] = t;
    *thread = t;
    return HP_OK;
}

enum hp_err hp_forward_new(const struct hp_code *code, struct hp_index *index, uint32_t max_length,
                           struct hp_flow_sink *sink, size_t max_nodes, struct hp_forward **forward)
{
    if (!max_length || max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "paths of %u branches: 1 to %d are possible", max_length,
                       HP_PATH_MAX_LENGTH);
    struct hp_forward *f = calloc(1, sizeof *f);
    if (!f)
        return hp_fail_nomem();
    f->code = code;
    f->sink = sink;
    f->max_nodes = max_nodes ? max_nodes : DEFAULT_NODES;
    enum hp_err err = hp_automaton_init(&f->automaton, code, index, max_length);
    if (err != HP_OK) {
        free(f);
        return err;
    }
    *forward = f;
    return HP_OK;
}

void hp_forward_free(struct hp_forward *forward)
{
    if (!forward)
        return;
    for (size_t i = 0; i < forward->n_threads; i++) {
        free(forward->threads[i]->saved);
        free(forward->threads[i]);
    }
    free(forward->threads);
    hp_automaton_fini(&forward->automaton);
    free(forward->weights);
    free(forward);
}

const struct hp_forward_stats *hp_forward_stats(const struct hp_forward *forward)
{
    return &forward->stats;
}

enum hp_err hp_forward_check(const struct hp_forward *forward)
{
    return forward->out_of_memory ? hp_fail_nomem() : HP_OK;
}

const struct hp_forward_counts *hp_forward_counts(const struct hp_forward_thread *thread)
{
    return &thread->counts;
}
