// SPDX-License-Identifier: MIT
#include "engine/qemu/plugin_syscalls.h"

#include <stddef.h>
#include <string.h>

#define ABSENT (-1)

struct hp_syscalls {
    const char *target;
    int rt_sigaction, sigaction, rt_sigreturn, sigreturn, execve, execveat, mmap, mmap_old, munmap,
        mremap, exit, exit_group;
};

static const struct hp_syscalls tables[] = {
    {"x86_64", 13, ABSENT, 15, ABSENT, 59, 322, 9, ABSENT, 11, 25, 60, 231},
    {"aarch64", 134, ABSENT, 139, ABSENT, 221, 281, 222, ABSENT, 215, 216, 93, 94},
    {"riscv64", 134, ABSENT, 139, ABSENT, 221, 281, 222, ABSENT, 215, 216, 93, 94},
    {"arm", 174, 67, 173, 119, 11, 387, 192, 90, 91, 163, 1, 248},
    {"alpha", 352, 156, 351, 103, 59, 513, 71, ABSENT, 73, 341, 1, 405},
};

static const struct hp_syscalls unknown = {"",     ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
                                           ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};

const struct hp_syscalls *hp_syscalls_for(const char *target)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].target, target) == 0)
            return &tables[i];
    return &unknown;
}

enum hp_syscall_kind hp_syscall_kind(const struct hp_syscalls *t, int64_t number)
{
    if (number < 0)
        return HP_SYSCALL_OTHER;
    if (number == t->rt_sigaction || number == t->sigaction)
        return HP_SYSCALL_SIGACTION;
    if (number == t->rt_sigreturn || number == t->sigreturn)
        return HP_SYSCALL_SIGRETURN;
    if (number == t->execve)
        return HP_SYSCALL_EXECVE;
    if (number == t->execveat)
        return HP_SYSCALL_EXECVEAT;
    if (number == t->mmap || number == t->mmap_old || number == t->munmap || number == t->mremap)
        return HP_SYSCALL_MAP;
    if (number == t->exit || number == t->exit_group)
        return HP_SYSCALL_EXIT;
    return HP_SYSCALL_OTHER;
}
