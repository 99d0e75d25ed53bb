#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with known control flow: what is counted is what follows from their text.

Every expectation is worked out from the program in tests/programs, by the formula next to it.
"""
import collections

import lib
from lib import E2E, marks, program


class Flow(E2E):
    def expect_branches(self, profile, source, expected):
        """expected: {mark: [(n, m), ...]}, the outcomes of the branches on that line."""
        lines = marks(source)
        for name, outcomes in expected.items():
            self.assertEqual(profile.branches(source, lines[name]),
                             sorted(tuple(sorted(o)) for o in outcomes), "branches @" + name)

    def expect_lines(self, profile, source, expected):
        lines = marks(source)
        for name, count in expected.items():
            self.assertEqual(profile.line(source, lines[name]), count, "executions of @" + name)

    def expect_calls(self, profile, expected):
        """expected: {(caller, callee): count}; a callee's total must be the sum of its callers."""
        totals = collections.Counter()
        for (caller, callee), count in expected.items():
            self.assertEqual(profile.calls(caller, callee), count, "%s -> %s" % (caller, callee))
            totals[callee] += count
        for callee, count in totals.items():
            self.assertEqual(profile.function(callee)["calls"], count, "calls of " + callee)


class Loops(Flow):
    def test_loops(self):
        n, m = 13, 7
        steps, odd, value = 0, 0, 27
        while value != 1:
            odd += value % 2
            value = 3 * value + 1 if value % 2 else value // 2
            steps += 1
        self.assertEqual((steps, odd), (111, 41))  # the Collatz sequence of 27 is well known
        profile = self.record(program("loops"))
        self.expect_branches(profile, "loops.c", {
            "outer": [(n, 1)],                           # goes on n times, ends once
            "inner": [(n * m, n)],                       # ends once for each i
            "row": [(2 * n, 2)],                         # triangle() is called twice
            "column": [(2 * n * (n - 1) // 2, 2 * n)],   # 0 + 1 + ... + (n - 1), twice
            "collatz": [(steps, 1)],
            "odd": [(odd, steps - odd)],
            "skip": [(1, 8)],                            # k == 5 once in 9 rounds
            "again": [(8, 1), (8, 0)],                   # the second is reached when k < n
        })
        self.expect_lines(profile, "loops.c", {
            "cell": n * (n - 1), "up": odd, "down": steps - odd, "kept": 8})
        self.expect_calls(profile, {
            ("main", "rectangle"): 1, ("main", "triangle"): 2, ("main", "while_loop"): 1,
            ("main", "do_loop"): 1, ("rectangle", "innermost"): n * m})


class Switches(Flow):
    def test_jump_table_and_compares(self):
        profile = self.record(program("switches"))
        dense = collections.Counter(i * i % 11 for i in range(1000))
        outside = sum(count for op, count in dense.items() if op > 7)
        table = profile.edges("dense", "jump_ind")
        self.assertEqual(len(table), 1, "the switch is one indirect jump")
        self.assertEqual(sorted(next(iter(table.values())).values()),
                         sorted(dense[op] for op in range(8) if dense[op]))
        self.expect_branches(profile, "switches.c", {"dense": [(outside, 1000 - outside)]})
        self.expect_lines(profile, "switches.c", {
            "three": dense[3], "four": dense[3] + dense[4], "five": dense[5], "seven": dense[7],
            "default": outside})
        self.expect_calls(profile, {("main", "dense"): 1000, ("dense", "even_case"): dense[1],
                                    ("dense", "odd_case"): dense[2], ("main", "sparse"): 300})
        sparse = collections.Counter(
            "one" if i % 3 == 0 else "thousand" if i % 5 == 0 else "million" if i % 7 == 0
            else "one" if i == 1 else "none" for i in range(300))
        self.expect_lines(profile, "switches.c", dict(sparse))


class Recursion(Flow):
    def test_recursion(self):
        profile = self.record(program("recursion"))
        fib = [0, 1]
        while len(fib) < 20:
            fib.append(fib[-1] + fib[-2])
        calls = 2 * fib[16] - 1       # of fib(15): leaves fib[16], a binary tree
        ack = 2 * 5 * 5 + 7 * 5 + 5   # of ackermann(2, n): 2n^2 + 7n + 5, n = 5
        moves = 2 ** 8 - 1            # of hanoi(8); calls 2^9 - 1
        self.expect_calls(profile, {
            ("main", "fib"): 1, ("fib", "fib"): calls - 1,
            ("main", "ackermann"): 1, ("ackermann", "ackermann"): ack - 1,
            ("main", "hanoi"): 1, ("hanoi", "hanoi"): 2 ** 9 - 2, ("hanoi", "move"): moves,
            ("main", "is_even"): 1, ("is_even", "is_odd"): 13, ("is_odd", "is_even"): 12})
        self.expect_branches(profile, "recursion.c", {"base": [(fib[16], calls - fib[16])]})
        # recursion counts once: what is spent below fib is fib's own
        self.assertEqual(profile.function("fib")["inclusive"], profile.function("fib")["self"])
        self.assertEqual(profile.function("hanoi")["inclusive"],
                         profile.function("hanoi")["self"] + profile.function("move")["self"])
        self.assertEqual(profile.function("is_even")["inclusive"],
                         profile.function("is_even")["self"] + profile.function("is_odd")["self"])

    def test_tail_calls(self):
        profile = self.record(program("tail"))
        # is_even(1000), (998), ... (0): 501, all but the first by a jump; is_odd 500, all by one
        self.expect_calls(profile, {
            ("main", "is_even"): 1, ("is_odd", "is_even"): 500, ("is_even", "is_odd"): 500,
            ("main", "apply"): 70, ("apply", "last"): 70})
        jumps = profile.edges("is_even", "jump")
        self.assertEqual(sum(sum(to.values()) for to in jumps.values()), 500)
        indirect = profile.edges("apply", "jump_ind")
        self.assertEqual([sum(to.values()) for to in indirect.values()], [70])
        both = profile.function("is_even")["self"] + profile.function("is_odd")["self"]
        self.assertEqual(profile.function("is_even")["inclusive"], both)
        self.assertEqual(profile.calls_inclusive("main", "is_even"), both)


class Pointers(Flow):
    def test_function_pointers(self):
        profile = self.record(program("pointers"))
        kinds = collections.Counter(("red", "green", "blue", "green")[i % 4] for i in range(103))
        self.expect_calls(profile, {
            ("main", "red"): kinds["red"], ("main", "green"): kinds["green"],
            ("main", "blue"): kinds["blue"], ("main", "each"): 1, ("each", "blue"): 31})
        sites = profile.edges("main", "call_ind")
        self.assertEqual([sorted(to.values()) for to in sites.values()], [sorted(kinds.values())])

    def test_computed_goto(self):
        profile = self.record(program("interpreter"))
        loops = 250
        jumps = profile.edges("interpret", "jump_ind")
        # PUSH, then DOWN ADD BRANCH each round, then HALT: a dispatch for each
        self.assertEqual(sum(sum(to.values()) for to in jumps.values()), 1 + 3 * loops + 1)
        targets = sum(jumps.values(), collections.Counter())
        self.assertEqual(sorted(targets.values()), [1, 1, loops, loops, loops])
        self.expect_lines(profile, "interpreter.c", {
            "push": 1, "down": loops, "add": loops, "branch": loops, "halt": 1})
        self.expect_branches(profile, "interpreter.c", {"branch": [(loops - 1, 1)]})
        self.expect_calls(profile, {("main", "interpret"): 1, ("interpret", "on_add"): loops})


class Unwinding(Flow):
    def test_longjmp(self):
        profile = self.record(program("jumps"))
        rounds = 20
        self.expect_calls(profile, {
            ("main", "dive"): rounds, ("dive", "dive"): sum(range(rounds)),
            ("main", "landed"): rounds})
        self.assertEqual(profile.function("never")["calls"], 0)
        # the frames jumped over are gone: nothing of what main does afterwards is theirs
        below = sum(c["inclusive"] for c in profile.json["calls"]
                    if c["caller"] == "dive" and c["callee"] != "dive")
        self.assertEqual(profile.function("dive")["inclusive"],
                         profile.function("dive")["self"] + below)
        self.assertEqual(profile.function("landed")["inclusive"],
                         profile.function("landed")["self"])

    def test_exceptions(self):
        profile = self.record(program("exceptions"))
        runs = [(i % 5, i % 3) for i in range(30)]  # depth, kind
        dives = sum(depth + 1 for depth, kind in runs)
        doubles = sum(kind == 1 for depth, kind in runs)
        ints = sum(kind == 0 for depth, kind in runs)
        names = {"dive": "dive(int, int)", "middle": "middle(int, int)"}
        self.expect_calls(profile, {
            ("main", names["middle"]): 30, (names["middle"], names["dive"]): 30,
            (names["dive"], names["dive"]): dives - 30,
            (names["dive"], "guard::~guard()"): dives,  # however the scope is left
            (names["middle"], "passed_on()"): doubles, ("main", "caught_double()"): doubles,
            ("main", "caught_int()"): ints})


class Signals(Flow):
    def signals(self, which):
        command = (program("signals"), which)
        self.trace(*command)  # checks the stream's invariants
        profile = self.record(*command)
        self.assertEqual(profile.json["notes"], [])
        return profile

    def test_raise(self):
        self.assertEqual(self.signals("raise").function("on_usr1")["calls"], 50)

    def test_timer_in_a_tight_loop(self):
        path = self.path("timer.hotpath")
        result = self.hotpath("record", "-q", "-o", path, "--", program("signals"), "timer")
        rounds, ticks = map(int, result.stdout.split())  # the program counts for itself
        profile = lib.Profile(path)
        self.assertEqual(profile.function("on_alarm")["calls"], ticks)
        self.expect_branches(profile, "signals.c", {"spin": [(rounds, 1)]})
        self.expect_lines(profile, "signals.c", {"spun": rounds})
        self.assertEqual(profile.json["notes"], [])

    def test_fault_repaired_by_its_handler(self):
        profile = self.signals("segv")
        # 3 rounds over 6 pages, each of which faults the first time only; the store that faulted
        # is retired once, when it is run again
        self.expect_calls(profile, {("segv", "store"): 18})
        self.assertEqual(profile.function("on_segv")["calls"], 6)
        self.expect_lines(profile, "signals.c", {"store": 18})
        self.assertEqual(profile.function("store")["self"] % 18, 0)
        blocks = [b for b in profile.json["blocks"] if b["function"] == "store"]
        self.assertEqual([b["count"] for b in blocks], [18], "store is one block")

    def test_nested(self):
        profile = self.signals("nested")
        counts = {name: profile.function(name)["calls"] for name in ("outer", "middle", "innermost")}
        self.assertEqual(counts, {"outer": 10, "middle": 10, "innermost": 20})

    def test_alternate_stack(self):
        self.assertEqual(self.signals("altstack").function("on_usr1")["calls"], 15)

    def test_siglongjmp_out_of_the_handler(self):
        profile = self.signals("jump")  # more often than the cursor keeps contexts
        self.assertEqual(profile.function("on_jump")["calls"], 100)
        self.expect_calls(profile, {("jump", "thrown"): 100})


class Processes(Flow):
    def counts(self, profile, name):
        """Calls of a function by thread, sorted."""
        return sorted(count for count, in profile.query(
            "SELECT c.calls FROM function_count c JOIN function f ON f.id = c.function"
            " WHERE f.name = ? AND c.calls > 0", name))

    def test_threads(self):
        self.trace(program("threads"))
        profile = self.record(program("threads"))
        self.assertEqual(profile.json["summary"]["threads"], 5)
        self.assertEqual(self.counts(profile, "work"), [1000, 2000, 3000, 4000])
        self.assertEqual(self.counts(profile, "start"), [1, 1, 1, 1])
        self.expect_branches(profile, "threads.c", {"loop": [(10000, 4)]})
        by_thread = profile.query("SELECT instructions FROM thread")
        self.assertEqual(sum(n for n, in by_thread), profile.instructions)

    def test_fork(self):
        self.trace(program("forks"))
        profile = self.record(program("forks"))
        self.assertEqual(profile.json["summary"]["threads"], 7)  # parent, 5, 1 grandchild
        self.assertEqual(self.counts(profile, "work"), [1, 1, 100, 200, 300, 400, 500])
        self.assertEqual(self.counts(profile, "child"), [1, 1, 1, 1, 1])
        self.assertEqual(self.counts(profile, "grandchild"), [1])
        pids = profile.query("SELECT count(DISTINCT pid) FROM thread")
        self.assertEqual(pids, [(7,)])

    def test_fork_not_followed(self):
        profile = self.record(program("forks"), options=("--no-follow",))
        self.assertEqual(self.counts(profile, "work"), [1])
        self.assertEqual(profile.function("child")["calls"], 0)


class Generated(Flow):
    def test_generated_code(self):
        self.trace(program("generated"))
        profile = self.record(program("generated"))
        # mov $1; ret 10 times in each of 3 rounds, mov $2; ret 5 times: two versions of a place
        blocks = [b for b in profile.json["blocks"] if b["address"].startswith("[anon]+")]
        self.assertEqual(sorted((b["version"], b["count"]) for b in blocks), [(0, 30), (1, 15)])
        self.assertEqual(len({b["address"] for b in blocks}), 1)
        self.assertEqual({b["instructions"] for b in blocks}, {2})
        self.expect_lines(profile, "generated.c", {"call": 45})


if __name__ == "__main__":
    lib.main()
