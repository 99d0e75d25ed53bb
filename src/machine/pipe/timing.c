// SPDX-License-Identifier: MIT
/*
 * Timings: a ring in the order of fetch, filled in while instructions are in flight, and delivered
 * from there.
 */
#include "machine/pipe/pipe_impl.h"

#include <stdlib.h>

/* An instruction's timing in the ring: its number modulo the ring's size. */
static uint64_t number_of(const struct hp_pipe *p, const struct pipe_insn *insn)
{
    return (uint64_t)(insn->timing - p->timings);
}

static bool grow(struct hp_pipe *p)
{
    size_t cap = p->cap_timings * 2;
    struct hp_timing *timings = aligned_alloc(64, cap * sizeof *timings);
    if (!timings) {
        p->error = hp_fail_nomem();
        return false;
    }
    for (uint64_t i = p->timings_head; i != p->timings_tail; i++)
        timings[i & (cap - 1)] = p->timings[i & (p->cap_timings - 1)];
    for (uint64_t at = p->head; at < p->tail; at++) {
        struct pipe_insn *insn = insn_at(p, at);
        uint64_t behind = (p->timings_tail - 1 - number_of(p, insn)) & (p->cap_timings - 1);
        insn->timing = &timings[(p->timings_tail - 1 - behind) & (cap - 1)];
    }
    free(p->timings);
    p->timings = timings;
    p->cap_timings = cap;
    return true;
}

bool hp_pipe_timing_room(struct hp_pipe *p)
{
    if (p->timings_tail - p->timings_head + p->width <= p->cap_timings)
        return true;
    hp_pipe_hand_out(p, 1);
    return p->timings_tail - p->timings_head + p->width <= p->cap_timings || grow(p);
}

void hp_pipe_hand_out(struct hp_pipe *p, uint64_t least)
{
    uint64_t end = p->timings_tail;
    if (p->head < p->tail)
        end -= (end - number_of(p, insn_at(p, p->head)) - 1) % p->cap_timings + 1;
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
