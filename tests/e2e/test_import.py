#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What perf recorded becomes a profile. Recordings are made by `export --format perf`, changed by hand, and by perf where it can record here. Round
trips are compared count by count with the exact profile of the same trace."""
import os
import shutil
import sqlite3
import struct
import subprocess
import unittest

import util_cli
from util_cli import Case, FAILED, NATIVE, tool
from test_export_perf import FAMILY, WORK

MAGIC, SAMPLE, MMAP2, COMM, FORK, LOST = b"PERFILE2", 9, 10, 3, 7, 2
ATTR, FEATURE, COMPRESSED, COMPRESSED2 = 64, 80, 81, 83
HEADER, SIZES = 104, 136  # of a file; of an attribute with its ids


class Recording:
    """A file of `export --format perf`, taken apart."""

    def __init__(self, data):
        assert data[:8] == MAGIC
        self.attr = data[HEADER:HEADER + 128]
        start, size = struct.unpack_from("<2Q", data, 40)
        self.features = struct.unpack_from("<4Q", data, 72)[0]
        self.records = []
        at = start
        while at < start + size:
            length, = struct.unpack_from("<H", data, at + 6)
            self.records.append(data[at:at + length])
            at += length
        self.sections = {}
        for bit in range(64):
            if self.features >> bit & 1:
                offset, length = struct.unpack_from("<2Q", data, at)
                self.sections[bit] = data[offset:offset + length]
                at += 16

    def file(self, records=None, attr=None):
        """The same as a file."""
        attr = attr or self.attr
        body = b"".join(self.records if records is None else records)
        start = HEADER + len(attr) + 16
        parts, at = [], start + len(body) + 16 * len(self.sections)
        for section in self.sections.values():
            parts.append(struct.pack("<2Q", at, len(section)))
            at += len(section)
        header = MAGIC + struct.pack("<2Q", HEADER, len(attr) + 16)
        header += struct.pack("<6Q", HEADER, len(attr) + 16, start, len(body), 0, 0)
        header += struct.pack("<4Q", self.features, 0, 0, 0)
        return b"".join([header, attr, bytes(16), body, *parts, *self.sections.values()])

    def pipe(self, records=None):
        """The same as written to a pipe."""
        parts = [MAGIC, struct.pack("<Q", 16), record(ATTR, self.attr)]
        for bit, section in self.sections.items():
            if bit not in (2, 15):  # build ids are in the mappings
                parts.append(record(FEATURE, struct.pack("<Q", bit) + section))
        return b"".join(parts + (self.records if records is None else records))


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def kind(one):
    return struct.unpack_from("<I", one)[0]


class Import(Case):
    def program(self, name, source, *flags):
        return self.build(name, source, "-Wl,--build-id", *flags)

    def trace(self, program):
        """A trace, and its exact profile."""
        if ("trace", program) not in self.built:
            trace, profile = program + ".hptrace", program + ".hotpath"
            self.good("trace", "record", "-q", "-o", trace, "--", program)
            self.good("trace", "replay", "--profile", "exact", "-o", profile, trace)
            self.built["trace", program] = trace, profile
        return self.built["trace", program]

    def record(self, program, settings="perf,consecutive"):
        path = self.path("perf.data")
        self.good("export", "-q", "--format", settings, "-o", path, self.trace(program)[0])
        return path

    def take(self, path, *options, **more):
        """Imports; returns the profile."""
        out = self.path("imported.hotpath")
        self.good("import", "-q", *options, "-o", out, path, **more)
        return out

    def query(self, profile, sql):
        connection = sqlite3.connect(profile)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def counts(self, profile):
        """Blocks and edges with their counts. The kernel's own page of code is in no file."""
        blocks = self.query(profile, """SELECT m.path, b.offset, b.size, b.insns, sum(c.count)
            FROM block b JOIN block_count c ON c.block = b.id JOIN module m ON m.id = b.module
            WHERE m.path <> '[vdso]' GROUP BY 1, 2, 3, 4""")
        edges = self.query(profile, """SELECT m.path, e.from_offset, n.path, e.to_offset, e.taken,
            e.flow, sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id
            JOIN module m ON m.id = e.from_module JOIN module n ON n.id = e.to_module
            WHERE '[vdso]' NOT IN (m.path, n.path) GROUP BY 1, 2, 3, 4, 5, 6""")
        return sorted(blocks), sorted(edges)

    def stats(self, profile):
        return dict(self.query(profile,
                               "SELECT name, value FROM model_stat WHERE part = 'import'"))

    def notes(self, profile):
        return {kind: text for kind, text in self.query(profile, "SELECT kind, text FROM note")}

    def recording(self, program, settings="perf,consecutive"):
        with open(self.record(program, settings), "rb") as file:
            return Recording(file.read())


