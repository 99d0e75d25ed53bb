// SPDX-License-Identifier: MIT
#include "import/shown.h"

#include "base/base.h"
#include "profiler/path/paths.h"

void hp_shown_fini(struct hp_shown *shown)
{
    free(shown->items);
}

static void settle(struct hp_shown_item *item)
{
    item->samples++;
    hp_add_up(&item->sum, item->now);
    hp_add_up(&item->squares, hp_saturating_mul(item->now, item->now));
    item->now = 0;
}

enum hp_err hp_shown_add(struct hp_shown *s, uint32_t item, uint32_t sample, uint64_t amount)
{
    HP_TRY(hp_grow(&s->items, &s->capacity, (size_t)item + 1, sizeof *s->items));
    s->n = item >= s->n ? (size_t)item + 1 : s->n;
    struct hp_shown_item *it = &s->items[item];
    if (it->sample != sample + 1 && it->sample)
        settle(it);
    it->sample = sample + 1;
    hp_add_up(&it->now, amount);
    return HP_OK;
}

bool hp_shown_get(const struct hp_shown *s, uint32_t item, struct hp_psamples *out)
{
    if (item >= s->n || !s->items[item].sample)
        return false;
    struct hp_shown_item it = s->items[item];
    settle(&it);
    out->samples = it.samples;
    out->sum = it.sum < INT64_MAX ? it.sum : INT64_MAX;
    out->squares = it.squares < INT64_MAX ? it.squares : INT64_MAX;
    return true;
}

/* --- Paths ------------------------------------------------------------------------------------ */

static enum hp_err index_of(struct hp_shown_paths *p, const struct hp_path *path, uint32_t *index)
{
    uint64_t hash = hp_path_hash(path);
    *index = hp_path_index_find(&p->index, p->all, path, hash);
    if (*index != HP_NO_ID)
        return HP_OK;
    *index = (uint32_t)p->n;
    HP_TRY(hp_grow(&p->all, &p->capacity, p->n + 1, sizeof *p->all));
    HP_TRY(hp_path_index_add(&p->index, p->all, *index, hash));
    p->all[p->n++] = (struct hp_path_count){.path = *path};
    return HP_OK;
}

static void take_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct hp_shown_paths *p = (struct hp_shown_paths *)sink;
    for (size_t i = 0; i < paths->n && p->err == HP_OK; i++) {
        uint32_t index;
        p->err = index_of(p, &paths->paths[i], &index);
        if (p->err == HP_OK)
            p->err = hp_shown_add(&p->shown, index, *p->sample, 1);
    }
}

void hp_shown_paths_init(struct hp_shown_paths *p, const uint32_t *sample)
{
    *p = (struct hp_shown_paths){.sink.paths = take_paths, .sample = sample};
}

void hp_shown_paths_fini(struct hp_shown_paths *p)
{
    hp_path_index_fini(&p->index);
    hp_shown_fini(&p->shown);
    free(p->all);
}

/* The rows are in the order in which paths are first found, thread by thread. */
enum hp_err hp_shown_paths_finish(struct hp_shown_paths *p, const struct hp_profiler *profiler,
                                  uint32_t first, struct hp_profile *profile)
{
    HP_TRY(p->err);
    uint8_t *done HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&done, p->n, 1));
    for (size_t t = 0; t < hp_paths_threads(profiler); t++) {
        size_t n;
        const struct hp_path_count *paths =
            hp_complete_paths(hp_paths_thread(profiler, t).complete, &n);
        for (size_t i = 0; i < n; i++) {
            struct hp_psamples row = {0}, *out;
            uint32_t index;
            HP_TRY(index_of(p, &paths[i].path, &index));
            if (done[index])
                continue;
            done[index] = 1;
            row.item = first++;
            if (!hp_shown_get(&p->shown, index, &row))
                continue;
            HP_TRY(hp_profile_add_path_samples(profile, &out));
            *out = row;
        }
    }
    return HP_OK;
}
