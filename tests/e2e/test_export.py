#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pipeline logs, read back by parsers of their own: every instruction is there once, its stages are in order, and what they say is what the
machine in cycles says of the same part of the run."""
import collections
import os
import re

import lib
from lib import E2E, Profile, program

STAGES = "FMQRXD"
TICKS = 1000
O3 = ("fetch", "decode", "rename", "dispatch", "issue", "complete", "retire")


class Insn:
    """An instruction of a log: cycles by stage; `left`, and whether it retired."""

    def __init__(self, fetched):
        self.fetched, self.left, self.retired = fetched, None, None
        self.label, self.tooltip, self.address = "", "", None
        self.stages, self.stalls, self.producers = [], [], []


def read_kanata(path):
    """The instructions of a Kanata log by id. Strict: what is not in the format is an error."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    assert lines[0] == "Kanata\t0004", lines[0]
    assert lines.pop() == "", "the last line is cut off"
    insns, alive, cycle, retired = {}, {}, None, 0
    for line in lines[1:]:
        what, *fields = line.split("\t")
        if what == "C=":
            assert cycle is None, "two beginnings"
            cycle = int(fields[0])
            continue
        if what == "C":
            assert int(fields[0]) > 0, line
            cycle += int(fields[0])
            continue
        number = int(fields[0])
        if what == "I":
            assert number == len(insns), line
            insns[number] = alive[number] = Insn(cycle)
            insns[number].thread = int(fields[2])
            continue
        insn = alive[number]  # nothing comes before I or after R
        if what == "L":
            kind, text = int(fields[1]), fields[2]
            if kind == 0:
                insn.label += text
            else:
                assert kind == 1
                insn.tooltip += text.replace("\\n", "\n")
        elif what == "S":
            lane = {"0": insn.stages, "1": insn.stalls}[fields[1]]
            if lane and lane[-1][2] is None:
                lane[-1][2] = cycle
            lane.append([fields[2], cycle, None])
        elif what == "E":
            lane = {"0": insn.stages, "1": insn.stalls}[fields[1]]
            assert lane[-1][0] == fields[2] and lane[-1][2] is None, line
            lane[-1][2] = cycle
        elif what == "W":
            assert int(fields[1]) in insns and fields[2] == "0", line
            insn.producers.append(int(fields[1]))
        elif what == "R":
            insn.left, insn.retired = cycle, fields[2] == "0"
            assert int(fields[1]) == retired, line
            retired += insn.retired
            for lane in (insn.stages, insn.stalls):
                if lane and lane[-1][2] is None:
                    lane[-1][2] = cycle
            del alive[number]
        else:
            raise AssertionError(line)
    assert not alive, "instructions that never left"
    for insn in insns.values():
        insn.address = int(insn.label.split(":")[0], 16)
    return insns


