// SPDX-License-Identifier: MIT
/*
 * A trace file being written: consecutive frames, and their index. The counterpart of
 * trace_input.h.
 */
#ifndef HP_STREAM_TRACE_OUTPUT_H
#define HP_STREAM_TRACE_OUTPUT_H

#include "base/outfile.h"
#include "stream/trace_format.h"

/* All zero is none. */
struct hp_trace_output {
    struct hp_outfile out;
    uint64_t offset; /* of the next frame */
    struct ZSTD_CCtx_s *zstd;
    uint8_t *packed; /* a frame's content, compressed */
    size_t cap_packed;
    struct hp_trace_entry *entries; /* of the frames written */
    size_t n_entries, cap_entries;
};

/* Writes the file header. HP_ERR_IO, HP_ERR_NOMEM; hp_trace_output_fini() is safe then. */
enum hp_err hp_trace_output_open(struct hp_trace_output *output, const char *path,
                                 enum hp_arch arch, bool addresses);

/* Discards what was not committed. */
void hp_trace_output_fini(struct hp_trace_output *output);

/* Writes a frame with the given content; `frame` has kind, thread, count and first. HP_ERR_IO,
 * HP_ERR_NOMEM, HP_ERR_UNSUPPORTED: too long. */
enum hp_err hp_trace_output_frame(struct hp_trace_output *output, struct hp_trace_frame frame,
                                  const uint8_t *content, size_t size);

/* Adds the lines of all frames to `totals`, writes that as the index, completes the file and
 * moves it into place. */
enum hp_err hp_trace_output_commit(struct hp_trace_output *output, struct hp_bytes_out *totals);

#endif
