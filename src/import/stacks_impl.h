// SPDX-License-Identifier: MIT
/* What taking stacks and adding them up share. Each: HP_ERR_NOMEM. */
#ifndef HP_IMPORT_STACKS_IMPL_H
#define HP_IMPORT_STACKS_IMPL_H

#include "import/stacks.h"

enum hp_err hp_stacks_spot(struct hp_import_stacks *stacks, uint32_t view, uint64_t address,
                           uint32_t *spot);

/* The run from one spot to another; `whole`: its last block ends there, else it only has to contain
 * that instruction. It has no blocks where no straight run leads there. */
enum hp_err hp_stacks_run(struct hp_import_stacks *stacks, uint32_t from, uint32_t to, bool whole,
                          uint32_t *run);

/* Counts a pair of numbers. */
enum hp_err hp_stacks_count(struct hp_tally64 *tally, uint32_t high, uint32_t low, uint64_t times);

/* A run was executed, and then what is at `next`. */
enum hp_err hp_stacks_count_run(struct hp_import_stacks *stacks, struct hp_import_thread *thread,
                                uint32_t from, uint32_t to, bool whole, uint32_t next);

/* A stack that began elsewhere: what was on top ended where its sample was taken, if all of the
 * thread is known. */
enum hp_err hp_stacks_end_tail(struct hp_import_stacks *stacks, struct hp_import_thread *thread);

#endif
