// SPDX-License-Identifier: MIT
/*
 * Reading ahead: the words of the next frame are decompressed and decoded by a thread of its own
 * while the reader's user works on those of the present one. Frames do not depend on each other, so
 * this needs nothing of the reader.
 */
#ifndef HP_STREAM_TRACE_AHEAD_H
#define HP_STREAM_TRACE_AHEAD_H

#include "stream/trace_format.h"

struct hp_trace_ahead;

/* Opens the file once more; starts nothing yet. */
enum hp_err hp_trace_ahead_new(const char *path, struct hp_trace_ahead **ahead);

/* Waits for the thread. NULL is allowed. */
void hp_trace_ahead_free(struct hp_trace_ahead *ahead);

/* Asks for the words of the frame at `offset`. What was asked for before and not taken is
 * forgotten. */
void hp_trace_ahead_ask(struct hp_trace_ahead *ahead, uint64_t offset,
                        const struct hp_trace_frame *frame);

/*
 * Takes the words of the frame at `offset`, frame->count of them: on success the buffers are
 * exchanged. False when they were not asked for or could not be had: then the caller reads the
 * frame itself, and learns why.
 */
bool hp_trace_ahead_take(struct hp_trace_ahead *ahead, uint64_t offset, uint32_t **words,
                         size_t *capacity);

#endif
