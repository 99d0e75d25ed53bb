// SPDX-License-Identifier: MIT
/* Is a profile sound, and is it in its normal form? */
#include "profile/profile_impl.h"

/* What the values of a field must be. */
struct bounds {
    const struct hp_row_field *at_most; /* NULL: any */
    bool limited;
    uint64_t limit; /* they are below it */
};

static struct bounds bounds_of(const struct hp_profile *p, enum hp_row_kind kind,
                               const struct hp_row_field *field)
{
    bool refers = hp_row_is_reference(field);
    return (struct bounds){
        .at_most = field->at_most ? hp_row_column(kind, field->at_most) : NULL,
        .limited = refers || field->max || field->type == HP_ROW_U8,
        .limit = refers ? hp_profile_n_rows(p, field->to) : (uint64_t)field->max + 1,
    };
}

static enum hp_err check_value(const struct bounds *bounds, enum hp_row_kind kind,
                               const struct hp_row_field *field, const void *row, size_t i)
{
    const char *one = hp_row_formats[kind].one;
    uint64_t value = hp_row_number(field, row);
    if (bounds->limited && value >= bounds->limit &&
        !(field->type == HP_ROW_LINK && value == HP_PROFILE_NONE))
        return hp_fail(HP_ERR_INVALID, "%s %zu has %s %llu, which does not exist", one, i,
                       field->name, (unsigned long long)value);
    if (bounds->at_most && value > hp_row_number(bounds->at_most, row))
        return hp_fail(HP_ERR_INVALID, "%s %zu has %s %llu, more than its %s, %llu", one, i,
                       field->name, (unsigned long long)value, bounds->at_most->name,
                       (unsigned long long)hp_row_number(bounds->at_most, row));
    if (field->positive && value == 0)
        return hp_fail(HP_ERR_INVALID, "%s %zu has %s 0, which cannot be", one, i, field->name);
    return HP_OK;
}

/* The rows `from` to `to` - 1, field by field; or only what leads to other rows, and limits. */
static enum hp_err check_fields(const struct hp_profile *p, enum hp_row_kind kind, size_t from,
                                size_t to, bool all)
{
    const struct hp_row_format *format = &hp_row_formats[kind];
    const char *items = from < to ? hp_profile_row(p, kind, 0) : NULL;
    for (size_t k = 0; k < format->n_fields; k++) {
        const struct hp_row_field *field = &format->fields[k];
        struct bounds bounds = bounds_of(p, kind, field);
        if (!bounds.limited && !(all && (bounds.at_most || field->positive)))
            continue;
        for (size_t i = from; i < to; i++)
            HP_TRY(check_value(&bounds, kind, field, items + i * format->size, i));
    }
    return HP_OK;
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
