// SPDX-License-Identifier: MIT
#include "profiler/wpp/dictionary.h"

#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 256

enum hp_err hp_dictionary_init(struct hp_dictionary *d, size_t max_bytes)
{
    *d = (struct hp_dictionary){.mask = FIRST_PLACES - 1, .max_bytes = max_bytes};
    d->entries = calloc(FIRST_PLACES, sizeof *d->entries);
    return d->entries ? HP_OK : hp_fail_nomem();
}

void hp_dictionary_fini(struct hp_dictionary *d)
{
    free(d->entries);
    *d = (struct hp_dictionary){0};
}

static struct hp_dictionary_entry *place(const struct hp_dictionary *d,
                                         const struct hp_dictionary_entry *key)
{
    struct hp_path path = {.start = key->start,
                           .outcomes = key->outcomes,
                           .targets = key->targets,
                           .block = key->block,
                           .length = (uint8_t)key->length};
    for (size_t i = (hp_path_hash(&path) + hp_hash64(key->insns)) & d->mask;;
         i = (i + 1) & d->mask) {
        struct hp_dictionary_entry *entry = &d->entries[i];
        if (!entry->length || (entry->start == key->start && entry->outcomes == key->outcomes &&
                               entry->targets == key->targets && entry->block == key->block &&
                               entry->insns == key->insns && entry->length == key->length))
            return entry;
    }
}

/* Old and new table exist side by side for a while. */
static void make_room(struct hp_dictionary *d)
{
    size_t n = d->mask + 1;
    struct hp_dictionary old = *d;
    d->used = 0;
    d->entries =
        3 * n * sizeof *d->entries <= d->max_bytes ? calloc(2 * n, sizeof *d->entries) : NULL;
    if (!d->entries) {
        d->entries = old.entries;
        memset(d->entries, 0, n * sizeof *d->entries);
        d->forgotten++;
        return;
    }
    d->mask = 2 * n - 1;
    for (size_t i = 0; i < n; i++)
        if (old.entries[i].length) {
            *place(d, &old.entries[i]) = old.entries[i];
            d->used++;
        }
    free(old.entries);
}

uint32_t hp_dictionary_id(struct hp_dictionary *d, const struct hp_path *path)
{
    struct hp_dictionary_entry key = {.start = path->start,
                                      .outcomes = path->outcomes,
                                      .targets = path->targets,
                                      .block = path->block,
                                      .insns = path->insns,
                                      .length = path->length + 1u};
    struct hp_dictionary_entry *entry = place(d, &key);
    if (entry->length)
        return entry->id;
    if (d->used >= d->mask / 4 * 3) {
        make_room(d);
        entry = place(d, &key);
    }
    *entry = key;
    entry->id = d->next++;
    d->used++;
    return entry->id;
}
