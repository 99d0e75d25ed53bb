// SPDX-License-Identifier: MIT
#include "report/fields.h"

#include "text/number.h"

struct hp_cell hp_cell_place(const struct hp_field_input *in, struct hp_place place)
{
    hp_tables_place(in->tables, place, in->buffer);
    return hp_cell_text(hp_strbuf_text(in->buffer));
}

static const char *function_name(const struct hp_tables *tables, uint32_t function)
{
    return function == HP_PROFILE_NONE ? "" : tables->functions[function];
}

static const char *module_name(const struct hp_tables *tables, uint32_t module)
{
    return module == HP_PROFILE_NONE ? "" : tables->modules[module];
}

/* --- Values, whatever the view ---------------------------------------------------------------- */

static struct hp_cell value0(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[0]);
}

static struct hp_cell value1(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[1]);
}

static struct hp_cell value2(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->v[2]);
}

static struct hp_cell share(const struct hp_field_input *in)
{
    return (struct hp_cell){.kind = HP_CELL_SHARE,
                            .share =
                                hp_number_share(in->row->v[0], in->tables->summary.instructions)};
}

/* --- Functions -------------------------------------------------------------------------------- */

static const struct hp_pfunction *function_of(const struct hp_tables *tables,
                                              const struct hp_row *row)
{
    return &tables->profile->functions[row->item];
}

static struct hp_cell function_own_name(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->functions[in->row->item]);
}

static struct hp_cell function_module(const struct hp_field_input *in)
{
    return hp_cell_text(module_name(in->tables, function_of(in->tables, in->row)->place.module));
}

static struct hp_cell function_address(const struct hp_field_input *in)
{
    return hp_cell_place(in, function_of(in->tables, in->row)->place);
}

static struct hp_cell function_file(const struct hp_field_input *in)
{
    return hp_cell_text(function_of(in->tables, in->row)->file);
}

static struct hp_cell function_line(const struct hp_field_input *in)
{
    return hp_cell_number(function_of(in->tables, in->row)->line);
}

static const struct hp_field function_fields[] = {{"name", HP_FIELD_PLAIN, function_own_name},
                                                  {"module", HP_FIELD_PLAIN, function_module},
                                                  {"address", HP_FIELD_PLAIN, function_address},
                                                  {"file", HP_FIELD_PLAIN, function_file},
                                                  {"line", HP_FIELD_PLAIN, function_line},
                                                  {"self", HP_FIELD_COUNTED, value0},
                                                  {"inclusive", HP_FIELD_COUNTED, value1},
                                                  {"calls", HP_FIELD_COUNTED, value2},
                                                  {"share", HP_FIELD_PLAIN, share},
                                                  {0}};

static const struct hp_field counted_function_fields[] = {
    {"name", HP_FIELD_PLAIN, function_own_name},
    {"module", HP_FIELD_PLAIN, function_module},
    {"address", HP_FIELD_PLAIN, function_address},
    {"file", HP_FIELD_PLAIN, function_file},
    {"line", HP_FIELD_PLAIN, function_line},
    {"self", HP_FIELD_COUNTED, value0},
    {"calls", HP_FIELD_COUNTED, value2},
    {"share", HP_FIELD_PLAIN, share},
    {0}};

/* --- Blocks ----------------------------------------------------------------------------------- */

static const struct hp_pblock *block_of(const struct hp_tables *tables, const struct hp_row *row)
{
    return &tables->profile->blocks[row->item];
}

static struct hp_cell block_address(const struct hp_field_input *in)
{
    return hp_cell_place(in, block_of(in->tables, in->row)->place);
}

static struct hp_cell block_size(const struct hp_field_input *in)
{
    return hp_cell_number(block_of(in->tables, in->row)->size);
}

static struct hp_cell block_insns(const struct hp_field_input *in)
{
    return hp_cell_number(block_of(in->tables, in->row)->insns);
}

static struct hp_cell block_kind(const struct hp_field_input *in)
{
    return hp_cell_text(hp_flow_name((enum hp_flow)block_of(in->tables, in->row)->flow));
}

static struct hp_cell block_function(const struct hp_field_input *in)
{
    return hp_cell_text(function_name(in->tables, block_of(in->tables, in->row)->function));
}

static struct hp_cell block_file(const struct hp_field_input *in)
{
    uint32_t line = in->tables->block_lines[in->row->item];
    return hp_cell_text(line == HP_PROFILE_NONE ? "" : in->tables->profile->lines[line].file);
}

