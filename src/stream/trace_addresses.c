// SPDX-License-Identifier: MIT
#include "stream/trace_operands.h"

#include "base/grow.h"

#include <inttypes.h>
#include <stdlib.h>

void hp_trace_addresses_fini(struct hp_trace_addresses *in)
{
    hp_trace_operands_fini(&in->operands);
    hp_address_codec_free(in->codec);
    free(in->addresses);
}

enum hp_err hp_trace_addresses_read(struct hp_trace_addresses *in, struct hp_trace_input *input,
                                    uint64_t offset, const struct hp_trace_frame *frame,
                                    struct hp_code *code, const uint32_t *words, size_t n)
{
    struct hp_trace_operands *operands = &in->operands;
    uint32_t count = frame->count;
    size_t walked;
    if (count > HP_ADDRESS_CODEC_MAX)
        return hp_fail(HP_ERR_FORMAT, "%" PRIu32 " addresses are too many", count);
    operands->code = code;
    HP_TRY(hp_trace_operands_walk(operands, words, n, count, true, &walked));
    if (walked != n || operands->n != count)
        return hp_fail(HP_ERR_FORMAT, "%" PRIu32 " addresses, and the words have others", count);
    HP_TRY(hp_trace_input_load(input, offset, frame, hp_address_code_bound(count)));
    if (!in->codec)
        HP_TRY(hp_address_codec_new(&in->codec));
    HP_TRY(hp_grow(&in->addresses, &in->cap, (size_t)count + 1, sizeof *in->addresses));
    return hp_address_decode(in->codec, input->content, frame->content, operands->places,
                             in->addresses, count);
}
