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
 * says what to do. HP_ERR_NOTFOUND: its interpreter (the dynamic linker it names) is not there. */
enum hp_err hp_native_check(const struct hp_executable *program);

/* Whether the engine's program is there. */
bool hp_native_installed(void);

/* Whether the kernel lets us choose that addresses are not randomized: filters of containers may
 * not. */
bool hp_native_can_fix_addresses(void);

/*
 * Starts the program in the engine, stopped nowhere, with the arena in `arena_fd`; as start.h says.
 * The descriptors that stay open in it have high numbers, so that the program finds free those
 * it would have found. HP_ERR_NOTFOUND: the engine is not installed; the text says what to do.
 * Without `randomize` the kernel puts things where it always does, so that runs can be compared, if
 * it can be had.
 */
enum hp_err hp_native_start(const struct hp_executable *program, int arena_fd, bool randomize,
                            pid_t *pid);

#endif
