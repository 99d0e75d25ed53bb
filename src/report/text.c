// SPDX-License-Identifier: MIT
#include "report/text.h"

#include "base/base.h"
#include "report/fields.h"
#include "report/query/query.h"
#include "report/syscalls/syscalls.h"
#include "text/short_name.h"
#include "text/utf8.h"

#define WRAP_COLUMNS 100 /* of a sentence where the width is not limited */
#define NAME_COLUMNS 60  /* of the function in the first line, and of where it is */

/* --- Lines ------------------------------------------------------------------------------------ */

enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out)
{
    struct hp_strbuf cut HP_CLEANUP(hp_strbuf_fini) = {0};
    size_t width = options->width > 0 ? (size_t)options->width : SIZE_MAX;
    hp_strbuf_cut(&cut, hp_strbuf_text(text), width, HP_CUT_END);
    fprintf(out, "%s\n", hp_strbuf_text(&cut));
    hp_strbuf_clear(text);
    return text->failed || cut.failed ? hp_fail_nomem() : HP_OK;
}

/* As many words a line as there is room for, at least one. The first line has `column` columns. */
static void print_words(const char *at, size_t column, size_t indent,
                        const struct hp_report_options *options, FILE *out)
{
    size_t width = options->width > 0 ? (size_t)options->width : WRAP_COLUMNS;
    while (*at) {
        size_t room = width > column + 20 ? width - column : 20, end = 0, columns = 0;
        while (at[end]) {
            size_t n = strcspn(at + end + (at[end] == ' '), " ") + (at[end] == ' ');
            struct hp_strbuf word HP_CLEANUP(hp_strbuf_fini) = {0};
            hp_strbuf_bytes(&word, at + end, n);
            size_t more = hp_utf8_width(hp_strbuf_text(&word));
            if (end > 0 && columns + more > room)
                break;
            columns += more;
            end += n;
        }
        fprintf(out, "%.*s\n", (int)end, at);
        at += end;
        at += strspn(at, " ");
        fprintf(out, "%*s", *at ? (int)indent : 0, "");
        column = indent;
    }
}

enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out)
{
    fprintf(out, "%*s", text->length ? (int)indent : 0, "");
    print_words(hp_strbuf_text(text), indent, indent, options, out);
    hp_strbuf_clear(text);
    return text->failed ? hp_fail_nomem() : HP_OK;
}

void hp_print_more(FILE *out, size_t more)
{
    if (more > 0)
        fprintf(out, "  … and %s more (--top 0 shows all)\n", HP_GROUPED(more));
}

/* --- What was run ----------------------------------------------------------------------------- */

/* ", 59.5% of them in main (sample.c:73)": where most of the run went. Nothing where it is not
 * known. */
static enum hp_err put_hottest(struct hp_strbuf *text, const struct hp_tables *tables,
                               size_t columns)
{
    const struct hp_profile *p = tables->profile;
    uint64_t *self HP_CLEANUP(hp_free) = NULL;
    uint32_t most = 0;
    HP_TRY(hp_new(&self, p->n_functions + 1, sizeof *self));
    for (size_t i = 0; i < p->n_function_counts; i++)
        hp_add_up(&self[p->function_counts[i].item], p->function_counts[i].self);
    for (uint32_t i = 0; i < p->n_functions; i++)
        most = self[i] > self[most] ? i : most;
    if (self[most] == 0)
        return HP_OK;
    const struct hp_pfunction *f = &p->functions[most];
    struct hp_strbuf name HP_CLEANUP(hp_strbuf_fini) = {0}, where HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_put_function(tables, most, &name);
    hp_put_where(tables, f->file, f->line, f->place.module, &where);
    hp_strbuf_format(text, ", %s in ",
                     HP_PERCENT(hp_number_share(self[most], tables->summary.instructions)));
    hp_short_name(text, hp_strbuf_text(&name), columns);
    hp_strbuf_add(text, " (");
    hp_strbuf_cut(text, hp_strbuf_text(&where), columns, HP_CUT_MIDDLE);
    hp_strbuf_add(text, ")");
    return name.failed || where.failed ? hp_fail_nomem() : HP_OK;
}

