// SPDX-License-Identifier: MIT
#include "profiler/hotspot/pairs.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PLACES 64

static uint32_t *find_place(const struct hp_spot_pairs *s, uint64_t branch, uint64_t target)
{
    size_t i = hp_hash64(branch ^ hp_hash64(target)) & s->mask;
    for (;; i = (i + 1) & s->mask) {
        uint32_t index = s->places[i];
        if (!index ||
            (s->pairs[index - 1].branch == branch && s->pairs[index - 1].target == target))
            return &s->places[i];
    }
}

/* Doubles the table. */
static enum hp_err grow_places(struct hp_spot_pairs *s)
{
    size_t n = s->places ? 2 * (s->mask + 1) : FIRST_PLACES;
    uint32_t *places = calloc(n, sizeof *places);
    if (!places)
        return hp_fail_nomem();
    free(s->places);
    s->places = places;
    s->mask = n - 1;
    for (size_t i = 0; i < s->n; i++)
        *find_place(s, s->pairs[i].branch, s->pairs[i].target) = (uint32_t)(i + 1);
    return HP_OK;
}

enum hp_err hp_spot_pairs_add(struct hp_spot_pairs *s, uint64_t branch, uint64_t target)
{
    if (!s->places || 2 * s->n > s->mask)
        HP_TRY(grow_places(s));
    uint32_t *place = find_place(s, branch, target);
    if (!*place) {
        HP_TRY(hp_grow(&s->pairs, &s->cap, s->n + 1, sizeof *s->pairs));
        uint32_t before = hp_map64_get(&s->latest, branch);
        HP_TRY(hp_map64_put(&s->latest, branch, (uint32_t)s->n));
        s->pairs[s->n++] = (struct hp_spot_pair){
            .branch = branch, .target = target, .before = before == HP_MAP64_NONE ? 0 : before + 1};
        *place = (uint32_t)s->n;
    }
    *hp_spot_pairs_recent(s, branch, target) = s->pairs[*place - 1];
    return HP_OK;
}

enum hp_err hp_spot_pairs_cut(struct hp_spot_pairs *s, size_t n)
{
    if (n == s->n)
        return HP_OK;
    s->n = n;
    memset(s->recent, 0, sizeof s->recent);
    memset(s->places, 0, (s->mask + 1) * sizeof *s->places);
    hp_map64_fini(&s->latest);
    for (size_t i = 0; i < n; i++) {
        *find_place(s, s->pairs[i].branch, s->pairs[i].target) = (uint32_t)(i + 1);
        HP_TRY(hp_map64_put(&s->latest, s->pairs[i].branch, (uint32_t)i));
    }
    return HP_OK;
}

void hp_spot_pairs_fini(struct hp_spot_pairs *s)
{
    free(s->pairs);
    free(s->places);
    hp_map64_fini(&s->latest);
}
