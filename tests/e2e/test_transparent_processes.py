#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that fork, execute others, get signals, or lose their observer: nobody is harmed, and
the profile says what was seen."""
import json
import os
import shutil
import signal
import subprocess

from util_cli import (HOTPATH, NATIVE, NOT_FOLLOWED, QEMU, TIMEOUT, Case, code_of, function, main,
                      notes, status_of, tool, wait_until)

# Forks argv[1] children, one after the other or all at once; each calls leaf() 10 * its number
# times and exits with it; the parent adds the statuses up.
FORKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned sink;
void leaf(unsigned x) { sink += x; }
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), at_once = argc > 2, sum = 0, status;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 99;
        if (pid == 0) {
            for (int k = 0; k < 10 * i; k++)
                leaf((unsigned)k);
            _exit(i % 100);
        }
        if (!at_once) {
            waitpid(pid, &status, 0);
            sum += WEXITSTATUS(status);
        }
    }
    while (at_once && wait(&status) > 0)
        sum += WEXITSTATUS(status);
    printf("%d\n", sum);
    return 0;
}
"""

# The parent is gone once the child has begun; the child waits until there is a file argv[2], works and
# leaves a file behind.
DAEMON = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned sink;
int main(int argc, char **argv)
{
    int begun[2];
    char byte = 0;
    if (pipe(begun) != 0)
        return 6;
    if (fork() > 0)
        return read(begun[0], &byte, 1) == 1 ? 5 : 7;
    setsid();
    if (write(begun[1], &byte, 1) != 1)
        return 8;
    while (access(argv[2], F_OK) != 0)
        usleep(10000);
    for (unsigned i = 0; i < 3000000; i++)
        sink += i;
    char aside[4096];
    snprintf(aside, sizeof aside, "%s.aside", argv[1]);
    FILE *file = fopen(aside, "w");
    fprintf(file, "%u\n", sink);
    fclose(file);
    rename(aside, argv[1]);
    return argc;
}
"""

# Says it is ready, then waits for SIGINT or works for a while.
WAITS = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void on_int(int s) { got = s; }
int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_int};
    if (strcmp(argv[1], "handle") == 0)
        sigaction(SIGINT, &action, NULL);
    printf("ready\n");
    fflush(stdout);
    for (int i = 0; i < 30000 && !got; i++)
        usleep(10000);
    printf("got %d\n", got);
    return got == SIGINT ? 7 : 8;
}
"""

# Works until there is a file argv[3], and then for as long again as argv[2] says.
WORKS = r"""
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
volatile unsigned sink;
int main(int argc, char **argv)
{
    unsigned n = (unsigned)atoi(argv[2]), rounds = n / 1000;
    bool last;
    printf("ready\n");
    fflush(stdout);
    do {
        last = access(argv[3], F_OK) == 0;
        for (unsigned i = 0; i < (last ? n : rounds); i++)
            if (i & 1)
                sink += i;
            else
                sink ^= i;
    } while (!last);
    FILE *file = fopen(argv[1], "w");
    fprintf(file, "%u\n", sink);
    return fclose(file) == 0 && argc == 4 ? 0 : 1;
}
"""


def wait_for(path):
    wait_until(lambda: os.path.exists(path), lambda: path + " does not come")


