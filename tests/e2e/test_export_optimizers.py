#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports for optimisers, read by the optimisers: llvm-bolt and merge-fdata, perf2bolt, clang and llvm-profdata, create_llvm_prof, lcov. Numbers are
compared with the profile's tables, with what perf2bolt makes of the same counts, and with gcov's."""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

import util_cli
from util_cli import Case, NATIVE, QEMU, tool

# Debian's perf2bolt-19 takes itself for llvm-bolt when it is called so.
PERF2BOLT = "/usr/lib/llvm-19/bin/perf2bolt"

# Templates, inlined functions, functions of the same name in two files, a jump table, calls of pointers, recursion, tail calls, exceptions.
MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
extern int other(int);
static int twin(int x) { return x % 3 ? x * 7 : x - 1; }
template <class T> struct list {
    T *at; int n;
    __attribute__((noinline)) T biggest() const { T m = at[0]; for (int i = 1; i < n; i++) if (at[i] > m) m = at[i]; return m; }
};
static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int mul(int a, int b) { return a * b; }
int (*volatile table[])(int, int) = {add, sub, mul};
__attribute__((noinline)) int choose(int x)
{
    switch (x) {
    case 0: return 3;
    case 1: return twin(x + 1);
    case 2: return 9 * other(x);
    case 3: return x;
    case 4: return 77;
    case 5: return other(3);
    case 6: std::puts("six"); return 1;
    default: return 0;
    }
}
__attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) int tail(int n) { return n > 5 ? choose(n % 6) : other(n); }
__attribute__((noinline)) void maybe(int n) { if (n % 100 == 99) throw std::runtime_error("x"); }
int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main()
{
    static int v[1000];
    long sum = 0;
    unsigned s = 1;
    for (int i = 0; i < 1000; i++) { s = s * 1103515245u + 12345; v[i] = (int)(s >> 8) % 10000; }
    for (int i = 0; i < 1000; i++) {
        sum += choose(v[i] % 6);
        sum += table[v[i] % 3](i, v[i]);
        sum += tail(v[i] % 40);
        try { maybe(i); } catch (std::exception &) { sum++; }
        if (v[i] % 100 < 5)
            sum += twin(v[i]);
    }
    std::qsort(v, 1000, sizeof *v, order);
    std::printf("%ld %d %d\n", sum, list<int>{v, 1000}.biggest(), fib(12));
}
"""
OTHER = r"""
static __attribute__((noinline)) int twin(int x) { return x % 5 ? x * 2 : x - 3; }
__attribute__((noinline)) int other(int x)
{
    int r = 0;
    for (int i = 0; i < x % 8; i++)
        r += twin(i);
    return r;
}
"""

# One branch in a hundred goes the other way.
BIASED = r"""
#include <stdio.h>
int sink;
__attribute__((noinline)) int rare(int x) { sink += x; return x * 3; }
__attribute__((noinline)) int work(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i % 100 == 7)
            s += rare(i);
        else
            s ^= i;
    }
    return s;
}
int main(void)
{
    int t = 0;
    for (int i = 0; i < 10; i++)
        t += work(1000);
    printf("%d\n", t);
    return 0;
}
"""

COVERED = r"""
#include <stdio.h>
static int never(int x)
{
    return x + 1;
}
static int pick(int x)
{
    switch (x % 4) {
    case 0: return 1;
    case 1:
        x += 2;
        /* falls through */
    case 2: return x;
    }
    if (x > 100)
        return never(x);
    for (int i = 0; i < 3; i++)
        x -= i;
    do
        x++;
    while (x % 5);
    return x;
}
int main(void)
{
    int s = 0;
    for (int i = 0; i < 40; i++) {
        if (i % 3 == 0 && i % 2 == 0)
            continue;
        s += pick(i);
    }
    for (int i = 0; i < 3; i++) { s += i; }
    printf("%d\n", s);
    return 0;
}
"""


