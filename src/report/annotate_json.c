// SPDX-License-Identifier: MIT
#include "report/annotation.h"
#include "report/fields.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

static void key_string(struct hp_json *json, const char *key, const char *value)
{
    hp_json_key(json, key);
    hp_json_string(json, value);
}

static void key_place(struct hp_json *json, const struct hp_tables *tables, struct hp_place place,
                      struct hp_strbuf *buffer)
{
    hp_strbuf_clear(buffer);
    hp_tables_place(tables, place, buffer);
    key_string(json, "address", hp_strbuf_text(buffer));
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* All that the view instructions has of it. */
static void print_facts(struct hp_annotator *a, struct hp_json *json,
                        const struct hp_code_line *line, struct hp_strbuf *buffer)
{
    struct hp_row row = {.item = line->insn, .thread = HP_PROFILE_NONE};
    for (const struct hp_field *field = hp_insn_fields; field->name; field++) {
        static const char *const said[] = {"address", "text",     "file",   "line",
                                           "inlined", "function", "version"};
        bool known = false;
        for (size_t i = 0; i < sizeof said / sizeof *said; i++)
            known |= strcmp(field->name, said[i]) == 0;
        if (known)
            continue;
        hp_strbuf_clear(buffer);
        struct hp_field_input input = {a->tables, &row, buffer};
        struct hp_cell cell = field->get(&input);
        hp_json_key(json, field->name);
        hp_json_cell(json, &input, &cell);
    }
}

static void print_code(struct hp_annotator *a, struct hp_json *json,
                       const struct hp_code_line *line, struct hp_strbuf *buffer)
{
    hp_json_begin_object(json);
    key_place(json, a->tables, line->place, buffer);
    hp_json_key(json, "version");
    hp_json_uint(json, line->version);
    hp_json_key(json, "length");
    hp_json_uint(json, line->length);
    hp_json_key(json, "block_instructions"); /* 0: this is one instruction */
    hp_json_uint(json, line->insns);
    key_string(json, "text", line->text);
    key_string(json, "file", line->file);
    hp_json_key(json, "line");
    hp_json_uint(json, line->line);
    key_string(json, "inlined", line->inlined);
    hp_json_key(json, "executions");
    hp_json_estimate(json, hp_code_line_times(a, line));
    if (line->insn != HP_PROFILE_NONE) {
        print_facts(a, json, line, buffer);
    } else {
        hp_json_key(json, "share");
        hp_json_fixed(json, hp_annotator_share(a, hp_annotator_weight(a, line)), 6);
    }
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
    double cycles = 0;
    hp_json_begin_object(json);
    key_string(json, "file", line->file);
    hp_json_key(json, "line");
    hp_json_uint(json, line->line);
    print_source(a, json, line, buffer);
    hp_json_key(json, "executions");
    hp_json_estimate(json, line->times);
    hp_json_key(json, "instructions");
    hp_json_fixed(json, line->retired, 0);
    hp_json_key(json, "share");
    hp_json_fixed(json, hp_annotator_share(a, line->weight), 6);
    for (int i = 0; i < HP_CAUSES; i++)
        cycles += line->causes[i];
    hp_json_key(json, "cycles");
    if (a->by == HP_ANNOTATE_CYCLES)
        hp_json_fixed(json, cycles, 6);
    else
        hp_json_null(json);
    hp_json_key(json, "causes");
    hp_json_begin_object(json);
    for (int i = 0; i < HP_CAUSES; i++) {
        if (line->causes[i] <= 0)
            continue;
        hp_json_key(json, hp_cause_name((enum hp_cause)i));
        hp_json_fixed(json, line->causes[i], 6);
    }
    hp_json_end_object(json);
    hp_json_end_object(json);
}

/* --- Functions -------------------------------------------------------------------------------- */

static enum hp_err print_parts(struct hp_annotator *a, struct hp_json *json, uint32_t function,
                               struct hp_strbuf *buffer)
{
    struct hp_code_line *code;
    struct hp_annotated_line *lines;
    size_t n, n_lines;
    const char *missing;
    HP_TRY(hp_annotator_code(a, function, &code, &n, &missing));
    enum hp_err err = hp_annotator_lines(a, function, code, n, &lines, &n_lines);
    if (err == HP_OK) {
        hp_json_key(json, "missing");
        hp_json_string(json, missing);
        hp_json_key(json, "lines");
        hp_json_begin_array(json);
        for (size_t i = 0; i < n_lines; i++)
            print_line(a, json, &lines[i], buffer);
        hp_json_end_array(json);
        free(lines);
    }
    if (err == HP_OK && !a->options->lines) {
        hp_json_key(json, "instructions");
        hp_json_begin_array(json);
        for (size_t i = 0; i < n; i++)
            print_code(a, json, &code[i], buffer);
        hp_json_end_array(json);
    }
    free(code);
    return err;
}

enum hp_err hp_annotate_json(struct hp_annotator *a, const struct hp_hot_function *functions,
                             size_t n)
{
    static const char *const units[] = {"cycles", "samples", "instructions"};
    struct hp_json json = {.out = a->out, .lines = 4};
    struct hp_strbuf buffer = {0};
    enum hp_err err = HP_OK;
    hp_json_begin_object(&json);
    key_string(&json, "hotpath", HP_VERSION);
    key_string(&json, "by", units[a->by]);
    hp_json_key(&json, "functions");
    hp_json_begin_array(&json);
    for (size_t i = 0; i < n && err == HP_OK; i++) {
        const struct hp_pfunction *f = &a->tables->profile->functions[functions[i].function];
        hp_json_begin_object(&json);
        key_string(&json, "name", a->tables->functions[functions[i].function]);
        key_place(&json, a->tables, f->place, &buffer);
        key_string(&json, "file", hp_text(f->file));
        hp_json_key(&json, "line");
        hp_json_uint(&json, f->line);
        hp_json_key(&json, "share");
        hp_json_fixed(&json, hp_annotator_function_share(a, &functions[i]), 6);
        err = print_parts(a, &json, functions[i].function, &buffer);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    if (err == HP_OK && buffer.failed)
        err = hp_fail_nomem();
    hp_strbuf_fini(&buffer);
    HP_TRY(err);
    hp_json_end_object(&json);
    return hp_json_finish(&json);
}
