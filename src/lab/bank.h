// SPDX-License-Identifier: MIT
/*
 * A bank: one machine with profilers behind it that count its events. Several banks stand side by
 * side behind one program, each with a machine of its own.
 */
#ifndef HP_LAB_BANK_H
#define HP_LAB_BANK_H

#include "hotpath/machine.h"
#include "hotpath/profiler.h"

#define HP_BANK_PROFILERS 8

/* Keeps `code` and takes over `machine`, also when it fails. */
enum hp_err hp_bank_new(struct hp_code *code, struct hp_machine *machine,
                        struct hp_profiler **bank);

/* Before the first thread. The profiler belongs to the bank from now on, also when this fails. */
enum hp_err hp_bank_add(struct hp_profiler *bank, struct hp_profiler *profiler);

/* The i-th profiler that was added. */
struct hp_profiler *hp_bank_profiler(const struct hp_profiler *bank, size_t i);

/* HP_ERR_NOMEM: memory ran out, and events are missing. */
enum hp_err hp_bank_check(const struct hp_profiler *bank);

#endif
