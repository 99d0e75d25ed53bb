// SPDX-License-Identifier: MIT
#include "profiler/hotspot/windows.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define COPIED      8          /* branches of a unit, at once */
#define LONGEST     (1u << 15) /* a window; counters of 16 bits do not overflow */
#define LONGEST_LOG (1u << 20) /* entries, when it is left */

void hp_spot_windows_fini(struct hp_spot_windows *w)
{
    free(w->log);
    free(w->executed);
    free(w->sets);
    free(w->units);
    free(w->came);
    free(w->rivals);
    free(w->ends);
    free(w->of_units);
    free(w->order);
    free(w->grown);
    free(w->risen);
    *w = (struct hp_spot_windows){0};
}

/* --- Beginning -------------------------------------------------------------------------------- */

/* The most that a window, and the rest of a unit after it, take from the detection counter. */
static int64_t most_down(const struct hp_hotspot_config *config)
{
    return ((int64_t)config->refresh + HP_RUN_MAX) * config->down;
}

bool hp_spot_windows_may_begin(const struct hp_hotspots *h)
{
    return h->config.refresh && h->config.refresh <= LONGEST &&
           h->refresh_left == h->config.refresh && h->detect > most_down(&h->config) &&
           hp_spot_counts_fits(&h->config);
}

static enum hp_err allocate(struct hp_spot_windows *w, const struct hp_hotspot_config *config)
{
    size_t most = config->refresh + 1; /* branches in a window */
    HP_TRY(hp_grow(&w->came, &w->cap_came, most, sizeof *w->came));
    HP_TRY(hp_grow(&w->rivals, &w->cap_rivals, most, sizeof *w->rivals));
    HP_TRY(hp_grow(&w->order, &w->cap_order, most + COPIED, sizeof *w->order));
    if (!w->sets)
        HP_TRY(hp_new(&w->sets, config->entries, sizeof *w->sets));
    if (!w->grown)
        HP_TRY(hp_new(&w->grown, config->entries, sizeof *w->grown));
    if (!w->risen)
        HP_TRY(hp_new(&w->risen, config->entries, sizeof *w->risen));
    return HP_OK;
}

/* Of what is known now. */
static void begin_log(struct hp_spot_windows *w, const struct hp_hotspots *h)
{
    w->n_log = w->window = w->n_grown = 0;
    w->detect = h->detect;
    w->stats = h->stats;
}

static enum hp_err cover_numbers(struct hp_spot_windows *w, const struct hp_spot_counts *numbered)
{
    HP_TRY(hp_grow(&w->executed, &w->cap_executed, numbered->n + 1, sizeof *w->executed));
    for (; w->n_executed < numbered->n; w->n_executed++)
        w->executed[w->n_executed].place = numbered->places[w->n_executed];
    return HP_OK;
}

enum hp_err hp_spot_windows_begin(struct hp_spot_windows *w, struct hp_spot_counts *numbered)
{
    const struct hp_hotspots *h = numbered->of;
    HP_TRY(allocate(w, &h->config));
    HP_TRY(cover_numbers(w, numbered));
    for (uint32_t i = 0; i < numbered->entries; i++) {
        uint32_t *number = &numbered->ways[i];
        if (numbered->counters[*number]) {
            w->executed[*number].times = HP_SPOT_IS_CANDIDATE;
            w->sets[w->executed[*number].place].candidates++;
        } else {
            *number = 0;
        }
    }
    w->numbered = numbered;
    begin_log(w, h);
    return HP_OK;
}

bool hp_spot_windows_must_leave(const struct hp_spot_windows *w)
{
    return w->detect <= most_down(&w->numbered->of->config) || w->n_log > LONGEST_LOG;
}

/* --- The log ---------------------------------------------------------------------------------- */

enum hp_err hp_spot_windows_reserve(struct hp_spot_windows *w, size_t units)
{
    HP_TRY(hp_grow(&w->units, &w->cap_units, w->n_log + units + 1, sizeof *w->units));
    return hp_grow(&w->log, &w->cap_log, w->n_log + units + 1, sizeof *w->log);
}

enum hp_err hp_spot_windows_branch(struct hp_spot_windows *w, uint32_t number, bool taken)
{
    HP_TRY(hp_spot_windows_reserve(w, 1));
    w->log[w->n_log++] = HP_SPOT_BRANCH | (taken ? HP_SPOT_TAKEN : 0) | number;
    return HP_OK;
}

