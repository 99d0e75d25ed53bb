// SPDX-License-Identifier: MIT
/*
 * Exact loops into the profile.
 */
#include "profiler/exact/loops.h"
#include "profiler/result.h"

#include <stdlib.h>
#include <string.h>

/* --- Source lines ----------------------------------------------------------------------------- */

/* The lines of the profile by block: `first[block]` up to `first[block + 1]`. */
static enum hp_err index_lines(const struct hp_profile *profile, size_t **first)
{
    *first = calloc(profile->n_blocks + 2, sizeof **first);
    if (!*first)
        return hp_fail_nomem();
    for (size_t i = 0; i < profile->n_lines; i++)
        (*first)[profile->lines[i].block + 1]++;
    for (size_t i = 0; i < profile->n_blocks; i++)
        (*first)[i + 1] += (*first)[i];
    return HP_OK;
}

struct lines {
    const struct hp_profile *profile;
    const size_t *first;
};

/* The line of a block's instruction at `offset`; NULL: unknown. */
static const struct hp_pline *line_at(const struct lines *l, uint32_t block, uint64_t offset)
{
    for (size_t k = l->first[block]; k < l->first[block + 1]; k++)
        if (l->profile->lines[k].from <= offset && offset < l->profile->lines[k].to)
            return &l->profile->lines[k];
    return NULL;
}

/* The line of the most taken back edge, if it has one. It belongs to the function with the loop in
 * its source, not to one inlined into the loop's body. */
static const struct hp_pline *line_of_branch(const struct lines *l, const struct hp_code *code,
                                             const struct hp_exact_loop *loop)
{
    const struct hp_pline *found = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < loop->n_back_edges; i++) {
        const struct hp_exact_back_edge *edge = &loop->back_edges[i];
        for (size_t k = 0; k < loop->n_nodes && edge->count > most; k++) {
            const struct hp_block *block = hp_code_block(code, loop->nodes[k]);
            if (block->last != edge->branch)
                continue;
            const struct hp_pline *line = line_at(l, loop->nodes[k], block->last - block->start);
            found = line && line->line ? line : found;
            most = line && line->line ? edge->count : most;
        }
    }
    return found ? found : line_at(l, loop->header, 0);
}

/* The lines of those of the loop's instructions that belong to the same function as that branch,
 * inlined or not. */
