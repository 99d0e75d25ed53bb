// SPDX-License-Identifier: MIT
/*
 * Hardware/software partitioning: what a program would gain if a loop ran in hardware (Nair,
 * Lysecky, section 2):
 *
 *     T_hw/sw = T_sw - T_sw(loop) + T_hw(loop) + executions x (T_init + T_sync)
 *
 * Times are in instructions. T_sw(loop) are the loop's own ones, nested loops included, callees
 * not: they stay in software. So loops that are not nested in each other have none in common, and
 * what they gain adds up.
 */
#ifndef HP_REPORT_PARTITION_H
#define HP_REPORT_PARTITION_H

#include "report/report.h"

struct hp_tables;
struct hp_rows;

/* What one loop would gain. */
struct hp_partition_estimate {
    double software;      /* T_sw(loop) */
    double hardware;      /* T_hw(loop) */
    double communication; /* executions x (T_init + T_sync) */
    double gain;          /* may be negative */
    double speedup;
};

/* Of the view's rows, which are in order, the loops that are chosen together: the one that gains
 * most, the next that is not nested with it, ... as long as there is something to gain, at most as
 * many as the costs say. With `by_iterations` as somebody would choose who knows no more: those
 * with the most iterations. Their indices; free() them. */
enum hp_err hp_partition_choose(const struct hp_tables *tables, const struct hp_rows *rows,
                                bool by_iterations, uint32_t **chosen, size_t *n);

#endif
