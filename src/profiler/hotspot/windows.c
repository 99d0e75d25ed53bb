// SPDX-License-Identifier: MIT
#include "profiler/hotspot/windows.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define COPIED       8          /* branches of a unit, at once */
#define LONGEST      (1u << 15) /* a window; a half of a lane has 16 bits */
#define LONGEST_LOG  (1u << 20) /* entries, when it is left */
#define STAMP        (1u << 16)
#define IS_CANDIDATE (1u << 31)

void hp_spot_windows_fini(struct hp_spot_windows *w)
{
    free(w->log);
    free(w->times);
    free(w->units);
    free(w->executed);
    free(w->sums);
    free(w->stamps);
    free(w->came);
    free(w->rivals);
    free(w->of_units);
    free(w->ends);
    free(w->order);
    free(w->candidates);
    free(w->full);
    free(w->ways);
    free(w->risen);
    free(w->grown);
    *w = (struct hp_spot_windows){0};
}

/* --- Beginning -------------------------------------------------------------------------------- */

bool hp_spot_windows_may_begin(const struct hp_hotspots *h)
{
    return h->config.refresh && h->config.refresh <= LONGEST &&
           h->refresh_left == h->config.refresh &&
           h->detect > (int64_t)h->config.refresh * h->config.down &&
           hp_spot_counts_fits(&h->config);
}

static enum hp_err allocate(struct hp_spot_windows *w, const struct hp_hotspot_config *config)
{
    HP_TRY(hp_grow(&w->order, &w->cap_order, config->refresh + COPIED, sizeof *w->order));
    if (w->grown)
        return HP_OK;
    HP_TRY(hp_new(&w->candidates, config->entries, sizeof *w->candidates));
    HP_TRY(hp_new(&w->full, config->entries, sizeof *w->full));
    HP_TRY(hp_new(&w->ways, config->entries, sizeof *w->ways));
    HP_TRY(hp_new(&w->risen, config->entries, sizeof *w->risen));
    return hp_new(&w->grown, config->entries, sizeof *w->grown);
}

static enum hp_err cover_numbers(struct hp_spot_windows *w, const struct hp_spot_counts *numbered)
{
    size_t n = numbered->n + 1;
    HP_TRY(hp_grow(&w->executed, &w->cap_executed, n, sizeof *w->executed));
    HP_TRY(hp_grow(&w->sums, &w->cap_sums, n, sizeof *w->sums));
    HP_TRY(hp_grow(&w->stamps, &w->cap_stamps, n, sizeof *w->stamps));
    HP_TRY(hp_grow(&w->came, &w->cap_came, n, sizeof *w->came));
    HP_TRY(hp_grow(&w->rivals, &w->cap_rivals, n, sizeof *w->rivals));
    for (; w->n_executed < numbered->n; w->n_executed++)
        w->executed[w->n_executed].place = numbered->places[w->n_executed];
    return HP_OK;
}

/* Of what is known now. */
static void begin_log(struct hp_spot_windows *w, const struct hp_hotspots *h)
{
    w->n_log = w->n_grown = w->begins[0] = w->window = 0;
    w->detect = h->detect;
    w->stats = h->stats;
}

enum hp_err hp_spot_windows_begin(struct hp_spot_windows *w, struct hp_spot_counts *numbered)
{
    const struct hp_hotspots *h = numbered->of;
    HP_TRY(allocate(w, &h->config));
    HP_TRY(cover_numbers(w, numbered));
    for (uint32_t i = 0; i < numbered->entries; i++) {
        uint32_t *number = &numbered->ways[i];
        if (numbered->counters[*number]) {
            w->executed[*number].is_candidate = true;
            w->candidates[w->executed[*number].place]++;
        } else {
            *number = 0;
        }
    }
    w->numbered = numbered;
    begin_log(w, h);
    return HP_OK;
}

/* --- The log ---------------------------------------------------------------------------------- */

enum hp_err hp_spot_windows_reserve(struct hp_spot_windows *w, size_t entries, size_t n_units)
{
    HP_TRY(hp_grow(&w->log, &w->cap_log, w->n_log + entries, sizeof *w->log));
    HP_TRY(hp_grow(&w->units, &w->cap_units, n_units + 1, sizeof *w->units));
    return hp_grow(&w->times, &w->cap_times, n_units, sizeof *w->times);
}

bool hp_spot_windows_refresh(struct hp_spot_windows *w)
{
    struct hp_hotspots *h = w->numbered->of;
    if (w->window + 1 == HP_SPOT_WINDOWS)
        return true;
    h->refresh_left = h->config.refresh;
    w->begins[++w->window] = w->n_log;
    return false;
}

