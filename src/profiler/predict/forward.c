// SPDX-License-Identifier: MIT
/*
 * The fast detector of forward paths: one automaton for all threads. Between calls a thread keeps the path at hand
 * itself, so the automaton can be thrown away and made again when it has grown too large.
 */
#include "profiler/predict/forward.h"

#include "base/grow.h"
#include "profiler/predict/automaton.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SAVED     64        /* interrupted by signals: no more are returned to */
#define DEFAULT_NODES (1 << 20) /* some 150 MB; a large compiler makes as many */
#define MAX_OUT       1024      /* paths handed over at a time */

struct saved {
    struct hp_prefix at;
    bool fresh; /* no path is at hand */
};

struct hp_forward_thread {
    struct hp_forward *forward;
    struct saved now;
    struct saved *saved;
    size_t n_saved, cap_saved;
};

struct hp_forward {
    const struct hp_code *code;
    struct hp_judge *judge;
    size_t max_nodes;
    struct hp_automaton automaton;
    struct hp_forward_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_forward_stats stats;
    bool out_of_memory;
    uint32_t out[MAX_OUT + HP_RUN_MAX + 1];
    struct hp_step steps[HP_BATCH_MAX + 1]; /* of a batch */
};

/* --- Steps ------------------------------------------------------------------------------------ */

/* Writes down the paths of an arc that has many; returns how many. */
static size_t copy_many(const struct hp_automaton *a, uint32_t path, uint32_t *out)
{
    const uint32_t *list = a->lists + (path & ~HP_ARC_MANY);
    memcpy(out, list + 1, list[0] * sizeof *out);
    return list[0];
}

/* Walks along steps[1] ... steps[n] from `node`; returns where it got to. */
static uint32_t walk(struct hp_forward *f, uint32_t node, const struct hp_step *steps, size_t n)
{
    struct hp_automaton *a = &f->automaton;
    const struct hp_node_arcs *near = a->near;
    uint32_t *out = f->out;
    size_t n_out = 0;
    for (size_t i = 1; i <= n; i++) {
        const uint32_t unit = steps[i].unit;
        const struct hp_arc *arc = &near[node].arcs[0];
        struct hp_arc other;
        if (arc->unit != unit || !arc->next) {
            arc++;
            if (__builtin_expect(arc->unit != unit || !arc->next, 0)) {
                if (!hp_automaton_arc(a, node, unit, &other)) {
                    f->out_of_memory = true;
                    break;
                }
                near = a->near;
                arc = &other;
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
            hp_judge_flow(f->judge, out, n_out);
            n_out = 0;
        }
    }
    hp_judge_flow(f->judge, out, n_out);
    return node;
}

void hp_forward_steps(struct hp_forward_thread *thread, const struct hp_steps *steps)
{
    struct hp_forward *f = thread->forward;
    struct saved *now = &thread->now;
    uint32_t node;
    if (!steps->n || f->out_of_memory)
        return;
    if (f->automaton.n_nodes > f->max_nodes) {
        hp_automaton_clear(&f->automaton);
        f->stats.flushes++;
    }
    const uint32_t first = steps->steps[0].first;
    if (now->fresh) {
        now->at.start = hp_code_block(f->code, first)->start;
        now->at.outcomes = now->at.targets = 0;
        now->at.block = first;
        now->at.length = now->at.n_targets = 0;
        now->fresh = false;
    }
    now->at.last = first; /* it may be another than it seemed, when it was cut short */
    if (hp_automaton_node(&f->automaton, &now->at, &node) != HP_OK) {
        f->out_of_memory = true;
        return;
    }
    node = walk(f, node, steps->steps, steps->n);
    hp_automaton_prefix(&f->automaton, node, &now->at);
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

/* A loss or the like: nothing is known of what was going on. */
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

/* --- Making ----------------------------------------------------------------------------------- */

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

enum hp_err hp_forward_new(const struct hp_code *code, struct hp_judge *judge, size_t max_nodes,
                           struct hp_forward **forward)
{
    struct hp_forward *f = calloc(1, sizeof *f);
    if (!f)
        return hp_fail_nomem();
    f->code = code;
    f->judge = judge;
    f->max_nodes = max_nodes ? max_nodes : DEFAULT_NODES;
    enum hp_err err = hp_automaton_init(&f->automaton, code, hp_judge_index(judge),
                                        hp_judge_config(judge)->max_length);
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
