# SPDX-License-Identifier: MIT
"""The native engine against the program alone, and against the other ways of watching it."""


from inputs import Inputs, Program
from timing import Failure, Timing, geometric_mean, run_once, spread

# Single-threaded programs. With all but the last two others were measured: see docs/benchmarks.md.
PROGRAMS = ["gzip", "bzip2", "cjpeg", "perl", "lua", "python3", "gnugo", "sqlite3", "cc1", "xz", "minisat"]
COMPARED = PROGRAMS[:9]

# What `hotpath run --engine native` is asked to do, cheapest first.
MODES = {
    "none": ["--profile", "none", "--record", "none"],
    "count": ["--profile", "counts"],
    "stream": ["--profile", "none", "--record", "stream"],
    "exact": [],
    "memory": ["--profile", "none", "--record", "memory"],
}


class Row:
    """One program: the times of each way to run it."""

    def __init__(self, ways):
        self.timings = {way: Timing() for way in ways}

    def ratio(self, way):
        """Times slower than native, or None if it failed or was not run."""
        native, timing = self.timings["native"], self.timings.get(way)
        if not timing or timing.failure or not timing.wall or not native.wall:
            return None
        return timing.median() / native.median()

    def cell(self, way):
        timing = self.timings.get(way)
        if not timing or not (timing.wall or timing.failure):
            return "-"
        if timing.failure:
            return "failed"
        if len(timing.wall) == 1:
            return "%.2f" % self.ratio(way)
        return "%.2f ±%.0f%%" % (self.ratio(way), spread(timing.wall))

    def as_json(self):
        return {"times": {way: t.as_json() for way, t in self.timings.items()},
                "to_native": {way: self.ratio(way) for way in self.timings if way != "native"}}


class Table:
    """Rows of programs, printed as they come; columns are ways to run them, as ratios to native."""

    def __init__(self, title, ways):
        self.ways = ways
        self.rows = {}
        self.failures = []
        print("\n%s" % title)
        print("  %-12s %8s | %s" % ("", "native", " ".join("%11s" % way for way in ways)), flush=True)

    def add(self, name, row):
        self.rows[name] = row
        native = row.timings["native"]
        print("  %-12s %7.2fs | %s" % (name, native.median(), " ".join("%11s" % row.cell(way) for way in self.ways)),
              flush=True)
        self.failures += ["%s, %s: %s" % (name, way, t.failure) for way, t in row.timings.items() if t.failure]

    def ratios(self, way, names=None):
        return [row.ratio(way) for name, row in self.rows.items() if names is None or name in names]

    def mean(self, way):
        """Geometric mean of a column; None if a cell of it is missing."""
        ratios = self.ratios(way)
        return geometric_mean(ratios) if ratios and None not in ratios else None

    def mean_cell(self, way, names):
        ratios = self.ratios(way, names)
        there = [ratio for ratio in ratios if ratio is not None]
        return "%.2f%s" % (geometric_mean(there), "" if there == ratios else "*") if there else "-"

    def end(self):
        for label, names in (("mean", None), ("mean of %d" % len(COMPARED), COMPARED)):
            if names is None or set(names) < set(self.rows):
                cells = " ".join("%11s" % self.mean_cell(way, names) for way in self.ways)
                print("  %-12s %8s | %s" % (label, "", cells), flush=True)
        if self.failures:
            print("  * without those that failed:")
        for failure in self.failures:
            print("  ! %s" % failure)

    def as_json(self):
        return {"programs": {name: row.as_json() for name, row in self.rows.items()},
                "geometric_mean": {way: self.mean(way) for way in self.ways}}


def run_ways(programs, rounds):
    """Runs a program in several ways, in turn, `programs` being way -> (Program, rounds at most), native first.

    A way that fails, takes a hundred times as long as "native" and half a minute, or prints something else, is
    left out from then on and says so; the others go on.
    """
    row = Row(programs)
    expected, limit = None, 600
    for number in range(rounds):
        for way, (program, at_most) in programs.items():
            timing = row.timings[way]
            if number >= at_most or timing.failure:
                continue
            try:
                output = run_once(program, timing, limit)
                if way == "native":
                    expected, limit = output, 30 + 100 * timing.wall[-1]
                elif output != expected:
                    timing.failure = "%s: its output is not that of the program alone" % " ".join(program.command)
            except Failure as failure:
                if way == "native":
                    raise
                timing.failure = str(failure)
    return row


class Native:
    def __init__(self, hotpath, directory, options, report):
        self.hotpath = hotpath
        self.directory = directory
        self.quick = options.quick
        self.rounds = options.rounds
        self.report = report
        self.names = [name for name in PROGRAMS if not options.only or name in options.only]

    def watched(self, program, mode, engine="native"):
        """The program under hotpath."""
        return program.under([self.hotpath, "run", "--engine", engine] + MODES[mode] + ["-q", "--"])

    def modes_of(self, program, rounds):
        """Native and each mode with as many rounds as `rounds` says."""
        ways = {"native": (program, max(rounds.values()))}
        for mode, number in rounds.items():
            ways[mode] = (self.watched(program, mode), number)
        return ways

    # --- For whoever works on the engine ---

    def quick_look(self):
        """One round of the engine's modes on inputs of under a second. Returns whether nothing failed."""
        rounds = {mode: self.rounds or 1 for mode in ("none", "count", "stream", "exact")}
        inputs = Inputs(self.directory, 0.7)
        table = Table("Native engine, ratios to native", list(rounds))
        for name in self.names:
            table.add(name, run_ways(self.modes_of(inputs.program(name), rounds), max(rounds.values())))
        table.end()
        self.report.result["native"] = table.as_json()
        return not table.failures

