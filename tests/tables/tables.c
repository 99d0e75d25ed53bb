// SPDX-License-Identifier: MIT
/*
 * Prints a list of a document from the descriptions in the code: scripts/tables fills it in.
 *
 *     tables views     the views of a report
 *     tables fields    the fields of each view
 *     tables rows      the tables of a profile
 *     tables formats   the formats of exports
 *     tables FAMILY    the presets and keys of a family of models (profiler/models.h)
 */
#include "tables.h"

#include "cli/top/keys.h"
#include "export/export.h"
#include "report/fields.h"
#include "report/view.h"
#include "text/utf8.h"

#include <stdlib.h>

#define COLUMNS 100

/* Words, broken at blanks before they reach the last column; lines but the first are indented. */
static void print_item(const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        char *word = strndup(text, n);
        size_t width = word ? hp_utf8_width(word) : n;
        free(word);
        if (column && column + 1 + width > COLUMNS) {
            fputs("\n ", stdout);
            column = 1;
        }
        printf("%s%.*s", column ? " " : "", (int)n, text);
        column += (column > 0) + width;
        text += n + (text[n] == ' ');
    }
    putchar('\n');
}

void print_buffer(struct hp_strbuf *text)
{
    print_item(hp_strbuf_text(text));
    hp_strbuf_clear(text);
}

void add(struct hp_strbuf *text, const char *before, const char *what, const char *behind)
{
    hp_strbuf_add(text, before);
    hp_strbuf_add(text, what);
    hp_strbuf_add(text, behind);
}

/* --- Views ------------------------------------------------------------------------------------ */

static void print_views(struct hp_strbuf *text)
{
    for (size_t i = 0; hp_views[i]; i++) {
        const struct hp_view *view = hp_views[i];
        add(text, "- `", view->name, "`: ");
        add(text, "", view->help, ".");
        if (view->fields) {
            add(text, " A row: ", view->each, ".");
            add(text, " Order: ", view->order, ".");
        }
        print_buffer(text);
    }
}

static void print_fields(struct hp_strbuf *text)
{
    for (size_t i = 0; hp_views[i]; i++) {
        struct hp_bound_fields fields;
        if (!hp_views[i]->fields)
            continue;
        printf("%s#### %s\n", i > 1 ? "\n" : "", hp_views[i]->name);
        hp_fields_bind(&fields, hp_views[i], NULL);
        for (size_t k = 0; k < fields.n; k++) {
            const struct hp_field *field = fields.fields[k].field;
            add(text, "- `", field->name, "`: ");
            hp_strbuf_add(text, field->help ? field->help : fields.fields[k].column->help);
            hp_strbuf_add(text, field->kind == HP_FIELD_COUNTED && hp_views[i]->by_thread
                                    ? " (by thread, too)"
                                    : "");
            print_buffer(text);
        }
    }
}

/* --- Rows ------------------------------------------------------------------------------------- */

static const char *refers_to(const struct hp_row_field *field)
{
    if (field->type == HP_ROW_STRING)
        return "string";
    return hp_row_is_reference(field) && strcmp(hp_row_formats[field->to].table, field->name) != 0
               ? hp_row_formats[field->to].table
               : NULL;
}

static void print_rows(struct hp_strbuf *text)
{
    for (int kind = 0; kind < HP_ROW_KINDS; kind++) {
        const struct hp_row_format *format = &hp_row_formats[kind];
        add(text, "- `", format->table, "`: ");
        add(text, "", format->help, ". ");
        for (size_t i = 0; i < format->n_fields; i++) {
            const struct hp_row_field *field = &format->fields[i];
            const char *to = refers_to(field);
            add(text, i ? ", " : "", field->name, "");
            if (to)
                add(text, " (→ `", to, field->help ? "`: " : "`)");
            if (field->help)
                add(text, to ? "" : " (", field->help, ")");
        }
        print_buffer(text);
    }
}

/* --- Formats ---------------------------------------------------------------------------------- */

static void print_formats(struct hp_strbuf *text)
{
    for (size_t i = 0; hp_export_formats[i]; i++) {
        const struct hp_export_format *format = hp_export_formats[i];
        hp_strbuf_format(text, "- `%s`: %s. Made from %s.", format->name, format->summary,
                         format->write ? "a profile" : "a run or a trace");
        print_buffer(text);
    }
}

/* --- Keys ------------------------------------------------------------------------------------- */

static void print_keys(struct hp_strbuf *text)
{
    for (const struct hp_top_key *key = hp_top_keys; key->name; key++) {
        hp_strbuf_format(text, "- `%s`: %s", key->name, key->help);
        print_buffer(text);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(struct hp_strbuf *text);
    } tables[] = {{"views", print_views},
                  {"fields", print_fields},
                  {"rows", print_rows},
                  {"formats", print_formats},
                  {"keys", print_keys}};
    struct hp_strbuf text = {0};
    if (argc == 2 && print_models(&text, argv[1])) {
        bool failed = text.failed;
        hp_strbuf_fini(&text);
        return failed || fflush(stdout) != 0;
    }
    for (size_t i = 0; argc == 2 && i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(argv[1], tables[i].name) != 0)
            continue;
        tables[i].print(&text);
        bool failed = text.failed;
        hp_strbuf_fini(&text);
        return failed || fflush(stdout) != 0;
    }
    fputs("usage: tables views|fields|rows|formats|keys|FAMILY\n", stderr);
    return 2;
}
