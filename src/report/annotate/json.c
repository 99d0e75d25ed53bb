// SPDX-License-Identifier: MIT
#include "base/base.h"
#include "report/annotate/annotate.h"
#include "report/fields.h"

struct writer {
    struct hp_annotator *a;
    struct hp_json json;
    struct hp_strbuf *buffer;
};

static void put_address(struct writer *w, struct hp_place place)
{
    hp_strbuf_clear(w->buffer);
    hp_tables_place(w->a->tables, place, w->buffer);
    hp_json_put_string(&w->json, "address", hp_strbuf_text(w->buffer));
}

/* What the view instructions computes. */
static void put_facts(struct writer *w, uint32_t insn)
{
    struct hp_row row = {.item = insn, .thread = HP_PROFILE_NONE};
    struct hp_field_input input = {.tables = w->a->tables, .row = &row, .buffer = w->buffer};
    struct hp_bound_fields fields;
    hp_fields_bind(&fields, &hp_view_instructions, w->a->tables);
    for (size_t k = 0; k < fields.n; k++)
        if (!fields.fields[k].column)
            hp_field_json(&w->json, &fields.fields[k], &input);
}

static void put_code(struct writer *w, const struct hp_code_line *line)
{
    struct hp_json *json = &w->json;
    struct hp_code_numbers numbers = hp_code_numbers(w->a, line);
    hp_json_begin_object(json);
    put_address(w, line->place);
    hp_json_put_uint(json, "version", line->version);
    hp_json_put_uint(json, "length", line->length);
    hp_json_put_uint(json, "block_instructions", line->insns);
    hp_json_put_string(json, "text", line->text);
    hp_json_put_string(json, "file", line->file);
    hp_json_put_uint(json, "line", line->line);
    hp_json_put_string(json, "inlined", line->inlined);
    hp_json_key(json, "executions");
    hp_json_estimate(json, numbers.times);
    if (line->insn != HP_PROFILE_NONE)
        put_facts(w, line->insn);
    else
        hp_json_put_fixed(json, "share", hp_annotator_share(w->a, numbers.weight), 6);
    hp_json_end_object(json);
}

static void put_line(struct writer *w, const struct hp_annotated_line *line)
{
    struct hp_json *json = &w->json;
    size_t length;
    const char *source = hp_sources_line(&w->a->sources, line->file, line->line, &length);
    hp_strbuf_clear(w->buffer);
    hp_strbuf_bytes(w->buffer, source ? source : "", source ? strnlen(source, length) : 0);
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", line->file);
    hp_json_put_uint(json, "line", line->line);
    hp_json_put_string(json, "source", source ? hp_strbuf_text(w->buffer) : NULL);
    hp_json_key(json, "executions");
    hp_json_estimate(json, line->times);
    hp_json_put_fixed(json, "instructions", line->retired, 0);
    hp_json_put_fixed(json, "share", hp_annotator_share(w->a, line->weight), 6);
    if (w->a->by == HP_ANNOTATE_CYCLES)
        hp_json_put_fixed(json, "cycles", line->cycles, 6);
    else
        hp_json_put_null(json, "cycles");
    hp_json_put_object(json, "causes");
    for (int i = 0; i < HP_CAUSES; i++)
        if (line->causes[i] > 0)
            hp_json_put_fixed(json, hp_cause_name((enum hp_cause)i), line->causes[i], 6);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static void put_places(struct writer *w, const struct hp_inlined_places *places)
{
    hp_json_put_array(&w->json, "inlined_at");
    for (size_t i = 0; i < places->n; i++) {
        const struct hp_inlined_place *place = &places->places[i];
        hp_json_begin_object(&w->json);
        hp_json_put_string(
            &w->json, "function",
            place->caller == HP_PROFILE_NONE ? "" : w->a->tables->functions[place->caller]);
        hp_json_put_string(&w->json, "file", place->file);
        hp_json_put_uint(&w->json, "line", place->line);
        hp_json_put_fixed(&w->json, "share", hp_annotator_share(w->a, place->weight), 6);
        hp_json_end_object(&w->json);
    }
    hp_json_end_array(&w->json);
}

static enum hp_err put_function(struct writer *w, struct hp_hot_function of)
{
    const struct hp_hot_function *function = &of;
    const struct hp_pfunction *f = &w->a->tables->profile->functions[function->function];
    struct hp_inlined_places places HP_CLEANUP(hp_inlined_places_fini) = {0};
    struct hp_json *json = &w->json;
    struct hp_function_code code HP_CLEANUP(hp_function_code_fini) = {0};
    struct hp_annotated_line *lines HP_CLEANUP(hp_free) = NULL;
    size_t n_lines;
    HP_TRY(hp_annotator_all_code(w->a, &of, &code, &places));
    HP_TRY(hp_annotator_lines(w->a, function->function, &code, &lines, &n_lines));
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", w->a->tables->functions[function->function]);
    put_address(w, f->place);
    hp_json_put_string(json, "file", hp_text(f->file));
    hp_json_put_uint(json, "line", f->line);
    hp_json_put_fixed(json, "share", hp_annotator_share(w->a, (double)function->weight), 6);
    hp_json_put_string(json, "missing", code.missing);
    put_places(w, &places);
    hp_json_put_array(json, "lines");
    for (size_t i = 0; i < n_lines; i++)
        put_line(w, &lines[i]);
    hp_json_end_array(json);
    if (!w->a->options->lines) {
        hp_json_put_array(json, "instructions");
        for (size_t i = 0; i < code.n; i++)
            put_code(w, &code.lines[i]);
        hp_json_end_array(json);
    }
    hp_json_end_object(json);
    return w->buffer->failed ? hp_fail_nomem() : HP_OK;
}

enum hp_err hp_annotate_json(struct hp_annotator *a, const struct hp_hot_function *functions,
                             size_t n)
{
    static const char *const units[] = {"cycles", "samples", "instructions"};
    struct hp_strbuf buffer HP_CLEANUP(hp_strbuf_fini) = {0};
    struct writer w = {a, {.out = a->out, .lines = 4}, &buffer};
    hp_json_begin_object(&w.json);
    hp_json_put_string(&w.json, "hotpath", HP_VERSION);
    hp_json_put_string(&w.json, "by", units[a->by]);
    hp_json_put_array(&w.json, "functions");
    for (size_t i = 0; i < n; i++)
        HP_TRY(put_function(&w, functions[i]));
    hp_json_end_array(&w.json);
    hp_json_end_object(&w.json);
    return hp_json_finish(&w.json);
}
