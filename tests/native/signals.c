// SPDX-License-Identifier: MIT
/*
 * Signals to the letter: the trap flag, signals that instructions cause when they are sent instead,
 * signal stacks without room, handlers that are used up, and signals that come around fork and
 * exec.
 */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    CHECK(sigaction(number, &action, NULL) == 0);
}

/* --- The trap flag ---------------------------------------------------------------------------- */

#define STEPS_MAX 64

static volatile int n_steps;
static unsigned long steps[STEPS_MAX];

static void on_step(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    CHECK(info->si_addr == (void *)r[REG_RIP]);
    if (n_steps < STEPS_MAX)
        steps[n_steps] = (unsigned long)r[REG_RIP];
    n_steps++;
}

/* Instructions after each of which there is a trap, but for system calls. */
static void step(void)
{
    unsigned long from;
    handle(SIGTRAP, on_step, 0);
    __asm__ volatile("lea 1f(%%rip), %0\n"
                     "pushfq\n orq $0x100, (%%rsp)\n popfq\n"
                     "1: nop\n mov $39, %%eax\n syscall\n nop\n pushfq\n pop %%rax\n"
                     "mov $3, %%ecx\n 2: dec %%ecx\n jnz 2b\n call 3f\n jmp 4f\n 3: ret\n"
                     "4: pushfq\n andq $~0x100, (%%rsp)\n popfq\n nop\n"
                     : "=&r"(from)
                     :
                     : "rax", "rcx", "r11", "memory", "cc");
    printf("%d:", n_steps);
    for (int i = 0; i < n_steps && i < STEPS_MAX; i++)
        printf(" %lu", steps[i] - from);
    puts("");
}

/* POPF many times, while signals come. */
static volatile sig_atomic_t n_alarms;

static void on_alarm(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    n_alarms++;
}

static void flags(void)
{
    struct itimerval often = {{0, 500}, {0, 500}}, never = {0};
    unsigned long sum = 0;
    handle(SIGTRAP, on_step, 0);
    handle(SIGALRM, on_alarm, SA_RESTART);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned long i = 0; i < 300000 || n_alarms < 5; i++) {
        unsigned long got;
        __asm__ volatile("push %1\n popfq\n pushfq\n pop %0\n cld"
                         : "=r"(got)
                         : "r"(i & 0xcd5 & ~0x100ul)
                         : "cc");
        sum += (got ^ i) & 0x8d5;
        CHECK(!(got & 0x100));
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    printf("%lu %d\n", sum, n_steps);
}

/* --- Sent, not caused ------------------------------------------------------------------------- */

static volatile int got[65];

static void on_sent(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    got[number]++;
}

static void read_from(int fd)
{
    struct signalfd_siginfo info = {0};
    struct pollfd wanted = {fd, POLLIN, 0};
    int ready = poll(&wanted, 1, 300000);
    ssize_t n = read(fd, &info, sizeof info);
    printf(" poll %d read %zd of %d\n", ready, n, (int)info.ssi_signo);
}

static void send_later(int number)
{
    pid_t child = fork();
    if (child == 0) {
        usleep(10000);
        kill(getppid(), number);
        _exit(0);
    }
}

static void send_blocked(int number)
{
    sigset_t set, old, pending, but;
    siginfo_t info;
    got[number] = 0;
    handle(number, on_sent, 0);
    sigemptyset(&set);
    sigaddset(&set, number);
    CHECK(sigprocmask(SIG_BLOCK, &set, &old) == 0);
    CHECK(kill(getpid(), number) == 0 && raise(number) == 0 && raise(number) == 0);
    CHECK(sigpending(&pending) == 0);
    printf("%d: %d, pending %d\n", number, got[number], sigismember(&pending, number));
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    printf(" unblocked: %d\n", got[number]);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(number) == 0);
    printf(" wait %d: %d\n", sigwaitinfo(&set, &info), got[number]);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    CHECK(fd >= 0 && raise(number) == 0);
    read_from(fd);
    send_later(number);
    read_from(fd);
    CHECK(wait(NULL) > 0 && close(fd) == 0 && raise(number) == 0);
    sigfillset(&but);
    sigdelset(&but, number);
    errno = 0;
    sigsuspend(&but);
    printf(" suspend %d: %d\n", errno == EINTR, got[number]);
    CHECK(raise(number) == 0);
    fflush(stdout);
    if (fork() == 0) {
        CHECK(sigpending(&pending) == 0);
        _exit(sigismember(&pending, number));
    }
    int status;
    CHECK(wait(&status) > 0);
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    printf(" child %d, end %d\n", WEXITSTATUS(status), got[number]);
}

