// SPDX-License-Identifier: MIT
/* System calls that an engine answers itself or has to follow: their numbers, errors and filters.
 */
#define _GNU_SOURCE
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define UPPER 0x5a5a5a5a00000000u /* of a number: the kernel does not look at it */

/* The kernel's answer, for a number of 64 bits. */
static long call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    long result;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = 0;
    register uint64_t r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static int status_of(pid_t child)
{
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static volatile int caught;

static void count_signal(int number)
{
    caught += number;
}

/* Code that returns `value`, made anew by mprotect under a long number. */
static void change_code(unsigned char *page, unsigned char value)
{
    unsigned char code[] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
    CHECK(call(UPPER | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_WRITE, 0) == 0);
    memcpy(page, code, sizeof code);
    CHECK(call(UPPER | SYS_mprotect, (uint64_t)page, 4096, PROT_READ | PROT_EXEC, 0) == 0);
    printf("code %d\n", ((int (*)(void))(void *)page)());
}

static void numbers(void)
{
    unsigned char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    change_code(page, 1);
    change_code(page, 2);
    struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        uint64_t mask;
    } action;
    struct sigaction libc_action = {.sa_handler = count_signal};
    sigaction(SIGUSR2, &libc_action, NULL);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR2, 0, (uint64_t)&action, 8) == 0);
    CHECK(action.handler == count_signal);
    CHECK(call(UPPER | SYS_rt_sigaction, SIGUSR1, (uint64_t)&action, 0, 8) == 0);
    raise(SIGUSR1);
    printf("caught %d\n", caught);
    long child = call(UPPER | SYS_fork, 0, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit_group, 7, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    child = call(SYS_clone, UPPER | SIGCHLD, 0, 0, 0);
    if (child == 0)
        call(UPPER | SYS_exit, 8, 0, 0, 0);
    printf("child %x\n", (unsigned)status_of((pid_t)child));
    printf("x32 %ld, none %ld, negative %ld\n", call(0x40000000 | SYS_getpid, 0, 0, 0, 0),
           call(UPPER | 1000, 0, 0, 0, 0), call((uint64_t)-1, 0, 0, 0, 0));
    CHECK(call(UPPER | 0xffffffffu, 0, 0, 0, 0) == -ENOSYS);
}

/* --- clone3 ----------------------------------------------------------------------------------- */

static struct clone_args *at_page_end(size_t size)
{
    char *pages = mmap(NULL, 8192 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + 8192, 8192) == 0);
    return (struct clone_args *)(pages + 8192 - size);
}

static void try_clone3(const char *what, struct clone_args *args, uint64_t size)
{
    long result = call(SYS_clone3, (uint64_t)args, size, 0, 0);
    if (result == 0)
        _exit(3);
    if (result > 0)
        printf("%s: a child, %x\n", what, (unsigned)status_of((pid_t)result));
    else
        printf("%s: %ld\n", what, result);
}

static void clone3_sizes(void)
{
    static const unsigned sizes[] = {0, 8, 63, 64, 72, 80, 84, 88, 89, 96, 4096, 4097, 8192};
    char text[40];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct clone_args *args = at_page_end(sizes[i] > 64 ? sizes[i] : 64);
        args->exit_signal = SIGCHLD;
        snprintf(text, sizeof text, "size %u", sizes[i]);
        try_clone3(text, args, sizes[i]);
        snprintf(text, sizeof text, "size %u, too little there", sizes[i]);
        try_clone3(text, args, sizes[i] + 8);
        if (sizes[i] > 88) {
            ((char *)args)[sizes[i] - 1] = 1;
            snprintf(text, sizeof text, "size %u, not 0", sizes[i]);
            try_clone3(text, args, sizes[i]);
        }
    }
    struct clone_args bad = {.exit_signal = SIGCHLD, .stack = 4096};
    try_clone3("stack without size", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack_size = 4096};
    try_clone3("size without stack", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = SIGCHLD, .stack = 1ull << 62, .stack_size = 4096};
    try_clone3("stack nowhere", &bad, sizeof bad);
    bad = (struct clone_args){.flags = CLONE_CLEAR_SIGHAND | CLONE_SIGHAND | CLONE_VM,
                              .exit_signal = SIGCHLD};
    try_clone3("handlers cleared and shared", &bad, sizeof bad);
    bad = (struct clone_args){.flags = 1ull << 40, .exit_signal = SIGCHLD};
    try_clone3("unknown flag", &bad, sizeof bad);
    bad = (struct clone_args){.exit_signal = 100};
    try_clone3("no such signal", &bad, sizeof bad);
    try_clone3("nowhere", NULL, sizeof bad);
}

