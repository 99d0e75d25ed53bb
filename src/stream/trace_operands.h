// SPDX-License-Identifier: MIT
/*
 * Which memory operands a thread's words mean: the addresses of a trace are stored with them in
 * mind, and belong to words by their order alone (docs/stream.md, "Addresses").
 */
#ifndef HP_STREAM_TRACE_OPERANDS_H
#define HP_STREAM_TRACE_OPERANDS_H

#include "hotpath/code.h"
#include "hotpath/stream.h"

/* All zero but `code` is a new one. */
struct hp_trace_operands {
    struct hp_code *code;
    /* Of every segment that was asked for: where its places are. */
    struct hp_trace_segment_places {
        uint32_t first, n;
        bool known;
    } * segments;
    size_t cap_segments;
    uint16_t *all;
    size_t n_all, cap_all;
    /* Of the words walked last: one for each operand. */
    uint16_t *places;
    size_t n, cap;
};

void hp_trace_operands_fini(struct hp_trace_operands *operands);

/*
 * Walks whole words, from the start of `words`, as long as what they mean has at most `max`
 * operands; fills `places`. `*walked` is how many words that was. It stops before a word that names
 * unknown code, before an event whose payload is not all there, and unless `last` before a segment
 * that a word to come may cut short. A place is below HP_ADDRESS_PLACES. HP_ERR_NOMEM.
 */
enum hp_err hp_trace_operands_walk(struct hp_trace_operands *operands, const uint32_t *words,
                                   size_t n, size_t max, bool last, size_t *walked);

#endif