/* How long it took, what it executed, where most of that went; what was unusual. */
static enum hp_err put_result(struct hp_strbuf *text, const struct hp_tables *tables,
                              size_t columns)
{
    const struct hp_run *run = &tables->profile->run;
    uint64_t n = tables->summary.instructions;
    hp_strbuf_format(text, "%s s, %s instruction%s", HP_FIXED(run->seconds, 2), HP_GROUPED(n),
                     n == 1 ? "" : "s");
    HP_TRY(put_hottest(text, tables, columns));
    if (run->exit_status)
        hp_strbuf_format(text, ", exit status %d", run->exit_status);
    if (run->runs > 1)
        hp_strbuf_format(text, ", %s runs", HP_GROUPED(run->runs));
    return HP_OK;
}

/* The command, and behind it, or below where there is no room, what came of it. */
static enum hp_err print_run(const struct hp_text *p)
{
    const struct hp_run *run = &p->tables->profile->run;
    struct hp_strbuf command HP_CLEANUP(hp_strbuf_fini) = {0}, how HP_CLEANUP(hp_strbuf_fini) = {0},
                             shown HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_put_command(&command, run->command);
    size_t limit = p->options->width > 0 ? (size_t)p->options->width : SIZE_MAX;
    HP_TRY(put_result(&how, p->tables, limit / 2 < NAME_COLUMNS ? limit / 2 : NAME_COLUMNS));
    hp_strbuf_cut(&shown, hp_strbuf_text(&command), limit > 30 ? limit - 9 : 21, HP_CUT_MIDDLE);
    size_t used = 9 + hp_utf8_width(hp_strbuf_text(&shown)) + 4;
    size_t room = limit == SIZE_MAX ? 100 : limit;
    bool one_line = used + hp_utf8_width(hp_strbuf_text(&how)) <= room;
    bool color = p->options->color;
    fprintf(p->out, "%shotpath: %s%s%s", hp_text_bold(color), hp_strbuf_text(&shown),
            hp_text_plain(color), one_line ? "    " : "\n");
    if (one_line)
        fprintf(p->out, "%s\n", hp_strbuf_text(&how));
    else
        HP_TRY(hp_print_wrapped(&how, 2, p->options, p->out));
    return command.failed || how.failed || shown.failed ? hp_fail_nomem() : HP_OK;
}

static void print_total(FILE *out, const char *before, uint64_t n, const char *what,
                        const char *plural)
{
    fprintf(out, "%s%s %s%s", before, HP_GROUPED(n), what, n == 1 ? "" : plural);
}

/* Bytes in MiB, nanoseconds in milliseconds: what they amount to, not every digit. */
static void print_scaled(FILE *out, const char *before, uint64_t n, double unit, const char *name)
{
    double scaled = (double)n / unit;
    fprintf(out, "%s%s%s", before, HP_FIXED(scaled, scaled < 100 ? 1 : 0), name);
}

static double per(uint64_t n, uint64_t of)
{
    return of ? (double)n / (double)of : 0;
}