static bool is_unit(uint32_t entry)
{
    return entry < HP_SPOT_NEXT;
}

static bool is_branch(uint32_t entry)
{
    return entry >= HP_SPOT_BRANCH && entry != HP_SPOT_REFRESH;
}

static uint32_t number_of(uint32_t entry)
{
    return entry & ~(HP_SPOT_BRANCH | HP_SPOT_TAKEN);
}

static uint32_t size_of(const struct hp_spots_list *list)
{
    return list->n + list->open;
}

/* --- A window --------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void add_branch(struct hp_spot_windows *w,
                                                             uint32_t number, uint32_t times,
                                                             size_t *n_came, uint64_t *candidates)
{
    uint32_t before = w->executed[number].times;
    w->executed[number].times = before + times;
    w->came[*n_came] = number; /* there is room for one more than branches in a window */
    *n_came += before == 0;
    *candidates += times & -(before >> 31);
}

/* How often each branch was executed, and candidates together. Returns how many branches all units
 * have. */
static size_t count_branches(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                             const struct hp_spots_hit *hits, uint64_t *in_candidates)
{
    size_t n_came = 0, branches = 0;
    uint64_t candidates = 0;
    for (size_t i = 0; i < w->n_units; i++) {
        const struct hp_spots_list *list = &lists[w->units[i]];
        const struct hp_spots_hit *hit = &hits[list->first];
        const uint32_t n = size_of(list), times = list->times;
        for (uint32_t k = 0; k < n; k++)
            add_branch(w, hit[k].number, times, &n_came, &candidates);
        branches += n;
    }
    for (size_t i = w->window; i < w->n_log; i++)
        if (__builtin_expect(is_branch(w->log[i]), 0))
            add_branch(w, number_of(w->log[i]), 1, &n_came, &candidates);
    w->n_came = n_came;
    *in_candidates += candidates;
    return branches;
}

/* The branch in this entry stays. */
static void grow_up(struct hp_spot_windows *w, uint32_t entry)
{
    uint32_t number = w->numbered->ways[entry];
    w->executed[number].times = HP_SPOT_IS_CANDIDATE;
    w->sets[w->executed[number].place].candidates++;
    w->grown[w->n_grown++] = entry;
}

/* A branch became a candidate in a set that has room. What is in a way may have been dropped. */
static void put(struct hp_spot_windows *w, uint32_t number)
{
    struct hp_spot_counts *numbered = w->numbered;
    const uint32_t place = w->executed[number].place, ways = numbered->of->config.ways;
    uint32_t entry = place;
    for (uint32_t i = place; i < place + ways; i++)
        if (numbered->ways[i] == number)
            numbered->ways[i] = 0;
    while (numbered->counters[numbered->ways[entry]])
        entry++;
    numbered->ways[entry] = number;
    numbered->counters[number] = numbered->of->config.candidate;
    grow_up(w, entry);
}

/* Decides about branches whose order does not matter. The others compete: whether a set has room
 * for all that came is hard to predict, so nothing depends on it but data. */
static void settle(struct hp_spot_windows *w, uint64_t *in_candidates)
{
    struct hp_spot_executed *const executed = w->executed;
    struct hp_spot_set *const sets = w->sets;
    const uint32_t *const came = w->came;
    uint32_t *const rivals = w->rivals;
    const uint32_t ways = w->numbered->of->config.ways;
    const uint32_t candidate = w->numbered->of->config.candidate;
    size_t n_rivals = 0, n_risen = 0;
    for (size_t i = 0; i < w->n_came; i++)
        sets[executed[came[i]].place].came++;
    for (size_t i = 0; i < w->n_came; i++) {
        struct hp_spot_executed *branch = &executed[came[i]];
        const struct hp_spot_set *set = &sets[branch->place];
        uint32_t times = branch->times;
        uint32_t competes = set->came + set->candidates > ways;
        rivals[n_rivals] = came[i];
        n_rivals += competes;
        branch->times = competes * HP_SPOT_COMPETES;
        if (__builtin_expect((times >= candidate) & !competes, 0)) {
            *in_candidates += times - candidate + 1;
            w->risen[n_risen++] = came[i];
        }
    }
    for (size_t i = 0; i < w->n_came; i++)
        sets[executed[came[i]].place].came = 0;
    for (size_t i = 0; i < n_risen; i++)
        put(w, w->risen[i]);
    w->numbered->of->stats.misses += w->n_came - n_rivals;
    w->n_rivals = n_rivals;
}

