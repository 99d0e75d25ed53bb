// SPDX-License-Identifier: MIT
/*
 * Making and running a pipe. A cycle has five phases. Fetch, the last, may have to wait until more
 * has been fed; the cycle then continues from there. So the other phases never depend on how much
 * has been fed.
 */
#include "machine/pipe/pipe_impl.h"
#include "machine/pipe/power.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* --- Making and freeing ----------------------------------------------------------------------- */

static uint32_t power_above(uint64_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static void set_machine(struct hp_pipe *p, const struct hp_machine *m)
{
    const struct hp_core_config *core = &m->core;
    p->width = (uint32_t)core->width;
    p->issue = (uint32_t)core->issue;
    p->retire = (uint32_t)core->retire;
    p->in_order = core->in_order;
    p->fetch_queue = (uint32_t)core->fetch_queue;
    p->reorder = (uint32_t)core->reorder;
    p->memory_queue = (uint32_t)core->memory_queue;
    p->int_queue = (uint32_t)core->int_queue;
    p->fp_queue = (uint32_t)core->fp_queue;
    p->int_registers = (uint32_t)core->int_registers - 32;
    p->vec_registers = (uint32_t)core->fp_registers - 32;
    p->front = (uint32_t)core->front_stages - 1;
    p->mispredict = (uint32_t)core->mispredict;
    p->misses = (uint32_t)core->misses;
    p->code_ports = (uint32_t)m->l1i.ports;
    p->free_to_hold = PIPE_ABOVE | (uint64_t)p->memory_queue << HOLDS_PLACES |
                      (uint64_t)p->int_registers << HOLDS_INTS |
                      (uint64_t)p->vec_registers << HOLDS_VECS;
    p->free_to_occupy = PIPE_ABOVE | (uint64_t)p->int_queue << OCCUPIES_INT |
                        (uint64_t)p->fp_queue << OCCUPIES_FP |
                        (uint64_t)p->reorder << OCCUPIES_BUFFER;
    p->level_latency[HP_FROM_L1] = (uint32_t)m->l1d.latency;
    p->level_latency[HP_FROM_L2] = (uint32_t)m->l2.latency;
    p->level_latency[HP_FROM_L3] = (uint32_t)m->l3.latency;
    p->level_latency[HP_FROM_MEMORY] = (uint32_t)m->memory.latency;
    p->itlb_latency = (uint32_t)m->itlb.latency;
    p->dtlb_latency = (uint32_t)m->dtlb.latency;
    p->tlb2_latency = (uint32_t)m->tlb2.latency;
    p->code_bits = (unsigned)__builtin_ctzll(m->l1i.line);
    p->data_bits = (unsigned)__builtin_ctzll(m->l1d.line);
}

/* Zeroed; sets the error when memory runs out. */
static void *allocate(struct hp_pipe *p, uint64_t n, size_t size)
{
    void *memory = calloc((size_t)n, size);
    if (!memory)
        p->error = hp_fail_nomem();
    return memory;
}

/* The same, aligned to cache lines. */
static void *allocate_lines(struct hp_pipe *p, uint64_t n, size_t size)
{
    size_t bytes = ((size_t)n * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    if (memory)
        memset(memory, 0, bytes);
    else
        p->error = hp_fail_nomem();
    return memory;
}

static void make_units(struct hp_pipe *p, const struct hp_unit_config *units)
{
    const uint64_t counts[HP_UNITS] = {
        [HP_UNIT_ALU] = units->alu,       [HP_UNIT_MUL] = units->mul,
        [HP_UNIT_FP] = units->fp,         [HP_UNIT_FP_MUL] = units->fp_mul,
        [HP_UNIT_VECTOR] = units->vector, [HP_UNIT_LOAD] = units->load,
        [HP_UNIT_STORE] = units->store,   [HP_UNIT_BRANCH] = units->branch,
    };
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        p->units[kind] = p->units_n[kind] = (uint8_t)counts[kind];
        p->held[kind].until = allocate(p, counts[kind], sizeof *p->held[kind].until);
        p->ready[kind].keys = allocate(p, p->ready_mask + 1, sizeof *p->ready[kind].keys);
    }
}

static void make_flight(struct hp_pipe *p)
{
    uint32_t places = power_above((uint64_t)p->reorder + p->fetch_queue + 1);
    p->mask = places - 1;
    p->head = p->mapped = p->tail = 1;
    p->flight = allocate_lines(p, places, sizeof *p->flight);
    p->flight_uops = allocate_lines(p, (uint64_t)places * 8, sizeof *p->flight_uops);
    p->order_mask = p->ready_mask = 2 * places - 1;
    p->stores = allocate(p, p->order_mask + 1, sizeof *p->stores);
    p->loads = allocate(p, p->order_mask + 1, sizeof *p->loads);
    p->arrived = allocate(p, (uint64_t)places * 3 * HP_UOPS_MAX, sizeof *p->arrived);
    p->soon = allocate(p, (uint64_t)places * HP_UOPS_MAX, sizeof *p->soon);
    p->wrong.calls = allocate(p, places, sizeof *p->wrong.calls);
    p->fed_mask = power_above(places + PIPE_FEED + 64) - 1;
    p->fed = allocate(p, p->fed_mask + 1, sizeof *p->fed);
    p->cap_timings = power_above((uint64_t)places + PIPE_BATCH);
    p->timings = allocate_lines(p, p->cap_timings, sizeof *p->timings);
    p->cap_addresses = 1024;
    p->addresses = allocate(p, p->cap_addresses, sizeof *p->addresses);
}

static void make_lists(struct hp_pipe *p)
{
    memset(p->wheel, 0xff, sizeof p->wheel);
    p->free_link = p->far = p->for_all_stores = PIPE_NO_LINK;
    p->far_first = PIPE_NEVER;
    p->lines.mask = 63;
    p->lines.table = allocate(p, p->lines.mask + 1, sizeof *p->lines.table);
    p->lines.n_places = p->misses;
    p->lines.places = allocate(p, p->misses, sizeof *p->lines.places);
    if (p->config.queue >= 0) {
        p->queue_size = (uint32_t)p->config.queue + 1;
        p->queue = allocate(p, p->queue_size, sizeof *p->queue);
    }
}

enum hp_err hp_pipe_new(struct hp_program *program, struct hp_core *core,
                        const struct hp_pipe_config *config, struct hp_pipe **pipe)
{
    *pipe = NULL;
    struct hp_pipe *p = calloc(1, sizeof *p);
    if (!p)
        return hp_fail_nomem();
    p->program = program;
    p->core = core;
    p->config = *config;
    p->measured = true;
    p->resolved_in = PIPE_NEVER;
    p->fetch.last_cycle = p->fetch.arrived = PIPE_NEVER;
    p->pc_bits = hp_pc_bits(hp_code_arch(hp_program_code(program)));
    set_machine(p, hp_program_machine(program));
    make_flight(p);
    make_lists(p);
    make_units(p, &hp_program_machine(program)->units);
    if (p->error == HP_OK && config->blocks)
        p->error = hp_pipe_power_new(p);
    enum hp_err err = p->error;
    if (err != HP_OK)
        hp_pipe_free(p);
    else
        *pipe = p;
    return err;
}

void hp_pipe_free(struct hp_pipe *p)
{
    if (!p)
        return;
    hp_pipe_power_free(p);
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        free(p->held[kind].until);
        free(p->ready[kind].keys);
    }
    free(p->flight);
    free(p->flight_uops);
    free(p->stores);
    free(p->loads);
    free(p->arrived);
    free(p->wrong.calls);
    free(p->fed);
    free(p->timings);
    free(p->addresses);
    free(p->lines.table);
    free(p->lines.places);
    free(p->queue);
    free(p->links);
    free(p->soon);
    free(p->statics);
    free(p->suops);
    free(p->notes);
    free(p);
}

