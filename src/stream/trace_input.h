// SPDX-License-Identifier: MIT
/*
 * A trace file as a sequence of frames, read by offset. Nothing here trusts the file.
 */
#ifndef HP_STREAM_TRACE_INPUT_H
#define HP_STREAM_TRACE_INPUT_H

#include "stream/trace_format.h"

struct hp_trace_input {
    char *path;
    int fd;
    uint64_t size;    /* of the file when it was opened */
    uint8_t *stored;  /* payload as in the file */
    uint8_t *content; /* payload, decompressed: valid until the next load */
    size_t cap_stored, cap_content;
    struct ZSTD_DCtx_s *zstd;
};

/* HP_ERR_INVALID: not a regular file. HP_ERR_IO, HP_ERR_NOMEM. Close it in any case. */
enum hp_err hp_trace_input_open(struct hp_trace_input *input, const char *path);
void hp_trace_input_close(struct hp_trace_input *input);

/* Exactly `size` bytes. HP_ERR_FORMAT: the file ends before. */
enum hp_err hp_trace_input_read(const struct hp_trace_input *input, uint64_t offset, void *bytes,
                                size_t size);

/* The frame header at `offset`. HP_ERR_FORMAT: there is none, or a damaged one. The payload may
 * extend past the end of the file: see hp_trace_input_cut_off(). */
enum hp_err hp_trace_input_frame(const struct hp_trace_input *input, uint64_t offset,
                                 struct hp_trace_frame *frame);

/* Where the frame after the one at `offset` is. */
static inline uint64_t hp_trace_input_behind(uint64_t offset, const struct hp_trace_frame *frame)
{
    return offset + HP_TRACE_FRAME_HEADER + frame->stored;
}

/* Whether the payload of the frame at `offset` is truncated. */
static inline bool hp_trace_input_cut_off(const struct hp_trace_input *input, uint64_t offset,
                                          const struct hp_trace_frame *frame)
{
    return hp_trace_input_behind(offset, frame) > input->size;
}

/* Reads and decompresses the payload of the frame at `offset` into `content`, frame->content bytes;
 * at most `limit`. HP_ERR_FORMAT: damaged. */
enum hp_err hp_trace_input_load(struct hp_trace_input *input, uint64_t offset,
                                const struct hp_trace_frame *frame, size_t limit);

/* The offset, `from` or later, of the next good frame header; the file's size: none. */
enum hp_err hp_trace_input_scan(const struct hp_trace_input *input, uint64_t from,
                                uint64_t *offset);

#endif
