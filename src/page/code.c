// SPDX-License-Identifier: MIT
/*
 * The instructions of the blocks that matter: of the heaviest paths, the heaviest blocks, hot
 * spots, and more as far as there is room.
 */
#include "base/base.h"
#include "page/model.h"
#include "report/hotspots/hotspots.h"

#define TOP_PATHS 200 /* whose code comes first */

/* --- Which blocks ----------------------------------------------------------------------------- */

struct choice {
    bool *wanted; /* by block of the profile */
    size_t insns; /* in them */
};

static void want(const struct hp_page *page, struct choice *choice, uint32_t block, size_t most)
{
    uint32_t insns = page->profile->blocks[block].insns;
    if (choice->wanted[block] || !page->tables.block_counts[block] ||
        choice->insns + insns > most || hp_page_row(page, HP_ROW_BLOCK, block) == HP_PROFILE_NONE)
        return;
    choice->wanted[block] = true;
    choice->insns += insns;
}

static void want_paths(const struct hp_page *page, struct choice *choice, size_t top, size_t most)
{
    const struct hp_rows *paths = &page->rows[HP_ROW_PATH];
    uint32_t first = 0; /* of its kind */
    for (uint32_t i = 0; i < paths->n; i++) {
        const struct hp_page_path *path = &page->paths[paths->rows[i].item];
        if (path->kind != page->paths[paths->rows[first].item].kind)
            first = i;
        for (uint32_t k = 0; i - first < top && k < path->n_steps; k++) {
            uint32_t step = page->steps[path->first_step + k];
            want(page, choice, page->profile->path_steps[step].block, most);
        }
    }
}

static void want_hotspots(const struct hp_page *page, struct choice *choice, size_t most)
{
    for (size_t i = 0; i < page->rows[HP_ROW_HOTSPOT].n; i++) {
        size_t n;
        const struct hp_photspot_block *blocks = hp_items(
            page->profile, HP_ROW_HOTSPOT_BLOCK, page->rows[HP_ROW_HOTSPOT].rows[i].item, &n);
        for (size_t k = 0; k < n; k++)
            want(page, choice, blocks[k].block, most);
    }
}

static enum hp_err choose(struct hp_page *page, struct choice *choice)
{
    struct hp_rows heaviest HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(
        hp_page_allocate(page, &choice->wanted, page->profile->n_blocks, sizeof *choice->wanted));
    HP_TRY(hp_rows_init(&heaviest, &page->tables, &hp_view_blocks, false));
    want_paths(page, choice, TOP_PATHS, HP_PAGE_CODE / 2);
    for (size_t i = 0; i < heaviest.n; i++)
        want(page, choice, heaviest.rows[i].item, HP_PAGE_CODE * 3 / 4);
    want_hotspots(page, choice, HP_PAGE_CODE);
    want_paths(page, choice, SIZE_MAX, HP_PAGE_CODE);
    size_t left_out = 0;
    for (size_t i = 0; i < heaviest.n; i++) {
        want(page, choice, heaviest.rows[i].item, HP_PAGE_CODE);
        left_out += !choice->wanted[heaviest.rows[i].item];
    }
    hp_page_limit(page, left_out, "cold blocks are shown without instructions");
    return HP_OK;
}

/* --- Their instructions ----------------------------------------------------------------------- */

struct lines {
    struct hp_function_code code;
    uint32_t *rows; /* by line: of the code, from 1; 0: no block has it */
};

static void lines_fini(struct lines *lines)
{
    hp_function_code_fini(&lines->code);
    free(lines->rows);
}

/* The lines of a block, which fill it. It has none when those of other versions are between. */
static void find_block(const struct hp_pblock *block, const struct lines *lines, size_t *at,
                       size_t *n)
{
    size_t low = HP_BISECT(i, 0, lines->code.n,
                           hp_place_compare(lines->code.lines[i].place, block->place) < 0);
    *at = low;
    *n = 0;
    uint64_t offset = 0;
    for (; offset < block->size && *n < block->insns && low + *n < lines->code.n; ++*n) {
        const struct hp_code_line *line = &lines->code.lines[low + *n];
        struct hp_place expected = {block->place.module, block->place.offset + offset};
        if (line->insns || line->version != block->version || line->length == 0 ||
            hp_place_compare(line->place, expected) != 0)
            break;
        offset += line->length;
    }
    if (offset != block->size)
        *n = 0;
}

/* Keeps the lines that a block has. */
static enum hp_err keep_lines(struct hp_page *page, struct lines *lines)
{
    for (size_t i = 0; i < lines->code.n; i++) {
        if (!lines->rows[i])
            continue;
        HP_TRY(hp_grow(&page->code, &page->code_capacity, page->n_code + 1, sizeof *page->code));
        struct hp_page_code *code = &page->code[page->n_code++];
        code->line = lines->code.lines[i];
        HP_TRY(hp_page_text_add(&page->names, code->line.inlined, &code->inlined));
        lines->rows[i] = (uint32_t)page->n_code;
    }
    return HP_OK;
}

/* `n` blocks, which are those of a function, or of none. */
static enum hp_err add_function(struct hp_page *page, const struct choice *choice,
                                const struct hp_row *blocks, size_t n)
{
    const struct hp_profile *p = page->profile;
    struct lines lines HP_CLEANUP(lines_fini) = {0};
    HP_TRY(hp_annotator_code(&page->annotator, p->blocks[blocks->item].function, &lines.code));
    HP_TRY(hp_new(&lines.rows, lines.code.n + 1, sizeof *lines.rows));
    for (size_t i = 0; i < n; i++) {
        struct hp_page_block *block = &page->blocks[blocks[i].item];
        size_t at = 0, n_code = 0;
        if (choice->wanted[blocks[i].item])
            find_block(&p->blocks[blocks[i].item], &lines, &at, &n_code);
        block->first_code = (uint32_t)at;
        block->n_code = (uint32_t)n_code;
        for (size_t k = at; k < at + n_code; k++)
            lines.rows[k] = 1;
    }
    HP_TRY(keep_lines(page, &lines));
    for (size_t i = 0; i < n; i++) {
        struct hp_page_block *block = &page->blocks[blocks[i].item];
        block->first_code = block->n_code ? lines.rows[block->first_code] - 1 : 0;
    }
    return HP_OK;
}

static enum hp_err add_functions(struct hp_page *page, const struct choice *choice)
{
    const struct hp_pblock *all = page->profile->blocks;
    const struct hp_rows *blocks = &page->rows[HP_ROW_BLOCK];
    for (size_t first = 0, end; first < blocks->n; first = end) {
        const struct hp_row *rows = blocks->rows;
        bool any = false;
        for (end = first;
             end < blocks->n && all[rows[end].item].function == all[rows[first].item].function;
             end++)
            any |= choice->wanted[rows[end].item];
        if (any)
            HP_TRY(add_function(page, choice, rows + first, end - first));
    }
    return HP_OK;
}

enum hp_err hp_page_make_code(struct hp_page *page)
{
    struct choice choice = {0};
    uint64_t missing = 0;
    HP_TRY(choose(page, &choice));
    page->annotator.wanted = choice.wanted;
    enum hp_err err = add_functions(page, &choice);
    page->annotator.wanted = NULL;
    for (size_t i = 0; i < page->rows[HP_ROW_BLOCK].n; i++) {
        uint32_t block = page->rows[HP_ROW_BLOCK].rows[i].item;
        missing += choice.wanted[block] && page->blocks[block].n_code == 0;
    }
    hp_page_limit(page, missing,
                  "blocks are shown without instructions: no file has their code as it ran");
    return err;
}
