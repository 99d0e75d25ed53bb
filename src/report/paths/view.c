// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/fields.h"
#include "report/paths/label.h"
#include "report/paths/lines.h"
#include "report/paths/time.h"
#include "report/text.h"
#include "text/short_name.h"

#define SO_FAR     4 /* the value that is the weight of a path and those above it */
#define INDENT     10
#define PLACE_MAX  30  /* columns of a line's place, */
#define EXITS_MAX  26  /* and of the ways it was left */
#define TEXT_MAX   200 /* and of its text where the width is not limited */
#define LINES_MAX  50  /* of a path; of a longer one the middle is left out, */
#define LINES_TAIL 8   /* and so many are shown of its end */

/* --- For scripts ------------------------------------------------------------------------------ */

enum {
    OUTCOMES,
    TARGETS,
    METRIC,
    EVENT_SHARE,
    RANK,
    WRITTEN_IN,
    LABEL,
    UNLIKE,
    PARTS,
    MISPREDICTS
};

static struct hp_cell cell(const struct hp_field_input *in)
{
    const struct hp_ppath *path = &in->tables->profile->paths[in->row->item];
    const struct hp_path_kind *kind = hp_tables_kind(in->tables, in->row->item);
    uint32_t other, step = 0;
    double rate;
    switch (in->field->value) {
    case OUTCOMES: hp_path_outcomes(path, in->buffer); break;
    case TARGETS:
        if (path->targets)
            hp_strbuf_hex(in->buffer, path->targets);
        break;
    case METRIC: return hp_cell_text(hp_metric_name(kind->metric));
    case RANK: return hp_cell_number(in->tables->differences[in->row->item].rank);
    case WRITTEN_IN:
        if (path->function != HP_PROFILE_NONE)
            hp_put_path_function(in->tables, in->row->item, in->buffer);
        break;
    case LABEL: hp_put_path_lines(in->tables, in->row->item, true, in->buffer); break;
    case UNLIKE:
        other = in->tables->differences[in->row->item].path;
        return other == HP_PROFILE_NONE ? hp_cell_none()
                                        : hp_cell_number(in->tables->differences[other].rank);
    case PARTS: hp_put_difference(in->tables, in->row->item, true, in->buffer); break;
    case MISPREDICTS:
        if (hp_path_mispredicted(in->tables, in->row->item, &step, &rate))
            hp_put_step_line(in->tables, in->row->item, step, true, in->buffer);
        break;
    case EVENT_SHARE: return hp_cell_fraction(hp_number_share(in->row->v[3], kind->events));
    }
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static void list_lines(const struct hp_field_input *in, struct hp_list *list)
{
    struct hp_path_lines lines HP_CLEANUP(hp_path_lines_fini) = {0};
    struct hp_strbuf item HP_CLEANUP(hp_strbuf_fini) = {0};
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
}

static void list_ways(const struct hp_field_input *in, struct hp_list *list)
{
    size_t n;
    const struct hp_pstep *steps =
        hp_items(in->tables->profile, HP_ROW_PATH_STEP, in->row->item, &n);
    for (size_t i = 0; i < n; i++)
        hp_list_text(list, hp_step_name(steps[i].how));
}

#define TIME(k) .get = hp_path_time_cell, .value = (k), .needs = HP_ROW_PATH_TIME

static const struct hp_field fields[] = {
    {"kind", "control register that found it ([paths.md](paths.md))", HP_COLUMN},
    {"start", "address of its first instruction", HP_PLACE("")},
    {"length", "recorded branches", HP_COLUMN},
    {"outcomes", "of these, first branch first: 0 not taken, 1 taken", .get = cell,
     .value = OUTCOMES},
    {"targets",
     "tells apart paths whose indirect branches went elsewhere; empty where that does not matter",
     .get = cell, .value = TARGETS},
    {"count", "executions", HP_COUNTED(1)},
    {"instructions", "executed along it, over all executions", HP_COUNTED(2)},
    {"share", "of `instructions` in all of them", HP_SHARE(2)},
    {"metric", "what events are", .get = cell, .value = METRIC},
    {"events", "of the metric: executions unless `--metric` says otherwise", HP_COUNTED(3)},
    {"event_share", "of the events of all paths of its kind", .get = cell, .value = EVENT_SHARE},
    {"measured",
     "executions that a machine in cycles measured from begin to end; null, as the next four: none",
     TIME(HP_PATH_MEASURED)},
    {"cycles", "in these", TIME(HP_PATH_CYCLES)},
    {"cycles_each", "in one of these", TIME(HP_PATH_EACH)},
    {"cpi", "`cycles` an instruction", TIME(HP_PATH_CPI)},
    {"cycle_share", "of the `cycles` of all paths of its kind", TIME(HP_PATH_CYCLE_SHARE)},
    {"causes", "`cycles` by cause", .list = hp_path_time_causes, .list_kind = HP_LIST_NAMED,
     .member = hp_cause_at, .needs = HP_ROW_PATH_TIME},
    {"function", "that it starts in", HP_COLUMN},
    {"rank", "among all paths of its kind, by weight, from 1", .get = cell, .value = RANK},
    {"written_in", "function that has it in its source, inlined or not", .get = cell,
     .value = WRITTEN_IN},
    {"label", "lines of its branches in that function: \"/a/hash.c:12→14→19\"", .get = cell,
     .value = LABEL},
    {"unlike",
     "`rank` of the heavier path with the same start that it shares most with; null: none",
     .get = cell, .value = UNLIKE},
    {"parts", "where it leaves that one, and how: \"/a/hash.c:14 ->\"", .get = cell,
     .value = PARTS},
    {"mispredicts",
     "where its most often mispredicted branch is, as a machine in cycles had it; empty: none",
     .get = cell, .value = MISPREDICTS},
    {"lines", "source lines along it in order, \"file:line\", none repeated that goes on",
     .list = list_lines},
    {"blocks", "addresses of its blocks", .list = hp_list_blocks, .value = HP_ROW_PATH_STEP},
    {"ways",
     "how each block was left: `fell`, `taken`, `called` (it goes on behind the call), `entered` "
     "(it follows the call), `returned`, `end`",
     .list = list_ways},
    {"error",
     "of a profile of samples: half of the 95 % interval, as a fraction of `count`; null: not "
     "known",
     .get = hp_field_error, .value = HP_ROW_PATH_SAMPLES, .needs = HP_ROW_PATH_SAMPLES},
    {0}};

/* --- For people ------------------------------------------------------------------------------- */

struct printer {
    const struct hp_text *in;
    const struct hp_path_kind *kind;
    struct hp_path_lines lines;
    struct hp_strbuf buffer;
    bool said; /* that there are no lines */
};

static void printer_fini(struct printer *p)
{
    hp_path_lines_fini(&p->lines);
    hp_strbuf_fini(&p->buffer);
}

/* --- The row of a path ------------------------------------------------------------------------ */

static void put_so_far(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_path_kind *kind = ((const struct printer *)in->context)->kind;
    hp_strbuf_percent(
        cell, hp_number_share(row->v[SO_FAR],
                              kind->by_events ? kind->events : in->tables->summary.instructions));
}

static void put_length(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    (void)in;
    hp_put_each(row->v[2], row->v[1], cell);
}

static void put_cycles(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    struct hp_path_cycles all = hp_path_cycles_of(in->tables, row->item);
    if (all.count)
        hp_strbuf_add(cell, HP_AMOUNT((double)all.parts / HP_CYCLE_PARTS));
}

static void put_cycles_each(const struct hp_text *in, const struct hp_row *row,
                            struct hp_strbuf *cell)
{
    struct hp_path_cycles all = hp_path_cycles_of(in->tables, row->item);
    if (all.count)
        hp_put_cycles((double)all.parts / HP_CYCLE_PARTS / (double)all.count, cell);
}

static void put_cpi(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    struct hp_path_cycles all = hp_path_cycles_of(in->tables, row->item);
    if (all.insns)
        hp_strbuf_fixed(cell, hp_cpi_of(all.parts, all.insns), 2);
}

static void put_function(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    hp_put_path_function(in->tables, row->item, cell);
}

static void put_along(const struct hp_text *in, const struct hp_row *row, struct hp_strbuf *cell)
{
    const struct hp_tables *tables = in->tables;
    struct hp_place start = tables->profile->paths[row->item].start;
    size_t before = cell->length;
    hp_put_path_lines(tables, row->item, false, cell);
    if (cell->length > before)
        return;
    size_t n;
    const struct hp_pstep *steps = hp_items(tables->profile, HP_ROW_PATH_STEP, row->item, &n);
    const struct hp_pline *line = n ? hp_tables_block_line(tables, steps[0].block) : NULL;
    if (line)
        hp_put_where(tables, line->file, line->line, start.module, cell);
    else
        hp_put_code(tables, HP_PROFILE_NONE, start, cell);
}

enum { SHARE, SO_FAR_SHARE, EVENTS, N_COLUMNS = 12 };
static const struct hp_column columns[N_COLUMNS + 1] = {
    [SHARE] = {"share", .by_thread = true, .right = true, .heat = true},
    [SO_FAR_SHARE] = {"so far", .put = put_so_far, .right = true},
    [EVENTS] = {"events", .right = true},
    {"count", .right = true},
    {"±", .field = "error", .right = true},
    {"instr.", .put = put_length, .by_thread = true, .right = true},
    {"cycles", .put = put_cycles, .field = "cycles", .right = true},
    {"each", .put = put_cycles_each, .field = "cycles_each", .right = true},
    {"CPI", .put = put_cpi, .field = "cpi", .right = true},
    {"branches", .field = "length", .plain = true, .right = true},
    {"function", .put = put_function, .flexible = true, .cut = HP_CUT_NAME},
    {"along", .put = put_along, .flexible = true},
    {0}};

/* --- Its lines -------------------------------------------------------------------------------- */

/* The function that the line before is in; for the first, that of the path's row. */
static uint32_t function_before(const struct printer *p, size_t i)
{
    const struct hp_profile *profile = p->in->tables->profile;
    return i ? profile->blocks[p->lines.lines[i - 1].block].function
             : profile->paths[p->lines.steps->path].function;
}

/* "file.c:12"; else "+0x1c" where the function is that of the line before, else with its name. */
static void put_place(const struct printer *p, size_t i, struct hp_strbuf *cell)
{
    const struct hp_path_line *line = &p->lines.lines[i];
    const struct hp_pblock *block = &p->in->tables->profile->blocks[line->block];
    if (!*line->file) {
        bool same = block->function == function_before(p, i);
        (same ? hp_put_offset : hp_put_code)(p->in->tables, block->function, block->place, cell);
        return;
    }
    hp_put_source_place(hp_base_name(line->file), line->line, cell);
    if (line->to)
        hp_strbuf_format(cell, "-%u", line->to);
}

static void put_exits(struct printer *p, const struct hp_path_line *line, struct hp_strbuf *cell)
{
    for (uint32_t k = 0; k < line->n_exits; k++) {
        hp_strbuf_clear(&p->buffer);
        hp_put_exit(p->in->tables, &p->lines, line->first_exit + k, &p->buffer);
        hp_strbuf_add(cell, cell->length && p->buffer.length ? " " : "");
        const char *exit = hp_strbuf_text(&p->buffer);
        size_t before = strncmp(exit, "call ", 5) == 0 ? 5 : 0;
        if (before && p->in->options->width > 0 && !p->in->options->full_names) {
            hp_strbuf_bytes(cell, exit, before);
            hp_short_name(cell, exit + before, EXITS_MAX - before);
        } else {
            hp_strbuf_add(cell, exit);
        }
    }
}

/* The source text; without it the function, where it is not that of the line before, or the
 * address, where it is not the place. */
static void put_text(const struct printer *p, size_t i, const char *place, struct hp_strbuf *text)
{
    const struct hp_path_line *line = &p->lines.lines[i];
    const struct hp_pblock *block = &p->in->tables->profile->blocks[line->block];
    size_t length;
    if (!*line->file) {
        hp_put_code(p->in->tables, HP_PROFILE_NONE, block->place, text);
        if (strcmp(hp_strbuf_text(text), place) == 0)
            hp_strbuf_clear(text);
        return;
    }
    if (i > 0 && block->function != function_before(p, i)) {
        hp_put_function(p->in->tables, block->function, text);
        hp_strbuf_add(text, ": ");
    }
    const char *source = hp_sources_line(p->in->sources, line->file, line->line, &length);
    if (source)
        hp_put_source(source, length, text);
    else
        hp_strbuf_clean(text, line->inlined);
}

static const struct hp_column line_columns[] = {{"", .most = PLACE_MAX},
                                                {"", .most = EXITS_MAX, .bold = true},
                                                {"", .flexible = true, .cut = HP_CUT_END},
                                                {0}};

static double fill_line(void *context, size_t row, struct hp_strbuf *cells)
{
    struct printer *p = context;
    bool tail = p->lines.n > LINES_MAX && row >= LINES_MAX - LINES_TAIL;
    size_t i = tail ? p->lines.n - LINES_MAX + row : row;
    put_place(p, i, &cells[0]);
    put_exits(p, &p->lines.lines[i], &cells[1]);
    hp_strbuf_clear(&p->buffer);
    put_text(p, i, hp_strbuf_text(&cells[0]), &p->buffer);
    hp_strbuf_cut(&cells[2], hp_strbuf_text(&p->buffer),
                  p->in->options->width > 0 ? SIZE_MAX : TEXT_MAX, HP_CUT_END);
    cells[2].failed |= p->buffer.failed;
    return 0;
}

static enum hp_err print_left_out(void *context, size_t row)
{
    const struct printer *p = context;
    if (p->lines.n > LINES_MAX && row == LINES_MAX - LINES_TAIL - 1)
        fprintf(p->in->out, "%*s… %zu more lines …\n", INDENT, "", p->lines.n - LINES_MAX);
    return HP_OK;
}

/* Whether there is nothing to be said of a line but its number. */
static bool is_bare(const struct hp_text *in, const struct hp_path_line *line)
{
    size_t length;
    return *line->file && !hp_sources_line(in->sources, line->file, line->line, &length);
}

/* Whether `next`, a line of the same function, comes after one where nothing was decided. */
static bool goes_on(const struct hp_text *in, const struct hp_path_line *line,
                    const struct hp_path_line *next)
{
    const struct hp_pblock *blocks = in->tables->profile->blocks;
    return line->n_exits == 0 && strcmp(line->file, next->file) == 0 &&
           strcmp(line->inlined, next->inlined) == 0 &&
           blocks[line->block].function == blocks[next->block].function;
}

/* Lines that are only numbers are joined, up to the next branch: the range that they are in. */
static void join_bare_lines(const struct hp_text *in, struct hp_path_lines *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < lines->n; i++) {
        struct hp_path_line *last = n ? &lines->lines[n - 1] : NULL;
        const struct hp_path_line *line = &lines->lines[i];
        if (!last || !is_bare(in, last) || !is_bare(in, line) || !goes_on(in, last, line)) {
            lines->lines[n++] = *line;
            continue;
        }
        uint32_t end = last->to ? last->to : last->line;
        last->to = line->line > end ? line->line : end;
        last->line = line->line < last->line ? line->line : last->line;
        last->first_exit = line->first_exit;
        last->n_exits = line->n_exits;
    }
    lines->n = n;
}

