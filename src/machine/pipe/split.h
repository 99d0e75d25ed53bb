// SPDX-License-Identifier: MIT
/*
 * An instruction split into micro-operations for one machine: docs/pipeline.md, rule 1.
 */
#ifndef HP_MACHINE_PIPE_SPLIT_H
#define HP_MACHINE_PIPE_SPLIT_H

#include "hotpath/pipe.h"
#include "machine/machine.h"

/* Fills `uops` and returns their number. */
unsigned hp_split(const struct hp_machine *machine, enum hp_arch arch, const struct hp_insn *insn,
                  struct hp_uop uops[HP_UOPS_MAX]);

/* Fills all members but `uops`, `block` and `first_mem` from an instruction and its
 * micro-operations. */
void hp_split_describe(const struct hp_insn *insn, const struct hp_uop *uops, unsigned n_uops,
                       struct hp_static *out);

#endif
