// SPDX-License-Identifier: MIT
/* The digest of a profile: lines, loops and paths. */
#include "diff/digest.h"

#include "base/base.h"
#include "profile/unfold.h"
#include "report/tables.h"
#include "text/number.h"

#define MOST_PATHS 10000 /* the heaviest; no more are looked at */

/* --- Lines ------------------------------------------------------------------------------------ */

static int compare_texts(const char *a, const char *b)
{
    return a == b ? 0 : strcmp(a, b);
}

static int compare_lines(const void *a, const void *b)
{
    const struct hp_dline *x = a, *y = b;
    int order = HP_COMPARE(x->function, y->function) ?: compare_texts(x->file, y->file);
    return order ?: compare_texts(x->inlined, y->inlined) ?: HP_COMPARE(x->line, y->line);
}

/* Sorts the lines and makes equal ones one. There are some where there are functions. */
static void join_lines(struct hp_digest *d)
{
    size_t kept = 0;
    hp_sort(d->lines, d->n_lines, sizeof *d->lines, compare_lines);
    for (size_t i = 0; i < d->n_lines; i++)
        if (kept && compare_lines(&d->lines[kept - 1], &d->lines[i]) == 0)
            hp_add_up(&d->lines[kept - 1].instructions, d->lines[i].instructions);
        else
            d->lines[kept++] = d->lines[i];
    d->n_lines = kept;
}

/* By line of the profile: the function inlined there, in a profile that was unfolded; else, and
 * where there is none, HP_PROFILE_NONE. Both are by block and place, and deeper ones come last. */
static enum hp_err find_inlined(const struct hp_profile *p, bool unfolded, uint32_t **inlined)
{
    uint32_t *functions HP_CLEANUP(hp_free) = NULL;
    size_t at = 0;
    HP_TRY(hp_new(inlined, p->n_lines + 1, sizeof **inlined));
    memset(*inlined, 0xff, p->n_lines * sizeof **inlined);
    if (!unfolded)
        return HP_OK;
    HP_TRY(hp_profile_inlined_functions(p, &functions));
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct hp_pline *line = &p->lines[i];
        const struct hp_pinlined_range *range = p->inlined_ranges;
        while (at < p->n_inlined_ranges && range[at].block < line->block)
            at++;
        for (size_t k = at; k < p->n_inlined_ranges && range[k].block == line->block; k++)
            if (range[k].from <= line->from && line->from < range[k].to)
                (*inlined)[i] = functions[k];
    }
    return HP_OK;
}

/* A range of a block as a line of a function; function HP_PROFILE_NONE: it is in none. */
static struct hp_dline line_of(const struct hp_profile *p, const uint32_t *groups,
                               const struct hp_pline *range, uint32_t inlined)
{
    bool known = *hp_text(range->file) && range->line;
    bool own = inlined != HP_PROFILE_NONE;
    uint32_t function = own ? inlined : p->blocks[range->block].function;
    return (struct hp_dline){
        .function = hp_digest_group(groups, function),
        .file = known ? range->file : "",
        .inlined = known && !own ? hp_text(range->inlined) : "",
        .line = known ? range->line : 0,
    };
}

