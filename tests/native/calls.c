// SPDX-License-Identifier: MIT
/* System calls that an engine answers itself or has to follow: their numbers, errors and filters. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UPPER 0x5a5a5a5a00000000u /* of a number: the kernel does not look at it */

/* The kernel's answer, for a number of 64 bits. */
static long call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
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

static int status_of(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static volatile int caught;

static void count_signal(int number)
{
    caught += number;
}

static void numbers(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action;
    struct sigaction libc_action = {.sa_handler = count_signal};
    sigaction(SIGUSR2, &libc_action, NULL);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR2, 0, (uint64_t)&action, 8) == 0);
    CHECK(action.handler == count_signal);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR1, (uint64_t)&action, 0, 8) == 0);
    raise(SIGUSR1);
    printf("caught %d\n", caught);
    long child = call(UPPER | SYS_fork, 0, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit_group, 7, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    child = call(SYS_clone, UPPER | SIGCHLD, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit, 8, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    printf("x32 %ld, none %ld, negative %ld\n", call(0x40000000 | SYS_getpid, 0, 0, 0, 0),
           call(UPPER | 1000, 0, 0, 0, 0), call((uint64_t)-1, 0, 0, 0, 0));
    CHECK(call(UPPER | 0xffffffffu, 0, 0, 0, 0) == -ENOSYS);
}

static const struct part parts[] = {
    {"numbers", numbers},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
