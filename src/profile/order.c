// SPDX-License-Identifier: MIT
/*
 * The order of the normal form: what makes two rows the same, which comes first, what they are
 * together.
 */
#include "profile/profile_impl.h"

#include <stdlib.h>
#include <string.h>

#define MAX_RANKED 12 /* fields in the key of a kind, and those that decide which row is kept */

/* How rows of a kind are compared: the fields that matter, in the order in which they do. */
struct plan {
    const struct hp_row_format *format;
    const struct hp_row_field *fields[MAX_RANKED];
    size_t n_key, n;
    int (*identity)(const struct hp_pmodule *a, const struct hp_pmodule *b); /* instead of a key */
};

static struct plan make_plan(enum hp_row_kind kind)
{
    struct plan plan = {.format = &hp_row_formats[kind]};
    const struct hp_row_field *fields = plan.format->fields;
    for (int rank = 1; rank < 10; rank++)
        for (size_t i = 0; i < plan.format->n_fields; i++)
            if (fields[i].key == rank)
                plan.fields[plan.n_key++] = &fields[i];
    plan.n = plan.n_key;
    for (int rank = 1; rank < 10; rank++)
        for (size_t i = 0; i < plan.format->n_fields; i++)
            if (abs(fields[i].prefer) == rank)
                plan.fields[plan.n++] = &fields[i];
    return plan;
}

/* --- Comparing -------------------------------------------------------------------------------- */

static int compare_field(const struct hp_row_field *field, const void *a, const void *b)
{
    if (hp_row_is_text(field))
        return hp_compare_text(hp_row_text(field, a), hp_row_text(field, b));
    uint64_t x = hp_row_number(field, a), y = hp_row_number(field, b);
    if (field->type == HP_ROW_I32 || field->type == HP_ROW_I64)
        return ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
    return hp_compare_u64(x, y);
}

static int compare_keys(const struct plan *plan, const void *a, const void *b)
{
    int order = plan->identity ? plan->identity(a, b) : 0;
    for (size_t i = 0; !order && !plan->identity && i < plan->n_key; i++)
        order = compare_field(plan->fields[i], a, b);
    return order;
}

/* What is known before what is not. */
static int prefer(const struct hp_row_field *field, const void *a, const void *b)
{
    int order = 0;
    if (hp_row_is_text(field))
        order = !*hp_row_text(field, a) - !*hp_row_text(field, b);
    if (!order)
        order = compare_field(field, a, b);
    return field->prefer < 0 ? -order : order;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct plan *plan = context;
    int order = compare_keys(plan, a, b);
    for (size_t i = plan->n_key; !order && i < plan->n; i++)
        order = prefer(plan->fields[i], a, b);
    return order;
}

static bool keys_grow(const struct plan *plan, const char *items, size_t n)
{
    size_t size = plan->format->size;
    for (size_t i = 1; i < n; i++)
        if (compare_keys(plan, items + (i - 1) * size, items + i * size) >= 0)
            return false;
    return true;
}

/* --- Rows that say nothing -------------------------------------------------------------------- */

/* Where what is behind the key begins. */
static size_t end_of_key(const struct hp_row_format *format)
{
    size_t begin = format->size;
    for (size_t i = 0; i < format->n_fields; i++)
        if (!format->fields[i].key && format->fields[i].offset < begin)
            begin = format->fields[i].offset;
    return begin;
}

static bool is_zero(const char *row, size_t from, size_t to)
{
    uint64_t value, all = 0;
    for (size_t at = from; at < to; at += sizeof value) {
        memcpy(&value, row + at, sizeof value);
        all |= value;
    }
    return all == 0;
}

static bool has_zero(const struct hp_row_format *format, const char *items, size_t n)
{
    size_t from = end_of_key(format);
    for (size_t i = 0; format->drop_zero && i < n; i++)
        if (is_zero(items + i * format->size, from, format->size))
            return true;
    return false;
}

static size_t drop_zeros(const struct hp_row_format *format, char *items, size_t n)
{
    size_t from = end_of_key(format), kept = 0;
    for (size_t i = 0; i < n; i++) {
        const char *row = items + i * format->size;
        if (is_zero(row, from, format->size))
            continue;
        if (kept != i)
            memcpy(items + kept * format->size, row, format->size);
        kept++;
    }
    return kept;
}

bool hp_rows_in_order(const struct hp_profile *p, enum hp_row_kind kind)
{
    struct plan plan = make_plan(kind);
    size_t n = hp_profile_n_rows(p, kind);
    if (n == 0 || plan.n_key == 0)
        return true;
    const char *items = hp_profile_row(p, kind, 0);
    return keys_grow(&plan, items, n) && !has_zero(plan.format, items, n);
}