/* What became of the paths that the engine predicted. */
static void print_traces(const struct hp_text *p, const struct hp_engine_work *work)
{
    const struct hp_profile *profile = p->tables->profile;
    uint64_t instructions = p->tables->summary.instructions;
    size_t full = 0, phase = 0, bailed = 0, hotspots = 0;
    for (size_t i = 0; i < profile->n_traces_events; i++) {
        const char *kind = hp_text(profile->traces_events[i].kind);
        full += strcmp(kind, "full") == 0;
        phase += strcmp(kind, "phase") == 0;
        bailed += strcmp(kind, "bail-out") == 0;
        hotspots += strcmp(kind, "hot-spot") == 0;
    }
    print_total(p->out, "  ", work->traces, "trace", "s");
    fprintf(p->out, " of %s blocks and %s instructions",
            HP_FIXED(per(work->trace_blocks, work->traces), 1),
            HP_FIXED(per(work->trace_insns, work->traces), 1));
    print_scaled(p->out, ", ", work->trace_bytes, 1024, " KiB");
    print_total(p->out, ", ", work->heads, "head", "s");
    print_total(p->out, ", ", work->abandoned, "abandoned", "");
    print_total(p->out, ", ", full + phase, "flush", "es");
    if (full + phase)
        fprintf(p->out, " (%zu full, %zu phase)", full, phase);
    print_total(p->out, ", ", bailed, "bail-out", "s");
    if (work->trace_insns_run && instructions)
        fprintf(p->out, ", %s%% of all instructions in traces",
                HP_FIXED(100 * per(work->trace_insns_run, instructions), 1));
    if (work->trace_entries)
        fprintf(p->out, ", %s%% completed",
                HP_FIXED(100 * per(work->trace_completions, work->trace_entries), 1));
    else if (work->traces)
        fputs(", executions not known", p->out);
    if (hotspots)
        print_total(p->out, ", for ", hotspots, "hot spot", "s");
    putc('\n', p->out);
}

/* What the engine did to run the program: its overhead, apart from what it recorded. */
static enum hp_err print_work(const struct hp_text *p)
{
    const struct hp_run *run = &p->tables->profile->run;
    const struct hp_engine_work *work = &run->work;
    struct hp_strbuf engine HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&engine, hp_text(run->engine));
    fprintf(p->out, "  engine %s, %s", engine.length ? hp_strbuf_text(&engine) : "(unknown)",
            hp_arch_name(run->arch));
    if (!hp_engine_work_known(work)) {
        putc('\n', p->out);
        return engine.failed ? hp_fail_nomem() : HP_OK;
    }
    print_total(p->out, ": ", work->blocks, "block", "s");
    print_total(p->out, " in ", work->segments, "segment", "s");
    print_total(p->out, ", ", work->links, "link", "s");
    print_total(p->out, ", ", work->flushes, "flush", "es");
    print_scaled(p->out, ", translated in ", work->translate_ns, 1e6, " ms");
    print_scaled(p->out, ", code cache ", work->cache_bytes, 1 << 20, " MiB");
    print_scaled(p->out, ", memory ", work->memory_bytes, 1 << 20, " MiB");
    if (work->waited_ns >= 50000000)
        print_scaled(p->out, ", waited ", work->waited_ns, 1e9, " s for the profilers");
    putc('\n', p->out);
    if (work->traces || p->tables->profile->n_traces_events)
        print_traces(p, work);
    return engine.failed ? hp_fail_nomem() : HP_OK;
}

/* Where the time went that no instructions tell of. */
static enum hp_err print_syscalls(const struct hp_text *p)
{
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    HP_TRY(hp_syscalls_sum_up(p->tables, &text));
    return text.length ? hp_print_wrapped(&text, 2, p->options, p->out) : HP_OK;
}

static int by_pid(const void *a, const void *b)
{
    return HP_COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

static enum hp_err count_processes(const struct hp_profile *p, size_t *n)
{
    int64_t *pids HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&pids, p->n_threads + 1, sizeof *pids));
    for (size_t i = 0; i < p->n_threads; i++)
        pids[i] = p->threads[i].pid;
    if (p->n_threads)
        qsort(pids, p->n_threads, sizeof *pids, by_pid);
    *n = 0;
    for (size_t i = 0; i < p->n_threads; i++)
        *n += i == 0 || pids[i] != pids[i - 1];
    return HP_OK;
}

static enum hp_err print_summary(struct hp_text *p)
{
    size_t processes;
    HP_TRY(count_processes(p->tables->profile, &processes));
    HP_TRY(print_run(p));
    const struct hp_summary *summary = &p->tables->summary;
    print_total(p->out, "  ", summary->branches, "branch", "es");
    if (p->options->verbose && (summary->blocks || hp_print_is_counted(p->tables)))
        print_total(p->out, "   ", summary->blocks, "block", "s");
    if (summary->paths)
        print_total(p->out, "   ", summary->paths, "path", "s");
    if (summary->loops)
        print_total(p->out, "   ", summary->loops, "loop", "s");
    if (summary->hotspots)
        print_total(p->out, "   ", summary->hotspots, "hot spot", "s");
    if (processes > 1)
        print_total(p->out, "   ", processes, "process", "es");
    print_total(p->out, "   ", summary->threads, "thread", "s");
    putc('\n', p->out);
    p->printed = true;
    HP_TRY(print_syscalls(p));
    return p->options->verbose ? print_work(p) : HP_OK;
}

