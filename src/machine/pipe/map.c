// SPDX-License-Identifier: MIT
/*
 * The map phase (rule 6): resources, and what each uop waits for.
 */
#include "machine/pipe/pipe_impl.h"

/* --- What is needed --------------------------------------------------------------------------- */

static bool suffices(uint64_t free, uint64_t needed, unsigned of)
{
    return (free - (needed & (uint64_t)0x7ffff << of)) >> (of + 19) & 1;
}

/* The event of the first resource that is missing. */
static uint32_t what_is_missing(const struct hp_pipe *p, const struct pipe_shape *shape)
{
    uint64_t holds = p->free_to_hold, occupies = p->free_to_occupy;
    if (p->n_serial || (shape->flags & INSN_SERIAL && p->mapped != p->head))
        return HP_TIMING_SERIAL;
    if (!suffices(occupies, shape->occupies, OCCUPIES_BUFFER))
        return HP_TIMING_NO_REORDER;
    if (!suffices(occupies, shape->occupies, OCCUPIES_INT) ||
        !suffices(occupies, shape->occupies, OCCUPIES_FP))
        return HP_TIMING_NO_QUEUE;
    if (!suffices(holds, shape->holds, HOLDS_PLACES))
        return HP_TIMING_NO_MEMORY_QUEUE;
    return HP_TIMING_NO_REGISTER;
}

static inline bool is_missing(const struct hp_pipe *p, const struct pipe_shape *shape)
{
    uint64_t left = (p->free_to_hold - shape->holds) & (p->free_to_occupy - shape->occupies);
    return (left & PIPE_ABOVE) != PIPE_ABOVE || p->n_serial ||
           (shape->flags & INSN_SERIAL && p->mapped != p->head);
}

static inline void take(struct hp_pipe *p, const struct pipe_shape *shape)
{
    p->n_serial += shape->flags & INSN_SERIAL ? 1 : 0;
    p->free_to_hold -= shape->holds;
    p->free_to_occupy -= shape->occupies;
}

/* --- What is waited for ----------------------------------------------------------------------- */

/* Uop `key` waits for the result of uop `of`, which has not been issued. */
static inline void wait_for_issue(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop,
                                  struct pipe_uop *of)
{
    /* A uop that provides several registers is waited for once. */
    if (of->waiting != PIPE_NO_LINK && p->links[of->waiting].key == key)
        return;
    uop->pending++;
    of->waiting = hp_pipe_link(p, key, of->waiting);
}

static inline void wait_for_register(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop,
                                     const struct pipe_writer *writer)
{
    if (writer->at < p->head)
        return;
    struct pipe_uop *of = &p->flight_uops[writer->uop];
    if (of->state != UOP_ISSUED) {
        wait_for_issue(p, key, uop, of);
        return;
    }
    uint64_t done = of->ready;
    if (done < uop->producer_done ||
        (done == uop->producer_done &&
         (uop->producer == HP_NO_ID || (int32_t)((uint32_t)writer->at - uop->producer_at) <= 0)))
        return;
    uop->ready = uop->producer_done = done;
    uop->producer = p->flight[writer->uop >> 3].insn;
    uop->producer_at = (uint32_t)writer->at;
}

static void wait_for_many(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop,
                          const struct hp_regset *reads)
{
    for (uint64_t set = reads->gpr; set; set &= set - 1)
        wait_for_register(p, key, uop, &p->writers[__builtin_ctzll(set)]);
    for (uint64_t set = reads->vec; set; set &= set - 1)
        wait_for_register(p, key, uop, &p->writers[64 + __builtin_ctzll(set)]);
}

static inline void map_uop(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop, uint32_t id)
{
    const struct pipe_suop *s = &p->suops[id];
    *uop = (struct pipe_uop){.ready = p->now + 1,
                             .producer_done = p->now + 1,
                             .producer = HP_NO_ID,
                             .waiting = PIPE_NO_LINK,
                             .state = UOP_WAITING,
                             .unit = s->unit};
    if (s->n_reads == PIPE_MANY)
        wait_for_many(p, key, uop, &p->uops[id].reads);
    else
        for (const uint8_t *reg = s->regs, *end = reg + s->n_reads; reg < end; reg++)
            wait_for_register(p, key, uop, &p->writers[*reg]);
    /* Those of its own instruction have just been mapped: none has been issued. */
    for (unsigned after = s->after; after; after &= after - 1)
        wait_for_issue(p, key, uop, uop - (key & 7) + __builtin_ctz(after));
    if (!uop->pending)
        hp_pipe_schedule(p, key, uop->ready);
}

/* --- What is written -------------------------------------------------------------------------- */

static void write_set(uint64_t set, struct pipe_writer *writers, const struct pipe_writer *writer)
{
    for (; set; set &= set - 1)
        writers[__builtin_ctzll(set)] = *writer;
}

static inline void write_registers(struct hp_pipe *p, const struct pipe_writer *writer, uint32_t id)
{
    const struct pipe_suop *s = &p->suops[id];
    if (s->n_reads == PIPE_MANY) {
        write_set(p->uops[id].writes.gpr, p->writers, writer);
        write_set(p->uops[id].writes.vec, p->writers + 64, writer);
        return;
    }
    for (const uint8_t *reg = s->regs + s->n_reads, *end = reg + s->n_writes; reg < end; reg++)
        p->writers[*reg] = *writer;
}

/* --- The phase -------------------------------------------------------------------------------- */

static inline void map_insn(struct hp_pipe *p, uint64_t position, struct pipe_insn *insn)
{
    struct hp_timing *t = insn->timing;
    unsigned n = insn->shape.n_uops;
    t->mapped = since(t, p->now);
    take(p, &insn->shape);
    insn->stores = p->stores_tail;
    insn->loads = p->loads_tail;
    if (insn->shape.n_loads + insn->shape.n_stores && insn->shape.flags & INSN_RIGHT)
        hp_pipe_order_map(p, insn);
    uint32_t place = place_of(p, position << 3), id = insn->shape.uops;
    for (unsigned i = 0; i < n; i++)
        map_uop(p, position << 3 | i, &p->flight_uops[place + i], id + i);
    /* Only now: no uop waits for a register that its own instruction writes. */
    for (unsigned i = 0; i < n; i++)
        write_registers(p, &(struct pipe_writer){.at = position, .uop = place + i}, id + i);
    if (n)
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
        if (p->now < insn->timing->fetched + p->front)
            return;
        if (is_missing(p, &insn->shape)) {
            insn->timing->events |= what_is_missing(p, &insn->shape);
            return;
        }
        map_insn(p, p->mapped, insn);
        p->mapped++;
        p->moved = true;
    }
}

/* --- Taking back ------------------------------------------------------------------------------ */

/* The registers of a set whose writer was aborted. */
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
        const struct hp_uop *uops = p->uops + insn->shape.uops;
        uint64_t all_gpr = 0, all_vec = 0;
        for (unsigned i = 0; i < insn->shape.n_uops; i++) {
            struct pipe_writer writer = {.at = at, .uop = place_of(p, at << 3 | i)};
            write_set(uops[i].writes.gpr & gpr, p->writers, &writer);
            write_set(uops[i].writes.vec & vec, p->writers + 64, &writer);
            all_gpr |= uops[i].writes.gpr;
            all_vec |= uops[i].writes.vec;
        }
        gpr &= ~all_gpr;
        vec &= ~all_vec;
    }
}
