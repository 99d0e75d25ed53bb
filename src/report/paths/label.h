// SPDX-License-Identifier: MIT
/* What a person recognises a path by: its lines, and the branch where it leaves another one. */
#ifndef HP_REPORT_PATH_LABEL_H
#define HP_REPORT_PATH_LABEL_H

#include "report/tables.h"

/* Appends "hash.c:12→14→19": the lines of its branches, neighbours that are the same once, in the
 * function that all of it was written in; of many, the first and the last. Nothing when its steps
 * are not known. */
void hp_put_path_lines(const struct hp_tables *tables, uint32_t path, bool whole,
                       struct hp_strbuf *cell);

/* Appends that function, one that was inlined or the one that the path starts in. */
void hp_put_path_function(const struct hp_tables *tables, uint32_t path, struct hp_strbuf *cell);

/* The path of the same kind and start that shares most with one, of those that are heavier; and
 * the step that both have, at which they part. */
struct hp_path_difference {
    uint32_t path; /* HP_PROFILE_NONE: there is none */
    uint32_t step;
    uint32_t rank; /* of the path that this is of, in its kind, by weight, from 1 */
};

/* Finds that of all paths, once: hp_tables.differences. Of paths with the same start only the
 * heaviest are looked at. */
enum hp_err hp_paths_compare(struct hp_tables *tables);

/* Appends "hash.c:14 ->": where a path parts from that one, and how it goes on itself. */
void hp_put_difference(const struct hp_tables *tables, uint32_t path, bool whole,
                       struct hp_strbuf *cell);

/* The step whose branch a machine in cycles mispredicted most often, and how often an execution
 * was; false: none is known. */
bool hp_path_mispredicted(const struct hp_tables *tables, uint32_t path, uint32_t *step,
                          double *rate);

/* Appends "hash.c:14", where a step's branch is. */
void hp_put_step_line(const struct hp_tables *tables, uint32_t path, uint32_t step, bool whole,
                      struct hp_strbuf *cell);

#endif
