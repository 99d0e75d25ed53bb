# SPDX-License-Identifier: MIT
"""The machine model, functional form, from blocks and addresses in memory: million instructions a second on one core."""

import json
import os
import statistics
import subprocess

from inputs import Inputs
from timing import Failure

PROGRAMS = ["gzip", "lua", "perl", "python3", "cc1"]  # without standard input
MACHINES = ["vaswani", "alpha21264", "arm9", "modern"]
TARGET = 40


class Machine:
    def __init__(self, directory, options, report):
        self.bench = os.path.join(directory, "bench-machine")
        self.environment = dict(os.environ, HOTPATH_PLUGIN_DIR=options.build)  # where the engine is
        self.quick = options.quick
        self.report = report
        inputs = Inputs(directory, 0.12)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}

    def measure_program(self, program):
        """Million instructions a second, for each machine."""
        passes, instructions = (2, 10000000) if self.quick else (5, 60000000)
        done = subprocess.run([self.bench, str(instructions), str(passes), ",".join(MACHINES), "--"] + program.command,
                              stdout=subprocess.PIPE, env=self.environment)
        if done.returncode != 0:
            raise Failure("bench-machine failed")
        measured = json.loads(done.stdout)
        return {m: measured["instructions"] / statistics.median(measured[m]["ns"]) * 1e3 for m in MACHINES}

    def print_row(self, name, speeds):
        print("  %-8s %s" % (name, " ".join("%10.0f" % speeds[m] for m in MACHINES)), flush=True)

    def measure(self):
        if not self.programs:
            return
        print("\nMachine without cycles: million instructions a second on one core, from blocks and addresses in memory")
        print("  %-8s %s" % ("", " ".join("%10s" % m for m in MACHINES)))
        rows = {}
        for name, program in self.programs.items():
            rows[name] = self.measure_program(program)
            self.print_row(name, rows[name])
        # As many instructions of each program: the harmonic mean is the speed over all of them.
        overall = {m: statistics.harmonic_mean([row[m] for row in rows.values()]) for m in MACHINES}
        self.print_row("all", overall)
        self.report.result["machine_model"] = {"programs": rows, "overall": overall}
        for name in MACHINES:
            self.report.target("machine %s, harmonic mean" % name, overall[name], TARGET, " M/s", False)
