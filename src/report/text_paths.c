// SPDX-License-Identifier: MIT
#include "report/text_paths.h"

#include "report/path_lines.h"
#include "report/text_cells.h"
#include "text/number.h"
#include "text/table.h"
#include "text/utf8.h"

#include <string.h>

#define INDENT     10
#define GAP        2
#define PLACE_MAX  30 /* columns of a line's place, */
#define EXITS_MAX  26 /* and of the ways it was left */
#define LINES_MAX  50 /* of a path; of a longer one the middle is left out, */
#define LINES_TAIL 8  /* and so many are shown of its end */

struct printer {
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_sources *sources;
    FILE *out;
    struct hp_path_lines lines;
    struct hp_strbuf place, exits, text, cut;
    bool said; /* that there are no lines */
};

/* --- The row of a path ------------------------------------------------------------------------ */

static const struct hp_column columns[] = {{"share", .right = true, .heat = true},
                                           {"so far", .right = true},
                                           {"count", .right = true},
                                           {"instr.", .right = true},
                                           {"branches", .right = true},
                                           {"function", .flexible = true},
                                           {"from", .flexible = true},
                                           {0}};

static uint64_t whole(const struct hp_tables *tables, const struct hp_path_kind *kind)
{
    return kind->by_events ? kind->events : tables->summary.instructions;
}

static void fill(const struct hp_tables *tables, const struct hp_path_kind *kind,
                 const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct hp_profile *p = tables->profile;
    const struct hp_ppath *path = &p->paths[row->item];
    hp_strbuf_percent(&cells[0], hp_number_share(row->v[0], whole(tables, kind)));
    if (row->thread == HP_PROFILE_NONE)
        hp_strbuf_percent(&cells[1], hp_number_share(row->v[4], whole(tables, kind)));
    struct hp_strbuf *cell = &cells[2];
    if (kind->by_events)
        hp_strbuf_human(cell++, row->v[3]);
    hp_strbuf_human(cell++, row->v[1]);
    hp_put_each(row->v[2], row->v[1], cell++);
    if (row->thread != HP_PROFILE_NONE) {
        hp_strbuf_add(cell + 1, "  thread ");
        hp_strbuf_uint(cell + 1, row->thread);
        return;
    }
    hp_strbuf_uint(cell++, path->length);
    hp_put_function(tables, path->function, cell++);
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(tables, row->item, &n);
    uint32_t line = n ? tables->block_lines[steps[0].block] : HP_PROFILE_NONE;
    if (line != HP_PROFILE_NONE)
        hp_put_where(tables, p->lines[line].file, p->lines[line].line, path->start.module, cell);
    else
        hp_put_code(tables, HP_PROFILE_NONE, path->start, cell);
}

/* --- Its lines -------------------------------------------------------------------------------- */

/* "file.c:12"; without that "+0x1c" in the function that the line before was in (the first: that of the path's row), else with
 * the function's name. */
static void put_line_place(struct printer *p, size_t i)
{
    const struct hp_profile *profile = p->tables->profile;
    const struct hp_path_line *line = &p->lines.lines[i];
    const struct hp_pblock *block = &profile->blocks[line->block];
    uint32_t before = i ? profile->blocks[line[-1].block].function
                        : profile->paths[p->lines.steps->path].function;
    hp_strbuf_clear(&p->place);
    hp_strbuf_clear(&p->text);
    if (*line->file) {
        hp_put_source_place(hp_base_name(line->file), line->line, &p->place);
        if (line->to) {
            hp_strbuf_add(&p->place, "-");
            hp_strbuf_uint(&p->place, line->to);
        }
        return;
    }
    hp_put_code(p->tables, block->function, block->place, &p->place);
    hp_put_code(p->tables, HP_PROFILE_NONE, block->place, &p->text);
    bool named = strcmp(hp_strbuf_text(&p->place), hp_strbuf_text(&p->text)) != 0;
    if (named && block->function == before) {
        hp_strbuf_clear(&p->place);
        hp_strbuf_add(&p->place, "+");
        hp_strbuf_hex(&p->place, block->place.offset - profile->functions[before].place.offset);
    }
}

