// SPDX-License-Identifier: MIT
/*
 * The order of the normal form: what makes two elements the same, and which comes first.
 */
#include "profile/profile_memory.h"

#include <stdlib.h>
#include <string.h>

/* A text that is there comes before none. */
static int order_known(const char *a, const char *b)
{
    int order = hp_compare_u64(*hp_text(a) == 0, *hp_text(b) == 0);
    return order ? order : hp_compare_text(a, b);
}

/* --- Keys ------------------------------------------------------------------------------------- */

int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b)
{
    int order = hp_compare_text(a->build_id, b->build_id);
    if (order || *hp_text(a->build_id))
        return order;
    return hp_compare_text(a->path, b->path);
}

static int module_identity(const void *a, const void *b)
{
    return hp_module_identity(a, b);
}

static int module_path(const void *a, const void *b)
{
    const struct hp_pmodule *x = a, *y = b;
    return hp_compare_text(x->path, y->path);
}

static int module_key(const void *a, const void *b)
{
    const struct hp_pmodule *x = a, *y = b;
    int order = hp_compare_text(x->path, y->path);
    return order ? order : hp_compare_text(x->build_id, y->build_id);
}

static int function_key(const void *a, const void *b)
{
    const struct hp_pfunction *x = a, *y = b;
    return hp_compare_place(&x->place, &y->place);
}

static int function_rest(const void *a, const void *b)
{
    const struct hp_pfunction *x = a, *y = b;
    int order = order_known(x->name, y->name);
    if (!order)
        order = order_known(x->linkage, y->linkage);
    if (!order)
        order = hp_compare_u64(y->size, x->size);
    if (!order)
        order = order_known(x->file, y->file);
    return order ? order : hp_compare_u64(y->line, x->line);
}

static int block_key(const void *a, const void *b)
{
    const struct hp_pblock *x = a, *y = b;
    int order = hp_compare_place(&x->place, &y->place);
    if (!order)
        order = hp_compare_u64(x->size, y->size);
    if (!order)
        order = hp_compare_u64(x->version, y->version);
    return order ? order : hp_compare_u64(x->flow, y->flow);
}

static int block_rest(const void *a, const void *b)
{
    const struct hp_pblock *x = a, *y = b;
    int order = hp_compare_u64(x->function, y->function);
    if (!order)
        order = hp_compare_u64(x->insns, y->insns);
    return order ? order : hp_compare_u64(x->branch, y->branch);
}

static int edge_key(const void *a, const void *b)
{
    const struct hp_pedge *x = a, *y = b;
    int order = hp_compare_place(&x->from, &y->from);
    if (!order)
        order = hp_compare_place(&x->to, &y->to);
    if (!order)
        order = hp_compare_u64(x->flow, y->flow);
    return order ? order : hp_compare_u64(x->taken, y->taken);
}

static int call_key(const void *a, const void *b)
{
    const struct hp_pcall *x = a, *y = b;
    int order = hp_compare_u64(x->caller, y->caller);
    return order ? order : hp_compare_u64(x->callee, y->callee);
}

static int line_key(const void *a, const void *b)
{
    const struct hp_pline *x = a, *y = b;
    int order = hp_compare_u64(x->block, y->block);
    if (!order)
        order = hp_compare_u64(x->from, y->from);
    if (!order)
        order = hp_compare_u64(x->to, y->to);
    if (!order)
        order = hp_compare_text(x->file, y->file);
    if (!order)
        order = hp_compare_u64(x->line, y->line);
    if (!order)
        order = hp_compare_text(x->inlined, y->inlined);
    return order ? order : hp_compare_text(x->inlined_at, y->inlined_at);
}

static int line_rest(const void *a, const void *b)
{
    const struct hp_pline *x = a, *y = b;
    return hp_compare_u64(y->insns, x->insns);
}

static int note_key(const void *a, const void *b)
{
    const struct hp_pnote *x = a, *y = b;
    int order = hp_compare_text(x->kind, y->kind);
    return order ? order : hp_compare_text(x->text, y->text);
}

static int path_key(const void *a, const void *b)
{
    const struct hp_ppath *x = a, *y = b;
    int order = hp_compare_text(x->kind, y->kind);
    if (!order)
        order = hp_compare_place(&x->start, &y->start);
    if (!order)
        order = hp_compare_u64(x->length, y->length);
    if (!order)
        order = hp_compare_u64(x->outcomes, y->outcomes);
    return order ? order : hp_compare_u64(x->targets, y->targets);
}

static int path_rest(const void *a, const void *b)
{
    const struct hp_ppath *x = a, *y = b;
    return hp_compare_u64(x->function, y->function);
}

static int step_key(const void *a, const void *b)
{
    const struct hp_pstep *x = a, *y = b;
    int order = hp_compare_u64(x->path, y->path);
    return order ? order : hp_compare_u64(x->position, y->position);
}

