// SPDX-License-Identifier: MIT
/*
 * What a trace contains about itself: the run, the strings, the index.
 */
#ifndef HP_STREAM_TRACE_ABOUT_H
#define HP_STREAM_TRACE_ABOUT_H

#include "base/map64.h"
#include "hotpath/trace.h"
#include "stream/trace_input.h"

/* Filled from frames as they are read. All zero is an empty one. */
struct hp_trace_about {
    struct hp_trace_info info;
    uint8_t *run_content; /* the strings of info.run point into this */
    char **command;
    char **strings;
    size_t n_strings, cap_strings;
    struct hp_map64 string_index; /* id -> place in strings */
    struct hp_trace_entry *entries;
    size_t n_entries;
    uint64_t index_offset;
};

/* Sets the strings of `info` to "". */
enum hp_err hp_trace_about_init(struct hp_trace_about *about);
void hp_trace_about_fini(struct hp_trace_about *about);

/* The content of a run frame; ignored if there was one before. HP_ERR_FORMAT, HP_ERR_NOMEM. */
enum hp_err hp_trace_about_run(struct hp_trace_about *about, const uint8_t *content, size_t size);

/* The content of a strings frame. The first text of an id counts. HP_ERR_FORMAT, HP_ERR_NOMEM. */
enum hp_err hp_trace_about_strings(struct hp_trace_about *about, const uint8_t *content,
                                   size_t size);

/* Finds and loads the index through the trailer. A missing or bad index is not an error:
 * info.complete tells. HP_ERR_IO, HP_ERR_NOMEM. */
enum hp_err hp_trace_about_index(struct hp_trace_about *about, struct hp_trace_input *input);

#endif
