#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Caches count what valgrind's cachegrind counts with the same geometry.

`caches` has all its data, its stack too, at addresses that do not depend on who runs it: everything is the same, to the
last miss. The other programs use the stack that they are given, which is elsewhere under valgrind, so lines of the stack
share sets with other lines of data: accesses are the same, misses of the data cache nearly.

What is never the same, and why:
- The last level. Cachegrind has no written lines that come down from the first level, and asks for both lines when an access
  crosses from one that is there to one that is not; and it counts one miss where two lines are missing. So it is compared where
  nothing is ever evicted from it: then the difference is exactly the accesses that miss in two lines.
- REP: a round is an instruction, with its accesses, for valgrind; one instruction and the accesses of its first round for us. The
  programs here have none.
- Valgrind drops loads whose value is never used. The programs here have none.
"""
import re

import lib
from lib import E2E, program, run

lib.need("valgrind")

# Size, ways, line of the three caches.
SMALL = ((1024, 1, 64), (4096, 4, 32), (8 << 20, 16, 64))
GEOMETRIES = (
    SMALL,
    ((8192, 2, 64), (4096, 4, 64), (8 << 20, 8, 64)),
    ((2048, 4, 32), (1024, 1, 32), (16 << 20, 16, 64)),
    ((4096, 1, 128), (16384, 8, 128), (8 << 20, 4, 128)),
    ((32768, 8, 64), (32768, 8, 64), (8 << 20, 16, 64)),
)
ON_THEIR_STACK = ("sieve", "matrix", "hash", "sort", "crc", "queens", "straight", "pages")

MACHINE = """
[core]
width = 4
issue = 4
retire = 4
reorder = 64
memory_queue = 32
[units]
alu = 4
mul = 1
fp = 1
fp_mul = 1
load = 2
store = 1
[memory]
latency = 100
[branch]
predictor = bimodal
[btb]
entries = 64
ways = 2
"""


def machine_file(path, geometry):
    with open(path, "w", encoding="utf-8") as out:
        out.write(MACHINE)
        for section, (size, ways, line) in zip(("l1i", "l1d", "l2"), geometry):
            out.write("[%s]\nsize = %d\nways = %d\nline = %d\nlatency = 1\n"
                      % (section, size, ways, line))
    return path


def cachegrind(name, geometry, path):
    """The sums of its events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw."""
    options = ["--%s=%d,%d,%d" % ((cache,) + shape)
               for cache, shape in zip(("I1", "D1", "LL"), geometry)]
    result = run(["valgrind", "--vex-guest-chase=no", "--tool=cachegrind", "--cache-sim=yes",
                  "--branch-sim=no", "--cachegrind-out-file=" + path, *options, program(name)])
    if result.returncode != 0:
        raise AssertionError("cachegrind failed on %s: %s" % (name, result.stderr))
    with open(path, encoding="utf-8") as text:
        found = text.read()
    names = re.search(r"^events: (.*)$", found, re.M)[1].split()
    sums = re.search(r"^summary: (.*)$", found, re.M)[1].split()
    return dict(zip(names, map(int, sums)))


class Cachegrind(E2E):
    def ours(self, name, geometry):
        """What the machine counted, by name."""
        machine = machine_file(self.path("geometry.ini"), geometry)
        profile = self.record(program(name),
                              options=("--profile", "paths", "--metric", "l1d", "--machine", machine))
        return {row["name"]: row["value"] for row in profile.json["machine"]
                if row["part"].startswith("machine")}

    def both(self, name, geometry):
        theirs = cachegrind(name, geometry, self.path("cachegrind.out"))
        return self.ours(name, geometry), theirs

    def compare_accesses(self, ours, theirs):
        self.assertEqual(ours["l1i.accesses"], theirs["Ir"])
        self.assertEqual(ours["l1d.reads"], theirs["Dr"])
        self.assertEqual(ours["l1d.writes"], theirs["Dw"])
        # The stream is the same for every machine, so the code and its place are, too.
        self.assertEqual(ours["l1i.misses"], theirs["I1mr"])

    def test_everything_is_the_same_at_fixed_addresses(self):
        misses = 0
        for geometry in GEOMETRIES:
            with self.subTest(geometry=geometry):
                ours, theirs = self.both("caches", geometry)
                self.compare_accesses(ours, theirs)
                self.assertEqual(ours["l1d.read_misses"], theirs["D1mr"])
                self.assertEqual(ours["l1d.write_misses"], theirs["D1mw"])
                self.compare_last_level(ours, theirs)
                misses += theirs["I1mr"] + theirs["D1mr"] + theirs["D1mw"]
        self.assertGreater(misses, 50_000)

    def compare_last_level(self, ours, theirs):
        """Every line misses once; of accesses that miss in two lines cachegrind counts one. Those are among the accesses
        that miss in two lines of a first level."""
        self.assertEqual(ours["l2.writebacks"], 0)
        in_two = sum(ours[level + ".fills"] - ours[level + ".misses"] for level in ("l1i", "l1d"))
        more = ours["l2.misses"] - (theirs["ILmr"] + theirs["DLmr"] + theirs["DLmw"])
        self.assertGreaterEqual(more, 0)
        self.assertLessEqual(more, in_two)

    def test_accesses_are_the_same_and_misses_nearly(self):
        for name in ON_THEIR_STACK:
            with self.subTest(program=name):
                ours, theirs = self.both(name, SMALL)
                self.compare_accesses(ours, theirs)
                missed = theirs["D1mr"] + theirs["D1mw"]
                self.assertAlmostEqual(ours["l1d.misses"], missed, delta=4 + missed // 100)

    def test_the_comparison_can_fail(self):
        """Another geometry gives another count, by far."""
        theirs = cachegrind("caches", SMALL, self.path("cachegrind.out"))
        other = (SMALL[0], (8192, 4, 32), SMALL[2])
        ours = self.ours("caches", other)
        self.assertGreater(abs(ours["l1d.misses"] - theirs["D1mr"] - theirs["D1mw"]), 100)


if __name__ == "__main__":
    lib.main()
