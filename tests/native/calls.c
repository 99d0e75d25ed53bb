// SPDX-License-Identifier: MIT
/* System calls that an engine answers itself or has to follow: their numbers, errors and filters. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <linux/sched.h>
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

/* --- clone3 ----------------------------------------------------------------------------------- */

static struct clone_args *at_page_end(size_t size)
{
    char *pages = mmap(NULL, 8192 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + 8192, 8192) == 0);
    return (struct clone_args *)(pages + 8192 - size);
}

static void try_clone3(const char *what, struct clone_args *args, uint64_t size)
{
    long result = call(SYS_clone3, (uint64_t)args, size, 0, 0);
    if (result == 0)
        _exit(3);
    if (result > 0)
        printf("%s: a child, %x\n", what, (unsigned)status_of((pid_t)result));
    else
        printf("%s: %ld\n", what, result);
}

static void clone3_sizes(void)
{
    static const unsigned sizes[] = {0, 8, 63, 64, 72, 80, 84, 88, 89, 96, 4096, 4097, 8192};
    char text[40];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct clone_args *args = at_page_end(sizes[i] > 64 ? sizes[i] : 64);
        args->exit_signal = SIGCHLD;
        snprintf(text, sizeof text, "size %u", sizes[i]);
        try_clone3(text, args, sizes[i]);
        snprintf(text, sizeof text, "size %u, too little there", sizes[i]);
        try_clone3(text, args, sizes[i] + 8);
        if (sizes[i] > 88) {
            ((char *)args)[sizes[i] - 1] = 1;
            snprintf(text, sizeof text, "size %u, not 0", sizes[i]);
            try_clone3(text, args, sizes[i]);
        }
    }
    struct clone_args bad = {.exit_signal = SIGCHLD, .stack = 4096};
    try_clone3("stack without size", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack_size = 4096};
    try_clone3("size without stack", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack = 1ull << 62, .stack_size = 4096};
    try_clone3("stack nowhere", &bad, sizeof bad);
    bad = (struct clone_args){.flags = CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM,
                              .exit_signal = SIGCHLD};
    try_clone3("handlers cleared and shared", &bad, sizeof bad);
    bad = (struct clone_args){.flags = 1ull << 40, .exit_signal = SIGCHLD};
    try_clone3("unknown flag", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = 100};
    try_clone3("no such signal", &bad, sizeof bad);
    try_clone3("nowhere", NULL, sizeof bad);
}

/* --- Handlers of a child with shared memory --------------------------------------------------- */

static char child_stack[65536] __attribute__((aligned(16)));

static int child_changes_handlers(void *unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = SIG_IGN}, old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == count_signal);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    action.sa_handler = SIG_DFL;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    _exit(0);
}

static int child_has_no_handlers(void *unused)
{
    (void)unused;
    struct sigaction old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN);
    raise(SIGUSR1);
    _exit(0);
}

/* As clone(), but by clone3. */
static pid_t clone3_with_stack(int (*function)(void *), uint64_t flags)
{
    struct clone_args args = {.flags = flags,
                              .exit_signal = SIGCHLD,
                              .stack = (uint64_t)child_stack,
                              .stack_size = sizeof child_stack};
    long result;
    register int (*kept)(void *) __asm__("r12") = function;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jne 1f\n\t"
                     "xorl %%edi, %%edi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), "r"(kept)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

static void handlers_of_children(void)
{
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        uint64_t flags = CLONE_VM | (i ? CLONE_VFORK : 0);
        printf("changed %x\n",
               (unsigned)status_of(clone3_with_stack(child_changes_handlers, flags)));
        caught = 0;
        raise(SIGUSR1);
        raise(SIGUSR2);
        printf("caught %d\n", caught);
        flags |= CLONE_CLEAR_SIGHAND;
        printf("cleared %x\n",
               (unsigned)status_of(clone3_with_stack(child_has_no_handlers, flags)));
        raise(SIGUSR1);
        printf("caught %d\n", caught);
    }
    pid_t shared = clone3_with_stack(child_changes_handlers, CLONE_VM | CLONE_SIGHAND);
    printf("shared %x\n", (unsigned)status_of(shared));
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0);
    printf("ignored %d\n", action.sa_handler == SIG_IGN);
}

static const struct part parts[] = {
    {"numbers", numbers},
    {"clone3", clone3_sizes},
    {"handlers", handlers_of_children},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
