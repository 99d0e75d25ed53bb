// SPDX-License-Identifier: MIT
/*
 * Hot spot detection by units: the same as hp_hotspots_branch() for every branch. A unit inside
 * which something may happen (a detection, a timer, a switch, the end of a slice) is recognized in
 * advance, conservatively, and run block by block.
 */
#include "base/grow.h"
#include "profiler/hotspot/profiler_impl.h"

#include <string.h>

#define ALWAYS_INLINE  static inline __attribute__((always_inline))
#define AHEAD          8          /* units that are prefetched */
#define COPIED         8          /* branches of a unit, at once */
#define MOST_UNFLUSHED (1u << 31) /* units: their counts have 32 bits */
#define BY_ADDRESS     2048 /* units after one that was run block by block: taking a buffer is dear */

/* --- What units do ---------------------------------------------------------------------------- */

static enum hp_monitor_level level_of(const struct hp_spots_process *p, uint64_t address)
{
    return p->detector->config.monitor
               ? hp_monitor_find(&p->detector->monitor, &p->state->own, address)
               : HP_MONITOR_NOT;
}

/* As counted in a profile. */
static bool is_branch(uint8_t flow)
{
    return flow != HP_FLOW_NONE && flow != HP_FLOW_SYSCALL && flow != HP_FLOW_TRAP;
}

/* Counts the executed blocks and branches for the running thread. */
static void count_sizes(struct hp_spots_process *p, uint64_t sizes)
{
    p->thread->branches += (sizes >> 20) & 0xfffff;
    p->thread->blocks += sizes >> 40;
}

/* The number of a block's branch; 0: out of memory. */
static uint32_t number_of(struct hp_spots *spots, uint32_t block)
{
    const struct hp_spots_block *b = &spots->plan[block];
    struct hp_spot_branch branch = {.address = b->last, .place = b->place, .flow = b->flow};
    if (!spots->numbers[block])
        spots->numbers[block] = hp_spot_counts_add(&spots->numbered, &branch);
    if (!spots->numbers[block])
        spots->out_of_memory = true;
    return spots->numbers[block];
}

/* The branch that is listed next is in that unit. */
static void add_use(struct hp_spots *spots, uint32_t number, uint32_t unit)
{
    uint32_t *latest = &spots->numbered.branches[number].uses;
    spots->uses[spots->n_ops] = (struct hp_spots_use){.unit = unit, .before = *latest};
    *latest = (uint32_t)spots->n_ops;
}

/* Lists the branches of a unit when it is first run; inner ones have known outcomes. */
static void list_branches(struct hp_spots *spots, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(spots->code, unit, &n);
    struct hp_spots_list list = {
        .start = spots->lists[unit].start, .first = (uint32_t)spots->n_ops, .is_listed = true};
    if (spots->n_ops == 0)
        spots->n_ops = list.first = 1; /* 0 is none */
    size_t most = spots->n_ops + n + COPIED;
    bool numbered = hp_spot_counts_fits(&spots->config);
    if (hp_grow(&spots->ops, &spots->cap_ops, most, sizeof *spots->ops) != HP_OK ||
        hp_grow(&spots->hits, &spots->cap_hits, most, sizeof *spots->hits) != HP_OK ||
        hp_grow(&spots->uses, &spots->cap_uses, most, sizeof *spots->uses) != HP_OK) {
        spots->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_spots_block *b = &spots->plan[blocks[i]];
        const struct hp_spots_block *next = i + 1 < n ? &spots->plan[blocks[i + 1]] : NULL;
        if (!b->profiled)
            continue;
        bool taken = next && next->start != b->fall;
        uint32_t number = numbered ? number_of(spots, blocks[i]) : 0;
        if (number)
            add_use(spots, number, unit);
        spots->hits[spots->n_ops] =
            (struct hp_spots_hit){.number = number, .counts = 1 | (uint32_t)taken << 16};
        spots->ops[spots->n_ops++] = (struct hp_spots_op){.address = b->last,
                                                          .target = next ? next->start : b->fall,
                                                          .place = b->place,
                                                          .flow = b->flow,
                                                          .taken = taken};
        if (!next) {
            list.open = true;
            list.falls = b->fall;
            list.computed = b->computed;
        } else {
            list.n++;
            list.has_pairs = list.has_pairs || (b->computed && !next->profiled);
        }
    }
    spots->lists[unit] = list;
}

