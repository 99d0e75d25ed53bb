// SPDX-License-Identifier: MIT
/* A report for scripts: JSON and CSV, which print the same fields of the same rows. */
#include "base/base.h"
#include "report/fields.h"
#include "report/print.h"
#include "text/number.h"
#include "text/utf8.h"

struct printer {
    size_t asked_out[HP_VIEWS_MAX]; /* rows by view */
    struct hp_json json;
    struct hp_tables *tables;
    const struct hp_report_options *options;
    FILE *out;
    struct hp_strbuf buffer;
};

/* --- JSON ------------------------------------------------------------------------------------- */

static void print_fields(struct printer *p, const struct hp_bound_fields *fields,
                         const struct hp_row *row, bool counted_only)
{
    struct hp_field_input input = {.tables = p->tables, .row = row, .buffer = &p->buffer};
    for (size_t i = 0; i < fields->n; i++) {
        enum hp_field_kind kind = fields->fields[i].field->kind;
        if ((!counted_only || kind == HP_FIELD_COUNTED) &&
            (!p->options->no_run || kind != HP_FIELD_OF_RUN))
            hp_field_json(&p->json, &fields->fields[i], &input);
    }
}

/* With `per_thread`, the last member is the same by thread. */
static void print_object(struct printer *p, const struct hp_bound_fields *fields,
                         const struct hp_rows *rows, const struct hp_row *row)
{
    size_t n;
    const struct hp_row *parts = hp_rows_parts(rows, row->item, &n);
    hp_json_begin_object(&p->json);
    print_fields(p, fields, row, false);
    if (rows->per_thread)
        hp_json_put_array(&p->json, "threads");
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(&p->json);
        hp_json_put_uint(&p->json, "thread", parts[i].thread);
        print_fields(p, fields, &parts[i], true);
        hp_json_end_object(&p->json);
    }
    if (rows->per_thread)
        hp_json_end_array(&p->json);
    hp_json_end_object(&p->json);
}

void hp_json_view_key(struct hp_json *json, const struct hp_view *view)
{
    char name[32];
    size_t n = 0;
    for (; view->name[n] && n + 1 < sizeof name; n++)
        name[n] = view->name[n] == '-' ? '_' : view->name[n];
    name[n] = 0;
    hp_json_key(json, name);
}

void hp_json_run(struct hp_json *json, const struct hp_run *run)
{
    hp_json_put_array(json, "command");
    for (char **argument = run->command; argument && *argument; argument++)
        hp_json_string(json, *argument);
    hp_json_end_array(json);
    hp_json_put_string(json, "engine", hp_text(run->engine));
    hp_json_put_string(json, "arch", hp_arch_name(run->arch));
    hp_json_put_string(json, "machine", hp_text(run->machine));
    hp_json_put_int(json, "started", run->started);
    hp_json_put_fixed(json, "seconds", run->seconds, 6);
    hp_json_put_int(json, "exit_status", run->exit_status);
    hp_json_put_uint(json, "lost", run->lost);
    hp_json_put_uint(json, "runs", run->runs);
    if (!hp_engine_work_known(&run->work))
        return;
    hp_json_put_object(json, "engine_stats");
    for (const struct hp_engine_work_field *field = hp_engine_work_fields; field->name; field++)
        hp_json_put_uint(
            json, field->name,
            *(const uint64_t *)(const void *)((const char *)&run->work + field->offset));
    hp_json_end_object(json);
}

static const struct {
    const char *name;
    size_t offset;
} summary_fields[] = {
    {"instructions", offsetof(struct hp_summary, instructions)},
    {"branches", offsetof(struct hp_summary, branches)},
    {"blocks", offsetof(struct hp_summary, blocks)},
    {"edges", offsetof(struct hp_summary, edges)},
    {"threads", offsetof(struct hp_summary, threads)},
    {"functions", offsetof(struct hp_summary, functions)},
    {"modules", offsetof(struct hp_summary, modules)},
    {"block_executions", offsetof(struct hp_summary, block_executions)},
    {"paths", offsetof(struct hp_summary, paths)},
    {"loops", offsetof(struct hp_summary, loops)},
    {"hotspots", offsetof(struct hp_summary, hotspots)},
    {"contexts_beyond", offsetof(struct hp_summary, beyond)},
};
#define N_SUMMARY (sizeof summary_fields / sizeof *summary_fields)

