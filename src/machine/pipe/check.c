// SPDX-License-Identifier: MIT
/*
 * Invariants, checked in every cycle of a build with HP_CHECKS: incrementally maintained state is
 * recomputed from scratch.
 */
#include "machine/pipe/pipe_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void require(const struct hp_pipe *p, bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "pipe: cycle %" PRIu64 ": %s\n", p->now, what);
    abort();
}

struct recount {
    uint64_t held, occupied;
    uint32_t serial, loads, stores, ready;
};

static void recount_uops(struct hp_pipe *p, uint64_t position, const struct pipe_insn *insn,
                         struct recount *r)
{
    uint32_t unissued = 0;
    for (unsigned i = 0; i < insn->shape.n_uops; i++) {
        const struct pipe_uop *uop = uop_at(p, position << 3 | i);
        unissued += uop->state != UOP_ISSUED;
        r->ready += uop->state == UOP_READY;
        require(p, uop->state == UOP_WAITING || !uop->pending, "a uop that waits is ready");
    }
    require(p, unissued == insn->unissued, "uops that have not been issued");
    require(p, !unissued == (insn->done != PIPE_NEVER), "done before all uops were issued");
    if (unissued)
        r->occupied += insn->shape.occupies & PIPE_QUEUES;
}

static void recount_insn(struct hp_pipe *p, uint64_t position, struct recount *r)
{
    const struct pipe_insn *insn = insn_at(p, position);
    r->serial += insn->shape.flags & INSN_SERIAL ? 1 : 0;
    r->held += insn->shape.holds;
    r->occupied += PIPE_ONE(OCCUPIES_BUFFER);
    if (insn->shape.flags & INSN_RIGHT) {
        r->loads += insn->shape.n_loads;
        r->stores += insn->shape.n_stores;
    }
    recount_uops(p, position, insn, r);
}

static void check_ready(struct hp_pipe *p, uint32_t ready)
{
    uint32_t n = 0;
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        const struct pipe_ready *list = &p->ready[kind];
        require(p, !list->n == !(p->kinds >> kind & 1), "kinds that are ready");
        n += list->n;
        for (uint32_t i = 0; i < list->n; i++) {
            uint64_t key = list->keys[(list->first + i) & p->ready_mask];
            require(p, uop_at(p, key)->state == UOP_READY, "a ready list has a uop that is not");
            require(p, !i || list->keys[(list->first + i - 1) & p->ready_mask] < key,
                    "a ready list is not by age");
        }
    }
    require(p, p->in_order || n == ready, "ready uops");
}

static void check_order(struct hp_pipe *p)
{
    uint64_t mask = p->cap_timings - 1, before = p->timings_head;
    for (uint64_t at = p->head; at < p->tail; at++) {
        uint64_t place = (uint64_t)(insn_at(p, at)->timing - p->timings);
        uint64_t number = before + ((place - before) & mask);
        require(p, number < p->timings_tail && insn_at(p, at)->timing->left == HP_NEVER,
                "the reorder buffer is not in order");
        before = number + 1;
    }
}

static uint64_t all_to_hold(const struct hp_pipe *p)
{
    return PIPE_ABOVE + ((uint64_t)p->memory_queue << HOLDS_PLACES) +
           ((uint64_t)p->int_registers << HOLDS_INTS) + ((uint64_t)p->vec_registers << HOLDS_VECS);
}

static uint64_t all_to_occupy(const struct hp_pipe *p)
{
    return PIPE_ABOVE + ((uint64_t)p->int_queue << OCCUPIES_INT) +
           ((uint64_t)p->fp_queue << OCCUPIES_FP) + ((uint64_t)p->reorder << OCCUPIES_BUFFER);
}

void hp_pipe_check(struct hp_pipe *p)
{
    struct recount r = {0};
    require(p, p->head <= p->mapped && p->mapped <= p->tail, "head, mapped, tail");
    require(p, p->stats.fetched == p->stats.retired + p->stats.aborted + (p->tail - p->head),
            "fetched is not retired + aborted + in flight");
    require(p, p->stats.aborted == p->stats.wrong_path + p->stats.trapped, "aborted");
    for (uint64_t at = p->head; at < p->mapped; at++)
        recount_insn(p, at, &r);
    require(p, p->mapped - p->head <= p->reorder, "the reorder buffer is too full");
    require(p, n_queued(p) <= p->fetch_queue, "the fetch queue is too full");
    require(p, r.serial == p->n_serial, "instructions that run alone");
    require(p, r.serial == 0 || p->mapped - p->head == 1, "one that runs alone is not alone");
    require(p, p->free_to_hold + r.held == all_to_hold(p), "registers or the memory queue");
    require(p, p->free_to_occupy + r.occupied == all_to_occupy(p), "the queues");
    require(p, (p->free_to_hold & p->free_to_occupy & PIPE_ABOVE) == PIPE_ABOVE,
            "more is used than there is");
    require(p, r.loads == p->loads_tail - p->loads_head, "the load queue");
    require(p, r.stores == p->stores_tail - p->stores_head, "the store queue");
    check_ready(p, r.ready);
    check_order(p);
}

void hp_pipe_check_issued(struct hp_pipe *p, uint64_t key)
{
    require(p, uop_at(p, key)->state == UOP_READY, "a uop is issued that is not ready");
    require(p, uop_at(p, key)->ready <= p->now, "a uop is issued before it is ready");
    for (unsigned kind = 0; kind < HP_UNITS; kind++)
        require(p, p->units[kind] + p->held[kind].n == p->units_n[kind], "units");
}

void hp_pipe_check_retired(struct hp_pipe *p, const struct pipe_insn *insn)
{
    const struct pipe_fed *fed = fed_at(p, p->fed_head);
    require(p, insn->shape.flags & INSN_RIGHT, "something of a wrong path retires");
    require(p,
            insn->fed == p->fed_head && insn->insn == fed->first + insn->index &&
                fed->before + insn->index == p->check_insn,
            "what retires is not what was fed");
    p->check_insn++;
}
