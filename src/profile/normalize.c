// SPDX-License-Identifier: MIT
/*
 * Bringing a profile into its normal form, and merging two.
 *
 * Arrays that others refer to are copied, and the copies are put in order from the referred-to to
 * the referring. Only when nothing can fail any more do they take the place of the old ones, and
 * the rest, which are the largest, are put in order where they are. A profile that nobody wants if
 * that fails does without the copies.
 */
#include "base/base.h"
#include "profile/profile_impl.h"

#define MOST_ROOM ((size_t)64 << 20) /* bytes */

/* The copy being worked on, and the new index of every old row that others refer to. */
struct work {
    struct hp_profile next;
    struct hp_profile_memory memory;
    uint32_t *maps[HP_ROW_KINDS];
    bool moved[HP_ROW_KINDS]; /* some index is another one */
    struct hp_order_room room;
};

static void work_fini(struct work *work)
{
    hp_profile_free_rows(&work->next);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        free(work->maps[kind]);
    free(work->room.indices);
    free(work->room.rows);
}

static bool is_leaf(enum hp_row_kind kind)
{
    return !hp_row_formats[kind].has_id && kind != HP_ROW_PATH_STEP;
}

static enum hp_err copy_rows(struct work *work, struct hp_profile *profile, enum hp_row_kind kind)
{
    struct hp_row_array from = hp_profile_rows(profile, kind), to;
    HP_TRY(hp_profile_reserve(&work->next, kind, *from.n));
    to = hp_profile_rows(&work->next, kind);
    if (*from.n)
        memcpy(to.items, from.items, *from.n * from.format->size);
    *to.n = *from.n;
    return HP_OK;
}

/* What was in the profile is in the copy then, and released with it. */
static void swap_rows(struct work *work, struct hp_profile *profile, enum hp_row_kind kind)
{
    struct hp_row_array old = hp_profile_rows(profile, kind);
    struct hp_row_array new = hp_profile_rows(&work->next, kind);
    memcpy(old.array, &new.items, sizeof new.items);
    memcpy(new.array, &old.items, sizeof old.items);
    size_t n = *old.n, capacity = *old.capacity;
    *old.n = *new.n;
    *old.capacity = *new.capacity;
    *new.n = n;
    *new.capacity = capacity;
}

/* References get the new indices. Steps are of old paths until these are one. */
static void renumber(const struct work *work, struct hp_profile *p, enum hp_row_kind kind)
{
    for (enum hp_row_kind to = 0; to < kind; to++)
        if (work->moved[to] && !(kind == HP_ROW_PATH_STEP && to == HP_ROW_PATH))
            hp_rows_renumber(p, kind, to, work->maps[to]);
}

static enum hp_err sort(struct work *work, enum hp_row_kind kind)
{
    struct hp_profile *p = &work->next;
    uint32_t **map = &work->maps[kind];
    switch (kind) {
    case HP_ROW_THREAD: return HP_OK; /* side by side, as they are */
    case HP_ROW_MODULE: return hp_modules_order(p, map);
    case HP_ROW_CONTEXT: return hp_contexts_order(p, map);
    case HP_ROW_LOOP: return hp_loops_order(p, map);
    case HP_ROW_PATH_STEP: return hp_steps_order(p, work->maps[HP_ROW_PATH]);
    default: return hp_rows_order(p, kind, map);
    }
}

static enum hp_err order(struct work *work, enum hp_row_kind kind)
{
    size_t n = hp_profile_n_rows(&work->next, kind);
    renumber(work, &work->next, kind);
    HP_TRY(sort(work, kind));
    for (size_t i = 0; work->maps[kind] && i < n && !work->moved[kind]; i++)
        work->moved[kind] = work->maps[kind][i] != i;
    return HP_OK;
}

/* For the largest array that nobody refers to, unless it is very large. */
static enum hp_err make_room(struct work *work, struct hp_profile *profile)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        size_t bytes = hp_profile_n_rows(profile, kind) * hp_row_formats[kind].size;
        if (is_leaf(kind) && bytes > work->room.bytes)
            work->room.bytes = bytes < MOST_ROOM ? bytes : MOST_ROOM;
    }
    work->room.rows = malloc(work->room.bytes + 1);
    return work->room.rows ? HP_OK : hp_fail_nomem();
}

static enum hp_err order_copies(struct work *work, struct hp_profile *profile, bool copy)
{
    size_t most = 0;
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (!is_leaf(kind)) {
            if (copy)
                HP_TRY(copy_rows(work, profile, kind));
            else
                swap_rows(work, profile, kind);
            HP_TRY(order(work, kind));
            size_t n = hp_profile_n_rows(&work->next, kind);
            most = n > most ? n : most;
        }
    work->room.indices = malloc(2 * (most + 1) * sizeof *work->room.indices);
    return work->room.indices ? make_room(work, profile) : hp_fail_nomem();
}

