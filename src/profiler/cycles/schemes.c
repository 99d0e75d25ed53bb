// SPDX-License-Identifier: MIT
#include "profiler/cycles/schemes.h"

/* --- Sampled points --------------------------------------------------------------------------- */

static uint64_t next_interval(struct hp_looks *looks)
{
    return hp_random_between(&looks->random, 1, 2 * looks->interval - 1);
}

static void looks_init(struct hp_looks *looks, uint64_t interval, uint64_t seed, uint32_t thread)
{
    *looks = (struct hp_looks){.interval = interval, .random = hp_random_seed(seed, thread)};
    if (interval)
        looks->at = next_interval(looks) - 1;
}

/* How many of the points from `from` up to, not including, `to` are sampled. Called in ascending
 * order. */
static uint64_t look(struct hp_looks *looks, uint64_t from, uint64_t to)
{
    uint64_t n = 0;
    if (!looks->interval)
        return to - from;
    while (looks->at < to) {
        n += looks->at >= from;
        looks->at += next_interval(looks);
    }
    return n;
}

/* --- The methods ------------------------------------------------------------------------------ */

/* The first measured instruction after something not measured: cycles before its fetch do not
 * count. */
static void begin(struct hp_cycle_scheme *s, const struct hp_timing *t)
{
    s->begins = false;
    if (t->fetched > s->next)
        s->next = t->fetched;
}

/* How many of the unattributed cycles up to `cycle` are sampled: they belong to `t`, which was
 * mapped (retired) then. */
static uint64_t take_cycles(struct hp_cycle_scheme *s, const struct hp_timing *t, uint64_t cycle)
{
    bool measured = t->events & HP_TIMING_MEASURED;
    if (measured && s->begins)
        begin(s, t);
    s->begins = !measured;
    if (cycle < s->next)
        return 0;
    uint64_t looked = look(&s->looks, s->next, cycle + 1);
    s->next = cycle + 1;
    return measured ? looked : 0;
}

void hp_schemes_init(struct hp_schemes *schemes, uint64_t interval, uint64_t seed, uint32_t thread)
{
    *schemes = (struct hp_schemes){.dispatch.begins = true, .retired.begins = true};
    looks_init(&schemes->dispatch.looks, interval, seed, thread);
    looks_init(&schemes->retired.looks, interval, seed, thread);
    looks_init(&schemes->fetched, interval, seed, thread);
}

void hp_schemes_timings(struct hp_schemes *schemes, struct hp_cycles_row *rows,
                        const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hp_timing *t = &timings[i];
        uint64_t *weights = rows[t->insn].weights;
        bool retires = t->events & HP_TIMING_RETIRED;
        uint64_t looked;
        if (t->events & HP_TIMING_WINDOW)
            schemes->dispatch.begins = schemes->retired.begins = true;
        if (t->mapped != HP_NEVER) {
            looked = take_cycles(&schemes->dispatch, t, t->fetched + t->mapped);
            if (looked && retires)
                weights[HP_ATTRIBUTE_DISPATCH] += looked;
        }
        if (retires) {
            looked = take_cycles(&schemes->retired, t, t->fetched + t->left);
            if (looked)
                weights[HP_ATTRIBUTE_NEXT] += looked;
        }
        if (t->events & HP_TIMING_MEASURED) {
            looked = look(&schemes->fetched, schemes->n_fetched, schemes->n_fetched + 1);
            schemes->n_fetched++;
            if (retires)
                weights[HP_ATTRIBUTE_PROFILEME] += looked * t->done;
        }
    }
}
