// SPDX-License-Identifier: MIT
/*
 * A runtime for programs without a C library, so that every instruction they run is in their own
 * source: no start-up that looks at the processor, no string instructions, nothing that differs
 * from machine to machine. x86-64.
 */
#ifndef RT_H
#define RT_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

long rt_write(int fd, const void *data, u64 size);
void rt_exit(int status) __attribute__((noreturn));

/* Prints a number and a newline. */
void rt_print(u64 number);

/* A pseudo-random sequence, the same everywhere. */
static inline u32 rt_random(u32 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

int main(void);

#endif
