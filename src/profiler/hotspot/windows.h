// SPDX-License-Identifier: MIT
/*
 * The branch behavior buffer by windows: from one refresh to the next.
 *
 * A refresh leaves candidates only, and what they do until the next reset is known: they stay. If
 * no more other branches come to a set than it has ways left, each of them is a miss once and then
 * a hit, and a candidate from a certain execution on, in whatever order they were executed. So a
 * window is only a list of the units that were run, the *log*. At its end the executions of each
 * unit are added up, and then those of each branch. Only the branches of sets to which more came
 * are taken from the log one after the other.
 *
 * What depends on the order is not known then: the counters of candidates, and the detection
 * counter, of which there is a lower bound. Both matter only when a hot spot is detected. Before
 * that could happen the log is counted again, branch by branch, from the last time when everything
 * was known (hp_spot_windows_leave()).
 */
#ifndef HP_PROFILER_HOTSPOT_WINDOWS_H
#define HP_PROFILER_HOTSPOT_WINDOWS_H

#include "profiler/hotspot/counts.h"

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
    uint32_t times; /* for windows: how often it was run in this one */
    uint8_t n;      /* inner ones: their outcomes are known */
    bool is_listed : 1;
    bool open : 1;      /* the branch at its end is profiled, too */
    bool computed : 1;  /* that branch is computed */
    bool has_pairs : 1; /* some of the inner ones are computed, and go to blocks without */
};
_Static_assert(sizeof(struct hp_spots_list) == 32, "two are a cache line");

/* A branch. */
struct hp_spot_executed {
    uint32_t times; /* in this window; or HP_SPOT_IS_CANDIDATE, and more */
    uint32_t place; /* of its set */
};

#define HP_SPOT_IS_CANDIDATE 0x80000000u
#define HP_SPOT_COMPETES     0x40000000u

/* A set of the buffer. */
struct hp_spot_set {
    uint16_t candidates; /* in it */
    uint16_t came;       /* other branches, in this window */
};

struct hp_spot_windows {
    struct hp_spot_counts *numbered; /* has the contents; NULL: no window is open */
    uint32_t *log; /* units: the next entry says where the last branch went; or one of the below */
    size_t n_log, cap_log;
    size_t window;                     /* where it begins in the log */
    struct hp_spot_executed *executed; /* by number */
    size_t n_executed, cap_executed;
    struct hp_spot_set *sets; /* by place */
    uint32_t *units;          /* different ones in this window, by which branches are counted */
    size_t n_units, cap_units;
    uint32_t *came; /* branches that are no candidates and were executed in this window */
    size_t n_came, cap_came;
    uint32_t *rivals; /* those of them that come to sets without room for all */
    size_t n_rivals, cap_rivals;
    uint32_t *of_units, *ends; /* the rivals of each unit, and where they end */
    size_t cap_of_units, cap_ends;
    uint32_t *order; /* executions of rivals */
    size_t cap_order;
    uint32_t *risen; /* branches that become candidates with this window */
    uint32_t *grown; /* entries of branches that became candidates since the log begins */
    size_t n_grown;
    int32_t detect;                /* the detection counter is not less */
    struct hp_hotspot_stats stats; /* when the log began */
};

/* Other entries of the log. Units are fewer, because their lists would not fit into memory. */
#define HP_SPOT_BRANCH  0x80000000u /* a branch alone; its number */
#define HP_SPOT_TAKEN   0x40000000u /* it was taken */
#define HP_SPOT_NEXT    0x40000000u /* not a branch: where the unit before went */
#define HP_SPOT_REFRESH UINT32_MAX

void hp_spot_windows_fini(struct hp_spot_windows *w);

/* Whether a window should begin: a refresh or reset was just now, and nothing will be detected
 * until the next. */
bool hp_spot_windows_may_begin(const struct hp_hotspots *h);

/* Begins one; the contents must be in `numbered`. HP_ERR_NOMEM: it does not. */
HP_MUST_CHECK enum hp_err hp_spot_windows_begin(struct hp_spot_windows *w,
                                                struct hp_spot_counts *numbered);

/* Whether something may be detected in this window, or the log is too long: it is to be left before
 * anything else is executed, except for the rest of a unit. */
bool hp_spot_windows_must_leave(const struct hp_spot_windows *w);

/* Makes room for so many units (and where they went) in the log. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_reserve(struct hp_spot_windows *w, size_t units);

/* A unit is so many times more often in the log of this window. */
static inline void hp_spot_windows_unit(struct hp_spot_windows *w, struct hp_spots_list *lists,
                                        uint32_t unit, uint32_t times)
{
    w->units[w->n_units] = unit; /* there is as much room as in the log */
    w->n_units += lists[unit].times == 0;
    lists[unit].times += times;
}

/* A branch that was executed alone. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_branch(struct hp_spot_windows *w, uint32_t number,
                                                 bool taken);

/* Branches were executed, the detector's timers have counted them, and one is due: rule 6. The
 * owner of the buffer may be another one then, and no window may be open. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_time(struct hp_spot_windows *w,
                                               struct hp_spots_list *lists,
                                               const struct hp_spots_hit *hits);

/* Makes everything known; no window is open then. The contents stay in `numbered`. */
void hp_spot_windows_leave(struct hp_spot_windows *w, struct hp_spots_list *lists,
                           const struct hp_spots_hit *hits);

/* The same for contents that nobody needs any more: the buffer will be cleared. They are nowhere
 * then. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_spot_windows_drop(struct hp_spot_windows *w,
                                               struct hp_spots_list *lists,
                                               const struct hp_spots_hit *hits);

#endif