bool hp_spot_windows_are_long(const struct hp_spot_windows *w)
{
    return w->n_log > LONGEST_LOG;
}

static uint32_t size_of(const struct hp_spots_list *list)
{
    return list->n + list->open;
}

/* --- All windows at once ---------------------------------------------------------------------- */

static inline void add(union hp_spot_lanes *to, const union hp_spot_lanes *lanes)
{
    to->half[0] += lanes->half[0];
    to->half[1] += lanes->half[1];
}

/* The windows in which a lane is not 0. */
static inline uint32_t windows_of(const union hp_spot_lanes *lanes)
{
    static const hp_spot_half bits[2] = {
        {1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7},
        {1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15}};
    union {
        hp_spot_half half;
        uint64_t words[2];
    } all = {(hp_spot_half)(lanes->half[0] != 0) & bits[0]};
    all.half |= (hp_spot_half)(lanes->half[1] != 0) & bits[1];
    uint64_t folded = all.words[0] | all.words[1];
    folded |= folded >> 32;
    return (uint16_t)(folded | folded >> 16);
}

/* The windows in which it is at least `least`. */
static inline uint32_t windows_of_least(const union hp_spot_lanes *lanes, uint16_t least)
{
    union hp_spot_lanes reached;
    reached.half[0] = (hp_spot_half)(lanes->half[0] >= least);
    reached.half[1] = (hp_spot_half)(lanes->half[1] >= least);
    return windows_of(&reached);
}

/* The windows after this one. */
static inline uint32_t after(uint32_t window)
{
    return 0xfffeu << window & 0xffff;
}

/* 0xffff in each lane that is in `windows`. */
static inline union hp_spot_lanes lanes_of(uint32_t windows)
{
    static const hp_spot_half bits = {1, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7};
    union hp_spot_lanes lanes;
    lanes.half[0] = (hp_spot_half)(((uint16_t)(windows & 0xff) & bits) != 0);
    lanes.half[1] = (hp_spot_half)(((uint16_t)(windows >> 8) & bits) != 0);
    return lanes;
}

/* --- Counting --------------------------------------------------------------------------------- */

/* How often each branch was executed. Returns how many branches all units have. */
static size_t count_branches(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                             const struct hp_spots_hit *hits)
{
    struct hp_spot_executed *const executed = w->executed;
    union hp_spot_lanes *const sums = w->sums;
    size_t n_came = 0, branches = 0;
    for (size_t i = 0; i < w->n_units; i++) {
        const struct hp_spots_list *list = &lists[w->units[i]];
        const struct hp_spots_hit *hit = &hits[list->first];
        const union hp_spot_lanes times = w->times[w->units[i]];
        const uint32_t n = size_of(list);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t number = hit[k].number;
            w->came[n_came].number = number; /* there is room for one more than branches */
            n_came += !executed[number].came;
            executed[number].came = true;
            add(&sums[number], &times);
        }
        branches += n;
    }
    w->n_came = n_came;
    return branches;
}

/* Leaves those in `came` that were no candidates, and finds out when they came. Adds the executions
 * of the others to `in_candidates`. */
static void sort_out(struct hp_spot_windows *w, union hp_spot_lanes *in_candidates)
{
    const uint16_t candidate = (uint16_t)w->numbered->of->config.candidate;
    size_t n = 0;
    for (size_t i = 0; i < w->n_came; i++) {
        uint32_t number = w->came[i].number;
        struct hp_spot_executed *branch = &w->executed[number];
        const union hp_spot_lanes *sums = &w->sums[number];
        branch->came = false;
        if (branch->is_candidate) {
            add(in_candidates, sums);
            w->sums[number] = (union hp_spot_lanes){0};
            continue;
        }
        uint32_t windows = windows_of(sums), hot = windows_of_least(sums, candidate);
        hot = (uint32_t)__builtin_ctz(hot | 1u << HP_SPOT_WINDOWS);
        w->came[n++] = (struct hp_spot_comer){number, (uint16_t)windows, (uint16_t)hot};
        union hp_spot_lanes there = lanes_of(windows | after(hot));
        w->full[branch->place].half[0] -= there.half[0]; /* adds 1 */
        w->full[branch->place].half[1] -= there.half[1];
    }
    w->n_came = n;
}

/* Whether more branches come to a set in a window than it has ways. A branch that would be a
 * candidate is assumed to stay. */
static inline bool is_contested(const struct hp_spot_windows *w, uint32_t place, uint32_t ways)
{
    uint16_t most = (uint16_t)(ways - w->candidates[place]);
    const union hp_spot_lanes *full = &w->full[place];
    union {
        hp_spot_half half;
        uint64_t words[2];
    } over = {(hp_spot_half)(full->half[0] > most) | (hp_spot_half)(full->half[1] > most)};
    return over.words[0] | over.words[1];
}