class RoundTrip(Import):
    def check(self, program, settings):
        wanted = self.counts(self.trace(program)[1])
        profile = self.take(self.record(program, settings))
        found = self.counts(profile)
        self.assertEqual(found[0], wanted[0], settings)
        self.assertEqual(found[1], wanted[1], settings)
        self.assertGreater(len(found[0]), 500)
        return profile

    def test_one_thread(self):
        """Blocks and edges, count by count, whatever the depth."""
        for depth in (1, 16, 127):
            profile = self.check(self.program("work", WORK), "perf,consecutive,depth=%d" % depth)
        self.assertNotIn("estimate", self.notes(profile))
        self.assertNotIn("relative", self.notes(profile))

    @unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
    def test_processes(self):
        """Threads, a handler that interrupts, a fork, an exec."""
        program = self.program("family", FAMILY, "-pthread")
        self.check(program, "perf,consecutive")
        path = self.path("run.data")
        self.good("export", "-q", "--format", "perf,period=50", "-o", path, "--", program)
        names = {name for name, in self.query(self.take(path), "SELECT name FROM thread_name")}
        self.assertEqual(names, {"family", "worker", "true"})

    def test_functions(self):
        """Numbers of calls, and the run."""
        program = self.program("work", WORK)
        profile = self.take(self.record(program))
        calls = """SELECT f.name, sum(c.calls), sum(c.self) FROM function_count c
            JOIN function f ON f.id = c.function WHERE f.name IN ('mixed', 'order') GROUP BY 1"""
        self.assertEqual(self.query(profile, calls), self.query(self.trace(program)[1], calls))
        self.assertEqual(self.query(profile, "SELECT text FROM run_argument ORDER BY id"),
                         [(program,)])
        # What a profile has, exports can use.
        self.good("export", "-q", "--format", "lcov", "-o", self.path("lcov"), profile)
        self.assertRegex(self.read("lcov").decode(), r"FNDA:500,mixed\n")

    def test_estimates(self):
        """Of one branch in 23, counts are near the real ones; of all together they are right."""
        program = self.program("work", WORK)
        exact = self.trace(program)[1]
        total = """SELECT sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id JOIN flow w
            ON w.id = e.flow WHERE e.taken AND w.name NOT IN ('none', 'syscall', 'trap')"""
        real, = self.query(exact, total)[0]
        for settings, off in (("perf,period=23,depth=8", 0.02),
                              # What comes before long runs is sampled more often.
                              ("perf,period=101,depth=16,of=instructions", 0.15)):
            profile = self.take(self.record(program, settings))
            self.assertIn("estimate", self.notes(profile))
            found, = self.query(profile, total)[0]
            self.assertLess(abs(found - real) / real, off, settings)
            mixed = """SELECT sum(c.self) FROM function_count c JOIN function f
                ON f.id = c.function WHERE f.name = 'mixed'"""
            a, b = self.query(exact, mixed)[0][0], self.query(profile, mixed)[0][0]
            self.assertLess(abs(a - b) / a, off + 0.03, settings)

    def test_chains(self):
        """Contexts add up to the instructions, and main calls what it calls."""
        profile = self.take(self.record(self.program("work", WORK), "perf,period=23,chains"))
        (self_, all_), = self.query(profile, """SELECT (SELECT sum(self) FROM context_count),
            (SELECT sum(instructions) FROM thread)""")
        self.assertEqual(self_, all_)
        callers = {name for name, in self.query(profile, """SELECT g.name FROM context c
            JOIN function f ON f.id = c.function JOIN context d ON d.id = c.parent
            JOIN function g ON g.id = d.function WHERE f.name = 'mixed'""")}
        self.assertEqual(callers, {"main"})


