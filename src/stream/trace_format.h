// SPDX-License-Identifier: MIT
/*
 * The parts of the trace format that writer and reader share. See docs/trace-format.md.
 */
#ifndef HP_STREAM_TRACE_FORMAT_H
#define HP_STREAM_TRACE_FORMAT_H

#include "hotpath/error.h"
#include "hotpath/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the format: 1 the first, 2 segments have parents, 3 addresses, 4 system calls. Readers of this
 * version or later understand what is written. */
#define HP_TRACE_VERSION 4

#define HP_TRACE_FILE_HEADER  64   /* bytes */
#define HP_TRACE_HEADER_MAX   4096 /* a later version's file header may be this long */
#define HP_TRACE_FRAME_HEADER 40
#define HP_TRACE_TRAILER      24
#define HP_TRACE_CONTENT_MAX  (256u << 20) /* bytes of a frame's content, uncompressed */

enum hp_trace_frame_kind {
    HP_TRACE_FRAME_RUN = 1,
    HP_TRACE_FRAME_STRINGS = 2,
    HP_TRACE_FRAME_CODE = 3,
    HP_TRACE_FRAME_THREAD = 4,
    HP_TRACE_FRAME_WORDS = 5,
    HP_TRACE_FRAME_THREAD_END = 6,
    HP_TRACE_FRAME_INDEX = 7,
    HP_TRACE_FRAME_ADDRESSES = 8,
};

struct hp_trace_frame {
    uint16_t kind;
    uint32_t thread; /* thread, words, thread end, addresses; else 0 */
    uint32_t count;  /* of what the frame holds: words, strings, segments, ... */
    uint64_t
        first; /* words, addresses: number of the first word; thread end: words of the thread */
    uint32_t stored;  /* bytes of payload in the file */
    uint32_t content; /* bytes of payload, decompressed */
    uint32_t number;  /* of the frame in the file: 0, 1, ... */
};

/* One line of the index. */
struct hp_trace_entry {
    uint64_t offset;
    uint64_t first;
    uint32_t thread;
    uint32_t count;
    uint16_t kind;
};

/* CRC-32 (the polynomial of zlib). */
uint32_t hp_trace_crc(const uint8_t *bytes, size_t size);

/* The contents of a file header. */
struct hp_trace_head {
    uint32_t version;
    uint32_t length; /* of the header: where the frames begin */
    enum hp_arch arch;
    bool addresses; /* there are addresses */
};

/* Writes the current version. */
void hp_trace_pack_header(uint8_t bytes[HP_TRACE_FILE_HEADER], enum hp_arch arch, bool addresses);

/* Reads a file header from `size` bytes. HP_ERR_FORMAT, HP_ERR_VERSION, HP_ERR_UNSUPPORTED (an
 * architecture without a name here); the text starts with `path`. */
enum hp_err hp_trace_unpack_header(const char *path, const uint8_t *bytes, size_t size,
                                   struct hp_trace_head *head);

void hp_trace_pack_frame(uint8_t bytes[HP_TRACE_FRAME_HEADER], const struct hp_trace_frame *frame);

/* False: not a frame header, or a damaged one. */
bool hp_trace_unpack_frame(const uint8_t bytes[HP_TRACE_FRAME_HEADER],
                           struct hp_trace_frame *frame);

void hp_trace_pack_trailer(uint8_t bytes[HP_TRACE_TRAILER], uint64_t index_offset);
bool hp_trace_unpack_trailer(const uint8_t bytes[HP_TRACE_TRAILER], uint64_t *index_offset);

/* Where the next frame mark starts in `bytes`, or `size` minus its length plus 1 when there is none
 * (a mark may start in the bytes after that). */
size_t hp_trace_find_mark(const uint8_t *bytes, size_t size);

/* --- Bytes out: a growing buffer. All zero is empty; free `bytes`. ---------------------------- */

struct hp_bytes_out {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

enum hp_err hp_out_bytes(struct hp_bytes_out *out, const void *bytes, size_t size);
enum hp_err hp_out_uint(struct hp_bytes_out *out, uint64_t value, unsigned size);
enum hp_err hp_out_string(struct hp_bytes_out *out, const char *text);

/* --- Bytes in: reading never goes beyond the end. --------------------------------------------- */

struct hp_bytes_in {
    const uint8_t *at;
    const uint8_t *end;
    bool bad; /* a read went past the end; all later results are 0 or "" */
};

uint64_t hp_in_uint(struct hp_bytes_in *in, unsigned size);

/* `size` bytes, or NULL. */
const uint8_t *hp_in_bytes(struct hp_bytes_in *in, size_t size);

/* A string, terminated in the input itself; "" when bad. */
const char *hp_in_string(struct hp_bytes_in *in);

#endif
