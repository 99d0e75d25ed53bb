// SPDX-License-Identifier: MIT
#include "rt.h"

__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start: xor %ebp, %ebp\n"
        "        and $-16, %rsp\n"
        "        call main\n"
        "        mov %eax, %edi\n"
        "        call rt_exit\n"
        ".size _start, . - _start\n");

/* The compiler may ask for these; plain loops, or it would make them call themselves. */
void *memset(void *to, int byte, u64 size);
void *memcpy(void *to, const void *from, u64 size);

void *memset(void *to, int byte, u64 size)
{
    for (volatile u8 *at = to; size; size--)
        *at++ = (u8)byte;
    return to;
}

void *memcpy(void *to, const void *from, u64 size)
{
    volatile u8 *at = to;
    for (const u8 *source = from; size; size--)
        *at++ = *source++;
    return to;
}

static long system_call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

long rt_write(int fd, const void *data, u64 size)
{
    return system_call(1, fd, (long)data, (long)size);
}

void rt_exit(int status)
{
    for (;;)
        system_call(60, status, 0, 0);
}

void rt_print(u64 number)
{
    char text[24];
    int at = 23;
    text[at] = '\n';
    do
        text[--at] = (char)('0' + number % 10);
    while (number /= 10);
    rt_write(1, text + at, (u64)(24 - at));
}
