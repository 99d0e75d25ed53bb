// SPDX-License-Identifier: MIT
/*
 * Timings come in order of fetch, references happen in any order. Everything before a cycle is
 * known as soon as an instruction fetched in that cycle comes: until then a heap keeps the
 * references, and a queue those that retire.
 */
#include "profiler/cycles/skid.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

struct reference {
    uint64_t cycle;
    uint64_t order; /* of fetch */
    int64_t number; /* of the instruction among those that retire, or of the last one before it */
    uint32_t insn;
    bool aborted;
};

struct retired {
    uint64_t cycle;
    int64_t number;
    uint32_t insn;
};

struct hp_skid {
    struct hp_skid_config config;
    hp_skid_interrupt interrupt;
    void *context;
    struct reference *heap; /* earliest first */
    size_t n_heap, cap_heap;
    struct retired *retired; /* in order, until nothing earlier can come any more */
    size_t n_retired, cap_retired;
    struct reference *raised; /* interrupts not taken yet, in order */
    size_t n_raised, cap_raised;
    uint64_t counted; /* references */
    uint64_t order;
    int64_t number;
};

enum hp_err hp_skid_new(const struct hp_skid_config *config, hp_skid_interrupt interrupt,
                        void *context, struct hp_skid **skid)
{
    if (!config->every)
        return hp_fail(HP_ERR_INVALID, "a counter that overflows every 0 events");
    struct hp_skid *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    s->config = *config;
    s->interrupt = interrupt;
    s->context = context;
    *skid = s;
    return HP_OK;
}

void hp_skid_free(struct hp_skid *skid)
{
    if (!skid)
        return;
    free(skid->heap);
    free(skid->retired);
    free(skid->raised);
    free(skid);
}

/* --- The heap --------------------------------------------------------------------------------- */

static bool earlier(const struct reference *a, const struct reference *b)
{
    return a->cycle != b->cycle ? a->cycle < b->cycle : a->order < b->order;
}

static enum hp_err push(struct hp_skid *s, struct reference reference)
{
    HP_TRY(hp_grow(&s->heap, &s->cap_heap, s->n_heap + 1, sizeof *s->heap));
    size_t at = s->n_heap++;
    for (; at && earlier(&reference, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = reference;
    return HP_OK;
}

static struct reference pop(struct hp_skid *s)
{
    struct reference first = s->heap[0], last = s->heap[--s->n_heap];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < s->n_heap; at = child) {
        if (child + 1 < s->n_heap && earlier(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!earlier(&s->heap[child], &last))
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return first;
}

/* --- Time ------------------------------------------------------------------------------------- */

/* Counts the references up to a cycle. */
static enum hp_err count_until(struct hp_skid *s, uint64_t cycle)
{
    while (s->n_heap && s->heap[0].cycle <= cycle) {
        struct reference reference = pop(s);
        if (++s->counted % s->config.every)
            continue;
        HP_TRY(hp_grow(&s->raised, &s->cap_raised, s->n_raised + 1, sizeof *s->raised));
        s->raised[s->n_raised++] = reference;
    }
    return HP_OK;
}

/* Interrupts that are due see what retires now; returns how many have been taken in total. */
static size_t take_interrupts(struct hp_skid *s, const struct retired *now, size_t taken)
{
    for (; taken < s->n_raised && s->raised[taken].cycle + s->config.delay <= now->cycle; taken++) {
        const struct reference *cause = &s->raised[taken];
        struct hp_skid_hit hit = {.cause = cause->insn,
                                  .seen = now->insn,
                                  .distance = now->number - cause->number,
                                  .aborted = cause->aborted};
        s->interrupt(s->context, &hit);
    }
    return taken;
}

/* Advances time to before `limit`, as far as something retires. */
static enum hp_err advance(struct hp_skid *s, uint64_t limit)
{
    size_t gone = 0, taken = 0;
    enum hp_err err = HP_OK;
    for (; gone < s->n_retired && s->retired[gone].cycle < limit && err == HP_OK; gone++) {
        err = count_until(s, s->retired[gone].cycle);
        taken = take_interrupts(s, &s->retired[gone], taken);
    }
    s->n_retired -= gone;
    s->n_raised -= taken;
    if (gone)
        memmove(s->retired, s->retired + gone, s->n_retired * sizeof *s->retired);
    if (taken)
        memmove(s->raised, s->raised + taken, s->n_raised * sizeof *s->raised);
    return err;
}

/* --- Timings ---------------------------------------------------------------------------------- */

/* When it makes its reference; false: it makes none. */
static bool reference_cycle(const struct hp_skid *s, const struct hp_timing *t, uint64_t *cycle)
{
    bool loads = t->loaded != HP_NEVER, retires = t->events & HP_TIMING_RETIRED;
    if (t->data_from == HP_FROM_NOWHERE || !(t->events & HP_TIMING_MEASURED))
        return false;
    uint32_t after = loads || s->config.in_order ? t->issued : retires ? t->left : HP_NEVER;
    *cycle = t->fetched + after;
    return after != HP_NEVER;
}

enum hp_err hp_skid_timings(struct hp_skid *s, const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hp_timing *t = &timings[i];
        bool retires = t->events & HP_TIMING_RETIRED;
        uint64_t cycle;
        s->number += retires;
        if (reference_cycle(s, t, &cycle))
            HP_TRY(push(s, (struct reference){.cycle = cycle,
                                              .order = s->order,
                                              .number = s->number,
                                              .insn = t->insn,
                                              .aborted = !retires}));
        s->order++;
        if (!retires)
            continue;
        HP_TRY(hp_grow(&s->retired, &s->cap_retired, s->n_retired + 1, sizeof *s->retired));
        s->retired[s->n_retired++] =
            (struct retired){.cycle = t->fetched + t->left, .number = s->number, .insn = t->insn};
    }
    return n ? advance(s, timings[n - 1].fetched) : HP_OK;
}

enum hp_err hp_skid_end(struct hp_skid *s)
{
    return advance(s, UINT64_MAX);
}
