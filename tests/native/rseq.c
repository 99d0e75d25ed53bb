// SPDX-License-Identifier: MIT
/* Restartable sequences: sections that the kernel aborts. An engine may do without them (ENOSYS):
 * then all is done with atomic instructions, and comes out the same. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define CPUS      1024
#define SIGNATURE 0x53053053

static struct counter {
    long n;
    char pad[120];
} counters[CPUS];
static long fallback; /* counted atomically */
_Atomic long aborts;  /* sections that were interrupted */
static volatile bool over;
static __thread long mine; /* what this thread has counted */

static struct rseq *area(void)
{
    return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static bool has_rseq(void)
{
    return __rseq_size > 0 && (int)area()->cpu_id >= 0;
}

/* The description, the way in, and the way out of a section. */
#define DESCRIBE                                                                                   \
    ".pushsection __rseq_cs, \"aw\"; .balign 32\n"                                                 \
    "3: .long 0, 0; .quad 1f, 2f - 1f, 4f\n"                                                       \
    ".popsection\n"                                                                                \
    ".pushsection __rseq_failure, \"ax\"\n"                                                        \
    ".byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"                                                   \
    "4: jmp %l[aborted]\n"                                                                         \
    ".popsection\n"

/* counters[cpu].n++ in three steps; false: it was interrupted, or the thread is elsewhere. */
static bool count_straight(unsigned cpu)
{
    __asm__ goto(DESCRIBE "lea 3b(%%rip), %%rax; mov %%rax, %[cs]\n"
                          "1: cmp %[cpu], %[id]; jne %l[elsewhere]\n"
                          "mov %[n], %%rdx; lea 1(%%rdx), %%rdx; mov %%rdx, %[n]\n"
                          "2:\n"
                 :
                 : [cs] "m"(area()->rseq_cs), [cpu] "r"(cpu), [id] "m"(area()->cpu_id),
                   [n] "m"(counters[cpu].n)
                 : "rax", "rdx", "memory", "cc"
                 : aborted, elsewhere);
    return true;
aborted:
    aborts++;
elsewhere:
    return false;
}

/* The same, with a pause in between: a loop within the section, and a jump over it. */
static bool count_slowly(unsigned cpu, long pause)
{
    __asm__ goto(DESCRIBE "lea 3b(%%rip), %%rax; mov %%rax, %[cs]\n"
                          "1: cmp %[cpu], %[id]; jne %l[elsewhere]\n"
                          "mov %[n], %%rdx; mov %[pause], %%rcx; test %%rcx, %%rcx; jz 6f\n"
                          "5: dec %%rcx; jnz 5b; mov %[pause], %%rcx\n"
                          "7: loop 7b; jmp 6f; ud2\n"
                          "6: inc %%rdx; mov %%rdx, %[n]\n"
                          "2:\n"
                 :
                 : [cs] "m"(area()->rseq_cs), [cpu] "r"(cpu), [id] "m"(area()->cpu_id),
                   [n] "m"(counters[cpu].n), [pause] "r"(pause)
                 : "rax", "rcx", "rdx", "memory", "cc"
                 : aborted, elsewhere);
    return true;
aborted:
    aborts++;
elsewhere:
    return false;
}

/* One that cannot be translated as one piece: (*n)++ with a call in between. */
bool section_call(struct rseq *rseq, unsigned cpu, long *n);
__asm__("    .pushsection __rseq_cs, \"aw\"; .balign 32\n"
        "8: .long 0, 0; .quad 1f, 2f - 1f, 4f\n"
        "    .popsection; .text\n"
        "section_call: push %rbx; mov %rsp, %rbx; lea 8b(%rip), %rax; mov %rax, 8(%rdi)\n"
        "1:  cmp %esi, 4(%rdi); jne 5f; mov (%rdx), %rax; call 7f; mov %rax, (%rdx)\n"
        "2:  mov $1, %eax; pop %rbx; ret\n"
        "7:  inc %rax; ret; .byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"
        "4:  mov %rbx, %rsp\n"
        "5:  xor %eax, %eax; pop %rbx; ret\n");

static void count(long pause)
{
    mine++;
    while (has_rseq())
        if (pause < 0 ? count_straight(area()->cpu_id_start)
                      : count_slowly(area()->cpu_id_start, pause))
            return;
    __atomic_fetch_add(&fallback, 1, __ATOMIC_RELAXED);
}

static void *run(void *argument)
{
    long pause = (long)(intptr_t)argument;
    for (int i = 0; i < 20000; i++)
        count(i % 3 ? pause : -1);
    for (int i = 0; !over && i < 100000000; i++)
        count(pause);
    return (void *)mine;
}

static long sum(void)
{
    long all = fallback;
    for (int i = 0; i < CPUS; i++)
        all += counters[i].n;
    return all;
}

static void finish(long expected)
{
    printf("%s\n", sum() == expected ? "all were counted" : "not all were counted");
    printf("difference %ld\n", sum() - expected);
}

/* Threads that interrupt each other. */
static void threads(void)
{
    pthread_t thread[6];
    long expected = 0;
    for (long i = 0; i < 6; i++)
        CHECK(pthread_create(&thread[i], NULL, run, (void *)(i * 20)) == 0);
    for (int i = 0; i < 100 && aborts < 20; i++)
        usleep(10000);
    over = true;
    for (int i = 0; i < 6; i++) {
        void *result;
        CHECK(pthread_join(thread[i], &result) == 0);
        expected += (long)result;
    }
    finish(expected);
}

/* --- Signals / -------------------------------------------------------------------------------- */

static volatile long in_handler;

static void tick(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    in_handler++;
    count(3);
}

static void on(int number, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handler;
    CHECK(sigaction(number, &action, NULL) == 0);
}

/* The handler runs sections too. Every signal that comes in one aborts it. */
static void signals(void)
{
    struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    on(SIGALRM, tick);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int i = 0; i < 3000 || in_handler < 20 || (has_rseq() && aborts < 10); i++)
        count(i % 2 ? 1000 : -1);
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    finish(mine);
}