static void work_out(struct hp_spots_process *p, uint32_t unit)
{
    if (!p->spots->lists[unit].is_listed)
        list_branches(p->spots, unit);
    const struct hp_hotspot_config *config = &p->detector->config;
    const struct hp_spots *spots = p->spots;
    struct hp_spots_unit *u = &p->units[unit];
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(spots->code, unit, &n);
    int suffix = 0, lowest = 0, highest = 0, up = 0, down = 0;
    uint32_t profiled = 0, branches = 0, insns = 0;
    *u = (struct hp_spots_unit){.count = u->count, .times = u->times};
    for (uint32_t i = n; i-- > 0;) {
        const struct hp_spots_block *block = &spots->plan[blocks[i]];
        insns += hp_code_block(spots->code, blocks[i])->insns;
        branches += is_branch(block->flow);
        if (!block->profiled)
            continue;
        profiled++;
        if (!config->monitor)
            continue;
        enum hp_monitor_level level = level_of(p, block->last);
        if (level == HP_MONITOR_RANGE)
            u->in_ranges++;
        if (level == HP_MONITOR_NOT)
            up += (int)config->monitor_up;
        else
            down += (int)config->monitor_down;
        suffix = up - down;
        lowest = suffix < lowest ? suffix : lowest;
        highest = suffix > highest ? suffix : highest;
    }
    u->sizes = hp_spots_sizes(profiled, branches, n);
    u->insns = insns;
    u->has_pairs = spots->lists[unit].has_pairs;
    u->computed = spots->lists[unit].computed;
    u->is_profiled = spots->plan[*blocks].profiled;
    u->net = (int16_t)suffix;
    u->lowest = (int16_t)lowest;
    u->highest = (int16_t)highest;
    u->up = (int16_t)up;
    u->down = (int16_t)down;
}

/* Whether a branch of the unit is not in the map of addresses: then it must be retired
 * separately. */
static bool is_new_code(const struct hp_spots_process *p, uint32_t unit)
{
    const struct hp_hotspots *h = p->detector;
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(p->spots->code, unit, &n);
    for (uint32_t i = 0; i < n && h->config.rule == HP_RULE_DENSITY; i++) {
        const struct hp_spots_block *block = &p->spots->plan[blocks[i]];
        if (block->profiled && !hp_density_knows(&h->density, block->last))
            return true;
    }
    return false;
}

void hp_spots_flush(struct hp_spots_process *p)
{
    struct hp_hotspot_stats *stats = &p->detector->stats;
    for (size_t i = 0; i < p->n_active; i++) {
        struct hp_spots_unit *u = &p->units[p->active[i]];
        uint32_t n;
        const uint32_t *blocks = hp_code_unit(p->spots->code, p->active[i], &n);
        for (uint32_t k = 0; k < n; k++)
            p->counts[blocks[k]] += u->count;
        stats->monitor_hits[0] +=
            (uint64_t)u->count *
            ((uint32_t)u->down / p->detector->config.monitor_down - u->in_ranges);
        stats->monitor_hits[1] += (uint64_t)u->count * u->in_ranges;
        u->count = 0;
    }
    p->n_active = 0;
    p->unflushed = 0;
}

void hp_spots_forget(struct hp_spots_process *p, const struct hp_hotspot_branch *branches, size_t n)
{
    const struct hp_spots *spots = p->spots;
    /* With ranges, other branches are found, too. */
    const bool all = !hp_spot_counts_fits(&spots->config) || spots->config.ranges;
    hp_spots_flush(p);
    for (size_t i = 0; i < p->n_units && all; i++)
        p->units[i].insns = 0;
    for (size_t i = 0; i < n && !all; i++) {
        uint32_t number = hp_map64_get(&spots->numbered.numbers, branches[i].address);
        uint32_t at = number == HP_MAP64_NONE ? 0 : spots->numbered.branches[number].uses;
        for (; at; at = spots->uses[at].before)
            if (spots->uses[at].unit < p->n_units)
                p->units[spots->uses[at].unit].insns = 0;
    }
}

