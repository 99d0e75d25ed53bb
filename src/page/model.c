// SPDX-License-Identifier: MIT
#include "page/model.h"

#include "base/base.h"
#include "report/paths/time.h"
#include "text/number.h"
#include "text/short_name.h"

/* --- Memory, texts and limits ----------------------------------------------------------------- */

enum hp_err hp_page_allocate(struct hp_page *page, void *array, size_t n, size_t size)
{
    HP_TRY(hp_grow(&page->owned, &page->owned_capacity, page->n_owned + 1, sizeof *page->owned));
    void *memory = calloc(n + 1, size);
    if (!memory)
        return hp_fail_nomem();
    page->owned[page->n_owned++] = memory;
    memcpy(array, &memory, sizeof memory);
    return HP_OK;
}

uint32_t hp_page_text_find(const struct hp_text_set *texts, const char *text)
{
    return *hp_text(text) ? hp_text_set_find(texts, text) : HP_PROFILE_NONE;
}

enum hp_err hp_page_text_add(struct hp_text_set *texts, const char *text, uint32_t *row)
{
    if (*hp_text(text))
        HP_TRY(hp_text_set_add(texts, text));
    *row = hp_page_text_find(texts, text);
    return HP_OK;
}

void hp_page_limit(struct hp_page *page, uint64_t count, const char *what)
{
    if (count && what)
        hp_strbuf_format(&page->limits, "%s %s\n", HP_GROUPED(count), what);
}

