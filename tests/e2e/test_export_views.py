#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports for viewers, read by those who read them: callgrind_annotate, speedscope's importers, a decoder of pprof's files (and pprof's own, where Go is
installed). What they find is what the profile has, to the last instruction."""
import collections
import os
import re
import sqlite3
import subprocess
import unittest

import util_npm
from util_callgrind import Callgrind
from util_cli import HOTPATH, Case, main, pseudo_random, tool

# Recursion, an inlined function, calls of one function from several places, a switch, a tail call, an indirect call.
CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    for (unsigned i = 0; i < x % 5; i++)
        x += i * 3;
    return x;
}
unsigned twice(unsigned x) { return x + x; }
unsigned factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }
unsigned even(unsigned n);
unsigned odd(unsigned n) { sink++; return n ? even(n - 1) : 0; }
unsigned even(unsigned n) { sink++; return n ? odd(n - 1) : 1; }
unsigned choose(unsigned x)
{
    switch (x % 6) {
    case 0: return twice(x);
    case 1: return x * 7;
    case 2: return factorial(x % 11);
    case 3: return even(x % 9);
    case 4: return x ^ 5;
    default: return 1;
    }
}
int main(int argc, char **argv)
{
    unsigned (*volatile call)(unsigned) = choose;
    unsigned sum = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (unsigned i = 0; i < 500; i++) {
        sum += mix(i);
        sum += call(i);
        if (i % 3 == 0)
            sum += twice(i);
    }
    sink = sum;
    return 0;
}
"""

THREADS = r"""
#include <pthread.h>
volatile unsigned sink;
static unsigned leaf(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += i ^ n; return s; }
static unsigned middle(unsigned n) { return n ? leaf(n) + middle(n / 2) : 0; }
static void *run(void *p) { for (unsigned i = 0; i < (unsigned long)p; i++) sink = middle(i); return p; }
int main(void)
{
    pthread_t threads[3];
    for (unsigned long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, run, (void *)(50 + 30 * i));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""

CXX = r"""
#include <map>
#include <string>
#include <stdexcept>
namespace space {
template <typename T> struct Box { T value; virtual ~Box() = default; virtual T get(int n) { return n ? value + get(n - 1) : value; } };
struct Loud : Box<std::string> { std::string get(int n) override { if (n > 3) throw std::runtime_error("n"); return Box::get(n); } };
}
int main()
{
    std::map<int, std::string> all;
    space::Loud loud;
    loud.value = "x";
    for (int i = 0; i < 200; i++)
        try { all[i % 17] += loud.get(i % 6); } catch (const std::exception &e) { all[99] += e.what(); }
    return all.size() != 18;
}
"""

LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 300 do t[#t + 1] = ("%d"):format(fib(i % 11)) end
table.sort(t)
print(#table.concat(t, ","))
"""


