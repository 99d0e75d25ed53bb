#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles by the command line: views in JSON and CSV, rows and threads asked for, sums of merged
profiles, overlaps of compared ones."""
import collections
import csv
import io
import json
import os

from util_cli import Case, function, main, tool, without_times

TABLES = ["functions", "blocks", "edges", "calls", "lines", "threads", "modules"]

# argv[1] rounds of even() and argv[2] rounds of odd(), on two threads when there is an argv[3].
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
volatile unsigned sink;
void even(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
void odd(unsigned n) { for (unsigned i = 0; i < n; i++) sink ^= i; }
static void *second(void *data) { even(*(unsigned *)data); return NULL; }
int main(int argc, char **argv)
{
    unsigned n = (unsigned)atoi(argv[1]);
    pthread_t thread;
    if (argc > 3)
        pthread_create(&thread, NULL, second, &n);
    else
        even(n);
    odd((unsigned)atoi(argv[2]));
    return argc > 3 ? pthread_join(thread, NULL) : 0;
}
"""


class Profiles(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build("program", PROGRAM, "-pthread")

    def record(self, name, *args):
        path = self.path(name)
        status, out, err = self.hotpath("record", "-q", "-o", path, "--", self.program, *args)
        self.assertEqual((status, out, err), (0, b"", b""))
        return path

    def report(self, path, *options):
        return json.loads(self.good("report", "--json", path, *options))


class Reports(Profiles):
    def test_json_of_every_view(self):
        path = self.record("p", "50", "70")
        everything = self.report(path)
        self.assertEqual(self.report(path, "all"), everything)
        for view in TABLES + ["summary"]:
            part = self.report(path, view)
            self.assertEqual(part[view], everything[view], view)
            for other in TABLES:
                self.assertEqual(other in part, other == view, (view, other))

    def test_csv_of_every_view(self):
        path = self.record("p", "50", "70", "threads")
        for view in TABLES:
            rows = list(csv.DictReader(io.StringIO(self.good("report", "--csv", path,
                                                             view).decode())))
            table = self.report(path, view)[view]
            self.assertEqual(len(rows), len(table), view)
            for row, item in zip(rows, table):
                self.assertNotIn(None, row, view)
                for name, value in item.items():
                    if name in row and isinstance(value, int) and not isinstance(value, bool):
                        self.assertEqual(int(row[name]), value, (view, name))

    def test_summary_agrees_with_the_tables(self):
        for args in (("50", "70"), ("50", "70", "threads")):
            profile = self.report(self.record("p", *args))
            summary = profile["summary"]
            for table in ("functions", "blocks", "edges", "threads", "modules"):
                self.assertEqual(summary[table], len(profile[table]), table)
            self.assertEqual(summary["instructions"], sum(b["weight"] for b in profile["blocks"]))
            self.assertEqual(summary["instructions"],
                             sum(f["self"] for f in profile["functions"]))
            self.assertEqual(summary["block_executions"],
                             sum(b["count"] for b in profile["blocks"]))
            self.assertEqual(summary["branches"], sum(t["branches"] for t in profile["threads"]))

    def test_order_is_weight_then_address(self):
        profile = self.report(self.record("p", "50", "70"))
        for table, weight in (("functions", "self"), ("blocks", "weight"), ("edges", "count"),
                              ("threads", "instructions"), ("modules", "instructions")):
            weights = [row[weight] for row in profile[table]]
            self.assertEqual(weights, sorted(weights, reverse=True), table)

    def test_top(self):
        path = self.record("p", "50", "70")
        everything = self.report(path)
        for n in (1, 5, 1000000):
            some = self.report(path, "--top", str(n))
            for table in TABLES:
                self.assertEqual(some[table], everything[table][:n], table)
            self.assertEqual(some["summary"], everything["summary"])
        self.assertEqual(self.report(path, "--top", "0"), everything)
        lines = self.good("report", path, "functions", "--top", "4").decode().splitlines()
        shown = [row["name"] for row in everything["functions"][:4] if row["name"]]
        for name in shown:
            self.assertTrue(any(name in line for line in lines), name)
        self.assertNotIn("--top 0", self.good("report", path, "--top", "0").decode())

    def test_threads_each(self):
        path = self.record("p", "5000", "3000", "threads")
        each, whole = self.report(path, "--threads", "each"), self.report(path)
        self.assertEqual(each["summary"]["threads"], 2)
        for table, counts in (("functions", ("self", "calls")), ("blocks", ("count", "weight")),
                              ("edges", ("count",)), ("calls", ("count",)),
                              ("lines", ("instructions",))):
            for row, total in zip(each[table], whole[table]):
                self.assertNotIn("threads", total)
                for count in counts:
                    self.assertEqual(sum(t[count] for t in row["threads"]), total[count], table)
        self.assertEqual(len(function(each, "even")["threads"]), 1)
        self.assertNotEqual(function(each, "even")["threads"][0]["thread"],
                            function(each, "odd")["threads"][0]["thread"])
        self.assertEqual(self.report(path, "--threads", "all"), whole)

    @staticmethod
    def without_ids(profile):
        for thread in profile["threads"] + profile["processes"]:
            del thread["pid"]
            thread.pop("tid", None)

    def test_no_run_makes_equal_runs_equal(self):
        first, second = (self.good("report", "--json", "--no-run", self.record(n, "50", "70"))
                         for n in ("a", "b"))
        self.assertNotIn(b'"run"', first)
        self.assertNotIn(b'"pid"', first)
        self.assertEqual(first, second)

    def test_output_to_file(self):
        path = self.record("p", "50", "70")
        for options in (["--json"], ["--csv"], []):
            out = self.path("out")
            self.assertEqual(self.good("report", path, *options, "-o", out), b"")
            self.assertEqual(self.read("out"), self.good("report", path, *options))
            self.assertEqual(self.good("report", path, *options, "-o", "-"), self.read("out"))


class Run(Profiles):
    def test_json_to_file_and_stdout(self):
        status, out, err = self.hotpath("run", "--json", "out.json", "--", self.program, "5", "5")
        self.assertEqual((status, out, err), (0, b"", b""))
        to_file = json.loads(self.read("out.json"))
        status, out, err = self.hotpath("run", "--json", "-", "--", self.program, "5", "5")
        self.assertEqual((status, err), (0, b""))
        to_stdout = json.loads(out)
        for profile in (to_file, to_stdout):
            self.assertEqual(profile["run"]["command"], [self.program, "5", "5"])
            del profile["run"]
            Reports.without_ids(profile)
        self.assertEqual(without_times(to_file), without_times(to_stdout))

    def test_report_is_on_stderr(self):
        status, out, err = self.hotpath("run", "--top", "3", "--", tool("echo"), "x")
        self.assertEqual((status, out), (0, b"x\n"))
        self.assertRegex(err.decode(), r"[\d,]+ instructions")

    def test_nothing_is_left_behind(self):
        self.hotpath("run", "--", self.program, "5", "5")
        self.assertEqual(os.listdir(self.dir), [])


class Record(Profiles):
    def test_default_name(self):
        status, out, err = self.hotpath("record", "--", self.program, "5", "5")
        self.assertEqual((status, out), (0, b""))
        self.assertEqual(os.listdir(self.dir), ["program.hotpath"])
        self.one_line(err, "program.hotpath")

    def test_process_id_in_the_name(self):
        for command in (("record",), ("trace", "record")):
            status, _, err = self.hotpath(*command, "-o", "a%p-%%p.out", "--", tool("true"))
            self.assertEqual(status, 0)
            self.assertEqual(len(os.listdir(self.dir)), 1)
            name, = os.listdir(self.dir)
            self.assertRegex(name, r"\Aa[1-9]\d*-%p\.out\Z")
            self.one_line(err, name)
            os.unlink(self.path(name))

    def test_replaces(self):
        self.write("p", "old")
        self.record("p", "5", "5")
        self.assertEqual(self.report(self.path("p"))["run"]["command"][1:], ["5", "5"])

    def test_mode_follows_umask(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
            self.hotpath("record", "-o", "p", "--", self.program, "5", "5",
                         preexec_fn=lambda mask=mask: os.umask(mask))
            self.assertEqual(os.stat(self.path("p")).st_mode & 0o777, mode)


class MergeAndCompare(Profiles):
    def counts(self, profile, table, key, count):
        result = collections.Counter()
        for row in profile[table]:
            result[tuple(row[k] for k in key)] += row[count]
        return result

    def everything(self, profile):
        return {
            "blocks": self.counts(profile, "blocks", ("address", "version"), "count"),
            "edges": self.counts(profile, "edges", ("from", "to", "taken"), "count"),
            "self": self.counts(profile, "functions", ("address",), "self"),
            "inclusive": self.counts(profile, "functions", ("address",), "inclusive"),
            "calls": self.counts(profile, "calls", ("caller", "callee"), "count"),
            "lines": self.counts(profile, "lines", ("file", "line"), "instructions"),
        }

    def merged(self, *paths):
        out = self.path("merged")
        self.assertEqual(self.good("merge", "-o", out, *paths), b"")
        return self.report(out)

    def test_merge_with_itself_doubles(self):
        one = self.record("one", "50", "70")
        single, double = self.report(one), self.merged(one, one)
        for what, counts in self.everything(single).items():
            twice = collections.Counter({k: 2 * v for k, v in counts.items()})
            self.assertEqual(self.everything(double)[what], twice, what)
        self.assertEqual(double["run"]["runs"], 2)
        for name in ("instructions", "branches", "block_executions", "threads"):
            self.assertEqual(double["summary"][name], 2 * single["summary"][name], name)

    def test_merge_of_different_runs_adds(self):
        one, two = self.record("one", "50", "70"), self.record("two", "11", "500", "threads")
        a, b, sum_ = self.report(one), self.report(two), self.merged(one, two)
        for what, counts in self.everything(sum_).items():
            self.assertEqual(counts, self.everything(a)[what] + self.everything(b)[what], what)
        self.assertEqual(function(sum_, "odd")["calls"], 2)
        self.assertEqual(sum_["summary"]["threads"], 3)

    def test_merge_of_one(self):
        one = self.record("one", "50", "70")
        self.assertEqual(self.everything(self.merged(one)), self.everything(self.report(one)))

    def test_merge_of_three_in_any_order(self):
        a, b, c = (self.record(n, "5", x) for n, x in (("a", "1"), ("b", "20"), ("c", "300")))
        first = self.everything(self.merged(a, b, c))
        self.assertEqual(first, self.everything(self.merged(c, a, b)))
        self.good("merge", "-o", self.path("ab"), a, b)
        self.assertEqual(first, self.everything(self.merged(self.path("ab"), c)))

    def test_merge_into_one_of_its_own(self):
        one = self.record("one", "50", "70")
        before = self.everything(self.report(one))
        self.good("merge", "-o", one, one, one)
        after = self.everything(self.report(one))
        self.assertEqual(sum(after["blocks"].values()), 2 * sum(before["blocks"].values()))

    def compared(self, a, b):
        return json.loads(self.good("compare", "--json", a, b))["comparison"]

    def assert_equal_profiles(self, a, b):
        result = self.compared(a, b)
        for what in ("block_overlap", "edge_overlap", "function_overlap"):
            self.assertEqual(result[what], 100, what)
        self.assertEqual([m for m in result["moves"] if m["share_a"] != m["share_b"]], [])

    def test_compare_with_itself_is_all(self):
        one = self.record("one", "50", "70")
        self.assert_equal_profiles(one, one)
        text = self.good("compare", one, one).decode()
        self.assertIn("100.0", text)

    def test_compare_equal_runs_is_all(self):
        self.assert_equal_profiles(self.record("one", "50", "70"), self.record("two", "50", "70"))

    def test_overlap_is_the_sum_of_smaller_shares(self):
        one, two = self.record("one", "90000", "10"), self.record("two", "10", "90000")
        result = self.compared(one, two)
        shares = []
        for profile in (self.report(path, "--physical") for path in (one, two)):
            total = profile["summary"]["instructions"]
            shares.append({f["address"]: f["self"] / total for f in profile["functions"]})
        expected = sum(min(share, shares[1].get(place, 0)) for place, share in shares[0].items())
        self.assertAlmostEqual(result["function_overlap"], 100 * expected, places=3)
        self.assertLess(result["block_overlap"], 50)
        self.assertAlmostEqual(self.compared(two, one)["function_overlap"], 100 * expected,
                               places=3)
        moved = {row["name"] for row in result["moves"][:2]}
        self.assertEqual(moved, {"even", "odd"})

    def test_merge_with_itself_compares_equal(self):
        one = self.record("one", "50", "70")
        self.good("merge", "-o", self.path("double"), one, one)
        self.assert_equal_profiles(one, self.path("double"))


if __name__ == "__main__":
    main()
