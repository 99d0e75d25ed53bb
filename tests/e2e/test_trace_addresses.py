#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces with addresses: a machine gets the same data side from them as from the run itself, to the last number."""
import json
import os
import shutil

import lib
from lib import E2E, PROGRAMS, SRC, Profile, program

NATIVE = os.environ.get("NATIVE_PROGRAMS") or os.path.join(os.path.dirname(PROGRAMS), "native")
ADDRESSES = 8  # the kind of frame
FUNCTIONAL = ("--profile", "exact", "--machine", "vaswani")


def content(profile):
    """All that a profile says of what was executed; no process ids."""
    found = {key: rows for key, rows in profile.json.items() if key not in ("run", "hotpath")}
    for row in found.get("threads", []):
        row.pop("pid", None)
        row.pop("tid", None)
    return found


def machine(profile):
    return {row["name"]: row["value"] for row in profile.json["machine"]
            if row["part"].startswith("machine ")}


def frames(path):
    """(offset, kind, size of the payload) of every frame: docs/trace-format.md."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = 64, []
    while data[at:at + 4] == b"\xf5HP\xfa":
        stored = int.from_bytes(data[at + 24:at + 28], "little")
        found.append((at, int.from_bytes(data[at + 4:at + 6], "little"), stored))
        at += 40 + stored
    return found


class Addresses(E2E):
    def replayed(self, trace, *options, name="replay.hotpath"):
        self.hotpath("trace", "replay", "-o", self.path(name), *options, trace)
        return Profile(self.path(name))

    def recorded(self, *command, **options):
        return self.trace(*command, options=("--addresses",), **options)

    def test_replay_is_the_run(self):
        for name, model in (("sort", "modern"), ("hash", "vaswani"), ("interpreter", "vaswani"),
                            ("rep", "modern"), ("memory", "vaswani"), ("caches", "arm9")):
            with self.subTest(program=name, machine=model):
                trace = self.recorded(program(name))
                options = ("--profile", "exact,paths", "--metric", "l1d", "--machine", model)
                live = self.record(program(name), options=options)
                again = self.replayed(trace, *options)
                self.assertEqual(content(again), content(live))
                self.assertGreater(machine(again)["l1d.accesses"], 0)

    def test_cycles_are_the_same(self):
        options = ("--profile", "cycles,instructions", "--machine", "modern", "--for", "300000")
        live = self.record(program("sort"), options=options)
        again = self.replayed(self.recorded(program("sort")), *options)
        self.assertEqual(content(again), content(live))
        cycles = [row["value"] for row in again.json["machine"] if row["name"] == "cycles"]
        self.assertGreater(cycles[0], 0)

    def test_parts_are_the_same(self):
        options = ("--profile", "exact", "--machine", "vaswani", "--after", "100000", "--for", "50000")
        live = self.record(program("sort"), options=options)
        self.assertEqual(content(self.replayed(self.recorded(program("sort")), *options)),
                         content(live))

    def test_signals_and_threads(self):
        """Runs that are never twice the same: what is replayed is whole."""
        for command in ([os.path.join(NATIVE, "storm"), "jumps"], [program("threads"), "4"],
                        [program("signals")]):
            with self.subTest(command=command):
                trace = self.recorded(*command)
                info = json.loads(self.hotpath("trace", "info", "--json", trace).stdout)
                profile = self.replayed(trace, *FUNCTIONAL)
                self.assertEqual(profile.query("SELECT lost FROM run"), [(0,)])
                counts = machine(profile)
                self.assertEqual(counts["instructions"], profile.instructions)
                # Every address is an access at least, but for what is neither read nor written.
                self.assertGreater(counts["l1d.accesses"], info["addresses"] * 0.9)

    def test_real(self):
        command = ["gzip", "-9c", os.path.join(SRC, "docs", "trace-format.md")]
        if not shutil.which(command[0]):
            self.skipTest("gzip is not installed")
        trace = self.recorded(*command)
        info = json.loads(self.hotpath("trace", "info", "--json", trace).stdout)
        self.assertGreater(info["addresses"], 100000)
        self.assertLess(info["file_size"] * 8 / info["addresses"], 8)
        self.assertIn("%d addresses of data" % info["addresses"],
                      self.hotpath("trace", "info", trace).stdout)
        self.assertEqual(content(self.replayed(trace, *FUNCTIONAL)),
                         content(self.replayed(trace, *FUNCTIONAL, name="again.hotpath")))

    def test_dump_shows_them(self):
        trace = self.recorded(program("memory"))
        shown = self.hotpath("trace", "dump", "--code", "--addresses", "-n", "200", trace).stdout
        pushes = [line for line in shown.splitlines() if "[rsp" in line]
        self.assertTrue(pushes)
        for line in pushes:
            self.assertRegex(line, r"(  \[0x[0-9a-f]+\])+$")
        plain = self.hotpath("trace", "dump", "--code", "-n", "200", trace).stdout
        self.assertNotRegex(plain, r"  \[0x[0-9a-f]+\]$")
        self.assertEqual([line.split("  [0x")[0] for line in shown.splitlines()],
                         plain.splitlines())

    def test_without_addresses(self):
        trace = self.trace(program("sort"))
        profile = self.replayed(trace, *FUNCTIONAL)
        self.assertEqual(machine(profile)["l1d.accesses"], 0)
        self.assertIn("no accesses to data", self.hotpath("report", profile.path).stdout)
        result = self.hotpath("trace", "replay", "--profile", "paths", "--metric", "l1d",
                              "--machine", "vaswani", trace, status=125)
        self.assertIn("--addresses", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_profiles_without_a_machine_do_not_need_them(self):
        """What was recorded with addresses is the same run."""
        with_addresses = self.replay(self.recorded(program("sort")))
        without = self.replay(self.trace(program("sort"), name="plain.hptrace"), name="p.hotpath")
        self.assertEqual(content(with_addresses), content(without))

    def test_only_the_native_engine(self):
        result = self.hotpath("trace", "record", "--engine", "qemu", "--addresses", "-o",
                              self.path("no.hptrace"), "--", program("sort"), status=126)
        self.assertIn("native engine", result.stderr)
        self.assertFalse(os.path.exists(self.path("no.hptrace")))

    def test_damage(self):
        trace = self.recorded(program("sort"))
        whole = self.replayed(trace, *FUNCTIONAL)
        at, _, stored = [frame for frame in frames(trace) if frame[1] == ADDRESSES][0]
        with open(trace, "r+b") as file:
            file.seek(at + 40 + stored // 2)
            byte = file.read(1)
            file.seek(at + 40 + stored // 2)
            file.write(bytes([byte[0] ^ 1]))
        result = self.hotpath("trace", "check", trace, status=125)
        self.assertIn("damaged at byte %d" % at, result.stderr)
        result = self.hotpath("trace", "replay", "--machine", "vaswani", trace, status=125)
        self.assertIn("damaged at byte %d" % at, result.stderr)
        # Without a machine nobody needs them; with one, the rest is there.
        self.assertEqual(self.replay(trace).instructions, whole.instructions)
        saved = self.replayed(trace, *FUNCTIONAL, "--salvage")
        self.assertEqual(saved.instructions, whole.instructions)
        self.assertEqual(machine(saved)["l1i.accesses"], machine(whole)["l1i.accesses"])
        self.assertLess(machine(saved)["l1d.accesses"], machine(whole)["l1d.accesses"])
        text = self.hotpath("report", saved.path).stdout
        self.assertIn("addresses", text)


if __name__ == "__main__":
    lib.main()
