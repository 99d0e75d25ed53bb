// SPDX-License-Identifier: MIT
/*
 * Leaving: the retire phase (rule 12, and the branch queue) and redirects (rule 11).
 */
#include "machine/pipe/pipe_impl.h"
#include "machine/pipe/power.h"

static void give_back(struct hp_pipe *p, const struct pipe_insn *insn)
{
    p->n_serial -= insn->shape.flags & INSN_SERIAL ? 1 : 0;
    p->free_to_hold += insn->shape.holds;
    p->free_to_occupy += PIPE_ONE(OCCUPIES_BUFFER);
}

/* --- Retiring --------------------------------------------------------------------------------- */

/* The branch queue accepts a transfer; false: it is full. */
static bool enqueue(struct hp_pipe *p, uint64_t cost)
{
    while (p->queue_n && p->queue[p->queue_first] <= p->now) {
        p->queue_first = (p->queue_first + 1) % p->queue_size;
        p->queue_n--;
    }
    if (p->queue_n == p->queue_size)
        return false;
    p->queue_end = (p->queue_end > p->now ? p->queue_end : p->now) + cost;
    p->queue[(p->queue_first + p->queue_n++) % p->queue_size] = p->queue_end;
    return true;
}

static void write_stores(struct hp_pipe *p, struct pipe_insn *insn)
{
    const struct pipe_suop *uops = p->suops + insn->shape.uops;
    for (unsigned i = insn->shape.n_uops - insn->shape.n_stores; i < insn->shape.n_uops; i++)
        if (uops[i].access)
            hp_pipe_access(p, insn, &uops[i], false);
}

static void retire_insn(struct hp_pipe *p, struct pipe_insn *insn)
{
    struct hp_timing *t = insn->timing;
    if (insn->shape.n_stores && !p->in_order)
        write_stores(p, insn);
    t->left = since(t, p->now);
    t->events |= HP_TIMING_RETIRED;
    give_back(p, insn);
    if (insn->shape.n_loads + insn->shape.n_stores)
        hp_pipe_order_retire(p, insn);
    if (HP_CHECKS)
        hp_pipe_check_retired(p, insn);
    p->stats.retired++;
    p->head++;
    p->moved = true;
    if (insn->shape.flags & INSN_LAST)
        hp_pipe_block_retired(p);
}

void hp_pipe_retire(struct hp_pipe *p)
{
    p->queue_stalled = false;
    for (uint32_t n = 0; n < p->retire && p->head < p->mapped; n++) {
        struct pipe_insn *insn = insn_at(p, p->head);
        if (insn->done > p->now)
            return;
        if (insn->cost && !enqueue(p, insn->cost)) {
            insn->timing->events |= HP_TIMING_QUEUE_STALL;
            p->stats.queue_stalls++;
            p->queue_stalled = true;
            return;
        }
        retire_insn(p, insn);
    }
}

/* --- Aborting --------------------------------------------------------------------------------- */

static void abort_mapped(struct hp_pipe *p, uint64_t position, const struct pipe_insn *insn)
{
    give_back(p, insn);
    if (insn->unissued)
        p->free_to_occupy += insn->shape.occupies & PIPE_QUEUES;
    for (unsigned i = 0; i < insn->shape.n_uops; i++) {
        struct pipe_uop *uop = uop_at(p, position << 3 | i);
        hp_pipe_unlink_all(p, uop->waiting);
        uop->state = UOP_ISSUED; /* the wheel may still have its key */
    }
}

static void abort_insn(struct hp_pipe *p, uint64_t position)
{
    struct pipe_insn *insn = insn_at(p, position);
    struct hp_timing *t = insn->timing;
    bool right = insn->shape.flags & INSN_RIGHT;
    t->left = since(t, p->now);
    t->events |= right ? HP_TIMING_TRAPPED : HP_TIMING_WRONG_PATH;
    if (insn->done > p->now) {
        t->done = t->waited = HP_NEVER;
        t->unit = HP_UNITS;
    }
    if (insn->loaded > p->now)
        t->loaded = HP_NEVER;
    p->stats.aborted++;
    p->stats.trapped += right;
    p->stats.wrong_path += !right;
    if (position < p->mapped)
        abort_mapped(p, position, insn);
}

/* Aborts all from `position` on. */
static void abort_from(struct hp_pipe *p, uint64_t position)
{
    if (p->power)
        hp_pipe_power_abort(p, position);
    for (uint64_t at = position; at < p->tail; at++)
        abort_insn(p, at);
    if (position < p->mapped) {
        const struct pipe_insn *first = insn_at(p, position);
        if (first->shape.flags & INSN_RIGHT)
            hp_pipe_order_abort(p, position);
        hp_pipe_drop_ready(p, position);
        hp_pipe_drop_waiting(p, position);
        hp_pipe_restore_writers(p, position);
        p->mapped = position;
        if (p->in_order_at >> 3 >= position)
            p->in_order_at = position << 3;
    }
    p->tail = position;
    p->unresolved = 0;
    p->resolved_in = PIPE_NEVER;
    p->wrong.on = false;
    p->fetch = (struct pipe_fetch){
        .from = p->now + p->mispredict, .last_cycle = PIPE_NEVER, .arrived = PIPE_NEVER};
    p->moved = true;
}

static void take_trap(struct hp_pipe *p)
{
    const struct pipe_insn *load = insn_at(p, p->trap_at);
    p->fed_at = load->fed;
    p->fed_index = load->index;
    p->history = load->timing->history;
    p->notes[load->insn].period = (uint32_t)((p->trap_in - 1) / PIPE_PERIOD + 1);
    p->stats.traps++;
    abort_from(p, p->trap_at);
    p->trap_at = 0;
}

static void redirect(struct hp_pipe *p)
{
    const struct pipe_insn *transfer = insn_at(p, p->unresolved);
    const struct hp_timing *t = transfer->timing;
    p->history = t->history;
    if (p->insns[transfer->insn].flags & HP_STATIC_CONDITIONAL)
        p->history = t->history << 1 | !!(t->events & HP_TIMING_TAKEN);
    abort_from(p, p->unresolved + 1);
}

/* A trap goes first: a load that was too early is on the right path, so it is older than the
 * mispredicted transfer. */
void hp_pipe_redirect(struct hp_pipe *p)
{
    if (p->trap_at)
        take_trap(p);
    else if (p->resolved_in == p->now)
        redirect(p);
}
