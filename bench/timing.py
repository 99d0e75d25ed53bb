# SPDX-License-Identifier: MIT
"""Running commands in turn and timing them; means, spreads and targets."""

import hashlib
import math
import os
import platform
import signal
import statistics
import subprocess
import tempfile
import time


class Failure(Exception):
    pass


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def spread(times):
    """Half the range in percent of the median: how far to trust it."""
    return 50 * (max(times) - min(times)) / statistics.median(times)


class Timing:
    """Wall and processor time of a command's runs, or why there are none."""

    def __init__(self):
        self.wall = []
        self.cpu = []
        self.failure = None

    def median(self):
        return statistics.median(self.wall)

    def as_json(self):
        if self.failure:
            return {"failure": self.failure}
        return {"wall": self.wall, "cpu": self.cpu, "median": self.median()}


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_at_most(process, limit):
    """Waits for the process; kills it and its children after `limit` seconds. Returns its usage."""
    previous = signal.signal(signal.SIGALRM, lambda number, frame: kill_group(process))
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        kill_group(process)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def run_once(program, timing, limit=600):
    """Runs a program and adds its time, its waited-for children's included. Returns a digest of its output."""
    with open(program.stdin, "rb") as source, tempfile.TemporaryFile() as sink, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(program.command, stdin=source, stdout=sink, stderr=errors, start_new_session=True)
        usage = wait_at_most(process, limit)
        wall = time.perf_counter() - start
        if process.returncode != program.status:
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()[-300:]
            why = "no end after %d s" % limit if wall >= limit else "exit status %d" % process.returncode
            raise Failure("%s: %s%s" % (" ".join(program.command), why, ": " + text if text else ""))
        timing.wall.append(wall)
        timing.cpu.append(usage.ru_utime + usage.ru_stime)
        sink.seek(0)
        return hashlib.file_digest(sink, "sha256").hexdigest()


def interleave(programs, rounds):
    """Runs every program once a round, in turn; `programs` is name -> (Program, rounds at most)."""
    timings = {name: Timing() for name in programs}
    for number in range(rounds):
        for name, (program, at_most) in programs.items():
            if number < at_most:
                run_once(program, timings[name])
    return timings


class Report:
    """What was measured, for people and for --json."""

    def __init__(self, quick):
        self.result = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "quick": quick, "targets": []}

    def target(self, what, value, limit, unit, at_most=True, aim=None):
        """One figure, its target and, where there is one, what is aimed at beyond it; `value` is None if it could not
        be measured."""
        met = value is not None and (value <= limit if at_most else value >= limit)
        self.result["targets"].append({"what": what, "value": value, "limit": limit, "unit": unit, "met": met,
                                       "at_most": at_most, "aim": aim})
        shown = "%.3g%s" % (value, unit) if value is not None else "not measured"
        print("  => %s: %s (target: %s %g%s) %s"
              % (what, shown, "at most" if at_most else "at least", limit, ", aim: %g" % aim if aim else "",
                 "met" if met else "MISSED"), flush=True)

    def summary(self):
        targets = self.result["targets"]
        if not targets:
            return
        print("\n  %-52s %8s  %12s %8s" % ("Targets", "measured", "target", "aim"))
        for t in targets:
            value = "%.3g" % t["value"] if t["value"] is not None else "-"
            limit = "%s %g%s" % ("<=" if t["at_most"] else ">=", t["limit"], t["unit"])
            print("  %-52s %8s  %12s %8s  %s" % (t["what"], value, limit, "%g" % t["aim"] if t["aim"] else "",
                                                 "met" if t["met"] else "MISSED"))
        print("%d of %d targets met" % (sum(t["met"] for t in targets), len(targets)))


def machine():
    model = platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return "%d processors, %s, Linux %s" % (os.cpu_count(), model, platform.release())
