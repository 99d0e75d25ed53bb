# SPDX-License-Identifier: MIT
"""hotpath annotate, and report's views of a machine in cycles, on a program whose loops are known.

Environment (set by ctest): HOTPATH, the command in its build directory.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HOTPATH = os.path.abspath(os.environ.get("HOTPATH") or
                          os.path.join(HERE, "..", "..", "build", "hotpath"))
TIMEOUT = 300
N = 3000
SOURCE = """\
#include <stdint.h>
#include <stdlib.h>
volatile uint64_t sink = 1;
__attribute__((noinline)) static uint64_t divide(uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= n; i++)
        sum += (n * 7919 + sum) / (sink + i);
    return sum;
}
int main(void)
{
    return divide(%d) == 0;
}
""" % N


def run(*argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT, universal_newlines=True,
                          errors="replace", **options)


class Annotate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="hotpath-annotate.")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.source = os.path.join(cls.dir, "divide.c")
        cls.program = os.path.join(cls.dir, "divide")
        with open(cls.source, "w") as file:
            file.write(SOURCE)
        # -Wl,--build-id: the file is believed by it
        done = run("gcc", "-O1", "-g", "-fno-unroll-loops", "-Wl,--build-id", "-o", cls.program,
                   cls.source)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.plain = cls.record("plain.hotpath")
        cls.cycles = cls.record("cycles.hotpath", "--profile", "exact,cycles,instructions,loops",
                                "--machine", "vaswani")

    @classmethod
    def record(cls, name, *options):
        path = os.path.join(cls.dir, name)
        done = run(HOTPATH, "record", "-q", "-o", path, *options, "--", cls.program, cwd=cls.dir)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return path

    def hotpath(self, *arguments):
        done = run(HOTPATH, *arguments, cwd=self.dir)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def function(self, profile, *options):
        page = json.loads(self.hotpath("annotate", profile, "divide", "--json", *options))
        self.assertEqual([f["name"] for f in page["functions"]], ["divide"])
        return page["by"], page["functions"][0]

    def line(self, text):
        return SOURCE[:SOURCE.index(text)].count("\n") + 1

    def test_counts_are_those_of_the_loop(self):
        for profile, by in (self.plain, "instructions"), (self.cycles, "cycles"):
            unit, function = self.function(profile)
            self.assertEqual(unit, by)
            self.assertIsNone(function["missing"])
            executed = [i["executions"]["value"] for i in function["instructions"]]
            self.assertLessEqual(set(executed), {1, N})
            self.assertGreaterEqual(executed.count(N), 5)
            division = [i for i in function["instructions"] if "div" in i["text"].split()[0]]
            self.assertEqual([d["executions"]["value"] for d in division], [N])
            self.assertEqual(division[0]["line"], self.line("sum +="))
            lines = {l["line"]: l for l in function["lines"]}
            self.assertEqual(lines[self.line("sum +=")]["executions"]["value"], N)
            self.assertIn("sum += (n", lines[self.line("sum +=")]["source"])

    def test_the_texts_agree(self):
        """What the machine saw and what the file has."""
        texts = [[(i["address"], i["text"]) for i in self.function(p)[1]["instructions"]]
                 for p in (self.plain, self.cycles)]
        self.assertLessEqual(set(texts[0]), set(texts[1]))  # wrong paths see more
        again = self.record("again.hotpath", "--profile", "cycles", "--machine", "vaswani")
        self.assertEqual([(i["address"], i["text"])
                          for i in self.function(again)[1]["instructions"]], texts[1])

    def test_the_division_is_what_costs(self):
        rows = json.loads(self.hotpath("report", self.cycles, "instructions", "--json"))
        rows = [r for r in rows["instructions"] if r["function"] == "divide"]
        self.assertEqual(rows[0]["retired"], N)
        self.assertIn("div", " ".join(r["text"] for r in rows[:2]))
        division = [r for r in rows if r["text"].startswith("div")][0]
        self.assertRegex(division["why"], "divider|waits .* for")
        self.assertGreater(division["latency"]["execute"], 10)
        text = self.hotpath("annotate", self.cycles, "divide")
        self.assertIn("divide.c:%d  sum += (n" % self.line("sum +="), text)
        self.assertIn("m/o/i/e/r", text)

    def test_cycles_add_up(self):
        def rows(by):
            page = self.hotpath("report", self.cycles, "cpi", "--by", by, "--json")
            return json.loads(page)["cpi"]
        run_row = rows("run")[0]
        self.assertAlmostEqual(sum(run_row["causes"].values()), run_row["cycles"], delta=0.1)
        for by in "function", "loop", "line", "instruction":
            parts = rows(by)[1:]
            self.assertGreater(len(parts), 1)
            self.assertAlmostEqual(sum(r["cycles"] for r in parts), run_row["cycles"], delta=0.1)
            self.assertEqual(sum(r["instructions"] for r in parts), run_row["instructions"])
        annotated = json.loads(self.hotpath("annotate", self.cycles, "--all", "--json"))
        total = sum(i.get("cycles") or 0 for f in annotated["functions"]
                    for i in f["instructions"])
        self.assertAlmostEqual(total / run_row["cycles"], 1, delta=0.01)

    def test_ways_of_sampling_are_judged(self):
        ways = json.loads(self.hotpath("report", self.cycles, "sampling", "--json"))["sampling"]
        names = [w["name"] for w in ways]
        self.assertLessEqual({"dispatch", "next", "profileme"}, set(names))
        for way in ways:
            self.assertLessEqual(0, way["error_function"])
            self.assertLessEqual(way["error_function"], way["error_instruction"] + 1e-6)
            self.assertLessEqual(way["error_instruction"], 1)

    def test_source_may_be_elsewhere(self):
        moved = os.path.join(self.dir, "moved")
        os.mkdir(moved)
        shutil.move(self.source, moved)
        try:
            without = self.hotpath("annotate", self.plain, "divide", "--lines")
            self.assertNotIn("sum += (n", without)
            found = self.hotpath("annotate", self.plain, "divide", "-l", "-s", moved)
            self.assertIn("sum += (n", found)
        finally:
            shutil.move(os.path.join(moved, "divide.c"), self.dir)
            os.rmdir(moved)

    def test_another_file_is_not_believed(self):
        aside = self.program + ".aside"
        os.rename(self.program, aside)
        try:
            page = self.function(self.plain)[1]
            self.assertIn("No such file", page["missing"])
            self.assertTrue(all(i["block_instructions"] for i in page["instructions"]))
            shutil.copy("/bin/true", self.program)
            self.assertIn("another build id", self.function(self.plain)[1]["missing"])
            # The machine's rows need no file.
            self.assertTrue(any("div" in i["text"]
                                for i in self.function(self.cycles)[1]["instructions"]))
        finally:
            os.rename(aside, self.program)

    def test_what_is_wrong_is_said(self):
        for arguments, text in ((), "no FILE given"), (("none.hotpath",), "none.hotpath"), \
                ((self.plain, "no_such"), "no function named 'no_such'"), \
                ((self.plain, "divide", "--all"), "--all"):
            done = run(HOTPATH, "annotate", *arguments, cwd=self.dir)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertRegex(done.stderr, r"\Ahotpath: [^\n]+\n\Z")
            self.assertIn(text, done.stderr)
        done = run(HOTPATH, "report", self.plain, "functions", "--by", "loop")
        self.assertEqual(done.returncode, 125)
        self.assertIn("--by", done.stderr)
        done = run(HOTPATH, "report", self.plain, "cpi", "--by", "moon")
        self.assertIn("moon", done.stderr)

    def test_branches_can_be_followed(self):
        """Of a real program: what a branch leads to is a line of the function with a mark, and only these have one."""
        profile = os.path.join(self.dir, "gzip")
        subprocess.run([HOTPATH, "record", "-q", "-o", profile, "--", "gzip", "-c", __file__], stdout=subprocess.DEVNULL, check=True)
        text = self.hotpath("annotate", profile, "--all")
        followed = 0
        for function in text.split("\n\n"):
            rows = re.findall(r"^ +<?[\d.]*%? +[\d.,]+(?: [kMG])? +(>?)\+([0-9a-f]+): ([^\n]*)$", function, re.M)
            if any("version" in row[2] or "instructions)" in row[2] for row in rows):
                continue
            marked = {int(row[1], 16) for row in rows if row[0]}
            there = {int(row[1], 16) for row in rows}
            targets = {int(at, 16) for row in rows for at in re.findall(r"^(?:j|loop)\w* \+([0-9a-f]+)$", row[2])}
            direct = [row[2] for row in rows if re.match(r"(?:j\w+|call) 0x", row[2])]
            self.assertEqual(direct, [], function)
            self.assertLessEqual(targets & there, marked, function)
            followed += len(targets & there)
        self.assertGreater(followed, 300)

    def test_colour_is_for_terminals(self):
        def shown(**env):
            ours, theirs = os.openpty()
            subprocess.run([HOTPATH, "annotate", self.plain, "--top", "1"], stdout=theirs, check=True, env={**os.environ, "TERM": "xterm", **env})
            os.close(theirs)
            text = b""
            try:
                while part := os.read(ours, 65536):
                    text += part
            except OSError:
                pass
            os.close(ours)
            return text

        self.assertIn(b"\x1b[", shown())
        self.assertNotIn(b"\x1b[", shown(NO_COLOR="1"))

    def test_output_goes_to_a_file(self):
        path = os.path.join(self.dir, "page.txt")
        self.assertEqual(self.hotpath("annotate", self.plain, "divide", "-o", path), "")
        with open(path) as file:
            self.assertEqual(file.read(), self.hotpath("annotate", self.plain, "divide"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