static struct hp_cell block_line(const struct hp_field_input *in)
{
    uint32_t line = in->tables->block_lines[in->row->item];
    return hp_cell_number(line == HP_PROFILE_NONE ? 0 : in->tables->profile->lines[line].line);
}

static struct hp_cell block_version(const struct hp_field_input *in)
{
    return hp_cell_number(block_of(in->tables, in->row)->version);
}

static const struct hp_field block_fields[] = {
    {"address", HP_FIELD_PLAIN, block_address},    {"size", HP_FIELD_PLAIN, block_size},
    {"instructions", HP_FIELD_PLAIN, block_insns}, {"count", HP_FIELD_COUNTED, value1},
    {"weight", HP_FIELD_COUNTED, value0},          {"share", HP_FIELD_PLAIN, share},
    {"kind", HP_FIELD_PLAIN, block_kind},          {"function", HP_FIELD_PLAIN, block_function},
    {"file", HP_FIELD_PLAIN, block_file},          {"line", HP_FIELD_PLAIN, block_line},
    {"version", HP_FIELD_PLAIN, block_version},    {0}};

/* --- Edges ------------------------------------------------------------------------------------ */

static struct hp_cell edge_from(const struct hp_field_input *in)
{
    return hp_cell_place(in, in->tables->profile->edges[in->row->item].from);
}

static struct hp_cell edge_to(const struct hp_field_input *in)
{
    return hp_cell_place(in, in->tables->profile->edges[in->row->item].to);
}

static struct hp_cell edge_kind(const struct hp_field_input *in)
{
    return hp_cell_text(hp_flow_name((enum hp_flow)in->tables->profile->edges[in->row->item].flow));
}

static struct hp_cell edge_taken(const struct hp_field_input *in)
{
    return (struct hp_cell){.kind = HP_CELL_BOOL,
                            .flag = in->tables->profile->edges[in->row->item].taken != 0};
}

static const struct hp_field edge_fields[] = {
    {"from", HP_FIELD_PLAIN, edge_from}, {"to", HP_FIELD_PLAIN, edge_to},
    {"kind", HP_FIELD_PLAIN, edge_kind}, {"taken", HP_FIELD_PLAIN, edge_taken},
    {"count", HP_FIELD_COUNTED, value0}, {0}};

/* --- Calls ------------------------------------------------------------------------------------ */

static struct hp_cell call_caller(const struct hp_field_input *in)
{
    return hp_cell_text(
        function_name(in->tables, in->tables->profile->calls[in->row->item].caller));
}

static struct hp_cell call_callee(const struct hp_field_input *in)
{
    return hp_cell_text(
        function_name(in->tables, in->tables->profile->calls[in->row->item].callee));
}

static const struct hp_field call_fields[] = {{"caller", HP_FIELD_PLAIN, call_caller},
                                              {"callee", HP_FIELD_PLAIN, call_callee},
                                              {"count", HP_FIELD_COUNTED, value1},
                                              {"inclusive", HP_FIELD_COUNTED, value0},
                                              {0}};

static const struct hp_field counted_call_fields[] = {{"caller", HP_FIELD_PLAIN, call_caller},
                                                      {"callee", HP_FIELD_PLAIN, call_callee},
                                                      {"count", HP_FIELD_COUNTED, value0},
                                                      {0}};

/* --- Lines ------------------------------------------------------------------------------------ */

static struct hp_cell line_file(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->lines[in->row->item].file);
}

static struct hp_cell line_number(const struct hp_field_input *in)
{
    return hp_cell_number(in->tables->lines[in->row->item].line);
}

static struct hp_cell line_function(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->lines[in->row->item].function);
}

static const struct hp_field line_fields[] = {{"file", HP_FIELD_PLAIN, line_file},
                                              {"line", HP_FIELD_PLAIN, line_number},
                                              {"instructions", HP_FIELD_COUNTED, value0},
                                              {"executions", HP_FIELD_COUNTED, value1},
                                              {"share", HP_FIELD_PLAIN, share},
                                              {"function", HP_FIELD_PLAIN, line_function},
                                              {0}};

/* --- Threads ---------------------------------------------------------------------------------- */

static struct hp_cell thread_index(const struct hp_field_input *in)
{
    return hp_cell_number(in->row->item);
}

