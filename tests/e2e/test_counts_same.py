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

    def test_two_runs(self):
        for command in LIBRARY + ALONE:
            with self.subTest(command=command):
                self.expect_same(self.record(*self.runs(*command), name="first.hotpath"),
                                 self.record(*self.runs(*command), name="second.hotpath"),
                                 "two runs")

    def test_watched_and_replayed(self):
        for command in LIBRARY + ALONE:
            with self.subTest(command=command):
                live = self.record(*self.runs(*command))
                replayed = self.replay(self.trace(*self.runs(*command)))
                self.expect_same(live, replayed, "watched and replayed")

    def test_replayed_twice(self):
        """One run is the same each time it is replayed, even of threads at the same time."""
        for command in (("threads",), ("signals", "timer")):
            with self.subTest(command=command):
                trace = self.trace(*self.runs(*command))
                self.expect_same(self.replay(trace, "first.hotpath"),
                                 self.replay(trace, "second.hotpath"), "replayed twice")


if __name__ == "__main__":
    lib.main()
