// SPDX-License-Identifier: MIT
/* The hot spot detector, one branch at a time: docs/hotspots.md, "Exact rules". */
#include "profiler/hotspot/detector.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

/* --- The buffer ------------------------------------------------------------------------------- */

void hp_hotspots_clear(struct hp_hotspots *h)
{
    memset(h->entries, 0, h->config.entries * sizeof *h->entries);
    h->detect = h->detect_max;
    h->refresh_left = h->config.refresh ? h->config.refresh : UINT64_MAX;
    h->reset_left = h->config.reset ? h->config.reset : UINT64_MAX;
    h->density.samples = h->density.insns = 0;
}

static bool is_candidate(const struct hp_hotspots *h, const struct hp_spot_entry *entry)
{
    return entry->executed >= h->config.candidate;
}

static void drop_others(struct hp_hotspots *h)
{
    for (uint32_t i = 0; i < h->config.entries; i++)
        if (!is_candidate(h, &h->entries[i]))
            h->entries[i].executed = 0;
}

/* The way for a new branch; NULL: all are candidates. */
static struct hp_spot_entry *find_victim(const struct hp_hotspots *h, struct hp_spot_entry *set)
{
    struct hp_spot_entry *victim = NULL;
    for (uint32_t i = 0; i < h->config.ways; i++) {
        if (is_candidate(h, &set[i]))
            continue;
        if (!victim || set[i].executed < victim->executed)
            victim = &set[i]; /* an empty one has executed 0 */
    }
    return victim;
}

bool hp_hotspots_miss(struct hp_hotspots *h, struct hp_spot_entry *set, uint64_t address,
                      uint64_t part, uint8_t flow, bool taken)
{
    struct hp_spot_entry *entry = find_victim(h, set);
    h->stats.misses++;
    if (!entry) {
        h->stats.rejected++;
        return false;
    }
    *entry = (struct hp_spot_entry){.address = address, .executed = 1, .taken = taken};
    h->flows[entry - h->entries] = flow;
    if (h->parts)
        h->parts[entry - h->entries] = part;
    return is_candidate(h, entry);
}

struct hp_spot_entry *hp_hotspots_find(const struct hp_hotspots *h, struct hp_spot_entry *set,
                                       uint64_t address, uint64_t part)
{
    for (uint32_t i = 0; i < h->config.ways; i++)
        if (set[i].executed && set[i].address == address &&
            (!h->parts || h->parts[&set[i] - h->entries] == part))
            return &set[i];
    return NULL;
}

/* Counts the branch in its entry. Returns whether it is a candidate. */
static bool profile(struct hp_hotspots *h, const struct hp_branch *branch)
{
    uint64_t part = hp_hotspots_part(h, branch->target, branch->taken);
    struct hp_spot_entry *set = hp_hotspots_set(h, branch->address, part);
    struct hp_spot_entry *entry = hp_hotspots_find(h, set, branch->address, part);
    if (!entry)
        return hp_hotspots_miss(h, set, branch->address, part, branch->flow, branch->taken);
    h->stats.hits++;
    if (entry->executed < h->counter_max) {
        entry->executed++;
        entry->taken += branch->taken;
    }
    return is_candidate(h, entry);
}

/* --- Ownership of the buffer ------------------------------------------------------------------ */

void hp_hotspots_pass_on(struct hp_hotspots *h)
{
    size_t at = 0;
    struct hp_spot_process *before = h->owner;
    while (at < h->n_processes && h->processes[at] != before)
        at++;
    h->owner = NULL;
    for (size_t i = 1; i <= h->n_processes && !h->owner; i++) {
        struct hp_spot_process *next = h->processes[(at + i) % h->n_processes];
        if (next->on)
            h->owner = next;
    }
    h->stats.passed_on += h->owner && h->owner != before;
    hp_hotspots_clear(h);
}

static void switch_on(struct hp_hotspots *h, struct hp_spot_process *p)
{
    p->on = true;
    if (h->owner)
        return;
    h->owner = p;
    hp_hotspots_clear(h);
}

static void switch_off(struct hp_hotspots *h, struct hp_spot_process *p)
{
    p->on = false;
    if (h->owner == p && h->config.rule != HP_RULE_DENSITY)
        hp_hotspots_pass_on(h);
}

