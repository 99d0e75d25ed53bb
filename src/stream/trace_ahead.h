// SPDX-License-Identifier: MIT
/*
 * Reading ahead: a separate thread decompresses and decodes the words of the next frame while the
 * reader's user works on the current ones. Frames do not depend on each other, so this needs
 * nothing from the reader.
 */
#ifndef HP_STREAM_TRACE_AHEAD_H
#define HP_STREAM_TRACE_AHEAD_H

#include "stream/trace_format.h"

struct hp_trace_ahead;

/* Opens the file again; starts nothing yet. */
enum hp_err hp_trace_ahead_new(const char *path, struct hp_trace_ahead **ahead);

/* Waits for the thread. NULL is allowed. */
void hp_trace_ahead_free(struct hp_trace_ahead *ahead);

/* Requests the words of the frame at `offset`. An earlier request that was not taken is dropped. */
void hp_trace_ahead_ask(struct hp_trace_ahead *ahead, uint64_t offset,
                        const struct hp_trace_frame *frame);

/*
 * Takes the words of the frame at `offset`, frame->count of them: on success the buffers are
 * swapped. False when they were not requested or could not be read: the caller then reads the frame
 * itself, and gets the error.
 */
bool hp_trace_ahead_take(struct hp_trace_ahead *ahead, uint64_t offset, uint32_t **words,
                         size_t *capacity);

#endif
