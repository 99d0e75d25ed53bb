# SPDX-License-Identifier: MIT
"""The end of a recording before its program: hotpath stop, and --for with a time. The profile is kept, the program goes
on, and its status is still hotpath's."""
import json
import os
import signal
import subprocess
import unittest

from util_cli import Case, HOTPATH, NATIVE, QEMU, status_of, tool, wait_until

# Works in `before` until the file's byte is 2, then in `after` until it is 3. Every round makes its count known in the
# file, so that a test knows that it runs.
SOURCE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
struct shared { volatile char phase; volatile char begun[3]; };
static volatile unsigned sink;
__attribute__((noinline)) void before(void) { for (unsigned i = 0; i < 10000; i++) sink += i; }
__attribute__((noinline)) void after(void) { for (unsigned i = 0; i < 10000; i++) sink ^= i; }
int main(int argc, char **argv)
{
    struct shared *s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);
    alarm(1000);
    for (; s->phase == '1'; s->begun[0] = 'y')
        before();
    puts("in the middle");
    fflush(stdout);
    for (; s->phase == '2'; s->begun[1] = 'y')
        after();
    puts("end");
    return 7;
}
"""


class Stop(Case):
    def setUp(self):
        super().setUp()
        self.program = self.build("prog", SOURCE)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=self.dir)
        self.begun = []

    def begin(self, *args, name="a", engine=()):
        """Starts a recording of a program that is in its first phase."""
        self.write(name + ".steer", "1nn-")
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as err:
            process = subprocess.Popen([HOTPATH, *args, *engine, "--", self.program, name + ".steer"], cwd=self.dir,
                                       env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        self.addCleanup(self.end, process)
        wait_until(lambda: self.read(name + ".steer")[1:2] == b"y")
        return process

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def steer(self, phase, name="a"):
        with open(self.path(name + ".steer"), "r+") as file:
            file.write(phase)

    def stop(self, *args):
        done = subprocess.run([HOTPATH, "stop", *args], cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200, check=False)
        self.no_sanitizer(done.stderr)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def goes_on_and_ends(self, process, name="a"):
        """The program works after the recording's end, to its own."""
        self.assertIsNone(process.poll())
        self.steer("2", name)
        wait_until(lambda: self.read(name + ".steer")[2:3] == b"y")
        self.steer("3", name)
        self.assertEqual(status_of(process.wait()), 7)
        self.assertEqual(self.read(name + ".out"), b"in the middle\nend\n")
        self.no_sanitizer(self.read(name + ".err"))

    def check_profile(self, path, begun=True):
        report = json.loads(self.good("report", path, "all", "--json", "-n0"))
        names = {f["name"] for f in report["functions"]}
        if begun:
            self.assertIn("before", names)
        self.assertNotIn("after", names)
        self.assertIn("ended", {note["kind"] for note in report["notes"]})
        return report

    def test_record(self):
        for profile in "exact", "counts", "exact,loops,paths", "paths":
            with self.subTest(profile=profile):
                process = self.begin("record", "-p", profile, "-o", "a.hotpath")
                status, out, err = self.stop("a.hotpath")
                self.assertEqual((status, out), (0, ""))
                self.assertEqual(err, "hotpath: recording %d has ended: its profile is written\n" % process.pid)
                if "exact" in profile or profile == "counts":
                    self.check_profile(self.path("a.hotpath"))  # it is there while the program runs
                self.goes_on_and_ends(process)
                self.assertIn(b"goes on unobserved", self.read("a.err"))
                os.unlink(self.path("a.hotpath"))

    def test_qemu(self):
        tool("qemu-x86_64")
        process = self.begin("record", "-q", "-o", "a.hotpath", engine=QEMU)
        self.assertEqual(self.stop(str(process.pid))[0], 0)
        self.check_profile(self.path("a.hotpath"))
        self.goes_on_and_ends(process)

    def test_run_top_and_trace(self):
        process = self.begin("run", "-n3")
        self.assertIn("its report is printed", self.stop()[2])
        self.assertIn(b"before", self.read("a.err"))
        self.goes_on_and_ends(process)
        process = self.begin("top", "--plain", "-o", "a.hotpath")
        self.assertIn("its profile is written", self.stop(self.path("a.hotpath"))[2])
        self.check_profile(self.path("a.hotpath"))
        self.goes_on_and_ends(process)
        process = self.begin("trace", "record", "-o", "a.hptrace")
        self.assertIn("its trace is written", self.stop("./a.hptrace")[2])
        self.good("trace", "check", self.path("a.hptrace"))
        self.goes_on_and_ends(process)

    def test_which_one(self):
        self.assertEqual(self.stop(), (125, "", "hotpath: nothing is being recorded\n"))
        self.assertEqual(self.stop("--list"), (0, "", ""))
        self.assertEqual(json.loads(self.stop("--list", "--json")[1]), [])
        first = self.begin("record", "-q", "-o", "a.hotpath")
        second = self.begin("run", "-q", name="b")
        status, out, err = self.stop()
        self.assertEqual(status, 125)
        self.assertRegex(err, r"\Ahotpath: 2 recordings run: .*\n\Z")
        self.assertRegex(out, r"(?m)^ +%d +\d+  record  \S+/a\.hotpath  " % first.pid)
        self.assertRegex(out, r"(?m)^ +%d +\d+  run     - " % second.pid)
        listed = json.loads(self.stop("--list", "--json")[1])
        self.assertEqual({one["pid"] for one in listed}, {first.pid, second.pid})
        self.assertEqual({one["file"] for one in listed}, {os.path.realpath(self.dir) + "/a.hotpath", ""})
        self.assertEqual({one["command"] for one in listed},
                         {"%s %s.steer" % (self.program, name) for name in "ab"})
        for word in "b.hotpath", "1", "", "/none/a.hotpath":
            status, out, err = self.stop(word)
            self.assertEqual((status, out), (125, ""))
            self.assertIn("no recording has", err)
        for words in ("--json",), ("--all", "1"), ("--list", "1"):
            self.assertEqual(self.stop(*words)[0], 125)
        self.assertEqual(self.stop(str(second.pid))[0], 0)
        self.assertEqual(self.stop("--all")[0], 0)
        self.goes_on_and_ends(first)
        self.goes_on_and_ends(second, "b")
        self.assertEqual(os.listdir(self.path("hotpath")), [])

    def test_one_that_was_killed_is_forgotten(self):
        process = self.begin("record", "-q", "-o", "a.hotpath")
        self.assertEqual(len(os.listdir(self.path("hotpath"))), 2)
        process.kill()
        process.wait()
        self.assertEqual(self.stop("--list"), (0, "", ""))
        self.assertEqual(os.listdir(self.path("hotpath")), [])
        self.steer("3")

    def test_a_directory_of_somebody_else_is_not_believed(self):
        os.mkdir(self.path("hotpath"))
        os.chmod(self.path("hotpath"), 0o777)
        process = self.begin("record", "-q", "-o", "a.hotpath")
        self.assertEqual(os.listdir(self.path("hotpath")), [])
        self.assertEqual(self.stop("a.hotpath")[0], 125)
        self.steer("3")
        self.assertEqual(process.wait(), 7)

    def test_for_a_time(self):
        process = self.begin("record", "--for", "300ms", "-o", "a.hotpath")
        wait_until(lambda: os.path.exists(self.path("a.hotpath")))
        report = self.check_profile(self.path("a.hotpath"), begun=False)
        self.assertGreaterEqual(report["run"]["seconds"], 0.3)
        self.goes_on_and_ends(process)

    def test_a_time_begins_with_the_region(self):
        process = self.begin("record", "--from", "after", "--for", "1ms", "-o", "a.hotpath")
        self.steer("2")
        wait_until(lambda: os.path.exists(self.path("a.hotpath")))
        report = json.loads(self.good("report", self.path("a.hotpath"), "functions", "--json"))
        self.assertIn("after", {f["name"] for f in report["functions"]})
        self.steer("3")
        self.assertEqual(process.wait(), 7)

    def test_a_program_that_ends_first(self):
        self.write("s", "3nn-")
        for more in ("--for", "1h"), ():
            status, _, err = self.hotpath("record", *more, "-o", self.path("p"), "--", self.program, self.path("s"),
                                          env=self.environment)
            self.assertEqual(status, 7)
            self.assertNotIn(b"unobserved", err)

    def test_signals_reach_a_program_that_goes_on(self):
        process = self.begin("record", "-q", "--for", "1ms", "-o", "a.hotpath")
        wait_until(lambda: os.path.exists(self.path("a.hotpath")))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)

    def test_mistakes(self):
        for time in "1x", "s", "-1s", "0s", "1e3s", "nans", "5 min":
            self.refused(125, ["record", "--for", time, "--", "true"], "--for", "30s")
        self.refused(125, ["trace", "replay", "--for", "30s", "x"], "--for", "instructions")
        self.refused(125, ["trace", "record", "--for", "30", "-o", self.path("t"), "--", "true"], "time")


if __name__ == "__main__":
    unittest.main()
