// SPDX-License-Identifier: MIT
/* Which of ProfileMe's numbers other samplers know. */
#include "hotpath/sample.h"

#include <string.h>

#define ALL      UINT32_MAX
#define EVENT(e) (1u << HP_INSN_##e)
#define STAGE(s) (1u << HP_STAGE_##s)

#define OP_STAGES (STAGE(EXECUTE) | STAGE(RETIRE) | STAGE(LOAD))
#define OP_EVENTS                                                                                  \
    (EVENT(L1D) | EVENT(L2) | EVENT(L3) | EVENT(DTLB) | EVENT(TAKEN) | EVENT(MISPREDICTED))
#define OP_LATENCY "from dispatch to completion"
#define OP_NAMES   "dispatch to completion", "miss"
#define OP_UNKNOWN                                                                                 \
    "fetch to dispatch, waiting apart from execution, misses of code, stores that forward or "     \
    "block, full queues and busy units, wrong paths"

static const struct hp_sampler_about samplers[] = {
    {"ibs-op", "ops", OP_LATENCY, OP_NAMES, OP_UNKNOWN, true, false, false, OP_STAGES, OP_EVENTS},
    {"ibs-op-cycles", "cycles", "of dispatch", OP_NAMES, OP_UNKNOWN ", executions", false, false,
     false, OP_STAGES, OP_EVENTS},
    {"spe", "ops", OP_LATENCY, NULL, NULL,
     "fetch to dispatch, waiting for operands apart from waiting for a unit, retirement, misses of "
     "the L2 and of code, stores that forward or block, full queues",
     true, false, true, STAGE(ISSUE) | STAGE(EXECUTE) | STAGE(LOAD),
     EVENT(L1D) | EVENT(L3) | EVENT(DTLB) | EVENT(TAKEN) | EVENT(MISPREDICTED)},
    {"ibs-fetch", "fetches", "of fetches", NULL, NULL, "everything but fetches", true, true, false,
     STAGE(MAP), EVENT(L1I) | EVENT(ITLB)},
};
static const struct hp_sampler_about profileme = {
    "profileme", "", "from fetch to retire ready", NULL, NULL, "", true, false, true, ALL, ALL};

const struct hp_sampler_about *hp_sampler_about(const char *name)
{
    size_t n = strcspn(name, ",");
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++)
        if (strncmp(samplers[i].name, name, n) == 0 && !samplers[i].name[n])
            return &samplers[i];
    return &profileme;
}
