# SPDX-License-Identifier: MIT
"""The machine in cycles, with ProfileMe behind it, from recorded words and addresses in memory: million instructions a second on one core."""

import json
import os
import statistics
import subprocess

from inputs import Inputs
from timing import Failure

PROGRAMS = ["gzip", "lua", "perl", "python3", "cc1"]  # without standard input
TARGETS = {"vaswani": 4, "alpha21264": None, "arm9": None, "modern": 2.5}


class Cycles:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.bench = os.path.join(directory, "bench-pipe")
        self.quick = options.quick
        self.report = report
        self.scratch = scratch
        inputs = Inputs(directory, 0.02)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}

    def measure_program(self, name, program):
        """Million instructions a second, and cycles an instruction, for each machine."""
        trace = os.path.join(self.scratch, name + ".hptrace")
        subprocess.run([self.hotpath, "trace", "record", "-q", "--addresses", "-o", trace, "--"] + program.command,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        passes, words = (1, 1000000) if self.quick else (3, 3000000)
        done = subprocess.run([self.bench, trace, str(passes), str(words)] + list(TARGETS), stdout=subprocess.PIPE)
        os.remove(trace)
        if done.returncode != 0:
            raise Failure("bench-pipe failed")
        measured = json.loads(done.stdout)
        instructions = measured["instructions"]
        return {m: {"speed": instructions / statistics.median(measured[m]["times"]) * 1e3,
                    "cpi": measured[m]["cycles"] / instructions} for m in TARGETS}

    def print_row(self, name, cells):
        print("  %-8s %s" % (name, " ".join("%16s" % cells[m] for m in TARGETS)), flush=True)

    def measure(self):
        if not self.programs:
            return
        print("\nMachine in cycles with ProfileMe: million instructions a second on one core, from memory (CPI)")
        self.print_row("", {m: m for m in TARGETS})
        rows = {}
        for name, program in self.programs.items():
            rows[name] = self.measure_program(name, program)
            self.print_row(name, {m: "%.2f (%.2f)" % (c["speed"], c["cpi"]) for m, c in rows[name].items()})
        overall = {m: statistics.harmonic_mean([row[m]["speed"] for row in rows.values()]) for m in TARGETS}
        self.print_row("all", {m: "%.2f" % speed for m, speed in overall.items()})
        self.report.result["cycles"] = {"programs": rows, "overall": overall}
        for name, target in TARGETS.items():
            if target:
                self.report.target("cycles %s, harmonic mean" % name, overall[name], target, " M/s", False)
