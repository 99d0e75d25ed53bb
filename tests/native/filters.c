// SPDX-License-Identifier: MIT
/* System calls that a program filters: seccomp, and user dispatch. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* --- Filters ---------------------------------------------------------------------------------- */

#define N_CALLS 32

/* Installs a filter: `action` for the calls listed, which end with -1; `otherwise` for all others.
 */
static void filter(const int *calls, uint32_t action, uint32_t otherwise)
{
    struct sock_filter code[N_CALLS * 2 + 2];
    unsigned short n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *calls >= 0; calls++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*calls, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
    struct sock_fprog program = {n, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (uint64_t)&program, 0) == 0);
}

/* Runs `function` in a child, and says how it ended. */
static void in_child(const char *what, void (*function)(void))
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        function();
        _exit(0);
    }
    printf("%s: %x\n", what, (unsigned)status_of(child));
}

static void dies_of_other_calls(void)
{
    static const int few[] = {SYS_write, SYS_exit_group, SYS_rt_sigreturn, -1};
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGSEGV, &action, NULL);
    filter(few, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
    char text[200] = "";
    for (int i = 0; i < 50; i++) /* code that was not run before */
        snprintf(text, sizeof text, "%d %g %s %lld", i, i / 7.0, "abc", 1ll << i);
    qsort(text, 20, 1, (int (*)(const void *, const void *))strcmp);
    if (write(1, "still here\n", 11) == 11)
        call(SYS_getppid, 0, 0, 0, 0);
}

/* All the calls that an engine makes itself in the place of the program. */
static void fails_in_answered_calls(void)
{
    static const int answered[] = {SYS_rt_sigaction, SYS_rt_sigprocmask,
                                   SYS_sigaltstack,  SYS_arch_prctl,
                                   SYS_close_range,  SYS_readlink,
                                   SYS_fork,         SYS_vfork,
                                   SYS_clone,        SYS_clone3,
                                   SYS_execve,       SYS_execveat,
                                   SYS_mmap,         -1};
    uint64_t word = 0;
    char *argv[] = {"true", NULL}, text[100];
    struct clone_args args = {.exit_signal = SIGCHLD};
    filter(answered, SECCOMP_RET_ERRNO | 77, SECCOMP_RET_ALLOW);
    printf("%ld", call(SYS_rt_sigaction, SIGUSR1, 0, 0, 8));
    printf(" %ld", call(SYS_rt_sigprocmask, 0, 0, (uint64_t)&word, 8));
    printf(" %ld", call(SYS_sigaltstack, 0, 0, 0, 0));
    printf(" %ld", call(SYS_arch_prctl, 0x1001, 0, 0, 0));
    printf(" %ld", call(SYS_arch_prctl, 0x1004, (uint64_t)&word, 0, 0));
    printf(" %ld", call(SYS_close_range, 100, 2000, 0, 0));
    printf(" %ld", call(SYS_readlink, (uint64_t) "/proc/self/exe", (uint64_t)text, 100, 0));
    printf(" %ld", call(SYS_fork, 0, 0, 0, 0));
    printf(" %ld", call(SYS_vfork, 0, 0, 0, 0));
    printf(" %ld", call(SYS_clone, SIGCHLD, 0, 0, 0));
    printf(" %ld", call(SYS_clone3, (uint64_t)&args, sizeof args, 0, 0));
    printf(" %ld", call(SYS_execve, (uint64_t) "/bin/true", (uint64_t)argv, 0, 0));
    printf(" %ld",
           call(SYS_execveat, (uint64_t)AT_FDCWD, (uint64_t) "/bin/true", (uint64_t)argv, 0));
    printf(" %ld\n", call(SYS_mmap, 0, 4096, 3, 0x22));
}

static volatile int trapped;
static volatile uint64_t trapped_at;

static void on_sys(int number, siginfo_t *info, void *context)
{
    (void)context;
    trapped = info->si_syscall;
    trapped_at = (uint64_t)info->si_call_addr;
    CHECK(number == SIGSYS && info->si_arch == AUDIT_ARCH_X86_64);
}

/* The kernel's answer, which is the number when a signal came instead of one. */
extern long call_here(long number, long a, long b, long c);
extern const char call_here_end[];
__asm__(".pushsection .text\n"
        "call_here: movq %rdi, %rax\n\t"
        "movq %rsi, %rdi\n\t"
        "movq %rdx, %rsi\n\t"
        "movq %rcx, %rdx\n\t"
        "movl $8, %r10d\n\t"
        "syscall\n"
        "call_here_end: ret\n"
        ".popsection");