def read_o3(path):
    """The instructions of an O3PipeView log: {sequence number: ({stage: tick}, address, text)}."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert len(lines) % 7 == 0, len(lines)
    insns = {}
    for at in range(0, len(lines), 7):
        ticks = {}
        for stage, line in zip(O3, lines[at:at + 7]):
            fields = line.split(":", 6 if stage == "fetch" else -1)
            assert fields[:2] == ["O3PipeView", stage], line
            ticks[stage] = int(fields[2])
            if stage == "fetch":
                address, micro, number, text = int(fields[3], 16), fields[4], int(fields[5]), fields[6]
            if stage == "retire":
                assert fields[3] == "store" and len(fields) == 5, line
                ticks["store"] = int(fields[4])
        assert micro == "0" and number not in insns
        insns[number] = (ticks, address, text)
    return insns


class Export(E2E):
    def export(self, form, *source, options=(), name="log", status=0):
        path = self.path(name)
        result = self.hotpath("export", "--format", form, "-o", path, *options, *source,
                              status=status)
        self.said = result.stderr
        return path

    def stats(self, *command, options=()):
        """What the cycles profiler says of the same part of the run."""
        profile = self.record(*command, options=("--profile", "exact,cycles", *options))
        found = {row["name"]: row["value"] for row in profile.json["machine"]
                 if row["part"].startswith("cycles ")}
        return found, profile

    def check_kanata(self, insns):
        """Stages in order, without gaps; retired in order; producers before their consumers."""
        last = 0
        for number, insn in insns.items():
            names = [stage[0] for stage in insn.stages]
            self.assertEqual(names, sorted(names, key=STAGES.index), number)
            self.assertEqual(len(names), len(set(names)), number)
            self.assertEqual(names[0], "F")
            self.assertEqual(insn.stages[0][1], insn.fetched)
            for before, after in zip(insn.stages, insn.stages[1:]):
                self.assertEqual(before[2], after[1], number)
                self.assertLess(before[1], before[2], number)
            self.assertEqual(insn.stages[-1][2], insn.left, number)
            for stall, start, end in insn.stalls:
                self.assertIn(stall, ("rob", "iq", "mq", "reg", "ser"))
                self.assertTrue(insn.fetched <= start < end <= insn.left)
            if insn.retired:
                self.assertIn("M", names)
                self.assertGreaterEqual(insn.left, last)
                last = insn.left
            for producer in insn.producers:
                made, used = insns[producer], dict((s[0], s[1:]) for s in insn.stages)
                self.assertLess(producer, number)
                executed = dict((s[0], s[1:]) for s in made.stages)["X"]
                self.assertLess(executed[0], used["X"][0], number)
                # It was waited for: the consumer was mapped before the producer had its result.
                self.assertLess(used["M"][0], executed[1], number)

    def check_same(self, kanata, o3):
        """Both formats say the same."""
        self.assertEqual(len(kanata), len(o3))
        for number, insn in kanata.items():
            ticks, address, _ = o3[number + 1]
            self.assertEqual(address, insn.address)
            self.assertEqual(ticks["fetch"], (insn.fetched + 1) * TICKS)
            self.assertEqual(ticks["retire"] != 0, insn.retired)
            if insn.retired:
                self.assertEqual(ticks["retire"], (insn.left + 1) * TICKS)
                reached = [ticks[stage] for stage in O3]
                self.assertEqual(reached, sorted(reached))
            self.assertIn(ticks["store"], (0, ticks["retire"]))
            stages = {stage[0]: stage[1] for stage in insn.stages}
            for stage, name in (("M", "rename"), ("X", "issue"), ("D", "complete")):
                if stage in stages:
                    self.assertEqual(ticks[name], (stages[stage] + 1) * TICKS, number)

    def test_logs_are_what_the_machine_says(self):
        for name, machine, region in (
                ("sort", "modern", ()), ("hash", "vaswani", ("--after", "50000", "--for", "3000")),
                ("queens", "alpha21264", ("--for", "5000")), ("matrix", "arm9", ("--for", "2500")),
                ("mix", "modern", ("--after", "20000", "--for", "4000"))):
            with self.subTest(program=name, machine=machine):
                options = ("--machine", machine, *region)
                window = options if "--for" in region else (*options, "--for", "10000")
                said, profile = self.stats(program(name), options=window)
                kanata = read_kanata(self.export("kanata", "--", program(name), options=options))
                self.check_kanata(kanata)
                self.check_same(kanata, read_o3(self.export("o3", "--", program(name),
                                                            options=options)))
                retired = [insn for insn in kanata.values() if insn.retired]
                self.assertEqual(len(kanata), said["fetched"])
                self.assertEqual(len(retired), said["instructions"])
                self.assertEqual(len(retired), profile.instructions)
                self.assertEqual(len(kanata) - len(retired), said["wrong_path"] + said["trapped"])
                cycles = retired[-1].left - min(i.fetched for i in kanata.values()) + 1
                self.assertEqual(cycles, said["cycles"])
                self.assertIn("%d of %d instructions written to " % (len(kanata), len(kanata)), self.said)
                self.assertIn(": %d retired, in %d cycles" % (len(retired), cycles), self.said)
                self.check_executions(program(name), retired, profile)

    def check_executions(self, path, retired, profile):
        """Every instruction retired as often as the blocks that it is in were executed."""
        symbols = lib.symbols(path)
        known = next(f for f in profile.json["functions"] if f["name"] in symbols)  # not inlined
        base = symbols[known["name"]] - int(known["address"].split("+")[1], 16)
        blocks = profile.query("SELECT b.offset, b.size, sum(c.count) FROM block b"
                               " JOIN block_count c ON c.block = b.id GROUP BY b.id")
        counts = collections.Counter(insn.address - base for insn in retired)
        for at, count in counts.items():
            self.assertEqual(count, sum(n for start, size, n in blocks if start <= at < start + size),
                             hex(at))

    def test_traces_give_the_same_log(self):
        trace = self.trace(program("sort"), options=("--addresses",))
        for form in ("kanata", "o3"):
            with self.subTest(format=form):
                live = self.export(form, "--", program("sort"), options=("--after", "30000"))
                again = self.export(form, trace, options=("--after", "30000"), name="again")
                with open(live, "rb") as a, open(again, "rb") as b:
                    self.assertEqual(a.read(), b.read())
                out = self.hotpath("export", "-q", "-f", form, trace, "--after", "30000").stdout
                with open(live, encoding="utf-8") as a:
                    self.assertEqual(a.read(), out)

    def test_labels(self):
        insns = read_kanata(self.export("kanata", "--", program("sort"),
                                        options=("--from", "main", "--for", "500")))
        first = insns[0]
        self.assertRegex(first.label, r"^[0-9a-f]+: [a-z]")
        self.assertRegex(first.tooltip, r"^main\+0x0, sort\.c:\d+\n")
        events = " ".join(insn.tooltip for insn in insns.values())
        self.assertIn("L1I miss", events)
        self.assertRegex(events, r"data at 0x[0-9a-f]+")

    def test_wrong_paths_are_flushed(self):
        insns = read_kanata(self.export("kanata", "--", program("sort"),
                                        options=("--after", "100000", "--for", "5000")))
        flushed = [insn for insn in insns.values() if not insn.retired]
        self.assertGreater(len(flushed), 100)
        self.assertTrue(all("wrong path" in i.tooltip or "trapped" in i.tooltip for i in flushed))
        self.assertTrue(any("mispredicted" in i.tooltip for i in insns.values()))

    def test_one_thread(self):
        insns = read_kanata(self.export("kanata", "--", program("threads"), "4",
                                        options=("--for", "0")))
        self.assertEqual({insn.thread for insn in insns.values()}, {0})
        self.assertIn("other threads", self.said)
        other = read_kanata(self.export("kanata", "--", program("threads"), "4",
                                        options=("--for", "0", "--thread", "2")))
        self.assertEqual({insn.thread for insn in other.values()}, {2})

    def test_without_addresses(self):
        trace = self.trace(program("sort"))
        insns = read_kanata(self.export("kanata", trace))
        self.assertGreater(len(insns), 9999)
        self.assertIn("no accesses to data", self.said)

    def test_statuses(self):
        def refused(words, *args, status=125):
            result = self.hotpath("export", *args, status=status)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            for word in words:
                self.assertIn(word, result.stderr)
            self.assertFalse(os.path.exists(self.path("no")))

        sort, out = program("sort"), self.path("no")
        refused(["no format", "kanata", "o3"], "-o", out, "--", sort)
        refused(["'pdf'", "kanata"], "-f", "pdf", "-o", out, "--", sort)
        refused(["-o FILE"], "-f", "o3", "--", sort)
        refused(["neither a trace nor a program"], "-f", "o3", "-o", out)
        refused(["one file"], "-f", "o3", "-o", out, "a", "b")
        refused(["one file"], "-f", "o3", "-o", out, "a", "--", sort)
        refused(["no-such-machine"], "-f", "o3", "-o", out, "-m", "no-such-machine", "--", sort)
        refused(["not a hotpath trace"], "-f", "o3", "-o", out, sort)
        refused(["no-such-program"], "-f", "o3", "-o", out, "--", "no-such-program", status=127)
        self.hotpath("export", "-q", "-f", "o3", "-o", out, "--", "sh", "-c", "exit 3", status=3)
        self.assertTrue(os.path.exists(out))

    def test_help_lists_the_formats(self):
        text = self.hotpath("export", "--help").stdout
        for form in ("kanata", "o3"):
            self.assertRegex(text, r"(?m)^  %s " % re.escape(form))


if __name__ == "__main__":
    lib.main()
