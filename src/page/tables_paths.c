// SPDX-License-Identifier: MIT
/*
 * The tables of the data: paths, and calling contexts.
 */
#include "page/model.h"
#include "report/paths/lines.h"

/* --- Kinds ------------------------------------------------------------------------------------ */

static void put_number(struct hp_json *json, const char *key, uint64_t value)
{
    hp_json_key(json, key);
    hp_json_uint(json, value);
}

static void put_kinds(struct hp_page *page)
{
    struct hp_json *json = &page->json;
    hp_json_key(json, "kinds");
    hp_json_begin_array(json);
    for (size_t i = 0; i < page->tables.n_kinds; i++) {
        const struct hp_path_kind *kind = &page->tables.kinds[i];
        hp_json_begin_object(json);
        hp_json_key(json, "kind");
        hp_json_string(json, kind->name);
        hp_json_key(json, "metric");
        hp_json_string(json, hp_metric_name(kind->metric));
        put_number(json, "paths", kind->distinct);
        put_number(json, "count", kind->count);
        put_number(json, "instructions", kind->insns);
        put_number(json, "events", kind->events);
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

static uint32_t path_function(const struct hp_page *page, size_t row)
{
    return hp_page_row(&page->functions, path_of(page, row)->function);
}

static const char *path_offset(struct hp_page *page, size_t row)
{
    return hp_page_hex(page, path_of(page, row)->start.offset);
}

static uint32_t path_module(const struct hp_page *page, size_t row)
{
    return path_of(page, row)->start.module;
}

static uint64_t path_length(const struct hp_page *page, size_t row)
{
    return path_of(page, row)->length;
}

static const char *path_outcomes(struct hp_page *page, size_t row)
{
    hp_path_outcomes(path_of(page, row), &page->text);
    return hp_strbuf_text(&page->text);
}

static uint64_t path_count(const struct hp_page *page, size_t row)
{
    return page->paths.rows[row].v[1];
}

static uint64_t path_insns(const struct hp_page *page, size_t row)
{
    return page->paths.rows[row].v[2];
}

static uint64_t path_events(const struct hp_page *page, size_t row)
{
    return page->paths.rows[row].v[3];
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
        {.name = "function", .index = path_function},
        {.name = "offset", .text = path_offset},
        {.name = "module", .index = path_module},
        {.name = "length", .count = path_length},
        {.name = "outcomes", .text = path_outcomes},
        {.name = "count", .count = path_count},
        {.name = "instructions", .count = path_insns},
        {.name = "events", .count = path_events},
        {.name = "first_step", .count = path_first_step},
        {.name = "n_steps", .count = path_n_steps},
        {0}};
    static const struct hp_page_column steps[] = {
        {.name = "block", .index = step_block}, {.name = "how", .count = step_how}, {0}};
    put_kinds(page);
    hp_page_put_table(page, "paths", columns, page->paths.n);
    hp_page_put_table(page, "steps", steps, page->n_steps);
    hp_json_key(&page->json, "hows");
    hp_json_begin_array(&page->json);
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
    hp_page_put_table(page, "contexts", columns, page->n_contexts);
}
