#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ProfileMe on a machine behind real runs: what samples say agrees with the exact tally of the same run, and is the same each time."""
import math

import lib
from lib import E2E, Profile, program

INTERVAL = 500
SEEDS = (2, 3)
Z = 1.96


def bounds(k):
    """Of the mean of a Poisson distribution, 95 % (Byar)."""
    def byar(shape, z):
        return shape * max(1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape)), 0) ** 3
    return (byar(k, -Z), byar(k + 1, Z)) if k else (0, 3.69)


def tallies(profile, seen, column):
    """By instruction."""
    return dict(profile.query("SELECT t.insn, t.%s FROM insn_tally t JOIN string s ON s.id = t.seen WHERE s.text = ?" % column,
                              seen))


class Sampling(E2E):
    def replay_sampled(self, trace, *samplers, name="replay"):
        options = [option for sampler in samplers for option in ("--sample", sampler)]
        path = self.path(name + ".hotpath")
        self.hotpath("trace", "replay", "--machine", "vaswani", "--windows", "all", *options, "-o", path, trace)
        return Profile(path)

    def sampler(self, profile, name):
        rows = profile.query("SELECT interval, pair_window, samples, empty, lost, interrupts, cost FROM sampler WHERE name = ?", name)
        self.assertEqual(len(rows), 1)
        return dict(zip(("interval", "window", "samples", "empty", "lost", "interrupts", "cost"), rows[0]))

    def check(self, profile, seen, distance):
        """Every sample has a row; of the instructions that are expected 8 times at least, intervals of 95 % hold the truth in 85 %."""
        sampler = self.sampler(profile, seen)
        self.assertLess(sampler["lost"], sampler["samples"] / 100)
        self.assertEqual(sum(tallies(profile, seen, "fetched").values()), sampler["samples"] - sampler["empty"])
        inside = total = 0
        for column in ("fetched", "retired", "wrong_path"):
            exact, sampled = tallies(profile, "exact", column), tallies(profile, seen, column)
            self.assertLessEqual(set(sampled), set(exact))
            for insn, truth in exact.items():
                if truth >= 8 * distance:
                    low, high = bounds(sampled.get(insn, 0))
                    inside += low * distance <= truth <= high * distance
                    total += 1
        self.assertGreater(total, 50)
        self.assertGreater(inside, 0.85 * total, "%d of %d" % (inside, total))

    def test_samples_agree_with_the_exact_tally(self):
        trace = self.trace(program("sort"), options=("--addresses",))
        singles = ["profileme,interval=%d,seed=%d" % (INTERVAL, seed) for seed in SEEDS]
        pairs = "profileme,pairs,interval=%d" % (2 * INTERVAL)
        slots = "profileme,mode=slots,interval=%d" % INTERVAL
        profile = self.replay_sampled(trace, *singles, pairs, slots)
        for seen in singles + [slots]:
            self.check(profile, seen, INTERVAL)
        self.check(profile, pairs, INTERVAL)  # two samples an interval
        self.assertEqual(self.sampler(profile, pairs)["window"], 144)  # reorder and fetch_queue of the machine
        self.assertEqual(self.sampler(profile, singles[0])["empty"], 0)
        self.assertGreater(self.sampler(profile, slots)["empty"], 100)

    def test_is_the_same_each_time(self):
        trace = self.trace(program("hash"), options=("--addresses",))
        name = "profileme,pairs,interval=1000,buffer=4"
        other = "profileme,window=144,interval=1000,seed=5"
        first = self.replay_sampled(trace, name, name="first")
        second = self.replay_sampled(trace, other, name, name="second")
        columns = "retired, execute_cycles, retire_squares, pairs, progress, useful, near"
        query = "SELECT t.insn, %s FROM insn_tally t JOIN string s ON s.id = t.seen WHERE s.text = ? ORDER BY t.insn" % columns
        self.assertEqual(first.query(query, name), second.query(query, name))
        self.assertGreater(len(first.query(query, name)), 20)
        self.assertNotEqual(second.query(query, name), second.query(query, other))
        sampler = self.sampler(first, name)
        self.assertEqual(sampler, self.sampler(second, name))
        delivered = sampler["samples"] // 2
        self.assertEqual(sampler["interrupts"], (delivered + 3) // 4)
        self.assertEqual(sampler["cost"], 1000 * sampler["interrupts"] + 100 * sampler["samples"])

    def test_says_what_is_wrong_with_a_sampler(self):
        for sampler, why in (("profileme,interval=1", "interval: 1 is not between 2"), ("profileme,window=20", "instructions that the machine has in flight")):
            result = lib.run([lib.HOTPATH, "run", "--machine", "vaswani", "--sample", sampler, "--", program("flow")])
            self.assertEqual(result.returncode, 125)
            self.assertIn(why, result.stderr)


if __name__ == "__main__":
    lib.main()
