// SPDX-License-Identifier: MIT
/*
 * Signals while a program is watched: they are for the program, which decides what happens. One
 * from the terminal reaches it by itself; one that is sent to hotpath is passed on.
 */
#ifndef HP_SESSION_SIGNALS_H
#define HP_SESSION_SIGNALS_H

#include <sys/types.h>

/* From before the program starts. Signals are caught, not ignored: it inherits what is ignored. */
void hp_signals_catch(void);

/* The program's process is known: what was sent since hp_signals_catch() goes there too. */
void hp_signals_pass_to(pid_t pid);

/* Everything as it was before hp_signals_catch(). */
void hp_signals_restore(void);

#endif
