// SPDX-License-Identifier: MIT
/* Names of system calls. */
#ifndef HP_SYMBOLS_SYSCALLS_H
#define HP_SYMBOLS_SYSCALLS_H

#include "hotpath/isa.h"

/* The name that Linux has for a number; NULL: none is known. */
const char *hp_syscall_name(enum hp_arch arch, uint32_t number);

#endif
