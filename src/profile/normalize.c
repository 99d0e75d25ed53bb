// SPDX-License-Identifier: MIT
/*
 * Bringing a profile into its normal form.
 *
 * Arrays that others refer to are copied, and the copies are put in order from the referred-to to
 * the referring. Only when nothing can fail any more do they take the place of the old ones, and
 * the rest, which are the largest, are put in order where they are.
 */
#include "base/cleanup.h"
#include "profile/profile_impl.h"

#include <string.h>

/* The copy being worked on, and the new index of every old row that others refer to. */
struct work {
    struct hp_profile next;
    struct hp_profile_memory memory;
    uint32_t *maps[HP_ROW_KINDS];
    size_t *room;
};

static void work_fini(struct work *work)
{
    hp_profile_free_rows(&work->next);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        free(work->maps[kind]);
    free(work->room);
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

/* The old ones are in the copy then, and released with it. */
static void replace_rows(struct work *work, struct hp_profile *profile, enum hp_row_kind kind)
{
    struct hp_row_array old = hp_profile_rows(profile, kind);
    struct hp_row_array new = hp_profile_rows(&work->next, kind);
    memcpy(old.array, &new.items, sizeof new.items);
    memcpy(new.array, &old.items, sizeof old.items);
    *old.n = *new.n;
    *old.capacity = *new.capacity;
}

/* The references of rows to those in their new order. Steps are of old paths until these are one.
 */
static void renumber(const struct work *work, struct hp_profile *p, enum hp_row_kind kind)
{
    for (enum hp_row_kind to = 0; to < kind; to++)
        if (work->maps[to] && !(kind == HP_ROW_PATH_STEP && to == HP_ROW_PATH))
            hp_rows_renumber(p, kind, to, work->maps[to]);
}

static enum hp_err order(struct work *work, enum hp_row_kind kind)
{
    struct hp_profile *p = &work->next;
    uint32_t **map = &work->maps[kind];
    renumber(work, p, kind);
    switch (kind) {
    case HP_ROW_THREAD: return HP_OK; /* side by side, as they are */
    case HP_ROW_MODULE: return hp_modules_order(p, map);
    case HP_ROW_CONTEXT: return hp_contexts_order(p, map);
    case HP_ROW_LOOP: return hp_loops_order(p, map);
    case HP_ROW_PATH_STEP: return hp_steps_order(p, work->maps[HP_ROW_PATH]);
    default: return hp_rows_order(p, kind, map);
    }
}

static enum hp_err order_copies(struct work *work, struct hp_profile *profile)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (!is_leaf(kind)) {
            HP_TRY(copy_rows(work, profile, kind));
            HP_TRY(order(work, kind));
        }
    work->room = hp_leaves_room(&work->next);
    return work->room ? HP_OK : HP_ERR_NOMEM;
}

enum hp_err hp_profile_normalize(struct hp_profile *profile)
{
    HP_TRY(hp_profile_check(profile));
    if (hp_profile_check_form(profile) == HP_OK)
        return HP_OK;
    struct work work HP_CLEANUP(work_fini) = {0};
    work.next.memory = &work.memory;
    HP_TRY(order_copies(&work, profile));
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (is_leaf(kind)) {
            renumber(&work, profile, kind);
            hp_leaves_order(profile, kind, work.room);
        } else {
            replace_rows(&work, profile, kind);
        }
    hp_loop_trips_keep(profile);
    return HP_OK;
}
