// SPDX-License-Identifier: MIT
#include "profiler/exact/excursions.h"

#include "base/grow.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/legs.h"

#include <stdlib.h>

/* --- Finding them ----------------------------------------------------------------------------- */

/* The frames of an excursion, as far as they decide what happens. */
struct walk {
    struct {
        uint64_t expects;
        uint32_t function;
        bool is_tail;
    } frames[HP_RUN_MAX];
    uint32_t n;
};

static void enter(struct walk *w, uint64_t expects, uint32_t function, bool is_tail)
{
    w->frames[w->n].expects = expects;
    w->frames[w->n].function = function;
    w->frames[w->n++].is_tail = is_tail;
}

static bool go_back(struct walk *w, uint64_t expects)
{
    if (w->frames[w->n - 1].expects != expects)
        return false;
    while (w->frames[w->n - 1].is_tail)
        w->n--;
    w->n--;
    return true;
}

/* Whether the top frame, or one that jumped there, is of this function. */
static bool is_among_tails(const struct walk *w, uint32_t function)
{
    uint32_t i = w->n - 1;
    while (w->frames[i].is_tail && w->frames[i].function != function)
        i--;
    return w->frames[i].function == function;
}

/* As the profiler does it; false: that may depend on more than these frames. */
static bool follow(struct walk *w, const struct hp_exact_op *op)
{
    switch (op->does) {
    case HP_DOES_CALL: enter(w, op->expects, op->function, false); return true;
    case HP_DOES_RETURN: return go_back(w, op->expects);
    case HP_DOES_STAY: return w->frames[w->n - 1].function == op->function;
    case HP_DOES_TAIL:
        if (is_among_tails(w, op->function))
            return false;
        enter(w, w->frames[w->n - 1].expects, op->function, true);
        return true;
    case HP_DOES_NOTHING:
    case HP_DOES_FOLLOW: return true;
    default: return false;
    }
}

/* The number of operations up to the one that returns to where the first was; 0: it does not, or
 * that is not certain. */
static uint32_t length_of(const struct hp_exact_op *ops, uint32_t n)
{
    struct walk w = {.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        if (!follow(&w, &ops[i]))
            return 0;
        if (w.n == 0)
            return i + 1;
    }
    return 0;
}

void hp_excursions_find(struct hp_exact_op *ops, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        bool is_call = ops[i].does == HP_DOES_CALL;
        ops[i].length = is_call ? (uint8_t)length_of(ops + i, n - i) : 0;
        i += ops[i].length ? ops[i].length : 1;
    }
}

/* --- Counting them ---------------------------------------------------------------------------- */

static bool make_room(struct hp_excursions *e, uint32_t n)
{
    return e->n < HP_EXCURSIONS_MAX &&
           hp_grow(&e->counts, &e->cap_counts, e->n + 1, sizeof *e->counts) == HP_OK &&
           hp_grow(&e->first, &e->cap_first, e->n + 2, sizeof *e->first) == HP_OK &&
           hp_grow(&e->visits, &e->cap_visits, e->n_visits + n, sizeof *e->visits) == HP_OK;
}

void hp_excursions_add(struct hp_exact_thread *t, uint64_t key, const struct hp_visit *visits,
                       uint32_t n)
{
    struct hp_excursions *e = &t->excursions;
    bool is_counted = make_room(e, n);
    if (e->of.used >= 2 * HP_EXCURSIONS_MAX)
        return;
    for (uint32_t i = 0; i < n && is_counted; i++)
        is_counted = !hp_context_is_rest(&t->contexts[visits[i].context]);
    hp_map64_keep(&e->of, key, is_counted ? (uint32_t)e->n : HP_EXCURSION_SHOWN);
    if (!is_counted || hp_map64_get(&e->of, key) != e->n)
        return;
    for (uint32_t i = 0; i < n; i++)
        e->visits[e->n_visits++] = visits[i];
    e->counts[e->n++] = 0;
    e->first[e->n] = (uint32_t)e->n_visits;
}

