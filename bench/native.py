# SPDX-License-Identifier: MIT
"""The native engine against the program alone."""

import json
import os

from held_out import NOT_TUNED_ON, HeldOut
from inputs import Inputs, Program, find
from timing import Failure, Timing, geometric_mean, run_once, spread

# Single-threaded programs. With all but the last two others were measured: see docs/benchmarks.md.
PROGRAMS = ["gzip", "bzip2", "cjpeg", "perl", "lua", "python3", "gnugo", "sqlite3", "cc1", "xz", "minisat"]
COMPARED = PROGRAMS[:9]

# Those with a part of their own.
OTHER_PROGRAMS = ["pigz", "true"]

# What `hotpath run --engine native` is asked to do, cheapest first.
MODES = {
    "none": ["--profile", "none", "--record", "none"],
    "count": ["--profile", "counts"],
    "stream": ["--profile", "none", "--record", "stream"],
    "exact": [],
    "memory": ["--profile", "none", "--record", "memory"],
    "paths": ["--profile", "paths"],
    "c+loops": ["--profile", "counts,loops"],
    "loops": ["--profile", "loops"],
    "hotspots": ["--profile", "hotspots"],
    "predict": ["--predict", "net:50"],
    "table": ["--profile", "paths", "--table", "vaswani"],
    "all": ["--profile", "exact,loops,paths,predictions,hotspots", "--loop-model", "daprof", "--loop-model", "frequent",
            "--table", "vaswani"],
    "wpp": ["--wpp", os.devnull],
    "machine": ["--profile", "paths", "--machine", "vaswani", "--metric", "l1d"],
}


class Row:
    """One program: the times of each way to run it, "native" among them; `bases` says what else ways are compared with."""

    def __init__(self, ways, bases):
        self.timings = {way: Timing() for way in ways}
        self.base = {way: self.timings[bases.get(way, "native")] for way in ways}

    def merge(self, other):
        """Adds the ways of a row that was measured with another input; their ratios stay those of that input."""
        for way in other.timings.keys() - {"native"}:
            self.timings[way], self.base[way] = other.timings[way], other.base[way]

    def median(self, way):
        """Seconds, or None if it failed or was not run."""
        timing = self.timings.get(way)
        return timing.median() if timing and timing.wall and not timing.failure else None

    def ratio(self, way):
        """Times slower than native, or than what it is compared with; or None."""
        median = self.median(way)
        return median / self.base[way].median() if median is not None else None

    def added_ms(self, way):
        median = self.median(way)
        return 1e3 * (median - self.base[way].median()) if median is not None else None

    def failures(self, name):
        return ["%s, %s: %s" % (name, way, t.failure) for way, t in self.timings.items() if t.failure]

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
        self.failures += row.failures(name)

    def ratios(self, way, names=None):
        return [row.ratio(way) for name, row in self.rows.items() if names is None or name in names]

    def mean(self, way, names=None):
        """Geometric mean of a column, or of these programs in it; None if a cell is missing."""
        ratios = self.ratios(way, names)
        return geometric_mean(ratios) if ratios and None not in ratios else None

    def worst(self, way):
        """The largest of a column; None if a cell is missing."""
        ratios = self.ratios(way)
        return max(ratios) if ratios and None not in ratios else None

    def mean_cell(self, way, names):
        ratios = self.ratios(way, names)
        there = [ratio for ratio in ratios if ratio is not None]
        return "%.2f%s" % (geometric_mean(there), "" if there == ratios else "*") if there else "-"

    def end(self):
        whole = [name for name, row in self.rows.items() if None not in [row.ratio(way) for way in self.ways]]
        means = [("mean", list(self.rows))]
        if set(COMPARED) < set(self.rows):
            means.append(("the nine", COMPARED))
        if whole and len(whole) < len(self.rows):
            means.append(("whole rows", whole))
        for label, names in means:
            cells = " ".join("%11s" % self.mean_cell(way, names) for way in self.ways)
            print("  %-12s %8s | %s" % (label, "", cells), flush=True)
        if len(whole) < len(self.rows):
            print("  * without those that have no figure")
        for failure in self.failures:
            print("  ! %s" % failure)

    def as_json(self):
        return {"programs": {name: row.as_json() for name, row in self.rows.items()},
                "geometric_mean": {way: self.mean(way) for way in self.ways}}


