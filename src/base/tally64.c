// SPDX-License-Identifier: MIT
#include "base/tally64.h"

#include <stdlib.h>

static struct hp_tally64_slot *place(struct hp_tally64_slot *slots, size_t n, uint64_t key)
{
    size_t i = hp_hash64(key) & (n - 1);
    while (slots[i].key != HP_TALLY64_NONE && slots[i].key != key)
        i = (i + 1) & (n - 1);
    return &slots[i];
}

static bool grow(struct hp_tally64 *t)
{
    size_t n = t->n_slots ? 2 * t->n_slots : 64;
    struct hp_tally64_slot *slots = malloc(n * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < n; i++)
        slots[i].key = HP_TALLY64_NONE;
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].key != HP_TALLY64_NONE)
            *place(slots, n, t->slots[i].key) = t->slots[i];
    free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    return true;
}

uint64_t *hp_tally64_add(struct hp_tally64 *t, uint64_t key)
{
    uint64_t *known = hp_tally64_get(t, key);
    if (known)
        return known;
    if (t->used * 2 >= t->n_slots && !grow(t))
        return NULL;
    struct hp_tally64_slot *slot = place(t->slots, t->n_slots, key);
    *slot = (struct hp_tally64_slot){.key = key};
    t->used++;
    return &slot->count;
}

/* All slots from a key's home to the key are in use, so both can still be found. */
bool hp_tally64_count_far(struct hp_tally64 *t, struct hp_tally64_slot *home, uint64_t key)
{
    uint64_t *count = hp_tally64_get(t, key);
    if (!count)
        return false;
    if (++*count > home->count) {
        struct hp_tally64_slot *slot = place(t->slots, t->n_slots, key), kept = *home;
        *home = *slot;
        *slot = kept;
    }
    return true;
}

void hp_tally64_fini(struct hp_tally64 *t)
{
    free(t->slots);
    *t = (struct hp_tally64){0};
}
