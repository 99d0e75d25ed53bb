// SPDX-License-Identifier: MIT
/* The source: its files, and their text as far as it can be what the program was built from. */
#include "base/base.h"
#include "page/model.h"

#include <sys/stat.h>

#define AROUND 10 /* lines shown before and behind those that are of interest */

/* --- Which files and lines -------------------------------------------------------------------- */

static enum hp_err add_spot(struct hp_page *page, const char *file, uint32_t line)
{
    uint32_t row;
    HP_TRY(hp_page_text_add(&page->files, file, &row));
    if (row == HP_PROFILE_NONE || line == 0)
        return HP_OK;
    HP_TRY(hp_grow(&page->spots, &page->spots_capacity, page->n_spots + 1, sizeof *page->spots));
    page->spots[page->n_spots++] = (struct hp_page_spot){row, line};
    return HP_OK;
}

static int compare_spots(const void *a, const void *b)
{
    const struct hp_page_spot *x = a, *y = b;
    return HP_COMPARE(x->file, y->file) ?: HP_COMPARE(x->line, y->line);
}

/* The heaviest functions' files first: room for their text may be short. */
enum hp_err hp_page_make_files(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    const struct hp_rows *functions = &page->rows[HP_ROW_FUNCTION];
    for (size_t i = 0; i < functions->n; i++) {
        const struct hp_pfunction *function = &p->functions[functions->rows[i].item];
        HP_TRY(add_spot(page, function->file, function->line));
    }
    for (size_t i = 0; i < p->n_lines; i++)
        HP_TRY(add_spot(page, p->lines[i].file, p->lines[i].line));
    for (size_t i = 0; i < p->n_loops; i++) {
        HP_TRY(add_spot(page, p->loops[i].file, p->loops[i].first_line));
        HP_TRY(add_spot(page, p->loops[i].file, p->loops[i].last_line));
    }
    for (size_t i = 0; i < p->n_insns; i++)
        HP_TRY(add_spot(page, p->insns[i].file, p->insns[i].line));
    if (page->n_spots)
        qsort(page->spots, page->n_spots, sizeof *page->spots, compare_spots);
    return HP_OK;
}

/* --- Text ------------------------------------------------------------------------------------- */

/* When a module was built; that of the run where it is not known, or later. */
static int64_t time_of(const struct hp_profile *p, const struct hp_pmodule *module)
{
    struct stat status;
    if (stat(hp_text(module->path), &status) == 0 && S_ISREG(status.st_mode) &&
        (int64_t)status.st_mtime < p->run.started)
        return (int64_t)status.st_mtime;
    return p->run.started;
}

/* Until when each file may have been changed: when the first module with its code was built. */
static enum hp_err find_ages(struct hp_page *page, int64_t **ages)
{
    const struct hp_profile *p = page->profile;
    int64_t *times;
    HP_TRY(hp_page_allocate(page, &times, p->n_modules, sizeof *times));
    HP_TRY(hp_page_allocate(page, ages, page->files.n, sizeof **ages));
    for (size_t i = 0; i < p->n_modules; i++)
        times[i] = time_of(p, &p->modules[i]);
    for (size_t i = 0; i < page->files.n; i++)
        (*ages)[i] = p->run.started;
    for (size_t i = 0; i < p->n_lines; i++) {
        uint32_t file = hp_page_text_find(&page->files, p->lines[i].file);
        uint32_t module = p->blocks[p->lines[i].block].place.module;
        if (file != HP_PROFILE_NONE && module != HP_PROFILE_NONE && times[module] < (*ages)[file])
            (*ages)[file] = times[module];
    }
    return HP_OK;
}

/* A part of a file that is around lines of interest. */
struct part {
    const struct hp_source_file *file;
    const struct hp_page_spot *spots; /* `n` of them */
    size_t n;
    uint32_t first, last; /* lines */
};

/* Whether a line is near one of interest; asked in order. */
static bool is_near(struct part *part, uint32_t line)
{
    for (; part->n && part->spots->line + (uint64_t)AROUND < line; part->n--)
        part->spots++;
    return part->n && part->spots->line <= line + (uint64_t)AROUND;
}

static const char *line_of(const struct hp_source_file *file, uint32_t line, size_t *length)
{
    const char *text = file->text + file->starts[line - 1];
    *length = strnlen(text, file->starts[line] - file->starts[line - 1] - 1);
    return text;
}

static size_t size_of(struct part part)
{
    size_t size = 0, length;
    for (uint32_t i = part.first; i <= part.last; i++)
        if (is_near(&part, i)) {
            line_of(part.file, i, &length);
            size += length;
        }
    return size;
}

static void put_part(struct hp_page *page, struct part part)
{
    struct hp_json *json = &page->json;
    hp_json_begin_object(json);
    hp_json_put_uint(json, "first", part.first);
    hp_json_put_array(json, "lines");
    for (uint32_t i = part.first; i <= part.last; i++) {
        if (!is_near(&part, i)) {
            hp_json_null(json);
            continue;
        }
        size_t length;
        const char *text = line_of(part.file, i, &length);
        hp_strbuf_clear(&page->text);
        hp_strbuf_bytes(&page->text, text, length);
        hp_json_string(json, hp_strbuf_text(&page->text));
    }
    hp_json_end_array(json);
    hp_json_end_object(json);
}

struct left_out {
    uint64_t newer, no_room;
    size_t bytes; /* written so far */
};

/* What may be shown of the file whose spots these are; false: nothing. */
static bool find_part(struct hp_page *page, struct part *part, int64_t age,
                      struct left_out *left_out)
{
    const char *name = page->files.texts[part->spots->file];
    const struct hp_source_file *file = hp_sources_file(&page->annotator.sources, name);
    uint32_t first = part->spots->line, last = part->spots[part->n - 1].line;
    if (!file || !file->text || first > file->n_lines)
        return false;
    /* Who says where the sources are knows which they are. */
    if (!page->options->source_path && age && file->changed > age) {
        left_out->newer++;
        return false;
    }
    part->file = file;
    part->first = first > AROUND ? first - AROUND : 1;
    part->last =
        (uint32_t)(last + (uint64_t)AROUND < file->n_lines ? last + AROUND : file->n_lines);
    size_t size = size_of(*part);
    if (left_out->bytes + size > HP_PAGE_SOURCE_BYTES) {
        left_out->no_room++;
        return false;
    }
    left_out->bytes += size;
    return true;
}

static void put_texts(struct hp_page *page, const int64_t *ages, struct left_out *left_out)
{
    size_t spot = 0;
    for (size_t i = 0; i < page->files.n; i++) {
        struct part part = {.spots = page->spots + spot};
        for (; spot < page->n_spots && page->spots[spot].file == i; spot++)
            part.n++;
        if (part.n && find_part(page, &part, ages[i], left_out))
            put_part(page, part);
        else
            hp_json_null(&page->json);
    }
}

enum hp_err hp_page_put_sources(struct hp_page *page)
{
    struct left_out left_out = {0};
    int64_t *ages;
    HP_TRY(find_ages(page, &ages));
    hp_json_put_array(&page->json, "sources");
    put_texts(page, ages, &left_out);
    hp_json_end_array(&page->json);
    hp_page_limit(page, left_out.newer,
                  "source files are not shown: they were changed after the program was built");
    hp_page_limit(page, left_out.no_room, "source files are not shown: there is no room for them");
    return HP_OK;
}