/* --- Tables ----------------------------------------------------------------------------------- */

struct table {
    const struct hp_text *text;
    const struct hp_view *view;
    struct hp_column columns[HP_TEXT_COLUMNS + 1];
    struct hp_bound_fields all;
    const struct hp_bound_field *fields[HP_TEXT_COLUMNS]; /* by column; NULL: it has none */
    struct hp_strbuf buffer;
    /* Rows, each followed by its parts; `below`: what stands below this row comes next. */
    struct line {
        const struct hp_row *row, *below;
    } * lines;
};

static void table_fini(struct table *table)
{
    hp_strbuf_fini(&table->buffer);
    free(table->lines);
}

/* Finds the fields that columns show. */
static void bind_columns(struct table *table, const struct hp_column *columns)
{
    hp_fields_bind(&table->all, table->view, table->text->tables);
    for (size_t i = 0; i < HP_TEXT_COLUMNS && columns[i].title; i++) {
        const char *name = columns[i].field ? columns[i].field : columns[i].title;
        table->columns[i] = columns[i];
        if ((columns[i].put && !columns[i].field) || table->view->fill)
            continue;
        const struct hp_bound_field *field = NULL;
        for (size_t k = 0; k < table->all.n && !field; k++)
            if (strcmp(table->all.fields[k].field->name, name) == 0)
                field = &table->all.fields[k];
        table->columns[i].hidden |= !field;
        table->fields[i] = columns[i].put ? NULL : field;
    }
}

/* Returns the share, of one that is. */
static double put_field(const struct hp_column *column, const struct hp_bound_field *field,
                        const struct hp_field_input *in, struct hp_strbuf *cell)
{
    hp_strbuf_clear(in->buffer);
    struct hp_cell value = hp_field_cell(field, in);
    if (column->share)
        value = hp_cell_fraction(hp_number_share(value.number, in->tables->summary.instructions));
    if (column->not_zero && value.number == 0 && value.share == 0)
        return 0;
    bool named = field->field->as == HP_AS_PLACE || field->field->as == HP_AS_NAME ||
                 (field->column && hp_row_is_reference(field->column));
    switch (value.kind) {
    case HP_CELL_TEXT:
        hp_strbuf_clean(cell, *value.text || !named ? value.text : "(unknown)");
        break;
    case HP_CELL_UINT:
        (column->plain ? hp_strbuf_uint : hp_strbuf_human)(cell, value.number);
        break;
    case HP_CELL_INT: hp_strbuf_int(cell, value.integer); break;
    case HP_CELL_SHARE:
        if (!column->ratio)
            hp_strbuf_percent(cell, value.share);
        else if (value.share < 1000)
            hp_strbuf_fixed(cell, value.share, 1);
        else
            hp_strbuf_human(cell, (uint64_t)(value.share < 1e18 ? value.share + 0.5 : 1e18));
        break;
    default: break;
    }
    return value.share;
}

/* Whether a thread has a value of its own. */
static bool is_of_thread(const struct hp_column *column, const struct hp_bound_field *field)
{
    if (!field || column->by_thread)
        return column->by_thread;
    const struct hp_field *f = field->field;
    return f->kind == HP_FIELD_COUNTED || f->from == HP_FROM_VALUE || f->as == HP_AS_SHARE;
}

/* The number of the thread stands where the name of its item does: in the first column that it has
 * no value for and that may be cut. */
