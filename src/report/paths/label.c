// SPDX-License-Identifier: MIT
#include "report/paths/label.h"

#include "base/base.h"
#include "report/frames.h"
#include "report/paths/lines.h"
#include "report/text.h"

#define SHOWN    8   /* lines of a path; of more the first and the last */
#define LAST     2   /* of them */
#define COMPARED 200 /* paths with one start */

static const struct hp_pstep *steps_of(const struct hp_tables *tables, uint32_t path, size_t *n)
{
    return hp_items(tables->profile, HP_ROW_PATH_STEP, path, n);
}

/* --- Where a path is -------------------------------------------------------------------------- */

/* The functions that all of a path is inlined into, which is of one function with code; else none.
 */
static struct hp_frames frames_of(const struct hp_profile *p, const struct hp_pstep *steps,
                                  size_t n)
{
    struct hp_frames frames = {0};
    for (size_t i = 0; i < n; i++) {
        struct hp_frames of = hp_frames_of_block(p, steps[i].block);
        if (p->blocks[steps[i].block].function != p->blocks[steps[0].block].function)
            return (struct hp_frames){0};
        frames = i ? hp_frames_common(frames, of) : of;
    }
    return frames;
}

/* The line of a step's branch there. */
static struct hp_written branch_line(const struct hp_profile *p, struct hp_frames frames,
                                     const struct hp_pstep *step)
{
    const struct hp_pline *line = hp_line_at(p, step->block, p->blocks[step->block].branch);
    return line ? hp_written_in(p, frames, line) : (struct hp_written){"", 0};
}

static void put_place(const struct hp_written *at, bool whole, struct hp_strbuf *cell)
{
    if (!whole) {
        hp_put_source_place(hp_base_name(at->file), at->line, cell);
        return;
    }
    hp_strbuf_add(cell, at->file);
    hp_strbuf_add(cell, ":");
    hp_strbuf_uint(cell, at->line);
}

static bool same_line(const struct hp_written *a, const struct hp_written *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0;
}

void hp_put_path_lines(const struct hp_tables *tables, uint32_t path, bool whole,
                       struct hp_strbuf *cell)
{
    const struct hp_profile *p = tables->profile;
    size_t n, n_lines = 0;
    const struct hp_pstep *steps = steps_of(tables, path, &n);
    struct hp_frames frames = frames_of(p, steps, n);
    struct hp_written last = {"", 0};
    for (size_t pass = 0, at = 0, all = 0; pass < 2; pass++, all = at, at = 0) {
        last = (struct hp_written){"", 0};
        for (size_t i = 0; i < n; i++) {
            struct hp_written line = branch_line(p, frames, &steps[i]);
            if (!line.line || same_line(&line, &last))
                continue;
            bool shown = whole || all <= SHOWN || at < SHOWN - LAST || at + LAST >= all;
            bool gap = !shown && at == SHOWN - LAST;
            if (pass && (shown || gap) && n_lines++)
                hp_strbuf_add(cell, "→");
            if (pass && gap)
                hp_strbuf_add(cell, "…");
            else if (pass && shown && strcmp(line.file, last.file) == 0)
                hp_strbuf_uint(cell, line.line);
            else if (pass && shown)
                put_place(&line, whole, cell);
            last = line;
            at++;
        }
    }
}

void hp_put_path_function(const struct hp_tables *tables, uint32_t path, struct hp_strbuf *cell)
{
    const struct hp_profile *p = tables->profile;
    size_t n;
    const struct hp_pstep *steps = steps_of(tables, path, &n);
    struct hp_frames frames = frames_of(p, steps, n);
    if (frames.n)
        hp_strbuf_clean(cell, hp_text(p->inlined[frames.ranges[frames.n - 1].inlined].name));
    else
        hp_put_function(tables, p->paths[path].function, cell);
}

void hp_put_step_line(const struct hp_tables *tables, uint32_t path, uint32_t step, bool whole,
                      struct hp_strbuf *cell)
{
    const struct hp_profile *p = tables->profile;
    size_t n;
    const struct hp_pstep *steps = steps_of(tables, path, &n);
    if (step >= n)
        return;
    struct hp_written line = branch_line(p, frames_of(p, steps, n), &steps[step]);
    const struct hp_pblock *block = &p->blocks[steps[step].block];
    struct hp_place branch = {block->place.module, block->place.offset + block->branch};
    if (line.line)
        put_place(&line, whole, cell);
    else
        hp_put_code(tables, block->function, branch, cell);
}

/* --- Differences ------------------------------------------------------------------------------ */

struct weighed {
    uint32_t path;
    uint64_t weight;
};

