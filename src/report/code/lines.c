// SPDX-License-Identifier: MIT
/*
 * Source lines: the blocks' counts brought together by line.
 *
 * A line's *instructions* are those executed for it: the sum over its ranges of count x
 * instructions.
 *
 * Its *executions* are those of its most often executed instruction. One line may have code in
 * several blocks (the three parts of a `for`), so the sum of their counts would be too large; and
 * blocks may overlap (a jump into the middle of one), so one instruction may belong to several, and
 * the largest of the counts would be too small. So the counts of the ranges that cover an address
 * are added, and the largest such sum is taken: a sweep over the ranges in order of their starts.
 */
#include "report/fields.h"
#include "report/text.h"

#include "base/grow.h"
#include "base/map64.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* One range, executed `count` times (by one thread, or by all together). */
struct span {
    uint64_t key; /* rank of the file's name, line number */
    uint64_t count;
    uint32_t range; /* index into profile->lines */
    uint32_t thread;
};

/* A range's place; other code at the same place is not the same instruction. */
struct extent {
    uint32_t module, version;
    uint64_t start, end;
    uint64_t count;
};

struct named_weight {
    const char *name;
    uint64_t weight;
};

struct work {
    struct hp_tables *tables;
    uint64_t *keys; /* by range; 0: no line is known */
    struct span *spans;
    size_t n_spans, spans_capacity;
    struct extent *starts, *ends; /* of one line */
    size_t starts_capacity, ends_capacity;
    struct named_weight *names; /* likewise */
    size_t names_capacity;
    size_t rows_capacity, parts_capacity, lines_capacity;
};

/* --- Keys: lines as integers in order of file name and number --------------------------------- */

static int compare_strings(const void *a, const void *b, void *context)
{
    const char *const *strings = context;
    return strcmp(strings[*(const uint32_t *)a], strings[*(const uint32_t *)b]);
}

/* Gives each of the `n` strings its rank from 1 in their order; equal ones share it. */
static enum hp_err rank_strings(const char **strings, size_t n, uint32_t **ranks)
{
    uint32_t *order = calloc(n + 1, sizeof *order);
    *ranks = calloc(n + 1, sizeof **ranks);
    if (!order || !*ranks) {
        free(order);
        return hp_fail_nomem();
    }
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare_strings, strings);
    uint32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(strings[order[i - 1]], strings[order[i]]) != 0)
            rank++;
        (*ranks)[order[i]] = rank;
    }
    free(order);
    return HP_OK;
}

/* Files are few and their strings shared: they are told apart by pointer first, then compared. */
static enum hp_err collect_files(const struct hp_profile *profile, struct hp_map64 *map,
                                 const char ***files, size_t *n, uint64_t *keys)
{
    size_t capacity = 0;
    for (size_t i = 0; i < profile->n_lines; i++) {
        const char *file = profile->lines[i].file;
        if (!*hp_text(file))
            continue;
        uint32_t index = hp_map64_get(map, (uintptr_t)file);
        if (index == HP_MAP64_NONE) {
            index = (uint32_t)*n;
            HP_TRY(hp_map64_put(map, (uintptr_t)file, index));
            HP_TRY(hp_grow(files, &capacity, *n + 1, sizeof **files));
            (*files)[(*n)++] = file;
        }
        keys[i] = (uint64_t)index + 1;
    }
    return HP_OK;
}

static enum hp_err make_keys(struct work *work)
{
    const struct hp_profile *profile = work->tables->profile;
    struct hp_map64 map = {0};
    const char **files = NULL;
    uint32_t *ranks = NULL;
    size_t n_files = 0;
    work->keys = calloc(profile->n_lines + 1, sizeof *work->keys);
    enum hp_err err = work->keys ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = collect_files(profile, &map, &files, &n_files, work->keys);
    if (err == HP_OK)
        err = rank_strings(files, n_files, &ranks);
    for (size_t i = 0; err == HP_OK && i < profile->n_lines; i++)
        if (work->keys[i] != 0)
            work->keys[i] = (uint64_t)ranks[work->keys[i] - 1] << 32 | profile->lines[i].line;
    hp_map64_fini(&map);
    free(files);
    free(ranks);
    return err;
}