static void put_line_exits(struct printer *p, const struct hp_path_line *line)
{
    hp_strbuf_clear(&p->exits);
    for (uint32_t i = 0; i < line->n_exits; i++) {
        hp_strbuf_clear(&p->text);
        hp_put_exit(p->tables, &p->lines, line->first_exit + i, &p->text);
        if (p->exits.length && p->text.length)
            hp_strbuf_add(&p->exits, " ");
        hp_strbuf_add(&p->exits, hp_strbuf_text(&p->text));
    }
}

/* The source text; without it the function, where it is not that of the line before, or the
 * address. */
static void put_line_text(struct printer *p, size_t i)
{
    const struct hp_path_line *line = &p->lines.lines[i];
    const struct hp_pblock *blocks = p->tables->profile->blocks;
    uint32_t function = blocks[line->block].function;
    bool entered = i > 0 && blocks[line[-1].block].function != function;
    size_t length = 0;
    const char *source =
        *line->file ? hp_sources_line(p->sources, line->file, line->line, &length) : NULL;
    hp_strbuf_clear(&p->text);
    if (!*line->file) {
        hp_put_code(p->tables, HP_PROFILE_NONE, blocks[line->block].place, &p->text);
        if (strcmp(hp_strbuf_text(&p->text), hp_strbuf_text(&p->place)) == 0)
            hp_strbuf_clear(&p->text);
        return;
    }
    if (entered) {
        hp_put_function(p->tables, function, &p->text);
        hp_strbuf_add(&p->text, ": ");
    }
    if (source)
        hp_put_source(source, length, &p->text);
    else if (*line->inlined)
        hp_strbuf_clean(&p->text, line->inlined);
}

static size_t limited(size_t width, size_t most)
{
    return width < most ? width : most;
}

/* A cell of `width` columns, cut to it. */
static void print_cell(struct printer *p, const struct hp_strbuf *cell, size_t width,
                       enum hp_cut cut)
{
    hp_strbuf_clear(&p->cut);
    hp_strbuf_cut(&p->cut, hp_strbuf_text(cell), width, cut);
    fputs(hp_strbuf_text(&p->cut), p->out);
}

static void print_line(struct printer *p, size_t i, size_t places, size_t exits)
{
    put_line_place(p, i);
    put_line_exits(p, &p->lines.lines[i]);
    put_line_text(p, i);
    fprintf(p->out, "%*s", INDENT, "");
    print_cell(p, &p->place, places, HP_CUT_MIDDLE);
    size_t width = limited(hp_utf8_width(hp_strbuf_text(&p->place)), places);
    size_t room = places + GAP - width;
    if (p->exits.length) {
        fprintf(p->out, "%*s%s", (int)room, "", hp_text_bold(p->options->color));
        print_cell(p, &p->exits, exits, HP_CUT_MIDDLE);
        fputs(hp_text_plain(p->options->color), p->out);
        width = limited(hp_utf8_width(hp_strbuf_text(&p->exits)), exits);
        room = exits + GAP - width;
    } else {
        room += exits + GAP;
    }
    size_t used = INDENT + places + GAP + exits + GAP;
    size_t left = p->options->width <= 0                  ? 200
                  : (size_t)p->options->width > used + 10 ? (size_t)p->options->width - used
                                                          : 10;
    if (p->text.length) {
        fprintf(p->out, "%*s", (int)room, "");
        print_cell(p, &p->text, left, HP_CUT_END);
    }
    putc('\n', p->out);
}

static bool is_shown(const struct printer *p, size_t i)
{
    return p->lines.n <= LINES_MAX || i < LINES_MAX - LINES_TAIL || i >= p->lines.n - LINES_TAIL;
}

