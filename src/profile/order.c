// SPDX-License-Identifier: MIT
/*
 * The order of the normal form: what makes two rows the same, which comes first, what they are
 * together.
 */
#include "base/base.h"
#include "base/keyed.h"
#include "profile/profile_impl.h"

#define MAX_RANKED 12 /* fields in the key of a kind, and those that decide which row is kept */
#define SOON       16 /* rows that are fetched before they are moved */

/* How rows of a kind are compared: the fields that matter, in the order in which they do. */
struct plan {
    enum hp_row_kind kind;
    const struct hp_row_format *format;
    const struct hp_row_field *fields[MAX_RANKED];
    size_t n_key, n;
    int (*identity)(const struct hp_pmodule *a, const struct hp_pmodule *b); /* instead of a key */
};

/* Most rows are of few sizes, and then this is a few instructions. */
static inline void copy_row(void *to, const void *from, size_t size)
{
    switch (size) {
    case 16: memcpy(to, from, 16); break;
    case 24: memcpy(to, from, 24); break;
    case 32: memcpy(to, from, 32); break;
    case 40: memcpy(to, from, 40); break;
    case 48: memcpy(to, from, 48); break;
    case 56: memcpy(to, from, 56); break;
    default: memcpy(to, from, size);
    }
}

static struct plan make_plan(enum hp_row_kind kind)
{
    struct plan plan = {.kind = kind, .format = &hp_row_formats[kind]};
    const struct hp_row_field *fields = plan.format->fields, *end = fields + plan.format->n_fields;
    for (int rank = 1; rank < 10; rank++)
        for (const struct hp_row_field *field = fields; field < end; field++)
            if (field->key == rank)
                plan.fields[plan.n_key++] = field;
    plan.n = plan.n_key;
    for (int rank = 1; rank < 10; rank++)
        for (const struct hp_row_field *field = fields; field < end; field++)
            if (abs(field->prefer) == rank)
                plan.fields[plan.n++] = field;
    return plan;
}

/* --- Comparing -------------------------------------------------------------------------------- */

static inline int compare_field(const struct hp_row_field *field, const void *a, const void *b)
{
    const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
    switch (field->type) {
    case HP_ROW_U8: return HP_COMPARE(*(const uint8_t *)x, *(const uint8_t *)y);
    case HP_ROW_U32:
    case HP_ROW_INDEX:
    case HP_ROW_LINK: return HP_COMPARE(*(const uint32_t *)x, *(const uint32_t *)y);
    case HP_ROW_I32: return HP_COMPARE(*(const int32_t *)x, *(const int32_t *)y);
    case HP_ROW_I64: return HP_COMPARE(*(const int64_t *)x, *(const int64_t *)y);
    case HP_ROW_TEXT:
    case HP_ROW_STRING: return hp_compare_text(*(const char *const *)x, *(const char *const *)y);
    default: return HP_COMPARE(*(const uint64_t *)x, *(const uint64_t *)y);
    }
}

static int compare_keys(const struct plan *plan, const void *a, const void *b)
{
    if (plan->identity)
        return plan->identity(a, b);
    int order = 0;
    for (size_t i = 0; !order && i < plan->n_key; i++)
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

/* --- Rows that say nothing -------------------------------------------------------------------- */

static bool is_zero(const struct hp_row_format *format, const char *row)
{
    for (size_t i = 0; i < format->n_fields; i++)
        if (!format->fields[i].key && hp_row_number(&format->fields[i], row) != 0)
            return false;
    return true;
}

static size_t drop_zeros(const struct hp_row_format *format, char *items, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_zero(format, items + i * format->size))
            continue;
        if (kept != i)
            copy_row(items + kept * format->size, items + i * format->size, format->size);
        kept++;
    }
    return kept;
}

bool hp_rows_in_order(const struct hp_profile *p, enum hp_row_kind kind)
{
    struct plan plan = make_plan(kind);
    const char *row = hp_profile_row(p, kind, 0);
    for (size_t i = 0; plan.n_key && i < hp_profile_n_rows(p, kind); i++, row += plan.format->size)
        if ((i && compare_keys(&plan, row - plan.format->size, row) >= 0) ||
            (plan.format->drop_zero && is_zero(plan.format, row)))
            return false;
    return true;
}