/* --- Moves / ---------------------------------------------------------------------------------- */

static void *stay(void *argument)
{
    (void)argument;
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int i = 0, cpu = 0; i < 400; i++) {
        do
            cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET(cpu, &all));
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        CHECK(sched_getcpu() == cpu);
        for (int j = 0; j < 50; j++)
            count(j);
    }
    return (void *)mine;
}

static void moves(void)
{
    pthread_t thread[3];
    long expected = 0;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, stay, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        void *result;
        CHECK(pthread_join(thread[i], &result) == 0);
        expected += (long)result;
    }
    finish(expected);
}

/* --- Processes / ------------------------------------------------------------------------------ */

static void forks(void)
{
    for (int i = 0; i < 5; i++) {
        count(10);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            mine = 0;
            memset(counters, 0, sizeof counters);
            fallback = 0;
            struct itimerval timer = {{0, 500}, {0, 500}};
            on(SIGALRM, tick);
            CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
            for (int j = 0; j < 2000; j++)
                count(j % 50);
            timer = (struct itimerval){{0, 0}, {0, 0}};
            CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
            _exit(sum() == mine ? 0 : 1);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    finish(5);
}

/* --- Faults / --------------------------------------------------------------------------------- */

void section_fault(struct rseq *rseq, volatile long *from), section_fault_abort(void);
void section_trap(struct rseq *rseq), section_trap_at(void), section_trap_abort(void);
__asm__("    .pushsection __rseq_cs, \"aw\"; .balign 32\n"
        "8: .long 0, 0; .quad 1f, 2f - 1f, section_fault_abort\n"
        "9: .long 0, 0; .quad 3f, 4f - 3f, section_trap_abort\n"
        "    .popsection; .text\n"
        "section_fault: lea 8b(%rip), %rax; mov %rax, 8(%rdi)\n"
        "1:  mov $7, %eax; mov $8, %ecx; mov (%rsi), %rax; mov %rax, (%rsi)\n"
        "2:  ret; .byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"
        "section_fault_abort: mov $9, %ecx; ret\n"
        "section_trap: lea 9b(%rip), %rax; mov %rax, 8(%rdi)\n"
        "3:  mov $7, %eax; mov $8, %ecx\n"
        "section_trap_at: ud2; nop\n"
        "4:  ret; .byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"
        "section_trap_abort: ret\n");

static volatile int n_seen;

static void seen(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    bool at_abort = r[REG_RIP] == (greg_t)(intptr_t)section_fault_abort ||
                    r[REG_RIP] == (greg_t)(intptr_t)section_trap_abort;
    bool address =
        number == SIGILL ? info->si_addr == (void *)section_trap_at : (intptr_t)info->si_addr == 16;
    n_seen++;
    printf("signal %d, %s, %s, rax %lld, rcx %lld\n", number,
           at_abort ? "at the abort address" : "elsewhere",
           address ? "of the instruction" : "of something else", r[REG_RAX], r[REG_RCX]);
}

static void faults(void)
{
    if (!has_rseq()) {
        puts("signal 11, at the abort address, of the instruction, rax 7, rcx 8\n"
             "signal 4, at the abort address, of the instruction, rax 7, rcx 8");
        return;
    }
    on(SIGSEGV, seen);
    on(SIGILL, seen);
    while (n_seen < 1) /* it may be interrupted before */
        section_fault(area(), (volatile long *)16);
    while (n_seen < 2)
        section_trap(area());
}

/* --- The calls / ------------------------------------------------------------------------------ */

static int rseq_call(void *at, uint32_t size, int flags, uint32_t signature)
{
    return syscall(SYS_rseq, at, size, flags, signature) ? errno : 0;
}

static void *new_thread(void *argument)
{
    (void)argument;
    static __thread struct rseq other;
    CHECK(has_rseq());
    CHECK(rseq_call(area(), 32, 0, SIGNATURE) == EBUSY);
    CHECK(rseq_call(area(), 32, 0, 1) == EPERM);
    CHECK(rseq_call(&other, 32, 0, SIGNATURE) == EINVAL);
    CHECK(rseq_call(area(), 32, 2, SIGNATURE) == EINVAL);
    CHECK(rseq_call(area(), 32, 1, 1) == EPERM);
    CHECK(rseq_call(area(), 32, 1, SIGNATURE) == 0);
    CHECK((int)area()->cpu_id < 0);
    count(10); /* without */
    CHECK(rseq_call(area(), 32, 1, SIGNATURE) == EINVAL);
    CHECK(rseq_call((char *)area() + 4, 32, 0, SIGNATURE) == EINVAL);
    CHECK(rseq_call(area(), 32, 0, SIGNATURE) == 0);
    CHECK((int)area()->cpu_id >= 0);
    count(10);
    return NULL;
}

static void calls(void)
{
    pthread_t thread;
    if (has_rseq()) {
        CHECK(pthread_create(&thread, NULL, new_thread, NULL) == 0 && !pthread_join(thread, NULL));
        CHECK(sum() == 2);
        if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) &
            MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) {
            int command = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ;
            CHECK(syscall(SYS_membarrier, command, 0, 0) == -1 && errno == EPERM);
            command = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
            CHECK(syscall(SYS_membarrier, command, 0, 0) == 0);
            command = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ;
            CHECK(syscall(SYS_membarrier, command, 0, 0) == 0);
        }
    }
    puts("calls");
}