def rows(profile, query):
    connection = sqlite3.connect(profile)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


class Optimizers(Case):
    def compile(self, name, compiler, sources, *flags):
        """Compiles sources, {file: text}, once a class; returns the program."""
        if name not in self.built:
            where = os.path.join(self.shared, name)
            os.makedirs(where)
            for file, text in sources.items():
                with open(os.path.join(where, file), "w") as opened:
                    opened.write(text)
            subprocess.run([compiler, "-o", "program", *flags, *sources], cwd=where, check=True)
            self.built[name] = os.path.join(where, "program")
        return self.built[name]

    def mix(self, kind):
        """The program with everything: "gcc" (position-independent) or "clang" (not). "static" is another one: what llvm-bolt makes of
        programs that are linked statically and throw exceptions does not work, whatever the profile."""
        compiler = {"gcc": "g++", "clang": "clang++-19"}.get(kind)
        flags = {"gcc": ["-pie", "-fPIE"], "clang": ["-no-pie", "-fno-pie"]}
        if kind == "static":
            return self.compile(kind, tool("gcc"), {"biased.c": BIASED}, "-O2", "-g", "-static",
                                "-Wl,--emit-relocs")
        return self.compile(kind, tool(compiler), {"main.cc": MAIN, "other.cc": OTHER}, "-O2",
                            "-gline-tables-only" if kind == "clang" else "-g",
                            *["-fdebug-info-for-profiling"] * (kind == "clang"),
                            "-Wl,--emit-relocs", *flags[kind])

    def record(self, program, *options, name="profile.hotpath"):
        profile = self.path(name)
        self.good("record", "-q", *options, "-o", profile, "--", program)
        return profile

    def export(self, kind, profile, *options, name=None):
        """Writes a file; returns its path."""
        path = self.path(name or "profile." + kind)
        self.good("export", "-q", "--format", kind, "-o", path, *options, profile)
        return path

    def lines(self, path):
        with open(path) as file:
            return file.read().splitlines()

    def run_tool(self, *args):
        """Runs a tool that must succeed; returns all that it says."""
        status, out, err = self.execute(args)
        text = out.decode(errors="replace") + err.decode(errors="replace")
        self.assertEqual(status, 0, (args, text[-2000:]))
        return text


    def calls(self, profile, name):
        """How often a function was called, by the profile."""
        return rows(profile, """SELECT sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id
            JOIN function f ON f.module = e.to_module AND f.offset = e.to_offset
            JOIN flow w ON w.id = e.flow WHERE f.linkage = '%s' AND w.name LIKE 'call%%'"""
                    % name)[0][0]


