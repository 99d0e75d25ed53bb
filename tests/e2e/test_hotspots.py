# SPDX-License-Identifier: MIT
"""Hot spots: a program of three phases gives three, each once; processes; the profiler against the slow reference on recorded runs.

Also in the environment: HOTSPOT_COMPARE. HOTPATH_LONG=1: more detectors on more programs."""
import collections
import os
import subprocess
import sys
import unittest

from lib import HOTPATH, SRC, E2E, main, program, run

COMPARE = os.environ.get("HOTSPOT_COMPARE", "build/tests/hotspot_compare")
LONG = os.environ.get("HOTPATH_LONG")
DETECTORS = ["merten", "merten,only=conditional-indirect,index=direction", "merten,index=target,entries=512",
             "merten,ranges=8,monitor-entries=1024,detect=11", "merten,only=conditional-indirect,monitor-threshold=90%",
             "merten,refresh=0,reset=0,threshold=50%", "merten,monitor-counter=6,detect=9,candidate=8,entries=256",
             "merten,monitor=off,ways=4,reset=20000",
             "dense,patience=1", "dense,patience=0,refresh=64,reset=1024,density=30",
             "dense,patience=0,refresh=256,reset=2048,only=conditional-indirect,region=whole", "merten,region=tight,only=conditional-indirect"]
SMALL = ["merten,detect=6,candidate=4,monitor-counter=4", "merten,detect=8,candidate=3,entries=64,reset=700,refresh=100",
         "merten,only=conditional-indirect,detect=7,candidate=2,monitor=off",
         "dense,patience=0,refresh=20,reset=100,map-share=0,density=20,monitor-counter=6"]


# A process that starts goes through its environment: with many variables that is a hot spot, too.
FEW = {"PATH": os.environ["PATH"]}


def hotspots(profile):
    """In the order of detection."""
    return sorted(profile.json["hotspots"], key=lambda h: h["id"])


class Phases(E2E):
    KERNELS = ["kernel_a", "kernel_b", "kernel_c"]

    def check_phases(self, profile):
        spots = hotspots(profile)
        self.assertEqual(len(spots), 3)
        for i, (spot, kernel) in enumerate(zip(spots, self.KERNELS)):
            self.assertEqual(spot["id"], i)
            self.assertIn(kernel, spot["functions"])
            for other in self.KERNELS:  # each has its own kernel alone
                self.assertEqual(other in spot["functions"], other == kernel)
            self.assertLessEqual(spot["after"], spot["total"])
            self.assertEqual(sum(s["instructions"] for s in spot["slices"]), spot["after"])
            self.assertGreater(spot["after_share"], 0.2)
            self.assertEqual(len(set(spot["blocks"])), len(spot["blocks"]))
        self.assertEqual(sorted(s["detected_at"] for s in spots), [s["detected_at"] for s in spots])
        return spots

    def check_time_line(self, spots, instructions):
        """A B C A B C: in each slice at most two of them, and each runs twice."""
        width = spots[0]["slice_width"]
        n = instructions // width
        busiest = []
        for number in range(n):
            shares = [sum(s["instructions"] for s in spot["slices"] if s["slice"] == number) for spot in spots]
            self.assertLessEqual(sum(shares), width + 5000)  # blocks belong to the slice they begin in
            if max(shares) > 0.9 * width:
                busiest.append(shares.index(max(shares)))
        turns = [b for i, b in enumerate(busiest) if i == 0 or busiest[i - 1] != b]
        self.assertEqual(turns, [0, 1, 2, 0, 1, 2])

    def test_each_once_and_in_order(self):
        for engine in ("native", "qemu"):
            with self.subTest(engine):
                profile = self.record(program("phases"), env=FEW, options=["--engine", engine, "--profile", "hotspots"],
                                      name=engine)
                self.check_time_line(self.check_phases(profile), profile.instructions)

    def test_counts_are_those_of_an_exact_profile(self):
        """A kernel's instructions after its detection: nearly all of its second turn, and most of its first."""
        profile = self.record(program("phases"), env=FEW, options=["--profile", "exact,hotspots"])
        spots = self.check_phases(profile)
        for spot, kernel in zip(spots[1:], self.KERNELS[1:]):
            mine = sum(profile.function(name)["self"] for name in spot["functions"])
            self.assertGreater(spot["total"], 0.999 * mine)
            self.assertLessEqual(spot["total"], mine)
            self.assertGreater(spot["after"], 0.95 * mine)

    def test_again_and_again_without_a_monitor_table(self):
        profile = self.record(program("phases"), env=FEW, options=["--hotspots", "merten,monitor=off"])
        spots = hotspots(profile)
        self.assertGreater(len(spots), 100)
        found = [next(k for k in self.KERNELS if k in s["functions"]) for s in spots if len(s["functions"]) < 5]
        turns = [k for i, k in enumerate(found) if i == 0 or found[i - 1] != k]
        self.assertEqual([k for k in turns if k in self.KERNELS], self.KERNELS * 2)

    def test_processes(self):
        """The parent runs A, four children B, C, B, C: each has a hot spot of its own, though the code is the same."""
        profile = self.record(program("phases"), "processes", env=FEW, options=["--profile", "hotspots"])
        pids = [pid for pid, in profile.query("SELECT pid FROM hotspot ORDER BY number")]
        found = collections.defaultdict(list)
        for pid, spot in zip(pids, hotspots(profile)):
            found[pid] += [k for k in self.KERNELS if k in spot["functions"]]
        self.assertEqual(sorted(found.values()),
                         [["kernel_a"], ["kernel_b"], ["kernel_b"], ["kernel_c"], ["kernel_c"]])

    def test_wrong_detectors(self):
        for text in ("martin", "merten,entries=3", "merten,colour=1"):
            result = self.hotpath("run", "--hotspots", text, "--", "true", status=125)
            self.assertIn("--hotspots: hot spots: ", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)


