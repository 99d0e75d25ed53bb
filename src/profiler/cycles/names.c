// SPDX-License-Identifier: MIT
#include "hotpath/cycles.h"

const char *hp_cause_name(enum hp_cause cause)
{
    static const char *const names[HP_CAUSES] = {
        [HP_CAUSE_RETIRE] = "retire",
        [HP_CAUSE_EXECUTE] = "execute",
        [HP_CAUSE_UNIT] = "unit",
        [HP_CAUSE_L1] = "l1",
        [HP_CAUSE_L2] = "l2",
        [HP_CAUSE_L3] = "l3",
        [HP_CAUSE_MEMORY] = "memory",
        [HP_CAUSE_DTLB] = "dtlb",
        [HP_CAUSE_BLOCKED] = "blocked",
        [HP_CAUSE_QUEUE] = "queue",
        [HP_CAUSE_MISPREDICT] = "mispredict",
        [HP_CAUSE_TRAP] = "trap",
        [HP_CAUSE_L1I] = "l1i",
        [HP_CAUSE_ITLB] = "itlb",
        [HP_CAUSE_FETCH] = "fetch",
        [HP_CAUSE_SERIAL] = "serial",
    };
    return (unsigned)cause < HP_CAUSES ? names[cause] : "";
}

const char *hp_attribution_name(enum hp_attribution kind)
{
    static const char *const names[HP_ATTRIBUTIONS] = {
        [HP_ATTRIBUTE_EXACT] = "exact",
        [HP_ATTRIBUTE_PROFILEME] = "profileme",
        [HP_ATTRIBUTE_DISPATCH] = "dispatch",
        [HP_ATTRIBUTE_NEXT] = "next",
    };
    return (unsigned)kind < HP_ATTRIBUTIONS ? names[kind] : "";
}
