// SPDX-License-Identifier: MIT
/*
 * Waiting and being ready: links, the wheel, the ready lists.
 */
#include "machine/pipe/pipe_impl.h"

#include "base/grow.h"

/* --- Links ------------------------------------------------------------------------------------ */

uint32_t hp_pipe_link(struct hp_pipe *p, uint32_t uop, uint32_t timing, uint32_t next)
{
    uint32_t link = p->free_link;
    if (link != PIPE_NO_LINK) {
        p->free_link = p->links[link].next;
    } else {
        enum hp_err err =
            hp_grow(&p->links, &p->cap_links, (size_t)p->n_links + 1, sizeof *p->links);
        if (err == HP_OK)
            err = hp_grow(&p->far_when, &p->cap_far, p->cap_links, sizeof *p->far_when);
        if (err != HP_OK) {
            p->error = err;
            return next;
        }
        link = p->n_links++;
    }
    p->links[link] = (struct pipe_link){.uop = uop, .timing = timing, .next = next};
    return link;
}

static inline uint32_t unlink_first(struct hp_pipe *p, uint32_t link)
{
    uint32_t next = p->links[link].next;
    p->links[link].next = p->free_link;
    p->free_link = link;
    return next;
}

void hp_pipe_unlink_all(struct hp_pipe *p, uint32_t list)
{
    while (list != PIPE_NO_LINK)
        list = unlink_first(p, list);
}

uint64_t hp_pipe_link_key(struct hp_pipe *p, const struct pipe_link *link)
{
    uint32_t place = link->uop >> 3;
    if (p->flight[place].timing != link->timing)
        return 0;
    uint64_t position = p->head + ((place - p->head) & p->mask);
    return position << 3 | (link->uop & 7);
}

/* --- The wheel -------------------------------------------------------------------------------- */

static void put_in_wheel(struct hp_pipe *p, uint32_t link, uint64_t cycle)
{
    uint32_t bucket = cycle % PIPE_WHEEL;
    p->links[link].next = p->wheel[bucket];
    p->wheel[bucket] = link;
    p->wheel_bits[bucket / 64] |= (uint64_t)1 << bucket % 64;
}

static void put_far(struct hp_pipe *p, uint32_t link, uint64_t cycle)
{
    p->links[link].next = p->far;
    p->far_when[link] = cycle;
    p->far = link;
    if (cycle < p->far_first)
        p->far_first = cycle;
}

/* cycle: after this one. */
void hp_pipe_schedule(struct hp_pipe *p, uint64_t key, uint64_t cycle)
{
    uint32_t uop = (uint32_t)(key & ((uint64_t)p->mask << 3 | 7));
    uint32_t link = hp_pipe_link(p, uop, p->flight[uop >> 3].timing, PIPE_NO_LINK);
    if (link == PIPE_NO_LINK)
        return;
    if (cycle - p->now < PIPE_WHEEL)
        put_in_wheel(p, link, cycle);
    else
        put_far(p, link, cycle);
}

static void bring_nearer(struct hp_pipe *p)
{
    uint32_t link = p->far;
    p->far = PIPE_NO_LINK;
    p->far_first = PIPE_NEVER;
    while (link != PIPE_NO_LINK) {
        uint32_t next = p->links[link].next;
        if (p->far_when[link] - p->now < PIPE_WHEEL)
            put_in_wheel(p, link, p->far_when[link]);
        else
            put_far(p, link, p->far_when[link]);
        link = next;
    }
}

void hp_pipe_arrive(struct hp_pipe *p)
{
    if (p->far_first < p->now + PIPE_WHEEL)
        bring_nearer(p);
    uint32_t bucket = p->now % PIPE_WHEEL;
    uint32_t list = p->wheel[bucket];
    if (list == PIPE_NO_LINK)
        return;
    p->wheel[bucket] = PIPE_NO_LINK;
    p->wheel_bits[bucket / 64] &= ~((uint64_t)1 << bucket % 64);
    hp_pipe_wake(p, list);
}

uint64_t hp_pipe_next_arrival(struct hp_pipe *p)
{
    uint32_t start = (p->now + 1) % PIPE_WHEEL;
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

/* --- Ready ------------------------------------------------------------------------------------ */

/* Mostly it is the youngest. */
static void insert(struct hp_pipe *p, struct pipe_ready *ready, uint64_t key)
{
    uint32_t mask = p->ready_mask, i = ready->first + ready->n;
    for (; i != ready->first && ready->keys[(i - 1) & mask] > key; i--)
        ready->keys[i & mask] = ready->keys[(i - 1) & mask];
    ready->keys[i & mask] = key;
    ready->n++;
}

void hp_pipe_make_ready(struct hp_pipe *p, uint64_t key)
{
    struct pipe_uop *uop = uop_at(p, key);
    unsigned unit = p->uops[insn_at(p, key >> 3)->uops + (key & 7)].unit;
    uop->state = UOP_READY;
    p->arrived[p->n_arrived++] = (uint32_t)(key & ((uint64_t)p->mask << 3 | 7));
    if (p->in_order)
        return;
    insert(p, &p->ready[unit], key);
    p->kinds |= 1u << unit;
}

void hp_pipe_wake(struct hp_pipe *p, uint32_t list)
{
    while (list != PIPE_NO_LINK) {
        uint64_t key = hp_pipe_link_key(p, &p->links[list]);
        if (key)
            hp_pipe_make_ready(p, key);
        list = unlink_first(p, list);
    }
}

void hp_pipe_drop_ready(struct hp_pipe *p, uint64_t position)
{
    for (unsigned kind = 0; kind < HP_UNITS; kind++) {
        struct pipe_ready *ready = &p->ready[kind];
        while (ready->n && ready->keys[(ready->first + ready->n - 1) & p->ready_mask] >= position
                                                                                             << 3)
            ready->n--;
        if (!ready->n)
            p->kinds &= ~(1u << kind);
    }
}
