#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs generated programs alone and in the engine: registers, flags, vectors and memory at their
ends must be the same, byte for byte, in every mode.

    tests/native/fuzz.py [--seed N] [--count N] [--inputs N] [--threads N] [--gs] [--storm] [--modes none,count,...] [--keep FOLDER]

A program is made from its seed and nothing else (and what the processor has): what --count 2000
finds at seed 1234 is found again by --seed 1234 --count 1 (unless the engine's state matters: then run
the same seeds again). See engine.py for the environment.
"""
import argparse
import collections
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time

import engine
import fuzz_gen

GROUP = 170  # programs a file
STARTED = time.monotonic()
REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
FIELDS = [("number", 8)] + [(r, 8) for r in REGISTERS] + [("flags", 8)] + \
    [("vector %d" % i, 64) for i in range(32)] + [("mask %d" % i, 8) for i in range(8)] + \
    [("x87 %d" % i, 16) for i in range(8)] + [("data+%d" % i, 8) for i in range(0, 1024, 8)] + \
    [("stack%+d" % i, 8) for i in range(-128, 256, 8)] + [("mxcsr", 8)]
RECORD = sum(size for _, size in FIELDS)


def processor():
    """What the processor has that the programs may use."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        flags = next(line for line in file if line.startswith("flags")).split()
    found = set()
    if {"avx2", "bmi1", "bmi2", "adx", "fma"} <= set(flags):
        found.add("avx")
    if "avx" in found and {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        found.add("avx512")
    return found


def build(seeds, options, folder):
    """Assembles and links programs; returns the path of the file."""
    path = os.path.join(folder, "fz%d" % seeds[0])
    frame = subprocess.run(["cpp", "-P", os.path.join(engine.HERE, "fuzz_frame.S")],
                           check=True, stdout=subprocess.PIPE, encoding="ascii").stdout
    with open(path + ".s", "w", encoding="ascii") as file:
        file.write(fuzz_gen.generate(seeds, options.features, frame, options.threads, options.inputs,
                                     options.rounds))
    base = fuzz_gen.LINKS[fuzz_gen.link_of(seeds[0])]
    subprocess.run(["as", "-o", path + ".o", path + ".s"], check=True)
    subprocess.run(["ld", "-z", "noexecstack", "-Ttext-segment=%#x" % base,
                    "--section-start=.far=%#x" % (base + fuzz_gen.FAR), "-o", path, path + ".o"],
                   check=True)
    return path


def in_order(result):
    """The records of all threads by their numbers."""
    records = [result.stdout[at:at + RECORD] for at in range(0, len(result.stdout), RECORD)]
    return result._replace(stdout=b"".join(sorted(records, key=lambda r: int.from_bytes(r[:8], "little"))))


def explain(runs, expected, got):
    """The first few differences of two runs, by name."""
    if got.status != expected.status or got.stderr != expected.stderr:
        yield "status %s, not %s; stderr: %s" % (got.status, expected.status,
                                                 got.stderr[-300:].decode(errors="replace"))
    there = {got.stdout[at:at + 8]: got.stdout[at:at + RECORD] for at in range(0, len(got.stdout), RECORD)}
    bad = 0
    for at, (seed, number) in enumerate(runs):
        a = expected.stdout[at * RECORD:(at + 1) * RECORD]
        b = there.get(a[:8], b"")
        if a == b:
            continue
        bad += 1
        if bad <= 5:
            yield "seed %d, input %d: %s" % (seed, number, "; ".join(differing_fields(a, b)) if b
                                             else "the run ended before this program did")
    if bad > 5:
        yield "... and %d programs more" % (bad - 5)


def differing_fields(a, b):
    at = shown = 0
    for name, size in FIELDS:
        x, y = a[at:at + size], b[at:at + size]
        at += size
        if x != y and shown < 4:
            shown += 1
            yield "%s alone %s engine %s" % (name, x[::-1].hex(), y[::-1].hex())


def rows_of(path, view, *options):
    """What a file of programs did, a sorted list of rows."""
    profile = path + ".hotpath"
    for command in (["record", "-q", *engine.OPTIONS, *options, "-o", profile, "--", path],
                    ["report", "--csv", "--top", "0", profile, view]):
        result = engine.alone([engine.HOTPATH, *command])
        if result.status != 0:
            return ["status %s: %s" % (result.status, result.stderr.decode(errors="replace"))]
    os.unlink(profile)
    return sorted(result.stdout.decode().splitlines())


def compare_rows(path, view, streams, counts):
    """Complaints about what is counted in the cache, in a view: it must be what the stream says."""
    streamed, counted = rows_of(path, view, *streams), rows_of(path, view, *counts)
    if streamed == counted:
        return []
    return ["%s: %d rows only of the stream, %d only counted: %s" % (
        view, len(set(streamed) - set(counted)), len(set(counted) - set(streamed)),
        sorted(set(streamed) ^ set(counted))[:4])]


def compare_counted(path, modes):
    complaints = []
    if "paths" in modes:
        complaints += compare_rows(path, "paths", ["--profile", "paths", "--record", "stream"],
                                   ["--profile", "paths"])
    if "count" in modes:
        complaints += compare_rows(path, "edges", ["--profile", "exact"], ["--profile", "counts"])
    return complaints


def run_group(seeds, options, folder):
    """Builds a file of programs and compares; returns complaints, a line each."""
    path = build(seeds, options, folder)
    expected = in_order(engine.alone([path]))
    runs = fuzz_gen.run_order(seeds, options.threads, options.inputs)
    complaints = []
    if expected.status != 0 or len(expected.stdout) != RECORD * len(runs):
        there = {expected.stdout[at:at + 8] for at in range(0, len(expected.stdout), RECORD)}
        missing = [seed for i, (seed, _) in enumerate(runs) if i.to_bytes(8, "little") not in there]
        return ["seed %d: the program itself is bad: status %s alone" % ((missing or seeds)[0], expected.status)]
    for mode in options.modes:
        got = in_order(engine.watched(mode, [path]))
        if got != expected:
            complaints += ["mode %s: %s" % (mode, line) for line in explain(runs, expected, got)]
    if not options.storm:
        complaints += compare_counted(path, options.modes)
    if not options.keep:
        for name in (path, path + ".s", path + ".o"):
            os.unlink(name)
    return complaints


def groups(first, count, size):
    """Seeds in groups of `size` that are linked at the same place."""
    kinds = len(fuzz_gen.LINKS)
    for at in range(first, first + count, kinds * size):
        for kind in range(kinds):
            seeds = [s for s in range(at, min(at + kinds * size, first + count)) if s % kinds == kind]
            if seeds:
                yield seeds


def run_all(options, folder):
    """Runs all groups, and says how far it got when that takes long; returns complaints."""
    complaints = []
    done = 0
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        work = collections.deque()
        for seeds in groups(options.seed, options.count, 10 * GROUP if options.small else GROUP):
            if len(work) >= 4 * options.jobs:
                complaints += work.popleft().result()
            work.append(pool.submit(run_group, seeds, options, folder))
            done += len(seeds)
            if options.seconds and time.monotonic() - STARTED > options.seconds:
                options.count = done
                break
        while work:
            complaints += work.popleft().result()
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="the first program (default 1)")
    parser.add_argument("--count", type=int, default=3060, help="programs (default 3060)")
    parser.add_argument("--inputs", type=int, default=1, help="run each so often, with different registers and data")
    parser.add_argument("--threads", type=int, default=1, help="so many at once, each in a thread")
    parser.add_argument("--modes", help="comma-separated (default: all)")
    parser.add_argument("--gs", action="store_true", help="use the GS segment too")
    parser.add_argument("--storm", action="store_true", help="with signals all the time")
    parser.add_argument("--rounds", type=int, default=1000, help="with --storm: run each so often")
    parser.add_argument("--small", action="store_true", help="short programs, more in a file: many in little time")
    parser.add_argument("--plain", action="store_true", help="nothing beyond SSE4")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, help="stop after so long")
    parser.add_argument("--keep", help="leave sources and programs in this folder")
    options = parser.parse_args()
    features = set() if options.plain else processor()
    if engine.ENGINE == "qemu":
        features.discard("avx512")
        features.add("common")
    options.features = features | {name for name in ("gs", "storm", "small") if getattr(options, name)}
    options.modes = options.modes.split(",") if options.modes else engine.modes()
    folder = options.keep or tempfile.mkdtemp(prefix="hotpath-fuzz-")
    os.makedirs(folder, exist_ok=True)
    try:
        complaints = run_all(options, folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    for line in complaints:
        print(line)
    print("%d programs (seeds from %d; %s; %d inputs, %d threads) in modes %s: %s" % (
        options.count, options.seed, ", ".join(sorted(options.features)) or "plain", options.inputs,
        options.threads, ", ".join(options.modes), "all equal" if not complaints else "DIFFERENT"))
    if complaints:
        print("again, one alone: HOTPATH=%s HOTPATH_TEST_ENGINE=%s %s --seed SEED --count 1 --inputs %d%s%s%s%s"
              " --keep FOLDER" % (engine.HOTPATH, engine.ENGINE, sys.argv[0], options.inputs, *(
                  " --" + name if getattr(options, name) else "" for name in ("gs", "storm", "small", "plain"))))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