static void sent(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGFPE, SIGILL, 64};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        send_blocked(numbers[i]);
}

/* --- Signal stacks ---------------------------------------------------------------------------- */

static void on_overflow(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    static const char text[] = "no room\n";
    _exit(write(1, text, sizeof text - 1) == sizeof text - 1 ? 7 : 8);
}

/* The frame does not fit: the signal becomes a SIGSEGV, whose handler runs on the ordinary stack.
 */
static void small_stack(void)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = pages + 4096, .ss_size = 2048};
    CHECK(pages != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, on_sent, SA_ONSTACK);
    handle(SIGSEGV, on_overflow, 0);
    raise(SIGUSR1);
    puts("there was room");
}

/* A handler for one time: the second SIGCHLD interrupts nothing, as it is ignored by default. */
static void once(void)
{
    int ends[2];
    char byte;
    handle(SIGCHLD, on_sent, (int)SA_RESETHAND);
    CHECK(pipe(ends) == 0 && raise(SIGCHLD) == 0);
    if (fork() == 0) {
        kill(getppid(), SIGCHLD);
        usleep(10000);
        _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    printf("%d %zd", got[SIGCHLD], read(ends[0], &byte, 1));
    printf(" %d\n", got[SIGCHLD]);
    CHECK(wait(NULL) > 0);
}

/* --- Around fork and exec --------------------------------------------------------------------- */

/* Each signal that a process sends to itself around a fork is handled once in it, and never in the
 * child. */
static void forks(void)
{
    struct itimerval often = {{0, 300}, {0, 300}}, never = {0};
    int odd = 0;
    handle(SIGUSR1, on_sent, SA_RESTART);
    handle(SIGALRM, on_alarm, SA_RESTART);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 200; i++) {
        int before = got[SIGUSR1];
        kill(getpid(), SIGUSR1);
        pid_t child = fork(); /* which has no timer */
        if (child == 0) {
            int alarms = n_alarms;
            for (int k = 0; k < 100; k++)
                getppid();
            _exit(got[SIGUSR1] != before + 1 || n_alarms != alarms);
        }
        int status;
        while (waitpid(child, &status, 0) < 0)
            CHECK(errno == EINTR);
        odd += status != 0 || got[SIGUSR1] != before + 1;
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    printf("%d odd\n", odd);
}

/* A program is executed in the middle of a storm of signals that it finds ignored, and blocked
 * ones: its mask and its fate are those of the parent's choice. */
static void execs(void)
{
    sigset_t set;
    int status, odd = 0;
    handle(SIGUSR1, on_sent, 0);
    handle(SIGALRM, on_alarm, 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct itimerval often = {{0, 200}, {0, 200}};
            sigemptyset(&set);
            sigaddset(&set, SIGUSR2);
            sigaddset(&set, SIGSEGV);
            sigprocmask(SIG_SETMASK, &set, NULL);
            kill(getpid(), SIGUSR2); /* stays pending */
            raise(SIGSEGV);
            setitimer(ITIMER_REAL, &often, NULL);
            usleep((unsigned)i * 7);
            signal(SIGALRM, SIG_IGN);
            execl("/bin/sh", "sh", "-c",
                  "while read n v; do case $n in SigBlk:|SigPnd:) p=$p$v;; ShdPnd:) p=$p$v; esac; "
                  "done < /proc/self/status; exit 3",
                  (char *)NULL);
            _exit(9);
        }
        CHECK(waitpid(child, &status, 0) == child);
        odd += !WIFEXITED(status) || WEXITSTATUS(status) != 3;
    }
    printf("%d odd\n", odd);
}

