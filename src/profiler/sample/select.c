// SPDX-License-Identifier: MIT
/*
 * Selection of instructions, or slots: the fetched instruction counter of ProfileMe (section
 * 4.1.1), its major and minor intervals (4.2).
 *
 * The next selection is known in advance, as a count, so the timings in between are only checked
 * for being measured.
 */
#include "profiler/sample/sampler.h"

#include "base/bisect.h"

/* --- Intervals -------------------------------------------------------------------------------- */

static uint64_t draw_interval(struct hp_sampler *s)
{
    uint64_t half = s->config.interval / 2;
    return hp_random_between(&s->random, s->config.interval - half, s->config.interval + half);
}

/*
 * The first count is drawn as if the counter had always been running, so that every count is
 * selected with probability 1 / S from the start: n with a probability proportional to that of an
 * interval of at least n.
 */
static uint64_t draw_first(struct hp_sampler *s)
{
    uint64_t first, longest = s->config.interval + s->config.interval / 2;
    do
        first = hp_random_between(&s->random, 1, longest);
    while (first > draw_interval(s));
    return first;
}

void hp_sampler_start(struct hp_sampler *s)
{
    s->first_at = draw_first(s);
    s->second_at = HP_COUNT_NEVER;
}

/* Counts are drawn anew from the latest one on. */
void hp_sampler_double(struct hp_sampler *s)
{
    uint64_t now = s->at > s->stats.counted ? s->at : s->stats.counted;
    s->config.interval *= 2;
    s->first_at = now + draw_first(s);
}

/* --- One selection ---------------------------------------------------------------------------- */

static uint64_t next_count(const struct hp_sampler *s)
{
    return s->first_at < s->second_at ? s->first_at : s->second_at;
}

/* The counter has reached `count`. A pair that ends there is completed before the next one
 * begins. */
static void select_count(struct hp_sampler *s, uint64_t count, const struct hp_timing *timing,
                         uint64_t cycle)
{
    s->at = count;
    if (s->second_at == count) {
        s->second_at = HP_COUNT_NEVER;
        hp_sampler_second(s, timing, cycle);
    }
    if (s->first_at == count) {
        s->first_at = count + draw_interval(s);
        uint64_t distance = hp_sampler_first(s, timing, cycle);
        s->second_at = distance ? count + distance : s->second_at;
    }
}

/* --- Mode instructions ------------------------------------------------------------------------ */

static void run_instructions(struct hp_sampler *s, const struct hp_timing *timings, size_t n)
{
    uint64_t before = s->stats.counted, last = before + n;
    for (uint64_t count = next_count(s); count <= last; count = next_count(s)) {
        const struct hp_timing *timing = &timings[count - before - 1];
        select_count(s, count, timing, timing->fetched);
    }
    s->stats.counted = last;
}

/* --- Mode slots ------------------------------------------------------------------------------- */

/* No instruction can stall fetch for longer: a timing's cycles have 32 bits. A longer stall is not
 * from a pipe. */
#define LONGEST_STALL ((uint64_t)1 << 32)

static uint64_t slot_number(const struct hp_sampler *s, const struct hp_timing *timing)
{
    return timing->fetched * s->machine.width + timing->slot;
}

static uint64_t slot_count(const struct hp_sampler *s, const struct hp_timing *timing)
{
    return slot_number(s, timing) - s->slot_zero;
}

/* The first timing with at least this count; n: none. */
static size_t find_slot(const struct hp_sampler *s, const struct hp_timing *timings, size_t n,
                        uint64_t count)
{
    return HP_BISECT(i, 0, n, slot_count(s, &timings[i]) < count);
}

/* Counts the slots up to the last timing's, including those without an instruction. */
static void run_slots(struct hp_sampler *s, const struct hp_timing *timings, size_t n)
{
    uint64_t last = slot_count(s, &timings[n - 1]);
    uint64_t least = s->stats.counted + n; /* every timing has its own slot */
    if (last < least || last - least > LONGEST_STALL * s->machine.width)
        return; /* out of order */
    for (uint64_t count = next_count(s); count <= last; count = next_count(s)) {
        size_t at = find_slot(s, timings, n, count);
        bool there = at < n && slot_count(s, &timings[at]) == count;
        select_count(s, count, there ? &timings[at] : NULL,
                     (s->slot_zero + count) / s->machine.width);
    }
    s->stats.counted = last;
}

/* --- Windows ---------------------------------------------------------------------------------- */

/* How many timings, starting with the first, which is measured, belong to one window. */
static size_t run_length(const struct hp_timing *timings, size_t n)
{
    size_t i = 1;
    while (i < n &&
           (timings[i].events & (HP_TIMING_MEASURED | HP_TIMING_WINDOW)) == HP_TIMING_MEASURED)
        i++;
    return i;
}

static void end_window(struct hp_sampler *s)
{
    s->in_window = false;
    hp_sampler_cut(s);
}

/* The counter stops between windows: the first slot of a window follows the last one of the window
 * before. */
static void begin_window(struct hp_sampler *s, const struct hp_timing *timing)
{
    s->in_window = true;
    s->slot_zero = slot_number(s, timing) - s->stats.counted - 1;
}

void hp_sampler_timings(struct hp_sampler *s, const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n;) {
        bool measured = timings[i].events & HP_TIMING_MEASURED;
        if (s->in_window && (!measured || timings[i].events & HP_TIMING_WINDOW))
            end_window(s);
        if (!measured) {
            i++;
            continue;
        }
        if (!s->in_window)
            begin_window(s, &timings[i]);
        size_t length = run_length(timings + i, n - i);
        if (s->config.mode == HP_SAMPLE_SLOTS)
            run_slots(s, timings + i, length);
        else
            run_instructions(s, timings + i, length);
        i += length;
    }
}
