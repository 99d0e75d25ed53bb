// SPDX-License-Identifier: MIT
/*
 * Basic block vectors for SimPoint: one line for each interval of the run, "T:1:1200 :7:340 ", with the blocks by number and how many
 * instructions were executed in each. The second file says which block a number is.
 */
#ifndef HP_EXPORT_SIMPOINT_H
#define HP_EXPORT_SIMPOINT_H

#include "export/stream.h"

#define HP_SIMPOINT_INTERVAL 100000000 /* instructions, when nothing is said */

extern const struct hp_stream_format hp_stream_simpoint;

#endif
