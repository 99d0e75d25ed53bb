// SPDX-License-Identifier: MIT
/*
 * What engines share when they start a program: finding their own parts, handing descriptors over,
 * fork and exec.
 */
#ifndef HP_ENGINE_SPAWN_H
#define HP_ENGINE_SPAWN_H

#include "hotpath/error.h"

#include <stddef.h>
#include <sys/types.h>

/*
 * Finds a file that belongs to hotpath: in the directory HOTPATH_PLUGIN_DIR names, beside the
 * command (a build), or in ../lib/hotpath (installed). `access_mode` as for access().
 * HP_ERR_NOTFOUND: in none of them; the text says what to do. Free the result.
 */
enum hp_err hp_find_part(const char *file, int access_mode, char **path);

/*
 * Descriptor numbers that a program will not meet by chance: the `n` highest that are free here,
 * below the limit on open files and below 1024. HP_ERR_IO: there are not enough.
 */
enum hp_err hp_spare_descriptors(int *numbers, size_t n);

/* A descriptor for the new process, and its number there, which may be the same. */
struct hp_handed {
    int fd, as;
};

/*
 * Forks and executes `path`. The process inherits our descriptors that are not close-on-exec and
 * the `n` handed ones, whose new numbers must be free here. HP_ERR_IO: it could not be executed;
 * there is no process then.
 */
enum hp_err hp_spawn(const char *path, char *const *argv, char *const *environment,
                     const struct hp_handed *handed, size_t n, pid_t *pid);

#endif
