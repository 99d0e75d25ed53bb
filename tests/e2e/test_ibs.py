#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples of instructions of AMD's IBS. Files are ProfileMe's samples of a machine, written in that form by `export --format ibs`: perf shows their
registers, and read back they are what ProfileMe said, as far as the hardware would have known it."""
import json
import shutil
import sqlite3
import struct
import subprocess
import unittest

import util_cli
from util_cli import FAILED, tool
from test_import import Import, Recording, SAMPLE, kind, record
from test_export_perf import WORK

INTERVAL = 300
REGISTERS = ("ctl", "rip", "data", "data2", "data3", "linaddr", "physaddr", "brtarget")
RAW = 44  # of a sample: behind header, ip, pid, tid, time, period and size
EVENTS = 12  # the bit of a feature: EVENT_DESC
PMUS = 16

# What ProfileMe says, with what IBS would not know left out or merged.
TALLIES = """SELECT m.path, i.offset, x.text, f.name, y.text, i.line, t.retired, %s, t.retire_cycles, t.retire_squares,
    t.l1d, t.l2, t.dtlb, t.taken, t.mispredicted FROM insn_tally t JOIN insn i ON i.id = t.insn JOIN module m ON m.id = i.module
    JOIN string s ON s.id = t.seen LEFT JOIN function f ON f.id = i.function
    JOIN string x ON x.id = i.text JOIN string y ON y.id = i.file WHERE s.text LIKE '%s%%' AND t.retired > 0 AND m.path <> '[vdso]' ORDER BY 1, 2"""


def registers(sample):
    """Of a sample, by name."""
    return dict(zip(REGISTERS, struct.unpack_from("<8Q", sample, RAW + 4)))


class Ibs(Import):
    def samples(self):
        """A file, and the profile of the same sampler."""
        if "ibs" not in self.built:
            program = self.program("work", WORK)
            trace, data, profile = program + ".timed", program + ".ibs", program + ".sampled"
            self.good("trace", "record", "-q", "--addresses", "-o", trace, "--", program)
            self.good("export", "-q", "--format", "ibs,interval=%d" % INTERVAL, "--machine", "modern", "-o", data, trace)
            self.good("trace", "replay", "--profile", "instructions", "--sample", "profileme,interval=%d" % INTERVAL,
                      "--machine", "modern", "-o", profile, trace)
            self.built["ibs"] = data, profile
        return self.built["ibs"]

    def text(self, *words):
        return self.good(*words).decode()

    def whole(self):
        with open(self.samples()[0], "rb") as file:
            return Recording(file.read())

    def tallies(self, profile, seen="ibs-op,", cycles="t.execute_cycles"):
        return self.query(profile, TALLIES % (cycles, seen))

    def imported(self, data, *options):
        return self.take(self.write("ibs.data", data), *options)


class RoundTrip(Ibs):
    def test_estimates(self):
        """Instruction by instruction: executions, cycles, misses, branches; with text, function and line."""
        data, profile = self.samples()
        wanted = self.tallies(profile, "profileme", "t.operands_cycles + t.issue_cycles + t.execute_cycles")
        found = self.tallies(self.take(data))
        self.assertEqual(found, wanted)
        self.assertGreater(len(found), 200)

    def test_views(self):
        """The machine's views, with intervals, by instruction, line and function."""
        profile = self.take(self.samples()[0])
        rows = json.loads(self.good("report", "--json", profile, "instructions"))["instructions"]
        first = rows[0]
        self.assertEqual(first["seen"], "ibs-op,interval=%d" % INTERVAL)
        self.assertEqual(sorted(first["latency"]), ["execute", "load", "retire"])
        self.assertEqual([first[key] for key in ("fetched", "wrong_path", "trapped")], [None] * 3)
        e = first["estimates"]["retired"]
        self.assertTrue(e["low"] < e["value"] < e["high"])
        self.assertNotIn("wrong_path", first["estimates"])
        for by in ("function", "line", "instruction"):
            rows = json.loads(self.good("report", "--json", "--by", by, profile, "cpi"))["cpi"]
            run, parts = rows[0], rows[1:]
            self.assertAlmostEqual(sum(row["cycles"] for row in parts), run["cycles"], delta=1)
            self.assertEqual(sum(row["instructions"] for row in parts), run["instructions"])
            self.assertGreater(parts[0]["estimates"]["cycles"]["high"], parts[0]["cycles"])
        text = self.text("report", profile, "instructions", "--top", "3")
        self.assertIn("cycles are from dispatch to completion", text)
        self.assertNotIn("operands", text)
        self.assertIn("every %d ops" % INTERVAL, self.text("report", profile, "sampling"))
        self.assertRegex(self.text("annotate", profile, "mixed"), r"-/-/-/\d")

    def test_said(self):
        """What the hardware does not know is a note."""
        notes = self.query(self.take(self.samples()[0]), "SELECT text FROM note WHERE kind = 'hardware'")
        self.assertEqual(len(notes), 1)
        self.assertIn("wrong paths", notes[0][0])

    def test_perf(self):
        """perf prints the registers that were written."""
        data = self.samples()[0]
        out = subprocess.run([tool("perf"), "script", "-D", "-i", data], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
        shown = [int(line.split("\t")[1].split()[0], 16) for line in out.splitlines() if line.startswith("ibs_op_data:")]
        self.assertEqual(sorted(shown), sorted(registers(r)["data"] for r in self.whole().records if kind(r) == SAMPLE))
        self.assertIn("CntCtl 1=uOps", out)
        self.assertRegex(out, r"LdOp 1 StOp 0 .*DcMiss 1 .*DcMissLat +[1-9]")

    def test_loops(self):
        """Loops are those of another profile of the program."""
        loops = self.path("loops.hotpath")
        self.good("record", "-q", "--profile", "counts,loops", "-o", loops, "--", self.program("work", WORK))
        both = self.path("both.hotpath")
        self.good("merge", "-o", both, self.take(self.samples()[0]), loops)
        rows = json.loads(self.good("report", "--json", "--by", "loop", both, "cpi"))["cpi"]
        self.assertTrue(any(row["by"] == "loop" and row["address"] and row["estimates"] for row in rows))


class Files(Ibs):
    def setUp(self):
        super().setUp()
        self.wanted = self.tallies(self.take(self.samples()[0]))

    def change(self, change, data=None):
        """The file with the registers of each sample changed."""
        whole = data or self.whole()
        records = []
        for one in whole.records:
            if kind(one) == SAMPLE:
                values = change(registers(one))
                one = one[:RAW + 4] + struct.pack("<8Q", *[values[name] for name in REGISTERS])
            records.append(one)
        return records

    def test_forms(self):
        """As written to a pipe, and with the mappings first."""
        whole = self.whole()
        self.assertEqual(self.tallies(self.imported(whole.pipe())), self.wanted)
        samples = [r for r in whole.records if kind(r) == SAMPLE]
        others = [r for r in whole.records if kind(r) != SAMPLE]
        self.assertEqual(self.tallies(self.imported(whole.file(others + samples))), self.wanted)

    def test_named(self):
        """Without the processor's parts, the event's name tells what it is."""
        whole = self.whole()
        del whole.sections[PMUS]
        whole.features &= ~(1 << PMUS)
        self.assertEqual(self.tallies(self.imported(whole.file())), self.wanted)

    def test_places(self):
        """An address that is not known, or of the kernel, is no instruction's."""
        profile = self.imported(self.whole().file(self.change(lambda r: dict(r, data=r["data"] | 1 << 38))))
        self.assertEqual(self.tallies(profile), [])
        n = self.stats(profile)["instructions not known"]
        profile = self.imported(self.whole().file(self.change(lambda r: dict(r, rip=r["rip"] | 0xffff << 48))))
        self.assertEqual(self.stats(profile)["in the kernel"], n)
        profile = self.imported(self.whole().file(self.change(lambda r: dict(r, rip=0x1234))))
        self.assertEqual(self.stats(profile)["samples in unknown code"], n)
        profile = self.imported(self.whole().file(self.change(lambda r: dict(r, ctl=0))))
        self.assertEqual(self.stats(profile)["damaged records"], n)

    def test_cycles(self):
        """Where cycles were counted between samples, executions are not known; shares are of samples."""
        whole = self.whole()
        attr = bytearray(whole.attr)
        struct.pack_into("<Q", attr, 8, 0)
        profile = self.imported(whole.file(attr=bytes(attr)))
        rows = json.loads(self.good("report", "--json", profile, "instructions"))["instructions"]
        self.assertTrue(rows[0]["seen"].startswith("ibs-op-cycles,"))
        self.assertIsNone(rows[0]["retired"])
        self.assertAlmostEqual(rows[0]["cycles"], rows[0]["samples"] * INTERVAL)
        self.assertAlmostEqual(sum(row["share"] for row in rows), 1, delta=1e-3)
        self.assertNotIn("retired", rows[0]["estimates"])
        self.assertIn("cycles are of dispatch", self.text("report", profile, "instructions"))
        self.assertTrue(any("cnt_ctl=1" in text for text, in self.query(profile, "SELECT text FROM note")))


class Fetches(Ibs):
    """Both events in one file: samples of fetches are those of ops with other registers."""

    def both(self, comp=1 << 50, move=lambda rip: rip):
        whole = self.whole()
        ids = [struct.pack("<Q", i) for i in (1, 2)]
        records = []
        for one in whole.records:
            if kind(one) != SAMPLE:
                body = one[8:-16] + one[-16:] + ids[0]
                records.append(record(kind(one), body, struct.unpack_from("<H", one, 4)[0]))
                continue
            head, rip = one[8:RAW - 4], registers(one)["rip"]
            misc = struct.unpack_from("<H", one, 4)[0]
            records.append(record(SAMPLE, ids[0] + one[8:], misc))
            raw = struct.pack("<I4Q", 0, 7 << 32 | 3 << 48 | comp | 1 << 51, move(rip), 0, 0)
            records.append(record(SAMPLE, ids[1] + head + struct.pack("<I", len(raw)) + raw, misc))
        attrs = []
        for number, name in ((11, "ibs_op/cnt_ctl=1/"), (12, "ibs_fetch//")):
            attr = bytearray(whole.attr)
            struct.pack_into("<I", attr, 0, number)
            sample_type, = struct.unpack_from("<Q", attr, 24)
            struct.pack_into("<Q", attr, 24, sample_type | 1 << 16)
            attrs.append((bytes(attr), name))
        events = struct.pack("<2I", 2, 128)
        for (attr, name), one in zip(attrs, ids):
            text = name.encode() + bytes(64 - len(name))
            events += attr + struct.pack("<I", 1) + struct.pack("<I", 64) + text + one
        pipe = [b"PERFILE2" + struct.pack("<Q", 16)]
        for (attr, _), one in zip(attrs, ids):
            pipe.append(record(64, attr + one))
        for bit, section in whole.sections.items():
            section = events if bit == EVENTS else section
            if bit not in (2, PMUS):
                pipe.append(record(80, struct.pack("<Q", bit) + section))
        return b"".join(pipe + records)

    def test_both(self):
        wanted = self.tallies(self.take(self.samples()[0]))
        profile = self.imported(self.both())
        self.assertEqual(self.tallies(profile), wanted)
        names = {name for name, in self.query(profile, "SELECT name FROM sampler")}
        self.assertEqual(names, {"ibs-op,interval=%d" % INTERVAL, "ibs-fetch,interval=%d" % INTERVAL})
        rows = json.loads(self.good("report", "--json", profile, "instructions"))["instructions"]
        fetches = rows[0]["fetches"]
        self.assertEqual(fetches["sampler"], "ibs-fetch,interval=%d" % INTERVAL)
        self.assertEqual(fetches["map"]["value"], 7)
        self.assertEqual(fetches["l1i"]["value"], 1)
        self.assertTrue(rows[0]["seen"].startswith("ibs-op,"))
        self.assertRegex(self.text("report", profile, "instructions", "--top", "1"), r"fetches 7\.0.*l1i\s+100")

    def test_one(self):
        """That which was asked for; fetches in the middle of an instruction are its own."""
        data = self.both()
        profile = self.imported(data, "--event", "ibs_fetch//")
        names = {name for name, in self.query(profile, "SELECT name FROM sampler")}
        self.assertEqual(names, {"ibs-fetch,interval=%d" % INTERVAL})
        self.assertIn("cycles are of fetches", self.text("report", profile, "instructions"))
        given_up = self.imported(self.both(comp=0), "--event", "ibs_fetch//")
        self.assertEqual(self.query(given_up, "SELECT count(*) FROM insn_tally"), [(0,)])
        self.assertGreater(self.stats(given_up)["fetches given up"], 100)

    def test_middle(self):
        """At another byte of an instruction, it is of the instruction still."""
        def at(profile):
            return self.query(profile, """SELECT i.offset, sum(t.retired) FROM insn_tally t JOIN insn i ON i.id = t.insn
                JOIN module m ON m.id = i.module JOIN function f ON f.id = i.function WHERE f.name IN ('mixed', 'order') GROUP BY 1""")
        first = self.imported(self.both(), "--event", "ibs_fetch//")
        base = {offset: length for offset, length in self.query(first, "SELECT offset, length FROM insn")}
        last = self.imported(self.both(move=lambda rip: rip - 0x555555554000 + base.get(rip - 0x555555554000, 1) - 1 + 0x555555554000), "--event",
                             "ibs_fetch//")
        self.assertEqual(at(last), at(first))
        self.assertGreater(len(at(first)), 10)


class Spe(Ibs):
    """Arm's SPE: the same samples as packets of it, in buffers of a thread or of a processor."""

    # An operation of Arm is a branch or one of memory.
    TALLIES = """SELECT m.path, i.offset, t.retired, t.issue_cycles, t.execute_cycles, t.dtlb, t.taken, t.mispredicted,
        (i.flow = 0) * t.l1d, (i.flow = 0) * t.l2, (i.flow = 0) * t.l3 FROM insn_tally t JOIN insn i ON i.id = t.insn JOIN module m ON m.id = i.module WHERE t.retired > 0
        AND m.path <> '[vdso]' ORDER BY 1, 2"""
    WAIT = 3  # cycles from dispatch to issue, where there are as many

    def packets(self, r, tid):
        """A record, as the registers of an op say it."""
        data, data3 = r["data"], r["data3"]
        done = max((data >> 16 & 0xffff) - (data & 0xffff), 0)
        branch, memory = data >> 37 & 1, data3 & 3
        events = 1 << 1 | (memory != 0) << 2
        events |= (data3 >> 7 & 1) << 3 | (data3 >> 2 & 1) << 5 | (data3 >> 20 & 1) << 8 | (r["data2"] & 7 == 3 and data3 & 1) << 9
        if branch:
            events |= (not data >> 35 & 1) << 6 | (data >> 36 & 1) << 7
        operation = (0x4a, 1) if branch else (0x49, memory >> 1 & ~memory & 1) if memory else (0x48, 0)
        return b"".join([struct.pack("<BQ", 0xb0, r["rip"] | 1 << 63), b"\0" * 3, struct.pack("<BI", 0x65, tid),
                         struct.pack("<BB", *operation), struct.pack("<BH", 0x52, events), struct.pack("<BH", 0x98, done),
                         struct.pack("<BH", 0x99, min(self.WAIT, done)), struct.pack("<BQ", 0xb2, r["linaddr"]), b"\1"])

    def recording(self, of_thread, config=0, damage=lambda data: data):
        whole = self.whole()
        samples = [r for r in whole.records if kind(r) == SAMPLE]
        tid, = struct.unpack_from("<I", samples[0], 20)
        data = damage(b"".join(self.packets(registers(r), tid) for r in samples))
        attr = bytearray(whole.attr)
        struct.pack_into("<I", attr, 0, 12)
        struct.pack_into("<Q", attr, 8, config)
        sample_type, = struct.unpack_from("<Q", attr, 24)
        struct.pack_into("<Q", attr, 24, sample_type & ~(1 << 10))
        whole.sections[EVENTS] = struct.pack("<2I", 1, 128) + bytes(attr) + struct.pack("<2I", 0, 64) + b"arm_spe_0//".ljust(64, b"\0")
        whole.sections[PMUS] = struct.pack("<3I", 1, 12, 64) + b"arm_spe_0".ljust(64, b"\0")
        records = [record(70, struct.pack("<2I2Q", 4, 0, 12, not of_thread))] + [r for r in whole.records if kind(r) != SAMPLE]
        cut = len(data) // 2 // 7 * 7 + 5
        for offset, piece in ((0, data[:cut]), (cut, data[cut:])):
            where = (0, tid, 0xffffffff) if of_thread else (0, 0xffffffff, 0)
            records.append(record(71, struct.pack("<3Q4I", len(piece), offset, 0, *where, 0)) + piece)
        return whole.file(records, bytes(attr))

    def wanted(self):
        return self.query(self.take(self.samples()[0]), self.TALLIES.replace("t.issue_cycles", "0"))

    def test_round_trip(self):
        wanted = [row[:3] + row[4:] for row in self.wanted()]
        for of_thread in (True, False):
            profile = self.imported(self.recording(of_thread))
            found = self.query(profile, self.TALLIES)
            self.assertEqual([row[:3] + (row[3] + row[4],) + row[5:] for row in found], wanted)
            self.assertGreater(sum(row[3] for row in found), 100)
            self.assertEqual([name for name, in self.query(profile, "SELECT name FROM thread_name")], ["work"])
        rows = json.loads(self.good("report", "--json", profile, "instructions"))["instructions"]
        self.assertEqual(rows[0]["seen"], "spe,interval=%d" % INTERVAL)
        self.assertEqual(sorted(rows[0]["latency"]), ["execute", "issue", "load"])
        self.assertIsNotNone(rows[0]["wrong_path"])

    def test_filters(self):
        profile = self.imported(self.recording(True, config=1 << 33))
        self.assertTrue(any("filters" in text for text, in self.query(profile, "SELECT text FROM note")))

    def test_damage(self):
        """What is no packet costs the record around it."""
        profile = self.imported(self.recording(True, damage=lambda data: data[:1000] + b"\xff" * 3 + data[1000:]))
        self.assertGreater(self.stats(profile)["damaged records"], 2)
        found, wanted = ([sum(row[2] for row in rows) for rows in (self.query(profile, self.TALLIES), self.wanted())])
        self.assertTrue(0 <= wanted - found <= 2, (found, wanted))

    def test_perf(self):
        """perf prints the same packets."""
        path = self.write("spe.data", self.recording(False))
        out = subprocess.run([tool("perf"), "script", "-D", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        if "ARM SPE" not in out.upper():
            self.skipTest("this perf does not print records of SPE")
        samples = [registers(r) for r in self.whole().records if kind(r) == SAMPLE]
        for r in samples[:20]:
            self.assertIn("PC 0x%x el0 ns=1" % r["rip"], out)


class Model(Ibs):
    """`diff --model`: samples of one machine as the processor, exact profiles of it and of another as models."""

    TALLIES = """SELECT f.name, i.offset, t.retired, t.operands_cycles + t.issue_cycles + t.execute_cycles, t.l1d FROM insn_tally t
        JOIN insn i ON i.id = t.insn JOIN function f ON f.id = i.function JOIN string s ON s.id = t.seen WHERE s.text LIKE '%s%%'
        AND f.name IN ('mixed', 'order')"""

    def sums(self, profile, seen, among):
        """Of each function: retired, cycles, misses, of the instructions that `among` has; and these instructions."""
        sums, places = {}, set()
        for name, offset, *numbers in self.query(profile, self.TALLIES % seen):
            if among is None or offset in among:
                sums[name] = [a + b for a, b in zip(sums.get(name, (0, 0, 0)), numbers)]
                places.add(offset)
        return sums, places

    def model(self, machine):
        if ("model", machine) not in self.built:
            trace = self.program("work", WORK) + ".timed"
            self.samples()
            path = trace + "." + machine
            self.good("trace", "replay", "--profile", "cycles,loops", "--machine", machine, "-o", path, trace)
            self.built["model", machine] = path
        return self.built["model", machine]

    def compare(self, processor, machine):
        return json.loads(self.good("diff", "--model", "--json", processor, self.model(machine)))["model"]

    def test_numbers(self):
        """Of each function: what the tallies add up to, and their ratio; the same machine agrees."""
        processor = self.take(self.samples()[0])
        found = self.compare(processor, "modern")
        self.assertEqual(found["common"], 1)
        rows = {row["name"]: row for row in found["functions"]}
        sampled, places = self.sums(processor, "ibs-op", None)
        model, _ = self.sums(self.model("modern"), "exact", places)
        for name, (retired, cycles, _) in sampled.items():
            row, (times, all_cycles, all_misses) = rows[name], model[name]
            self.assertEqual(row["samples"], retired)
            self.assertAlmostEqual(row["executions"]["processor"]["value"], retired * INTERVAL)
            self.assertEqual(row["executions"]["model"]["value"], times)
            self.assertAlmostEqual(row["cycles"]["processor"]["value"], cycles / retired, places=5)
            self.assertAlmostEqual(row["cycles"]["model"]["value"], all_cycles / times, places=5)
            self.assertAlmostEqual(row["cycles"]["ratio"]["value"], cycles / retired / (all_cycles / times), places=5)
            self.assertTrue(row["cycles"]["ratio"]["low"] < 1 < row["cycles"]["ratio"]["high"])
            self.assertAlmostEqual(row.get("l1d", {"model": {"value": 0}})["model"]["value"], all_misses / times, places=5)
        run, = found["run"]
        self.assertFalse(run["cycles"]["differs"])
        self.assertEqual(run["gap"], 0)
        self.assertEqual(sum(row["samples"] for row in found["functions"]), run["samples"])
        self.assertEqual(sum(row["samples"] for row in found["instructions"]), run["samples"])
        self.assertEqual(sum(row["samples"] for row in found["loops"]), run["samples"])
        self.assertNotIn("blocked", run)

    def test_other_machine(self):
        """Another machine disagrees; what costs most comes first."""
        found = self.compare(self.take(self.samples()[0]), "vaswani")
        self.assertTrue(found["run"][0]["cycles"]["differs"])
        for key in ("functions", "loops", "instructions"):
            gaps = [row["gap"] for row in found[key]]
            self.assertEqual(gaps, sorted(gaps, reverse=True))
            self.assertTrue(any(row["gap"] for row in found["functions"]))
        self.assertTrue(all(row["samples"] >= 10 for key in ("functions", "loops", "instructions") for row in found[key] if row["gap"]))

    def test_text(self):
        text = self.text("diff", "--model", "--top", "2", self.take(self.samples()[0]), self.model("modern"))
        self.assertRegex(text, r"100\.0% of the processor's time is in instructions that both know")
        self.assertRegex(text, r"(?s)Run\n +share +processor +model +ratio +95 % +times.*Functions\n.*Loops\n.*Instructions\n")
        self.assertEqual(text.count("more (--top 0 shows all)"), 3)

    def test_sampled_model(self):
        """A machine that was sampled itself has intervals, too."""
        data, profile = self.samples()
        sampled = self.path("sampled.hotpath")
        shutil.copy(profile, sampled)
        connection = sqlite3.connect(sampled)
        connection.executescript("""DELETE FROM insn_tally WHERE seen = (SELECT id FROM string WHERE text = 'exact');
            DELETE FROM insn_cycles; DELETE FROM contents;""")
        connection.close()
        found = json.loads(self.good("diff", "--model", "--json", self.take(data), sampled))["model"]
        rows = json.loads(self.good("report", "--json", "--by", "function", sampled, "cpi"))["cpi"]
        self.assertTrue(rows[1]["estimates"]["sampler"].startswith("profileme"))
        self.assertTrue(found["seen"].startswith("profileme"))
        model = found["run"][0]["cycles"]["model"]
        self.assertTrue(model["low"] < model["value"] < model["high"])

    def test_refused(self):
        processor, model = self.take(self.samples()[0]), self.model("modern")
        self.refused(FAILED, ["diff", "--model", model, processor], "--model", "first profile")
        self.refused(FAILED, ["diff", "--model", processor, processor], "--model", "second profile")
        self.refused(FAILED, ["diff", "--model", "--threshold", "1%", processor, model], "--model goes with")
        other = self.path("other.hotpath")
        self.good("record", "-q", "--profile", "cycles", "--machine", "modern", "-o", other, "--",
                  self.build("alone", "int main(void) { return 0; }", "-static", "-Wl,--build-id"))
        self.refused(FAILED, ["diff", "--model", processor, other], "no instruction in common")


if __name__ == "__main__":
    util_cli.main()
