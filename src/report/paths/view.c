// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/paths/lines.h"
#include "report/text.h"
#include "text/utf8.h"

#include <string.h>

#define SO_FAR     4 /* the value that is the weight of a path and those above it */
#define INDENT     10
#define GAP        2
#define PLACE_MAX  30 /* columns of a line's place, */
#define EXITS_MAX  26 /* and of the ways it was left */
#define LINES_MAX  50 /* of a path; of a longer one the middle is left out, */
#define LINES_TAIL 8  /* and so many are shown of its end */

/* --- For scripts ------------------------------------------------------------------------------ */

static const struct hp_ppath *path_of(const struct hp_field_input *in)
{
    return &in->tables->profile->paths[in->row->item];
}

static const struct hp_path_kind *kind_of(const struct hp_field_input *in)
{
    return hp_tables_kind(in->tables, in->row->item);
}

static struct hp_cell outcomes(const struct hp_field_input *in)
{
    hp_path_outcomes(path_of(in), in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell targets(const struct hp_field_input *in)
{
    if (path_of(in)->targets)
        hp_strbuf_hex(in->buffer, path_of(in)->targets);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static struct hp_cell metric(const struct hp_field_input *in)
{
    return hp_cell_text(hp_metric_name(kind_of(in)->metric));
}

static struct hp_cell event_share(const struct hp_field_input *in)
{
    return hp_cell_fraction(hp_number_share(in->row->v[3], kind_of(in)->events));
}

static void list_lines(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_path_lines lines = {0};
    struct hp_strbuf item = {0};
    if (hp_path_lines_make(&lines, in->tables, in->row->item) != HP_OK)
        in->buffer->failed = true;
    for (size_t i = 0; i < lines.n; i++) {
        if (!*lines.lines[i].file)
            continue;
        hp_strbuf_clear(&item);
        hp_strbuf_add(&item, lines.lines[i].file);
        hp_strbuf_add(&item, ":");
        hp_strbuf_uint(&item, lines.lines[i].line);
        hp_list_text(list, hp_strbuf_text(&item));
    }
    in->buffer->failed |= item.failed;
    hp_strbuf_fini(&item);
    hp_path_lines_fini(&lines);
}

static void list_blocks(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(in->tables, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_place(list, in->tables->profile->blocks[steps[i].block].place);
}

static void list_ways(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(in->tables, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_text(list, hp_step_name(steps[i].how));
}

static const struct hp_field fields[] = {
    {"kind", "control register that found it ([paths.md](paths.md))", HP_COLUMN},
    {"start", "address of its first instruction", HP_PLACE("")},
    {"length", "recorded branches", HP_COLUMN},
    {"outcomes", "of these, first branch first: 0 not taken, 1 taken", .get = outcomes},
    {"targets",
     "tells apart paths whose indirect branches went elsewhere; empty where that does not matter",
     .get = targets},
    {"count", "executions", HP_COUNTED(1)},
    {"instructions", "executed along it, over all executions", HP_COUNTED(2)},
    {"share", "of `instructions` in all of them", HP_SHARE(2)},
    {"metric", "what events are", .get = metric},
    {"events", "of the metric: executions unless `--metric` says otherwise", HP_COUNTED(3)},
    {"event_share", "of the events of all paths of its kind", .get = event_share},
    {"function", "that it starts in", HP_COLUMN},
    {"lines", "source lines along it in order, \"file:line\", none repeated that goes on",
     .list = list_lines},
    {"blocks", "addresses of its blocks", .list = list_blocks},
    {"ways",
     "how each block was left: `fell`, `taken`, `called` (it goes on behind the call), `entered` "
     "(it follows the call), `returned`, `end`",
     .list = list_ways},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

struct printer {
    const struct hp_text *text;
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_sources *sources;
    FILE *out;
    const struct hp_path_kind *kind;
    struct hp_path_lines lines;
    struct hp_strbuf place, exits, line, cut;
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

static double fill(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cells)
{
    const struct printer *printer = in->context;
    const struct hp_tables *tables = in->tables;
    const struct hp_path_kind *kind = printer->kind;
    const struct hp_profile *p = tables->profile;
    const struct hp_ppath *path = &p->paths[row->item];
    double share = hp_number_share(row->v[0], whole(tables, kind));
    hp_strbuf_percent(&cells[0], share);
    if (row->thread == HP_PROFILE_NONE)
        hp_strbuf_percent(&cells[1], hp_number_share(row->v[SO_FAR], whole(tables, kind)));
    struct hp_strbuf *cell = &cells[2];
    if (kind->by_events)
        hp_strbuf_human(cell++, row->v[3]);
    hp_strbuf_human(cell++, row->v[1]);
    hp_put_each(row->v[2], row->v[1], cell++);
    if (hp_put_thread(row, cell + 1))
        return share;
    hp_strbuf_uint(cell++, path->length);
    hp_put_function(tables, path->function, cell++);
    size_t n;
    const struct hp_pstep *steps = hp_tables_steps(tables, row->item, &n);
    uint32_t line = n ? tables->block_lines[steps[0].block] : HP_PROFILE_NONE;
    if (line != HP_PROFILE_NONE)
        hp_put_where(tables, p->lines[line].file, p->lines[line].line, path->start.module, cell);
    else
        hp_put_code(tables, HP_PROFILE_NONE, path->start, cell);
    return share;
}

/* --- Its lines -------------------------------------------------------------------------------- */

/* "file.c:12"; without that "+0x1c" in the function that the line before was in (the first: that of
 * the path's row), else with the function's name. */
static void put_line_place(struct printer *p, size_t i)
{
    const struct hp_profile *profile = p->tables->profile;
    const struct hp_path_line *line = &p->lines.lines[i];
    const struct hp_pblock *block = &profile->blocks[line->block];
    uint32_t before = i ? profile->blocks[line[-1].block].function
                        : profile->paths[p->lines.steps->path].function;
    hp_strbuf_clear(&p->place);
    hp_strbuf_clear(&p->line);
    if (*line->file) {
        hp_put_source_place(hp_base_name(line->file), line->line, &p->place);
        if (line->to) {
            hp_strbuf_add(&p->place, "-");
            hp_strbuf_uint(&p->place, line->to);
        }
        return;
    }
    hp_put_code(p->tables, block->function, block->place, &p->place);
    hp_put_code(p->tables, HP_PROFILE_NONE, block->place, &p->line);
    bool named = strcmp(hp_strbuf_text(&p->place), hp_strbuf_text(&p->line)) != 0;
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
        hp_strbuf_clear(&p->line);
        hp_put_exit(p->tables, &p->lines, line->first_exit + i, &p->line);
        if (p->exits.length && p->line.length)
            hp_strbuf_add(&p->exits, " ");
        hp_strbuf_add(&p->exits, hp_strbuf_text(&p->line));
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
    hp_strbuf_clear(&p->line);
    if (!*line->file) {
        hp_put_code(p->tables, HP_PROFILE_NONE, blocks[line->block].place, &p->line);
        if (strcmp(hp_strbuf_text(&p->line), hp_strbuf_text(&p->place)) == 0)
            hp_strbuf_clear(&p->line);
        return;
    }
    if (entered) {
        hp_put_function(p->tables, function, &p->line);
        hp_strbuf_add(&p->line, ": ");
    }
    if (source)
        hp_put_source(source, length, &p->line);
    else if (*line->inlined)
        hp_strbuf_clean(&p->line, line->inlined);
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
    if (p->line.length) {
        fprintf(p->out, "%*s", (int)room, "");
        print_cell(p, &p->line, left, HP_CUT_END);
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

static enum hp_err print_lines(const struct hp_text *text, const struct hp_row *row)
{
    struct printer *p = text->context;
    size_t places = 0, exits = 0;
    HP_TRY(hp_path_lines_make(&p->lines, p->tables, row->item));
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
    hp_strbuf_clear(&p->line);
    hp_strbuf_clean(&p->line, kind->name);
    bool color = p->options->color;
    fprintf(p->out, "%s%s%s: %s path%s, executed %s time%s: %s of the instructions",
            hp_text_bold(color), hp_strbuf_text(&p->line), hp_text_plain(color), distinct,
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

static enum hp_err print_kind(struct printer *p, const struct hp_rows *rows)
{
    struct hp_column named[HP_TEXT_COLUMNS + 1];
    struct hp_text text = *p->text;
    char title[48];
    text.context = p;
    p->kind = hp_tables_kind(p->tables, rows->rows[0].item);
    print_head(p, p->kind);
    name_columns(p->kind, named, title, sizeof title);
    HP_TRY(hp_print_rows(&text, &hp_view_paths, named, rows, print_lines));
    hp_print_more(p->out, p->kind->distinct - rows->n);
    return HP_OK;
}

static enum hp_err print_kinds(struct printer *p, const struct hp_rows *rows)
{
    for (size_t i = 0, n; i < rows->n; i += n) {
        struct hp_rows of_kind = *rows;
        of_kind.rows += i;
        of_kind.n = n = hp_rows_of_list(rows, p->tables, &hp_view_paths, i);
        if (i > 0)
            putc('\n', p->out);
        HP_TRY(print_kind(p, &of_kind));
    }
    bool failed = p->place.failed || p->exits.failed || p->line.failed || p->cut.failed;
    return failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct printer p = {.text = text,
                        .tables = text->tables,
                        .options = text->options,
                        .sources = text->sources,
                        .out = text->out};
    for (size_t i = 0; i < rows->n; i++) { /* how much it and those above it come to */
        bool same = i > 0 && hp_rows_same_list(text->tables, &hp_view_paths, rows->rows[i - 1].item,
                                               rows->rows[i].item);
        uint64_t before = same ? rows->rows[i - 1].v[SO_FAR] : 0;
        rows->rows[i].v[SO_FAR] = hp_saturating_add(before, rows->rows[i].v[0]);
    }
    hp_rows_keep(rows, text->tables, &hp_view_paths, limit);
    enum hp_err err = print_kinds(&p, rows);
    hp_path_lines_fini(&p.lines);
    hp_strbuf_fini(&p.place);
    hp_strbuf_fini(&p.exits);
    hp_strbuf_fini(&p.line);
    hp_strbuf_fini(&p.cut);
    return err;
}

/* --- The view --------------------------------------------------------------------------------- */

/* By the events of the metric where that is one of the machine. */
static void weigh(const struct hp_tables *tables, struct hp_row *row)
{
    if (hp_tables_kind(tables, row->item)->by_events)
        row->v[0] = row->v[3];
}

static int compare(const struct hp_profile *p, uint32_t a, uint32_t b)
{
    return hp_place_compare(p->paths[a].start, p->paths[b].start);
}

static bool same_kind(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    return hp_tables_kind(tables, a) == hp_tables_kind(tables, b);
}

static bool is_there(const struct hp_profile *profile)
{
    return profile->n_paths > 0;
}

const struct hp_view hp_view_paths = {
    .name = "paths",
    .help = "hot paths, with their source lines",
    .title = "Paths",
    .each = "path that was executed, with its lines",
    .order = "kind, then `instructions` (`events` for a metric of the machine), then `start`",
    .empty = "no path was recorded: --profile paths asks for them",
    .overview = true,
    .is_there = is_there,
    .item = HP_ROW_PATH,
    .counter = HP_ROW_PATH_COUNT,
    .values = {"instructions", "count", "instructions", "events"},
    .adjust = weigh,
    .by_thread = true,
    .compare = compare,
    .same_list = same_kind,
    .fields = fields,
    .fill = fill,
    .print = print,
    .top = HP_REPORT_PATHS_TOP,
};
