// SPDX-License-Identifier: MIT
/* Instructions that are seldom seen: operands relative to GS, far transfers, other system calls. */
#define _GNU_SOURCE
#include "parts.h"

#include <asm/ldt.h>
#include <asm/prctl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
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

/* --- GS / ------------------------------------------------------------------------------------- */

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

static uint64_t gs_base(void)
{
    uint64_t base = 1;
    CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0);
    return base;
}

void gs_bad(uint32_t selector), gs_bad_at(void), gs_bad_on(void);
__asm__("    .text\n"
        "gs_bad: stc\n"
        "gs_bad_at: mov %edi, %gs\n"
        "gs_bad_on: ret\n");

static void gs_refused(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    printf("signal %d, code %d, %s, carry %lld\n", number, info->si_code,
           r[REG_RIP] == (greg_t)(uintptr_t)gs_bad_at ? "at it" : "elsewhere", r[REG_EFL] & 1);
    r[REG_RIP] = (greg_t)(uintptr_t)gs_bad_on;
}

/* GS loaded by a selector, of a descriptor of the program's own. */
static void gs_selectors(void)
{
    struct user_desc segment = {.limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1};
    uint64_t *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    struct {
        uint32_t offset;
        uint16_t selector;
    } pointer = {0x12345678, 7};
    uint64_t value = 0, selector = 0;
    low[0] = 0x1111;
    low[1] = 0x2222;
    segment.base_addr = (uint32_t)(uintptr_t)low;
    on(SIGSEGV, gs_refused);
    gs_bad(0x1007);
    set_gs(low + 1);
    __asm__ volatile("mov %1, %%gs; mov %%gs, %0" : "=r"(selector) : "r"(0));
    printf("null: base %lx, selector %lx\n", (long)gs_base(), (long)selector);
    if (syscall(SYS_modify_ldt, 1, &segment, sizeof segment) != 0) {
        puts("no descriptors");
        return;
    }
    __asm__ volatile("mov %2, %%gs; mov %%gs, %1; mov %%gs:0, %0"
                     : "=r"(value), "=r"(selector)
                     : "r"(7));
    printf("mov: base %lx, selector %lx, %lx\n", (long)gs_base(), (long)selector, (long)value);
    set_gs(low + 1);
    __asm__ volatile("mov %%gs, %1; mov %%gs:0, %0" : "=r"(value), "=r"(selector));
    printf("arch_prctl: base %lx, selector %lx, %lx\n", (long)gs_base(), (long)selector,
           (long)value);
    __asm__ volatile("push $7; pop %%gs; push %%gs; pop %1; mov %%gs:8, %0"
                     : "=r"(value), "=r"(selector));
    printf("pop: base %lx, selector %lx, %lx\n", (long)gs_base(), (long)selector, (long)value);
    set_gs(low + 1);
    __asm__ volatile("lgs %2, %k1; mov %%gs:0, %0" : "=r"(value), "=r"(selector) : "m"(pointer));
    printf("lgs: base %lx, %lx, %lx\n", (long)gs_base(), (long)selector, (long)value);
    if (fork() == 0) { /* a child has it too */
        __asm__ volatile("mov %%gs, %1; mov %%gs:0, %0" : "=r"(value), "=r"(selector));
        _exit(value == 0x1111 && selector == 7 ? 0 : 1);
    }
    int status;
    CHECK(wait(&status) > 0 && status == 0);
    set_gs(NULL);
}

/* --- Far transfers / -------------------------------------------------------------------------- */

/* A far return that faults: to a selector that does not exist, to no address, from no stack. */
void far_bad(uint64_t selector, uint64_t target), far_bad_at(void), far_bad_on(void);
void iret_bad(uint64_t cs, uint64_t ss), iret_bad_at(void), iret_bad_on(void);

__asm__("    .text\n"
        "far_bad: push %rbx; mov %rsp, %rbx; push %rdi; push %rsi; mov $77, %esi; stc\n"
        "far_bad_at: lretq\n"
        "far_bad_on: mov %rbx, %rsp; pop %rbx; ret\n"
        "iret_bad: push %rbx; mov %rsp, %rbx; push %rsi; push %rbx; pushfq; push %rdi\n"
        "    lea far_bad_on(%rip), %rax; push %rax\n"
        "iret_bad_at: iretq\n"
        "iret_bad_on: jmp far_bad_on\n");

