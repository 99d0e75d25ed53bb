#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces, vectors, coverage and phases for other tools, read back by readers written from their documents, and compared with what the exact
profile, the trace, objdump and valgrind say of the same run."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess

import lib
from lib import E2E, program, run

RECORD = struct.Struct("<QBB2B4B2Q4Q")  # ChampSim: struct input_instr
SP, FLAGS, IP = 6, 25, 26

Record = collections.namedtuple("Record", "ip is_branch taken writes reads stores loads")


def read_champsim(path, first=0, n=-1):
    """`n` records (all) from the `first` on."""
    with open(path, "rb") as file:
        file.seek(64 * first)
        data = file.read(64 * n if n >= 0 else -1)
    assert len(data) % RECORD.size == 0 and RECORD.size == 64
    return [Record(row[0], row[1], row[2], row[3:5], row[5:9],
                   [a for a in row[9:11] if a], [a for a in row[11:15] if a])
            for row in RECORD.iter_unpack(data)]


def kind(writes, reads):
    """The kind of a branch as ChampSim tells it, by the registers."""
    reads = set(reads) - {0}
    if IP not in writes:
        return None
    others, writes_sp = reads - {SP, FLAGS, IP}, SP in writes
    if not reads & {SP, FLAGS} and not others:
        return "jump"
    if not reads & {SP, IP, FLAGS}:
        return "jump_ind"
    if SP not in reads and IP in reads and not writes_sp:
        return "cond"
    if {SP, IP} <= reads and writes_sp and FLAGS not in reads:
        return "call_ind" if others else "call"
    if SP in reads and IP not in reads and writes_sp:
        return "return"
    raise AssertionError("ChampSim does not know a branch of %r, %r" % (writes, reads))


def read_vectors(path):
    """SimPoint's vectors: for each interval {block: instructions}; and what a number stands for."""
    vectors = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("T"):
                pairs = re.findall(r":(\d+):(\d+)", line)
                assert re.fullmatch(r"T(:\d+:\d+ +)+\n", line), line
                vectors.append({int(block): int(n) for block, n in pairs})
    return vectors


def read_places(path):
    with open(path, encoding="utf-8") as file:
        rows = [re.fullmatch(r"F:(\d+):([0-9a-f]+):([^\n]*)\n", line) for line in file]
    return {int(row[1]): (int(row[2], 16), row[3]) for row in rows}


def read_drcov(path):
    """drcov, version 2: [(base, end, path)], [(module, offset, size)]."""
    with open(path, "rb") as file:
        assert file.readline() == b"DRCOV VERSION: 2\n"
        assert file.readline() == b"DRCOV FLAVOR: drcov-64\n"
        count = int(re.fullmatch(rb"Module Table: version 2, count (\d+)\n", file.readline())[1])
        assert file.readline() == b"Columns: id, base, end, entry, path\n"
        modules = []
        for number in range(count):
            fields = file.readline().decode("utf-8").rstrip("\n").split(", ")
            assert len(fields) == 5 and int(fields[0]) == number, fields
            modules.append((int(fields[1], 16), int(fields[2], 16), fields[4]))
        count = int(re.fullmatch(rb"BB Table: (\d+) bbs\n", file.readline())[1])
        data = file.read()
    assert len(data) == 8 * count
    return modules, [(module, start, size) for start, size, module in struct.iter_unpack("<IHH", data)]


class Streams(E2E):
    def export(self, form, *source, options=(), name="out", status=0):
        path = self.path(name)
        result = self.hotpath("export", "--format", form, "-o", path, *options, *source,
                              status=status)
        self.said = result.stderr
        return path

    def assertSameFile(self, a, b):
        with open(a, "rb") as left, open(b, "rb") as right:
            self.assertTrue(left.read() == right.read(), "%s and %s differ" % (a, b))


