// SPDX-License-Identifier: MIT
/*
 * Instructions taken together: by source line, loop, function, or all of them. Where their cycles
 * went (the CPI stack), and how far ways of sampling are from that.
 */
#ifndef HP_REPORT_CPI_H
#define HP_REPORT_CPI_H

#include "hotpath/cycles.h"
#include "report/report.h"
#include "text/strbuf.h"

struct hp_tables;
struct hp_rows;

/* --- Groups ----------------------------------------------------------------------------------- */

/* The group of each instruction (malloc'd), in 0 ... *n - 1. By run: one. By instruction: each its
 * own. Without a source line those of a function are together, and so are all that are in no loop,
 * and all that are in no function. */
enum hp_err hp_insn_groups(const struct hp_tables *tables, enum hp_report_by by, uint32_t **groups,
                           size_t *n);

/* --- The CPI stack ---------------------------------------------------------------------------- */

struct hp_cpi_item {
    uint32_t insn;    /* one of it */
    uint64_t retired; /* instructions */
    uint64_t parts[HP_CAUSES];
    uint64_t all;  /* parts */
    uint32_t loop; /* by loop; HP_PROFILE_NONE: in none */
};

/* Sums the cycles; items without any are left out. By cycles, then address. free() `items`. */
enum hp_err hp_cpi_items(const struct hp_tables *tables, enum hp_report_by by,
                         struct hp_cpi_item **items, size_t *n);

/* What it is called, clean: "work", "demo.c:12", "work demo.c:11-13", "run". */
void hp_cpi_name(const struct hp_tables *tables, enum hp_report_by by,
                 const struct hp_cpi_item *item, struct hp_strbuf *text);

/* Cycles an instruction; 0 where none retired. */
double hp_cpi_of(uint64_t parts, uint64_t retired);

/* The causes of an item, most cycles first; returns how many have any. */
size_t hp_cpi_order(const struct hp_cpi_item *item, enum hp_cause causes[HP_CAUSES]);

/* Makes tables->cpi and the rows of the view: v[0] are parts. */
enum hp_err hp_rows_cpi(struct hp_rows *rows, struct hp_tables *tables, bool per_thread);

/* --- Ways of sampling ------------------------------------------------------------------------- */

/* A sampler, or another way to attribute time. */
struct hp_sampling_way {
    const char *name;
    const struct hp_psampler *sampler; /* NULL: it is no sampler of ours */
    uint64_t instructions;             /* that it knows */
    /* of the time, how much is at another place than exactly; < 0: not known */
    double errors[HP_REPORT_BY_COUNT_];
};

/* Makes tables->ways and the rows of the view. */
enum hp_err hp_rows_sampling(struct hp_rows *rows, struct hp_tables *tables, bool per_thread);

#endif
