#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paths from the program to the reader: counts and source lines of a program whose paths are known on paper, and what must hold
for the paths of any program."""
import json
import os
import re
import subprocess

import lib
from lib import program

lib.need("gcc", "strip")

SOURCE = """\
static int helper(int x) { return x + 1; } /* @helper */
int work(int n)
{ /* @open */
    int sum = 0; /* @zero */
    for (int i = 0; i < n; i++) { /* @loop */
        if (i % 4 == 0) /* @if */
            sum += i; /* @add */
        else
            sum -= helper(i); /* @call */
    }
    return sum; /* @return */
} /* @close */
int main(void)
{
    return work(1000) == 7;
}
"""
MARKS = {name: number for number, line in enumerate(SOURCE.splitlines(), 1)
         for name in re.findall(r"@(\w+)", line)}
KINDS = ("bl", "wpp", "extended-loop:2", "extended-call:2", "forward", "bl,length=3")


class Known(lib.E2E):
    """gcc -O0 jumps to the condition of a loop first, and back to its body while it holds."""

    def setUp(self):
        super().setUp()
        self.program = self.path("known")
        with open(self.path("known.c"), "w", encoding="utf-8") as out:
            out.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O0", "-o", self.program, self.path("known.c")], check=True)

    def lines(self, *names):
        return ["%s:%d" % (self.path("known.c"), MARKS[name]) for name in names]

    def paths(self, kind, function="work", options=()):
        profile = self.record(self.program, options=("--paths", kind, *options))
        return {(p["outcomes"], tuple(p["lines"])): p["count"] for p in profile.json["paths"]
                if p["function"] == function}

    def test_acyclic_paths(self):
        self.assertEqual(self.paths("bl"), {
            ("11", tuple(self.lines("open", "zero", "loop"))): 1,
            ("011", tuple(self.lines("if", "add", "loop"))): 250,
            ("11", tuple(self.lines("if", "call", "loop"))): 749,
            ("10", tuple(self.lines("if", "call", "loop", "return", "close"))): 1,
        })
        self.assertEqual(self.paths("bl", "helper"), {("", tuple(self.lines("helper"))): 750})

    def test_paths_that_end_at_calls(self):
        self.assertEqual(self.paths("wpp"), {
            ("11", tuple(self.lines("open", "zero", "loop"))): 1,
            ("011", tuple(self.lines("if", "add", "loop"))): 250,
            ("1", tuple(self.lines("if", "call"))): 750,
            ("1", tuple(self.lines("call", "loop"))): 749,
            ("0", tuple(self.lines("call", "loop", "return", "close"))): 1,
        })

    def test_paths_that_follow_a_call(self):
        self.assertEqual(self.paths("extended-call:1"), {  # the first one began in main
            ("011", tuple(self.lines("if", "add", "loop"))): 250,
            ("11", tuple(self.lines("if", "call", "helper", "call", "loop"))): 749,
            ("10", tuple(self.lines("if", "call", "helper", "call", "loop", "return",
                                    "close"))): 1,
        })

    def test_paths_over_a_back_edge(self):
        # 1000 iterations, two by two: (0 1) (2 3) (4 5) ..., entered together with the first
        paths = self.paths("extended-loop:1")
        self.assertEqual(sum(paths.values()), 501)
        first = self.lines("open", "zero", "loop", "if", "add", "loop")
        self.assertEqual(paths["11011", tuple(first)], 1)
        odd = self.lines("if", "call", "loop", "if", "call", "loop")
        self.assertEqual(paths["1111", tuple(odd)], 250)
        self.assertEqual(sum(count for (outcomes, _), count in paths.items()
                             if outcomes == "11011" and _ != tuple(first)), 249)

    def test_text(self):
        path = self.path("known.hotpath")
        self.hotpath("record", "-q", "--profile", "paths", "-o", path, "--", self.program)
        text = self.hotpath("report", path, "paths").stdout  # as wide as it gets
        place = "known.c:%d"
        expected = [(place % MARKS["if"], "->", "if (i % 4 == 0) /* @if */"),
                    (place % MARKS["call"], "call helper", "sum -= helper(i); /* @call */"),
                    (place % MARKS["loop"], "->", "for (int i = 0; i < n; i++) { /* @loop */")]
        wide = max(len(row[0]) for row in expected)
        lines = ["          %-*s  %-11s  %s" % (wide, *row) for row in expected]
        self.assertIn("\n".join(lines) + "\n", text)
        self.assertRegex(text, r"\n +[0-9.]+% +[0-9.]+% +749 +\d+ +2  work +known.c:"
                         + str(MARKS["if"]))
        # what is shown without a view is the paths, when nothing else was recorded
        self.assertIn("\n".join(lines) + "\n", self.hotpath("report", path).stdout)
        run = self.hotpath("run", "-q", "--profile", "paths", "--", self.program)
        self.assertIn("\n".join(lines) + "\n", run.stderr)

    def test_without_debug_information(self):
        stripped = self.path("stripped")
        subprocess.run(["strip", "-o", stripped, self.program], check=True)
        profile = self.record(stripped, options=("--profile", "paths"))
        offset = lib.symbols(self.program)["helper"]
        path = next(p for p in profile.json["paths"] if p["count"] == 749)
        self.assertEqual(path["lines"], [])
        self.assertEqual(path["function"], "stripped+0x%x" % lib.symbols(self.program)["work"])
        text = self.hotpath("report", profile.path, "paths").stdout
        start = "\n          %s  ->" % path["start"]
        self.assertIn(start, text)
        self.assertIn("call stripped+0x%x\n" % offset, text)

    def test_addresses_do_not_matter(self):
        for kind in ("bl", "forward"):
            runs = [self.record(self.program, options=("--paths", kind, *options)).json["paths"]
                    for options in ((), ("--aslr",))]
            rows = [[(p["start"], p["outcomes"], p["targets"], p["count"], p["lines"])
                     for p in run if all(b.startswith("known+") for b in p["blocks"])]
                    for run in runs]
            self.assertEqual(*map(sorted, rows))
            self.assertEqual(kind == "forward", any(row[2] for row in rows[0]))

    def test_more_profilers_change_nothing(self):
        alone = self.record(self.program, options=("--profile", "paths"), name="a.hotpath")
        both = self.record(self.program, options=("--profile", "exact,paths"), name="b.hotpath")
        # What a stub leads to is known only where calls are: see --plt.
        self.assertEqual(*(lib.report_json(p.path, "--plt")["paths"] for p in (alone, both)))
        self.assertEqual(alone.json["threads"], both.json["threads"])
        exact = self.record(self.program, name="c.hotpath")
        self.assertEqual(exact.json["functions"], both.json["functions"])
        self.assertEqual(exact.json["edges"], both.json["edges"])


class Any(lib.E2E):
    def check(self, profile):
        """What must hold for any paths."""
        stats = {(s["part"].split()[0], s["name"]): s["value"] for s in profile.json["machine"]}
        paths = profile.json["paths"]
        self.assertEqual(profile.json["summary"]["paths"], len(paths))
        self.assertEqual(sum(p["count"] for p in paths), stats["paths", "paths"])
        self.assertEqual(sum(p["instructions"] for p in paths)
                         + stats["paths", "unfinished_instructions"], profile.instructions)
        self.assertEqual(stats["paths", "instructions"], profile.instructions)
        insns = {b: n for b, n in profile.query("SELECT id, insns FROM block")}
        steps = {}
        for path, block, how in profile.query(
                "SELECT path, block, how FROM path_step ORDER BY path, position"):
            steps.setdefault(path, []).append((insns[block], how))
        counts = profile.query("SELECT path, sum(count), sum(instructions) FROM path_count"
                               " GROUP BY path ORDER BY 3 DESC")
        self.assertEqual(len(steps), min(len(counts), 10000))
        wrong = 0
        for path, count, instructions in counts[:10000]:
            if sum(n for n, how in steps[path]) * count != instructions:
                self.assertEqual(steps[path][-1][1], 5)  # the end is not known
                wrong += 1
        return wrong, len(steps)

    def test_blocks_of_paths_are_those_executed(self):
        for kind in KINDS:
            for command in ((program("mix"),), (program("switches"),), ("sort", "--help")):
                with self.subTest(kind=kind, command=command):
                    wrong, n = self.check(self.record(*command, options=("--paths", kind)))
                    if kind.startswith("extended-call"):  # through pointers
                        self.assertLess(wrong, n / 5)
                    else:
                        self.assertEqual(wrong, 0)

    def test_other_architectures(self):
        names = [a + "/switches" for a in ("arm", "arm-a32", "aarch64", "riscv64", "alpha")]
        there = [name for name in names if os.path.exists(program(name))]
        if not there:
            self.skipTest("no program was built for another architecture")
        for name in there:
            with self.subTest(name):
                profile = self.record(program(name), options=("--profile", "paths"))
                self.assertEqual(self.check(profile)[0], 0)

    def test_signals_and_longjmp(self):
        for name in ("jumps", "exceptions", "signals"):
            with self.subTest(name):
                self.check(self.record(program(name), options=("--profile", "paths")))

    def test_threads(self):
        profile = self.record(program("threads"), options=("--profile", "paths"))
        rows = json.loads(self.hotpath("report", profile.path, "paths", "--json", "--threads",
                                       "each").stdout)["paths"]
        loop = max((p for p in rows if p["function"] == "start"), key=lambda p: p["count"])
        counts = sorted(t["count"] for t in loop["threads"])
        self.assertEqual(len(counts), 4)
        self.assertEqual([b - a for a, b in zip(counts, counts[1:])], [1000] * 3)
        self.assertEqual(loop["count"], sum(counts))

    def test_a_bound_is_told(self):
        profile = self.record(program("switches"), options=("--profile", "paths", "--max-paths", "20"))
        self.assertEqual(profile.json["summary"]["paths"], 20)
        note, = (n for n in profile.json["notes"] if n["kind"] == "paths")
        self.assertIn("more than 20 distinct paths", note["text"])
        lost, = (s["value"] for s in profile.json["machine"] if s["name"] == "lost")
        self.assertEqual(note["count"], lost)
        kept = sum(p["count"] for p in profile.json["paths"])
        all_paths, = (s["value"] for s in profile.json["machine"] if s["name"] == "paths")
        self.assertEqual(kept + lost, all_paths)

    def test_tables(self):
        profile = self.record(program("mix"), options=(
            "--table", "vaswani", "--table", "64x2,policy=lru", "--window", "100000"))
        parts = {}
        for s in profile.json["machine"]:
            parts.setdefault(s["part"], {})[s["name"]] = s["value"]
        self.assertEqual(set(parts), {"paths bl", "hpt 512x4 bl", "hpt 64x2,policy=lru bl"})
        for part, stats in parts.items():
            if part.startswith("hpt"):
                self.assertEqual(stats["hits"] + stats["misses"], parts["paths bl"]["paths"])
                self.assertTrue(0 < stats["overlap"] <= stats["best"] <= 1)
                self.assertTrue(0 < stats["window_overlap"] <= 1)
                self.assertGreater(stats["windows"], 2)
        self.assertGreater(parts["hpt 512x4 bl"]["overlap"],
                           parts["hpt 64x2,policy=lru bl"]["overlap"])
        text = self.hotpath("report", profile.path, "machine").stdout
        self.assertRegex(text, r"hpt 512x4 bl +best +\d+\.\d%\n +bytes +7,488\n")

    def test_merging_and_comparing(self):
        a = self.record(program("switches"), options=("--profile", "paths"), name="a.hotpath")
        merged = self.path("merged.hotpath")
        self.hotpath("merge", "-o", merged, a.path, a.path)
        twice = lib.Profile(merged).json["paths"]
        self.assertEqual(twice, [dict(p, count=2 * p["count"], events=2 * p["events"],
                                      instructions=2 * p["instructions"])
                                 for p in a.json["paths"]])
        b = self.record(program("loops"), options=("--profile", "paths"), name="b.hotpath")
        same = json.loads(self.hotpath("compare", a.path, merged, "--json").stdout)
        self.assertEqual(same["comparison"]["path_overlaps"],
                         [{"kind": "bl", "executions": 100, "instructions": 100}])
        other = json.loads(self.hotpath("compare", a.path, b.path, "--json").stdout)
        self.assertLess(other["comparison"]["path_overlaps"][0]["instructions"], 90)
        self.assertIn("overlap of paths bl: 100.0% by executions",
                      self.hotpath("compare", a.path, merged).stdout)

    def test_views_of_sqlite(self):
        profile = self.record(program("switches"), options=("--profile", "paths"))
        rows = profile.query("SELECT count, instructions FROM hot_paths")
        self.assertEqual(rows, sorted(rows, key=lambda row: -row[1]))
        self.assertEqual(sorted(rows), sorted((p["count"], p["instructions"])
                                              for p in profile.json["paths"]))


if __name__ == "__main__":
    lib.main()
