// SPDX-License-Identifier: MIT
#include "symbols/symbols_span.h"

#include "base/bisect.h"
#include "base/grow.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_spans(const void *a, const void *b)
{
    const struct hp_symbol_span *x = a, *y = b;
    if (x->low != y->low)
        return compare(x->low, y->low);
    if (x->depth != y->depth)
        return compare(x->depth, y->depth);
    return compare(x->id, y->id);
}

/* A mark at the address of the last one replaces it: the range between them is empty. */
static enum hp_err mark(struct hp_span_index *index, uint64_t address, uint32_t id)
{
    if (index->n && index->marks[index->n - 1].address == address)
        index->n--;
    if (index->n && index->marks[index->n - 1].id == id)
        return HP_OK;
    HP_TRY(hp_grow(&index->marks, &index->capacity, index->n + 1, sizeof *index->marks));
    index->marks[index->n++] = (struct hp_span_mark){.address = address, .id = id};
    return HP_OK;
}

/* Pops the spans that end at or before `address`, and marks where outer ones become visible
 * again. */
static enum hp_err retire(struct hp_span_index *index, const struct hp_symbol_span **stack,
                          size_t *depth, uint64_t address)
{
    while (*depth && stack[*depth - 1]->high <= address) {
        uint64_t end = stack[*depth - 1]->high;
        while (*depth && stack[*depth - 1]->high <= end)
            --*depth;
        HP_TRY(mark(index, end, *depth ? stack[*depth - 1]->id : HP_SPAN_NONE));
    }
    return HP_OK;
}

static enum hp_err sweep(struct hp_span_index *index, const struct hp_symbol_span *spans, size_t n,
                         const struct hp_symbol_span **stack)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (spans[i].low >= spans[i].high)
            continue;
        HP_TRY(retire(index, stack, &depth, spans[i].low));
        stack[depth++] = &spans[i];
        HP_TRY(mark(index, spans[i].low, spans[i].id));
    }
    return retire(index, stack, &depth, UINT64_MAX);
}

enum hp_err hp_span_index_build(struct hp_span_index *index, struct hp_symbol_span *spans, size_t n)
{
    if (!n)
        return HP_OK;
    const struct hp_symbol_span **stack = calloc(n, sizeof(struct hp_symbol_span *));
    if (!stack)
        return hp_fail_nomem();
    qsort(spans, n, sizeof *spans, compare_spans);
    enum hp_err err = sweep(index, spans, n, stack);
    free(stack);
    if (err != HP_OK)
        hp_span_index_fini(index);
    return err;
}

void hp_span_index_fini(struct hp_span_index *index)
{
    free(index->marks);
    *index = (struct hp_span_index){0};
}

uint32_t hp_span_find(const struct hp_span_index *index, uint64_t address)
{
    size_t behind = HP_BISECT(i, 0, index->n, index->marks[i].address <= address);
    return behind ? index->marks[behind - 1].id : HP_SPAN_NONE;
}
