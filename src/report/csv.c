// SPDX-License-Identifier: MIT
#include "report/fields.h"
#include "report/print.h"
#include "text/number.h"
#include "text/utf8.h"

#include <string.h>

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

static void end_line(FILE *out)
{
    fputs_unlocked("\r\n", out);
}

/* With `per_thread`, the last column is the thread, empty for all of them together. */
static void print_row(const struct hp_tables *tables, const struct hp_bound_fields *fields,
                      const struct hp_row *row, bool per_thread, struct hp_strbuf *buffer,
                      FILE *out)
{
    struct hp_field_input input = {.tables = tables, .row = row, .buffer = buffer};
    for (size_t i = 0; i < fields->n; i++) {
        hp_strbuf_clear(buffer);
        if (i > 0)
            putc_unlocked(',', out);
        if (fields->fields[i].field->list) {
            hp_field_list(&fields->fields[i], &input);
            hp_csv_text(out, hp_strbuf_text(buffer));
        } else {
            struct hp_cell cell = hp_field_cell(&fields->fields[i], &input);
            print_cell(out, &cell);
        }
    }
    if (per_thread) {
        char text[HP_NUMBER_SIZE] = "";
        if (row->thread != HP_PROFILE_NONE)
            hp_number_uint(text, row->thread);
        putc_unlocked(',', out);
        fputs_unlocked(text, out);
    }
    end_line(out);
}

static enum hp_err print_table(struct hp_tables *tables, const struct hp_report_options *options,
                               const struct hp_view *view, FILE *out)
{
    struct hp_rows rows;
    struct hp_bound_fields fields;
    bool per_thread = options->per_thread && view->by_thread;
    if (view->prepare)
        HP_TRY(view->prepare(tables));
    HP_TRY(hp_rows_init(&rows, tables, view, per_thread));
    hp_fields_bind(&fields, view, tables);
    for (size_t i = 0; i < fields.n; i++) {
        if (i > 0)
            putc_unlocked(',', out);
        fputs_unlocked(fields.fields[i].field->name, out);
    }
    fputs_unlocked(per_thread ? ",thread\r\n" : "\r\n", out);
    struct hp_strbuf buffer = {0};
    hp_rows_keep(&rows, tables, view, hp_print_limit(options, view));
    for (size_t i = 0; i < rows.n; i++) {
        print_row(tables, &fields, &rows.rows[i], per_thread, &buffer, out);
        size_t n_parts;
        const struct hp_row *parts = hp_rows_parts(&rows, rows.rows[i].item, &n_parts);
        for (size_t k = 0; k < n_parts; k++)
            print_row(tables, &fields, &parts[k], per_thread, &buffer, out);
    }
    enum hp_err err = buffer.failed ? hp_fail_nomem() : HP_OK;
    hp_strbuf_fini(&buffer);
    hp_rows_fini(&rows);
    return err;
}

static void print_summary(const struct hp_summary *summary, FILE *out)
{
    for (const struct hp_summary_field *field = hp_summary_fields; field->name; field++)
        fprintf(out, "%s%s", field == hp_summary_fields ? "" : ",", field->name);
    end_line(out);
    for (const struct hp_summary_field *field = hp_summary_fields; field->name; field++) {
        char text[HP_NUMBER_SIZE];
        hp_number_uint(text, *(const uint64_t *)((const char *)summary + field->offset));
        fprintf(out, "%s%s", field == hp_summary_fields ? "" : ",", text);
    }
    end_line(out);
}

enum hp_err hp_print_csv(struct hp_tables *tables, const struct hp_report_options *options,
                         FILE *out)
{
    const struct hp_view *view = options->view ? options->view : hp_print_default(tables);
    if (view == &hp_view_all)
        return hp_fail(HP_ERR_INVALID,
                       "CSV holds one table: choose a view such as functions, or JSON for all");
    if (view == &hp_view_summary)
        print_summary(&tables->summary, out);
    else
        HP_TRY(print_table(tables, options, view, out));
    return hp_print_finish(out);
}
