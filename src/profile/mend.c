// SPDX-License-Identifier: MIT
/*
 * Keeping what is right of a profile in which something is not.
 *
 * Row by row: what hp_profile_check() refuses loses the references that lead nowhere, where a row
 * may do without them, or what contradicts itself; what is still refused is left out. Then what
 * belongs to rows that are left out is, too, and references get the new indices.
 */
#include "profile/profile_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mending {
    struct hp_profile *profile;
    bool **dead;
    size_t wrong;
    char *first;
};

/* Counts what hp_fail() just said of a row. */
static void note_wrong(struct mending *m)
{
    if (m->wrong++ == 0)
        snprintf(m->first, 256, "%s", hp_error_text());
}

static enum hp_err kill(struct mending *m, enum hp_row_kind kind, size_t i)
{
    size_t n = hp_profile_n_rows(m->profile, kind);
    if (!m->dead[kind] && !(m->dead[kind] = calloc(n + 1, sizeof **m->dead)))
        return hp_fail_nomem();
    m->dead[kind][i] = true;
    return HP_OK;
}

static bool is_dead(const struct mending *m, enum hp_row_kind kind, size_t i)
{
    return m->dead[kind] && m->dead[kind][i];
}

/* --- Row by row ------------------------------------------------------------------------------- */

/* Links that lead nowhere lead to none. */
static void unlink_row(struct hp_profile *p, enum hp_row_kind kind, size_t i)
{
    struct hp_row_array rows = hp_profile_rows(p, kind);
    char *row = (char *)hp_row_items(&rows) + i * rows.format->size;
    for (size_t k = 0; k < rows.format->n_fields; k++) {
        const struct hp_row_field *field = &rows.format->fields[k];
        if (field->type != HP_ROW_LINK)
            continue;
        uint32_t *index = hp_row_index(field, row);
        if (*index >= hp_profile_n_rows(p, field->to))
            *index = HP_PROFILE_NONE;
    }
}

/* What a row can do without. */
static void repair(struct hp_profile *p, enum hp_row_kind kind, size_t i)
{
    unlink_row(p, kind, i);
    if (kind == HP_ROW_LOOP) {
        struct hp_ploop *loop = &p->loops[i];
        if (loop->parent != HP_PROFILE_NONE && p->loops[loop->parent].function != loop->function)
            loop->parent = HP_PROFILE_NONE;
        if (loop->first_line > loop->last_line)
            loop->last_line = loop->first_line;
        loop->flags &= (uint32_t)HP_LOOP_IRREDUCIBLE;
    } else if (kind == HP_ROW_LOOP_COUNT) {
        struct hp_ploop_count *count = &p->loop_counts[i];
        count->min = count->max = count->same = count->stride = 0;
        if (count->interrupted > count->executions)
            count->interrupted = count->executions;
    } else if (kind == HP_ROW_HOTSPOT && p->hotspots[i].after > p->hotspots[i].total) {
        p->hotspots[i].after = p->hotspots[i].total;
    }
}

static enum hp_err mend_row(struct mending *m, enum hp_row_kind kind, size_t i)
{
    if (is_dead(m, kind, i) || hp_profile_check_row(m->profile, kind, i) == HP_OK)
        return HP_OK;
    note_wrong(m);
    repair(m->profile, kind, i);
    return hp_profile_check_row(m->profile, kind, i) == HP_OK ? HP_OK : kill(m, kind, i);
}

/* --- Samplers --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct hp_psampler *x = *(const struct hp_psampler *const *)a;
    const struct hp_psampler *y = *(const struct hp_psampler *const *)b;
    int order = hp_compare_text(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

/* Those of one name that were set differently cannot be one: the first stays. */
static enum hp_err mend_samplers(struct mending *m)
{
    struct hp_profile *p = m->profile;
    const struct hp_psampler **order = malloc((p->n_samplers + 1) * sizeof *order);
    enum hp_err err = order ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; i < p->n_samplers && order; i++)
        order[i] = &p->samplers[i];
    if (order && p->n_samplers)
        qsort(order, p->n_samplers, sizeof *order, by_name);
    for (size_t i = 1, first = 0; order && i < p->n_samplers && err == HP_OK; i++) {
        const struct hp_psampler *a = order[first], *b = order[i];
        if (hp_compare_text(a->name, b->name) != 0) {
            first = i;
        } else if (a->interval != b->interval || a->window != b->window || a->width != b->width ||
                   a->near != b->near) {
            hp_fail(HP_ERR_INVALID, "samplers named '%s' were set differently", b->name);
            note_wrong(m);
            err = kill(m, HP_ROW_SAMPLER, (size_t)(b - p->samplers));
        }
    }
    free(order);
    return err;
}

/* --- What is left out ------------------------------------------------------------------------- */

/* What refers to something that is left out. What is referred to comes first in the order of kinds.
 */
