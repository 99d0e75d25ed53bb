// SPDX-License-Identifier: MIT
/*
 * Checks that concern several parameters of a machine at once.
 */
#ifndef HP_MACHINE_CHECK_H
#define HP_MACHINE_CHECK_H

#include "machine/machine.h"

/* What is wrong: the text without the place, which is given by section and key (NULL: the section as a
 * whole). */
struct hp_machine_fault {
    const char *section, *key;
    char text[200];
};

/* Checks, and replaces "full" by the number of ways that it means. False: `*fault` says why. */
bool hp_machine_check(struct hp_machine *machine, struct hp_machine_fault *fault);

#endif
