// SPDX-License-Identifier: MIT
/*
 * O3PipeView, the log format of gem5's out-of-order core (docs/export-pipeline.md says what is where).
 */
#ifndef HP_EXPORT_O3_H
#define HP_EXPORT_O3_H

#include "export/log.h"

#define HP_O3_TICKS 1000 /* a cycle */

extern const struct hp_log_format hp_log_o3;

#endif
