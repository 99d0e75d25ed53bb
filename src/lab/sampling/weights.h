// SPDX-License-Identifier: MIT
/*
 * Shared by the experiments on instructions: a program on a machine in cycles, with the exact
 * tallies and samplers.
 */
#ifndef HP_LAB_SAMPLING_WEIGHTS_H
#define HP_LAB_SAMPLING_WEIGHTS_H

#include "hotpath/cycles.h"
#include "hotpath/profile.h"
#include "lab/lab.h"
#include "profile/agreement.h"

/* Adds the exact profiler of cycles and a sampler for each text (hp_sample_config_parse()) to a
 * session with a machine. */
enum hp_err hp_lab_insns_attach(struct hp_session *session, const char *const *samplers, size_t n);

/* The tallies of a sampler ("exact": all), by instruction of the profile; NULL where it has none.
 * Freed with free(); NULL: out of memory. */
const struct hp_pinsn_tally **hp_lab_tallies(const struct hp_profile *profile, const char *seen);

/* The profile's name of a sampler given by a text. */
enum hp_err hp_lab_sampler_name(const char *text, char *name, size_t size);

/* Weights of a time attribution, by instruction: the exact one (hp_pinsn_cycles), another
 * (hp_pattribution), or a sampler's, which weights by the cycles from fetch to retire ready. Freed
 * with free(); NULL: out of memory. */
double *hp_lab_exact_weights(const struct hp_profile *profile);
double *hp_lab_way_weights(const struct hp_profile *profile, const char *way);
double *hp_lab_sampler_weights(const struct hp_profile *profile, const char *seen);

/* Cycles from fetch to retire ready, over all executions that retired. */
double hp_lab_in_progress(const struct hp_insn_tally *tally);

/* The percentage of the weight that is on other instructions (functions) in `a` than in `b`. NAN:
 * one is empty. HP_ERR_NOMEM. */
enum hp_err hp_lab_weights_error(const struct hp_profile *profile, const double *a, const double *b,
                                 enum hp_agreement_by by, double *percent);

#endif
