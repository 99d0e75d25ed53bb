// SPDX-License-Identifier: MIT
#include "profiler/hotspot/counts.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define EXECUTED_BITS 16

bool hp_spot_counts_fits(const struct hp_hotspot_config *config)
{
    return config->index == HP_INDEX_ADDRESS && config->rule == HP_RULE_COUNTER &&
           config->counter_bits <= EXECUTED_BITS;
}

void hp_spot_counts_fini(struct hp_spot_counts *n)
{
    hp_map64_fini(&n->numbers);
    free(n->branches);
    free(n->counters);
    free(n->places);
    free(n->ways);
    free(n->fresh);
    *n = (struct hp_spot_counts){0};
}

uint32_t hp_spot_counts_add(struct hp_spot_counts *n, const struct hp_spot_branch *branch)
{
    uint32_t number = hp_map64_get(&n->numbers, branch->address);
    if (number != HP_MAP64_NONE)
        return number;
    if (n->n == 0)
        n->n = 1; /* number 0 is no branch */
    if (hp_grow(&n->branches, &n->cap, n->n + 1, sizeof *n->branches) != HP_OK ||
        hp_grow(&n->counters, &n->cap_counters, n->n + 1, sizeof *n->counters) != HP_OK ||
        hp_grow(&n->places, &n->cap_places, n->n + 1, sizeof *n->places) != HP_OK ||
        hp_map64_put(&n->numbers, branch->address, (uint32_t)n->n) != HP_OK)
        return 0;
    n->branches[n->n] = *branch;
    n->places[n->n] = branch->place;
    return (uint32_t)n->n++;
}

/* --- Here or there ---------------------------------------------------------------------------- */

static enum hp_err allocate(struct hp_spot_counts *n, uint32_t entries)
{
    if (n->ways)
        return HP_OK;
    HP_TRY(hp_new(&n->ways, entries, sizeof *n->ways));
    HP_TRY(hp_new(&n->fresh, entries, sizeof *n->fresh));
    n->entries = entries;
    return HP_OK;
}

enum hp_err hp_spot_counts_take(struct hp_spot_counts *n, struct hp_hotspots *h)
{
    if (n->of == h)
        return HP_OK;
    hp_spot_counts_give_back(n);
    HP_TRY(allocate(n, h->config.entries));
    uint32_t place = 0;
    for (uint32_t i = 0; i < n->entries; i++) {
        const struct hp_spot_entry *entry = &h->entries[i];
        if (i % h->config.ways == 0)
            place = i;
        n->ways[i] = 0;
        if (!entry->executed)
            continue;
        struct hp_spot_branch branch = {
            .address = entry->address, .place = place, .flow = h->flows[i]};
        if (!(n->ways[i] = hp_spot_counts_add(n, &branch))) {
            while (i-- > 0)
                n->counters[n->ways[i]] = 0;
            return hp_fail_nomem();
        }
        n->counters[n->ways[i]] = entry->executed | entry->taken << EXECUTED_BITS;
    }
    n->n_fresh = n->entries; /* any of them may have come since the last refresh */
    n->of = h;
    return HP_OK;
}

void hp_spot_counts_give_back(struct hp_spot_counts *n)
{
    struct hp_hotspots *h = n->of;
    if (!h)
        return;
    for (uint32_t i = 0; i < n->entries; i++) {
        uint32_t counters = n->counters[n->ways[i]];
        const struct hp_spot_branch *branch = &n->branches[n->ways[i]];
        h->entries[i] = (struct hp_spot_entry){.address = branch->address,
                                               .executed = (uint16_t)counters,
                                               .taken = counters >> EXECUTED_BITS};
        h->flows[i] = branch->flow;
    }
    for (uint32_t i = 0; i < n->entries; i++)
        n->counters[n->ways[i]] = 0;
    n->of = NULL;
}

/* --- What happens to it ----------------------------------------------------------------------- */

/* The way for a new branch: of those executed least the first. An empty one was executed 0 times, a
 * candidate more than any other. The branch itself may be in an empty one, from before it was
 * dropped: not any more. */
static inline uint32_t *find_way(const struct hp_spot_counts *n, uint32_t *set, uint32_t ways,
                                 uint32_t number, uint32_t *executed)
{
    uint32_t at = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < ways; i++) {
        uint32_t in = set[i], times = (uint16_t)n->counters[in];
        at = times < least ? i : at;
        least = times < least ? times : least;
        set[i] = in == number ? 0 : in;
    }
    *executed = least;
    return &set[at];
}

void hp_spot_counts_miss(struct hp_spot_counts *n, uint32_t number, bool taken)
{
    struct hp_hotspots *h = n->of;
    const uint32_t ways = h->config.ways;
    uint32_t *set = &n->ways[n->places[number]], executed;
    uint32_t *way = ways == 2 ? find_way(n, set, 2, number, &executed)
                              : find_way(n, set, ways, number, &executed);
    h->stats.misses++;
    if (executed >= h->config.candidate) {
        h->stats.rejected++;
        return;
    }
    n->counters[*way] = 0;
    *way = number;
    n->counters[number] = 1 | (uint32_t)taken << EXECUTED_BITS;
    if (n->n_fresh < n->entries)
        n->fresh[n->n_fresh++] = number;
}

void hp_spot_counts_refresh(struct hp_spot_counts *n)
{
    const bool all = n->n_fresh == n->entries; /* or more */
    const uint32_t *numbers = all ? n->ways : n->fresh;
    const uint32_t candidate = n->of->config.candidate;
    for (size_t i = 0; i < n->n_fresh; i++) {
        uint32_t counters = n->counters[numbers[i]];
        n->counters[numbers[i]] = (uint16_t)counters < candidate ? 0 : counters;
    }
    n->n_fresh = 0;
}

static void clear(struct hp_spot_counts *n)
{
    for (uint32_t i = 0; i < n->entries; i++)
        n->counters[n->ways[i]] = 0;
    memset(n->ways, 0, n->entries * sizeof *n->ways);
    n->n_fresh = 0;
}

void hp_spot_counts_time(struct hp_spot_counts *n)
{
    struct hp_hotspots *h = n->of;
    h->refresh_left--;
    h->reset_left--;
    if (h->reset_left == 0) {
        h->stats.resets++;
        clear(n);
        hp_hotspots_pass_on(h);
    } else if (h->refresh_left == 0) {
        h->stats.refreshes++;
        h->refresh_left = h->config.refresh;
        hp_spot_counts_refresh(n);
    }
}