/* --- Joining ---------------------------------------------------------------------------------- */

static uint64_t add(enum hp_row_type type, uint64_t a, uint64_t b)
{
    int64_t sum;
    switch (type) {
    case HP_ROW_U32: return a + b > UINT32_MAX ? UINT32_MAX : a + b;
    case HP_ROW_I64:
        if (__builtin_add_overflow((int64_t)a, (int64_t)b, &sum))
            return (uint64_t)((int64_t)a < 0 ? INT64_MIN : INT64_MAX);
        return (uint64_t)sum;
    default: return hp_add_saturated(a, b);
    }
}

static void add_up(const struct hp_row_format *format, void *sum, const void *row)
{
    for (size_t i = 0; i < format->n_fields; i++) {
        const struct hp_row_field *field = &format->fields[i];
        if (field->sum)
            hp_row_set_number(
                field, sum, add(field->type, hp_row_number(field, sum), hp_row_number(field, row)));
    }
}

static enum hp_err join(const struct hp_row_format *format, char *joint, const char *rows, size_t n,
                        size_t stride)
{
    memmove(joint, rows, format->size);
    if (n > 1 && format->join)
        return format->join(joint, rows, n, stride);
    for (size_t i = 1; i < n; i++)
        add_up(format, joint, rows + i * stride);
    return HP_OK;
}

/* Joins neighbours among `n` sorted rows, `stride` bytes apart, to `items`, which may be the same.
 * `map`: the new index of each, in their present order; or NULL. */
static enum hp_err collect(const struct plan *plan, const char *rows, size_t n, size_t stride,
                           char *items, size_t *kept, uint32_t *map)
{
    *kept = 0;
    for (size_t at = 0, end; at < n; at = end) {
        for (end = at + 1;
             end < n && compare_keys(plan, rows + at * stride, rows + end * stride) == 0; end++)
            ;
        for (size_t i = at; map && i < end; i++)
            map[i] = (uint32_t)*kept;
        HP_TRY(join(plan->format, items + (*kept)++ * plan->format->size, rows + at * stride,
                    end - at, stride));
    }
    return HP_OK;
}

/* --- Sorting ---------------------------------------------------------------------------------- */

/* Nobody refers to them: no map. */
static enum hp_err order_leaves(struct plan *plan, char *items, size_t *n)
{
    size_t size = plan->format->size;
    if (plan->format->drop_zero)
        *n = drop_zeros(plan->format, items, *n);
    if (*n == 0 || keys_grow(plan, items, *n))
        return HP_OK;
    qsort_r(items, *n, size, compare_rows, plan);
    return collect(plan, items, *n, size, items, n, NULL);
}

/* Rows are sorted with their old index behind them. */
static enum hp_err order_tagged(struct plan *plan, char *items, size_t *n, uint32_t *map)
{
    size_t count = *n, size = plan->format->size;
    size_t stride = (size + sizeof(uint32_t) + 7) & ~(size_t)7;
    char *tagged = malloc(count * stride);
    uint32_t *joined = malloc(count * sizeof *joined);
    enum hp_err err = tagged && joined ? HP_OK : hp_fail_nomem();
    for (uint32_t i = 0; err == HP_OK && i < count; i++) {
        memcpy(tagged + i * stride, items + i * size, size);
        memcpy(tagged + i * stride + size, &i, sizeof i);
    }
    if (err == HP_OK) {
        qsort_r(tagged, count, stride, compare_rows, plan);
        err = collect(plan, tagged, count, stride, items, n, joined);
    }
    for (size_t i = 0; err == HP_OK && i < count; i++) {
        uint32_t old;
        memcpy(&old, tagged + i * stride + size, sizeof old);
        map[old] = joined[i];
    }
    free(tagged);
    free(joined);
    return err;
}

static enum hp_err order_with_map(struct plan *plan, char *items, size_t *n, uint32_t **map)
{
    uint32_t *to = *map = malloc((*n + 1) * sizeof *to);
    if (!to)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < *n; i++)
        to[i] = i;
    if (*n == 0 || keys_grow(plan, items, *n))
        return HP_OK;
    return order_tagged(plan, items, n, to);
}

enum hp_err hp_rows_order(struct hp_profile *p, enum hp_row_kind kind, uint32_t **map)
{
    struct plan plan = make_plan(kind);
    struct hp_row_array rows = hp_profile_rows(p, kind);
    if (!map)
        return order_leaves(&plan, hp_row_items(&rows), rows.n);
    return order_with_map(&plan, hp_row_items(&rows), rows.n, map);
}