static void renumber_row(const struct plan *plan, void *row, uint32_t *const *maps)
{
    for (size_t i = 0; i < plan->n_key; i++) {
        const struct hp_row_field *field = plan->fields[i];
        if (hp_row_is_reference(field)) {
            uint32_t *index = hp_row_index(field, row);
            *index = hp_renumbered(maps[field->to], *index);
        }
    }
}

enum hp_err hp_rows_match(const struct hp_profile *a, const struct hp_profile *b,
                          enum hp_row_kind kind, uint32_t **maps)
{
    struct plan plan = make_plan(kind);
    size_t size = plan.format->size, n = hp_profile_n_rows(a, kind), next = 0;
    const char *rows = hp_profile_row(a, kind, 0);
    union hp_any_row row;
    HP_TRY(hp_map_new(hp_profile_n_rows(b, kind), &maps[kind]));
    for (size_t i = 0; i < hp_profile_n_rows(b, kind); i++) {
        memcpy(&row, hp_profile_row(b, kind, i), size);
        renumber_row(&plan, &row, maps);
        /* Mostly what comes next there. */
        if (next == n || compare_keys(&plan, rows + next * size, &row) != 0)
            next = HP_BISECT(k, 0, n, compare_keys(&plan, rows + k * size, &row) < 0);
        bool same = next < n && compare_keys(&plan, rows + next * size, &row) == 0;
        maps[kind][i] = (uint32_t)(same ? next++ : n + i);
    }
    return HP_OK;
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
    default: return hp_saturating_add(a, b);
    }
}

static uint64_t join_values(const struct hp_row_field *field, uint64_t a, uint64_t b)
{
    switch (field->join) {
    case HP_JOIN_SUM: return add(field->type, a, b);
    case HP_JOIN_MIN: return a == 0 || (b && b < a) ? b : a;
    case HP_JOIN_MAX:
    case HP_JOIN_MEAN: return a > b ? a : b;
    default: return a;
    }
}

bool hp_rows_may_join(enum hp_row_kind kind, const void *a, const void *b)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    for (size_t i = 0; i < format->n_fields; i++)
        if (format->fields[i].join == HP_JOIN_EQUAL && compare_field(&format->fields[i], a, b) != 0)
            return false;
    return true;
}

void hp_row_add(enum hp_row_kind kind, void *joint, const void *row)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    for (size_t i = 0; i < format->n_fields; i++) {
        const struct hp_row_field *field = &format->fields[i];
        if (field->join > HP_JOIN_EQUAL)
            hp_row_set_number(
                field, joint,
                join_values(field, hp_row_number(field, joint), hp_row_number(field, row)));
    }
    if (format->join)
        format->join(joint, row);
}

static void set_mean(const struct plan *plan, const struct hp_row_field *field, void *joint,
                     const char *rows, size_t n)
{
    size_t size = plan->format->size;
    const struct hp_row_field *weight = hp_row_column(plan->kind, field->weight);
    unsigned __int128 sum = 0, weights = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (unsigned __int128)hp_row_number(field, rows + i * size) *
               hp_row_number(weight, rows + i * size);
        weights += hp_row_number(weight, rows + i * size);
    }
    if (weights)
        hp_row_set_number(field, joint, (uint64_t)((sum + weights / 2) / weights));
}

/* Makes one of `n` rows that are the same thing, at `joint`: the first, or before it. */
static enum hp_err join(const struct plan *plan, char *joint, const char *rows, size_t n)
{
    const struct hp_row_format *format = plan->format;
    union hp_any_row made;
    if (n == 1 && joint == rows)
        return HP_OK;
    copy_row(&made, rows, format->size);
    for (size_t i = 1; i < n; i++) {
        const char *row = rows + i * format->size;
        if (!hp_rows_may_join(plan->kind, &made, row))
            return hp_fail(HP_ERR_INVALID,
                           "%s named '%s' were set differently, or on different machines",
                           format->many, hp_row_text(plan->fields[0], &made));
        hp_row_add(plan->kind, &made, row);
    }
    for (size_t i = 0; n > 1 && i < format->n_fields; i++)
        if (format->fields[i].join == HP_JOIN_MEAN)
            set_mean(plan, &format->fields[i], &made, rows, n);
    copy_row(joint, &made, format->size);
    return HP_OK;
}

