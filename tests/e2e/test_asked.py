#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is asked of a report: the rows that remain of a real program are those that a script finds in the whole report."""
import csv
import io
import json
import os

import lib

lib.need("gzip")


class Asked(lib.E2E):
    @classmethod
    def setUpClass(cls):
        cls.kept = lib.tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        path = os.path.join(cls.kept.name, "gzip.hotpath")
        done = lib.run([lib.HOTPATH, "record", "-q", "-o", path, "-p", "loops,paths,hotspots", "--", "gzip", "-9c",
                        os.path.join(lib.SRC, "README.md")], cwd=cls.kept.name)
        assert done.returncode == 0, done.stderr
        cls.profile = lib.Profile(path)

    def ask(self, view, *options):
        """The rows of a view as JSON has them; CSV has as many."""
        text = self.report(view, "--json", *options)
        rows = list(csv.reader(io.StringIO(self.report(view, "--csv", *options))))
        found = json.loads(text)[view.replace("-", "_")]
        self.assertEqual(len(rows) - 1, len(found))
        return found

    def report(self, *options):
        done = lib.run([lib.HOTPATH, "report", self.profile.path, *options])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *arguments):
        done = lib.run([lib.HOTPATH, *arguments])
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Ahotpath: .*\n\Z")
        return done.stderr

    def some(self, rows):
        """They are neither none nor all."""
        self.assertTrue(rows)
        return rows

    def test_loops_of_a_module(self):
        loops = [l for l in self.profile.json["loops"] if l["target"].startswith("gzip+")]
        few = self.some([l for l in loops if l["mean"] < 4 and l["share"] > 0.01])
        self.assertLess(len(few), len(loops))
        self.assertEqual(self.ask("loops", "--module", "gzip", "--filter", "mean < 4 and share > 1%"), few)
        least = sorted(few, key=lambda l: l["mean"])
        got = self.ask("loops", "--module", "gzip", "--filter", "mean < 4 and not share <= 0.01", "--sort", "-mean")
        self.assertEqual([l["mean"] for l in got], [l["mean"] for l in least])
        text = self.report("loops", "--module", "gzip", "--filter", "mean < 4 and share > 1%")
        self.assertIn("  (%d of %d rows left out by --filter, --module)\n"
                      % (len(self.profile.json["loops"]) - len(few), len(self.profile.json["loops"])), text)
        # The sums are those of the run.
        self.assertEqual(text.splitlines()[0], self.report("loops").splitlines()[0])

    def test_filters(self):
        functions = self.profile.json["functions"]
        for text, passes in (("self >= 1k", lambda f: f["self"] >= 1000),
                             ("module ~ libc and calls > 10", lambda f: "libc" in f["module"] and f["calls"] > 10),
                             ("name = _start or line = 0", lambda f: f["name"] == "_start" or f["line"] == 0),
                             ("(calls = 1 or calls = 2) and not file = ''",
                              lambda f: f["calls"] in (1, 2) and f["file"] != "")):
            self.assertEqual(self.ask("functions", "--filter", text), self.some(list(filter(passes, functions))))
        edges = [e for e in self.profile.json["edges"] if e["taken"] and e["kind"] == "cond" and e["count"] > 1000]
        self.assertEqual(self.ask("edges", "--filter", "taken and kind = cond and count > 1k"), self.some(edges))
        roots = [l for l in self.profile.json["loops"] if l["parent"] is None]
        self.assertEqual(self.ask("loops", "--filter", "parent = null"), self.some(roots))

    def test_functions(self):
        name = max((f for f in self.profile.json["functions"] if f["module"] == "gzip"), key=lambda f: f["self"])["name"]
        for view, key in (("blocks", "function"), ("loops", "function"), ("contexts", "function")):
            self.assertEqual(self.ask(view, "--function", name),
                             self.some([r for r in self.profile.json[view] if r[key] == name]))
        calls = [c for c in self.profile.json["calls"] if name in (c["caller"], c["callee"])]
        self.assertEqual(self.ask("calls", "--function", name), self.some(calls))

    def test_callers(self):
        """The sandwich of each function: its sums are those of the views functions and calls."""
        functions = [f for f in self.profile.json["functions"] if f["module"] == "gzip"]
        names = [f["name"] for f in self.profile.json["functions"]]
        for function in functions[:5]:
            if names.count(function["name"]) > 1:
                continue
            rows = self.ask("callers", "--function", function["name"])
            by = {r: [row for row in rows if row["relation"] == r] for r in ("caller", "function", "callee")}
            [itself] = by["function"]
            self.assertEqual((itself["inclusive"], itself["calls"]), (function["inclusive"], function["calls"]))
            for relation, near, far in (("caller", "callee", "caller"), ("callee", "caller", "callee")):
                calls = [(c[far], c["count"], c["inclusive"]) for c in self.profile.json["calls"]
                         if c[near] == function["name"]]
                self.assertEqual(sorted((r["function"], r["calls"], r["inclusive"]) for r in by[relation]),
                                 sorted(calls))
            self.assertEqual(sum(r["calls"] for r in by["caller"]), function["calls"])
        text = self.report("callers", "--function", functions[0]["name"])
        self.assertRegex(text, r"(?m)^ +caller +\S+% .* ->.*\n +function +100\.0%")

    def test_threads(self):
        whole = self.ask("functions")
        self.assertEqual(self.ask("functions", "--thread", "0"), whole)
        self.assertEqual(self.ask("threads", "--thread", "0")[0]["instructions"], self.profile.instructions)

    def test_the_same_words_elsewhere(self):
        done = lib.run([lib.HOTPATH, "run", "-q", "--module", "gzip", "--filter", "self > 1k", "--sort", "calls", "--",
                        "gzip", "-9c", os.path.join(lib.SRC, "README.md")])
        self.assertRegex(done.stderr, r"rows left out by --filter, --module\)\n")
        done = lib.run([lib.HOTPATH, "compare", "--json", "--filter", "a > 10k", self.profile.path, self.profile.path])
        moves = json.loads(done.stdout)["comparison"]["moves"]
        self.assertEqual({m["name"] for m in self.some(moves)},
                         {f["name"] for f in lib.report_json(self.profile.path, "--physical")["functions"]
                          if f["self"] > 10000})

    def test_annotate_a_part_of_a_name(self):
        names = [f["name"] for f in lib.report_json(self.profile.path, "--plt")["functions"]]
        alone = next(n for n in names if len(n) > 6 and sum(n[:-1] in other for other in names) == 1)
        whole = lib.run([lib.HOTPATH, "annotate", self.profile.path, alone])
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        self.assertEqual(lib.run([lib.HOTPATH, "annotate", self.profile.path, alone[:-1]]).stdout, whole.stdout)
        several = [n for n in names if "_dl_" in n]
        self.assertNotIn("_dl_", several)
        listed = lib.run([lib.HOTPATH, "annotate", self.profile.path, "_dl_"])
        self.assertNotEqual(listed.returncode, 0)
        self.assertIn("'_dl_' is a part of the names of %d functions" % len(several), listed.stderr)
        self.assertEqual(sorted(line.split()[0] for line in listed.stdout.splitlines()), sorted(several))

    def test_mistakes(self):
        report = ("report", self.profile.path)
        self.assertIn("there are name, module", self.refused(*report, "functions", "--filter", "nonsense > 1"))
        self.assertIn("no view has a column", self.refused(*report, "--sort", "nonsense"))
        self.assertIn("is missing", self.refused(*report, "functions", "--filter", "self >"))
        self.assertIn("is a text", self.refused(*report, "functions", "--filter", "name > 1"))
        self.assertIn("no function has", self.refused(*report, "--function", "nonsense!"))
        self.assertIn("no module has", self.refused(*report, "--module", "nonsense!"))
        self.assertIn("no thread 99", self.refused(*report, "--thread", "99"))
        self.assertIn("--function NAME", self.refused(*report, "callers"))
        self.assertIn("  (nothing passes --filter: ", self.report("functions", "--filter", "self > 1T"))


if __name__ == "__main__":
    lib.main()
