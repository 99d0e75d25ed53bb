// SPDX-License-Identifier: MIT
/*
 * Keeping what is right of a profile in which something is not.
 *
 * Row by row: what hp_profile_check() refuses loses the references that lead nowhere, where a row
 * may do without them, or what contradicts itself; what is still refused is left out. Then what
 * belongs to rows that are left out is, too, and references get the new indices.
 */
#include "base/base.h"
#include "base/map64.h"
#include "profile/profile_impl.h"

/* Counts what hp_fail() just said of a row. */
static void note_wrong(struct hp_mending *m)
{
    if (m->wrong++ == 0)
        snprintf(m->first, sizeof m->first, "%s", hp_error_text());
}

enum hp_err hp_mending_leave_out(struct hp_mending *m, enum hp_row_kind kind, size_t i)
{
    size_t n = hp_profile_n_rows(m->profile, kind);
    HP_TRY(hp_grow(&m->dead[kind], &m->n_dead[kind], i < n ? n : i + 1, sizeof **m->dead));
    m->dead[kind][i] = true;
    return HP_OK;
}

void hp_mending_fini(struct hp_mending *m)
{
    for (int i = 0; i < HP_ROW_KINDS; i++)
        free(m->dead[i]);
}

static bool is_dead(const struct hp_mending *m, enum hp_row_kind kind, size_t i)
{
    return i < m->n_dead[kind] && m->dead[kind][i];
}

/* --- Row by row ------------------------------------------------------------------------------- */