/* Of a profile that is sound. Without `copy`, rows are lost if it fails. */
static enum hp_err normalize(struct hp_profile *profile, bool copy)
{
    struct work work HP_CLEANUP(work_fini) = {0};
    work.next.memory = &work.memory;
    HP_TRY(order_copies(&work, profile, copy));
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (is_leaf(kind)) {
            renumber(&work, profile, kind);
            hp_leaves_order(profile, kind, &work.room);
        } else {
            swap_rows(&work, profile, kind);
        }
    hp_loop_trips_keep(profile);
    return HP_OK;
}

enum hp_err hp_profile_normalize(struct hp_profile *profile)
{
    HP_TRY(hp_profile_check(profile));
    return hp_profile_check_form(profile) == HP_OK ? HP_OK : normalize(profile, true);
}

enum hp_err hp_profile_reorder(struct hp_profile *profile)
{
    return normalize(profile, false);
}

enum hp_err hp_profile_settle(struct hp_profile *profile, const char **what)
{
    HP_TRY(hp_profile_mend(profile, what));
    return hp_profile_check_form(profile) == HP_OK ? HP_OK : normalize(profile, false);
}

/* --- Merging ---------------------------------------------------------------------------------- */

/* All rows of the other profile are appended: their texts become ours, their indices are moved
 * behind ours. Normalising joins what is the same. */
static enum hp_err adopt(struct hp_profile *p, const struct hp_row_format *format, void *row,
                         const size_t base[HP_ROW_KINDS])
{
    for (size_t k = 0; k < format->n_fields; k++) {
        const struct hp_row_field *field = &format->fields[k];
        if (hp_row_is_text(field)) {
            const char *text = hp_profile_string(p, hp_row_text(field, row));
            if (!text)
                return HP_ERR_NOMEM;
            hp_row_set_text(field, row, text);
        } else if (hp_row_is_reference(field)) {
            uint32_t *index = hp_row_index(field, row);
            *index = *index == HP_PROFILE_NONE ? *index : *index + (uint32_t)base[field->to];
        }
    }
    return HP_OK;
}

static uint32_t add_runs(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

/* Nothing moves while it is filled: `other` may be the profile itself. */
static enum hp_err append_all(struct hp_profile *p, const struct hp_profile *other,
                              const size_t base[HP_ROW_KINDS], const size_t more[HP_ROW_KINDS])
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        struct hp_row_array rows = hp_profile_rows(p, kind);
        for (size_t i = 0; i < more[kind]; i++) {
            char *row = rows.items + (*rows.n)++ * rows.format->size;
            memcpy(row, hp_profile_row(other, kind, i), rows.format->size);
            HP_TRY(adopt(p, rows.format, row, base));
        }
    }
    /* A hot spot is of one run, and what happened to traces, too. */
    for (size_t i = base[HP_ROW_HOTSPOT]; i < p->n_hotspots; i++)
        p->hotspots[i].run = add_runs(p->hotspots[i].run, p->run.runs);
    for (size_t i = base[HP_ROW_TRACES_EVENT]; i < p->n_traces_events; i++)
        p->traces_events[i].run = add_runs(p->traces_events[i].run, p->run.runs);
    return normalize(p, true);
}

static void merge_run(struct hp_run *run, const struct hp_run *other)
{
    run->seconds += other->seconds;
    hp_add_up(&run->lost, other->lost);
    run->runs = add_runs(run->runs, other->runs);
    hp_engine_work_merge(&run->work, &other->work);
    if (run->exit_status == 0)
        run->exit_status = other->exit_status;
}

enum hp_err hp_profile_merge(struct hp_profile *profile, const struct hp_profile *other)
{
    size_t base[HP_ROW_KINDS], more[HP_ROW_KINDS];
    HP_TRY(hp_profile_check(profile));
    HP_TRY(hp_profile_check(other));
    if (profile->run.arch != other->run.arch)
        return hp_fail(HP_ERR_INVALID, "profiles of different architectures cannot be merged");
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        base[kind] = hp_profile_n_rows(profile, kind);
        more[kind] = hp_profile_n_rows(other, kind);
        HP_TRY(hp_profile_reserve(profile, kind, more[kind]));
    }
    enum hp_err err = append_all(profile, other, base, more);
    if (err == HP_OK)
        merge_run(&profile->run, &other->run);
    for (enum hp_row_kind kind = 0; err != HP_OK && kind < HP_ROW_KINDS; kind++)
        *hp_profile_rows(profile, kind).n = base[kind];
    return err;
}
