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

static void put_column(struct hp_page *page, const struct hp_page_column *column, size_t n)
{
    hp_json_key(&page->json, column->name);
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++) {
        if (column->index) {
            hp_page_put_index(page, column->index(page, i));
        } else if (column->count) {
            hp_json_uint(&page->json, column->count(page, i));
        } else {
            hp_strbuf_clear(&page->text);
            hp_json_string(&page->json, hp_text(column->text(page, i)));
        }
    }
    hp_json_end_array(&page->json);
}

void hp_page_put_table(struct hp_page *page, const char *name, const struct hp_page_column *columns,
                       size_t n)
{
    hp_json_key(&page->json, name);
    hp_json_begin_object(&page->json);
    for (; columns->name; columns++)
        put_column(page, columns, n);
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

static const char *module_path(struct hp_page *page, size_t row)
{
    return page->profile->modules[row].path;
}

static const char *module_build_id(struct hp_page *page, size_t row)
{
    return page->profile->modules[row].build_id;
}

static uint64_t module_insns(const struct hp_page *page, size_t row)
{
    return page->module_insns[row];
}

void hp_page_put_modules(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {{.name = "name", .text = module_name},
                                                    {.name = "path", .text = module_path},
                                                    {.name = "build_id", .text = module_build_id},
                                                    {.name = "instructions", .count = module_insns},
                                                    {0}};
    hp_page_put_table(page, "modules", columns, page->profile->n_modules);
}

/* --- Functions -------------------------------------------------------------------------------- */

static const struct hp_pfunction *function_of(const struct hp_page *page, size_t row)
{
    return &page->profile->functions[page->functions.rows[row].item];
}

static const char *function_name(struct hp_page *page, size_t row)
{
    return page->tables.functions[page->functions.rows[row].item];
}

static uint32_t function_module(const struct hp_page *page, size_t row)
{
    return function_of(page, row)->place.module;
}

static const char *function_offset(struct hp_page *page, size_t row)
{
    return hp_page_hex(page, function_of(page, row)->place.offset);
}

static uint32_t function_file(const struct hp_page *page, size_t row)
{
    return hp_page_text_find(&page->files, function_of(page, row)->file);
}

static uint64_t function_line(const struct hp_page *page, size_t row)
{
    return function_of(page, row)->line;
}

static uint64_t function_self(const struct hp_page *page, size_t row)
{
    return page->functions.rows[row].v[0];
}

static uint64_t function_inclusive(const struct hp_page *page, size_t row)
{
    return page->functions.rows[row].v[1];
}

static uint32_t function_not_known(const struct hp_page *page, size_t row)
{
    (void)page, (void)row;
    return HP_PROFILE_NONE;
}

static uint64_t function_calls(const struct hp_page *page, size_t row)
{
    return page->functions.rows[row].v[2];
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
                                       {.name = "module", .index = function_module},
                                       {.name = "offset", .text = function_offset},
                                       {.name = "file", .index = function_file},
                                       {.name = "line", .count = function_line},
                                       {.name = "self", .count = function_self},
                                       {.name = "calls", .count = function_calls},
                                       {.name = "cycles", .count = function_cycles},
                                       {.name = "first_block", .count = function_first_block},
                                       {.name = "n_blocks", .count = function_n_blocks},
                                       {.name = "inclusive", .count = function_inclusive},
                                       {0}};
    if (!page->tables.inclusive_known)
        columns[10] = (struct hp_page_column){.name = "inclusive", .index = function_not_known};
    hp_page_put_table(page, "functions", columns, page->functions.n);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static const struct hp_pblock *block_of(const struct hp_page *page, size_t row)
{
    return &page->profile->blocks[page->blocks.rows[row].item];
}

static const struct hp_pline *block_source(const struct hp_page *page, size_t row)
{
    uint32_t line = page->tables.block_lines[page->blocks.rows[row].item];
    return line == HP_PROFILE_NONE ? NULL : &page->profile->lines[line];
}

static uint32_t block_function(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->functions, block_of(page, row)->function);
}

static uint32_t block_module(const struct hp_page *page, size_t row)
{
    return block_of(page, row)->place.module;
}

static const char *block_offset(struct hp_page *page, size_t row)
{
    return hp_page_hex(page, block_of(page, row)->place.offset);
}

static uint64_t block_size(const struct hp_page *page, size_t row)
{
    return block_of(page, row)->size;
}

static uint64_t block_insns(const struct hp_page *page, size_t row)
{
    return block_of(page, row)->insns;
}

static uint64_t block_count(const struct hp_page *page, size_t row)
{
    return page->blocks.rows[row].v[0];
}

static uint64_t block_flow(const struct hp_page *page, size_t row)
{
    return block_of(page, row)->flow;
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
        {.name = "function", .index = block_function},
        {.name = "module", .index = block_module},
        {.name = "offset", .text = block_offset},
        {.name = "size", .count = block_size},
        {.name = "insns", .count = block_insns},
        {.name = "count", .count = block_count},
        {.name = "flow", .count = block_flow},
        {.name = "line", .count = block_line},
        {.name = "file", .index = block_file},
        {.name = "first_code", .count = block_first_code},
        {.name = "n_code", .count = block_n_code},
        {.name = "loop", .index = block_loop},
        {0}};
    hp_page_put_table(page, "blocks", columns, page->blocks.n);
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
    hp_page_put_table(page, "edges", columns, page->n_edges);
    hp_json_key(&page->json, "flows");
    hp_json_begin_array(&page->json);
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
    hp_page_put_table(page, "code", columns, page->n_code);
    hp_json_key(&page->json, "names");
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < page->names.n; i++)
        hp_json_string(&page->json, page->names.texts[i]);
    hp_json_end_array(&page->json);
}
