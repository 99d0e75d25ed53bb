// SPDX-License-Identifier: MIT
/*
 * Finding a frame far down the shadow stack.
 *
 * The frame is nearly always near the top, and the stack changes with every call. So frames are
 * indexed only when a search goes below the nearest ones: each at most once while it exists,
 * however many searches there are. Pushing and popping only mark a new frame as not `indexed`; the
 * indexed frames are always the lowest ones.
 */
#ifndef HP_PROFILER_EXACT_SEARCH_H
#define HP_PROFILER_EXACT_SEARCH_H

#include "base/map64.h"

#include <stdbool.h>
#include <stddef.h>

/* An indexed frame; places are indices + 1, 0: none. */
struct hp_indexed_frame {
    uint64_t expects;                         /* its key in the index; 0: not in it */
    uint32_t function;                        /* the same; HP_NO_ID: not in it */
    uint32_t lower_expecting, lower_function; /* the next lower frame with the same key */
    uint32_t boundary;                        /* the highest signal frame up to it */
    uint32_t called;                          /* the highest frame up to it not entered by a jump */
};

struct hp_frame_search {
    struct hp_map64 expecting; /* address -> place of the highest */
    struct hp_map64 of;        /* function -> the same */
    struct hp_indexed_frame *frames;
    size_t n, cap;
};

struct hp_exact_thread;

/* The number of frames up to and including the highest that expects `address`, or 0. Does not
 * search below what a signal interrupted. */
size_t hp_search_expecting(struct hp_exact_thread *thread, uint64_t address);

/* Likewise for a frame of `function`; with `tails_only`, no further down than the called frame. */
size_t hp_search_function(struct hp_exact_thread *thread, uint32_t function, bool tails_only);

void hp_search_fini(struct hp_frame_search *search);

#endif
