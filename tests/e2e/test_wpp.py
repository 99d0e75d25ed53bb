# SPDX-License-Identifier: MIT
"""Whole program paths through the command: files are written and read here by what docs/wpp.md says of the format, without the
library.
"""
import json
import os
import random
import re
import struct
import unittest
import zlib

from lib import E2E, HOTPATH, Profile, program, run, symbols


# --- The format, as documented -------------------------------------------------------------------


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(text):
    data = text.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def frame(kind, content):
    data = struct.pack("<IQ", kind, len(content)) + content
    return data + struct.pack("<I", zlib.crc32(data))


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def rule(number, nodes):
    """nodes: (path or ("rule", number), repeat)."""
    out = varint(len(nodes))
    for symbol, repeat in nodes:
        is_rule = isinstance(symbol, tuple)
        value = number - 1 - symbol[1] if is_rule else symbol
        out += varint(value << 2 | is_rule << 1 | (repeat > 1))
        if repeat > 1:
            out += varint(repeat)
    return out


class File:
    """A whole program path to be written: modules [(path, build id)], paths [(module or None, offset, outcomes text,
    instructions)], parts [(thread, rules)], each rule a list of nodes, the last one the start."""

    def __init__(self, modules, paths, parts, threads=1):
        self.modules, self.paths, self.parts, self.threads = modules, paths, parts, threads

    @staticmethod
    def expand(rules):
        done = []
        for nodes in rules:
            out = []
            for symbol, repeat in nodes:
                out += (done[symbol[1]] if isinstance(symbol, tuple) else [symbol]) * repeat
            done.append(out)
        return done[-1]

    def sequence(self, thread):
        return [p for t, rules in self.parts if t == thread for p in self.expand(rules)]

    def insns(self, thread):
        return sum(self.paths[p][3] for p in self.sequence(thread))

    def write(self, name):
        head = b"HPWPP\r\n\0" + struct.pack("<II", 1, 1)
        out = head + struct.pack("<I", zlib.crc32(head))
        content, before = b"", 0
        for module, offset, outcomes, insns in self.paths:
            content += varint(0 if module is None else module + 1) + varint(zigzag(offset - before))
            content += varint(len(outcomes)) + varint(int(outcomes or "0", 2)) + varint(0)
            content += varint(insns)
            before = offset
        out += frame(1, content)
        for thread, rules in self.parts:
            content = varint(thread) + varint(len(self.expand(rules))) + varint(len(rules))
            out += frame(2, content + b"".join(rule(i, nodes) for i, nodes in enumerate(rules)))
        out += frame(3, varint(len(self.modules)) +
                     b"".join(string(p) + string(b) for p, b in self.modules))
        content = varint(self.threads)
        for thread in range(self.threads):
            numbers = (thread * 3, 100, 100 + thread, sum(t == thread for t, _ in self.parts),
                       len(self.sequence(thread)), self.insns(thread))
            content += b"".join(map(varint, numbers))
        out += frame(4, content)
        texts = ("0.0", "by-hand", "x86_64", "wpp", "/", "a machine")
        out += frame(5, b"".join(map(string, texts)) + struct.pack("<qqi", 1, 2500000, 4) +
                     varint(2) + string("prog") + string("an argument"))
        numbers = (len(self.paths), len(self.parts), sum(len(r) for _, r in self.parts),
                   sum(len(n) for _, r in self.parts for n in r), 0, 0, 0)
        out += frame(6, b"".join(map(varint, numbers)))
        with open(name, "wb") as file:
            file.write(out)


# --- Tests ---------------------------------------------------------------------------------------


