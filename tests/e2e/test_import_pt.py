#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of Intel PT become profiles: those that `export --format perf-pt` writes, read by perf and by hotpath. Round trips are compared count by count
with the profile of the same trace."""
import unittest

import util_cli
from util_cli import FAILED, NATIVE, tool
from test_export_perf import FAMILY, WORK
from util_traces import DamagedCases, RoundTripCases, Traces, rewritten

FORMS = ("", ",returns,long", ",psb=128", ",returns,psb=64", ",cpus=1", ",returns,cpus=3,slice=700")

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


class Pt(Traces):
    format, forms, ordered_forms, often = "perf-pt", FORMS, FORMS, ",psb=256"
    changed_forms, perf_forms = ("", ",returns,psb=512", ",cpus=2,slice=700"), FORMS[:4]
    nonsense = bytes([0x05, 0xff] * 250)

    def changed(self, data, change):
        return rewritten(data, lambda content: change(list(packets(content))))


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class RoundTrip(RoundTripCases, Pt):
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
        self.check_signals(self.program("signals", SIGNALS))

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
            profile = self.take(self.put(self.changed(self.bytes_of(program, form), change)))
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
        profile = self.take(self.put(self.changed(self.bytes_of(program, ",long,psb=2048"), change)))
        self.assertGreater(self.stats(profile)["overflows"], 10)
        self.assertGreater(self.instructions(profile), 0.8 * whole)
        self.assertLess(self.instructions(profile), whole)

    def test_vdso(self):
        """The kernel's page of code is that of this machine."""
        program = self.program("clock", CLOCK)
        self.assertEqual(self.instructions(self.check(program)), self.instructions(self.trace(program)[1]))

    @unittest.skipUnless(tool("perf"), "no perf")
    def test_perf(self):
        """perf finds no error in what is written, and sees as many branches taken."""
        program = self.program("work", WORK)
        for form in self.perf_forms:
            self.assertEqual(self.perf_taken(self.written(program, form)), self.taken(self.trace(program)[1]), form)


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class Damaged(DamagedCases, Pt):
    lost = Pt.often


@unittest.skipUnless(NATIVE, "only the native engine follows what is executed")
class Refused(Pt):
    def test_samples(self):
        """Samples have no order: what needs it is refused."""
        path = self.record(self.program("work", WORK))
        for options in (("--trace", self.path("x.hptrace")), ("--for", "100")):
            self.refused(FAILED, ("import", *options, path), "no trace of Intel PT or Arm ETM")
        self.refused(FAILED, ("import", "--profile", "predictions", path), "no complete record")

    def test_options(self):
        path = self.written(self.program("work", WORK))
        self.refused(FAILED, ("import", "--trace", self.path("x.hptrace"), "-o", self.path("x.hotpath"), path), "leave out -o")
        self.refused(FAILED, ("import", "--profile", "nonsense", path), "nonsense")
        self.refused(FAILED, ("export", "--format", "perf-pt", self.trace(self.program("work", WORK))[0]), "pipe")


if __name__ == "__main__":
    util_cli.main()