/* How many branches can be retired before a sample is taken from the process that owns the
 * buffer. */
static uint64_t until_sample(const struct hp_spots_process *p)
{
    const struct hp_hotspots *h = p->detector;
    return h->config.rule == HP_RULE_DENSITY && h->owner == p->state ? h->density.left - 1
                                                                     : UINT64_MAX;
}

/* --- Block by block --------------------------------------------------------------------------- */

/* Whether the branch switches the detector off. */
static bool switches_off(const struct hp_spots_process *p, enum hp_monitor_level level)
{
    return level != HP_MONITOR_NOT &&
           p->state->counter <= (int32_t)p->detector->config.monitor_down;
}

/* Retires a branch in the buffer that is in `numbered`; false: something may happen that needs the
 * detector. */
static bool retire_numbered(struct hp_spots_process *p, const struct hp_branch *branch,
                            uint32_t block, enum hp_monitor_level level)
{
    struct hp_spots *spots = p->spots;
    struct hp_hotspots *h = p->detector;
    if (h->owner != p->state || h->failed || h->detect <= (int32_t)h->config.down ||
        switches_off(p, level))
        return false;
    uint32_t number = number_of(spots, block);
    if (!number)
        return false;
    hp_hotspots_watch(h, p->state, level);
    struct hp_spot_counting counting = hp_spot_counts_begin(&spots->numbered);
    uint64_t misses = h->stats.misses;
    hp_spot_count(&counting, number, 1 | (uint32_t)branch->taken << 16);
    h->detect = counting.detect;
    h->stats.branches++;
    h->stats.profiled++;
    h->stats.hits += h->stats.misses == misses;
    hp_spot_counts_time(&spots->numbered);
    return true;
}

/* Whether the next branch goes to the buffer. */
static bool takes_next(const struct hp_spots_process *p)
{
    const struct hp_hotspots *h = p->detector;
    return h->owner == p->state && (h->config.rule != HP_RULE_DENSITY || h->density.left == 1);
}

/* A computed branch went to a block without a profiled branch, which may be on a way between
 * candidates. */
static __attribute__((noinline)) void note_pair(struct hp_spots_process *p, uint64_t branch,
                                                uint64_t target)
{
    const struct hp_spot_pair *recent = hp_spot_pairs_recent(&p->pairs, branch, target);
    if (recent->branch == branch && recent->target == target)
        return;
    if (hp_spot_pairs_add(&p->pairs, branch, target) != HP_OK)
        p->spots->out_of_memory = true;
}

/* Records the pairs inside a unit. */
static __attribute__((noinline)) void note_pairs(struct hp_spots_process *p, uint32_t unit)
{
    const struct hp_spots_block *plan = p->spots->plan;
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(p->spots->code, unit, &n);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (plan[blocks[i]].computed && !plan[blocks[i + 1]].profiled)
            note_pair(p, plan[blocks[i]].last, plan[blocks[i + 1]].start);
}

/* Notes the pairs of a unit while the process owns the buffer. */
ALWAYS_INLINE void note_targets(struct hp_spots_process *p, const struct hp_spots_list *list,
                                const struct hp_step *step)
{
    const struct hp_spots *spots = p->spots;
    if (__builtin_expect(list->computed && !spots->plan[step[1].first].profiled, 0))
        note_pair(p, spots->ops[list->first + list->n].address, spots->lists[step[1].unit].start);
    if (__builtin_expect(list->has_pairs, 0))
        note_pairs(p, step->unit);
}

