// SPDX-License-Identifier: MIT
#include "hotspot_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    bool used, candidate;
    uint64_t address, part; /* part: direction or target, 0 by address */
    uint32_t executed, taken;
    uint8_t flow;
};

/* In the monitor table. */
struct known {
    uint64_t address;
    uint32_t process;
};

struct range {
    uint64_t first, last;
    uint32_t process;
};

struct task {
    uint32_t number;
    int64_t counter;
    bool on;
};

struct hotspot_reference {
    struct hp_hotspot_config config;
    uint64_t sets;
    struct line *lines; /* the ways of a set side by side */
    int64_t detect;
    uint64_t refresh, reset; /* branches counted */
    struct task *tasks;      /* in the order of their first branches */
    size_t n_tasks;
    int owner;           /* task, or -1 */
    struct known *known; /* sorted by process, then address */
    size_t n_known;
    struct range *ranges;
    size_t n_ranges;
    struct reference_spot *spots;
    size_t n_spots;
    /* rule=density */
    uint8_t *map;
    uint32_t set; /* bits of the map */
    uint64_t random, wait, period;
    uint64_t samples, insns;
    struct hp_hotspot_stats stats;
};

static void *grown(void *array, size_t n, size_t size)
{
    void *new = realloc(array, (n ? n : 1) * size);
    if (!new) {
        fprintf(stderr, "hotspot_reference: out of memory\n");
        exit(2);
    }
    return new;
}

static int64_t highest(uint32_t bits)
{
    return ((int64_t)1 << bits) - 1;
}

static uint32_t shift_of(const struct hotspot_reference *r)
{
    return r->config.shift == HP_HOTSPOT_SHIFT_ARCH ? 0 : r->config.shift;
}

static void clear(struct hotspot_reference *r)
{
    for (size_t i = 0; i < r->config.entries; i++)
        r->lines[i] = (struct line){0};
    r->detect = highest(r->config.detect_bits);
    r->refresh = r->reset = 0;
    r->samples = r->insns = 0;
}

struct hotspot_reference *hotspot_reference_new(const struct hp_hotspot_config *config)
{
    struct hotspot_reference *r = grown(NULL, 1, sizeof *r);
    *r = (struct hotspot_reference){.config = *config, .owner = -1};
    r->sets = config->entries / config->ways;
    r->lines = grown(NULL, config->entries, sizeof *r->lines);
    r->map = grown(NULL, (size_t)1 << config->map_bits, 1);
    memset(r->map, 0, (size_t)1 << config->map_bits);
    r->random = 88172645463325252u;
    r->wait = r->period = 1;
    clear(r);
    return r;
}

void hotspot_reference_free(struct hotspot_reference *r)
{
    for (size_t i = 0; i < r->n_spots; i++)
        free(r->spots[i].candidates);
    free(r->spots);
    free(r->lines);
    free(r->map);
    free(r->tasks);
    free(r->known);
    free(r->ranges);
    free(r);
}

bool hotspot_reference_profiles(const struct hp_hotspot_config *config, uint8_t flow)
{
    if (flow == HP_FLOW_JUMP || flow == HP_FLOW_CALL)
        return !config->conditional_indirect;
    return flow == HP_FLOW_COND || flow == HP_FLOW_JUMP_IND || flow == HP_FLOW_CALL_IND ||
           flow == HP_FLOW_RETURN;
}

/* --- Processes -------------------------------------------------------------------------------- */

static void give_away(struct hotspot_reference *r)
{
    int before = r->owner, n = (int)r->n_tasks;
    r->owner = -1;
    for (int i = 1; i <= n && r->owner < 0; i++)
        if (r->tasks[(before + i) % n].on)
            r->owner = (before + i) % n;
    if (r->owner >= 0 && r->owner != before)
        r->stats.passed_on++;
    clear(r);
}

static void switch_on(struct hotspot_reference *r, int task)
{
    r->tasks[task].on = true;
    if (r->owner >= 0)
        return;
    r->owner = task;
    clear(r);
}