/* --- Sets that have no room for all ----------------------------------------------------------- */

/* Lists the branches of each unit that compete; `times` of a unit is where, and its end is in
 * `ends`. */
static void list_rivals(struct hp_spot_windows *w, struct hp_spots_list *lists,
                        const struct hp_spots_hit *hits)
{
    uint32_t n = 0;
    for (size_t i = 0; i < w->n_units; i++) {
        struct hp_spots_list *list = &lists[w->units[i]];
        const struct hp_spots_hit *hit = &hits[list->first];
        list->times = (uint32_t)i;
        for (uint32_t k = 0, size = size_of(list); k < size; k++) {
            w->of_units[n] = hit[k].number;
            n += w->executed[hit[k].number].times / HP_SPOT_COMPETES & 1;
        }
        w->ends[i + 1] = n;
    }
}

/* Puts the executions of branches that compete in order; returns how many there are. */
static size_t order_rivals(struct hp_spot_windows *w, const struct hp_spots_list *lists)
{
    uint32_t *to = w->order;
    for (size_t i = w->window; i < w->n_log; i++) {
        uint32_t entry = w->log[i];
        if (__builtin_expect(is_unit(entry), 1)) {
            const uint32_t *end = &w->ends[lists[entry].times + 1], n = end[0] - end[-1];
            const uint32_t *from = &w->of_units[end[-1]];
            memcpy(to, from, COPIED * sizeof *to); /* there is room */
            if (__builtin_expect(n > COPIED, 0))
                memcpy(to, from, n * sizeof *to);
            to += n;
        } else if (is_branch(entry)) {
            *to = number_of(entry);
            to += w->executed[*to].times == HP_SPOT_COMPETES;
        }
    }
    return (size_t)(to - w->order);
}

/* Rule 3 for them. Returns how many were candidates. */
static uint64_t take_rivals(struct hp_spot_windows *w, size_t n)
{
    uint32_t *const counters = w->numbered->counters;
    const uint32_t candidate = w->numbered->of->config.candidate;
    uint64_t candidates = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = w->order[i];
        if (counters[number])
            counters[number]++;
        else
            hp_spot_counts_miss(w->numbered, number, false);
        candidates += (uint16_t)counters[number] >= candidate;
    }
    return candidates;
}

/* Drops those that are no candidates. */
static void drop_rivals(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    const struct hp_hotspot_config *config = &numbered->of->config;
    for (size_t i = 0; i < w->n_rivals; i++) {
        uint32_t number = w->rivals[i], entry = w->executed[number].place;
        w->executed[number].times = 0;
        if (__builtin_expect((uint16_t)numbered->counters[number] < config->candidate, 1)) {
            numbered->counters[number] = 0;
            continue;
        }
        while (numbered->ways[entry] != number)
            entry++;
        grow_up(w, entry);
    }
}

static enum hp_err compete(struct hp_spot_windows *w, struct hp_spots_list *lists,
                           const struct hp_spots_hit *hits, size_t branches,
                           uint64_t *in_candidates)
{
    if (!w->n_rivals)
        return HP_OK;
    HP_TRY(hp_grow(&w->ends, &w->cap_ends, w->n_units + 1, sizeof *w->ends));
    HP_TRY(hp_grow(&w->of_units, &w->cap_of_units, branches + COPIED, sizeof *w->of_units));
    list_rivals(w, lists, hits);
    size_t n = order_rivals(w, lists);
    *in_candidates += take_rivals(w, n);
    drop_rivals(w);
    return HP_OK;
}

/* --- Its end ---------------------------------------------------------------------------------- */

static int32_t lower_detect(const struct hp_spot_windows *w, uint64_t n, uint64_t candidates)
{
    const struct hp_hotspots *h = w->numbered->of;
    int64_t detect = w->detect + (int64_t)((n - candidates) * h->config.up);
    detect = detect < h->detect_max ? detect : h->detect_max;
    return (int32_t)(detect - (int64_t)(candidates * h->config.down));
}

static void forget_units(struct hp_spot_windows *w, struct hp_spots_list *lists)
{
    for (size_t i = 0; i < w->n_units; i++)
        lists[w->units[i]].times = 0;
    w->n_units = 0;
}

