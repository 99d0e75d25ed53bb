// SPDX-License-Identifier: MIT
/*
 * Inside the pipeline: pipeline.c creates it and receives what engines deliver, pipeline_sink.c
 * passes on what cursors produce, pipeline_machine.c holds the cores of the threads.
 */
#ifndef HP_PROFILER_PIPELINE_IMPL_H
#define HP_PROFILER_PIPELINE_IMPL_H

#include "profiler/cores.h"
#include "profiler/lanes.h"
#include "profiler/pipeline.h"
#include "stream/tally.h"

#define HP_PIPELINE_PROFILERS 12

struct hp_pipeline_thread {
    struct hp_sink sink; /* first: the cursor's pointer back to us */
    struct hp_pipeline *pipeline;
    struct hp_cursor *cursor; /* while it runs */
    struct hp_tally *tally;   /* used instead when the engine counts */
    struct hp_runner runner;  /* its core while it runs, if there is a machine */
    struct hp_thread info;
    bool executing; /* it called exec, and there is no sign of failure yet */
    void *states[HP_PIPELINE_PROFILERS];
    size_t exec; /* index in `execs` of its last exec, plus 1; 0: none */
};

struct hp_pipeline {
    struct hp_consumer consumer; /* first */
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_region_progress region;
    bool has_region;
    bool counting;
    bool addressed;    /* the engine delivers addresses */
    bool counts_paths; /* it may count paths */
    struct hp_cores cores;
    struct hp_cycles_setup cycles; /* without a program: the machine is simulated functionally */
    enum hp_err failure;           /* of a core; nothing more is delivered */
    struct hp_profiler *profilers[HP_PIPELINE_PROFILERS];
    bool independent[HP_PIPELINE_PROFILERS];
    size_t n_profilers;
    struct hp_lanes *lanes;              /* for the independent ones; NULL: there is one thread */
    bool in_step;                        /* the lanes have finished a batch before the next one */
    struct hp_pipeline_thread **threads; /* by thread id */
    size_t n_threads, cap_threads;
    struct hp_pipeline_stats stats;
    struct hp_cursor_stats ended; /* of the threads that have ended */
    uint64_t lost_behind;         /* losses after the region, which do not matter */
    uint32_t *execs;
    size_t n_execs, cap_execs;
};

/* --- pipeline_sink.c -------------------------------------------------------------------------- */

/* What the thread's cursor, or tally, delivers to. */
struct hp_sink hp_pipeline_sink(const struct hp_pipeline *p);

/* Before the first thread: starts the lanes, where they are of use. */
void hp_pipeline_share_out(struct hp_pipeline *p);

/* --- pipeline_machine.c ----------------------------------------------------------------------- */

/* The core of a new thread; its timings go to the profilers. */
enum hp_err hp_pipeline_new_core(struct hp_pipeline_thread *thread);

/* Discards the cores' counts from before the region, which only warmed them. */
void hp_pipeline_forget_warming(struct hp_pipeline *p);

/* The region is over: finishes what is in flight. */
void hp_pipeline_finish_cores(struct hp_pipeline *p);

#endif
