// SPDX-License-Identifier: MIT
/*
 * Metrics: what can be counted along executed code. The first two need only the stream; a machine
 * model (machine.h) produces the others, block by block.
 */
#ifndef HOTPATH_METRIC_H
#define HOTPATH_METRIC_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hp_metric {
    HP_METRIC_EXECUTIONS,   /* 1 for every path, whatever its length */
    HP_METRIC_INSTRUCTIONS, /* retired */
    HP_METRIC_L1I_MISSES,
    HP_METRIC_L1D_MISSES,
    HP_METRIC_L2_MISSES,
    HP_METRIC_L3_MISSES, /* 0 on a machine without one */
    HP_METRIC_ITLB_MISSES,
    HP_METRIC_DTLB_MISSES,
    HP_METRIC_MISPREDICTIONS, /* direction, target or return address wrong */
    HP_METRIC_POWER,          /* of the caches, analytical model: in sixteenths of an L1I access */
    HP_METRIC_POWER_CYCLE,    /* of the caches, cycle model: likewise */
    HP_METRICS
};

/* What one retired block caused. [HP_METRIC_EXECUTIONS] is not used. */
struct hp_events {
    uint32_t count[HP_METRICS];
};

/* "executions", "instructions", "l1i", "l1d", "l2", "l3", "itlb", "dtlb", "mispredictions",
 * "power", "power-cycle"; never NULL. */
const char *hp_metric_name(enum hp_metric metric);
/* "L1 data cache misses" and so on, for people. */
const char *hp_metric_title(enum hp_metric metric);
/* HP_ERR_INVALID: no metric has that name; the text lists them. */
HP_MUST_CHECK enum hp_err hp_metric_parse(const char *name, enum hp_metric *metric);

/* Whether counting it takes a machine model, and one that sees data addresses. */
bool hp_metric_needs_machine(enum hp_metric metric);
bool hp_metric_needs_addresses(enum hp_metric metric);

#ifdef __cplusplus
}
#endif
#endif
