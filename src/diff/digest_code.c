// SPDX-License-Identifier: MIT
/*
 * The digest of a profile: lines, loops and paths.
 */
#include "diff/digest.h"

#include "base/grow.h"
#include "report/items.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Lines ------------------------------------------------------------------------------------ */

static int compare_lines(const void *a, const void *b)
{
    const struct hp_dline *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    int order = x->file == y->file ? 0 : strcmp(x->file, y->file);
    if (!order)
        order = x->inlined == y->inlined ? 0 : strcmp(x->inlined, y->inlined);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static enum hp_err add_line(struct hp_digest *d, const struct hp_dline *line)
{
    HP_TRY(hp_grow(&d->lines, &d->lines_capacity, d->n_lines + 1, sizeof *d->lines));
    d->lines[d->n_lines++] = *line;
    return HP_OK;
}

/* Equal ones become one. */
static void join_lines(struct hp_digest *d)
{
    size_t kept = 0;
    if (d->n_lines)
        qsort(d->lines, d->n_lines, sizeof *d->lines, compare_lines);
    for (size_t i = 0; i < d->n_lines; i++) {
        struct hp_dline *last = kept ? &d->lines[kept - 1] : NULL;
        if (last && compare_lines(last, &d->lines[i]) == 0)
            last->instructions = hp_saturating_add(last->instructions, d->lines[i].instructions);
        else
            d->lines[kept++] = d->lines[i];
    }
    d->n_lines = kept;
}

/* A range of a block as a line of a function; function HP_PROFILE_NONE: it is in none. */
static struct hp_dline line_of(const struct hp_profile *p, const uint32_t *groups,
                               const struct hp_pline *range)
{
    uint32_t function = p->blocks[range->block].function;
    bool known = *hp_text(range->file) && range->line;
    return (struct hp_dline){
        .function = function == HP_PROFILE_NONE ? function : groups[function],
        .file = known ? range->file : "",
        .inlined = known ? hp_text(range->inlined) : "",
        .line = known ? range->line : 0,
    };
}

static enum hp_err read_lines(struct hp_digest *d, const struct hp_profile *p,
                              const uint32_t *groups, const uint64_t *counts, uint64_t *missing)
{
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct hp_pline *range = &p->lines[i];
        struct hp_dline line = line_of(p, groups, range);
        if (line.function == HP_PROFILE_NONE || line.line == 0 || counts[range->block] == 0)
            continue;
        line.instructions = hp_saturating_mul(counts[range->block], range->insns);
        uint64_t *left = &missing[line.function];
        if (line.instructions > *left) /* a profile that does not fit together */
            line.instructions = *left;
        *left -= line.instructions;
        HP_TRY(add_line(d, &line));
    }
    return HP_OK;
}

enum hp_err hp_digest_lines(struct hp_digest *d, const struct hp_profile *p, const uint32_t *groups)
{
    uint64_t *counts = calloc(p->n_blocks + 1, sizeof *counts);
    uint64_t *missing = calloc(d->n_functions + 1, sizeof *missing);
    enum hp_err err = counts && missing ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; err == HP_OK && i < p->n_block_counts; i++) {
        uint64_t *count = &counts[p->block_counts[i].item];
        *count = hp_saturating_add(*count, p->block_counts[i].count);
    }
    for (size_t i = 0; err == HP_OK && i < d->n_functions; i++)
        missing[i] = d->functions[i].self;
    if (err == HP_OK)
        err = read_lines(d, p, groups, counts, missing);
    /* A line 0 also where nothing is missing: paths may go through it. */
    for (uint32_t i = 0; err == HP_OK && i < d->n_functions; i++)
        err =
            add_line(d, &(struct hp_dline){
                            .function = i, .file = "", .inlined = "", .instructions = missing[i]});
    free(counts);
    free(missing);
    HP_TRY(err);
    join_lines(d);
    for (uint32_t i = (uint32_t)d->n_lines; i > 0; i--) {
        struct hp_dfunction *f = &d->functions[d->lines[i - 1].function];
        f->lines = i - 1;
        f->n_lines++;
    }
    return HP_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */

