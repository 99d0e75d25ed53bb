#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The detector of paths finds what the slow reference finds, path by path, on recorded runs.

In CI: the test programs and a few million branches of a real one. HOTPATH_LONG=1: real programs of more
than 100 million branches each (minutes)."""
import os
import subprocess
import sys
import tempfile
import unittest

from lib import HOTPATH, SRC, program

COMPARE = os.environ.get("PATH_COMPARE", "build/tests/path_compare")
LONG = os.environ.get("HOTPATH_LONG")
PRESETS = ["bl", "wpp", "extended-loop:1", "extended-loop:3", "extended-call:1", "extended-call:2", "forward"]
TABLES = [
    "bl,direction=static",
    "bl,length=5,stack=4,overflow=drop-oldest",
    "bl,length=64,metric=instructions,counter=6",
    "forward,length=7",
    "call=update+push,return=update+pop,forward=update,backward=update,indirect=update+pop+push,extend=call:1",
    "call=none,return=none,forward=update_count,backward=update_count+pop+push,indirect=pop+push",
]
# More than 100 million branches each: programs of lab/inputs.py, how many seconds of them.
LONG_RUNS = {"gzip": 0.13, "cc1": 0.16, "perl": 0.055, "python3": 0.05}
# Programs in which something else happens than calls and returns.
PROGRAMS = ["loops", "switches", "recursion", "pointers", "jumps", "signals", "threads", "exceptions", "interpreter", "tail"]


class Reference(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="hotpath-test.")
        self.addCleanup(self.directory.cleanup)

    def record(self, argv, **options):
        trace = os.path.join(self.directory.name, "trace")
        done = subprocess.run([HOTPATH, "trace", "record", "-q", "-o", trace, "--"] + argv, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        return trace

    def compare(self, trace, tables, *options):
        """Compares; returns the branches of each table."""
        done = subprocess.run([COMPARE, *options, trace, *tables], timeout=1800, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = [line for line in done.stdout.splitlines() if line.endswith(": equal")]
        self.assertEqual(len(lines), len(tables), done.stdout)
        if LONG:
            print(done.stdout, file=sys.stderr)
        return [int(line.split(" paths of ")[1].split()[0]) for line in lines], done.stdout

    def test_programs(self):
        for name in PROGRAMS:
            trace = self.record([program(name)])
            for options in ([], ["--steps"], ["--no-frames"]):
                with self.subTest(name, options=options):
                    branches, _ = self.compare(trace, PRESETS + TABLES, *options)
                    self.assertGreater(min(branches), 1000)

    def test_repairs_happen(self):
        """Programs that leave frames by longjmp and by exceptions: both know, and agree."""
        for name in ("jumps", "exceptions"):
            _, text = self.compare(self.record([program(name)]), ["bl"])
            self.assertNotIn(" 0 repairs", text)

    def test_difference_is_found(self):
        """The comparison can fail: the same branches, but one side without functions to go back to."""
        done = subprocess.run([COMPARE, "--reference-without-frames", self.record([program("jumps")]), "bl"],
                              timeout=300, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("DIFFERENT", done.stdout)

    def test_real(self):
        sys.path.insert(0, os.path.join(SRC, "lab"))
        import inputs
        for name, seconds in LONG_RUNS.items() if LONG else [("gzip", 0.004)]:
            made = inputs.Inputs(self.directory.name, seconds)
            command = made.program(name)
            with open(command.stdin, "rb") as stdin:
                trace = self.record(command.command, stdin=stdin)
            for options in ([], ["--steps"]):
                with self.subTest(name, options=options):
                    branches, _ = self.compare(trace, PRESETS, *options)
                    self.assertGreater(min(branches), 100e6 if LONG else 1e6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
