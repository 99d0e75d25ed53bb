# SPDX-License-Identifier: MIT
"""What the programs of tests/programs do, worked out from their text: shared by the tests that count
them on this machine and on others. Which direction of a branch is taken, and how a switch is made,
is the compiler's choice; the rest is the program's.
"""
import collections

from lib import E2E, marks


class Expectations(E2E):
    def expect_branches(self, profile, source, expected):
        """expected: {mark: [(n, m), ...]}, the outcomes of the branches on that line."""
        lines = marks(source)
        for name, outcomes in expected.items():
            self.assertEqual(profile.branches(source, lines[name]),
                             sorted(tuple(sorted(o)) for o in outcomes), "branches @" + name)

    def expect_lines(self, profile, source, expected):
        """expected: {mark: executions}"""
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

    def expect_by_thread(self, profile, name, expected):
        """expected: calls of a function in the threads that called it, sorted."""
        self.assertEqual(sorted(count for count, in profile.query(
            "SELECT c.calls FROM function_count c JOIN function f ON f.id = c.function"
            " WHERE f.name = ? AND c.calls > 0", name)), expected, "calls of %s by thread" % name)

    def expect_loops(self, profile):
        n, m = 13, 7
        steps, odd, value = 0, 0, 27
        while value != 1:
            odd += value % 2
            value = 3 * value + 1 if value % 2 else value // 2
            steps += 1
        self.assertEqual((steps, odd), (111, 41))  # the Collatz sequence of 27 is well known
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

    def expect_switches(self, profile):
        dense = collections.Counter(i * i % 11 for i in range(1000))
        self.expect_lines(profile, "switches.c", {
            "three": dense[3], "four": dense[3] + dense[4], "five": dense[5], "seven": dense[7],
            "default": sum(count for op, count in dense.items() if op > 7)})
        self.expect_calls(profile, {("main", "dense"): 1000, ("dense", "even_case"): dense[1],
                                    ("dense", "odd_case"): dense[2], ("main", "sparse"): 300})
        sparse = collections.Counter(
            "one" if i % 3 == 0 else "thousand" if i % 5 == 0 else "million" if i % 7 == 0
            else "one" if i == 1 else "none" for i in range(300))
        self.expect_lines(profile, "switches.c", dict(sparse))

    def expect_recursion(self, profile):
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
        own = {name: profile.function(name)["self"]
               for name in ("fib", "hanoi", "move", "is_even", "is_odd")}
        self.assertEqual(profile.function("fib")["inclusive"], own["fib"])
        self.assertEqual(profile.function("hanoi")["inclusive"], own["hanoi"] + own["move"])
        self.assertEqual(profile.function("is_even")["inclusive"], own["is_even"] + own["is_odd"])

    def expect_tail(self, profile):
        # is_even(1000), (998), ... (0): 501, all but the first by a jump; is_odd 500, all by one
        self.expect_calls(profile, {
            ("main", "is_even"): 1, ("is_odd", "is_even"): 500, ("is_even", "is_odd"): 500,
            ("main", "apply"): 70, ("apply", "last"): 70})
        both = profile.function("is_even")["self"] + profile.function("is_odd")["self"]
        self.assertEqual(profile.function("is_even")["inclusive"], both)
        self.assertEqual(profile.calls_inclusive("main", "is_even"), both)

    def expect_pointers(self, profile):
        kinds = collections.Counter(("red", "green", "blue", "green")[i % 4] for i in range(103))
        self.expect_calls(profile, {
            ("main", "red"): kinds["red"], ("main", "green"): kinds["green"],
            ("main", "blue"): kinds["blue"], ("main", "each"): 1, ("each", "blue"): 31})
        sites = profile.edges("main", "call_ind")
        self.assertEqual([sorted(to.values()) for to in sites.values()], [sorted(kinds.values())])

    def expect_interpreter(self, profile):
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

    def expect_jumps(self, profile):
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

    def expect_threads(self, profile):
        self.assertEqual(profile.json["summary"]["threads"], 5)
        self.expect_by_thread(profile, "work", [1000, 2000, 3000, 4000])
        self.expect_by_thread(profile, "start", [1, 1, 1, 1])
        self.expect_branches(profile, "threads.c", {"loop": [(10000, 4)]})
        by_thread = profile.query("SELECT instructions FROM thread")
        self.assertEqual(sum(n for n, in by_thread), profile.instructions)

    def expect_forks(self, profile):
        self.assertEqual(profile.json["summary"]["threads"], 7)  # parent, 5, 1 grandchild
        self.expect_by_thread(profile, "work", [1, 1, 100, 200, 300, 400, 500])
        self.expect_by_thread(profile, "child", [1, 1, 1, 1, 1])
        self.expect_by_thread(profile, "grandchild", [1])
        self.assertEqual(profile.query("SELECT count(DISTINCT pid) FROM thread"), [(7,)])

    def expect_signals(self, profile, which):
        """Of the program `signals`, run with that argument."""
        self.assertEqual(profile.json["notes"], [])
        handlers = {"raise": {"on_usr1": 50}, "altstack": {"on_usr1": 15}, "segv": {"on_segv": 6},
                    "nested": {"outer": 10, "middle": 10, "innermost": 20},
                    "jump": {"on_jump": 100}}[which]
        for name, count in handlers.items():
            self.assertEqual(profile.function(name)["calls"], count, "runs of " + name)
        if which == "segv":
            # 3 rounds over 6 pages, each of which faults the first time only; the store that
            # faulted is retired once, when it is run again
            self.expect_calls(profile, {("segv", "store"): 18})
            self.expect_lines(profile, "signals.c", {"store": 18})
            blocks = [b for b in profile.json["blocks"] if b["function"] == "store"]
            self.assertEqual([b["count"] for b in blocks], [18], "store is one block")
        elif which == "jump":
            self.expect_calls(profile, {("jump", "thrown"): 100})
