// SPDX-License-Identifier: MIT
#include "hotpath/metric.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *title;
    bool machine, addresses;
} metrics[HP_METRICS] = {
    [HP_METRIC_EXECUTIONS] = {"executions", "executions", false, false},
    [HP_METRIC_INSTRUCTIONS] = {"instructions", "instructions", false, false},
    [HP_METRIC_L1I_MISSES] = {"l1i", "L1 instruction cache misses", true, false},
    [HP_METRIC_L1D_MISSES] = {"l1d", "L1 data cache misses", true, true},
    [HP_METRIC_L2_MISSES] = {"l2", "L2 cache misses", true, true},
    [HP_METRIC_L3_MISSES] = {"l3", "L3 cache misses", true, true},
    [HP_METRIC_ITLB_MISSES] = {"itlb", "instruction TLB misses", true, false},
    [HP_METRIC_DTLB_MISSES] = {"dtlb", "data TLB misses", true, true},
    [HP_METRIC_MISPREDICTIONS] = {"mispredictions", "branch mispredictions", true, false},
    [HP_METRIC_POWER] = {"power", "cache power, analytical model", true, true},
    [HP_METRIC_POWER_CYCLE] = {"power-cycle", "cache power, cycle model", true, true},
};

const char *hp_metric_name(enum hp_metric metric)
{
    return metrics[metric].name;
}

const char *hp_metric_title(enum hp_metric metric)
{
    return metrics[metric].title;
}

enum hp_err hp_metric_parse(const char *name, enum hp_metric *metric)
{
    for (int i = 0; i < HP_METRICS; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            *metric = (enum hp_metric)i;
            return HP_OK;
        }
    }
    char names[256] = "";
    for (size_t i = 0, at = 0; i < HP_METRICS && at < sizeof names; i++)
        at +=
            (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", metrics[i].name);
    return hp_fail(HP_ERR_INVALID, "there is no metric '%s'; there are: %s", name, names);
}

bool hp_metric_needs_machine(enum hp_metric metric)
{
    return metrics[metric].machine;
}

bool hp_metric_needs_addresses(enum hp_metric metric)
{
    return metrics[metric].addresses;
}