class Modules(Optimizers):
    """Exports are about one file: they say what is in others, and have all of them where the format can."""

    def split(self):
        """A program whose work is in a library."""
        flags = ["-g", "-O1", "-gline-tables-only", "-fdebug-info-for-profiling"]
        library = os.path.join(self.shared, "libwork.so")
        if not os.path.exists(library):
            source = os.path.join(self.shared, "work.c")
            with open(source, "w") as file:
                file.write("int work(int n)\n{\n    int s = 0;\n    for (int i = 0; i < n; i++)\n        s += i ^ n;\n    return s;\n}\n")
            subprocess.run([tool("clang-19"), *flags, "-shared", "-fPIC", "-o", library, source], check=True)
        text = "int work(int);\nint main(void)\n{\n    int t = 0;\n    for (int i = 0; i < 100; i++)\n        t += work(10000);\n    return t == 7;\n}\n"
        return self.record(self.compile("split", tool("clang-19"), {"main.c": text}, *flags, library))

    def test_what_is_elsewhere_is_told(self):
        profile, path = self.split(), self.path("out")
        for kind in ("llvm-sample", "lcov", "autofdo", "bolt-aggregated"):
            err = self.hotpath("export", "--format", kind, "-o", path, profile)[2]
            self.assertRegex(err.decode(), r"\Ahotpath: note: program has <?0\.1% of the run, libwork\.so has 9[5-9]\.\d%: --module libwork\.so"
                             + ("" if kind in ("autofdo", "bolt-aggregated") else ", or --module all") + "\n")
            err = self.hotpath("export", "--format", kind, "-o", path, "--module", "libwork", profile)[2]
            self.assertRegex(err.decode(), r"\Ahotpath: note: libwork\.so has 9[5-9]\.\d% of the run")
        self.refused(util_cli.FAILED, ["export", "--format", "autofdo", "--module", "all", profile], "one file")

    def test_all_at_once(self):
        profile = self.split()
        alone = self.lines(self.export("lcov", profile, "--module", "libwork.so", name="alone"))
        both = self.lines(self.export("lcov", profile, "--module", "all", name="both"))
        self.assertIn("DA:4,1000100", alone)
        for line in ("SF:" + os.path.join(self.shared, "work.c"), "SF:" + os.path.join(self.shared, "split", "main.c"), "DA:4,1000100"):
            self.assertIn(line, both)
        at = both.index(alone[1])
        self.assertEqual(both[at:at + len(alone) - 1], alone[1:])
        samples = self.lines(self.export("llvm-sample", profile, "--module", "all", name="samples"))
        self.assertEqual([sum(line.startswith(name) for line in samples) for name in ("work:", "main:")], [1, 1])
        self.assertTrue(any(line.endswith(" work:100") for line in samples), samples)

    def test_installed_program(self):
        """xz is a small program; its work is in liblzma, which has no debug information."""
        profile = self.path("xz.hotpath")
        self.good("record", "-q", "-p", "counts", "-o", profile, "--", tool("xz"), "-kc", __file__, stdout=subprocess.DEVNULL)
        self.refused(util_cli.FAILED, ["export", "--format", "lcov", profile], "liblzma.so", "--module liblzma.so")


