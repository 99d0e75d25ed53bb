// SPDX-License-Identifier: MIT
/* Programs that are traced, or trace: system calls, single steps, breakpoints. */
#include "calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* --- Tracing ---------------------------------------------------------------------------------- */

static void say_program(pid_t child)
{
    char path[40], text[200];
    snprintf(path, sizeof path, "/proc/%d/exe", child);
    ssize_t n = readlink(path, text, sizeof text);
    CHECK(n > 0);
    printf("traced: %.*s\n", (int)n, text);
}

/* Runs the child from one system call to the next, and says which: its own, and nobody else's. */
static void say_calls(pid_t child)
{
    int status;
    struct user_regs_struct regs;
    for (int stops = 0;; stops++) {
        CHECK(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFSTOPPED(status))
            break;
        CHECK(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0);
        if (stops % 2 == 0)
            printf("%llu ", regs.orig_rax);
    }
    printf("\nended %x\n", (unsigned)status);
}

/* A program that is traced is what its tracer sees. */
static void traced(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char *argv[] = {"true", NULL}, *none[] = {NULL};
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execve("/bin/true", argv, none);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP) { /* none of its own */
        CHECK(ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status)) == 0);
        CHECK(waitpid(child, &status, 0) == child);
    }
    say_program(child);
    say_calls(child);
}

/* --- Tracing without an exec ------------------------------------------------------------------ */

extern const char stepped[], stepped_end[];
long run_stepped(void);
__asm__(".pushsection .text\n"
        "run_stepped: xorl %eax, %eax\n"
        "stepped: incl %eax\n\t"
        "leal 2(%rax), %eax\n\t"
        "nop\n"
        "stepped_end: ret\n"
        ".popsection");

static void expect_stop(pid_t child, int wanted)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == wanted);
}

static long place_of(pid_t child)
{
    struct user_regs_struct regs;
    CHECK(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0);
    return (long)regs.rip - (long)stepped;
}

/* A breakpoint, then step by step: what debuggers do. */
static void debugged(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        _exit((int)run_stepped());
    }
    struct user_regs_struct regs;
    expect_stop(child, SIGSTOP);
    long word = ptrace(PTRACE_PEEKTEXT, child, stepped, 0);
    CHECK(ptrace(PTRACE_POKETEXT, child, stepped, (word & ~0xffl) | 0xcc) == 0);
    CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
    expect_stop(child, SIGTRAP);
    printf("stopped at %ld\n", place_of(child));
    CHECK(ptrace(PTRACE_POKETEXT, child, stepped, word) == 0);
    CHECK(ptrace(PTRACE_GETREGS, child, 0, &regs) == 0);
    regs.rip--;
    CHECK(ptrace(PTRACE_SETREGS, child, 0, &regs) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0);
        expect_stop(child, SIGTRAP);
        printf("stepped to %ld\n", place_of(child));
    }
    CHECK(ptrace(PTRACE_CONT, child, 0, 0) == 0);
    printf("ended %x\n", (unsigned)status_of(child));
}

/* --- Breakpoints of the processor ------------------------------------------------------------- */

static volatile short watched;
extern const char breakpoint_at[];
static volatile int n_traps;

static void on_trap(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    CHECK(number == SIGTRAP && (uint64_t)info->si_addr == (uint64_t)r[REG_RIP]);
    if (n_traps++ > 0)
        printf("at the breakpoint: %d\n", (const char *)r[REG_RIP] == breakpoint_at);
}

static bool set_debug_register(pid_t pid, int number, uint64_t value)
{
    return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[number]), value) == 0;
}

/* On data and on code, set by a child that comes and goes. */
static void hardware(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_trap;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_ATTACH, parent, 0, 0) != 0)
            _exit(1); /* not allowed here */
        expect_stop(parent, SIGSTOP);
        bool set = set_debug_register(parent, 0, (uint64_t)&watched) &&
                   set_debug_register(parent, 1, (uint64_t)breakpoint_at) &&
                   set_debug_register(parent, 7, 1u << 1 | 3u << 16 | 1u << 18 | 1u << 3);
        CHECK(ptrace(PTRACE_DETACH, parent, 0, 0) == 0);
        _exit(set ? 0 : 1);
    }
    if (status_of(child) != 0)
        return;
    (void)watched;
    printf("read: %d\n", n_traps);
    __asm__ volatile(".globl breakpoint_at\nbreakpoint_at: nop");
    printf("%d in all\n", n_traps);
}

// clang-format off
static const struct part parts[] = {
    {"traced", traced},
    {"debugged", debugged},
    {"hardware", hardware},
    {NULL, NULL},
};
// clang-format on

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
