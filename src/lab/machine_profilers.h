// SPDX-License-Identifier: MIT
/*
 * A machine with profilers that count its events, as one profiler. Several such groups can run side
 * by side on one program, each with its own machine.
 */
#ifndef HP_LAB_MACHINE_PROFILERS_H
#define HP_LAB_MACHINE_PROFILERS_H

#include "hotpath/machine.h"
#include "hotpath/profiler.h"

#define HP_MACHINE_PROFILERS 8

/* Keeps `code` and takes ownership of `machine`, also when it fails. */
enum hp_err hp_machine_profilers_new(struct hp_code *code, struct hp_machine *machine,
                                     struct hp_profiler **group);

/* Before the first thread. The group takes ownership of the profiler, also when this fails. */
enum hp_err hp_machine_profilers_add(struct hp_profiler *group, struct hp_profiler *profiler);

/* The i-th profiler that was added. */
struct hp_profiler *hp_machine_profilers_get(const struct hp_profiler *group, size_t i);

/* HP_ERR_NOMEM: memory ran out, events are missing. */
enum hp_err hp_machine_profilers_check(const struct hp_profiler *group);

#endif