/* The same for a block that is run ahead; false: it cannot be, and is not any more. */
static bool retire_ahead(struct hp_spots_process *p, uint32_t block, uint32_t next)
{
    struct hp_spots *spots = p->spots;
    const uint32_t unit = hp_code_unit_of_block(spots->code, block);
    const struct hp_step steps[2] = {{unit, block},
                                     {hp_code_unit_of_block(spots->code, next), next}};
    if (!p->units[unit].insns)
        work_out(p, unit);
    if (p->units[unit].down && switches_off(p, level_of(p, spots->plan[block].last))) {
        hp_spots_give_back(spots, true);
        return false;
    }
    note_targets(p, &spots->lists[unit], steps);
    return hp_spots_run_ahead(p, steps);
}

static void retire(struct hp_spots_process *p, uint32_t block, const struct hp_spots_block *next)
{
    struct hp_spots *spots = p->spots;
    const struct hp_spots_block *b = &spots->plan[block];
    if (spots->clock >= spots->slice_end)
        hp_spots_pass_slice(spots);
    if (hp_spots_is_ahead(p) && retire_ahead(p, block, (uint32_t)(next - spots->plan)))
        return;
    p->counts[block]++;
    count_sizes(p, hp_spots_sizes(0, is_branch(b->flow), 1));
    spots->clock += hp_code_block(spots->code, block)->insns;
    if (!b->profiled)
        return;
    if (!p->state && !(p->state = hp_hotspots_process(p->detector, p->number))) {
        spots->out_of_memory = true;
        return;
    }
    if (b->computed && !next->profiled && takes_next(p))
        note_pair(p, b->last, next->start);
    struct hp_branch branch = {.address = b->last,
                               .target = next->start,
                               .insns = hp_code_block(spots->code, block)->insns,
                               .flow = b->flow,
                               .taken = next->start != b->fall};
    enum hp_monitor_level level = level_of(p, b->last);
    if (spots->numbered.of == p->detector && p->detector->owner == p->state) {
        if (retire_numbered(p, &branch, block, level))
            return;
        hp_spots_give_back(spots, switches_off(p, level));
        spots->by_address = BY_ADDRESS;
    }
    hp_hotspots_retire(p->detector, p->state, &branch, level);
}

static void retire_unit(struct hp_spots_process *p, const struct hp_step *step)
{
    const struct hp_spots *spots = p->spots;
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(spots->code, step->unit, &n);
    for (uint32_t i = 0; i < n; i++)
        retire(p, blocks[i], &spots->plan[i + 1 < n ? blocks[i + 1] : step[1].first]);
}

/* Counts an execution of a unit and makes it active; branch-free. */
ALWAYS_INLINE void count_unit(struct hp_spots_process *p, struct hp_spots_unit *u, uint32_t unit,
                              size_t *active)
{
    p->active[*active] = unit; /* there is room for one more entry than units */
    *active += u->count == 0;
    u->count++;
}

/* --- The loops -------------------------------------------------------------------------------- */

static void pass_samples(struct hp_spots_process *p, uint64_t sizes)
{
    if (p->detector->config.rule == HP_RULE_DENSITY && p->detector->owner == p->state)
        hp_density_pass(&p->detector->density, hp_spots_profiled(sizes));
}

/* Runs while the buffer counts nothing: the process is off, or the buffer belongs to another one,
 * or only takes samples. Returns the first unit in which something may happen. */
