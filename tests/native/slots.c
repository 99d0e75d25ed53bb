// SPDX-License-Identifier: MIT
/*
 * Jumps and calls through slots, as in a PLT: bound when they are first executed, never, at every
 * execution; slots that change, whose targets are replaced by other code, that cannot be read.
 */
#define _GNU_SOURCE
#include "parts.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define TIMES 3000

/* On a page of its own. */
extern void *slot, *binds_to;
extern char entry[], marked[], binder[], never[], other_binder[];
int by_entry(int x), by_marked(int x), by_call(int x);
int one(int x), two(int x);
uint64_t keeps(uint64_t flags);

__asm__(
    ".section .slots, \"aw\", @progbits\n"
    ".balign 4096\n"
    ".globl slot\n"
    "slot: .quad 0\n"
    ".balign 4096\n"
    ".data\n"
    ".globl binds_to\n"
    "binds_to: .quad 0\n"
    ".text\n"
    /* The PLT: its header binds the slot, or does not. */
    "header: push %rax\n"
    "mov binds_to(%rip), %rax\n"
    "mov %rax, slot(%rip)\n"
    "pop %rax\n"
    "lea 8(%rsp), %rsp\n" /* the number */
    "jmp *binds_to(%rip)\n"
    "header_never: lea 8(%rsp), %rsp\n"
    "jmp *binds_to(%rip)\n"
    ".balign 16\n"
    ".globl entry, binder, marked, other_binder, never\n"
    "entry: jmp *slot(%rip)\n"
    "binder: push $0\n"
    ".byte 0xe9\n .long header - . - 4\n"
    ".balign 16\n"
    "marked: endbr64\n"
    "bnd jmp *slot(%rip)\n"
    ".balign 16\n"
    "other_binder: endbr64\n"
    "push $0\n"
    "bnd jmp header_bnd\n"
    "header_bnd: jmp header\n"
    ".balign 16\n"
    "never: push $0\n"
    ".byte 0xe9\n .long header_never - . - 4\n"
    ".globl by_entry, by_marked, by_call\n"
    "by_entry: call entry\n ret\n"
    "by_marked: call marked\n ret\n"
    "by_call: call *slot(%rip)\n ret\n"
    /* Goes through the slot with known registers and these flags; 1: all arrived as they were. */
    ".globl keeps, kept\n"
    "keeps: push %rbx\n push %rbp\n"
    "mov $0x1111111111, %rax\n mov $0x2222222222, %rcx\n mov $0x3333333333, %rdx\n"
    "mov $0x4444444444, %rbx\n mov $0x5555555555, %rsi\n mov $0x6666666666, %r11\n"
    "push %rdi\n popf\n"
    "call entry\n"
    "pop %rbp\n pop %rbx\n ret\n"
    "kept: pushf\n pop %r8\n"
    "xor %r9d, %r9d\n"
    "mov $0x1111111111, %r10\n cmp %r10, %rax\n jne 1f\n"
    "mov $0x2222222222, %r10\n cmp %r10, %rcx\n jne 1f\n"
    "mov $0x3333333333, %r10\n cmp %r10, %rdx\n jne 1f\n"
    "mov $0x4444444444, %r10\n cmp %r10, %rbx\n jne 1f\n"
    "mov $0x5555555555, %r10\n cmp %r10, %rsi\n jne 1f\n"
    "mov $0x6666666666, %r10\n cmp %r10, %r11\n jne 1f\n"
    "xor %rdi, %r8\n test $0xcd5, %r8d\n jne 1f\n"
    "inc %r9d\n"
    "1: mov %r9, %rax\n ret\n");
extern char kept[];

int one(int x)
{
    return x + 1;
}

int two(int x)
{
    return 2 * x;
}

static void print_sum(const char *what, int (*through)(int))
{
    unsigned sum = 0;
    for (int i = 0; i < TIMES; i++)
        sum = sum * 3 + (unsigned)through(i);
    printf("%s %u\n", what, sum);
}

static void in_every_way(const char *what, void *at_first)
{
    int (*ways[])(int) = {by_entry, by_marked, by_call};
    for (int i = 0; i < 3; i++) {
        slot = at_first;
        print_sum(what, ways[i]);
    }
}

