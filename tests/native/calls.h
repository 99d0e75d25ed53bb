// SPDX-License-Identifier: MIT
/* What the programs that make system calls share. */
#ifndef CALLS_H
#define CALLS_H

#define _GNU_SOURCE
#include "parts.h"

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#define UPPER 0x5a5a5a5a00000000u /* of a number: the kernel does not look at it */

/* The kernel's answer, for a number of 64 bits. */
static inline long call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    long result;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = 0;
    register uint64_t r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline int status_of(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static volatile int caught;

static inline void count_signal(int number)
{
    caught += number;
}

static char child_stack[65536] __attribute__((aligned(16), unused));

#endif
