// SPDX-License-Identifier: MIT
#include "profiler/exact/covers.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void hp_covers_fini(struct hp_covers *c)
{
    free(c->sets);
    free(c->sites);
    free(c->next);
    hp_map64_fini(&c->of);
    hp_map64_fini(&c->extended);
    *c = (struct hp_covers){0};
}

static uint64_t hash_sites(const uint32_t *sites, uint32_t n)
{
    uint64_t hash = n;
    for (uint32_t i = 0; i < n; i++)
        hash = hp_hash64(hash + sites[i]);
    return hash;
}

/* The set of the `n` sites stored after all others; 0: no room for it. */
static uint32_t intern(struct hp_covers *c, uint32_t n)
{
    const uint32_t *sites = c->sites + c->n_sites;
    uint64_t hash = hash_sites(sites, n);
    uint32_t newest = hp_map64_get(&c->of, hash);
    for (uint32_t i = newest; i != HP_MAP64_NONE; i = c->next[i - 1])
        if (c->sets[i - 1].n == n &&
            memcmp(c->sites + c->sets[i - 1].first, sites, n * sizeof *sites) == 0)
            return i;
    if (c->n >= HP_COVERS_MAX ||
        hp_grow(&c->sets, &c->cap_sets, c->n + 1, sizeof *c->sets) != HP_OK ||
        hp_grow(&c->next, &c->cap_next, c->n + 1, sizeof *c->next) != HP_OK ||
        hp_map64_put(&c->of, hash, (uint32_t)c->n + 1) != HP_OK)
        return 0;
    c->sets[c->n] = (struct hp_cover){(uint32_t)c->n_sites, n};
    c->next[c->n++] = newest;
    c->n_sites += n;
    return (uint32_t)c->n;
}

static uint32_t add_site(struct hp_covers *c, uint32_t cover, uint32_t site)
{
    uint32_t n = cover ? c->sets[cover - 1].n : 0, i = 0;
    if (c->n >= HP_COVERS_MAX ||
        hp_grow(&c->sites, &c->cap_sites, c->n_sites + n + 1, sizeof *c->sites) != HP_OK)
        return cover;
    const uint32_t *old = cover ? c->sites + c->sets[cover - 1].first : NULL;
    uint32_t *sites = c->sites + c->n_sites;
    for (; i < n && old[i] < site; i++)
        sites[i] = old[i];
    if (i < n && old[i] == site)
        return cover;
    sites[i] = site;
    for (; i < n; i++)
        sites[i + 1] = old[i];
    uint32_t extended = intern(c, n + 1);
    return extended ? extended : cover;
}

uint32_t hp_covers_extend(struct hp_covers *c, uint32_t cover, uint32_t site)
{
    uint64_t key = (uint64_t)cover << 32 | site;
    uint32_t found = hp_map64_get(&c->extended, key);
    if (found != HP_MAP64_NONE)
        return found;
    found = add_site(c, cover, site);
    if (hp_map64_put(&c->extended, key, found) != HP_OK)
        return found; /* only slower without it */
    return found;
}
