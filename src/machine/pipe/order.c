// SPDX-License-Identifier: MIT
/*
 * The order of loads and stores (rule 9): store forwarding, and loads that were issued too early.
 * Loads and stores of the right path in the reorder buffer are two rings, in program order. The
 * range of one that has not been issued is empty, so it overlaps nothing.
 */
#include "machine/pipe/pipe_impl.h"

static struct pipe_store *store_at(struct hp_pipe *p, uint32_t position)
{
    return &p->stores[position & p->order_mask];
}

static struct pipe_load *load_at(struct hp_pipe *p, uint32_t position)
{
    return &p->loads[position & p->order_mask];
}

/* Whether position a is before b. */
static inline bool before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

void hp_pipe_order_map(struct hp_pipe *p, struct pipe_insn *insn)
{
    for (unsigned i = 0; i < insn->shape.n_loads; i++)
        *load_at(p, p->loads_tail++) = (struct pipe_load){.first = UINT64_MAX};
    for (unsigned i = 0; i < insn->shape.n_stores; i++)
        *store_at(p, p->stores_tail++) = (struct pipe_store){
            .first = UINT64_MAX, .loads = p->loads_tail, .waiting = PIPE_NO_LINK};
}

/* --- Loads ------------------------------------------------------------------------------------ */

/* The youngest store before position `from` that overlaps; NULL: none does. */
static struct pipe_store *youngest(struct hp_pipe *p, uint32_t from, uint64_t first, uint64_t last,
                                   uint32_t *position)
{
    for (uint32_t at = from; at != p->stores_head;) {
        struct pipe_store *store = store_at(p, --at);
        if (store->first <= last && first <= store->last) {
            *position = at;
            return store;
        }
    }
    return NULL;
}

enum order hp_pipe_order_load(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn,
                              const struct pipe_suop *uop)
{
    if (!(insn->shape.flags & INSN_RIGHT) || !(insn->known >> uop->operand & 1) || !uop->access)
        return ORDER_CACHE;
    if (p->notes[insn->insn].period == p->now / PIPE_PERIOD + 1 &&
        before(p->stores_unissued, insn->stores)) {
        p->for_all_stores = hp_pipe_link(p, key, p->for_all_stores);
        return ORDER_ASLEEP;
    }
    struct pipe_load *load = load_at(p, insn->loads + (uint32_t)(key & 7));
    uint64_t first = insn->address[uop->operand], last = hp_operand_last(first, uop->size);
    uint32_t position = 0;
    struct pipe_store *store = youngest(p, insn->stores, first, last, &position);
    if (store && (store->first > first || store->last < last)) {
        store->waiting = hp_pipe_link(p, key, store->waiting);
        return ORDER_ASLEEP;
    }
    *load = (struct pipe_load){
        .first = first, .last = last, .at = key >> 3, .from = position, .forwarded = store};
    if (!store)
        return ORDER_CACHE;
    insn->timing->events |= HP_TIMING_FORWARDED;
    p->stats.forwards++;
    return ORDER_FORWARD;
}

/* --- Stores ----------------------------------------------------------------------------------- */

/* Wakes loads whose older stores have all been issued. */
static void wake_for_all(struct hp_pipe *p)
{
    uint32_t *at = &p->for_all_stores;
    while (*at != PIPE_NO_LINK) {
        uint64_t key = p->links[*at].key;
        if (before(p->stores_unissued, insn_at(p, key >> 3)->stores)) {
            at = &p->links[*at].next;
            continue;
        }
        hp_pipe_make_ready(p, key);
        *at = hp_pipe_unlink(p, *at);
    }
}

/* Finds the oldest younger load that overlaps the store and took its value from before it: it was
 * issued too early. */
static void look_for_early(struct hp_pipe *p, const struct pipe_store *store, uint32_t position)
{
    for (uint32_t at = store->loads; at != p->loads_tail; at++) {
        const struct pipe_load *load = load_at(p, at);
        if (load->first > store->last || store->first > load->last)
            continue;
        if (load->forwarded && before(position, load->from))
            continue;
        if (!p->trap_at || load->at < p->trap_at)
            p->trap_at = load->at;
        p->trap_in = p->now + 1;
        return;
    }
}

void hp_pipe_order_store(struct hp_pipe *p, uint64_t key, struct pipe_insn *insn,
                         const struct pipe_suop *uop)
{
    if (!(insn->shape.flags & INSN_RIGHT))
        return;
    uint32_t index = (uint32_t)(key & 7) - (insn->shape.n_uops - (uint32_t)insn->shape.n_stores);
    uint32_t position = insn->stores + index;
    struct pipe_store *store = store_at(p, position);
    store->issued = true;
    while (p->stores_unissued != p->stores_tail && store_at(p, p->stores_unissued)->issued)
        p->stores_unissued++;
    if (p->for_all_stores != PIPE_NO_LINK)
        wake_for_all(p);
    if (!(insn->known >> uop->operand & 1))
        return;
    store->first = insn->address[uop->operand];
    store->last = hp_operand_last(store->first, uop->size);
    look_for_early(p, store, position);
}

/* --- Leaving ---------------------------------------------------------------------------------- */

void hp_pipe_order_retire(struct hp_pipe *p, const struct pipe_insn *insn)
{
    for (unsigned i = 0; i < insn->shape.n_stores; i++)
        hp_pipe_wake(p, store_at(p, p->stores_head++)->waiting);
    p->loads_head += insn->shape.n_loads;
}

/* Removes the loads from `key` on from a list. */
static void drop(struct hp_pipe *p, uint32_t *list, uint64_t key)
{
    while (*list != PIPE_NO_LINK) {
        if (p->links[*list].key >= key)
            *list = hp_pipe_unlink(p, *list);
        else
            list = &p->links[*list].next;
    }
}

void hp_pipe_order_abort(struct hp_pipe *p, uint64_t position)
{
    const struct pipe_insn *insn = insn_at(p, position);
    for (uint32_t at = insn->stores; at != p->stores_tail; at++)
        hp_pipe_unlink_all(p, store_at(p, at)->waiting);
    p->stores_tail = insn->stores;
    p->loads_tail = insn->loads;
    if (before(p->stores_tail, p->stores_unissued))
        p->stores_unissued = p->stores_tail;
    for (uint32_t at = p->stores_head; at != p->stores_tail; at++)
        drop(p, &store_at(p, at)->waiting, position << 3);
    drop(p, &p->for_all_stores, position << 3);
}
