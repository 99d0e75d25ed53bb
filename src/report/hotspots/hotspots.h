// SPDX-License-Identifier: MIT
/* Hot spots as reports need them: functions of a region, all of a detector, and when they ran. */
#ifndef HP_REPORT_HOTSPOTS_H
#define HP_REPORT_HOTSPOTS_H

#include "report/tables.h"

/* A function that a region is in. */
struct hp_hotspot_function {
    uint32_t function;     /* HP_PROFILE_NONE: not known */
    uint64_t instructions; /* executed in the blocks of the region, as far as blocks were counted */
    uint64_t insns;        /* static, in the region */
};

/* Those of a hot spot, heaviest first; free() them. After hp_tables_count_blocks(). */
enum hp_err hp_hotspot_functions(const struct hp_tables *tables, uint32_t hotspot,
                                 struct hp_hotspot_function **functions, size_t *n);

/* The hot spots of one detector in one run, which are neighbours: `n` from `first` on. As the
 * detector's profiler says; of a merged profile, whose stats are of all runs together, as the
 * blocks say (those that overlap count twice). After hp_tables_count_blocks(). */
struct hp_hotspot_sum {
    uint64_t insns;        /* static, in any region */
    uint64_t executed;     /* static, executed at all; 0: not known */
    uint64_t instructions; /* executed in any region; not known where `executed` is not */
    uint64_t after;        /* since it was detected */
    bool after_known;
    uint64_t first; /* branches until the first detection */
};
enum hp_err hp_hotspot_sum(const struct hp_tables *tables, uint32_t first, size_t n,
                           struct hp_hotspot_sum *sum);

/* The time line: how a run is cut into columns. */
struct hp_timeline {
    size_t columns;
    double column; /* instructions of the run */
    double end;    /* of the run; 0: not known */
};

/* That of `n` hot spots from `first` on, in at most `most` columns; 0 columns: nothing is known. */
void hp_timeline_fit(const struct hp_tables *tables, uint32_t first, size_t n, size_t most,
                     struct hp_timeline *line);

/* `density` gets, for each column, which part of it was executed in the hot spot. */
void hp_timeline_fill(const struct hp_profile *profile, const struct hp_timeline *line,
                      uint32_t hotspot, double *density);

#endif
