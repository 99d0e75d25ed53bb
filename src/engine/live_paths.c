// SPDX-License-Identifier: MIT
/* What the engine counts as a path, and what it has to know of functions for that. */
#include "engine/live_impl.h"

#include <string.h>

/* --- Paths ------------------------------------------------------------------------------------ */

static struct hp_live *live_of(struct hp_path_source *source)
{
    return (struct hp_live *)(void *)((char *)source - offsetof(struct hp_live, paths));
}

static enum hp_err find_prefix(struct hp_path_source *source, uint32_t id,
                               struct hp_counted_prefix *prefix)
{
    struct hp_live *live = live_of(source);
    struct hp_arena_prefix stored;
    if (!hp_live_read_store(live, live->shape.prefix_index, live->shape.prefixes, id, &stored,
                            sizeof stored))
        return hp_fail(HP_ERR_NOTFOUND, "there is no prefix %u", id);
    *prefix = (struct hp_counted_prefix){.before = stored.before,
                                         .block = hp_code_segment_block(live->code, stored.segment),
                                         .returned = stored.how == HP_PREFIX_RETURNED};
    if (prefix->block == HP_NO_ID && stored.segment) {
        HP_TRY(live->source.load(&live->source, stored.segment));
        prefix->block = hp_code_segment_block(live->code, stored.segment);
    }
    if (prefix->block == HP_NO_ID || prefix->before >= id)
        return hp_fail(HP_ERR_FORMAT, "prefix %u does not end with a block", id);
    return HP_OK;
}

static enum hp_err find_path(struct hp_path_source *source, uint32_t id, struct hp_counted *path)
{
    struct hp_live *live = live_of(source);
    struct hp_arena_path stored;
    if (!hp_live_read_store(live, live->shape.path_index, live->shape.counted, id, &stored,
                            sizeof stored))
        return hp_fail(HP_ERR_NOTFOUND, "there is no path %u", id);
    *path = (struct hp_counted){.prefix = stored.prefix, .taken = stored.taken != 0};
    return HP_OK;
}

struct hp_path_source *hp_live_paths(struct hp_live *live)
{
    live->paths = (struct hp_path_source){.prefix = find_prefix, .path = find_path};
    return &live->paths;
}

/* --- Functions -------------------------------------------------------------------------------- */

void hp_live_set_ranges(struct hp_live *live, struct hp_range_source *source)
{
    live->ranges = source;
}

/* Stores the ranges; the position, or HP_FUNCTIONS_NOWHERE. */
static uint32_t store(struct hp_live *live, const struct hp_arena_range *ranges, size_t n)
{
    uint64_t size = sizeof(struct hp_arena_functions) + n * sizeof *ranges;
    uint64_t at = atomic_fetch_add(&live->arena->store_used, size);
    if (at % 8 || at > live->shape.store || size > live->shape.store - at)
        return HP_FUNCTIONS_NOWHERE;
    uint32_t position = (uint32_t)(at / 8 + 1);
    struct hp_arena_functions *functions = hp_shape_store(&live->shape, live->arena, position);
    functions->n = n;
    if (n)
        memcpy(functions->ranges, ranges, n * sizeof *ranges);
    return position;
}

static uint32_t answer(struct hp_live *live, uint32_t record)
{
    const struct hp_arena_range *ranges = NULL;
    size_t n = 0;
    uint32_t module;
    if (!live->ranges || hp_live_load_module(live, record, &module) != HP_OK ||
        live->ranges->ranges(live->ranges, module, &ranges, &n) != HP_OK)
        return HP_FUNCTIONS_NOWHERE;
    return store(live, ranges, n);
}

void hp_live_answer(struct hp_live *live)
{
    uint32_t wanted = atomic_load(&live->arena->functions_wanted);
    if (live->mode != HP_RECORD_PATHS || wanted == live->ranges_answered)
        return;
    live->ranges_answered = wanted;
    uint32_t last = atomic_load(&live->arena->next_record);
    _Atomic uint32_t *index = hp_arena_index(live->arena, live->shape.function_index);
    for (uint32_t i = 1; i <= last && i < live->shape.records; i++)
        if (atomic_load(&index[i]) == HP_FUNCTIONS_WANTED)
            atomic_store(&index[i], answer(live, i));
}
