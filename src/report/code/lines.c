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
 * are added, and the largest such sum is taken: a sweep over their starts and ends.
 */
#include "base/base.h"
#include "base/texts.h"
#include "report/fields.h"
#include "report/text.h"

/* One range, executed `count` times (by one thread, or by all together). */
struct span {
    uint64_t key; /* rank of the file's name, line number */
    uint64_t count;
    uint32_t range; /* index into profile->lines */
    uint32_t thread;
};

/* Where a range begins or ends; other code at the same place is not the same instruction. */
struct end {
    uint32_t module, version;
    uint64_t address;
    uint64_t count;
    bool begins;
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
    struct end *ends; /* of one line */
    size_t ends_capacity;
    struct named_weight *names; /* likewise */
    size_t names_capacity;
    size_t lines_capacity;
};

static void work_fini(struct work *work)
{
    free(work->keys);
    free(work->spans);
    free(work->ends);
    free(work->names);
}

/* --- Keys: lines as integers in order of file name and number --------------------------------- */

static enum hp_err make_keys(struct work *work)
{
    const struct hp_profile *p = work->tables->profile;
    struct hp_text_set files HP_CLEANUP(hp_text_set_fini) = {0};
    HP_TRY(hp_new(&work->keys, p->n_lines + 1, sizeof *work->keys));
    for (size_t i = 0; i < p->n_lines; i++)
        if (*hp_text(p->lines[i].file))
            HP_TRY(hp_text_set_add(&files, p->lines[i].file));
    HP_TRY(hp_text_set_sort(&files));
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct hp_pline *line = &p->lines[i];
        if (*hp_text(line->file))
            work->keys[i] = (hp_text_set_find(&files, line->file) + 1ull) << 32 | line->line;
    }
    return HP_OK;
}

/* --- Spans ------------------------------------------------------------------------------------ */

static enum hp_err add_spans(struct work *work, uint32_t block, uint32_t thread, uint64_t count)
{
    const struct hp_profile *p = work->tables->profile;
    size_t n = 0;
    const struct hp_pline *lines = count ? hp_items(p, HP_ROW_LINE, block, &n) : NULL;
    HP_TRY(hp_grow(&work->spans, &work->spans_capacity, work->n_spans + n, sizeof *work->spans));
    for (size_t i = 0; i < n; i++) {
        uint32_t range = (uint32_t)(lines + i - p->lines);
        if (work->keys[range] != 0)
            work->spans[work->n_spans++] = (struct span){work->keys[range], count, range, thread};
    }
    return HP_OK;
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return HP_COMPARE(x->key, y->key)
               ?: HP_COMPARE(x->thread, y->thread) ?: HP_COMPARE(x->range, y->range);
}

/* --- One line --------------------------------------------------------------------------------- */

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    return HP_COMPARE(x->module, y->module)
               ?: HP_COMPARE(x->version, y->version)
                      ?: HP_COMPARE(x->address, y->address) ?: HP_COMPARE(x->begins, y->begins);
}

