#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with known control flow: what is counted is what follows from their text."""
import collections

import lib
from expected import Expectations
from lib import program


class Watched(Expectations):
    def watch(self, name, *arguments):
        """The profile of a program; its stream is recorded and checked too."""
        self.trace(program(name), *arguments)
        return self.record(program(name), *arguments)


class Flow(Watched):
    def test_loops(self):
        self.expect_loops(self.watch("loops"))

    def test_switches(self):
        profile = self.watch("switches")
        self.expect_switches(profile)
        # gcc makes a table of the dense one: a check of the bounds and an indirect jump
        dense = collections.Counter(i * i % 11 for i in range(1000))
        outside = sum(count for op, count in dense.items() if op > 7)
        table = profile.edges("dense", "jump_ind")
        self.assertEqual(len(table), 1)
        self.assertEqual(sorted(next(iter(table.values())).values()),
                         sorted(dense[op] for op in range(8) if dense[op]))
        self.expect_branches(profile, "switches.c", {"dense": [(outside, 1000 - outside)]})

    def test_recursion(self):
        self.expect_recursion(self.watch("recursion"))

    def test_tail_calls(self):
        profile = self.watch("tail")
        self.expect_tail(profile)
        jumps = profile.edges("is_even", "jump")
        self.assertEqual(sum(sum(to.values()) for to in jumps.values()), 500)
        indirect = profile.edges("apply", "jump_ind")
        self.assertEqual([sum(to.values()) for to in indirect.values()], [70])

    def test_function_pointers(self):
        self.expect_pointers(self.watch("pointers"))

    def test_computed_goto(self):
        self.expect_interpreter(self.watch("interpreter"))

    def test_longjmp(self):
        self.expect_jumps(self.watch("jumps"))

    def test_exceptions(self):
        profile = self.watch("exceptions")
        runs = [(i % 5, i % 3) for i in range(30)]  # depth, kind
        dives = sum(depth + 1 for depth, kind in runs)
        doubles = sum(kind == 1 for depth, kind in runs)
        ints = sum(kind == 0 for depth, kind in runs)
        dive, middle = "dive(int, int)", "middle(int, int)"
        self.expect_calls(profile, {
            ("main", middle): 30, (middle, dive): 30, (dive, dive): dives - 30,
            (dive, "guard::~guard()"): dives,  # however the scope is left
            (middle, "passed_on()"): doubles, ("main", "caught_double()"): doubles,
            ("main", "caught_int()"): ints})

    def test_generated_code(self):
        profile = self.watch("generated")
        # mov $1; ret 10 times in each of 3 rounds, mov $2; ret 5 times: two versions of a place
        blocks = [b for b in profile.json["blocks"] if b["address"].startswith("[anon]+")]
        self.assertEqual(sorted((b["version"], b["count"]) for b in blocks), [(0, 30), (1, 15)])
        self.assertEqual(len({b["address"] for b in blocks}), 1)
        self.assertEqual({b["instructions"] for b in blocks}, {2})
        self.expect_lines(profile, "generated.c", {"call": 45})


class Signals(Watched):
    def test_signals(self):
        for which in ("raise", "segv", "nested", "altstack", "jump"):
            with self.subTest(signals=which):
                self.expect_signals(self.watch("signals", which), which)

    def test_timer_in_a_tight_loop(self):
        path = self.path("timer.hotpath")
        result = self.hotpath("record", "-q", "-o", path, "--", program("signals"), "timer")
        rounds, ticks = map(int, result.stdout.split())  # the program counts for itself
        profile = lib.Profile(path)
        self.assertEqual(profile.function("on_alarm")["calls"], ticks)
        self.expect_branches(profile, "signals.c", {"spin": [(rounds, 1)]})
        self.expect_lines(profile, "signals.c", {"spun": rounds})
        self.assertEqual(profile.json["notes"], [])


class Processes(Watched):
    def test_threads(self):
        self.expect_threads(self.watch("threads"))

    def test_threads_without_library(self):
        profile = self.watch("clones")
        self.expect_by_thread(profile, "work", [100, 200, 300, 400])
        self.expect_by_thread(profile, "body", [1, 1, 1, 1])
        self.expect_branches(profile, "clones.c", {"loop": [(1000, 4)]})

    def test_fork(self):
        self.expect_forks(self.watch("forks"))

    def test_fork_not_followed(self):
        profile = self.record(program("forks"), options=("--no-follow",))
        self.expect_by_thread(profile, "work", [1])
        self.assertEqual(profile.function("child")["calls"], 0)


if __name__ == "__main__":
    lib.main()
