// SPDX-License-Identifier: MIT
/*
 * Reading the addresses that belong to the words of a trace's frame.
 */
#ifndef HP_STREAM_TRACE_ADDRESSES_H
#define HP_STREAM_TRACE_ADDRESSES_H

#include "stream/address_codec.h"
#include "stream/trace_input.h"
#include "stream/trace_operands.h"

/* All zero is a new one. */
struct hp_trace_addresses {
    struct hp_trace_operands operands;
    struct hp_address_codec *codec;
    uint64_t *addresses; /* those read last */
    size_t cap;
};

void hp_trace_addresses_fini(struct hp_trace_addresses *in);

/*
 * Reads the addresses of `n` words from the frame at `offset`: frame->count of them. `code` has
 * what the words name, and is the same in every call. HP_ERR_FORMAT: they are damaged, or not as
 * many as the words mean. HP_ERR_NOMEM, HP_ERR_IO.
 */
enum hp_err hp_trace_addresses_read(struct hp_trace_addresses *in, struct hp_trace_input *input,
                                    uint64_t offset, const struct hp_trace_frame *frame,
                                    struct hp_code *code, const uint32_t *words, size_t n);

#endif
