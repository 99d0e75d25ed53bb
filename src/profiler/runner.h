// SPDX-License-Identifier: MIT
/*
 * Runs a thread on a machine: on its core or, where the machine is simulated in cycles, on the pipe
 * around the core. windows.h decides which.
 */
#ifndef HP_PROFILER_RUNNER_H
#define HP_PROFILER_RUNNER_H

#include "hotpath/pipe.h"
#include "profiler/cores.h"
#include "profiler/windows.h"

/* How a machine is simulated in cycles. */
struct hp_cycles_setup {
    struct hp_program *program;
    struct hp_windows windows;
    bool has_queue; /* a profiler in hardware takes the branches, through a queue (docs/pipeline.md,
                       "The branch queue") */
    unsigned queue; /* of so many entries */
};

/* What a runner has done. */
struct hp_runner_stats {
    uint64_t instructions; /* passed to it in the region */
    uint64_t measured;     /* of these, simulated in cycles and measured */
};

struct hp_runner {
    struct hp_core *core;
    struct hp_pipe *pipe; /* NULL: no cycles */
    const struct hp_cycles_setup *setup;
    enum hp_phase phase;   /* the phase of the latest instruction */
    const uint16_t *costs; /* for the queue: of the next batch, set by the owner; NULL: none */
    struct hp_runner_stats stats;
    uint64_t *windows; /* where the measured windows begin: the thread's instructions before them */
    size_t n_windows, cap_windows;
};

/* Keeps all pointers. `setup` NULL: no cycles. `timings` gets the pipe's timings, with `context`.
 * HP_ERR_NOMEM; hp_runner_fini() is safe then. */
enum hp_err hp_runner_init(
    struct hp_runner *runner, const struct hp_machine *machine, const struct hp_cycles_setup *setup,
    void (*timings)(void *context, const struct hp_timing *timings, size_t n), void *context);
/* Frees core and pipe; the stats stay. */
void hp_runner_close(struct hp_runner *runner);
void hp_runner_fini(struct hp_runner *runner);

/* Runs a batch, of at most HP_BATCH_MAX blocks. `in_region` false: it only warms. Without cycles
 * the batch gets its events. */
enum hp_err hp_runner_batch(struct hp_runner *runner, struct hp_cores *cores, struct hp_code *code,
                            struct hp_batch *batch, bool in_region);

/* Applies an event to the machine. The block of a tail is run, and `*events` are its events (NULL
 * when there are none, and for all other events). After a signal, for example, the next block does
 * not follow from the previous one. At the end everything in flight is finished. */
enum hp_err hp_runner_event(struct hp_runner *runner, struct hp_cores *cores, struct hp_code *code,
                            const struct hp_event *event, bool in_region,
                            const struct hp_events **events);

/* The end of the thread, or of the region: everything in flight is finished. */
enum hp_err hp_runner_end(struct hp_runner *runner);

#endif
