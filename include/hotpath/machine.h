// SPDX-License-Identifier: MIT
/*
 * The machine model, functional form (docs/machine.md): caches, TLBs, branch predictors and power
 * see every retired block and count events; no cycles.
 *
 * A *machine* is the description, read from a text file. A *core* is one instance of it with its
 * own caches and predictors; every thread of a program has one.
 */
#ifndef HOTPATH_MACHINE_H
#define HOTPATH_MACHINE_H

#include "hotpath/metric.h"
#include "hotpath/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hp_machine; /* plain struct in src/machine/machine.h for the parts of the model */

/* Reads a machine: a shipped one by name ("vaswani", "alpha21264", "arm9", "modern"), or a file (a
 * name with a '/' or ending in ".ini"). HP_ERR_NOTFOUND, HP_ERR_FORMAT: one line, with file and
 * line number. */
HP_MUST_CHECK enum hp_err hp_machine_load(const char *name, struct hp_machine **machine);
void hp_machine_free(struct hp_machine *machine);
const char *hp_machine_name(const struct hp_machine *machine);

struct hp_core;

/* Keeps `machine`. */
HP_MUST_CHECK enum hp_err hp_core_new(const struct hp_machine *machine, struct hp_core **core);
void hp_core_free(struct hp_core *core);

/* Runs the first n blocks of the batch and fills events[0 ... n - 1]. Without addresses
 * (batch->addresses NULL) the data caches are not modelled. HP_ERR_NOMEM: a block could not be
 * decoded; it and all later ones have no events. */
HP_MUST_CHECK enum hp_err hp_core_batch(struct hp_core *core, struct hp_code *code,
                                        const struct hp_batch *batch, struct hp_events *events);

/* The same for the executed part of the block of an HP_EVENT_TAIL; its branch is not predicted. */
HP_MUST_CHECK enum hp_err hp_core_tail(struct hp_core *core, struct hp_code *code,
                                       const struct hp_event *tail, struct hp_events *events);

/* What the core did, by name: "l1i.accesses", "l1i.misses", "l1d.reads", ..., "branches",
 * "mispredictions", ...; ended by a NULL name; valid until the next call on the core. */
struct hp_core_stat {
    const char *name;
    uint64_t value;
};
const struct hp_core_stat *hp_core_stats(struct hp_core *core);

#ifdef __cplusplus
}
#endif
#endif