/* The mask survives exec, whatever comes before it. */
static void masks(void)
{
    int odd = 0, status;
    handle(SIGALRM, on_alarm, 0);
    for (int i = 0; i < 60; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct itimerval often = {{0, 100}, {0, 100}};
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
            setitimer(ITIMER_VIRTUAL, &often,
                      NULL); /* SIGVTALRM: handled until exec, then ends it */
            handle(SIGVTALRM, on_alarm, 0);
            for (int k = 0; k < i * 100; k++)
                getppid();
            execl("/bin/sh", "sh", "-c", "while :; do :; done", (char *)NULL);
            _exit(9);
        }
        CHECK(waitpid(child, &status, 0) == child);
        odd += !WIFSIGNALED(status) || WTERMSIG(status) != SIGVTALRM;
    }
    printf("%d odd\n", odd);
}

/* --- Stacks for more registers ---------------------------------------------------------------- */

static long permit_tiles(void)
{
    return syscall(SYS_arch_prctl, 0x1023, 18) == 0 ? 0
                                                    : errno; /* ARCH_REQ_XCOMP_PERM, XTILEDATA */
}

static int set_stack(size_t size)
{
    static char stack[65536];
    stack_t new = {.ss_sp = stack, .ss_size = size};
    return sigaltstack(&new, NULL) == 0 ? 0 : errno;
}

/* What a signal stack must have room for grows with what the program may use; where there are no
 * tile registers the answers are others, natively too. */
static void stack_sizes(void)
{
    size_t enough = getauxval(AT_MINSIGSTKSZ);
    printf("%d %d %d %d\n", set_stack(2047), set_stack(2048), set_stack(4096), set_stack(enough));
    CHECK(set_stack(4096) == 0);
    printf("with a small stack: %ld\n", permit_tiles());
    stack_t none = {.ss_flags = SS_DISABLE}, now;
    CHECK(sigaltstack(&none, NULL) == 0);
    printf("with none: %ld\n", permit_tiles());
    printf("%d %d %d\n", set_stack(2047), set_stack(2048), set_stack(4096));
    CHECK(set_stack(enough) == 0 && sigaltstack(NULL, &now) == 0);
    CHECK(now.ss_size == enough);
}

/* --- The clock -------------------------------------------------------------------------------- */

static void on_no_clock(int number, siginfo_t *info, void *context)
{
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* over RDTSC */
    got[number]++;
}

/* RDTSC is forbidden: for the program, but the engine must not mind. */
static void clock_off(void)
{
    unsigned low = 5, high = 6;
    handle(SIGSEGV, on_no_clock, 0);
    CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
    __asm__ volatile("rdtsc" : "+a"(low), "+d"(high));
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/echo", "echo", "echo", (char *)NULL);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE) == 0);
    printf("%u %u %d %d\n", low, high, got[SIGSEGV], status);
}

/* --- Steps in an instruction ------------------------------------------------------------------ */

static volatile int n_rounds;

static void on_round(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)number;
    (void)info;
    if (n_rounds++ % 5 == 0)
        printf("rcx %lld\n", r[REG_RCX]);
}

/* One that repeats itself traps after each round. */
static void rounds(void)
{
    char text[64];
    void *to = text;
    long n = 20;
    handle(SIGTRAP, on_round, 0);
    __asm__ volatile("sub $256, %%rsp; pushf; orl $0x100, (%%rsp); popf; rep stosb\n"
                     "pushf; andl $~0x100, (%%rsp); popf; add $256, %%rsp"
                     : "+D"(to), "+c"(n)
                     : "a"('x')
                     : "memory", "cc");
    printf("%d traps, %ld left, %.20s\n", n_rounds, n, text);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"step", step},
        {"flags", flags},
        {"sent", sent},
        {"small-stack", small_stack},
        {"once", once},
        {"forks", forks},
        {"execs", execs},
        {"masks", masks},
        {"clock", clock_off},
        {"rounds", rounds},
        {"stack-sizes", stack_sizes},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
