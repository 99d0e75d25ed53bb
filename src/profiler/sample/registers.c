// SPDX-License-Identifier: MIT
/*
 * The profile registers (ProfileMe, 4.1.3 and 4.2): a selected instruction is kept until it, or
 * both of a pair, has retired or was aborted. And its delivery, several at a time (4.3).
 *
 * A timing already contains how its instruction ended. So a selected one goes to the buffer at
 * once, and whether the registers are occupied is a comparison of cycles.
 */
#include "profiler/sample/sampler.h"

static bool is_paired(const struct hp_sampler *s)
{
    return s->config.window != 0;
}

static void lose(struct hp_sampler *s)
{
    s->stats.lost += is_paired(s) ? 2 : 1;
}

void hp_sampler_deliver(struct hp_sampler *s)
{
    if (!s->n)
        return;
    s->stats.interrupts++;
    s->stats.cost += s->config.interrupt_cycles +
                     (uint64_t)s->config.sample_cycles * s->n * (is_paired(s) ? 2 : 1);
    s->deliver(s->context, s->buffer, s->n);
    s->n = 0;
}

static void complete(struct hp_sampler *s)
{
    const struct hp_sample_pair *pair = &s->current;
    s->stats.samples += is_paired(s) ? 2 : 1;
    s->stats.empty += (uint64_t)pair->first.empty + (pair->paired && pair->second.empty);
    s->buffer[s->n++] = *pair;
    if (s->n == s->config.buffer)
        hp_sampler_deliver(s);
}

static void record(struct hp_sampler *s, struct hp_sample *sample, const struct hp_timing *timing,
                   uint64_t cycle)
{
    *sample = (struct hp_sample){
        .pid = s->thread.pid, .tid = s->thread.tid, .empty = !timing, .timing.fetched = cycle};
    uint64_t left = cycle;
    if (timing) {
        sample->timing = *timing;
        sample->timing.history &= s->history_mask;
        sample->pc = s->machine.pc ? s->machine.pc(s->machine.context, timing->insn) : timing->insn;
        left += timing->left;
    }
    if (left > s->busy_until[s->tag])
        s->busy_until[s->tag] = left;
}

/* Finds a free set of registers; false: there is none. */
static bool find_set(struct hp_sampler *s, uint64_t cycle)
{
    for (s->tag = 0; s->tag < s->config.tags; s->tag++)
        if (cycle >= s->busy_until[s->tag])
            return true;
    return false;
}

/* An instruction that never leaves, or comes while the registers are occupied, is lost. (It may
 * come in the cycle in which the previous one leaves: retirement precedes fetch.) */
uint64_t hp_sampler_first(struct hp_sampler *s, const struct hp_timing *timing, uint64_t cycle)
{
    if (s->second_at != HP_COUNT_NEVER || (timing && timing->left == HP_NEVER) ||
        !find_set(s, cycle)) {
        lose(s);
        return 0;
    }
    s->current = (struct hp_sample_pair){.second.empty = true};
    record(s, &s->current.first, timing, cycle);
    if (is_paired(s))
        return s->current.distance = hp_random_between(&s->random, 1, s->config.window);
    complete(s);
    return 0;
}

/* The latency register has 32 bits, like all others, so no measure of overlap can overflow. */
void hp_sampler_second(struct hp_sampler *s, const struct hp_timing *timing, uint64_t cycle)
{
    uint64_t latency = cycle - s->current.first.timing.fetched;
    if ((timing && timing->left == HP_NEVER) || latency > UINT32_MAX) {
        lose(s);
        return;
    }
    record(s, &s->current.second, timing, cycle);
    s->current.paired = true;
    s->current.fetch_latency = latency;
    complete(s);
}

void hp_sampler_cut(struct hp_sampler *s)
{
    if (s->second_at != HP_COUNT_NEVER)
        lose(s);
    s->second_at = HP_COUNT_NEVER;
}
