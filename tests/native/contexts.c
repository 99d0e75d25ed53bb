// SPDX-License-Identifier: MIT
/* Control that does not go by calls and returns, and very many threads. */
#define _GNU_SOURCE
#include "parts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* --- Threads ---------------------------------------------------------------------------------- */

static _Thread_local uint64_t own = 1;
static atomic_long total;

static void *worker(void *argument)
{
    for (uint64_t i = 0; i < 2000; i++)
        own = own * 6364136223846793005u + i + (uint64_t)(uintptr_t)argument;
    atomic_fetch_add(&total, (long)(own & 0xffff));
    return (void *)(uintptr_t)(own & 0xffff);
}

static void threads(void)
{
    static pthread_t thread[200];
    for (int round_ = 0; round_ < 3; round_++) {
        long sum = 0;
        void *one;
        for (int i = 0; i < 200; i++)
            CHECK(pthread_create(&thread[i], NULL, worker, (void *)(uintptr_t)(i + 1)) == 0);
        for (int i = 0; i < 200; i++) {
            CHECK(pthread_join(thread[i], &one) == 0);
            sum += (long)(uintptr_t)one;
        }
        printf("round %d: %ld %ld\n", round_, sum, atomic_exchange(&total, 0));
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void *player(void *argument)
{
    int me = *(int *)argument;
    for (int i = 0; i < 500; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != me)
            pthread_cond_wait(&condition, &mutex);
        turn = !me;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void ping_pong(void)
{
    pthread_t thread[2];
    int number[2] = {0, 1};
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, player, &number[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    printf("turn %d\n", turn);
}

/* --- setjmp ----------------------------------------------------------------------------------- */

static jmp_buf place;

__attribute__((noinline)) static int down(int n)
{
    static volatile int ground;
    if (n == ground)
        longjmp(place, 42);
    return n < 0 ? 0 : down(n - 1) + 1;
}

static void jumps(void)
{
    volatile long landed = 0;
    for (volatile int i = 0; i < 1000; i++) {
        int value = setjmp(place);
        if (value == 0)
            down(i % 60);
        else
            landed += value;
    }
    printf("landed %ld\n", landed);
}

/* --- swapcontext ------------------------------------------------------------------------------ */

static ucontext_t main_context, contexts[3];
static long produced;

static void generator(int number)
{
    for (int i = 0; i < 100; i++) {
        produced += number * i;
        CHECK(swapcontext(&contexts[number], &contexts[(number + 1) % 3]) == 0);
    }
    produced += 1000000;
}

static void swaps(void)
{
    for (volatile int i = 0; i < 3; i++) {
        CHECK(getcontext(&contexts[i]) == 0);
        contexts[i].uc_stack.ss_size = 65536;
        contexts[i].uc_stack.ss_sp = malloc(65536);
        contexts[i].uc_link = &main_context;
        makecontext(&contexts[i], (void (*)(void))(void *)generator, 1, i);
    }
    CHECK(swapcontext(&main_context, &contexts[0]) == 0);
    printf("produced %ld\n", produced);
}

/* --- Coroutines by hand ----------------------------------------------------------------------- */

/* Keeps what a function must keep on the old stack and returns on the new one. */
void coroutine_switch(void **old, void *new);
__asm__("    .text\n"
        "    .globl coroutine_switch\n"
        "    .type coroutine_switch, @function\n"
        "coroutine_switch:\n"
        "    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "    ret\n"
        /* The same, by an indirect jump. */
        "    .globl coroutine_jump\n"
        "    .type coroutine_jump, @function\n"
        "coroutine_jump:\n"
        "    push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "    pop %rcx\n"
        "    jmp *%rcx\n");
void coroutine_jump(void **old, void *new);

enum { COROUTINES = 50 };
static void *main_stack, *stacks[COROUTINES];
static int current;
static uint64_t hash = 1;

static void coroutine(void)
{
    for (uint64_t i = 0;; i++) {
        int me = current;
        hash = hash * 31 + (uint64_t)me + i;
        if (i % 3 == 0)
            coroutine_jump(&stacks[me], main_stack);
        else
            coroutine_switch(&stacks[me], main_stack);
    }
}

static void coroutines(void)
{
    for (int i = 0; i < COROUTINES; i++) {
        uintptr_t *stack = (uintptr_t *)((char *)malloc(65536) + 65536 - 64);
        stack = (uintptr_t *)((uintptr_t)stack & ~(uintptr_t)15) - 1;
        *--stack = (uintptr_t)coroutine; /* returned to, never called */
        for (int k = 0; k < 6; k++)
            *--stack = 0;
        stacks[i] = stack;
    }
    for (int n = 0; n < 5000; n++) {
        current = (n * 7) % COROUTINES;
        coroutine_switch(&main_stack, stacks[current]);
    }
    printf("hash %016lx\n", (unsigned long)hash);
}

/* --- Deep ------------------------------------------------------------------------------------- */

__attribute__((noinline)) static uint64_t deep(uint64_t n)
{
    volatile uint64_t here = n;
    return n == 0 ? 0 : deep(n - 1) + here;
}

static void recursion(void)
{
    printf("sum %lu\n", (unsigned long)deep(50000));
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"threads", threads},       {"ping-pong", ping_pong}, {"jumps", jumps}, {"swaps", swaps},
        {"coroutines", coroutines}, {"recursion", recursion}, {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
