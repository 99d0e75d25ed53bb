#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exact loops are those of the slow reference, loop by loop and count by count, on recorded runs.

In CI: the test programs, and some millions of blocks of real ones. HOTPATH_LONG=1: more programs, and longer (minutes)."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from lib import HOTPATH, SRC, program

COMPARE = os.environ.get("LOOP_COMPARE", "build/tests/loop_compare")
LONG = os.environ.get("HOTPATH_LONG")
PROGRAMS = ["loops", "switches", "recursion", "pointers", "jumps", "signals", "threads", "forks", "exceptions", "interpreter",
            "tail", "generated", "clones", "trips-O0", "trips-O1", "trips-O2", "trips-stripped", "trips_jumps-O0", "trips_jumps-O2",
            "trips_exceptions-O0", "trips_exceptions-O2", "trips_ends", "trips_threads", "trips_forks", "trips_vector", "trips_dispatch",
            "trips_asm", "flow", "straight", "rep", "selfmod", "sort", "queens"]
ELSEWHERE = ["%s/%s" % (arch, name) for arch in ("aarch64", "arm", "arm-a32", "riscv64", "alpha")
             for name in ("trips", "trips_jumps", "trips_threads", "trips_forks", "tail", "signals")]
# Programs of lab/programs.py, and how large an input (in its seconds).
REAL = {"gzip": 0.008, "lua": 0.004, "perl": 0.004, "bzip2": 0.004, "cc1": 0.02}
REAL_LONG = {"gzip": 0.05, "lua": 0.03, "perl": 0.03, "bzip2": 0.05, "cc1": 0.1, "python3": 0.02, "sqlite3": 0.02, "gnugo": 0.01,
             "cjpeg": 0.02, "minisat": 0.05, "xz": 0.02, "lame": 0.01}


class Reference(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="hotpath-test.")
        self.addCleanup(self.directory.cleanup)

    def record(self, argv, *options, **more):
        trace = os.path.join(self.directory.name, "trace")
        done = subprocess.run([HOTPATH, "trace", "record", "-q", "-o", trace, *options, "--"] + argv, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        return trace

    def compare(self, trace, *options):
        """Compares; says how many loops there are, and how many were compared in everything."""
        done = subprocess.run([COMPARE, *options, trace], timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = re.search(r"^(\d+) loops of (\d+) blocks, (\d+) compared in full: equal$", done.stdout, re.M)
        self.assertTrue(found, done.stdout)
        if LONG:
            print(done.stdout, file=sys.stderr)
        return int(found[1]), int(found[2]), int(found[3])

    def both(self, trace):
        """By runs of blocks and by single ones: the same."""
        by_steps = self.compare(trace)
        self.assertEqual(self.compare(trace, "--batches"), by_steps)
        return by_steps

    def test_programs(self):
        for name in PROGRAMS:
            arguments = ["e"] if name == "trips_ends" else []
            with self.subTest(name):
                loops, _, full = self.both(self.record([program(name)] + arguments))
                self.assertGreaterEqual(full, loops // 2)

    def test_qemu(self):
        for name in ("trips-O1", "trips_jumps-O2", "trips_exceptions-O2", "signals", "threads", "rep"):
            with self.subTest(name):
                self.both(self.record([program(name)], "--engine", "qemu"))

    def test_architectures(self):
        for name in ELSEWHERE:
            if os.path.exists(program(name)):
                with self.subTest(name):
                    self.both(self.record([program(name)]))

    def test_difference_is_found(self):
        """The comparison can fail: one block of the reference's stream is another one."""
        trace = self.record([program("exceptions")])
        done = subprocess.run([COMPARE, "--spoil", trace], timeout=300, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("DIFFERENT", done.stdout)

    def test_real(self):
        sys.path.insert(0, os.path.join(SRC, "lab"))
        from inputs import Inputs
        for name, seconds in (REAL_LONG if LONG else REAL).items():
            with self.subTest(name):
                made = Inputs(self.directory.name, seconds).program(name)
                with open(made.stdin, "rb") as stdin:
                    trace = self.record(made.command, stdin=stdin)
                loops, blocks, full = self.both(trace)
                self.assertGreater(blocks, 1e6)
                self.assertGreater(full, loops * 0.7)


if __name__ == "__main__":
    unittest.main(verbosity=2)
