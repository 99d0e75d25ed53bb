// SPDX-License-Identifier: MIT
#include "import/hops.h"

#include "base/base.h"

#define FIRST_SLOTS 64
#define CHUNK       (UINT32_C(1) << 18) /* steps */
#define NO_STEP     UINT32_MAX          /* behind the last one of a chunk */

struct hp_import_hop_slot *hp_hops_slot(const struct hp_import_hops *h, uint64_t before,
                                        uint64_t from, uint64_t to)
{
    struct hp_import_hop_slot *home = hp_hops_home(h, before, from, to), *slot = home;
    while (slot->hop != UINT32_MAX && !hp_hops_is(slot, before, from, to))
        if (++slot == h->slots + h->n_slots)
            slot = h->slots;
    if (slot->hop == UINT32_MAX || slot->count <= home->count)
        return slot;
    struct hp_import_hop_slot kept = *home; /* all from its home to here are in use */
    *home = *slot;
    *slot = kept;
    return home;
}

enum hp_err hp_hops_room(struct hp_import_hops *h)
{
    if (2 * (h->used + 1) <= h->n_slots)
        return HP_OK;
    struct hp_import_hops more = {.n_slots = h->n_slots ? 2 * h->n_slots : FIRST_SLOTS,
                                  .used = h->used};
    more.shift = 64 - (unsigned)__builtin_ctzll(more.n_slots);
    HP_TRY(hp_new(&more.slots, more.n_slots, sizeof *more.slots));
    for (size_t i = 0; i < more.n_slots; i++)
        more.slots[i].hop = UINT32_MAX;
    for (size_t i = 0; i < h->n_slots; i++) {
        const struct hp_import_hop_slot *slot = &h->slots[i];
        if (slot->hop != UINT32_MAX)
            *hp_hops_slot(&more, slot->before, slot->from, slot->to) = *slot;
    }
    free(h->slots);
    *h = more;
    return HP_OK;
}

void hp_hops_fini(struct hp_import_hops *h)
{
    free(h->slots);
}

enum hp_err hp_steps_room(struct hp_import_steps *s, size_t n)
{
    if ((size_t)(s->end - s->at) > n)
        return HP_OK;
    if (s->at)
        *s->at = NO_STEP;
    HP_TRY(hp_grow(&s->chunks, &s->cap_chunks, s->n_chunks + 1, sizeof *s->chunks));
    uint32_t *chunk = malloc(CHUNK * sizeof *chunk);
    if (!chunk)
        return hp_fail_nomem();
    s->chunks[s->n_chunks++] = chunk;
    s->at = chunk;
    s->end = chunk + CHUNK;
    return HP_OK;
}

void hp_steps_fini(struct hp_import_steps *s)
{
    for (size_t i = 0; i < s->n_chunks; i++)
        free(s->chunks[i]);
    free(s->chunks);
}

bool hp_steps_next(const struct hp_import_steps *s, struct hp_import_stretch *stretch)
{
    const uint32_t *at = stretch->next;
    if (!at && s->n_chunks)
        at = s->chunks[0];
    if (at && at != s->at && *at == NO_STEP)
        at = s->chunks[++stretch->chunk];
    if (!at || at == s->at)
        return false;
    stretch->hops = at;
    stretch->sample += (*at & HP_HOP_FIRST) != 0;
    do
        at++;
    while (at != s->at && !(*at & HP_HOP_BEGINS));
    stretch->n = (size_t)(at - stretch->hops);
    stretch->next = at;
    return true;
}
