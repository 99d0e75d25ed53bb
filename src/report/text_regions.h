// SPDX-License-Identifier: MIT
/*
 * Contexts, loops and hot spots for people: views that are more than a table. At most `limit` rows (0: all) of each list.
 */
#ifndef HP_REPORT_TEXT_REGIONS_H
#define HP_REPORT_TEXT_REGIONS_H

#include "report/tables.h"

/* Calling contexts, each indented below the one it was called from; what options->top says, else those with at least 1 % of the instructions. */
enum hp_err hp_print_contexts(struct hp_tables *tables, const struct hp_report_options *options,
                              FILE *out);

/* Loops, nested ones indented below those that they are in. */
enum hp_err hp_print_loops(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, FILE *out);

/* What models of hardware say about loops, beside what is true. */
enum hp_err hp_print_loop_models(struct hp_tables *tables, const struct hp_report_options *options,
                                 size_t limit, FILE *out);

/* What loops would gain in hardware, and what is lost when only iterations are looked at. */
enum hp_err hp_print_partition(struct hp_tables *tables, const struct hp_report_options *options,
                               size_t limit, FILE *out);

/* Hot spots, and when each of them ran. */
enum hp_err hp_print_hotspots(struct hp_tables *tables, const struct hp_report_options *options,
                              size_t limit, FILE *out);

/* One line of a text, cut to the width of the terminal; HP_ERR_NOMEM when it could not be made. Empties the text. */
enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out);

/* "… and 12 more", where rows were left out. */
void hp_print_more(FILE *out, size_t more);

/* The eighth part blocks, from " " for 0 to "█" for 1; what is more than nothing is never blank. */
const char *hp_density_glyph(double density);

#endif
