// SPDX-License-Identifier: MIT
/*
 * The result: where profilers put what they found. It brings the code map into the profile once, whoever asks first: modules, functions,
 * blocks with their lines, threads.
 */
#ifndef HP_PROFILER_RESULT_H
#define HP_PROFILER_RESULT_H

#include "hotpath/profile.h"
#include "hotpath/stream.h"
#include "symbols/functions.h"

struct hp_result {
    struct hp_profile *profile;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_result_memory *memory; /* private */
};

enum hp_err hp_result_new(struct hp_code *code, struct hp_functions *functions,
                          struct hp_profile *profile, struct hp_result **result);
void hp_result_free(struct hp_result *result);

/* After this the profile's blocks are those of the code map: index == block id. */
enum hp_err hp_result_code(struct hp_result *result);

/* The profile's index of a function by its id; HP_PROFILE_NONE for HP_NO_ID. Adds it when it is new. */
enum hp_err hp_result_function(struct hp_result *result, uint32_t id, uint32_t *index);

/* The profile's index of a thread; adds it when it is new. */
enum hp_err hp_result_thread(struct hp_result *result, const struct hp_thread *thread,
                             uint32_t *index);

#endif
