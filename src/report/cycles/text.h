// SPDX-License-Identifier: MIT
#ifndef HP_REPORT_CYCLES_TEXT_H
#define HP_REPORT_CYCLES_TEXT_H

#include "report/tables.h"

/* What the run comes to: extrapolated from windows first, then what was measured. */
enum hp_err hp_print_cycles_head(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out);

#endif
