// SPDX-License-Identifier: MIT
/*
 * The branch behavior buffer by windows: from one refresh to the next.
 *
 * A refresh leaves candidates only, and what they do until the next reset is known: they stay. If
 * no more other branches come to a set in a window than it has ways left, each of them is a miss
 * once and then a hit, and a candidate from a certain execution on, in whatever order they were
 * executed. So units are only put down in a list, the *log*, and counted by window. After a
 * *stretch* of many windows the executions of each branch are added up, all windows at once. Only
 * the branches of sets to which more came are taken from the log one after the other.
 *
 * What depends on the order is not known then: the counters of candidates, and the detection
 * counter, of which there is a lower bound. Whether a hot spot may have been detected is known only
 * afterwards (hp_spot_windows_check()): then the caller goes back to where it was certain that none
 * was (hp_spot_windows_leave()), and runs what followed again, branch by branch.
 */
#ifndef HP_PROFILER_HOTSPOT_WINDOWS_H
#define HP_PROFILER_HOTSPOT_WINDOWS_H

#include "profiler/hotspot/counts.h"

#define HP_SPOT_WINDOWS 16 /* of a stretch */

/* The execution of a branch by its number. */
struct hp_spots_hit {
    uint32_t number;
    uint32_t counts; /* what it adds to the counters; of a unit's last branch: as if it fell
                        through */
};

/* The profiled branches of a unit, together, so that they cost a cache line or two; shared by all
 * processes. */
struct hp_spots_list {
    uint64_t start; /* of the unit; also of those that are not listed yet */
    uint64_t falls; /* where the branch at its end goes when not taken */
    uint32_t first; /* of its hits */
    uint32_t index; /* for windows: 1 + where it is among the units of the stretch; 0: nowhere */
    uint8_t n;      /* inner ones: their outcomes are known */
    bool is_listed : 1;
    bool open : 1;      /* the branch at its end is profiled, too */
    bool computed : 1;  /* that branch is computed */
    bool has_pairs : 1; /* some of the inner ones are computed, and go to blocks without */
};
_Static_assert(sizeof(struct hp_spots_list) == 32, "two are a cache line");

/* A number for each window of a stretch. */
typedef uint16_t hp_spot_half __attribute__((vector_size(HP_SPOT_WINDOWS)));
union hp_spot_lanes {
    uint16_t at[HP_SPOT_WINDOWS];
    hp_spot_half half[2];
};

/* A branch. */
struct hp_spot_executed {
    uint32_t place; /* of its set */
    bool is_candidate;
    bool came;  /* in this stretch */
    bool rival; /* its set has no room for all */
};

/* A branch that came in a stretch and was no candidate when that began. */
struct hp_spot_comer {
    uint32_t number;
    uint16_t windows; /* in which it came */
    uint16_t hot;     /* the first in which it would be a candidate; HP_SPOT_WINDOWS: none */
};

/* A branch that became a candidate. */
struct hp_spot_riser {
    uint32_t number;
    uint32_t entry; /* HP_SPOT_FREE: the first one that is free */
};
#define HP_SPOT_FREE UINT32_MAX

/* What a stretch has come to. */
struct hp_spot_outcome {
    uint64_t misses, rejected;
    int32_t detect; /* the detection counter is not less; 0 or less: something may be detected */
};

