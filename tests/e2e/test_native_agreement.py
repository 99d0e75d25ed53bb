#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two engines, one truth: on static programs the native engine counts what the qemu engine counts,
exactly: blocks, edges, calls, instructions. On dynamic ones both pass `trace check`, and agree on
the program's own code; libraries choose their code by the processor, which QEMU's is not."""
import argparse
import collections
import json
import os
import re
import shutil
import sys

import lib
from lib import E2E, PROGRAMS, program

sys.path.insert(0, os.path.join(lib.SRC, "tests", "native"))
import engine  # noqa: E402
import fuzz  # noqa: E402

NATIVE = engine.ENGINE if engine.ENGINE != "none" else "qemu"
QEMU = ["--engine", "qemu"]
EXACT = ["--engine", NATIVE]
COUNTS = ["--engine", NATIVE, "--profile", "counts"]

ALONE = ["flow", "straight", "pages", "rep", "faults", "selfmod", "sieve", "matrix", "hash", "sort",
         "crc", "queens", "machine", "mix", "clones"]
# Inclusive counts by paper where QEMU's are wrong: it shows the first fault in cross_fault (two in each of two
# calls of 8 instructions, each handled by 7 and returned from by 2) before the call.
KNOWN = {"faults": [("cross_fault", 2 * (8 + 2 * (7 + 2)))]}
MUSL = [("loops",), ("switches",), ("recursion",), ("tail",), ("pointers",), ("jumps",),
        ("interpreter",), ("generated",), ("signals", "raise"), ("signals", "nested"),
        ("signals", "segv"), ("signals", "altstack"), ("signals", "jump")]
ALGORITHMS = ["md5", "bits", "qsort", "heap", "tree", "shortest", "knapsack", "edit", "regex",
              "words", "compress", "expressions", "spigot", "mandelbrot", "life", "queens"]
LEVELS = ["O0", "O1", "O2", "O3", "Os"]
DYNAMIC = [("loops",), ("switches",), ("recursion",), ("tail",), ("pointers",), ("jumps",),
           ("exceptions",), ("interpreter",), ("generated",), ("signals", "raise")]
ANONYMOUS = r"\[anon\]\+0x([0-9a-f]+)"
MEMBERS = ["summary", "threads", "functions", "blocks", "edges", "calls", "lines"]


def tool(name):
    return shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")


def comparable(profile):
    """The report without what an engine may choose. Memory that is no file's is where the engine's
    process has room: its addresses count from the lowest page of it. How many versions of a block
    were seen includes those that were changed before they were run, which engines see or not: they are
    compared as often as they occur."""
    pages = [int(offset, 16) & ~0xfff for offset in re.findall(ANONYMOUS, profile.text)]
    base = min(pages, default=0)
    report = json.loads(re.sub(ANONYMOUS, lambda m: "[anon]+%#x" % (int(m[1], 16) - base),
                               profile.text))
    for block in report["blocks"]:
        del block["version"]
    return report


class Agreement(E2E):
    def expect_equal(self, first, second, what):
        """Two lists of rows, or two objects, are the same; else the first differing rows."""
        if first == second:
            return
        if isinstance(first, list):
            a, b = [collections.Counter(json.dumps(row, sort_keys=True) for row in rows)
                    for rows in (first, second)]
            self.fail("%s: %d rows only in qemu's, %d only in the other's:\n%s\n%s" % (
                what, (a - b).total(), (b - a).total(), "\n".join("- " + r for r in sorted(a - b)[:5]),
                "\n".join("+ " + r for r in sorted(b - a)[:5])))
        self.assertEqual(first, second, what)

    def whole(self, command, options=(), status=0, known=()):
        qemu = self.record(*command, options=[*QEMU, *options], name="qemu.hotpath", status=status)
        native = self.record(*command, options=[*EXACT, *options], name="native.hotpath",
                             status=status)
        self.assertGreater(qemu.instructions, 100)
        expected, found = comparable(qemu), comparable(native)
        for name, inclusive in known:
            for row in expected["functions"] + expected["calls"]:
                if name in (row.get("name"), row.get("callee")):
                    row["inclusive"] = inclusive
        for member in MEMBERS:
            self.expect_equal(expected[member], found[member], member)
        return native

    def counted(self, command, exact, status=0):
        """In count mode the same, as far as it goes."""
        if NATIVE != "native":
            return
        counts = self.record(*command, options=COUNTS, name="counts.hotpath", status=status)
        for name in ("instructions", "branches", "blocks", "edges"):
            self.assertEqual(exact.json["summary"][name], counts.json["summary"][name], name)
        self.expect_equal(exact.json["edges"], counts.json["edges"], "edges in count mode")
        for profile in (exact, counts):
            profile.short = [[(b["address"], b["size"], b["instructions"], b["count"])
                              for b in profile.json["blocks"]],
                             sorted((f["address"], f["self"]) for f in profile.json["functions"])]
        self.expect_equal(exact.short[0], counts.short[0], "blocks in count mode")
        self.expect_equal(exact.short[1], counts.short[1], "functions in count mode")

    def test_without_library(self):
        for name in ALONE:
            with self.subTest(program=name):
                command = [program(name)]
                status = engine.alone(command).status
                native = self.whole(command, status=status, known=KNOWN.get(name, ()))
                self.counted(command, native, status=status)

    def musl(self, *command):
        """From main on: what is before looks at the kernel's vector of values, which is not the
        same in QEMU."""
        path = os.path.join(PROGRAMS, "musl", command[0])
        if not os.path.exists(path):
            self.skipTest("musl-gcc is not installed")
        with self.subTest(program=command):
            self.whole([path, *command[1:]], ["--from", "main"])
            exact = self.record(path, *command[1:], options=EXACT)
            self.counted([path, *command[1:]], exact)

    def test_with_musl(self):
        for command in MUSL:
            self.musl(*command)

    def test_algorithms(self):
        for i, name in enumerate(ALGORITHMS):
            self.musl("algorithms-" + LEVELS[i % len(LEVELS)], name)

    def test_generated_programs(self):
        """Of random programs those that QEMU computes rightly: it has faults of its own."""
        seeds = list(range(1, 121, 3))
        features = (fuzz.processor() - {"avx512"}) | {"common"}
        options = argparse.Namespace(features=features, threads=1, inputs=1, rounds=1)
        path = fuzz.build(seeds, options, self.dir)
        expected = engine.alone([path]).stdout
        self.assertEqual(len(expected), fuzz.RECORD * len(seeds))
        got = engine.alone([tool("qemu-x86_64"), path]).stdout
        good = []
        for i, seed in enumerate(seeds):
            # The last 8 bytes hold flags of denormal numbers, which QEMU does not keep.
            part = slice(i * fuzz.RECORD, (i + 1) * fuzz.RECORD - 8)
            if got[part] == expected[part]:
                good.append(seed)
        self.assertGreater(len(good), len(seeds) // 2)
        os.mkdir(self.path("good"))
        command = [fuzz.build(good, options, self.path("good"))]
        # What the programs write at their ends differs; nothing else does.
        self.counted(command, self.whole(command, status=0))


class Dynamic(E2E):
    def own(self, profile, name):
        """What was counted of the program's own code."""
        return {f["name"]: (f["self"], f["calls"]) for f in profile.json["functions"]
                if f["module"] == name}

    def test_own_code(self):
        for command in DYNAMIC:
            with self.subTest(command=command):
                argv = [program(command[0]), *command[1:]]
                qemu = self.record(*argv, options=QEMU, name="qemu.hotpath")
                native = self.record(*argv, options=EXACT, name="native.hotpath")
                found = self.own(qemu, command[0])
                self.assertIn("main", found)
                self.assertEqual(found, self.own(native, command[0]))

    def test_traces(self):
        data = self.path("data")
        with open(data, "wb") as file:
            file.write(b"".join(b"line %d of hot paths\n" % (i * i % 1000) for i in range(3000)))
        commands = [[program(c[0]), *c[1:]] for c in DYNAMIC + [("threads",), ("forks",),
                                                              ("signals", "timer")]]
        commands += [[tool(c[0]), *c[1:]] for c in (
            ("gzip", "-c", data), ("sort", data), ("perl", "-e", "print join ',', map { $_ * 2 } 1..99"),
            ("grep", "-c", "hot.*s", data), ("bash", "-c", "for i in 1 2 3; do echo $i; done | cat"),
            ("xz", "-T2", "-c", data)) if tool(c[0])]
        for command in commands:
            for options in (QEMU, EXACT):
                with self.subTest(command=command, engine=options[1]):
                    status = engine.alone(command).status
                    self.trace(*command, options=options, status=status)


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("skipped: the native engine runs x86-64 programs")
        sys.exit(77)
    lib.need("qemu-x86_64", "as", "ld")
    lib.main()
