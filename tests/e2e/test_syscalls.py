# SPDX-License-Identifier: MIT
"""System calls: as many as strace counts, as long as the program slept at least, from where they were made."""

import json
import os
import shutil
import sqlite3
import subprocess
import unittest

from util_cli import HOTPATH, NATIVE, QEMU, Case, main, tool, wait_until

CALLS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static sem_t begun;
static volatile sig_atomic_t handled;
static volatile pid_t reader;

__attribute__((noinline)) static void call(int n)
{
    for (int i = 0; i < n; i++)
        syscall(SYS_getppid);
}
__attribute__((noinline)) static void first(void) { call(300); }
__attribute__((noinline)) static void second(void) { call(200); first(); }

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (syscall(SYS_nanosleep, &time, &time) != 0)
        ;
}

static void on_signal(int number) { handled += number != 0; }

static void install(int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
}

/* Signals that end a call: each of these is one call, and an error. */
static void wait_for_signals(void)
{
    sigset_t one, none;
    install(0);
    sigemptyset(&none);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, NULL);
    for (int i = 0; i < 20; i++) {
        raise(SIGUSR1);
        if (sigsuspend(&none) != -1 || errno != EINTR)
            abort();
    }
}

static void *read_once(void *unused)
{
    char byte;
    (void)unused;
    reader = (pid_t)syscall(SYS_gettid);
    sem_post(&begun);
    if (read(ends[0], &byte, 1) != 1)
        abort();
    return NULL;
}

static pthread_t start_reader(void)
{
    pthread_t thread;
    sem_init(&begun, 0, 0);
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, read_once, NULL) != 0)
        abort();
    while (sem_wait(&begun) != 0)
        ;
    return thread;
}

/* The kernel says that the thread is in read(). */
static void await_reader(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)reader);
    while (strncmp(text, "0 ", 2) != 0) {
        int fd = open(path, O_RDONLY);
        ssize_t n = read(fd, text, sizeof text - 1);
        text[n < 0 ? 0 : n] = 0;
        close(fd);
        usleep(1000);
    }
}

/* Signals after which a call goes on: it is one call, however many come. */
static void interrupt_reader(void)
{
    install(SA_RESTART);
    pthread_t thread = start_reader();
    for (int i = 1; i <= 10; i++) {
        await_reader();
        pthread_kill(thread, SIGUSR1);
        while (handled < i)
            usleep(1000);
    }
    await_reader();
    sleep_ms(60);
    if (write(ends[1], "x", 1) != 1)
        abort();
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "count") == 0) {
        second();
        for (int i = 0; i < 7; i++)
            close(-1);
        for (int i = 0; i < 3; i++)
            syscall(1234);
        for (int i = 0; i < 4; i++)
            sleep_ms(25);
    } else if (strcmp(what, "signals") == 0) {
        wait_for_signals();
    } else if (strcmp(what, "restart") == 0) {
        interrupt_reader();
    } else if (strcmp(what, "left") == 0 || strcmp(what, "killed") == 0) {
        start_reader();
        await_reader();
        sleep_ms(80);
        if (*what == 'k')
            kill(getpid(), SIGKILL);
        _exit(0);
    } else if (strcmp(what, "processes") == 0) {
        if (fork() == 0) {
            call(11);
            _exit(0);
        }
        char *arguments[] = {argv[0], "child", NULL}, *environment[] = {NULL};
        pid_t pid;
        execve("/nowhere/at/all", arguments, environment);
        posix_spawn(&pid, argv[0], NULL, NULL, arguments, environment);
        call(5);
        while (wait(NULL) > 0)
            ;
        execve(argv[0], arguments, environment);
    } else if (strcmp(what, "child") == 0) {
        call(23);
    } else if (strcmp(what, "no clock") == 0) {
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
        for (int i = 0; i < 3; i++)
            sleep_ms(20);
        if (fork() == 0) {
            sleep_ms(20);
            _exit(0);
        }
        wait(NULL);
    }
    return 0;
}
"""

THREADS = """
import os, threading, time
def work(n):
    for i in range(n):
        time.sleep(0.001)
        os.getppid()
