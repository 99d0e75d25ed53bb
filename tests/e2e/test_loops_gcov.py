#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Iterations of loops equal gcov's counts of the lines in which they begin.

The same source is built twice at -O0 -g: with coverage, run alone; and plain, watched by hotpath. A loop's header is a
block; the line of its first instruction was entered as often as the header was run, where nothing else of that
line is run but what goes round in it. Where several loops begin in a line, that is the innermost."""
import collections
import json
import os

import lib
from lib import E2E, run
from util_loops import loops

lib.need("gcc", "gcov")

# Source, other sources. Not interpreter.c: the compiler makes one computed jump of all, with the line of one of them.
CASES = [("trips.c", ()), ("loops.c", ()), ("jumps.c", ()), ("algorithms.c", ())] + [
    (name, ("rt_hosted.c",)) for name in ("sieve.c", "matrix.c", "hash.c", "sort.c", "crc.c", "queens.c", "machine.c")]


class Gcov(E2E):
    def build(self, source, others, output, *flags):
        files = [os.path.join(lib.SRC, "tests/programs", name) for name in (source,) + others]
        result = run(["gcc", "-O0", "-g", *flags, "-o", self.path(output), *files], cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(output)

    def line_counts(self, source, others):
        """{line: count} of a run alone."""
        covered = self.build(source, others, "covered", "--coverage")
        self.assertIn(run([covered], cwd=self.dir).returncode, (0, 1))
        notes = [name for name in os.listdir(self.dir)
                 if name.endswith(".gcda") and os.path.splitext(source)[0] in name]
        self.assertEqual(len(notes), 1)
        result = run(["gcov", "--json-format", "--stdout", notes[0]], cwd=self.dir)
        self.assertEqual(result.returncode, 0, result.stderr)
        counts = collections.Counter()
        for file in json.loads(result.stdout)["files"]:
            if os.path.basename(file["file"]) == source:
                for line in file["lines"]:
                    counts[line["line_number"]] += line["count"]
        return counts

    def header_lines(self, profile):
        """{loop: line of the first instruction of its header}."""
        return dict(profile.query(
            "SELECT l.id, n.line FROM loop l JOIN block b ON b.module = l.module AND b.offset = l.offset"
            " AND b.version = l.version JOIN line n ON n.block = b.id AND n.start = 0"))

    def test_iterations(self):
        compared = 0
        for source, others in CASES:
            with self.subTest(source=source):
                expected = self.line_counts(source, others)
                plain = self.build(source, others, "plain")
                profile = self.record(plain, options=["--profile", "loops"], status=run([plain]).returncode)
                lines = self.header_lines(profile)
                own = {lines[loop.id]: loop for loop in loops(profile, "plain")
                       if loop.file == source and not loop.irreducible}  # those of a line: the innermost is the last
                self.assertGreater(len(own), 0)
                for line, loop in own.items():
                    with self.subTest(line=line, function=loop.function):
                        self.assertEqual(loop.iterations, expected[line])
                compared += len(own)
        self.assertGreater(compared, 40)


if __name__ == "__main__":
    lib.main()