/* "as path 1, but hash.c:14 ->", "memory 45.0%, retire 30.1%", "mispredicts 12.0% at hash.c:19" */
static enum hp_err print_remarks(const struct hp_text *in, uint32_t path)
{
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    struct hp_strbuf causes HP_CLEANUP(hp_strbuf_fini) = {0};
    uint32_t other = in->tables->differences[path].path, step = 0;
    double rate;
    if (other != HP_PROFILE_NONE) {
        hp_strbuf_format(&line, "%*sas path %" PRIu32 ", but ", INDENT, "",
                         in->tables->differences[other].rank);
        hp_put_difference(in->tables, path, false, &line);
        HP_TRY(hp_print_line(&line, in->options, in->out));
    }
    hp_put_path_causes(in->tables, path, &causes);
    if (causes.length) {
        hp_strbuf_format(&line, "%*scycles: %s", INDENT, "", hp_strbuf_text(&causes));
        HP_TRY(hp_print_line(&line, in->options, in->out));
    }
    if (!hp_path_mispredicted(in->tables, path, &step, &rate))
        return HP_OK;
    hp_strbuf_format(&line, "%*smispredicts %s at ", INDENT, "", HP_PERCENT(rate));
    hp_put_step_line(in->tables, path, step, false, &line);
    return hp_print_line(&line, in->options, in->out);
}