ALWAYS_INLINE const struct hp_step *run_unprofiled(struct hp_spots_process *p,
                                                   const struct hp_step *step,
                                                   const struct hp_step *end, const bool off)
{
    struct hp_spots_unit *units = p->units;
    const uint64_t slice_end = p->spots->slice_end;
    const int32_t max = p->detector->monitor_max;
    int32_t counter = p->state->counter;
    uint64_t clock = p->spots->clock, sizes = 0;
    size_t active = p->n_active;
    const uint64_t most = until_sample(p);
    for (; step < end; step++) {
        struct hp_spots_unit *u = &units[step->unit];
        __builtin_prefetch(&units[(end - step > AHEAD ? step + AHEAD : end)->unit]);
        bool switches = off ? counter + u->up >= max : counter <= u->down;
        if (__builtin_expect(!u->insns || clock + u->insns > slice_end || switches ||
                                 hp_spots_profiled(sizes + u->sizes) > most,
                             0))
            break;
        count_unit(p, u, step->unit, &active);
        clock += u->insns;
        sizes += u->sizes;
        counter += u->net;
        if (off)
            counter = counter < u->highest ? u->highest : counter;
        else
            counter = counter < max + u->lowest ? counter : max + u->lowest;
    }
    p->spots->clock = clock;
    p->n_active = active;
    p->state->counter = counter;
    count_sizes(p, sizes);
    pass_samples(p, sizes);
    p->detector->stats.branches += hp_spots_profiled(sizes);
    return step;
}

static __attribute__((noinline)) const struct hp_step *
run_off(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    return run_unprofiled(p, step, end, true);
}

static __attribute__((noinline)) const struct hp_step *
run_waiting(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    return run_unprofiled(p, step, end, false);
}

/* Counts the branch in the buffer. Returns whether it is a candidate. `ways` and `by_address` are
 * the configuration's, as constants where possible. */
ALWAYS_INLINE bool count_branch(struct hp_hotspots *h, const struct hp_spots_op *op,
                                uint64_t target, bool taken, const uint32_t ways,
                                const bool by_address)
{
    uint64_t part = by_address ? 0 : hp_hotspots_part(h, target, taken);
    struct hp_spot_entry *set =
        by_address ? &h->entries[op->place] : hp_hotspots_set(h, op->address, part);
    for (uint32_t i = 0; i < ways; i++) {
        struct hp_spot_entry *entry = &set[i];
        if (entry->address != op->address || !entry->executed ||
            (!by_address && h->parts[entry - h->entries] != part))
            continue;
        if (entry->executed < h->counter_max) {
            entry->executed++;
            entry->taken += taken;
        }
        return entry->executed >= h->config.candidate;
    }
    return hp_hotspots_miss(h, set, op->address, part, op->flow, taken);
}

/* Units with branches of these sizes were profiled; there were so many `misses` before. */
static void end_profiled(struct hp_spots_process *p, uint64_t sizes, uint64_t misses)
{
    struct hp_hotspots *h = p->detector;
    const uint64_t branches = hp_spots_profiled(sizes);
    count_sizes(p, sizes);
    h->refresh_left -= branches;
    h->reset_left -= branches;
    h->stats.branches += branches;
    h->stats.profiled += branches;
    h->stats.hits += branches - (h->stats.misses - misses);
}

/* Runs while the process owns the buffer. */
ALWAYS_INLINE const struct hp_step *run_profiled(struct hp_spots_process *p,
                                                 const struct hp_step *step,
                                                 const struct hp_step *end, const uint32_t ways,
                                                 const bool by_address)
{
    struct hp_hotspots *h = p->detector;
    const struct hp_spots_block *plan = p->spots->plan;
    const struct hp_spots_list *lists = p->spots->lists;
    const struct hp_spots_op *ops = p->spots->ops;
    struct hp_spots_unit *units = p->units;
    const uint64_t slice_end = p->spots->slice_end;
    const int32_t max = h->monitor_max, detect_max = h->detect_max;
    const int32_t down = (int32_t)h->config.down, up = (int32_t)h->config.up;
    const uint64_t least = h->refresh_left < h->reset_left ? h->refresh_left : h->reset_left;
    const uint64_t misses = h->stats.misses;
    int32_t counter = p->state->counter, detect = h->detect;
    uint64_t clock = p->spots->clock, sizes = 0;
    size_t active = p->n_active;
    for (; step < end; step++) {
        struct hp_spots_unit *u = &units[step->unit];
        uint32_t ahead = (end - step > AHEAD ? step + AHEAD : end)->unit;
        __builtin_prefetch(&units[ahead]);
        __builtin_prefetch(&ops[lists[ahead].first]);
        if (__builtin_expect(!u->insns || clock + u->insns > slice_end || counter <= u->down ||
                                 detect <= (int32_t)hp_spots_profiled(u->sizes) * down ||
                                 least - hp_spots_profiled(sizes) <= hp_spots_profiled(u->sizes),
                             0))
            break;
        const struct hp_spots_list *list = &lists[step->unit];
        const struct hp_spots_op *op = &ops[list->first];
        for (uint32_t i = 0; i < list->n; i++, op++) {
            bool hit = count_branch(h, op, op->target, op->taken, ways, by_address);
            detect += hit ? -down : up;
            detect = detect < detect_max ? detect : detect_max;
        }
        if (list->open) {
            uint64_t target = lists[step[1].unit].start;
            bool hit = count_branch(h, op, target, target != op->target, ways, by_address);
            detect += hit ? -down : up;
            detect = detect < detect_max ? detect : detect_max;
            if (__builtin_expect(list->computed && !plan[step[1].first].profiled, 0))
                note_pair(p, op->address, target);
        }
        if (__builtin_expect(list->has_pairs, 0))
            note_pairs(p, step->unit);
        count_unit(p, u, step->unit, &active);
        clock += u->insns;
        sizes += u->sizes;
        counter += u->net;
        counter = counter < max + u->lowest ? counter : max + u->lowest;
    }
    p->spots->clock = clock;
    p->n_active = active;
    p->state->counter = counter;
    h->detect = detect;
    end_profiled(p, sizes, misses);
    return step;
}

