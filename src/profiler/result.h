// SPDX-License-Identifier: MIT
/*
 * The result: where profilers put what they found. It brings the code map into the profile once, on
 * the first request: modules, functions, blocks with their lines, threads. The part that external
 * profilers need is in hotpath/profiler.h.
 */
#ifndef HP_PROFILER_RESULT_H
#define HP_PROFILER_RESULT_H

#include "hotpath/profile.h"
#include "hotpath/profiler.h"
#include "hotpath/stream.h"
#include "symbols/functions.h"

struct hp_result {
    struct hp_profile *profile;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_result_memory *memory; /* private */
    struct hp_result_insns *insns;   /* private to insns.c; NULL: not used yet */
};

/* For an empty `profile`. Keeps the pointers. */
enum hp_err hp_result_new(struct hp_code *code, struct hp_functions *functions,
                          struct hp_profile *profile, struct hp_result **result);
void hp_result_free(struct hp_result *result);

/* The profile's index of a function by its id; HP_PROFILE_NONE for HP_NO_ID. Adds it when it is
 * new. */
enum hp_err hp_result_function(struct hp_result *result, uint32_t id, uint32_t *index);

/* The same, but HP_PROFILE_NONE when the function is not in the profile yet. */
uint32_t hp_result_known_function(const struct hp_result *result, uint32_t id);

/* The profile's index of a thread by its id; HP_PROFILE_NONE: it is not in the profile. */
uint32_t hp_result_known_thread(const struct hp_result *result, uint32_t id);

/* The place of an address of a module. */
struct hp_place hp_result_place(const struct hp_result *result, uint32_t module, uint64_t address);

/* The edge from a block to another that came next. */
struct hp_pedge hp_result_edge(const struct hp_result *result, uint32_t from, uint32_t to);

#endif