static void switch_off(struct hotspot_reference *r, int task)
{
    r->tasks[task].on = false;
    if (r->owner == task && r->config.rule == HP_RULE_COUNTER)
        give_away(r);
}

static int find_task(const struct hotspot_reference *r, uint32_t process)
{
    for (size_t i = 0; i < r->n_tasks; i++)
        if (r->tasks[i].number == process)
            return (int)i;
    return -1;
}

bool hotspot_reference_owns(const struct hotspot_reference *r, uint32_t process)
{
    int task = find_task(r, process);
    return task >= 0 && task == r->owner && (r->config.rule == HP_RULE_COUNTER || r->wait == 1);
}

void hotspot_reference_end(struct hotspot_reference *r, uint32_t process)
{
    int task = find_task(r, process);
    if (task < 0)
        return;
    r->tasks[task].on = false;
    if (r->owner == task)
        give_away(r);
    for (size_t i = (size_t)task; i + 1 < r->n_tasks; i++)
        r->tasks[i] = r->tasks[i + 1];
    r->n_tasks--;
    if (r->owner > task)
        r->owner--;
    size_t n = 0;
    for (size_t i = 0; i < r->n_known; i++)
        if (r->known[i].process != process)
            r->known[n++] = r->known[i];
    r->n_known = n;
    n = 0;
    for (size_t i = 0; i < r->n_ranges; i++)
        if (r->ranges[i].process != process)
            r->ranges[n++] = r->ranges[i];
    r->n_ranges = n;
}

/* --- The monitor table ------------------------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool in_ranges(const struct hotspot_reference *r, uint32_t process, uint64_t address)
{
    for (size_t i = 0; i < r->n_ranges; i++)
        if (r->ranges[i].process == process && r->ranges[i].first <= address &&
            address <= r->ranges[i].last)
            return true;
    return false;
}

static bool in_branches(const struct hotspot_reference *r, uint32_t process, uint64_t address)
{
    struct known key = {.address = address, .process = process};
    return r->n_known && bsearch(&key, r->known, r->n_known, sizeof key, by_place);
}

static void know_branch(struct hotspot_reference *r, uint32_t process, uint64_t address)
{
    uint64_t sets = r->config.monitor_entries / r->config.monitor_ways, in_set = 0;
    if (r->config.monitor_entries) {
        for (size_t i = 0; i < r->n_known; i++)
            in_set +=
                (r->known[i].address >> shift_of(r)) % sets == (address >> shift_of(r)) % sets;
        if (in_set == r->config.monitor_ways) {
            r->stats.monitor_full++;
            return;
        }
    }
    r->known = grown(r->known, r->n_known + 1, sizeof *r->known);
    r->known[r->n_known++] = (struct known){.address = address, .process = process};
    qsort(r->known, r->n_known, sizeof *r->known, by_place);
}

/* The distance of two spans; 0: they overlap. */
static uint64_t distance(uint64_t first, uint64_t last, uint64_t other_first, uint64_t other_last)
{
    if (last < other_first)
        return other_first - last;
    return other_last < first ? first - other_last : 0;
}

/* A cluster of `n` addresses. */
static void know_cluster(struct hotspot_reference *r, uint32_t process, const uint64_t *addresses,
                         size_t n)
{
    uint64_t first = addresses[0], last = addresses[n - 1];
    for (size_t i = 0; i < r->n_ranges; i++) {
        struct range *range = &r->ranges[i];
        if (range->process != process ||
            distance(first, last, range->first, range->last) > r->config.range_gap)
            continue;
        if (first < range->first)
            range->first = first;
        if (last > range->last)
            range->last = last;
        return;
    }
    if (n >= 3 && r->n_ranges < r->config.ranges) {
        r->ranges = grown(r->ranges, r->n_ranges + 1, sizeof *r->ranges);
        r->ranges[r->n_ranges++] = (struct range){first, last, process};
        return;
    }
    for (size_t i = 0; i < n; i++)
        know_branch(r, process, addresses[i]);
}

/* Removes the largest cluster until there is none: clusters are far apart, so removing one does not
 * change the others. */