static void skip(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    greg_t rip = r[REG_RIP];
    const char *where = rip == (greg_t)(uintptr_t)far_bad_at    ? "lret"
                        : rip == (greg_t)(uintptr_t)iret_bad_at ? "iret"
                                                                : "elsewhere";
    printf("signal %d, code %d, address %lx, at %s, rsi %lld, rsp %lld below, carry %lld\n", number,
           info->si_code, (long)info->si_addr, where, r[REG_RSI] == 77 ? 77ll : 0ll,
           r[REG_RBX] - r[REG_RSP], rip == (greg_t)(uintptr_t)far_bad_at ? r[REG_EFL] & 1 : 0);
    r[REG_RIP] = (greg_t)(uintptr_t)far_bad_on;
}

static void far_faults(void)
{
    on(SIGSEGV, skip);
    on(SIGBUS, skip);
    far_bad(0x1003, (uint64_t)(uintptr_t)far_bad_on);
    far_bad(0, (uint64_t)(uintptr_t)far_bad_on);
    far_bad(0x33, 0x8000000000000000);
    far_bad(0x33, 0x10);
    far_bad(0x30, (uint64_t)(uintptr_t)far_bad_on);
    iret_bad(0x1003, 0x2b);
    iret_bad(0x33, 0);
    iret_bad(0x33, 0x2b); /* a good one */
    iret_bad(0x33, 0x33);
}

/* Flags that IRET takes, those it must not, and that the stack is its own. */
static void far_flags(void)
{
    for (unsigned i = 0; i < 32; i++) {
        uint64_t flags = 1ull << i, got, other;
        if (flags == 0x100 || flags == 0x20000) /* traps; virtual 8086 */
            continue;
        __asm__ volatile("lea -512(%%rsp), %%rsp; mov %%rsp, %%rdx\n"
                         "push $0x2b; lea -256(%%rdx), %%rcx; push %%rcx; push %%rax; push $0x33\n"
                         "lea 1f(%%rip), %%rcx; push %%rcx; iretq\n"
                         "1: pushfq; popq %%rax; push $0x3202; popfq; mov %%rsp, %%rcx\n"
                         "lea 512(%%rdx), %%rsp; sub %%rcx, %%rdx"
                         : "=a"(got), "=d"(other)
                         : "a"(flags)
                         : "rcx", "memory", "cc");
        printf("%x: %lx, %ld\n", 1u << i, (long)got, (long)other);
    }
}

/* Out of 64-bit code and back, with threads and signals: nobody can watch that, but it works. */
static volatile bool stop;

static void *work(void *argument)
{
    volatile long *n = argument;
    while (!stop)
        ++*n;
    return NULL;
}

static void far_32(void)
{
    static const uint8_t code[] = {0x67, 0x48, 0xff, 0x2e,    /* 00: ljmp *(%esi), 64 bits */
                                   0xb8, 0x2a, 0,    0,    0, /* 04: mov $42, %eax */
                                   0x40, 0x40,                /* 09: inc %eax; inc %eax */
                                   0xea, 0x12, 0,    0,    0x10, 0x33, /* 0b: ljmp $0x33, 0x12 */
                                   0,    0xc3};                        /* 12: ret */
    struct itimerval timer = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
    pthread_t thread;
    volatile long n = 0;
    uint8_t *low = mmap((void *)0x10000000, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(low, code, sizeof code);
    struct {
        uint32_t offset;
        uint16_t selector;
    } *pointer = (void *)(low + 64);
    pointer->offset = 0x10000004;
    pointer->selector = 0x23;
    low[1] = 0x90; /* m16:32 */
    CHECK(pthread_create(&thread, NULL, work, (void *)&n) == 0);
    while (n == 0)
        usleep(100);
    on(SIGALRM, tick);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int i = 0; i < 1000 || ticks < 5; i++) {
        int result;
        __asm__ volatile("mov %%rsp, %%rbx; mov %2, %%rsp; call *%1; mov %%rbx, %%rsp"
                         : "=a"(result)
                         : "r"(low), "r"(low + (1 << 16)), "S"(pointer)
                         : "rbx", "memory", "cc");
        CHECK(result == 44);
    }
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    stop = true;
    CHECK(pthread_join(thread, NULL) == 0);
    puts("there and back");
}