struct hp_spot_process *hp_hotspots_process(struct hp_hotspots *h, uint32_t number)
{
    if (h->latest && h->latest->number == number)
        return h->latest;
    uint32_t index = hp_map64_get(&h->process_of, number);
    if (index != HP_MAP64_NONE)
        return h->latest = h->processes[index];
    struct hp_spot_process *p = calloc(1, sizeof *p);
    if (!p ||
        hp_grow(&h->processes, &h->cap_processes, h->n_processes + 1, sizeof *h->processes) !=
            HP_OK ||
        hp_map64_put(&h->process_of, number, (uint32_t)h->n_processes) != HP_OK) {
        free(p);
        h->failed = true;
        return NULL;
    }
    p->number = number;
    p->own.owner = h->next_owner++;
    p->counter = h->monitor_max;
    h->processes[h->n_processes++] = p;
    switch_on(h, p);
    return h->latest = p;
}

/* --- Rules ------------------------------------------------------------------------------------ */

void hp_hotspots_watch(struct hp_hotspots *h, struct hp_spot_process *p,
                       enum hp_monitor_level level)
{
    if (!h->config.monitor)
        return;
    if (level != HP_MONITOR_NOT) {
        h->stats.monitor_hits[level == HP_MONITOR_RANGE]++;
        p->counter -= (int32_t)h->config.monitor_down;
        if (p->counter > 0)
            return;
        p->counter = 0;
        h->stats.switched_off += p->on;
        if (p->on)
            switch_off(h, p);
        return;
    }
    p->counter += (int32_t)h->config.monitor_up;
    if (p->counter < h->monitor_max)
        return;
    p->counter = h->monitor_max;
    h->stats.switched_on += !p->on;
    if (!p->on)
        switch_on(h, p);
}

/* Copies the candidates; returns their number. */
static size_t copy_candidates(struct hp_hotspots *h, uint32_t candidate)
{
    size_t n = 0;
    for (uint32_t i = 0; i < h->config.entries; i++) {
        const struct hp_spot_entry *entry = &h->entries[i];
        if (entry->executed < candidate)
            continue;
        h->candidates[n] = (struct hp_hotspot_branch){
            .address = entry->address,
            .target = h->config.index == HP_INDEX_TARGET ? h->parts[i] : 0,
            .executed = entry->executed,
            .taken = entry->taken,
            .flow = h->flows[i]};
        h->addresses[n++] = entry->address;
    }
    return n;
}

void hp_hotspots_detect(struct hp_hotspots *h, struct hp_spot_process *p, uint32_t candidate)
{
    struct hp_hotspot found = {.number = (uint32_t)h->stats.detections,
                               .process = p->number,
                               .branches = h->stats.branches,
                               .candidates = h->candidates,
                               .n_candidates = copy_candidates(h, candidate)};
    if (h->config.monitor &&
        hp_monitor_add(&h->monitor, &p->own, h->addresses, found.n_candidates) != HP_OK)
        h->failed = true;
    struct hp_hotspot_stats *stats = &h->stats;
    if (stats->monitored < h->monitor.n_branches)
        stats->monitored = h->monitor.n_branches;
    if (stats->monitored_ranges < h->monitor.n_ranges)
        stats->monitored_ranges = h->monitor.n_ranges;
    stats->monitor_full = h->monitor.full;
    stats->detections++;
    if (h->handler && !h->failed)
        h->handler(h->context, &found);
}

/* Rule 6. */
static void count_time(struct hp_hotspots *h)
{
    h->refresh_left--;
    h->reset_left--;
    if (h->reset_left == 0) {
        h->stats.resets++;
        hp_hotspots_pass_on(h);
    } else if (h->refresh_left == 0) {
        h->stats.refreshes++;
        h->refresh_left = h->config.refresh;
        drop_others(h);
    }
}

void hp_hotspots_retire(struct hp_hotspots *h, struct hp_spot_process *p,
                        const struct hp_branch *branch, enum hp_monitor_level level)
{
    h->stats.branches++;
    if (h->config.rule == HP_RULE_DENSITY) {
        hp_density_retire(h, p, branch, level);
        return;
    }
    hp_hotspots_watch(h, p, level);
    if (h->owner != p || h->failed)
        return;
    h->stats.profiled++;
    if (profile(h, branch))
        h->detect -= (int32_t)h->config.down;
    else
        h->detect += (int32_t)h->config.up;
    if (h->detect > h->detect_max)
        h->detect = h->detect_max;
    if (h->detect > 0) {
        count_time(h);
        return;
    }
    hp_hotspots_detect(h, p, h->config.candidate);
    hp_hotspots_pass_on(h);
}