static enum hp_err make_lines(struct hp_digest *d, const struct hp_profile *p,
                              const uint32_t *groups, const uint32_t *inlined)
{
    uint64_t *counts HP_CLEANUP(hp_free) = calloc(p->n_blocks + 1, sizeof *counts);
    uint64_t *missing HP_CLEANUP(hp_free) = calloc(d->n_functions + 1, sizeof *missing);
    if (!counts || !missing)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_block_counts; i++)
        hp_add_up(&counts[p->block_counts[i].item], p->block_counts[i].count);
    for (size_t i = 0; i < d->n_functions; i++)
        missing[i] = d->functions[i].self;
    for (size_t i = 0; i < p->n_lines; i++) {
        struct hp_dline line = line_of(p, groups, &p->lines[i], inlined[i]);
        uint64_t count = counts[p->lines[i].block];
        if (line.function == HP_PROFILE_NONE || line.line == 0 || count == 0)
            continue;
        uint64_t *left = &missing[line.function];
        line.instructions = hp_saturating_mul(count, p->lines[i].insns);
        if (line.instructions > *left) /* a profile that does not fit together */
            line.instructions = *left;
        *left -= line.instructions;
        HP_TRY(hp_digest_add_line(d, &line));
    }
    /* A line 0 also where nothing is missing: paths may go through it. */
    for (uint32_t i = 0; i < d->n_functions; i++)
        HP_TRY(hp_digest_add_line(d, &(struct hp_dline){i, "", "", 0, missing[i]}));
    join_lines(d);
    for (uint32_t i = (uint32_t)d->n_lines; i > 0; i--) {
        struct hp_dfunction *f = &d->functions[d->lines[i - 1].function];
        f->lines = i - 1;
        f->n_lines++;
    }
    return HP_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static int compare_loops(const void *a, const void *b, void *context)
{
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct hp_dloop *loops = context, *x = &loops[i], *y = &loops[j];
    int order = HP_COMPARE(x->function, y->function) ?: HP_COMPARE(x->parent, y->parent);
    order = order ?: HP_COMPARE(x->line, y->line) ?: hp_place_compare(x->header, y->header);
    return order ?: HP_COMPARE(i, j);
}

static enum hp_err make_loops(struct hp_digest *d, const struct hp_profile *p,
                              const uint32_t *groups)
{
    struct hp_loops info HP_CLEANUP(hp_loops_fini) = {0};
    HP_TRY(hp_loops_init(&info, p));
    HP_TRY(hp_new(&d->loops, p->n_loops, sizeof *d->loops));
    HP_TRY(hp_new(&d->loop_order, p->n_loops, sizeof *d->loop_order));
    for (d->n_loops = 0; d->n_loops < p->n_loops; d->n_loops++) {
        const struct hp_ploop *loop = &p->loops[d->n_loops];
        const struct hp_loop_info *written = &info.info[d->n_loops];
        bool known = *hp_text(written->file) != 0;
        d->loop_order[d->n_loops] = (uint32_t)d->n_loops;
        d->loops[d->n_loops] = (struct hp_dloop){
            .function = hp_digest_group(groups, loop->function),
            .parent = loop->parent,
            .file = known ? written->file : hp_text(loop->file),
            .line = known ? written->line : loop->first_line,
            .header = loop->header,
        };
    }
    for (size_t i = 0; i < p->n_loop_counts; i++) {
        const struct hp_ploop_count *count = &p->loop_counts[i];
        struct hp_dloop *loop = &d->loops[count->item];
        hp_add_up(&loop->executions, count->executions);
        hp_add_up(&loop->iterations, count->iterations);
        hp_add_up(&loop->self, count->self);
    }
    qsort_r(d->loop_order, d->n_loops, sizeof *d->loop_order, compare_loops, d->loops);
    return HP_OK;
}

/* --- Paths ------------------------------------------------------------------------------------ */

struct weight {
    uint32_t path;
    uint64_t count, instructions;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weight *x = a, *y = b;
    return HP_COMPARE(y->instructions, x->instructions) ?: HP_COMPARE(x->path, y->path);
}

/* The line at which each block is left. HP_PROFILE_NONE: the block is in no function. */
static void line_blocks(const struct hp_digest *d, const struct hp_profile *p,
                        const uint32_t *groups, const uint32_t *inlined, uint32_t *lines)
{
    for (size_t i = 0; i < p->n_blocks; i++) {
        uint32_t group = hp_digest_group(groups, p->blocks[i].function);
        /* Line 0 is the first of its function. */
        lines[i] = group == HP_PROFILE_NONE ? group : d->functions[group].lines;
    }
    /* In order of blocks and their ranges: the last stays. */
    for (size_t i = 0; d->n_lines && i < p->n_lines; i++) {
        struct hp_dline line = line_of(p, groups, &p->lines[i], inlined[i]);
        const struct hp_dline *found =
            bsearch(&line, d->lines, d->n_lines, sizeof *d->lines, compare_lines);
        if (found && line.line)
            lines[p->lines[i].block] = (uint32_t)(found - d->lines);
    }
}

