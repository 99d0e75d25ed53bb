// SPDX-License-Identifier: MIT
#include "profiler/region.h"

void hp_region_begin(struct hp_region_progress *progress, const struct hp_region *region,
                     struct hp_functions *functions)
{
    *progress = (struct hp_region_progress){.region = *region,
                                            .functions = functions,
                                            .state = region->from    ? HP_REGION_WAIT_FROM
                                                     : region->after ? HP_REGION_WAIT_AFTER
                                                                     : HP_REGION_OPEN};
}

void hp_region_fini(struct hp_region_progress *progress)
{
    hp_map64_fini(&progress->not_from);
}

bool hp_region_is_named(struct hp_region_progress *p, uint32_t block)
{
    uint32_t id = hp_functions_of_block(p->functions, block);
    if (id == HP_NO_ID || !hp_functions_is_entry(p->functions, block) ||
        hp_map64_get(&p->not_from, id) != HP_MAP64_NONE)
        return false;
    const struct hp_function *function = hp_functions_get(p->functions, id);
    if (!function->symbol)
        return false;
    uint64_t offsets[16];
    size_t n = hp_symbols_by_name(hp_functions_symbols(p->functions, function->module),
                                  p->region.from, offsets, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (offsets[i] == function->offset)
            return true;
    hp_map64_keep(&p->not_from, id, 1);
    return false;
}

void hp_region_next(struct hp_region_progress *progress)
{
    if (progress->state == HP_REGION_WAIT_FROM)
        progress->counted = 0;
    progress->state++;
}
