// SPDX-License-Identifier: MIT
/*
 * Bringing a profile into its normal form.
 *
 * The arrays are copied, all but the largest, the copies are put in order from the referred-to to the referring
 * (modules, functions, blocks and edges and calls, lines, counters, contexts, paths, loops, hot spots, instructions), and only when nothing can
 * fail any more do they take the place of the old ones.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

/* The copy being worked on, and the new index of every old element. */
struct work {
    struct hp_profile next;
    struct hp_profile_memory memory;
    uint32_t *modules, *functions, *blocks, *edges, *calls;
    size_t *room; /* for sorting counters */
};

static void work_fini(struct work *work)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
        struct hp_parray_view view = hp_profile_array(&work->next, (enum hp_parray)i);
        free(hp_parray_items(&view));
    }
    free(work->modules);
    free(work->functions);
    free(work->blocks);
    free(work->edges);
    free(work->calls);
    free(work->room);
}

/* The largest arrays, to which nothing refers: they are not copied but put in order where they are, at last. */
static bool stays(int array)
{
    return array == HP_PARRAY_BLOCK_COUNTS || array == HP_PARRAY_EDGE_COUNTS ||
           array == HP_PARRAY_FUNCTION_COUNTS || array == HP_PARRAY_CALL_COUNTS;
}

static enum hp_err copy_arrays(struct work *work, struct hp_profile *profile)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
        if (stays(i))
            continue;
        struct hp_parray_view from = hp_profile_array(profile, (enum hp_parray)i);
        struct hp_parray_view to = hp_profile_array(&work->next, (enum hp_parray)i);
        HP_TRY(hp_parray_reserve(&to, *from.n));
        if (*from.n)
            memcpy(hp_parray_items(&to), hp_parray_items(&from), *from.n * from.size);
        *to.n = *from.n;
    }
    return HP_OK;
}

static void swap_arrays(struct work *work, struct hp_profile *profile)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
        if (stays(i))
            continue;
        struct hp_parray_view a = hp_profile_array(profile, (enum hp_parray)i);
        struct hp_parray_view b = hp_profile_array(&work->next, (enum hp_parray)i);
        void *items_a = hp_parray_items(&a), *items_b = hp_parray_items(&b);
        size_t n = *a.n, capacity = *a.capacity;
        memcpy(a.array, &items_b, sizeof items_b);
        memcpy(b.array, &items_a, sizeof items_a);
        *a.n = *b.n;
        *b.n = n;
        *a.capacity = *b.capacity;
        *b.capacity = capacity;
    }
}

static uint32_t mapped(const uint32_t *map, uint32_t index)
{
    return index == HP_PROFILE_NONE ? index : map[index];
}

/* --- Things ----------------------------------------------------------------------------------- */

/* Joined by what they are, then sorted by path: two steps, one map. */
static enum hp_err order_modules(struct work *work)
{
    struct hp_profile *p = &work->next;
    size_t n = p->n_modules;
    HP_TRY(hp_order_apply(&hp_order_module_identity, p->modules, &p->n_modules, &work->modules));
    uint32_t *by_path;
    HP_TRY(hp_order_apply(&hp_order_module, p->modules, &p->n_modules, &by_path));
    for (size_t i = 0; i < n; i++)
        work->modules[i] = by_path[work->modules[i]];
    free(by_path);
    for (size_t i = 0; i < p->n_functions; i++)
        p->functions[i].place.module = mapped(work->modules, p->functions[i].place.module);
    for (size_t i = 0; i < p->n_blocks; i++)
        p->blocks[i].place.module = mapped(work->modules, p->blocks[i].place.module);
    for (size_t i = 0; i < p->n_edges; i++) {
        p->edges[i].from.module = mapped(work->modules, p->edges[i].from.module);
        p->edges[i].to.module = mapped(work->modules, p->edges[i].to.module);
    }
    for (size_t i = 0; i < p->n_paths; i++)
        p->paths[i].start.module = mapped(work->modules, p->paths[i].start.module);
    for (size_t i = 0; i < p->n_loops; i++)
        p->loops[i].header.module = mapped(work->modules, p->loops[i].header.module);
    for (size_t i = 0; i < p->n_model_loops; i++) {
        p->model_loops[i].branch.module = mapped(work->modules, p->model_loops[i].branch.module);
        p->model_loops[i].target.module = mapped(work->modules, p->model_loops[i].target.module);
    }
    for (size_t i = 0; i < p->n_hotspot_branches; i++) {
        struct hp_place *branch = &p->hotspot_branches[i].branch;
        branch->module = mapped(work->modules, branch->module);
    }
    for (size_t i = 0; i < p->n_insns; i++)
        p->insns[i].place.module = mapped(work->modules, p->insns[i].place.module);
    return HP_OK;
}

