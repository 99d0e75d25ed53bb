// SPDX-License-Identifier: MIT
/* Processes: made in every way, ended in every way. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int ended(pid_t child)
{
    int status;
    pid_t got;
    do
        got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    CHECK(got == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* --- A bounded fork bomb ---------------------------------------------------------------------- */

static int tree(int depth)
{
    pid_t child[5];
    int below = 0;
    if (depth == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(99);
    }
    for (int i = 0; i < 5; i++) {
        child[i] = fork();
        CHECK(child[i] >= 0);
        if (child[i] == 0)
            _exit(tree(depth - 1));
    }
    for (int i = 0; i < 5; i++)
        below += ended(child[i]) + 1;
    return below; /* 5, 30, 155 */
}

static void bomb(void)
{
    printf("processes: %d\n", tree(3));
}

/* --- vfork, posix_spawn, clone ---------------------------------------------------------------- */

static volatile int shared_word;

static void vforks(void)
{
    for (volatile int i = 0; i < 10; i++) {
        pid_t child = vfork();
        if (child == 0) {
            shared_word += 7; /* the parent's memory */
            _exit(i);
        }
        CHECK(child > 0 && ended(child) == i);
    }
    printf("written by children: %d\n", shared_word);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "echo from the shell; exit 6", (char *)NULL);
        _exit(99);
    }
    printf("shell: %d\n", ended(child));
    child = vfork();
    if (child == 0) {
        execl("/no/such/file", "x", (char *)NULL);
        shared_word = errno;
        _exit(98);
    }
    printf("missing: %d, %s\n", ended(child), strerrorname_np(shared_word));
}

static void spawns(void)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t mask;
    pid_t child;
    char *echo[] = {"echo", "spawned", NULL}, *none[] = {"none", NULL};
    char *sleeper[] = {"sh", "-c", "kill -TERM $$; echo survived", NULL};
    printf("missing: %s\n",
           strerrorname_np(posix_spawn(&child, "/no/such", NULL, NULL, none, environ)));
    printf("not a program: %s\n",
           strerrorname_np(posix_spawn(&child, "/etc/passwd", NULL, NULL, none, environ)));
    fflush(stdout);
    CHECK(posix_spawnp(&child, "echo", NULL, NULL, echo, environ) == 0);
    printf("echo: %d\n", ended(child));
    CHECK(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) == 0);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    CHECK(posix_spawnattr_setsigmask(&attributes, &mask) == 0);
    CHECK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) == 0);
    CHECK(posix_spawn(&child, "/bin/sh", &actions, &attributes, sleeper, environ) == 0);
    printf("with TERM blocked: %d\n", ended(child));
    CHECK(posix_spawn(&child, "/bin/sh", NULL, NULL, sleeper, environ) == 0);
    printf("with TERM open: %d\n", ended(child));
}

static int in_clone(void *argument)
{
    shared_word = *(int *)argument;
    return 17;
}

static void clones(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int value = 23;
    pid_t child = clone(in_clone, stack + sizeof stack, CLONE_VM | SIGCHLD, &value);
    CHECK(child > 0);
    printf("clone with memory: %d", ended(child));
    printf(", wrote %d\n", shared_word);
    value = 24;
    child = clone(in_clone, stack + sizeof stack, SIGCHLD, &value);
    CHECK(child > 0);
    printf("clone without: %d", ended(child));
    printf(", still %d\n", shared_word);
    int pidfd = -1;
    struct clone_args arguments = {
        .flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&pidfd, .exit_signal = SIGCHLD};
    child = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0)
        _exit(31);
    CHECK(child > 0 && pidfd >= 0);
    printf("clone3: %d\n", ended(child));
    errno = 0;
    long result = syscall(SYS_clone3, &arguments, 8L);
    printf("clone3, small: %ld %s\n", result, strerrorname_np(errno));
}

/* fork in a process with threads: the child has one. */
static void *forker(void *argument)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(*(int *)argument);
        CHECK(child > 0 && ended(child) == *(int *)argument);
    }
    return NULL;
}

static void fork_threads(void)
{
    pthread_t thread[4];
    int number[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, forker, &number[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    puts("twenty children");
}

/* --- exec ------------------------------------------------------------------------------------- */

static void execs(void)
{
    char *arguments[] = {"other name", "processes-after-exec", NULL};
    char *variables[] = {"ONE=1", NULL};
    fcntl(0, F_SETFD, FD_CLOEXEC);
    execve("/no/such", arguments, variables);
    printf("missing: %s\n", strerrorname_np(errno));
    fflush(stdout);
    execl("/bin/sh", "name of sh", "-c", "echo $0; exec sh -c 'echo $0 $ONE; exit 12' inner",
          (char *)NULL);
}

static void exec_fd(void)
{
    char *arguments[] = {"echo", "by descriptor", NULL};
    int fd = open("/bin/echo", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    fexecve(fd, arguments, environ);
    _exit(99);
}

static void *exec_other(void *unused)
{
    (void)unused;
    execl("/bin/echo", "echo", "from a thread", (char *)NULL);
    _exit(99);
}

/* exec in a thread that is not the first: the others are gone, the process is the same. */
static void exec_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, exec_other, NULL) == 0);
    for (;;)
        pause();
}

/* --- Ends ------------------------------------------------------------------------------------- */

static void at_end(void)
{
    puts("at exit");
}

static void end_exit(void)
{
    atexit(at_end);
    exit(3);
}

static void end_quick(void)
{
    atexit(at_end);
    _exit(4);
}

static void *busy(void *unused)
{
    for (volatile long i = 0;; i++)
        ;
    return unused;
}

static void end_group(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    usleep(10000);
    syscall(SYS_exit_group, 5);
}

static void *last(void *unused)
{
    usleep(20000);
    puts("the last thread");
    exit(6);
    return unused;
}

static void end_main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, last, NULL) == 0);
    pthread_exit(NULL);
}

static void *last_quiet(void *unused)
{
    usleep(20000);
    return unused;
}

/* The process ends with its last thread, with status 0. */
static void end_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread, NULL, last_quiet, NULL) == 0);
    pthread_exit(NULL);
}

static void end_abort(void)
{
    abort();
}

static void end_kill(void)
{
    raise(SIGKILL);
}

static void end_term(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    kill(getpid(), SIGTERM);
    for (;;)
        pause();
}

static void end_pipe(void)
{
    int fd[2];
    CHECK(pipe(fd) == 0 && close(fd[0]) == 0);
    CHECK(write(fd[1], "x", 1) == 1);
}

static void end_return(void)
{
    atexit(at_end);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"bomb", bomb},
        {"vforks", vforks},
        {"spawns", spawns},
        {"clones", clones},
        {"fork-threads", fork_threads},
        {"execs", execs},
        {"exec-fd", exec_fd},
        {"exec-thread", exec_thread},
        {"end-exit", end_exit},
        {"end-quick", end_quick},
        {"end-group", end_group},
        {"end-main", end_main},
        {"end-threads", end_threads},
        {"end-abort", end_abort},
        {"end-kill", end_kill},
        {"end-term", end_term},
        {"end-pipe", end_pipe},
        {"end-return", end_return},
        {NULL, NULL},
    };
    return run_part(parts, argc, argv);
}
