// SPDX-License-Identifier: MIT
/* System calls, for the views of them and for the summary. */
#ifndef HP_REPORT_SYSCALLS_H
#define HP_REPORT_SYSCALLS_H

#include "report/fields.h"

/* What v[] of a row of both views is; its item is the first of the profile's rows that it sums. */
enum { HP_SYSCALL_NS, HP_SYSCALL_CALLS, HP_SYSCALL_ERRORS, HP_SYSCALL_TIMED, HP_SYSCALL_OPEN };

/* "read", or "syscall_1234", appended. */
void hp_put_syscall(const struct hp_profile *profile, uint32_t number, struct hp_strbuf *text);

/* A time for people, three digits: "1.23 s", "45.6 ms", "789 µs", "12 ns". */
void hp_put_time(uint64_t ns, struct hp_strbuf *text);

/* For whom a call was made: the nearest function on its calling context that is none of the C
 * library or the dynamic linker, and not named like the call; else the nearest that is known.
 * HP_PROFILE_NONE: none is. */
uint32_t hp_syscall_caller(const struct hp_profile *profile, const struct hp_psyscall *call);

/* The functions from the one that has the instruction to the outermost; returns how many. */
size_t hp_syscall_path(const struct hp_profile *profile, const struct hp_psyscall *call,
                       uint32_t path[HP_CONTEXT_DEPTH + 1]);

/* Whether a function that is asked for made it, or asked another to; if none is, all are. */
bool hp_syscall_is_asked(const struct hp_tables *tables, const struct hp_psyscall *call);

/* How long all threads together lived, and one; 0: not known. */
uint64_t hp_threads_time(const struct hp_profile *profile);
uint64_t hp_thread_time(const struct hp_profile *profile, uint32_t thread);

/* How long a thread was in system calls. */
uint64_t hp_thread_in_syscalls(const struct hp_profile *profile, uint32_t thread);

/* The sentence of the summary, appended; nothing where it is not worth one. */
enum hp_err hp_syscalls_sum_up(const struct hp_tables *tables, struct hp_strbuf *text);

/* What the fields of both views have in common; those of a view begin behind. */
enum { HP_CALL_NAME, HP_CALL_SHARE, HP_CALL_MEAN, HP_CALL_OWN };
struct hp_cell hp_syscall_cell(const struct hp_field_input *in);

/* Keeps the rows that are asked for, and makes those one that are the same by the order. */
typedef int hp_syscall_order(const struct hp_psyscall *a, const struct hp_psyscall *b);
enum hp_err hp_syscalls_join(struct hp_rows *rows, struct hp_tables *tables,
                             hp_syscall_order *order);

/* The longest of the calls that are one row by this order. */
uint64_t hp_syscall_longest(const struct hp_profile *profile, const struct hp_psyscall *of,
                            hp_syscall_order *order);

#endif