static void find_lines(const struct lines *l, const struct hp_loop_graph *g,
                       const struct hp_exact_loop *loop, struct hp_ploop *out)
{
    const struct hp_pline *scope = line_of_branch(l, g->code, loop);
    if (!scope || !scope->line)
        return;
    out->file = scope->file;
    out->first_line = out->last_line = scope->line;
    for (size_t i = 0; i < loop->n_nodes; i++) {
        uint32_t block = loop->nodes[i], next = g->nodes[block].next;
        uint64_t end = next == HP_NO_ID ? hp_code_block(g->code, block)->end
                                        : hp_code_block(g->code, next)->start;
        uint64_t size = end - hp_code_block(g->code, block)->start;
        for (size_t k = l->first[block]; k < l->first[block + 1]; k++) {
            const struct hp_pline *line = &l->profile->lines[k];
            if (line->from >= size || !line->line || strcmp(line->file, scope->file) != 0 ||
                strcmp(line->inlined, scope->inlined) != 0)
                continue;
            out->first_line = line->line < out->first_line ? line->line : out->first_line;
            out->last_line = line->line > out->last_line ? line->line : out->last_line;
        }
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum hp_err add_loop(struct hp_result *to, const struct lines *lines,
                            const struct hp_exact *exact, const struct hp_exact_loop *loop,
                            uint32_t base)
{
    const struct hp_block *header = hp_code_block(exact->code, loop->header);
    struct hp_ploop row = {.header = hp_result_place(to, header->module, header->start),
                           .parent =
                               loop->parent == HP_NO_ID ? HP_PROFILE_NONE : base + loop->parent,
                           .version = to->profile->blocks[loop->header].version,
                           .insns = loop->insns,
                           .flags = loop->flags,
                           .file = ""};
    HP_TRY(hp_result_function(to, loop->function, &row.function));
    if (lines->first)
        find_lines(lines, &exact->loops->graph, loop, &row);
    struct hp_ploop *out;
    HP_TRY(hp_profile_add_loop(to->profile, &out));
    *out = row;
    return HP_OK;
}

static enum hp_err add_trips(struct hp_profile *profile, uint32_t loop, bool bucket, uint64_t value,
                             uint64_t count)
{
    struct hp_ploop_trips *out;
    if (count == 0)
        return HP_OK;
    HP_TRY(hp_profile_add_loop_trips(profile, &out));
    *out = (struct hp_ploop_trips){.loop = loop, .bucket = bucket, .value = value, .count = count};
    return HP_OK;
}

static enum hp_err add_distribution(struct hp_profile *profile, uint32_t loop,
                                    const struct hp_trips *trips)
{
    struct hp_trips_value values[HP_LOOP_VALUES];
    size_t n = hp_trips_values(trips, values, HP_LOOP_VALUES);
    for (unsigned k = 0; k < HP_TRIPS_BUCKETS; k++)
        HP_TRY(add_trips(profile, loop, true, k, hp_trips_bucket(trips, k)));
    for (size_t i = 0; i < n; i++)
        HP_TRY(add_trips(profile, loop, false, values[i].value, values[i].count));
    return HP_OK;
}

static enum hp_err add_blocks(struct hp_profile *profile, const struct hp_exact *exact,
                              const struct hp_exact_loop *loop, uint32_t index)
{
    const struct hp_loop_graph *g = &exact->loops->graph;
    uint32_t id = g->arrivals[loop->header].loop - 1;
    for (size_t i = 0; i < loop->n_nodes; i++) {
        struct hp_ploop_block *out;
        if (g->nodes[loop->nodes[i]].inner != id)
            continue;
        HP_TRY(hp_profile_add_loop_block(profile, &out));
        *out = (struct hp_ploop_block){.loop = index, .block = loop->nodes[i]};
    }
    return HP_OK;
}

static enum hp_err add_counts(struct hp_exact *exact, struct hp_result *to, uint32_t base)
{
    const struct hp_exact_loop_result *r = exact->loops->result;
    for (size_t i = 0; i < r->n_counts; i++) {
        struct hp_ploop_count *out;
        uint32_t thread;
        HP_TRY(hp_result_thread(to, &exact->threads[r->counts[i].thread]->info, &thread));
        HP_TRY(hp_profile_add_loop_count(to->profile, &out));
        *out = r->counts[i];
        out->item += base;
        out->thread = thread;
    }
    return HP_OK;
}

static enum hp_err add_all(struct hp_exact *exact, struct hp_result *to, const struct lines *lines)
{
    const struct hp_exact_loop_result *r = exact->loops->result;
    uint32_t base = (uint32_t)to->profile->n_loops;
    for (uint32_t i = 0; i < r->n; i++) {
        HP_TRY(add_loop(to, lines, exact, &r->loops[i], base));
        HP_TRY(add_distribution(to->profile, base + i, &r->trips[i]));
        HP_TRY(add_blocks(to->profile, exact, &r->loops[i], base + i));
    }
    return add_counts(exact, to, base);
}

enum hp_err hp_exact_loops_finish(struct hp_exact *exact, struct hp_result *result)
{
    size_t *first = NULL;
    HP_TRY(hp_exact_loops_count(exact));
    if (result->profile->n_lines)
        HP_TRY(index_lines(result->profile, &first));
    struct lines lines = {.profile = result->profile, .first = first};
    enum hp_err err = add_all(exact, result, &lines);
    free(first);
    return err;
}

enum hp_err hp_exact_loops(struct hp_profiler *profiler, const struct hp_exact_loop **loops,
                           size_t *n)
{
    struct hp_exact *exact = (struct hp_exact *)profiler;
    if (!exact->loops)
        return hp_fail(HP_ERR_INVALID, "the exact profiler was made without loops");
    HP_TRY(hp_exact_settle(exact));
    HP_TRY(hp_exact_loops_count(exact));
    struct hp_exact_loop_result *r = exact->loops->result;
    for (uint32_t i = 0; i < r->n; i++)
        r->loops[i].once = hp_trips_bucket(&r->trips[i], 0);
    *loops = r->loops;
    *n = r->n;
    return HP_OK;
}

uint32_t hp_exact_loops_next(const struct hp_profiler *profiler, uint32_t block)
{
    const struct hp_loop_graph *g = &((const struct hp_exact *)profiler)->loops->graph;
    return block < g->n_nodes ? g->nodes[block].next : HP_NO_ID;
}
