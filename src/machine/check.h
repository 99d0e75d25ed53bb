// SPDX-License-Identifier: MIT
/*
 * Checks of several parameters of a machine at once.
 */
#ifndef HP_MACHINE_CHECK_H
#define HP_MACHINE_CHECK_H

#include "machine/machine.h"

/* What is wrong: the text, and the place as section and key (NULL: the section as a whole). */
struct hp_machine_fault {
    const char *section, *key;
    char text[200];
};

/* Checks, and replaces "full" by the number of ways. False: `*fault` says why. */
bool hp_machine_check(struct hp_machine *machine, struct hp_machine_fault *fault);

/* Describes a fault; returns false. */
bool hp_fault_at(struct hp_machine_fault *fault, const char *section, const char *key,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Checks shared by predictors. A history longer than its table's index would be cut silently. */
bool hp_check_history(const char *section, uint64_t history, uint64_t entries,
                      struct hp_machine_fault *fault);
bool hp_check_tage(const char *section, const struct hp_tage_config *tage,
                   struct hp_machine_fault *fault);

#endif