static void add_visit(struct hp_exact_thread *t, const struct hp_visit *visit, uint64_t count)
{
    struct hp_context *context = &t->contexts[visit->context];
    context->calls += count;
    context->inclusive += count * visit->insns;
}

/* What the operations enter; returns how many frames. They wait, so nothing else can happen. */
static uint32_t find_visits(struct hp_exact_thread *t, const struct hp_waiting *w,
                            struct hp_visit *visits)
{
    struct {
        uint32_t context, visit;
        bool is_tail;
    } frames[HP_RUN_MAX + 1] = {{.context = w->context}};
    uint32_t depth = 0, n = 0;
    for (const struct hp_exact_op *op = &t->ops[w->op], *end = op + w->n_ops; op < end; op++) {
        uint32_t below = frames[depth].context;
        uint32_t caller = op->caller == HP_NO_ID ? t->contexts[below].function : op->caller;
        bool is_tail = op->does == HP_DOES_TAIL;
        if (is_tail || op->does == HP_DOES_CALL) {
            uint32_t child = hp_exact_contexts_child(t, below, op->function, caller);
            visits[n] = (struct hp_visit){child, op->insns};
            frames[++depth].context = child;
            frames[depth].visit = n++;
            frames[depth].is_tail = is_tail;
        } else if (op->does == HP_DOES_RETURN) {
            do {
                struct hp_visit *visit = &visits[frames[depth].visit];
                visit->insns = op->insns - visit->insns;
            } while (frames[depth--].is_tail);
        }
    }
    return n;
}

/* Counts one without a counter; returns what it gets. */
static uint32_t count_new(struct hp_exact_thread *t, const struct hp_waiting *w, uint32_t index)
{
    struct hp_visit visits[HP_RUN_MAX];
    uint32_t n = find_visits(t, w, visits);
    if (index == HP_NO_ID) {
        hp_excursions_add(t, w->key, visits, n);
        index = hp_excursions_get(&t->excursions, w->key);
    }
    if (index < HP_EXCURSION_SHOWN) {
        t->excursions.counts[index]++;
        return index;
    }
    for (uint32_t i = 0; i < n; i++)
        add_visit(t, &visits[i], 1);
    if (t->loops)
        hp_legs_add(t, w->key);
    return index;
}

/* The operation, or leg, is likely to run from there again. */
static void remember(struct hp_exact_thread *t, const struct hp_waiting *w, uint32_t index)
{
    if (index >= HP_EXCURSION_SHOWN)
        return;
    if (t->loops) {
        hp_legs_remember(t, w->key, index);
        return;
    }
    t->ops[w->op].context = w->context;
    t->ops[w->op].excursion = index;
}

void hp_excursions_count(struct hp_exact_thread *t)
{
    struct hp_excursions *e = &t->excursions;
    uint32_t indices[HP_WAITING_MAX];
    size_t n = e->n_waiting;
    for (size_t i = 0; i < n; i++) {
        indices[i] = hp_excursions_get(e, e->waiting[i].key);
        if (indices[i] < HP_EXCURSION_SHOWN)
            __builtin_prefetch(&e->counts[indices[i]], 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (indices[i] == HP_NO_ID) /* unless it waited twice */
            indices[i] = hp_excursions_get(e, e->waiting[i].key);
        if (indices[i] < HP_EXCURSION_SHOWN)
            e->counts[indices[i]]++;
        else
            indices[i] = count_new(t, &e->waiting[i], indices[i]);
        remember(t, &e->waiting[i], indices[i]);
    }
    e->n_waiting = 0;
}

void hp_excursions_settle(struct hp_exact_thread *t)
{
    struct hp_excursions *e = &t->excursions;
    for (size_t i = 0; i < e->n; i++)
        for (uint32_t k = e->first[i]; k < e->first[i + 1]; k++)
            add_visit(t, &e->visits[k], e->counts[i]);
    hp_excursions_fini(e);
}

void hp_excursions_fini(struct hp_excursions *e)
{
    hp_map64_fini(&e->of);
    free(e->counts);
    free(e->first);
    free(e->visits);
    *e = (struct hp_excursions){0};
}
