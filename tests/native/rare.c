// SPDX-License-Identifier: MIT
/* Instructions that are seldom seen: operands relative to GS, far transfers, other system calls. */
#define _GNU_SOURCE
#include "parts.h"

#include <asm/prctl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static void set_gs(const void *base)
{
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, base) == 0);
}

static void on(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handler;
    CHECK(sigaction(number, &action, NULL) == 0);
}

/* --- GS ---------------------------------------------------------------------------------------- */

static char *pages; /* two, the second without access */

static void open_gate(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    printf("fault at +%ld, rsi %lld, rcx %lld, rbx %llx\n", (long)((char *)info->si_addr - pages),
           r[REG_RSI], r[REG_RCX], r[REG_RBX]);
    CHECK(mprotect(pages, 8192, PROT_READ | PROT_WRITE) == 0);
}

/* The handler sees how far the instruction came, and it goes on from there. */
static void gs_fault(void)
{
    char to[100];
    uint64_t from = 0, count = 100;
    void *at = to;
    pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 100; i++)
        pages[4096 - 64 + i] = (char)i;
    CHECK(mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    on(SIGSEGV, open_gate);
    set_gs(pages + 4096 - 64);
    __asm__ volatile("mov $0x1234, %%ebx; rep movsb %%gs:(%%rsi), (%%rdi)"
                     : "+S"(from), "+D"(at), "+c"(count)
                     :
                     : "rbx", "memory");
    printf("rsi %ld, rcx %ld, rdi +%ld\n", (long)from, (long)count, (long)((char *)at - to));
    for (int i = 0; i < 100; i++)
        CHECK(to[i] == i);
}

static volatile int ticks;

static void tick(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    if (r[REG_R12] == 0x600d) /* in the string instruction, or next to it */
        CHECK((uint64_t)r[REG_RSI] <= 1 << 20 && r[REG_RSI] + r[REG_RCX] == 1 << 20);
    ticks++;
}

/* Signals in the middle of a long one. */
static void gs_signals(void)
{
    const uint64_t size = 1 << 20;
    char *from = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *to = from + size;
    for (uint64_t i = 0; i < size; i++)
        from[i] = (char)(i * 7 + (i >> 8));
    struct itimerval timer = {{0, 100}, {0, 100}};
    on(SIGALRM, tick);
    set_gs(from);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int round = 0; round < 20 || ticks < 20; round++) {
        uint64_t rsi = 0, rcx = size;
        void *rdi = to;
        __asm__ volatile("mov $0, %%r12d; mov $0, %%esi; mov $1 << 20, %%ecx; mov $0x600d, %%r12d\n"
                         "rep movsb %%gs:(%%rsi), (%%rdi); mov $0, %%r12d"
                         : "+S"(rsi), "+D"(rdi), "+c"(rcx)
                         :
                         : "r12", "memory");
        CHECK(memcmp(from, to, size) == 0);
        memset(to, 0, size);
    }
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"gs_fault", gs_fault},
        {"gs_signals", gs_signals},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
