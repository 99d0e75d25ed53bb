# SPDX-License-Identifier: MIT
"""The qemu engine, the stream, traces and replay: what they cost, against plain QEMU and against themselves."""

import json
import os
import statistics
import subprocess

from inputs import Inputs, Program, find
from timing import Failure, Timing, geometric_mean, interleave, run_once, spread

PROGRAMS = ["gzip", "bzip2", "perl", "sqlite3", "lua", "cjpeg"]


class Qemu:
    def __init__(self, hotpath, directory, options, report, scratch):
        self.hotpath = hotpath
        self.stream = os.path.join(directory, "bench-stream")
        if not os.access(self.stream, os.X_OK):
            raise Failure("%s is not there: build first" % self.stream)
        self.quick = options.quick
        self.rounds = options.rounds or (2 if options.quick else 3)
        self.scratch = scratch
        self.report = report
        inputs = Inputs(directory, 0.12 if self.quick else 0.45)
        self.programs = {n: inputs.program(n) for n in PROGRAMS if not options.only or n in options.only}
        self.qemu = find("qemu-x86_64")

    def file(self, name):
        return os.path.join(self.scratch, name)

    def recording(self, what, path, program):
        """The program under the qemu engine, its profile or trace written to `path`."""
        return program.under([self.hotpath] + what + ["--engine", "qemu", "-q", "-o", path, "--"])

    # --- 1: the live profiler against plain QEMU ---

    def live(self):
        print("\nLive: the qemu engine with the exact profiler (times: medians of %d)" % self.rounds)
        print("  %-8s %8s %8s %8s | %12s | to native: %5s %8s"
              % ("", "native", "qemu", "hotpath", "hotpath/qemu", "qemu", "hotpath"))
        rows = {}
        for name, program in self.programs.items():
            timings = interleave({
                "native": (program, self.rounds),
                "qemu": (program.under([self.qemu]), self.rounds),
                "hotpath": (self.recording(["record"], self.file(name + ".hotpath"), program), self.rounds),
            }, self.rounds)
            median = {kind: t.median() for kind, t in timings.items()}
            ratio = {kind: median[kind] / median["native"] for kind in ("qemu", "hotpath")}
            rows[name] = {"ratio": median["hotpath"] / median["qemu"], "to_native": ratio,
                          "times": {kind: t.as_json() for kind, t in timings.items()}}
            print("  %-8s %7.2fs %7.2fs %7.2fs | %7.2fx ±%2.0f%% | %16.1f %8.1f"
                  % (name, median["native"], median["qemu"], median["hotpath"], rows[name]["ratio"],
                     spread(timings["hotpath"].wall), ratio["qemu"], ratio["hotpath"]), flush=True)
        mean = geometric_mean([row["ratio"] for row in rows.values()])
        to_native = {kind: geometric_mean([r["to_native"][kind] for r in rows.values()]) for kind in ("qemu", "hotpath")}
        print("  %-8s %8s %8s %8s | %7.2fx      | %16.1f %8.1f"
              % ("mean", "", "", "", mean, to_native["qemu"], to_native["hotpath"]))
        self.report.result["live"] = {"programs": rows, "geometric_mean": mean, "to_native": to_native}
        self.report.target("qemu engine: hotpath record over qemu, mean", mean, 1.8, "x")

    # --- 2 and 3: the iterator, and traces ---

    def record_trace(self, name, program):
        trace = self.file(name + ".hptrace")
        run_once(self.recording(["trace", "record"], trace, program), Timing())
        return trace

    def measure_stream(self, trace):
        passes, words = (3, 10 << 20) if self.quick else (7, 64 << 20)
        command = [self.stream, trace, self.file("scratch.hptrace"), str(passes), str(words)]
        done = subprocess.run(command, stdout=subprocess.PIPE)
        if done.returncode != 0:
            raise Failure("bench-stream failed on %s" % trace)
        return json.loads(done.stdout)

    def whole_branches(self, name, trace):
        """Retired branches of the whole trace, from its profile; the replay leaves it there."""
        profile = self.file(name + ".replay.hotpath")
        run_once(Program([self.hotpath, "trace", "replay", "-o", profile, trace]), Timing())
        done = subprocess.run([self.hotpath, "report", "--json", profile, "summary"], stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)["summary"]["branches"]

    def streams(self):
        print("\nStream: million retired branches a second on one core, nanoseconds a word of a trace")
        print("  %-8s %9s %9s %7s | %8s %7s | %6s %6s" % ("", "branches", "iterator", "exact", "MB", "bits/br", "write", "read"))
        rows, traces = {}, {}
        for name, program in self.programs.items():
            trace = traces[name] = self.record_trace(name, program)
            m = self.measure_stream(trace)
            branches = self.whole_branches(name, trace)
            size = os.path.getsize(trace)
            ns = {kind: statistics.median(m[kind + "_ns"]) for kind in ("iterator", "exact", "encode", "decode")}
            rows[name] = {"measured": m, "iterator": m["branches"] / ns["iterator"] * 1e3,
                          "exact": m["branches"] / ns["exact"] * 1e3, "bytes": size, "branches": branches,
                          "bits_per_branch": 8 * size / branches,
                          "encode_ns": ns["encode"] / m["words"], "decode_ns": ns["decode"] / m["words"]}
            row = rows[name]
            print("  %-8s %8.0fM %9.0f %7.0f | %8.2f %7.3f | %6.2f %6.2f"
                  % (name, branches / 1e6, row["iterator"], row["exact"], size / 1e6, row["bits_per_branch"],
                     row["encode_ns"], row["decode_ns"]), flush=True)
        # As many branches of each program: the harmonic mean is the speed over all of them.
        overall = {kind: statistics.harmonic_mean([r[kind] for r in rows.values()]) for kind in ("iterator", "exact")}
        bits = statistics.mean(r["bits_per_branch"] for r in rows.values())
        self.report.result["stream"] = {"programs": rows, "overall": overall, "mean_bits_per_branch": bits}
        self.report.target("iterator, harmonic mean", overall["iterator"], 400, " M/s", False)
        self.report.target("exact profiler, harmonic mean", overall["exact"], 200, " M/s", False)
        self.report.target("bits a retired branch, mean", bits, 1, "")
        return traces

    def replays(self, traces):
        rounds = max(1, self.rounds - 1)
        print("\nReplay against live (wall time, medians of %d)" % rounds)
        print("  %-8s %8s %8s %8s %12s" % ("", "live", "replay", "record", "replay/live"))
        rows = {}
        for name, program in self.programs.items():
            replay = Program([self.hotpath, "trace", "replay", "-o", self.file("replay.hotpath"), traces[name]])
            timings = interleave({
                "live": (self.recording(["record"], self.file("live.hotpath"), program), rounds),
                "replay": (replay, rounds),
                "record": (self.recording(["trace", "record"], self.file("again.hptrace"), program), rounds),
            }, rounds)
            median = {kind: t.median() for kind, t in timings.items()}
            rows[name] = {"ratio": median["replay"] / median["live"],
                          "times": {kind: t.as_json() for kind, t in timings.items()}}
            print("  %-8s %7.2fs %7.2fs %7.2fs %11.2fx"
                  % (name, median["live"], median["replay"], median["record"], rows[name]["ratio"]), flush=True)
        mean = geometric_mean([row["ratio"] for row in rows.values()])
        self.report.result["replay"] = {"programs": rows, "geometric_mean": mean}
        self.report.target("replay over live, geometric mean", mean, 1.0, "x")
        self.report.target("replay over live, worst", max(row["ratio"] for row in rows.values()), 1.0, "x")

    def measure(self, part):
        """All parts, or the one named."""
        if not self.programs:
            return
        if part in (None, "live"):
            self.live()
        if part in (None, "stream", "replay"):
            traces = self.streams()
            if part != "stream":
                self.replays(traces)