/* --- Rows that others refer to ---------------------------------------------------------------- */

/* A number that is smaller where the row comes first, as far as it tells. */
struct keys {
    struct hp_keyed *items, *room;
    bool whole; /* rows with the same number have the same key */
};

/* Which bits of which fields are in that number, the first field's highest. */
struct digits {
    const struct hp_row_field *fields[MAX_RANKED];
    uint64_t all[MAX_RANKED]; /* the bits that any row has */
    int bits[MAX_RANKED], dropped[MAX_RANKED];
    size_t n;
    bool whole;
};

static bool same_text(const struct hp_row_field *field, const char *rows, size_t n, size_t size)
{
    for (size_t i = 1; i < n; i++)
        if (hp_row_text(field, rows + i * size) != hp_row_text(field, rows))
            return false;
    return true;
}

/* The fields up to the first that a number cannot tell: signed, or a text that differs. */
static void choose_fields(const struct plan *plan, const char *rows, size_t n,
                          struct digits *digits)
{
    size_t size = plan->format->size;
    for (size_t k = 0; k < plan->n_key && digits->whole; k++) {
        const struct hp_row_field *field = plan->fields[k];
        if (hp_row_is_text(field))
            digits->whole = same_text(field, rows, n, size);
        else if (field->type == HP_ROW_I32 || field->type == HP_ROW_I64)
            digits->whole = false;
        else
            digits->fields[digits->n++] = field;
    }
}

/* As many bits as there is room for. */
static void choose_bits(struct digits *digits)
{
    int room = 64;
    for (size_t f = 0; f < digits->n; f++) {
        int bits = digits->all[f] ? 64 - __builtin_clzll(digits->all[f]) : 0;
        digits->dropped[f] = bits > room ? bits - room : 0;
        digits->bits[f] = bits - digits->dropped[f];
        room -= digits->bits[f];
        if (digits->dropped[f]) {
            digits->whole = false;
            digits->n = f + (digits->bits[f] > 0);
        }
    }
}

static uint64_t number_of(const struct digits *digits, const char *row)
{
    uint64_t key = 0;
    for (size_t f = 0; f < digits->n; f++)
        key = (digits->bits[f] == 64 ? 0 : key << digits->bits[f]) |
              hp_row_number(digits->fields[f], row) >> digits->dropped[f];
    return key;
}

static enum hp_err make_keys(const struct plan *plan, const char *rows, size_t n, struct keys *keys)
{
    struct digits digits = {.whole = !plan->identity};
    size_t size = plan->format->size;
    keys->items = malloc(2 * (n + 1) * sizeof *keys->items);
    if (!keys->items)
        return hp_fail_nomem();
    keys->room = keys->items + n;
    choose_fields(plan, rows, n, &digits);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < digits.n; f++)
            digits.all[f] |= hp_row_number(digits.fields[f], rows + i * size);
    choose_bits(&digits);
    for (size_t i = 0; i < n; i++)
        keys->items[i] =
            (struct hp_keyed){.key = number_of(&digits, rows + i * size), .index = (uint32_t)i};
    keys->whole = digits.whole;
    return HP_OK;
}

struct rows {
    struct plan *plan;
    const char *items;
};

static int compare_keyed(const void *a, const void *b, void *context)
{
    const struct rows *rows = context;
    const struct hp_keyed *x = a, *y = b;
    size_t size = rows->plan->format->size;
    return compare_rows(rows->items + x->index * size, rows->items + y->index * size, rows->plan)
               ?: HP_COMPARE(x->index, y->index);
}

/* Sorts the keys, and those that are the same by all that matters. */
static void sort_keys(struct plan *plan, const char *rows, size_t n, struct keys *keys)
{
    hp_keyed_sort(keys->items, keys->room, n);
    for (size_t at = 0, end; at < n; at = end) {
        for (end = at + 1; end < n && keys->items[end].key == keys->items[at].key; end++)
            ;
        if (end > at + 1)
            qsort_r(keys->items + at, end - at, sizeof *keys->items, compare_keyed,
                    &(struct rows){plan, rows});
    }
}

