// SPDX-License-Identifier: MIT
/*
 * The native engine's outer half: starting a program in the engine. The inner half, which runs in
 * the program's process, is in inner/.
 */
#ifndef HP_ENGINE_NATIVE_H
#define HP_ENGINE_NATIVE_H

#include "engine/program.h"

#include <stdbool.h>
#include <sys/types.h>

/* HP_ERR_UNSUPPORTED: not a program for this machine, or this is not an x86-64 machine; the text
 * says what to do. HP_ERR_NOTFOUND: its interpreter (the dynamic linker it names) does not
 * exist. */
enum hp_err hp_native_check(const struct hp_executable *program);

/* Whether the engine is installed. */
bool hp_native_installed(void);

/* Whether the kernel allows turning off address space randomization: container filters may forbid
 * it. */
bool hp_native_can_fix_addresses(void);

/*
 * Starts the program in the engine, running, with the arena in `arena_fd`; start.h says how. The
 * descriptors that stay open in it have high numbers, so the program finds the usual numbers free.
 * HP_ERR_NOTFOUND: the engine is not installed; the text says what to do. Without `randomize` the
 * kernel always uses the same addresses, where it allows that, so that runs can be compared.
 */
enum hp_err hp_native_start(const struct hp_executable *program, int arena_fd, bool randomize,
                            pid_t *pid);

#endif