static void bound(void)
{
    in_every_way("one", one);
    in_every_way("two", two);
}

static void lazy(void)
{
    binds_to = one;
    in_every_way("bound", binder);
    in_every_way("marked", other_binder);
    binds_to = two;
    in_every_way("anew", binder);
    in_every_way("never", never);
    in_every_way("and then", binder);
}

static void changes(void)
{
    unsigned sum = 0;
    binds_to = one;
    for (int every = 1; every < 200; every = every * 3 + 1)
        for (int i = 0; i < TIMES; i++) {
            if (i % every == 0)
                slot = (void *[]){one, two, binder, never}[i / every % 4];
            sum = sum * 5 + (unsigned)(by_entry(i) + by_marked(i) + by_call(i));
        }
    printf("%u\n", sum);
}

static void registers(void)
{
    static const uint64_t flags[] = {0x202, 0x203, 0x206, 0x212, 0x242, 0x282, 0xa02, 0xad7, 0x602};
    uint64_t good = 0;
    slot = binds_to = kept;
    for (int round = 0; round < 300; round++)
        for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
            if (round % 3 == 2)
                slot = i % 2 ? never : binder;
            good += keeps(flags[i]);
            __asm__ volatile("cld");
        }
    printf("%lu\n", good);
}

static volatile unsigned ticks;

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

static void ticking(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never_again = {{0, 0}, {0, 0}};
    uint64_t good = 0, n = 0;
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &often, NULL);
    slot = binds_to = kept;
    while (ticks < 500) {
        good += keeps(0x202 | (n & 1));
        n++;
    }
    setitimer(ITIMER_REAL, &never_again, NULL);
    CHECK(good == n);
    puts("kept");
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    (void)number;
    CHECK(info->si_addr == &slot);
    CHECK(uc->uc_mcontext.gregs[REG_RIP] == (greg_t)entry);
    CHECK(uc->uc_mcontext.gregs[REG_RAX] == 0x1111111111);
    CHECK(uc->uc_mcontext.gregs[REG_RCX] == 0x2222222222);
    CHECK(uc->uc_mcontext.gregs[REG_R11] == 0x6666666666);
    mprotect(&slot, 4096, PROT_READ | PROT_WRITE);
}

/* The slot can be read again when its fault is handled. */
static void unreadable(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    uint64_t good = 0;
    sigaction(SIGSEGV, &action, NULL);
    slot = kept;
    for (int i = 0; i < 200; i++) {
        if (i % 4 == 1)
            mprotect(&slot, 4096, PROT_NONE);
        good += keeps(0x203);
    }
    printf("%lu\n", good);
}

/* The slot stays the same, and what is there changes. */
static void libraries(void)
{
    char path[4096];
    unsigned sum = 0;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    CHECK(n > 0);
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    for (int i = 0; i < 60; i++) {
        sprintf(slash, "/libpart%c.so", "ab"[i % 2]);
        void *library = dlopen(path, RTLD_NOW);
        CHECK(library);
        slot = dlsym(library, "part_value");
        CHECK(slot);
        for (int j = 0; j < 100; j++)
            sum = sum * 7 + (unsigned)(by_entry(j) + by_marked(j) + by_call(j));
        dlclose(library);
    }
    printf("%u\n", sum);
}

static __attribute__((noinline)) unsigned loop(void)
{
    unsigned sum = 0;
    for (int i = 0; i < 100000; i++)
        sum += (unsigned)by_entry(i);
    return sum;
}

/* The slot is bound before any of the code is executed that goes through it. */
static void calls(void)
{
    unsigned (*volatile later)(void) = loop;
    slot = one;
    printf("%u\n", later());
}

static const struct part parts[] = {
    {"bound", bound},         {"lazy", lazy},       {"changes", changes},
    {"registers", registers}, {"ticking", ticking}, {"unreadable", unreadable},
    {"libraries", libraries}, {"calls", calls},     {NULL, NULL},
};

int main(int argc, char **argv)
{
    return run_part(parts, argc, argv);
}
