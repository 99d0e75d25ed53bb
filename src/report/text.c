// SPDX-License-Identifier: MIT
#include "report/text.h"

#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

#define WRAP_COLUMNS 100 /* of a sentence where the width is not limited */

struct printer {
    struct hp_tables *tables;
    const struct hp_report_options *options;
    FILE *out;
    struct hp_sources sources;
    bool printed; /* something stands above */
};

/* --- What was run ----------------------------------------------------------------------------- */

static void put_circumstances(struct hp_strbuf *text, const struct hp_run *run)
{
    if (*hp_text(run->engine)) {
        hp_strbuf_clean(text, run->engine);
        hp_strbuf_add(text, " engine, ");
    }
    hp_strbuf_add(text, hp_arch_name(run->arch));
    hp_strbuf_add(text, ", ");
    hp_strbuf_fixed(text, run->seconds, 2);
    hp_strbuf_add(text, " s, exit status ");
    char status[HP_NUMBER_SIZE];
    snprintf(status, sizeof status, "%d", run->exit_status);
    hp_strbuf_add(text, status);
    if (run->runs > 1) {
        hp_strbuf_add(text, ", ");
        hp_strbuf_grouped(text, run->runs);
        hp_strbuf_add(text, " runs");
    }
}

/* The command, and behind it, or below where there is no room, how it was run. */
static enum hp_err print_run(struct printer *p)
{
    const struct hp_run *run = &p->tables->profile->run;
    struct hp_strbuf command = {0}, how = {0}, shown = {0};
    hp_put_command(&command, run->command);
    put_circumstances(&how, run);
    size_t limit = p->options->width > 0 ? (size_t)p->options->width : SIZE_MAX;
    hp_strbuf_cut(&shown, hp_strbuf_text(&command), limit > 30 ? limit - 9 : 21, HP_CUT_MIDDLE);
    size_t used = 9 + hp_utf8_width(hp_strbuf_text(&shown)) + 4;
    size_t room = limit == SIZE_MAX ? 100 : limit;
    bool one_line = used + hp_utf8_width(hp_strbuf_text(&how)) <= room;
    bool color = p->options->color;
    fprintf(p->out, "%shotpath: %s%s%s%s\n", hp_text_bold(color), hp_strbuf_text(&shown),
            hp_text_plain(color), one_line ? "    " : "\n  ", hp_strbuf_text(&how));
    bool failed = command.failed || how.failed || shown.failed;
    hp_strbuf_fini(&command);
    hp_strbuf_fini(&how);
    hp_strbuf_fini(&shown);
    return failed ? hp_fail_nomem() : HP_OK;
}

static void print_total(FILE *out, const char *before, uint64_t n, const char *what,
                        const char *plural)
{
    char text[HP_NUMBER_SIZE];
    hp_number_grouped(text, n);
    fprintf(out, "%s%s %s%s", before, text, what, n == 1 ? "" : plural);
}

/* Bytes in MiB, nanoseconds in milliseconds: what they amount to, not every digit. */
static void put_scaled(struct hp_strbuf *text, const char *before, uint64_t n, double unit,
                       const char *name)
{
    hp_strbuf_add(text, before);
    hp_strbuf_fixed(text, (double)n / unit, (double)n / unit < 100 ? 1 : 0);
    hp_strbuf_add(text, name);
}

/* What the engine did to run the program: its overhead, apart from what it recorded. */
static enum hp_err print_work(struct printer *p)
{
    const struct hp_run *run = &p->tables->profile->run;
    const struct hp_engine_work *work = &run->work;
    if (!hp_engine_work_known(work))
        return HP_OK;
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, "  engine ");
    hp_strbuf_clean(&text, run->engine);
    fputs(hp_strbuf_text(&text), p->out);
    print_total(p->out, ": ", work->blocks, "block", "s");
    print_total(p->out, " in ", work->segments, "segment", "s");
    print_total(p->out, ", ", work->links, "link", "s");
    print_total(p->out, ", ", work->flushes, "flush", "es");
    hp_strbuf_clear(&text);
    put_scaled(&text, ", translated in ", work->translate_ns, 1e6, " ms");
    put_scaled(&text, ", code cache ", work->cache_bytes, 1 << 20, " MiB");
    put_scaled(&text, ", memory ", work->memory_bytes, 1 << 20, " MiB");
    fprintf(p->out, "%s\n", hp_strbuf_text(&text));
    bool failed = text.failed;
    hp_strbuf_fini(&text);
    return failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_summary(struct printer *p)
{
    HP_TRY(print_run(p));
    const struct hp_summary *summary = &p->tables->summary;
    print_total(p->out, "  ", summary->instructions, "instruction", "s");
    print_total(p->out, "   ", summary->branches, "branch", "es");
    if (summary->blocks || hp_print_is_counted(p->tables))
        print_total(p->out, "   ", summary->blocks, "block", "s");
    if (summary->paths)
        print_total(p->out, "   ", summary->paths, "path", "s");
    if (summary->loops)
        print_total(p->out, "   ", summary->loops, "loop", "s");
    if (summary->hotspots)
        print_total(p->out, "   ", summary->hotspots, "hot spot", "s");
    print_total(p->out, "   ", summary->threads, "thread", "s");
    putc('\n', p->out);
    p->printed = true;
    return print_work(p);
}

