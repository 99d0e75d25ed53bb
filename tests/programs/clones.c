// SPDX-License-Identifier: MIT
/*
 * Threads without a library, one after the other. Nothing depends on time: the wait for a thread is
 * one system call whether or not it is over already.
 */
#include "rt.h"

#define THREADS 4

static u64 stacks[THREADS][512];
static volatile u32 running; /* cleared by the kernel when the thread is gone */
static volatile u64 sums[THREADS];
static u8 line[128] __attribute__((aligned(64)));

/* Starts a thread that calls function(argument) on `stack` and ends; returns its id. */
long start_thread(void (*function)(long), long argument, u64 *stack, volatile u32 *id);
__asm__(".globl start_thread\n"
        ".type start_thread, @function\n"
        "start_thread:\n"
        "        sub $16, %rdx\n"
        "        mov %rdi, (%rdx)\n"
        "        mov %rsi, 8(%rdx)\n"
        "        mov $0x350f00, %edi\n" /* VM FS FILES SIGHAND THREAD SYSVSEM PARENT_SETTID
                                            CHILD_CLEARTID */
        "        mov %rdx, %rsi\n"
        "        mov %rcx, %rdx\n"
        "        mov %rcx, %r10\n"
        "        mov $56, %eax\n"
        "        syscall\n"
        "        test %eax, %eax\n"
        "        jz 1f\n"
        "        ret\n"
        "1:      pop %rax\n"
        "        pop %rdi\n"
        "        call *%rax\n"
        "        mov $60, %eax\n"
        "        xor %edi, %edi\n"
        "        syscall\n"
        ".size start_thread, . - start_thread\n");

/* Waits until *place is no longer `value`. */
void wait_while(volatile u32 *place, u32 value);
__asm__(".globl wait_while\n"
        ".type wait_while, @function\n"
        "wait_while:\n"
        "        mov %esi, %edx\n"
        "        xor %esi, %esi\n"
        "        xor %r10d, %r10d\n"
        "        mov $202, %eax\n"
        "        syscall\n"
        "        ret\n"
        ".size wait_while, . - wait_while\n");

/* Adds 1 to *place `n` times, each a locked instruction at the start of a loop of one block. */
void add_locked(void *place, int n);
__asm__(".globl add_locked\n"
        ".type add_locked, @function\n"
        "add_locked:\n"
        "        nop\n"
        "1:      lock incl (%rdi)\n"
        "        dec %esi\n"
        "        jnz 1b\n"
        "        ret\n"
        ".size add_locked, . - add_locked\n");

static void work(long i)
{
    sums[i]++;
}

static void body(long i)
{
    for (long n = 0; n < 100 * (i + 1); n++) /* @loop */
        work(i);
    add_locked(line + 62,
               10); /* across two cache lines: translators redo that with all else halted */
}

int main(void)
{
    for (long i = 0; i < THREADS; i++) {
        long id = start_thread(body, i, stacks[i] + 512, &running);
        wait_while(&running, (u32)id);
    }
    u64 sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += sums[i];
    rt_print(sum);
    return sum == 1000 && line[62] == 10 * THREADS ? 0 : 1;
}