class Files(Import):
    """The same recording in other forms gives the same profile."""

    def setUp(self):
        super().setUp()
        self.work = self.program("work", WORK)
        self.whole = self.recording(self.work, "perf,consecutive,chains")
        self.wanted = self.counts(self.trace(self.work)[1])

    def same(self, data, *options):
        profile = self.take(self.write("other.data", data), *options)
        self.assertEqual(self.counts(profile), self.wanted)
        return profile

    def test_sizes_of_attributes(self):
        """One that is larger than known, or smaller."""
        self.same(self.whole.file(attr=self.whole.attr + b"\x55" * 8))
        self.same(self.whole.file(attr=self.whole.attr[:80]))

    def test_pipe(self):
        self.same(self.whole.pipe())
        with open(self.write("pipe.data", self.whole.pipe()), "rb") as file:
            self.good("import", "-q", "-o", self.path("piped.hotpath"), "-", stdin=file)
        self.good("import", "-q", "-o", self.path("read.hotpath"), "-", input=self.whole.pipe())
        for name in ("piped.hotpath", "read.hotpath"):
            self.assertEqual(self.counts(self.path(name)), self.wanted)

    def test_compressed(self):
        """One stream in many records, which cut through records."""
        zstd = tool("zstd")
        body = b"".join(self.whole.records)
        packed = subprocess.run([zstd, "-q", "-c"], input=body, stdout=subprocess.PIPE,
                                check=True).stdout
        pieces = [packed[i:i + 5000] for i in range(0, len(packed), 5000)]
        self.same(self.whole.file([record(COMPRESSED, piece) for piece in pieces]))
        self.same(self.whole.pipe([record(COMPRESSED2, struct.pack("<Q", len(p)) + p + bytes(-len(p) % 8))
                                   for p in pieces]))

    def test_order(self):
        """perf writes what each processor did one after the other."""
        samples = [r for r in self.whole.records if kind(r) == SAMPLE]
        others = [r for r in self.whole.records if kind(r) != SAMPLE]
        self.same(self.whole.file(samples + others))

    def test_other_byte_order(self):
        """As a machine of the other byte order would have written it."""
        self.same(swapped(self.whole))

    def test_lost(self):
        """What perf lost is counted."""
        profile = self.same(self.whole.file(self.whole.records +
                                            [record(LOST, struct.pack("<2Q", 0, 7) + bytes(16))]))
        self.assertEqual(self.stats(profile)["lost records"], 7)
        self.assertIn("lost", self.notes(profile))

    def test_cut_off(self):
        """What is there is read."""
        data = self.whole.file()
        path = self.write("cut.data", data[:len(data) // 2])
        status, _, err = self.hotpath("import", "-q", "-o", self.path("cut.hotpath"), path)
        self.assertEqual(status, 0)
        self.one_line(err, "cut off")
        self.assertGreater(self.stats(self.path("cut.hotpath"))["stacks"], 100)


class Refused(Import):
    def refuse(self, data, *words, options=()):
        path = self.write("bad.data", data)
        self.refused(FAILED, ["import", "-o", self.path("x.hotpath"), *options, path], *words)

    def attr(self, recording, **changes):
        fields = {"sample_type": 24, "branch_type": 72}
        attr = bytearray(recording.attr)
        for name, value in changes.items():
            struct.pack_into("<Q", attr, fields[name], value)
        return recording.file(attr=bytes(attr))

    def test_no_paths(self):
        whole = self.recording(self.program("work", WORK))
        self.refuse(self.attr(whole, branch_type=1 << 11 | 1), "--call-graph lbr")
        self.refuse(self.attr(whole, branch_type=1 << 4 | 1), "some kinds of branches")
        self.refuse(whole.file([r for r in whole.records if kind(r) != SAMPLE]), "no samples")
        self.refuse(whole.file(), "no samples of an event 'cycles'", options=["--event", "cycles"])

    def test_no_recording(self):
        self.refuse(b"", "no perf.data")
        self.refuse(b"PERFFILE" + bytes(100), "first version")
        self.refuse(MAGIC + bytes(20), "damaged")
        self.refused(FAILED, ["import", self.path("nowhere")], "nowhere")
        self.refused(FAILED, ["import", self.dir], "directory")

    def test_another_binary(self):
        """A file with another build id: one line, and what ran in it is not known."""
        program = self.program("gone", WORK.replace("12345", "54321"))
        path = self.record(program)
        kept = self.path("kept")
        shutil.copy(program, kept)
        wanted = self.counts(self.trace(program)[1])
        try:
            shutil.copy(self.program("work", WORK), program)
            out = self.path("x.hotpath")
            status, _, err = self.hotpath("import", "-q", "-o", out, path)
            self.assertEqual(status, 0)
            self.one_line(err, program, "another build id")
            self.assertNotIn(program, {m for m, in self.query(out, "SELECT path FROM module")})
            self.assertGreater(self.stats(out)["runs in unknown code"], 1000)
            # The file that ran, elsewhere and under another name, is found by its build id.
            blocks, _ = self.counts(self.take(path, "--binary", kept))
            self.assertEqual([row[1:] for row in blocks if row[0] == kept],
                             [row[1:] for row in wanted[0] if row[0] == program])
        finally:
            shutil.copy(kept, program)

    def plain(self):
        """A recording without stacks: its records and its attribute."""
        whole = self.recording(self.program("work", WORK), "perf,period=23,chains")
        records = []
        for one in whole.records:
            if kind(one) == SAMPLE:  # its stack is the last thing in it
                n, = struct.unpack_from("<Q", one, 40)
                body = one[8:48 + 8 * n]
                one = record(SAMPLE, body, 2)
            records.append(one)
        attr = bytearray(whole.attr)
        sample_type, = struct.unpack_from("<Q", attr, 24)
        struct.pack_into("<Q", attr, 24, sample_type & ~(1 << 11))
        return whole, records, bytes(attr)

    def test_plain_samples(self):
        """Without stacks: functions and contexts."""
        whole, records, attr = self.plain()
        profile = self.take(self.write("plain.data", whole.file(records, attr)))
        n = sum(kind(r) == SAMPLE for r in records)
        self.assertEqual(self.query(profile, "SELECT sum(self) FROM context_count"), [(23 * n,)])
        (inclusive, own), = self.query(profile, """SELECT sum(c.inclusive), sum(c.self)
            FROM function_count c JOIN function f ON f.id = c.function WHERE f.name = 'main'""")
        self.assertGreater(inclusive, 10 * own)
        self.assertIn("estimate", self.notes(profile))
        self.assertEqual(self.counts(profile), ([], []))
        # How sure that is: each sample shows 23 of one function.
        shown = self.query(profile, """SELECT c.self, s.samples, s.sum, s.squares FROM function_sample s
            LEFT JOIN (SELECT function, sum(self) AS self FROM function_count GROUP BY 1) c
            ON c.function = s.function""")
        for self_, samples, total, squares in shown:
            self.assertEqual((self_, total, squares), (23 * samples, 23 * samples, 23 * 23 * samples))
        self.assertEqual(sum(row[1] for row in shown), n)
        self.assertIn("±", self.good("report", "--top", "3", profile, "functions").decode())

    def test_large_periods(self):
        """How sure a count is, is not known where the sum of squares is too large a number; counts are."""
        whole, records, attr = self.plain()
        period = 1 << 32  # of which two threads have some
        samples = [i for i, one in enumerate(records) if kind(one) == SAMPLE]
        for i in samples:
            one = bytearray(records[i])
            tid, = struct.unpack_from("<I", one, 20)
            struct.pack_into("<I", one, 20, tid + i % 2)
            struct.pack_into("<Q", one, 32, period)
            records[i] = bytes(one)
        profile = self.take(self.write("large.data", whole.file(records, attr)))
        self.assertEqual(self.query(profile, "SELECT sum(self) FROM context_count"), [(period * len(samples),)])
        self.assertEqual(self.query(profile, "SELECT count(*) FROM function_sample"), [(0,)])
        self.good("report", "--top", "3", profile, "functions")


class Hardware(Import):
    """`record --hardware`: a profile where the processor can be sampled, else one line that says why not."""

    def test_record(self):
        path = self.path("there.hotpath")
        status, _, err = self.hotpath("record", "--hardware", "-o", path, "--", self.program("work", WORK))
        if status == FAILED:
            self.one_line(err, "--hardware")
            self.assertFalse(os.path.exists(path))
        else:
            self.assertEqual(status, 0, err)
            self.assertEqual(self.query(path, "SELECT engine FROM run"), [("perf",)])
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith("there.hotpath.")], [])

    def test_alone(self):
        """What hotpath's own profilers take makes no sense."""
        for options in (["-p", "loops"], ["--machine", "modern"], ["--for", "1M"], ["--engine", "qemu"], ["--no-follow"]):
            self.refused(FAILED, ["record", "--hardware", *options, "--", tool("true")], "goes with -o and -q only")