/* --- Tables ----------------------------------------------------------------------------------- */

struct table {
    const struct hp_text *text;
    const struct hp_view *view;
    const struct hp_row **rows; /* parts behind what they are of */
    bool *below;                /* by row: it is the last of its item */
    enum hp_err (*print_below)(const struct hp_text *text, const struct hp_row *row);
    const struct hp_row *first; /* of the item that was printed last */
};

static double fill_row(void *context, size_t i, struct hp_strbuf *cells)
{
    const struct table *table = context;
    return table->view->fill(table->text, table->rows[i], cells);
}

static enum hp_err print_below(void *context, size_t i)
{
    struct table *table = context;
    if (table->rows[i]->thread == HP_PROFILE_NONE)
        table->first = table->rows[i];
    return table->below[i] ? table->print_below(table->text, table->first) : HP_OK;
}

/* Lists rows and parts; returns how many. */
static size_t list_rows(struct table *table, const struct hp_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        size_t n_parts;
        const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n_parts);
        table->rows[n++] = &rows->rows[i];
        for (size_t k = 0; k < n_parts; k++)
            table->rows[n++] = &parts[k];
        table->below[n - 1] = true;
    }
    return n;
}

enum hp_err hp_print_rows(const struct hp_text *text, const struct hp_view *view,
                          const struct hp_column *columns, const struct hp_rows *rows,
                          enum hp_err (*below)(const struct hp_text *text,
                                               const struct hp_row *row))
{
    struct hp_column shown[HP_TEXT_COLUMNS + 1] = {0};
    const struct hp_column *from = columns ? columns : view->columns;
    for (size_t i = 0; i < HP_TEXT_COLUMNS && from[i].title; i++) {
        shown[i] = from[i];
        shown[i].hidden = from[i].ordered && !text->tables->inclusive_known;
    }
    struct table table = {.text = text, .view = view, .print_below = below};
    size_t most = rows->n + rows->n_parts + 1;
    table.rows = calloc(most, sizeof(void *));
    table.below = calloc(most, sizeof *table.below);
    enum hp_err err = table.rows && table.below ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = hp_text_rows_print(&(struct hp_text_rows){.columns = shown,
                                                        .out = text->out,
                                                        .color = text->options->color,
                                                        .width = text->options->width,
                                                        .n = list_rows(&table, rows),
                                                        .fill = fill_row,
                                                        .below = below ? print_below : NULL,
                                                        .context = &table});
    free(table.rows);
    free(table.below);
    return err;
}

double hp_put_share(const struct hp_text *text, uint64_t instructions, struct hp_strbuf *cell)
{
    double share = hp_number_share(instructions, text->tables->summary.instructions);
    hp_strbuf_percent(cell, share);
    return share;
}

bool hp_put_thread(const struct hp_row *row, struct hp_strbuf *cell)
{
    if (row->thread == HP_PROFILE_NONE)
        return false;
    hp_strbuf_add(cell, "  thread ");
    hp_strbuf_uint(cell, row->thread);
    return true;
}