def run_ways(programs, patience=60, bases={}):
    """Runs a program in several ways, in turn, `programs` being way -> (Program, rounds), native first.

    A way is compared with "native", or with the way that `bases` says. One that fails, takes `patience` times as long
    as "native" and half a minute more, or prints something else than what it is compared with, is left out from then
    on and says so; the others go on.
    """
    row = Row(programs, bases)
    expected, limit = {}, 600
    for number in range(max(rounds for _, rounds in programs.values())):
        for way, (program, rounds) in programs.items():
            timing = row.timings[way]
            if number >= rounds or timing.failure:
                continue
            try:
                output = run_once(program, timing, limit)
                if way == "native":
                    limit = 30 + patience * timing.wall[-1]
                if way == "native" or way in bases.values():
                    expected[way] = output
                elif output != expected.get(bases.get(way, "native")):
                    timing.failure = "%s: its output is not that of the program alone" % " ".join(program.command)
            except Failure as failure:
                if way == "native":
                    raise
                timing.failure = str(failure)
    return row


# Perl's start-up and a little work: executes about 10,000 distinct blocks.
START_UP = ["-e", "print sort { $a <=> $b } map { length } split / /, 'a b c'"]


class Native:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.directory = directory
        self.quick = options.quick
        self.rounds = options.rounds or (1 if options.quick else 3)
        self.report = report
        self.scratch = scratch
        self.only = options.only
        self.make_inputs = HeldOut if options.held_out else Inputs
        self.names = self.chosen(PROGRAMS + NOT_TUNED_ON if options.held_out else PROGRAMS)
        self.complete = True

    def chosen(self, names):
        return [name for name in names if not self.only or name in self.only]

    def inputs(self, seconds, quick_seconds):
        return self.make_inputs(self.directory, quick_seconds if self.quick else seconds)

    def watched(self, program, mode, engine="native"):
        """The program under hotpath."""
        return program.under([self.hotpath, "run", "--engine", engine] + MODES[mode] + ["-q", "--"])

    def modes_of(self, program, rounds):
        """Native and each mode with as many rounds as `rounds` says."""
        ways = {"native": (program, max(rounds.values()))}
        for mode, number in rounds.items():
            ways[mode] = (self.watched(program, mode), number)
        return ways

    def finish(self, table, key):
        table.end()
        self.report.result[key] = table.as_json()
        self.complete = self.complete and not table.failures

    # --- For whoever works on the engine ---

    def quick_look(self):
        """One round of the engine's modes on inputs of under a second."""
        rounds = {mode: 1 for mode in ("none", "count", "stream", "paths", "exact")}
        inputs = self.make_inputs(self.directory, 0.7)
        table = Table("Native engine, ratios to native", list(rounds))
        for name in self.names:
            table.add(name, run_ways(self.modes_of(inputs.program(name), rounds)))
        self.finish(table, "native")

    # --- The engine's modes ---

    def mean_target(self, what, table, mode, limit, aim=None):
        """A target for the mean of the nine programs, or of those of them that were asked for."""
        self.report.target(what + ", mean", table.mean(mode, COMPARED), limit, "x", aim=aim)

    def modes(self):
        """Everything but memory, on long inputs; a short run of the compiler is not part of the means."""
        fewer = max(1, self.rounds - 1)
        rounds = {"none": self.rounds, "count": self.rounds, "stream": self.rounds, "paths": fewer, "exact": fewer}
        inputs = self.inputs(2.3, 0.3)
        table = Table("Native engine, ratios to native (medians of %d, paths and exact of %d)" % (self.rounds, fewer),
                      list(rounds))
        for name in self.names:
            table.add(name, run_ways(self.modes_of(inputs.program(name), rounds)))
        self.finish(table, "native")
        if set(COMPARED) & set(self.names):
            self.mean_target("engine alone", table, "none", 1.25, 1.15)
            self.mean_target("counts", table, "count", 1.6, 1.3)
            self.mean_target("complete path profile", table, "paths", 2.2, 1.4)
            self.mean_target("stream, nobody reading", table, "stream", 1.8, 1.5)
            self.mean_target("exact profiler live", table, "exact", 2.8, 2)
        self.report.target("engine alone, slowest program", table.worst("none"), 1.8, "x")
        self.report.target("counts, slowest program", table.worst("count"), 2.5, "x")
        self.report.target("exact profiler live, slowest program", table.worst("exact"), 5, "x")
        if "cc1" in self.names:
            self.short_compiler(rounds)

    def short_compiler(self, rounds):
        table = Table("A short run of the compiler", list(rounds))
        program = self.make_inputs(self.directory, 0.6).program("cc1")
        table.add("cc1, 0.6 s", run_ways(self.modes_of(program, rounds)))
        self.finish(table, "short_compiler")
        self.report.target("cc1 of 0.6 s, engine alone", table.worst("none"), 1.9, "x", aim=1.5)
        self.report.target("cc1 of 0.6 s, counts", table.worst("count"), 3, "x", aim=2)

    def memory(self):
        inputs = self.inputs(0.7, 0.12)
        table = Table("Native engine, every address, ratios to native (one run)", ["memory"])
        for name in self.names:
            table.add(name, run_ways(self.modes_of(inputs.program(name), {"memory": 1})))
        self.finish(table, "memory")
        self.report.target("memory with a null consumer, mean", table.mean("memory"), 12, "x")

    def profiles(self):
        """Profilers live, beyond the exact one."""
        modes = ("c+loops", "loops", "hotspots", "predict", "table", "all")
        rounds = {mode: max(1, self.rounds - 1) for mode in modes}
        table = Table("Profilers live, ratios to native (medians of %d)" % rounds["loops"], modes)
        inputs = self.inputs(0.7, 0.3)
        for name in self.names:
            table.add(name, run_ways(self.modes_of(inputs.program(name), rounds)))
        self.finish(table, "profiles")
        self.mean_target("loops live", table, "loops", 4.5, 2.5)
        self.mean_target("hot spots live", table, "hotspots", 3, 2)
        self.mean_target("predictions live", table, "predict", 3, 2)
        self.mean_target("paths with a hot path table live", table, "table", 5, 3)
        self.mean_target("all profilers of retired blocks at once, live", table, "all", 12, 6)
        slow = Table("Whole program path; a machine; ratios to native (one run)", ["wpp", "machine"])
        inputs = self.inputs(0.12, 0.12)
        for name in self.names:
            slow.add(name, run_ways(self.modes_of(inputs.program(name), {"wpp": 1, "machine": 1}), 600))
        self.finish(slow, "slow_profiles")

    def threads(self):
        """A program with two threads that compute, against the same with one."""
        inputs = self.inputs(2.3, 0.6)
        rounds = {mode: self.rounds for mode in ("none", "stream")}
        table = Table("Threads, ratios to native (medians of %d)" % self.rounds, list(rounds))
        for threads in (1, 2):
            table.add("pigz -p %d" % threads, run_ways(self.modes_of(inputs.pigz(threads), rounds)))
        self.finish(table, "threads")
        one, two = table.ratios("stream")
        both = one is not None and two is not None
        self.report.target("stream, two threads over one", two / one if both else None, 1.1, "x", aim=1)

    # --- Starting up ---

    def blocks_of(self, program):
        """Distinct blocks that the program executes, or None."""
        path = os.path.join(self.scratch, "blocks.json")
        try:
            run_once(program.under([self.hotpath, "run", "--engine", "native", "-q", "--json", path, "--"]), Timing(), 60)
            with open(path) as file:
                return json.load(file)["summary"]["blocks"]
        except (Failure, OSError, ValueError, KeyError):
            return None

    def start_up_ways(self, program, rounds):
        return {
            "native": (program, rounds),
            "none": (self.watched(program, "none"), rounds),
            "exact": (self.watched(program, "exact"), rounds),
            "qemu": (program.under([find("qemu-x86_64")]), rounds),
            "qemu engine": (self.watched(program, "exact", "qemu"), rounds),
        }

    def start_up(self):
        """What is added to programs that hardly run, in milliseconds."""
        rounds = 10 if self.quick else 30
        programs = {"true": Program([find("true")]), "perl": Program([find("perl")] + START_UP)}
        added = {}
        print("\nStart-up: milliseconds added to native (medians of %d)" % rounds)
        print("  %-8s %8s %8s | %8s %8s %8s %12s" % ("", "blocks", "native", "none", "exact", "qemu", "qemu engine"))
        for name, program in programs.items():
            row = run_ways(self.start_up_ways(program, rounds))
            blocks = self.blocks_of(program)
            ms = [row.added_ms(way) for way in ("none", "exact", "qemu", "qemu engine")]
            print("  %-8s %8s %8.1f | %8s %8s %8s %12s" % (name, blocks or "-", 1e3 * row.median("native"),
                                                           *["-" if m is None else "%.1f" % m for m in ms]), flush=True)
            for failure in row.failures(name):
                print("  ! %s" % failure)
                self.complete = False
            self.report.result["start_up_" + name] = {"blocks": blocks, "times": row.as_json()["times"]}
            added[name] = row.added_ms("exact")
        self.report.target("hotpath run -- true, added", added["true"], 60, " ms")
        self.report.target("a start-up of 10,000 blocks, added", added["perl"], 100, " ms")

    def measure(self, part):
        """All parts, or the one named."""
        for name, measure, programs in (("native", self.modes, PROGRAMS), ("memory", self.memory, PROGRAMS),
                                        ("profiles", self.profiles, PROGRAMS),
                                        ("threads", self.threads, ["pigz"]), ("start", self.start_up, ["true"])):
            if part in (None, name) and (self.names if programs is PROGRAMS else self.chosen(programs)):
                measure()
