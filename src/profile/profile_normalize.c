// SPDX-License-Identifier: MIT
/*
 * Bringing a profile into its normal form.
 *
 * The arrays are copied, the copies are put in order from the referred-to to the referring
 * (modules, functions, blocks and edges and calls, lines, counters), and only when nothing can fail
 * any more do they take the place of the old ones. Counters, the largest arrays, are sorted by
 * counting: O(n), as their keys are indices.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

/* The copy being worked on, and the new index of every old element. */
struct work {
    struct hp_profile next;
    struct hp_profile_memory memory;
    uint32_t *modules, *functions, *blocks, *edges, *calls;
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
}

static enum hp_err copy_arrays(struct work *work, struct hp_profile *profile)
{
    for (int i = 0; i < HP_PARRAY_COUNT_; i++) {
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

/* What all three kinds of counter begin with. */
struct counter_head {
    uint32_t item;
    uint32_t thread;
};

static struct counter_head head(const char *counter)
{
    struct counter_head h;
    memcpy(&h, counter, sizeof h);
    return h;
}

static bool heads_sorted(const char *counters, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++) {
        struct counter_head a = head(counters + (i - 1) * size), b = head(counters + i * size);
        if (a.item > b.item || (a.item == b.item && a.thread > b.thread))
            return false;
    }
    return true;
}

/* A stable distribution of `from` to `to` by item, or by thread; `starts` has a zero for each of
 * the `values` of the key, and one more. */
static void distribute(const char *from, char *to, size_t n, size_t size, bool by_item,
                       size_t *starts, size_t values)
{
    memset(starts, 0, (values + 1) * sizeof *starts);
    for (size_t i = 0; i < n; i++) {
        struct counter_head h = head(from + i * size);
        starts[(by_item ? h.item : h.thread) + 1]++;
    }
    for (size_t i = 1; i <= values; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < n; i++) {
        struct counter_head h = head(from + i * size);
        memcpy(to + starts[by_item ? h.item : h.thread]++ * size, from + i * size, size);
    }
}

static enum hp_err sort_counters(char *counters, size_t n, size_t size, size_t items,
                                 size_t threads)
{
    if (heads_sorted(counters, n, size))
        return HP_OK;
    size_t values = items > threads ? items : threads;
    char *other = malloc(n * size);
    size_t *starts = malloc((values + 1) * sizeof *starts);
    if (!other || !starts) {
        free(other);
        free(starts);
        return hp_fail_nomem();
    }
    distribute(counters, other, n, size, false, starts, threads);
    distribute(other, counters, n, size, true, starts, items);
    free(other);
    free(starts);
    return HP_OK;
}

static bool same_counter(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct counter_head)) == 0;
}

static enum hp_err order_counts(struct hp_pcount *counts, size_t *n, const uint32_t *map,
                                size_t items, size_t threads)
{
    for (size_t i = 0; i < *n; i++)
        counts[i].item = map[counts[i].item];
    HP_TRY(sort_counters((char *)counts, *n, sizeof *counts, items, threads));
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        struct hp_pcount count = counts[i];
        if (count.count == 0)
            continue;
        if (kept > 0 && same_counter(&counts[kept - 1], &count))
            counts[kept - 1].count = hp_add_saturated(counts[kept - 1].count, count.count);
        else
            counts[kept++] = count;
    }
    *n = kept;
    return HP_OK;
}

static enum hp_err order_function_counts(struct work *work)
{
    struct hp_profile *p = &work->next;
    struct hp_pfunction_count *counts = p->function_counts;
    for (size_t i = 0; i < p->n_function_counts; i++)
        counts[i].item = work->functions[counts[i].item];
    HP_TRY(sort_counters((char *)counts, p->n_function_counts, sizeof *counts, p->n_functions,
                         p->n_threads));
    size_t kept = 0;
    for (size_t i = 0; i < p->n_function_counts; i++) {
        struct hp_pfunction_count count = counts[i];
        if ((count.self | count.inclusive | count.calls) == 0)
            continue;
        if (kept > 0 && same_counter(&counts[kept - 1], &count)) {
            struct hp_pfunction_count *sum = &counts[kept - 1];
            sum->self = hp_add_saturated(sum->self, count.self);
            sum->inclusive = hp_add_saturated(sum->inclusive, count.inclusive);
            sum->calls = hp_add_saturated(sum->calls, count.calls);
        } else {
            counts[kept++] = count;
        }
    }
    p->n_function_counts = kept;
    return HP_OK;
}

static enum hp_err order_call_counts(struct work *work)
{
    struct hp_profile *p = &work->next;
    struct hp_pcall_count *counts = p->call_counts;
    for (size_t i = 0; i < p->n_call_counts; i++)
        counts[i].item = work->calls[counts[i].item];
    HP_TRY(
        sort_counters((char *)counts, p->n_call_counts, sizeof *counts, p->n_calls, p->n_threads));
    size_t kept = 0;
    for (size_t i = 0; i < p->n_call_counts; i++) {
        struct hp_pcall_count count = counts[i];
        if ((count.count | count.inclusive) == 0)
            continue;
        if (kept > 0 && same_counter(&counts[kept - 1], &count)) {
            struct hp_pcall_count *sum = &counts[kept - 1];
            sum->count = hp_add_saturated(sum->count, count.count);
            sum->inclusive = hp_add_saturated(sum->inclusive, count.inclusive);
        } else {
            counts[kept++] = count;
        }
    }
    p->n_call_counts = kept;
    return HP_OK;
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
    HP_TRY(
        order_counts(p->block_counts, &p->n_block_counts, work->blocks, p->n_blocks, p->n_threads));
    HP_TRY(order_counts(p->edge_counts, &p->n_edge_counts, work->edges, p->n_edges, p->n_threads));
    HP_TRY(order_function_counts(work));
    return order_call_counts(work);
}

enum hp_err hp_profile_normalize(struct hp_profile *profile)
{
    HP_TRY(hp_profile_check(profile));
    if (hp_profile_check_normal(profile) == HP_OK)
        return HP_OK;
    struct work work = {0};
    work.next.memory = &work.memory;
    enum hp_err err = normalize_copy(&work, profile);
    if (err == HP_OK)
        swap_arrays(&work, profile);
    work_fini(&work);
    return err;
}