/* Which rows become one. The keys become the new indices; `map`: the same by old index. */
static void number(const struct plan *plan, const char *rows, size_t n, struct keys *keys,
                   uint32_t *map)
{
    size_t size = plan->format->size, new = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        struct hp_keyed *here = &keys->items[i];
        bool same = i && here->key == last &&
                    (keys->whole || compare_keys(plan, rows + here[-1].index * size,
                                                 rows + here->index * size) == 0);
        new += i && !same;
        last = here->key;
        here->key = new;
        map[here->index] = (uint32_t) new;
    }
}

/* Moves the rows to where they belong: out of a copy, so that none waits for another. */
static enum hp_err move_rows(const struct hp_row_format *format, char *rows, size_t n,
                             const struct hp_keyed *order)
{
    size_t size = format->size;
    char *old HP_CLEANUP(hp_free) = malloc(n * size + 1);
    if (!old)
        return hp_fail_nomem();
    if (n)
        memcpy(old, rows, n * size);
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(old + order[i + SOON < n ? i + SOON : i].index * size);
        copy_row(rows + i * size, old + order[i].index * size, size);
    }
    return HP_OK;
}

/* Sorts, and joins what is the same. */
static enum hp_err order_rows(struct plan *plan, char *rows, size_t *n, uint32_t *map)
{
    struct keys keys = {0};
    size_t count = *n, size = plan->format->size;
    HP_TRY(make_keys(plan, rows, count, &keys));
    struct hp_keyed *order HP_CLEANUP(hp_free) = keys.items;
    sort_keys(plan, rows, count, &keys);
    number(plan, rows, count, &keys, map);
    HP_TRY(move_rows(plan->format, rows, count, order));
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at + 1; end < count && order[end].key == order[at].key; end++)
            ;
        HP_TRY(join(plan, rows + order[at].key * size, rows + at * size, end - at));
        *n = order[at].key + 1;
    }
    return HP_OK;
}

enum hp_err hp_map_new(size_t n, uint32_t **map)
{
    *map = malloc((n + 1) * sizeof **map);
    if (!*map)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < n; i++)
        (*map)[i] = i;
    return HP_OK;
}

enum hp_err hp_rows_order(struct hp_profile *p, enum hp_row_kind kind, uint32_t **map)
{
    struct plan plan = make_plan(kind);
    struct hp_row_array rows = hp_profile_rows(p, kind);
    HP_TRY(hp_map_new(*rows.n, map));
    return hp_rows_in_order(p, kind) ? HP_OK : order_rows(&plan, rows.items, rows.n, *map);
}

void hp_rows_renumber(struct hp_profile *p, enum hp_row_kind kind, enum hp_row_kind to,
                      const uint32_t *map)
{
    struct hp_row_array rows = hp_profile_rows(p, kind);
    for (size_t k = 0; k < rows.format->n_fields; k++) {
        const struct hp_row_field *field = &rows.format->fields[k];
        for (size_t i = 0; hp_row_is_reference(field) && field->to == to && i < *rows.n; i++) {
            uint32_t *index = hp_row_index(field, rows.items + i * rows.format->size);
            *index = hp_renumbered(map, *index);
        }
    }
}

/* --- Rows that nobody refers to --------------------------------------------------------------- */

/* Where the rows of each item begin (`next`) and end. */
static void share_out(const struct hp_row_format *format, const char *rows, size_t n, size_t items,
                      size_t *next, size_t *ends)
{
    memset(ends, 0, (items + 1) * sizeof *ends);
    for (size_t i = 0; i < n; i++)
        ends[hp_row_number(&format->fields[0], rows + i * format->size)]++;
    for (size_t i = 0, start = 0; i < items; i++) {
        next[i] = start;
        start += ends[i];
        ends[i] = start;
    }
}

/* Puts the rows that refer to each item together, in place: each row waits for the last one. */
static void gather_in_place(const struct hp_row_format *format, char *rows, size_t items,
                            size_t *next, const size_t *ends)
{
    size_t size = format->size;
    union hp_any_row moved;
    for (size_t i = 0; i < items; i++)
        while (next[i] < ends[i]) {
            char *here = rows + next[i] * size;
            char *there = rows + next[hp_row_number(&format->fields[0], here)]++ * size;
            if (here == there)
                continue;
            copy_row(&moved, there, size);
            copy_row(there, here, size);
            copy_row(here, &moved, size);
        }
}