/* --- Another signature / ---------------------------------------------------------------------- */

#define OTHER_SIGNATURE 0x0badcafe

/* (*n)++ with a pause in between; false: it was interrupted. */
bool section_other(struct rseq *rseq, long *n, long pause), section_other_abort(void);
__asm__("    .pushsection __rseq_cs, \"aw\"; .balign 32\n"
        "8: .long 0, 0; .quad 1f, 2f - 1f, section_other_abort\n"
        "    .popsection; .text\n"
        "section_other: lea 8b(%rip), %rax; mov %rax, 8(%rdi)\n"
        "1:  mov (%rsi), %rax\n"
        "3:  dec %rdx; jns 3b; inc %rax; mov %rax, (%rsi)\n"
        "2:  mov $1, %eax; ret; .byte 0x0f, 0xb9, 0x3d; .long 0x0badcafe\n"
        "section_other_abort: incq aborts(%rip); xor %eax, %eax; ret\n");

static long others, others_wanted;

static void count_other(long pause)
{
    others_wanted++;
    while (!section_other(area(), &others, pause))
        ;
}

static void tick_other(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    (void)context;
    in_handler++;
    count_other(3);
}

static void *run_other(void *argument)
{
    struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    CHECK(rseq_call(area(), 32, 1, SIGNATURE) == 0);
    CHECK(rseq_call(area(), 32, 0, OTHER_SIGNATURE) == 0);
    CHECK(rseq_call(area(), 32, 1, SIGNATURE) == EPERM);
    on(SIGALRM, tick_other);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int i = 0; i < 3000 || in_handler < 20 || aborts < 10; i++)
        count_other(i % 2 ? 1000 : 0);
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    CHECK(others == others_wanted);
    return argument;
}

