// SPDX-License-Identifier: MIT
/*
 * The branch behavior buffer, by branch. A detector finds a branch by its address in the ways of a
 * set. The profiler meets the same branches again and again, so it numbers them. The counters of a
 * branch are at its number: 0 when it is not in the buffer. What is in a way is looked at only when
 * a branch is not there.
 *
 * The contents are either here or in the detector (`of`), never in both. What touches the
 * detector's entries calls hp_spot_counts_give_back() before.
 */
#ifndef HP_PROFILER_HOTSPOT_COUNTS_H
#define HP_PROFILER_HOTSPOT_COUNTS_H

#include "profiler/hotspot/detector.h"

/* A branch that was seen. */
struct hp_spot_branch {
    uint64_t address;
    uint32_t place; /* of its set in the buffer */
    uint32_t uses;  /* the caller's */
    uint8_t flow;
};

struct hp_spot_counts {
    struct hp_hotspots *of;  /* whose buffer is here; NULL: none */
    struct hp_map64 numbers; /* address -> number, from 1 */
    struct hp_spot_branch *branches;
    size_t n, cap;
    uint32_t *counters; /* by number: `executed` in the lower half, `taken` in the upper */
    uint32_t *places;   /* by number: as in `branches`, closer together */
    size_t cap_counters, cap_places;
    uint32_t *ways;  /* by entry: the number of its branch; the entry is empty when its counters are
                        0, as those of number 0 always are */
    uint32_t *fresh; /* branches that came since the last refresh; complete up to `entries` */
    size_t n_fresh;
    uint32_t entries;
};

/* Whether the contents can be here: an entry is for an address alone, and its counters fit. */
bool hp_spot_counts_fits(const struct hp_hotspot_config *config);

void hp_spot_counts_fini(struct hp_spot_counts *numbered);

/* The number of a branch; 0: out of memory. */
uint32_t hp_spot_counts_add(struct hp_spot_counts *numbered, const struct hp_spot_branch *branch);

/* Takes the contents of the detector's buffer. HP_ERR_NOMEM: they stay there. */
HP_MUST_CHECK enum hp_err hp_spot_counts_take(struct hp_spot_counts *numbered,
                                              struct hp_hotspots *h);

/* Returns the contents to the detector, if they are here. */
void hp_spot_counts_give_back(struct hp_spot_counts *numbered);

/* A branch that is not in the buffer: rule 3, "Miss". */
void hp_spot_counts_miss(struct hp_spot_counts *numbered, uint32_t number, bool taken);

/* What counting needs, in registers. */
struct hp_spot_counting {
    struct hp_spot_counts *numbered;
    uint32_t *counters;
    uint32_t candidate, last; /* counter_max - 1 */
    int32_t detect, detect_max;
    int32_t up, less; /* a candidate adds `up` - `less` */
};

/* Begins to count. `detect` is the detector's until it is written back; no branch gets a number
 * meanwhile. */
static inline struct hp_spot_counting hp_spot_counts_begin(struct hp_spot_counts *numbered)
{
    const struct hp_hotspots *h = numbered->of;
    return (struct hp_spot_counting){.numbered = numbered,
                                     .counters = numbered->counters,
                                     .candidate = h->config.candidate,
                                     .last = h->counter_max - 1,
                                     .detect = h->detect,
                                     .detect_max = h->detect_max,
                                     .up = (int32_t)h->config.up,
                                     .less = (int32_t)(h->config.down + h->config.up)};
}

/* Rules 3 and 4 for a branch; `counts` is 1, and 1 << 16 when it is taken. Counts no hits. Whether
 * it is a candidate cannot be foreseen: it is computed, not branched on. */
static inline __attribute__((always_inline)) void hp_spot_count(struct hp_spot_counting *c,
                                                                uint32_t number, uint32_t counts)
{
    uint32_t counters = c->counters[number];
    if (__builtin_expect((uint16_t)(counters - 1) < c->last, 1)) {
        counters += counts;
        c->counters[number] = counters;
    } else if (!counters) {
        hp_spot_counts_miss(c->numbered, number, counts >> 16);
        counters = c->counters[number];
    } /* else it is saturated */
    int32_t candidate = (uint16_t)counters >= c->candidate;
    c->detect += c->up - (-candidate & c->less);
    c->detect = c->detect < c->detect_max ? c->detect : c->detect_max;
}

/* Drops what is no candidate. */
void hp_spot_counts_refresh(struct hp_spot_counts *numbered);

/* Rule 6 for one branch that was counted. The owner of the buffer may be another one then. */
void hp_spot_counts_time(struct hp_spot_counts *numbered);

#endif
