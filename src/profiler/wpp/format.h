// SPDX-License-Identifier: MIT
/*
 * The parts of the file that writer and reader share. See docs/wpp.md.
 */
#ifndef HP_PROFILER_WPP_FORMAT_H
#define HP_PROFILER_WPP_FORMAT_H

#include "profiler/wpp/grammar.h"
#include "stream/trace_format.h"

#define HP_WPP_VERSION     1
#define HP_WPP_OLDEST      1
#define HP_WPP_FILE_HEADER 20 /* magic, version, oldest, checksum */
#define HP_WPP_FRAME_HEAD  12 /* kind, size of the content */
#define HP_WPP_FRAME_TAIL  4  /* checksum of head and content */

extern const uint8_t hp_wpp_magic[8];

enum hp_wpp_frame {
    HP_WPP_FRAME_PATHS = 1,
    HP_WPP_FRAME_PART = 2,
    HP_WPP_FRAME_MODULES = 3,
    HP_WPP_FRAME_THREADS = 4,
    HP_WPP_FRAME_ABOUT = 5,
    HP_WPP_FRAME_END = 6,
};

/* Little-endian base 128. */
enum hp_err hp_out_varint(struct hp_bytes_out *out, uint64_t value);
uint64_t hp_in_varint(struct hp_bytes_in *in);

static inline uint64_t hp_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t hp_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/* A frame under construction: begin, append the content, end. Then it is ready to be written. */
enum hp_err hp_wpp_frame_begin(struct hp_bytes_out *out, enum hp_wpp_frame kind);
enum hp_err hp_wpp_frame_end(struct hp_bytes_out *out);

/* The rules of a closed grammar, each after those it names, the start rule last. Overwrites the
 * counts of uses: the grammar cannot be checked any more. */
enum hp_err hp_wpp_encode(struct hp_grammar *grammar, struct hp_bytes_out *out);

#endif