class ChampSim(Streams):
    def check_branches(self, records, profile):
        """Every kind of branch as often, taken and not, as the exact profile says."""
        found = collections.Counter()
        alike = collections.Counter((r.is_branch, r.taken, r.writes, r.reads) for r in records)
        for (is_branch, taken, writes, reads), n in alike.items():
            name = kind(writes, reads)
            self.assertEqual(is_branch, name is not None)
            if name:
                found[name, taken] += n
        wanted = {(name, taken): n for name, taken, n in profile.query(
            "SELECT w.name, e.taken, sum(c.count) FROM edge e JOIN edge_count c ON c.edge = e.id"
            " JOIN flow w ON w.id = e.flow WHERE w.name NOT IN ('none', 'syscall', 'trap')"
            " GROUP BY 1, 2")}
        self.assertEqual(found, wanted)

    def test_branches_of_programs(self):
        for name in ("sort", "switches"):
            with self.subTest(program=name):
                trace = self.trace(program(name), options=("--addresses",), check=False)
                profile = self.replay(trace)
                records = read_champsim(self.export("champsim", trace))
                self.assertEqual(len(records), profile.instructions)
                self.assertIn("%d of %d instructions" % (len(records), len(records)), self.said)
                self.check_branches(records, profile)

    def test_control_flow_and_data(self):
        """One instruction leads to the next, by objdump; addresses are those of the trace."""
        trace = self.trace(program("sort"), options=("--addresses",), check=False)
        dump = run([lib.HOTPATH, "trace", "dump", "--code", "--addresses", "--skip", "20000",
                    "--count", "8000", trace]).stdout
        n = len(re.findall(r"(?m)^ +0x", dump))
        records = read_champsim(self.export("champsim", trace), int(dump.split()[1]), n)
        self.assertEqual(len(records), n)
        code = {}
        text = run(["objdump", "-d", "--no-show-raw-insn", program("sort")]).stdout
        lines = re.findall(r"(?m)^ +([0-9a-f]+):\t(.*)$", text)
        for (at, words), (behind, _) in zip(lines, lines[1:]):
            target = re.search(r"^(?:j|call)\S* +([0-9a-f]+) <", words)
            code[int(at, 16)] = (int(behind, 16), target and int(target[1], 16), words)
        for before, after in zip(records, records[1:]):
            behind, target, words = code[before.ip]
            if not before.taken:
                self.assertEqual(after.ip, behind, words)
            elif target is not None:
                self.assertEqual(after.ip, target, words)
            moved = re.match(r"mov[lq]? +(.*\)),%|mov[lq]? +[%$][^(]*,(.*\))", words)
            if moved:
                self.assertEqual((len(before.loads), len(before.stores)),
                                 (1, 0) if moved[1] else (0, 1), words)
        used = [int(a, 16) for line in re.findall(r"(?m)\[(0x[0-9a-f, x]+)\]$", dump)
                for a in line.split(", ")]
        told = []
        for record in records:
            # What is read and written at one address is one operand.
            told += record.loads + [a for a in record.stores if a not in record.loads]
        self.assertGreater(len(used), 5000)
        self.assertEqual(told, used)

    def test_run_and_trace_are_the_same(self):
        options = ("--from", "main", "--after", "1000", "--for", "5000")
        trace = self.trace(program("sort"), options=("--addresses",), check=False)
        live = self.export("champsim", "--", program("sort"), options=options)
        again = self.export("champsim", trace, options=options, name="again")
        self.assertSameFile(live, again)
        out = subprocess.run([lib.HOTPATH, "export", "-q", "-f", "champsim", *options, trace],
                             stdout=subprocess.PIPE, check=True).stdout
        with open(live, "rb") as file:
            self.assertEqual(file.read(), out)
        self.assertLess(abs(len(out) // 64 - 5000), 50)

    def test_one_thread(self):
        trace = self.trace(program("threads"), "3", options=("--addresses",), check=False)
        profile = self.replay(trace)
        counts = [n for n, in profile.query("SELECT instructions FROM thread ORDER BY id")]
        for number, n in enumerate(counts):
            path = self.export("champsim", trace, options=("--thread", str(number)))
            self.assertEqual(os.path.getsize(path), 64 * n)
            self.assertIn("%d of %d instructions" % (n, sum(counts)), self.said)
            self.assertIn("other threads", self.said)


class SimPoint(Streams):
    INTERVAL = 20000

    def test_against_the_profile(self):
        """Every block has its executions times its instructions; intervals end behind multiples."""
        path = self.export("simpoint", "--", program("sort"),
                           options=("--interval", str(self.INTERVAL)))
        vectors, places = read_vectors(path), read_places(path + ".pc")
        profile = self.record(program("sort"))
        sums = collections.Counter()
        for vector in vectors:
            self.assertEqual(list(vector), sorted(vector))
            sums.update(vector)
        self.assertEqual(sorted(sums), list(range(1, len(places) + 1)))
        offsets = {int(re.search(r"\+0x([0-9a-f]+)\t\d+$", text)[1], 16): sums[number]
                   for number, (_, text) in places.items()}
        self.assertEqual(offsets, dict(profile.query(
            "SELECT offset, sum(count) * insns FROM block b JOIN block_count c ON c.block = b.id"
            " GROUP BY b.id")))
        functions = json.loads(self.hotpath("report", "--json", "--physical", profile.path).stdout)["functions"]
        self.assertEqual({text.split("\t")[0] for _, text in places.values()}, {f["name"] for f in functions})
        done = 0
        for number, vector in enumerate(vectors[:-1], 1):
            done += sum(vector.values())
            self.assertIn(done - number * self.INTERVAL, range(30))
        self.assertEqual(done + sum(vectors[-1].values()), profile.instructions)

    def test_against_valgrind(self):
        """The same intervals as valgrind's, function by function."""
        if not shutil.which("valgrind"):
            self.skipTest("valgrind is not installed")
        theirs = self.path("theirs")
        result = run(["valgrind", "--tool=exp-bbv", "--bb-out-file=" + theirs,
                      "--pc-out-file=" + theirs + ".pc", "--interval-size=%d" % self.INTERVAL,
                      program("sort")])
        self.assertEqual(result.returncode, 0, result.stderr)
        ours = self.export("simpoint", "--", program("sort"),
                           options=("--interval", str(self.INTERVAL)))
        total = int(re.search(r"Total instructions: (\d+)", result.stderr)[1])
        self.assertIn("%d of %d instructions" % (total, total), self.said)
        starts = sorted(lib.symbols(program("sort")).values())

        def by_function(path):
            places = read_places(path + ".pc")
            found = []
            for vector in read_vectors(path):
                sums = collections.Counter()
                for block, n in vector.items():
                    sums[max(s for s in starts if s <= places[block][0])] += n
                found.append(sums)
            return found

        left, right = by_function(ours), by_function(theirs)
        self.assertEqual(len(left), len(right) + 1)  # valgrind leaves out the last one
        self.assertEqual(len(right), total // self.INTERVAL)
        for mine, other in zip(left, right):
            for start in mine.keys() | other.keys():
                self.assertLess(abs(mine[start] - other[start]), 60)

    def test_run_and_trace_are_the_same(self):
        trace = self.trace(program("sort"), check=False)  # needs no addresses
        options = ("--interval", "50k", "--from", "main", "--for", "200k")
        live = self.export("simpoint", "--", program("sort"), options=options)
        again = self.export("simpoint", trace, options=options, name="again")
        self.assertSameFile(live, again)
        self.assertSameFile(live + ".pc", again + ".pc")
        out = self.hotpath("export", "-q", "-f", "simpoint", *options, trace).stdout
        with open(live, encoding="utf-8") as file:
            self.assertEqual(file.read(), out)

    def test_all_threads(self):
        trace = self.trace(program("threads"), "3", check=False)
        total = self.replay(trace).instructions
        path = self.export("simpoint", trace, options=("--thread", "all", "--interval", "5k"))
        self.assertEqual(sum(sum(v.values()) for v in read_vectors(path)), total)


class Coverage(Streams):
    def executed(self, profile):
        return sorted(profile.query(
            "SELECT DISTINCT m.path, b.offset, b.size FROM block b JOIN module m ON m.id = b.module"
            " JOIN block_count c ON c.block = b.id"))

    def test_blocks(self):
        profile = self.record(program("switches"))
        modules, blocks = read_drcov(self.export("drcov", profile.path))
        self.assertEqual(sorted((modules[m][2], offset, size) for m, offset, size in blocks),
                         self.executed(profile))
        self.assertGreater(len(modules), 1)
        for number, (base, end, _) in enumerate(modules):
            self.assertTrue(number == 0 or base >= modules[number - 1][1])
            self.assertTrue(all(base + o + s <= end for m, o, s in blocks if m == number))
        with open(self.export("blocks-text", profile.path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(sorted(lines), sorted("%s+%x" % (os.path.basename(path), offset)
                                               for path, offset, _ in self.executed(profile)))

    def test_one_module(self):
        profile = self.record(program("switches"))
        modules, blocks = read_drcov(self.export("drcov", profile.path,
                                                 options=("--module", "switches")))
        self.assertEqual([os.path.basename(path) for _, _, path in modules], ["switches"])
        own = [row for row in self.executed(profile) if row[0] == modules[0][2]]
        self.assertEqual([row[1:] for row in own], sorted((o, s) for _, o, s in blocks))
        self.assertIn("in other modules", self.said)

    def test_hostile_paths(self):
        directory = self.path('a, b\n"<i>')
        os.mkdir(directory)
        copy = os.path.join(directory, "s, o\nrt")
        shutil.copy(program("sort"), copy)
        profile = self.record(copy)
        modules, blocks = read_drcov(self.export("drcov", profile.path))
        self.assertEqual(len(modules), 1)
        # The kernel tells a line end in a path as \\012.
        self.assertTrue(modules[0][2].endswith('/a,_b\\012"<i>/s,_o\\012rt'), modules)
        self.assertEqual(len(blocks), len(self.executed(profile)))
        with open(self.export("simpoint", "--", copy) + ".pc", encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), len(blocks))


class Chrome(Streams):
    def load(self, profile):
        """The events, checked against the format: https://github.com/catapult-project/catapult."""
        with open(self.export("chrome", profile.path), encoding="utf-8") as file:
            trace = json.load(file)
        self.assertEqual(trace["displayTimeUnit"], "ns")
        self.assertIn("instructions", trace["otherData"]["time"])
        fields = {"M": set(), "X": {"dur", "cat"}, "C": set(), "i": {"s", "cat"}}
        for event in trace["traceEvents"]:
            self.assertEqual(set(event) - {"ph", "name", "pid", "tid", "ts", "args"},
                             fields[event["ph"]], event)
            self.assertIsInstance(event["name"], str)
            self.assertTrue(all(type(event[key]) is int for key in ("pid", "tid")), event)
            self.assertGreaterEqual(min(event["ts"], event.get("dur", 0)), 0)
            if event["ph"] == "C":
                self.assertTrue(all(type(v) in (int, float) for v in event["args"].values()))
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                self.assertEqual(list(event["args"]), ["name"])
        return trace["traceEvents"]

    def test_phases(self):
        profile = self.record(program("phases"), options=("--profile", "exact,hotspots"))
        events = self.load(profile)
        spots = profile.query("SELECT id, number, after FROM hotspot ORDER BY number")
        widths = {width for width, in profile.query("SELECT DISTINCT width FROM hotspot_slice")}
        self.assertEqual(len(widths), 1)
        width, end = widths.pop(), profile.instructions
        phases = [e for e in events if e["ph"] == "X"]
        for identity, number, after in spots:
            rows = dict(profile.query("SELECT slice, instructions FROM hotspot_slice"
                                      " WHERE hotspot = ?", identity))
            shares = {round(e["ts"] * 1000): e["args"]["percent"] for e in events
                      if e["ph"] == "C" and re.match(r"#%d\b" % number, e["name"])}
            for piece, n in rows.items():
                length = min((piece + 1) * width, end) - piece * width
                self.assertAlmostEqual(shares.pop(piece * width), 100 * n / length, delta=0.001)
            self.assertEqual(set(shares.values()), {0})
            self.assertEqual(sum(rows.values()), after)
        # A B C A B C: phases in turn, which do not overlap, and end with the run.
        self.assertGreaterEqual(len(phases), 4)
        for before, after in zip(phases, phases[1:]):
            self.assertLessEqual(round(1000 * (before["ts"] + before["dur"])),
                                 round(1000 * after["ts"]))
            self.assertNotEqual(before["args"]["hot spot"], after["args"]["hot spot"])
        self.assertLessEqual(round(1000 * (phases[-1]["ts"] + phases[-1]["dur"])), end)
        self.assertIn("kernel_a", phases[0]["args"]["functions"])
        self.assertEqual(len([e for e in events if e["ph"] == "i"]), len(spots))

    def test_windows(self):
        profile = self.record(program("sort"), options=(
            "--profile", "exact,cycles", "--windows", "period=50K,detail=5K,ramp=1K"))
        rows = profile.query("SELECT at, instructions, cycles FROM cycle_window ORDER BY at")
        told = [(round(1000 * e["ts"]), e["args"]["cpi"]) for e in self.load(profile)
                if e["ph"] == "C"]
        self.assertGreater(len(rows), 3)
        self.assertEqual(told, [(at, round(cycles / n, 3)) for at, n, cycles in rows])


class Refusals(Streams):
    def refused(self, words, *args):
        result = self.hotpath("export", "-o", self.path("no"), *args, status=125)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith("no")], [])

    def test_what_does_not_fit(self):
        sort = program("sort")
        profile = self.record(sort).path
        self.refused(["--machine"], "-f", "champsim", "-m", "arm9", "--", sort)
        self.refused(["--interval"], "-f", "champsim", "--interval", "1M", "--", sort)
        self.refused(["one thread"], "-f", "champsim", "--thread", "all", "--", sort)
        self.refused(["'many'"], "-f", "simpoint", "--thread", "many", "--", sort)
        self.refused(["--module"], "-f", "simpoint", "--module", "sort", "--", sort)
        self.refused(["at least 4096"], "-f", "simpoint", "--interval", "100", "--", sort)
        self.refused(["--interval 0"], "-f", "simpoint", "--interval", "0", "--", sort)
        self.refused(["not a hotpath trace"], "-f", "champsim", profile)
        self.refused(["hotpath record"], "-f", "drcov", "--", sort)
        self.refused(["--for"], "-f", "drcov", "--for", "0", profile)
        self.refused(["--metric"], "-f", "drcov", "--metric", "cycles", profile)
        self.refused(["--table"], "-f", "chrome", "--table", "t", profile)
        self.refused(["--profile", "hotspots"], "-f", "chrome", profile)

    def test_without_addresses(self):
        trace = self.trace(program("sort"), check=False)
        self.refused(["no addresses", "--addresses"], "-f", "champsim", trace)

    def test_no_room(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        result = self.hotpath("export", "-f", "champsim", "-o", "/dev/full", "--", program("sort"),
                              status=125)
        self.assertIn("No space left", result.stderr)


if __name__ == "__main__":
    lib.main()