/* --- Spans ------------------------------------------------------------------------------------ */

static enum hp_err add_span(struct work *work, uint32_t range, uint32_t thread, uint64_t count)
{
    HP_TRY(hp_grow(&work->spans, &work->spans_capacity, work->n_spans + 1, sizeof *work->spans));
    work->spans[work->n_spans++] = (struct span){work->keys[range], count, range, thread};
    return HP_OK;
}

static enum hp_err make_total_spans(struct work *work)
{
    const struct hp_profile *profile = work->tables->profile;
    uint64_t *counts = calloc(profile->n_blocks + 1, sizeof *counts);
    if (!counts)
        return hp_fail_nomem();
    for (size_t i = 0; i < profile->n_block_counts; i++) {
        const struct hp_pcount *count = &profile->block_counts[i];
        counts[count->item] = hp_saturating_add(counts[count->item], count->count);
    }
    enum hp_err err = HP_OK;
    for (uint32_t i = 0; err == HP_OK && i < profile->n_lines; i++)
        if (work->keys[i] != 0 && counts[profile->lines[i].block] != 0)
            err = add_span(work, i, HP_PROFILE_NONE, counts[profile->lines[i].block]);
    free(counts);
    return err;
}

/* The ranges of each block as lists: the first by block, the next by range. */
static enum hp_err make_thread_spans(struct work *work)
{
    const struct hp_profile *profile = work->tables->profile;
    uint32_t *first = malloc((profile->n_blocks + profile->n_lines + 1) * sizeof *first);
    if (!first)
        return hp_fail_nomem();
    uint32_t *next = first + profile->n_blocks;
    for (size_t i = 0; i < profile->n_blocks; i++)
        first[i] = HP_PROFILE_NONE;
    for (uint32_t i = 0; i < profile->n_lines; i++) {
        next[i] = first[profile->lines[i].block];
        first[profile->lines[i].block] = i;
    }
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < profile->n_block_counts; i++) {
        const struct hp_pcount *count = &profile->block_counts[i];
        for (uint32_t range = first[count->item]; err == HP_OK && range != HP_PROFILE_NONE;
             range = next[range])
            if (work->keys[range] != 0 && count->count != 0)
                err = add_span(work, range, count->thread, count->count);
    }
    free(first);
    return err;
}

static struct extent extent_of(const struct hp_profile *profile, const struct span *span)
{
    const struct hp_pline *line = &profile->lines[span->range];
    const struct hp_pblock *block = &profile->blocks[line->block];
    uint64_t start = hp_saturating_add(block->place.offset, line->from);
    uint64_t size = line->to > line->from ? line->to - line->from : 1;
    return (struct extent){block->place.module, block->version, start,
                           hp_saturating_add(start, size), span->count};
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *span_a = a, *span_b = b;
    if (span_a->key != span_b->key)
        return span_a->key < span_b->key ? -1 : 1;
    if (span_a->thread != span_b->thread)
        return span_a->thread < span_b->thread ? -1 : 1;
    return span_a->range < span_b->range ? -1 : span_a->range > span_b->range;
}

/* --- One line --------------------------------------------------------------------------------- */

static int compare_code(const struct extent *a, const struct extent *b)
{
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->version < b->version ? -1 : a->version > b->version;
}

static int compare_starts(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    int order = compare_code(x, y);
    return order ? order : x->start < y->start ? -1 : x->start > y->start;
}

static int compare_ends(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    int order = compare_code(x, y);
    return order ? order : x->end < y->end ? -1 : x->end > y->end;
}

