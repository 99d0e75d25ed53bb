// SPDX-License-Identifier: MIT
/* The cycles of paths, as a machine in cycles had them (docs/paths.md, "Cycles"). */
#ifndef HP_REPORT_PATHS_TIME_H
#define HP_REPORT_PATHS_TIME_H

#include "report/fields.h"

/* Those of a path, over all executions that were measured. */
struct hp_path_cycles {
    uint64_t count, insns; /* measured; 0: nothing is known */
    uint64_t parts;
    double causes[HP_CAUSES]; /* of these */
};

struct hp_path_cycles hp_path_cycles_of(const struct hp_tables *tables, uint32_t path);

/* The fields of the view, which need HP_ROW_PATH_TIME. */
enum hp_path_time_value {
    HP_PATH_MEASURED,
    HP_PATH_CYCLES,
    HP_PATH_EACH,
    HP_PATH_CPI,
    HP_PATH_CYCLE_SHARE,
};
struct hp_cell hp_path_time_cell(const struct hp_field_input *input); /* `get`, of `value` */
void hp_path_time_causes(const struct hp_field_input *input, struct hp_list *list);

/* Appends "memory 45.0%, retire 30.1%": the causes of most of a path's cycles; nothing where they
 * are not known. */
void hp_put_path_causes(const struct hp_tables *tables, uint32_t path, struct hp_strbuf *text);

#endif
