// SPDX-License-Identifier: MIT
/* The lists of objects: rows of the report, with references in place of names. */
#include "base/base.h"
#include "page/model.h"
#include "report/fields.h"
#include "report/hotspots/hotspots.h"
#include "report/print.h"
#include "report/syscalls/syscalls.h"

/* What a field is replaced by; NULL: it is left out. */
struct other {
    const char *name;
    void (*put)(struct hp_page *page, const struct hp_bound_field *field, const struct hp_row *row);
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
            other->put(page, &fields->fields[i], row);
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
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(hp_page_take(page, view, 0, NULL, &rows));
    hp_json_view_key(&page->json, view);
    put_rows(page, view, NULL, rows.rows, rows.n);
    return HP_OK;
}

static void put_reference(struct hp_page *page, const struct hp_bound_field *field,
                          const struct hp_row *row)
{
    hp_page_put_field(page, field->column, hp_profile_row(page->profile, field->kind, row->item));
}

/* Where a loop is written, as the report calls it; else where its code is. */
static void put_written_file(struct hp_page *page, const struct hp_bound_field *field,
                             const struct hp_row *row)
{
    const struct hp_loop_info *info = &page->tables.loops.info[row->item];
    if (*info->file)
        hp_page_put_index(page, hp_page_text_find(&page->files, info->file));
    else
        put_reference(page, field, row);
}

static void put_written_line(struct hp_page *page, const struct hp_bound_field *field,
                             const struct hp_row *row)
{
    const struct hp_loop_info *info = &page->tables.loops.info[row->item];
    if (*info->file)
        hp_json_uint(&page->json, info->line);
    else
        put_reference(page, field, row);
}

static void put_written_last(struct hp_page *page, const struct hp_bound_field *field,
                             const struct hp_row *row)
{
    const struct hp_loop_info *info = &page->tables.loops.info[row->item];
    if (*info->file)
        hp_json_uint(&page->json, info->last_line);
    else
        put_reference(page, field, row);
}

/* The file of an instruction, and the block, which the report does not have. */
static void put_file_and_block(struct hp_page *page, const struct hp_bound_field *field,
                               const struct hp_row *row)
{
    uint32_t block = hp_page_block_at(page, page->profile->insns[row->item].place);
    put_reference(page, field, row);
    hp_json_key(&page->json, "block");
    hp_page_put_index(page, hp_page_row(page, HP_ROW_BLOCK, block));
}

/* Of a loop, or of a hot spot. */
static void put_blocks(struct hp_page *page, const struct hp_bound_field *field,
                       const struct hp_row *row)
{
    enum hp_row_kind kind = field->kind == HP_ROW_LOOP ? HP_ROW_LOOP_BLOCK : HP_ROW_HOTSPOT_BLOCK;
    const struct hp_row_field *block = hp_row_column(kind, "block");
    size_t size = hp_row_formats[kind].size, n = hp_profile_n_rows(page->profile, kind);
    const char *rows = hp_items_of(hp_profile_row(page->profile, kind, 0), n, size, row->item, &n);
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++) {
        uint32_t item = (uint32_t)hp_row_number(block, rows + i * size);
        if (hp_page_row(page, HP_ROW_BLOCK, item) != HP_PROFILE_NONE)
            hp_page_put_index(page, hp_page_row(page, HP_ROW_BLOCK, item));
    }
    hp_json_end_array(&page->json);
}

static void put_hotspot_functions(struct hp_page *page, const struct hp_bound_field *field,
                                  const struct hp_row *row)
{
    (void)field;
    struct hp_hotspot_function *list HP_CLEANUP(hp_free) = NULL;
    size_t n = 0;
    if (hp_hotspot_functions(&page->tables, row->item, &list, &n) != HP_OK)
        page->text.failed = true;
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < n; i++)
        if (list[i].function != HP_PROFILE_NONE)
            hp_page_put_index(page, hp_page_row(page, HP_ROW_FUNCTION, list[i].function));
    hp_json_end_array(&page->json);
}

static void put_syscall_path(struct hp_page *page, const struct hp_bound_field *field,
                             const struct hp_row *row)
{
    (void)field;
    uint32_t path[HP_CONTEXT_DEPTH + 1];
    size_t n = hp_syscall_path(page->profile, &page->profile->syscalls[row->item], path);
    hp_json_begin_array(&page->json);
    while (n-- > 0)
        hp_page_put_index(page, hp_page_row(page, HP_ROW_FUNCTION, path[n]));
    hp_json_end_array(&page->json);
}

static enum hp_err put_syscall_paths(struct hp_page *page)
{
    static const struct other others[] = {{"path", put_syscall_path}, {0}};
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(hp_page_take(page, &hp_view_syscall_paths, HP_PAGE_CALL_PATHS, NULL, &rows));
    hp_json_view_key(&page->json, &hp_view_syscall_paths);
    put_rows(page, &hp_view_syscall_paths, others, rows.rows, rows.n);
    return HP_OK;
}

static void put_list(struct hp_page *page, const struct hp_view *view, const struct other *others)
{
    hp_json_view_key(&page->json, view);
    put_rows(page, view, others, page->rows[view->item].rows, page->rows[view->item].n);
}

/* The first row of each is the run. */
static enum hp_err put_cpi_by(struct hp_page *page, enum hp_report_by by)
{
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    page->tables.by = by;
    HP_TRY(hp_rows_init(&rows, &page->tables, &hp_view_cpi, false));
    size_t first = by != HP_REPORT_BY_RUN && rows.n ? 1 : 0;
    size_t n = rows.n - first < HP_PAGE_CPI ? rows.n - first : HP_PAGE_CPI;
    hp_json_key(&page->json, hp_report_units[by].name);
    put_rows(page, &hp_view_cpi, NULL, rows.rows + first, n);
    return HP_OK;
}

enum hp_err hp_page_put_lists(struct hp_page *page)
{
    static const struct other in_loops[] = {
        {"function", put_reference}, {"file", put_written_file},
        {"line", put_written_line},  {"last_line", put_written_last},
        {"blocks", put_blocks},      {"models", NULL},
        {"branches", NULL},          {0}};
    static const struct other in_hotspots[] = {
        {"functions", put_hotspot_functions}, {"blocks", put_blocks}, {0}};
    static const struct other in_instructions[] = {
        {"function", put_reference}, {"file", put_file_and_block}, {0}};
    static const struct hp_view *const views[] = {
        &hp_view_predictions, &hp_view_loop_models, &hp_view_machine, &hp_view_sampling,
        &hp_view_processes,   &hp_view_threads,     &hp_view_syscalls};
    static const enum hp_report_by by[] = {HP_REPORT_BY_RUN, HP_REPORT_BY_FUNCTION,
                                           HP_REPORT_BY_LOOP, HP_REPORT_BY_LINE};
    put_list(page, &hp_view_loops, in_loops);
    put_list(page, &hp_view_hotspots, in_hotspots);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        HP_TRY(put_view(page, views[i]));
    HP_TRY(put_syscall_paths(page));
    put_list(page, &hp_view_instructions, in_instructions);
    hp_json_put_object(&page->json, "cpi");
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        HP_TRY(put_cpi_by(page, by[i]));
    hp_json_end_object(&page->json);
    return HP_OK;
}