struct sibling {
    uint32_t loop, function, parent, line;
    struct hp_place header;
};

static int compare_siblings(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    int order = hp_place_compare(x->header, y->header);
    return order ? order : (x->loop > y->loop) - (x->loop < y->loop);
}

static enum hp_err number_loops(struct hp_digest *d, const struct hp_profile *p)
{
    struct sibling *siblings = calloc(d->n_loops + 1, sizeof *siblings);
    if (!siblings)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < d->n_loops; i++)
        siblings[i] = (struct sibling){i, d->loops[i].function, d->loops[i].parent,
                                       d->loops[i].line, p->loops[i].header};
    qsort(siblings, d->n_loops, sizeof *siblings, compare_siblings);
    uint32_t position = 0;
    for (size_t i = 0; i < d->n_loops; i++) {
        bool same = i > 0 && siblings[i - 1].function == siblings[i].function &&
                    siblings[i - 1].parent == siblings[i].parent;
        position = same ? position + 1 : 0;
        d->loops[siblings[i].loop].position = position;
    }
    free(siblings);
    return HP_OK;
}

enum hp_err hp_digest_loops(struct hp_digest *d, const struct hp_profile *p, const uint32_t *groups)
{
    d->loops = calloc(p->n_loops + 1, sizeof *d->loops);
    if (!d->loops)
        return hp_fail_nomem();
    d->n_loops = p->n_loops;
    for (size_t i = 0; i < p->n_loops; i++) {
        const struct hp_ploop *loop = &p->loops[i];
        d->loops[i] = (struct hp_dloop){
            .function = loop->function == HP_PROFILE_NONE ? loop->function : groups[loop->function],
            .parent = loop->parent,
            .file = hp_text(loop->file),
            .line = loop->first_line,
            .last = loop->last_line,
        };
    }
    for (size_t i = 0; i < p->n_loop_counts; i++) {
        const struct hp_ploop_count *count = &p->loop_counts[i];
        struct hp_dloop *loop = &d->loops[count->item];
        loop->executions = hp_saturating_add(loop->executions, count->executions);
        loop->iterations = hp_saturating_add(loop->iterations, count->iterations);
        loop->self = hp_saturating_add(loop->self, count->self);
    }
    return number_loops(d, p);
}

/* --- Paths ------------------------------------------------------------------------------------ */

struct weight {
    uint32_t path;
    uint64_t count, instructions;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    if (x->instructions != y->instructions)
        return x->instructions > y->instructions ? -1 : 1;
    return (x->path > y->path) - (x->path < y->path);
}

/* The line of the end of each block: where it is left. HP_PROFILE_NONE: the block is in no
 * function. */
static enum hp_err line_blocks(const struct hp_digest *d, const struct hp_profile *p,
                               const uint32_t *groups, uint32_t **lines)
{
    uint32_t *to = *lines = malloc((p->n_blocks + 1) * sizeof *to);
    if (!to)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_blocks; i++) {
        uint32_t function = p->blocks[i].function;
        uint32_t group = function == HP_PROFILE_NONE ? function : groups[function];
        /* Line 0 is the first of its function. */
        to[i] = group == HP_PROFILE_NONE ? group : d->functions[group].lines;
    }
    for (size_t i = 0; i < p->n_lines;
         i++) { /* in order of blocks and their ranges: the last stays */
        struct hp_dline line = line_of(p, groups, &p->lines[i]);
        const struct hp_dline *found =
            d->n_lines ? bsearch(&line, d->lines, d->n_lines, sizeof *d->lines, compare_lines)
                       : NULL;
        if (found && line.line)
            to[p->lines[i].block] = (uint32_t)(found - d->lines);
    }
    return HP_OK;
}

/* The lines of a path, behind those that are there; false: it leaves the functions that are known.
 */