static double fill_row(void *context, size_t i, struct hp_strbuf *cells)
{
    struct table *table = context;
    const struct hp_row *row = table->lines[i].row;
    struct hp_field_input in = {
        .tables = table->text->tables, .row = row, .buffer = &table->buffer};
    bool named = row->thread == HP_PROFILE_NONE;
    double heat = 0;
    if (table->view->fill)
        return table->view->fill(table->text, row, cells);
    for (size_t k = 0; table->columns[k].title; k++) {
        const struct hp_column *column = &table->columns[k];
        const struct hp_bound_field *field = table->fields[k];
        if (row->thread != HP_PROFILE_NONE && !is_of_thread(column, field)) {
            if (!named && column->flexible)
                hp_strbuf_format(&cells[k], "  thread %u", row->thread);
            named |= column->flexible;
            continue;
        }
        double share = field ? put_field(column, field, &in, &cells[k]) : 0;
        if (column->put)
            column->put(table->text, row, &cells[k]);
        heat = column->heat ? share : heat;
    }
    cells->failed |= table->buffer.failed;
    return heat;
}

static enum hp_err print_below(void *context, size_t i)
{
    const struct table *table = context;
    const struct hp_row *below = table->lines[i].below;
    return below ? table->view->below(table->text, below) : HP_OK;
}

/* Lists rows and parts; returns how many. */
static size_t list_rows(struct table *table, const struct hp_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        size_t n_parts;
        const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n_parts);
        table->lines[n++].row = &rows->rows[i];
        for (size_t k = 0; k < n_parts; k++)
            table->lines[n++].row = &parts[k];
        table->lines[n - 1].below = &rows->rows[i];
    }
    return n;
}

enum hp_err hp_print_rows(const struct hp_text *text, const struct hp_view *view,
                          const struct hp_column *columns, const struct hp_rows *rows)
{
    struct table table HP_CLEANUP(table_fini) = {.text = text, .view = view};
    HP_TRY(hp_new(&table.lines, rows->n + rows->n_parts + 1, sizeof *table.lines));
    bind_columns(&table, columns ? columns : view->columns);
    return hp_text_rows_print(&(struct hp_text_rows){.columns = table.columns,
                                                     .out = text->out,
                                                     .color = text->options->color,
                                                     .width = text->options->width,
                                                     .full_names = text->options->full_names,
                                                     .n = list_rows(&table, rows),
                                                     .fill = fill_row,
                                                     .below = view->below ? print_below : NULL,
                                                     .context = &table});
}

enum hp_err hp_print_list(const struct hp_text *text, const struct hp_view *view,
                          struct hp_rows *rows, size_t limit)
{
    hp_rows_keep(rows, limit);
    HP_TRY(hp_print_rows(text, view, NULL, rows));
    hp_print_more(text->out, rows->n_left_out);
    return HP_OK;
}

enum hp_err hp_print_lists(const struct hp_text *text, struct hp_rows *rows, size_t limit,
                           enum hp_err (*print)(const struct hp_text *text, struct hp_rows *list))
{
    for (size_t i = 0, n; i < rows->n; i += n) {
        struct hp_rows list = *rows;
        list.rows += i;
        for (n = 1; i + n < rows->n && list.rows[n].list == list.rows->list;)
            n++;
        list.n = n;
        hp_rows_keep(&list, limit);
        rows->n_left_out += list.n_left_out;
        if (i > 0)
            putc('\n', text->out);
        HP_TRY(print(text, &list));
    }
    return HP_OK;
}

