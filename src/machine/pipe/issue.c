// SPDX-License-Identifier: MIT
/*
 * The issue phase (rules 7, 8 and 14).
 */
#include "machine/pipe/pipe_impl.h"

#include <string.h>

/* --- Units ------------------------------------------------------------------------------------ */

/* Units whose division is over. */
static void release(struct hp_pipe *p)
{
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        struct pipe_held *held = &p->held[kind];
        for (uint32_t i = 0; i < held->n;) {
            if (held->until[i] > p->now) {
                i++;
                continue;
            }
            held->until[i] = held->until[--held->n];
            p->n_held--;
            p->units[kind]++;
            p->full &= ~(1u << kind);
        }
    }
}

static void hold(struct hp_pipe *p, unsigned kind, uint64_t until)
{
    struct pipe_held *held = &p->held[kind];
    held->until[held->n++] = until;
    p->n_held++;
    p->units[kind]--;
    if (!p->units[kind])
        p->full |= 1u << kind;
}

uint64_t hp_pipe_next_free_unit(struct hp_pipe *p)
{
    uint64_t next = PIPE_NEVER;
    for (unsigned kind = 0; kind < HP_UNITS; kind++)
        for (uint32_t i = 0; i < p->held[kind].n; i++)
            if (p->held[kind].until[i] < next)
                next = p->held[kind].until[i];
    return next;
}

/* --- One uop ---------------------------------------------------------------------------------- */

/* Wakes the uops that wait for a result that is available in cycle `done`. */
static void tell_all(struct hp_pipe *p, uint64_t key, struct pipe_uop *from, uint32_t insn,
                     uint64_t done)
{
    uint32_t position = (uint32_t)(key >> 3), link = from->waiting;
    from->waiting = PIPE_NO_LINK;
    for (; link != PIPE_NO_LINK; link = hp_pipe_unlink(p, link)) {
        uint64_t waiting = p->links[link].key;
        struct pipe_uop *uop = uop_at(p, waiting);
        if (done > uop->ready)
            uop->ready = done;
        if (waiting >> 3 != key >> 3 && (done > uop->producer_done ||
                                         (done == uop->producer_done && uop->producer != HP_NO_ID &&
                                          (int32_t)(position - uop->producer_at) > 0))) {
            uop->producer_done = done;
            uop->producer = insn;
            uop->producer_at = position;
        }
        if (--uop->pending == 0)
            hp_pipe_schedule(p, waiting, uop->ready);
    }
}

/* The instruction's last uop has been issued. */
static inline void all_issued(struct hp_pipe *p, uint64_t position, struct pipe_insn *insn,
                              struct hp_timing *t)
{
    insn->done = insn->complete;
    t->done = since(t, insn->done);
    p->free_to_occupy += insn->shape.occupies & PIPE_QUEUES;
    if (position == p->unresolved && !(insn->shape.flags & INSN_BRANCH))
        p->resolved_in = insn->done;
}

/* The only uop of an instruction: most are. */
static inline void note_only(struct hp_pipe *p, uint64_t key, const struct pipe_uop *uop,
                             struct pipe_insn *insn, uint64_t done)
{
    struct hp_timing *t = insn->timing;
    t->ready = since(t, uop->ready);
    t->issued = since(t, p->now);
    t->producer = uop->producer;
    t->waited = 0;
    t->unit = uop->unit;
    insn->complete = done;
    insn->unissued = 0;
    all_issued(p, key >> 3, insn, t);
    if (uop->unit == HP_UNIT_LOAD) {
        insn->unloaded = 0;
        insn->loaded = done;
        t->loaded = t->done;
    }
}

/* Fills in its timing. */
static inline void note_issue(struct hp_pipe *p, uint64_t key, const struct pipe_uop *uop,
                              struct pipe_insn *insn, uint64_t done)
{
    struct hp_timing *t = insn->timing;
    if (insn->shape.n_uops == 1) {
        note_only(p, key, uop, insn, done);
        return;
    }
    if (insn->unissued == insn->shape.n_uops) {
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
        t->unit = uop->unit;
    }
    if (uop->unit == HP_UNIT_LOAD) {
        if (done > insn->loaded)
            insn->loaded = done;
        if (--insn->unloaded == 0)
            t->loaded = since(t, insn->loaded);
    }
    if (--insn->unissued == 0)
        all_issued(p, key >> 3, insn, t);
}

/* A load: when it completes; PIPE_NEVER: it has to wait (rule 9). */
static uint64_t load(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn,
                     const struct pipe_suop *s)
{
    enum order order = hp_pipe_order_load(p, key, insn, s);
    if (order != ORDER_ASLEEP)
        return hp_pipe_access(p, insn, s, order == ORDER_CACHE);
    uop_at(p, key)->state = UOP_ASLEEP;
    insn->timing->events |= HP_TIMING_BLOCKED;
    return PIPE_NEVER;
}

