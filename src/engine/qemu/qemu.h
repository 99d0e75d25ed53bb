// SPDX-License-Identifier: MIT
/*
 * The qemu engine's outer half: starting a program under qemu-user with our plugin.
 */
#ifndef HP_ENGINE_QEMU_H
#define HP_ENGINE_QEMU_H

#include "engine/program.h"

#include <sys/types.h>

/*
 * Starts the program, running, with the arena in `arena_fd`. `sysroot`: where a foreign program's
 * libraries are (NULL: search QEMU_LD_PREFIX and /usr/TRIPLE). HP_ERR_NOTFOUND: QEMU or the plugin
 * is not installed; the text says what to do.
 */
enum hp_err hp_qemu_start(const struct hp_executable *program, const char *sysroot, int arena_fd,
                          pid_t *pid);

#endif
