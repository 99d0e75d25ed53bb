# SPDX-License-Identifier: MIT
"""Loops and hot spots, from words in memory: million retired branches a second on one core."""

import json
import os
import statistics
import subprocess

from inputs import Inputs
from timing import Failure, Timing, run_once

PROGRAMS = ["gzip", "bzip2", "perl", "sqlite3", "lua", "cjpeg", "gnugo", "cc1"]
TARGETS = {"loops": 60, "loop:daprof": 150, "loop:daprof,calls": None, "loop:frequent": 150, "hotspots:merten": 150,
           "hotspots:merten,monitor=off": None}
COLUMNS = ["nothing", "exact"] + list(TARGETS)


class Loops:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.bench = os.path.join(directory, "bench-profilers")
        self.quick = options.quick
        self.report = report
        self.trace = os.path.join(scratch, "loops.hptrace")
        inputs = Inputs(directory, 0.12)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}

    def measure_program(self, program):
        """Million branches a second, for each column."""
        run_once(program.under([self.hotpath, "trace", "record", "--engine", "native", "-q", "-o", self.trace, "--"]),
                 Timing())
        passes, words = (2, 4 << 20) if self.quick else (5, 32 << 20)
        done = subprocess.run([self.bench, self.trace, str(passes), str(words)] + COLUMNS, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise Failure("bench-profilers failed")
        measured = json.loads(done.stdout)
        return {column: measured["branches"] / statistics.median(measured[column]) * 1e3 for column in COLUMNS}

    def print_row(self, name, speeds):
        print("  %-8s %s" % (name, " ".join("%*.0f" % (max(7, len(c)), speeds[c]) for c in COLUMNS)), flush=True)

    def measure(self):
        if not self.programs:
            return
        print("\nLoops and hot spots: million retired branches a second on one core, from a native trace in memory")
        print("  %-8s %s" % ("", " ".join("%*s" % (max(7, len(c)), c) for c in COLUMNS)))
        rows = {}
        for name, program in self.programs.items():
            rows[name] = self.measure_program(program)
            self.print_row(name, rows[name])
        # As many branches of each program: the harmonic mean is the speed over all of them.
        overall = {column: statistics.harmonic_mean([row[column] for row in rows.values()]) for column in COLUMNS}
        self.print_row("all", overall)
        self.report.result["loops"] = {"programs": rows, "overall": overall}
        for column, target in TARGETS.items():
            if target:
                self.report.target("%s, harmonic mean" % column, overall[column], target, " M/s", False)
