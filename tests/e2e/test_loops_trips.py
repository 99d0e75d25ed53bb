#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exact loops of programs whose trip counts are known on paper: executions, iterations, their distribution, nesting, by both
engines, at several levels of optimisation and on several architectures.

For each function: its loops, outer ones first, as (depth, {iterations: executions})."""
import os

import lib
from lib import E2E, marks, program
from util_loops import buckets, loops, of_functions

ENGINES = ("native", "qemu")


def each(values):
    return {value: 1 for value in values}


TRIPS = {
    "triangle": [(1, {10: 1}), (2, each(range(1, 11)))],
    "cube": [(1, {2: 1}), (2, {3: 2}), (3, {4: 6})],
    "early": [(1, {**each(range(1, 11)), 7: 2})],
    "forever": [(1, each(i * i for i in range(1, 11)))],
    "again": [(1, {20: 1})],
    "dive": [(1, {3: 7})],
    "tree": [(1, {2: 31})],
    "caller": [(1, {8: 1})],
    "callee": [(1, {5: 8})],
    "repeats": [(1, {4: 5, 9: 2})],
}
JUMPS = {
    "out": [(1, {3: 1})],
    "left": [(1, {3: 3}), (2, {10: 6, 1: 1, 2: 1, 3: 1})],
    "retry": [(1, {4: 5, 7: 1})],
    "inside": [(1, {5: 1})],
}
EXCEPTIONS = {
    "outside()": [(1, {8: 1})],
    "thrown_out(int)": [(1, {1: 1, 3: 1, 5: 1, 7: 1, 9: 1, 10: 3})],
    "caught_inside(int)": [(1, {9: 1})],
}
DISPATCH = {"interpret": [(1, {6: 1}), (2, {9: 6})]}
# 1003 and 1000 elements, four of them a round; three are left over.
VECTOR = {"unrolled": [(1, {250: 2})], "rolled": [(1, {1003: 1})], "vectorised": [(1, {250: 2})]}
# Function: trips, static instructions, self, inclusive.
ASSEMBLY = {
    "into": ({5: 1}, 3, 15, 15),
    # The first 4096 instructions are a block of their own that is no part of the later rounds.
    "seams": ({3: 1}, 5002, 2 * 4096 + 3 * 906, 2 * 4096 + 3 * 906),
    "calls": ({4: 1}, 3, 12, 20),
    "middle": ({6: 1}, 3, 17, 17),
    "computed": ({7: 1}, 3, 20, 20),
    "counted": ({9: 1}, 2, 18, 18),
    "returned": ({3: 1}, 4, 10, 10),
    "ping": ({8: 1}, 3, 23, 30),
}


class Trips(E2E):
    def watch(self, name, *arguments, engine=None, more=(), **options):
        given = ["--profile", "loops", *more] + (["--engine", engine] if engine else [])
        return self.record(program(name), *arguments, options=given, **options)

    def expect_sane(self, loop):
        """What holds of every loop."""
        self.assertEqual(loop.executions, loop.iterations - loop.back_edges)
        self.assertLessEqual(loop.self, loop.inclusive)
        if loop.irreducible and not loop.buckets:  # executions are not known one by one: nothing is said
            self.assertEqual((loop.min, loop.max, loop.same, loop.stride), (0, 0, 0, 0))
            return
        self.assertEqual(sum(loop.buckets.values()), loop.executions)
        self.assertLessEqual(loop.min, loop.max)
        self.assertIn(loop.min.bit_length() - 1, loop.buckets)
        self.assertIn(loop.max.bit_length() - 1, loop.buckets)

    def expect_trips(self, profile, expected):
        found = of_functions(profile)
        for name, nest in expected.items():
            with self.subTest(function=name):
                self.assertEqual([(loop.depth, loop.trips) for loop in found[name]], nest)
                for loop, (_, trips) in zip(found[name], nest):
                    self.expect_sane(loop)
                    self.assertEqual(loop.buckets, buckets(trips))
                    self.assertEqual(loop.executions, sum(trips.values()))
                    self.assertEqual(loop.iterations, sum(value * n for value, n in trips.items()))
                    self.assertEqual((loop.min, loop.max), (min(trips), max(trips)))
                    self.assertFalse(loop.irreducible)
                    self.assertEqual(loop.interrupted, 0)

    def expect_program(self, profile):
        """All of trips.c."""
        self.expect_trips(profile, TRIPS)
        found = of_functions(profile)
        self.assertEqual((found["repeats"][0].same, found["repeats"][0].stride), (4, 2))
        self.assertEqual((found["triangle"][1].same, found["triangle"][1].stride), (0, 8))
        self.assertEqual((found["cube"][2].same, found["cube"][2].stride), (5, 4))
        # What was called from the loop is in it, and the loops of what was called.
        self.assertGreater(found["caller"][0].inclusive, found["caller"][0].self + found["callee"][0].self)
        self.assertEqual(found["callee"][0].inclusive, found["callee"][0].self)
        (irreducible,) = found["irreducible"]
        self.assertTrue(irreducible.irreducible)
        self.expect_sane(irreducible)

    def test_levels(self):
        for level in ("O0", "O1", "O2"):
            for engine in ENGINES:
                with self.subTest(level=level, engine=engine):
                    self.expect_program(self.watch("trips-" + level, engine=engine))
                    self.expect_trips(self.watch("trips_jumps-" + level, engine=engine), JUMPS)
                    self.expect_trips(self.watch("trips_exceptions-" + level, engine=engine), EXCEPTIONS)

    def test_architectures(self):
        for arch in ("aarch64", "arm", "arm-a32", "riscv64", "alpha"):
            if not os.path.exists(program(arch + "/trips")):
                continue
            with self.subTest(arch=arch):
                self.expect_program(self.watch(arch + "/trips"))
                self.expect_trips(self.watch(arch + "/trips_jumps"), JUMPS)

    def test_compiler_loops(self):
        """Unrolled and vectorised loops go round less often; the elements add up."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                profile = self.watch("trips_vector", engine=engine)
                self.expect_trips(profile, VECTOR)
                self.expect_trips(self.watch("trips_dispatch", engine=engine), DISPATCH)

    def test_to_the_instruction(self):
        for engine in ENGINES:
            found = of_functions(self.watch("trips_asm", engine=engine))
            self.assertEqual(set(found), set(ASSEMBLY) | {"two_ways"})
            for name, (trips, insns, self_, inclusive) in ASSEMBLY.items():
                with self.subTest(function=name, engine=engine):
                    (loop,) = found[name]
                    self.assertEqual(
                        (loop.trips, loop.insns, loop.self, loop.inclusive), (trips, insns, self_, inclusive))
            (loop,) = found["two_ways"]
            self.assertTrue(loop.irreducible)
            self.assertEqual((loop.insns, loop.self, loop.inclusive), (4, 38, 38))

    def test_ends(self):
        """The program ends in the third round of the seventh row: both loops are interrupted, and counted."""
        for engine in ENGINES:
            for how, status in (("e", 3), ("s", 137), ("f", 139), ("n", 0)):
                with self.subTest(how=how, engine=engine):
                    found = of_functions(self.watch("trips_ends", how, engine=engine, status=status))
                    (outer,), (inner,) = found["outer"], found["inner"]
                    cut = how != "n"
                    self.assertEqual(outer.trips, {7 if cut else 10: 1})
                    self.assertEqual(inner.trips, {4: 6, 3: 1} if cut else {4: 10})
                    self.assertEqual((outer.interrupted, inner.interrupted), (cut, cut))
                    self.expect_sane(outer)
                    self.expect_sane(inner)

    def test_threads(self):
        for name, engine in (("trips_threads", "native"), ("trips_threads", "qemu"), ("aarch64/trips_threads", None)):
            if not os.path.exists(program(name)):
                continue
            with self.subTest(program=name, engine=engine):
                profile = self.watch(name, engine=engine)
                (loop,) = of_functions(profile)["work"]
                rows = profile.query("SELECT executions, iterations, min, max, same, stride FROM loop_count"
                                     " WHERE loop = ? ORDER BY iterations", loop.id)
                self.assertEqual(rows, [(3, 300 * n + 1, 100 * n, 100 * n + 1, 1, 0) for n in range(1, 5)])
                self.assertEqual(loop.trips, {100 * n + more: 2 - more for n in range(1, 5) for more in (0, 1)})

    def test_forks(self):
        """What is known of the child begins in the third round. (It may be known before what its parent did before: then which
        iterations belong together is told apart too late, but none is lost.)"""
        for name, engine in (("trips_forks", "native"), ("trips_forks", "qemu"), ("riscv64/trips_forks", None)):
            if not os.path.exists(program(name)):
                continue
            with self.subTest(program=name, engine=engine):
                (loop,) = of_functions(self.watch(name, engine=engine))["rounds"]
                self.assertEqual((loop.executions, loop.iterations, loop.back_edges), (2, 5 + 3, 4 + 2))
                self.assertFalse(loop.irreducible)

    def test_without_symbols(self):
        """The loops are in the same places, with the same counts, when there are no names."""
        named = loops(self.watch("trips-O1"), "trips-O1")
        nameless = loops(self.watch("trips-stripped"), "trips-stripped")
        self.assertGreater(len(named), 15)

        def places(found):
            return {loop.offset: (loop.counts, loop.trips, loop.depth, loop.insns) for loop in found}

        self.assertEqual(places(nameless), places(named))

    def test_engines_agree(self):
        """Everything about every loop, of programs that are the same code for both."""
        for name in ("musl/trips", "musl/trips_jumps", "musl/trips_vector", "musl/trips_dispatch", "musl/loops",
                     "musl/interpreter", "musl/jumps", "musl/algorithms-O0", "musl/algorithms-O2", "sieve", "sort", "queens",
                     "trips_asm"):
            if not os.path.exists(program(name)):
                continue
            # What is before main looks at the kernel's vector of values, which is not the same in QEMU.
            region = ["--from", "main"] if name.startswith("musl/") else []
            with self.subTest(program=name):
                seen = []
                for engine in ENGINES:
                    found = loops(self.watch(name, engine=engine, more=region))
                    for loop in found:
                        self.expect_sane(loop)
                    seen.append({loop.key(): loop.everything() for loop in found})
                self.assertGreater(len(seen[0]), 0)
                self.assertEqual(seen[0], seen[1])

    def test_lines(self):
        """The source lines of a nest."""
        lines = marks("trips.c")
        rows, columns, cells = of_functions(self.watch("trips-O0"))["cube"]
        for loop in (rows, columns, cells):
            self.assertEqual(loop.file, "trips.c")
        self.assertEqual((rows.first_line, rows.last_line), (lines["rows"], lines["rows_end"]))
        self.assertEqual((columns.first_line, columns.last_line), (lines["columns"], lines["columns_end"]))
        self.assertEqual(cells.last_line, lines["cells"])


if __name__ == "__main__":
    lib.main()
