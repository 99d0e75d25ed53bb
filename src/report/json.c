// SPDX-License-Identifier: MIT
#include "text/json.h"
#include "report/fields.h"
#include "report/print.h"

#include <string.h>

struct printer {
    struct hp_json json;
    struct hp_tables *tables;
    const struct hp_report_options *options;
    struct hp_strbuf buffer;
};

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

static void print_parts(struct printer *p, const struct hp_bound_fields *fields,
                        const struct hp_rows *rows, uint32_t item)
{
    size_t n;
    const struct hp_row *parts = hp_rows_parts(rows, item, &n);
    hp_json_put_array(&p->json, "threads");
    for (size_t i = 0; i < n; i++) {
        hp_json_begin_object(&p->json);
        hp_json_put_uint(&p->json, "thread", parts[i].thread);
        print_fields(p, fields, &parts[i], true);
        hp_json_end_object(&p->json);
    }
    hp_json_end_array(&p->json);
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

static enum hp_err print_table(struct printer *p, const struct hp_view *view)
{
    struct hp_rows rows;
    struct hp_bound_fields fields;
    bool per_thread = p->options->per_thread && view->by_thread;
    if (view->prepare)
        HP_TRY(view->prepare(p->tables));
    HP_TRY(hp_rows_init(&rows, p->tables, view, per_thread));
    hp_fields_bind(&fields, view, p->tables);
    hp_json_view_key(&p->json, view);
    hp_json_begin_array(&p->json);
    hp_rows_keep(&rows, p->tables, view, hp_print_limit(p->options, view));
    for (size_t i = 0; i < rows.n; i++) {
        hp_json_begin_object(&p->json);
        print_fields(p, &fields, &rows.rows[i], false);
        if (per_thread)
            print_parts(p, &fields, &rows, rows.rows[i].item);
        hp_json_end_object(&p->json);
    }
    hp_json_end_array(&p->json);
    hp_rows_fini(&rows);
    return HP_OK;
}

static void print_work(struct hp_json *json, const struct hp_engine_work *work)
{
    hp_json_put_object(json, "engine_stats");
    for (const struct hp_engine_work_field *field = hp_engine_work_fields; field->name; field++) {
        hp_json_put_uint(json, field->name,
                         *(const uint64_t *)(const void *)((const char *)work + field->offset));
    }
    hp_json_end_object(json);
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
    if (hp_engine_work_known(&run->work))
        print_work(json, &run->work);
}

void hp_json_summary(struct hp_json *json, const struct hp_summary *summary)
{
    for (const struct hp_summary_field *field = hp_summary_fields; field->name; field++) {
        hp_json_put_uint(json, field->name,
                         *(const uint64_t *)((const char *)summary + field->offset));
    }
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

static enum hp_err print_views(struct printer *p)
{
    const struct hp_view *view = p->options->view;
    bool all = !view || view == &hp_view_all;
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
        if (hp_views[i]->fields && (all || view == hp_views[i]))
            HP_TRY(print_table(p, hp_views[i]));
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
    hp_json_put_string(&p.json, "hotpath", HP_VERSION);
    enum hp_err err = print_views(&p);
    if (err == HP_OK && p.buffer.failed)
        err = hp_fail_nomem();
    hp_strbuf_fini(&p.buffer);
    HP_TRY(err);
    hp_json_end_object(&p.json);
    return hp_json_finish(&p.json);
}