static void signature(void)
{
    if (has_rseq())
        run_other(NULL);
    puts("another signature");
}

/* --- Descriptions that are computed / --------------------------------------------------------- */

/* (*n)++ in three steps, with a pause, in a section of which the description is anywhere. */
bool section_any(struct rseq *rseq, unsigned cpu, long *n, const void *description, long pause);
void section_any_start(void), section_any_end(void), section_any_abort(void);
__asm__("    .text\n"
        "section_any: mov %rcx, 8(%rdi)\n"
        "section_any_start: cmp %esi, 4(%rdi); jne 5f; mov (%rdx), %rax\n"
        "1:  dec %r8; jns 1b; inc %rax; mov %rax, (%rdx)\n"
        "section_any_end: mov $1, %eax; ret; .byte 0x0f, 0xb9, 0x3d; .long 0x53053053\n"
        "section_any_abort: nop\n"
        "5:  xor %eax, %eax; ret\n");

static void *run_any(void *argument)
{
    struct {
        uint32_t version, flags;
        uint64_t start, size, abort;
    } *description = aligned_alloc(32, 32);
    description->version = description->flags = 0;
    description->start = (uint64_t)(uintptr_t)section_any_start;
    description->size = (uint64_t)((char *)section_any_end - (char *)section_any_start);
    description->abort = (uint64_t)(uintptr_t)section_any_abort;
    for (int i = 0; i < 30000; i++) {
        bool done = false;
        while (has_rseq() && !done) {
            unsigned cpu = area()->cpu_id_start;
            done = section_any(area(), cpu, &counters[cpu].n, description, i & 63);
        }
        if (!done)
            __atomic_fetch_add(&fallback, 1, __ATOMIC_RELAXED);
    }
    area()->rseq_cs = 0;
    free(description);
    return argument;
}

static void computed(void)
{
    pthread_t thread[4];
    run_any(NULL); /* from the second time on it is known */
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, run_any, NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    finish(150000);
}

/* Sections while code is made, run and thrown away. */
static void generated(void)
{
    enum { FUNCTIONS = 8192, SIZE = 16 };
    pthread_t thread[2];
    long expected = 0, total = 0;
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&thread[i], NULL, run, (void *)(i * 30)) == 0);
    for (int round = 0; round < 4; round++) {
        uint8_t *code = mmap(NULL, FUNCTIONS * SIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (uint32_t i = 0; i < FUNCTIONS; i++) { /* mov $i, %eax; ret */
            code[i * SIZE] = 0xb8;
            memcpy(code + i * SIZE + 1, &i, 4);
            code[i * SIZE + 5] = 0xc3;
        }
        CHECK(mprotect(code, FUNCTIONS * SIZE, PROT_READ | PROT_EXEC) == 0);
        for (int i = 0; i < FUNCTIONS; i++)
            total += ((int (*)(void))(code + i * SIZE))();
        CHECK(munmap(code, FUNCTIONS * SIZE) == 0);
    }
    over = true;
    for (int i = 0; i < 2; i++) {
        void *result;
        CHECK(pthread_join(thread[i], &result) == 0);
        expected += (long)result;
    }
    printf("%ld\n", total);
    finish(expected);
}

/* What cannot be one piece is run by the processor. */
static void unfit(void)
{
    for (int i = 0; i < 1000; i++) {
        bool done = false;
        while (has_rseq() && !done) {
            unsigned cpu = area()->cpu_id_start;
            done = section_call(area(), cpu, &counters[cpu].n);
        }
        if (!done)
            fallback++;
    }
    finish(1000);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"threads", threads},   {"signals", signals},     {"moves", moves}, {"forks", forks},
        {"faults", faults},     {"signature", signature}, {"calls", calls}, {"unfit", unfit},
        {"computed", computed}, {"generated", generated}, {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
