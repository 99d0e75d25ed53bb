// SPDX-License-Identifier: MIT
#include "page/model.h"

#include "base/bisect.h"
#include "base/grow.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

/* --- Texts and limits ------------------------------------------------------------------------- */

uint32_t hp_page_text_find(const struct hp_page_texts *texts, const char *text)
{
    return *hp_text(text) ? hp_map64_get(&texts->index, (uintptr_t)text) : HP_PROFILE_NONE;
}

enum hp_err hp_page_text_add(struct hp_page_texts *texts, const char *text, uint32_t *row)
{
    *row = hp_page_text_find(texts, text);
    if (!*hp_text(text) || *row != HP_MAP64_NONE)
        return HP_OK;
    HP_TRY(hp_grow(&texts->texts, &texts->capacity, texts->n + 1, sizeof *texts->texts));
    HP_TRY(hp_map64_put(&texts->index, (uintptr_t)text, (uint32_t)texts->n));
    *row = (uint32_t)texts->n;
    texts->texts[texts->n++] = text;
    return HP_OK;
}

static void fini_texts(struct hp_page_texts *texts)
{
    free(texts->texts);
    hp_map64_fini(&texts->index);
}

void hp_page_limit(struct hp_page *page, uint64_t count, const char *what)
{
    if (!count)
        return;
    hp_strbuf_grouped(&page->limits, count);
    hp_strbuf_add(&page->limits, " ");
    hp_strbuf_add(&page->limits, what);
    hp_strbuf_add(&page->limits, "\n");
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum hp_err number_rows(struct hp_page_rows *rows, size_t n_items)
{
    rows->row_of = malloc((n_items + 1) * sizeof *rows->row_of);
    if (!rows->row_of)
        return hp_fail_nomem();
    for (size_t i = 0; i < n_items; i++)
        rows->row_of[i] = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++)
        rows->row_of[rows->rows[i].item] = (uint32_t)i;
    return HP_OK;
}

/* The first `top` rows of a view of the report (0: all), of `n_items` things in the profile. */
static enum hp_err take_rows(struct hp_page *page, struct hp_page_rows *rows,
                             const struct hp_view *view, size_t top, size_t n_items,
                             size_t *left_out)
{
    struct hp_rows all;
    if (view->prepare)
        HP_TRY(view->prepare(&page->tables));
    HP_TRY(hp_rows_init(&all, &page->tables, view, false));
    hp_rows_keep(&all, &page->tables, view, top);
    *left_out = all.n_left_out;
    rows->rows = all.rows;
    rows->n = all.n;
    return number_rows(rows, n_items);
}

/* Appends what the report has no row for: something may refer to it. */
static enum hp_err append_rest(struct hp_page_rows *rows, size_t n_items)
{
    struct hp_row *all = realloc(rows->rows, (n_items + 1) * sizeof *all);
    if (!all)
        return hp_fail_nomem();
    rows->rows = all;
    for (uint32_t i = 0; i < n_items; i++) {
        if (rows->row_of[i] != HP_PROFILE_NONE)
            continue;
        rows->row_of[i] = (uint32_t)rows->n;
        all[rows->n++] = (struct hp_row){.item = i, .thread = HP_PROFILE_NONE};
    }
    return HP_OK;
}

static int compare_blocks(const void *a, const void *b, void *context)
{
    const struct hp_page *page = context;
    uint32_t x = ((const struct hp_row *)a)->item, y = ((const struct hp_row *)b)->item;
    const struct hp_pblock *blocks = page->profile->blocks;
    uint32_t fx = hp_page_row(&page->functions, blocks[x].function);
    uint32_t fy = hp_page_row(&page->functions, blocks[y].function);
    if (fx != fy)
        return fx < fy ? -1 : 1;
    int order = hp_place_compare(blocks[x].place, blocks[y].place);
    return order ? order : (x > y) - (x < y);
}

/* The heaviest, by function, then address; those that were not counted belong to them as far as
 * there is room. */
