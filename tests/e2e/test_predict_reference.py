#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The profiler of predictions measures what the slow references of paths and of schemes measure, on recorded runs.

In CI: test programs and some million branches of a real one. HOTPATH_LONG=1: more of them."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from lib import HOTPATH, SRC, program

COMPARE = os.environ.get("PREDICT_COMPARE", "build/tests/predict_compare")
LONG = os.environ.get("HOTPATH_LONG")
SCHEMES = ["net:0", "net:10", "net:50", "net:1000", "net:50,after=keep", "path-profile:0", "path-profile:10",
           "path-profile:50", "path-profile:1000", "boa:10", "boa:50", "boa:1000"]


class Reference(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="hotpath-test.")
        self.addCleanup(self.directory.cleanup)

    def record(self, argv, engine="native"):
        trace = os.path.join(self.directory.name, "trace")
        done = subprocess.run([HOTPATH, "trace", "record", "-q", "--engine", engine, "-o", trace, "--"] + argv, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        return trace

    def compare(self, trace, schemes=SCHEMES):
        """The measures of each scheme, by name."""
        done = subprocess.run([COMPARE, trace, *schemes], timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = [line for line in done.stdout.splitlines() if line.endswith(": equal")]
        self.assertEqual(len(lines), len(schemes), done.stdout)
        if LONG:
            print(done.stdout, file=sys.stderr)
        return [dict((k, int(v)) for k, v in re.findall(r"(\w+) (\d+)", line)) for line in lines]

    def test_programs(self):
        for name in ["loops", "switches", "recursion", "pointers", "jumps", "signals", "exceptions", "interpreter"]:
            with self.subTest(name):
                measures = self.compare(self.record([program(name)]))
                self.assertGreater(measures[0]["flow"], 100)

    def test_real_program(self):
        trace = self.record(["perl", os.path.join(SRC, "lab", "workload.pl"), "20" if LONG else "1"])
        net, profile = self.compare(trace, ["net:50", "path-profile:50", "boa:50"])[:2]
        self.assertGreater(net["branches"], 1000000)
        self.assertGreater(net["hits"], net["flow"] // 4)
        self.assertLess(net["counters"], profile["counters"])


if __name__ == "__main__":
    unittest.main()
