// SPDX-License-Identifier: MIT
/*
 * System calls without a libc: they return the kernel's result, -errno included.
 */
#ifndef HP_NATIVE_SYS_H
#define HP_NATIVE_SYS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static inline long hp_sys6(long n, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long hp_sys4(long n, long a, long b, long c, long d)
{
    return hp_sys6(n, a, b, c, d, 0, 0);
}

static inline long hp_sys3(long n, long a, long b, long c)
{
    return hp_sys6(n, a, b, c, 0, 0, 0);
}

static inline long hp_sys2(long n, long a, long b)
{
    return hp_sys6(n, a, b, 0, 0, 0, 0);
}

static inline long hp_sys1(long n, long a)
{
    return hp_sys6(n, a, 0, 0, 0, 0, 0);
}

static inline bool hp_sys_failed(long result)
{
    return (unsigned long)result >= (unsigned long)-4095;
}

#endif
