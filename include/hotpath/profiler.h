// SPDX-License-Identifier: MIT
/*
 * The profiler interface: how a model consumes the stream.
 *
 * Order of calls, all in one thread (but see hp_profiler_ops.independent):
 *   - start_thread(P, T): once for each thread of the program, before its first batch; returns S,
 *     its state
 *   - batch(S, ...): the thread's blocks in order; batches of different threads interleave freely
 *   - event(S, ...): between the thread's batches
 *   - finish(P, result): once, after the last thread's HP_EVENT_END: adds what was found to the
 *     result's profile
 *   - free(P): once, whether or not finish() was called; frees every thread's state too
 *
 * batch() and event() must not allocate per block, do I/O or take a lock. They may grow tables when
 * the code map has grown. A profiler that runs out of memory stops counting, remembers it, and
 * fails in finish().
 */
#ifndef HOTPATH_PROFILER_H
#define HOTPATH_PROFILER_H

#include "hotpath/pipe.h"
#include "hotpath/profile.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hp_profiler;
struct hp_result; /* where all profilers of a run put what they found: see below */

struct hp_profiler_ops {
    const char *name;
    /* batch() and steps() access only the code map (not hp_code_insns()), for reading, and the
     * profiler's own data. They may be called in another thread, concurrently with those of other
     * profilers and with the engine, and some batches later than theirs. But a profiler is in one
     * thread at a time; it gets everything in order; and the code map is as it was when the batch
     * was made, and stays so. */
    bool independent;
    enum hp_err (*start_thread)(struct hp_profiler *profiler, const struct hp_thread *thread,
                                void **state);
    void (*batch)(void *state, const struct hp_batch *batch);
    /* The same by units; NULL: the profiler wants blocks only. A thread is delivered as one or the
     * other, and the result must not depend on which. */
    void (*steps)(void *state, const struct hp_steps *steps);
    /* Everything known about a thread whose order was not recorded: called once, before its end,
     * instead of batch() and steps(). NULL: the profiler needs the order. */
    void (*edges)(void *state, const struct hp_edge_count *edges, size_t n);
    void (*event)(void *state, const struct hp_event *event);
    /* A system call is over, as struct hp_sink has it; not for an independent profiler. NULL: not
     * wanted. */
    void (*syscall)(void *state, size_t at, const struct hp_syscall *call);
    /* From an engine that counts paths: the thread has executed the one with this id so many times.
     * Called once for each path, the last thing of a thread: after its HP_EVENT_END where words say
     * how it ended, else before. NULL: the profiler cannot use that. */
    void (*counted)(void *state, uint32_t path, uint64_t times);
    /* With a machine in cycles: the timings of the thread's instructions, in the order of fetch
     * (pipe.h). They arrive after the batches and tails they belong to, and before the thread's
     * HP_EVENT_END. NULL: not wanted. */
    void (*timings)(void *state, const struct hp_timing *timings, size_t n);
    enum hp_err (*finish)(struct hp_profiler *profiler, struct hp_result *result);
    void (*free)(struct hp_profiler *profiler);
};

/* Every profiler has this as its first member. */
struct hp_profiler {
    const struct hp_profiler_ops *ops;
};

/* --- What finish() does with the result ------------------------------------------------------- */

/* The profile to which a profiler adds its rows. */
struct hp_profile *hp_result_profile(struct hp_result *result);

/* Copies the code map into the profile, unless another profiler did. After this the profile's
 * modules and blocks are those of the code map: index == id. */
HP_MUST_CHECK enum hp_err hp_result_code(struct hp_result *result);

/* The profile's index of a thread; adds it when it is new. */
HP_MUST_CHECK enum hp_err hp_result_thread(struct hp_result *result, const struct hp_thread *thread,
                                           uint32_t *index);

/* Reports how much the thread with that index executed. Without effect if another profiler reported
 * it before, or counts every block. */
void hp_result_thread_counts(struct hp_result *result, uint32_t index, uint64_t instructions,
                             uint64_t blocks, uint64_t branches);

#ifdef __cplusplus
}
#endif
#endif