static enum hp_err print_lines(const struct hp_text *in, const struct hp_row *row)
{
    struct printer *p = in->context;
    HP_TRY(print_remarks(in, row->item));
    HP_TRY(hp_path_lines_make(&p->lines, in->tables, row->item));
    join_bare_lines(in, &p->lines);
    if (p->lines.n == 0 && !p->said)
        fprintf(in->out, "%*s(only the heaviest paths are kept with their lines)\n", INDENT, "");
    p->said |= p->lines.n == 0;
    return hp_text_rows_print(
        &(struct hp_text_rows){.columns = line_columns,
                               .out = in->out,
                               .color = in->options->color,
                               .width = in->options->width,
                               .indent = INDENT,
                               .n = p->lines.n < LINES_MAX ? p->lines.n : LINES_MAX,
                               .fill = fill_line,
                               .below = print_left_out,
                               .context = p});
}

/* --- A kind ----------------------------------------------------------------------------------- */

/* "bl: 2,109 paths, executed 50,787 times, 99.9% of the instructions" */
static void print_head(const struct hp_text *text, struct printer *p)
{
    const struct hp_path_kind *kind = p->kind;
    bool color = text->options->color;
    hp_strbuf_clear(&p->buffer);
    hp_strbuf_clean(&p->buffer, kind->name);
    fprintf(text->out, "%s%s%s: %s path%s, executed %s time%s: %s of the instructions",
            hp_text_bold(color), hp_strbuf_text(&p->buffer), hp_text_plain(color),
            HP_GROUPED(kind->distinct), kind->distinct == 1 ? "" : "s", HP_GROUPED(kind->count),
            kind->count == 1 ? "" : "s",
            HP_PERCENT(hp_number_share(kind->insns, text->tables->summary.instructions)));
    if (kind->by_events)
        fprintf(text->out, ", %s %s", HP_GROUPED(kind->events), hp_metric_title(kind->metric));
    if (kind->timed)
        fprintf(text->out, "; CPI %.2f", hp_cpi_of(kind->parts, kind->timed));
    fprintf(text->out, "\n  -> a branch was taken   . it was not\n\n");
}