/* --- Running ---------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The next cycle in which something can happen, when nothing did in this one: every wait has a
 * known end. */
static uint64_t next_event(struct hp_pipe *p)
{
    uint64_t next = hp_pipe_next_arrival(p);
    if (p->fetch.from > p->now)
        next = earlier(next, p->fetch.from);
    if (p->resolved_in > p->now)
        next = earlier(next, p->resolved_in);
    if (p->trap_at)
        next = earlier(next, p->trap_in);
    if (p->head < p->mapped && insn_at(p, p->head)->done > p->now)
        next = earlier(next, insn_at(p, p->head)->done);
    if (p->queue_stalled)
        next = earlier(next, p->queue[p->queue_first]);
    if (p->mapped < p->tail) {
        uint64_t earliest = insn_at(p, p->mapped)->timing->fetched + p->front;
        if (earliest > p->now)
            next = earlier(next, earliest);
    }
    if (p->kinds || p->in_order)
        next = earlier(next, hp_pipe_next_free_unit(p));
    return next;
}

static void next_cycle(struct hp_pipe *p)
{
    uint64_t next = p->now + 1;
    if (!p->moved) {
        next = next_event(p);
        if (next == PIPE_NEVER) {
            p->error = hp_fail(HP_ERR_INTERNAL, "the pipe stands still in cycle %llu",
                               (unsigned long long)p->now);
            return;
        }
        if (p->queue_stalled)
            p->stats.queue_stalls += next - p->now - 1;
    }
    p->now = next;
}

