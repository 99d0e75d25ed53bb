# SPDX-License-Identifier: MIT
"""Prediction of hot paths, from traces in memory: how many branches a second one core takes."""

import json
import os
import statistics
import subprocess

from inputs import Inputs
from timing import Failure, Timing, run_once

PROGRAMS = ["gzip", "bzip2", "perl", "sqlite3", "lua", "cjpeg"]
DELAYS = [10, 50, 100, 500, 1000, 5000, 10000, 50000, 100000, 1000000]
SWEEP = ["%s:%d" % (name, delay) for name in ("net", "path-profile") for delay in DELAYS]
# Traces of both engines: a word a run of blocks, and a word a block.
COLUMNS = [("net", "native", ["net:50"]), ("block", "qemu", ["net:50"]), ("profile", "native", ["path-profile:50"]),
           ("boa", "native", ["boa:50"]), ("sweep", "native", SWEEP)]


class Predict:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.bench = os.path.join(directory, "bench-predict")
        if not os.access(self.bench, os.X_OK):
            raise Failure("%s is not there: build first" % self.bench)
        self.quick = options.quick
        self.scratch = scratch
        self.report = report
        inputs = Inputs(directory, 0.12 if self.quick else 0.45)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}

    def record(self, name, program, engine):
        trace = os.path.join(self.scratch, "%s.%s.hptrace" % (name, engine))
        if not os.path.exists(trace):
            command = [self.hotpath, "trace", "record", "--engine", engine, "-q", "-o", trace, "--"]
            run_once(program.under(command), Timing())
        return trace

    def speed(self, trace, schemes):
        """Million branches a second."""
        passes, words = (3, 4 << 20) if self.quick else (5, 24 << 20)
        done = subprocess.run([self.bench, trace, str(passes), str(words), "0"] + schemes, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise Failure("bench-predict failed on %s" % trace)
        measured = json.loads(done.stdout)
        return measured["branches"] / statistics.median(measured["predict_ns"]) * 1e3

    def measure(self):
        if not self.programs:
            return
        print("\nPrediction: million branches a second on one core, words to predictions")
        print("  %-8s %9s %13s %13s %6s %14s" % ("", "net:50", "block a word", "path-profile", "boa", "%d schemes" % len(SWEEP)))
        rows = {}
        for name, program in self.programs.items():
            rows[name] = {column: self.speed(self.record(name, program, engine), schemes)
                          for column, engine, schemes in COLUMNS}
            print("  %-8s %9.0f %13.0f %13.0f %6.0f %14.0f" % (name, *(rows[name][c] for c, _, _ in COLUMNS)), flush=True)
        overall = {c: statistics.harmonic_mean([row[c] for row in rows.values()]) for c, _, _ in COLUMNS}
        print("  %-8s %9.0f %13.0f %13.0f %6.0f %14.0f" % ("mean", *(overall[c] for c, _, _ in COLUMNS)))
        self.report.result["predict"] = {"programs": rows, "overall": overall}
        self.report.target("NET, harmonic mean", overall["net"], 200, " M/s", False)