class Forks(Case):
    def forks(self, *more):
        program = self.build("forks", FORKS)
        alone, profile = self.same_as_alone([program, "100", *more], 0)
        self.assertEqual(alone[1], b"4950\n")
        self.assertEqual(profile["summary"]["threads"], 101)
        self.assertEqual(len({t["pid"] for t in profile["threads"]}), 101)
        self.assertEqual(function(profile, "leaf")["calls"], 10 * sum(range(100)))
        self.assertEqual(profile["notes"], [])
        self.assertEqual(sum(t["instructions"] for t in profile["threads"]),
                         profile["summary"]["instructions"])

    def test_hundred_children_in_turn(self):
        self.forks()

    def test_hundred_children_at_once(self):
        self.forks("at once")

    def test_children_thread_by_thread(self):
        program = self.build("forks", FORKS)
        _, _, _, profile = self.profile([program, "20"], "--threads", "each")
        leaf = function(profile, "leaf")
        self.assertEqual(sorted(t["calls"] for t in leaf["threads"]),
                         [10 * i for i in range(1, 20)])

    def test_no_follow(self):
        program = self.build("forks", FORKS)
        status, out, err, profile = self.profile([program, "20"], "--no-follow")
        self.assertEqual((status, out, err), (0, b"190\n", b""))
        self.assertEqual(profile["summary"]["threads"], 1)
        self.assertIsNone(function(profile, "leaf"))

    def test_daemon(self):
        """The parent is gone, so is hotpath; the child goes on unobserved and whole."""
        program, left = self.build("daemon", DAEMON), self.path("left")
        with open(self.path("out"), "wb") as out:
            status, _, _ = self.hotpath("run", "-q", "--json", "p.json", "--", program, left,
                                        self.path("go"), stdout=out, stderr=out)
        self.assertEqual((status, self.read("out")), (5, b""))
        self.assertFalse(os.path.exists(left))
        profile = json.loads(self.read("p.json"))
        self.assertEqual(profile["summary"]["threads"], 2)
        self.assertEqual(sum(n["count"] for n in notes(profile, "detached")), 1)
        self.write("go", "")
        wait_for(left)
        expected = sum(range(3000000)) % (1 << 32)
        self.assertEqual(self.read("left").decode(), f"{expected}\n")

    def test_busy_daemon(self):
        """The child is writing into its ring at the moment hotpath stops reading."""
        program, left = self.build("daemon", DAEMON), self.path("left")
        with open(self.path("out"), "wb") as out:
            status, _, _ = self.hotpath("run", "-q", "--json", "p.json", "--", program, left, "/",
                                        stdout=out, stderr=out)
        self.assertEqual((status, self.read("out")), (5, b""))
        wait_for(left)


class Execs(Case):
    """Programs that are executed: natively they are watched as well, unless they are not to be; QEMU
    cannot follow them, and then a note says so."""

    def setUp(self):
        super().setUp()
        self.program = self.build("says", "#include <stdio.h>\nvoid say(char *s) { puts(s); }\n"
                                  "int main(int argc, char **argv) { say(argv[argc - 1]); }\n")

    def left_alone(self, script, status, by_qemu, natively):
        """One note a program: how often it was executed by processes that were watched."""
        for more in NOT_FOLLOWED:
            with self.subTest(more):
                _, profile = self.same_as_alone([tool("sh"), "-c", script], status, more=more)
                found = notes(profile, "exec")
                self.assertEqual(sum(note["count"] for note in found),
                                 by_qemu if more == QEMU else natively, found)
                for note in found:
                    self.assertIn("/says was executed and ran outside hotpath", note["text"])
                self.assertIsNone(function(profile, "say"))

    def followed(self, script, status, count):
        if not NATIVE:
            return
        _, profile = self.same_as_alone([tool("sh"), "-c", script], status)
        self.assertEqual(profile["notes"], [])
        self.assertEqual(function(profile, "say")["calls"], count)
        self.assertGreater(code_of(profile, os.path.basename(os.path.realpath(tool("sh")))), 0)

    def test_exec(self):
        script = "exec %s hello" % self.program
        self.left_alone(script, 0, by_qemu=1, natively=1)
        self.followed(script, 0, 1)

    def test_children(self):
        script = "{0} a; {0} b; exit 9".format(self.program)
        self.left_alone(script, 9, by_qemu=2, natively=0) # those who would execute are not watched
        self.followed(script, 9, 2)

    def test_exec_of_a_script_of_a_child(self):
        """Through two shells and a script, in the environment and the order of the run alone."""
        script = self.write("script", "#!/bin/sh\n%s $X; X=2 exec %s $X\n"
                            % (self.program, self.program), 0o755)
        self.followed("X=1; export X; (%s) | cat; X=3 exec %s" % (script, script), 0, 4)

    def test_failed_exec_is_not_noted(self):
        for more in [()] + NOT_FOLLOWED:
            _, profile = self.same_as_alone([tool("sh"), "-c", "exec /no/such/program"], 127,
                                            more=more)
            self.assertEqual(notes(profile, "exec"), [])

    def test_in_the_text_report(self):
        for more in NOT_FOLLOWED:
            _, _, err = self.hotpath("run", *more, "--", tool("sh"), "-c", "exec true")
            self.assertIn("outside hotpath", err.decode())