static enum hp_err print_view(struct hp_text *p, const struct hp_view *view, bool titled)
{
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    bool color = p->options->color;
    if (p->printed)
        putc('\n', p->out);
    p->printed = true;
    if (titled)
        fprintf(p->out, "%s%s%s\n", hp_text_bold(color), view->title, hp_text_plain(color));
    HP_TRY(hp_rows_init(&rows, p->tables, view, p->options->per_thread));
    size_t limit = hp_print_limit(p->options, view);
    if (rows.n > 0)
        HP_TRY(view->print ? view->print(p, &rows, limit) : hp_print_list(p, view, &rows, limit));
    size_t chosen = rows.n + rows.n_left_out;
    if (p->tables->query)
        hp_print_query_out(p->tables->query->words, chosen + rows.n_asked_out, chosen, p->out);
    if (chosen > 0 || p->tables->query)
        return HP_OK;
    bool known = view->there[0] || view->is_there || hp_print_is_counted(p->tables);
    fprintf(p->out, "  (%s)\n", known ? view->empty : "not counted: --profile exact asks for it");
    return HP_OK;
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* `text` may come from the profile; `count` is said when it is above 1. A terminal gets whole words
 * in each line. */
static enum hp_err print_note(const struct hp_text *p, bool first, const char *text, uint64_t count)
{
    struct hp_strbuf line HP_CLEANUP(hp_strbuf_fini) = {0};
    bool color = p->options->color;
    hp_strbuf_clean(&line, text);
    if (count > 1)
        hp_strbuf_format(&line, " (%s times)", HP_GROUPED(count));
    fprintf(p->out, "%s%snote:%s ", first && p->printed ? "\n" : "", hp_text_warn(color),
            hp_text_plain(color));
    if (p->options->width > 0)
        print_words(hp_strbuf_text(&line), strlen("note: "), 2, p->options, p->out);
    else
        fprintf(p->out, "%s\n", hp_strbuf_text(&line));
    return line.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_notes(const struct hp_text *p)
{
    const struct hp_profile *profile = p->tables->profile;
    bool lost_said = false, first = true;
    for (size_t i = 0; i < profile->n_notes; i++) {
        lost_said |= strcmp(hp_text(profile->notes[i].kind), "lost") == 0;
        HP_TRY(print_note(p, first, hp_text(profile->notes[i].text), profile->notes[i].count));
        first = false;
    }
    if (profile->run.lost > 0 && !lost_said) {
        HP_TRY(print_note(p, first, "the stream has gaps: counts are too low", profile->run.lost));
        first = false;
    }
    struct hp_strbuf text HP_CLEANUP(hp_strbuf_fini) = {0};
    if (!p->options->view || p->options->view->lines != HP_LINES_NONE) /* it shows functions */
        HP_TRY(hp_put_unnamed(p->tables, &text));
    if (text.length) {
        HP_TRY(print_note(p, first, hp_strbuf_text(&text), 0));
        first = false;
        hp_strbuf_clear(&text);
    }
    if (p->sources->n_newer == 0)
        return HP_OK;
    hp_strbuf_add(&text, p->sources->newer);
    if (p->sources->n_newer > 1)
        hp_strbuf_format(&text, " and %s more", HP_GROUPED(p->sources->n_newer - 1));
    hp_strbuf_add(&text, " changed after the run: the source shown may not be what was executed");
    return print_note(p, first, hp_strbuf_text(&text), 0);
}

/* Whether a view is to be printed, when nothing is said or everything. */
static bool is_shown(const struct hp_text *p, const struct hp_view *view)
{
    bool all = p->options->view == &hp_view_all;
    return hp_print_is_asked(p->tables, view) && (all || view->overview) &&
           hp_print_is_there(p->tables, view);
}

static enum hp_err print_all(struct hp_text *p)
{
    const struct hp_view *view = p->options->view;
    if (view && view->fields) {
        HP_TRY(print_view(p, view, false));
        return print_notes(p);
    }
    HP_TRY(print_summary(p));
    size_t n = 0;
    for (size_t i = 0; hp_views[i]; i++)
        n += is_shown(p, hp_views[i]);
    for (size_t i = 0; hp_views[i]; i++)
        if (view != &hp_view_summary && is_shown(p, hp_views[i]))
            HP_TRY(print_view(p, hp_views[i], view || n > 1));
    return print_notes(p);
}

enum hp_err hp_print_text(struct hp_tables *tables, const struct hp_report_options *options,
                          FILE *out)
{
    const struct hp_run *run = &tables->profile->run;
    struct hp_sources sources HP_CLEANUP(hp_sources_fini) = {.directory = run->directory,
                                                             .time = run->started};
    struct hp_text text = {.tables = tables, .options = options, .sources = &sources, .out = out};
    HP_TRY(print_all(&text));
    return hp_print_finish(out);
}
