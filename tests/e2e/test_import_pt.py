#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of Intel PT become profiles: those that `export --format perf-pt` writes, read by perf and by hotpath. Round trips are compared count by count
with the profile of the same trace."""
import random
import struct
import subprocess
import unittest

import util_cli
from util_cli import FAILED, NATIVE, tool
from test_export_perf import FAMILY, WORK
from test_import import Import

FORMS = ("", ",returns,long", ",psb=128", ",returns,psb=64", ",cpus=1", ",returns,cpus=3,slice=700")
MMAP2, AUX, AUXTRACE = 10, 11, 71

# Handlers in calls, in a loop and after a trap; one that never returns.
SIGNALS = r"""
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static volatile int sum, ticks;
static sigjmp_buf out;
static void nested(int s) { sum += s; }
static void handled(int s) { sum += s; if (s == SIGUSR1) raise(SIGUSR2); }
static void tick(int s) { ticks += s; }
static void leave(int s) { siglongjmp(out, s); }
int main(void)
{
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    signal(SIGUSR1, handled);
    signal(SIGUSR2, nested);
    signal(SIGTRAP, handled);
    signal(SIGALRM, tick);
    raise(SIGUSR1);
    __asm__ volatile("int3");
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; ticks < 20 * SIGALRM; i++)
        sum += i & 1 ? i : -i;
    setitimer(ITIMER_REAL, &never, 0);
    signal(SIGUSR1, leave);
    if (!sigsetjmp(out, 1))
        kill(getpid(), SIGUSR1);
    return 0;
}
"""

CLOCK = r"""
#include <time.h>
int main(void)
{
    struct timespec now;
    for (int i = 0; i < 200; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return 0;
}
"""

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


SYNC, SYNCED, OVERFLOW = bytes([2, 0x82] * 8), b"\x02\x23", b"\x02\xf3"
TO, ENTER, LEAVE, AT = 0x0d, 0x11, 0x01, 0x1d


def packets(data):
    """The packets that the export writes: (bytes, None), or (kind, address) with -1 for none."""
    at, last = 0, 0
    while at < len(data):
        first, size = data[at], 1
        kind = first & 0x1f
        if data[at:at + 16] == SYNC:
            size, last = 16, 0
        elif first & 1 and kind in (TO, ENTER, LEAVE, AT):
            n = {0: 0, 1: 2, 2: 4, 3: 6, 4: 6, 6: 8}[first >> 5]
            value, keep = int.from_bytes(data[at + 1:at + 1 + n], "little"), 0 if first >> 5 == 3 else -1 << 8 * n
            if n:
                last = last & keep | value
            yield kind, last if n else -1
            at += 1 + n
            continue
        elif first == 0x19:
            size = 8
        elif first in (0x99, 0x02):
            size = 8 if data[at + 1] == 0xa3 else 2
        yield bytes(data[at:at + size]), None
        at += size


def with_address(kind, address):
    """A packet whose address is not compressed."""
    return bytes([kind]) if address < 0 else bytes([kind | 6 << 5]) + address.to_bytes(8, "little")


def rewritten(data, change):
    """The file with the packets of each buffer as change(list of them) has them, as bytes; a buffer is one piece then."""
    buffers, parts = {}, []
    start, size = struct.unpack_from("<2Q", data, 40)
    for kind, at, length in records(data):
        if kind == AUXTRACE:
            n, = struct.unpack_from("<Q", data, at + 8)
            index, = struct.unpack_from("<I", data, at + 32)
            buffers.setdefault(index, (bytes(data[at:at + length]), bytearray()))[1].extend(data[at + length:at + length + n])
        elif kind != AUX:
            parts.append(bytes(data[at:at + length]))
    for head, content in buffers.values():
        made = change(list(packets(content)))
        parts.append(head[:8] + struct.pack("<2Q", len(made), 0) + head[24:] + made)
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
    def written(self, program, form=""):
        path = self.path("pt.data")
        self.good("export", "-q", "--format", "perf-pt" + form, "-o", path, self.trace(program)[0])
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


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class RoundTrip(Traces):
    def check(self, program, forms=FORMS):
        wanted = self.counts(self.trace(program)[1])
        for form in forms:
            profile = self.take(self.written(program, form))
            found = self.counts(profile)
            self.assertEqual(found[0], wanted[0], form)
            self.assertEqual(found[1], wanted[1], form)
            self.assertEqual(self.gaps(profile), 0, form)
        return profile

    def test_one_thread(self):
        """Blocks and edges, count by count, in every form."""
        self.check(self.program("work", WORK))

    def test_processes(self):
        """Threads, a fork, an exec; those of a run, which has names."""
        program = self.program("family", FAMILY, "-pthread")
        self.check(program)
        path = self.path("run.data")
        self.good("export", "-q", "--format", "perf-pt", "-o", path, "--", program)
        profile = self.take(path)
        names = {name for name, in self.query(profile, "SELECT name FROM thread_name")}
        self.assertTrue({"family", "worker", "true"} <= names, names)
        self.assertEqual(len(self.query(profile, "SELECT DISTINCT pid FROM thread")), 2)

    def test_signals(self):
        """Handlers that interrupt anything go on where they came from. What was interrupted for good had its last block: a packet of that does not exist."""
        program = self.program("signals", SIGNALS)
        wanted = self.instructions(self.trace(program)[1])
        for form in FORMS:
            profile = self.take(self.written(program, form))
            self.assertLess(abs(self.instructions(profile) - wanted), 100, form)
            self.assertGreater(self.stats(profile)["signals"], 20)
            self.assertEqual(self.gaps(profile), 0, form)

    def test_crash(self):
        """The last block of what a fault ends is there up to that."""
        program = self.program("crash", CRASH)
        trace, profile = self.path("crash.hptrace"), self.path("crash.hotpath")
        self.assertEqual(self.hotpath("trace", "record", "-q", "-o", trace, "--", program)[0], 139)
        self.good("trace", "replay", "--profile", "exact", "-o", profile, trace)
        self.built["trace", program] = trace, profile
        self.check(program)

    def rewrite(self, change, forms=("", ",returns,psb=512", ",cpus=2,slice=700")):
        """Other packets that say the same."""
        program = self.program("family", FAMILY, "-pthread")
        wanted = self.counts(self.trace(program)[1])
        for form in forms:
            profile = self.take(self.put(rewritten(self.bytes_of(program, form), change)))
            self.assertEqual(self.counts(profile), wanted, form)
            self.assertEqual(self.gaps(profile), 0, form)

    def test_long_addresses(self):
        self.rewrite(lambda all_: b"".join(one if address is None else with_address(one, address) for one, address in all_))

    def test_interrupts(self):
        """Interrupts after which the code goes on; reading can begin behind each."""
        def change(all_):
            made = []
            for one, address in all_:
                made.append(one if address is None else with_address(one, address))
                if one == ENTER:
                    here, enter = with_address(AT, address), made[-1]
                    made += [here, with_address(LEAVE, -1), enter]
                    if syncs:
                        made += [SYNC, b"\x99\x01", here, SYNCED, here, with_address(LEAVE, -1), enter]
            return b"".join(made)
        syncs = False
        self.rewrite(change)
        syncs = True
        self.rewrite(change, ("", ",cpus=2,slice=700"))

    def test_calls_again(self):
        """A system call that the kernel makes again counts once; here those of the beginning."""
        def change(all_):
            made, n, left = [], 0, False
            for one, address in all_:
                if one == ENTER and left and n < 15:
                    made += [with_address(ENTER, address - 2), with_address(LEAVE, -1)]
                    n += 1
                left = one == LEAVE or (left and address is None)
                made.append(one if address is None else with_address(one, address))
            return b"".join(made)
        program = self.program("work", WORK)
        for form in ("", ",returns,cpus=1"):
            profile = self.take(self.put(rewritten(self.bytes_of(program, form), change)))
            self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]), form)

    def test_kernel(self):
        """User code is left to the kernel, whose packets are there: branches, returns, calls."""
        kernel = with_address(TO, 0xffffffff81000010) + b"\xaa\x06" + with_address(TO, 0xffffffffa0000000) + b"\x0c"

        def change(all_):
            made = bytearray()
            for one, address in all_:
                if one == LEAVE:
                    made += kernel
                elif one == ENTER and LEAVE in seen:
                    made += with_address(TO, address)
                else:
                    made += one if address is None else with_address(one, address)
                seen.add(one)
            return bytes(made)
        seen = set()
        self.rewrite(change)

    def test_other_packets(self):
        """Packets that say nothing about what is executed: padding, frequency, clocks, page tables, power, values."""
        others = [b"\0" * 5, b"\x02\x03\x1d\0", b"\x59\x48", b"\x02\x43" + bytes(6), b"\x02\xc8" + bytes(5), b"\x02\x73" + bytes(5), b"\x03",
                  b"\x02\x12" + bytes(4), b"\x02\x22\0\0", b"\x02\xa2" + bytes(5), b"\x02\xc3\x88" + bytes(8)]
        values = b"\x02\x92" + bytes(4) + with_address(AT, 0x123456)  # a value, and where it was written

        def change(all_):
            made, number, enabled, synced = bytearray(), 0, False, True
            for one, address in all_:
                if address is None and one == SYNC:
                    synced = False
                after = one not in (AT, OVERFLOW)
                made += one if address is None else with_address(one, address)
                if address is None and one == SYNCED:
                    synced = True
                enabled = one == ENTER or (enabled and one != LEAVE)
                number += 1
                if after and synced:
                    made += others[number % len(others)]
                    if enabled and number % 7 == 0:
                        made += values
            return bytes(made)
        self.rewrite(change)

    def test_overflows(self):
        """Packets that are missing behind an overflow are one gap; what follows is read at once."""
        program = self.program("work", WORK)
        whole = self.instructions(self.trace(program)[1])

        def change(all_):
            made, n = [], 0
            for i, (one, address) in enumerate(all_):
                if one == SYNC and i > 1000 and all_[i + 3][0] == AT:
                    n += 1
                    made[-10:] = [OVERFLOW, with_address(AT, all_[i + 3][1])]
                made.append(one if address is None else with_address(one, address))
            self.assertGreater(n, 10)
            return b"".join(made)
        profile = self.take(self.put(rewritten(self.bytes_of(program, ",long,psb=2048"), change)))
        self.assertGreater(self.stats(profile)["overflows"], 10)
        self.assertGreater(self.instructions(profile), 0.8 * whole)
        self.assertLess(self.instructions(profile), whole)

    def test_vdso(self):
        """The kernel's page of code is that of this machine."""
        program = self.program("clock", CLOCK)
        self.assertEqual(self.instructions(self.check(program)), self.instructions(self.trace(program)[1]))

    def test_profilers(self):
        """Everything that needs the order, as of the trace."""
        program = self.program("work", WORK)
        options = ("--profile", "exact,paths,loops,hotspots,predictions")
        replayed, imported = self.path("replayed.hotpath"), self.path("imported.hotpath")
        self.good("trace", "replay", *options, "-o", replayed, self.trace(program)[0])
        for form in FORMS:
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

    @unittest.skipUnless(tool("perf"), "no perf")
    def test_perf(self):
        """perf finds no error in what is written, and sees as many branches taken."""
        program = self.program("work", WORK)
        taken, = self.query(self.trace(program)[1], "SELECT sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id WHERE e.taken AND e.flow NOT IN"
                            " ('syscall', 'trap')")[0]
        for form in FORMS[:4]:
            path = self.written(program, form)
            errors = subprocess.run(["perf", "script", "--itrace=e", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
            self.assertEqual(errors, "", form)
            lines = subprocess.run(["perf", "script", "--itrace=b", "-F", "ip,addr", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True).stdout.splitlines()
            pairs = [line.replace("=>", " ").split() for line in lines]
            self.assertEqual(sum(len(pair) == 2 and "0" not in pair for pair in pairs), taken, form)


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class Damaged(Traces):
    def check(self, data, program, *options):
        """It has no more than there was. Returns the profile."""
        out = self.path("damaged.hotpath")
        status, _, err = self.hotpath("import", "-q", *options, "-o", out, self.put(data))
        self.assertEqual(status, 0, err)
        self.assertLessEqual(self.instructions(out), 1.01 * self.instructions(self.trace(program)[1]))
        return out

    def test_cut_off(self):
        program = self.program("work", WORK)
        data = self.bytes_of(program, ",psb=256")
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
            data = self.bytes_of(program, FORMS[seed % len(FORMS)])
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
        data = self.bytes_of(program, ",psb=256")
        aux = [at for kind, at, _ in records(data) if kind == AUX]
        struct.pack_into("<Q", data, aux[0] + 24, 1)
        profile = self.check(data, program)
        self.assertEqual(self.gaps(profile), 1)
        whole = self.instructions(self.trace(program)[1])
        self.assertGreater(self.instructions(profile), 0.95 * whole)
        self.assertLess(self.instructions(profile), whole)

    def test_holes(self):
        """A part of a buffer that is not packets, and one that is not there."""
        program = self.program("work", WORK)
        whole = self.instructions(self.trace(program)[1])
        data = self.bytes_of(program, ",psb=256")
        at = [at + size for kind, at, size in records(data) if kind == AUXTRACE][0]
        for bytes_ in (bytes([0x05, 0xff] * 250), bytes(range(256)) * 2):
            changed = data[:]
            changed[at + 20000:at + 20000 + len(bytes_)] = bytes_
            profile = self.check(changed, program)
            self.assertGreater(self.gaps(profile), 0)
            self.assertGreater(self.instructions(profile), 0.9 * whole)

    def test_code(self):
        """Another file in the place of the program, and code of which nothing is known, are gaps."""
        program, other = self.program("work", WORK), self.program("crash", CRASH)
        whole = self.instructions(self.trace(program)[1])
        data = self.bytes_of(program, ",psb=256")
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


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class Refused(Traces):
    def test_samples(self):
        """Samples have no order: what needs it is refused."""
        path = self.record(self.program("work", WORK))
        for options in (("--trace", self.path("x.hptrace")), ("--for", "100")):
            self.refused(FAILED, ("import", *options, path), "no trace of Intel PT")
        self.refused(FAILED, ("import", "--profile", "predictions", path), "no complete record")

    def test_options(self):
        path = self.written(self.program("work", WORK))
        self.refused(FAILED, ("import", "--trace", self.path("x.hptrace"), "-o", self.path("x.hotpath"), path), "leave out -o")
        self.refused(FAILED, ("import", "--profile", "nonsense", path), "nonsense")
        self.refused(FAILED, ("export", "--format", "perf-pt", self.trace(self.program("work", WORK))[0]), "pipe")


if __name__ == "__main__":
    util_cli.main()