static enum hp_err make_blocks(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    struct hp_page_rows *blocks = &page->blocks;
    size_t left_out;
    HP_TRY(take_rows(page, blocks, &hp_view_blocks, 0, p->n_blocks, &left_out));
    HP_TRY(append_rest(blocks, p->n_blocks));
    if (blocks->n > HP_PAGE_BLOCKS) {
        hp_page_limit(page, blocks->n - HP_PAGE_BLOCKS, "cold blocks are left out");
        blocks->n = HP_PAGE_BLOCKS;
    }
    for (size_t i = 0; i < blocks->n; i++)
        blocks->rows[i].v[0] = blocks->rows[i].v[1];
    qsort_r(blocks->rows, blocks->n, sizeof *blocks->rows, compare_blocks, page);
    free(blocks->row_of);
    return number_rows(blocks, p->n_blocks);
}

static enum hp_err make_lines(struct hp_page *page)
{
    struct hp_rows all;
    HP_TRY(hp_rows_init(&all, &page->tables, &hp_view_lines, false));
    hp_rows_keep(&all, &page->tables, &hp_view_lines, HP_PAGE_LINES);
    hp_page_limit(page, all.n_left_out, "cold source lines are left out");
    page->lines.rows = all.rows;
    page->lines.n = all.n;
    return HP_OK;
}

static enum hp_err make_rows(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    size_t left_out;
    HP_TRY(take_rows(page, &page->functions, &hp_view_functions, 0, p->n_functions, &left_out));
    HP_TRY(append_rest(&page->functions, p->n_functions));
    HP_TRY(make_blocks(page));
    HP_TRY(take_rows(page, &page->paths, &hp_view_paths, HP_PAGE_PATHS, p->n_paths, &left_out));
    hp_page_limit(page, left_out, "cold paths are left out");
    HP_TRY(take_rows(page, &page->loops, &hp_view_loops, 0, p->n_loops, &left_out));
    HP_TRY(take_rows(page, &page->hotspots, &hp_view_hotspots, 0, p->n_hotspots, &left_out));
    HP_TRY(take_rows(page, &page->insns, &hp_view_instructions, HP_PAGE_INSTRUCTIONS, p->n_insns,
                     &left_out));
    hp_page_limit(page, left_out, "instructions that took few cycles are left out");
    return make_lines(page);
}

/* --- What belongs to rows --------------------------------------------------------------------- */

static enum hp_err make_steps(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    size_t left_out = 0;
    page->path_steps = calloc(page->paths.n + 1, sizeof *page->path_steps);
    page->steps = calloc(p->n_path_steps + 1, sizeof *page->steps);
    if (!page->path_steps || !page->steps)
        return hp_fail_nomem();
    for (size_t i = 0; i < page->paths.n; i++) {
        size_t n;
        const struct hp_pstep *steps = hp_tables_steps(&page->tables, page->paths.rows[i].item, &n);
        page->path_steps[i].first = (uint32_t)page->n_steps;
        if (page->n_steps + n > HP_PAGE_STEPS) {
            left_out++;
            continue;
        }
        page->path_steps[i].n = (uint32_t)n;
        for (size_t k = 0; k < n; k++)
            page->steps[page->n_steps++] = (uint32_t)(steps + k - p->path_steps);
    }
    hp_page_limit(page, left_out, "paths are shown without their blocks");
    return HP_OK;
}

/* What is executed where. */
static enum hp_err make_places(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    struct hp_rows rows;
    page->module_insns = calloc(p->n_modules + 1, sizeof *page->module_insns);
    page->function_blocks = calloc(p->n_functions + 1, sizeof *page->function_blocks);
    if (!page->module_insns || !page->function_blocks)
        return hp_fail_nomem();
    HP_TRY(hp_rows_init(&rows, &page->tables, &hp_view_modules, false));
    for (size_t i = 0; i < rows.n; i++)
        page->module_insns[rows.rows[i].item] = rows.rows[i].v[0];
    hp_rows_fini(&rows);
    for (uint32_t i = 0; i < page->blocks.n; i++) {
        uint32_t function =
            hp_page_row(&page->functions, p->blocks[page->blocks.rows[i].item].function);
        if (function == HP_PROFILE_NONE)
            continue;
        struct hp_page_part *part = &page->function_blocks[function];
        part->first = part->n++ ? part->first : i;
    }
    return HP_OK;
}

