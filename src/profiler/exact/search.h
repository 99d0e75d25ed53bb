// SPDX-License-Identifier: MIT
/*
 * Finding a frame far down the shadow stack.
 *
 * Nearly always what is looked for is near the top, and the stack changes with every call. So
 * frames are entered into an index only when something is looked for below the nearest ones: each
 * at most once while it is there, whatever is looked for and however often. Pushing and popping
 * know nothing of it but that a new frame is not `indexed`; those that are, are always the lowest.
 */
#ifndef HP_PROFILER_EXACT_SEARCH_H
#define HP_PROFILER_EXACT_SEARCH_H

#include "base/map64.h"

#include <stdbool.h>
#include <stddef.h>

/* What is known of a frame that is indexed; places are indices + 1, 0: none. */
struct hp_indexed_frame {
    uint64_t expects;  /* by which it was entered into the index; 0: not at all */
    uint32_t function; /* the same; HP_NO_ID: not at all */
    uint32_t lower_expecting, lower_function; /* the next lower one of the same */
    uint32_t boundary;                        /* the highest up to it that is a signal's */
    uint32_t called; /* the highest up to it that was not entered by a jump */
};

struct hp_frame_search {
    struct hp_map64 expecting; /* address -> place of the highest */
    struct hp_map64 of;        /* function -> the same */
    struct hp_indexed_frame *frames;
    size_t n, cap;
};

struct hp_exact_thread;

/* The number of frames up to the highest that expects `address`, itself included, or 0. Does not
 * look below what a signal interrupted. */
size_t hp_search_expecting(struct hp_exact_thread *thread, uint64_t address);

/* Likewise for a frame of `function`; with `tails_only`, no further than the frame that was called.
 */
size_t hp_search_function(struct hp_exact_thread *thread, uint32_t function, bool tails_only);

void hp_search_fini(struct hp_frame_search *search);

#endif
