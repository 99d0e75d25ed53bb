// SPDX-License-Identifier: MIT
#include "import/stretches.h"

#include "base/base.h"

void hp_import_walk_fini(struct hp_import_walk *walk)
{
    free(walk->blocks);
    free(walk->taken);
}

/* --- Ends ------------------------------------------------------------------------------------- */

/* Which block ends with a branch: of several that do, any. */
static enum hp_err list_ends(struct hp_import_stacks *s)
{
    for (size_t i = 0; i < s->n_runs; i++) {
        const struct hp_import_run *run = &s->runs[i];
        if (!run->n)
            continue;
        uint32_t last = s->blocks[run->first + run->n - 1];
        const struct hp_block *b = hp_code_block(s->code, last);
        HP_TRY(hp_map64_put(&s->end_of, hp_stacks_end_key(b->module, b->last), last));
    }
    return HP_OK;
}

/* A block that ends with the branch at a spot; HP_NO_ID: none is known. */
static enum hp_err find_end(struct hp_import_stacks *s, uint32_t spot, uint32_t *block)
{
    const struct hp_import_spot at = s->spots[spot];
    struct hp_import_place place;
    *block = HP_NO_ID;
    enum hp_err err = hp_spaces_find(s->spaces, s->code, at.view, at.address, &place);
    if (err != HP_OK)
        return err == HP_ERR_NOTFOUND ? HP_OK : err;
    *block = hp_map64_get(&s->end_of, hp_stacks_end_key(place.module, at.address));
    if (*block == HP_MAP64_NONE) {
        HP_TRY(hp_stacks_block_at(s, spot, block));
        if (*block == HP_NO_ID)
            return HP_OK;
    }
    const struct hp_block *b = hp_code_block(s->code, *block);
    if (b->module != place.module || b->last != at.address)
        *block = HP_NO_ID;
    return HP_OK;
}

enum hp_err hp_stretches_settle(struct hp_import_stacks *s)
{
    uint32_t block;
    HP_TRY(list_ends(s));
    for (size_t i = 0; i < s->n_ends; i++) {
        struct hp_import_hop *first = &s->hops[s->ends[i].first];
        HP_TRY(hp_stacks_block_at(s, s->hops[s->ends[i].last].to, &block));
        if (first->from != HP_NO_ID)
            HP_TRY(find_end(s, first->from, &first->end));
    }
    return HP_OK;
}

uint32_t hp_stretches_same_end(const struct hp_import_stacks *s, uint32_t block)
{
    const struct hp_block *b = hp_code_block(s->code, block), *same;
    uint32_t end = hp_map64_get(&s->end_of, hp_stacks_end_key(b->module, b->last));
    if (end == HP_MAP64_NONE)
        return block;
    same = hp_code_block(s->code, end);
    return same->module == b->module && same->last == b->last ? end : block;
}

/* --- Walks ------------------------------------------------------------------------------------ */

static enum hp_err put_block(struct hp_import_walk *walk, size_t *n, uint32_t block, bool taken)
{
    HP_TRY(hp_grow(&walk->blocks, &walk->cap_blocks, *n + 1, sizeof *walk->blocks));
    HP_TRY(hp_grow(&walk->taken, &walk->cap_taken, *n + 1, sizeof *walk->taken));
    walk->blocks[*n] = block;
    walk->taken[(*n)++] = taken;
    return HP_OK;
}

enum hp_err hp_stretches_walk(const struct hp_import_stacks *s,
                              const struct hp_import_stretch *stretch, struct hp_import_walk *walk)
{
    const struct hp_import_hop *hop = &s->hops[stretch->hops[0] & HP_HOP_ID];
    size_t n = 0;
    if (hop->end != HP_NO_ID)
        HP_TRY(put_block(walk, &n, hop->end, true));
    for (size_t i = 1; i < stretch->n; i++) {
        hop = &s->hops[stretch->hops[i]];
        const struct hp_import_run *run = &s->runs[hop->run];
        for (uint32_t k = 0; k < run->n; k++)
            HP_TRY(put_block(walk, &n, s->blocks[run->first + k], k + 1 == run->n));
    }
    uint32_t end = s->spots[hop->to].block;
    if (end != HP_NO_ID)
        HP_TRY(put_block(walk, &n, end, false));
    walk->n = n ? n - 1 : 0;
    return HP_OK;
}

static void show(struct hp_profiler *profiler, void *state, const struct hp_code *code,
                 const struct hp_import_walk *walk)
{
    const struct hp_event cut = {.kind = HP_EVENT_DISCONTINUITY};
    for (size_t i = 0; i < walk->n; i += HP_BATCH_MAX) {
        size_t rest = walk->n - i;
        const struct hp_batch batch = {.code = code,
                                       .table = hp_code_blocks(code),
                                       .blocks = walk->blocks + i,
                                       .taken = walk->taken + i,
                                       .n = rest < HP_BATCH_MAX ? rest : HP_BATCH_MAX};
        profiler->ops->batch(state, &batch);
    }
    profiler->ops->event(state, &cut);
}

enum hp_err hp_stretches_show(struct hp_import_stacks *s, const struct hp_import_thread *threads,
                              size_t n, struct hp_profiler *profiler)
{
    const struct hp_event end = {.kind = HP_EVENT_END, .exact = true};
    struct hp_import_walk walk HP_CLEANUP(hp_import_walk_fini) = {0};
    struct hp_import_stretch stretch = {0};
    void **states HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new((void *)&states, n, sizeof *states));
    for (size_t i = 0; i < n; i++)
        HP_TRY(profiler->ops->start_thread(profiler, &threads[i].info, &states[i]));
    while (hp_steps_next(&s->steps, &stretch)) {
        HP_TRY(hp_stretches_walk(s, &stretch, &walk));
        s->shown = stretch.sample;
        show(profiler, states[s->hops[stretch.hops[0] & HP_HOP_ID].thread], s->code, &walk);
    }
    for (size_t i = 0; i < n; i++)
        profiler->ops->event(states[i], &end);
    return HP_OK;
}
