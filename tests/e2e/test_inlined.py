# SPDX-License-Identifier: MIT
"""Inlined functions are functions: in a report, its contexts, callers, exports and pages, and for
annotate. --physical shows them as a part of what they were inlined into."""

import json
import os
import shutil
import subprocess

from util_cli import CC, FAILED, HOTPATH, Case, main

N = 3000
SOURCE = r"""#include <stdio.h>
#define INLINE static inline __attribute__((always_inline))
INLINE unsigned mix(unsigned x)
{
    x ^= x >> 13;
    x *= 0x5bd1e995u;
    return x ^ (x >> 15);
}
INLINE unsigned three(unsigned x)
{
    for (int i = 0; i < 3; i++)
        x = mix(x + (unsigned)i);
    return x;
}
__attribute__((noinline)) unsigned helper(unsigned x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}
INLINE unsigned calls(unsigned x)
{
    return helper(x) ^ helper(x + 2);
}
__attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++)
        sum += three(i) + calls(i);
    return sum;
}
int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < %d; i++) {
        sum += mix(sum + i);
        __asm__ volatile("" : "+r"(sum));
    }
    printf("%%u\n", sum + work(%d));
    return 0;
}
""" % (N, N)
CXX = r"""#include <cstdio>
#define INLINE __attribute__((always_inline)) inline
namespace {
struct Adder {
    INLINE unsigned operator()(unsigned x) const
    {
        return x ^ (x >> 3);
    }
};
template <class F> struct Twice {
    F f;
    INLINE unsigned apply(unsigned x) const
    {
        return f(f(x));
    }
};
}
static __attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 0;
    auto step = [&sum](unsigned x) __attribute__((always_inline)) { sum += x * 3 + (x >> 5); };
    for (unsigned i = 0; i < n; i++)
        step(Twice<Adder>().apply(i));
    return sum;
}
int main()
{
    std::printf("%%u\n", work(%d));
}
""" % N
FLAGS = ("-O2", "-fno-unroll-loops", "-fno-tree-vectorize")


