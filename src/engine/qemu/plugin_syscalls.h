// SPDX-License-Identifier: MIT
/*
 * The system calls that concern the plugin, by architecture.
 */
#ifndef HP_QEMU_PLUGIN_SYSCALLS_H
#define HP_QEMU_PLUGIN_SYSCALLS_H

#include <stdint.h>

enum hp_syscall_kind {
    HP_SYSCALL_OTHER,
    HP_SYSCALL_SIGACTION, /* signal, pointer to an action that starts with the handler's address */
    HP_SYSCALL_SIGRETURN,
    HP_SYSCALL_EXECVE,   /* path */
    HP_SYSCALL_EXECVEAT, /* directory, path */
    HP_SYSCALL_MAP,      /* changes what is mapped where */
    HP_SYSCALL_EXIT,     /* of a thread, or of all */
};

struct hp_syscalls;

/* The table for QEMU's target; an empty one when there is none. */
const struct hp_syscalls *hp_syscalls_for(const char *target);

enum hp_syscall_kind hp_syscall_kind(const struct hp_syscalls *table, int64_t number);

#endif