class Bolt(Optimizers):
    def branches(self, profile, program):
        """Taken branches and calls of the program but for returns, by the profile."""
        return rows(profile, """SELECT sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id
            JOIN flow f ON f.id = e.flow JOIN module m ON m.id = e.from_module
            WHERE e.taken AND f.name <> 'return' AND m.path = '%s'""" % program)[0][0]

    def check_optimized(self, program, fdata):
        """llvm-bolt finds nothing wrong, and what it makes does the same."""
        made = self.path("bolted")
        said = self.run_tool(tool("llvm-bolt-19"), program, "-o", made, "-data=" + fdata,
                             "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-dyno-stats",
                             "-split-functions", "-split-all-cold", "-print-profile-stats")
        self.assertNotRegex(said, r"\bstale\b|mismatch|corrupted|ERROR: (?!function \w+(/\d)? is in "
                            r"conflict|symbol seen)")
        found = re.search(r"(\d+) out of (\d+) functions in the binary", said)
        self.assertGreater(int(found.group(1)), 0, said)
        # Flow into blocks is flow out of them: what BOLT calls bias is near zero.
        bias = re.search(r"Profile bias score: ([0-9.]+)%", said)
        self.assertLess(float(bias.group(1)), 1, said)
        self.assertEqual(self.execute([made]), self.execute([program]))
        return said

    def check(self, kind):
        program = self.mix(kind)
        profile = self.record(program)
        fdata = self.export("bolt", profile)
        for line in self.lines(fdata):
            self.assertRegex(line, r"^[01] \S+ [0-9a-f]+ [01] \S+ [0-9a-f]+ \d+ \d+$")
        self.check_optimized(program, fdata)
        # perf2bolt makes the same of the counts alone. It does not count what comes back from a call in front of a place that other functions jump to.
        self.run_tool(PERF2BOLT, "-p", self.export("bolt-aggregated", profile), "--pa", program,
                      "-o", self.path("perf2bolt.fdata"))
        theirs, ours = set(self.lines(self.path("perf2bolt.fdata"))), set(self.lines(fdata))
        more = ours - theirs
        self.assertLessEqual(len(more), 2)
        for line in more:
            _, first, start, _, second, stop, _, _ = line.split()
            self.assertEqual(first, second)
            self.assertIn(int(stop, 16) - int(start, 16), (2, 3, 5, 6, 7))
        less = theirs - ours
        # Targets of a jump table that were never jumped to, in the C library.
        self.assertLessEqual(len(less), 2 if kind == "static" else 0, less)
        taken = sum(int(line.split()[-2]) for line in self.lines(self.path("profile.bolt-aggregated"))
                    if line.startswith("B ") and line.split()[1] != "0")
        returns = rows(profile, """SELECT sum(c.count) FROM edge e JOIN edge_count c
            ON c.edge = e.id JOIN flow f ON f.id = e.flow JOIN module m ON m.id = e.from_module
            WHERE f.name = 'return' AND m.path = '%s'""" % program)[0][0]
        self.assertEqual(taken - returns, self.branches(profile, program))

    def setUp(self):
        super().setUp()
        if not os.path.exists(PERF2BOLT):
            self.skipTest("bolt-19 is not installed")

    def test_position_independent(self):
        self.check("gcc")

    def test_at_fixed_address(self):
        self.check("clang")

    def test_static(self):
        self.check("static")

    def test_sums(self):
        """All branches of the program are there, and merge-fdata adds them up."""
        program = self.mix("clang")
        profile = self.record(program)
        fdata = self.export("bolt", profile)
        _, _, said = self.hotpath("export", "--format", "bolt", "-o", self.path("again"), profile)
        expected = self.branches(profile, program)
        self.assertIn("%d of %d branches" % (expected, expected), said.decode())
        counts = collections.Counter()
        for line in self.lines(fdata):
            *ends, _, count = line.split()
            counts[tuple(ends)] += int(count)
        merged = self.run_tool(tool("merge-fdata-19"), fdata, fdata)
        doubled = collections.Counter()
        for line in merged.splitlines():
            if re.match(r"[01] \S+ [0-9a-f]+ [01] ", line):
                *ends, _, count = line.split()
                doubled[tuple(ends)] += int(count)
        self.assertEqual(doubled, collections.Counter({k: 2 * n for k, n in counts.items()}))
        calls = [n for (_, _, _, _, name, offset), n in counts.items()
                 if name == "_Z3fibi" and offset == "0"]
        self.assertEqual(sum(calls), self.calls(profile, "_Z3fibi"))
        twins = {name for key in counts for name in key if name.startswith("_ZL4twini")}
        self.assertTrue(twins <= {"_ZL4twini/1", "_ZL4twini/2"} and twins, twins)

    @unittest.skipUnless(NATIVE, "there is no native engine")
    def test_engines_agree(self):
        program = self.mix("gcc")
        native = self.export("bolt", self.record(program, name="native"), name="native.fdata")
        qemu = self.export("bolt", self.record(program, *QEMU, name="qemu"), name="qemu.fdata")
        self.assertEqual(self.lines(native), self.lines(qemu))
        self.assertGreater(len(self.lines(native)), 100)

    def test_table(self):
        """What a hot path table has kept: never more than there was, most of it, and llvm-bolt takes it."""
        program = self.mix("clang")
        profile = self.record(program, "--profile", "exact,paths", "--table", "512x4")
        exact, table = ({line.rsplit(" ", 2)[0]: int(line.rsplit(" ", 1)[1])
                         for line in self.lines(self.export("bolt", profile, *options, name=name))}
                        for options, name in (((), "exact"), (("--table", "512x4"), "table")))
        self.assertEqual({place: count for place, count in table.items()
                          if count > exact.get(place, 0)}, {})
        self.assertGreater(sum(table.values()), 0.9 * sum(exact.values()))
        self.check_optimized(program, self.path("table"))

    def test_mispredictions(self):
        program = self.build("biased", BIASED, "-O2", "-Wl,--emit-relocs")
        profile = self.record(program, "--profile", "exact,instructions", "--machine", "modern")
        counts = [tuple(map(int, line.split()[-2:]))
                  for line in self.lines(self.export("bolt", profile))]
        self.assertGreater(sum(wrong for wrong, _ in counts), 0)
        self.assertTrue(all(wrong <= count for wrong, count in counts))
        bare = self.record(program, "--profile", "instructions", name="bare")
        self.refused(util_cli.FAILED, ["export", "--format", "bolt", bare], "--profile counts")

    def test_hostile_names(self):
        """Names with spaces and backslashes are escaped; one with a new line is left out."""
        program = self.build("biased", BIASED, "-O2", "-Wl,--emit-relocs")
        evil = self.path("evil")
        self.run_tool(tool("objcopy"), "--redefine-sym", "work=a b\\c<&\"'", "--redefine-sym",
                      "rare=new\nline", program, evil)
        profile = self.record(evil)
        fdata = self.export("bolt", profile)
        text = "\n".join(self.lines(fdata))
        self.assertIn("1 a\\ b\\\\c<&\"' ", text)
        self.assertNotIn("new", text)
        self.assertRegex(self.run_tool(tool("merge-fdata-19"), fdata), r"a\\ b")
        status, _, said = self.hotpath("export", "--format", "bolt", "-o", self.path("x"), profile)
        self.assertEqual(status, 0)
        for kind in ("llvm-sample", "lcov", "autofdo", "bolt-aggregated"):
            self.export(kind, profile)

    def test_refused(self):
        program = self.path("copy")
        shutil.copy(self.build("biased", BIASED, "-O2", "-Wl,--emit-relocs"), program)
        profile = self.record(program)
        args = ["export", "--format", "bolt", profile]
        self.refused(util_cli.FAILED, args + ["--table", "vaswani"], "table")
        self.refused(util_cli.FAILED, args + ["--metric", "cycles"], "executions")
        self.refused(util_cli.FAILED, args + ["--module", "nothing"], "no module 'nothing'")
        self.run_tool(tool("strip"), program)
        self.refused(util_cli.FAILED, args, "stripped")
        os.unlink(program)
        self.refused(util_cli.FAILED, args, "cannot read")
        shutil.copy("/bin/true", program)
        self.refused(util_cli.FAILED, args, "build id")


