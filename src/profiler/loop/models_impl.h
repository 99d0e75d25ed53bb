// SPDX-License-Identifier: MIT
/* The profiler of loop models, for its own files. */
#ifndef HP_PROFILER_LOOP_MODELS_IMPL_H
#define HP_PROFILER_LOOP_MODELS_IMPL_H

#include "profiler/loop/models.h"
#include "profiler/loop/sbb.h"

struct hp_loop_models;

struct hp_loop_thread {
    struct hp_loop_models *models;
    struct hp_thread info;
    uint64_t instructions, blocks, branches;
};

struct hp_loop_models {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_loop_model *models[HP_LOOP_MODELS];
    char names[HP_LOOP_MODELS][256];
    size_t n_models;
    struct hp_loop_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_sbb_finder finder;
    size_t n_tags; /* known to the models */
    bool out_of_memory;
    struct hp_step steps[HP_STEPS_MAX + 1]; /* of a batch */
};

/* hp_profiler_ops.finish */
enum hp_err hp_loop_models_finish(struct hp_profiler *profiler, struct hp_result *result);

#endif
