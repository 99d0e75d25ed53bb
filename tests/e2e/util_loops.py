# SPDX-License-Identifier: MIT
"""Reading the loops of a profile, for the tests of exact loops."""
import collections
import os

COUNTS = ("executions", "iterations", "back_edges", "min", "max", "self", "inclusive", "same", "stride", "interrupted")


class Loop:
    """A loop of a profile: its row, its counts over all threads, its exact trip counts {iterations: executions}."""

    def __init__(self, row):
        (self.id, self.function, module, self.offset, self.parent, self.insns, self.flags, file, self.first_line,
         self.last_line) = row[:10]
        self.module = os.path.basename(module or "")
        self.file = os.path.basename(file)
        self.counts = dict(zip(COUNTS, row[10:]))
        self.trips = {}
        self.buckets = {}
        self.depth = 1

    def __getattr__(self, name):
        try:
            return self.__dict__["counts"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def irreducible(self):
        return bool(self.flags & 1)

    def key(self):
        """Where it is, whichever engine and run saw it."""
        return self.module, self.offset

    def everything(self):
        """What must not depend on the engine."""
        return dict(self.counts, function=self.function, insns=self.insns, flags=self.flags, depth=self.depth,
                    trips=self.trips, buckets=self.buckets, lines=(self.file, self.first_line, self.last_line))


def loops(profile, module=None):
    """All loops of a profile, or of the module of that base name; outer ones first."""
    found = {}
    for row in profile.query(
            "SELECT l.id, f.name, m.path, l.offset, l.parent, l.insns, l.flags, s.text, l.first_line, l.last_line,"
            " sum(c.executions), sum(c.iterations), sum(c.back_edges), min(c.min), max(c.max), sum(c.self),"
            " sum(c.inclusive), sum(c.same), sum(c.stride), sum(c.interrupted)"
            " FROM loop l JOIN loop_count c ON c.loop = l.id JOIN string s ON s.id = l.file"
            " LEFT JOIN function f ON f.id = l.function LEFT JOIN module m ON m.id = l.module GROUP BY l.id"):
        found[row[0]] = Loop(row)
    for loop, bucket, value, count in profile.query("SELECT loop, bucket, value, count FROM loop_trip"):
        (found[loop].buckets if bucket else found[loop].trips)[value] = count
    for loop in found.values():
        outer = loop.parent
        while outer is not None:
            loop.depth += 1
            outer = found[outer].parent
    kept = [loop for loop in found.values() if module is None or loop.module == module]
    return sorted(kept, key=lambda loop: (loop.module, loop.function or "", loop.depth, loop.offset))


def of_functions(profile, module=None):
    """The same by function name: {name: [loop, ...]}, outer ones first."""
    found = collections.defaultdict(list)
    for loop in loops(profile, module):
        found[loop.function].append(loop)
    return found


def buckets(trips):
    """Trip counts as powers of two."""
    found = collections.Counter()
    for value, count in trips.items():
        found[value.bit_length() - 1] += count
    return dict(found)
