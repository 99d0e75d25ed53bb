#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of Arm ETM become profiles: those that `export --format perf-etm` writes of AArch64 programs, read by perf and by hotpath. Round trips are
compared count by count with the profile of the same trace."""
import struct
import subprocess
import unittest

import util_cli
from util_cli import FAILED, tool
from test_export_perf import FAMILY, WORK
from util_traces import AUX, AUXTRACE, CRASH, DamagedCases, RoundTripCases, Traces, records, rewritten, with_records

FORMS = ("", ",returns", ",raw", ",sync=128", ",returns,sync=64,raw", ",cpus=1", ",returns,cpus=3,slice=700", ",cpus=3,slice=700,switches",
         ",cpus=2,slice=500,raw")
AUXTRACE_INFO, HW_ID, TIME_CONV = 70, 21, 79
MAGIC_V4, MAGIC_ETE = 0x4040404040404040, 0x5050505050505050

# A handler that goes back by code of the program: that of the kernel, or of QEMU, is in no file.
RESTORER = r"""
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
__asm__(".text\nback:\tmov x8, #139\n\tsvc #0");
void back(void);
static void install(int number, void (*handler)(int))
{
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; } action = {handler, 0x04000000, back, 0};
    syscall(SYS_rt_sigaction, number, &action, 0, 8);
}
#define signal install
"""

# Handlers in calls and in a loop; one that never returns.
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
    signal(SIGALRM, tick);
    raise(SIGUSR1);
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

# Barriers count as branches do.
BARRIERS = r"""
int main(int n, char **words)
{
    for (int i = 0; i < 50; i++) {
        __asm__ volatile("isb");
        if (i % 3 == n)
            __asm__ volatile("isb\n\tnop\n\tisb");
    }
    return 0;
}
"""

ASYNC, INFO, ON, PLACE, TIME, ATOMS, ADDRESS, EXCEPT, OVERFLOW = range(9)
SYNC = bytes(11) + b"\x80"


def read_address(data, at, size, last):
    """An address of so many bytes, of which the first two have 7 bits each."""
    value = (data[at] & 0x7f) << 2 | (data[at + 1] & 0x7f) << 9
    for i in range(2, size):
        value |= data[at + i] << 8 * i
    return last >> 8 * size << 8 * size | value


def packets(data):
    """The packets that the export writes: kind, bytes, address."""
    at, last = 0, [0, 0, 0]
    while at < len(data):
        first, kind, size, address = data[at], ATOMS, 1, None
        if first == 0:
            kind, size = (OVERFLOW, 2) if data[at + 1] == 5 else (ASYNC, 12)
        elif first in (1, 4, 6):
            kind, size = {1: (INFO, 3), 4: (ON, 1), 6: (EXCEPT, 2)}[first]
        elif first == 2:
            kind, size = TIME, 10
        elif first == 0x85:
            kind, size, address = PLACE, 14 if data[at + 9] & 0x80 else 10, read_address(data, at + 1, 8, 0)
        elif first < 0xc0:
            kind = ADDRESS
            if first < 0x93:
                address = last[first - 0x90]
            elif first == 0x95 and data[at + 1] < 0x80:
                size, address = 2, last[0] >> 9 << 9 | data[at + 1] << 2
            elif first == 0x95:
                size, address = 3, last[0] >> 17 << 17 | (data[at + 1] & 0x7f) << 2 | data[at + 2] << 9
            else:
                n = {0x9a: 4, 0x9d: 8}[first]
                size, address = 1 + n, read_address(data, at + 1, n, last[0])
        if address is not None:
            last = [address, *last[:2]]
        yield kind, bytes(data[at:at + size]), address
        at += size


def bytes_of_address(address):
    return bytes([address >> 2 & 0x7f, address >> 9 & 0x7f]) + (address >> 16).to_bytes(6, "little")


def with_address(kind, one, address):
    """The packet with an address that is not compressed; others as they are."""
    if address is None:
        return one
    return b"\x9d" + bytes_of_address(address) if kind == ADDRESS else one[:1] + bytes_of_address(address) + one[9:]


def atoms(one):
    """The outcomes of a packet, the oldest first."""
    first = one[0]
    if first >= 0xf8:
        return [first >> i & 1 for i in range(3)]
    if first in (0xf6, 0xf7):
        return [first & 1]
    if 0xd8 <= first < 0xdc:
        return [first & 1, first >> 1 & 1]
    patterns = {0xdc: (0xe, 4), 0xdd: (0, 4), 0xde: (0xa, 4), 0xdf: (5, 4), 0xf5: (0x1e, 5), 0xd5: (0, 5), 0xd6: (0xa, 5), 0xd7: (0x15, 5)}
    if first in patterns:
        bits, n = patterns[first]
        return [bits >> i & 1 for i in range(n)]
    return [1] * ((first & 0x1f) + 3) + [int(not first & 0x20)]


def field(value):
    """A number in as many bytes as it needs."""
    made = b""
    while value >= 0x80:
        made += bytes([value & 0x7f | 0x80])
        value >>= 7
    return made + bytes([value])


def with_info(data, change):
    """The file with what it says of the processors as change(words) has it."""
    parts = []
    for kind, at, size in records(data):
        one = bytes(data[at:at + size])
        if kind == AUXTRACE_INFO:
            words = change(list(struct.unpack_from("<%dQ" % ((size - 16) // 8), one, 16)))
            one = struct.pack("<IHH", kind, 0, 16 + 8 * len(words)) + one[8:16] + struct.pack("<%dQ" % len(words), *words)
        if kind == AUXTRACE:
            one = bytes(data[at:at + size + struct.unpack_from("<Q", data, at + 8)[0]])
        parts.append(one)
    return with_records(data, parts)


class Etm(Traces):
    format, forms, ordered_forms, often = "perf-etm", FORMS, ("", ",returns,sync=64,raw", ",returns,cpus=3,slice=700"), ",sync=256"
    changed_forms, perf_forms = (",raw", ",returns,raw,sync=512", ",cpus=2,slice=700,raw"), FORMS[:6]
    nonsense = bytes([0x05, 0xff] * 256)

    def setUp(self):
        super().setUp()
        tool("qemu-aarch64")

    def program(self, name, source, *flags):
        if name not in self.built:
            path = self.shared + "/" + name
            with open(path + ".c", "w") as file:
                file.write(RESTORER + source if "signal(" in source else source)
            subprocess.run([tool("aarch64-linux-gnu-gcc"), "-O1", "-g", "-fno-inline", "-Wl,--build-id", "-o", path, path + ".c", *flags], check=True)
            self.built[name] = path
        return self.built[name]

    def changed(self, data, change):
        return rewritten(data, lambda content: change(list(packets(content))), True)


class RoundTrip(RoundTripCases, Etm):
    def test_processes(self):
        """Threads and a fork; those of a run, which has names."""
        program = self.program("family", FAMILY, "-pthread")
        self.check(program)
        path = self.path("run.data")
        self.good("export", "-q", "--format", "perf-etm,cpus=2", "-o", path, "--", program)
        profile = self.take(path)
        names = {name for name, in self.query(profile, "SELECT name FROM thread_name")}
        self.assertTrue({"family", "worker"} <= names, names)
        self.assertEqual(len(self.query(profile, "SELECT DISTINCT pid FROM thread")), 2)

    def test_crash(self):
        """QEMU does not tell how far the last block got, and counts all of it; in the packets it has not its last instruction."""
        program = self.program("crash", CRASH)
        trace, exact = self.path("crash.hptrace"), self.path("crash.hotpath")
        self.assertEqual(self.hotpath("trace", "record", "-q", "-o", trace, "--", program)[0], 139)
        self.good("trace", "replay", "--profile", "exact", "-o", exact, trace)
        self.built["trace", program] = trace, exact
        for form in self.forms:
            profile = self.take(self.written(program, form))
            self.assertEqual(self.instructions(profile), self.instructions(exact) - 1, form)
            self.assertEqual(self.gaps(profile), 0, form)

    def test_signals(self):
        self.check_signals(self.program("signals", SIGNALS))

    def test_barriers(self):
        self.check(self.program("barriers", BARRIERS))

    def test_long_addresses(self):
        self.rewrite(lambda all_: b"".join(with_address(*one) for one in all_))

    def test_interrupts(self):
        """Interrupts after which the code goes on; reading can begin behind each."""
        def change(all_):
            made = []
            for kind, one, address in all_:
                made.append(with_address(kind, one, address))
                if kind == PLACE:
                    made += [b"\x06\x1d\x90", b"\x04", made[-1]]
                    if syncs:
                        made += [SYNC, b"\x01\x01\x00", made[-1], b"\x06\x1d\x90", SYNC, b"\x01\x01\x00\x04", made[-1]]
            return b"".join(made)
        syncs = False
        self.rewrite(change)
        syncs = True
        self.rewrite(change)

    def test_calls_again(self):
        """A system call that the kernel makes again counts once; here those of the beginning."""
        def change(all_):
            made, n, left = [], 0, False
            for i, (kind, one, address) in enumerate(all_):
                if kind == PLACE and left and n < 15:
                    made += [with_address(kind, one, address - 4), b"\x06\x05", with_address(ADDRESS, b"", address), b"\x04"]
                    n += 1
                if kind == EXCEPT:
                    left = one[1] == 5
                elif kind == PLACE:
                    left = False
                made.append(with_address(kind, one, address))
            return b"".join(made)
        program = self.program("work", WORK)
        for form in (",raw", ",returns,cpus=1,raw"):
            profile = self.take(self.put(self.changed(self.bytes_of(program, form), change)))
            self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]), form)

    def test_kernel(self):
        """User code is left to the kernel, whose packets are there: branches, addresses, an exception."""
        place = b"\x85" + bytes_of_address(0xffff800010000400) + b"\x31"
        kernel = place + b"\xff\xdd" + b"\x9d" + bytes_of_address(0xffff800010080000) + b"\x06\x1d\x9d" + bytes_of_address(0xffff800010080100) + place + b"\xf7"

        def change(all_):
            made, out = [], False
            for i, (kind, one, address) in enumerate(all_):
                if kind == ON and i and all_[i - 1][0] == ADDRESS:
                    continue  # tracing never stopped
                made.append(with_address(kind, one, address))
                if i and all_[i - 1][0] == EXCEPT:
                    made.append(kernel)
            return b"".join(made)
        self.rewrite(change, (",raw", ",cpus=2,slice=700,raw"))

    def test_other_packets(self):
        """Packets that say nothing about what is executed: events, times, contexts, counted cycles."""
        others = [b"\x73", b"\x02\x85\x01", b"\x0f", b"\x70", b"\x15"]

        def change(all_):
            made, number, enabled = bytearray(), 0, False
            for kind, one, address in all_:
                made += with_address(kind, one, address)
                enabled = kind == ATOMS or (enabled and kind != EXCEPT)
                if enabled:
                    number += 1
                    made += others[number % len(others)]
            return bytes(made)

        def with_cycles(words):
            words[6] |= 1 << 4
            words[9] = 0x4100f434
            return words
        program = self.program("work", WORK)
        data = with_info(self.changed(self.bytes_of(program, ",raw"), change), with_cycles)
        profile = self.take(self.put(data))
        self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]))

    def test_speculation(self):
        """Outcomes that a processor takes back, those that are the other way round, and those that it commits to late."""
        def change(all_):
            made, number, left = bytearray(), 0, 0
            for kind, one, address in all_:
                if kind in (ON, ASYNC) and left:
                    made += b"\x2d" + field(left)
                    left = 0
                if kind == ATOMS:
                    number += 1
                    n = len(atoms(one))
                    if number % 3 == 0:  # the oldest 2 of what is undone are wrong: one too many, and one that is the other way round
                        made += b"\xda\x2e\x02"
                    if number % 3 == 1 and n == 1:
                        one = bytes([0xf6 | (one[0] & 1 ^ 1)]) + b"\x30"
                    left += n
                    made += one
                    if left > 20:
                        made += b"\x2d" + field(left - 3)
                        left = 3
                    continue
                made += with_address(kind, one, address)
                left += kind == EXCEPT
            return bytes(made + (b"\x2d" + field(left) if left else b""))

        def with_depth(words):
            words[11] = 64
            return words
        program = self.program("work", WORK)
        for form in (",raw", ",returns,raw"):
            data = with_info(self.changed(self.bytes_of(program, form), change), with_depth)
            profile = self.take(self.put(data))
            self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]), form)
            self.assertEqual(self.gaps(profile), 0, form)

    def test_processors(self):
        """The same as of other kinds of processors, and as older versions of the file have it."""
        def version_0(words):
            made = [0, *words[1:3]]
            for at in range(3, len(words), 11):
                made += words[at:at + 2] + words[at + 3:at + 10]
            return made

        def ete(words):
            made = words[:3]
            for at in range(3, len(words), 11):
                made += [MAGIC_ETE, words[at + 1], 9, *words[at + 3:at + 10], 0x47705a13, 1]
            return made

        def hole(words):
            """An older one in front, which is not read."""
            return [words[0], words[1] + 1, words[2], 0x3030303030303030, 99, 4, 1, 2, 3, 4] + words[3:]
        program = self.program("work", WORK)
        for form in ("", ",cpus=2,slice=700"):
            for change in (version_0, ete, hole):
                profile = self.take(self.put(with_info(self.bytes_of(program, form), change)))
                self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]), (form, change))

    def test_ids(self):
        """Ids that the kernel gives to processors while it records."""
        def without_ids(words):
            return [1 << 31 if i >= 3 and (i - 3) % 11 == 4 else word for i, word in enumerate(words)]
        program = self.program("work", WORK)
        data = with_info(self.bytes_of(program, ",cpus=2,slice=700"), without_ids)
        parts, said = [], False
        for kind, at, size in records(data):
            if kind == AUXTRACE:
                size += struct.unpack_from("<Q", data, at + 8)[0]
            parts.append(data[at:at + size])
            if kind == TIME_CONV:
                for cpu in range(2):
                    trailer = struct.pack("<2iQ2IQ", 1, 1, 0, cpu, 0, 1)
                    parts.append(struct.pack("<IHHQ", HW_ID, 0, 16 + len(trailer), 0x10 + cpu) + trailer)
        profile = self.take(self.put(with_records(data, parts)))
        self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]))

    def test_one_sink(self):
        """The packets of several processors in one buffer: that of one of them, and that of a thread."""
        program = self.program("work", WORK)
        data = self.bytes_of(program, ",cpus=2,slice=700,sync=512")
        parts, frames, head = [], {}, None
        for kind, at, size in records(data):
            if kind == AUXTRACE:
                n, = struct.unpack_from("<Q", data, at + 8)
                index, = struct.unpack_from("<I", data, at + 32)
                head = bytes(data[at:at + size])
                frames.setdefault(index, []).extend(data[at + size + i:at + size + i + 16] for i in range(0, n, 16))
            elif kind != AUX:
                parts.append(bytes(data[at:at + size]))
        mixed = []
        while any(frames.values()):
            for index in frames:
                mixed += frames[index][:7]
                del frames[index][:7]
        mixed = b"".join(mixed)
        parts.append(head[:8] + struct.pack("<2Q", len(mixed), 0) + head[24:] + mixed)
        profile = self.take(self.put(with_records(data, parts)))
        self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]))

    def test_no_times(self):
        """A thread's buffer needs none."""
        def without_times(words):
            words[6] &= ~(1 << 11)
            return words
        program = self.program("work", WORK)
        data = self.changed(self.bytes_of(program, ",raw"), lambda all_: b"".join(with_address(*one) for one in all_ if one[0] != TIME))
        profile = self.take(self.put(with_info(data, without_times)))
        self.assertEqual(self.counts(profile), self.counts(self.trace(program)[1]))

    def test_overflows(self):
        """Packets that are missing behind an overflow are one gap; what follows is read at once."""
        program = self.program("work", WORK)
        whole = self.instructions(self.trace(program)[1])

        def change(all_):
            made, n = [], 0
            for i, (kind, one, address) in enumerate(all_):
                if kind == ASYNC and i > 300 and all_[i + 2][0] == PLACE:
                    n += 1
                    made[-10:] = [b"\0\x05"]
                made.append(with_address(kind, one, address))
            self.assertGreater(n, 10)
            return b"".join(made)
        profile = self.take(self.put(self.changed(self.bytes_of(program, ",raw,sync=512"), change)))
        self.assertGreater(self.stats(profile)["overflows"], 10)
        self.assertGreater(self.instructions(profile), 0.8 * whole)
        self.assertLess(self.instructions(profile), whole)

    @unittest.skipUnless(tool("perf"), "no perf")
    def test_perf(self):
        """perf finds no error in what is written, and sees as many branches taken."""
        program = self.program("work", WORK, "-static")
        for form in self.perf_forms:
            self.assertEqual(self.perf_taken(self.written(program, form)), self.taken(self.trace(program)[1]), form)


class Damaged(DamagedCases, Etm):
    lost = ",sync=64"


class Refused(Etm):
    def test_files(self):
        """Processors and versions that are not known; another architecture."""
        data = self.bytes_of(self.program("work", WORK))
        for change, said in ((lambda words: [7] + words[1:], "version 7"), (lambda words: words[:3] + [5] + words[4:], "no processor"),
                             (lambda words: [words[0], 0, 0], "no processor")):
            self.refused(FAILED, ("import", self.put(with_info(data, change))), said)
        self.refused(FAILED, ("import", self.put(bytes(data).replace(b"aarch64\0", b"x86_64\0\0"))), "a trace of Arm ETM, recorded on x86_64")

    def test_options(self):
        trace = self.trace(self.program("work", WORK))[0]
        self.refused(FAILED, ("export", "--format", "perf-etm", trace), "pipe")
        self.refused(FAILED, ("export", "--format", "perf-pt", "-o", self.path("x.data"), trace), "Intel PT is of x86-64")


if __name__ == "__main__":
    util_cli.main()