class Command(E2E):
    def setUp(self):
        super().setUp()
        self.program = program("sieve")
        self.symbols = symbols(self.program)
        self.file = self.path("a.wpp")

    def offset(self, name):
        """Of a symbol in its module: from the first page that is loaded."""
        rows = run(["readelf", "-lW", self.program]).stdout.splitlines()
        lowest = min(int(row.split()[2], 16) for row in rows if row.split()[:1] == ["LOAD"])
        return self.symbols[name] - (lowest & ~0xfff)

    def sample(self):
        """x (a b c^3)^50 y, twice, in one thread; and b^7 in two parts in another."""
        main, start = self.offset("main"), self.offset("_start")
        paths = [(0, main, "0110", 10), (0, start, "", 3), (0, main + 1, "1", 4),
                 (None, 0x1234, "10" * 32, 20), (0, start, "1", 1)]
        body = [(0, 1), (1, 1), (2, 3)]
        once = [(3, 1), (("rule", 0), 50), (4, 1)]
        parts = [(1, [[(1, 5)]]), (0, [body, once, [(("rule", 1), 2)]]), (1, [[(1, 2)]])]
        file = File([(self.program, "")], paths, parts, threads=2)
        file.write(self.file)
        return file

    def place(self, file, path):
        module, offset, _, _ = file.paths[path]
        return "0x%x" % offset if module is None else "sieve+0x%x" % offset

    def test_info(self):
        file = self.sample()
        info = json.loads(self.hotpath("wpp", "info", "--json", self.file).stdout)
        symbols_ = len(file.sequence(0)) + len(file.sequence(1))
        want = {"symbols": symbols_, "instructions": file.insns(0) + file.insns(1), "paths": 5,
                "threads": 2, "rules": 5, "nodes": 9, "parts": 3, "exit_status": 4,
                "seconds": 2.5, "command": ["prog", "an argument"], "kind": "wpp",
                "engine": "by-hand", "arch": "x86_64", "raw_size": 4 * symbols_,
                "file_size": os.path.getsize(self.file)}
        self.assertEqual({key: info[key] for key in want}, want)
        self.assertAlmostEqual(info["compression"], want["raw_size"] / want["file_size"], places=2)
        self.assertAlmostEqual(info["symbols_per_node"], symbols_ / 9, places=2)
        text = self.hotpath("wpp", "info", self.file).stdout
        self.assertIn("%d paths executed in 2 threads" % symbols_, text)

    def test_expand(self):
        file = self.sample()
        lines = self.hotpath("wpp", "expand", self.file).stdout.splitlines()
        want = []
        for thread in range(2):
            for number, path in enumerate(file.sequence(thread)):
                want.append("%d %d %s %s %d" % (thread * 3, number, self.place(file, path),
                                                file.paths[path][2] or "-", file.paths[path][3]))
        self.assertEqual(lines, want)
        got = self.hotpath("wpp", "expand", self.file, "-t", "0", "--skip", "123", "-n", "77").stdout
        self.assertEqual(got.splitlines(), want[123:200])
        got = self.hotpath("wpp", "expand", self.file, "--skip", "500", "-n", "9").stdout
        self.assertEqual(got.splitlines(), want[500:509])
        got = self.hotpath("wpp", "expand", self.file, "-t", "3").stdout
        self.assertEqual(got.splitlines(), want[-7:])

    def test_hot(self):
        file = self.sample()
        total = file.insns(0) + file.insns(1)
        hot = json.loads(self.hotpath("wpp", "hot", "--json", "-l", "5", self.file).stdout)
        self.assertEqual(hot["instructions"], total)
        first = hot["subpaths"][0]
        self.assertEqual((first["count"], first["length"], first["instructions"]),
                         (100, 5, 100 * 25))
        self.assertAlmostEqual(first["share"], 2500 / total, places=5)
        self.assertEqual([p["function"] for p in first["paths"]],
                         ["main", "_start", "main", "main", "main"])
        self.assertEqual([p["outcomes"] for p in first["paths"]], ["0110", "", "1", "1", "1"])
        self.assertEqual([p["start"] for p in first["paths"]],
                         [self.place(file, p) for p in (0, 1, 2, 2, 2)])
        self.assertEqual(sum(s["instructions"] for s in hot["subpaths"]), total)
        self.assertEqual(sum(s["count"] * s["length"] for s in hot["subpaths"]),
                         len(file.sequence(0)) + len(file.sequence(1)))
        # The start rules of the second thread are two subpaths, of 5 and of 2 times b.
        self.assertIn((1, 5, 15), [(s["count"], s["length"], s["instructions"])
                                   for s in hot["subpaths"]])
        text = self.hotpath("wpp", "hot", "-l", "5", "-n", "1", self.file).stdout.splitlines()
        self.assertIn("executed 100 times: 5 paths, 25 instructions", text[0])
        self.assertEqual([line.split() for line in text[1:]],
                         [["main", "0110"], ["_start"], ["main+0x1", "1", "x3"]])

    def test_errors(self):
        self.sample()
        for arguments, text in (
                (["wpp"], None), (["wpp", "what"], "unknown command 'wpp what'"),
                (["wpp", "info"], "no FILE given"), (["wpp", "hot", "-l", "0", self.file], "at least 1"),
                (["wpp", "expand", "-t", "9", self.file], "no thread 9"),
                (["wpp", "info", self.path("none")], "cannot open"),
                (["wpp", "info", self.program], "not a whole program path")):
            done = run([HOTPATH] + arguments)
            self.assertEqual(done.returncode, 125, arguments)
            if text:
                self.assertRegex(done.stderr, r"\Ahotpath: [^\n]*%s[^\n]*\n\Z" % text)

    def test_damage_is_told(self):
        self.sample()
        with open(self.file, "rb") as file:
            data = file.read()
        rng = random.Random(3)
        for command in ("info", "expand", "hot"):
            for _ in range(8):
                at = rng.randrange(len(data))
                bad = self.path("bad.wpp")
                with open(bad, "wb") as file:
                    file.write(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])
                done = run([HOTPATH, "wpp", command, bad])
                self.assertEqual((done.returncode, done.stdout), (125, ""))
                self.assertRegex(done.stderr, r"\Ahotpath: [^\n]*bad.wpp[^\n]*\n\Z")

    def test_bomb_is_counted_not_expanded(self):
        most = 2 ** 32 - 1
        file = File([], [(None, 1, "1", 1)], [(0, [[(0, 2)]])])
        file.parts = [(0, [[(0, most)], [(("rule", 0), 2 ** 30)]])]
        length = most * 2 ** 30
        file.expand = lambda rules: range(length) if len(rules) == 2 else []
        file.sequence = lambda thread: range(length)
        file.insns = lambda thread: length
        file.write(self.file)
        info = json.loads(self.hotpath("wpp", "info", "-j", self.file).stdout)
        self.assertEqual(info["symbols"], length)
        got = self.hotpath("wpp", "expand", self.file, "--skip", str(length - 2)).stdout
        self.assertEqual(got.splitlines(), ["0 %d 0x1 1 1" % (length - 2), "0 %d 0x1 1 1" % (length - 1)])
        hot = json.loads(self.hotpath("wpp", "hot", "-j", self.file).stdout)
        self.assertEqual([(s["count"], s["length"]) for s in hot["subpaths"]], [(length, 1)])


