#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profilers that run at once, some of them in a second thread, find what each finds alone."""
import json
import os

from lib import E2E, main, need

ALL = "exact,loops,paths,predictions,hotspots"
MODELS = ["--loop-model", "daprof,calls", "--loop-model", "frequent", "--hotspots", "merten,reset=20000"]
# What is asked for alone, and where it stands in the report.
ALONE = {
    "loops": (["--profile", "loops"], ["functions", "edges", "loops"]),
    "models": (["--loop-model", "daprof,calls", "--loop-model", "frequent"], ["loop_models"]),
    "paths": (["--profile", "paths"], ["paths"]),
    "predictions": (["--profile", "predictions"], ["predictions"]),
    "hotspots": (["--hotspots", "merten,reset=20000"], ["hotspots"]),
}


class Together(E2E):
    def report_of(self, trace, name, options, **environment):
        path = self.path(name + ".hotpath")
        self.hotpath("trace", "replay", "-o", path, *options, trace, env={**os.environ, **environment})
        report = json.loads(self.hotpath("report", "--json", path).stdout)
        for member in ("loops", "paths", "hotspots"):
            for row in report[member]:
                row.pop("models", None)  # what models said of a loop stands there, too
                for about_functions in ("function", "functions", "written_in"):
                    row.pop(about_functions, None)  # without symbols, functions are what the exact profiler saw called
        return report

    def compare(self, *command):
        trace = self.trace(*command)
        together = self.report_of(trace, "together", ["--profile", ALL] + MODELS)
        in_one = self.report_of(trace, "in-one", ["--profile", ALL] + MODELS, HOTPATH_THREADS="1")
        self.assertEqual(together, in_one, "in one thread: %s" % command[0])
        for name, (options, members) in ALONE.items():
            alone = self.report_of(trace, name, options)
            for member in members:
                self.assertTrue(alone[member], member)
                self.assertEqual(together[member], alone[member], "%s of %s" % (member, command[0]))

    def test_gzip(self):
        self.compare("gzip", "-9c", __file__)

    def test_perl(self):
        self.compare("perl", "-e", "my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 20000; print length join '', values %h")


if __name__ == "__main__":
    need("gzip", "perl")
    main()
