#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loops and hot spots from the program to the reader: a program whose loops and phases are known on paper, and what must hold for
the loops of any program."""
import csv
import io
import json
import re
import subprocess

import lib
from lib import program

lib.need("gcc", "strip")

SOURCE = """\
volatile unsigned sink;
static __attribute__((noinline)) unsigned first(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) /* @first */
        sum += i ^ sink;
    return sum;
}
static __attribute__((noinline)) unsigned second(unsigned n)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < n; i++) /* @outer */
        for (unsigned k = 0; k <= i % 3; k++) /* @inner */
            sum = sum * 5 + k + sink;
    return sum;
}
int main(void)
{
    for (int i = 0; i < 6; i++) /* @main */
        sink = i % 2 ? second(20000) : first(60000);
    return 0;
}
"""
MARKS = {name: number for number, line in enumerate(SOURCE.splitlines(), 1)
         for name in re.findall(r"@(\w+)", line)}


class Known(lib.E2E):
    def setUp(self):
        super().setUp()
        self.program = self.path("known")
        with open(self.path("known.c"), "w", encoding="utf-8") as out:
            out.write(SOURCE)
        subprocess.run(["gcc", "-g", "-O1", "-static", "-o", self.program, self.path("known.c")],
                       check=True)

    def known(self, *options):
        return self.record(self.program, options=("--profile", "loops,hotspots", *options))

    def text(self, profile, *arguments):
        done = lib.run([lib.HOTPATH, "report", profile.path, *arguments])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def loops(self, profile):
        """By function, innermost last."""
        found = {}
        for loop in sorted(profile.json["loops"], key=lambda l: l["depth"]):
            if loop["function"] in ("first", "second", "main"):
                found.setdefault(loop["function"], []).append(loop)
        return found

    def test_numbers(self):
        profile = self.known()
        loops = self.loops(profile)
        self.assertEqual({f: len(l) for f, l in loops.items()}, {"first": 1, "second": 2, "main": 1})
        [main], [first], [outer, inner] = loops["main"], loops["first"], loops["second"]
        for loop, executions, iterations, least, most in ((main, 1, 6, 6, 6),
                                                          (first, 3, 180000, 60000, 60000),
                                                          (outer, 3, 60000, 20000, 20000),
                                                          (inner, 60000, 119997, 1, 3)):
            got = [loop[k] for k in ("executions", "iterations", "back_edges", "min", "max")]
            self.assertEqual(got, [executions, iterations, iterations - executions, least, most])
            self.assertEqual(sum(t["count"] for t in loop["histogram"]), executions)
        self.assertEqual(inner["trips"], [{"iterations": 1, "count": 20001},
                                          {"iterations": 2, "count": 20001},
                                          {"iterations": 3, "count": 19998}])
        self.assertEqual([inner["parent"], outer["parent"]], [outer["id"], None])
        self.assertEqual([inner["depth"], outer["depth"]], [1, 0])
        self.assertEqual([first["predictability"], main["predictability"]], [1, None])
        # 1, 2, 3, 1, 2, 3: of the changes 1, 1, -2 one is like the one before.
        self.assertAlmostEqual(inner["predictability"], 1 / 3, places=3)
        for loop, mark in ((first, "first"), (outer, "outer"), (inner, "inner"), (main, "main")):
            self.assertTrue(loop["line"] <= MARKS[mark] <= loop["last_line"], (mark, loop))
            self.assertEqual(sum(b["count"] for b in loop["branches"]), loop["back_edges"])
            self.assertEqual(loop["branch"], loop["branches"][0]["branch"])
        self.assertEqual(first["self"], first["inclusive"])
        self.assertLess(main["self"], 200)
        self.assertGreater(main["share"], 0.9)

    def test_text(self):
        profile = self.known("--loop-model", "daprof", "--loop-model", "frequent")
        self.assertRegex(self.text(profile, "loops"),
                         r"(?m)^ +\d+\.\d% +\d+\.\d% +3 +20,000 +20,000 +100\.0%  second known\.c:\d+-\d+\n"
                         r" +\d+\.\d% +\d+\.\d% +60,000 +2\.0 +1-3: [12] 33%, [12] 33%, 3 33% +\d+\.\d%"
                         r"    known\.c:\d+-\d+\n")
        self.assertRegex(self.text(profile, "loop-models"), r"\Adaprof:\n  share  exact (?s:.*)\nfrequent")
        everything = self.text(profile)
        for title in ("Functions", "Loops", "Hot spots"):
            self.assertIn("\n%s\n" % title, everything)

    def test_hotspots_run_in_turns(self):
        profile = self.known()
        spots = {}
        for spot in profile.json["hotspots"]:
            spots.setdefault(spot["functions"][0], spot)
        self.assertLess(spots["first"]["detected_at"], spots["second"]["detected_at"])
        for spot in spots.values():
            self.assertLessEqual(sum(s["instructions"] for s in spot["slices"]), spot["after"])
            for candidate in spot["candidates"]:
                self.assertLessEqual(candidate["ratio"], 1)
        text = self.text(profile, "hotspots")
        self.assertRegex(text, r"(?m)^  when they ran, since detected; a column is \d")
        rows = dict(re.findall(r"(?m)^ +(\d+) \|(.*)\|$", text))
        first, second = (rows[str(spots[name]["id"])] for name in ("first", "second"))
        self.assertEqual(len(first), len(second))
        # Where one runs the other does not, but for the columns in which one ends.
        both = sum(a in "▇█" and b in "▇█" for a, b in zip(first, second))
        self.assertEqual(both, 0)

    def test_width(self):
        """Nothing is wider than the terminal, whatever that is."""
        profile = self.known("--loop-model", "daprof")
        for view in ("loops", "loop-models", "hotspots", "partition"):
            for columns in (80, 100, 200):
                command = "stty cols %d; exec %s report %s %s --top 0" % (columns, lib.HOTPATH,
                                                                        profile.path, view)
                done = lib.run(["script", "-qec", command, "/dev/null"])
                self.assertEqual(done.returncode, 0, done.stdout[-500:])
                for line in re.sub(r"\033\[[0-9;]*m", "", done.stdout).splitlines():
                    self.assertLessEqual(len(line.rstrip("\r")), columns, line)

    def test_merged_and_compared(self):
        profile = self.known()
        both = self.path("both.hotpath")
        self.assertEqual(lib.run([lib.HOTPATH, "merge", "-o", both, profile.path,
                                  profile.path]).returncode, 0)
        merged = lib.Profile(both)
        once, twice = self.loops(profile), self.loops(merged)
        for name, loops in once.items():
            for a, b in zip(loops, twice[name]):
                for key in ("executions", "iterations", "self", "inclusive"):
                    self.assertEqual(2 * a[key], b[key])
                for key in ("min", "max", "line", "branch", "predictability"):
                    self.assertEqual(a[key], b[key])
        self.assertEqual(sorted((h["run"], h["id"]) for h in merged.json["hotspots"]),
                         sorted((run, h["id"]) for h in profile.json["hotspots"] for run in (0, 1)))
        self.assertIn("run 2: ", self.text(merged, "hotspots"))
        done = lib.run([lib.HOTPATH, "compare", "--json", profile.path, both])
        self.assertEqual(json.loads(done.stdout)["comparison"]["loop_overlap"],
                         {"instructions": 100.0, "iterations": 100.0})

    def test_partition(self):
        profile = self.known()
        for options, best in (([], "first"), (["--init", "0", "--sync", "0", "--hw-cost", "0"], None)):
            rows = json.loads(self.text(profile, "partition", "--json", *options))["partition"]
            self.assertEqual(rows, sorted(rows, key=lambda r: -r["speedup"]))
            total = profile.instructions
            for row in rows:
                left = total - row["software"] + row["hardware"] + row["communication"]
                self.assertAlmostEqual(row["speedup"], total / left, places=4)
            if best:
                self.assertIn(rows[0]["function"], ("first", "second"))
                inner = [r for r in rows if r["function"] == "second" and r["executions"] == 60000]
                self.assertLess(inner[0]["speedup"], 1)
        self.assertRegex(self.text(profile, "partition", "--hw-loops", "2"),
                         r"\n  best: 8\.\d\dx: (first|second) known\.c:\S+, (first|second) ")
        for wrong in (["loops", "--init", "5"], ["partition", "--hw-cost", "x"],
                      ["partition", "--hw-loops", "0"], ["partition", "--hw-cost", "-1"]):
            done = lib.run([lib.HOTPATH, "report", profile.path, *wrong])
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (125, "", 1))


class AnyProgram(lib.E2E):
    def test_what_must_hold(self):
        for name in ("sort", "matrix", "queens", "interpreter"):
            profile = self.record(program(name), options=("--profile", "loops"))
            loops = {l["id"]: l for l in profile.json["loops"]}
            self.assertTrue(loops)
            for loop in loops.values():
                self.assertEqual(loop["iterations"], loop["executions"] + loop["back_edges"])
                self.assertEqual(sum(t["count"] for t in loop["histogram"]), loop["executions"])
                self.assertTrue(loop["min"] <= loop["mean"] <= loop["max"])
                self.assertLessEqual(loop["self"], loop["inclusive"])
                if loop["parent"] is not None:
                    parent = loops[loop["parent"]]
                    self.assertEqual(loop["depth"], parent["depth"] + 1)
                    self.assertEqual(loop["function"], parent["function"])
                    self.assertLessEqual(loop["self"], parent["self"])
                    self.assertLessEqual(loop["inclusive"], parent["inclusive"])
                    self.assertLessEqual(loop["static_instructions"], parent["static_instructions"])
            rows = list(csv.DictReader(io.StringIO(
                lib.run([lib.HOTPATH, "report", profile.path, "loops", "--csv"]).stdout)))
            self.assertEqual([int(r["id"]) for r in rows], [l["id"] for l in profile.json["loops"]])

    def test_without_symbols(self):
        stripped = self.path("stripped")
        with open(self.path("a.c"), "w", encoding="utf-8") as out:
            out.write(SOURCE)
        subprocess.run(["gcc", "-O1", "-s", "-o", stripped, self.path("a.c")], check=True)
        profile = self.record(stripped, options=("--profile", "loops"))
        module = [l for l in profile.json["loops"] if l["target"].startswith("stripped+0x")]
        self.assertEqual(sorted(l["iterations"] for l in module if l["iterations"] > 5),
                         [6, 60000, 119997, 180000])
        done = lib.run([lib.HOTPATH, "report", profile.path, "loops"])
        self.assertRegex(done.stdout, r"(?m)100\.0%  stripped\+0x[0-9a-f]+$")


if __name__ == "__main__":
    lib.main()
