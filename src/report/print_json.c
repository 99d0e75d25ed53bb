// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/print.h"
#include "text/json.h"

#include <string.h>

/* The lines of a text. */
static void print_list(struct hp_json *json, char *text)
{
    hp_json_begin_array(json);
    while (*text) {
        char *end = strchrnul(text, '\n');
        bool more = *end != 0;
        *end = 0;
        hp_json_string(json, text);
        text = end + more;
    }
    hp_json_end_array(json);
}

void hp_json_cell(struct hp_json *json, const struct hp_field_input *in, const struct hp_cell *cell)
{
    if (cell->nested) {
        cell->nested(in, json);
        return;
    }
    switch (cell->kind) {
    case HP_CELL_TEXT: hp_json_string(json, cell->text); break;
    case HP_CELL_UINT: hp_json_uint(json, cell->number); break;
    case HP_CELL_INT: hp_json_int(json, cell->integer); break;
    case HP_CELL_SHARE: hp_json_fixed(json, cell->share, 6); break;
    case HP_CELL_BOOL: hp_json_bool(json, cell->flag); break;
    case HP_CELL_LIST: print_list(json, cell->list); break;
    case HP_CELL_NONE: hp_json_null(json); break;
    }
}

struct printer {
    struct hp_json json;
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_strbuf buffer;
};

static void print_fields(struct printer *p, const struct hp_field *fields, const struct hp_row *row,
                         bool counted_only)
{
    for (const struct hp_field *field = fields; field->name; field++) {
        if ((counted_only && field->kind != HP_FIELD_COUNTED) ||
            (p->options->no_run && field->kind == HP_FIELD_OF_RUN))
            continue;
        hp_strbuf_clear(&p->buffer);
        struct hp_field_input input = {p->tables, row, &p->buffer};
        struct hp_cell cell = field->get(&input);
        hp_json_key(&p->json, field->name);
        hp_json_cell(&p->json, &input, &cell);
    }
}

static void print_parts(struct printer *p, const struct hp_field *fields,
                        const struct hp_rows *rows, uint32_t item)
{
    size_t n;
    const struct hp_row *parts = hp_rows_parts(rows, item, &n);
    hp_json_key(&p->json, "threads");
    hp_json_begin_array(&p->json);
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(&p->json);
        hp_json_key(&p->json, "thread");
        hp_json_uint(&p->json, parts[i].thread);
        print_fields(p, fields, &parts[i], true);
        hp_json_end_object(&p->json);
    }
    hp_json_end_array(&p->json);
}

static enum hp_err print_table(struct printer *p, enum hp_report_view view)
{
    struct hp_rows rows;
    bool per_thread = p->options->per_thread && hp_rows_have_parts(view);
    HP_TRY(hp_tables_prepare(p->tables, view));
    HP_TRY(hp_rows_init(&rows, p->tables, view, per_thread));
    const struct hp_field *fields = hp_fields(p->tables, view);
    hp_json_key(&p->json, hp_report_view_member(view));
    hp_json_begin_array(&p->json);
    hp_rows_keep(&rows, p->tables, view, hp_print_limit(p->options, view));
    for (size_t i = 0; i < rows.n; i++) {
        hp_json_begin_object(&p->json);
        print_fields(p, fields, &rows.rows[i], false);
        if (per_thread)
            print_parts(p, fields, &rows, rows.rows[i].item);
        hp_json_end_object(&p->json);
    }
    hp_json_end_array(&p->json);
    hp_rows_fini(&rows);
    return HP_OK;
}

static void key_string(struct hp_json *json, const char *key, const char *value)
{
    hp_json_key(json, key);
    hp_json_string(json, hp_text(value));
}

static void print_work(struct hp_json *json, const struct hp_engine_work *work)
{
    hp_json_key(json, "engine_stats");
    hp_json_begin_object(json);
    for (const struct hp_engine_work_field *field = hp_engine_work_fields; field->name; field++) {
        hp_json_key(json, field->name);
        hp_json_uint(json, *(const uint64_t *)(const void *)((const char *)work + field->offset));
    }
    hp_json_end_object(json);
}

void hp_json_run(struct hp_json *json, const struct hp_run *run)
{
    hp_json_key(json, "command");
    hp_json_begin_array(json);
    for (char **argument = run->command; argument && *argument; argument++)
        hp_json_string(json, *argument);
    hp_json_end_array(json);
    key_string(json, "engine", run->engine);
    key_string(json, "arch", hp_arch_name(run->arch));
    key_string(json, "machine", run->machine);
    hp_json_key(json, "started");
    hp_json_int(json, run->started);
    hp_json_key(json, "seconds");
    hp_json_fixed(json, run->seconds, 6);
    hp_json_key(json, "exit_status");
    hp_json_int(json, run->exit_status);
    hp_json_key(json, "lost");
    hp_json_uint(json, run->lost);
    hp_json_key(json, "runs");
    hp_json_uint(json, run->runs);
    if (hp_engine_work_known(&run->work))
        print_work(json, &run->work);
}

void hp_json_summary(struct hp_json *json, const struct hp_summary *summary)
{
    for (const struct hp_summary_field *field = hp_summary_fields; field->name; field++) {
        hp_json_key(json, field->name);
        hp_json_uint(json, *(const uint64_t *)((const char *)summary + field->offset));
    }
}

void hp_json_notes(struct hp_json *json, const struct hp_profile *profile)
{
    hp_json_begin_array(json);
    for (size_t i = 0; i < profile->n_notes; i++) {
        hp_json_begin_object(json);
        key_string(json, "kind", profile->notes[i].kind);
        key_string(json, "text", profile->notes[i].text);
        hp_json_key(json, "count");
        hp_json_uint(json, profile->notes[i].count);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static enum hp_err print_views(struct printer *p)
{
    enum hp_report_view view = p->options->view;
    bool all = view == HP_REPORT_DEFAULT || view == HP_REPORT_ALL;
    if (all && !p->options->no_run) {
        hp_json_key(&p->json, "run");
        hp_json_begin_object(&p->json);
        hp_json_run(&p->json, &p->tables->profile->run);
        hp_json_end_object(&p->json);
    }
    if (all || view == HP_REPORT_SUMMARY) {
        hp_json_key(&p->json, "summary");
        hp_json_begin_object(&p->json);
        hp_json_summary(&p->json, &p->tables->summary);
        hp_json_end_object(&p->json);
    }
    for (int v = HP_REPORT_FUNCTIONS; v < HP_REPORT_ALL; v++)
        if (all || (int)view == v)
            HP_TRY(print_table(p, (enum hp_report_view)v));
    if (all) {
        hp_json_key(&p->json, "notes");
        hp_json_notes(&p->json, p->tables->profile);
    }
    return HP_OK;
}

enum hp_err hp_print_json(struct hp_tables *tables, const struct hp_report_options *options,
                          FILE *out)
{
    struct printer p = {.json = {.out = out, .lines = 2}, .tables = tables, .options = options};
    hp_json_begin_object(&p.json);
    hp_json_key(&p.json, "hotpath");
    hp_json_string(&p.json, HP_VERSION);
    enum hp_err err = print_views(&p);
    if (err == HP_OK && p.buffer.failed)
        err = hp_fail_nomem();
    hp_strbuf_fini(&p.buffer);
    HP_TRY(err);
    hp_json_end_object(&p.json);
    return hp_json_finish(&p.json);
}