static volatile int traps;
static uint64_t trapped[8];

static void trap(int number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    if (traps < 8)
        trapped[traps++] = (uint64_t)r[REG_RIP];
    if (traps == 3)
        r[REG_EFL] &= ~0x100ll;
}

/* IRET that switches single-stepping on: the first trap is behind the instruction after it. */
static void far_trap(void)
{
    uint64_t start;
    on(SIGTRAP, trap);
    __asm__ volatile("mov %%rsp, %%rdx; push $0x2b; push %%rdx; pushfq; orl $0x100, (%%rsp)\n"
                     "push $0x33; lea 1f(%%rip), %%rcx; push %%rcx; iretq\n"
                     "1: nop; nop; nop; nop; nop; mov %%rcx, %0"
                     : "=r"(start)
                     :
                     : "rcx", "rdx", "memory", "cc");
    printf("%d traps, at +%ld, +%ld, +%ld\n", traps, (long)(trapped[0] - start),
           (long)(trapped[1] - start), (long)(trapped[2] - start));
}

/* --- int 0x80 / ------------------------------------------------------------------------------- */

static long call32(long number, long a, long b, long c)
{
    register long r8 __asm__("r8") = 0x1111111111, r11 __asm__("r11") = 0x2222222222;
    __asm__ volatile("int $0x80"
                     : "+a"(number), "+r"(r8), "+r"(r11)
                     : "b"(a), "c"(b), "d"(c)
                     : "memory");
    CHECK((r8 == 0x1111111111 && r11 == 0x2222222222) || (r8 == 0 && r11 == 0));
    return number;
}

static void calls32(void)
{
    char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    int ends[2];
    struct itimerval timer = {{0, 300}, {0, 300}};
    struct sigaction action = {.sa_flags = SA_RESTART | SA_SIGINFO};
    CHECK(low != MAP_FAILED && call32(20, 0, 0, 0) == getpid()); /* getpid */
    strcpy(low, "written by int 0x80\n");
    fflush(stdout);
    CHECK(call32(4, 1, (long)(uintptr_t)low, 20) == 20);    /* write */
    CHECK(call32(4, 1, (long)(uintptr_t)0x100, 20) == -14); /* EFAULT */
    CHECK(call32(4, 1000, (long)(uintptr_t)low, 20) == -9); /* EBADF */
    CHECK(call32(100000, 0, 0, 0) == -38);                  /* ENOSYS */
    CHECK(pipe(ends) == 0);
    action.sa_sigaction = tick;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
    if (fork() == 0) { /* a call that signals interrupt, and the kernel restarts */
        for (int i = 0; i < 20; i++) {
            usleep(1000);
            CHECK(write(ends[1], "x", 1) == 1);
        }
        _exit(0);
    }
    for (int i = 0; i < 20; i++)
        CHECK(call32(3, ends[0], (long)(uintptr_t)low, 1) == 1 && low[0] == 'x'); /* read */
    printf("exits by int 0x80\n");
    fflush(stdout);
    call32(252, 7, 0, 0); /* exit_group */
}

/* One that would make something behind the engine's back. */
static void calls32_map(void)
{
    struct {
        uint32_t address, length, protection, flags, fd, offset;
    } *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    low->address = 0x10002000;
    low->length = 4096;
    low->protection = PROT_READ | PROT_WRITE | PROT_EXEC;
    low->flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    CHECK(call32(90, (long)(uintptr_t)low, 0, 0) == 0x10002000); /* mmap */
    memcpy((void *)0x10002000, "\xb8\x2a\0\0\0\xc3", 6);         /* mov $42, %eax; ret */
    printf("%d\n", ((int (*)(void))(uintptr_t)0x10002000)());
}

/* --- The x87 instruction pointer / ------------------------------------------------------------ */

void x87_last(void); /* its third instruction is the last of x87 */
void x87_last_at(void);
__asm__("    .text\n"
        "x87_last: fninit; fld1\n"
        "x87_last_at: fstp %st(0); ret\n");

static uint8_t image[8192] __attribute__((aligned(64)));

static void show(const char *what, uint64_t pointer, unsigned size)
{
    uint64_t expected = (uint64_t)(uintptr_t)x87_last_at,
             mask = size == 8 ? -1ull : (1ull << 8 * size) - 1;
    /* Processors of AMD keep it only where an exception waits. */
    printf("%s %s\n", what, pointer == (expected & mask) ? "right" : pointer ? "wrong" : "none");
}

