#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cycles of paths, from the command: every execution of every path is measured, no cycle is lost, the causes are what the code of a path is made for,
and reports, merged profiles and windows show it."""
import unittest

import lib
from lib import E2E, program, report_json

PARTS = 720720


def paths_of(profile, *options):
    return report_json(profile.path, "paths", "--top", "0", *options)["paths"]


def stats(profile):
    return dict(profile.query("SELECT name, value FROM model_stat WHERE part LIKE 'paths %'"))


class PathCycles(E2E):
    def measure(self, *command, machine="vaswani", windows="all", options=(), **others):
        return self.record(*command, options=("--profile", "exact,cycles,paths", "--machine", machine,
                                              "--windows", windows, *options), **others)

    def check_sums(self, profile):
        """Every cycle is in a path, or known to be in none; every path was measured as often as it was executed."""
        total = stats(profile)
        (attributed,), = profile.query("SELECT sum(parts) FROM insn_cycles")
        (in_paths,), = profile.query("SELECT sum(parts) FROM path_cycles")
        self.assertLess(abs((attributed - in_paths) / PARTS - total["unfinished_cycles"]), 1)
        self.assertEqual(total["lost_cycles"], 0)
        self.assertEqual(total["measured"], total["paths"])
        different = profile.query(
            "SELECT c.path FROM (SELECT path, sum(count) n, sum(instructions) i FROM path_count GROUP BY path) c"
            " LEFT JOIN path_time t ON t.path = c.path WHERE c.n IS NOT t.count OR c.i IS NOT t.instructions")
        self.assertEqual(different, [])
        for row in paths_of(profile):
            self.assertEqual(row["measured"], row["count"])
            self.assertAlmostEqual(sum(row["causes"].values()), row["cycles"], delta=0.001)
            self.assertAlmostEqual(row["cycles_each"] * row["measured"], row["cycles"], delta=0.001 * row["measured"])
            self.assertAlmostEqual(row["cpi"] * row["instructions"], row["cycles"], delta=0.001 * row["instructions"])
        return total

    def test_causes_are_what_the_code_is_made_for(self):
        profile = self.measure(program("stalls"))
        self.check_sums(profile)
        for cause, function in ("memory", "chase"), ("mispredict", "branchy"), ("execute", "divide"), ("l1i", "wide"):
            worst = paths_of(profile, "--sort", "causes." + cause)[0]
            self.assertEqual(worst["function"], function, cause)
            self.assertEqual(worst["causes"][cause], max(row["causes"][cause] for row in paths_of(profile)))
        slowest = paths_of(profile, "--sort", "cycles")
        self.assertEqual([row["cycles"] for row in slowest],
                         sorted((row["cycles"] for row in slowest), reverse=True))
        kept = paths_of(profile, "--filter", "causes.memory > 1k and cpi > 10")
        self.assertTrue(kept)
        for row in kept:
            self.assertGreater(row["causes"]["memory"], 1000)
        refused = lib.run([lib.HOTPATH, "report", profile.path, "paths", "--sort", "causes.nothing"])
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("causes.nothing", refused.stderr)
        text = lib.run([lib.HOTPATH, "report", profile.path, "paths", "--sort", "causes.memory", "--top", "1"]).stdout
        self.assertIn("cycles: memory ", text)
        self.assertIn("  CPI  ", text)
        csv = lib.run([lib.HOTPATH, "report", profile.path, "paths", "--csv"]).stdout
        self.assertIn(",measured,cycles,cycles_each,cpi,cycle_share,causes,", csv.splitlines()[0])

    def test_signals_and_threads(self):
        for name in "signals", "threads":
            with self.subTest(name):
                self.check_sums(self.measure(program(name), options=("--paths", "wpp"), name=name))

    def test_merged_profiles_add_up(self):
        profile = self.measure(program("stalls"), options=("--from", "main", "--for", "200K"))
        merged = self.path("merged.hotpath")
        self.hotpath("merge", "--output", merged, profile.path, profile.path)
        for sql in ("SELECT path, count, instructions FROM path_time ORDER BY 1",
                    "SELECT path, cause, parts FROM path_cycles ORDER BY 1, 2"):
            once, twice = profile.query(sql), lib.Profile(merged).query(sql)
            self.assertEqual([(*row[:1 + ("cause" in sql)], *(2 * n for n in row[1 + ("cause" in sql):])) for row in once],
                             twice)

    def test_windows(self):
        """Only what was measured from begin to end counts."""
        profile = self.measure(program("stalls"), windows="period=20K,detail=5K,ramp=1K")
        total = stats(profile)
        (attributed,), = profile.query("SELECT sum(parts) FROM insn_cycles")
        (in_paths,), = profile.query("SELECT sum(parts) FROM path_cycles")
        self.assertLess(abs((attributed - in_paths) / PARTS - total["unfinished_cycles"]), 1)
        self.assertGreater(total["measured"], 1000)
        self.assertLess(total["measured"], total["paths"])
        rows = paths_of(profile)
        self.assertTrue(any(row["measured"] is None and row["causes"] == {} for row in rows))
        for row in rows:
            self.assertLessEqual(row["measured"] or 0, row["count"])

    def test_profiles_without(self):
        profile = self.record(program("stalls"), options=("--profile", "paths", "--for", "100K"))
        self.assertNotIn("cycles", paths_of(profile)[0])
        text = lib.run([lib.HOTPATH, "report", profile.path, "paths"]).stdout
        self.assertNotIn("CPI", text)


if __name__ == "__main__":
    unittest.main()
