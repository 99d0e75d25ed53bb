#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real programs: output, files and status are the same alone and in the engine.

    tests/native/real.py [--full] [--modes stream,count,none] [--only NAME,...] [--list]

--full takes inputs of seconds, not of tenths. Programs that are not installed are named and skipped.
What each program is made to do is in real_cases.py; see engine.py for the environment.
"""
import argparse
import concurrent.futures
import os
import resource
import shutil
import sys
import tempfile
import traceback

import engine
import real_cases


class Bench:
    """What a case works with: a folder of its own, and run(), alone or in the engine."""

    def __init__(self, folder, mode, full):
        self.dir = folder
        self.mode = mode  # None: alone
        self.full = full
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/usr/games", "HOME": folder,
                    "LC_ALL": "C", "TZ": "UTC", "TMPDIR": folder}
        self.outcome = []  # what is compared: (what, value)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return name

    def size(self, small, full):
        return full if self.full else small

    def tool(self, name):
        return shutil.which(name, path=self.env["PATH"])

    def command(self, argv):
        argv = [self.tool(argv[0]) or argv[0], *argv[1:]]
        return argv if self.mode is None else engine.command(
            self.mode, argv, os.path.join(os.path.dirname(self.dir), "json.%d" % id(argv)))

    def alone(self, *argv, **options):
        """Runs a command alone in any case; it must succeed. Returns its stdout."""
        result = engine.alone([self.tool(argv[0]) or argv[0], *argv[1:]], cwd=self.dir,
                              env=self.env, **options)
        if result.status != 0:
            raise RuntimeError("%s alone: status %s: %s" % (argv, result.status,
                                                            result.stderr[-300:]))
        return result.stdout

    def run(self, *argv, stdout=True, stderr=True, status=True, files=(), **options):
        """Runs a command and keeps for comparison what is said to be kept. Returns the Result."""
        options.setdefault("timeout", 300)
        result = engine.alone(self.command(argv), cwd=self.dir, env=self.env, **options)
        name = " ".join(map(str, argv))[:80]
        if status:
            self.outcome.append((name + ": status", result.status))
        if stdout:
            self.outcome.append((name + ": stdout", result.stdout))
        if stderr:
            self.outcome.append((name + ": stderr", result.stderr))
        for file in files:
            self.keep_file(name, file)
        return result

    def keep_file(self, name, file):
        try:
            with open(self.path(file), "rb") as opened:
                self.outcome.append(("%s: file %s" % (name, file), opened.read()))
        except OSError as error:
            self.outcome.append(("%s: file %s" % (name, file), str(error)))


def differences(expected, got):
    for (what, a), (_, b) in zip(expected, got):
        if a != b:
            both = isinstance(a, bytes) and isinstance(b, bytes)
            yield "%s %s" % (what, engine.first_difference(a, b) if both
                             else "alone %r, engine %r" % (a, b))
    if [what for what, _ in expected] != [what for what, _ in got]:
        yield "other things were done: %s" % [what for what, _ in got]


def perform(case, top, mode, full):
    """The outcome of a case. Its folder has the same name each time: programs print it."""
    folder = os.path.join(top, "work")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    bench = Bench(folder, mode, full)
    case.function(bench)
    return bench.outcome


def examine(case, modes, full):
    """(name, complaints) of a case; complaints is None when it is skipped."""
    missing = [t for t in case.tools if not Bench("/", None, False).tool(t)]
    if missing:
        return case.name, None, ", ".join(missing)
    complaints = []
    top = tempfile.mkdtemp(prefix="hotpath-real-")
    try:
        expected = perform(case, top, None, full)
        for mode in modes:
            try:
                got = perform(case, top, mode, full)
                complaints += ["mode %s: %s" % (mode, d) for d in differences(expected, got)]
            except Exception:  # a case that cannot be carried through in the engine is a difference
                complaints.append("mode %s: %s" % (mode, traceback.format_exc(limit=3)))
        if not expected:
            complaints.append("nothing was compared")
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return case.name, complaints, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="inputs of seconds")
    parser.add_argument("--modes", default="stream,count,none")
    parser.add_argument("--two-modes", action="store_true",
                        help="each case in the first of the modes and one of the others, in turn")
    parser.add_argument("--only", help="cases, comma-separated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the cases and the tools they need")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    cases = [c for c in real_cases.CASES if not options.only or c.name in options.only.split(",")]
    if options.list:
        for case in cases:
            print("%-12s %s" % (case.name, " ".join(case.tools)))
        return 0
    modes = engine.modes(*options.modes.split(","))
    chosen = {c: modes for c in cases}
    if options.two_modes and len(modes) > 2:
        chosen = {c: [modes[0], modes[1 + i % (len(modes) - 1)]] for i, c in enumerate(cases)}
    bad = done = 0
    skipped = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, complaints, missing in pool.map(
                lambda c: examine(c, chosen[c], options.full), cases):
            if complaints is None:
                skipped.append("%s (%s)" % (name, missing))
                continue
            done += 1
            bad += bool(complaints)
            print("%-12s %s" % (name, "DIFFERENT" if complaints else "equal"), flush=True)
            for line in complaints:
                print("    " + line[:1500])
    if skipped:
        print("not installed: " + ", ".join(skipped))
    print("%d programs in modes %s: %d equal, %d different, %d skipped"
          % (done, ", ".join(modes), done - bad, bad, len(skipped)))
    return 1 if bad or not done else 0


if __name__ == "__main__":
    sys.exit(main())
