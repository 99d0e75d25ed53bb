// SPDX-License-Identifier: MIT
/*
 * Loops as reports need them: all threads together, as a forest in the order in which people read
 * it.
 *
 * Positions: functions by their heaviest loop, in them the loops by weight (instructions, callees
 * included), each followed by those that are nested in it.
 */
#ifndef HP_REPORT_LOOPS_H
#define HP_REPORT_LOOPS_H

#include "base/lists.h"
#include "hotpath/profile.h"
#include "text/strbuf.h"

struct hp_field_row;
struct hp_tables;
struct hp_row;
struct hp_rows;
struct hp_text;

struct hp_loop_info {
    struct hp_ploop_count total; /* all threads; item and thread mean nothing */
    double predictable;          /* of the executions, how many could be; < 0: not known */
    uint32_t depth;              /* 0: in no other */
    uint32_t at, end;            /* its position, and that behind the last one nested in it */
    uint32_t rank;               /* by iterations, from 1 */
    /* Where it is in the source: the function, one of the profile's inlined ones, or
     * HP_PROFILE_NONE: the one that has the code; its first line there, that of its header, and its
     * last one. */
    uint32_t function;
    const char *file; /* "" unknown */
    uint32_t line, last_line;
};

/* A back edge of a loop that is an edge of the profile. */
struct hp_back_edge {
    uint32_t loop;
    uint32_t edge;
    uint64_t count;
};

struct hp_loops {
    struct hp_loop_info *info;
    struct hp_lists models;          /* by loop: the profile's loops of models that know it */
    struct hp_back_edge *back_edges; /* by loop, the most frequent first; see hp_loops_edges() */
    size_t n_back_edges;
    bool edges_known;
};

/* HP_ERR_INVALID: loops are nested in each other. What was made stays on failure. */
enum hp_err hp_loops_init(struct hp_loops *loops, const struct hp_profile *profile);
void hp_loops_fini(struct hp_loops *loops);

/* Finds where all loops are in the source; their positions are known. */
enum hp_err hp_loops_find_source(struct hp_loop_info *info, const struct hp_profile *profile);

/* Finds the back edges, once. Those of calls are no edges of the profile and are not there; of an
 * irreducible loop only those to the header that names it. */
enum hp_err hp_loops_edges(struct hp_tables *tables);

/* Those of a loop, its trip counts (buckets or exact values; none where not all executions are
 * known one by one): the first of `*n`. */
const struct hp_back_edge *hp_loop_edges(const struct hp_loops *loops, uint32_t loop, size_t *n);
const struct hp_ploop_trips *hp_loop_trips(const struct hp_profile *profile, uint32_t loop,
                                           bool buckets, size_t *n);

/* For views of loops: struct hp_loop_info, which begins with the total; their order by address. */
extern const struct hp_field_row hp_loop_total;
int hp_loop_compare(const struct hp_profile *profile, uint32_t a, uint32_t b);

/* The counts of a row of the loops view: of all threads, or of one. */
const struct hp_ploop_count *hp_loop_counts(const struct hp_tables *tables,
                                            const struct hp_row *row);

/* "demo.c:11-20" with `name`, or where it is in the source of another function than the loop around
 * it, behind the function's: "mix demo.c:11-20 in work" was inlined there; without source
 * "work+0x1c", or without `name`
 * "+0x1c"; of a function without a name the address. Names have at most so many columns. */
void hp_put_loop(const struct hp_tables *tables, uint32_t loop, bool name, size_t columns,
                 struct hp_strbuf *cell);

/* How many columns of the terminal the name of a loop's function may have. */
size_t hp_loop_columns(const struct hp_text *text);

/* What one loop would gain in hardware: see partition.c. */
struct hp_partition_estimate {
    double software;      /* T_sw(loop) */
    double hardware;      /* T_hw(loop) */
    double communication; /* executions x (T_init + T_sync) */
    double gain;          /* may be negative */
    double speedup;
};

/* Of the partition's rows, which are in order, the loops that are chosen together: the one that
 * gains most, the next that is not nested with it, ... as long as there is something to gain, at
 * most as many as the costs say. With `by_iterations` as somebody would choose who knows no more:
 * those with the most iterations. Their indices; free() them. */
enum hp_err hp_partition_choose(const struct hp_tables *tables, const struct hp_rows *rows,
                                bool by_iterations, uint32_t **chosen, size_t *n);

#endif
