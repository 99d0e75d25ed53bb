// SPDX-License-Identifier: MIT
/*
 * The profiler interface: how a model consumes the stream.
 *
 * Order of calls, all in one thread:
 *   start_thread(P, T)   once for each thread of the program, before its first batch; returns the
 * state batch(S, ...)        the thread's blocks in order; batches of different threads interleave
 * freely event(S, ...)        between the thread's batches finish(P, profile)   once, after the
 * last thread's HP_EVENT_END: adds the results to the profile free(P)              once, whether or
 * not finish() was called; frees every thread's state too
 *
 * batch() and event() must not allocate per block, do I/O or take a lock. They may grow tables when
 * the code map has grown. A profiler that runs out of memory stops counting, remembers it, and
 * fails in finish().
 */
#ifndef HOTPATH_PROFILER_H
#define HOTPATH_PROFILER_H

#include "hotpath/profile.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hp_profiler;

struct hp_profiler_ops {
    const char *name;
    enum hp_err (*start_thread)(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state);
    void (*batch)(void *state, const struct hp_batch *batch);
    /* The same by units; NULL when the profiler wants blocks only. Of a thread it gets one or the other,
     * and the result must not depend on it. */
    void (*steps)(void *state, const struct hp_steps *steps);
    /* All that is known of a thread whose order was not recorded, once, before its end; instead of
     * batches and steps. NULL when the profiler needs the order. */
    void (*edges)(void *state, const struct hp_edge_count *edges, size_t n);
    void (*event)(void *state, const struct hp_event *event);
    enum hp_err (*finish)(struct hp_profiler *profiler, struct hp_profile *profile);
    void (*free)(struct hp_profiler *profiler);
};

/* Every profiler has this as its first member. */
struct hp_profiler {
    const struct hp_profiler_ops *ops;
};

#ifdef __cplusplus
}
#endif
#endif
