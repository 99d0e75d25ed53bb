#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples for perf, read by perf and by what reads its files: perf2bolt, create_llvm_prof, llvm-profgen. Numbers are those of the exact profile of
the same trace."""
import collections
import os
import re
import sqlite3
import subprocess
import unittest

import util_cli
from util_cli import Case, NATIVE, tool

# Debian's perf2bolt-19 takes itself for llvm-bolt when it is called so.
PERF2BOLT = "/usr/lib/llvm-19/bin/perf2bolt"

WORK = r"""
#include <stdio.h>
#include <stdlib.h>
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) unsigned mixed(unsigned x)
{
    unsigned r = 0;
    for (int i = 0; i < 20; i++) {
        if (x & 1)
            r += x;
        else
            r ^= i;
        x = (x * 1103515245 + 12345) >> 1;
    }
    return r;
}
int main(void)
{
    enum { N = 500 };
    int *a = malloc(N * sizeof *a);
    unsigned s = 1;
    for (int i = 0; i < N; i++) {
        s = mixed(s + i);
        a[i] = s % 10000;
    }
    qsort(a, N, sizeof *a, order);
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i];
    printf("%ld\n", sum);
    return 0;
}
"""

FAMILY = r"""
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
volatile int sum;
__attribute__((noinline)) void handled(int s) { for (int i = 0; i < 300; i++) sum += s; }
static void *work(void *a)
{
    prctl(PR_SET_NAME, "worker");
    for (int i = 0; i < 3000; i++)
        sum += i;
    return a;
}
int main(void)
{
    pthread_t thread;
    signal(SIGUSR1, handled);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    raise(SIGUSR1);
    pid_t child = fork();
    if (!child) {
        work(0);
        execl("/bin/true", "true", (char *)0);
    }
    waitpid(child, 0, 0);
    return 0;
}
"""

Sample = collections.namedtuple("Sample", "pid tid time period ip branches")
Mapping = collections.namedtuple("Mapping", "start size offset build_id path")


class Samples(Case):
    def program(self, name, compiler, source, *flags):
        if name not in self.built:
            path = os.path.join(self.shared, name)
            with open(path + ".c", "w") as file:
                file.write(source)
            subprocess.run([compiler, "-O1", "-g", "-o", path, path + ".c", "-Wl,--emit-relocs",
                            "-Wl,--build-id", *flags], check=True)
            self.built[name] = path
        return self.built[name]

    def work(self):
        """Not position-independent: perf2bolt does not relocate instruction pointers."""
        return self.program("work", tool("gcc"), WORK, "-no-pie", "-fno-pie")

    def trace(self, program):
        """A trace of the program, and the exact profile of it."""
        if program not in self.built:
            trace, profile = program + ".hptrace", program + ".hotpath"
            self.good("trace", "record", "-q", "-o", trace, "--", program)
            self.good("trace", "replay", "--profile", "exact", "-o", profile, trace)
            self.built[program] = trace, profile
        return self.built[program]

    def export(self, settings, *source):
        path = self.path("perf.data")
        self.good("export", "-q", "--format", settings, "-o", path, *source)
        return path

    def run_tool(self, *args):
        """Runs a tool that must succeed; returns what it prints, and all it says."""
        status, out, err = self.execute(args)
        self.assertEqual(status, 0, (args, err[-2000:]))
        return out.decode(errors="replace"), (out + err).decode(errors="replace")

    def perf(self, *args):
        out, said = self.run_tool(tool("perf"), *args)
        self.assertNotRegex(said, "(?i)corrupt|failed|skipping|out of order")
        return out

    def samples(self, path):
        found = []
        for line in self.perf("script", "-i", path, "--ns", "-F",
                              "pid,tid,time,period,ip,brstack").splitlines():
            if not line.strip():
                continue
            match = re.match(r"\s*(\d+)/(\d+)\s+([\d.]+):\s+(\d+)\s+([0-9a-f]+)(.*)$", line)
            self.assertTrue(match, line)
            branches = [tuple(int(word, 16) for word in entry.split("/")[:2])
                        for entry in match[6].split()]
            found.append(Sample(int(match[1]), int(match[2]), float(match[3]), int(match[4]),
                                int(match[5], 16), branches))
        return found

    def mappings(self, path):
        text = self.perf("script", "-i", path, "--show-mmap-events", "-F", "comm")
        return [Mapping(int(m[1], 16), int(m[2], 16), int(m[3], 16), m[4], m[5]) for m in re.finditer(
            r"MMAP2 \d+/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (\S+) <?([0-9a-f]*).*?\]: \S+ (.*)",
            text)]

    def query(self, profile, sql):
        connection = sqlite3.connect(profile)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


class Perf(Samples):
    def place(self, mappings, address):
        """(path, offset) as in the profile: these files have their code where it is loaded."""
        for m in mappings:
            if m.start <= address < m.start + m.size:
                return m.path, address - m.start + m.offset
        return None

    def test_consecutive(self):
        """Every taken branch of the run is in a stack, once, and nothing else."""
        trace, profile = self.trace(self.work())
        wanted = collections.Counter({(a, b, c, d): n for a, b, c, d, n in self.query(profile, """
            SELECT m.path, e.from_offset, n.path, e.to_offset, sum(c.count) FROM edge e
            JOIN edge_count c ON c.edge = e.id JOIN module m ON m.id = e.from_module
            JOIN module n ON n.id = e.to_module JOIN flow w ON w.id = e.flow
            WHERE e.taken AND w.name NOT IN ('none', 'syscall', 'trap') GROUP BY 1, 2, 3, 4""")})
        for depth in (1, 16, 127):
            path = self.export("perf,consecutive,depth=%d" % depth, trace)
            samples, mappings = self.samples(path), self.mappings(path)
            found = collections.Counter()
            for s in samples:
                self.assertLessEqual(len(s.branches), depth)
                for start, stop in s.branches:
                    if start:
                        found[self.place(mappings, start) + self.place(mappings, stop)] += 1
            self.assertEqual(found, wanted)
            self.assertEqual(sum(s.period for s in samples), sum(wanted.values()))
            self.assertEqual([s.time for s in samples], sorted(s.time for s in samples))
            # What follows a stack begins with the branch at which that sample was taken.
            for before, after in zip(samples, samples[1:]):
                if after.branches[-1][0]:
                    self.assertEqual(before.ip, after.branches[-1][0])

    def test_overlap(self):
        """The oldest branch of a stack is the newest of the one before."""
        trace, _ = self.trace(self.work())
        samples = self.samples(self.export("perf,consecutive,overlap,depth=8", trace))
        whole = self.samples(self.export("perf,consecutive,depth=8", trace))
        for before, after in zip(samples, samples[1:]):
            if after.branches[-1][0]:
                self.assertEqual(before.branches[0], after.branches[-1])
        self.assertEqual(sum(s.period for s in samples), sum(s.period for s in whole))

    def test_period(self):
        """Every 97th taken branch; every 1000th instruction."""
        trace, profile = self.trace(self.work())
        (instructions, branches), = self.query(profile, """SELECT
            (SELECT sum(instructions) FROM thread), sum(c.count) FROM edge e
            JOIN edge_count c ON c.edge = e.id JOIN flow w ON w.id = e.flow
            WHERE e.taken AND w.name NOT IN ('none', 'syscall', 'trap')""")
        samples = self.samples(self.export("perf,period=97,depth=32", trace))
        self.assertEqual(len(samples), (branches - 1) // 97)
        self.assertEqual({s.period for s in samples}, {97})
        self.assertEqual({len(s.branches) for s in samples}, {32})
        samples = self.samples(self.export("perf,period=1000,of=instructions", trace))
        self.assertEqual(len(samples), instructions // 1000)
        # The same file again.
        first = self.read("perf.data")
        self.export("perf,period=1000,of=instructions", trace)
        self.assertEqual(self.read("perf.data"), first)

    def test_perf_reports(self):
        program = self.work()
        trace, profile = self.trace(program)
        path = self.export("perf,period=97,chains", trace)
        header = self.perf("report", "-i", path, "--header-only")
        self.assertIn("x86_64" if NATIVE else "arch", header)
        self.assertIn(program, header)
        report = self.perf("report", "-i", path, "--stdio", "-s", "symbol_from")
        self.assertRegex(report, r"\d+\.\d+%  \[\.\] mixed")
        history = self.perf("report", "-i", path, "--stdio", "--branch-history")
        self.assertRegex(history, r"mixed work\.c:\d+")
        graph = self.perf("report", "-i", path, "--stdio", "--no-branch-stack", "--children")
        self.assertRegex(graph, r"(?m)^ +[6-9]\d\.\d+% +\d\.\d+% .* main\b")
        ids = dict(line.split(" ", 1)[::-1] for line in
                   self.perf("buildid-list", "-i", path).splitlines())
        wanted = dict(self.query(profile, "SELECT path, build_id FROM module WHERE build_id <> ''"))
        self.assertEqual(ids, wanted)
        self.assertEqual({m.path: m.build_id for m in self.mappings(path) if m.build_id}, wanted)

    @unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
    def test_processes(self):
        """Names, threads, a fork, an exec; a handler's chain has what it interrupted."""
        program = self.program("family", tool("gcc"), FAMILY, "-pthread")
        path = self.export("perf,period=50,chains", "--", program)
        events = self.perf("script", "-i", path, "--show-task-events", "-F", "comm,pid,tid,time")
        first = re.search(r"RECORD_COMM exec: family:(\d+)/\1", events)[1]
        self.assertRegex(events, r"RECORD_FORK\(%s:\d+\):\(%s:%s\)" % (first, first, first))
        child = re.search(r"RECORD_FORK\((\d+):\1\):\(%s:%s\)" % (first, first), events)[1]
        self.assertRegex(events, r"RECORD_COMM: worker:%s/\d+" % first)
        self.assertRegex(events, r"RECORD_COMM exec: true:%s/%s" % (child, child))
        self.assertRegex(events, r"RECORD_EXIT\(%s:%s\)" % (child, child))
        names = self.perf("report", "-i", path, "--stdio", "--no-branch-stack", "-g", "none", "-s",
                          "comm,sym")
        self.assertRegex(names, r"worker +\[\.\] work\b")
        self.assertRegex(names, r"family +\[\.\] handled\b")
        self.assertRegex(names, r"true +\[\.\] ")
        chains = self.perf("script", "-i", path, "-F", "ip,sym")
        handled = [chain for chain in chains.split("\n\n") if re.match(r"\s+\w+ handled\b", chain)]
        self.assertTrue(handled)
        for chain in handled:
            self.assertRegex(chain, r"(?s)handled.*raise.*\bmain\b")

    def test_refused(self):
        trace, _ = self.trace(self.work())
        for settings, said in (("perf,depth=200", "200 is not between 1 and 127"),
                               ("perf,consecutive,period=10", "a period of their own"),
                               ("perf,overlap", "overlap is of consecutive stacks"),
                               ("perf,speed=1", "speed"), ("bolt,depth=3", "has no settings")):
            self.refused(util_cli.FAILED, ["export", "--format", settings, "-o", self.path("x"),
                                           trace], said)
        self.refused(util_cli.FAILED, ["export", "--format", "perf", trace], "to a pipe or terminal")


