// SPDX-License-Identifier: MIT
/* The cycles profiler, for its own files. */
#ifndef HP_PROFILER_CYCLES_PROFILER_IMPL_H
#define HP_PROFILER_CYCLES_PROFILER_IMPL_H

#include "hotpath/sample.h"
#include "profiler/cycles/attribute.h"
#include "profiler/cycles/profiler.h"
#include "profiler/cycles/schemes.h"
#include "profiler/cycles/waits.h"

struct hp_cycles;

struct hp_cycles_thread {
    struct hp_cycles *cycles;
    struct hp_thread info;
    struct hp_attributor attributor;
    struct hp_schemes schemes;
};

struct hp_cycles {
    struct hp_profiler base; /* first */
    struct hp_cycles_config config;
    struct hp_program *program;
    /* Of all threads, by static id. */
    struct hp_cycles_row *rows;
    struct hp_insn_tally *tallies;
    size_t cap_rows, cap_tallies;
    struct hp_waits waits;
    struct hp_cycles_thread **threads;
    size_t n_threads, cap_threads;
    bool out_of_memory;
};

/* hp_profiler_ops.finish */
enum hp_err hp_cycles_finish(struct hp_profiler *profiler, struct hp_result *result);

#endif
