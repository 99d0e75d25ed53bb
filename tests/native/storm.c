// SPDX-License-Identifier: MIT
/* Asynchronous signals: storms into tight loops, nested, on other stacks, left by siglongjmp. */
#define _GNU_SOURCE
#include "parts.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, TICKS = 200 };

static atomic_int ticks;

static void install(int signal_, void (*handler)(int), int flags)
{
    struct sigaction action = {0};
    action.sa_handler = handler;
    action.sa_flags = flags;
    CHECK(sigaction(signal_, &action, NULL) == 0);
}

static void every_millisecond(int on)
{
    struct itimerval interval = {{0, on ? 1000 : 0}, {0, on ? 1000 : 0}};
    CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);
}

static void count_tick(int signal_)
{
    (void)signal_;
    atomic_fetch_add(&ticks, 1);
}

/* A loop whose registers and flags all matter; the same result whatever interrupts it. */
static uint64_t mix(uint64_t n)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    double x = 1;
    for (uint64_t i = 0; i < n; i++) {
        a += b ^ i;
        __asm__ volatile("add %1, %0; adc %2, %1; rcl $1, %2; sbb %0, %2"
                         : "+r"(b), "+r"(c), "+r"(d)
                         :
                         : "cc");
        x = x * 1.0000001 + (double)(i & 3);
        if (a & 1)
            a = a * 3 + 1;
        else
            a >>= 1;
    }
    return a ^ b ^ c ^ d ^ (uint64_t)x;
}

/* --- Storms ----------------------------------------------------------------------------------- */

static void *storm_thread(void *want)
{
    long rounds = 0;
    while (atomic_load(&ticks) < TICKS) {
        CHECK(mix(20000) == *(uint64_t *)want);
        rounds++;
    }
    return (void *)(intptr_t)(rounds >= 0);
}

static void threads(void)
{
    pthread_t thread[THREADS];
    uint64_t want = mix(20000);
    install(SIGALRM, count_tick, SA_RESTART);
    every_millisecond(1);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, storm_thread, &want) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    every_millisecond(0);
    CHECK(atomic_load(&ticks) >= TICKS);
    puts("every sum was right");
}

/* Each thread its own timer, and its handler on its own alternate stack. */
static _Thread_local int own_ticks;
static _Thread_local char *own_stack;
static _Thread_local atomic_int outside;

static void on_own_stack(int signal_)
{
    char here;
    (void)signal_;
    if (&here < own_stack || &here >= own_stack + 65536)
        atomic_store(&outside, 1);
    own_ticks++;
}

static void *altstack_thread(void *want)
{
    stack_t stack = {0}, old;
    struct sigevent event = {0};
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    own_stack = malloc(65536);
    stack.ss_sp = own_stack;
    stack.ss_size = 65536;
    CHECK(sigaltstack(&stack, NULL) == 0);
    CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == own_stack && old.ss_size == 65536 &&
          old.ss_flags == 0);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &every, NULL) == 0);
    while (*(volatile int *)&own_ticks < 100)
        CHECK(mix(5000) == *(uint64_t *)want);
    CHECK(timer_delete(timer) == 0);
    CHECK(!atomic_load(&outside));
    return NULL;
}

static void altstacks(void)
{
    pthread_t thread[THREADS];
    uint64_t want = mix(5000);
    install(SIGUSR1, on_own_stack, SA_ONSTACK);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, altstack_thread, &want) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    puts("every handler was on its stack");
}

/* --- Nested ----------------------------------------------------------------------------------- */

static atomic_int depth, deepest;

static void nest(int signal_)
{
    int now = atomic_fetch_add(&depth, 1) + 1;
    if (now > atomic_load(&deepest))
        atomic_store(&deepest, now);
    if (signal_ == SIGALRM) {
        raise(SIGUSR1);
        atomic_fetch_add(&ticks, 1);
    } else if (signal_ == SIGUSR1) {
        raise(SIGUSR2);
    }
    atomic_fetch_sub(&depth, 1);
}

static void nested(void)
{
    uint64_t want = mix(3000);
    install(SIGALRM, nest, 0);
    install(SIGUSR1, nest, 0);
    install(SIGUSR2, nest, SA_NODEFER);
    every_millisecond(1);
    while (atomic_load(&ticks) < TICKS)
        CHECK(mix(3000) == want);
    every_millisecond(0);
    CHECK(atomic_load(&deepest) >= 3 && atomic_load(&depth) == 0);
    puts("nested three deep and all came back");
}