# --- The other byte order -------------------------------------------------------------------------

def swap(data, *sizes):
    """Numbers of these sizes, the other way round; the rest as it is."""
    out, at = b"", 0
    for size in sizes:
        out += data[at:at + size][::-1]
        at += size
    return out + data[at:]


def bits(data):
    """Bits of each byte from the other end."""
    return bytes(int("{:08b}".format(byte)[::-1], 2) for byte in data)


def swapped(recording):
    """A file as a machine of the other byte order writes it."""
    attr = recording.attr
    attr = swap(attr[:40], 4, 4, 8, 8, 8, 8) + bits(attr[40:48]) + \
        swap(attr[48:], 4, 4, 8, 8, 8, 8, 8, 4, 4, 8, 4, 4, 4, 4, 8)
    records = []
    for one in recording.records:
        head, body, trailer = swap(one[:8], 4, 2, 2), one[8:], b""
        if kind(one) in (MMAP2, COMM, FORK, 4):
            body, trailer = body[:-16], swap(body[-16:], 4, 4, 8)
        if kind(one) == MMAP2:
            body = swap(body[:32], 4, 4, 8, 8, 8) + body[32:56] + swap(body[56:], 4, 4)
        elif kind(one) == COMM:
            body = swap(body, 4, 4)
        elif kind(one) in (FORK, 4):
            body = swap(body, 4, 4, 4, 4, 8)
        elif kind(one) == SAMPLE:
            chain, = struct.unpack_from("<Q", body, 32)
            at = 40 + 8 * chain
            branches, = struct.unpack_from("<Q", body, at)
            out = swap(body[:at + 8], 8, 4, 4, *[8] * (3 + chain + 1))
            for i in range(branches):
                entry = body[at + 8 + 24 * i:at + 32 + 24 * i]
                out += swap(entry[:16], 8, 8) + bits(entry[16:])
            body = out
        records.append(head + body + trailer)
    swapped_sections = {}
    for bit, section in recording.sections.items():
        if bit in (5, 6):
            swapped_sections[bit] = swap(section, 4)
    body = b"".join(records)
    start = HEADER + len(attr) + 16
    parts, at = b"", start + len(body) + 16 * len(swapped_sections)
    for section in swapped_sections.values():
        parts += struct.pack(">2Q", at, len(section))
        at += len(section)
    features = sum(1 << bit for bit in swapped_sections)
    return b"".join([MAGIC[::-1], struct.pack(">2Q", HEADER, len(attr) + 16),
                     struct.pack(">6Q", HEADER, len(attr) + 16, start, len(body), 0, 0),
                     struct.pack(">4Q", features, 0, 0, 0), attr, bytes(16), body, parts,
                     *swapped_sections.values()])


if __name__ == "__main__":
    util_cli.main()