static __attribute__((noinline)) const struct hp_step *
run_ways(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    return run_profiled(p, step, end, p->detector->config.ways, true);
}

static __attribute__((noinline)) const struct hp_step *
run_parts(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    return run_profiled(p, step, end, p->detector->config.ways, false);
}

/* --- Units by number -------------------------------------------------------------------------- */

/* Branches that are gathered before they are counted. The loop that counts them then does not end
 * with every unit: when it ends could not be foreseen. */
#define GATHERED 256

struct gathered {
    struct hp_spots_hit hits[GATHERED + COPIED];
    uint32_t n;
};

/* Adds the branches of a unit; there is room. */
ALWAYS_INLINE void gather(struct gathered *g, const struct hp_spots_list *list,
                          const struct hp_spots_hit *hits, uint64_t target)
{
    struct hp_spots_hit *to = &g->hits[g->n];
    uint32_t i = 0;
    do
        memcpy(&to[i], &hits[i], COPIED * sizeof *to);
    while (__builtin_expect((i += COPIED) <= list->n, 0));
    /* when the branch at the end is not profiled, the next unit's overwrite this */
    to[list->n].counts = 1 | (uint32_t)(target != list->falls) << 16;
    g->n += list->n + list->open;
}

static __attribute__((noinline)) void count_gathered(struct hp_spot_counting *counting,
                                                     struct gathered *g)
{
    struct hp_spot_counting c = *counting;
    for (const struct hp_spots_hit *hit = g->hits, *end = hit + g->n; hit < end; hit++)
        hp_spot_count(&c, hit->number, hit->counts);
    counting->detect = c.detect;
    g->n = 0;
}

/* How many branches can be counted without a detection, and before a timer is due. */
static uint32_t until_due(const struct hp_hotspots *h, int32_t detect, uint64_t counted)
{
    uint64_t timer = h->refresh_left < h->reset_left ? h->refresh_left : h->reset_left;
    uint64_t detection = (uint64_t)(detect - 1) / h->config.down;
    timer -= counted + 1;
    timer = timer < detection ? timer : detection;
    return timer < GATHERED ? (uint32_t)timer : GATHERED;
}