/* The executions of the most executed address: `n` spans of one line. */
static enum hp_err sweep(struct work *work, const struct span *spans, size_t n,
                         uint64_t *executions)
{
    *executions = spans[0].count;
    if (n == 1)
        return HP_OK;
    HP_TRY(hp_grow(&work->starts, &work->starts_capacity, n, sizeof *work->starts));
    HP_TRY(hp_grow(&work->ends, &work->ends_capacity, n, sizeof *work->ends));
    for (size_t i = 0; i < n; i++)
        work->starts[i] = work->ends[i] = extent_of(work->tables->profile, &spans[i]);
    qsort(work->starts, n, sizeof *work->starts, compare_starts);
    qsort(work->ends, n, sizeof *work->ends, compare_ends);
    unsigned __int128 covering = 0, most = 0; /* 2^32 counts of 64 bits fit */
    for (size_t i = 0, j = 0; i < n; i++) {
        const struct extent *start = &work->starts[i];
        for (; compare_code(&work->ends[j], start) < 0 ||
               (compare_code(&work->ends[j], start) == 0 && work->ends[j].end <= start->start);
             j++)
            covering -= work->ends[j].count;
        covering += start->count;
        if (covering > most)
            most = covering;
    }
    *executions = most > UINT64_MAX ? UINT64_MAX : (uint64_t)most;
    return HP_OK;
}

static uint64_t span_weight(const struct hp_profile *profile, const struct span *span)
{
    return hp_saturating_mul(span->count, profile->lines[span->range].insns);
}

static int compare_names(const void *a, const void *b)
{
    const struct named_weight *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* For which function most of the line was executed; the first by name of several. */
static enum hp_err main_function(struct work *work, const struct span *spans, size_t n,
                                 const char **function)
{
    const struct hp_profile *profile = work->tables->profile;
    HP_TRY(hp_grow(&work->names, &work->names_capacity, n, sizeof *work->names));
    for (size_t i = 0; i < n; i++) {
        const struct hp_pline *line = &profile->lines[spans[i].range];
        const char *name = hp_text(line->inlined);
        uint32_t own = profile->blocks[line->block].function;
        if (!*name && own != HP_PROFILE_NONE)
            name = work->tables->functions[own];
        work->names[i] = (struct named_weight){name, span_weight(profile, &spans[i])};
    }
    qsort(work->names, n, sizeof *work->names, compare_names);
    uint64_t sum = 0, most = 0;
    *function = work->names[0].name;
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && strcmp(work->names[i - 1].name, work->names[i].name) == 0;
        sum = hp_saturating_add(same ? sum : 0, work->names[i].weight);
        if (sum > most) {
            most = sum;
            *function = work->names[i].name;
        }
    }
    return HP_OK;
}

static enum hp_err add_line(struct work *work, const struct span *spans, size_t n)
{
    struct hp_tables *tables = work->tables;
    const struct hp_pline *line = &tables->profile->lines[spans[0].range];
    HP_TRY(
        hp_grow(&tables->lines, &work->lines_capacity, tables->n_lines + 1, sizeof *tables->lines));
    struct hp_source_line *added = &tables->lines[tables->n_lines++];
    *added = (struct hp_source_line){.file = line->file, .line = line->line, .function = ""};
    return main_function(work, spans, n, &added->function);
}

static enum hp_err fill_row(struct work *work, const struct span *spans, size_t n,
                            struct hp_row *row)
{
    *row = (struct hp_row){.thread = spans[0].thread};
    for (size_t i = 0; i < n; i++)
        row->v[0] = hp_saturating_add(row->v[0], span_weight(work->tables->profile, &spans[i]));
    return sweep(work, spans, n, &row->v[1]);
}

/* --- All lines -------------------------------------------------------------------------------- */

/* Sorts the spans and makes a row of each group with equal key and thread: total rows, which add
 * their line to the tables, or parts, whose line is there already. Both come in order of key. */
