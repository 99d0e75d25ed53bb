// SPDX-License-Identifier: MIT
/* The tables of the data, by column. */
#include "page/model.h"
#include "report/paths/lines.h"
#include "report/paths/time.h"
#include "report/text.h"
#include "text/number.h"

/* --- Writing ---------------------------------------------------------------------------------- */

/* A row is an item of the profile: what is known of it is in its row there, in the report's row,
 * and in a row that the page made. */
struct source {
    enum hp_row_kind kind;
    size_t n;
    const struct hp_row *rows; /* their items; else: */
    const uint32_t *items;     /* likewise; else 0, 1, ... */
    const void *own;           /* by item */
    size_t own_size;
};

struct column {
    const char *name;
    enum { FROM_PROFILE, FROM_REPORT, FROM_PAGE } from;
    struct hp_row_field field;                           /* of the report or the page */
    void (*text)(struct hp_page *page, const void *row); /* instead: writes to page->text */
    bool ordered;                                        /* not known when a run was only counted */
};

#define COLUMN .from = FROM_PROFILE
#define VALUE(k)                                                                                   \
    .from = FROM_REPORT, .field = {.type = HP_ROW_U64, .offset = offsetof(struct hp_row, v[k])}
#define OWN(row, member, kind, ...)                                                                \
    .from = FROM_PAGE,                                                                             \
    .field = {.type = HP_ROW_##kind, .offset = offsetof(struct row, member), __VA_ARGS__}

void hp_page_put_index(struct hp_page *page, uint32_t index)
{
    hp_json_int(&page->json, index == HP_PROFILE_NONE ? -1 : (int64_t)index);
}

void hp_page_put_field(struct hp_page *page, const struct hp_row_field *field, const void *row)
{
    if (field->type == HP_ROW_TEXT) {
        hp_json_string(&page->json, hp_row_text(field, row));
        return;
    }
    if (field->type == HP_ROW_STRING) {
        hp_page_put_index(page, hp_page_text_find(&page->files, hp_row_text(field, row)));
        return;
    }
    uint64_t number = hp_row_number(field, row);
    bool refers = hp_row_is_reference(field);
    if (refers && page->row_of[field->to])
        hp_page_put_index(page, hp_page_row(page, field->to, (uint32_t)number));
    else if (refers)
        hp_page_put_index(page, (uint32_t)number);
    else if (field->type == HP_ROW_BITS)
        hp_json_string(&page->json, HP_HEX(number) + strlen("0x"));
    else
        hp_json_uint(&page->json, number);
}

static void put_cell(struct hp_page *page, const struct column *column,
                     const struct hp_row_field *field, const void *row)
{
    if (column->ordered && !page->tables.inclusive_known) {
        hp_page_put_index(page, HP_PROFILE_NONE);
    } else if (column->text) {
        hp_strbuf_clear(&page->text);
        column->text(page, row);
        hp_json_string(&page->json, hp_strbuf_text(&page->text));
    } else {
        hp_page_put_field(page, field, row);
    }
}

static void put_column(struct hp_page *page, const struct column *column,
                       const struct source *source)
{
    const struct hp_row_field *field = &column->field;
    if (column->from == FROM_PROFILE)
        field = hp_row_column(source->kind, column->name);
    hp_json_put_array(&page->json, column->name);
    for (size_t i = 0; i < source->n; i++) {
        size_t item = source->rows ? source->rows[i].item : source->items ? source->items[i] : i;
        if (column->from == FROM_PROFILE)
            put_cell(page, column, field, hp_profile_row(page->profile, source->kind, item));
        else if (column->from == FROM_REPORT)
            put_cell(page, column, field, &source->rows[i]);
        else
            put_cell(page, column, field, (const char *)source->own + item * source->own_size);
    }
    hp_json_end_array(&page->json);
}

/* A name, and columns that are called so. */
#define TABLE(name) #name, name, sizeof name / sizeof *name

static void put_table(struct hp_page *page, const char *name, const struct column *columns,
                      size_t n, struct source source)
{
    hp_json_put_object(&page->json, name);
    for (size_t i = 0; i < n; i++)
        put_column(page, &columns[i], &source);
    hp_json_end_object(&page->json);
}

/* Rows that the page made. */
#define MADE(rows) .own = (rows), .own_size = sizeof *(rows)
/* The rows that the page has of a kind. */
#define ROWS(of)                                                                                   \
    .kind = HP_ROW_##of, .n = page->rows[HP_ROW_##of].n, .rows = page->rows[HP_ROW_##of].rows

/* --- Columns ---------------------------------------------------------------------------------- */

static const struct column modules[] = {{"name", OWN(hp_page_module, name, TEXT)},
                                        {"path", COLUMN},
                                        {"build_id", COLUMN},
                                        {"instructions", OWN(hp_page_module, instructions, U64)}};

static const struct column files[] = {{"path", FROM_PAGE, .field = {.type = HP_ROW_TEXT}}};

static const struct column lines[] = {{"file", OWN(hp_source_line, file, STRING)},
                                      {"line", OWN(hp_source_line, line, U32)},
                                      {"instructions", VALUE(0)},
                                      {"executions", VALUE(1)}};

static void function_brief(struct hp_page *page, const void *row)
{
    hp_page_short_name(&page->text, ((const struct hp_page_function *)row)->name, HP_PAGE_BRIEF);
}

static void function_tag(struct hp_page *page, const void *row)
{
    hp_page_short_name(&page->text, ((const struct hp_page_function *)row)->name, HP_PAGE_TAG);
}

static const struct column functions[] = {{"name", OWN(hp_page_function, name, TEXT)},
                                          {"brief", .from = FROM_PAGE, .text = function_brief},
                                          {"tag", .from = FROM_PAGE, .text = function_tag},
                                          {"module", COLUMN},
                                          {"offset", COLUMN},
                                          {"file", COLUMN},
                                          {"line", COLUMN},
                                          {"self", VALUE(0)},
                                          {"calls", VALUE(2)},
                                          {"cycles", OWN(hp_page_function, cycles, U64)},
                                          {"first_block", OWN(hp_page_function, first_block, U32)},
                                          {"n_blocks", OWN(hp_page_function, n_blocks, U32)},
                                          {"inclusive", VALUE(1), .ordered = true}};

static const struct column blocks[] = {{"function", COLUMN},
                                       {"module", COLUMN},
                                       {"offset", COLUMN},
                                       {"size", COLUMN},
                                       {"insns", COLUMN},
                                       {"count", VALUE(1)},
                                       {"flow", COLUMN},
                                       {"line", OWN(hp_page_block, line, U32)},
                                       {"file", OWN(hp_page_block, file, STRING)},
                                       {"first_code", OWN(hp_page_block, first_code, U32)},
                                       {"n_code", OWN(hp_page_block, n_code, U32)},
                                       {"loop", OWN(hp_page_block, loop, LINK, .to = HP_ROW_LOOP)}};

static const struct column edges[] = {{"from", OWN(hp_page_edge, from, U32)},
                                      {"to", OWN(hp_page_edge, to, U32)},
                                      {"count", OWN(hp_page_edge, count, U64)},
                                      {"taken", OWN(hp_page_edge, taken, U8)},
                                      {"flow", OWN(hp_page_edge, flow, U8)}};

static void code_text(struct hp_page *page, const void *row)
{
    hp_put_assembly(((const struct hp_page_code *)row)->line.text, &page->text);
}

static const struct column code[] = {
    {"offset", OWN(hp_page_code, line.place.offset, BITS)},
    {"text", .from = FROM_PAGE, .text = code_text},
    {"file", OWN(hp_page_code, line.file, STRING)},
    {"line", OWN(hp_page_code, line.line, U32)},
    {"inlined", OWN(hp_page_code, inlined, LINK)},
    {"insn", OWN(hp_page_code, line.insn, LINK, .to = HP_ROW_INSN)}};

static const struct column contexts[] = {{"parent", COLUMN},
                                         {"function", COLUMN},
                                         {"self", VALUE(1)},
                                         {"inclusive", VALUE(0)},
                                         {"calls", VALUE(2)}};

static const struct column function_threads[] = {
    {"function", OWN(hp_page_part, item, LINK, .to = HP_ROW_FUNCTION)},
    {"thread", OWN(hp_page_part, thread, U32)},
    {"self", OWN(hp_page_part, self, U64)},
    {"inclusive", OWN(hp_page_part, inclusive, U64), .ordered = true},
    {"calls", OWN(hp_page_part, calls, U64)}};

static const struct column context_threads[] = {
    {"context", OWN(hp_page_part, item, LINK, .to = HP_ROW_CONTEXT)},
    {"thread", OWN(hp_page_part, thread, U32)},
    {"self", OWN(hp_page_part, self, U64)},
    {"inclusive", OWN(hp_page_part, inclusive, U64)},
    {"calls", OWN(hp_page_part, calls, U64)}};

static void path_outcomes(struct hp_page *page, const void *row)
{
    hp_path_outcomes(row, &page->text);
}

static void path_causes(struct hp_page *page, const void *row)
{
    const struct hp_ppath *path = row;
    hp_put_path_causes(&page->tables, (uint32_t)(path - page->profile->paths), &page->text);
}

static const struct column paths[] = {{"kind", OWN(hp_page_path, kind, U32)},
                                      {"function", COLUMN},
                                      {"offset", COLUMN},
                                      {"module", COLUMN},
                                      {"length", COLUMN},
                                      {"outcomes", COLUMN, .text = path_outcomes},
                                      {"count", VALUE(1)},
                                      {"instructions", VALUE(2)},
                                      {"events", VALUE(3)},
                                      {"measured", OWN(hp_page_path, measured, U64)},
                                      {"measured_instructions", OWN(hp_page_path, timed, U64)},
                                      {"cycles", OWN(hp_page_path, cycles, U64)},
                                      {"causes", COLUMN, .text = path_causes},
                                      {"first_step", OWN(hp_page_path, first_step, U32)},
                                      {"n_steps", OWN(hp_page_path, n_steps, U32)}};

static const struct column steps[] = {{"block", COLUMN}, {"how", COLUMN}};

/* --- Tables ----------------------------------------------------------------------------------- */

static void put_names(struct hp_page *page, const char *key, const char *const *names, size_t n)
{
    hp_json_put_array(&page->json, key);
    for (size_t i = 0; i < n; i++)
        hp_json_string(&page->json, names[i]);
    hp_json_end_array(&page->json);
}

static struct source parts_of(const struct hp_page_parts *parts)
{
    return (struct source){.n = parts->n, MADE(parts->items)};
}

static void put_code(struct hp_page *page)
{
    const char *flows[HP_FLOW_COUNT_ + 1] = {[HP_FLOW_COUNT_] = "overlap"};
    for (int i = 0; i < HP_FLOW_COUNT_; i++)
        flows[i] = hp_flow_name((enum hp_flow)i);
    put_table(
        page, TABLE(lines),
        (struct source){.n = page->lines.n, .rows = page->lines.rows, MADE(page->tables.lines)});
    put_table(page, TABLE(functions), (struct source){ROWS(FUNCTION), MADE(page->functions)});
    put_table(page, TABLE(blocks), (struct source){ROWS(BLOCK), MADE(page->blocks)});
    put_table(page, TABLE(edges), (struct source){.n = page->n_edges, MADE(page->edges)});
    put_names(page, "flows", flows, HP_FLOW_COUNT_ + 1);
    put_table(page, TABLE(code), (struct source){.n = page->n_code, MADE(page->code)});
    put_names(page, "names", page->names.texts, page->names.n);
    put_table(page, TABLE(contexts), (struct source){ROWS(CONTEXT)});
    put_table(page, TABLE(function_threads), parts_of(&page->function_parts));
    put_table(page, TABLE(context_threads), parts_of(&page->context_parts));
}

static void put_kinds(struct hp_page *page)
{
    struct hp_json *json = &page->json;
    hp_json_put_array(json, "kinds");
    for (size_t i = 0; i < page->tables.n_kinds; i++) {
        const struct hp_path_kind *kind = &page->tables.kinds[i];
        hp_json_begin_object(json);
        hp_json_put_string(json, "kind", kind->name);
        hp_json_put_string(json, "metric", hp_metric_name(kind->metric));
        hp_json_put_uint(json, "paths", kind->distinct);
        hp_json_put_uint(json, "count", kind->count);
        hp_json_put_uint(json, "instructions", kind->insns);
        hp_json_put_uint(json, "events", kind->events);
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

static void put_paths(struct hp_page *page)
{
    const char *hows[HP_STEP_END + 1];
    for (unsigned i = 0; i <= HP_STEP_END; i++)
        hows[i] = hp_step_name(i);
    put_kinds(page);
    put_table(page, TABLE(paths), (struct source){ROWS(PATH), MADE(page->paths)});
    put_table(page, TABLE(steps),
              (struct source){HP_ROW_PATH_STEP, page->n_steps, .items = page->steps});
    put_names(page, "hows", hows, HP_STEP_END + 1);
}

enum hp_err hp_page_put_tables(struct hp_page *page)
{
    put_table(page, TABLE(modules),
              (struct source){HP_ROW_MODULE, page->profile->n_modules, MADE(page->modules)});
    put_table(page, TABLE(files), (struct source){.n = page->files.n, MADE(page->files.texts)});
    HP_TRY(hp_page_put_sources(page));
    put_code(page);
    put_paths(page);
    return HP_OK;
}