static enum hp_err spread(struct mending *m, enum hp_row_kind kind,
                          const struct hp_row_field *field)
{
    struct hp_row_array rows = hp_profile_rows(m->profile, kind);
    char *items = hp_row_items(&rows);
    for (size_t i = 0; i < *rows.n; i++) {
        uint32_t *index = hp_row_index(field, items + i * rows.format->size);
        if (is_dead(m, kind, i) || *index == HP_PROFILE_NONE || !is_dead(m, field->to, *index))
            continue;
        if (field->type == HP_ROW_LINK)
            *index = HP_PROFILE_NONE;
        else
            HP_TRY(kill(m, kind, i));
    }
    return HP_OK;
}

static enum hp_err spread_all(struct mending *m)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t k = 0; k < hp_row_formats[kind].n_fields; k++) {
            const struct hp_row_field *field = &hp_row_formats[kind].fields[k];
            if (hp_row_is_reference(field) && m->dead[field->to])
                HP_TRY(spread(m, kind, field));
        }
    return HP_OK;
}

/* Closes the gaps that dead rows leave; `*map`: the new index of every old one (malloc'd). */
static enum hp_err close_gaps(struct mending *m, enum hp_row_kind kind, uint32_t **map)
{
    struct hp_row_array rows = hp_profile_rows(m->profile, kind);
    size_t n = *rows.n, size = rows.format->size, kept = 0;
    char *items = hp_row_items(&rows);
    if (!(*map = malloc((n + 1) * sizeof **map)))
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++) {
        (*map)[i] = m->dead[kind][i] ? HP_PROFILE_NONE : (uint32_t)kept++;
        if ((*map)[i] != HP_PROFILE_NONE)
            memmove(items + (*map)[i] * size, items + i * size, size);
    }
    *rows.n = kept;
    return HP_OK;
}

/* All gaps first: what is dead may refer to anything. */
static enum hp_err leave_out(struct mending *m)
{
    uint32_t *maps[HP_ROW_KINDS] = {0};
    enum hp_err err = HP_OK;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS && err == HP_OK; kind++)
        if (m->dead[kind])
            err = close_gaps(m, kind, &maps[kind]);
    for (enum hp_row_kind to = 0; to < HP_ROW_KINDS; to++) {
        for (enum hp_row_kind kind = to; maps[to] && err == HP_OK && kind < HP_ROW_KINDS; kind++)
            hp_rows_renumber(m->profile, kind, to, maps[to]);
        free(maps[to]);
    }
    return err;
}

/* --- Trees ------------------------------------------------------------------------------------ */

#define FEW 16 /* circles that are opened one by one */

/* Opens circles; of more than a few nothing is believed. */
static enum hp_err mend_trees(struct mending *m)
{
    struct hp_profile *p = m->profile;
    uint32_t culprit;
    enum hp_err err;
    for (size_t i = 0; (err = hp_contexts_check_depth(p, &culprit)) == HP_ERR_INVALID; i++) {
        note_wrong(m);
        p->contexts[culprit].parent = HP_PROFILE_NONE;
        for (size_t k = 0; i >= FEW && k < p->n_contexts; k++)
            p->contexts[k].parent = HP_PROFILE_NONE;
    }
    for (size_t i = 0; err == HP_OK && (err = hp_loops_check_nesting(p, &culprit)) != HP_OK; i++) {
        if (err != HP_ERR_INVALID)
            return err;
        err = HP_OK;
        note_wrong(m);
        p->loops[culprit].parent = HP_PROFILE_NONE;
        for (size_t k = 0; i >= FEW && k < p->n_loops; k++)
            p->loops[k].parent = HP_PROFILE_NONE;
    }
    return err;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err mend(struct mending *m)
{
    struct hp_profile *p = m->profile;
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_) {
        hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
        note_wrong(m);
        p->run.arch = HP_ARCH_NONE;
    }
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t i = 0; i < hp_profile_n_rows(p, kind); i++)
            HP_TRY(mend_row(m, kind, i));
    HP_TRY(mend_samplers(m));
    HP_TRY(spread_all(m));
    HP_TRY(leave_out(m));
    return mend_trees(m);
}

enum hp_err hp_profile_mend_rows(struct hp_profile *p, bool *dead[HP_ROW_KINDS], size_t *wrong,
                                 char first[256])
{
    struct mending m = {.profile = p, .dead = dead, .first = first};
    enum hp_err err = mend(&m);
    *wrong = m.wrong;
    return err;
}

enum hp_err hp_profile_mend(struct hp_profile *p, const char **what)
{
    bool *dead[HP_ROW_KINDS] = {0};
    size_t wrong;
    char first[256];
    *what = NULL;
    enum hp_err err = hp_profile_mend_rows(p, dead, &wrong, first);
    for (int i = 0; i < HP_ROW_KINDS; i++)
        free(dead[i]);
    HP_TRY(err);
    if (wrong == 0)
        return HP_OK;
    char text[400];
    snprintf(text, sizeof text,
             "something in the profile could not be right and was left out; the first: %s", first);
    HP_TRY(hp_profile_note(p, wrong, "mended", "%s", text));
    *what = hp_profile_string(p, text);
    return *what ? HP_OK : HP_ERR_NOMEM;
}
