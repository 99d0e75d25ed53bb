// SPDX-License-Identifier: MIT
/*
 * The tables of the data: code.
 */
#include "page/model.h"
#include "report/cells.h"

/* --- Writing ---------------------------------------------------------------------------------- */

void hp_page_put_index(struct hp_page *page, uint32_t index)
{
    hp_json_int(&page->json, index == HP_PROFILE_NONE ? -1 : (int64_t)index);
}

/* A column of the profile's row: its type says how it is written. */
static void put_member(struct hp_page *page, const struct hp_row_field *field, const void *row)
{
    if (hp_row_is_text(field)) {
        const char *text = hp_row_text(field, row);
        if (field->type == HP_ROW_STRING)
            hp_page_put_index(page, hp_page_text_find(&page->files, text));
        else
            hp_json_string(&page->json, text);
        return;
    }
    uint64_t number = hp_row_number(field, row);
    if (hp_row_is_reference(field))
        hp_page_put_index(page, field->to == HP_ROW_FUNCTION
                                    ? hp_page_row(&page->functions, (uint32_t)number)
                                    : (uint32_t)number);
    else if (field->type == HP_ROW_BITS)
        hp_json_string(&page->json, hp_page_hex(page, number));
    else
        hp_json_uint(&page->json, number);
}

static void put_column(struct hp_page *page, const struct hp_page_column *column,
                       const struct hp_page_source *source)
{
    const struct hp_row_field *field = NULL;
    if (!column->index && !column->count && !column->text && !column->value)
        field = hp_row_column(source->kind, column->name);
    hp_json_put_array(&page->json, column->name);
    for (size_t i = 0; i < source->n; i++) {
        size_t item = source->rows ? source->rows[i].item : i;
        hp_strbuf_clear(&page->text);
        if (field)
            put_member(page, field, hp_profile_row(page->profile, source->kind, item));
        else if (column->value)
            hp_json_uint(&page->json, source->rows[i].v[column->value - 1]);
        else if (column->index)
            hp_page_put_index(page, column->index(page, i));
        else if (column->count)
            hp_json_uint(&page->json, column->count(page, i));
        else
            hp_json_string(&page->json, hp_text(column->text(page, i)));
    }
    hp_json_end_array(&page->json);
}

void hp_page_put_table(struct hp_page *page, const char *name, const struct hp_page_column *columns,
                       struct hp_page_source source)
{
    hp_json_put_object(&page->json, name);
    for (; columns->name; columns++)
        put_column(page, columns, &source);
    hp_json_end_object(&page->json);
}

const char *hp_page_hex(struct hp_page *page, uint64_t offset)
{
    hp_strbuf_hex(&page->text, offset);
    return hp_strbuf_text(&page->text) + 2;
}

/* --- Modules ---------------------------------------------------------------------------------- */

static const char *module_name(struct hp_page *page, size_t row)
{
    return page->tables.modules[row];
}

static uint64_t module_insns(const struct hp_page *page, size_t row)
{
    return page->module_insns[row];
}

void hp_page_put_modules(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {{.name = "name", .text = module_name},
                                                    {.name = "path"},
                                                    {.name = "build_id"},
                                                    {.name = "instructions", .count = module_insns},
                                                    {0}};
    hp_page_put_table(
        page, "modules", columns,
        (struct hp_page_source){.kind = HP_ROW_MODULE, .n = page->profile->n_modules});
}

/* --- Functions -------------------------------------------------------------------------------- */

static const char *function_name(struct hp_page *page, size_t row)
{
    return page->tables.functions[page->functions.rows[row].item];
}

static uint32_t function_not_known(const struct hp_page *page, size_t row)
{
    (void)page, (void)row;
    return HP_PROFILE_NONE;
}

static uint64_t function_cycles(const struct hp_page *page, size_t row)
{
    return page->cycles[page->functions.rows[row].item];
}

static uint64_t function_first_block(const struct hp_page *page, size_t row)
{
    return page->function_blocks[row].first;
}

static uint64_t function_n_blocks(const struct hp_page *page, size_t row)
{
    return page->function_blocks[row].n;
}

