#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cycles of paths are what the slow reference says, which looks at every cycle of the whole run: for every path and every cause, to the last part of a
cycle; with and without windows, on real programs, with signals, threads and exceptions.

In CI: parts of runs. HOTPATH_LONG=1: longer ones, in several places."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from lib import HOTPATH, SRC, program

COMPARE = os.environ.get("PATH_TIME_COMPARE", "build/tests/path_time_compare")
LONG = os.environ.get("HOTPATH_LONG")
KINDS = ["bl", "wpp", "extended-call:2", "extended-loop:1", "forward"]
WINDOWS = ["all", "period=20K,detail=5K,ramp=1K", "period=7K,detail=300,ramp=50,warm=2K"]
PERL = "my %h; for (1 .. 3000) { $h{$_ % 97} .= $_; } print length(join('', sort values %h)), qq(\\n);"
LUA = "local t = {} for i = 1, 20000 do t[i % 97] = (t[i % 97] or 0) + i end print(t[1])"


class Reference(unittest.TestCase):
    def check(self, argv, after=0, instructions=200000, kinds=KINDS, machine="modern"):
        with tempfile.TemporaryDirectory(prefix="hotpath-test.") as directory:
            trace = os.path.join(directory, "trace")
            done = subprocess.run([HOTPATH, "trace", "record", "-q", "--addresses", "-o", trace, "--"] + argv,
                                  timeout=300, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
            self.assertNotEqual(done.returncode, 125, done.stderr)
            for windows in WINDOWS:
                for number in range(5 if LONG else 1):
                    self.compare(trace, after + number * 3 * instructions, instructions, machine, windows, kinds)

    def compare(self, trace, after, instructions, machine, windows, kinds):
        done = subprocess.run([COMPARE, trace, str(after), str(instructions), machine, windows, *kinds],
                              timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        if LONG:
            print(done.stdout, file=sys.stderr)
        executions = [int(n) for n in re.findall(r"executions (\d+) ", done.stdout)]
        self.assertEqual(len(executions), len(kinds), done.stdout)
        # There was something to compare.
        self.assertGreater(executions[0], 2000 if windows == "all" else 50, done.stdout)

    def test_gzip(self):
        self.check(["gzip", "-c", os.path.join(SRC, "docs", "paths.md")], after=300000)

    def test_perl(self):
        self.check(["perl", "-e", PERL], after=2000000)

    def test_lua(self):
        self.check(["lua", "-e", LUA])

    def test_signals(self):
        self.check([program("signals")])

    def test_threads(self):
        """Every thread has its own paths, windows and cycles."""
        self.check([program("threads")])

    def test_exceptions(self):
        """Frames that are gone; on a machine in order."""
        self.check([program("exceptions")], after=500000, machine="arm9")

    def test_jumps(self):
        """longjmp, out of signal handlers too."""
        self.check([program("jumps")])


if __name__ == "__main__":
    unittest.main()
