// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "report/annotate/annotation.h"
#include "report/fields.h"

#include <stdlib.h>
#include <string.h>

static void key_place(struct hp_json *json, const struct hp_tables *tables, struct hp_place place,
                      struct hp_strbuf *buffer)
{
    hp_strbuf_clear(buffer);
    hp_tables_place(tables, place, buffer);
    hp_json_put_string(json, "address", hp_strbuf_text(buffer));
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* All that the view instructions has of it. */
static void print_facts(struct hp_annotator *a, struct hp_json *json,
                        const struct hp_code_line *line, struct hp_strbuf *buffer)
{
    static const char *const said[] = {"address", "text",     "file",   "line",
                                       "inlined", "function", "version"};
    struct hp_row row = {.item = line->insn, .thread = HP_PROFILE_NONE};
    struct hp_field_input input = {.tables = a->tables, .row = &row, .buffer = buffer};
    struct hp_bound_fields fields;
    hp_fields_bind(&fields, &hp_view_instructions, a->tables);
    for (size_t k = 0; k < fields.n; k++) {
        bool known = false;
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            known |= strcmp(fields.fields[k].field->name, said[i]) == 0;
        if (!known)
            hp_field_json(json, &fields.fields[k], &input);
    }
}

static void print_code(struct hp_annotator *a, struct hp_json *json,
                       const struct hp_code_line *line, struct hp_strbuf *buffer)
{
    struct hp_code_numbers numbers = hp_code_numbers(a, line);
    hp_json_begin_object(json);
    key_place(json, a->tables, line->place, buffer);
    hp_json_put_uint(json, "version", line->version);
    hp_json_put_uint(json, "length", line->length);
    hp_json_put_uint(json, "block_instructions", line->insns);
    hp_json_put_string(json, "text", line->text);
    hp_json_put_string(json, "file", line->file);
    hp_json_put_uint(json, "line", line->line);
    hp_json_put_string(json, "inlined", line->inlined);
    hp_json_key(json, "executions");
    hp_json_estimate(json, numbers.times);
    if (numbers.known)
        print_facts(a, json, line, buffer);
    else
        hp_json_put_fixed(json, "share", hp_annotator_share(a, numbers.weight), 6);
    hp_json_end_object(json);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void print_source(struct hp_annotator *a, struct hp_json *json,
                         const struct hp_annotated_line *line, struct hp_strbuf *buffer)
{
    size_t length;
    const char *source = hp_sources_line(&a->sources, line->file, line->line, &length);
    hp_json_key(json, "source");
    if (!source) {
        hp_json_null(json);
        return;
    }
    hp_strbuf_clear(buffer);
    hp_strbuf_bytes(buffer, source, strnlen(source, length));
    hp_json_string(json, hp_strbuf_text(buffer));
}

static void print_line(struct hp_annotator *a, struct hp_json *json,
                       const struct hp_annotated_line *line, struct hp_strbuf *buffer)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", line->file);
    hp_json_put_uint(json, "line", line->line);
    print_source(a, json, line, buffer);
    hp_json_key(json, "executions");
    hp_json_estimate(json, line->times);
    hp_json_put_fixed(json, "instructions", line->retired, 0);
    hp_json_put_fixed(json, "share", hp_annotator_share(a, line->weight), 6);
    if (a->by == HP_ANNOTATE_CYCLES)
        hp_json_put_fixed(json, "cycles", hp_annotated_cycles(line), 6);
    else
        hp_json_put_null(json, "cycles");
    hp_json_put_object(json, "causes");
    for (int i = 0; i < HP_CAUSES; i++)
        if (line->causes[i] > 0)
            hp_json_put_fixed(json, hp_cause_name((enum hp_cause)i), line->causes[i], 6);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

/* --- Functions -------------------------------------------------------------------------------- */

static enum hp_err print_parts(struct hp_annotator *a, struct hp_json *json, uint32_t function,
                               struct hp_strbuf *buffer)
{
    struct hp_code_line *code HP_CLEANUP(hp_free) = NULL;
    struct hp_annotated_line *lines HP_CLEANUP(hp_free) = NULL;
    size_t n, n_lines;
    const char *missing;
    HP_TRY(hp_annotator_code(a, function, &code, &n, &missing));
    HP_TRY(hp_annotator_lines(a, function, code, n, &lines, &n_lines));
    hp_json_put_string(json, "missing", missing);
    hp_json_put_array(json, "lines");
    for (size_t i = 0; i < n_lines; i++)
        print_line(a, json, &lines[i], buffer);
    hp_json_end_array(json);
    if (a->options->lines)
        return HP_OK;
    hp_json_put_array(json, "instructions");
    for (size_t i = 0; i < n; i++)
        print_code(a, json, &code[i], buffer);
    hp_json_end_array(json);
    return HP_OK;
}

enum hp_err hp_annotate_json(struct hp_annotator *a, const struct hp_hot_function *functions,
                             size_t n)
{
    static const char *const units[] = {"cycles", "samples", "instructions"};
    struct hp_json json = {.out = a->out, .lines = 4};
    struct hp_strbuf buffer HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "hotpath", HP_VERSION);
    hp_json_put_string(&json, "by", units[a->by]);
    hp_json_put_array(&json, "functions");
    for (size_t i = 0; i < n; i++) {
        const struct hp_pfunction *f = &a->tables->profile->functions[functions[i].function];
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "name", a->tables->functions[functions[i].function]);
        key_place(&json, a->tables, f->place, &buffer);
        hp_json_put_string(&json, "file", hp_text(f->file));
        hp_json_put_uint(&json, "line", f->line);
        hp_json_put_fixed(&json, "share", hp_annotator_share(a, (double)functions[i].weight), 6);
        HP_TRY(print_parts(a, &json, functions[i].function, &buffer));
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    return buffer.failed ? hp_fail_nomem() : hp_json_finish(&json);
}