struct hp_spot_windows {
    struct hp_spot_counts *numbered; /* has the contents; NULL: no stretch has begun */
    uint32_t *log; /* units in the order of execution, since everything was known; the last branch
                      of one went to the next entry, which may be the below */
    size_t n_log, cap_log;
    size_t begins[HP_SPOT_WINDOWS]; /* in the log */
    uint32_t window;                /* the present one */
    union hp_spot_lanes *times;     /* by unit: executions */
    size_t cap_times;
    uint32_t *units; /* different ones in this stretch */
    size_t n_units, cap_units;
    struct hp_spot_executed *executed; /* by number */
    union hp_spot_lanes *sums;         /* executions */
    uint32_t *stamps;                  /* of rivals: see take_rivals() */
    size_t n_executed, cap_executed, cap_sums, cap_stamps;
    struct hp_spot_comer *came;
    size_t n_came, cap_came;
    uint32_t *rivals; /* those of them that come to sets without room for all */
    size_t n_rivals, cap_rivals;
    uint32_t *of_units, *ends; /* the rivals of each unit, and where they end */
    size_t cap_of_units, cap_ends;
    uint32_t *order; /* executions of rivals in a window */
    size_t cap_order;
    uint32_t *candidates;      /* by place: in this set */
    union hp_spot_lanes *full; /* by place: branches that are in its set, or would be */
    uint32_t *ways;            /* by entry: of sets of rivals */
    struct hp_spot_riser *risen;
    size_t n_risen;
    uint32_t *grown; /* entries of branches that became candidates since the log begins */
    size_t n_grown;
    int32_t detect;                /* the detection counter is not less when the stretch begins */
    struct hp_hotspot_stats stats; /* when the log begins */
};

/* An entry of the log that is no unit: where the unit before went. */
#define HP_SPOT_NEXT 0x80000000u

void hp_spot_windows_fini(struct hp_spot_windows *w);

/* Whether a stretch should begin: a refresh or reset was just now, and a hot spot is not near. */
bool hp_spot_windows_may_begin(const struct hp_hotspots *h);

/* Begins one; the contents must be in `numbered`. HP_ERR_NOMEM: it does not. */
HP_MUST_CHECK enum hp_err hp_spot_windows_begin(struct hp_spot_windows *w,
                                                struct hp_spot_counts *numbered);

/* Makes room for so many more entries in the log, and for units below `n_units`. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_reserve(struct hp_spot_windows *w, size_t entries,
                                                  size_t n_units);

/* Counts a unit that is put down in the log; all its branches belong to the present window. */
static inline void hp_spot_windows_count(struct hp_spot_windows *w, uint32_t unit)
{
    w->times[unit].at[w->window]++;
}

/* A unit is in the log of this stretch: to be told at least once. */
static inline void hp_spot_windows_unit(struct hp_spot_windows *w, struct hp_spots_list *lists,
                                        uint32_t unit)
{
    w->units[w->n_units] = unit; /* there is as much room as units, and for one more */
    w->n_units += lists[unit].index == 0;
    lists[unit].index = lists[unit].index ? lists[unit].index : (uint32_t)w->n_units;
}

/* Whether a refresh, which is due, ends the stretch. Else it was done: another window begins. */
bool hp_spot_windows_refresh(struct hp_spot_windows *w);

/* Counts what was executed in the stretch up to now; all its units were told. Changes nothing.
 * HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_check(struct hp_spot_windows *w,
                                                const struct hp_spots_list *lists,
                                                const struct hp_spots_hit *hits,
                                                struct hp_spot_outcome *outcome);

/* The stretch ends like this, as was just checked, with a timer (rule 6), and another one begins.
 * The owner of the buffer may be another one then. */
void hp_spot_windows_end(struct hp_spot_windows *w, struct hp_spots_list *lists,
                         const struct hp_spot_outcome *outcome);

/* The same when the contents will be cleared: they are nowhere then. */
void hp_spot_windows_drop(struct hp_spot_windows *w, struct hp_spots_list *lists,
                          const struct hp_spot_outcome *outcome);

/* Whether the log is too long: it is to be left. */
bool hp_spot_windows_are_long(const struct hp_spot_windows *w);

/* Makes everything known as it was after the first `n` entries of the log, up to which nothing was
 * detected; no stretch has begun then. The contents stay in `numbered`; timers are the caller's. */
void hp_spot_windows_leave(struct hp_spot_windows *w, struct hp_spots_list *lists,
                           const struct hp_spots_hit *hits, size_t n);

#endif
