// SPDX-License-Identifier: MIT
/*
 * Bringing a profile into its normal form.
 *
 * The arrays are copied, all but the largest, and the copies are put in order from the referred-to
 * to the referring. Only when nothing can fail any more do they take the place of the old ones, and
 * the largest are put in order where they are.
 */
#include "profile/profile_impl.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 wide;

/* --- Joining, where it is not adding up ------------------------------------------------------- */

enum hp_err hp_join_stats(void *joint, const void *rows, size_t n, size_t stride)
{
    struct hp_pstat *sum = joint;
    for (size_t i = 1; i < n; i++) {
        const struct hp_pstat *stat = (const void *)((const char *)rows + i * stride);
        if (sum->unit == HP_STAT_COUNT)
            sum->value = hp_add_saturated(sum->value, stat->value);
        else if (sum->unit == HP_STAT_SIZE ? stat->value > sum->value : stat->value < sum->value)
            sum->value = stat->value;
    }
    return HP_OK;
}

/* Counts are added, the average is that of all executions. */
enum hp_err hp_join_model_loops(void *joint, const void *rows, size_t n, size_t stride)
{
    struct hp_pmodel_loop *sum = joint;
    wide back_edges = 0, executions = 0;
    sum->executions = sum->iterations = sum->instructions = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_pmodel_loop *loop = (const void *)((const char *)rows + i * stride);
        back_edges += (wide)loop->average * loop->executions;
        executions += loop->executions;
        sum->average = loop->average > sum->average ? loop->average : sum->average;
        sum->executions = hp_add_saturated(sum->executions, loop->executions);
        sum->iterations = hp_add_saturated(sum->iterations, loop->iterations);
        sum->instructions = hp_add_saturated(sum->instructions, loop->instructions);
    }
    if (executions)
        sum->average = (uint64_t)((back_edges + executions / 2) / executions);
    return HP_OK;
}

/* What estimates are scaled by is the mean over the samples. */
enum hp_err hp_join_samplers(void *joint, const void *rows, size_t n, size_t stride)
{
    struct hp_psampler *sum = joint;
    wide scaled = 0, samples = 0;
    sum->samples = sum->empty = sum->lost = sum->interrupts = sum->cost = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_psampler *s = (const void *)((const char *)rows + i * stride);
        if (s->interval != sum->interval || s->window != sum->window || s->width != sum->width ||
            s->near != sum->near)
            return hp_fail(HP_ERR_INVALID,
                           "samplers named '%s' were set differently, or on different machines",
                           s->name);
        scaled += (wide)s->samples * s->scale;
        samples += s->samples;
        sum->scale = s->scale > sum->scale ? s->scale : sum->scale;
        sum->samples = hp_add_saturated(sum->samples, s->samples);
        sum->empty = hp_add_saturated(sum->empty, s->empty);
        sum->lost = hp_add_saturated(sum->lost, s->lost);
        sum->interrupts = hp_add_saturated(sum->interrupts, s->interrupts);
        sum->cost = hp_add_saturated(sum->cost, s->cost);
    }
    if (samples)
        sum->scale = (uint64_t)((scaled + samples / 2) / samples);
    return HP_OK;
}

/* --- All together ----------------------------------------------------------------------------- */

/* The copy being worked on, and the new index of every old row that others refer to. */
struct work {
    struct hp_profile next;
    struct hp_profile_memory memory;
    uint32_t *maps[HP_ROW_KINDS];
    size_t *room;
};

static void work_fini(struct work *work)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++) {
        struct hp_row_array rows = hp_profile_rows(&work->next, kind);
        free(hp_row_items(&rows));
        free(work->maps[kind]);
    }
    free(work->room);
}

static enum hp_err copy_rows(struct work *work, struct hp_profile *profile, enum hp_row_kind kind)
{
    struct hp_row_array from = hp_profile_rows(profile, kind);
    struct hp_row_array to = hp_profile_rows(&work->next, kind);
    HP_TRY(hp_row_reserve(&to, *from.n));
    if (*from.n)
        memcpy(hp_row_items(&to), hp_row_items(&from), *from.n * from.format->size);
    *to.n = *from.n;
    return HP_OK;
}

static void swap(void *a, void *b, size_t size)
{
    char room[sizeof(void *)];
    memcpy(room, a, size);
    memcpy(a, b, size);
    memcpy(b, room, size);
}

static void swap_rows(struct work *work, struct hp_profile *profile, enum hp_row_kind kind)
{
    struct hp_row_array a = hp_profile_rows(profile, kind);
    struct hp_row_array b = hp_profile_rows(&work->next, kind);
    swap(a.array, b.array, sizeof(void *));
    swap(a.n, b.n, sizeof *a.n);
    swap(a.capacity, b.capacity, sizeof *a.capacity);
}

/* The rows of a kind, with the references that they have in their new form. */
static enum hp_err order(struct work *work, enum hp_row_kind kind)
{
    struct hp_profile *p = &work->next;
    uint32_t **map = &work->maps[kind];
    for (enum hp_row_kind to = 0; to < kind; to++)
        if (work->maps[to] && kind != HP_ROW_PATH_STEP)
            hp_rows_renumber(p, kind, to, work->maps[to]);
    switch (kind) {
    case HP_ROW_THREAD: return HP_OK; /* side by side, as they are */
    case HP_ROW_MODULE: return hp_modules_order(p, map);
    case HP_ROW_CONTEXT: return hp_contexts_order(p, map);
    case HP_ROW_LOOP: return hp_loops_order(p, map);
    case HP_ROW_PATH_STEP:
        return hp_steps_order(p, work->maps[HP_ROW_PATH], work->maps[HP_ROW_BLOCK]);
    default: HP_TRY(hp_rows_order(p, kind, hp_row_formats[kind].has_id ? map : NULL));
    }
    if (kind == HP_ROW_LOOP_TRIPS)
        hp_loop_trips_keep(p);
    return HP_OK;
}

static enum hp_err order_copies(struct work *work, struct hp_profile *profile)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        if (!hp_rows_are_counters(kind)) {
            HP_TRY(copy_rows(work, profile, kind));
            HP_TRY(order(work, kind));
        }
    work->room = hp_counters_room(&work->next);
    return work->room ? HP_OK : HP_ERR_NOMEM;
}

/* What cannot fail. */
static void order_counters(struct work *work, struct hp_profile *p, enum hp_row_kind kind)
{
    for (enum hp_row_kind to = 0; to < kind; to++)
        if (work->maps[to])
            hp_rows_renumber(p, kind, to, work->maps[to]);
    hp_counters_order(p, kind, work->room);
}

enum hp_err hp_profile_normalize(struct hp_profile *profile)
{
    HP_TRY(hp_profile_check(profile));
    if (hp_profile_check_form(profile) == HP_OK)
        return HP_OK;
    struct work work = {0};
    work.next.memory = &work.memory;
    enum hp_err err = order_copies(&work, profile);
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS && err == HP_OK; kind++)
        if (hp_rows_are_counters(kind))
            order_counters(&work, profile, kind);
        else
            swap_rows(&work, profile, kind);
    work_fini(&work);
    return err;
}
