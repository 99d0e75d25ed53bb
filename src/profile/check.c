// SPDX-License-Identifier: MIT
/* Is a profile sound, and is it in its normal form? */
#include "profile/profile_impl.h"

#define AT_ONCE 8 /* fields that are checked in one pass through the rows */

/* What the values of a field must be. */
struct bounds {
    const struct hp_row_field *field;
    const struct hp_row_field *at_most; /* NULL: any */
    uint64_t from, to;                  /* they are at least, and at most; */
    uint64_t or_else;                   /* or this */
};

static struct bounds bounds_of(const struct hp_profile *p, enum hp_row_kind kind,
                               const struct hp_row_field *field, bool all)
{
    struct bounds bounds = {
        .field = field, .to = UINT64_MAX, .from = all && field->positive, .or_else = UINT64_MAX};
    if (all && field->at_most)
        bounds.at_most = hp_row_column(kind, field->at_most);
    if (hp_row_is_reference(field)) {
        size_t n = hp_profile_n_rows(p, field->to);
        bounds.to = n ? n - 1 : 0;
        bounds.from = n ? bounds.from : 1; /* there is none */
        bounds.or_else = field->type == HP_ROW_LINK ? HP_PROFILE_NONE : UINT64_MAX;
    } else if (field->max || field->type == HP_ROW_U8) {
        bounds.to = field->max;
    }
    return bounds;
}

static bool is_within(const struct bounds *bounds, const void *row)
{
    uint64_t value = hp_row_number(bounds->field, row);
    return ((value >= bounds->from && value <= bounds->to) || value == bounds->or_else) &&
           (!bounds->at_most || value <= hp_row_number(bounds->at_most, row));
}

/* Says what is wrong with a value that is not within its bounds. */
static enum hp_err refuse(const struct bounds *bounds, enum hp_row_kind kind, const void *row,
                          size_t i)
{
    const char *one = hp_row_formats[kind].one;
    const struct hp_row_field *field = bounds->field;
    uint64_t value = hp_row_number(field, row);
    if (value > bounds->to || hp_row_is_reference(field))
        return hp_fail(HP_ERR_INVALID, "%s %zu has %s %llu, which does not exist", one, i,
                       field->name, (unsigned long long)value);
    if (bounds->at_most && value > hp_row_number(bounds->at_most, row))
        return hp_fail(HP_ERR_INVALID, "%s %zu has %s %llu, more than its %s, %llu", one, i,
                       field->name, (unsigned long long)value, bounds->at_most->name,
                       (unsigned long long)hp_row_number(bounds->at_most, row));
    return hp_fail(HP_ERR_INVALID, "%s %zu has %s 0, which cannot be", one, i, field->name);
}

static enum hp_err check_some(const struct hp_profile *p, enum hp_row_kind kind, size_t from,
                              size_t to, const struct bounds *bounds, size_t n)
{
    const char *row = n && from < to ? hp_profile_row(p, kind, from) : NULL;
    for (size_t i = from; n && i < to; i++, row += hp_row_formats[kind].size)
        for (size_t k = 0; k < n; k++)
            if (!is_within(&bounds[k], row))
                return refuse(&bounds[k], kind, row, i);
    return HP_OK;
}

/* The rows `from` to `to` - 1; all fields, or only what leads to other rows, and limits. */
static enum hp_err check_fields(const struct hp_profile *p, enum hp_row_kind kind, size_t from,
                                size_t to, bool all)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    struct bounds bounds[AT_ONCE];
    size_t n = 0;
    for (size_t k = 0; k < format->n_fields; k++) {
        struct bounds b = bounds_of(p, kind, &format->fields[k], all);
        if (!b.from && b.to == UINT64_MAX && !b.at_most)
            continue;
        bounds[n++] = b;
        if (n == AT_ONCE) {
            HP_TRY(check_some(p, kind, from, to, bounds, n));
            n = 0;
        }
    }
    return check_some(p, kind, from, to, bounds, n);
}

enum hp_err hp_profile_check_rows(const struct hp_profile *p, enum hp_row_kind kind, size_t from,
                                  size_t to)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    HP_TRY(check_fields(p, kind, from, to, true));
    for (size_t i = from; format->check && i < to; i++)
        HP_TRY(format->check(p, i));
    return HP_OK;
}

enum hp_err hp_profile_check_references(const struct hp_profile *p)
{
    uint32_t culprit;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        size_t n = hp_profile_n_rows(p, kind);
        if (n >= HP_PROFILE_NONE)
            return hp_fail(HP_ERR_INVALID, "the profile has %zu %s, too many", n,
                           hp_row_formats[kind].many);
        HP_TRY(check_fields(p, kind, 0, n, false));
    }
    for (size_t i = 0; i < p->n_contexts; i++)
        if (p->contexts[i].parent != HP_PROFILE_NONE && p->contexts[i].parent >= i)
            return hp_fail(HP_ERR_INVALID, "context %zu has parent %u, which comes behind it", i,
                           p->contexts[i].parent);
    return hp_contexts_check_depth(p, &culprit);
}

enum hp_err hp_profile_check(const struct hp_profile *p)
{
    uint32_t culprit;
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_)
        return hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        HP_TRY(hp_profile_check_rows(p, kind, 0, hp_profile_n_rows(p, kind)));
    HP_TRY(hp_contexts_check_depth(p, &culprit));
    return hp_loops_check_nesting(p);
}

static enum hp_err is_normal(const struct hp_profile *p, enum hp_row_kind kind, bool *normal)
{
    *normal = kind == HP_ROW_CONTEXT ? hp_contexts_in_order(p) : hp_rows_in_order(p, kind);
    if (*normal && kind == HP_ROW_LOOP_TRIPS)
        *normal = hp_loop_trips_kept(p);
    return *normal && kind == HP_ROW_MODULE ? hp_modules_distinct(p, normal) : HP_OK;
}

enum hp_err hp_profile_check_form(const struct hp_profile *p)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        bool normal;
        HP_TRY(is_normal(p, kind, &normal));
        if (!normal)
            return hp_fail(HP_ERR_INVALID, "the profile is not in its normal form: its %s are not",
                           hp_row_formats[kind].many);
    }
    return HP_OK;
}

enum hp_err hp_profile_check_normal(const struct hp_profile *p)
{
    HP_TRY(hp_profile_check(p));
    return hp_profile_check_form(p);
}
