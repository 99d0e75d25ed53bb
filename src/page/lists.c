// SPDX-License-Identifier: MIT
/*
 * The lists of objects: rows of the report, with references in place of names.
 */
#include "page/model.h"
#include "report/fields.h"
#include "report/hotspots/hotspots.h"
#include "report/items.h"
#include "report/print.h"

#include <stdlib.h>
#include <string.h>

/* What a field is replaced by; NULL: it is left out. */
struct other {
    const char *name;
    void (*put)(struct hp_page *page, const struct hp_row *row);
};

static const struct other *find_other(const struct other *others, const char *name)
{
    for (; others && others->name; others++)
        if (strcmp(others->name, name) == 0)
            return others;
    return NULL;
}

static void put_row(struct hp_page *page, const struct hp_bound_fields *fields,
                    const struct other *others, const struct hp_row *row)
{
    struct hp_json *json = &page->json;
    struct hp_field_input input = {.tables = &page->tables, .row = row, .buffer = &page->text};
    hp_json_begin_object(json);
    for (size_t i = 0; i < fields->n; i++) {
        const char *name = fields->fields[i].field->name;
        const struct other *other = find_other(others, name);
        if (!other) {
            hp_field_json(json, &fields->fields[i], &input);
        } else if (other->put) {
            hp_json_key(json, name);
            other->put(page, row);
        }
    }
    hp_json_end_object(json);
}

static void put_rows(struct hp_page *page, const struct hp_view *view, const struct other *others,
                     const struct hp_row *rows, size_t n)
{
    struct hp_bound_fields fields;
    hp_fields_bind(&fields, view, &page->tables);
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++)
        put_row(page, &fields, others, &rows[i]);
    hp_json_end_array(&page->json);
}

/* A view as the report has it. */
static enum hp_err put_view(struct hp_page *page, const struct hp_view *view)
{
    struct hp_rows rows;
    if (view->prepare)
        HP_TRY(view->prepare(&page->tables));
    HP_TRY(hp_rows_init(&rows, &page->tables, view, false));
    hp_json_view_key(&page->json, view);
    put_rows(page, view, NULL, rows.rows, rows.n);
    hp_rows_fini(&rows);
    return HP_OK;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static void loop_function(struct hp_page *page, const struct hp_row *row)
{
    hp_page_put_index(page,
                      hp_page_row(&page->functions, page->profile->loops[row->item].function));
}

static void loop_file(struct hp_page *page, const struct hp_row *row)
{
    hp_page_put_index(page, hp_page_text_find(&page->files, page->profile->loops[row->item].file));
}

static void put_block(struct hp_page *page, uint32_t block)
{
    uint32_t index = hp_page_row(&page->blocks, block);
    if (index != HP_PROFILE_NONE)
        hp_json_uint(&page->json, index);
}

static void loop_blocks(struct hp_page *page, const struct hp_row *row)
{
    const struct hp_profile *p = page->profile;
    size_t n;
    const struct hp_ploop_block *blocks =
        hp_items_of(p->loop_blocks, p->n_loop_blocks, sizeof *blocks, row->item, &n);
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++)
        put_block(page, blocks[i].block);
    hp_json_end_array(&page->json);
}

static void put_loops(struct hp_page *page)
{
    static const struct other others[] = {{"function", loop_function}, {"file", loop_file},
                                          {"blocks", loop_blocks},     {"models", NULL},
                                          {"branches", NULL},          {0}};
    hp_json_key(&page->json, "loops");
    put_rows(page, &hp_view_loops, others, page->loops.rows, page->loops.n);
}

/* --- Hot spots -------------------------------------------------------------------------------- */

static void hotspot_functions(struct hp_page *page, const struct hp_row *row)
{
    struct hp_hotspot_function *list = NULL;
    size_t n = 0;
    if (hp_hotspot_functions(&page->tables, row->item, &list, &n) != HP_OK)
        page->text.failed = true;
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++)
        if (list[i].function != HP_PROFILE_NONE)
            hp_page_put_index(page, hp_page_row(&page->functions, list[i].function));
    hp_json_end_array(&page->json);
    free(list);
}

static void hotspot_blocks(struct hp_page *page, const struct hp_row *row)
{
    size_t n;
    const struct hp_photspot_block *blocks = hp_hotspot_blocks(page->profile, row->item, &n);
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++)
        put_block(page, blocks[i].block);
    hp_json_end_array(&page->json);
}

static void put_hotspots(struct hp_page *page)
{
    static const struct other others[] = {
        {"functions", hotspot_functions}, {"blocks", hotspot_blocks}, {0}};
    hp_json_key(&page->json, "hotspots");
    put_rows(page, &hp_view_hotspots, others, page->hotspots.rows, page->hotspots.n);
}

/* --- Instructions ----------------------------------------------------------------------------- */

static void insn_function(struct hp_page *page, const struct hp_row *row)
{
    hp_page_put_index(page,
                      hp_page_row(&page->functions, page->profile->insns[row->item].function));
}

/* The file, and the block, which the report does not have. */
static void insn_file(struct hp_page *page, const struct hp_row *row)
{
    hp_page_put_index(page, hp_page_text_find(&page->files, page->profile->insns[row->item].file));
    hp_json_key(&page->json, "block");
    hp_page_put_index(
        page,
        hp_page_row(&page->blocks, hp_page_block_at(page, page->profile->insns[row->item].place)));
}

static void put_insns(struct hp_page *page)
{
    static const struct other others[] = {{"function", insn_function}, {"file", insn_file}, {0}};
    hp_json_key(&page->json, "instructions");
    put_rows(page, &hp_view_instructions, others, page->insns.rows, page->insns.n);
}

/* --- Cycles ----------------------------------------------------------------------------------- */

/* The first row of each is the run. */
static enum hp_err put_cpi_by(struct hp_page *page, enum hp_report_by by)
{
    struct hp_rows rows;
    page->tables.by = by;
    HP_TRY(hp_rows_init(&rows, &page->tables, &hp_view_cpi, false));
    size_t first = by != HP_REPORT_BY_RUN && rows.n ? 1 : 0;
    size_t n = rows.n - first < HP_PAGE_CPI ? rows.n - first : HP_PAGE_CPI;
    hp_json_key(&page->json, hp_report_by_name(by));
    put_rows(page, &hp_view_cpi, NULL, rows.rows + first, n);
    hp_rows_fini(&rows);
    return HP_OK;
}

static enum hp_err put_cpi(struct hp_page *page)
{
    hp_json_put_object(&page->json, "cpi");
    HP_TRY(put_cpi_by(page, HP_REPORT_BY_RUN));
    HP_TRY(put_cpi_by(page, HP_REPORT_BY_FUNCTION));
    HP_TRY(put_cpi_by(page, HP_REPORT_BY_LOOP));
    HP_TRY(put_cpi_by(page, HP_REPORT_BY_LINE));
    hp_json_end_object(&page->json);
    return HP_OK;
}

enum hp_err hp_page_put_lists(struct hp_page *page)
{
    put_loops(page);
    put_hotspots(page);
    HP_TRY(put_view(page, &hp_view_predictions));
    HP_TRY(put_view(page, &hp_view_loop_models));
    HP_TRY(put_view(page, &hp_view_machine));
    HP_TRY(put_view(page, &hp_view_sampling));
    HP_TRY(put_view(page, &hp_view_threads));
    put_insns(page);
    return put_cpi(page);
}