/* --- Handlers of a child with shared memory --------------------------------------------------- */

static char child_stack[65536] __attribute__((aligned(16)));

static int child_changes_handlers(void *unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = SIG_IGN}, old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == count_signal);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    raise(SIGUSR1);
    action.sa_handler = SIG_DFL;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    _exit(0);
}

static int child_has_no_handlers(void *unused)
{
    (void)unused;
    struct sigaction old;
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN);
    raise(SIGUSR1);
    _exit(0);
}

/* As clone(), but by clone3. */
static pid_t clone3_with_stack(int (*function)(void *), uint64_t flags)
{
    struct clone_args args = {.flags = flags,
                              .exit_signal = SIGCHLD,
                              .stack = (uint64_t)child_stack,
                              .stack_size = sizeof child_stack};
    long result;
    register int (*kept)(void *) __asm__("r12") = function;
    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jne 1f\n\t"
                     "xorl %%edi, %%edi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), "r"(kept)
                     : "rcx", "r11", "memory");
    return (pid_t)result;
}

static void handlers_of_children(void)
{
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGHUP, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        uint64_t flags = CLONE_VM | (i ? CLONE_VFORK : 0);
        printf("changed %x\n",
               (unsigned)status_of(clone3_with_stack(child_changes_handlers, flags)));
        caught = 0;
        raise(SIGUSR1);
        raise(SIGUSR2);
        printf("caught %d\n", caught);
        flags |= CLONE_CLEAR_SIGHAND;
        printf("cleared %x\n",
               (unsigned)status_of(clone3_with_stack(child_has_no_handlers, flags)));
        raise(SIGUSR1);
        printf("caught %d\n", caught);
    }
    pid_t shared = clone3_with_stack(child_changes_handlers, CLONE_VM | CLONE_SIGHAND);
    printf("shared %x\n", (unsigned)status_of(shared));
    CHECK(sigaction(SIGUSR1, NULL, &action) == 0);
    printf("ignored %d\n", action.sa_handler == SIG_IGN);
}

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

/* --- What the kernel writes where code is ----------------------------------------------------- */

#define PAGES 4
#define AT    6000 /* of a function, in the second of them */

static unsigned char *code;

static int run_code(void)
{
    return ((int (*)(void))(void *)(code + AT))();
}

static void fill(unsigned char *image, unsigned char value)
{
    static const unsigned char function[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
    for (volatile unsigned char *at = image; at < image + PAGES * 4096; at++)
        *at = 0x90; /* not by one instruction, of which every step would be run natively */
    memcpy(image + AT, function, sizeof function);
    image[AT + 1] = value;
}

/* A function is run, then changed by `write_all`, which writes all four pages, and run again. */
static void change_by(const char *name, ssize_t (*write_all)(unsigned char *image))
{
    static unsigned char image[PAGES * 4096];
    fill(code, 1);
    int before = run_code();
    fill(image, 2);
    ssize_t n = write_all(image);
    printf("%s: %zd bytes, %d, then %d\n", name, n, before, run_code());
}

static int pipe_with(unsigned char *image)
{
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], image, PAGES * 4096) == PAGES * 4096);
    close(ends[1]);
    return ends[0];
}

static ssize_t by_read(unsigned char *image)
{
    return read(pipe_with(image), code, PAGES * 4096);
}

static ssize_t by_readv(unsigned char *image)
{
    struct iovec parts[] = {{code, 100}, {code + 100, 9000}, {code + 9100, PAGES * 4096 - 9100}};
    return readv(pipe_with(image), parts, 3);
}