void hp_page_put_functions(struct hp_page *page)
{
    struct hp_page_column columns[] = {{.name = "name", .text = function_name},
                                       {.name = "module"},
                                       {.name = "offset"},
                                       {.name = "file"},
                                       {.name = "line"},
                                       {.name = "self", .value = 1},
                                       {.name = "calls", .value = 3},
                                       {.name = "cycles", .count = function_cycles},
                                       {.name = "first_block", .count = function_first_block},
                                       {.name = "n_blocks", .count = function_n_blocks},
                                       {.name = "inclusive", .value = 2},
                                       {0}};
    if (!page->tables.inclusive_known)
        columns[10] = (struct hp_page_column){.name = "inclusive", .index = function_not_known};
    hp_page_put_table(page, "functions", columns,
                      hp_page_source(HP_ROW_FUNCTION, &page->functions));
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static const struct hp_pline *block_source(const struct hp_page *page, size_t row)
{
    uint32_t line = page->tables.block_lines[page->blocks.rows[row].item];
    return line == HP_PROFILE_NONE ? NULL : &page->profile->lines[line];
}

static uint64_t block_line(const struct hp_page *page, size_t row)
{
    const struct hp_pline *line = block_source(page, row);
    return line ? line->line : 0;
}

static uint32_t block_file(const struct hp_page *page, size_t row)
{
    const struct hp_pline *line = block_source(page, row);
    return line ? hp_page_text_find(&page->files, line->file) : HP_PROFILE_NONE;
}

static uint64_t block_first_code(const struct hp_page *page, size_t row)
{
    return page->block_code[row].n ? page->block_code[row].first : 0;
}

static uint64_t block_n_code(const struct hp_page *page, size_t row)
{
    return page->block_code[row].n;
}

static uint32_t block_loop(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->loops, page->block_loops[page->blocks.rows[row].item]);
}

void hp_page_put_blocks(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {
        {.name = "function"},
        {.name = "module"},
        {.name = "offset"},
        {.name = "size"},
        {.name = "insns"},
        {.name = "count", .value = 1},
        {.name = "flow"},
        {.name = "line", .count = block_line},
        {.name = "file", .index = block_file},
        {.name = "first_code", .count = block_first_code},
        {.name = "n_code", .count = block_n_code},
        {.name = "loop", .index = block_loop},
        {0}};
    hp_page_put_table(page, "blocks", columns, hp_page_source(HP_ROW_BLOCK, &page->blocks));
}

/* --- Edges ------------------------------------------------------------------------------------ */

static uint64_t edge_from(const struct hp_page *page, size_t row)
{
    return page->edges[row].from;
}

static uint64_t edge_to(const struct hp_page *page, size_t row)
{
    return page->edges[row].to;
}

static uint64_t edge_count(const struct hp_page *page, size_t row)
{
    return page->edges[row].count;
}

static uint64_t edge_taken(const struct hp_page *page, size_t row)
{
    return page->edges[row].taken;
}

static uint64_t edge_flow(const struct hp_page *page, size_t row)
{
    return page->edges[row].flow;
}

void hp_page_put_edges(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {
        {.name = "from", .count = edge_from},   {.name = "to", .count = edge_to},
        {.name = "count", .count = edge_count}, {.name = "taken", .count = edge_taken},
        {.name = "flow", .count = edge_flow},   {0}};
    hp_page_put_table(page, "edges", columns, (struct hp_page_source){.n = page->n_edges});
    hp_json_put_array(&page->json, "flows");
    for (int i = 0; i < HP_FLOW_COUNT_; i++)
        hp_json_string(&page->json, hp_flow_name((enum hp_flow)i));
    hp_json_string(&page->json, "overlap");
    hp_json_end_array(&page->json);
}

/* --- Code ------------------------------------------------------------------------------------- */

static const char *code_offset(struct hp_page *page, size_t row)
{
    return hp_page_hex(page, page->code[row].place.offset);
}

static const char *code_text(struct hp_page *page, size_t row)
{
    hp_put_assembly(page->code[row].text, &page->text);
    return hp_strbuf_text(&page->text);
}

static uint32_t code_file(const struct hp_page *page, size_t row)
{
    return hp_page_text_find(&page->files, page->code[row].file);
}

static uint64_t code_line(const struct hp_page *page, size_t row)
{
    return page->code[row].line;
}

static uint32_t code_inlined(const struct hp_page *page, size_t row)
{
    return hp_page_text_find(&page->names, page->code[row].inlined);
}

static uint32_t code_insn(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->insns, page->code[row].insn);
}

void hp_page_put_code(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {{.name = "offset", .text = code_offset},
                                                    {.name = "text", .text = code_text},
                                                    {.name = "file", .index = code_file},
                                                    {.name = "line", .count = code_line},
                                                    {.name = "inlined", .index = code_inlined},
                                                    {.name = "insn", .index = code_insn},
                                                    {0}};
    hp_page_put_table(page, "code", columns, (struct hp_page_source){.n = page->n_code});
    hp_json_put_array(&page->json, "names");
    for (size_t i = 0; i < page->names.n; i++)
        hp_json_string(&page->json, page->names.texts[i]);
    hp_json_end_array(&page->json);
}