/* Whether there is nothing to be said of a line but its number. */
static bool is_bare(struct printer *p, const struct hp_path_line *line)
{
    size_t length;
    return *line->file && !hp_sources_line(p->sources, line->file, line->line, &length);
}

/* Whether `next`, a line of the same function, comes after one where nothing was decided. */
static bool goes_on(struct printer *p, const struct hp_path_line *line,
                    const struct hp_path_line *next)
{
    const struct hp_pblock *blocks = p->tables->profile->blocks;
    return line->n_exits == 0 && strcmp(line->file, next->file) == 0 &&
           strcmp(line->inlined, next->inlined) == 0 &&
           blocks[line->block].function == blocks[next->block].function;
}

static void join_line(struct hp_path_line *line, const struct hp_path_line *next)
{
    uint32_t last = line->to ? line->to : line->line;
    line->to = next->line > last ? next->line : last;
    if (next->line < line->line)
        line->line = next->line;
    line->first_exit = next->first_exit;
    line->n_exits = next->n_exits;
}

/* Lines that are only numbers are joined, up to the next branch: the range that they are in. */
static void join_bare_lines(struct printer *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->lines.n; i++) {
        struct hp_path_line *last = n ? &p->lines.lines[n - 1] : NULL;
        const struct hp_path_line *line = &p->lines.lines[i];
        if (last && is_bare(p, last) && is_bare(p, line) && goes_on(p, last, line))
            join_line(last, line);
        else
            p->lines.lines[n++] = *line;
    }
    p->lines.n = n;
}

static enum hp_err print_lines(struct printer *p, uint32_t path)
{
    size_t places = 0, exits = 0;
    HP_TRY(hp_path_lines_make(&p->lines, p->tables, path));
    join_bare_lines(p);
    for (size_t i = 0; i < p->lines.n; i++) {
        if (!is_shown(p, i))
            continue;
        put_line_place(p, i);
        put_line_exits(p, &p->lines.lines[i]);
        size_t place = hp_utf8_width(hp_strbuf_text(&p->place));
        size_t exit = hp_utf8_width(hp_strbuf_text(&p->exits));
        places = place > places ? place : places;
        exits = exit > exits ? exit : exits;
    }
    bool narrow = p->options->width > 0;
    if (narrow) {
        places = limited(places, PLACE_MAX);
        exits = limited(exits, EXITS_MAX);
    }
    for (size_t i = 0; i < p->lines.n; i++) {
        if (is_shown(p, i))
            print_line(p, i, places, exits);
        else if (i == LINES_MAX - LINES_TAIL)
            fprintf(p->out, "%*s… %zu more lines …\n", INDENT, "", p->lines.n - LINES_MAX);
    }
    if (p->lines.n == 0 && !p->said)
        fprintf(p->out, "%*s(only the heaviest paths are kept with their lines)\n", INDENT, "");
    p->said |= p->lines.n == 0;
    return HP_OK;
}

/* --- A kind ----------------------------------------------------------------------------------- */

/* "bl: 2,109 paths, executed 50,787 times, 99.9% of the instructions" */
static void print_head(struct printer *p, const struct hp_path_kind *kind)
{
    char distinct[HP_NUMBER_SIZE], count[HP_NUMBER_SIZE], percent[HP_NUMBER_SIZE];
    hp_number_grouped(distinct, kind->distinct);
    hp_number_grouped(count, kind->count);
    hp_number_percent(percent, hp_number_share(kind->insns, p->tables->summary.instructions));
    hp_strbuf_clear(&p->text);
    hp_strbuf_clean(&p->text, kind->name);
    bool color = p->options->color;
    fprintf(p->out, "%s%s%s: %s path%s, executed %s time%s: %s of the instructions",
            hp_text_bold(color), hp_strbuf_text(&p->text), hp_text_plain(color), distinct,
            kind->distinct == 1 ? "" : "s", count, kind->count == 1 ? "" : "s", percent);
    if (kind->by_events) {
        hp_number_grouped(count, kind->events);
        fprintf(p->out, ", %s %s", count, hp_metric_title(kind->metric));
    }
    fprintf(p->out, "\n  -> a branch was taken   . it was not\n\n");
}

