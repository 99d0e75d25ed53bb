# SPDX-License-Identifier: MIT
"""Path detectors and what takes their paths, from words in memory: million retired branches a second on one core."""

import json
import os
import statistics
import subprocess

from inputs import Inputs
from timing import Failure, Timing, run_once

PROGRAMS = ["gzip", "bzip2", "perl", "sqlite3", "lua", "cjpeg", "gnugo", "cc1"]
COLUMNS = ["bl", "wpp", "extended-loop:1", "extended-call:1", "forward", "bl+table", "bl+complete", "forward+complete"]
TARGETS = {"bl+table": 120, "bl+complete": 60, "forward": 250}


class Paths:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.bench = os.path.join(directory, "bench-paths")
        self.quick = options.quick
        self.report = report
        self.trace = os.path.join(scratch, "paths.hptrace")
        inputs = Inputs(directory, 0.12)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}

    def measure_program(self, program):
        run_once(program.under([self.hotpath, "trace", "record", "--engine", "native", "-q", "-o", self.trace, "--"]),
                 Timing())
        passes, words = (2, 4 << 20) if self.quick else (5, 32 << 20)
        done = subprocess.run([self.bench, self.trace, str(passes), str(words)], stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise Failure("bench-paths failed")
        return json.loads(done.stdout)

    def measure(self):
        if not self.programs:
            return
        print("\nPaths: million retired branches a second on one core, from a native trace in memory")
        print("  %-8s %s" % ("", " ".join("%*s" % (max(7, len(c)), c) for c in COLUMNS)))
        rows, speeds = {}, {column: [] for column in COLUMNS}
        for name, program in self.programs.items():
            rows[name] = measured = self.measure_program(program)
            for column in COLUMNS:
                speeds[column].append(measured[column]["branches"] / statistics.median(measured[column]["ns"]) * 1e3)
            print("  %-8s %s" % (name, " ".join("%*.0f" % (max(7, len(c)), speeds[c][-1]) for c in COLUMNS)), flush=True)
        # As many branches of each program: the harmonic mean is the speed over all of them.
        overall = {column: statistics.harmonic_mean(speeds[column]) for column in COLUMNS}
        print("  %-8s %s" % ("all", " ".join("%*.0f" % (max(7, len(c)), overall[c]) for c in COLUMNS)))
        self.report.result["paths"] = {"programs": rows, "overall": overall}
        for column, target in TARGETS.items():
            self.report.target("paths, %s, harmonic mean" % column, overall[column], target, " M/s", False)