static void add_events(struct hp_pipe *p)
{
    for (int k = 0; k < HP_METRICS; k++) {
        p->core->totals[k] += p->events.count[k];
        p->events.count[k] = 0;
    }
}

/* Runs as far as the right path is known. */
static enum hp_err run(struct hp_pipe *p)
{
    p->core->memory.events = &p->events;
    while (p->error == HP_OK) {
        if (!p->in_cycle) {
            p->moved = false;
            hp_pipe_redirect(p);
            hp_pipe_retire(p);
            hp_pipe_issue(p);
            hp_pipe_map(p);
            p->in_cycle = true;
        }
        if (!hp_pipe_fetch(p))
            break;
        if (HP_CHECKS)
            hp_pipe_check(p);
        p->in_cycle = false;
        next_cycle(p);
    }
    hp_pipe_hand_out(p, PIPE_BATCH);
    if (p->power)
        hp_pipe_power_hand_out(p, PIPE_BATCH, false);
    add_events(p);
    p->stats.cycles = p->stats.fetched ? p->now + 1 : 0;
    return p->error;
}

enum hp_err hp_pipe_batch(struct hp_pipe *pipe, const struct hp_batch *batch, const uint16_t *costs)
{
    for (size_t i = 0; i < batch->n && pipe->error == HP_OK; i += PIPE_FEED) {
        size_t n = batch->n - i < PIPE_FEED ? batch->n - i : PIPE_FEED;
        HP_TRY(hp_pipe_feed(pipe, batch, costs, i, n));
        HP_TRY(run(pipe));
    }
    return pipe->error;
}

enum hp_err hp_pipe_tail(struct hp_pipe *pipe, const struct hp_event *tail)
{
    HP_TRY(pipe->error);
    HP_TRY(hp_pipe_feed_tail(pipe, tail));
    return hp_pipe_break(pipe);
}

enum hp_err hp_pipe_break(struct hp_pipe *pipe)
{
    pipe->break_next = true;
    HP_TRY(hp_pipe_refresh(pipe));
    return run(pipe);
}

enum hp_err hp_pipe_interrupt(struct hp_pipe *pipe, uint32_t cycles)
{
    pipe->delay_next += cycles;
    return hp_pipe_break(pipe);
}

void hp_pipe_measure(struct hp_pipe *pipe, bool measured)
{
    pipe->measured = measured;
}

enum hp_err hp_pipe_drain(struct hp_pipe *pipe)
{
    HP_TRY(hp_pipe_break(pipe));
    hp_pipe_hand_out(pipe, 1);
    if (pipe->power)
        hp_pipe_power_hand_out(pipe, 1, true);
    return pipe->error;
}

const struct hp_pipe_stats *hp_pipe_stats(const struct hp_pipe *pipe)
{
    return &pipe->stats;
}