class Clang(Optimizers):
    FLAGS = ["-O2", "-gline-tables-only", "-fdebug-info-for-profiling"]

    def functions(self, path):
        """{name: (total, head, {line: count}, {line: {callee: count}})} of what is not inlined."""
        found = {}
        for line in self.lines(path):
            if not line.startswith(" "):
                name, total, head = line.rsplit(":", 2)
                counts, calls = {}, {}
                found[name] = (int(total), int(head), counts, calls)
            elif re.match(r" [0-9]", line):
                place, rest = line.strip().split(": ", 1)
                fields = rest.split()
                if fields[0].isdigit():
                    counts[place] = int(fields[0])
                    calls[place] = {target.rsplit(":", 1)[0]: int(target.rsplit(":", 1)[1])
                                    for target in fields[1:]}
        return found

    def test_weights(self):
        """clang takes the profile without a word, and knows the branch then."""
        compiler = tool("clang-19")
        program = self.compile("weights", compiler, {"biased.c": BIASED}, *self.FLAGS)
        path = self.export("llvm-sample", self.record(program))
        functions = self.functions(path)
        self.assertEqual(functions["rare"][1], 100)
        self.assertEqual(functions["work"][1], 10)
        self.assertEqual(functions["main"][1], 1)
        self.assertEqual(functions["work"][2]["4"], 10000)
        self.assertEqual((functions["work"][2]["5"], functions["work"][3]["5"]),
                         (100, {"rare": 100}))
        text = self.run_tool(compiler, *self.FLAGS, "-Wall", "-Werror", "-fprofile-sample-use=" +
                             path, "-S", "-emit-llvm", "-o", "-",
                             os.path.join(os.path.dirname(program), "biased.c"))
        weights = [sorted(map(int, pair)) for pair in re.findall(
            r"!\"branch_weights\", i32 (\d+), i32 (\d+)}", text)]
        self.assertTrue(any(70 < high / low < 130 for low, high in weights if low), weights)
        self.assertIn('"function_entry_count", i64 101', text)  # of rare: clang adds one

    def test_inlined(self):
        """What is inlined is below where it was; llvm-profdata reads and merges all of it; the program that is made does the same."""
        program = self.mix("clang")
        profile = self.record(program)
        path = self.export("llvm-sample", profile)
        functions = self.functions(path)
        self.assertEqual(functions["_Z3fibi"][1], self.calls(profile, "_Z3fibi"))
        self.assertEqual(functions["_Z5maybei"][1], 1000)
        text = self.run_tool(tool("llvm-profdata-19"), "show", "--sample", path)
        self.assertIn("inlined callee: _ZL4twini", text)
        shown = dict(re.findall(r"^Function: (\S+): (\d+), ", text, re.M))
        self.assertEqual(shown, {name: str(row[0]) for name, row in functions.items()})
        self.run_tool(tool("llvm-profdata-19"), "merge", "--sample", "--text", path, path, "-o",
                      self.path("merged"))
        self.assertEqual({name: row[:2] for name, row in
                          self.functions(self.path("merged")).items()},
                         {name: (2 * row[0], 2 * row[1]) for name, row in functions.items()})
        where = os.path.dirname(program)
        text = self.run_tool(tool("clang++-19"), *self.FLAGS, "-Wall", "-Werror",
                             "-fprofile-sample-use=" + path, os.path.join(where, "main.cc"),
                             os.path.join(where, "other.cc"), "-o", self.path("optimized"))
        self.assertEqual(text, "")
        self.assertEqual(self.execute([self.path("optimized")]), self.execute([program]))

    def test_calls_of_pointers(self):
        """The targets of an indirect call, with how often each was called."""
        program = self.mix("clang")
        functions = self.functions(self.export("llvm-sample", self.record(program)))
        targets = collections.Counter()
        for calls in functions["main"][3].values():
            targets.update(calls)
        self.assertEqual(targets["_ZL3addii"] + targets["_ZL3subii"] + targets["_ZL3mulii"], 1000)

    def test_without_debug_information(self):
        program = self.compile("bare", tool("clang-19"), {"biased.c": BIASED}, "-O2")
        profile = self.record(program)
        self.refused(util_cli.FAILED, ["export", "--format", "llvm-sample", profile],
                     "-fdebug-info-for-profiling")
        self.refused(util_cli.FAILED, ["export", "--format", "lcov", profile], "-g")

    def test_autofdo(self):
        """create_llvm_prof makes the same of addresses as we of lines. It reads DWARF 4, at most, and leaves the entries of main out."""
        create = tool("create_llvm_prof")
        program = self.compile("autofdo", tool("clang-19"), {"biased.c": BIASED}, *self.FLAGS,
                               "-gdwarf-4")
        profile = self.record(program)
        ours = self.functions(self.export("llvm-sample", profile))
        self.run_tool(create, "--profiler=text", "--profile=" + self.export("autofdo", profile),
                      "--binary=" + program, "--format=text", "--out=" + self.path("theirs"))
        theirs = self.functions(self.path("theirs"))
        self.run_tool(tool("llvm-profdata-19"), "show", "--sample", self.path("theirs"))
        for name in ("work", "rare"):
            self.assertEqual(theirs[name][1], ours[name][1], name)
            for line, count in theirs[name][2].items():
                if line in ours[name][2]:
                    self.assertEqual(count, ours[name][2][line], (name, line))
            common = set(theirs[name][2]) & set(ours[name][2])
            self.assertGreaterEqual(len(common), max(1, len(ours[name][2]) - 1), name)
        self.assertEqual(theirs["work"][3]["5"], {"rare": 100})
        self.run_tool(tool("create_gcov"), "--profiler=text", "--binary=" + program,
                      "--profile=" + self.path("profile.autofdo"), "--gcov=" + self.path("gcov"),
                      "-gcov_version=1")
        dump = self.run_tool(tool("dump_gcov"), self.path("gcov"), "-gcov_version=1")
        self.assertRegex(dump, r"rare total:\d+ head:100")


