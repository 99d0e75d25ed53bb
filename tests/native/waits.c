// SPDX-License-Identifier: MIT
/* System calls that signals interrupt, restart or deliver: what each returns is printed. */
#define _GNU_SOURCE
#include "parts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shared with the helper. */
static struct {
    atomic_int handled, helped; /* signals, helpers that may begin */
} * shared;
static int pipe_fd[2];

static void on_signal(int signal_)
{
    (void)signal_;
    atomic_fetch_add(&shared->handled, 1);
}

static void install(int signal_, int flags)
{
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    CHECK(sigaction(signal_, &action, NULL) == 0);
}

/* Waits until a thread has been asleep, in a system call, for a while. */
static void until_asleep(pid_t process, pid_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, thread);
    for (int seen = 0; seen < 5; usleep(3000)) {
        FILE *file = fopen(path, "r");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (!file)
            _exit(1);
        fclose(file);
        text[n] = 0;
        char *state = strrchr(text, ')');
        seen = state && state[2] == 'S' ? seen + 1 : 0;
    }
}

enum then { NOTHING, BYTE, BYTE_WHEN_HANDLED };

/* SIGUSR1 to this process when it sleeps, then a byte into the pipe. */
static pid_t start_helper(enum then then)
{
    pid_t parent = getpid();
    int before = atomic_load(&shared->handled), helped = atomic_load(&shared->helped);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        while (atomic_load(&shared->helped) == helped)
            usleep(1000);
        until_asleep(parent, parent);
        kill(parent, SIGUSR1);
        while (then == BYTE_WHEN_HANDLED && atomic_load(&shared->handled) == before)
            usleep(1000);
        if (then != NOTHING && write(pipe_fd[1], "x", 1) != 1)
            _exit(1);
        _exit(0);
    }
    atomic_fetch_add(&shared->helped, 1); /* fork() may sleep in an engine; that is over */
    return child;
}

static void end_helper(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) != child)
        CHECK(errno == EINTR);
    CHECK(status == 0);
}

static void say(const char *what, long result)
{
    int error = errno;
    printf("%s: %ld %s, handled %d\n", what, result, result < 0 ? strerrorname_np(error) : "-",
           atomic_load(&shared->handled));
}

static void reads(void)
{
    char byte;
    CHECK(pipe(pipe_fd) == 0);
    install(SIGUSR1, SA_RESTART);
    pid_t child = start_helper(BYTE_WHEN_HANDLED);
    say("read, restarting", read(pipe_fd[0], &byte, 1));
    end_helper(child);
    install(SIGUSR1, 0);
    child = start_helper(BYTE_WHEN_HANDLED);
    say("read, not restarting", read(pipe_fd[0], &byte, 1));
    end_helper(child);
    say("read, again", read(pipe_fd[0], &byte, 1));
    child = start_helper(NOTHING);
    struct timespec wait = {600, 0}, rest = {0, 0};
    int result = nanosleep(&wait, &rest);
    say("nanosleep", result);
    CHECK(rest.tv_sec > 0 && rest.tv_sec < 600);
    end_helper(child);
    say("pause", (child = start_helper(NOTHING), pause()));
    end_helper(child);
    say("read, bad descriptor", read(-1, &byte, 1));
}

