// SPDX-License-Identifier: MIT
#include "report/text_views.h"

#include "report/text_cells.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

static bool is_part(const struct hp_row *row)
{
    return row->thread != HP_PROFILE_NONE;
}

static void put_share(const struct hp_tables *tables, const struct hp_row *row,
                      struct hp_strbuf *cell)
{
    hp_strbuf_percent(cell, hp_number_share(row->v[0], tables->summary.instructions));
}

/* The number that the threads view gives with its pid and tid. */
static void put_thread(uint32_t thread, struct hp_strbuf *cell)
{
    hp_strbuf_add(cell, "  thread ");
    hp_strbuf_uint(cell, thread);
}

/* --- Functions -------------------------------------------------------------------------------- */

static const struct hp_column function_columns[] = {{"self %", .right = true, .heat = true},
                                                    {"self", .right = true},
                                                    {"inclusive", .right = true},
                                                    {"calls", .right = true},
                                                    {"function", .flexible = true},
                                                    {"where", .flexible = true},
                                                    {0}};

static void put_function_name(const struct hp_text_view_input *in, const struct hp_row *row,
                              struct hp_strbuf *name, struct hp_strbuf *where)
{
    if (is_part(row)) {
        put_thread(row->thread, name);
        return;
    }
    const struct hp_pfunction *function = &in->tables->profile->functions[row->item];
    hp_put_function(in->tables, row->item, name);
    hp_put_where(in->tables, function->file, function->line, function->place.module, where);
}

static void fill_function(const struct hp_text_view_input *in, const struct hp_row *row,
                          struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    for (size_t k = 0; k < 3; k++)
        hp_strbuf_human(&cells[1 + k], row->v[k]);
    put_function_name(in, row, &cells[4], &cells[5]);
}

static const struct hp_column counted_function_columns[] = {
    {"self %", .right = true, .heat = true}, {"self", .right = true},     {"calls", .right = true},
    {"function", .flexible = true},          {"where", .flexible = true}, {0}};

static void fill_counted_function(const struct hp_text_view_input *in, const struct hp_row *row,
                                  struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[2]);
    put_function_name(in, row, &cells[3], &cells[4]);
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static const struct hp_column block_columns[] = {{"share", .right = true, .heat = true},
                                                 {"instructions", .right = true},
                                                 {"count", .right = true},
                                                 {"length", .right = true},
                                                 {"block", .flexible = true},
                                                 {"where", .flexible = true},
                                                 {"address", .flexible = true},
                                                 {0}};

static void fill_block(const struct hp_text_view_input *in, const struct hp_row *row,
                       struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (is_part(row)) {
        put_thread(row->thread, &cells[4]);
        return;
    }
    const struct hp_profile *profile = in->tables->profile;
    const struct hp_pblock *block = &profile->blocks[row->item];
    uint32_t line = in->tables->block_lines[row->item];
    hp_strbuf_grouped(&cells[3], block->insns);
    hp_put_code(in->tables, block->function, block->place, &cells[4]);
    if (line != HP_PROFILE_NONE)
        hp_put_where(in->tables, profile->lines[line].file, profile->lines[line].line,
                     block->place.module, &cells[5]);
    hp_put_code(in->tables, HP_PROFILE_NONE, block->place, &cells[6]);
}

/* --- Edges ------------------------------------------------------------------------------------ */

static const struct hp_column edge_columns[] = {
    {"count", .right = true},   {"taken %", .right = true}, {.title = "kind"},
    {"from", .flexible = true}, {"to", .flexible = true},   {0}};

static void fill_edge(const struct hp_text_view_input *in, const struct hp_row *row,
                      struct hp_strbuf *cells)
{
    hp_strbuf_human(&cells[0], row->v[0]);
    if (is_part(row)) {
        put_thread(row->thread, &cells[3]);
        return;
    }
    const struct hp_pedge *edge = &in->tables->profile->edges[row->item];
    if (in->taken[row->item] >= 0)
        hp_strbuf_percent(&cells[1], in->taken[row->item]);
    hp_strbuf_add(&cells[2], hp_flow_name((enum hp_flow)edge->flow));
    if (in->taken[row->item] >= 0)
        hp_strbuf_add(&cells[2], edge->taken ? " taken" : " not taken");
    hp_put_code(in->tables, hp_tables_function_at(in->tables, edge->from), edge->from, &cells[3]);
    hp_strbuf_add(&cells[4], "-> ");
    hp_put_code(in->tables, hp_tables_function_at(in->tables, edge->to), edge->to, &cells[4]);
}

