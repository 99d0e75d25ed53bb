// SPDX-License-Identifier: MIT
/*
 * Calling contexts: all threads together, with what is above them, the heaviest.
 */
#include "page/model.h"
#include "text/number.h"

#include <stdlib.h>

static enum hp_err allocate(struct hp_page *page)
{
    size_t n = page->profile->n_contexts;
    page->contexts = calloc(n + 1, sizeof *page->contexts);
    page->context_rows = calloc(n + 1, sizeof *page->context_rows);
    page->context_sums = calloc(n + 1, sizeof *page->context_sums);
    page->context_inclusive = calloc(n + 1, sizeof *page->context_inclusive);
    if (!page->contexts || !page->context_rows || !page->context_sums || !page->context_inclusive)
        return hp_fail_nomem();
    return HP_OK;
}

/* Parents come before their children. */
static void sum(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    for (size_t i = 0; i < p->n_context_counts; i++) {
        const struct hp_pcontext_count *count = &p->context_counts[i];
        struct hp_pcontext_count *to = &page->context_sums[count->item];
        to->self = hp_saturating_add(to->self, count->self);
        to->calls = hp_saturating_add(to->calls, count->calls);
    }
    for (size_t i = p->n_contexts; i-- > 0;) {
        uint64_t *inclusive = page->context_inclusive;
        uint32_t parent = p->contexts[i].parent;
        inclusive[i] = hp_saturating_add(inclusive[i], page->context_sums[i].self);
        if (parent < i)
            inclusive[parent] = hp_saturating_add(inclusive[parent], inclusive[i]);
    }
}

static int compare_counts(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

/* What a context must have in it to be kept: so much that there are few enough. No child has more
 * than its parent. */
static enum hp_err find_least(const struct hp_page *page, uint64_t *least)
{
    size_t n = page->profile->n_contexts;
    *least = 0;
    if (n <= HP_PAGE_CONTEXTS)
        return HP_OK;
    uint64_t *sorted = malloc(n * sizeof *sorted);
    if (!sorted)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        sorted[i] = page->context_inclusive[i];
    qsort(sorted, n, sizeof *sorted, compare_counts);
    *least = sorted[HP_PAGE_CONTEXTS] + 1;
    free(sorted);
    return HP_OK;
}

enum hp_err hp_page_make_contexts(struct hp_page *page)
{
    const struct hp_profile *p = page->profile;
    uint64_t least;
    HP_TRY(allocate(page));
    sum(page);
    HP_TRY(find_least(page, &least));
    for (uint32_t i = 0; i < p->n_contexts; i++) {
        uint32_t parent = p->contexts[i].parent;
        bool rooted = parent >= i || page->context_rows[parent] != HP_PROFILE_NONE;
        bool keep = rooted && page->context_inclusive[i] >= least;
        page->context_rows[i] = keep ? (uint32_t)page->n_contexts : HP_PROFILE_NONE;
        if (keep)
            page->contexts[page->n_contexts++] = i;
    }
    hp_page_limit(page, p->n_contexts - page->n_contexts,
                  "calling contexts with little in them are left out");
    return HP_OK;
}