static void polls(void)
{
    struct timespec long_wait = {300, 0};
    struct pollfd poll_fd = {0};
    sigset_t blocked, none;
    fd_set set;
    CHECK(pipe(pipe_fd) == 0);
    install(SIGUSR1, SA_RESTART);
    sigemptyset(&none);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    CHECK(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
    poll_fd.fd = pipe_fd[0];
    poll_fd.events = POLLIN;
    pid_t child = start_helper(NOTHING);
    say("ppoll, open mask", ppoll(&poll_fd, 1, &long_wait, &none));
    end_helper(child);
    child = start_helper(BYTE);
    say("ppoll, closed mask", ppoll(&poll_fd, 1, &long_wait, &blocked));
    end_helper(child);
    FD_ZERO(&set);
    FD_SET(pipe_fd[0], &set);
    say("pselect, open mask", pselect(pipe_fd[0] + 1, &set, NULL, NULL, &long_wait, &none));
    FD_ZERO(&set);
    FD_SET(pipe_fd[0], &set);
    say("pselect, closed mask", pselect(pipe_fd[0] + 1, &set, NULL, NULL, &long_wait, &blocked));
    int epoll = epoll_create1(0);
    struct epoll_event event = {0};
    child = start_helper(NOTHING);
    say("epoll_pwait, open mask", epoll_pwait(epoll, &event, 1, 300000, &none));
    end_helper(child);
    CHECK(sigprocmask(SIG_BLOCK, NULL, &none) == 0 && sigismember(&none, SIGUSR1));
}

static void suspends(void)
{
    sigset_t blocked, old, pending;
    siginfo_t info;
    struct timespec wait = {300, 0}, short_wait = {0, 1000000};
    install(SIGUSR1, 0);
    install(SIGUSR2, 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGUSR2);
    CHECK(sigprocmask(SIG_BLOCK, &blocked, &old) == 0);
    pid_t child = start_helper(NOTHING);
    say("sigsuspend", sigsuspend(&old));
    end_helper(child);
    child = start_helper(NOTHING);
    int got = sigtimedwait(&blocked, &info, &wait);
    say("sigtimedwait", got);
    printf("from the child: %d\n", info.si_pid == child);
    end_helper(child);
    say("sigtimedwait, nothing", sigtimedwait(&blocked, &info, &short_wait));
    raise(SIGUSR2);
    CHECK(sigpending(&pending) == 0);
    printf("pending: %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
    union sigval value = {.sival_int = 4711};
    CHECK(sigqueue(getpid(), SIGUSR1, value) == 0);
    got = sigwaitinfo(&blocked, &info);
    printf("sigwaitinfo: %d %d\n", got, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
    say("unblocked", 0);
}

static void descriptors(void)
{
    struct signalfd_siginfo info;
    struct itimerspec soon = {{0, 0}, {0, 5000000}};
    uint64_t times;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    CHECK(fd >= 0);
    pid_t child = start_helper(NOTHING);
    for (int i = 0; i < 2; i++) {
        CHECK(read(fd, &info, sizeof info) == sizeof info);
        printf("signalfd: %u, from the child %d\n", info.ssi_signo,
               info.ssi_pid == (uint32_t)child);
    }
    end_helper(child);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    CHECK(timer >= 0 && timerfd_settime(timer, 0, &soon, NULL) == 0);
    CHECK(read(timer, &times, sizeof times) == sizeof times);
    printf("timerfd: %d\n", (int)times);
    printf("handled %d\n", atomic_load(&shared->handled));
}

static atomic_int reader;

static void *blocked_reader(void *result)
{
    char byte;
    errno = 0;
    atomic_store(&reader, gettid());
    *(long *)result = read(pipe_fd[0], &byte, 1);
    return (void *)(intptr_t)errno;
}

/* A thread in a system call is interrupted by pthread_kill, and cancelled. */
static void threads(void)
{
    pthread_t thread;
    long result = 1;
    void *end;
    CHECK(pipe(pipe_fd) == 0);
    install(SIGUSR1, 0);
    CHECK(pthread_create(&thread, NULL, blocked_reader, &result) == 0);
    while (atomic_load(&reader) == 0)
        usleep(1000);
    until_asleep(getpid(), atomic_exchange(&reader, 0));
    CHECK(pthread_kill(thread, SIGUSR1) == 0);
    CHECK(pthread_join(thread, &end) == 0);
    printf("killed: %ld %s\n", result, strerrorname_np((int)(intptr_t)end));
    CHECK(pthread_create(&thread, NULL, blocked_reader, &result) == 0);
    while (atomic_load(&reader) == 0)
        usleep(1000);
    until_asleep(getpid(), atomic_exchange(&reader, 0));
    CHECK(pthread_cancel(thread) == 0);
    CHECK(pthread_join(thread, &end) == 0);
    printf("cancelled: %d\n", end == PTHREAD_CANCELED);
}

int main(int argc, char **argv)
{
    static const struct part parts[] = {
        {"reads", reads},       {"polls", polls},
        {"suspends", suspends}, {"descriptors", descriptors},
        {"threads", threads},   {NULL, NULL},
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    return run_part(parts, argc, argv);
}