static void know_clusters(struct hotspot_reference *r, uint32_t process, uint64_t *addresses,
                          size_t n)
{
    while (n) {
        size_t best = 0, best_n = 0;
        for (size_t i = 0, k; i < n; i = k) {
            for (k = i + 1; k < n && addresses[k] - addresses[k - 1] <= r->config.range_gap; k++)
                ;
            if (k - i > best_n) {
                best = i;
                best_n = k - i;
            }
        }
        know_cluster(r, process, addresses + best, best_n);
        memmove(addresses + best, addresses + best + best_n,
                (n - best - best_n) * sizeof *addresses);
        n -= best_n;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void know_spot(struct hotspot_reference *r, const struct reference_spot *spot)
{
    uint64_t *addresses = grown(NULL, spot->n_candidates, sizeof *addresses);
    size_t n = 0;
    for (size_t i = 0; i < spot->n_candidates; i++) {
        uint64_t address = spot->candidates[i].address;
        bool twice = false;
        for (size_t k = 0; k < n; k++)
            twice = twice || addresses[k] == address;
        if (!twice && !in_ranges(r, spot->process, address) &&
            !in_branches(r, spot->process, address))
            addresses[n++] = address;
    }
    qsort(addresses, n, sizeof *addresses, by_value);
    if (r->config.ranges)
        know_clusters(r, spot->process, addresses, n);
    else
        for (size_t i = 0; i < n; i++)
            know_branch(r, spot->process, addresses[i]);
    free(addresses);
    if (r->stats.monitored < r->n_known)
        r->stats.monitored = r->n_known;
    if (r->stats.monitored_ranges < r->n_ranges)
        r->stats.monitored_ranges = r->n_ranges;
}

/* --- The rules -------------------------------------------------------------------------------- */

/* 1 */
static void monitor(struct hotspot_reference *r, int task, uint64_t address)
{
    struct task *t = &r->tasks[task];
    bool range = in_ranges(r, t->number, address);
    bool branch = !range && in_branches(r, t->number, address);
    r->stats.monitor_hits[0] += branch;
    r->stats.monitor_hits[1] += range;
    t->counter += range || branch ? -(int64_t)r->config.monitor_down : r->config.monitor_up;
    if (t->counter > highest(r->config.monitor_bits))
        t->counter = highest(r->config.monitor_bits);
    if (t->counter < 0)
        t->counter = 0;
    if (t->counter == 0 && t->on) {
        r->stats.switched_off++;
        switch_off(r, task);
    } else if (t->counter == highest(r->config.monitor_bits) && !t->on) {
        r->stats.switched_on++;
        switch_on(r, task);
    }
}

/* 3: the line of the branch, NULL when it has none. */
static struct line *look_up(struct hotspot_reference *r, const struct hp_branch *branch)
{
    uint64_t part = 0, index = branch->address >> shift_of(r);
    if (r->config.index == HP_INDEX_DIRECTION) {
        part = branch->taken;
        index ^= part;
    } else if (r->config.index == HP_INDEX_TARGET) {
        part = branch->target;
        index ^= part >> shift_of(r);
    }
    struct line *set = &r->lines[index % r->sets * r->config.ways], *line = NULL;
    for (uint32_t i = 0; i < r->config.ways; i++)
        if (set[i].used && set[i].address == branch->address && set[i].part == part) {
            r->stats.hits++;
            if (set[i].executed < highest(r->config.counter_bits)) {
                set[i].executed++;
                set[i].taken += branch->taken;
            }
            return &set[i];
        }
    r->stats.misses++;
    for (uint32_t i = 0; i < r->config.ways && !line; i++)
        if (!set[i].used)
            line = &set[i];
    for (uint32_t i = 0; i < r->config.ways && (!line || line->used); i++)
        if (!set[i].candidate && (!line || set[i].executed < line->executed))
            line = &set[i];
    if (!line) {
        r->stats.rejected++;
        return NULL;
    }
    *line = (struct line){.used = true,
                          .address = branch->address,
                          .part = part,
                          .executed = 1,
                          .taken = branch->taken,
                          .flow = branch->flow};
    return line;
}

/* 5 */
static void detect(struct hotspot_reference *r)
{
    r->spots = grown(r->spots, r->n_spots + 1, sizeof *r->spots);
    struct reference_spot *spot = &r->spots[r->n_spots++];
    *spot = (struct reference_spot){.process = r->tasks[r->owner].number,
                                    .branches = r->stats.branches};
    spot->candidates = grown(NULL, r->config.entries, sizeof *spot->candidates);
    for (size_t i = 0; i < r->config.entries; i++) {
        const struct line *line = &r->lines[i];
        if (!line->candidate)
            continue;
        spot->candidates[spot->n_candidates++] = (struct hp_hotspot_branch){
            .address = line->address,
            .target = r->config.index == HP_INDEX_TARGET ? line->part : 0,
            .executed = line->executed,
            .taken = line->taken,
            .flow = line->flow};
    }
    spot->candidates = grown(spot->candidates, spot->n_candidates, sizeof *spot->candidates);
    if (r->config.monitor)
        know_spot(r, spot);
    r->stats.detections++;
}

/* 6 */
static void run_timers(struct hotspot_reference *r)
{
    r->refresh++;
    r->reset++;
    if (r->config.reset && r->reset == r->config.reset) {
        r->stats.resets++;
        give_away(r);
    } else if (r->config.refresh && r->refresh == r->config.refresh) {
        r->stats.refreshes++;
        r->refresh = 0;
        for (size_t i = 0; i < r->config.entries; i++)
            if (!r->lines[i].candidate)
                r->lines[i] = (struct line){0};
    }
}

/* --- Density ---------------------------------------------------------------------------------- */

static uint64_t draw(struct hotspot_reference *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    r->random ^= r->random << 17;
    return r->random >> 32;
}

/* The address is hashed as in the library. */
static void mark(struct hotspot_reference *r, uint64_t address)
{
    uint64_t hash = (address ^ address >> 32) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    uint8_t *bit = &r->map[(hash >> 32) % ((uint64_t)1 << r->config.map_bits)];
    if (hash % ((uint64_t)1 << r->config.map_share) || *bit)
        return;
    *bit = 1;
    r->set++;
}

/* Instructions of the code that was executed. */
static uint64_t code_size(const struct hotspot_reference *r)
{
    uint64_t size = (uint64_t)1 << r->config.map_bits, sum = 0;
    for (uint32_t i = 0; i < r->set; i++)
        sum += size * 256 / (size - i);
    return 5 * ((sum << r->config.map_share) / 256 + 1);
}

/* Too high for any counter: 0. */
static uint64_t threshold(const struct hotspot_reference *r)
{
    uint64_t patience = 1000000 * (uint64_t)r->config.patience;
    uint64_t late = (uint64_t)((unsigned __int128)patience * r->samples / (r->stats.branches + 1));
    uint64_t whole = 10 * code_size(r);
    uint64_t t =
        (uint64_t)(((unsigned __int128)r->config.density * (r->insns + late) + whole - 1) / whole);
    if ((int64_t)t > highest(r->config.counter_bits))
        return 0;
    return t < 4 ? 4 : t;
}

static void admit(struct hotspot_reference *r, const struct hp_branch *branch)
{
    uint64_t part = 0, index = branch->address >> shift_of(r);
    if (r->config.index == HP_INDEX_DIRECTION)
        index ^= part = branch->taken;
    if (r->config.index == HP_INDEX_TARGET)
        index ^= (part = branch->target) >> shift_of(r);
    struct line *set = &r->lines[index % r->sets * r->config.ways], *line = NULL, *least = set;
    for (uint32_t i = 0; i < r->config.ways; i++) {
        if (set[i].used && set[i].address == branch->address && set[i].part == part)
            line = &set[i];
        if (set[i].executed < least->executed)
            least = &set[i];
    }
    r->stats.profiled++;
    r->stats.hits += line != NULL;
    r->stats.misses += line == NULL;
    if (!line) {
        uint64_t chance = 1; /* 1 in that many */
        while (2 * chance <= least->executed + 1u)
            chance *= 2;
        if (least->executed && draw(r) % chance) {
            r->stats.rejected++;
            return;
        }
        line = least;
        line->used = true;
        line->address = branch->address;
        line->part = part;
        line->flow = branch->flow;
        line->taken = branch->taken ? line->executed : 0;
    }
    if (line->executed < highest(r->config.counter_bits)) {
        line->executed++;
        line->taken += branch->taken;
    }
}

/* Whether there is a hot spot. */
static bool look(struct hotspot_reference *r)
{
    uint64_t least = threshold(r), sum = 0;
    uint32_t process = r->tasks[r->owner].number;
    r->stats.refreshes++;
    for (size_t i = 0; i < r->config.entries; i++) {
        r->lines[i].candidate = least && r->lines[i].executed >= least;
        sum += r->lines[i].candidate ? r->lines[i].executed : 0;
    }
    if (sum == 0 || sum * 1024 < r->config.gain * r->samples)
        return false;
    detect(r);
    for (size_t i = 0; i < r->config.entries; i++) {
        struct line *line = &r->lines[i];
        if (line->candidate || (line->used && (in_ranges(r, process, line->address) ||
                                               in_branches(r, process, line->address))))
            *line = (struct line){0};
    }
    return true;
}

static void age(struct hotspot_reference *r)
{
    for (size_t i = 0; i < r->config.entries; i++) {
        r->lines[i].executed /= 4;
        r->lines[i].taken /= 4;
        r->lines[i].used = r->lines[i].executed > 0;
    }
    r->samples /= 4;
    r->insns /= 4;
    r->reset /= 4;
    r->stats.resets++;
    if (r->period < 1u << 24)
        r->period *= 2;
    for (size_t i = 0; i < r->n_tasks; i++)
        if (r->tasks[i].on && (int)i != r->owner) {
            give_away(r);
            return;
        }
}

static bool sample(struct hotspot_reference *r, int task, const struct hp_branch *branch)
{
    bool known = in_ranges(r, r->tasks[task].number, branch->address) ||
                 in_branches(r, r->tasks[task].number, branch->address);
    bool found = false;
    mark(r, branch->address);
    if (r->owner != task || --r->wait)
        return false;
    r->wait = 1 + 2 * (draw(r) / 2 % r->period);
    r->samples++;
    r->insns += branch->insns ? branch->insns : 5;
    if (r->tasks[task].on && !known)
        admit(r, branch);
    r->refresh++;
    r->reset++;
    if (r->refresh == r->config.refresh) {
        r->refresh = 0;
        found = look(r);
    }
    if (r->reset == r->config.reset)
        age(r);
    return found;
}

bool hotspot_reference_branch(struct hotspot_reference *r, uint32_t process,
                              const struct hp_branch *branch)
{
    if (!hotspot_reference_profiles(&r->config, branch->flow))
        return false;
    int task = find_task(r, process);
    if (task < 0) {
        task = (int)r->n_tasks;
        r->tasks = grown(r->tasks, r->n_tasks + 1, sizeof *r->tasks);
        r->tasks[r->n_tasks++] =
            (struct task){.number = process, .counter = highest(r->config.monitor_bits)};
        switch_on(r, task);
    }
    r->stats.branches++;
    if (r->config.monitor)
        monitor(r, task, branch->address);
    if (r->config.rule == HP_RULE_DENSITY)
        return sample(r, task, branch);
    if (r->owner != task)
        return false;
    r->stats.profiled++;
    struct line *line = look_up(r, branch);
    if (line && line->executed >= r->config.candidate)
        line->candidate = true;
    r->detect += line && line->candidate ? -(int64_t)r->config.down : r->config.up;
    if (r->detect > highest(r->config.detect_bits))
        r->detect = highest(r->config.detect_bits);
    if (r->detect <= 0) {
        detect(r);
        give_away(r);
        return true;
    }
    run_timers(r);
    return false;
}

const struct hp_hotspot_stats *hotspot_reference_stats(const struct hotspot_reference *r)
{
    return &r->stats;
}

const struct reference_spot *hotspot_reference_spots(const struct hotspot_reference *r, size_t *n)
{
    *n = r->n_spots;
    return r->spots;
}
