#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory mode of the native engine: a program whose addresses are known on paper, and real ones
whose addresses must fit what was run, one by one."""
import os
import re
import resource
import shutil
import subprocess
import sys
import unittest

from lib import HOTPATH, PROGRAMS, SRC, program, run, symbols

NATIVE = os.environ.get("NATIVE_PROGRAMS") or os.path.join(os.path.dirname(PROGRAMS), "native")
WATCH = os.path.join(NATIVE, "watch_memory")
COUNTED = re.compile(r"(\d+) addresses, (\d+) known, (\d+) wrong, (\d+) threads lost, (\d+) killed")


def expected(source, names):
    """The addresses that the lines of an assembler file say, in order."""
    with open(os.path.join(SRC, "tests/programs", source), encoding="ascii") as text:
        for line in text:
            if "#= " in line:
                for place in line.split("#= ")[1].split():
                    name, offset = re.fullmatch(r"(\w+)([+-]\w+)?", place).groups()
                    yield names[name] + int(offset or "0", 0)


class Memory(unittest.TestCase):
    maxDiff = 4000

    def watch(self, *argv, status=0, **options):
        """Watches; returns what was listed and the numbers at the end."""
        environment = dict(os.environ, HOTPATH_PLUGIN_DIR=os.path.dirname(os.path.abspath(HOTPATH)))
        result = run([WATCH, *argv], env=environment, **options)
        found = COUNTED.search(result.stderr)
        self.assertTrue(found, result.stderr[-1000:])
        self.assertEqual(result.returncode, status, result.stderr[-1000:])
        return result.stdout, [int(n) for n in found.groups()]

    def test_every_operand(self):
        path = program("memory")
        listed, _ = self.watch("-l", path)
        got = [int(line.split()[-1], 16) for line in listed.splitlines()]
        wanted = list(expected("memory.S", symbols(path)))
        self.assertGreater(len(wanted), 90)
        self.assertEqual([hex(a) for a in got], [hex(a) for a in wanted])

    def test_few_addresses(self):
        """Addresses come as soon as their words do, however few: else the words pile up."""
        environment = dict(os.environ, HOTPATH_PLUGIN_DIR=os.path.dirname(os.path.abspath(HOTPATH)))
        with subprocess.Popen([WATCH, program("spin")], env=environment, stderr=subprocess.PIPE,
                              text=True) as watch:
            found = COUNTED.search(watch.stderr.read())
            _, status, usage = os.wait4(watch.pid, 0)
            watch.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(watch.returncode, 0)
        self.assertEqual([int(n) for n in found.groups()], [2, 0, 0, 0, 0])
        self.assertLess(usage.ru_maxrss, 40000)  # KiB; the words are 62500

    def real(self, *argv, least, input_text="", killed=0):
        if not shutil.which(argv[0]):
            self.skipTest(argv[0] + " is not installed")
        _, (addresses, known, wrong, lost, ended) = self.watch(*argv, stdin=None, input=input_text)
        self.assertGreater(addresses, least)
        self.assertGreater(known, least // 200)
        self.assertEqual((wrong, lost, ended), (0, 0, killed))

    def test_dash(self):
        self.real("dash", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; ls / | wc -l",
                  least=500000)

    def test_gzip(self):
        self.real("gzip", "-c", "-1", os.path.join(SRC, "src/engine/native/inner/translate.c"),
                  least=100000)

    def test_sqlite3(self):
        self.real("sqlite3", ":memory:", least=2000000, input_text="create table t(a, b);"
                  "with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000)"
                  "insert into t select n, n * 7 % 13 from c;"
                  "select b, sum(a) from t group by b order by b;")

    def test_python3(self):
        self.real("/usr/bin/python3", "-c", "import json; print(json.dumps([1] * 10))",
                  least=5000000)

    def stress(self, name, *parts, killed=0):
        for part in parts:
            with self.subTest(part=part):
                _, (_, _, wrong, lost, ended) = self.watch(os.path.join(NATIVE, name), part)
                self.assertEqual((wrong, lost, ended), (0, 0, killed))

    def test_signals(self):
        """A signal comes between an instruction and its record, and inside blocks."""
        self.stress("storm", "jumps", "registers")

    def test_faults(self):
        """The addresses of an instruction that could not be run are not there."""
        self.stress("faults", *run([os.path.join(NATIVE, "faults")]).stdout.split())

    def test_ends(self):
        """Of a thread that was killed there may be more than its words mean, never less."""
        self.stress("processes", "end-kill", "exec-thread", killed=1)

    def test_changed_code(self):
        """Instructions that write to translated code are run apart from the others."""
        self.stress("codegen", *run([os.path.join(NATIVE, "codegen")]).stdout.split())


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.uname().machine != "x86_64":
        print("skipped: the native engine runs x86-64 programs")
        sys.exit(77)
    unittest.main(verbosity=2)
