// SPDX-License-Identifier: MIT
/*
 * An observation: one run of a program under the native engine, or of a foreign one under the qemu engine, with any profilers behind it, whose results stay in
 * memory.
 *
 *     hp_observation_new(&options, &observation);
 *     ... make profilers over observation->code and observation->functions, hp_observation_add() them
 *     hp_observation_run(observation, command);
 *     ... ask the profilers
 *     hp_observation_free(observation);
 */
#ifndef HP_LAB_OBSERVE_H
#define HP_LAB_OBSERVE_H

#include "hotpath/profiler.h"
#include "lab/program.h"
#include "profiler/pipeline.h"

struct hp_observation_options {
    enum hp_arch arch;     /* of the program */
    bool addresses;        /* deliver the addresses of data, too: slower */
    uint64_t instructions; /* how many to observe; then the program is ended. 0: all */
    /* A machine that is run in cycles, for profilers that want timings; it needs addresses. Belongs to the caller. NULL: none. */
    const struct hp_machine *machine;
    struct hp_windows windows; /* what of the run */
    /* Called now and then with how far it is. May be NULL. */
    void (*tick)(void *context, uint64_t instructions);
    void *context;
};

struct hp_observation {
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_program *program; /* of the machine; NULL without one */
    uint64_t instructions;      /* of the run, or of what was observed of it */
    double seconds;
    struct hp_observation_memory *memory; /* private */
};

enum hp_err hp_observation_new(const struct hp_observation_options *options,
                               struct hp_observation **observation);
void hp_observation_free(struct hp_observation *observation);

/* Before the run. The profiler belongs to the observation from now on, also when this fails. */
enum hp_err hp_observation_add(struct hp_observation *observation, struct hp_profiler *profiler);

/*
 * Once. The program's output is thrown away. HP_ERR_UNSUPPORTED: it could not be run (with addresses: it is a foreign
 * one), or it did not end as it should;
 * HP_ERR_FORMAT: something is missing in what was seen.
 */
enum hp_err hp_observation_run(struct hp_observation *observation,
                               const struct hp_lab_command *command);

/* After the run: all that its profilers put into a profile, which is normal. Freed with hp_profile_free(). */
enum hp_err hp_observation_profile(struct hp_observation *observation, struct hp_profile **profile);

#endif