threads = [threading.Thread(target=work, args=(10 * n,)) for n in (1, 2, 3)]
for t in threads: t.start()
for t in threads: t.join()
"""

# What strace counts, and hotpath for another process or not at all; what is as often as threads meet.
NOT_COMPARED = {"execve", "exit", "exit_group", "futex", "restart_syscall"}


class Syscalls(Case):
    def record(self, *command, options=(), status=0, **how):
        profile = self.path("p.hotpath")
        got, _, err = self.hotpath("record", "-q", "-o", profile, *options, "--", *command,
                                    stdout=subprocess.DEVNULL, **how)
        self.assertEqual((got, err), (status, b""))
        return profile

    def view(self, profile, view="syscalls", *options):
        return json.loads(self.good("report", profile, view, "--json", *options))[view.replace("-", "_")]

    def calls(self, profile, *options):
        return {row["call"]: row for row in self.view(profile, "syscalls", *options)}

    def strace(self, *command, **how):
        """{name: (calls, errors)}"""
        out = self.path("strace")
        subprocess.run(["setarch", "-R", tool("strace"), "-f", "-c", "-U", "name,calls,errors", "-o", out, *command],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=self.dir, **how)
        with open(out) as file:
            rows = [line.split() for line in file]
        counts = {row[0]: (int(row[1]), int(row[2]) if len(row) > 2 else 0)
                  for row in rows if len(row) > 1 and row[1].isdigit() and row[0] != "total"}
        if not counts:
            raise unittest.SkipTest("strace may not trace here")
        return counts

    def sound(self, profile):
        """Times fit into those of their threads, and counts into each other."""
        with sqlite3.connect(profile) as database:
            for ns, lived in database.execute("SELECT sum(s.ns), max(t.ns) FROM syscall s JOIN thread_time t "
                                              "ON t.thread = s.thread GROUP BY s.thread"):
                self.assertLessEqual(ns, lived * 1.01 + 100000)
        database.close()
        for row in self.view(profile):
            self.assertLessEqual(row["max_ns"], row["ns"])
            self.assertLessEqual(row["timed"], row["calls"])
            if row["timed"]:
                self.assertEqual(row["mean_ns"], row["ns"] // row["timed"])
                self.assertGreaterEqual(row["max_ns"], row["mean_ns"])
            else:
                self.assertEqual((row["ns"], row["mean_ns"]), (0, None))
        paths = self.view(profile, "syscall-paths")
        for name in ("calls", "errors", "ns", "unfinished"):
            self.assertEqual(sum(row[name] for row in paths), sum(row[name] for row in self.view(profile)))

    def same_as_strace(self, *command, options=(), but=(), **how):
        expected = self.strace(*command, **how)
        profile = self.record(*command, options=options, **how)
        found = {name: (row["calls"], row["errors"]) for name, row in self.calls(profile).items()}
        for counts in (expected, found):
            for name in NOT_COMPARED | set(but):
                counts.pop(name, None)
        self.assertEqual(found, expected)
        self.sound(profile)
        return profile

    def program(self):
        return self.build("calls", CALLS, "-pthread")

    # --- Against strace ---

    def test_as_many_as_strace_counts(self):
        for options in (), ("-p", "counts"), ("-p", "loops,paths"), ("-p", "exact", "--record", "memory"):
            with self.subTest(options=options):
                self.same_as_strace(tool("sort"), __file__, options=options if NATIVE else (),
                                    but=("rseq",) if "memory" in options else ())  # there it is refused

    def test_git(self):
        repository = self.path("repository")
        for words in ("init", "-q", repository), ("-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0",
                                                   "commit", "-q", "--allow-empty", "-m", "one"):
            subprocess.run([tool("git"), *words], check=True)
        for folder, _, files in os.walk(repository):  # git looks twice at what has just changed
            for name in ["", *files]:
                os.utime(os.path.join(folder, name), (10**9, 10**9))
        self.same_as_strace(tool("git"), "-C", repository, "log", "--stat")

    def test_threads_of_python(self):
        path = self.path("threads.py")
        with open(path, "w") as file:
            file.write(THREADS)
        # How often threads must wait for each other, and what memory they then take, differs.
        compared = {"clock_nanosleep": 60, "getppid": 60}
        expected = self.strace(tool("python3"), path)
        profile = self.record(tool("python3"), path)
        calls = self.calls(profile)
        for name, n in compared.items():
            self.assertEqual((calls[name]["calls"], expected[name][0]), (n, n))
        for name in ("openat", "read", "close", "newfstatat"):
            self.assertEqual((calls[name]["calls"], calls[name]["errors"]), expected[name])
        self.assertGreaterEqual(calls["clock_nanosleep"]["ns"], 60 * 1000000)
        by_thread = sorted(self.calls(profile, "--thread", str(i))["clock_nanosleep"]["calls"]
                           for i in range(4) if "clock_nanosleep" in self.calls(profile, "--thread", str(i)))
        self.assertEqual(by_thread, [10, 20, 30])
        self.sound(profile)

    def test_a_shell_and_what_it_executes(self):
        script = "for i in 1 2 3; do ls / > /dev/null; done; cat /dev/null | tr a b"
        self.same_as_strace(tool("dash"), "-c", script, but=("rt_sigreturn", "wait4", "vfork", "clone"))

    # --- What a program of ours does ---

    def test_counts_errors_and_times(self):
        profile = self.record(self.program(), "count")
        calls = self.calls(profile)
        got = {name: calls[name]["calls"] for name in ("getppid", "nanosleep", "syscall_1234")}
        self.assertEqual(got, {"getppid": 500, "nanosleep": 4, "syscall_1234": 3})
        self.assertEqual((calls["close"]["errors"], calls["syscall_1234"]["errors"], calls["getppid"]["errors"]), (7, 3, 0))
        self.assertGreaterEqual(calls["nanosleep"]["ns"], 100 * 1000000)
        self.assertGreaterEqual(calls["nanosleep"]["max_ns"], 25 * 1000000)
        self.assertEqual(calls["exit_group"]["unfinished"], 1)
        self.assertEqual(self.view(profile)[0]["ns"], max(row["ns"] for row in calls.values()))
        self.sound(profile)
        text = self.good("report", profile).decode()
        self.assertRegex(text, r"\n  [0-9.]+% of the time in system calls: [a-z]")
        self.assertRegex(self.good("report", profile, "syscalls").decode(), r"(?m)^ +[0-9.]+% +[0-9.]+ m?s +4 .* nanosleep .* sleep_ms")

    def test_from_where(self):
        profile = self.record(self.program(), "count")
        self.assertEqual(self.calls(profile)["getppid"]["caller"], "call")
        paths = [row for row in self.view(profile, "syscall-paths") if row["call"] == "getppid"]
        ends = {}
        for row in paths:
            at = row["path"].index("main")
            ends[" ".join(row["path"][at:])] = ends.get(" ".join(row["path"][at:]), 0) + row["calls"]
        self.assertEqual(ends, {"main second call syscall": 200, "main second first call syscall": 300})
        self.assertEqual({name: row["calls"] for name, row in self.calls(profile, "--function", "first").items()},
                         {"getppid": 300})
        self.assertEqual({name for name in self.calls(profile, "--filter", "errors >= 3")}, {"close", "syscall_1234"})
        self.assertEqual([row["call"] for row in self.view(profile, "syscalls", "--sort", "calls")][0], "getppid")
        counted = self.calls(self.record(self.program(), "count", options=("-p", "counts"))) if NATIVE else {}
        self.assertEqual({name: row["calls"] for name, row in counted.items()},
                         {name: row["calls"] for name, row in self.calls(profile).items()} if NATIVE else {})

    def test_signals_that_end_calls(self):
        self.same_as_strace(self.program(), "signals", but=("rt_sigreturn",))  # strace takes the result for an error
        calls = self.calls(self.path("p.hotpath"))
        self.assertEqual((calls["rt_sigsuspend"]["calls"], calls["rt_sigsuspend"]["errors"]), (20, 20))
        self.assertEqual((calls["rt_sigreturn"]["calls"], calls["rt_sigreturn"]["timed"]), (20, 0))

    def test_signals_after_which_a_call_goes_on(self):
        profile = self.record(self.program(), "restart")
        paths = [row for row in self.view(profile, "syscall-paths") if "read_once" in row["path"] and row["call"] == "read"]
        self.assertEqual(sum(row["calls"] for row in paths), 1)
        self.assertEqual(sum(row["errors"] for row in paths), 0)
        self.assertGreaterEqual(sum(row["ns"] for row in paths), 60 * 1000000)
        self.assertEqual(self.calls(profile)["rt_sigreturn"]["calls"], 10)
        self.sound(profile)

    def test_calls_that_do_not_return(self):
        for how, status in ("left", 0), ("killed", 137):
            with self.subTest(how):
                profile = self.record(self.program(), how, status=status)
                rows = [row for row in self.view(profile, "syscall-paths") if row["unfinished"] and row["call"] == "read"]
                self.assertEqual([(row["calls"], row["errors"]) for row in rows], [(1, 0)])
                self.assertIn("read_once", rows[0]["path"])
                self.assertGreaterEqual(rows[0]["ns"], 80 * 1000000)
                self.sound(profile)

    @unittest.skipUnless(NATIVE, "QEMU cannot follow programs that are executed")
    def test_processes(self):
        profile = self.record(self.program(), "processes")
        calls = self.calls(profile)
        # The program, its child, and twice what it executes.
        self.assertEqual(calls["getppid"]["calls"], 11 + 5 + 23 + 23)
        self.assertEqual((calls["execve"]["calls"], calls["execve"]["errors"], calls["execve"]["unfinished"]), (3, 1, 2))
        # One process executes another program, and so does the one that is spawned: each is two rows.
        of_processes = [self.calls(profile, "--process", str(row["pid"])).get("getppid", {}).get("calls")
                        for row in self.view(profile, "processes")]
        self.assertEqual(sorted(filter(None, of_processes)), [11, 23, 23, 28, 28])
        self.sound(profile)

    @unittest.skipUnless(NATIVE, "only the native engine reads the processor's clock")
    def test_without_the_clock_of_the_processor(self):
        profile = self.record(self.program(), "no clock")
        calls = self.calls(profile)
        self.assertEqual(calls["nanosleep"]["calls"], 4)
        self.assertGreaterEqual(calls["nanosleep"]["ns"], 80 * 1000000)
        self.sound(profile)

    # --- Engines, traces ---

    def test_engines_agree(self):
        if not NATIVE or not shutil.which("qemu-x86_64"):
            self.skipTest("there are not two engines")
        program = self.build("static", CALLS, "-pthread", "-static")
        for what in "count", "signals":
            counts = []
            for options in (), QEMU:
                rows = self.view(self.record(program, what, options=options), "syscall-paths")
                counts.append(sorted((row["call"], row["path"], row["calls"], row["unfinished"]) for row in rows))
            self.assertEqual(counts[0], counts[1])

    def test_traces_have_them(self):
        trace = self.path("t.hptrace")
        self.good("trace", "record", "-q", "-o", trace, "--", self.program(), "count")
        self.good("trace", "check", trace)
        profile = self.path("r.hotpath")
        self.good("trace", "replay", "-o", profile, trace)
        calls = self.calls(profile)
        self.assertEqual((calls["getppid"]["calls"], calls["close"]["errors"]), (500, 7))
        self.assertGreaterEqual(calls["nanosleep"]["ns"], 100 * 1000000)
        self.assertNotIn("share", calls["nanosleep"])  # how long threads lived is not in a trace
        part = self.path("part.hotpath")
        self.good("trace", "replay", "-o", part, "--from", "first", trace)
        self.assertEqual(self.calls(part)["getppid"]["calls"], 300)

    def test_merged_profiles(self):
        one = self.record(self.program(), "count")
        two = shutil.copy(one, self.path("two.hotpath"))
        both = self.path("both.hotpath")
        self.good("merge", "-o", both, one, two)
        self.assertEqual({name: 2 * row["calls"] for name, row in self.calls(one).items()},
                         {name: row["calls"] for name, row in self.calls(both).items()})
        self.assertEqual(self.calls(one)["nanosleep"]["max_ns"], self.calls(both)["nanosleep"]["max_ns"])

    def test_not_recorded(self):
        profile = self.record(self.program(), "count", options=("-p", "paths"))
        self.assertIn(b"no system call was recorded", self.good("report", profile, "syscalls"))

    # --- A server ---

    def test_redis(self):
        server, client, bench = tool("redis-server"), tool("redis-cli"), tool("redis-benchmark")
        socket, profile = self.path("socket"), self.path("p.hotpath")
        run = subprocess.Popen([HOTPATH, "record", "-q", "-o", profile, "--", server, "--port", "0", "--unixsocket", socket,
                                "--save", "", "--appendonly", "no", "--dir", self.dir],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: subprocess.run([client, "-s", socket, "ping"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                              text=True).stdout == "PONG\n")
            subprocess.run([bench, "-s", socket, "-q", "-n", "2000", "-c", "4", "-t", "set,get"], stdout=subprocess.DEVNULL,
                           check=True)
            subprocess.run([client, "-s", socket, "shutdown", "nosave"], stdout=subprocess.DEVNULL)
            self.assertEqual(run.wait(), 0, run.stderr.read())
        finally:
            run.kill()
            run.stderr.close()
        calls = self.calls(profile)
        # A request each is read and answered, when nothing is pipelined; and some for the connections.
        for name in "read", "write":
            self.assertGreaterEqual(calls[name]["calls"], 4000)
        self.assertGreater(calls["epoll_wait"]["calls"], 0)
        if any(row["name"] == "aeApiPoll" for row in self.view(profile, "functions")):
            self.assertEqual(calls["epoll_wait"]["caller"], "aeApiPoll")
        self.sound(profile)
        threads = self.view(profile, "threads")
        for row in threads:
            self.assertLessEqual(row["syscall_ns"], row["ns"] * 1.01 + 100000)
        self.assertEqual(sum(row["syscall_ns"] for row in threads), sum(row["ns"] for row in calls.values()))


if __name__ == "__main__":
    main()