/* The executions of the most executed address: `n` spans of one line. */
static enum hp_err sweep(struct work *work, const struct span *spans, size_t n,
                         uint64_t *executions)
{
    const struct hp_profile *p = work->tables->profile;
    *executions = spans[0].count;
    if (n == 1)
        return HP_OK;
    HP_TRY(hp_grow(&work->ends, &work->ends_capacity, 2 * n, sizeof *work->ends));
    for (size_t i = 0; i < n; i++) {
        const struct hp_pline *line = &p->lines[spans[i].range];
        const struct hp_pblock *block = &p->blocks[line->block];
        uint64_t start = hp_saturating_add(block->place.offset, line->from);
        uint64_t size = line->to > line->from ? line->to - line->from : 1;
        struct end *end = &work->ends[2 * i];
        end[0] = (struct end){block->place.module, block->version, start, spans[i].count, true};
        end[1] = end[0];
        end[1].address = hp_saturating_add(start, size);
        end[1].begins = false;
    }
    qsort(work->ends, 2 * n, sizeof *work->ends, compare_ends);
    unsigned __int128 covering = 0, most = 0; /* 2^32 counts of 64 bits fit */
    for (const struct end *end = work->ends; end < work->ends + 2 * n; end++) {
        covering = end->begins ? covering + end->count : covering - end->count;
        most = end->begins && covering > most ? covering : most;
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
    *added = (struct hp_source_line){
        .file = line->file, .line = line->line, .range = spans[0].range, .function = ""};
    return main_function(work, spans, n, &added->function);
}

/* --- All lines -------------------------------------------------------------------------------- */

/* Sorts the spans and makes a row of each group with equal key and thread: total rows, which add
 * their line to the tables, or parts, whose line is there already. Both come in order of key. */
static enum hp_err make_rows(struct work *work, bool total, struct hp_row **rows, size_t *n_rows)
{
    size_t capacity = 0;
    uint32_t item = 0;
    if (work->n_spans > 1)
        qsort(work->spans, work->n_spans, sizeof *work->spans, compare_spans);
    for (size_t i = 0, n; i < work->n_spans; i += n) {
        const struct span *spans = &work->spans[i];
        for (n = 1; i + n < work->n_spans && spans[n].key == spans->key &&
                    spans[n].thread == spans->thread;)
            n++;
        item += i > 0 && spans[-1].key != spans->key;
        if (total)
            HP_TRY(add_line(work, spans, n));
        HP_TRY(hp_grow(rows, &capacity, *n_rows + 1, sizeof **rows));
        struct hp_row *row = &(*rows)[(*n_rows)++];
        *row = (struct hp_row){.item = item, .thread = spans->thread};
        for (size_t k = 0; k < n; k++)
            hp_add_up(&row->v[0], span_weight(work->tables->profile, &spans[k]));
        HP_TRY(sweep(work, spans, n, &row->v[1]));
    }
    work->n_spans = 0;
    return HP_OK;
}

static enum hp_err make(struct hp_rows *rows, struct hp_tables *tables)
{
    const struct hp_profile *p = tables->profile;
    struct work work HP_CLEANUP(work_fini) = {.tables = tables};
    free(tables->lines);
    tables->lines = NULL;
    tables->n_lines = 0;
    HP_TRY(make_keys(&work));
    HP_TRY(hp_tables_count_blocks(tables));
    for (uint32_t i = 0; i < p->n_blocks; i++)
        HP_TRY(add_spans(&work, i, HP_PROFILE_NONE, tables->block_counts[i]));
    HP_TRY(make_rows(&work, true, &rows->rows, &rows->n));
    for (size_t i = 0; rows->per_thread && i < p->n_block_counts; i++)
        HP_TRY(add_spans(&work, p->block_counts[i].item, p->block_counts[i].thread,
                         p->block_counts[i].count));
    return make_rows(&work, false, &rows->parts, &rows->n_parts);
}

/* --- The view --------------------------------------------------------------------------------- */

static const void *find_line(const struct hp_field_input *in)
{
    return &in->tables->lines[in->row->item];
}

static const struct hp_field_row line = {.find = find_line};

static const struct hp_field fields[] = {
    {"file", "source file", .of = &line, HP_FOUND(TEXT, struct hp_source_line, file)},
    {"line", "in it", .of = &line, HP_FOUND(UINT32, struct hp_source_line, line)},
    {"instructions", "executed for it", HP_COUNTED(0)},
    {"executions", "of its most often executed instruction", HP_COUNTED(1)},
    {"share", "of `instructions` in all of them", HP_SHARE(0)},
    {"function", "for which most of it was executed, inlined ones included", .of = &line,
     HP_FOUND(TEXT, struct hp_source_line, function)},
    {0}};

static void put_line(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_source_line *line = &in->tables->lines[row->item];
    hp_put_source_place(hp_short_path(&in->tables->profile->run, line->file), line->line, cell);
}

static void put_source(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_source_line *line = &in->tables->lines[row->item];
    size_t length;
    const char *source = hp_sources_line(in->sources, line->file, line->line, &length);
    if (source)
        hp_put_source(source, length, cell);
}

static const struct hp_column columns[] = {
    {"share", .right = true, .heat = true},
    {"instructions", .right = true},
    {"executions", .right = true},
    {"line", .put = put_line, .flexible = true, .cut = HP_CUT_PATH},
    {"function", .flexible = true, .cut = HP_CUT_NAME},
    {"source", .put = put_source, .flexible = true, .cut = HP_CUT_END},
    {0}};

static struct hp_subject subject(const struct hp_tables *tables, const struct hp_row *row)
{
    const struct hp_source_line *line = &tables->lines[row->item];
    return (struct hp_subject){HP_ROW_LINE, line->range, line->function};
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
    .subject = subject,
    .fields = fields,
    .columns = columns,
};
