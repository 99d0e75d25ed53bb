#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A machine behind real runs: what it counts agrees with what was run, live and by replay, in parts of a run, with signals,
threads and children."""
import collections
import os
import shutil
import sys

import lib
from lib import E2E, PROGRAMS, SRC, Profile, program

NATIVE = os.environ.get("NATIVE_PROGRAMS") or os.path.join(os.path.dirname(PROGRAMS), "native")
# What needs no addresses.
INSTRUCTION_SIDE = ("instructions", "l1i.accesses", "l1i.misses", "l1i.fills", "branches",
                    "branches.taken", "mispredictions", "btb.misses", "blocks")


def counted(profile):
    """What the cores did, by name."""
    return collections.Counter({row["name"]: row["value"] for row in profile.json["machine"]
                                if row["part"].startswith("machine ")})


class Runs(E2E):
    def measure(self, *command, machine="vaswani", options=(), **others):
        return self.record(*command, options=("--profile", "exact,paths", "--metric", "l1d",
                                              "--machine", machine, *options), **others)

    def check(self, profile):
        counts = counted(profile)
        self.assertEqual(counts["instructions"], profile.instructions)
        self.assertEqual(counts["l1i.accesses"], counts["instructions"])
        self.assertEqual(counts["l1d.accesses"], counts["l1d.reads"] + counts["l1d.writes"])
        self.assertEqual(counts["l1d.misses"],
                         counts["l1d.read_misses"] + counts["l1d.write_misses"])
        self.assertGreater(counts["l1d.misses"], 0)
        self.assertLess(counts["l1d.misses"], counts["l1d.accesses"])
        return counts

    def test_parts_add_up(self):
        """The core is warm when a part begins: all misses of the whole run are in exactly one part."""
        path = program("sort")
        whole = self.check(self.measure(path))
        length = whole["instructions"]
        for step in (length // 3, length // 2 + 1):
            total, at, parts = collections.Counter(), 0, 0
            while at < length:
                part = self.measure(path, options=("--after", str(at), "--for", str(step)))
                total += counted(part)
                at += step
                parts += 1
            self.assertGreater(parts, 1)
            self.assertEqual(total, whole)

    def test_replay_has_the_instruction_side(self):
        path = program("sort")
        live = counted(self.measure(path))
        trace = self.trace(path)
        self.hotpath("trace", "replay", "--profile", "paths", "--metric", "mispredictions",
                     "--machine", "vaswani", "-o", self.path("replay.hotpath"), trace)
        replayed = counted(Profile(self.path("replay.hotpath")))
        for name in INSTRUCTION_SIDE:
            self.assertEqual(replayed[name], live[name], name)
        self.assertEqual(replayed["l1d.accesses"], 0)
        self.assertGreater(live["l1d.accesses"], 0)

    def test_signals(self):
        """Handlers inside blocks; what they interrupt keeps its addresses."""
        for part in ("jumps", "registers"):
            with self.subTest(part=part):
                self.check(self.measure(os.path.join(NATIVE, "storm"), part))

    def test_threads(self):
        profile = self.measure(program("threads"), "4", machine="modern")
        self.check(profile)
        self.assertGreater(profile.json["summary"]["threads"], 1)

    def real(self, *command, machine, least, **others):
        if not shutil.which(command[0]):
            self.skipTest(command[0] + " is not installed")
        profile = self.measure(*command, machine=machine, **others)
        counts = self.check(profile)
        self.assertGreater(counts["instructions"], least)
        # The last path of a thread is not whole.
        along_paths = sum(path["events"] for path in profile.json["paths"])
        self.assertLessEqual(along_paths, counts["l1d.misses"])
        self.assertGreater(along_paths, counts["l1d.misses"] - 100)

    def test_dash_and_its_children(self):
        self.real("dash", "-c", "i=0; while [ $i -lt 500 ]; do i=$((i + 1)); done; ls / | wc -l",
                  machine="alpha21264", least=500_000)

    def test_gzip(self):
        self.real("gzip", "-c", "-1", os.path.join(SRC, "src/stream/cursor.c"), machine="arm9",
                  least=500_000)

    def test_sqlite3(self):
        self.real("sqlite3", ":memory:", machine="modern", least=2_000_000, stdin=None,
                  input="create table t(a, b);"
                  "with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000)"
                  "insert into t select n, n * 7 % 13 from c;"
                  "select b, sum(a) from t group by b order by b;")


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("skipped: the native engine runs x86-64 programs")
        sys.exit(77)
    lib.main()