/* A branch that becomes a candidate in this window. */
static void rise(struct hp_spot_windows *w, const struct hp_spot_comer *comer,
                 const union hp_spot_lanes *sums, union hp_spot_lanes *in_candidates)
{
    union hp_spot_lanes later = lanes_of(after(comer->hot));
    in_candidates->half[0] += sums->half[0] & later.half[0];
    in_candidates->half[1] += sums->half[1] & later.half[1];
    in_candidates->at[comer->hot] =
        (uint16_t)(in_candidates->at[comer->hot] + sums->at[comer->hot] -
                   w->numbered->of->config.candidate + 1);
    w->risen[w->n_risen++] = (struct hp_spot_riser){comer->number, HP_SPOT_FREE};
}

/* Decides about branches whose order does not matter; the others are rivals. */
static void settle(struct hp_spot_windows *w, union hp_spot_lanes *in_candidates,
                   struct hp_spot_outcome *outcome)
{
    const uint32_t ways = w->numbered->of->config.ways;
    size_t n_rivals = 0;
    uint64_t misses = 0;
    for (size_t i = 0; i < w->n_came; i++) {
        const struct hp_spot_comer *comer = &w->came[i];
        struct hp_spot_executed *branch = &w->executed[comer->number];
        union hp_spot_lanes *sums = &w->sums[comer->number];
        if (is_contested(w, branch->place, ways)) {
            branch->rival = true;
            w->rivals[n_rivals++] = comer->number;
        } else {
            misses += (uint32_t)__builtin_popcount(comer->windows & ~after(comer->hot));
            if (comer->hot < HP_SPOT_WINDOWS)
                rise(w, comer, sums, in_candidates);
        }
        *sums = (union hp_spot_lanes){0};
    }
    for (size_t i = 0; i < w->n_came; i++)
        w->full[w->executed[w->came[i].number].place] = (union hp_spot_lanes){0};
    w->n_rivals = n_rivals;
    outcome->misses += misses;
}

/* --- Sets that have no room for all ----------------------------------------------------------- */

/*
 * The stamp of a rival is STAMP times the number of the window, from 1, plus the executions since
 * it came to the buffer. So what was stamped in another window has been dropped. Candidates have
 * IS_CANDIDATE.
 */

static void begin_rivals(struct hp_spot_windows *w)
{
    const struct hp_spot_counts *numbered = w->numbered;
    const uint32_t ways = numbered->of->config.ways;
    for (size_t i = 0; i < w->n_rivals; i++) {
        uint32_t place = w->executed[w->rivals[i]].place;
        w->stamps[w->rivals[i]] = 0;
        for (uint32_t k = place; k < place + ways; k++) {
            w->ways[k] = numbered->ways[k];
            w->stamps[w->ways[k]] = w->ways[k] ? IS_CANDIDATE : 0;
        }
    }
}

/* Lists the rivals of each unit; its index says where they end. */
static void list_rivals(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                        const struct hp_spots_hit *hits)
{
    uint32_t n = 0;
    w->ends[0] = 0;
    for (size_t i = 0; i < w->n_units; i++) {
        const struct hp_spots_list *list = &lists[w->units[i]];
        const struct hp_spots_hit *hit = &hits[list->first];
        for (uint32_t k = 0, size = size_of(list); k < size; k++) {
            w->of_units[n] = hit[k].number;
            n += w->executed[hit[k].number].rival;
        }
        w->ends[i + 1] = n;
    }
}

/* Puts the executions of rivals in a window in order; returns how many there are. */
static size_t order_rivals(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                           size_t from, size_t to)
{
    uint32_t *order = w->order;
    for (size_t i = from; i < to; i++) {
        uint32_t entry = w->log[i];
        if (__builtin_expect(entry >= HP_SPOT_NEXT, 0))
            continue;
        const uint32_t *end = &w->ends[lists[entry].index], n = end[0] - end[-1];
        const uint32_t *rivals = &w->of_units[end[-1]];
        memcpy(order, rivals, COPIED * sizeof *order); /* there is room */
        if (__builtin_expect(n > COPIED, 0))
            memcpy(order, rivals, n * sizeof *order);
        order += n;
    }
    return (size_t)(order - w->order);
}

/* The way for a rival: of those executed least the first. It may be in an empty one, from before it
 * was dropped: not any more. */