class Views(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.profiles, cls.reports = {}, {}

    def record(self, name, *argv, options=(), **run):
        """The profile of a program, recorded once."""
        if name not in self.profiles:
            path = os.path.join(self.shared, name + ".hotpath")
            self.execute([HOTPATH, "record", "-q", *options, "-o", path, "--", *argv], **run)
            self.profiles[name] = path
        return self.profiles[name]

    def everything(self):
        """Profiles of all sorts of programs."""
        text = self.write("text", pseudo_random(60000))
        source = os.path.join(self.shared, "cxx.cc")
        with open(source, "w") as file:
            file.write(CXX)
        program = os.path.join(self.shared, "cxx")
        if not os.path.exists(program):
            subprocess.run([tool("g++"), "-O1", "-g", "-o", program, source], check=True)
        return {
            "calls": self.calls(),
            "threads": self.record("threads", self.build("threads", THREADS, "-pthread")),
            "cxx": self.record("cxx", program),
            "gzip": self.record("gzip", tool("gzip"), "-6c", text),
            "lua": self.record("lua", tool("lua5.4"), self.write("fib.lua", LUA)),
        }

    def calls(self):
        return self.record("calls", self.build("calls", CALLS, "-static"))

    def report(self, profile, view):
        import json
        if (profile, view) not in self.reports:
            self.reports[profile, view] = json.loads(self.good("report", profile, view, "--json", "--plt", "--physical"))[view]
        return self.reports[profile, view]

    def export(self, form, profile, name=None):
        """With stubs and without inlined functions, as the file has them: test_plt.py and
        test_inlined.py are about other exports."""
        out = self.path(name or form)
        status, stdout, err = self.hotpath("export", "--plt", *["--physical"] * (form != "callgrind"), "--format", form, "-o", out, profile)
        total = self.report(profile, "summary")["instructions"]
        self.assertEqual((status, stdout), (0, b""), err)
        self.assertIn(b"%d of %d instructions" % (total, total), err)
        return out

    def self_by_name(self, profile):
        sums = collections.Counter()
        for row in self.report(profile, "functions"):
            sums[row["name"]] += row["self"]
        return +sums


class CallgrindFiles(Views):
    def annotate(self, file, *options):
        """What callgrind_annotate prints; it must have nothing to complain about."""
        status, out, err = self.execute([tool("callgrind_annotate"), "--show-percs=no", "--threshold=100", *options, file])
        self.assertEqual((status, err), (0, b""))
        return out.decode(errors="replace")

    def annotated_functions(self, text, events):
        """{name: [costs]}, and the totals."""
        sums, totals = {}, None
        for line in text.split("\n"):
            found = re.match(r" *((?:[\d,.]+ +){%d})(.*)$" % len(events), line)
            if not found:
                continue
            costs = [int(c.replace(",", "")) if c != "." else 0 for c in found.group(1).split()]
            if found.group(2) == "PROGRAM TOTALS":
                totals = costs
            elif ":" in found.group(2):
                name = re.sub(r" \[(/[^][]*|\[vdso\])\]$", "", found.group(2)).split(":", 1)[1]
                sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(events)), costs)]
        return sums, totals

    def test_totals_by_function_are_those_of_the_profile(self):
        for name, profile in self.everything().items():
            file = self.export("callgrind", profile)
            events = Callgrind(file).events
            functions, totals = self.annotated_functions(self.annotate(file, "--auto=no"), events)
            self.assertEqual(totals[0], self.report(profile, "summary")["instructions"], name)
            self.assertEqual({f: c[0] for f, c in functions.items() if c[0]}, dict(self.self_by_name(profile)), name)

    def test_lines_are_those_of_the_profile(self):
        profile = self.calls()
        text = self.annotate(self.export("callgrind", profile), "--auto=yes", "--show=Ir", "--context=0")
        text = text[text.index("-- Auto-annotated source"):]
        source = [line.rstrip() for line in CALLS.split("\n")]
        found = collections.Counter()
        for count, line in re.findall(r"^ *([\d,]+)  (?!=> )(.*)$", text, re.M):
            if line.rstrip() in source:
                found[line.rstrip()] += int(count.replace(",", ""))
        expected = collections.Counter()  # by text: lines are not numbered
        for row in self.report(profile, "lines"):
            if row["file"].endswith("/calls.c"):
                expected[source[row["line"] - 1]] += row["instructions"]
        self.assertGreater(len(expected), 15)
        self.assertEqual(found, expected)

    def test_every_file_keeps_the_rules(self):
        for name, profile in self.everything().items():
            read = Callgrind(self.export("callgrind", profile))
            self.assertEqual(read.summary, read.totals, name)
            self.assertEqual([sum(c) for c in zip(*read.costs.values())], read.totals, name)
            summary = self.report(profile, "summary")
            self.assertEqual(read.totals[0], summary["instructions"], name)
            edges = self.report(profile, "edges")
            cond = sum(e["count"] for e in edges if e["kind"] == "cond")
            self.assertLessEqual(abs(read.totals[read.events.index("Bc")] - cond), 2 * summary["threads"], name)
            calls, mine = collections.Counter(), collections.Counter()
            for call in self.report(profile, "calls"):
                if call["caller"]:
                    calls[call["caller"], call["callee"]] += call["count"]
            for call in read.calls:
                self.assertGreater(call.count, 0)
                mine[call.caller[1], call.callee[1]] += call.count
            self.assertEqual({pair: n for pair, n in mine.items() if calls[pair]}, +calls, name)

    def test_real_callgrind_says_the_same(self):
        """Instruction by instruction, jump by jump, call by call, of what the program itself has."""
        tool("valgrind")
        program = self.build("calls", CALLS, "-static")
        real = self.path("real")
        self.execute(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--collect-jumps=yes", "--branch-sim=yes",
                      "--callgrind-out-file=" + real, program])
        ours, theirs = Callgrind(self.export("callgrind", self.calls())), Callgrind(real)
        own = {"main", "twice", "factorial", "even", "odd", "choose"}
        ir, bc = (tuple(c.events.index(e) for c in (ours, theirs)) for e in ("Ir", "Bc"))
        def costs(read, column):
            sums = collections.Counter()
            for (_, function, address), cost in read.costs.items():
                name = re.sub("'.*", "", function)  # "factorial'2" is factorial, called by itself
                if name in own:
                    sums[name, address] += cost[column]
            return sums
        for columns in (ir, bc):
            self.assertEqual(costs(ours, columns[0]), costs(theirs, columns[1]))
        inside = {address for _, address in costs(ours, ir[0])}
        self.assertGreater(len(inside), 100)
        def jumps(read):
            return {places: counts for places, counts in read.jumps.items() if places[0] in inside and places[1] in inside}
        mine = jumps(ours)
        for places, counts in jumps(theirs).items():
            if counts[1] is not None:  # it writes jumps without a condition only where they go backwards, or far
                self.assertEqual(mine[places], counts, places)
        def called(read, inclusive):
            sums = collections.Counter()
            for call in read.calls:
                names = [re.sub("'.*", "", f) for _, f in (call.caller, call.callee)]
                if set(names) <= own and names[0] != names[1]:
                    sums[(call.address, *names)] += call.inclusive if inclusive else call.count
            return sums
        self.assertEqual(called(ours, False), called(theirs, False))
        once = {k: v for k, v in called(ours, True).items() if k[1:] in (("main", "twice"), ("choose", "factorial"))}
        self.assertEqual(once, {k: called(theirs, True)[k] for k in once})

    def test_inclusive_costs(self):
        profile = self.calls()
        text = self.annotate(self.export("callgrind", profile), "--auto=no", "--inclusive=yes", "--show=Ir")
        functions, _ = self.annotated_functions(text, ["Ir"])
        for row in self.report(profile, "functions"):
            if row["name"] in ("main", "twice", "choose"):
                self.assertEqual(functions[row["name"]], [row["inclusive"]], row["name"])

    def test_addresses_are_those_of_the_file(self):
        program = self.build("fixed", CALLS, "-no-pie", "-static")
        read = Callgrind(self.export("callgrind", self.record("fixed", program)))
        symbols = self.execute([tool("nm"), program])[1].decode()
        address = int(re.search(r"^([0-9a-f]+) T main$", symbols, re.M).group(1), 16)
        self.assertEqual(min(a for _, f, a in read.costs if f == "main"), address)

    def test_columns_of_a_machine(self):
        profile = self.record("machine", self.build("calls", CALLS, "-static"),
                              options=("--machine", "modern", "--windows", "all", "--profile", "exact,cycles,instructions"))
        file = self.export("callgrind", profile)
        read = Callgrind(file)
        self.assertEqual(read.summary, read.totals)
        totals = dict(zip(read.events, read.totals))
        def stored(text):
            with sqlite3.connect(profile) as db:
                return db.execute(text).fetchone()[0]
        def event(name):
            return stored("SELECT sum(%s) FROM insn_tally JOIN string ON string.id = seen WHERE text = 'exact'" % name)
        self.assertEqual(totals["Cycles"], stored("SELECT sum(parts) / 720720 FROM insn_cycles"))
        for column, name in (("I1m", "l1i"), ("D1m", "l1d"), ("L2m", "l2"), ("ITLBm", "itlb"), ("DTLBm", "dtlb")):
            self.assertEqual(totals[column], event(name), column)
        self.assertEqual(totals["Bcm"] + totals["Bim"], event("mispredicted"))
        self.assertEqual(totals["Taken"], event("taken"))
        self.assertEqual(totals["Ir"], event("retired"))
        _, annotated = self.annotated_functions(self.annotate(file, "--auto=no"), read.events)
        self.assertEqual(annotated, read.totals)

    def test_without_the_file_costs_are_by_line(self):
        program = self.path("gone")
        subprocess.run(["cp", self.build("calls", CALLS, "-static"), program], check=True)
        profile = self.path("gone.hotpath")
        self.good("record", "-q", "-o", profile, "--", program)
        with_file = Callgrind(self.export("callgrind", profile))
        os.remove(program)
        without = Callgrind(self.export("callgrind", profile))
        self.assertLess(len(without.costs), len(with_file.costs))
        self.assertEqual(without.lines, with_file.lines)
        self.assertEqual(without.totals, with_file.totals)


