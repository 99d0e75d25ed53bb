#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instruction counts equal valgrind's, to the last instruction.

The programs have no C library and no start-up code that looks at the processor, so the simulated
processors cannot matter. Two witnesses:

- lackey counts every instruction. With --vex-guest-chase=no: otherwise its translator runs the
  second half of `a && b` ahead of the branch between them, and lackey counts it whether or not the
  program would have got there.
- callgrind counts instructions by address. It adds a block up when the next one starts, so the last
  one, which ends with the exit, is missing once.

A string instruction with REP is one instruction for hotpath and the processor's own counter;
valgrind shows one a round, reconciled below.
"""
import collections
import re

import lib
from lib import E2E, program, run

lib.need("valgrind", "nm")

PROGRAMS = ("sieve", "matrix", "hash", "sort", "crc", "queens", "machine", "mix", "flow", "straight",
            "pages", "selfmod", "clones")
LARGE = 50_000_000  # at least one program runs more instructions than this


def valgrind(tool, name, *options):
    result = run(["valgrind", "--vex-guest-chase=no", "--tool=" + tool, *options, program(name)])
    if result.returncode != 0:
        raise AssertionError("valgrind failed on %s: %s" % (name, result.stderr))
    return result.stderr


def lackey(name):
    """Instructions executed."""
    return int(re.search(r"guest instrs:\s+([\d,]+)", valgrind("lackey", name))[1].replace(",", ""))


def callgrind(name, path):
    """Executions by instruction address."""
    valgrind("callgrind", name, "--dump-instr=yes", "--compress-strings=no", "--compress-pos=no",
             "--callgrind-out-file=" + path)
    counts = collections.Counter()
    skip = False
    with open(path, encoding="utf-8") as text:
        for line in text:
            if line.startswith("calls="):
                skip = True  # the next line is what the callee spent
            elif line.startswith("0x"):
                address, _, count = line.split()
                if not skip:
                    counts[int(address, 16)] += int(count)
                skip = False
    return counts


class Valgrind(E2E):
    def test_lackey(self):
        totals = {}
        for name in PROGRAMS:
            with self.subTest(program=name):
                totals[name] = self.record(program(name)).instructions
                self.assertEqual(totals[name], lackey(name))
        self.assertGreater(max(totals.values()), LARGE)

    def test_callgrind(self):
        for name in PROGRAMS:
            # callgrind has no instructions of code that was replaced, and misses a last block a
            # thread
            if name not in ("selfmod", "clones"):
                with self.subTest(program=name):
                    self.compare(name)

    def compare(self, name):
        profile = self.record(program(name))
        theirs = callgrind(name, self.path("callgrind.out"))
        start = next(f for f in profile.json["functions"] if f["name"] == "_start")
        base = lib.symbols(program(name))["_start"] - int(start["address"].rsplit("+", 1)[1], 16)
        theirs = {address - base: count for address, count in theirs.items()}
        last, last_insns = self.last_block(name, profile)

        self.assertEqual(sum(theirs.values()), profile.instructions - last_insns)
        ours = self.by_address(profile, theirs, last)
        self.assertEqual(ours, theirs, "executions by address")
        for first, size, function, self_count in profile.query(
                "SELECT f.offset, f.size, f.name, sum(c.self) FROM function f JOIN function_count c"
                " ON c.function = f.id GROUP BY f.id"):
            inside = sum(n for address, n in theirs.items() if first <= address < first + size)
            missing = last_insns if first <= last < first + size else 0
            self.assertEqual(self_count - missing, inside, "instructions of " + function)

    def by_address(self, profile, addresses, last):
        """Our executions of the instructions at `addresses`, without the last block's last one."""
        changes = collections.Counter()
        for offset, size, count in profile.query(
                "SELECT b.offset, b.size, sum(c.count) FROM block b JOIN block_count c"
                " ON c.block = b.id GROUP BY b.id"):
            changes[offset] += count - (offset == last)
            changes[offset + size] -= count - (offset == last)
        counts, sum_, places = {}, 0, sorted(changes)
        for address in sorted(addresses):
            while places and places[0] <= address:
                sum_ += changes[places.pop(0)]
            counts[address] = sum_
        return counts

    def last_block(self, name, profile):
        """Offset and instructions of the block that was run last, as the trace tells it."""
        before = profile.json["summary"]["block_executions"] - 1
        dump = self.hotpath("trace", "dump", self.trace(program(name)), "--skip", before)
        blocks = re.findall(r"\+0x([0-9a-f]+)\s+(\d+) insns", dump.stdout)
        self.assertEqual(len(blocks), 1, dump.stdout)
        return int(blocks[0][0], 16), int(blocks[0][1])


class Rep(E2E):
    def test_rounds_of_rep(self):
        """Valgrind shows an instruction with REP once a round, and once more to find the count used
        up; so beyond ours it has the rounds of those that run to their end, and one less of those
        that stop early. In each of the 20 calls:"""
        to_the_end = (0, 1, 1000, 100, 64, 64, 40000) + 10 * (3,)
        early = (1, 801)  # compare, scan
        beyond = 20 * (sum(to_the_end) + sum(n - 1 for n in early))
        self.assertEqual(lackey("rep") - self.record(program("rep")).instructions, beyond)


if __name__ == "__main__":
    lib.main()