/* Where paths are weighed by events the metric's name stands for "share". */
static enum hp_err print_kind(const struct hp_text *text, struct hp_rows *rows)
{
    struct printer *p = text->context;
    struct hp_column named[N_COLUMNS + 1];
    char title[48];
    p->kind = hp_tables_kind(text->tables, rows->rows[0].item);
    print_head(text, p);
    memcpy(named, columns, sizeof named);
    named[EVENTS].hidden = !p->kind->by_events;
    if (p->kind->by_events) {
        snprintf(title, sizeof title, "%s %%", hp_metric_name(p->kind->metric));
        named[SHARE].title = title;
        named[SHARE].field = "event_share";
        named[EVENTS].title = hp_metric_name(p->kind->metric);
        named[EVENTS].field = "events";
    }
    HP_TRY(hp_print_rows(text, &hp_view_paths, named, rows));
    hp_print_more(text->out, rows->n_left_out);
    return p->buffer.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print(const struct hp_text *text, struct hp_rows *rows, size_t limit)
{
    struct printer p HP_CLEANUP(printer_fini) = {.in = text};
    struct hp_text with = *text;
    with.context = &p;
    HP_TRY(hp_paths_compare(text->tables));
    for (size_t i = 0; i < rows->n; i++) { /* how much it and those above it come to */
        bool same = i > 0 && rows->rows[i - 1].list == rows->rows[i].list;
        uint64_t before = same ? rows->rows[i - 1].v[SO_FAR] : 0;
        rows->rows[i].v[SO_FAR] = hp_saturating_add(before, rows->rows[i].v[0]);
    }
    return hp_print_lists(&with, rows, limit, print_kind);
}

/* By the events of the metric where that is one of the machine. */
static void weigh(const struct hp_tables *tables, struct hp_row *row)
{
    if (hp_tables_kind(tables, row->item)->by_events)
        row->v[0] = row->v[3];
}

static bool same_kind(const struct hp_tables *tables, uint32_t a, uint32_t b)
{
    return hp_tables_kind(tables, a) == hp_tables_kind(tables, b);
}

const struct hp_view hp_view_paths = {
    .name = "paths",
    .help = "hot paths, with their source lines",
    .title = "Paths",
    .each = "path that was executed, with its lines",
    .order = "kind, then `instructions` (`events` for a metric of the machine), then `start`",
    .empty = "no path was recorded: --profile paths asks for them",
    .overview = true,
    .there = {HP_ROW_PATH},
    .item = HP_ROW_PATH,
    .counter = HP_ROW_PATH_COUNT,
    .values = {"instructions", "count", "instructions", "events"},
    .adjust = weigh,
    .by_thread = true,
    .prepare = hp_paths_compare,
    .same_list = same_kind,
    .fields = fields,
    .print = print,
    .below = print_lines,
    .top = HP_REPORT_PATHS_TOP,
};