/* Links that lead nowhere lead to none. */
static void unlink_row(struct hp_profile *p, enum hp_row_kind kind, size_t i)
{
    struct hp_row_array rows = hp_profile_rows(p, kind);
    for (size_t k = 0; k < rows.format->n_fields; k++) {
        const struct hp_row_field *field = &rows.format->fields[k];
        uint32_t *index = hp_row_index(field, rows.items + i * rows.format->size);
        if (field->type == HP_ROW_LINK && *index >= hp_profile_n_rows(p, field->to))
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

static enum hp_err mend_row(struct hp_mending *m, enum hp_row_kind kind, size_t i)
{
    if (is_dead(m, kind, i) || hp_profile_check_rows(m->profile, kind, i, i + 1) == HP_OK)
        return HP_OK;
    note_wrong(m);
    repair(m->profile, kind, i);
    bool sound = hp_profile_check_rows(m->profile, kind, i, i + 1) == HP_OK;
    return sound ? HP_OK : hp_mending_leave_out(m, kind, i);
}

/* Those of one name that were set differently cannot be one: the first stays. */
static enum hp_err mend_samplers(struct hp_mending *m)
{
    struct hp_profile *p = m->profile;
    struct hp_map64 first HP_CLEANUP(hp_map64_fini) = {0}; /* by name, whose address is its own */
    for (uint32_t i = 0; i < p->n_samplers; i++) {
        const char *name = hp_profile_string(p, p->samplers[i].name);
        uint32_t known = hp_map64_get(&first, (uintptr_t)name);
        if (!name)
            return HP_ERR_NOMEM;
        if (known == HP_MAP64_NONE) {
            HP_TRY(hp_map64_put(&first, (uintptr_t)name, i));
        } else if (!hp_rows_may_join(HP_ROW_SAMPLER, &p->samplers[known], &p->samplers[i])) {
            hp_fail(HP_ERR_INVALID, "samplers named '%s' were set differently", name);
            note_wrong(m);
            HP_TRY(hp_mending_leave_out(m, HP_ROW_SAMPLER, i));
        }
    }
    return HP_OK;
}

/* --- What is left out ------------------------------------------------------------------------- */

/* What refers to something that is left out. Kinds that are referred to come first. */
static enum hp_err spread(struct hp_mending *m, enum hp_row_kind kind,
                          const struct hp_row_field *field)
{
    struct hp_row_array rows = hp_profile_rows(m->profile, kind);
    for (size_t i = 0; i < *rows.n; i++) {
        uint32_t *index = hp_row_index(field, rows.items + i * rows.format->size);
        if (is_dead(m, kind, i) || *index == HP_PROFILE_NONE || !is_dead(m, field->to, *index))
            continue;
        if (field->type == HP_ROW_LINK)
            *index = HP_PROFILE_NONE;
        else
            HP_TRY(hp_mending_leave_out(m, kind, i));
    }
    return HP_OK;
}

static enum hp_err spread_all(struct hp_mending *m)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        for (size_t k = 0; k < hp_row_formats[kind].n_fields; k++) {
            const struct hp_row_field *field = &hp_row_formats[kind].fields[k];
            if (hp_row_is_reference(field) && m->dead[field->to])
                HP_TRY(spread(m, kind, field));
        }
    return HP_OK;
}

/* Closes the gaps that dead rows leave; `map`: the new index of every old one. */
static void close_gaps(struct hp_mending *m, enum hp_row_kind kind, uint32_t *map)
{
    struct hp_row_array rows = hp_profile_rows(m->profile, kind);
    size_t n = *rows.n, size = rows.format->size;
    *rows.n = 0;
    for (size_t i = 0; i < n; i++) {
        map[i] = is_dead(m, kind, i) ? HP_PROFILE_NONE : (uint32_t)(*rows.n)++;
        if (map[i] != HP_PROFILE_NONE)
            memmove(rows.items + map[i] * size, rows.items + i * size, size);
    }
}

/* The last kind first: what is dead may refer to anything, and must be gone. */
static enum hp_err leave_out(struct hp_mending *m)
{
    for (enum hp_row_kind to = HP_ROW_KINDS; to-- > 0;) {
        uint32_t *map HP_CLEANUP(hp_free) = NULL;
        if (!m->dead[to])
            continue;
        HP_TRY(hp_map_new(hp_profile_n_rows(m->profile, to), &map));
        close_gaps(m, to, map);
        for (enum hp_row_kind kind = to; kind < HP_ROW_KINDS; kind++)
            hp_rows_renumber(m->profile, kind, to, map);
    }
    return HP_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

#define FEW 16 /* circles that are opened one by one; of more nothing is believed */

static enum hp_err mend_trees(struct hp_mending *m)
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
    HP_TRY(err);
    if ((err = hp_loops_check_nesting(p)) == HP_ERR_INVALID) {
        size_t circles = 0;
        note_wrong(m);
        err = hp_loops_open_circles(p, &circles);
        m->wrong += circles - 1;
    }
    return err;
}

enum hp_err hp_profile_mend_rows(struct hp_mending *m)
{
    struct hp_profile *p = m->profile;
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_) {
        hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
        note_wrong(m);
        p->run.arch = HP_ARCH_NONE;
    }
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        size_t n = hp_profile_n_rows(p, kind);
        bool sound = hp_profile_check_rows(p, kind, 0, n) == HP_OK; /* as nearly always */
        for (size_t i = 0; !sound && i < n; i++)
            HP_TRY(mend_row(m, kind, i));
    }
    HP_TRY(mend_samplers(m));
    HP_TRY(spread_all(m));
    HP_TRY(leave_out(m));
    return mend_trees(m);
}

enum hp_err hp_profile_note_wrong(const struct hp_mending *m, const char *kind, const char *text,
                                  const char **what)
{
    struct hp_profile *p = m->profile;
    char all[400];
    snprintf(all, sizeof all, "%s; the first: %s", text, m->first);
    HP_TRY(hp_profile_note(p, m->wrong, kind, "%s", all));
    *what = hp_profile_string(p, all);
    return *what ? HP_OK : HP_ERR_NOMEM;
}

enum hp_err hp_profile_mend(struct hp_profile *p, const char **what)
{
    struct hp_mending m HP_CLEANUP(hp_mending_fini) = {.profile = p};
    *what = NULL;
    HP_TRY(hp_profile_mend_rows(&m));
    if (m.wrong == 0)
        return HP_OK;
    return hp_profile_note_wrong(
        &m, "mended", "something in the profile could not be right and was left out", what);
}
