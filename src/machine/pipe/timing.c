// SPDX-License-Identifier: MIT
/*
 * Timings: a ring in the order of fetch, filled in while the instruction is in flight, and handed out from it.
 */
#include "machine/pipe/pipe_impl.h"

#include <stdlib.h>

static bool grow(struct hp_pipe *p)
{
    size_t cap = p->cap_timings * 2;
    struct hp_timing *timings = malloc(cap * sizeof *timings);
    if (!timings) {
        p->error = hp_fail_nomem();
        return false;
    }
    for (uint64_t i = p->timings_head; i != p->timings_tail; i++)
        timings[i & (cap - 1)] = p->timings[i & (p->cap_timings - 1)];
    free(p->timings);
    p->timings = timings;
    p->cap_timings = cap;
    return true;
}

struct hp_timing *hp_pipe_timing(struct hp_pipe *p)
{
    if (p->timings_tail - p->timings_head == p->cap_timings) {
        hp_pipe_hand_out(p, 1);
        if (p->timings_tail - p->timings_head == p->cap_timings && !grow(p))
            return NULL;
    }
    struct hp_timing *t = &p->timings[p->timings_tail++ & (p->cap_timings - 1)];
    *t = (struct hp_timing){
        .fetched = p->now,
        .mapped = HP_NEVER,
        .ready = HP_NEVER,
        .issued = HP_NEVER,
        .done = HP_NEVER,
        .left = HP_NEVER,
        .loaded = HP_NEVER,
        .waited = HP_NEVER,
        .producer = HP_NO_ID,
        .unit = HP_UNITS,
    };
    return t;
}

void hp_pipe_hand_out(struct hp_pipe *p, uint64_t least)
{
    uint64_t end = p->timings_tail;
    if (p->head < p->tail)
        end -= (uint32_t)((uint32_t)p->timings_tail - insn_at(p, p->head)->timing);
    if (end - p->timings_head < least)
        return;
    while (p->timings_head != end) {
        size_t at = p->timings_head & (p->cap_timings - 1);
        size_t n = p->cap_timings - at;
        if (n > end - p->timings_head)
            n = (size_t)(end - p->timings_head);
        if (p->config.timings)
            p->config.timings(p->config.context, p->timings + at, n);
        p->timings_head += n;
    }
}