/* Columns where paths are weighed by events: the metric's name stands for "share". */
static void name_columns(const struct hp_path_kind *kind, struct hp_column *to, char *title,
                         size_t size)
{
    size_t n = 0;
    for (const struct hp_column *column = columns; column->title; column++) {
        to[n++] = *column;
        if (n == 2 && kind->by_events)
            to[n++] = (struct hp_column){.title = hp_metric_name(kind->metric), .right = true};
    }
    to[n] = (struct hp_column){0};
    if (kind->by_events) {
        snprintf(title, size, "%s %%", hp_metric_name(kind->metric));
        to[0].title = title;
    }
}

static enum hp_err print_kind(struct printer *p, const struct hp_path_kind *kind,
                              const struct hp_rows *rows, size_t first, size_t n)
{
    struct hp_column named[HP_TEXT_COLUMNS + 1];
    struct hp_text_table table;
    char title[48];
    enum hp_err err = HP_OK;
    print_head(p, kind);
    name_columns(kind, named, title, sizeof title);
    hp_text_table_init(&table, named, p->out, p->options->color, p->options->width);
    for (int pass = 0; pass < 2 && err == HP_OK; pass++) {
        if (pass == 1)
            hp_text_table_begin(&table);
        for (size_t i = first; i < first + n && err == HP_OK; i++) {
            size_t n_parts;
            const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n_parts);
            for (size_t k = 0; k <= n_parts; k++) {
                const struct hp_row *row = k == 0 ? &rows->rows[i] : &parts[k - 1];
                hp_text_table_clear(&table);
                fill(p->tables, kind, row, table.cells);
                if (pass == 0)
                    hp_text_table_measure(&table);
                else
                    hp_text_table_print(&table, hp_number_share(row->v[0], whole(p->tables, kind)));
            }
            if (pass == 1)
                err = print_lines(p, rows->rows[i].item);
        }
    }
    if (err == HP_OK)
        err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    if (err == HP_OK && n < kind->distinct) {
        char more[HP_NUMBER_SIZE];
        hp_number_grouped(more, kind->distinct - n);
        fprintf(p->out, "  … and %s more (--top 0 shows all)\n", more);
    }
    return err;
}

static enum hp_err print_kinds(struct printer *p, struct hp_rows *rows, size_t limit)
{
    hp_rows_keep(rows, p->tables, HP_REPORT_PATHS, limit);
    for (size_t i = 0, n; i < rows->n; i += n) {
        const struct hp_path_kind *kind = hp_tables_kind(p->tables, rows->rows[i].item);
        for (n = 1; i + n < rows->n && hp_tables_kind(p->tables, rows->rows[i + n].item) == kind;)
            n++;
        if (i > 0)
            putc('\n', p->out);
        HP_TRY(print_kind(p, kind, rows, i, n));
    }
    bool failed = p->place.failed || p->exits.failed || p->text.failed || p->cut.failed;
    return failed ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_print_paths(struct hp_tables *tables, const struct hp_report_options *options,
                           size_t limit, struct hp_sources *sources, FILE *out)
{
    struct printer p = {.tables = tables, .options = options, .sources = sources, .out = out};
    struct hp_rows rows;
    HP_TRY(hp_rows_init(&rows, tables, HP_REPORT_PATHS, options->per_thread));
    enum hp_err err = HP_OK;
    if (rows.n == 0)
        fprintf(out, "  (no path was recorded: --profile paths asks for them)\n");
    else
        err = print_kinds(&p, &rows, limit);
    hp_rows_fini(&rows);
    hp_path_lines_fini(&p.lines);
    hp_strbuf_fini(&p.place);
    hp_strbuf_fini(&p.exits);
    hp_strbuf_fini(&p.text);
    hp_strbuf_fini(&p.cut);
    return err;
}