/* Counts what was executed in it; candidates are all that is in the buffer then. */
static enum hp_err end_window(struct hp_spot_windows *w, struct hp_spots_list *lists,
                              const struct hp_spots_hit *hits)
{
    struct hp_hotspots *h = w->numbered->of;
    const uint64_t n = h->config.refresh - h->refresh_left, misses = h->stats.misses;
    uint64_t candidates = 0;
    HP_TRY(cover_numbers(w, w->numbered));
    size_t branches = count_branches(w, lists, hits, &candidates);
    settle(w, &candidates);
    HP_TRY(compete(w, lists, hits, branches, &candidates));
    forget_units(w, lists);
    h->stats.hits += n - (h->stats.misses - misses);
    w->detect = lower_detect(w, n, candidates);
    w->numbered->n_fresh = 0;
    w->window = w->n_log;
    return HP_OK;
}

static void clear(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    for (uint32_t i = 0; i < numbered->entries; i++) {
        uint32_t number = numbered->ways[i];
        numbered->counters[number] = w->executed[number].times = numbered->ways[i] = 0;
        w->sets[i].candidates = 0;
    }
}

enum hp_err hp_spot_windows_time(struct hp_spot_windows *w, struct hp_spots_list *lists,
                                 const struct hp_spots_hit *hits)
{
    struct hp_hotspots *h = w->numbered->of;
    HP_TRY(end_window(w, lists, hits));
    if (h->reset_left == 0) {
        h->stats.resets++;
        clear(w);
        hp_hotspots_pass_on(h);
        begin_log(w, h);
        return HP_OK;
    }
    HP_TRY(hp_spot_windows_reserve(w, 1));
    w->log[w->n_log++] = HP_SPOT_REFRESH;
    w->window = w->n_log;
    h->stats.refreshes++;
    h->refresh_left = h->config.refresh;
    return HP_OK;
}

enum hp_err hp_spot_windows_drop(struct hp_spot_windows *w, struct hp_spots_list *lists,
                                 const struct hp_spots_hit *hits)
{
    HP_TRY(end_window(w, lists, hits));
    clear(w);
    w->numbered->of = NULL;
    w->numbered = NULL;
    return HP_OK;
}

/* --- Branch by branch ------------------------------------------------------------------------- */

/* The buffer is as it was when the log began. */
static void go_back(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    struct hp_hotspot_stats *stats = &numbered->of->stats;
    for (uint32_t i = 0; i < numbered->entries; i++) {
        w->executed[numbered->ways[i]].times = 0;
        w->sets[i].candidates = 0;
    }
    for (size_t i = 0; i < w->n_grown; i++) {
        uint32_t *way = &numbered->ways[w->grown[i]];
        numbered->counters[*way] = 0;
        *way = 0;
    }
    stats->hits = w->stats.hits;
    stats->misses = w->stats.misses;
    stats->rejected = w->stats.rejected;
    stats->refreshes = w->stats.refreshes;
    numbered->n_fresh = 0;
}

static uint32_t count_unit(struct hp_spot_counting *c, const struct hp_spots_list *list,
                           const struct hp_spots_hit *hit, uint64_t target)
{
    for (uint32_t i = 0; i < list->n; i++, hit++)
        hp_spot_count(c, hit->number, hit->counts);
    if (list->open)
        hp_spot_count(c, hit->number, 1 | (uint32_t)(target != list->falls) << 16);
    return size_of(list);
}

void hp_spot_windows_leave(struct hp_spot_windows *w, struct hp_spots_list *lists,
                           const struct hp_spots_hit *hits)
{
    struct hp_hotspots *h = w->numbered->of;
    uint64_t n = 0;
    forget_units(w, lists);
    go_back(w);
    struct hp_spot_counting c = hp_spot_counts_begin(w->numbered);
    for (size_t i = 0; i < w->n_log; i++) {
        uint32_t entry = w->log[i];
        if (is_unit(entry)) {
            const struct hp_spots_list *list = &lists[entry];
            uint64_t target = lists[w->log[i + 1] & ~HP_SPOT_NEXT].start;
            n += count_unit(&c, list, &hits[list->first], target);
        } else if (is_branch(entry)) {
            hp_spot_count(&c, number_of(entry),
                          1 | (uint32_t)(entry & HP_SPOT_TAKEN ? 1 : 0) << 16);
            n++;
        } else if (entry == HP_SPOT_REFRESH) {
            h->stats.refreshes++;
            hp_spot_counts_refresh(w->numbered);
        }
    }
    h->detect = c.detect;
    h->stats.hits += n - (h->stats.misses - w->stats.misses);
    w->numbered = NULL;
}
