// SPDX-License-Identifier: MIT
/*
 * Signals, each kind a known number of times. The first argument says which: raise, timer, segv,
 * nested, altstack, jump. What cannot be known beforehand is printed.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t ticks;
static volatile int sink;
static sigjmp_buf env;
static char *guarded;
static long page = 4096 * 16; /* at least a page on every machine */

static void install(int sig, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(sig, &action, NULL);
}

static void on_usr1(int sig)
{
    sink += sig;
}

static void raise_all(void)
{
    install(SIGUSR1, on_usr1, 0);
    for (int i = 0; i < 50; i++)
        raise(SIGUSR1);
}

static void on_alarm(int sig)
{
    (void)sig;
    ticks++;
}

static void timer(void)
{
    struct itimerval interval = {{0, 2000}, {0, 2000}};
    struct itimerval off = {{0, 0}, {0, 0}};
    long n = 0;
    install(SIGALRM, on_alarm, 0);
    setitimer(ITIMER_REAL, &interval, NULL);
    while (ticks < 20) /* @spin */
        n++;           /* @spun */
    setitimer(ITIMER_REAL, &off, NULL);
    printf("%ld %d\n", n, (int)ticks);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    char *at = guarded + ((char *)info->si_addr - guarded) / page * page;
    mprotect(at, (size_t)page, PROT_READ | PROT_WRITE);
}

static void store(int i)
{
    guarded[i * page + 5] = (char)i; /* @store */
}

static void segv(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    guarded = mmap(NULL, (size_t)page * 6, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round_ = 0; round_ < 3; round_++)
        for (int i = 0; i < 6; i++)
            store(i);
}

static void innermost(int sig)
{
    sink += sig;
}

static void middle(int sig)
{
    sink += sig;
    raise(SIGTERM);
    raise(SIGTERM);
}

static void outer(int sig)
{
    sink += sig;
    raise(SIGUSR2);
}

static void nested(void)
{
    install(SIGUSR1, outer, 0);
    install(SIGUSR2, middle, 0);
    install(SIGTERM, innermost, 0);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
}

static void altstack(void)
{
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_size = 65536;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, NULL);
    install(SIGUSR1, on_usr1, SA_ONSTACK);
    for (int i = 0; i < 15; i++)
        raise(SIGUSR1);
}

static void on_jump(int sig)
{
    siglongjmp(env, sig);
}

static void thrown(void)
{
    sink++;
}

static void jump(void)
{
    install(SIGUSR1, on_jump, 0);
    for (ticks = 0; ticks < 100; ticks++) {
        if (sigsetjmp(env, 1) == 0)
            raise(SIGUSR1);
        else
            thrown();
    }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "raise";
    if (strcmp(which, "raise") == 0)
        raise_all();
    else if (strcmp(which, "timer") == 0)
        timer();
    else if (strcmp(which, "segv") == 0)
        segv();
    else if (strcmp(which, "nested") == 0)
        nested();
    else if (strcmp(which, "altstack") == 0)
        altstack();
    else if (strcmp(which, "jump") == 0)
        jump();
    else
        return 2;
    return 0;
}