/* Runs while the process owns the buffer, whose contents are in `numbered`. */
static __attribute__((noinline)) const struct hp_step *
run_numbered(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    struct hp_hotspots *h = p->detector;
    const struct hp_spots_list *lists = p->spots->lists;
    const struct hp_spots_hit *hits = p->spots->hits;
    struct hp_spots_unit *units = p->units;
    const uint64_t slice_end = p->spots->slice_end, misses = h->stats.misses;
    const int32_t max = h->monitor_max;
    struct hp_spot_counting c = hp_spot_counts_begin(&p->spots->numbered);
    int32_t counter = p->state->counter;
    uint64_t clock = p->spots->clock, sizes = 0;
    size_t active = p->n_active;
    uint32_t most = until_due(h, c.detect, 0);
    struct gathered g;
    g.n = 0;
    for (; step < end; step++) {
        struct hp_spots_unit *u = &units[step->unit];
        uint32_t ahead = (end - step > AHEAD ? step + AHEAD : end)->unit;
        __builtin_prefetch(&lists[(end - step > 2 * AHEAD ? step + 2 * AHEAD : end)->unit]);
        __builtin_prefetch(&units[ahead]);
        __builtin_prefetch(&hits[lists[ahead].first]);
        if (__builtin_expect(!u->insns || clock + u->insns > slice_end || counter <= u->down, 0))
            break;
        uint32_t profiled = hp_spots_profiled(u->sizes);
        if (__builtin_expect(profiled > most, 0)) {
            count_gathered(&c, &g);
            most = until_due(h, c.detect, hp_spots_profiled(sizes));
            if (profiled > most)
                break;
        }
        most -= profiled;
        const struct hp_spots_list *list = &lists[step->unit];
        gather(&g, list, &hits[list->first], lists[step[1].unit].start);
        note_targets(p, list, step);
        count_unit(p, u, step->unit, &active);
        clock += u->insns;
        sizes += u->sizes;
        counter += u->net;
        counter = counter < max + u->lowest ? counter : max + u->lowest;
    }
    count_gathered(&c, &g);
    p->spots->clock = clock;
    p->n_active = active;
    p->state->counter = counter;
    h->detect = c.detect;
    end_profiled(p, sizes, misses);
    return step;
}

/* --- Ahead ------------------------------------------------------------------------------------ */

/* Whether note_targets() is needed; what is not known of the next unit may need it. */
ALWAYS_INLINE bool has_targets(const struct hp_spots_unit *u, const struct hp_spots_unit *next)
{
    return u->has_pairs | (u->computed & !next->is_profiled);
}

/* Runs while the process owns the buffer, and a stretch of windows has begun. */
static __attribute__((noinline)) const struct hp_step *
run_ahead(struct hp_spots_process *p, const struct hp_step *step, const struct hp_step *end)
{
    struct hp_spots *spots = p->spots;
    struct hp_spots_ahead *ahead = &spots->ahead;
    struct hp_hotspots *h = p->detector;
    struct hp_spots_unit *units = p->units;
    const struct hp_step *const from = step;
    if (!hp_spots_go_ahead(p, (size_t)(end - step)))
        return end;
    const uint64_t slice_end = spots->slice_end;
    const int32_t max = h->monitor_max;
    union hp_spot_lanes *const times = spots->windows.times;
    const uint32_t window = spots->windows.window;
    int32_t counter = p->state->counter;
    uint64_t clock = spots->clock, sizes = 0;
    uint64_t left = (h->refresh_left < h->reset_left ? h->refresh_left : h->reset_left) - 1;
    uint32_t *log = spots->windows.log + spots->windows.n_log, *recent = ahead->recent;
    size_t n_recent = ahead->n_recent;
    for (; step < end; step++) {
        struct hp_spots_unit *u = &units[step->unit];
        uint32_t later = (end - step > AHEAD ? step + AHEAD : end)->unit;
        __builtin_prefetch(&units[later]);
        __builtin_prefetch(&times[later]);
        uint32_t profiled = hp_spots_profiled(u->sizes);
        if (__builtin_expect(!u->insns || clock + u->insns > slice_end || counter <= u->down ||
                                 profiled > left,
                             0))
            break;
        *log++ = step->unit;
        times[step->unit].at[window]++;
        if (__builtin_expect(has_targets(u, &units[step[1].unit]), 0))
            note_targets(p, &spots->lists[step->unit], step);
        recent[n_recent] = step->unit;
        n_recent += u->times++ == 0;
        left -= profiled;
        clock += u->insns;
        sizes += u->sizes;
        counter += u->net;
        counter = counter < max + u->lowest ? counter : max + u->lowest;
    }
    if (step != from)
        *log++ = HP_SPOT_NEXT | step->unit;
    spots->windows.n_log = (size_t)(log - spots->windows.log);
    ahead->n_recent = n_recent;
    spots->clock = clock;
    p->state->counter = counter;
    hp_spots_ran_ahead(p, sizes);
    return step;
}