class Signals(Case):
    def interrupted(self, how, *command):
        """Starts the program in a process group of its own, interrupts the group once it is
        ready; returns (status, stdout)."""
        program = self.build("waits", WAITS)
        with subprocess.Popen([*command, program, how], stdout=subprocess.PIPE, cwd=self.dir,
                              stderr=subprocess.PIPE, start_new_session=True) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT)
            self.no_sanitizer(err)
            return status_of(process.returncode), out, err

    def test_interrupt_handled(self):
        self.assertEqual(self.interrupted("handle"), (7, b"got 2\n", b""))
        self.assertEqual(
            self.interrupted("handle", HOTPATH, "run", "-q", "--json", "p.json", "--"),
            (7, b"got 2\n", b""))
        profile = json.loads(self.read("p.json"))
        self.assertEqual(function(profile, "on_int")["calls"], 1)

    def test_interrupt_not_handled(self):
        """The program dies of it, hotpath writes what it has."""
        self.assertEqual(self.interrupted("default")[0], 130)
        status, _, _ = self.interrupted("default", HOTPATH, "record", "-q", "-o", "p.hotpath", "--")
        self.assertEqual(status, 130)
        profile = json.loads(self.good("report", "--json", self.path("p.hotpath")))
        self.assertEqual(profile["run"]["exit_status"], 130)
        self.assertEqual(function(profile, "main")["calls"], 1)


    def test_terminating_hotpath_terminates_the_program(self):
        """As `timeout` does it; the profile is written all the same."""
        program = self.build("waits", WAITS)
        with subprocess.Popen([HOTPATH, "record", "-q", "-o", "p.hotpath", "--", program, "default"],
                              stdout=subprocess.PIPE, cwd=self.dir) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.communicate(timeout=TIMEOUT)[0], b"")
            self.assertEqual(status_of(process.returncode), 128 + signal.SIGTERM)
        profile = json.loads(self.good("report", "--json", self.path("p.hotpath")))
        self.assertEqual(function(profile, "main")["calls"], 1)


class LosesItsObserver(Case):
    # Enough for many rings full of words, so that the program has to notice.
    LOOPS = 6000000

    def killed(self, reap):
        program, left = self.build("works", WORKS), self.path("left")
        with open(self.path("out"), "wb") as out:
            process = subprocess.Popen(
                [HOTPATH, "record", "-q", "-o", self.path("p.hotpath"), "--", program, left,
                 str(self.LOOPS), self.path("go")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=out)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(signal.SIGKILL)
            if reap:
                process.wait()
            self.assertFalse(os.path.exists(left))
            self.write("go", "")
            wait_for(left)
        self.assertEqual(self.read("out"), b"")
        self.assertFalse(os.path.exists(self.path("p.hotpath")))

    def test_hotpath_killed(self):
        self.killed(reap=True)

    def test_hotpath_killed_and_not_reaped(self):
        """A dead hotpath whose parent does not ask for its status still has a process id."""
        self.killed(reap=False)

    def vanishes(self, *command):
        """The directory for the result is removed while the program runs."""
        program, left = self.build("works", WORKS), self.path("left")
        directory = self.path("gone")
        os.mkdir(directory)
        with subprocess.Popen([HOTPATH, *command, "-q", "-o", directory + "/result", "--", program,
                               left, "300000", self.path("go")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            self.assertEqual(process.stdout.readline(), b"ready\n")
            shutil.rmtree(directory)
            self.write("go", "")
            _, err = process.communicate(timeout=TIMEOUT)
        self.no_sanitizer(err)
        self.assertTrue(os.path.exists(left))
        self.assertEqual(process.returncode, 125)
        self.one_line(err, directory + "/result")

    def test_profile_directory_removed(self):
        self.vanishes("record")

    def test_trace_directory_removed(self):
        self.vanishes("trace", "record")

    def test_status_of_the_program_comes_first(self):
        """When both fail, the program's status is what the caller wanted to know."""
        os.mkdir(self.path("gone"))
        status, _, err = self.hotpath("record", "-o", self.path("gone/x"), "--", tool("sh"), "-c",
                                      f"rm -r {self.path('gone')}; exit 3")
        self.assertEqual(status, 3)
        self.one_line(err, "gone/x")


if __name__ == "__main__":
    main()
