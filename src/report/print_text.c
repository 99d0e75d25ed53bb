// SPDX-License-Identifier: MIT
#include "report/print.h"
#include "report/text_cells.h"
#include "report/text_insns.h"
#include "report/text_paths.h"
#include "report/text_regions.h"
#include "report/text_views.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

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

/* Goes over the rows and their parts, measuring or printing each. */
static void walk(const struct hp_text_view *view, const struct hp_text_view_input *input,
                 const struct hp_rows *rows, size_t n, struct hp_text_table *table, bool print)
{
    uint64_t all = input->tables->summary.instructions;
    for (size_t i = 0; i < n; i++) {
        size_t n_parts;
        const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n_parts);
        for (size_t k = 0; k <= n_parts; k++) {
            const struct hp_row *row = k == 0 ? &rows->rows[i] : &parts[k - 1];
            hp_text_table_clear(table);
            view->fill(input, row, table->cells);
            if (print)
                hp_text_table_print(table, view->weighted ? hp_number_share(row->v[0], all) : 0);
            else
                hp_text_table_measure(table);
        }
    }
}

/* What models counted is a list of names, not a ranking: all of it, unless somebody says how much. */
static size_t limit_of(const struct printer *p, enum hp_report_view view)
{
    bool said = p->options->top != HP_REPORT_TOP_DEFAULT;
    bool ranking = view != HP_REPORT_MACHINE && view != HP_REPORT_PREDICTIONS;
    return said || ranking ? hp_print_limit(p->options, view) : 0;
}

static enum hp_err print_rows(struct printer *p, const struct hp_text_view *view,
                              struct hp_rows *rows)
{
    if (rows->n == 0) {
        bool counted = hp_print_is_counted(p->tables) || view->view > HP_REPORT_MODULES;
        fprintf(p->out, "  (%s)\n",
                counted ? view->empty : "not counted: --profile exact asks for it");
        return HP_OK;
    }
    double *taken = NULL;
    if (view->view == HP_REPORT_EDGES)
        HP_TRY(hp_text_taken(p->tables, rows, &taken));
    struct hp_text_view_input input = {p->tables, &p->sources, taken};
    struct hp_text_table table;
    hp_text_table_init(&table, view->columns, p->out, p->options->color, p->options->width);
    hp_rows_keep(rows, p->tables, view->view, limit_of(p, view->view));
    walk(view, &input, rows, rows->n, &table, false);
    hp_text_table_begin(&table);
    walk(view, &input, rows, rows->n, &table, true);
    hp_print_more(p->out, rows->n_left_out);
    enum hp_err err = hp_text_table_check(&table);
    hp_text_table_fini(&table);
    free(taken);
    return err;
}

/* Of the views that are more than a table. */
static const char *title_of(enum hp_report_view view)
{
    switch (view) {
    case HP_REPORT_CONTEXTS: return "Contexts";
    case HP_REPORT_LOOPS: return "Loops";
    case HP_REPORT_LOOP_MODELS: return "Loop models";
    case HP_REPORT_PARTITION: return "Partition";
    case HP_REPORT_HOTSPOTS: return "Hot spots";
    case HP_REPORT_INSTRUCTIONS: return "Instructions";
    case HP_REPORT_CPI: return "Cycles";
    case HP_REPORT_SAMPLING: return "Sampling";
    default: return "Paths";
    }
}

static enum hp_err print_table(struct printer *p, enum hp_report_view which, bool titled)
{
    const struct hp_text_view *view = hp_text_view(p->tables, which);
    size_t limit = limit_of(p, which);
    struct hp_rows rows;
    if (p->printed)
        putc('\n', p->out);
    p->printed = true;
    bool color = p->options->color;
    if (titled)
        fprintf(p->out, "%s%s%s\n", hp_text_bold(color), view ? view->title : title_of(which),
                hp_text_plain(color));
    switch (which) {
    case HP_REPORT_PATHS: return hp_print_paths(p->tables, p->options, limit, &p->sources, p->out);
    case HP_REPORT_CONTEXTS: return hp_print_contexts(p->tables, p->options, p->out);
    case HP_REPORT_LOOPS: return hp_print_loops(p->tables, p->options, limit, p->out);
    case HP_REPORT_LOOP_MODELS: return hp_print_loop_models(p->tables, p->options, limit, p->out);
    case HP_REPORT_PARTITION: return hp_print_partition(p->tables, p->options, limit, p->out);
    case HP_REPORT_HOTSPOTS: return hp_print_hotspots(p->tables, p->options, limit, p->out);
    case HP_REPORT_INSTRUCTIONS: return hp_print_insns(p->tables, p->options, limit, p->out);
    case HP_REPORT_CPI: return hp_print_cpi(p->tables, p->options, limit, p->out);
    case HP_REPORT_SAMPLING: return hp_print_sampling(p->tables, p->options, p->out);
    default: break;
    }
    HP_TRY(hp_rows_init(&rows, p->tables, which, p->options->per_thread));
    enum hp_err err = print_rows(p, view, &rows);
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

/* What is printed when nothing is said: of each profiler that ran the table that people look at first. */
static enum hp_err print_default(struct printer *p)
{
    static const enum hp_report_view views[] = {HP_REPORT_FUNCTIONS, HP_REPORT_LOOPS,
                                                HP_REPORT_PATHS,     HP_REPORT_PREDICTIONS,
                                                HP_REPORT_HOTSPOTS,  HP_REPORT_INSTRUCTIONS};
    size_t n = 0;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        n += hp_print_is_there(p->tables, views[i]);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (hp_print_is_there(p->tables, views[i]))
            HP_TRY(print_table(p, views[i], n > 1));
    return HP_OK;
}

static enum hp_err print_all(struct printer *p)
{
    enum hp_report_view view = p->options->view;
    if (view == HP_REPORT_DEFAULT || view == HP_REPORT_SUMMARY || view == HP_REPORT_ALL)
        HP_TRY(print_summary(p));
    if (view == HP_REPORT_DEFAULT)
        HP_TRY(print_default(p));
    for (int v = HP_REPORT_FUNCTIONS; v < HP_REPORT_ALL; v++)
        if ((view == HP_REPORT_ALL && hp_print_is_there(p->tables, (enum hp_report_view)v)) ||
            (int)view == v)
            HP_TRY(print_table(p, (enum hp_report_view)v, view == HP_REPORT_ALL));
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