/* --- Leaving a handler for good --------------------------------------------------------------- */

static sigjmp_buf out;
static volatile sig_atomic_t armed;

static void leave(int signal_)
{
    if (!armed)
        return;
    armed = 0;
    atomic_fetch_add(&ticks, 1);
    siglongjmp(out, signal_);
}

static void jumps(void)
{
    volatile int landed = 0;
    install(SIGALRM, leave, 0);
    every_millisecond(1);
    while (atomic_load(&ticks) < TICKS) {
        if (sigsetjmp(out, 1) == 0) {
            armed = 1;
            for (;;)
                mix(100);
        }
        landed++;
    }
    every_millisecond(0);
    CHECK(landed == atomic_load(&ticks));
    puts("every jump landed");
}

/* --- Registers -------------------------------------------------------------------------------- */

static void *registers_thread(void *unused)
{
    uint64_t bad = 0;
    (void)unused;
    while (atomic_load(&ticks) < TICKS) {
        uint64_t n = 100000;
        __asm__ volatile("mov $0x1111, %%r8; mov $0x2222, %%r9; mov $0x3333, %%r10;"
                         "mov $0x4444, %%r11; movq %%r8, %%xmm7; mov $0x77, %%edi; kernel%=:"
                         "stc; mov %%rdi, -64(%%rsp); jmp 1f; 1: jnc 9f;"
                         "cmp $0x1111, %%r8; jne 9f; cmp $0x2222, %%r9; jne 9f;"
                         "cmp $0x3333, %%r10; jne 9f; cmp $0x4444, %%r11; jne 9f;"
                         "movq %%xmm7, %%rsi; cmp %%rsi, %%r8; jne 9f;"
                         "cmp %%rdi, -64(%%rsp); jne 9f;"
                         "lea -1(%%rcx), %%rcx; jrcxz 2f; jmp kernel%=; 9: inc %%rax; 2:"
                         : "+a"(bad), "+c"(n)
                         :
                         : "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm7", "cc", "memory");
    }
    return (void *)(uintptr_t)bad;
}

static void registers(void)
{
    pthread_t thread[2];
    void *bad;
    install(SIGALRM, count_tick, SA_RESTART);
    every_millisecond(1);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, registers_thread, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(thread[i], &bad) == 0);
        CHECK(bad == NULL);
    }
    every_millisecond(0);
    puts("no register, flag or red zone changed");
}

/* --- Handlers that come and go ---------------------------------------------------------------- */

static void *kicker(void *target)
{
    for (int i = 0; i < 2000; i++) {
        pthread_kill(*(pthread_t *)target, SIGUSR1);
        if (i % 50 == 0)
            usleep(200);
    }
    atomic_store(&ticks, TICKS);
    return NULL;
}

static void changing(void)
{
    static atomic_int unused;
    pthread_t self = pthread_self(), thread;
    sigset_t set, old;
    install(SIGUSR1, SIG_IGN, 0);
    CHECK(pthread_create(&thread, NULL, kicker, &self) == 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    while (atomic_load(&ticks) < TICKS) {
        install(SIGUSR1, on_own_stack, 0); /* no alternate stack here: it only counts */
        mix(50);
        CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0 && !sigismember(&old, SIGUSR1));
        atomic_store(&unused, own_ticks);
        mix(50);
        CHECK(own_ticks == atomic_load(&unused)); /* blocked is blocked */
        CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
        install(SIGUSR1, SIG_IGN, 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    puts("blocked signals stayed away");
}

/* Threads that end while others are made, by many at once. */
static void *short_lived(void *given)
{
    return given;
}

static void *maker(void *given)
{
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        void *result;
        CHECK(pthread_create(&thread, NULL, short_lived, given) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == given);
    }
    return given;
}

static void makers(void)
{
    static int given;
    pthread_t threads[10];
    for (int i = 0; i < 10; i++)
        CHECK(pthread_create(&threads[i], NULL, maker, &given) == 0);
    for (int i = 0; i < 10; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    puts("ten made 1000 threads each");
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"threads", threads},     {"altstacks", altstacks}, {"nested", nested}, {"jumps", jumps},
        {"registers", registers}, {"changing", changing},   {"makers", makers}, {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