static int compare_from(const void *a, const void *b, void *context)
{
    const struct hp_pedge *edges = context;
    return hp_place_compare(edges[*(const uint32_t *)a].from, edges[*(const uint32_t *)b].from);
}

/* Sets `taken` of the `n` edges that leave one branch. */
static void find_taken(const struct hp_pedge *edges, const uint32_t *items, size_t n,
                       const uint64_t *counts, double *taken)
{
    uint64_t all = 0, along = 0;
    bool falls = false;
    for (size_t i = 0; i < n; i++) {
        const struct hp_pedge *edge = &edges[items[i]];
        uint64_t count = counts[items[i]];
        all = hp_saturating_add(all, count);
        along = hp_saturating_add(along, edge->taken ? count : 0);
        /* a system call goes on with the next instruction without being a choice */
        falls |= edge->flow == HP_FLOW_COND ||
                 (!edge->taken && edge->flow != HP_FLOW_NONE && edge->flow != HP_FLOW_SYSCALL);
    }
    for (size_t i = 0; i < n; i++)
        taken[items[i]] = falls ? hp_number_share(along, all) : -1;
}

/* The edges by their branches, which is the order of a normal profile already. */
static void order_by_branch(struct hp_pedge *edges, size_t n, uint32_t *items)
{
    bool sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        items[i] = i;
        sorted = sorted && (i == 0 || hp_place_compare(edges[i - 1].from, edges[i].from) <= 0);
    }
    if (!sorted)
        qsort_r(items, n, sizeof *items, compare_from, edges);
}

