// SPDX-License-Identifier: MIT
/*
 * Coding a thread's data addresses into few bytes.
 *
 * Every address comes with its *place*: the memory operand of the code it belongs to
 * (trace_operands.h). An operand usually continues its pattern: at the same address, one stride on,
 * at the same distance from a recent address (fields of an object, a stack frame), or where it went
 * the last time after the same address. The code of an address says which of these rules holds,
 * mostly "the same as the last time", a byte 0, and leaves the rest to the compressor. An address
 * that no rule predicts is coded as a difference to the nearest known one.
 */
#ifndef HP_STREAM_ADDRESS_CODEC_H
#define HP_STREAM_ADDRESS_CODEC_H

#include "hotpath/error.h"

#include <stddef.h>
#include <stdint.h>

/* A coder's tables (5 MB). Each sequence is independent, so one coder serves any number. */
struct hp_address_codec;

#define HP_ADDRESS_CODEC_MAX (16u << 20) /* addresses in one sequence, at most */
#define HP_ADDRESS_PLACES    (1u << 16)  /* places are below this; two operands may share a place */

enum hp_err hp_address_codec_new(struct hp_address_codec **codec);
void hp_address_codec_free(struct hp_address_codec *codec);

/* The largest number of bytes that hp_address_decode() accepts for `n` addresses. */
size_t hp_address_code_bound(size_t n);

/*
 * Codes `n` addresses (any values). `*bytes` belongs to the coder and is valid until the next call
 * with it. HP_ERR_INVALID: more than HP_ADDRESS_CODEC_MAX. HP_ERR_NOMEM.
 */
enum hp_err hp_address_encode(struct hp_address_codec *codec, const uint16_t *places,
                              const uint64_t *addresses, size_t n, const uint8_t **bytes,
                              size_t *size);

/* The inverse, with the same places. HP_ERR_FORMAT: the bytes are not the code of n addresses (any
 * bytes are safe). HP_ERR_INVALID: more than HP_ADDRESS_CODEC_MAX. */
enum hp_err hp_address_decode(struct hp_address_codec *codec, const uint8_t *bytes, size_t size,
                              const uint16_t *places, uint64_t *addresses, size_t n);

#endif
