// SPDX-License-Identifier: MIT
/*
 * The map phase (rule 6): resources, and what each uop waits for.
 */
#include "machine/pipe/pipe_impl.h"

/* --- What is needed --------------------------------------------------------------------------- */

/* The event of the first thing that is missing; 0: nothing is. */
static uint32_t missing(const struct hp_pipe *p, const struct pipe_insn *insn,
                        const struct hp_static *s)
{
    uint64_t in_buffer = p->mapped - p->head;
    if (p->n_serial || (insn->flags & INSN_SERIAL && in_buffer))
        return HP_TIMING_SERIAL;
    if (in_buffer >= p->reorder)
        return HP_TIMING_NO_REORDER;
    if (s->n_uops &&
        (insn->flags & INSN_FP ? p->n_fp_queue >= p->fp_queue : p->n_int_queue >= p->int_queue))
        return HP_TIMING_NO_QUEUE;
    if (p->n_places + insn->places > p->memory_queue)
        return HP_TIMING_NO_MEMORY_QUEUE;
    if (p->n_ints + insn->ints > p->int_registers || p->n_vecs + insn->vecs > p->vec_registers)
        return HP_TIMING_NO_REGISTER;
    return 0;
}

static void take(struct hp_pipe *p, const struct pipe_insn *insn)
{
    p->n_serial += insn->flags & INSN_SERIAL ? 1 : 0;
    p->n_places += insn->places;
    p->n_ints += insn->ints;
    p->n_vecs += insn->vecs;
    if (!insn->n_uops)
        return;
    if (insn->flags & INSN_FP)
        p->n_fp_queue++;
    else
        p->n_int_queue++;
}

/* --- What is waited for ----------------------------------------------------------------------- */

/* The result of uop `of` of the instruction at `position`; `own`: of its own instruction. */
static void wait_for(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop, uint64_t position,
                     uint8_t of, bool own)
{
    struct pipe_uop *other = uop_at(p, position << 3 | of);
    if (other->state != UOP_ISSUED) {
        uint32_t place = (uint32_t)(key & ((uint64_t)p->mask << 3 | 7));
        uop->pending++;
        other->waiting = hp_pipe_link(p, place, p->flight[place >> 3].timing, other->waiting);
        return;
    }
    uint64_t done = other->ready;
    if (done <= p->now + 1)
        return;
    if (done > uop->ready)
        uop->ready = done;
    if (own || done < uop->producer_done ||
        (done == uop->producer_done && (int32_t)((uint32_t)position - uop->producer_at) < 0))
        return;
    uop->producer_done = done;
    uop->producer = insn_at(p, position)->insn;
    uop->producer_at = (uint32_t)position;
}

static void wait_for_registers(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop, uint64_t set,
                               const struct pipe_writer *writers)
{
    for (; set; set &= set - 1) {
        const struct pipe_writer *writer = &writers[__builtin_ctzll(set)];
        if (writer->at >= p->head)
            wait_for(p, key, uop, writer->at, writer->uop, false);
    }
}

static void map_uop(struct hp_pipe *p, uint64_t key, const struct hp_uop *s)
{
    struct pipe_uop *uop = uop_at(p, key);
    *uop = (struct pipe_uop){
        .ready = p->now + 1, .producer = HP_NO_ID, .waiting = PIPE_NO_LINK, .state = UOP_WAITING};
    wait_for_registers(p, key, uop, s->reads.gpr, p->writers);
    wait_for_registers(p, key, uop, s->reads.vec, p->writers + 64);
    for (unsigned after = s->after; after; after &= after - 1)
        wait_for(p, key, uop, key >> 3, (uint8_t)__builtin_ctz(after), true);
    if (!uop->pending)
        hp_pipe_schedule(p, key, uop->ready);
}

static void write_set(uint64_t set, struct pipe_writer *writers, uint64_t position, unsigned uop)
{
    for (; set; set &= set - 1)
        writers[__builtin_ctzll(set)] = (struct pipe_writer){.at = position, .uop = (uint8_t)uop};
}

static void map_insn(struct hp_pipe *p, uint64_t position, struct pipe_insn *insn)
{
    const struct hp_uop *uops = p->uops + insn->uops;
    struct hp_timing *t = timing_of(p, insn);
    t->mapped = since(t, p->now);
    take(p, insn);
    hp_pipe_order_map(p, insn);
    for (unsigned i = 0; i < insn->n_uops; i++)
        map_uop(p, position << 3 | i, &uops[i]);
    /* Only now: no uop waits for a register that its own instruction writes. */
    for (unsigned i = 0; i < insn->n_uops; i++) {
        write_set(uops[i].writes.gpr, p->writers, position, i);
        write_set(uops[i].writes.vec, p->writers + 64, position, i);
    }
    if (insn->n_uops)
        return;
    insn->done = p->now + 1;
    t->done = since(t, insn->done);
    t->waited = 0;
    if (position == p->unresolved)
        p->resolved_in = insn->done;
}

void hp_pipe_map(struct hp_pipe *p)
{
    for (uint32_t n = 0; n < p->width && p->mapped < p->tail; n++) {
        struct pipe_insn *insn = insn_at(p, p->mapped);
        struct hp_timing *t = timing_of(p, insn);
        if (p->now < t->fetched + p->front)
            return;
        uint32_t event = missing(p, insn, &p->insns[insn->insn]);
        if (event) {
            t->events |= event;
            return;
        }
        map_insn(p, p->mapped, insn);
        p->mapped++;
        p->moved = true;
    }
}

/* --- Taking back ------------------------------------------------------------------------------ */

/* Of a register set, those whose writer was aborted. */
static uint64_t lost(struct pipe_writer *writers, uint64_t position)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < 64; i++) {
        if (writers[i].at < position)
            continue;
        set |= (uint64_t)1 << i;
        writers[i].at = 0;
    }
    return set;
}

void hp_pipe_restore_writers(struct hp_pipe *p, uint64_t position)
{
    uint64_t gpr = lost(p->writers, position), vec = lost(p->writers + 64, position);
    for (uint64_t at = position; at-- > p->head && (gpr | vec);) {
        const struct pipe_insn *insn = insn_at(p, at);
        const struct hp_uop *uops = p->uops + insn->uops;
        uint64_t all_gpr = 0, all_vec = 0;
        for (unsigned i = 0; i < insn->n_uops; i++) {
            write_set(uops[i].writes.gpr & gpr, p->writers, at, i);
            write_set(uops[i].writes.vec & vec, p->writers + 64, at, i);
            all_gpr |= uops[i].writes.gpr;
            all_vec |= uops[i].writes.vec;
        }
        gpr &= ~all_gpr;
        vec &= ~all_vec;
    }
}
