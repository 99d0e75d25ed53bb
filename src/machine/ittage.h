// SPDX-License-Identifier: MIT
/*
 * ITTAGE (Seznec, "A 64-Kbytes ITTAGE indirect branch predictor", JWAC-2, 2011): targets of
 * indirect jumps and calls, by histories of geometric length. A base table holds the last target by
 * address; an entry of the others a target, a tag, 2 bits of confidence and one of usefulness.
 *
 * The history has one bit for each conditional branch and four bits of the target of each indirect
 * transfer.
 */
#ifndef HP_MACHINE_ITTAGE_H
#define HP_MACHINE_ITTAGE_H

#include "machine/machine.h"

struct hp_ittage;

enum hp_err hp_ittage_new(const struct hp_tage_config *config, struct hp_ittage **ittage);
void hp_ittage_free(struct hp_ittage *ittage);

/* Of an indirect transfer: the predicted target, 0: none; then the real one. */
uint64_t hp_ittage_predict(struct hp_ittage *ittage, uint64_t pc);
void hp_ittage_update(struct hp_ittage *ittage, uint64_t pc, uint64_t target);

/* The outcome of a conditional branch. */
void hp_ittage_note(struct hp_ittage *ittage, bool taken);

#endif