/* False: it has to wait. */
static inline bool issue(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop)
{
    struct pipe_insn *insn = insn_at(p, key >> 3);
    const struct pipe_suop *s = &p->suops[insn->shape.uops + (key & 7)];
    uint64_t done = p->now + s->latency;
    if (uop->unit == HP_UNIT_LOAD) {
        done = load(p, key, insn, s);
        if (done == PIPE_NEVER)
            return false;
    } else if (uop->unit == HP_UNIT_STORE) {
        hp_pipe_order_store(p, key, insn, s);
        if (p->in_order && insn->shape.flags & INSN_RIGHT && s->access)
            hp_pipe_access(p, insn, s, false);
    } else if (uop->unit == HP_UNIT_BRANCH && key >> 3 == p->unresolved) {
        p->resolved_in = done;
    }
    if (HP_CHECKS)
        hp_pipe_check_issued(p, key);
    if (s->busy > 1)
        hold(p, uop->unit, p->now + s->busy);
    note_issue(p, key, uop, insn, done);
    uop->state = UOP_ISSUED;
    uop->ready = done;
    if (uop->waiting != PIPE_NO_LINK)
        tell_all(p, key, uop, insn->insn, done);
    p->stats.uops++;
    p->moved = true;
    return true;
}

/* --- The phase -------------------------------------------------------------------------------- */

/* The kind whose oldest ready uop is the oldest of all of `kinds`. */
static inline unsigned oldest_kind(const struct hp_pipe *p, uint32_t kinds)
{
    unsigned oldest = (unsigned)__builtin_ctz(kinds);
    kinds &= kinds - 1;
    if (!kinds)
        return oldest;
    uint64_t least = p->ready[oldest].keys[p->ready[oldest].first & p->ready_mask];
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

/* A division holds its unit beyond this cycle. Then `units` no longer counts the unit, so `used`
 * must not. */
static void issue_oldest(struct hp_pipe *p)
{
    uint8_t used[HP_UNITS] = {0};
    uint32_t full = p->full;
    for (uint32_t n = 0; n < p->issue && p->kinds & ~full;) {
        unsigned kind = oldest_kind(p, p->kinds & ~full);
        struct pipe_ready *ready = &p->ready[kind];
        uint64_t key = ready->keys[ready->first++ & p->ready_mask];
        uint8_t before = p->units[kind];
        if (--ready->n == 0)
            p->kinds &= ~(1u << kind);
        if (!issue(p, key, uop_at(p, key)))
            continue;
        n++;
        used[kind] = (uint8_t)(used[kind] + (p->units[kind] == before));
        full |= (uint32_t)(used[kind] >= p->units[kind]) << kind;
    }
}

/* In order: the next uop in program order that is mapped, or 0. */
static uint64_t next_in_order(struct hp_pipe *p)
{
    if (p->in_order_at >> 3 < p->head)
        p->in_order_at = p->head << 3;
    while (p->in_order_at >> 3 < p->mapped) {
        if ((p->in_order_at & 7) < insn_at(p, p->in_order_at >> 3)->shape.n_uops)
            return p->in_order_at;
        p->in_order_at = ((p->in_order_at >> 3) + 1) << 3;
    }
    return 0;
}

static void issue_in_order(struct hp_pipe *p)
{
    uint8_t used[HP_UNITS] = {0};
    for (uint32_t n = 0;; n++) {
        uint64_t key = next_in_order(p);
        struct pipe_uop *uop = uop_at(p, key);
        if (!key || uop->state != UOP_READY)
            return;
        uint8_t before = p->units[uop->unit];
        if (n == p->issue || used[uop->unit] >= before) {
            insn_at(p, key >> 3)->timing->events |= HP_TIMING_UNIT_BUSY;
            return;
        }
        if (!issue(p, key, uop))
            return;
        used[uop->unit] = (uint8_t)(used[uop->unit] + (p->units[uop->unit] == before));
        p->in_order_at++;
    }
}

/* Marks uops that became ready in this cycle and were not issued; older ones have the event
 * already. */
static void mark_passed_over(struct hp_pipe *p)
{
    for (uint32_t i = 0; i < p->n_arrived; i++)
        if (uop_at(p, p->arrived[i])->state == UOP_READY)
            insn_at(p, p->arrived[i] >> 3)->timing->events |= HP_TIMING_UNIT_BUSY;
}

void hp_pipe_issue(struct hp_pipe *p)
{
    hp_pipe_arrive(p);
    if (p->n_held)
        release(p);
    if (p->in_order) {
        issue_in_order(p);
    } else if (p->kinds) {
        issue_oldest(p);
        if (p->kinds)
            mark_passed_over(p);
    }
    p->n_arrived = 0;
}