static ssize_t by_preadv(unsigned char *image)
{
    struct iovec parts[] = {{code, 5000}, {code + 5000, PAGES * 4096 - 5000}};
    int fd = memfd_create("part", 0);
    CHECK(write(fd, image, PAGES * 4096) == PAGES * 4096);
    return preadv(fd, parts, 2, 0);
}

/* A datagram is there once only. */
static int socket_with(unsigned char *image)
{
    int ends[2], size = 100000;
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    CHECK(send(ends[0], image, PAGES * 4096, 0) == PAGES * 4096);
    return ends[1];
}

static ssize_t by_recv(unsigned char *image)
{
    return recv(socket_with(image), code, PAGES * 4096, MSG_DONTWAIT);
}

static ssize_t by_recvmsg(unsigned char *image)
{
    struct iovec parts[] = {{code, 4096}, {code + 4096, PAGES * 4096 - 4096}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return recvmsg(socket_with(image), &message, MSG_DONTWAIT);
}

static ssize_t by_recvmmsg(unsigned char *image)
{
    struct iovec part = {code, PAGES * 4096};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    CHECK(recvmmsg(socket_with(image), &message, 1, MSG_DONTWAIT, NULL) == 1);
    return message.msg_len;
}

static ssize_t by_process_vm_readv(unsigned char *image)
{
    struct iovec to = {code, PAGES * 4096}, from = {image, PAGES * 4096};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0);
}

static ssize_t by_process_vm_writev(unsigned char *image)
{
    struct iovec from = {image, PAGES * 4096}, to = {code, PAGES * 4096};
    return process_vm_writev(getpid(), &from, 1, &to, 1, 0);
}

/* What the kernel has to tell must not be lost. */
static ssize_t by_wait(unsigned char *image)
{
    (void)image;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(0x90);
    pid_t found = wait4(child, (int *)(void *)(code + AT - 5), 0, NULL);
    memcpy(&status, code + AT - 5, sizeof status);
    return found == child ? status : -1;
}

static ssize_t by_getrandom(unsigned char *image)
{
    (void)image;
    run_code();
    ssize_t n = getrandom(code, PAGES * 4096, 0);
    fill(code, 3);
    return n;
}

