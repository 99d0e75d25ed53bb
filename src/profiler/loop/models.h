// SPDX-License-Identifier: MIT
/*
 * The profiler of loop models: any number of them on the short backward branches of all threads,
 * each as one piece of hardware (with `tasks`: one state per thread). finish() adds their loops as
 * struct hp_pmodel_loop, and their statistics and size as stats ("loops MODEL").
 */
#ifndef HP_PROFILER_LOOP_MODELS_H
#define HP_PROFILER_LOOP_MODELS_H

#include "hotpath/loop.h"
#include "hotpath/profiler.h"
#include "symbols/functions.h"

#define HP_LOOP_MODELS 32

/* Keeps `code` and `functions`. */
enum hp_err hp_loop_models_new(struct hp_code *code, struct hp_functions *functions,
                               const struct hp_loop_config *configs, size_t n,
                               struct hp_profiler **profiler);

/* For experiments and tests. */
const struct hp_loop_model *hp_loop_models_get(const struct hp_profiler *profiler, size_t i);

#endif
