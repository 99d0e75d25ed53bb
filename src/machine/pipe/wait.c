// SPDX-License-Identifier: MIT
/*
 * Waiting and being ready: links, the wheel, the ready lists.
 */
#include "machine/pipe/pipe_impl.h"

#include "base/grow.h"

/* --- Links ------------------------------------------------------------------------------------ */

uint32_t hp_pipe_new_link(struct hp_pipe *p)
{
    enum hp_err err = hp_grow(&p->links, &p->cap_links, (size_t)p->n_links + 1, sizeof *p->links);
    if (err != HP_OK) {
        p->error = err;
        return PIPE_NO_LINK;
    }
    return p->n_links++;
}

void hp_pipe_unlink_all(struct hp_pipe *p, uint32_t list)
{
    while (list != PIPE_NO_LINK)
        list = hp_pipe_unlink(p, list);
}

/* Lists have the youngest first: aborted uops are at their heads. */
void hp_pipe_drop_waiting(struct hp_pipe *p, uint64_t position)
{
    for (uint64_t at = p->head; at < position; at++) {
        const struct pipe_insn *insn = insn_at(p, at);
        if (!insn->unissued)
            continue;
        for (unsigned i = 0; i < insn->shape.n_uops; i++) {
            struct pipe_uop *uop = uop_at(p, at << 3 | i);
            while (uop->waiting != PIPE_NO_LINK && p->links[uop->waiting].key >= position << 3)
                uop->waiting = hp_pipe_unlink(p, uop->waiting);
        }
    }
}

/* --- Ready ------------------------------------------------------------------------------------ */

/* Usually it is the youngest. */
static inline void insert(struct hp_pipe *p, struct pipe_ready *ready, uint64_t key)
{
    uint32_t mask = p->ready_mask, i = ready->first + ready->n++;
    for (; i != ready->first && ready->keys[(i - 1) & mask] > key; i--)
        ready->keys[i & mask] = ready->keys[(i - 1) & mask];
    ready->keys[i & mask] = key;
}

static inline void make_ready(struct hp_pipe *p, uint64_t key, struct pipe_uop *uop)
{
    uop->state = UOP_READY;
    p->arrived[p->n_arrived++] = key;
    if (p->in_order)
        return;
    insert(p, &p->ready[uop->unit], key);
    p->kinds |= 1u << uop->unit;
}

void hp_pipe_make_ready(struct hp_pipe *p, uint64_t key)
{
    make_ready(p, key, uop_at(p, key));
}

void hp_pipe_wake(struct hp_pipe *p, uint32_t list)
{
    for (; list != PIPE_NO_LINK; list = hp_pipe_unlink(p, list))
        hp_pipe_make_ready(p, p->links[list].key);
}

void hp_pipe_drop_ready(struct hp_pipe *p, uint64_t position)
{
    for (uint32_t kinds = p->kinds; kinds; kinds &= kinds - 1) {
        unsigned kind = (unsigned)__builtin_ctz(kinds);
        struct pipe_ready *ready = &p->ready[kind];
        while (ready->n && ready->keys[(ready->first + ready->n - 1) & p->ready_mask] >= position
                                                                                             << 3)
            ready->n--;
        if (!ready->n)
            p->kinds &= ~(1u << kind);
    }
}

/* --- The wheel -------------------------------------------------------------------------------- */

static void put_near(struct hp_pipe *p, uint32_t link, uint64_t cycle)
{
    uint32_t bucket = cycle % PIPE_WHEEL;
    p->links[link].next = p->wheel[bucket];
    p->wheel[bucket] = link;
    p->wheel_bits[bucket / 64] |= (uint64_t)1 << bucket % 64;
}

static void put_far(struct hp_pipe *p, uint32_t link, uint64_t cycle)
{
    p->links[link].next = p->far;
    p->far = link;
    if (cycle < p->far_first)
        p->far_first = cycle;
}

void hp_pipe_put_in_wheel(struct hp_pipe *p, uint64_t key, uint64_t cycle)
{
    uint32_t link = hp_pipe_link(p, key, PIPE_NO_LINK);
    if (link == PIPE_NO_LINK)
        return;
    if (cycle - p->now < PIPE_WHEEL)
        put_near(p, link, cycle);
    else
        put_far(p, link, cycle);
}

static inline bool is_waiting(struct hp_pipe *p, uint64_t key, const struct pipe_uop *uop)
{
    return key >> 3 >= p->head && key >> 3 < p->mapped && uop->state == UOP_WAITING &&
           !uop->pending;
}

/* Moves what is near enough by now into the wheel. */
static void bring_nearer(struct hp_pipe *p)
{
    uint32_t link = p->far;
    p->far = PIPE_NO_LINK;
    p->far_first = PIPE_NEVER;
    while (link != PIPE_NO_LINK) {
        uint64_t key = p->links[link].key;
        const struct pipe_uop *uop = uop_at(p, key);
        uint32_t next = p->links[link].next;
        if (!is_waiting(p, key, uop) || uop->ready < p->now)
            hp_pipe_unlink(p, link);
        else if (uop->ready - p->now < PIPE_WHEEL)
            put_near(p, link, uop->ready);
        else
            put_far(p, link, uop->ready);
        link = next;
    }
}

static inline void arrive(struct hp_pipe *p, uint64_t key)
{
    struct pipe_uop *uop = uop_at(p, key);
    if (is_waiting(p, key, uop) && uop->ready == p->now)
        make_ready(p, key, uop);
}

void hp_pipe_arrive(struct hp_pipe *p)
{
    if (__builtin_expect(p->far_first < p->now + PIPE_WHEEL, 0))
        bring_nearer(p);
    for (uint32_t i = 0; i < p->n_soon; i++)
        arrive(p, p->soon[i]);
    p->n_soon = 0;
    uint32_t bucket = p->now % PIPE_WHEEL;
    uint32_t list = p->wheel[bucket];
    if (list == PIPE_NO_LINK)
        return;
    p->wheel[bucket] = PIPE_NO_LINK;
    p->wheel_bits[bucket / 64] &= ~((uint64_t)1 << bucket % 64);
    for (; list != PIPE_NO_LINK; list = hp_pipe_unlink(p, list))
        arrive(p, p->links[list].key);
}

uint64_t hp_pipe_next_arrival(struct hp_pipe *p)
{
    uint32_t start = (p->now + 1) % PIPE_WHEEL;
    if (p->n_soon)
        return p->now + 1;
    for (uint32_t i = 0; i <= PIPE_WHEEL / 64; i++) {
        uint32_t word = (start / 64 + i) % (PIPE_WHEEL / 64);
        uint64_t bits = p->wheel_bits[word];
        if (i == 0)
            bits &= ~(uint64_t)0 << start % 64;
        if (i == PIPE_WHEEL / 64)
            bits &= ((uint64_t)1 << start % 64) - 1;
        if (bits) {
            uint32_t bucket = word * 64 + (uint32_t)__builtin_ctzll(bits);
            return p->now + 1 + (bucket - start) % PIPE_WHEEL;
        }
    }
    return p->far_first;
}
