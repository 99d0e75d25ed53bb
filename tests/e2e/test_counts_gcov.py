#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Line and branch counts equal those of gcc --coverage, exactly.

The same source is built twice at -O0 -g: with coverage, run alone, read by gcov; and plain, watched
by hotpath, its blocks and edges brought to lines through the debug information in the profile.

Lines. gcov counts how often control enters a line from another one (what goes round inside the line
or comes back from a call is no entry). From blocks and edges:
  - inside a block, each place where the line changes enters the new line as often as the block ran;
  - an edge to a block enters the block's first line unless it comes from the same line of the same
    function; behind a call, however control gets there (return, longjmp), it comes from the call;
  - what a block ran beyond the edges to it is the start of a thread or of a signal handler.

Branches. For each line the outcomes of its conditional branches, as a multiset of pairs: gcov
lists the arcs of each block that ends with a condition in twos. Branches never reached are left out
on both sides. A switch has an arc a case in gcov and a jump table or a chain of compares in the
code: there, counts by destination outside the line are compared.

What has no counterpart, checked for being just that:
  - gcov files a function's entry under its declarator, the debug information under its first line
    of code, the brace: these two are compared with each other;
  - gcov has no count for the closing brace of a function that returns a value: ours must be the
    number of times the function was run;
  - gcov has counts for lines with only a label, which have no code.
