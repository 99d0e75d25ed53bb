// SPDX-License-Identifier: MIT
/*
 * What the experiments on instructions share: a program on a machine in cycles, with the exact
 * tallies and samplers behind it.
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
 * Freed with free(); NULL without memory. */
const struct hp_pinsn_tally **hp_lab_tallies(const struct hp_profile *profile, const char *seen);

/* The name that a sampler given by a text has in a profile. */
enum hp_err hp_lab_sampler_name(const char *text, char *name, size_t size);

/* Weights of a way to attribute time, by instruction: the exact one (hp_pinsn_cycles), another
 * (hp_pattribution), or a sampler's, which weighs by the cycles from fetch to retire ready. Freed
 * with free(); NULL without memory. */
double *hp_lab_exact_weights(const struct hp_profile *profile);
double *hp_lab_way_weights(const struct hp_profile *profile, const char *way);
double *hp_lab_sampler_weights(const struct hp_profile *profile, const char *seen);

/* Cycles from fetch to retire ready, over all executions that retired. */
double hp_lab_in_progress(const struct hp_insn_tally *tally);

/* The part of the weight, in percent, that is with other instructions (functions) in `a` than in
 * `b`. NAN when one is empty. HP_ERR_NOMEM. */
enum hp_err hp_lab_weights_error(const struct hp_profile *profile, const double *a, const double *b,
                                 enum hp_agreement_by by, double *percent);

#endif
