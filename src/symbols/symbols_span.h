// SPDX-License-Identifier: MIT
/*
 * Spans: from address ranges that may nest and overlap to the innermost one at an address.
 */
#ifndef HP_SYMBOLS_SYMBOLS_SPAN_H
#define HP_SYMBOLS_SYMBOLS_SPAN_H

#include "hotpath/error.h"

#include <stddef.h>
#include <stdint.h>

#define HP_SPAN_NONE UINT32_MAX

/* The addresses low <= a < high belong to `id`. */
struct hp_symbol_span {
    uint64_t low, high;
    uint32_t depth; /* of spans with the same start the deepest is the innermost */
    uint32_t id;
};

/* From `address` to the next mark, `id` is the innermost span; HP_SPAN_NONE: none. */
struct hp_span_mark {
    uint64_t address;
    uint32_t id;
};

/* Sorted marks; all zero is an empty index. */
struct hp_span_index {
    struct hp_span_mark *marks;
    size_t n, capacity;
};

/*
 * Fills an empty index from the spans, which are sorted in the process; empty spans are ignored.
 * The innermost span is the one that starts last (then the deepest, then the one with the largest
 * id). Where it ends, the one that starts last among those that continue takes over.
 */
enum hp_err hp_span_index_build(struct hp_span_index *index, struct hp_symbol_span *spans,
                                size_t n);
void hp_span_index_fini(struct hp_span_index *index);

/* The id of the innermost span at `address`, or HP_SPAN_NONE. */
uint32_t hp_span_find(const struct hp_span_index *index, uint64_t address);

#endif