void hp_rows_renumber(struct hp_profile *p, enum hp_row_kind kind, enum hp_row_kind to,
                      const uint32_t *map)
{
    struct hp_row_array rows = hp_profile_rows(p, kind);
    char *items = hp_row_items(&rows);
    for (size_t k = 0; k < rows.format->n_fields; k++) {
        const struct hp_row_field *field = &rows.format->fields[k];
        for (size_t i = 0; hp_row_is_reference(field) && field->to == to && i < *rows.n; i++) {
            uint32_t *index = hp_row_index(field, items + i * rows.format->size);
            *index = hp_renumbered(map, *index);
        }
    }
}

/* --- Counters --------------------------------------------------------------------------------- */

#define LARGEST_COUNTER 128

bool hp_rows_are_counters(enum hp_row_kind kind)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    return !format->has_id && format->drop_zero && format->size <= LARGEST_COUNTER &&
           format->fields[0].type == HP_ROW_INDEX && format->fields[1].to == HP_ROW_THREAD;
}

size_t *hp_counters_room(const struct hp_profile *p)
{
    size_t most = 0;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (hp_profile_n_rows(p, kind) > most)
            most = hp_profile_n_rows(p, kind);
    size_t *room = malloc(2 * (most + 1) * sizeof *room);
    if (!room)
        (void)hp_fail_nomem();
    return room;
}

/* Puts the counters of each item together, where they are. `next` and `ends` have room for each. */
static void gather(const struct hp_row_format *format, char *counters, size_t n, size_t items,
                   size_t *next, size_t *ends)
{
    const struct hp_row_field *item = &format->fields[0];
    size_t size = format->size;
    char moved[LARGEST_COUNTER];
    memset(ends, 0, (items + 1) * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[hp_row_number(item, counters + i * size)]++;
    for (size_t i = 0, start = 0; i < items; i++) {
        next[i] = start;
        start += ends[i];
        ends[i] = start;
    }
    for (size_t i = 0; i < items; i++)
        while (next[i] < ends[i]) {
            char *here = counters + next[i] * size;
            char *there = counters + next[hp_row_number(item, here)]++ * size;
            if (here == there)
                continue;
            memcpy(moved, there, size);
            memcpy(there, here, size);
            memcpy(here, moved, size);
        }
}

void hp_counters_order(struct hp_profile *p, enum hp_row_kind kind, size_t *room)
{
    struct plan plan = make_plan(kind);
    struct hp_row_array rows = hp_profile_rows(p, kind);
    char *counters = hp_row_items(&rows);
    size_t size = plan.format->size, items = hp_profile_n_rows(p, plan.format->fields[0].to);
    size_t *ends = room + items + 1;
    *rows.n = drop_zeros(plan.format, counters, *rows.n);
    if (*rows.n == 0 || keys_grow(&plan, counters, *rows.n))
        return;
    gather(plan.format, counters, *rows.n, items, room, ends);
    for (size_t i = 0; i < items; i++) {
        size_t start = i ? ends[i - 1] : 0;
        qsort_r(counters + start * size, ends[i] - start, size, compare_rows, &plan);
    }
    collect(&plan, counters, *rows.n, size, counters, rows.n, NULL);
}

/* --- Modules ---------------------------------------------------------------------------------- */

int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b)
{
    int order = hp_compare_text(a->build_id, b->build_id);
    if (order || *hp_text(a->build_id))
        return order;
    return hp_compare_text(a->path, b->path);
}

/* Modules by what they are; of those that are the same the smallest path is kept. */
static struct plan identity_plan(void)
{
    struct plan plan = make_plan(HP_ROW_MODULE);
    plan.identity = hp_module_identity;
    plan.n_key = 0; /* the fields of the key say which one is kept */
    return plan;
}

/* Two steps, one map: joined by what they are, then sorted by path. */
enum hp_err hp_modules_order(struct hp_profile *p, uint32_t **map)
{
    struct plan plan = identity_plan();
    size_t n = p->n_modules;
    uint32_t *by_path = NULL;
    HP_TRY(order_with_map(&plan, (char *)p->modules, &p->n_modules, map));
    enum hp_err err = hp_rows_order(p, HP_ROW_MODULE, &by_path);
    for (size_t i = 0; err == HP_OK && i < n; i++)
        (*map)[i] = by_path[(*map)[i]];
    free(by_path);
    return err;
}

enum hp_err hp_modules_distinct(const struct hp_profile *p, bool *distinct)
{
    struct plan plan = identity_plan();
    size_t n = p->n_modules;
    struct hp_pmodule *copy = malloc((n + 1) * sizeof *copy);
    uint32_t *map = NULL;
    if (!copy)
        return hp_fail_nomem();
    if (n)
        memcpy(copy, p->modules, n * sizeof *copy);
    enum hp_err err = order_with_map(&plan, (char *)copy, &n, &map);
    *distinct = n == p->n_modules;
    free(map);
    free(copy);
    return err;
}
