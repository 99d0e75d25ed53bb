// SPDX-License-Identifier: MIT
/*
 * System calls: how many, and how long they took, by calling context. They are told before the
 * steps that made them are delivered, and counted where the shadow stack is then.
 */
#ifndef HP_PROFILER_EXACT_SYSCALLS_H
#define HP_PROFILER_EXACT_SYSCALLS_H

#include "profiler/exact/exact_impl.h"

/* A call that ended steps[at] of what comes next. */
struct hp_exact_pending {
    size_t at;
    struct hp_syscall call;
};

/* Keeps it until then. */
void hp_exact_syscall(struct hp_exact_thread *thread, size_t at, const struct hp_syscall *call);

/* Counts those up to steps[at], which has just run, from the `from`-th on; returns the next one. */
size_t hp_exact_syscalls_here(struct hp_exact_thread *thread, size_t from, size_t at);

/* All that are pending were made where the thread is. */
void hp_exact_syscalls_settle(struct hp_exact_thread *thread);

/* The thread has ended: nothing more is added. */
void hp_exact_syscalls_seal(struct hp_exact_thread *thread);
void hp_exact_syscalls_fini(struct hp_exact_thread *thread);

/* Adds them to the profile. `contexts`: the profile's, by context; HP_PROFILE_NONE: it has none. */
enum hp_err hp_exact_syscalls_finish(const struct hp_exact_thread *thread, uint32_t index,
                                     const uint32_t *contexts, struct hp_profile *profile);

#endif