enum hp_err hp_text_taken(const struct hp_tables *tables, const struct hp_rows *rows,
                          double **taken)
{
    struct hp_pedge *edges = tables->profile->edges;
    size_t n_edges = tables->profile->n_edges;
    uint32_t *items = calloc(n_edges + 1, sizeof *items);
    uint64_t *counts = calloc(n_edges + 1, sizeof *counts);
    *taken = calloc(n_edges + 1, sizeof **taken);
    enum hp_err err = items && counts && *taken ? HP_OK : hp_fail_nomem();
    if (err == HP_OK) {
        for (size_t i = 0; i < rows->n; i++)
            counts[rows->rows[i].item] = rows->rows[i].v[0];
        order_by_branch(edges, n_edges, items);
        for (size_t i = 0, n; i < n_edges; i += n) {
            for (n = 1; i + n < n_edges && compare_from(&items[i], &items[i + n], edges) == 0;)
                n++;
            find_taken(edges, &items[i], n, counts, *taken);
        }
    } else {
        free(*taken);
        *taken = NULL;
    }
    free(items);
    free(counts);
    return err;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static const struct hp_column call_columns[] = {{"inclusive %", .right = true, .heat = true},
                                                {"inclusive", .right = true},
                                                {"count", .right = true},
                                                {"caller", .flexible = true},
                                                {"callee", .flexible = true},
                                                {0}};

static void put_call(const struct hp_text_view_input *in, const struct hp_row *row,
                     struct hp_strbuf *caller, struct hp_strbuf *callee)
{
    if (is_part(row)) {
        put_thread(row->thread, caller);
        return;
    }
    hp_put_function(in->tables, in->tables->profile->calls[row->item].caller, caller);
    hp_strbuf_add(callee, "-> ");
    hp_put_function(in->tables, in->tables->profile->calls[row->item].callee, callee);
}

static void fill_call(const struct hp_text_view_input *in, const struct hp_row *row,
                      struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    put_call(in, row, &cells[3], &cells[4]);
}

static const struct hp_column counted_call_columns[] = {
    {"count", .right = true}, {"caller", .flexible = true}, {"callee", .flexible = true}, {0}};

static void fill_counted_call(const struct hp_text_view_input *in, const struct hp_row *row,
                              struct hp_strbuf *cells)
{
    hp_strbuf_human(&cells[0], row->v[0]);
    put_call(in, row, &cells[1], &cells[2]);
}

/* --- Lines ------------------------------------------------------------------------------------ */

static const struct hp_column line_columns[] = {{"share", .right = true, .heat = true},
                                                {"instructions", .right = true},
                                                {"executions", .right = true},
                                                {"line", .flexible = true},
                                                {"function", .flexible = true},
                                                {"source", .flexible = true, .cut = HP_CUT_END},
                                                {0}};

static void fill_line(const struct hp_text_view_input *in, const struct hp_row *row,
                      struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (is_part(row)) {
        put_thread(row->thread, &cells[3]);
        return;
    }
    const struct hp_source_line *line = &in->tables->lines[row->item];
    hp_put_source_place(hp_short_path(&in->tables->profile->run, line->file), line->line,
                        &cells[3]);
    hp_strbuf_clean(&cells[4], line->function);
    size_t length;
    const char *source = hp_sources_line(in->sources, line->file, line->line, &length);
    if (source)
        hp_put_source(source, length, &cells[5]);
}

/* --- Threads ---------------------------------------------------------------------------------- */

static const struct hp_column thread_columns[] = {{"share", .right = true, .heat = true},
                                                  {"instructions", .right = true},
                                                  {"blocks", .right = true},
                                                  {"branches", .right = true},
                                                  {"thread", .right = true},
                                                  {"pid", .right = true},
                                                  {"tid", .right = true},
                                                  {0}};

static void put_int(int64_t value, struct hp_strbuf *cell)
{
    char text[HP_NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld", (long long)value);
    hp_strbuf_add(cell, text);
}

static void fill_thread(const struct hp_text_view_input *in, const struct hp_row *row,
                        struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    for (size_t k = 0; k < 3; k++)
        hp_strbuf_human(&cells[1 + k], row->v[k]);
    hp_strbuf_uint(&cells[4], row->item);
    put_int(in->tables->profile->threads[row->item].pid, &cells[5]);
    put_int(in->tables->profile->threads[row->item].tid, &cells[6]);
}

/* --- Modules ---------------------------------------------------------------------------------- */

static const struct hp_column module_columns[] = {{"share", .right = true, .heat = true},
                                                  {"instructions", .right = true},
                                                  {"blocks", .right = true},
                                                  {"module", .flexible = true},
                                                  {"build id", .flexible = true},
                                                  {0}};

static void fill_module(const struct hp_text_view_input *in, const struct hp_row *row,
                        struct hp_strbuf *cells)
{
    put_share(in->tables, row, &cells[0]);
    hp_strbuf_human(&cells[1], row->v[0]);
    hp_strbuf_human(&cells[2], row->v[1]);
    if (is_part(row)) {
        put_thread(row->thread, &cells[3]);
        return;
    }
    hp_strbuf_clean(&cells[3], hp_text(in->tables->profile->modules[row->item].path));
    hp_strbuf_clean(&cells[4], hp_text(in->tables->profile->modules[row->item].build_id));
}

/* --- All of them ------------------------------------------------------------------------------ */

static const struct hp_text_view views[] = {
    {HP_REPORT_FUNCTIONS, "Functions", "no function was executed", function_columns, fill_function,
     true},
    {HP_REPORT_BLOCKS, "Blocks", "no block was executed", block_columns, fill_block, true},
    {HP_REPORT_EDGES, "Edges", "no control transfer was executed", edge_columns, fill_edge, false},
    {HP_REPORT_CALLS, "Calls", "no call was executed", call_columns, fill_call, true},
    {HP_REPORT_LINES, "Lines", "no source line is known: was the program built with -g?",
     line_columns, fill_line, true},
    {HP_REPORT_THREADS, "Threads", "no thread was seen", thread_columns, fill_thread, true},
    {HP_REPORT_MODULES, "Modules", "no code was executed", module_columns, fill_module, true},
    {HP_REPORT_PREDICTIONS, "Predictions",
     "nothing was predicted: --predict SCHEME or --profile predictions asks for it",
     hp_prediction_columns, hp_fill_prediction, false},
    {HP_REPORT_MACHINE, "Machine", "no model counted anything", hp_machine_columns, hp_fill_machine,
     false},
};

/* Of runs that were counted only. */
static const struct hp_text_view counted_views[] = {
    {HP_REPORT_FUNCTIONS, "Functions", "no function was executed", counted_function_columns,
     fill_counted_function, true},
    {HP_REPORT_CALLS, "Calls", "no call was executed", counted_call_columns, fill_counted_call,
     false},
};

static const struct hp_text_view *find(const struct hp_text_view *among, size_t n,
                                       enum hp_report_view view)
{
    for (size_t i = 0; i < n; i++)
        if (among[i].view == view)
            return &among[i];
    return NULL;
}

const struct hp_text_view *hp_text_view(const struct hp_tables *tables, enum hp_report_view view)
{
    const struct hp_text_view *counted =
        find(counted_views, sizeof counted_views / sizeof *counted_views, view);
    if (counted && !tables->inclusive_known)
        return counted;
    return find(views, sizeof views / sizeof *views, view);
}
