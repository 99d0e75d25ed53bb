// SPDX-License-Identifier: MIT
/*
 * The issue phase (rules 7, 8 and 14).
 */
#include "machine/pipe/pipe_impl.h"

/* --- Units ------------------------------------------------------------------------------------ */

static void free_units(struct hp_pipe *p)
{
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        struct pipe_units *units = &p->units[kind];
        units->used = 0;
        for (uint32_t i = 0; i < units->held;) {
            if (units->until[i] <= p->now)
                units->until[i] = units->until[--units->held];
            else
                i++;
        }
    }
}

static inline bool is_free(const struct pipe_units *units)
{
    return units->used + units->held < units->n;
}

static void use_unit(struct hp_pipe *p, const struct hp_uop *uop)
{
    struct pipe_units *units = &p->units[uop->unit];
    if (uop->busy > 1)
        units->until[units->held++] = p->now + uop->busy;
    else
        units->used++;
}

/* The cycle in which a unit that something ready waits for is free. */
uint64_t hp_pipe_next_free_unit(struct hp_pipe *p)
{
    uint64_t next = PIPE_NEVER;
    for (unsigned kind = 0; kind < HP_UNITS; kind++)
        for (uint32_t i = 0; i < p->units[kind].held; i++)
            if (p->units[kind].until[i] < next)
                next = p->units[kind].until[i];
    return next;
}

/* --- One uop ---------------------------------------------------------------------------------- */

/* `uop` waited for a result that will be there in cycle `done`. */
static void tell(struct hp_pipe *p, uint64_t key, uint64_t from, uint32_t insn, uint64_t done)
{
    struct pipe_uop *uop = uop_at(p, key);
    struct pipe_insn *waiting = insn_at(p, key >> 3);
    if (done > uop->ready)
        uop->ready = done;
    if (from != key >> 3 &&
        done > timing_of(p, waiting)->fetched + timing_of(p, waiting)->mapped + 1 &&
        (done > uop->producer_done ||
         (done == uop->producer_done && (int32_t)((uint32_t)from - uop->producer_at) > 0))) {
        uop->producer_done = done;
        uop->producer = insn;
        uop->producer_at = (uint32_t)from;
    }
    if (--uop->pending == 0)
        hp_pipe_schedule(p, key, uop->ready);
}

static void tell_all(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop, uint64_t done)
{
    uint32_t insn = insn_at(p, key >> 3)->insn;
    uint32_t list = uop->waiting;
    uop->waiting = PIPE_NO_LINK;
    for (uint32_t link = list; link != PIPE_NO_LINK; link = p->links[link].next) {
        uint64_t waiting = hp_pipe_link_key(p, &p->links[link]);
        if (waiting)
            tell(p, waiting, key >> 3, insn, done);
    }
    hp_pipe_unlink_all(p, list);
}

/* The instruction's last uop has been issued. */
static void all_issued(struct hp_pipe *p, uint64_t position, struct pipe_insn *insn,
                       struct hp_timing *t)
{
    insn->done = insn->complete;
    t->done = since(t, insn->done);
    if (insn->flags & INSN_FP)
        p->n_fp_queue--;
    else
        p->n_int_queue--;
    if (position == p->unresolved && !(insn->flags & INSN_BRANCH))
        p->resolved_in = insn->done;
}

/* What timings say of it. */
static void note_issue(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn, uint64_t done)
{
    const struct hp_uop *s = &p->uops[insn->uops + (key & 7)];
    struct pipe_uop *uop = uop_at(p, key);
    struct hp_timing *t = timing_of(p, insn);
    if (insn->unissued == insn->n_uops) {
        t->ready = since(t, uop->ready);
        t->issued = since(t, p->now);
        t->producer = uop->producer;
        t->waited = 0;
    } else if (p->now > insn->complete) {
        t->waited += (uint32_t)(p->now - insn->complete);
    }
    if (done > insn->complete || (done == insn->complete && (key & 7) > insn->last)) {
        insn->complete = done;
        insn->last = key & 7;
        t->unit = s->unit;
    }
    if (s->unit == HP_UNIT_LOAD) {
        if (done > insn->loaded)
            insn->loaded = done;
        if (--insn->unloaded == 0)
            t->loaded = since(t, insn->loaded);
    }
    if (--insn->unissued == 0)
        all_issued(p, key >> 3, insn, t);
}

