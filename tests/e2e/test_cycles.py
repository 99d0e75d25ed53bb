#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where the cycles of a run went: nothing is lost, causes are what the code is made for, executions are those that were counted, and what other
ways of sampling say is held against it."""
import collections
import os

import lib
from lib import E2E, program

PARTS = 720720


def stats(profile):
    """What the cycles profiler says of the whole run, by name."""
    return dict(profile.query("SELECT name, value FROM model_stat WHERE part LIKE 'cycles %'"))


def parts(profile):
    """Parts of cycles: {(function, cause): parts}."""
    return collections.Counter({(function, cause): sum_ for function, cause, sum_ in profile.query(
        "SELECT f.name, c.name, sum(x.parts) FROM insn_cycles x JOIN insn i ON i.id = x.insn"
        " JOIN cause c ON c.id = x.cause LEFT JOIN function f ON f.id = i.function GROUP BY 1, 2")})


def weights(profile, scheme):
    """Weight by instruction: {id: weight}."""
    if scheme == "exact":
        return collections.Counter(dict(profile.query(
            "SELECT insn, sum(parts) FROM insn_cycles GROUP BY insn")))
    return collections.Counter(dict(profile.query(
        "SELECT a.insn, a.weight FROM attribution a JOIN string s ON s.id = a.scheme WHERE s.text = ?",
        scheme)))


def overlap(first, second):
    """Percent of the weight that is with the same instruction."""
    a, b = sum(first.values()), sum(second.values())
    return 100 * sum(min(first[key] / a, second[key] / b) for key in first)


class Cycles(E2E):
    def measure(self, *command, machine="vaswani", options=(), **others):
        return self.record(*command, options=("--profile", "exact,cycles", "--machine", machine,
                                              "--windows", "all", *options), **others)

    def check_sums(self, profile):
        """Every cycle is somebody's, once."""
        total, causes = stats(profile), collections.Counter()
        for (_, cause), part in parts(profile).items():
            causes[cause] += part
        self.assertEqual(sum(causes.values()), total["cycles"] * PARTS)
        for cause in [name for name, in profile.query("SELECT name FROM cause")]:
            self.assertEqual(total["cycles." + cause] * PARTS, causes[cause], cause)
        self.assertEqual(total["instructions"], profile.instructions)
        self.assertEqual(total["fetched"],
                         total["instructions"] + total["wrong_path"] + total["trapped"])
        return total

    def test_causes_are_what_the_code_is_made_for(self):
        expected = {
            "vaswani": {"chase": "memory", "divide": "execute", "straight": "retire",
                        "wide": "l1i", "alone": "serial"},
            "modern": {"chase": "l3", "branchy": "mispredict", "divide": "execute",
                       "straight": "retire", "partial": "blocked", "wide": "l1i", "alone": "serial"},
            "alpha21264": {"chase": "l2", "divide": "execute", "straight": "retire",
                           "partial": "blocked", "wide": "l1i", "alone": "serial"},
            "arm9": {"chase": "memory", "divide": "execute", "straight": "retire", "wide": "l1i"},
        }
        for machine, functions in expected.items():
            with self.subTest(machine=machine):
                profile = self.measure(program("stalls"), machine=machine)
                self.check_sums(profile)
                found = parts(profile)
                for function, cause in functions.items():
                    all_ = sum(n for (name, _), n in found.items() if name == function)
                    self.assertGreater(found[function, cause], 0.45 * all_, (function, cause))

    def test_executions_are_those_that_were_counted(self):
        """What retires is what was run: instruction by instruction as often as its blocks."""
        for name in ("sort", "flow", "stalls"):
            with self.subTest(name=name):
                profile = self.measure(program(name))
                counted = collections.Counter()
                insns = profile.query(
                    "SELECT i.id, i.module, i.offset, t.retired FROM insn i JOIN insn_tally t ON"
                    " t.insn = i.id JOIN string s ON s.id = t.seen WHERE s.text = 'exact'")
                for module, start, size, count in profile.query(
                        "SELECT b.module, b.offset, b.size, sum(c.count) FROM block b JOIN"
                        " block_count c ON c.block = b.id GROUP BY b.id"):
                    for id_, at_module, at, _ in insns:
                        if at_module == module and start <= at < start + size:
                            counted[id_] += count
                for id_, _, at, retired in insns:
                    self.assertEqual(retired, counted[id_], hex(at))
                self.assertGreater(len(insns), 10)

    def test_a_run_is_repeatable(self):
        tables = ("insn_cycles", "attribution", "insn_wait", "insn_tally", "model_stat")
        runs = [self.measure(program("sort"), name="%d.hotpath" % i) for i in range(2)]
        for table in tables:
            rows = [run.query("SELECT * FROM %s" % table) for run in runs]
            self.assertEqual(rows[0], rows[1], table)
            self.assertGreater(len(rows[0]), 0, table)

    def test_other_ways_to_attribute(self):
        profile = self.measure(program("stalls"))
        total, exact = stats(profile), weights(profile, "exact")
        for scheme in ("dispatch", "next", "profileme"):
            agreement = overlap(exact, weights(profile, scheme))
            self.assertAlmostEqual(total[scheme + ".instruction_overlap"] / 1000, agreement, 2)
            self.assertLess(agreement, 99.9)
        # Every cycle goes to one that retires; of dispatch those before what was aborted are lost.
        self.assertEqual(sum(weights(profile, "next").values()), total["cycles"])
        self.assertLess(sum(weights(profile, "dispatch").values()), total["cycles"])
        # A chain of loads from memory: the one that waits is the one that retires next, not the one that is mapped.
        self.assertGreater(total["next.instruction_overlap"], 90000)
        self.assertLess(total["dispatch.instruction_overlap"], 50000)

    def test_loads_are_waited_for(self):
        """In the chain, each load waits for the one before it; and the division for the one before it."""
        profile = self.measure(program("stalls"))
        rows = profile.query(
            "SELECT f.name, s.text, p.text, w.count, w.cycles FROM insn_wait w JOIN insn i ON"
            " i.id = w.insn JOIN insn j ON j.id = w.producer JOIN function f ON f.id = i.function"
            " JOIN string s ON s.id = i.text JOIN string p ON p.id = j.text")
        waits = {(function, insn, producer): (count, cycles)
                 for function, insn, producer, count, cycles in rows}
        count, cycles = waits["chase", "mov rdi, [rdi]", "mov rdi, [rdi]"]
        self.assertGreater(count, 9000)
        # Full, the reorder buffer holds some forty of them: each waits for all before it.
        self.assertGreater(cycles / count, 1000)
        for insn, producer in (("or eax, 0x1000", "div r8d"), ("div r8d", "or eax, 0x1000")):
            count, cycles = waits["divide", insn, producer]
            self.assertGreater(count, 9000)
            self.assertGreater(cycles / count, 20)

    def test_windows_add_up(self):
        profile = self.record(program("stalls"), options=(
            "--profile", "cycles", "--machine", "vaswani", "--windows",
            "period=50000,detail=5000,ramp=500"))
        total = stats(profile)
        rows = profile.query("SELECT at, instructions, cycles FROM cycle_window ORDER BY at")
        self.assertGreater(len(rows), 10)
        self.assertEqual(sum(row[1] for row in rows), total["instructions"])
        self.assertLessEqual(abs(sum(row[2] for row in rows) - total["cycles"]), len(rows))
        for at, instructions, cycles in rows:
            self.assertGreater(at, 0)
            self.assertGreater(instructions, 4000)
            self.assertGreater(cycles, instructions // 4)

    def test_threads(self):
        """Counters are those of all threads together."""
        profile = self.measure(program("threads"), machine="modern")
        self.check_sums(profile)


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("skipped: the native engine runs x86-64 programs")
        raise SystemExit(77)
    lib.main()