static enum hp_err order_functions(struct work *work)
{
    struct hp_profile *p = &work->next;
    HP_TRY(hp_order_apply(&hp_order_function, p->functions, &p->n_functions, &work->functions));
    for (size_t i = 0; i < p->n_blocks; i++)
        p->blocks[i].function = mapped(work->functions, p->blocks[i].function);
    for (size_t i = 0; i < p->n_calls; i++) {
        p->calls[i].caller = mapped(work->functions, p->calls[i].caller);
        p->calls[i].callee = mapped(work->functions, p->calls[i].callee);
    }
    for (size_t i = 0; i < p->n_contexts; i++)
        p->contexts[i].function = mapped(work->functions, p->contexts[i].function);
    for (size_t i = 0; i < p->n_paths; i++)
        p->paths[i].function = mapped(work->functions, p->paths[i].function);
    for (size_t i = 0; i < p->n_loops; i++)
        p->loops[i].function = mapped(work->functions, p->loops[i].function);
    for (size_t i = 0; i < p->n_model_loops; i++)
        p->model_loops[i].function = mapped(work->functions, p->model_loops[i].function);
    for (size_t i = 0; i < p->n_insns; i++)
        p->insns[i].function = mapped(work->functions, p->insns[i].function);
    return HP_OK;
}

static enum hp_err order_lines(struct work *work)
{
    struct hp_profile *p = &work->next;
    for (size_t i = 0; i < p->n_lines; i++)
        p->lines[i].block = work->blocks[p->lines[i].block];
    uint32_t *map;
    HP_TRY(hp_order_apply(&hp_order_line, p->lines, &p->n_lines, &map));
    free(map);
    return HP_OK;
}

static enum hp_err order_notes(struct work *work, const struct hp_profile *old)
{
    struct hp_profile *p = &work->next;
    uint32_t *map;
    HP_TRY(hp_order_apply(&hp_order_note, p->notes, &p->n_notes, &map));
    for (size_t i = 0; i < p->n_notes; i++)
        p->notes[i].count = 0;
    for (size_t i = 0; i < old->n_notes; i++) {
        struct hp_pnote *note = &p->notes[map[i]];
        note->count = hp_add_saturated(note->count, old->notes[i].count);
    }
    free(map);
    return HP_OK;
}

/* --- Counters --------------------------------------------------------------------------------- */

static size_t most_items(const struct hp_profile *p)
{
    size_t most = p->n_blocks > p->n_edges ? p->n_blocks : p->n_edges;
    most = most > p->n_functions ? most : p->n_functions;
    return most > p->n_calls ? most : p->n_calls;
}

static void order_counts(const struct work *work, struct hp_profile *p)
{
    hp_counters_order_in(p->block_counts, &p->n_block_counts, sizeof *p->block_counts, work->blocks,
                         p->n_blocks, NULL, work->room);
    hp_counters_order_in(p->edge_counts, &p->n_edge_counts, sizeof *p->edge_counts, work->edges,
                         p->n_edges, NULL, work->room);
    hp_counters_order_in(p->function_counts, &p->n_function_counts, sizeof *p->function_counts,
                         work->functions, p->n_functions, NULL, work->room);
    hp_counters_order_in(p->call_counts, &p->n_call_counts, sizeof *p->call_counts, work->calls,
                         p->n_calls, NULL, work->room);
}

/* --- All together ----------------------------------------------------------------------------- */

static enum hp_err normalize_copy(struct work *work, struct hp_profile *profile)
{
    struct hp_profile *p = &work->next;
    HP_TRY(copy_arrays(work, profile));
    HP_TRY(order_modules(work));
    HP_TRY(order_functions(work));
    HP_TRY(hp_order_apply(&hp_order_block, p->blocks, &p->n_blocks, &work->blocks));
    HP_TRY(hp_order_apply(&hp_order_edge, p->edges, &p->n_edges, &work->edges));
    HP_TRY(hp_order_apply(&hp_order_call, p->calls, &p->n_calls, &work->calls));
    HP_TRY(order_lines(work));
    HP_TRY(order_notes(work, profile));
    HP_TRY(hp_contexts_order(p));
    HP_TRY(hp_paths_order(p, work->blocks));
    hp_models_order(p);
    HP_TRY(hp_loops_order(p, work->blocks));
    HP_TRY(hp_hotspots_order(p, work->blocks));
    HP_TRY(hp_insns_order(p));
    work->room = hp_counters_room(most_items(p));
    return work->room ? HP_OK : HP_ERR_NOMEM;
}

enum hp_err hp_profile_normalize(struct hp_profile *profile)
{
    HP_TRY(hp_profile_check(profile));
    if (hp_profile_check_normal(profile) == HP_OK)
        return HP_OK;
    struct work work = {0};
    work.next.memory = &work.memory;
    enum hp_err err = normalize_copy(&work, profile);
    if (err == HP_OK) {
        swap_arrays(&work, profile);
        order_counts(&work, profile);
    }
    work_fini(&work);
    return err;
}