/* False: it has to wait (rule 9). */
static bool issue(struct hp_pipe *p, uint64_t key)
{
    struct pipe_uop *uop = uop_at(p, key);
    struct pipe_insn *insn = insn_at(p, key >> 3);
    const struct hp_uop *s = &p->uops[insn->uops + (key & 7)];
    uint64_t done = p->now + s->latency;
    if (s->unit == HP_UNIT_LOAD) {
        enum order order = hp_pipe_order_load(p, key, insn, s);
        if (order == ORDER_ASLEEP) {
            uop->state = UOP_ASLEEP;
            timing_of(p, insn)->events |= HP_TIMING_BLOCKED;
            return false;
        }
        done = hp_pipe_access(p, insn, s, order == ORDER_CACHE);
    } else if (s->unit == HP_UNIT_STORE) {
        hp_pipe_order_store(p, key, insn, s);
        if (p->in_order && insn->flags & INSN_RIGHT && s->access)
            hp_pipe_access(p, insn, s, false);
    } else if (s->unit == HP_UNIT_BRANCH && key >> 3 == p->unresolved) {
        p->resolved_in = done;
    }
    if (HP_CHECKS)
        hp_pipe_check_issued(p, key);
    use_unit(p, s);
    note_issue(p, key, insn, done);
    uop->state = UOP_ISSUED;
    uop->ready = done;
    p->stats.uops++;
    p->moved = true;
    if (uop->waiting != PIPE_NO_LINK)
        tell_all(p, key, uop, done);
    return true;
}

/* --- The phase -------------------------------------------------------------------------------- */

/* The kind whose oldest ready uop is the oldest of all of `kinds`. */
static unsigned oldest_kind(const struct hp_pipe *p, uint32_t kinds)
{
    unsigned oldest = 0;
    uint64_t least = UINT64_MAX;
    for (; kinds; kinds &= kinds - 1) {
        unsigned kind = (unsigned)__builtin_ctz(kinds);
        uint64_t key = p->ready[kind].keys[p->ready[kind].first & p->ready_mask];
        if (key < least) {
            least = key;
            oldest = kind;
        }
    }
    return oldest;
}

static void issue_oldest(struct hp_pipe *p)
{
    uint32_t full = 0;
    for (unsigned kind = 0; kind < HP_UNITS; kind++)
        full |= (uint32_t)!is_free(&p->units[kind]) << kind;
    for (uint32_t n = 0; n < p->issue && p->kinds & ~full;) {
        unsigned kind = oldest_kind(p, p->kinds & ~full);
        struct pipe_ready *ready = &p->ready[kind];
        uint64_t key = ready->keys[ready->first++ & p->ready_mask];
        if (--ready->n == 0)
            p->kinds &= ~(1u << kind);
        if (!issue(p, key))
            continue;
        n++;
        full |= (uint32_t)!is_free(&p->units[kind]) << kind;
    }
}

/* In order: the next uop in program order that is mapped, or 0. */
static uint64_t next_in_order(struct hp_pipe *p)
{
    if (p->in_order_at >> 3 < p->head)
        p->in_order_at = p->head << 3;
    while (p->in_order_at >> 3 < p->mapped) {
        if ((p->in_order_at & 7) < insn_at(p, p->in_order_at >> 3)->n_uops)
            return p->in_order_at;
        p->in_order_at = ((p->in_order_at >> 3) + 1) << 3;
    }
    return 0;
}

static void issue_in_order(struct hp_pipe *p)
{
    for (uint32_t n = 0;; n++) {
        uint64_t key = next_in_order(p);
        if (!key || uop_at(p, key)->state != UOP_READY)
            return;
        struct pipe_insn *insn = insn_at(p, key >> 3);
        if (n == p->issue || !is_free(&p->units[p->uops[insn->uops + (key & 7)].unit])) {
            timing_of(p, insn)->events |= HP_TIMING_UNIT_BUSY;
            return;
        }
        if (!issue(p, key))
            return;
        p->in_order_at++;
    }
}

/* What became ready in this cycle and was not issued; what did before has the event already. */
static void mark_passed_over(struct hp_pipe *p)
{
    for (uint32_t i = 0; i < p->n_arrived; i++)
        if (p->flight_uops[p->arrived[i]].state == UOP_READY)
            timing_of(p, &p->flight[p->arrived[i] >> 3])->events |= HP_TIMING_UNIT_BUSY;
}

void hp_pipe_issue(struct hp_pipe *p)
{
    hp_pipe_arrive(p);
    if (p->in_order) {
        free_units(p);
        issue_in_order(p);
    } else if (p->kinds) {
        free_units(p);
        issue_oldest(p);
        mark_passed_over(p);
    }
    p->n_arrived = 0;
}