/* Whether a stretch has begun; begins one when possible. */
static bool is_ahead(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    struct hp_hotspots *h = p->detector;
    if (spots->windows.numbered)
        return hp_spots_is_ahead(p);
    bool empty = h->reset_left == h->config.reset;
    if (!spots->detector || spots->ahead.again ||
        (spots->numbered.of != h && !empty && spots->by_address) || !hp_spot_windows_may_begin(h))
        return false;
    if (hp_spot_counts_take(&spots->numbered, h) != HP_OK ||
        hp_spot_windows_begin(&spots->windows, &spots->numbered) != HP_OK)
        spots->out_of_memory = true;
    spots->ahead.from = spots->ahead.folded = 0;
    return !spots->out_of_memory;
}

/* Whether the buffer's contents are in `numbered`. */
static bool is_numbered(struct hp_spots_process *p)
{
    struct hp_spots *spots = p->spots;
    if (spots->numbered.of == p->detector)
        return true;
    if (spots->by_address || !hp_spot_counts_fits(&spots->config))
        return false;
    if (hp_spot_counts_take(&spots->numbered, p->detector) != HP_OK)
        spots->out_of_memory = true;
    return !spots->out_of_memory;
}

/* Runs by address, for some units only if the contents could be in `numbered`. */
static const struct hp_step *run_by_address(struct hp_spots_process *p, const struct hp_step *step,
                                            const struct hp_step *end)
{
    struct hp_spots *spots = p->spots;
    if (p->detector->parts)
        return run_parts(p, step, end);
    if (spots->by_address && end - step > spots->by_address)
        end = step + spots->by_address;
    const struct hp_step *to = run_ways(p, step, end);
    spots->by_address -= spots->by_address ? (uint32_t)(to - step) : 0;
    return to;
}

static const struct hp_step *run(struct hp_spots_process *p, const struct hp_step *step,
                                 const struct hp_step *end)
{
    if (!p->state->on)
        return run_off(p, step, end);
    if (p->detector->owner != p->state || p->detector->config.rule == HP_RULE_DENSITY)
        return run_waiting(p, step, end);
    if (is_ahead(p))
        return run_ahead(p, step, end);
    if (!is_numbered(p))
        return run_by_address(p, step, end);
    return run_numbered(p, step, end);
}

void hp_spots_run_units(struct hp_spots_process *p, const struct hp_step *step,
                        const struct hp_step *end)
{
    while (step < end && !p->state) /* the detector does not know it before its first branch */
        retire_unit(p, step++);
    while (step < end) {
        const struct hp_step *to = run(p, step, end);
        if (to != step) {
            step = to;
            continue;
        }
        bool known = p->units[step->unit].insns;
        if (!known)
            work_out(p, step->unit);
        if (known || is_new_code(p, step->unit))
            retire_unit(p, step++);
    }
}

void hp_spots_run(struct hp_spots_process *p, const struct hp_steps *steps)
{
    const struct hp_step *end = steps->steps + steps->n;
    if (p != p->spots->ahead.process)
        hp_spots_settle(p->spots);
    if ((p->unflushed += steps->n) > MOST_UNFLUSHED) {
        hp_spots_settle(p->spots);
        hp_spots_flush(p);
    }
    hp_spots_run_units(p, steps->steps, end);
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(steps->code, end->unit, &n);
    for (uint32_t i = 0; i + 1 < n; i++)
        retire(p, blocks[i], &p->spots->plan[blocks[i + 1]]);
}
