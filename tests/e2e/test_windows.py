#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A machine in cycles behind real runs: everything, or windows; live or replayed; the same to the bit."""
import os
import sqlite3
import sys

import lib
from lib import E2E, Profile, program

DETAIL = ("--profile", "exact,cycles,instructions", "--machine", "vaswani")


def stats(profile, part):
    return {row["name"]: row["value"] for row in profile.json["machine"] if row["part"].startswith(part + " ")}


def tables(path):
    """Everything about instructions that is in a profile."""
    database = sqlite3.connect(path)
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    wanted = [name for name in names if name.startswith(("insn", "sampler", "attribution", "cycle_window"))]
    found = {name: database.execute("SELECT * FROM %s" % name).fetchall() for name in wanted}
    database.close()
    return found


def everything(path):
    """All that is in a profile, except when and how it was made."""
    database = sqlite3.connect(path)
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    found = {name: database.execute("SELECT * FROM %s" % name).fetchall() for name in names if name != "meta"}
    database.close()
    return found


class Windows(E2E):
    def measure(self, *command, options=DETAIL, name="p.hotpath"):
        return self.record(*command, options=options, name=name)

    def test_everything_in_detail(self):
        profile = self.measure(program("sort"))
        cycles = stats(profile, "cycles")
        self.assertEqual(cycles["run.instructions"], profile.instructions)
        self.assertEqual(cycles["run.measured"], profile.instructions)
        self.assertEqual(cycles["instructions"], profile.instructions)
        self.assertEqual(cycles["fetched"], cycles["instructions"] + cycles["wrong_path"] + cycles["trapped"])
        self.assertGreater(cycles["cycles"], profile.instructions / 4)

    def test_again_to_the_bit(self):
        one = self.measure(program("sort"), name="one.hotpath")
        two = self.measure(program("sort"), name="two.hotpath")
        self.assertEqual(tables(one.path), tables(two.path))
        self.assertGreater(len(tables(one.path)["insn_tally"]), 100)

    def test_replayed_to_the_bit(self):
        path = program("sort")
        live = self.measure(path, name="live.hotpath")
        trace = self.path("sort.hptrace")
        self.hotpath("trace", "record", "-q", "--addresses", "-o", trace, "--", path)
        self.hotpath("trace", "replay", *DETAIL, "-o", self.path("replayed.hotpath"), trace)
        replayed = Profile(self.path("replayed.hotpath"))
        self.assertEqual(tables(live.path), tables(replayed.path))
        self.assertEqual(stats(live, "cycles"), stats(replayed, "cycles"))

    def test_threads_make_no_difference(self):
        """However many threads run the machine: windows that warm and skip, and a machine without cycles."""
        path, trace = program("sort"), self.path("sort.hptrace")
        self.hotpath("trace", "record", "-q", "--addresses", "-o", trace, "--", path)
        windows = ("--profile", "cycles,instructions", "--machine", "modern", "--windows")
        for options in (
                (*windows, "period=50K,detail=5K,ramp=500,warm=all"), (*windows, "period=50K,detail=5K,ramp=500,warm=10K"),
                ("--profile", "exact,paths", "--machine", "modern", "--metric", "mispredictions"),
                ("--profile", "exact,paths", "--machine", "vaswani", "--metric", "l1d")):
            found = []
            for threads in ("1", "2", "4"):
                out = self.path("threads%s.hotpath" % threads)
                self.hotpath("trace", "replay", *options, "-o", out, trace, env=dict(os.environ, HOTPATH_THREADS=threads))
                found.append((everything(out), Profile(out).json["machine"]))
            self.assertGreater(sum(len(rows) for rows in found[0][0].values()), 100)
            self.assertEqual(found[0], found[1])
            self.assertEqual(found[0], found[2])

    def test_windows(self):
        """Of each period a part is measured; the functional machine sees the rest."""
        path = program("sort")
        whole = self.measure(path)
        length = whole.instructions
        period = length // 40
        options = (*DETAIL, "--windows", "period=%d,detail=%d,ramp=500" % (period, period // 5))
        part = self.measure(path, options=options, name="windows.hotpath")
        cycles = stats(part, "cycles")
        self.assertEqual(cycles["run.instructions"], length)
        self.assertEqual(stats(part, "machine")["instructions"], length)
        self.assertAlmostEqual(cycles["run.measured"] / length, 0.2, delta=0.01)
        rows = part.query("SELECT at, instructions, cycles FROM cycle_window ORDER BY at")
        self.assertIn(len(rows), (39, 40, 41))
        self.assertEqual(sum(row[1] for row in rows), cycles["run.measured"])
        for number, (at, instructions, taken) in enumerate(rows):
            self.assertAlmostEqual(at, number * period + period - period // 5, delta=100)
            self.assertGreater(taken, instructions / 4)
        # Forty windows of a fifth say what the whole does.
        exact = stats(whole, "cycles")["cycles"] / length
        self.assertAlmostEqual(sum(row[2] for row in rows) / cycles["run.measured"], exact, delta=exact * 0.1)

    def test_skipping(self):
        path = program("sort")
        options = (*DETAIL, "--windows", "period=50K,detail=5K,ramp=500,warm=10K")
        part = self.measure(path, options=options)
        self.assertLess(stats(part, "machine")["instructions"], part.instructions / 2)
        self.assertEqual(stats(part, "cycles")["run.instructions"], part.instructions)

    def test_machine_alone(self):
        """Just a machine: windows of the run in cycles, and what else was always there."""
        profile = self.measure(program("sort"), options=("--machine", "modern"))
        self.assertIn("run.measured", stats(profile, "cycles"))
        self.assertEqual(stats(profile, "cycles")["run.measured"], 0)  # it is too short, and is told what to do
        self.assertIn("--windows all", " ".join(note["text"] for note in profile.json["notes"]))
        self.assertGreater(len(profile.json["functions"]), 1)

    def test_samples_by_path(self):
        """Each retired sample is on one path, or on none that is known."""
        profile = self.measure(program("sort"), options=("--machine", "vaswani", "--sample", "profileme,interval=100",
                                                         "--profile", "exact"))
        name = "profileme,interval=100"
        known = {row["name"]: row["value"] for row in profile.json["machine"] if row["part"] == name}
        retired, = profile.query("SELECT sum(t.retired) FROM insn_tally t JOIN string s ON s.id = t.seen WHERE s.text = ?", name)[0]
        paths = [row for row in profile.json["paths"] if row["kind"] == name]
        self.assertEqual(known["path.samples"], retired)
        self.assertEqual(sum(row["count"] for row in paths), retired - known["path.unknown"])
        self.assertGreater(len(paths), 10)
        self.assertGreater(sum(row["count"] for row in paths), retired / 2)

    def test_region(self):
        path = program("sort")
        length = self.measure(path).instructions
        part = self.measure(path, options=(*DETAIL, "--after", str(length // 2), "--for", "20000"))
        self.assertAlmostEqual(stats(part, "cycles")["instructions"], 20000, delta=200)

    def test_threads_and_signals(self):
        profile = self.measure(program("threads"), "4")
        self.assertEqual(stats(profile, "cycles")["instructions"], profile.instructions)
        profile = self.measure(program("signals"))
        self.assertEqual(stats(profile, "cycles")["instructions"], profile.instructions)

    def test_wrong_words(self):
        for options, text in (
                (("--windows", "period=1M"), "--windows is for"),
                ((*DETAIL, "--windows", "often"), "there is no 'often'; there are all, period=N, detail=N"),
                ((*DETAIL, "--sample", "perf"), "--sample:"),
                ((*DETAIL, "--metric", "l1d"), "without cycles")):
            done = self.hotpath("record", *options, "-o", self.path("x.hotpath"), "--", program("sort"), status=125)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    sys.exit(lib.main())
