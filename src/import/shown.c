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

/* --- Code ------------------------------------------------------------------------------------- */

struct of_code {
    struct hp_import_stacks *stacks;
    struct hp_result *result;
    struct hp_profile *profile;
    struct hp_shown blocks, functions, edges;
    struct hp_map64 edge_of; /* from << 32 | to -> index into `edges` */
    uint64_t *keys;          /* of these */
    size_t n_edges, cap_keys;
};

static void fini_code(struct of_code *c)
{
    hp_shown_fini(&c->blocks);
    hp_shown_fini(&c->functions);
    hp_shown_fini(&c->edges);
    hp_map64_fini(&c->edge_of);
    free(c->keys);
}

/* An edge is a branch and its target: of blocks that end with the same branch, one stands for all.
 */
static enum hp_err edge_of(struct of_code *c, uint32_t from, uint32_t to, uint32_t *edge)
{
    uint64_t key = (uint64_t)hp_stretches_same_end(c->stacks, from) << 32 | to;
    *edge = hp_map64_get(&c->edge_of, key);
    if (*edge != HP_MAP64_NONE)
        return HP_OK;
    *edge = (uint32_t)c->n_edges;
    HP_TRY(hp_grow(&c->keys, &c->cap_keys, c->n_edges + 1, sizeof *c->keys));
    HP_TRY(hp_map64_put(&c->edge_of, key, *edge));
    c->keys[c->n_edges++] = key;
    return HP_OK;
}

static enum hp_err show_walk(struct of_code *c, const struct hp_import_walk *walk, uint32_t sample)
{
    for (size_t i = 0; i < walk->n; i++) {
        const struct hp_pblock *block = &c->profile->blocks[walk->blocks[i]];
        uint32_t edge;
        HP_TRY(edge_of(c, walk->blocks[i], walk->blocks[i + 1], &edge));
        HP_TRY(hp_shown_add(&c->edges, edge, sample, 1));
        HP_TRY(hp_shown_add(&c->blocks, walk->blocks[i], sample, 1));
        if (block->function != HP_PROFILE_NONE)
            HP_TRY(hp_shown_add(&c->functions, block->function, sample, block->insns));
    }
    return HP_OK;
}

static enum hp_err add_functions(struct of_code *c)
{
    struct hp_psamples row = {0}, *out;
    for (row.item = 0; row.item < c->functions.n; row.item++) {
        if (!hp_shown_get(&c->functions, row.item, &row))
            continue;
        HP_TRY(hp_profile_add_function_samples(c->profile, &out));
        *out = row;
    }
    return HP_OK;
}

static enum hp_err add_blocks(struct of_code *c)
{
    struct hp_psamples row = {0}, *out;
    for (row.item = 0; row.item < c->blocks.n; row.item++) {
        if (!hp_shown_get(&c->blocks, row.item, &row))
            continue;
        HP_TRY(hp_profile_add_block_samples(c->profile, &out));
        *out = row;
    }
    return HP_OK;
}

/* The edge is there already: normalizing makes both one. */
static enum hp_err add_edge(struct of_code *c, uint64_t key, uint32_t *index)
{
    struct hp_pedge *edge;
    *index = (uint32_t)c->profile->n_edges;
    HP_TRY(hp_profile_add_edge(c->profile, &edge));
    *edge = hp_result_edge(c->result, (uint32_t)(key >> 32), (uint32_t)key);
    return HP_OK;
}

static enum hp_err add_edges(struct of_code *c)
{
    for (uint32_t i = 0; i < c->n_edges; i++) {
        struct hp_psamples row = {0}, *out;
        if (!hp_shown_get(&c->edges, i, &row))
            continue;
        HP_TRY(add_edge(c, c->keys[i], &row.item));
        HP_TRY(hp_profile_add_edge_samples(c->profile, &out));
        *out = row;
    }
    return HP_OK;
}

enum hp_err hp_shown_code(struct hp_import_stacks *stacks, struct hp_result *result)
{
    struct of_code c HP_CLEANUP(fini_code) = {
        .stacks = stacks, .result = result, .profile = hp_result_profile(result)};
    struct hp_import_walk walk HP_CLEANUP(hp_import_walk_fini) = {0};
    struct hp_import_stretch stretch = {0};
    while (hp_steps_next(&stacks->steps, &stretch)) {
        HP_TRY(hp_stretches_walk(stacks, &stretch, &walk));
        HP_TRY(show_walk(&c, &walk, stretch.sample));
    }
    HP_TRY(add_functions(&c));
    HP_TRY(add_blocks(&c));
    return add_edges(&c);
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