def paths_of(dump, branches):
    """The wpp paths of a thread, from the lines of a dump: [(start, outcomes, instructions)]. `branches`: where the branch of a
    block is, by the block's offset."""
    found, start, outcomes, insns = [], None, "", 0
    for line in dump.splitlines():
        match = re.fullmatch(r"\d+ +\d+  (\S+)\+0x(\w+)  (\d+) insns, (\w+) (->|falls to) \S+\+0x(\w+)",
                             line)
        if not match:
            continue
        module, offset, n, kind, how, target = match.groups()
        offset, target, taken = int(offset, 16), int(target, 16), how == "->"
        start = start or "%s+0x%x" % (module, offset)
        insns += int(n)
        if kind == "syscall":
            continue
        if kind not in ("call", "return", "call_ind"):
            outcomes += str(int(taken))
            if kind in ("cond", "jump") and not (taken and target <= branches[offset]):
                continue
        found.append((start, outcomes, insns))
        start, outcomes, insns = "%s+0x%x" % (module, target), "", 0
    return found


class Runs(E2E):
    def expanded(self, name):
        """[(start, outcomes, instructions)] of a file of one thread."""
        lines = self.hotpath("wpp", "expand", self.path(name)).stdout.splitlines()
        rows = [line.split() for line in lines]
        self.assertEqual([int(row[1]) for row in rows], list(range(len(rows))))
        return [(row[2], row[3].replace("-", ""), int(row[4])) for row in rows]

    def test_is_what_was_executed(self):
        for name in ("sieve", "sort", "queens", "machine"):
            with self.subTest(program=name):
                trace, profile = self.path(name + ".hptrace"), self.path(name + ".hotpath")
                self.hotpath("trace", "record", "-q", "-o", trace, "--", program(name))
                self.hotpath("trace", "replay", trace, "-o", profile, "--wpp", self.path("a.wpp"))
                dump = self.hotpath("trace", "dump", trace).stdout
                kinds = set(re.findall(r"insns, (\w+) ", dump))
                self.assertLessEqual(kinds, {"cond", "jump", "call", "return", "call_ind", "jump_ind",
                                             "syscall"})
                branches = {}
                for offset, branch in Profile(profile).query("SELECT offset, branch FROM block"):
                    branches[offset] = offset + branch
                want, got = paths_of(dump, branches), self.expanded("a.wpp")
                self.assertGreater(len(want), 1000)
                self.assertEqual(len(got), len(want))
                self.assertEqual(next((p for p in zip(got, want) if p[0] != p[1]), None), None)
                # Live, and with as little memory as possible.
                self.hotpath("record", "-q", "-o", profile, "--wpp", self.path("b.wpp"),
                             "--wpp-memory", "256k", "--", program(name))
                self.assertEqual(self.expanded("b.wpp"), want)

    def test_threads(self):
        self.hotpath("record", "-q", "-o", self.path("p"), "--wpp", self.path("a.wpp"), "--",
                     program("threads"))
        info = json.loads(self.hotpath("wpp", "info", "-j", self.path("a.wpp")).stdout)
        threads = len(Profile(self.path("p")).json["threads"])
        self.assertGreater(threads, 1)
        self.assertEqual(info["threads"], threads)
        lines = self.hotpath("wpp", "expand", self.path("a.wpp")).stdout.splitlines()
        self.assertEqual(len(lines), info["symbols"])
        self.assertEqual(len({line.split()[0] for line in lines}), threads)


if __name__ == "__main__":
    unittest.main()