/* By kind and start, the heaviest first. */
static int compare_weighed(const void *a, const void *b, void *context)
{
    const struct hp_ppath *paths = context;
    const struct weighed *x = a, *y = b;
    return strcmp(hp_text(paths[x->path].kind), hp_text(paths[y->path].kind))
               ?: hp_place_compare(paths[x->path].start, paths[y->path].start)
                      ?: HP_COMPARE(y->weight, x->weight) ?: HP_COMPARE(x->path, y->path);
}

static int compare_rank(const void *a, const void *b, void *context)
{
    const struct hp_ppath *paths = context;
    const struct weighed *x = a, *y = b;
    return strcmp(hp_text(paths[x->path].kind), hp_text(paths[y->path].kind))
               ?: HP_COMPARE(y->weight, x->weight) ?: HP_COMPARE(x->path, y->path);
}

/* How many blocks two paths have in common before they part; and whether they do. */
static size_t common_steps(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    size_t n_a, n_b, n = 0;
    const struct hp_pstep *x = steps_of(tables, a, &n_a), *y = steps_of(tables, b, &n_b);
    while (n < n_a && n < n_b && x[n].block == y[n].block) {
        n++;
        if (x[n - 1].how != y[n - 1].how)
            break;
    }
    return n;
}

enum hp_err hp_paths_compare(struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    if (tables->differences)
        return HP_OK;
    struct weighed *all HP_CLEANUP(hp_free) = calloc(p->n_paths + 1, sizeof *all);
    HP_TRY(hp_new(&tables->differences, p->n_paths + 1, sizeof *tables->differences));
    if (!all)
        return hp_fail_nomem();
    for (uint32_t i = 0; i < p->n_paths; i++) {
        all[i].path = i;
        tables->differences[i].path = HP_PROFILE_NONE;
    }
    for (size_t i = 0; i < p->n_path_counts; i++)
        hp_add_up(&all[p->path_counts[i].item].weight,
                  hp_tables_kind(tables, p->path_counts[i].item)->by_events
                      ? p->path_counts[i].events
                      : p->path_counts[i].insns);
    qsort_r(all, p->n_paths, sizeof *all, compare_rank, p->paths);
    for (size_t i = 0, rank = 1; i < p->n_paths; i++, rank++) {
        if (i && strcmp(hp_text(p->paths[all[i].path].kind),
                        hp_text(p->paths[all[i - 1].path].kind)) != 0)
            rank = 1;
        tables->differences[all[i].path].rank = (uint32_t)rank;
    }
    qsort_r(all, p->n_paths, sizeof *all, compare_weighed, p->paths);
    for (size_t i = 0, first = 0; i < p->n_paths; i++) {
        const struct hp_ppath *path = &p->paths[all[i].path];
        const struct hp_ppath *group = &p->paths[all[first].path];
        if (strcmp(hp_text(path->kind), hp_text(group->kind)) != 0 ||
            hp_place_compare(path->start, group->start) != 0)
            first = i;
        size_t most = 0;
        for (size_t k = first; k < i && i - first < COMPARED; k++) {
            size_t common = common_steps(tables, all[i].path, all[k].path);
            if (common <= most)
                continue;
            most = common;
            tables->differences[all[i].path].path = all[k].path;
            tables->differences[all[i].path].step = (uint32_t)common - 1;
        }
    }
    return HP_OK;
}

void hp_put_difference(const struct hp_tables *tables, uint32_t path, bool whole,
                       struct hp_strbuf *cell)
{
    const struct hp_path_difference *d = &tables->differences[path];
    struct hp_path_lines lines = {0};
    if (d->path == HP_PROFILE_NONE)
        return;
    lines.steps = steps_of(tables, path, &lines.n_steps);
    hp_put_step_line(tables, path, d->step, whole, cell);
    hp_strbuf_add(cell, " ");
    hp_put_exit(tables, &lines, d->step, cell);
}

/* --- Predictions ------------------------------------------------------------------------------ */

bool hp_path_mispredicted(const struct hp_tables *tables, uint32_t path, uint32_t *step,
                          double *rate)
{
    const struct hp_profile *p = tables->profile;
    size_t n;
    const struct hp_pstep *steps = p->n_insns ? steps_of(tables, path, &n) : NULL;
    *rate = 0;
    for (uint32_t i = 0; steps && i < n; i++) {
        const struct hp_pblock *block = &p->blocks[steps[i].block];
        struct hp_place branch = {block->place.module, block->place.offset + block->branch};
        size_t at = HP_BISECT(k, 0, p->n_insns, hp_place_compare(p->insns[k].place, branch) < 0);
        if (at == p->n_insns || hp_place_compare(p->insns[at].place, branch) != 0)
            continue;
        struct hp_insn_facts facts = hp_insn_facts(tables, (uint32_t)at);
        double found = hp_insn_rate(&facts, HP_INSN_MISPREDICTED).value;
        if (found <= *rate)
            continue;
        *rate = found;
        *step = i;
    }
    return *rate > 0;
}
