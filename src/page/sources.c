// SPDX-License-Identifier: MIT
/*
 * The source: lines and what was executed for them, files, and their text as far as it can be what the program was built from.
 */
#include "page/model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AROUND 5 /* lines shown before and behind those that are of interest */

/* --- Lines and files -------------------------------------------------------------------------- */

static uint32_t line_file(const struct hp_page *page, size_t row)
{
    return hp_page_text_find(&page->files, page->tables.lines[page->lines.rows[row].item].file);
}

static uint64_t line_number(const struct hp_page *page, size_t row)
{
    return page->tables.lines[page->lines.rows[row].item].line;
}

static uint64_t line_insns(const struct hp_page *page, size_t row)
{
    return page->lines.rows[row].v[0];
}

static uint64_t line_executions(const struct hp_page *page, size_t row)
{
    return page->lines.rows[row].v[1];
}

void hp_page_put_lines(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {
        {.name = "file", .index = line_file},
        {.name = "line", .count = line_number},
        {.name = "instructions", .count = line_insns},
        {.name = "executions", .count = line_executions},
        {0}};
    hp_page_put_table(page, "lines", columns, page->lines.n);
}

static const char *file_path(struct hp_page *page, size_t row)
{
    return page->files.texts[row];
}

/* --- Text ------------------------------------------------------------------------------------- */

/* When each module was built; that of the run where it is not known, or later. */
static enum hp_err find_times(const struct hp_profile *p, int64_t **times)
{
    *times = calloc(p->n_modules + 1, sizeof **times);
    if (!*times)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_modules; i++) {
        struct stat status;
        (*times)[i] = p->run.started;
        if (stat(hp_text(p->modules[i].path), &status) == 0 && S_ISREG(status.st_mode) &&
            (int64_t)status.st_mtime < p->run.started)
            (*times)[i] = (int64_t)status.st_mtime;
    }
    return HP_OK;
}

/* Until when each file may have been changed: until the first module that has code of it was built. */
static enum hp_err find_ages(const struct hp_page *page, int64_t **ages)
{
    const struct hp_profile *p = page->profile;
    int64_t *times;
    HP_TRY(find_times(p, &times));
    *ages = calloc(page->files.n + 1, sizeof **ages);
    for (size_t i = 0; *ages && i < page->files.n; i++)
        (*ages)[i] = p->run.started;
    for (size_t i = 0; *ages && i < p->n_lines; i++) {
        uint32_t file = hp_page_text_find(&page->files, p->lines[i].file);
        uint32_t module = p->blocks[p->lines[i].block].place.module;
        if (file != HP_PROFILE_NONE && module != HP_PROFILE_NONE && times[module] < (*ages)[file])
            (*ages)[file] = times[module];
    }
    free(times);
    return *ages ? HP_OK : hp_fail_nomem();
}

static void put_lines(struct hp_page *page, const struct hp_source_file *file, uint32_t first,
                      uint32_t last)
{
    struct hp_json *json = &page->json;
    hp_json_begin_object(json);
    hp_json_key(json, "first");
    hp_json_uint(json, first);
    hp_json_key(json, "lines");
    hp_json_begin_array(json);
    for (uint32_t i = first; i <= last; i++) {
        const char *text = file->text + file->starts[i - 1];
        size_t length = file->starts[i] - file->starts[i - 1] - 1;
        hp_strbuf_clear(&page->text);
        hp_strbuf_bytes(&page->text, text, strnlen(text, length));
        hp_json_string(json, hp_strbuf_text(&page->text));
    }
    hp_json_end_array(json);
    hp_json_end_object(json);
}

struct left_out {
    uint64_t newer, no_room;
    size_t bytes; /* written so far */
};

/* What may be shown of a file, in `*first` to `*last`. */
static const struct hp_source_file *file_of(struct hp_page *page, size_t row, int64_t age,
                                            struct left_out *left_out, uint32_t *first,
                                            uint32_t *last)
{
    const struct hp_page_range *range = &page->ranges[row];
    const struct hp_source_file *file =
        range->first ? hp_sources_file(&page->annotator.sources, page->files.texts[row]) : NULL;
    if (!file || !file->text || range->first > file->n_lines)
        return NULL;
    *first = range->first > AROUND ? range->first - AROUND : 1;
    *last = range->last;
    *last = *last > file->n_lines - (file->n_lines < AROUND ? 0 : AROUND) ? (uint32_t)file->n_lines
                                                                          : *last + AROUND;
    size_t bytes = file->starts[*last] - file->starts[*first - 1];
    /* Who says where the sources are knows which they are. */
    if (!page->options->source_path && age && file->changed > age) {
        left_out->newer++;
        return NULL;
    }
    if (left_out->bytes + bytes > HP_PAGE_SOURCE_BYTES) {
        left_out->no_room++;
        return NULL;
    }
    left_out->bytes += bytes;
    return file;
}

enum hp_err hp_page_put_sources(struct hp_page *page)
{
    static const struct hp_page_column columns[] = {{.name = "path", .text = file_path}, {0}};
    struct left_out left_out = {0};
    int64_t *ages;
    HP_TRY(find_ages(page, &ages));
    hp_page_put_table(page, "files", columns, page->files.n);
    hp_json_key(&page->json, "sources");
    hp_json_begin_array(&page->json);
    for (size_t i = 0; i < page->files.n; i++) {
        uint32_t first, last;
        const struct hp_source_file *file = file_of(page, i, ages[i], &left_out, &first, &last);
        if (file)
            put_lines(page, file, first, last);
        else
            hp_json_null(&page->json);
    }
    hp_json_end_array(&page->json);
    free(ages);
    hp_page_limit(page, left_out.newer,
                  "source files are not shown: they were changed after the program was built");
    hp_page_limit(page, left_out.no_room, "source files are not shown: they are too long");
    return HP_OK;
}
