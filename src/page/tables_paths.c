// SPDX-License-Identifier: MIT
/*
 * The tables of the data: paths, and calling contexts.
 */
#include "page/model.h"
#include "report/paths/lines.h"

/* --- Kinds ------------------------------------------------------------------------------------ */

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

/* --- Paths ------------------------------------------------------------------------------------ */

static const struct hp_ppath *path_of(const struct hp_page *page, size_t row)
{
    return &page->profile->paths[page->paths.rows[row].item];
}

static uint64_t path_kind(const struct hp_page *page, size_t row)
{
    return (uint64_t)(hp_tables_kind(&page->tables, page->paths.rows[row].item) -
                      page->tables.kinds);
}

static const char *path_outcomes(struct hp_page *page, size_t row)
{
    hp_path_outcomes(path_of(page, row), &page->text);
    return hp_strbuf_text(&page->text);
}

static uint64_t path_first_step(const struct hp_page *page, size_t row)
{
    return page->path_steps[row].n ? page->path_steps[row].first : 0;
}

static uint64_t path_n_steps(const struct hp_page *page, size_t row)
{
    return page->path_steps[row].n;
}

static const struct hp_pstep *step_of(const struct hp_page *page, size_t row)
{
    return &page->profile->path_steps[page->steps[row]];
}

static uint32_t step_block(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->blocks, step_of(page, row)->block);
}

static uint64_t step_how(const struct hp_page *page, size_t row)
{
    return step_of(page, row)->how;
}

void hp_page_put_paths(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {
        {.name = "kind", .count = path_kind},
        {.name = "function"},
        {.name = "offset"},
        {.name = "module"},
        {.name = "length"},
        {.name = "outcomes", .text = path_outcomes},
        {.name = "count", .value = 2},
        {.name = "instructions", .value = 3},
        {.name = "events", .value = 4},
        {.name = "first_step", .count = path_first_step},
        {.name = "n_steps", .count = path_n_steps},
        {0}};
    static const struct hp_page_column steps[] = {
        {.name = "block", .index = step_block}, {.name = "how", .count = step_how}, {0}};
    put_kinds(page);
    hp_page_put_table(page, "paths", columns, hp_page_source(HP_ROW_PATH, &page->paths));
    hp_page_put_table(page, "steps", steps, (struct hp_page_source){.n = page->n_steps});
    hp_json_put_array(&page->json, "hows");
    for (unsigned i = 0; i <= HP_STEP_END; i++)
        hp_json_string(&page->json, hp_step_name(i));
    hp_json_end_array(&page->json);
}

/* --- Contexts --------------------------------------------------------------------------------- */

static uint32_t context_parent(const struct hp_page *page, size_t row)
{
    uint32_t context = page->contexts[row], parent = page->profile->contexts[context].parent;
    return parent < context ? page->context_rows[parent] : HP_PROFILE_NONE;
}

static uint32_t context_function(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->functions, page->profile->contexts[page->contexts[row]].function);
}

static uint64_t context_self(const struct hp_page *page, size_t row)
{
    return page->context_sums[page->contexts[row]].self;
}

static uint64_t context_inclusive(const struct hp_page *page, size_t row)
{
    return page->context_inclusive[page->contexts[row]];
}

static uint64_t context_calls(const struct hp_page *page, size_t row)
{
    return page->context_sums[page->contexts[row]].calls;
}

void hp_page_put_contexts(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {
        {.name = "parent", .index = context_parent},
        {.name = "function", .index = context_function},
        {.name = "self", .count = context_self},
        {.name = "inclusive", .count = context_inclusive},
        {.name = "calls", .count = context_calls},
        {0}};
    hp_page_put_table(page, "contexts", columns, (struct hp_page_source){.n = page->n_contexts});
}