class Reference(E2E):
    def compare(self, trace, detectors):
        """What the comparison says of each detector."""
        done = run([COMPARE, trace, *detectors], timeout=1800)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        lines = [line for line in done.stdout.splitlines() if line.endswith(": equal")]
        self.assertEqual(len(lines), len(detectors), done.stdout)
        found = []
        for line in lines:
            words = line.rsplit(": ", 2)[1].split()
            found.append({k: int(v) for k, v in zip(words[::2], words[1::2])})
        return found

    def test_programs(self):
        for name in ["loops", "switches", "recursion", "pointers", "jumps", "signals", "exceptions", "interpreter", "threads",
                     "forks"]:
            with self.subTest(name):
                found = self.compare(self.trace(program(name), check=False), SMALL)
                self.assertGreater(found[0]["spots"], 0)

    def test_phases_in_processes(self):
        self.compare(self.trace(program("phases"), "processes", check=False), DETECTORS[:2])

    def test_other_engine_and_architecture(self):
        self.compare(self.trace(program("switches"), options=["--engine", "qemu"], check=False), SMALL)
        arm = program("arm/switches")
        if os.path.exists(arm):
            self.compare(self.trace(arm, options=["--engine", "qemu"], check=False), SMALL)

    def command(self, name):
        """The short command of a program of the experiments, and its input; None when it is not installed."""
        done = run([sys.executable, os.path.join(SRC, "lab", "programs.py"), "command", self.dir, "short", name])
        if done.returncode == 3:
            return None, None
        lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0, done.stderr)
        return [value for key, value in lines if key == "argument"], dict(lines[:2])["stdin"]

    def test_real_programs(self):
        names = ["gzip", "lua", "perl", "cc1"] + (["python3", "sqlite3", "bzip2", "cjpeg"] if LONG else [])
        compared = 0
        for i, name in enumerate(names):
            with self.subTest(name):
                command, stdin = self.command(name)
                if not command:
                    continue
                trace = self.path(name)
                with open(stdin, "rb") as input_file:
                    done = subprocess.run([HOTPATH, "trace", "record", "-q", "-o", trace, "--"] + command, stdin=input_file,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr)
                detectors = DETECTORS if LONG else ["merten", DETECTORS[1 + i]] if name != "cc1" else DETECTORS[4:5]
                found = self.compare(trace, detectors)
                self.assertGreater(found[0]["spots"], 0)
                compared += 1
                os.unlink(trace)
        if not compared:
            self.skipTest("none of the programs is installed")


if __name__ == "__main__":
    main()