static struct hp_cell thread_pid(const struct hp_field_input *in)
{
    return (struct hp_cell){.kind = HP_CELL_INT,
                            .integer = in->tables->profile->threads[in->row->item].pid};
}

static struct hp_cell thread_tid(const struct hp_field_input *in)
{
    return (struct hp_cell){.kind = HP_CELL_INT,
                            .integer = in->tables->profile->threads[in->row->item].tid};
}

static const struct hp_field thread_fields[] = {
    {"thread", HP_FIELD_PLAIN, thread_index}, {"pid", HP_FIELD_OF_RUN, thread_pid},
    {"tid", HP_FIELD_OF_RUN, thread_tid},     {"instructions", HP_FIELD_COUNTED, value0},
    {"blocks", HP_FIELD_COUNTED, value1},     {"branches", HP_FIELD_COUNTED, value2},
    {"share", HP_FIELD_PLAIN, share},         {0}};

/* --- Modules ---------------------------------------------------------------------------------- */

static struct hp_cell module_own_name(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->modules[in->row->item]);
}

static struct hp_cell module_path(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->profile->modules[in->row->item].path);
}

static struct hp_cell module_build_id(const struct hp_field_input *in)
{
    return hp_cell_text(in->tables->profile->modules[in->row->item].build_id);
}

static const struct hp_field module_fields[] = {{"module", HP_FIELD_PLAIN, module_own_name},
                                                {"path", HP_FIELD_PLAIN, module_path},
                                                {"build_id", HP_FIELD_PLAIN, module_build_id},
                                                {"instructions", HP_FIELD_COUNTED, value0},
                                                {"executions", HP_FIELD_COUNTED, value1},
                                                {"share", HP_FIELD_PLAIN, share},
                                                {0}};

struct hp_cell hp_cell_list(const struct hp_field_input *in)
{
    static char nothing[1];
    return (struct hp_cell){.kind = HP_CELL_LIST,
                            .list = in->buffer->length ? in->buffer->data : nothing};
}

void hp_list_add(struct hp_strbuf *buffer, const char *item)
{
    for (; *item; item++)
        hp_strbuf_bytes(buffer, *item == '\n' ? "?" : item, 1);
    hp_strbuf_add(buffer, "\n");
}

const struct hp_field *hp_fields(const struct hp_tables *tables, enum hp_report_view view)
{
    bool counted = !tables->inclusive_known;
    switch (view) {
    case HP_REPORT_FUNCTIONS: return counted ? counted_function_fields : function_fields;
    case HP_REPORT_BLOCKS: return block_fields;
    case HP_REPORT_EDGES: return edge_fields;
    case HP_REPORT_CALLS: return counted ? counted_call_fields : call_fields;
    case HP_REPORT_CONTEXTS: return hp_context_fields;
    case HP_REPORT_LINES: return line_fields;
    case HP_REPORT_THREADS: return thread_fields;
    case HP_REPORT_MODULES: return module_fields;
    case HP_REPORT_LOOPS: return hp_loop_fields;
    case HP_REPORT_LOOP_MODELS: return hp_model_loop_fields;
    case HP_REPORT_PARTITION: return hp_partition_fields;
    case HP_REPORT_HOTSPOTS: return hp_hotspot_fields;
    case HP_REPORT_PATHS: return hp_path_fields;
    case HP_REPORT_PREDICTIONS: return hp_prediction_fields;
    case HP_REPORT_MACHINE: return hp_machine_fields;
    case HP_REPORT_INSTRUCTIONS: return hp_insn_fields;
    case HP_REPORT_CPI: return hp_cpi_fields;
    case HP_REPORT_SAMPLING: return hp_sampling_fields;
    default: return NULL;
    }
}

const struct hp_summary_field hp_summary_fields[] = {
    {"instructions", offsetof(struct hp_summary, instructions)},
    {"branches", offsetof(struct hp_summary, branches)},
    {"blocks", offsetof(struct hp_summary, blocks)},
    {"edges", offsetof(struct hp_summary, edges)},
    {"threads", offsetof(struct hp_summary, threads)},
    {"functions", offsetof(struct hp_summary, functions)},
    {"modules", offsetof(struct hp_summary, modules)},
    {"block_executions", offsetof(struct hp_summary, block_executions)},
    {"paths", offsetof(struct hp_summary, paths)},
    {"loops", offsetof(struct hp_summary, loops)},
    {"hotspots", offsetof(struct hp_summary, hotspots)},
    {0}};