class Readers(Samples):
    def test_perf2bolt(self):
        """The same as `--format bolt`, when it is told to use the instruction pointers as well."""
        program = self.work()
        trace, profile = self.trace(program)
        ours = self.path("ours.fdata")
        self.good("export", "-q", "--format", "bolt", "-o", ours, profile)
        with open(ours) as file:
            wanted = sorted(file)
        path, made = self.export("perf,consecutive", trace), self.path("theirs.fdata")
        for options in ([], ["--use-event-pc"]):
            _, said = self.run_tool(PERF2BOLT, "-p", path, "-o", made, *options, program)
            self.assertIn("traces mismatching disassembled function contents: 0 (0.0%)", said)
            with open(made) as file:
                found = sorted(file)
            if options:
                self.assertEqual(found, wanted)
        # Without, one run between two branches of 16 is not seen: falling through counts less.
        more = {tuple(line.split()[:6]): int(line.split()[7]) for line in wanted}
        for line in found:
            self.assertLessEqual(int(line.split()[7]), more[tuple(line.split()[:6])])

    def test_create_llvm_prof(self):
        """The counts of lines are those of our own profile for it."""
        program = self.program("afdo", tool("clang"), WORK, "-gdwarf-4",
                               "-fdebug-info-for-profiling")
        trace, profile = self.trace(program)
        self.good("export", "-q", "--format", "autofdo", "-o", self.path("ours"), profile)
        path = self.export("perf,consecutive,overlap", trace)
        counts = []
        for source, kind in ((self.path("ours"), "text"), (path, "perf")):
            out = self.path(kind + ".prof")
            self.run_tool(tool("create_llvm_prof"), "--binary=" + program, "--profile=" + source,
                          "--profiler=" + kind, "--out=" + out, "--format=text")
            found, function = {}, None
            with open(out, errors="replace") as file:
                for line in file:
                    head = re.match(r"(\w+):\d+:\d+$", line)
                    row = re.match(r" ([\d.]+): (\d+)( |$)", line)
                    function = head[1] if head else function
                    if row:
                        found[function, row[1]] = int(row[2])
            counts.append(found)
        self.assertEqual(*counts)
        self.assertGreater(max(counts[0].values()), 9000)

    def test_llvm_profgen(self):
        """Of a flat profile the shares are right; of one with chains it makes contexts."""
        program = self.program("afdo", tool("clang"), WORK, "-gdwarf-4",
                               "-fdebug-info-for-profiling")
        trace, profile = self.trace(program)
        flat, contexts = self.path("flat.prof"), self.path("contexts.prof")
        options = ["--binary=" + program, "--format=text"]
        self.run_tool(tool("llvm-profgen-19"), "--perfdata=" + self.export(
            "perf,consecutive,depth=127", trace), "--output=" + flat, *options)
        with open(flat) as file:
            # mixed() has 20 iterations in each of 500 calls; every 127th run is not seen.
            found = dict(re.findall(r"(?m)^ ([\d.]+): (\d+)$", re.search(
                r"(?m)^mixed:\d+:500\n((?: .*\n)+)", file.read())[1]))
        self.assertTrue(any(9800 <= int(count) <= 10000 for count in found.values()), found)
        self.run_tool(tool("llvm-profgen-19"), "--perfdata=" + self.export(
            "perf,period=11,chains,depth=32", trace), "--output=" + contexts, *options)
        with open(contexts) as file:
            self.assertRegex(file.read(), r"(?m)^main:\d+:\d+\n(?: .*\n)* [\d.]+: mixed:\d+$")


if __name__ == "__main__":
    util_cli.main()