/* The same if there is room for a copy. */
static void gather(const struct hp_row_format *format, char *rows, size_t n, size_t items,
                   const struct hp_order_room *room)
{
    size_t size = format->size, *next = room->indices, *ends = next + items + 1;
    share_out(format, rows, n, items, next, ends);
    if (n > room->bytes / size) {
        gather_in_place(format, rows, items, next, ends);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const char *row = rows + i * size;
        copy_row(room->rows + next[hp_row_number(&format->fields[0], row)]++ * size, row, size);
    }
    if (n)
        memcpy(rows, room->rows, n * size);
}

/* Joins neighbours among sorted rows. */
static void join_neighbours(const struct plan *plan, char *rows, size_t *n)
{
    size_t count = *n, size = plan->format->size, kept = 0;
    for (size_t at = 0, end; at < count; at = end) {
        for (end = at + 1;
             end < count && compare_keys(plan, rows + at * size, rows + end * size) == 0; end++)
            ;
        (void)join(plan, rows + kept++ * size, rows + at * size, end - at);
    }
    *n = kept;
}

/* Most belong to an item: they are gathered, then those of each item sorted. */
void hp_leaves_order(struct hp_profile *p, enum hp_row_kind kind, const struct hp_order_room *room)
{
    struct plan plan = make_plan(kind);
    struct hp_row_array rows = hp_profile_rows(p, kind);
    const struct hp_row_field *item = &plan.format->fields[0];
    size_t size = plan.format->size, items = hp_profile_n_rows(p, item->to);
    const size_t *ends = room->indices + items + 1;
    if (hp_rows_in_order(p, kind))
        return;
    if (plan.format->drop_zero)
        *rows.n = drop_zeros(plan.format, rows.items, *rows.n);
    if (item->type == HP_ROW_INDEX)
        gather(plan.format, rows.items, *rows.n, items, room);
    else
        qsort_r(rows.items, *rows.n, size, compare_rows, &plan);
    for (size_t i = 0, start = 0; item->type == HP_ROW_INDEX && i < items; start = ends[i++])
        if (ends[i] > start + 1)
            qsort_r(rows.items + start * size, ends[i] - start, size, compare_rows, &plan);
    join_neighbours(&plan, rows.items, rows.n);
}

/* --- Modules ---------------------------------------------------------------------------------- */

int hp_module_identity(const struct hp_pmodule *a, const struct hp_pmodule *b)
{
    int order = hp_compare_text(a->build_id, b->build_id);
    return order || *hp_text(a->build_id) ? order : hp_compare_text(a->path, b->path);
}

/* Modules by what they are; of those that are the same the smallest path is kept. */
static enum hp_err join_modules(struct hp_pmodule *modules, size_t *n, uint32_t **map)
{
    struct plan plan = make_plan(HP_ROW_MODULE);
    plan.identity = hp_module_identity;
    plan.n_key = 0; /* the fields of the key say which one is kept */
    HP_TRY(hp_map_new(*n, map));
    return order_rows(&plan, (char *)modules, n, *map);
}

/* Two steps, one map: joined by what they are, then sorted by path. */
enum hp_err hp_modules_order(struct hp_profile *p, uint32_t **map)
{
    size_t n = p->n_modules;
    uint32_t *by_path HP_CLEANUP(hp_free) = NULL;
    HP_TRY(join_modules(p->modules, &p->n_modules, map));
    HP_TRY(hp_rows_order(p, HP_ROW_MODULE, &by_path));
    for (size_t i = 0; i < n; i++)
        (*map)[i] = by_path[(*map)[i]];
    return HP_OK;
}

enum hp_err hp_modules_distinct(const struct hp_profile *p, bool *distinct)
{
    size_t n = p->n_modules;
    uint32_t *map HP_CLEANUP(hp_free) = NULL;
    struct hp_pmodule *copy HP_CLEANUP(hp_free) = malloc((n + 1) * sizeof *copy);
    if (!copy)
        return hp_fail_nomem();
    if (n)
        memcpy(copy, p->modules, n * sizeof *copy);
    HP_TRY(join_modules(copy, &n, &map));
    *distinct = n == p->n_modules;
    return HP_OK;
}