static enum hp_err add_steps(struct hp_digest *d, const struct hp_profile *p, const uint32_t *lines,
                             uint32_t path, bool *known)
{
    size_t n, first = d->n_steps;
    const struct hp_pstep *steps =
        hp_items_of(p->path_steps, p->n_path_steps, sizeof *p->path_steps, path, &n);
    *known = steps != NULL;
    HP_TRY(hp_grow(&d->steps, &d->steps_capacity, d->n_steps + n + 1, sizeof *d->steps));
    for (size_t i = 0; steps && i < n; i++) {
        uint32_t line = lines[steps[i].block];
        *known = *known && line != HP_PROFILE_NONE;
        if (d->n_steps == first || d->steps[d->n_steps - 1] != line)
            d->steps[d->n_steps++] = line;
    }
    if (!*known)
        d->n_steps = first;
    return HP_OK;
}

static int compare_paths(const void *a, const void *b, void *context)
{
    const struct hp_digest *d = context;
    const struct hp_dpath *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    for (uint32_t i = 0; !order && i < x->n_steps && i < y->n_steps; i++) {
        uint32_t s = d->steps[x->steps + i], t = d->steps[y->steps + i];
        order = (s > t) - (s < t);
    }
    return order ? order : (x->n_steps > y->n_steps) - (x->n_steps < y->n_steps);
}

static enum hp_err add_paths(struct hp_digest *d, const struct hp_profile *p,
                             const struct weight *weights, const uint32_t *lines)
{
    size_t n = p->n_paths < HP_DIGEST_PATHS ? p->n_paths : HP_DIGEST_PATHS, kept = 0;
    for (size_t i = 0; i < n && weights[i].instructions; i++) {
        bool known;
        size_t first = d->n_steps;
        HP_TRY(add_steps(d, p, lines, weights[i].path, &known));
        HP_TRY(hp_grow(&d->paths, &d->paths_capacity, d->n_paths + 1, sizeof *d->paths));
        if (known)
            d->paths[d->n_paths++] = (struct hp_dpath){
                .kind = hp_text(p->paths[weights[i].path].kind),
                .steps = (uint32_t)first,
                .n_steps = (uint32_t)(d->n_steps - first),
                .count = weights[i].count,
                .instructions = weights[i].instructions,
            };
    }
    if (d->n_paths)
        qsort_r(d->paths, d->n_paths, sizeof *d->paths, compare_paths, d);
    for (size_t i = 0; i < d->n_paths; i++) {
        struct hp_dpath *last = kept ? &d->paths[kept - 1] : NULL;
        if (last && compare_paths(last, &d->paths[i], d) == 0) {
            last->count = hp_saturating_add(last->count, d->paths[i].count);
            last->instructions = hp_saturating_add(last->instructions, d->paths[i].instructions);
        } else {
            d->paths[kept++] = d->paths[i];
        }
    }
    d->n_paths = kept;
    return HP_OK;
}

enum hp_err hp_digest_paths(struct hp_digest *d, const struct hp_profile *p, const uint32_t *groups)
{
    uint32_t *lines = NULL;
    struct weight *weights = calloc(p->n_paths + 1, sizeof *weights);
    enum hp_err err = weights ? HP_OK : hp_fail_nomem();
    for (uint32_t i = 0; err == HP_OK && i < p->n_paths; i++)
        weights[i].path = i;
    for (size_t i = 0; err == HP_OK && i < p->n_path_counts; i++) {
        const struct hp_ppath_count *count = &p->path_counts[i];
        struct weight *weight = &weights[count->item];
        weight->count = hp_saturating_add(weight->count, count->count);
        weight->instructions = hp_saturating_add(weight->instructions, count->insns);
    }
    if (err == HP_OK && p->n_paths) {
        qsort(weights, p->n_paths, sizeof *weights, compare_weights);
        err = line_blocks(d, p, groups, &lines);
        if (err == HP_OK)
            err = add_paths(d, p, weights, lines);
    }
    free(weights);
    free(lines);
    return err;
}
