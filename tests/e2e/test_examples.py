# SPDX-License-Identifier: MIT
"""The examples do what they say, also when they are built against the installed library.

Environment (set by ctest): HOTPATH, the command in its build directory; SRC, the source tree.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.abspath(os.environ.get("SRC") or os.path.join(HERE, "..", ".."))
HOTPATH = os.path.abspath(os.environ.get("HOTPATH") or os.path.join(SRC, "build", "hotpath"))
BUILD = os.path.dirname(HOTPATH)


def run(*argv, **options):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          universal_newlines=True, **options)


def is_sanitized():
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        return "HP_SANITIZE:BOOL=ON" in cache.read()


def build_installed(test, source):
    """Builds a program as a user would: against an installed library, with pkg-config."""
    if is_sanitized():
        test.skipTest("the library then needs the sanitizers' run time too")
    if not shutil.which("pkg-config") or not shutil.which("cc"):
        test.skipTest("there is no pkg-config or no compiler")
    stage = tempfile.mkdtemp(prefix="hotpath-examples.")
    test.addCleanup(shutil.rmtree, stage, ignore_errors=True)
    done = run("cmake", "--install", BUILD, "--prefix", stage)
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    found = [d for d, _, files in os.walk(stage) if "hotpath.pc" in files]
    test.assertEqual(len(found), 1)
    program = os.path.join(stage, "bin", os.path.splitext(os.path.basename(source))[0])
    done = run("sh", "-c", 'cc -O2 -o "$0" "$1" $(pkg-config --cflags --libs hotpath)', program,
               os.path.join(SRC, source), env=dict(os.environ, PKG_CONFIG_PATH=found[0]))
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    return program


def primes(below):
    crossed = [False] * below
    for n in range(2, below):
        if not crossed[n]:
            crossed[2 * n::n] = [True] * len(crossed[2 * n::n])
    return crossed[2:].count(False)


def longest_chain(below):
    lengths = {1: 0}
    for start in range(1, below):
        n, steps = start, 0
        while n not in lengths:
            n, steps = (3 * n + 1 if n & 1 else n >> 1), steps + 1
        lengths[start] = steps + lengths[n]
    return max(lengths[n] for n in range(1, below))


def table_sum(size):
    return sum(i * j & 255 for i in range(size) for j in range(size))


class NetInterpreter(unittest.TestCase):
    def check(self, program):
        for scheme in ("net:50", "net:0", "net:50,after=keep", "path-profile:50", "boa:50"):
            done = run(program, scheme)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            expected = "primes %d, longest chain %d, sum %d: the results are equal" % self.results
            self.assertIn(expected, done.stdout)
            self.assertGreater(float(re.search(r"([\d.]+) % less", done.stdout).group(1)), 60, done.stdout)

    def setUp(self):
        self.results = (primes(60000), longest_chain(20000), table_sum(600))

    def test_computes_the_same_with_fewer_dispatches(self):
        self.check(os.path.join(BUILD, "examples", "net_interpreter"))

    def test_says_what_is_wrong_with_a_scheme(self):
        done = run(os.path.join(BUILD, "examples", "net_interpreter"), "net:often")
        self.assertEqual(done.returncode, 1)
        self.assertIn("delay: 'often' is not a number", done.stderr)

    def test_builds_against_the_installed_library(self):
        self.check(build_installed(self, "examples/net_interpreter.c"))


class HottestPaths(unittest.TestCase):
    """The sample runs a program from C, with the engine that is installed with the library."""

    def test_finds_the_loop(self):
        program = build_installed(self, "samples/hottest_paths.c")
        done = run(program, os.path.join(BUILD, "samples", "sample"))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = re.findall(r"^ *([\d.]+)%  (\d+) times, (\d+) branches, (\S+)$", done.stdout, re.M)
        self.assertEqual(len(rows), 5, done.stdout)
        shares = [float(row[0]) for row in rows]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertGreater(shares[0], 5)

    def test_status_and_failures(self):
        program = os.path.join(BUILD, "samples", "hottest_paths")
        environment = dict(os.environ, HOTPATH_PLUGIN_DIR=BUILD)
        done = run(program, "sh", "-c", "exit 7", env=environment)
        self.assertEqual(done.returncode, 7, done.stderr)
        done = run(program, "/no/such/program", env=environment)
        self.assertEqual(done.returncode, 127)
        self.assertIn("/no/such/program", done.stderr)


class LoopCounter(unittest.TestCase):
    """1000 rows of 7 back edges; 40 executions of 24; the outermost loop goes on to the end."""

    def loops(self, *arguments):
        done = run(os.path.join(BUILD, "examples", "loop_counter"), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row[0]: row[2:] for row in (line.split() for line in done.stdout.splitlines()) if row[0].startswith("0x")}

    def test_calls_interfere(self):
        self.assertEqual(self.loops(), {"0x1028": ["1000", "7.000"], "0x1010": ["960", "1.000"], "0x1014": ["39", "1.000"]})

    def test_calls_are_watched(self):
        self.assertEqual(self.loops("daprof,calls,first-average"),
                         {"0x1028": ["1000", "7.000"], "0x1010": ["40", "24.000"], "0x1014": ["1", "0.000"]})

    def test_says_what_is_wrong_with_a_model(self):
        done = run(os.path.join(BUILD, "examples", "loop_counter"), "daprof,ways=3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("32 entries cannot be sets of 3 ways", done.stderr)


class HotspotHandler(unittest.TestCase):
    PROGRAM = os.path.join(BUILD, "examples", "hotspot_handler")

    def result(self):
        """What the interpreted program computes, here without it."""
        r6, mask = 0, (1 << 64) - 1
        for _ in range(2):
            for i in range(50000):
                r6 = (r6 * 50000 + i) & mask
            for i in range(50000):
                r6 = r6 ^ i if r6 >> 1 & 1 else (r6 + 50000) & mask
            r6 = (r6 + 50000 * 10) & mask
        return r6

    def test_finds_each_phase_once(self):
        done = run(self.PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        spots = re.findall(r"^hot spot (\d+) after (\d+) branches: (.*)$", done.stdout, re.M)
        self.assertEqual([int(number) for number, _, _ in spots], [0, 1, 2])
        branches = [[int(b) for b in re.findall(r"(\d+) \(", rest)] for _, _, rest in spots]
        self.assertEqual([sorted(b) for b in branches], [[4], [7, 9, 12], [17, 19]])
        self.assertLess(int(spots[2][1]), 50000 + 150000 + 10000)  # soon after its first turn began
        self.assertLess(float(re.search(r"cost ([\d.]+) an", done.stdout).group(1)), 2)
        self.assertIn("result %d" % self.result(), done.stdout)

    def test_finds_them_again_without_a_monitor_table(self):
        done = run(self.PROGRAM, "merten,entries=64,detect=11,monitor=off")
        self.assertGreater(len(re.findall("^hot spot", done.stdout, re.M)), 10)
        self.assertIn("result %d" % self.result(), done.stdout)

    def test_says_what_is_wrong_with_a_detector(self):
        done = run(self.PROGRAM, "merten,ways=3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("hot spots: ", done.stderr)


class ProfilemeOverlap(unittest.TestCase):
    """Two loops of 100000 turns; the loads of one wait for each other, those of the other do not."""
    PROGRAM = os.path.join(BUILD, "examples", "profileme_overlap")

    def rows(self, *arguments):
        done = run(self.PROGRAM, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [[float(n) for n in re.findall(r"(?<!\w)\d+(?:\.\d+)?(?=[ )]|$)", line[22:])] for line in done.stdout.splitlines()[2:]]

    def check(self, *arguments):
        rows = self.rows(*arguments)
        self.assertEqual([len(row) for row in rows], [7, 3, 3, 7, 3, 3, 3])
        for row in rows:
            for value, low, high in zip(row[0:6:3], row[1:6:3], row[2:6:3]):
                self.assertTrue(low <= value <= high, row)
            self.assertTrue(row[1] <= 100000 <= row[2], row)
        self.assertEqual((rows[0][3], rows[0][4], rows[0][6]), (0, 0, 0))
        self.assertTrue(rows[3][4] <= rows[3][6] <= rows[3][5], rows[3])
        self.assertGreater(rows[3][6], 5)  # an array's loads are under way together

    def test_estimates_hold_what_was_counted(self):
        self.check()
        self.check("profileme,window=40,interval=300,seed=5")
        self.check("profileme,mode=slots,window=300,interval=2000,seed=2")

    def test_single_samples_have_no_pairs(self):
        self.assertTrue(all(row[0] == 0 for row in self.rows("profileme")))

    def test_says_what_is_wrong_with_a_sampler(self):
        done = run(self.PROGRAM, "profileme,window=31")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a window of 31 is less than the 32 instructions", done.stderr)


if __name__ == "__main__":
    unittest.main()
