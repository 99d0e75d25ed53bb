// SPDX-License-Identifier: MIT
/*
 * Exact loops into the profile.
 */
#include "profiler/exact/loops.h"
#include "profiler/result.h"

#include <stdlib.h>
#include <string.h>

/* --- Source lines ------------------------------------------------------------------------------- */

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

/* Where an instruction range is from: its own line, or where it was inlined. */
struct origin {
    const char *file;
    size_t length; /* of the name: it may go on behind it */
    uint32_t line;
    bool inlined;
};

static struct origin origin_of(const struct hp_pline *line)
{
    const char *colon = strrchr(line->inlined_at, ':');
    if (line->inlined[0] == '\0' || !colon)
        return (struct origin){line->file, strlen(line->file), line->line, line->inlined[0] != 0};
    return (struct origin){line->inlined_at, (size_t)(colon - line->inlined_at),
                           (uint32_t)strtoul(colon + 1, NULL, 10), true};
}

static bool same_file(const struct origin *a, const struct origin *b)
{
    return a->length == b->length && memcmp(a->file, b->file, a->length) == 0;
}

/* A file's part in a loop. */
struct part {
    struct origin origin;
    uint64_t insns;
    uint32_t first, last;
};
#define PARTS 16 /* files looked at in a loop */

struct lines {
    const struct hp_profile *profile;
    const size_t *first;
    struct part parts[PARTS];
    size_t n_parts;
};

static void add_origin(struct lines *l, const struct origin *origin, uint32_t insns)
{
    size_t i = 0;
    while (i < l->n_parts && !same_file(&l->parts[i].origin, origin))
        i++;
    if (i == PARTS)
        return;
    struct part *part = &l->parts[i];
    if (i == l->n_parts) {
        *part = (struct part){.origin = *origin, .first = origin->line, .last = origin->line};
        l->n_parts++;
    }
    part->insns += insns;
    part->first = origin->line < part->first ? origin->line : part->first;
    part->last = origin->line > part->last ? origin->line : part->last;
}

/* The lines of the nodes' own instructions, inlined ones or the others. */
static void add_parts(struct lines *l, const struct hp_loop_graph *g,
                      const struct hp_exact_loop *loop, bool inlined)
{
    for (size_t i = 0; i < loop->n_nodes; i++) {
        uint32_t block = loop->nodes[i], next = g->nodes[block].next;
        uint64_t start = hp_code_block(g->code, block)->start;
        uint64_t size = (next == HP_NO_ID ? hp_code_block(g->code, block)->end
                                          : hp_code_block(g->code, next)->start) -
                        start;
        for (size_t k = l->first[block]; k < l->first[block + 1]; k++) {
            const struct hp_pline *line = &l->profile->lines[k];
            struct origin origin = origin_of(line);
            if (line->from < size && origin.inlined == inlined && origin.line)
                add_origin(l, &origin, line->insns);
        }
    }
}

/* The function's own lines say more about where a loop is than those of what was inlined into it. */
static enum hp_err find_lines(struct lines *l, struct hp_profile *profile,
                              const struct hp_loop_graph *g, const struct hp_exact_loop *loop,
                              struct hp_ploop *out)
{
    l->n_parts = 0;
    add_parts(l, g, loop, false);
    if (l->n_parts == 0)
        add_parts(l, g, loop, true);
    const struct part *most = NULL;
    for (size_t i = 0; i < l->n_parts; i++)
        if (!most || l->parts[i].insns > most->insns)
            most = &l->parts[i];
    if (!most)
        return HP_OK;
    char *name = strndup(most->origin.file, most->origin.length);
    out->file = name ? hp_profile_string(profile, name) : NULL;
    free(name);
    out->first_line = most->first;
    out->last_line = most->last;
    return out->file ? HP_OK : hp_fail_nomem();
}

/* --- Rows --------------------------------------------------------------------------------------- */

static enum hp_err add_loop(struct hp_result *to, struct lines *lines, const struct hp_exact *exact,
                            const struct hp_exact_loop *loop, uint32_t base)
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
        HP_TRY(find_lines(lines, to->profile, &exact->loops->graph, loop, &row));
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

static enum hp_err add_all(struct hp_exact *exact, struct hp_result *to, struct lines *lines)
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
    struct lines *lines = calloc(1, sizeof *lines);
    enum hp_err err = HP_ERR_NOMEM;
    if (lines) {
        lines->profile = result->profile;
        lines->first = first;
        err = add_all(exact, result, lines);
    }
    free(lines);
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
