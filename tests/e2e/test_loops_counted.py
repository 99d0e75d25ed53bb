#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops from counters (--profile counts,loops) are those that the order of execution gives."""
import os

import lib
from lib import E2E, program, report_json
from util_loops import loops

# With recursion, jumps out of functions, exceptions, forks, signals, tail calls, computed jumps, generated code.
PROGRAMS = ("trips-O0", "trips-O1", "trips-O2", "trips-stripped", "trips_asm", "trips_dispatch", "trips_ends",
            "trips_exceptions-O0", "trips_exceptions-O2", "trips_forks", "trips_jumps-O0", "trips_jumps-O2", "trips_vector",
            "recursion", "jumps", "tail", "signals", "switches", "interpreter", "sort", "selfmod", "flow", "worked",
            "loops_ab", "rep", "forks", "faults", "phases")
SAME = ("function", "insns", "flags", "depth", "executions", "iterations", "back_edges", "self")


def described(profile, module=None):
    """{where: what must be the same}. An irreducible loop is named by a header: by which one, only the order tells."""
    return {loop.key(): {name: getattr(loop, name) for name in SAME} for loop in loops(profile, module)
            if not loop.irreducible}


class LoopsCounted(E2E):
    def expect_same(self, counted, ordered, module=None):
        found, expected = described(counted, module), described(ordered, module)
        self.assertTrue(expected)
        self.assertEqual({where: found.get(where) for where in expected.keys() | found.keys()
                          if found.get(where) != expected.get(where)},
                         {where: expected.get(where) for where in expected.keys() | found.keys()
                          if found.get(where) != expected.get(where)})

    def both(self, *command, **options):
        return (self.record(*command, options=["--profile", profile], name=profile + ".hotpath", **options)
                for profile in ("loops", "counts,loops"))

    def test_programs(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                ordered, counted = self.both(program(name))
                self.expect_same(counted, ordered)
                self.assertEqual(sum(loop.irreducible for loop in loops(counted)),
                                 sum(loop.irreducible for loop in loops(ordered)))

    def test_real_program(self):
        """hotpath itself prints a profile. (Where functions begin in stripped libraries is a guess that the order improves.)"""
        profile = self.path("profile")
        self.hotpath("record", "-q", "-p", "loops", "-o", profile, "--", program("trips-O2"))
        command = (lib.HOTPATH, "report", "--json", profile)
        ordered, counted = self.both(*command)
        self.assertGreater(len(loops(ordered, "hotpath")), 50)
        self.expect_same(counted, ordered, "hotpath")

    def test_views(self):
        """What the order would tell is left out, not 0."""
        _, counted = self.both(program("trips-O2"))
        row = report_json(counted.path, "loops")["loops"][0]
        for name in ("inclusive", "min", "max", "trips", "predictability", "interrupted"):
            self.assertNotIn(name, row)
        for name in ("executions", "iterations", "mean", "self"):
            self.assertIn(name, row)
        text = self.hotpath("report", counted.path, "loops").stdout
        self.assertRegex(text, r"self +times +mean +loop\n")
        self.assertNotIn("predictable", text)
        self.assertIn("how iterations are distributed", text)

    def test_what_needs_the_order(self):
        for more in (("--loop-model", "daprof"), ("--hotspots", "merten")):
            with self.subTest(more=more):
                result = self.hotpath("run", "--profile", "counts,loops", *more, "--", program("sort"), status=125)
                self.assertIn("goes with loops only", result.stderr)


if __name__ == "__main__":
    lib.main()