static int step_rest(const void *a, const void *b)
{
    const struct hp_pstep *x = a, *y = b;
    int order = hp_compare_u64(x->block, y->block);
    return order ? order : hp_compare_u64(x->how, y->how);
}

static int table_path_key(const void *a, const void *b)
{
    const struct hp_ptable_path *x = a, *y = b;
    int order = hp_compare_text(x->table, y->table);
    return order ? order : hp_compare_u64(x->path, y->path);
}

static int stat_key(const void *a, const void *b)
{
    const struct hp_pstat *x = a, *y = b;
    int order = hp_compare_text(x->part, y->part);
    return order ? order : hp_compare_text(x->name, y->name);
}

static int stat_rest(const void *a, const void *b)
{
    const struct hp_pstat *x = a, *y = b;
    return hp_compare_u64(x->unit, y->unit);
}

static int prediction_key(const void *a, const void *b)
{
    const struct hp_pprediction *x = a, *y = b;
    int order = hp_compare_text(x->scheme, y->scheme);
    return order ? order : hp_compare_u64(x->delay, y->delay);
}

const struct hp_order hp_order_module_identity = {sizeof(struct hp_pmodule), module_identity,
                                                  module_path};
const struct hp_order hp_order_module = {sizeof(struct hp_pmodule), module_key, NULL};
const struct hp_order hp_order_function = {sizeof(struct hp_pfunction), function_key,
                                           function_rest};
const struct hp_order hp_order_block = {sizeof(struct hp_pblock), block_key, block_rest};
const struct hp_order hp_order_edge = {sizeof(struct hp_pedge), edge_key, NULL};
const struct hp_order hp_order_call = {sizeof(struct hp_pcall), call_key, NULL};
const struct hp_order hp_order_line = {sizeof(struct hp_pline), line_key, line_rest};
const struct hp_order hp_order_note = {sizeof(struct hp_pnote), note_key, NULL};
const struct hp_order hp_order_path = {sizeof(struct hp_ppath), path_key, path_rest};
const struct hp_order hp_order_step = {sizeof(struct hp_pstep), step_key, step_rest};
const struct hp_order hp_order_table_path = {sizeof(struct hp_ptable_path), table_path_key, NULL};
const struct hp_order hp_order_stat = {sizeof(struct hp_pstat), stat_key, stat_rest};
const struct hp_order hp_order_prediction = {sizeof(struct hp_pprediction), prediction_key, NULL};

/* --- Sorting ---------------------------------------------------------------------------------- */

bool hp_order_strict(const struct hp_order *order, const void *items, size_t n)
{
    const char *item = items;
    for (size_t i = 1; i < n; i++, item += order->size)
        if (order->key(item, item + order->size) >= 0)
            return false;
    return true;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct hp_order *order = context;
    int result = order->key(a, b);
    return result || !order->rest ? result : order->rest(a, b);
}

/* Elements are sorted with their old index behind them. */
static size_t tagged_size(const struct hp_order *order)
{
    return (order->size + sizeof(uint32_t) + 7) & ~(size_t)7;
}

static void collect(const struct hp_order *order, const char *tagged, size_t n, char *items,
                    size_t *kept, uint32_t *map)
{
    size_t stride = tagged_size(order), last = 0;
    for (size_t i = 0; i < n; i++, tagged += stride) {
        if (i > 0 && order->key(items + last * order->size, tagged) != 0)
            last++;
        if (i == 0 || last == *kept)
            memcpy(items + last * order->size, tagged, order->size);
        *kept = last + 1;
        uint32_t old;
        memcpy(&old, tagged + order->size, sizeof old);
        map[old] = (uint32_t)last;
    }
}

enum hp_err hp_order_apply(const struct hp_order *order, void *items, size_t *n, uint32_t **map)
{
    size_t count = *n, stride = tagged_size(order);
    uint32_t *to = malloc((count ? count : 1) * sizeof *to);
    if (!to)
        return hp_fail_nomem();
    *map = to;
    if (hp_order_strict(order, items, count)) {
        for (size_t i = 0; i < count; i++)
            to[i] = (uint32_t)i;
        return HP_OK;
    }
    char *tagged = malloc(count * stride);
    if (!tagged) {
        free(to);
        *map = NULL;
        return hp_fail_nomem();
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t index = (uint32_t)i;
        memcpy(tagged + i * stride, (char *)items + i * order->size, order->size);
        memcpy(tagged + i * stride + order->size, &index, sizeof index);
    }
    qsort_r(tagged, count, stride, compare, (void *)(uintptr_t)order);
    *n = 0;
    collect(order, tagged, count, items, n, to);
    free(tagged);
    return HP_OK;
}
