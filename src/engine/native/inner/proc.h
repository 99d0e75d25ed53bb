// SPDX-License-Identifier: MIT
/*
 * Files of /proc about the process: what the program shall find there.
 */
#ifndef HP_NATIVE_PROC_H
#define HP_NATIVE_PROC_H

#include "engine/native/inner/inner.h"

/* Whether the program's path is the link to its own file (/proc/self/exe, by any route), which
 * leads to the engine's. */
bool hp_proc_is_exe(const struct hp_self *self, int dirfd, uint64_t path);
/* Whether the path is empty and the descriptor is that link itself (O_PATH). */
bool hp_proc_is_open_exe(const struct hp_self *self, int fd, uint64_t path);

/* Whether the descriptor is the directory of this process's descriptors. */
bool hp_proc_is_fds(const struct hp_self *self, int fd);
/* Removes the engine's descriptors from the entries of getdents64: returns how many bytes are
 * left. */
uint64_t hp_proc_hide_ours(uint64_t at, uint64_t size);

/* The path was opened as `fd` (or an error): it may be a process's memory. */
void hp_proc_opened(uint64_t path, long fd);

struct hp_proc_write {
    uint64_t low, high;
};

/* Whether the call about to be made writes to `fd` and that is a process's memory. Guards are then
 * lifted, and hp_proc_after_write() must follow the call. */
bool hp_proc_before_write(const struct hp_self *self, int fd, struct hp_proc_write *to);
void hp_proc_after_write(const struct hp_proc_write *to);

#endif