class Stacks(Views):
    def read(self, profile):
        """The three files of a profile with contexts, and what their readers say: {format: ...}."""
        folded = self.export("folded", profile, "x.collapsedstack.txt")
        speedscope = self.export("speedscope", profile, "x.speedscope.json")
        pprof = self.export("pprof", profile, "x.pb.gz")
        found = util_npm.node("read_speedscope.js", folded, speedscope, pprof)
        return dict(zip(("folded", "speedscope", "pprof"), found)), util_npm.node("read_pprof.js", pprof)[0]

    def test_totals_are_those_of_the_profile(self):
        for name, profile in self.everything().items():
            found, pprof = self.read(profile)
            by_tid = {t["tid"]: t["instructions"] for t in self.report(profile, "threads")}
            threads = list(by_tid.values())
            self.assertEqual([p["total"] for p in found["folded"]], [sum(threads)], name)
            self.assertEqual(sorted(p["total"] for p in found["speedscope"]), sorted(t for t in threads if t), name)
            self.assertEqual([p["total"] for p in found["pprof"]], [sum(threads)], name)
            by_thread = collections.Counter()
            for sample in pprof["samples"]:
                by_thread[sample["labels"]["tid"]] += sample["values"][1]
            self.assertEqual(by_thread, by_tid, name)
            self.check_functions(name, profile, found, pprof)

    def check_functions(self, name, profile, found, pprof):
        """What each function executed itself, and how often it was entered, is what the profile says."""
        with sqlite3.connect(profile) as db:
            rows = db.execute("SELECT name, sum(self), sum(calls) FROM context_count JOIN context c ON c.id = context JOIN function f"
                              " ON f.id = c.function WHERE name != '' GROUP BY name").fetchall()
        for form in found:
            sums = collections.Counter()
            for one in found[form]:
                for frame in one["frames"]:
                    sums[frame["name"]] += frame["self"]
            self.assertEqual({row[0]: sums[row[0]] for row in rows}, {row[0]: row[1] for row in rows}, (name, form))
            if name == "calls":  # all of it has symbols: so it is what the functions have
                self.assertEqual(+sums, self.self_by_name(profile))
        calls = collections.Counter()
        for sample in pprof["samples"]:
            calls[sample["stack"][0]] += sample["values"][0]
        self.assertEqual({row[0]: calls[row[0]] for row in rows}, {row[0]: row[2] for row in rows}, name)

    def test_pprof_says_what_it_is(self):
        profile = self.calls()
        pprof = util_npm.node("read_pprof.js", self.export("pprof", profile))[0]
        self.assertEqual(pprof["types"], [["calls", "count"], ["instructions", "count"]])
        self.assertEqual(pprof["default"], "instructions")
        self.assertEqual(pprof["period"], ["instructions", 1])
        program = self.build("calls", CALLS, "-static")
        self.assertEqual(pprof["comments"], [program])
        self.assertIn(program, [m["file"] for m in pprof["mappings"]])
        notes = self.execute([tool("readelf"), "-n", program])[1].decode()
        self.assertIn(re.search(r"Build ID: (\w+)", notes).group(1), [m["id"] for m in pprof["mappings"]])
        rows = {row["name"]: row for row in self.report(profile, "functions")}
        for function in pprof["functions"]:
            if function["name"] in ("main", "factorial"):
                self.assertEqual((function["file"], function["line"]), (rows[function["name"]]["file"], rows[function["name"]]["line"]))

    def test_stacks_are_who_called_whom(self):
        stacks = collections.Counter()
        with open(self.export("folded", self.calls())) as file:
            for line in file:
                stack, count = line.rstrip("\n").rsplit(" ", 1)
                stacks[stack] += int(count)
        deep = [s for s in stacks if s.endswith(";main;choose" + 10 * ";factorial")]
        self.assertEqual(len(deep), 1)
        self.assertTrue(any(s.endswith("main;twice") for s in stacks) and any(s.endswith("main;choose;twice") for s in stacks))
        self.assertFalse(any(s.endswith("main;factorial") for s in stacks))

    def test_pprof_itself_reads_it(self):
        go, gopath = tool("go"), "/usr/share/gocode"
        if not os.path.exists(gopath + "/src/github.com/google/pprof/profile"):
            raise unittest.SkipTest("golang-github-google-pprof-dev is not installed")
        self.write("main.go", GO)
        out = self.export("pprof", self.calls())
        status, text, err = self.execute([go, "run", "main.go", out], env={
            **os.environ, "GO111MODULE": "off", "GOPATH": gopath, "GOFLAGS": "", "GOCACHE": os.path.join(os.path.dirname(HOTPATH), "tests", "go")}, timeout=120)
        self.assertEqual((status, err), (0, b""))
        total = self.report(self.calls(), "summary")["instructions"]
        self.assertEqual(text.decode().split()[-1], str(total))

    def test_profiles_without_contexts_say_how_to_record(self):
        counted = self.record("counts", tool("true"), options=("--profile", "counts"))
        for form in ("folded", "pprof", "speedscope"):
            self.refused(125, ["export", "-f", form, "-o", "out", counted], "--profile exact")
            self.refused(125, ["export", "-f", form, "--metric", "cycles", self.calls()], "callgrind")
            self.assertFalse(os.path.exists(self.path("out")))


GO = """
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	p, err := profile.Parse(file)
	if err != nil {
		panic(err)
	}
	if err := p.CheckValid(); err != nil {
		panic(err)
	}
	var sum int64
	for _, sample := range p.Sample {
		sum += sample.Value[1]
	}
	fmt.Println(sum)
}
"""


if __name__ == "__main__":
    main()