static uint64_t total(const struct hp_summary *summary, size_t field)
{
    return *(const uint64_t *)((const char *)summary + summary_fields[field].offset);
}

void hp_json_summary(struct hp_json *json, const struct hp_summary *summary)
{
    for (size_t i = 0; i < N_SUMMARY; i++)
        hp_json_put_uint(json, summary_fields[i].name, total(summary, i));
}

void hp_json_notes(struct hp_json *json, const struct hp_profile *profile)
{
    hp_json_begin_array(json);
    for (size_t i = 0; i < profile->n_notes; i++) {
        hp_json_begin_object(json);
        hp_json_put_string(json, "kind", hp_text(profile->notes[i].kind));
        hp_json_put_string(json, "text", hp_text(profile->notes[i].text));
        hp_json_put_uint(json, "count", profile->notes[i].count);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* --- CSV -------------------------------------------------------------------------------------- */

void hp_csv_text(FILE *out, const char *text)
{
    size_t n = strlen(text);
    bool quote = strpbrk(text, ",\"\r\n") || (n > 0 && (text[0] == ' ' || text[n - 1] == ' '));
    if (quote)
        putc_unlocked('"', out);
    while (*text) {
        const char *at = text;
        uint32_t code = hp_utf8_next(&text);
        if (code == '"')
            putc_unlocked('"', out);
        if (code == HP_UTF8_REPLACEMENT)
            fputs_unlocked("\xef\xbf\xbd", out);
        else
            for (; at < text; at++)
                putc_unlocked(*at, out);
    }
    if (quote)
        putc_unlocked('"', out);
}

static void print_cell(FILE *out, const struct hp_cell *cell)
{
    char text[HP_NUMBER_SIZE];
    switch (cell->kind) {
    case HP_CELL_TEXT: hp_csv_text(out, cell->text); return;
    case HP_CELL_NONE: return;
    case HP_CELL_UINT: hp_number_uint(text, cell->number); break;
    case HP_CELL_INT: snprintf(text, sizeof text, "%lld", (long long)cell->integer); break;
    case HP_CELL_SHARE: hp_number_fixed(text, cell->share, 6); break;
    case HP_CELL_BOOL: strcpy(text, cell->flag ? "true" : "false"); break;
    }
    fputs_unlocked(text, out);
}

/* With `per_thread`, the last column is the thread, empty for all of them together. */
static void print_line(struct printer *p, const struct hp_bound_fields *fields,
                       const struct hp_row *row, bool per_thread)
{
    struct hp_field_input input = {.tables = p->tables, .row = row, .buffer = &p->buffer};
    for (size_t i = 0; i < fields->n; i++) {
        hp_strbuf_clear(&p->buffer);
        if (i > 0)
            putc_unlocked(',', p->out);
        if (fields->fields[i].field->list) {
            hp_field_list(&fields->fields[i], &input, NULL);
            hp_csv_text(p->out, hp_strbuf_text(&p->buffer));
        } else {
            struct hp_cell cell = hp_field_cell(&fields->fields[i], &input);
            print_cell(p->out, &cell);
        }
    }
    if (per_thread)
        putc_unlocked(',', p->out);
    if (row->thread != HP_PROFILE_NONE)
        fprintf(p->out, "%u", row->thread);
    fputs_unlocked("\r\n", p->out);
}

static void print_summary(const struct printer *p)
{
    for (size_t i = 0; i < N_SUMMARY; i++)
        fprintf(p->out, "%s%s", i ? "," : "", summary_fields[i].name);
    fputs("\r\n", p->out);
    for (size_t i = 0; i < N_SUMMARY; i++)
        fprintf(p->out, "%s%" PRIu64, i ? "," : "", total(&p->tables->summary, i));
    fputs("\r\n", p->out);
}

static void print_lines(struct printer *p, const struct hp_bound_fields *fields,
                        const struct hp_rows *rows)
{
    for (size_t i = 0; i < fields->n; i++)
        fprintf(p->out, "%s%s", i ? "," : "", fields->fields[i].field->name);
    fputs_unlocked(rows->per_thread ? ",thread\r\n" : "\r\n", p->out);
    for (size_t i = 0; i < rows->n; i++) {
        size_t n;
        const struct hp_row *parts = hp_rows_parts(rows, rows->rows[i].item, &n);
        print_line(p, fields, &rows->rows[i], rows->per_thread);
        for (size_t k = 0; k < n; k++)
            print_line(p, fields, &parts[k], true);
    }
}

/* --- Both ------------------------------------------------------------------------------------- */

static enum hp_err print_table(struct printer *p, const struct hp_view *view)
{
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    struct hp_bound_fields fields;
    if (view->prepare)
        HP_TRY(view->prepare(p->tables));
    HP_TRY(hp_rows_init(&rows, p->tables, view, p->options->per_thread));
    for (size_t i = 0; hp_views[i] && i < HP_VIEWS_MAX; i++)
        p->asked_out[i] += hp_views[i] == view ? rows.n_asked_out : 0;
    hp_rows_keep(&rows, hp_print_limit(p->options, view));
    hp_fields_bind(&fields, view, p->tables);
    if (p->options->format == HP_REPORT_JSON) {
        hp_json_view_key(&p->json, view);
        hp_json_begin_array(&p->json);
        for (size_t i = 0; i < rows.n; i++)
            print_object(p, &fields, &rows, &rows.rows[i]);
        hp_json_end_array(&p->json);
    } else {
        print_lines(p, &fields, &rows);
    }
    return p->buffer.failed ? hp_fail_nomem() : HP_OK;
}

static enum hp_err print_csv(struct printer *p)
{
    const struct hp_view *view = p->options->view;
    if (view == &hp_view_all)
        return hp_fail(HP_ERR_INVALID,
                       "CSV holds one table: choose a view such as functions, or JSON for all");
    if (view == &hp_view_summary)
        print_summary(p);
    else
        HP_TRY(print_table(p, view ? view : hp_print_default(p->tables)));
    return hp_print_finish(p->out);
}

/* How many rows of each view what is asked for left out. */
static void print_asked_out(struct printer *p)
{
    hp_json_put_object(&p->json, "left_out");
    for (size_t i = 0; hp_views[i] && i < HP_VIEWS_MAX; i++) {
        if (p->asked_out[i] == 0)
            continue;
        hp_json_view_key(&p->json, hp_views[i]);
        hp_json_uint(&p->json, p->asked_out[i]);
    }
    hp_json_end_object(&p->json);
}

static enum hp_err print_json(struct printer *p)
{
    const struct hp_view *view = p->options->view;
    bool all = !view || view == &hp_view_all;
    hp_json_begin_object(&p->json);
    hp_json_put_string(&p->json, "hotpath", HP_VERSION);
    if (all && !p->options->no_run) {
        hp_json_put_object(&p->json, "run");
        hp_json_run(&p->json, &p->tables->profile->run);
        hp_json_end_object(&p->json);
    }
    if (all || view == &hp_view_summary) {
        hp_json_put_object(&p->json, "summary");
        hp_json_summary(&p->json, &p->tables->summary);
        hp_json_end_object(&p->json);
    }
    for (size_t i = 0; hp_views[i]; i++)
        if (all ? hp_print_is_asked(p->tables, hp_views[i])
                : hp_views[i]->fields && view == hp_views[i])
            HP_TRY(print_table(p, hp_views[i]));
    if (p->tables->query)
        print_asked_out(p);
    if (all) {
        hp_json_key(&p->json, "notes");
        hp_json_notes(&p->json, p->tables->profile);
    }
    hp_json_end_object(&p->json);
    return hp_json_finish(&p->json);
}

enum hp_err hp_print_script(struct hp_tables *tables, const struct hp_report_options *options,
                            FILE *out)
{
    struct printer p = {
        .json = {.out = out, .lines = 2}, .tables = tables, .options = options, .out = out};
    enum hp_err err = options->format == HP_REPORT_JSON ? print_json(&p) : print_csv(&p);
    hp_strbuf_fini(&p.buffer);
    return err;
}