static void expect_trap(long number, long a, long b, long c)
{
    trapped = 0;
    trapped_at = 0;
    long result = call_here(number, a, b, c);
    printf("call %ld: answer %ld, trapped %d, here %d\n", number, result, trapped,
           trapped_at == (uint64_t)call_here_end);
}

static void is_trapped(void)
{
    static const int some[] = {SYS_getppid, SYS_rt_sigaction, SYS_fork,   SYS_vfork,
                               SYS_clone,   SYS_clone3,       SYS_execve, -1};
    struct sigaction action = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    struct clone_args args = {.exit_signal = SIGCHLD};
    char *argv[] = {"true", NULL};
    sigaction(SIGSYS, &action, NULL);
    filter(some, SECCOMP_RET_TRAP, SECCOMP_RET_ALLOW);
    expect_trap(SYS_getppid, 0, 0, 0);
    expect_trap(SYS_rt_sigaction, SIGUSR1, 0, 0);
    expect_trap(SYS_fork, 0, 0, 0);
    expect_trap(SYS_vfork, 0, 0, 0);
    expect_trap(SYS_clone, SIGCHLD, 0, 0);
    expect_trap(SYS_clone, CLONE_VM | SIGCHLD, (long)(child_stack + sizeof child_stack), 0);
    expect_trap(SYS_clone3, (long)&args, sizeof args, 0);
    expect_trap(SYS_execve, (long)"/bin/true", (long)argv, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    sigprocmask(SIG_BLOCK, &set, NULL);
    call_here(SYS_getppid, 0, 0, 0); /* a signal that cannot be delivered kills */
}

static void dies_of_exit(void)
{
    static const int it[] = {SYS_exit_group, -1};
    filter(it, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
}

static void executes(void)
{
    static const int few[] = {SYS_execve, SYS_fork, SYS_clone, SYS_ptrace, -1};
    char *argv[] = {"echo", "executed", NULL}, *none[] = {NULL};
    filter(few + 1, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
    static const int other[] = {SYS_execveat, SYS_memfd_create, SYS_personality, -1};
    filter(other, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    call(SYS_execve, (uint64_t) "/bin/echo", (uint64_t)argv, (uint64_t)none, 0);
}

static void *second_thread(void *unused)
{
    printf("thread %ld\n", call(SYS_getppid, 0, 0, 0, 0));
    return unused;
}

static void of_all_threads(void)
{
    static const int it[] = {SYS_getppid, -1};
    pthread_t thread;
    filter(it, SECCOMP_RET_ERRNO | 99, SECCOMP_RET_ALLOW);
    CHECK(pthread_create(&thread, NULL, second_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

/* A filter that begins with what its register is at the start. */
static void depends_on_nothing(void)
{
    struct sock_filter code[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    struct sock_fprog program = {3, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    program.len = 0;
    printf("empty %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    program.len = 4097;
    printf(", long %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
    printf(", nowhere %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
}

/* As long as can be. */
static void is_long(void)
{
    static struct sock_filter long_one[BPF_MAXINSNS];
    for (int i = 0; i < BPF_MAXINSNS; i++)
        long_one[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    long_one[0] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    long_one[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1);
    long_one[2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 5);
    struct sock_fprog program = {BPF_MAXINSNS, long_one};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    printf("long: %ld\n", call(SYS_getppid, 0, 0, 0, 0));
}

static void strictly(void)
{
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    call(SYS_write, 1, (uint64_t) "strict\n", 7, 0);
    call(SYS_exit, 5, 0, 0, 0);
}

static void dies_strictly(void)
{
    CHECK(call(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, 0, 0) == -EINVAL);
    CHECK(call(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, 0, 0) == 0);
    call(SYS_write, 1, (uint64_t) "strict\n", 7, 0);
    call(SYS_getpid, 0, 0, 0, 0);
    call(SYS_write, 1, (uint64_t) "no\n", 3, 0);
}

static _Atomic int others_done;

static void *forks_and_maps(void *unused)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(7);
        CHECK(status_of(child) == 7 << 8);
        void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED && munmap(page, 4096) == 0);
    }
    others_done++;
    return unused;
}

static void *dies_in_call(void *number)
{
    static const int calls[] = {SYS_clone, SYS_mprotect, -1};
    filter(calls, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_ALLOW);
    call((uintptr_t)number,
         number == (void *)SYS_clone ? SIGCHLD : (uint64_t)(uintptr_t)call & -4096, 4096,
         PROT_READ | PROT_EXEC, 0);
    printf("not killed\n");
    return NULL;
}

/* A thread is killed in a call for which an engine may need its lock: the others go on. */
static void loses_threads(void)
{
    pthread_t threads[2], others;
    CHECK(pthread_create(&threads[0], NULL, dies_in_call, (void *)SYS_clone) == 0);
    CHECK(pthread_create(&threads[1], NULL, dies_in_call, (void *)SYS_mprotect) == 0);
    usleep(50000);
    CHECK(pthread_create(&others, NULL, forks_and_maps, NULL) == 0);
    pthread_join(others, NULL);
    printf("others %d\n", others_done);
}

/* The first thread, of which the number stays. */
static void loses_first(void)
{
    pthread_t others;
    CHECK(pthread_create(&others, NULL, forks_and_maps, NULL) == 0);
    dies_in_call((void *)SYS_mprotect);
}

/* A call that waits for a supervisor in such a way that only signals that kill end it. */
static void waits_killably(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, code};
    struct seccomp_notif request = {0};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    long listener =
        call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 1u << 3 | 1u << 5, (uint64_t)&program, 0);
    if (listener < 0) /* older than Linux 5.19 */
        return;
    pid_t child = fork();
    if (child == 0)
        _exit((int)call(SYS_getppid, 0, 0, 0, 0));
    CHECK(ioctl((int)listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0);
    CHECK(kill(child, SIGTERM) == 0);
    printf("killed %x\n", (unsigned)status_of(child));
}

static void filters(void)
{
    in_child("lost threads", loses_threads);
    in_child("lost first", loses_first);
    in_child("killed in a wait", waits_killably);
    in_child("few calls", dies_of_other_calls);
    in_child("errors", fails_in_answered_calls);
    in_child("traps", is_trapped);
    in_child("exit", dies_of_exit);
    in_child("exec", executes);
    in_child("threads", of_all_threads);
    in_child("start", depends_on_nothing);
    in_child("long", is_long);
    in_child("strict", strictly);
    in_child("strict death", dies_strictly);
}

/* --- User dispatch ---------------------------------------------------------------------------- */

static volatile char selector;

static void on_dispatch(int number, siginfo_t *info, void *context)
{
    selector = 0;
    CHECK(info->si_code == 2);
    on_sys(number, info, context);
}

static void dispatched_calls(void)
{
    struct sigaction action = {.sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0);
    selector = 1;
    call_here(SYS_getppid, 0, 0, 0);
    printf("dispatched %d, here %d\n", trapped, trapped_at == (uint64_t)call_here_end);
    selector = 1;
    long result = call_here(UPPER | SYS_exit_group, 3, 0, 0);
    printf("dispatched %d, answer %lx\n", trapped, result);
    selector = 1;
    call_here(SYS_rt_sigreturn, 0, 0, 0);
    printf("dispatched %d\n", trapped);
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, call_here_end - 64, 65, &selector) == 0);
    selector = 1;
    trapped = 0;
    result = call_here(SYS_dup, 1000, 0, 0);
    selector = 0;
    printf("in range %ld, dispatched %d\n", result, trapped);
    pid_t child = fork();
    if (child == 0) { /* it has no dispatch */
        selector = 1;
        _exit(4);
    }
    printf("child %x\n", (unsigned)status_of(child));
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
    selector = 1;
    printf("off\n");
}

static void bad_selector(void)
{
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0);
    selector = 2;
    getppid();
}

static void no_selector(void)
{
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, 4096) == 0);
    getppid();
}

static void blocked_dispatch(void)
{
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) == 0);
    selector = 1;
    getppid();
}

static void dispatch(void)
{
    printf("mode %d", prctl(PR_SET_SYSCALL_USER_DISPATCH, 9, 0, 0, 0));
    printf(" off with range %d", prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 1, 0, 0));
    printf(" no range %d", prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 4096, 0, 0));
    printf(" around %d", prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, -4096L, 8192, 0));
    printf(" nowhere %d\n", prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, 1ull << 62));
    in_child("calls", dispatched_calls);
    in_child("bad selector", bad_selector);
    in_child("no selector", no_selector);
    in_child("blocked", blocked_dispatch);
}

// clang-format off
static const struct part parts[] = {
    {"filters", filters},
    {"dispatch", dispatch},
    {NULL, NULL},
};
// clang-format on

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