void hp_page_short_name(struct hp_strbuf *text, const char *name, size_t columns)
{
    struct hp_strbuf clean HP_CLEANUP(hp_strbuf_fini) = {0};
    hp_strbuf_clean(&clean, name);
    hp_short_name(text, hp_strbuf_text(&clean), columns);
    text->failed |= clean.failed;
    if (strcmp(hp_strbuf_text(text), hp_strbuf_text(&clean)) == 0)
        hp_strbuf_clear(text);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static enum hp_err number_rows(struct hp_page *page, enum hp_row_kind kind)
{
    const struct hp_rows *rows = &page->rows[kind];
    size_t n = hp_profile_n_rows(page->profile, kind);
    uint32_t **row_of = &page->row_of[kind];
    if (!*row_of)
        HP_TRY(hp_page_allocate(page, row_of, n, sizeof **row_of));
    for (size_t i = 0; i < n; i++)
        (*row_of)[i] = HP_PROFILE_NONE;
    for (size_t i = 0; i < rows->n; i++)
        (*row_of)[rows->rows[i].item] = (uint32_t)i;
    return HP_OK;
}

enum hp_err hp_page_take(struct hp_page *page, const struct hp_view *view, size_t top,
                         const char *what, struct hp_rows *rows)
{
    if (view->prepare)
        HP_TRY(view->prepare(&page->tables));
    HP_TRY(hp_rows_init(rows, &page->tables, view, false));
    hp_rows_keep(rows, top);
    hp_page_limit(page, rows->n_left_out, what);
    return HP_OK;
}

static enum hp_err take_items(struct hp_page *page, const struct hp_view *view, size_t top,
                              const char *what)
{
    HP_TRY(hp_page_take(page, view, top, what, &page->rows[view->item]));
    return number_rows(page, view->item);
}

/* Those that the report has no row for, too: something may refer to them. */
static enum hp_err take_all(struct hp_page *page, const struct hp_view *view)
{
    HP_TRY(take_items(page, view, 0, NULL));
    struct hp_rows *rows = &page->rows[view->item];
    uint32_t *row_of = page->row_of[view->item];
    size_t n = hp_profile_n_rows(page->profile, view->item);
    struct hp_row *all = realloc(rows->rows, (n + 1) * sizeof *all);
    if (!all)
        return hp_fail_nomem();
    rows->rows = all;
    for (uint32_t i = 0; i < n; i++) {
        if (row_of[i] != HP_PROFILE_NONE)
            continue;
        row_of[i] = (uint32_t)rows->n;
        all[rows->n++] = (struct hp_row){.item = i, .thread = HP_PROFILE_NONE};
    }
    return HP_OK;
}

static int compare_blocks(const void *a, const void *b, void *context)
{
    const struct hp_page *page = context;
    uint32_t x = ((const struct hp_row *)a)->item, y = ((const struct hp_row *)b)->item;
    const struct hp_pblock *blocks = page->profile->blocks;
    return HP_COMPARE(hp_page_row(page, HP_ROW_FUNCTION, blocks[x].function),
                      hp_page_row(page, HP_ROW_FUNCTION, blocks[y].function))
               ?: hp_place_compare(blocks[x].place, blocks[y].place)
               ?: HP_COMPARE(x, y);
}

/* The heaviest, by function, then address; those that were not counted as far as there is room. */
static enum hp_err take_blocks(struct hp_page *page)
{
    struct hp_rows *blocks = &page->rows[HP_ROW_BLOCK];
    HP_TRY(take_all(page, &hp_view_blocks));
    if (blocks->n > HP_PAGE_BLOCKS) {
        hp_page_limit(page, blocks->n - HP_PAGE_BLOCKS, "cold blocks are left out");
        blocks->n = HP_PAGE_BLOCKS;
    }
    qsort_r(blocks->rows, blocks->n, sizeof *blocks->rows, compare_blocks, page);
    return number_rows(page, HP_ROW_BLOCK);
}

static int compare_items(const void *a, const void *b)
{
    const struct hp_row *x = a, *y = b;
    return HP_COMPARE(x->item, y->item);
}

/* The heaviest, parents before their children: none has less in it than a child. */
static enum hp_err take_contexts(struct hp_page *page)
{
    struct hp_rows *contexts = &page->rows[HP_ROW_CONTEXT];
    uint64_t kept = 0, all = page->tables.summary.instructions;
    HP_TRY(take_items(page, &hp_view_contexts, HP_PAGE_CONTEXTS, NULL));
    for (size_t i = 0; i < contexts->n; i++)
        hp_add_up(&kept, contexts->rows[i].v[1] /* its own */);
    if (contexts->n_left_out)
        hp_strbuf_format(&page->limits, "%s calling contexts, with %s of the run, are left out\n",
                         HP_GROUPED(contexts->n_left_out),
                         HP_PERCENT(hp_number_share(all - kept, all)));
    hp_put_contexts_beyond(&page->tables.summary, &page->limits);
    hp_strbuf_add(&page->limits, page->tables.summary.beyond ? "\n" : "");
    if (contexts->n)
        qsort(contexts->rows, contexts->n, sizeof *contexts->rows, compare_items);
    return number_rows(page, HP_ROW_CONTEXT);
}

/* --- What belongs to rows --------------------------------------------------------------------- */

static enum hp_err make_modules(struct hp_page *page)
{
    size_t n = page->profile->n_modules;
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(hp_page_allocate(page, &page->modules, n, sizeof *page->modules));
    HP_TRY(hp_rows_init(&rows, &page->tables, &hp_view_modules, false));
    for (size_t i = 0; i < n; i++)
        page->modules[i].name = page->tables.modules[i];
    for (size_t i = 0; i < rows.n; i++)
        page->modules[rows.rows[i].item].instructions = rows.rows[i].v[0];
    return HP_OK;
}

static enum hp_err make_functions(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    HP_TRY(hp_page_allocate(page, &page->functions, p->n_functions, sizeof *page->functions));
    for (size_t i = 0; i < p->n_functions; i++)
        page->functions[i].name = page->tables.functions[i];
    for (uint32_t i = 0; i < page->rows[HP_ROW_BLOCK].n; i++) {
        uint32_t function = p->blocks[page->rows[HP_ROW_BLOCK].rows[i].item].function;
        if (function != HP_PROFILE_NONE && page->functions[function].n_blocks++ == 0)
            page->functions[function].first_block = i;
    }
    for (size_t i = 0; i < p->n_insn_cycles; i++) {
        uint32_t function = p->insns[p->insn_cycles[i].insn].function;
        if (function != HP_PROFILE_NONE)
            hp_add_up(&page->functions[function].cycles, p->insn_cycles[i].parts);
    }
    for (size_t i = 0; i < p->n_functions; i++)
        page->functions[i].cycles /= HP_CYCLE_PARTS;
    return HP_OK;
}

static enum hp_err make_blocks(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    const struct hp_loop_info *info = page->tables.loops.info;
    HP_TRY(hp_page_allocate(page, &page->blocks, p->n_blocks, sizeof *page->blocks));
    for (size_t i = 0; i < p->n_blocks; i++) {
        uint32_t line = page->tables.block_lines[i];
        page->blocks[i].loop = HP_PROFILE_NONE;
        if (line != HP_PROFILE_NONE) {
            page->blocks[i].file = p->lines[line].file;
            page->blocks[i].line = p->lines[line].line;
        }
    }
    for (size_t i = 0; i < p->n_loop_blocks; i++) {
        uint32_t loop = p->loop_blocks[i].loop,
                 *known = &page->blocks[p->loop_blocks[i].block].loop;
        if (*known == HP_PROFILE_NONE || info[loop].depth > info[*known].depth)
            *known = loop;
    }
    return HP_OK;
}

static enum hp_err make_paths(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    size_t left_out = 0;
    HP_TRY(hp_page_allocate(page, &page->paths, p->n_paths, sizeof *page->paths));
    HP_TRY(hp_page_allocate(page, &page->steps, p->n_path_steps, sizeof *page->steps));
    for (size_t i = 0; i < page->rows[HP_ROW_PATH].n; i++) {
        uint32_t item = page->rows[HP_ROW_PATH].rows[i].item;
        struct hp_page_path *path = &page->paths[item];
        size_t n;
        const struct hp_pstep *steps = hp_items(page->profile, HP_ROW_PATH_STEP, item, &n);
        path->kind = (uint32_t)(hp_tables_kind(&page->tables, item) - page->tables.kinds);
        struct hp_path_cycles cycles = hp_path_cycles_of(&page->tables, item);
        path->measured = cycles.count;
        path->timed = cycles.insns;
        path->cycles = hp_cycles_of(cycles.parts);
        if (page->n_steps + n > HP_PAGE_STEPS) {
            left_out++;
            continue;
        }
        path->first_step = n ? (uint32_t)page->n_steps : 0;
        path->n_steps = (uint32_t)n;
        for (size_t k = 0; k < n; k++)
            page->steps[page->n_steps++] = (uint32_t)(steps + k - p->path_steps);
    }
    hp_page_limit(page, left_out, "paths are shown without their blocks");
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
            page->tables.block_counts[low] > page->tables.block_counts[best])
            best = (uint32_t)low;
    }
    return best;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err make(struct hp_page *page)
{
    HP_TRY(take_all(page, &hp_view_functions));
    HP_TRY(take_blocks(page));
    HP_TRY(take_items(page, &hp_view_paths, HP_PAGE_PATHS, "cold paths are left out"));
    HP_TRY(take_items(page, &hp_view_loops, 0, NULL));
    HP_TRY(take_items(page, &hp_view_hotspots, 0, NULL));
    HP_TRY(take_items(page, &hp_view_instructions, HP_PAGE_INSTRUCTIONS,
                      "instructions that took few cycles are left out"));
    HP_TRY(hp_page_take(page, &hp_view_lines, HP_PAGE_LINES, "cold source lines are left out",
                        &page->lines));
    HP_TRY(make_modules(page));
    HP_TRY(make_functions(page));
    HP_TRY(make_blocks(page));
    HP_TRY(make_paths(page));
    HP_TRY(hp_page_make_files(page));
    HP_TRY(hp_page_make_edges(page));
    HP_TRY(take_contexts(page));
    HP_TRY(hp_page_make_parts(page));
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
    HP_TRY(hp_annotator_init(&page->annotator, &page->tables, &page->annotate, out));
    return make(page);
}

void hp_page_fini(struct hp_page *page)
{
    for (enum hp_row_kind kind = 0; kind < HP_ROW_KINDS; kind++)
        hp_rows_fini(&page->rows[kind]);
    for (size_t i = 0; i < page->n_owned; i++)
        free(page->owned[i]);
    free(page->owned);
    hp_rows_fini(&page->lines);
    hp_text_set_fini(&page->files);
    hp_text_set_fini(&page->names);
    free(page->spots);
    free(page->code);
    free(page->function_parts.items);
    free(page->context_parts.items);
    hp_strbuf_fini(&page->text);
    hp_strbuf_fini(&page->limits);
    hp_annotator_fini(&page->annotator);
    hp_tables_fini(&page->tables);
}
