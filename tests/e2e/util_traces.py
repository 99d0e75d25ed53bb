#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tests of traces of instructions share, whatever the processor (Intel PT, Arm ETM): the parts of a file, changed files, and round trips, which are
compared count by count with the profile of the same trace."""
import random
import struct
import subprocess

from util_cli import FAILED, tool
from test_export_perf import FAMILY, WORK
from test_import import Import

MMAP2, AUX, AUXTRACE = 10, 11, 71

CRASH = r"""
#include <stdlib.h>
int main(int n, char **words)
{
    volatile int *none = n > 5 ? &n : 0;
    int sum = atoi("3") + n;
    return *none + sum;
}
"""



def records(data):
    """Where the records of a file are: kind, begin, size; data behind them is not theirs."""
    at, size = struct.unpack_from("<2Q", data, 40)
    end = at + size
    while at + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield kind, at, size
        if kind == AUXTRACE:
            size += struct.unpack_from("<Q", data, at + 8)[0]
        at += size


def rewritten(data, change, is_whole=False):
    """The file with the bytes of each buffer as change(bytes) has them; a buffer is one piece then. `is_whole`: the record that says what the kernel put
    there says that it is all of it; else there is none."""
    buffers, parts, aux = {}, [], b""
    for kind, at, length in records(data):
        if kind == AUX:
            aux = bytes(data[at:at + length])
        elif kind == AUXTRACE:
            n, = struct.unpack_from("<Q", data, at + 8)
            index, = struct.unpack_from("<I", data, at + 32)
            buffers.setdefault(index, (aux, bytes(data[at:at + length]), bytearray()))[2].extend(data[at + length:at + length + n])
        else:
            parts.append(bytes(data[at:at + length]))
    for aux, head, content in buffers.values():
        made = change(bytes(content))
        if is_whole:
            parts.append(aux[:8] + struct.pack("<2Q", 0, len(made)) + aux[24:])
        parts.append(head[:8] + struct.pack("<2Q", len(made), 0) + head[24:] + made)
    return with_records(data, parts)


def with_records(data, parts):
    """The file with other records."""
    start, size = struct.unpack_from("<2Q", data, 40)
    body = b"".join(parts)
    tail = bytearray(data[start + size:])
    sections = bin(struct.unpack_from("<Q", data, 72)[0]).count("1")
    for i in range(sections):
        offset, = struct.unpack_from("<Q", tail, 16 * i)
        struct.pack_into("<Q", tail, 16 * i, offset + len(body) - size)
    head = bytearray(data[:start])
    struct.pack_into("<Q", head, 48, len(body))
    return bytes(head) + body + bytes(tail)


class Traces(Import):
    """Those of a kind: the format that is exported, and its forms; in some of them files are changed; packets begin anew at some distance."""
    format, forms, ordered_forms, changed_forms, perf_forms, often = "", (), (), (), (), ""

    def written(self, program, form=""):
        path = self.path("traced.data")
        self.good("export", "-q", "--format", self.format + form, "-o", path, self.trace(program)[0])
        return path

    def bytes_of(self, program, form=""):
        with open(self.written(program, form), "rb") as file:
            return bytearray(file.read())

    def put(self, data):
        path = self.path("changed.data")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def instructions(self, profile):
        return self.query(profile, "SELECT sum(c.count * b.insns) FROM block b JOIN block_count c ON c.block = b.id")[0][0]

    def gaps(self, profile):
        return sum(count for count, in self.query(profile, "SELECT count FROM note WHERE kind = 'gaps'"))

    def changed(self, data, change):
        """The file with the packets of each buffer as change(list of them) has them."""
        raise NotImplementedError

    def taken(self, profile):
        """How many branches were taken; what the kernel does is none."""
        return self.query(profile, "SELECT sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id WHERE e.taken AND e.flow NOT IN"
                          " ('syscall', 'trap')")[0][0]

    def perf_taken(self, path):
        """The same, as perf finds it; it finds no error."""
        errors = subprocess.run(["perf", "script", "--itrace=e", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        self.assertEqual([line for line in errors.splitlines() if not line.startswith("unwind: target platform")], [])
        lines = subprocess.run(["perf", "script", "--itrace=b", "-F", "ip,addr", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True).stdout.splitlines()
        pairs = [line.replace("=>", " ").split() for line in lines]
        return sum(len(pair) == 2 and "0" not in pair for pair in pairs)


class RoundTripCases:
    def check(self, program, forms=None):
        wanted = self.counts(self.trace(program)[1])
        for form in forms or self.forms:
            profile = self.take(self.written(program, form))
            found = self.counts(profile)
            self.assertEqual(found[0], wanted[0], form)
            self.assertEqual(found[1], wanted[1], form)
            self.assertEqual(self.gaps(profile), 0, form)
        return profile

    def test_one_thread(self):
        """Blocks and edges, count by count, in every form."""
        self.check(self.program("work", WORK))

    def rewrite(self, change, forms=None):
        """Other packets that say the same."""
        program = self.program("family", FAMILY, "-pthread")
        wanted = self.counts(self.trace(program)[1])
        for form in forms or self.changed_forms:
            profile = self.take(self.put(self.changed(self.bytes_of(program, form), change)))
            self.assertEqual(self.counts(profile), wanted, form)
            self.assertEqual(self.gaps(profile), 0, form)

    def test_crash(self):
        """The last block of what a fault ends is there up to that."""
        program = self.program("crash", CRASH)
        trace, profile = self.path("crash.hptrace"), self.path("crash.hotpath")
        self.assertEqual(self.hotpath("trace", "record", "-q", "-o", trace, "--", program)[0], 139)
        self.good("trace", "replay", "--profile", "exact", "-o", profile, trace)
        self.built["trace", program] = trace, profile
        self.check(program)

    def test_profilers(self):
        """Everything that needs the order, as of the trace."""
        program = self.program("work", WORK)
        options = ("--profile", "exact,paths,loops,hotspots,predictions")
        replayed, imported = self.path("replayed.hotpath"), self.path("imported.hotpath")
        self.good("trace", "replay", *options, "-o", replayed, self.trace(program)[0])
        for form in self.ordered_forms:
            self.good("import", "-q", *options, "-o", imported, self.written(program, form))
            for view in ("functions", "calls", "contexts", "paths", "loops", "hotspots", "predictions"):
                reports = [self.good("report", "-n", "0", path, view) for path in (replayed, imported)]
                self.assertEqual(reports[0], reports[1], (form, view))

    def test_trace(self):
        """A trace of it is good, and of the same instructions."""
        program = self.program("family", FAMILY, "-pthread")
        trace, profile = self.path("imported.hptrace"), self.path("again.hotpath")
        self.good("import", "-q", "--trace", trace, self.written(program, ",cpus=2"))
        self.assertIn(b"good", self.good("trace", "check", trace))
        self.good("trace", "replay", "--profile", "exact", "-o", profile, trace)
        self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]))

    def check_signals(self, program):
        """Handlers that interrupt anything go on where they came from. What was interrupted for good had its last block: a packet of that does not exist."""
        wanted = self.instructions(self.trace(program)[1])
        for form in self.forms:
            profile = self.take(self.written(program, form))
            self.assertLess(abs(self.instructions(profile) - wanted), 100, form)
            self.assertGreater(self.stats(profile)["signals"], 20)
            self.assertEqual(self.gaps(profile), 0, form)


class DamagedCases:
    def check(self, data, program, *options):
        """It has no more than there was. Returns the profile."""
        out = self.path("damaged.hotpath")
        status, _, err = self.hotpath("import", "-q", *options, "-o", out, self.put(data))
        self.assertEqual(status, 0, err)
        self.assertLessEqual(self.instructions(out), 1.01 * self.instructions(self.trace(program)[1]))
        return out

    def test_cut_off(self):
        program = self.program("work", WORK)
        data = self.bytes_of(program, self.often)
        before = 0
        for eighths in range(1, 8):
            profile = self.check(data[:len(data) * eighths // 8], program)
            self.assertGreaterEqual(self.instructions(profile), before)
            before = self.instructions(profile)
        self.assertGreater(before, 0.6 * self.instructions(self.trace(program)[1]))

    def test_changed(self):
        """Any bytes in the place of some."""
        program = self.program("family", FAMILY, "-pthread")
        for seed in range(12):
            chance = random.Random(seed)
            data = self.bytes_of(program, self.forms[seed % len(self.forms)])
            for _ in range(20):
                data[chance.randrange(104, len(data))] = chance.randrange(256)
            out = self.path("damaged.hotpath")
            status, _, err = self.hotpath("import", "-q", "-o", out, self.put(data))
            self.assertIn(status, (0, FAILED), seed)
            if status == FAILED:
                self.one_line(err)

    def test_lost(self):
        """What the kernel had no room for is a gap; reading goes on where it can begin."""
        program = self.program("work", WORK)
        data = self.bytes_of(program, self.lost)
        aux = [at for kind, at, _ in records(data) if kind == AUX]
        struct.pack_into("<Q", data, aux[0] + 24, 1)
        profile = self.check(data, program)
        self.assertEqual(self.gaps(profile), 1)
        whole = self.instructions(self.trace(program)[1])
        self.assertGreater(self.instructions(profile), 0.95 * whole)
        self.assertLessEqual(self.instructions(profile), whole)

    def test_holes(self):
        """A part of a buffer that is not packets, and one that is not there."""
        program = self.program("work", WORK)
        whole = self.instructions(self.trace(program)[1])
        data = self.bytes_of(program, self.often)
        at = [at + size for kind, at, size in records(data) if kind == AUXTRACE][0]
        for bytes_ in (self.nonsense, bytes(range(256)) * 2):
            changed = data[:]
            changed[at + 20000:at + 20000 + len(bytes_)] = bytes_
            profile = self.check(changed, program)
            self.assertGreater(self.gaps(profile), 0)
            self.assertGreater(self.instructions(profile), 0.9 * whole)

    def test_code(self):
        """Another file in the place of the program, and code of which nothing is known, are gaps."""
        program, other = self.program("work", WORK), self.program("crash", CRASH)
        whole = self.instructions(self.trace(program)[1])
        data = self.bytes_of(program, self.often)
        out = self.path("other.hotpath")
        status, _, err = self.hotpath("import", "-q", "--binary", self.copied(other, "work"), "-o", out, self.put(data))
        self.assertEqual(status, 0, err)
        self.one_line(err, "another build id")
        self.assertGreater(self.gaps(out), 0)
        for kind, at, size in records(data):
            if kind == MMAP2 and b"libc.so" in data[at:at + size]:
                struct.pack_into("<I", data, at, 0x1000)
        profile = self.check(data, program)
        self.assertGreater(self.gaps(profile), 0)
        self.assertLess(self.instructions(profile), whole)
        self.assertFalse([path for path, in self.query(profile, "SELECT path FROM module") if "libc.so" in path])

    def copied(self, program, name):
        path = self.path(name)
        with open(program, "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        return path