void hp_hotspots_branch(struct hp_hotspots *h, uint32_t process, const struct hp_branch *branch)
{
    struct hp_spot_process *p;
    if (!hp_hotspots_profiles(&h->config, branch->flow) || !(p = hp_hotspots_process(h, process)))
        return;
    hp_hotspots_retire(h, p, branch,
                       h->config.monitor ? hp_monitor_find(&h->monitor, &p->own, branch->address)
                                         : HP_MONITOR_NOT);
}

void hp_hotspots_end(struct hp_hotspots *h, uint32_t process)
{
    uint32_t index = hp_map64_get(&h->process_of, process);
    if (index == HP_MAP64_NONE)
        return;
    struct hp_spot_process *p = h->processes[index];
    p->on = false;
    if (h->owner == p)
        hp_hotspots_pass_on(h);
    hp_monitor_remove(&h->monitor, &p->own);
    h->n_processes--;
    memmove(&h->processes[index], &h->processes[index + 1],
            (h->n_processes - index) * sizeof *h->processes);
    h->latest = NULL;
    free(p);
    hp_map64_fini(&h->process_of); /* a map cannot remove one */
    for (size_t i = 0; i < h->n_processes; i++)
        if (hp_map64_put(&h->process_of, h->processes[i]->number, (uint32_t)i) != HP_OK)
            h->failed = true;
}

/* --- Creating one ----------------------------------------------------------------------------- */

static enum hp_err allocate(struct hp_hotspots *h)
{
    size_t n = h->config.entries;
    h->entries = calloc(n, sizeof *h->entries);
    h->flows = calloc(n, sizeof *h->flows);
    h->candidates = calloc(n, sizeof *h->candidates);
    h->addresses = calloc(n, sizeof *h->addresses);
    if (h->config.index != HP_INDEX_ADDRESS)
        h->parts = calloc(n, sizeof *h->parts);
    if (!h->entries || !h->flows || !h->candidates || !h->addresses ||
        (h->config.index != HP_INDEX_ADDRESS && !h->parts))
        return hp_fail_nomem();
    HP_TRY(hp_density_init(&h->density, &h->config));
    return hp_monitor_init(&h->monitor, &h->config);
}

enum hp_err hp_hotspots_new(const struct hp_hotspot_config *config, hp_hotspot_handler handler,
                            void *context, struct hp_hotspots **hotspots)
{
    HP_TRY(hp_hotspot_config_check(config));
    struct hp_hotspots *h = calloc(1, sizeof *h);
    if (!h)
        return hp_fail_nomem();
    h->config = *config;
    if (config->shift == HP_HOTSPOT_SHIFT_ARCH)
        h->config.shift = 0;
    h->handler = handler;
    h->context = context;
    h->set_mask = config->entries / config->ways - 1;
    h->counter_max = (1u << config->counter_bits) - 1;
    h->detect_max = (int32_t)((1u << config->detect_bits) - 1);
    h->monitor_max = (int32_t)((1u << config->monitor_bits) - 1);
    enum hp_err err = allocate(h);
    if (err != HP_OK) {
        hp_hotspots_free(h);
        return err;
    }
    hp_hotspots_clear(h);
    *hotspots = h;
    return HP_OK;
}

void hp_hotspots_free(struct hp_hotspots *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < h->n_processes; i++) {
        hp_map64_fini(&h->processes[i]->own.branches);
        free(h->processes[i]);
    }
    free(h->processes);
    hp_map64_fini(&h->process_of);
    hp_monitor_fini(&h->monitor);
    hp_density_fini(&h->density);
    free(h->entries);
    free(h->parts);
    free(h->flows);
    free(h->candidates);
    free(h->addresses);
    free(h);
}

const struct hp_hotspot_stats *hp_hotspots_stats(const struct hp_hotspots *h)
{
    return &h->stats;
}

enum hp_err hp_hotspots_check(const struct hp_hotspots *h)
{
    return h->failed ? hp_fail(HP_ERR_NOMEM, "hot spots: out of memory while detecting") : HP_OK;
}