static inline uint32_t *find_way(const struct hp_spot_windows *w, uint32_t *set, uint32_t ways,
                                 uint32_t number, uint32_t base, uint32_t *executed)
{
    uint32_t at = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < ways; i++) {
        uint32_t in = set[i], stamp = w->stamps[in], times = stamp < base ? 0 : stamp - base;
        at = times < least ? i : at;
        least = times < least ? times : least;
        set[i] = in == number ? 0 : in;
    }
    *executed = least;
    return &set[at];
}

/* Rule 3, "Miss". Returns its stamp. */
static uint32_t miss(struct hp_spot_windows *w, uint32_t number, uint32_t base,
                     struct hp_spot_outcome *outcome)
{
    const uint32_t ways = w->numbered->of->config.ways;
    uint32_t *set = &w->ways[w->executed[number].place], executed;
    uint32_t *way = ways == 2 ? find_way(w, set, 2, number, base, &executed)
                              : find_way(w, set, ways, number, base, &executed);
    outcome->misses++;
    if (executed >= LONGEST) { /* a candidate */
        outcome->rejected++;
        return w->stamps[number];
    }
    w->stamps[*way] = 0;
    *way = number;
    return base + 1;
}

/* Rules 3 and 4 for the executions of rivals in a window; how many were candidates. */
static uint64_t take_rivals(struct hp_spot_windows *w, size_t n, uint32_t window,
                            struct hp_spot_outcome *outcome)
{
    const uint32_t base = (window + 1) * STAMP;
    const uint32_t hot = base + w->numbered->of->config.candidate;
    uint64_t candidates = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t number = w->order[i], stamp = w->stamps[number];
        stamp = __builtin_expect(stamp > base, 1) ? stamp + 1 : miss(w, number, base, outcome);
        if (__builtin_expect(stamp == hot, 0))
            stamp = IS_CANDIDATE;
        w->stamps[number] = stamp;
        candidates += stamp >> 31;
    }
    return candidates;
}

/* Those that are candidates now. */
static void end_rivals(struct hp_spot_windows *w)
{
    for (size_t i = 0; i < w->n_rivals; i++) {
        uint32_t number = w->rivals[i], entry = w->executed[number].place;
        w->executed[number].rival = false;
        if (__builtin_expect(w->stamps[number] < IS_CANDIDATE, 1))
            continue;
        while (w->ways[entry] != number)
            entry++;
        w->risen[w->n_risen++] = (struct hp_spot_riser){number, entry};
    }
}

/* Decides about rivals; `candidates`: their executions as candidates, by window. */
static enum hp_err compete(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                           const struct hp_spots_hit *hits, size_t branches, uint64_t *candidates,
                           struct hp_spot_outcome *outcome)
{
    if (!w->n_rivals)
        return HP_OK;
    HP_TRY(hp_grow(&w->ends, &w->cap_ends, w->n_units + 1, sizeof *w->ends));
    HP_TRY(hp_grow(&w->of_units, &w->cap_of_units, branches + COPIED, sizeof *w->of_units));
    begin_rivals(w);
    list_rivals(w, lists, hits);
    for (uint32_t i = 0; i <= w->window; i++) {
        size_t end = i < w->window ? w->begins[i + 1] : w->n_log;
        size_t n = order_rivals(w, lists, w->begins[i], end);
        candidates[i] = take_rivals(w, n, i, outcome);
    }
    end_rivals(w);
    return HP_OK;
}

/* --- Its end ---------------------------------------------------------------------------------- */

/* Branches that were executed in a window. */
static uint64_t branches_in(const struct hp_spot_windows *w, uint32_t window)
{
    const struct hp_hotspots *h = w->numbered->of;
    return h->config.refresh - (window == w->window ? h->refresh_left : 0);
}

/* Rule 4 for a window: the least that the counter may be after it, if candidates came last; or not
 * more than 0, if that may have been when they came first. */
static int32_t lower_detect(const struct hp_hotspots *h, int32_t detect, uint64_t n,
                            uint64_t candidates)
{
    const int64_t down = (int64_t)(candidates * h->config.down);
    int64_t most = detect + (int64_t)((n - candidates) * h->config.up);
    most = most < h->detect_max ? most : h->detect_max;
    return (int32_t)(down < detect ? most - down : detect - down);
}

