#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same profile from two runs, and from watching and replaying, to the byte.

The programs are deterministic. Those with a C library see the same environment each time; what the
kernel hands them at random (address layout, the seed of the stack protector) must not show.
"""
import lib
from lib import E2E, program

LIBRARY = [("loops",), ("switches",), ("recursion",), ("tail",), ("pointers",), ("jumps",),
           ("exceptions",), ("interpreter",), ("generated",), ("forks",), ("signals", "raise"), ("signals", "segv"), ("signals", "nested"),
           ("signals", "altstack"), ("signals", "jump")]
ALONE = [("flow",), ("straight",), ("pages",), ("rep",), ("selfmod",), ("sieve",), ("matrix",),
         ("hash",), ("sort",), ("crc",), ("queens",), ("machine",), ("clones",), ("faults",)]


class Same(E2E):
    def runs(self, name, *arguments):
        return (program(name),) + arguments

    def expect_same(self, first, second, what):
        if first.text != second.text:
            pairs = zip(first.text.splitlines(), second.text.splitlines())
            differences = ["- %s\n+ %s" % pair for pair in pairs if pair[0] != pair[1]]
            self.fail("%s: %d lines differ, first:\n%s" % (what, len(differences),
                                                           "\n".join(differences[:5])))

    def compare(self, *command):
        """Two runs, and a replay of a third."""
        first = self.record(*command, name="first.hotpath")
        self.expect_same(first, self.record(*command, name="second.hotpath"), "two runs")
        self.expect_same(first, self.replay(self.trace(*command)), "watched and replayed")

    def test_with_library(self):
        for command in LIBRARY:
            with self.subTest(command=command):
                self.compare(*self.runs(*command))

    def test_without_library(self):
        for command in ALONE:
            with self.subTest(command=command):
                self.compare(*self.runs(*command))

    def test_stripped(self):
        """Functions are found by calls then."""
        for name in ("recursion", "exceptions", "sort"):
            with self.subTest(program=name):
                path = self.path(name)
                self.assertEqual(lib.run(["strip", "-o", path, program(name)]).returncode, 0)
                self.compare(path)

    def test_replayed_twice(self):
        """One run is the same each time it is replayed, even of threads at the same time."""
        for command in (("threads",), ("signals", "timer")):
            with self.subTest(command=command):
                trace = self.trace(*self.runs(*command))
                self.expect_same(self.replay(trace, "first.hotpath"),
                                 self.replay(trace, "second.hotpath"), "replayed twice")


if __name__ == "__main__":
    lib.main()