static uint64_t pointer_at(unsigned at, unsigned size)
{
    uint64_t pointer = 0;
    memcpy(&pointer, image + at, size);
    return pointer;
}

#define STORE(what, insn, at, size)                                                                \
    do {                                                                                           \
        memset(image, 0, sizeof image);                                                            \
        x87_last();                                                                                \
        __asm__ volatile(insn " %0" : "+m"(image) : "a"(-1), "d"(-1) : "memory");                  \
        show(what, pointer_at(at, size), size);                                                    \
    } while (0)

static void see_frame(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    show("frame", ((ucontext_t *)context)->uc_mcontext.fpregs->rip, 8);
}

static void x87_pointer(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    STORE("fnstenv", "fnstenv", 12, 4);
    STORE("fnstenv again", "fnstenv", 12, 4);
    STORE("fnstenv 16", ".byte 0x66; fnstenv", 6, 2);
    STORE("fnsave", "fnsave", 12, 4);
    STORE("fxsave", "fxsave", 8, 4);
    STORE("fxsave64", "fxsave64", 8, 8);
    STORE("fxsave64 fs", ".byte 0x3e; fxsave64", 8, 8);
    if (c >> 27 & 1) { /* the system uses XSAVE */
        STORE("xsave", "xsave", 8, 4);
        STORE("xsave64", "xsave64", 8, 8);
        uint32_t more = 0xd, leaf = 1;
        __asm__ volatile("cpuid" : "+a"(more), "=b"(b), "+c"(leaf), "=d"(d));
        if (more & 1)
            STORE("xsaveopt64", "xsaveopt64", 8, 8);
        if (more & 2) {
            STORE("xsavec64", "xsavec64", 8, 8);
            __asm__ volatile("xsavec64 %0; xrstor64 %0; fxsave64 %0"
                             : "+m"(image)
                             : "a"(-1), "d"(-1)
                             : "memory");
            show("after xrstor", pointer_at(8, 8), 8);
        }
    }
    on(SIGUSR1, see_frame);
    x87_last();
    raise(SIGUSR1);
    __asm__ volatile("fxsave64 %0" : "+m"(image) : : "memory");
    show("after a signal", pointer_at(8, 8), 8);
    /* It has nothing to do with what is saved besides. */
    memset(image, 0xab, 1024);
    x87_last();
    __asm__ volatile("xsave64 %0" : "+m"(image) : "a"(2), "d"(0) : "memory");
    CHECK(image[8] == 0xab || !(c >> 27 & 1));
}

/* --- Itself / --------------------------------------------------------------------------------- */

/* Once the engine has let it go, for the call, the program is still what it executes. */
static void again(void)
{
    call32(125, 1, 0, 0); /* mprotect, of no page */
    execl("/proc/self/exe", "rare", "vsyscalls", NULL);
    printf("cannot be executed\n");
}

/* --- vsyscalls / ------------------------------------------------------------------------------ */

static void vsyscalls(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[500];
    bool there = false;
    while (fgets(line, sizeof line, maps))
        there = there || strstr(line, "[vsyscall]");
    if (!there)
        return;
    long (*get_time)(long *) = (long (*)(long *))(uintptr_t)0xffffffffff600400;
    long (*get_cpu)(unsigned *, unsigned *, void *) =
        (long (*)(unsigned *, unsigned *, void *))(uintptr_t)0xffffffffff600800;
    unsigned cpu = 1000000, node = 1000000;
    for (int i = 0; i < 20; i++) {
        long stored = 0, now = get_time(&stored);
        CHECK(now == stored && now > 1500000000 && now - time(NULL) <= 1);
        CHECK(get_cpu(&cpu, &node, NULL) == 0 && cpu < 100000 && node < 100000);
    }
    printf("vsyscalls\n");
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"gs_fault", gs_fault},
        {"gs_signals", gs_signals},
        {"far_faults", far_faults},
        {"far_flags", far_flags},
        {"far_trap", far_trap},
        {"far_32", far_32},
        {"gs_selectors", gs_selectors},
        {"calls32", calls32},
        {"calls32_map", calls32_map},
        {"x87_pointer", x87_pointer},
        {"vsyscalls", vsyscalls},
        {"again", again},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