static int memory_file(const char *name)
{
    int fd = open(name, O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

static ssize_t by_memory_pwrite(unsigned char *image)
{
    return pwrite(memory_file("/proc/self/mem"), image, PAGES * 4096, (off_t)(uintptr_t)code);
}

static ssize_t by_memory_write(unsigned char *image)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/%d/task/%d/mem", getpid(), gettid());
    int fd = memory_file(name), again = dup(fd);
    CHECK(lseek(fd, (off_t)(uintptr_t)code, SEEK_SET) == (off_t)(uintptr_t)code);
    return write(again, image, PAGES * 4096);
}

static ssize_t by_memory_pwritev(unsigned char *image)
{
    struct iovec parts[] = {{image, 5000}, {image + 5000, PAGES * 4096 - 5000}};
    int folder = open("/proc/thread-self", O_RDONLY);
    return pwritev(openat(folder, "mem", O_RDWR), parts, 2, (off_t)(uintptr_t)code);
}

/* Not even the program could write there by itself. */
static ssize_t by_memory_to_text(unsigned char *image)
{
    CHECK(mprotect(code, PAGES * 4096, PROT_READ | PROT_EXEC) == 0);
    int before = run_code();
    ssize_t n = by_memory_pwrite(image);
    printf("%d, then %d; ", before, run_code());
    CHECK(mprotect(code, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    return n;
}

static void into_code(void)
{
    code = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    CHECK(code != MAP_FAILED);
    change_by("read", by_read);
    change_by("readv", by_readv);
    change_by("preadv", by_preadv);
    change_by("recv", by_recv);
    change_by("recvmsg", by_recvmsg);
    change_by("recvmmsg", by_recvmmsg);
    change_by("process_vm_readv", by_process_vm_readv);
    change_by("process_vm_writev", by_process_vm_writev);
    change_by("wait4", by_wait);
    change_by("getrandom", by_getrandom);
    change_by("mem, pwrite", by_memory_pwrite);
    change_by("mem, write", by_memory_write);
    change_by("mem, pwritev", by_memory_pwritev);
    change_by("mem, text", by_memory_to_text);
}

/* --- The program's own file and descriptors --------------------------------------------------- */

/* Whether an open file is the program's. */
static void say_file(const char *what, int fd)
{
    struct stat st;
    if (fd < 0) {
        printf("%s: error %d\n", what, errno);
        return;
    }
    CHECK(fstat(fd, &st) == 0);
    printf("%s: %s, %lld bytes\n", what, S_ISLNK(st.st_mode) ? "a link" : "a file",
           (long long)st.st_size);
    close(fd);
}

static void say_link(const char *what, int folder, const char *name)
{
    char text[300];
    ssize_t n = readlinkat(folder, name, text, sizeof text);
    printf("%s: %.*s\n", what, n > 0 ? (int)n : 5, n > 0 ? text : "error");
}

static void exe(void)
{
    int folder = open("/proc/self", O_RDONLY | O_DIRECTORY);
    struct open_how how = {0};
    struct stat st;
    struct statx stx;
    char name[60];
    say_file("open", open("/proc/self/exe", O_RDONLY));
    say_file("openat", openat(folder, "exe", O_RDONLY));
    say_file("no follow", open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
    int link = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
    say_link("itself", link, "");
    say_file("itself", link);
    say_file("openat2", (int)syscall(SYS_openat2, folder, "exe", &how, sizeof how));
    how.resolve = RESOLVE_NO_MAGICLINKS;
    say_file("no magic", (int)syscall(SYS_openat2, folder, "exe", &how, sizeof how));
    say_link("readlinkat", folder, "exe");
    say_link("thread", AT_FDCWD, "/proc/thread-self/exe");
    snprintf(name, sizeof name, "/proc/%d/task/%d/exe", getpid(), gettid());
    say_link("task", AT_FDCWD, name);
    say_link("roundabout", AT_FDCWD, "/proc/../proc/self/./exe");
    CHECK(lstat("/proc/self/exe", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(fstatat(folder, "exe", &st, 0) == 0);
    printf("stat %lld bytes\n", (long long)st.st_size);
    CHECK(fstatat(folder, "exe", &st, AT_SYMLINK_NOFOLLOW) == 0);
    printf("stat of link %d\n", S_ISLNK(st.st_mode));
    CHECK(statx(folder, "exe", AT_SYMLINK_NOFOLLOW, STATX_ALL, &stx) == 0);
    printf("statx of link %d\n", S_ISLNK(stx.stx_mode));
    printf("access %ld\n", syscall(SYS_faccessat2, folder, "exe", X_OK, AT_EACCESS));
    say_file("another exe", open("/nowhere/exe", O_RDONLY));
}

/* A child that shares memory and not descriptors takes every number. */
static void vforked_descriptors(void)
{
    char *argv[] = {"echo", "executed", NULL}, *none[] = {NULL};
    pid_t child = vfork();
    if (child == 0) {
        for (int fd = 3; fd < 1024; fd++)
            dup2(1, fd);
        execve("/bin/echo", argv, none);
        _exit(9);
    }
    printf("child %x\n", (unsigned)status_of(child));
    child = vfork();
    if (child == 0) {
        execve("/bin/echo", argv, none);
        _exit(9);
    }
    printf("child %x\n", (unsigned)status_of(child));
}

/* As programs do that close all that they find. */
static void descriptors(void)
{
    static const char *const names[] = {"/proc/self/fd", "/proc/thread-self/fdinfo"};
    for (int i = 0; i < 2; i++) {
        DIR *folder = opendir(names[i]);
        struct dirent *entry;
        CHECK(folder);
        printf("%s:", names[i]);
        while ((entry = readdir(folder)))
            printf(" %s", entry->d_name);
        puts("");
        closedir(folder);
    }
    vforked_descriptors();
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
    {"numbers", numbers},
    {"clone3", clone3_sizes},
    {"handlers", handlers_of_children},
    {"filters", filters},
    {"dispatch", dispatch},
    {"traced", traced},
    {"debugged", debugged},
    {"hardware", hardware},
    {"into_code", into_code},
    {"exe", exe},
    {"descriptors", descriptors},
    {NULL, NULL},
};
// clang-format on

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_part(parts, argc, argv);
}