static enum hp_err make_cycles(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    page->cycles = calloc(p->n_functions + 1, sizeof *page->cycles);
    if (!page->cycles)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        uint32_t function = p->insns[p->insn_cycles[i].insn].function;
        if (function != HP_PROFILE_NONE)
            page->cycles[function] =
                hp_saturating_add(page->cycles[function], p->insn_cycles[i].parts);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        page->cycles[i] /= HP_CYCLE_PARTS;
    return HP_OK;
}

static enum hp_err make_block_loops(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    const struct hp_loop_info *info = page->tables.loops.info;
    page->block_loops = malloc((p->n_blocks + 1) * sizeof *page->block_loops);
    if (!page->block_loops)
        return hp_fail_nomem();
    for (size_t i = 0; i < p->n_blocks; i++)
        page->block_loops[i] = HP_PROFILE_NONE;
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        uint32_t loop = p->loop_blocks[i].loop,
                 *known = &page->block_loops[p->loop_blocks[i].block];
        if (*known == HP_PROFILE_NONE || info[loop].depth > info[*known].depth)
            *known = loop;
    }
    return HP_OK;
}

#define MOST_OVERLAPS 1000 /* a damaged profile must not take for ever */

/* Blocks that overlap end together: before the first that does not reach the place none does. */
uint32_t hp_page_block_at(const struct hp_page *page, struct hp_place place)
{
    const struct hp_profile *p = page->profile;
    uint32_t best = HP_PROFILE_NONE;
    size_t low = HP_BISECT(i, 0, p->n_blocks, hp_place_compare(p->blocks[i].place, place) <= 0);
    for (size_t i = 0; low-- > 0 && i < MOST_OVERLAPS; i++) {
        const struct hp_pblock *block = &p->blocks[low];
        if (block->place.module != place.module ||
            place.offset - block->place.offset >= block->size)
            break;
        if (best == HP_PROFILE_NONE ||
            page->annotator.block_counts[low] > page->annotator.block_counts[best])
            best = (uint32_t)low;
    }
    return best;
}

static enum hp_err make(struct hp_page *page)
{
    HP_TRY(make_rows(page));
    HP_TRY(make_places(page));
    HP_TRY(make_steps(page));
    HP_TRY(make_cycles(page));
    HP_TRY(make_block_loops(page));
    HP_TRY(hp_page_make_files(page));
    HP_TRY(hp_page_make_edges(page));
    HP_TRY(hp_page_make_contexts(page));
    return hp_page_make_code(page);
}

enum hp_err hp_page_init(struct hp_page *page, const struct hp_profile *profile,
                         const struct hp_page_options *options, FILE *out)
{
    *page = (struct hp_page){.profile = profile,
                             .options = options,
                             .annotate = {.source_path = options->source_path},
                             .json = {.out = out, .lines = 1}};
    HP_TRY(hp_tables_init(&page->tables, profile));
    enum hp_err err = hp_annotator_init(&page->annotator, &page->tables, &page->annotate, out);
    if (err != HP_OK) {
        hp_tables_fini(&page->tables);
        return err;
    }
    err = make(page);
    if (err != HP_OK)
        hp_page_fini(page);
    return err;
}

static void fini_rows(struct hp_page_rows *rows)
{
    free(rows->rows);
    free(rows->row_of);
}

void hp_page_fini(struct hp_page *page)
{
    fini_rows(&page->functions);
    fini_rows(&page->blocks);
    fini_rows(&page->paths);
    fini_rows(&page->loops);
    fini_rows(&page->hotspots);
    fini_rows(&page->insns);
    fini_rows(&page->lines);
    free(page->module_insns);
    free(page->function_blocks);
    free(page->cycles);
    free(page->block_loops);
    free(page->edges);
    free(page->contexts);
    free(page->context_rows);
    free(page->context_sums);
    free(page->context_inclusive);
    free(page->path_steps);
    free(page->steps);
    fini_texts(&page->files);
    fini_texts(&page->names);
    free(page->spots);
    free(page->block_code);
    free(page->code);
    hp_strbuf_fini(&page->text);
    hp_strbuf_fini(&page->limits);
    hp_annotator_fini(&page->annotator);
    hp_tables_fini(&page->tables);
}