enum hp_err hp_print_line(struct hp_strbuf *text, const struct hp_report_options *options,
                          FILE *out)
{
    struct hp_strbuf cut = {0};
    size_t width = options->width > 0 ? (size_t)options->width : SIZE_MAX;
    hp_strbuf_cut(&cut, hp_strbuf_text(text), width, HP_CUT_END);
    fprintf(out, "%s\n", hp_strbuf_text(&cut));
    bool failed = text->failed || cut.failed;
    hp_strbuf_fini(&cut);
    hp_strbuf_clear(text);
    return failed ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_print_last_line(struct hp_strbuf *text, const struct hp_report_options *options,
                               FILE *out)
{
    enum hp_err err = hp_print_line(text, options, out);
    hp_strbuf_fini(text);
    return err;
}

enum hp_err hp_print_wrapped(struct hp_strbuf *text, size_t indent,
                             const struct hp_report_options *options, FILE *out)
{
    size_t width = options->width > 0 ? (size_t)options->width : WRAP_COLUMNS;
    size_t room = width > indent + 20 ? width - indent : 20;
    const char *at = hp_strbuf_text(text);
    while (*at) {
        size_t end = 0, columns = 0; /* as many words as there is room for, at least one */
        while (at[end]) {
            size_t n = strcspn(at + end + (at[end] == ' '), " ") + (at[end] == ' ');
            struct hp_strbuf word = {0};
            hp_strbuf_bytes(&word, at + end, n);
            size_t more = hp_utf8_width(hp_strbuf_text(&word));
            hp_strbuf_fini(&word);
            if (end > 0 && columns + more > room)
                break;
            columns += more;
            end += n;
        }
        fprintf(out, "%*s%.*s\n", (int)indent, "", (int)end, at);
        at += end;
        while (*at == ' ')
            at++;
    }
    enum hp_err err = text->failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_clear(text);
    return err;
}

void hp_print_more(FILE *out, size_t more)
{
    char text[HP_NUMBER_SIZE];
    if (more == 0)
        return;
    hp_number_grouped(text, more);
    fprintf(out, "  … and %s more (--top 0 shows all)\n", text);
}

static enum hp_err print_view(struct printer *p, const struct hp_view *view, struct hp_rows *rows)
{
    const struct hp_text text = {p->tables, p->options, &p->sources, p->out, NULL};
    size_t limit = hp_print_limit(p->options, view);
    if (rows->n == 0) {
        bool known = view->is_there || hp_print_is_counted(p->tables);
        fprintf(p->out, "  (%s)\n",
                known ? view->empty : "not counted: --profile exact asks for it");
        return HP_OK;
    }
    if (view->print)
        return view->print(&text, rows, limit);
    hp_rows_keep(rows, p->tables, view, limit);
    HP_TRY(hp_print_rows(&text, view, NULL, rows, NULL));
    hp_print_more(p->out, rows->n_left_out);
    return HP_OK;
}

static enum hp_err print_table(struct printer *p, const struct hp_view *view, bool titled)
{
    struct hp_rows rows;
    bool color = p->options->color;
    if (p->printed)
        putc('\n', p->out);
    p->printed = true;
    if (titled)
        fprintf(p->out, "%s%s%s\n", hp_text_bold(color), view->title, hp_text_plain(color));
    HP_TRY(hp_rows_init(&rows, p->tables, view, p->options->per_thread && view->by_thread));
    enum hp_err err = print_view(p, view, &rows);
    hp_rows_fini(&rows);
    return err;
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* `text` may come from the profile; `count` is said when it is above 1. */
static enum hp_err print_note(struct printer *p, bool first, const char *text, uint64_t count)
{
    struct hp_strbuf line = {0};
    hp_strbuf_clean(&line, text);
    if (count > 1) {
        hp_strbuf_add(&line, " (");
        hp_strbuf_grouped(&line, count);
        hp_strbuf_add(&line, " times)");
    }
    bool color = p->options->color;
    fprintf(p->out, "%s%snote:%s %s\n", first && p->printed ? "\n" : "", hp_text_warn(color),
            hp_text_plain(color), hp_strbuf_text(&line));
    enum hp_err err = line.failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_fini(&line);
    return err;
}

static enum hp_err print_newer(struct printer *p, bool first)
{
    struct hp_strbuf text = {0};
    hp_strbuf_add(&text, p->sources.newer);
    if (p->sources.n_newer > 1) {
        hp_strbuf_add(&text, " and ");
        hp_strbuf_grouped(&text, p->sources.n_newer - 1);
        hp_strbuf_add(&text, " more");
    }
    hp_strbuf_add(&text, " changed after the run: the source shown may not be what was executed");
    enum hp_err err = print_note(p, first, hp_strbuf_text(&text), 0);
    hp_strbuf_fini(&text);
    return err;
}

static enum hp_err print_notes(struct printer *p)
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
    return p->sources.n_newer > 0 ? print_newer(p, first) : HP_OK;
}

/* Whether a view is to be printed, when nothing is said or everything. */
static bool is_shown(const struct printer *p, const struct hp_view *view)
{
    bool all = p->options->view == &hp_view_all;
    return view->fields && (all || view->overview) && hp_print_is_there(p->tables, view);
}

static enum hp_err print_all(struct printer *p)
{
    const struct hp_view *view = p->options->view;
    if (view && view->fields) {
        HP_TRY(print_table(p, view, false));
        return print_notes(p);
    }
    HP_TRY(print_summary(p));
    size_t n = 0;
    for (size_t i = 0; hp_views[i]; i++)
        n += is_shown(p, hp_views[i]);
    for (size_t i = 0; hp_views[i]; i++)
        if (view != &hp_view_summary && is_shown(p, hp_views[i]))
            HP_TRY(print_table(p, hp_views[i], view || n > 1));
    return print_notes(p);
}

enum hp_err hp_print_text(struct hp_tables *tables, const struct hp_report_options *options,
                          FILE *out)
{
    const struct hp_run *run = &tables->profile->run;
    struct printer p = {.tables = tables,
                        .options = options,
                        .out = out,
                        .sources = {.directory = run->directory, .time = run->started}};
    enum hp_err err = print_all(&p);
    hp_sources_fini(&p.sources);
    return err == HP_OK ? hp_print_finish(out) : err;
}