class Lcov(Optimizers):
    def read(self, path):
        """({line: count}, {function: count}, {line: [(taken, fell)]}) of the one file."""
        lines, functions, branches = {}, {}, collections.defaultdict(list)
        for line in self.lines(path):
            kind, _, rest = line.partition(":")
            fields = rest.split(",")
            if kind == "DA":
                lines[int(fields[0])] = int(fields[1])
            elif kind == "FNDA":
                functions[fields[1]] = int(fields[0])
            elif kind == "BRDA":
                branches[int(fields[0])].append(0 if fields[3] == "-" else int(fields[3]))
        return lines, functions, branches

    def test_like_gcov(self):
        """At -O0 lines and functions have gcov's counts. It has none for braces, and counts lines that have a label but no code."""
        gcc, gcov = tool("gcc"), tool("gcov")
        coverage = self.compile("coverage", gcc, {"covered.c": COVERED}, "-O0", "-g", "--coverage")
        self.run_tool(coverage)
        where = os.path.dirname(coverage)
        status, out, err = self.execute([gcov, "--json-format", "--stdout", "-b", "-c",
                                         "program-covered.gcno"], cwd=where)
        self.assertEqual(status, 0, err)
        theirs = json.loads(out)["files"][0]
        program = self.compile("covered", gcc, {"covered.c": COVERED}, "-O0", "-g")
        path = self.export("lcov", self.record(program))
        lines, functions, branches = self.read(path)
        self.assertEqual(functions, {f["name"]: f["execution_count"] for f in theirs["functions"]})
        text = [line.strip() for line in COVERED.split("\n")]
        expected = {row["line_number"]: row["count"] for row in theirs["lines"]}
        for line in set(lines) | set(expected):
            if line not in expected:
                self.assertIn(text[line - 1], ("{", "}"))
            elif line not in lines:
                self.assertRegex(text[line - 1], r"^case \d+:$")
            else:
                self.assertEqual(lines[line], expected[line], text[line - 1])
        self.assertIn(0, lines.values())
        for row in theirs["lines"]:
            if row["branches"] and not text[row["line_number"] - 1].startswith("switch"):
                self.assertEqual(sorted(branches[row["line_number"]]),
                                 sorted(b["count"] for b in row["branches"]),
                                 text[row["line_number"] - 1])

    def test_read(self):
        """lcov and genhtml read it, also of C++ with inlined functions and headers."""
        profile = self.record(self.mix("gcc"))
        path = self.export("lcov", profile)
        said = self.run_tool(tool("lcov"), "--summary", path, "--rc", "lcov_branch_coverage=1")
        counts = collections.Counter(line.partition(":")[0] for line in self.lines(path))
        hit = sum(1 for line in self.lines(path) if line.startswith("DA:") and line[-2:] != ",0")
        self.assertIn("(%d of %d lines)" % (hit, counts["DA"]), said)
        self.assertIn("of %d branches)" % counts["BRDA"], said)
        self.run_tool(tool("lcov"), "-q", "-e", path, "*/main.cc", "*/other.cc", "-o",
                      self.path("own.info"))
        said = self.run_tool(tool("genhtml"), self.path("own.info"), "-o", self.path("html"))
        self.assertRegex(said, r"lines\.+: \d")
        self.assertIn("fib", self.read(path)[1].__str__())


if __name__ == "__main__":
    util_cli.main()
