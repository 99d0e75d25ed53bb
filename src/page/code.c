// SPDX-License-Identifier: MIT
/*
 * The instructions of the blocks that matter: of the heaviest paths, the heaviest blocks, hot
 * spots, and more as far as there is room.
 */
#include "base/bisect.h"
#include "base/grow.h"
#include "page/model.h"
#include "report/hotspots/hotspots.h"
#include "text/number.h"

#include <stdlib.h>

#define TOP_PATHS 200 /* whose code comes first */

/* --- Which blocks ----------------------------------------------------------------------------- */

struct choice {
    bool *wanted; /* by block of the profile */
    size_t insns; /* in them */
};

static void want(const struct hp_page *page, struct choice *choice, uint32_t block, size_t most)
{
    uint32_t insns = page->profile->blocks[block].insns;
    if (choice->wanted[block] || !page->annotator.block_counts[block] ||
        choice->insns + insns > most || page->blocks.row_of[block] == HP_PROFILE_NONE)
        return;
    choice->wanted[block] = true;
    choice->insns += insns;
}

static void want_paths(const struct hp_page *page, struct choice *choice, size_t top, size_t most)
{
    const struct hp_profile *p = page->profile;
    uint32_t first = 0; /* of its kind */
    for (uint32_t i = 0; i < page->paths.n; i++) {
        if (!hp_rows_same_list(&page->tables, &hp_view_paths, page->paths.rows[first].item,
                               page->paths.rows[i].item))
            first = i;
        const struct hp_page_part *steps = &page->path_steps[i];
        for (uint32_t k = 0; i - first < top && k < steps->n; k++)
            want(page, choice, p->path_steps[page->steps[steps->first + k]].block, most);
    }
}

static void want_hotspots(const struct hp_page *page, struct choice *choice, size_t most)
{
    for (size_t i = 0; i < page->hotspots.n; i++) {
        size_t n;
        const struct hp_photspot_block *blocks =
            hp_hotspot_blocks(page->profile, page->hotspots.rows[i].item, &n);
        for (size_t k = 0; k < n; k++)
            want(page, choice, blocks[k].block, most);
    }
}

static enum hp_err choose(struct hp_page *page, struct choice *choice)
{
    struct hp_rows heaviest;
    choice->wanted = calloc(page->profile->n_blocks + 1, sizeof *choice->wanted);
    if (!choice->wanted)
        return hp_fail_nomem();
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
    hp_rows_fini(&heaviest);
    hp_page_limit(page, left_out, "cold blocks are shown without instructions");
    return HP_OK;
}

/* --- Their instructions ----------------------------------------------------------------------- */

struct lines {
    struct hp_code_line *lines;
    size_t n;
    bool *used;
};

/* The lines of a block: as many instructions as fill it, without a gap. Other versions of the code
 * may be between them; then it has none. */
static void find_block(const struct hp_pblock *block, struct lines *lines, size_t *at, size_t *n)
{
    size_t low =
        HP_BISECT(i, 0, lines->n, hp_place_compare(lines->lines[i].place, block->place) < 0);
    *at = low;
    *n = 0;
    uint64_t offset = 0;
    for (; offset < block->size && *n < block->insns && low + *n < lines->n; ++*n) {
        const struct hp_code_line *line = &lines->lines[low + *n];
        struct hp_place expected = {block->place.module, block->place.offset + offset};
        if (line->insns || line->version != block->version || line->length == 0 ||
            hp_place_compare(line->place, expected) != 0)
            break;
        offset += line->length;
    }
    if (offset != block->size)
        *n = 0;
}

/* Keeps the lines that a block has, and says where they are now. */
static enum hp_err keep_lines(struct hp_page *page, struct lines *lines, size_t first, size_t end)
{
    uint32_t *places = malloc((lines->n + 1) * sizeof *places);
    if (!places)
        return hp_fail_nomem();
    for (size_t i = 0; i < lines->n; i++) {
        places[i] = (uint32_t)page->n_code;
        if (!lines->used[i])
            continue;
        uint32_t name;
        enum hp_err err =
            hp_grow(&page->code, &page->code_capacity, page->n_code + 1, sizeof *page->code);
        if (err == HP_OK)
            err = hp_page_text_add(&page->names, lines->lines[i].inlined, &name);
        if (err != HP_OK) {
            free(places);
            return err;
        }
        page->code[page->n_code++] = lines->lines[i];
    }
    for (size_t i = first; i < end; i++)
        if (page->block_code[i].n)
            page->block_code[i].first = places[page->block_code[i].first];
    free(places);
    return HP_OK;
}

/* The blocks `first` to `end` - 1, which are those of a function, or of none. */
static enum hp_err add_function(struct hp_page *page, const struct choice *choice,
                                uint32_t function, size_t first, size_t end)
{
    const struct hp_profile *p = page->profile;
    struct lines lines = {0};
    const char *missing;
    HP_TRY(hp_annotator_code(&page->annotator, function, &lines.lines, &lines.n, &missing));
    lines.used = calloc(lines.n + 1, sizeof *lines.used);
    enum hp_err err = lines.used ? HP_OK : hp_fail_nomem();
    for (size_t i = first; i < end && err == HP_OK; i++) {
        uint32_t block = page->blocks.rows[i].item;
        size_t at = 0, n = 0;
        if (choice->wanted[block])
            find_block(&p->blocks[block], &lines, &at, &n);
        page->block_code[i] = (struct hp_page_part){(uint32_t)at, (uint32_t)n};
        for (size_t k = at; k < at + n; k++)
            lines.used[k] = true;
    }
    if (err == HP_OK)
        err = keep_lines(page, &lines, first, end);
    free(lines.lines);
    free(lines.used);
    return err;
}

static enum hp_err add_functions(struct hp_page *page, const struct choice *choice)
{
    const struct hp_profile *p = page->profile;
    for (size_t first = 0, end; first < page->blocks.n; first = end) {
        uint32_t function = p->blocks[page->blocks.rows[first].item].function;
        bool any = false;
        for (end = first;
             end < page->blocks.n && p->blocks[page->blocks.rows[end].item].function == function;
             end++)
            any |= choice->wanted[page->blocks.rows[end].item];
        if (any)
            HP_TRY(add_function(page, choice, function, first, end));
    }
    return HP_OK;
}

static uint64_t count_missing(const struct hp_page *page, const struct choice *choice)
{
    uint64_t n = 0;
    for (size_t i = 0; i < page->blocks.n; i++)
        n += choice->wanted[page->blocks.rows[i].item] && page->block_code[i].n == 0;
    return n;
}

enum hp_err hp_page_make_code(struct hp_page *page)
{
    struct choice choice = {0};
    page->block_code = calloc(page->blocks.n + 1, sizeof *page->block_code);
    enum hp_err err = page->block_code ? choose(page, &choice) : hp_fail_nomem();
    if (err == HP_OK) {
        page->annotator.wanted = choice.wanted;
        err = add_functions(page, &choice);
        page->annotator.wanted = NULL;
        hp_page_limit(page, count_missing(page, &choice),
                      "blocks are shown without instructions: no file has their code as it ran");
    }
    free(choice.wanted);
    return err;
}
