// SPDX-License-Identifier: MIT
/* The rules of docs/instructions.md, "Where the cycles went", for one cycle. */
#ifndef HP_TESTS_CYCLES_RULES_H
#define HP_TESTS_CYCLES_RULES_H

#include "profiler/cycles/attribute.h"

/* Timings of a thread, in the order of fetch. */
struct cycles_run {
    const struct hp_timing *timings;
    size_t n;
    uint64_t front_stages; /* of the machine */
};

static inline bool is(const struct hp_timing *t, uint32_t event)
{
    return (t->events & event) != 0;
}

static inline uint64_t retired_at(const struct hp_timing *t)
{
    return t->fetched + t->left;
}

/* The nearest retired one before timings[i]; NULL: none. */
static inline const struct hp_timing *before(const struct cycles_run *p, size_t i)
{
    while (i-- > 0)
        if (is(&p->timings[i], HP_TIMING_RETIRED))
            return &p->timings[i];
    return NULL;
}

/* Whether timings[i], measured, is the first behind something else; `mapped`: of those that are
 * mapped, else of those that retire. */
static inline bool begins_window(const struct cycles_run *p, size_t i, bool mapped)
{
    if (is(&p->timings[i], HP_TIMING_WINDOW))
        return true;
    while (i-- > 0) {
        const struct hp_timing *t = &p->timings[i];
        if (mapped ? t->mapped != HP_NEVER : is(t, HP_TIMING_RETIRED))
            return !is(t, HP_TIMING_MEASURED);
        if (is(t, HP_TIMING_WINDOW))
            return true;
    }
    return true;
}

static inline enum hp_cause naive_oldest(const struct hp_timing *t, uint64_t c)
{
    static const enum hp_cause far[] = {
        [HP_FROM_L2] = HP_CAUSE_L2, [HP_FROM_L3] = HP_CAUSE_L3, [HP_FROM_MEMORY] = HP_CAUSE_MEMORY};
    bool issued = c >= t->fetched + t->issued;
    bool loading = issued && t->loaded != HP_NEVER && c < t->fetched + t->loaded;
    if (c >= t->fetched + t->done)
        return HP_CAUSE_QUEUE;
    bool cache = loading && !is(t, HP_TIMING_FORWARDED);
    if (cache && t->data_from > HP_FROM_L1)
        return far[t->data_from];
    if (cache && t->data_from == HP_FROM_L1 && is(t, HP_TIMING_DTLB))
        return HP_CAUSE_DTLB;
    if (is(t, HP_TIMING_SERIAL))
        return HP_CAUSE_SERIAL;
    if (is(t, HP_TIMING_BLOCKED) && (loading || !issued))
        return HP_CAUSE_BLOCKED;
    return loading ? HP_CAUSE_L1 : issued ? HP_CAUSE_EXECUTE : HP_CAUSE_UNIT;
}

static inline enum hp_cause naive_fetching(const struct cycles_run *p, const struct hp_timing *t,
                                           uint64_t c)
{
    if (is(t, HP_TIMING_SERIAL) && c > t->fetched + p->front_stages - 1)
        return HP_CAUSE_SERIAL;
    if (is(t, HP_TIMING_L1I))
        return HP_CAUSE_L1I;
    return is(t, HP_TIMING_ITLB) ? HP_CAUSE_ITLB : HP_CAUSE_FETCH;
}

static inline void naive_give(struct hp_cycles_row *rows, const struct hp_timing *t,
                              enum hp_cause cause, uint64_t parts)
{
    if (is(t, HP_TIMING_MEASURED))
        rows[t->insn].parts[cause] += parts;
}

/* A cycle in which nothing retires; timings[i] is the next that does. */
static inline void naive_stall(const struct cycles_run *p, struct hp_cycles_row *rows, size_t i,
                               uint64_t c)
{
    const struct hp_timing *t = &p->timings[i], *last = before(p, i);
    bool first = is(t, HP_TIMING_MEASURED) && begins_window(p, i, false);
    if (first && c < t->fetched)
        return;
    if (c > t->fetched + t->mapped) {
        naive_give(rows, t, naive_oldest(t, c), HP_CYCLE_PARTS);
        return;
    }
    if (!first && last && is(last, HP_TIMING_MISPREDICTED))
        naive_give(rows, last, HP_CAUSE_MISPREDICT, HP_CYCLE_PARTS);
    else if (!first && last && is(last + 1, HP_TIMING_TRAPPED))
        naive_give(rows, t, HP_CAUSE_TRAP, HP_CYCLE_PARTS);
    else
        naive_give(rows, t, naive_fetching(p, t, c), HP_CYCLE_PARTS);
}

#endif