enum hp_err hp_spot_windows_check(struct hp_spot_windows *w, const struct hp_spots_list *lists,
                                  const struct hp_spots_hit *hits, struct hp_spot_outcome *outcome)
{
    union hp_spot_lanes in_candidates = {0};
    uint64_t of_rivals[HP_SPOT_WINDOWS] = {0};
    *outcome = (struct hp_spot_outcome){.detect = w->detect};
    w->n_risen = 0;
    HP_TRY(cover_numbers(w, w->numbered));
    size_t branches = count_branches(w, lists, hits);
    sort_out(w, &in_candidates);
    settle(w, &in_candidates, outcome);
    HP_TRY(compete(w, lists, hits, branches, of_rivals, outcome));
    for (uint32_t i = 0; i <= w->window && outcome->detect > 0; i++)
        outcome->detect = lower_detect(w->numbered->of, outcome->detect, branches_in(w, i),
                                       in_candidates.at[i] + of_rivals[i]);
    return HP_OK;
}

static void forget_units(struct hp_spot_windows *w, struct hp_spots_list *lists)
{
    for (size_t i = 0; i < w->n_units; i++) {
        lists[w->units[i]].index = 0;
        w->times[w->units[i]] = (union hp_spot_lanes){0};
    }
    w->n_units = 0;
}

static void add_stats(struct hp_spot_windows *w, const struct hp_spot_outcome *outcome)
{
    struct hp_hotspots *h = w->numbered->of;
    uint64_t n = w->window * (uint64_t)h->config.refresh + branches_in(w, w->window);
    h->stats.misses += outcome->misses;
    h->stats.rejected += outcome->rejected;
    h->stats.hits += n - outcome->misses;
    h->stats.refreshes += w->window;
}

/* The branches that became candidates stay. */
static void keep_risen(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    for (size_t i = 0; i < w->n_risen; i++) {
        uint32_t number = w->risen[i].number, place = w->executed[number].place, entry = place;
        if (w->risen[i].entry != HP_SPOT_FREE)
            entry = w->risen[i].entry;
        else
            while (numbered->ways[entry])
                entry++;
        numbered->ways[entry] = number;
        numbered->counters[number] = numbered->of->config.candidate;
        w->executed[number].is_candidate = true;
        w->candidates[place]++;
        w->grown[w->n_grown++] = entry;
    }
}

static void clear(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    for (uint32_t i = 0; i < numbered->entries; i++) {
        uint32_t number = numbered->ways[i];
        numbered->counters[number] = numbered->ways[i] = w->candidates[i] = 0;
        w->executed[number].is_candidate = false;
    }
}

void hp_spot_windows_end(struct hp_spot_windows *w, struct hp_spots_list *lists,
                         const struct hp_spot_outcome *outcome)
{
    struct hp_hotspots *h = w->numbered->of;
    add_stats(w, outcome);
    forget_units(w, lists);
    if (h->reset_left == 0) {
        h->stats.resets++;
        clear(w);
        hp_hotspots_pass_on(h);
        begin_log(w, h);
        return;
    }
    keep_risen(w);
    h->stats.refreshes++;
    h->refresh_left = h->config.refresh;
    w->detect = outcome->detect;
    w->begins[0] = w->n_log;
    w->window = 0;
}

void hp_spot_windows_drop(struct hp_spot_windows *w, struct hp_spots_list *lists,
                          const struct hp_spot_outcome *outcome)
{
    add_stats(w, outcome);
    forget_units(w, lists);
    clear(w);
    w->numbered->of = NULL;
    w->numbered = NULL;
}

/* --- Branch by branch ------------------------------------------------------------------------- */

/* The buffer is as it was when the log began. */
static void go_back(struct hp_spot_windows *w)
{
    struct hp_spot_counts *numbered = w->numbered;
    struct hp_hotspot_stats *stats = &numbered->of->stats;
    for (uint32_t i = 0; i < numbered->entries; i++) {
        w->executed[numbered->ways[i]].is_candidate = false;
        w->candidates[i] = 0;
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
                           const struct hp_spots_hit *hits, size_t n)
{
    struct hp_hotspots *h = w->numbered->of;
    uint64_t branches = 0;
    uint32_t left = h->config.refresh;
    forget_units(w, lists);
    go_back(w);
    struct hp_spot_counting c = hp_spot_counts_begin(w->numbered);
    for (size_t i = 0; i < n; i++) {
        if (w->log[i] >= HP_SPOT_NEXT)
            continue;
        const struct hp_spots_list *list = &lists[w->log[i]];
        uint64_t target = lists[w->log[i + 1] & ~HP_SPOT_NEXT].start;
        uint32_t size = count_unit(&c, list, &hits[list->first], target);
        branches += size;
        left -= size;
        if (left)
            continue;
        h->stats.refreshes++;
        hp_spot_counts_refresh(w->numbered);
        left = h->config.refresh;
    }
    h->detect = c.detect;
    h->stats.hits += branches - (h->stats.misses - w->stats.misses);
    w->numbered = NULL;
}
