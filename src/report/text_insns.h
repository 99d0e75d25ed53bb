// SPDX-License-Identifier: MIT
/*
 * Instructions on a machine in cycles, for people. At most `limit` rows (0: all) of each list.
 */
#ifndef HP_REPORT_TEXT_INSNS_H
#define HP_REPORT_TEXT_INSNS_H

#include "report/tables.h"

/* The worst instructions, each with the sentence why. */
enum hp_err hp_print_insns(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, FILE *out);

/* Where the cycles went: of the run, and by what the options say. */
enum hp_err hp_print_cpi(struct hp_tables *tables, const struct hp_report_options *options,
                         size_t limit, FILE *out);

/* Samplers, and the errors of ways of sampling. */
enum hp_err hp_print_sampling(struct hp_tables *tables, const struct hp_report_options *options,
                              FILE *out);

/* What the run comes to: extrapolated from windows first, then what was measured. */
enum hp_err hp_print_cycles_head(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out);

/* A number of cycles or executions, which need not be whole: as hp_strbuf_human(), below 100 with one decimal unless it is. */
void hp_put_amount(double value, struct hp_strbuf *cell);

/* " ±12%": how far the farther end of the interval is away, of the value; nothing when it is exact. */
void hp_put_interval(struct hp_estimate estimate, struct hp_strbuf *cell);

/* A sentence below a row, broken at blanks where the width is limited, each line indented by `indent`. Empties the text. */
enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out);

#endif
