#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regions (--after, --for, --from): parts of a run that add up to the whole, live and by replay."""
import collections
import json

from util_cli import Case, function, main, notes, without_times

# Static, without system libraries that look at the machine: the same instructions every time.
PROGRAM = r"""
#include <stdlib.h>
volatile unsigned sink;
void setup(void) { for (unsigned i = 0; i < 100; i++) sink += 3 * i; }
void small(unsigned n) { for (unsigned i = 0; i < n; i++) if (i % 3) sink += i; else sink ^= i; }
unsigned deep(unsigned n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
void late(void) { sink++; }
int main(void)
{
    setup();
    for (unsigned i = 0; i < 200; i++)
        small(i);
    sink += deep(14);
    late();
    return 0;
}
"""


def counts(profile):
    """What adds up over the parts of a run: executions of blocks. (A function may be entered in one
    part and left in the next.)"""
    result = collections.Counter()
    for row in profile["blocks"]:
        result[row["address"], row["size"]] += row["count"]
    return result


class Regions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build("program", PROGRAM, "-static")
        cls.argv = [cls.program]

    def setUp(self):
        super().setUp()
        self.trace = self.path("trace")
        status, _, err = self.hotpath("trace", "record", "-q", "-o", self.trace, "--", *self.argv)
        self.assertEqual((status, err), (0, b""))

    def live(self, *options):
        status, out, err, profile = self.profile(self.argv, *options)
        self.assertEqual((status, out, err), (0, b"", b""))
        return profile

    def replay(self, *options):
        return json.loads(self.good("trace", "replay", "--json", self.trace, *options))

    def both(self, *options):
        """The profile of a region; live and replay agree on all of it."""
        live, replayed = self.live(*options), self.replay(*options)
        for profile in (live, replayed):
            del profile["run"]
            for named in profile["threads"] + profile["processes"]:  # traces have no names
                for key in ("pid", "tid", "name", "command"):
                    named.pop(key, None)
        self.assertEqual(without_times(replayed), without_times(live))
        return live

    def instructions(self, profile):
        return profile["summary"]["instructions"]

    def test_program_is_deterministic(self):
        self.assertEqual(self.both(), self.both())

    def check_parts(self, step, *options, whole_options=()):
        """Consecutive parts of `step` instructions add up to the whole, block by block."""
        whole, total = self.replay(*whole_options), collections.Counter()
        length, at, parts = self.instructions(whole), 0, []
        while at < length:
            part = self.replay("--after", str(at), "--for", str(step), *options)
            parts.append(self.instructions(part))
            total += counts(part)
            at += step
        self.assertEqual(sum(parts), length)
        self.assertEqual(total, counts(whole))
        self.assertGreater(len(parts), 3)
        # Blocks are not divided, so a part is off by less than a block at each end.
        for part in parts[:-1]:
            self.assertLess(abs(part - step), 60, parts)

    def test_parts_add_up(self):
        for step in (2500, 10007, 30000):
            self.check_parts(step)

    def test_parts_from_main_add_up(self):
        self.check_parts(9001, "--from", "main", whole_options=("--from", "main"))

    def test_live_parts_add_up(self):
        whole, total, at = self.live(), collections.Counter(), 0
        step = self.instructions(whole) // 3 + 1
        while at < self.instructions(whole):
            total += counts(self.both("--after", str(at), "--for", str(step)))
            at += step
        self.assertEqual(total, counts(whole))

    def test_before_and_after_add_up(self):
        whole = self.both()
        for n in (1, 1000, 12345, self.instructions(whole) - 1):
            before, after = self.both("--for", str(n)), self.both("--after", str(n))
            self.assertEqual(counts(before) + counts(after), counts(whole), n)
            self.assertGreaterEqual(self.instructions(before), n)
            self.assertLess(self.instructions(before), n + 60)

    def test_everything(self):
        whole = counts(self.both())
        self.assertEqual(counts(self.both("--for", "1G")), whole)
        self.assertEqual(counts(self.both("--after", "0")), whole)

    def test_from_main(self):
        whole, profile = self.both(), self.both("--from", "main")
        self.assertIsNone(function(profile, "_start"))
        self.assertEqual(function(profile, "main")["self"], function(whole, "main")["self"])
        for name in ("setup", "small", "deep", "late"):
            self.assertEqual(function(profile, name), {**function(whole, name),
                                                       "share": function(profile, name)["share"]})
        first = self.both("--from", "main", "--for", "1")
        self.assertEqual([row["name"] for row in first["functions"] if row["self"]], ["main"])
        self.assertEqual(len(first["blocks"]), 1)

    def test_from_a_function_in_the_middle(self):
        profile = self.both("--from", "deep")
        self.assertIsNone(function(profile, "setup"))
        self.assertIsNone(function(profile, "small"))
        self.assertEqual(function(profile, "deep")["self"],
                         function(self.both(), "deep")["self"])

    def test_from_and_after_and_for(self):
        whole = self.both("--from", "small")
        head = self.both("--from", "small", "--for", "5000")
        middle = self.both("--from", "small", "--after", "5000", "--for", "7000")
        tail = self.both("--from", "small", "--after", "12000")
        self.assertEqual(counts(head) + counts(middle) + counts(tail), counts(whole))
        self.assertEqual({row["name"] for row in middle["functions"]} - {"small", "main"}, set())

    def test_from_is_the_first_entry(self):
        """Not the second: all 200 calls are in it."""
        self.assertEqual(sum(row["count"] for row in self.both("--from", "small")["calls"]
                             if row["callee"] == "small" and row["caller"] == "main"), 199)
        self.assertEqual(function(self.both("--from", "small"), "small")["self"],
                         function(self.both(), "small")["self"])

    def empty(self, *options):
        profile = self.both(*options)
        self.assertEqual(self.instructions(profile), 0)
        for table in ("functions", "blocks", "edges", "calls", "lines"):
            self.assertEqual(profile[table], [], table)
        self.assertEqual(len(notes(profile, "region")), 1)

    def test_never_reached(self):
        self.empty("--from", "no_such_function")
        self.empty("--after", "10G")
        self.empty("--from", "late", "--after", "1M")

    def test_never_reached_is_said(self):
        status, _, err = self.hotpath("run", "--from", "no_such_function", "--", *self.argv)
        self.assertEqual(status, 0)
        self.assertIn("before the region", err.decode())

    def test_reached_is_not_noted(self):
        self.assertEqual(notes(self.both("--from", "main"), "region"), [])

    def test_program_goes_on_after_the_region(self):
        marker = self.path("marker")
        status, out, err, profile = self.profile(
            ["/bin/sh", "-c", f"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; > {marker}; exit 3"],
            "--for", "1000")
        self.assertEqual((status, out, err), (3, b"", b""))
        self.assertEqual(self.read("marker"), b"")
        self.assertLess(self.instructions(profile), 1060)


if __name__ == "__main__":
    main()