static enum hp_err make_rows(struct work *work, bool total, struct hp_rows *rows)
{
    if (work->n_spans > 1)
        qsort(work->spans, work->n_spans, sizeof *work->spans, compare_spans);
    uint32_t item = 0;
    for (size_t i = 0, n; i < work->n_spans; i += n) {
        const struct span *spans = &work->spans[i];
        for (n = 1; i + n < work->n_spans && spans[n].key == spans->key &&
                    spans[n].thread == spans->thread;)
            n++;
        if (i > 0 && spans[-1].key != spans->key)
            item++;
        struct hp_row row;
        HP_TRY(fill_row(work, spans, n, &row));
        row.item = item;
        if (total) {
            HP_TRY(add_line(work, spans, n));
            HP_TRY(hp_grow(&rows->rows, &work->rows_capacity, rows->n + 1, sizeof *rows->rows));
            rows->rows[rows->n++] = row;
        } else {
            HP_TRY(hp_grow(&rows->parts, &work->parts_capacity, rows->n_parts + 1,
                           sizeof *rows->parts));
            rows->parts[rows->n_parts++] = row;
        }
    }
    return HP_OK;
}

static enum hp_err make_lines(struct work *work, bool per_thread, struct hp_rows *rows)
{
    HP_TRY(make_keys(work));
    HP_TRY(make_total_spans(work));
    HP_TRY(make_rows(work, true, rows));
    if (!per_thread)
        return HP_OK;
    work->n_spans = 0;
    HP_TRY(make_thread_spans(work));
    return make_rows(work, false, rows);
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables, bool per_thread)
{
    free(tables->lines);
    tables->lines = NULL;
    tables->n_lines = 0;
    struct work work = {.tables = tables};
    enum hp_err err = make_lines(&work, per_thread, rows);
    free(work.keys);
    free(work.spans);
    free(work.starts);
    free(work.ends);
    free(work.names);
    return err;
}

/* --- The view --------------------------------------------------------------------------------- */

static const struct hp_source_line *line_of(const struct hp_tables *tables,
                                            const struct hp_row *row)
{
    return &tables->lines[row->item];
}

static struct hp_cell file(const struct hp_field_input *in)
{
    return hp_cell_text(line_of(in->tables, in->row)->file);
}

static struct hp_cell number(const struct hp_field_input *in)
{
    return hp_cell_number(line_of(in->tables, in->row)->line);
}

static struct hp_cell function(const struct hp_field_input *in)
{
    return hp_cell_text(line_of(in->tables, in->row)->function);
}

static const struct hp_field fields[] = {
    {"file", "source file", .get = file},
    {"line", "in it", .get = number},
    {"instructions", "executed for it", HP_COUNTED(0)},
    {"executions", "of its most often executed instruction", HP_COUNTED(1)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {"function", "for which most of it was executed, inlined ones included", .get = function},
    {0}};

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"instructions", .right = true},
                                           {"executions", .right = true},
                                           {"line", .flexible = true},
                                           {"function", .flexible = true},
                                           {"source", .flexible = true, .cut = HP_CUT_END},
                                           {0}};

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_source_line *line = line_of(in->tables, row);
    double share = hp_put_share(in, row->v[0], &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (hp_put_thread(row, &cells[3]))
        return share;
    hp_put_source_place(hp_short_path(&in->tables->profile->run, line->file), line->line,
                        &cells[3]);
    hp_strbuf_clean(&cells[4], line->function);
    size_t length;
    const char *source = hp_sources_line(in->sources, line->file, line->line, &length);
    if (source)
        hp_put_source(source, length, &cells[5]);
    return share;
}

const struct hp_view hp_view_lines = {
    .name = "lines",
    .help = "source lines",
    .title = "Lines",
    .each = "source line that was executed",
    .order = "`instructions`, then file, line",
    .empty = "no source line is known: was the program built with -g?",
    .by_thread = true,
    .make = make,
    .fields = fields,
    .columns = columns,
    .fill = fill,
};
