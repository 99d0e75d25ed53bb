// SPDX-License-Identifier: MIT
/*
 * What is known of a run apart from its stream: command, place, time.
 */
#ifndef HP_SESSION_DESCRIBE_H
#define HP_SESSION_DESCRIBE_H

#include "hotpath/profile.h"
#include "hotpath/trace.h"

/* A description and what it points to. Not to be moved. */
struct hp_run_about {
    struct hp_trace_run run;
    char directory[4096];
    char machine[256];
};

/* Describes a run that starts now; how it ends is filled in later. Keeps `argv` and `engine`. */
void hp_describe_start(struct hp_run_about *about, char *const *argv, enum hp_arch arch,
                       const char *engine);

/* Puts a description into a profile; texts are copied. */
enum hp_err hp_describe_profile(struct hp_profile *profile, const struct hp_trace_run *run);

#endif
