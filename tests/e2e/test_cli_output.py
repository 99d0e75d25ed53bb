#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where output goes and how it looks: never a half-written file, colour and progress only on a
terminal."""
import errno
import json
import os
import pty
import re
import resource
import select
import signal
import stat
import subprocess
import time
import unittest

from util_cli import FAILED, HOTPATH, TIMEOUT, Case, main, tool

# Runs for about argv[1] tenths of a second.
SLOW = r"""
#include <stdlib.h>
#include <time.h>
volatile unsigned sink;
int main(int argc, char **argv)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (unsigned i = 0; i < 100000; i++)
            sink += i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 10 + (now.tv_nsec - start.tv_nsec) / 100000000 <
             atoi(argv[argc - 1]));
    return 0;
}
"""

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def limit_file_size(size):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class Recorded(Case):
    def setUp(self):
        super().setUp()
        self.profile_path, self.trace = self.path("p.hotpath"), self.path("t.hptrace")
        for command, path in ((["record"], self.profile_path), (["trace", "record"], self.trace)):
            status, _, err = self.hotpath(*command, "-q", "-o", path, "--", tool("true"))
            self.assertEqual((status, err), (0, b""))

    def writers(self, out):
        """Every command that writes a file of its own accord from what is there already."""
        return (["report", "--json", self.profile_path, "-o", out],
                ["report", "--csv", self.profile_path, "-o", out],
                ["merge", "-o", out, self.profile_path, self.profile_path],
                ["trace", "replay", self.trace, "-o", out])

    def runners(self, out):
        return (["record", "-o", out, "--", tool("true")],
                ["trace", "record", "-o", out, "--", tool("true")],
                ["run", "--json", out, "--", tool("true")])


class Writing(Recorded):
    def test_lines_are_found_where_they_are_shown(self):
        """A report of the run itself looks only for the lines it shows: they are those of a profile
        that has all."""
        program = self.build("slow", SLOW)
        trace, profile = self.path("slow.hptrace"), self.path("slow.hotpath")
        self.assertEqual(self.hotpath("trace", "record", "-q", "-o", trace, "--", program, "0")[0], 0)
        self.good("trace", "replay", trace, "-o", profile)
        for view in ("summary", "functions", "blocks", "edges", "calls", "lines", "threads",
                     "modules", "all"):
            self.assertEqual(self.good("trace", "replay", trace, "-v", view, "-n0", "--physical"),
                             self.good("report", "-n0", "--physical", profile, view), view)
        self.assertEqual(json.loads(self.good("trace", "replay", trace, "--json")),
                         json.loads(self.good("report", "--json", profile)))
        where = re.search(rb"\d  main +(\S+)", self.good("trace", "replay", trace, "-n0")).group(1)
        self.assertRegex(where, rb"^slow\.c:[67]$")

    def test_no_such_directory(self):
        out = self.path("none/out")
        for command in (*self.writers(out), *self.runners(out)):
            self.refused(FAILED, command, out)

    def test_output_is_a_directory(self):
        os.mkdir(self.path("out"))
        for command in (*self.writers(self.path("out")), *self.runners(self.path("out"))):
            self.refused(FAILED, command, self.path("out"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["out", "p.hotpath", "t.hptrace"])

    @unittest.skipIf(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), "needs setpriv")
    def test_unwritable_directory(self):
        """Known before the program runs; root may write anywhere, so this is tried as nobody."""
        os.mkdir(self.path("fixed"), 0o555)
        out, ran = self.path("fixed/out"), self.path("fixed/ran")
        for directory in (self.shared, self.dir):
            os.chmod(directory, 0o755)
        become = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        if become and self.execute([*become, HOTPATH, "--version"])[0] != 0:
            self.skipTest("nobody may not run the command where it is")
        for command in (*self.writers(out), ["record", "-o", out, "--", "touch", ran],
                        ["trace", "record", "-o", out, "--", "echo", "ran"]):
            status, text, err = self.execute([*become, HOTPATH, *command])
            self.assertEqual((status, text), (FAILED, b""), command)
            self.one_line(err, out)
        self.assertEqual(os.listdir(self.path("fixed")), [])

    def test_file_size_limit(self):
        """A file that gets too big is not left behind, and what was there stays."""
        for size in (0, 1, 4096, 10000):
            for command in self.writers(self.write("out", "before")):
                status, text, err = self.hotpath(*command, preexec_fn=limit_file_size(size))
                self.assertEqual((status, text), (FAILED, b""), (command, size, err))
                self.one_line(err, self.path("out"))
                self.assertEqual(self.read("out"), b"before", command)
                self.assertEqual(sorted(os.listdir(self.dir)), ["out", "p.hotpath", "t.hptrace"])

    def test_run_under_a_file_size_limit(self):
        """The shared memory is a file too: a line says so, and the program runs without."""
        status, text, err = self.hotpath("run", "--", tool("sh"), "-c", "echo out; exit 4",
                                         preexec_fn=limit_file_size(1 << 20))
        self.assertEqual((status, text), (4, b"out\n"))
        self.one_line(err, "ran unobserved", "shared memory", "ulimit -f")

    def test_full_file_system(self):
        """On a file system of 8 KiB, where this may mount one."""
        small = self.path("small")
        os.mkdir(small)
        command = ["unshare", "-m", "sh", "-c",
                   "mount -t tmpfs -o size=8k none \"$1\" || exit 77; out=$1/out; shift; "
                   "echo before > \"$out\"; \"$@\"; echo $? $(ls -A \"${out%/out}\") $(cat \"$out\")",
                   "sh", small]
        if self.execute(command + ["true"])[0] != 0:
            self.skipTest("may not mount a file system")
        for arguments in (*self.writers(small + "/out"), *self.runners(small + "/out")[:1],
                          *self.runners(small + "/out")[2:]):
            _, out, err = self.execute(command + [HOTPATH, *arguments])
            self.assertEqual(out, b"125 out before\n", (arguments, err))
            self.one_line(err, small + "/out")

    def test_output_that_is_no_file(self):
        """A pipe (or a device: this is tried with what is harmless to lose) is written to, not
        replaced."""
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for command in (["report", "--json", self.profile_path, "-o", pipe],
                        ["run", "-q", "--json", pipe, "--", tool("true")]):
            with open(self.path("copy"), "wb") as copy, subprocess.Popen(["cat", pipe],
                                                                         stdout=copy) as reader:
                try:
                    status, out, err = self.hotpath(*command)
                    reader.wait(10)
                finally:
                    reader.kill()
            self.assertEqual((status, out, err), (0, b"", b""))
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode), "the pipe was replaced")
            self.assertIn("summary", json.loads(self.read("copy")))

    def test_output_through_a_link(self):
        """A symbolic link stays one; what it points to is replaced."""
        target = self.write("target", "before")
        os.symlink(target, self.path("link"))
        for command in self.writers(self.path("link")):
            self.write("target", "before")
            self.good(*command)
            self.assertTrue(os.path.islink(self.path("link")), command)
            self.assertNotEqual(self.read("target"), b"before", command)

    def test_full_device(self):
        """A report that cannot be printed is a failure."""
        with open("/dev/full", "wb") as full:
            for command in (["report", self.profile_path], ["report", "--json", self.profile_path],
                            ["compare", self.profile_path, self.profile_path]):
                status, _, err = self.hotpath(*command, stdout=full)
                self.assertEqual(status, FAILED, command)
                self.one_line(err)

    def test_report_into_closed_pipe(self):
        """`hotpath report | head -1` is quiet."""
        with subprocess.Popen([HOTPATH, "report", "--json", self.profile_path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
            self.assertEqual(process.wait(TIMEOUT), -signal.SIGPIPE)
        self.assertEqual(err, b"")


class Terminal(Recorded):
    def on_terminal(self, argv, env=None):
        """Runs on a terminal of 100 columns; returns everything shown."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.environ.update(env or {})
            subprocess.run(["stty", "cols", "100", "rows", "30"], check=False)
            os.execvp(argv[0], argv)
        out, limit = b"", time.monotonic() + TIMEOUT
        while time.monotonic() < limit:
            if not select.select([fd], [], [], 1)[0]:
                continue
            try:
                piece = os.read(fd, 4096)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                break
            if not piece:
                break
            out += piece
        _, status = os.waitpid(pid, 0)
        os.close(fd)
        self.no_sanitizer(out)
        self.assertEqual(status, 0, out)
        return out

    def test_colour_only_on_a_terminal(self):
        for command in (["report", self.profile_path], ["compare", self.profile_path, self.profile_path],
                        ["run", "--top", "3", "--", tool("true")]):
            shown = self.on_terminal([HOTPATH, *command])
            self.assertRegex(shown, COLOUR, command)
            _, out, err = self.hotpath(*command)
            self.assertNotIn(b"\x1b", out + err, command)
            self.assertNotIn(b"\x1b", self.on_terminal([HOTPATH, *command], {"NO_COLOR": "1"}))
            # An empty NO_COLOR means nothing.
            self.assertRegex(self.on_terminal([HOTPATH, *command], {"NO_COLOR": ""}), COLOUR)

    def test_data_is_never_coloured(self):
        for option in ("--json", "--csv"):
            self.assertNotIn(b"\x1b", self.on_terminal([HOTPATH, "report", option,
                                                        self.profile_path]))

    def test_stderr_to_a_file_is_plain(self):
        shown = self.on_terminal(["sh", "-c", f"'{HOTPATH}' run -- true 2> err; cat err"])
        self.assertNotIn(b"\x1b", shown)

    def test_lines_fit_the_terminal(self):
        shown = COLOUR.sub(b"", self.on_terminal([HOTPATH, "report", self.profile_path, "blocks"]))
        self.assertLessEqual(max(len(line.decode()) for line in shown.split(b"\r\n")), 100)

    def test_progress_only_on_a_terminal(self):
        slow = self.build("slow", SLOW)
        for command in (["run", "--top", "1"], ["record", "-o", "x"], ["trace", "record", "-o", "x"]):
            shown = self.on_terminal(["sh", "-c", '"$@" > out', "sh", HOTPATH, *command, "--", slow, "18"])
            self.assertRegex(shown, rb"hotpath: [\d.]+ G instructions, \d+ M/s", command)
            # Gone at the end: the last thing said about it is to clear the line.
            self.assertGreater(shown.rindex(b"\r\x1b[K"), shown.rindex(b" M/s"), command)
        _, _, err = self.hotpath("record", "-o", "x", "--", slow, "18")
        self.assertNotIn(b"M/s", err)
        # Nor between what the program itself writes there.
        self.assertNotIn(b"M/s", self.on_terminal([HOTPATH, "record", "-o", "x", "--", slow, "18"]))

    def test_quiet(self):
        slow = self.build("slow", SLOW)
        self.assertEqual(self.on_terminal([HOTPATH, "record", "-q", "-o", "x", "--", slow, "14"]),
                         b"")


if __name__ == "__main__":
    main()
