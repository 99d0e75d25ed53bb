// SPDX-License-Identifier: MIT
/*
 * The memory operands of a thread's words: the addresses of a trace are coded by operand, and
 * belong to words by their order alone (docs/stream.md, "Addresses").
 */
#ifndef HP_STREAM_TRACE_OPERANDS_H
#define HP_STREAM_TRACE_OPERANDS_H

#include "hotpath/code.h"
#include "hotpath/stream.h"
#include "stream/address_codec.h"
#include "stream/trace_input.h"

/* All zero except `code` is a new one. */
struct hp_trace_operands {
    struct hp_code *code;
    /* By segment: where its places are. */
    struct hp_trace_segment_places {
        uint32_t first, n;
        bool known;
    } * segments;
    size_t cap_segments;
    uint16_t *all;
    size_t n_all, cap_all;
    /* Of the words walked last: one per operand. */
    uint16_t *places;
    size_t n, cap;
};

void hp_trace_operands_fini(struct hp_trace_operands *operands);

/*
 * Walks whole words, from the start of `words`, while they have at most `max` operands; fills
 * `places`. `*walked` is the number of words. It stops before a word that names unknown code,
 * before an event with an incomplete payload, and unless `last` before a segment that a later word
 * may cut short. A place is below HP_ADDRESS_PLACES. HP_ERR_NOMEM.
 */
enum hp_err hp_trace_operands_walk(struct hp_trace_operands *operands, const uint32_t *words,
                                   size_t n, size_t max, bool last, size_t *walked);

/* --- Reading the addresses that belong to the words of a frame ---------------------------------
 */

/* All zero is a new one. */
struct hp_trace_addresses {
    struct hp_trace_operands operands;
    struct hp_address_codec *codec;
    uint64_t *addresses; /* those read last */
    size_t cap;
};

void hp_trace_addresses_fini(struct hp_trace_addresses *in);

/*
 * Reads the addresses of `n` words from the frame at `offset`: frame->count of them. `code` has the
 * code that the words name, and is the same in every call. HP_ERR_FORMAT: they are damaged, or not
 * as many as the words need. HP_ERR_NOMEM, HP_ERR_IO.
 */
enum hp_err hp_trace_addresses_read(struct hp_trace_addresses *in, struct hp_trace_input *input,
                                    uint64_t offset, const struct hp_trace_frame *frame,
                                    struct hp_code *code, const uint32_t *words, size_t n);

#endif
