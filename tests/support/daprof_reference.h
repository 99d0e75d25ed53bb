// SPDX-License-Identifier: MIT
/*
 * A slow second implementation of the loop models, built like the paper's hardware: arrays with the
 * names of its figure 2, a counter of calls, a FIFO of waiting branches. Shares only the
 * configuration with the models.
 */
#ifndef HP_TEST_DAPROF_REFERENCE_H
#define HP_TEST_DAPROF_REFERENCE_H

#include "hotpath/loop.h"

struct daprof_reference;

/* Ends the program when memory runs out. */
struct daprof_reference *daprof_reference_new(const struct hp_loop_config *config);
void daprof_reference_free(struct daprof_reference *reference);

/* As hp_loop_model_branch(). */
void daprof_reference_branch(struct daprof_reference *reference, uint32_t thread,
                             const struct hp_branch *branch);

/* The entries in use, at most `config->entries`, as hp_loop_model_entries(). */
size_t daprof_reference_entries(const struct daprof_reference *reference,
                                struct hp_loop_entry *entries);
const struct hp_loop_stats *daprof_reference_stats(const struct daprof_reference *reference);

#endif
