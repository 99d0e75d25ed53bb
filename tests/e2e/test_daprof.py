#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The paper's examples as programs, with what each loop model makes of them worked out by hand; and the models against their slow reference on recorded runs.

In CI: test programs and some million branches of a real one. HOTPATH_LONG=1: more of them."""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from lib import HOTPATH, SRC, program, symbols

COMPARE = os.environ.get("DAPROF_COMPARE", "build/tests/daprof_compare")
LONG = os.environ.get("HOTPATH_LONG")
MODELS = ["daprof", "daprof-16way", "daprof-full", "daprof,calls", "daprof,first-average", "daprof,calls,first-average",
          "daprof,tasks,calls", "daprof,ratio=15/16", "daprof,ratio=31/32", "daprof,exact-average,calls,entries=256",
          "daprof,fifo=1", "daprof,fifo=1,fifo-service=7,calls", "daprof,entries=8,ways=2,calls,contexts=1,depth-bits=2",
          "daprof,execution-bits=6,iteration-bits=4", "frequent", "frequent,max-offset=1024,execution-bits=10", "frequent,fifo=2"]


class Models(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="hotpath-test.")
        self.addCleanup(self.directory.cleanup)

    def record(self, argv, engine="native"):
        trace = os.path.join(self.directory.name, "trace")
        done = subprocess.run([HOTPATH, "trace", "record", "-q", "--engine", engine, "-o", trace, "--"] + argv, timeout=300,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        return trace

    def profile(self, name, model):
        path = os.path.join(self.directory.name, "profile")
        done = subprocess.run([HOTPATH, "record", "-q", "-o", path, "--profile", "loops", "--loop-model", model, "--", program(name)],
                              timeout=300, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        database = sqlite3.connect(path)
        self.addCleanup(database.close)
        return database

    def compare(self, trace, models):
        """For each model what it did, and its loops: {branch: (executions, average, iterations)}."""
        done = subprocess.run([COMPARE, trace, *models], timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = []
        for line in done.stdout.splitlines():
            words = line.split()
            if words[0] == "loop":
                found[-1][1][int(words[1], 16)] = (int(words[3]), float(words[4]), float(words[5]))
            else:
                self.assertTrue(line.endswith(": equal"), line)
                found.append((dict((k, int(v)) for k, v in re.findall(r"(\w+) (\d+)", line)), {}))
                if LONG:
                    print(line, file=sys.stderr)
        self.assertEqual(len(found), len(models))
        return found

    def check(self, name, model, expected, did=None):
        """The loops of a program, by the names of their branches: executions, and the average as the hardware has it."""
        path, places = program(name), {}
        for engine in ["native", "qemu"]:
            with self.subTest(model=model, engine=engine):
                counts, loops = self.compare(self.record([path], engine), [model])[0]
                for symbol, address in symbols(path).items():
                    places[address] = symbol
                self.assertEqual({places.get(a, hex(a)): loops[a][:2] for a in loops}, expected)
                for what, count in (did or {}).items():
                    self.assertEqual(counts[what], count, what)

    # --- Section 2 ---

    def test_loops_ab(self):
        """A's 2000 iterations are 1023 to DAProf: 1023, then 7/8 and 1023 more: 1919, 2703, 3389, 3989. B has 16 eighths from its 16th execution on. The loop around B is left
        four times, its last execution is not over; the outermost never is."""
        iterations = 5 * 2000 + 6000 * 2 + 5 * 1199 + 4
        self.check("loops_ab", "daprof", {"branch_a": (5, 3989 / 8), "branch_b": (6000, 2.0), "branch_again": (5, 3389 / 8),
                                          "branch_round": (1, 0.0)},
                   {"branches": iterations, "overflows": 0, "replacements": 0, "saturations": 5 * (977 + 176), "halvings": 0})

    def test_loops_ab_with_room(self):
        """With 11 bits nothing saturates; the first execution sets the average, and all are alike."""
        self.check("loops_ab", "daprof,iteration-bits=11,first-average",
                   {"branch_a": (5, 2000.0), "branch_b": (6000, 2.0), "branch_again": (5, 1199.0), "branch_round": (1, 0.0)},
                   {"saturations": 0})

    def test_loops_ab_frequent(self):
        """Loop B looks better: it has more iterations."""
        trace = self.record([program("loops_ab")])
        names = symbols(program("loops_ab"))
        loops = self.compare(trace, ["frequent"])[0][1]
        self.assertEqual([loops[names[n]][2] for n in ["branch_b", "branch_a", "branch_again", "branch_round"]], [12000, 10000, 5995, 4])

    def test_loops_ab_fifo(self):
        """A profiler that takes four instructions for a branch gets three of four of a loop of three: of 2000 the first two find room, then 1499 of 1998."""
        counts, loops = self.compare(self.record([program("loops_ab")]), ["daprof,fifo-service=4,exact-average,fifo=1"])[0]
        self.assertEqual(counts["branches"] - counts["overflows"], sum(loop[2] for loop in loops.values()))
        self.assertAlmostEqual(loops[symbols(program("loops_ab"))["branch_a"]][2], 5 * 1500, delta=10)

    # --- Figure 6 ---

    def test_interference(self):
        """Each iteration of A looks like an execution, because the function's loop ends it; and so the loop around it. Their number is right."""
        self.check("interference", "daprof", {"branch_a": (140, 1.0), "branch_b": (150, 4.0), "branch_round": (9, 1.0)})

    def test_interference_calls(self):
        """10 executions, of which 9 are over: 14, 27, 38, 48, 56, 63, 70, 76, 81 eighths."""
        self.check("interference", "daprof,calls", {"branch_a": (10, 81 / 8), "branch_b": (150, 4.0), "branch_round": (1, 0.0)})
        self.check("interference", "daprof,calls,first-average", {"branch_a": (10, 14.0), "branch_b": (150, 4.0), "branch_round": (1, 0.0)})

    def test_interference_exact(self):
        self.check("interference", "daprof,calls,exact-average", {"branch_a": (10, 14.0), "branch_b": (150, 4.0), "branch_round": (1, 9.0)})

    # --- The exact profile ---

    def test_converges_to_exact(self):
        """With room for everything and exact averages the model has what the exact profile has: the back edges of each loop, and its executions, but those without any back edge, which
        nobody sees who sees only branches. That is so where each loop is closed by one branch behind its body."""
        model = "daprof,entries=4096,ways=16,fifo=0,exact-average,calls,max-offset=65536,depth-bits=16,contexts=64"
        for name in ["loops_ab", "interference", "sieve", "queens", "crc"]:
            with self.subTest(name):
                database = self.profile(name, model)
                once = dict(database.execute("SELECT loop, count FROM loop_trip WHERE bucket = 1 AND value = 0"))
                exact = {loop: (executions - once.get(loop, 0), back_edges) for loop, executions, back_edges in
                         database.execute("SELECT loop, sum(executions), sum(back_edges) FROM loop_count GROUP BY loop")}
                seen = database.execute("SELECT loop, executions, iterations FROM model_loop").fetchall()
                self.assertEqual({row[0]: row[1:] for row in seen}, exact)
                self.assertEqual(len(seen), len(exact))
                self.assertGreater(len(exact), 1)

    def test_rows(self):
        """Averages are in thousandths; instructions are iterations times the 3, 6 and 3 instructions in the bounds. x86-64 has tags of 48 bits."""
        database = self.profile("interference", "daprof")
        rows = database.execute("SELECT executions, average, iterations, instructions FROM model_loop ORDER BY executions").fetchall()
        self.assertEqual(rows, [(9, 1000, 9, 54), (140, 1000, 140, 420), (150, 4000, 600, 1800)])
        counts = dict(database.execute("SELECT name, value FROM model_stat WHERE part = 'loops daprof'"))
        self.assertEqual((counts["bits"], counts["branches"], counts["overflows"]), (3464, 749, 0))

    # --- The reference ---

    def test_programs(self):
        for name in ["loops", "switches", "recursion", "pointers", "jumps", "signals", "exceptions", "interpreter", "threads", "sort"]:
            with self.subTest(name):
                found = self.compare(self.record([program(name)]), MODELS)
                self.assertGreater(found[0][0]["branches"], 100)

    def test_programs_qemu(self):
        for name in ["recursion", "signals", "arm/loops", "arm-a32/interpreter", "riscv64/recursion"]:
            if os.path.exists(program(name)):
                with self.subTest(name):
                    self.compare(self.record([program(name)], "qemu"), MODELS)

    def test_real_program(self):
        trace = self.record(["perl", os.path.join(SRC, "lab", "workload.pl"), "20" if LONG else "1"])
        found = self.compare(trace, MODELS)
        self.assertGreater(found[0][0]["branches"], 100000)
        self.assertGreater(found[0][0]["replacements"], 1000)


if __name__ == "__main__":
    unittest.main()
