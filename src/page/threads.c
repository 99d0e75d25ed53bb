// SPDX-License-Identifier: MIT
/* What each thread has in functions and contexts, where a run had several. */
#include "base/base.h"
#include "page/model.h"

static uint64_t weight(const struct hp_page_part *part)
{
    return part->inclusive > part->self ? part->inclusive : part->self;
}

static int compare_weights(const void *a, const void *b)
{
    const struct hp_page_part *x = a, *y = b;
    return HP_COMPARE(weight(y), weight(x)) ?: HP_COMPARE(x->item, y->item)
                                            ?: HP_COMPARE(x->thread, y->thread);
}

static int compare_items(const void *a, const void *b)
{
    const struct hp_page_part *x = a, *y = b;
    return HP_COMPARE(x->thread, y->thread) ?: HP_COMPARE(x->item, y->item);
}

/* Keeps the heaviest, by thread, then item: a context's is not kept without its parent's. */
static void keep(struct hp_page *page, struct hp_page_parts *parts, const char *what)
{
    if (parts->n > HP_PAGE_PARTS) {
        qsort(parts->items, parts->n, sizeof *parts->items, compare_weights);
        hp_page_limit(page, parts->n - HP_PAGE_PARTS, what);
        parts->n = HP_PAGE_PARTS;
    }
    if (parts->n)
        qsort(parts->items, parts->n, sizeof *parts->items, compare_items);
}

static enum hp_err add(struct hp_page_parts *parts, struct hp_page_part part)
{
    HP_TRY(hp_grow(&parts->items, &parts->capacity, parts->n + 1, sizeof *parts->items));
    parts->items[parts->n++] = part;
    return HP_OK;
}

static enum hp_err of_functions(struct hp_page *page)
{
    struct hp_rows rows HP_CLEANUP(hp_rows_fini) = {0};
    HP_TRY(hp_rows_init(&rows, &page->tables, &hp_view_functions, true));
    for (size_t i = 0; i < rows.n_parts; i++) {
        const struct hp_row *row = &rows.parts[i];
        HP_TRY(add(&page->function_parts,
                   (struct hp_page_part){row->item, row->thread, row->v[0], row->v[1], row->v[2]}));
    }
    keep(page, &page->function_parts, "functions of threads are left out");
    return HP_OK;
}

/* The contexts of a thread, with those above them that have nothing of their own. `at`: by context,
 * one more than its place in `parts`, if that is `first` or behind. */
static enum hp_err add_contexts(const struct hp_profile *p, const struct hp_pcontext_count *counts,
                                size_t n, size_t first, size_t *at, struct hp_page_parts *parts)
{
    for (size_t i = 0; i < n; i++) {
        for (uint32_t c = counts[i].item; c != HP_PROFILE_NONE; c = p->contexts[c].parent) {
            if (at[c] > first)
                break;
            HP_TRY(add(parts, (struct hp_page_part){c, counts[i].thread, 0, 0, 0}));
            at[c] = parts->n;
        }
        struct hp_page_part *part = &parts->items[at[counts[i].item] - 1];
        part->self = counts[i].self;
        part->inclusive = counts[i].self;
        part->calls = counts[i].calls;
    }
    return HP_OK;
}

static int compare_counts(const void *a, const void *b)
{
    const struct hp_pcontext_count *x = a, *y = b;
    return HP_COMPARE(x->thread, y->thread) ?: HP_COMPARE(x->item, y->item);
}

/* Adds what each context has to the one above it; children come behind their parents. */
static void add_up(const struct hp_profile *p, struct hp_page_part *parts, size_t n, size_t first,
                   size_t *at)
{
    if (n)
        qsort(parts, n, sizeof *parts, compare_items);
    for (size_t i = 0; i < n; i++)
        at[parts[i].item] = first + i + 1;
    for (size_t i = n; i-- > 0;) {
        uint32_t parent = p->contexts[parts[i].item].parent;
        if (parent != HP_PROFILE_NONE)
            hp_add_up(&parts[at[parent] - 1 - first].inclusive, parts[i].inclusive);
    }
}

static enum hp_err of_contexts(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    struct hp_page_parts *parts = &page->context_parts;
    size_t n = p->n_context_counts, *at HP_CLEANUP(hp_free) = NULL;
    struct hp_pcontext_count *counts HP_CLEANUP(hp_free) = NULL;
    HP_TRY(hp_new(&at, p->n_contexts, sizeof *at));
    HP_TRY(hp_new(&counts, n, sizeof *counts));
    for (size_t i = 0; i < n; i++)
        counts[i] = p->context_counts[i];
    if (n)
        qsort(counts, n, sizeof *counts, compare_counts);
    for (size_t i = 0, end; i < n; i = end) {
        size_t first = parts->n;
        for (end = i; end < n && counts[end].thread == counts[i].thread;)
            end++;
        HP_TRY(add_contexts(p, counts + i, end - i, first, at, parts));
        add_up(p, parts->items + first, parts->n - first, first, at);
    }
    size_t kept = 0;
    for (size_t i = 0; i < parts->n; i++)
        if (hp_page_row(page, HP_ROW_CONTEXT, parts->items[i].item) != HP_PROFILE_NONE)
            parts->items[kept++] = parts->items[i];
    parts->n = kept;
    keep(page, parts, "calling contexts of threads are left out");
    return HP_OK;
}

enum hp_err hp_page_make_parts(struct hp_page *page)
{
    if (page->profile->n_threads < 2)
        return HP_OK;
    HP_TRY(of_functions(page));
    return of_contexts(page);
}