class Inlined(Case):
    def setUp(self):
        super().setUp()
        self.program = self.build("inlined", SOURCE, *FLAGS)
        self.profile = self.path("p.hotpath")
        self.execute([HOTPATH, "record", "-q", "-o", self.profile, "--", self.program])

    def text(self, *arguments):
        return self.good(*arguments).decode()

    def report(self, *options):
        return json.loads(self.text("report", self.profile, "--json", *options))

    def functions(self, *options):
        return {f["name"]: f for f in self.report(*options)["functions"]
                if f["name"] in ("mix", "three", "calls", "helper", "work", "main")}

    def assert_entered(self, calls, expected):
        """How often a function was entered, where the debug information says where that is: gcc's. Else
        it is said to begin with its first byte, which may be executed less often."""
        if "clang" in subprocess.run([CC, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode():
            self.assertLessEqual(calls, expected)
        else:
            self.assertEqual(calls, expected)

    def test_they_have_rows(self):
        """How often they are entered, and who calls whom, is as the source says."""
        before, after = self.functions("--physical"), self.functions()
        self.assertEqual(set(before), {"helper", "work", "main"})
        self.assertEqual(set(after), {"helper", "work", "main", "mix", "three", "calls"})
        for name, calls in (("helper", 2 * N), ("work", 1)):
            self.assertEqual(after[name]["calls"], calls, name)
        for name, calls in (("mix", 4 * N), ("three", N)):
            self.assert_entered(after[name]["calls"], calls)
        for name in ("work", "main", "helper"):
            self.assertEqual(after[name]["inclusive"], before[name]["inclusive"])
        self.assertEqual(after["calls"]["inclusive"],
                         after["calls"]["self"] + after["helper"]["inclusive"])
        self.assertGreaterEqual(after["mix"]["self"], 4 * N * 5)
        self.assertEqual(after["mix"]["address"], "")
        self.assertTrue(after["mix"]["file"].endswith(".c"))

    def test_sums_are_kept(self):
        before, after = self.report("--physical"), self.report()
        total = before["summary"]["instructions"]
        for report in before, after:
            self.assertEqual(report["summary"]["instructions"], total)
            for view in "functions", "contexts":
                self.assertEqual(sum(row["self"] for row in report[view]), total, view)
        for f in after["functions"]:
            self.assertTrue(f["self"] <= f["inclusive"] <= total, f)

    def test_contexts_and_calls(self):
        report = self.report()
        contexts = {c["id"]: c for c in report["contexts"]}
        chains = set()
        for c in report["contexts"]:
            chain = []
            while c:
                chain.append(c["function"])
                c = contexts.get(c["parent"])
            chains.add(" ".join(chain[:chain.index("main") + 1] if "main" in chain else []))
        self.assertLessEqual({"mix main", "mix three work main", "helper calls work main"}, chains)
        calls = {(c["caller"], c["callee"]): c["count"] for c in report["calls"]}
        self.assert_entered(calls["three", "mix"], 3 * N)
        self.assert_entered(calls["main", "mix"], N)
        self.assertEqual(calls["calls", "helper"], 2 * N)
        self.assertNotIn(("work", "helper"), calls)
        callers = self.text("report", self.profile, "callers", "--function", "mix")
        self.assertRegex(callers, r"caller +\S+%.*three ->")

    def test_run(self):
        """A run reads debug information where it matters, and need not keep a file."""
        for view in "functions", "contexts", "calls":
            options = ["run", "--view", view, "--top", "0", "--full-names"]
            self.assertRegex(self.execute([HOTPATH, *options, "--", self.program])[2].decode(),
                             r"\bmix\b")
            out = self.execute([HOTPATH, *options, "--physical", "--", self.program])
            self.assertNotRegex(out[2].decode(), r"\bmix\b")

    def test_exports_and_pages(self):
        total = self.report()["summary"]["instructions"]
        self.assertNotIn("three", self.text("export", "-f", "callgrind", self.profile))
        self.refused(FAILED, ["export", "-f", "callgrind", "--physical", self.profile], "no use")
        for name in "folded", "speedscope":
            self.assertIn("three", self.text("export", "-f", name, self.profile), name)
            self.assertNotIn("three", self.text("export", "-f", name, "--physical", self.profile))
        folded = self.text("export", "-f", "folded", self.profile)
        self.assertIn("main;work;three;mix ", folded)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), total)
        page = json.loads(self.text("html", "--data", self.profile))
        self.assertIn("three", json.dumps(page))

    def test_annotate(self):
        text = self.text("annotate", self.profile, "mix")
        self.assertRegex(text, r"inlined at inlined\.c:12 in three")
        self.assertRegex(text, r"inlined at inlined\.c:35 in main")
        self.assertRegex(text, r"%% +%s  +6  +x \*= 0x5bd1e995u" % format(4 * N, ","))
        found = json.loads(self.text("annotate", self.profile, "mix", "--json"))["functions"]
        self.assertEqual([f["name"] for f in found], ["mix"])
        places = {(p["function"], p["line"]): p["share"] for p in found[0]["inlined_at"]}
        self.assertEqual(set(places), {("three", 12), ("main", 35)})
        self.assertAlmostEqual(sum(places.values()), found[0]["share"], delta=1e-5)
        self.assertGreater(places["three", 12], 2 * places["main", 35])
        line = next(l for l in found[0]["lines"] if l["line"] == 6)
        self.assertEqual(line["executions"]["value"], 4 * N)
        self.refused(FAILED, ["annotate", self.profile, "--physical", "mix"],
                     "no function named 'mix'")

    def test_files_without_them(self):
        """A program without debug information is as it was; a diff of one with one that has it
        compares what both have."""
        os.mkdir(self.path("plain"))
        program, plain = self.path("plain/inlined"), self.path("plain.hotpath")
        shutil.copy(self.build("plain", SOURCE, *FLAGS, "-g0"), program)
        self.execute([HOTPATH, "record", "-q", "-o", plain, "--", program])
        self.assertNotIn("three", self.text("report", plain, "functions", "--csv"))
        for pair in (plain, self.profile), (self.profile, plain):
            diff = json.loads(self.text("diff", "--json", *pair))["diff"]
            self.assertNotIn("three", [row["name"] for row in diff["functions"]])

    def test_versions_are_compared_with_them(self):
        """Also of programs that have their version in the name; a page says what a diff says."""
        program, changed = self.path("inlined-1.1"), SOURCE.replace("x *= 0x5bd1e995u;", "x = x * 5 + (x >> 3) * 7;")
        shutil.copy(self.build("changed", changed, *FLAGS), program)
        new = self.path("new.hotpath")
        self.execute([HOTPATH, "record", "-q", "-o", new, "--", program])
        for options, known in ((), True), (("--physical",), False):
            pair = (*options, self.profile, new)
            diff = json.loads(self.text("diff", "--json", *pair))["diff"]
            page = json.loads(self.text("html", "--data", "--diff", *pair))
            self.assertEqual(page["diff"], diff)
            mix = [row for row in diff["functions"] if row["name"] == "mix"]
            self.assertEqual([row["delta"] > 0 for row in mix], [True] * known)
            for side in "old", "new":
                total = next(row[side] for row in diff["totals"] if row["name"] == "instructions")
                self.assertEqual(sum(page["contexts"][side + "_self"]), total)

    def test_what_one_file_knows_has_its_class_before_its_name(self):
        """Functions of a lambda, and of what is local to a file, have no linkage name."""
        source, program = self.path("local.cc"), self.path("local")
        with open(source, "w") as file:
            file.write(CXX)
        subprocess.run(["g++", "-g", *FLAGS, "-o", program, source], check=True)
        profile = self.path("local.hotpath")
        self.good("record", "-q", "-o", profile, "--", program)
        names = {f["name"] for f in json.loads(self.text("report", profile, "functions", "--json"))["functions"]}
        bare = {name.split("(anonymous namespace)::")[-1] for name in names if "anonymous namespace" in name}
        self.assertEqual(len([n for n in bare if n.startswith("Adder::operator()")]), 1, names)
        self.assertEqual(len([n for n in bare if n.startswith("Adder>::apply")]), 1, names)
        self.assertEqual(len([n for n in names if n.startswith("work") and "lambda" in n]), 1, names)
        self.assertNotIn("operator()", names)

    def test_loops_and_paths_are_where_they_are_written(self):
        profile = self.path("lp.hotpath")
        self.execute([HOTPATH, "record", "-q", "-p", "loops,paths", "-o", profile, "--", self.program])
        report = json.loads(self.text("report", profile, "--json"))
        loops = {(l["function"], l["written_in"], int(l["header"].rsplit(":")[-1])): l["mean"]
                 for l in report["loops"] if l["function"] in ("work", "main")}
        wanted = {("work", "work", 27): N, ("main", "main", 34): N}
        unrolled = ("work", "three", 11) not in loops  # as compilers like
        self.assertEqual(loops, wanted if unrolled else {**wanted, ("work", "three", 11): 3})
        diff = json.loads(self.text("diff", "--json", profile, profile))["diff"]
        headers = [l["header"] for l in report["loops"] if l["header"] and l["function"]]
        found = [f"{l['new']['file']}:{l['new']['line']}" for l in diff["loops"]]
        self.assertLessEqual(set(headers), set(found))
        text = self.text("report", profile, "loops")
        self.assertRegex(text, r"main inlined\.c:34")
        if not unrolled:
            self.assertRegex(text, r"three inlined\.c:11")
        paths = [p for p in report["paths"] if p["function"] in ("work", "main") and p["blocks"]]
        self.assertTrue(any(p["written_in"] == "work" for p in paths))
        by_rank = {p["rank"]: p for p in report["paths"]}
        self.assertEqual(sorted(by_rank), list(range(1, len(report["paths"]) + 1)))
        for p in paths:
            self.assertRegex(p["label"], r"inlined\.c:\d+")
            if p["unlike"]:
                other = by_rank[p["unlike"]]
                self.assertLess(p["unlike"], p["rank"])
                self.assertEqual(other["start"], p["start"])
                self.assertNotEqual((other["blocks"], other["ways"]), (p["blocks"], p["ways"]))
                self.assertTrue(p["parts"])


if __name__ == "__main__":
    main()