/* Adds a path, unless it leaves the functions that are known. */
static enum hp_err add_path(struct hp_digest *d, const struct hp_profile *p, const uint32_t *lines,
                            const struct weight *weight)
{
    size_t n, first = d->n_steps;
    const struct hp_pstep *steps = hp_items(p, HP_ROW_PATH_STEP, weight->path, &n);
    bool known = steps != NULL;
    HP_TRY(hp_grow(&d->steps, &d->steps_capacity, d->n_steps + n + 1, sizeof *d->steps));
    HP_TRY(hp_grow(&d->paths, &d->paths_capacity, d->n_paths + 1, sizeof *d->paths));
    for (size_t i = 0; known && i < n; i++) {
        uint32_t line = lines[steps[i].block];
        known = line != HP_PROFILE_NONE;
        if (d->n_steps == first || d->steps[d->n_steps - 1] != line)
            d->steps[d->n_steps++] = line;
    }
    if (known)
        d->paths[d->n_paths++] = (struct hp_dpath){
            .kind = hp_text(p->paths[weight->path].kind),
            .steps = (uint32_t)first,
            .n_steps = (uint32_t)(d->n_steps - first),
            .count = weight->count,
            .instructions = weight->instructions,
        };
    else
        d->n_steps = first;
    return HP_OK;
}

int hp_digest_compare_paths(const struct hp_dpath *x, const uint32_t *steps_of_x,
                            const struct hp_dpath *y, const uint32_t *steps_of_y)
{
    int order = strcmp(x->kind, y->kind);
    for (uint32_t i = 0; !order && i < x->n_steps && i < y->n_steps; i++)
        order = HP_COMPARE(steps_of_x[x->steps + i], steps_of_y[y->steps + i]);
    return order ?: HP_COMPARE(x->n_steps, y->n_steps);
}

static int compare_paths(const void *a, const void *b, void *steps)
{
    return hp_digest_compare_paths(a, steps, b, steps);
}

/* Sorts the paths and makes equal ones one. */
static void join_paths(struct hp_digest *d)
{
    size_t kept = 0;
    if (d->n_paths)
        qsort_r(d->paths, d->n_paths, sizeof *d->paths, compare_paths, d->steps);
    for (size_t i = 0; i < d->n_paths; i++)
        if (kept && compare_paths(&d->paths[kept - 1], &d->paths[i], d->steps) == 0) {
            hp_add_up(&d->paths[kept - 1].count, d->paths[i].count);
            hp_add_up(&d->paths[kept - 1].instructions, d->paths[i].instructions);
        } else {
            d->paths[kept++] = d->paths[i];
        }
    d->n_paths = kept;
}

static enum hp_err make_paths(struct hp_digest *d, const struct hp_profile *p,
                              const uint32_t *groups, const uint32_t *inlined)
{
    uint32_t *lines HP_CLEANUP(hp_free) = malloc((p->n_blocks + 1) * sizeof *lines);
    struct weight *weights HP_CLEANUP(hp_free) = calloc(p->n_paths + 1, sizeof *weights);
    if (!weights || !lines)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_paths; i++)
        weights[i].path = i;
    for (size_t i = 0; i < p->n_path_counts; i++) {
        struct weight *weight = &weights[p->path_counts[i].item];
        hp_add_up(&weight->count, p->path_counts[i].count);
        hp_add_up(&weight->instructions, p->path_counts[i].insns);
    }
    qsort(weights, p->n_paths, sizeof *weights, compare_weights);
    if (p->n_paths)
        line_blocks(d, p, groups, inlined, lines);
    for (size_t i = 0; i < p->n_paths && i < MOST_PATHS && weights[i].instructions; i++)
        HP_TRY(add_path(d, p, lines, &weights[i]));
    join_paths(d);
    return HP_OK;
}

enum hp_err hp_digest_code(struct hp_digest *d, const struct hp_profile *p, const uint32_t *groups,
                           bool unfolded)
{
    uint32_t *inlined HP_CLEANUP(hp_free) = NULL;
    HP_TRY(find_inlined(p, unfolded, &inlined));
    HP_TRY(make_lines(d, p, groups, inlined));
    HP_TRY(make_loops(d, p, groups));
    return make_paths(d, p, groups, inlined);
}