"""
import collections
import json
import os
import re

import lib
from lib import E2E, Profile, run

lib.need("gcc", "g++", "gcov")

# source, other sources, arguments
CASES = [
    ("loops.c", (), ()),
    ("switches.c", (), ()),
    ("recursion.c", (), ()),
    ("pointers.c", (), ()),
    ("jumps.c", (), ()),
    ("interpreter.c", (), ()),
    ("exceptions.cc", (), ()),
    ("signals.c", (), ("raise",)),
    ("signals.c", (), ("segv",)),
    ("signals.c", (), ("nested",)),
    ("signals.c", (), ("altstack",)),
    ("threads.c", (), ()),
    ("sieve.c", ("rt_hosted.c",), ()),
    ("matrix.c", ("rt_hosted.c",), ()),
    ("hash.c", ("rt_hosted.c",), ()),
    ("sort.c", ("rt_hosted.c",), ()),
    ("crc.c", ("rt_hosted.c",), ()),
    ("queens.c", ("rt_hosted.c",), ()),
    ("machine.c", ("rt_hosted.c",), ()),
]

# Lines that are left out, and why; (source, text of the line).
EXCLUDED = {
    # The compiler makes one computed jump of all, with the line of one of them.
    ("interpreter.c", "goto *labels[*pc++];"): "line",
    # Calls that may throw have arcs in gcov that are no branches; so has the choice of a handler.
    ("exceptions.cc", "dive(depth - 1, kind);"): "branch",
    ("exceptions.cc", "dive(depth, kind);"): "branch",
    ("exceptions.cc", "middle(i % 5, i % 3);"): "branch",
    ("exceptions.cc", "} catch (int) {"): "branch",
    ("exceptions.cc", "} catch (double) {"): "branch",
    ("exceptions.cc", "}"): "branch",
}
LABEL = re.compile(r"(case [^:?]+|default|\w+):\s*(/\*.*\*/)?$")


class LineCounts:
    """Entries of lines and outcomes of branches of one source file, from a profile."""

    def __init__(self, profile, source):
        self.source = source
        self.flows = dict(profile.query("SELECT id, name FROM flow"))
        self.ranges = collections.defaultdict(list)
        for block, start, stop, file, line in profile.query(
                "SELECT l.block, l.start, l.stop, s.text, l.line FROM line l"
                " JOIN string s ON s.id = l.file ORDER BY l.block, l.start"):
            self.ranges[block].append((start, stop, (os.path.basename(file), line)))
        self.entries = collections.Counter()
        self.outcomes = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
        self.leaving = collections.defaultdict(collections.Counter)
        self.first_line = {}  # of a function
        self.read_blocks(profile)
        self.read_edges(profile)

    def read_blocks(self, profile):
        self.starts, self.branches, self.behind_calls = {}, {}, {}
        self.unexplained = collections.Counter()  # executions that no edge led to, so far
        first = {}
        for block, module, offset, size, branch, function, flow, count in profile.query(
                "SELECT b.id, b.module, b.offset, b.size, b.branch, b.function, b.flow,"
                " sum(c.count) FROM block b JOIN block_count c ON c.block = b.id GROUP BY b.id"):
            ranges = self.ranges[block]
            if not ranges:
                continue
            for (_, _, before), (_, _, line) in zip(ranges, ranges[1:]):
                if line != before:
                    self.entries[line] += count
            last = next((line for start, stop, line in ranges if start <= branch < stop), None)
            self.starts[module, offset] = (function, ranges[0][2])
            self.unexplained[module, offset] += count
            self.branches[module, offset + branch] = (function, last)
            if self.flows[flow] in ("call", "call_ind"):
                self.behind_calls[module, offset + size] = (function, last)
            if function is not None and offset <= first.get(function, (offset,))[0]:
                first[function] = (offset, ranges[0][2])
        names = dict(profile.query("SELECT id, linkage FROM function"))
        self.first_line = {names[f]: line for f, (_, line) in first.items()}

    def read_edges(self, profile):
        for from_module, start, to_module, to, flow, taken, count in profile.query(
                "SELECT e.from_module, e.from_offset, e.to_module, e.to_offset, e.flow, e.taken,"
                " sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id GROUP BY e.id"):
            kind = self.flows[flow]
            origin = self.branches.get((from_module, start))
            target = self.starts.get((to_module, to))
            if origin and kind == "cond":
                self.outcomes[origin[1]][start][taken] += count
            if not target:
                continue
            if origin and origin[0] == target[0] and origin[1] != target[1] and kind in (
                    "cond", "jump", "jump_ind"):
                self.leaving[origin[1]][to] += count
            self.unexplained[to_module, to] -= count
            before = origin
            if not origin or origin[0] != target[0] or kind == "return":
                before = self.behind_calls.get((to_module, to))
            if kind in ("call", "call_ind") or before != target:
                self.entries[target[1]] += count
        for place, count in self.unexplained.items():
            self.entries[self.starts[place][1]] += count

    def lines(self):
        return {line: n for (file, line), n in self.entries.items() if file == self.source and n}

    def pairs(self, line):
        """Outcomes of the conditional branches of a line."""
        return sorted(tuple(sorted((found[0], found[1])))
                      for found in self.outcomes[self.source, line].values())

    def destinations(self, line):
        return sorted(self.leaving[self.source, line].values())


class Gcov(E2E):
    def build(self, source, others, *flags):
        """Compiles in a directory of its own; returns it."""
        where = self.path("plain" if not flags else "coverage")
        os.makedirs(where, exist_ok=True)
        compiler = "g++" if source.endswith(".cc") else "gcc"
        files = [os.path.join(lib.SRC, "tests/programs", name) for name in (source,) + others]
        result = run([compiler, "-O0", "-g", "-pthread", *flags, "-o", "program", *files], cwd=where)
        self.assertEqual(result.returncode, 0, result.stderr)
        return where

    def gcov(self, source, others, arguments):
        """gcov's JSON for the source file."""
        where = self.build(source, others, "--coverage", "-fprofile-update=atomic")
        self.assertEqual(run(["./program", *arguments], cwd=where).returncode, 0)
        stem = os.path.splitext(source)[0]
        notes = [name for name in os.listdir(where) if name.endswith("-%s.gcno" % stem)]
        result = run(["gcov", "-b", "-c", "--json-format", "--stdout", *notes], cwd=where)
        self.assertEqual(result.returncode, 0, result.stderr)
        return next(file for file in json.loads(result.stdout)["files"]
                    if os.path.basename(file["file"]) == source)

    def compare(self, source, others, arguments):
        theirs = self.gcov(source, others, arguments)
        profile = self.record(os.path.join(self.build(source, others), "program"), *arguments)
        ours = LineCounts(profile, source)
        self.assertGreaterEqual(min(ours.unexplained.values()), 0, "more edges than executions")
        with open(os.path.join(lib.SRC, "tests/programs", source), encoding="utf-8") as text:
            self.text = [line.strip() for line in text]
        for name in os.listdir(self.path("coverage")):
            os.unlink(os.path.join(self.path("coverage"), name))
        return self.compare_lines(source, theirs, ours) + self.compare_branches(source, theirs, ours)

    def excluded(self, source, line, what):
        text = re.sub(r"\s*/\*.*?\*/", "", self.text[line - 1])
        return EXCLUDED.get((source, text)) == what

    def compare_lines(self, source, theirs, ours):
        """Returns how many lines that were run were compared, and how many left out."""
        found = ours.lines()
        expected = {line["line_number"]: line["count"] for line in theirs["lines"]}
        for function in theirs["functions"]:
            first = ours.first_line.get(function["name"])
            if first and first[1] != function["start_line"]:
                self.assertEqual(self.text[first[1] - 1], "{")
                found[function["start_line"]] = found.pop(first[1])
            if function["end_line"] in found and function["end_line"] not in expected:
                self.assertEqual(self.text[function["end_line"] - 1], "}")
                self.assertEqual(found.pop(function["end_line"]), expected[function["start_line"]],
                                 "end of " + function["name"])
        left_out = 0
        for line, count in sorted(expected.items()):
            if self.excluded(source, line, "line"):
                left_out += 1
            elif line not in found and count and LABEL.match(self.text[line - 1]):
                left_out += 1
            else:
                self.assertEqual(found.get(line, 0), count,
                                 "%s:%d: %s" % (source, line, self.text[line - 1]))
        self.assertEqual(sorted(set(found) - set(expected)), [], "lines gcov does not have")
        return [sum(count > 0 for count in expected.values()) - left_out, left_out]

    def compare_branches(self, source, theirs, ours):
        """Returns how many lines with branches were compared, and how many left out."""
        compared = left_out = 0
        arcs = {line["line_number"]: [b["count"] for b in line["branches"]]
                for line in theirs["lines"] if line["branches"]}
        branching = {line for file, line in ours.outcomes if file == source}
        for line in sorted(branching | set(arcs)):
            if self.excluded(source, line, "branch"):
                left_out += 1
                continue
            counts = arcs.get(line, [])
            where = "%s:%d: %s" % (source, line, self.text[line - 1])
            if self.text[line - 1].startswith("switch"):
                self.assertEqual(ours.destinations(line), sorted(n for n in counts if n), where)
            else:
                pairs = (tuple(sorted(counts[i:i + 2])) for i in range(0, len(counts), 2))
                self.assertEqual(ours.pairs(line), sorted(p for p in pairs if p != (0, 0)), where)
            compared += 1
        return [compared, left_out]

    def test_all(self):
        totals = [0, 0, 0, 0]
        for source, others, arguments in CASES:
            with self.subTest(source=source, arguments=arguments):
                result = self.compare(source, others, arguments)
                totals = [a + b for a, b in zip(totals, result)]
        print("%d lines compared, %d labels and others left out; "
              "%d lines with branches compared, %d left out" % tuple(totals))
        self.assertGreater(totals[0], 400)
        self.assertGreater(totals[2], 80)
        self.assertLess(totals[1], totals[0] / 20, "too many lines are left out")
        self.assertLess(totals[3], totals[2] / 10, "too many branches are left out")


if __name__ == "__main__":
    lib.main()
