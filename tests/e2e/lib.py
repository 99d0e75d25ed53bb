# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: running hotpath and reading what it says.

Tests are unittest classes derived from E2E. Environment (set by ctest): HOTPATH, the command;
PROGRAMS, the directory of the built test programs; SRC, the source tree.
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HOTPATH = os.environ.get("HOTPATH", "build/hotpath")
PROGRAMS = os.environ.get("PROGRAMS", "build/tests/programs")
SRC = os.environ.get("SRC", ".")
TIMEOUT = 240  # seconds; a run that takes longer hangs

for needed in (HOTPATH, PROGRAMS, SRC):
    if not os.path.exists(needed):
        sys.exit("%s does not exist: run the tests by ctest, or set HOTPATH, PROGRAMS and SRC"
                 % needed)


def program(name):
    """Path of a built test program."""
    return os.path.join(PROGRAMS, name)


def marks(source):
    """Lines of a program of tests/programs that carry a mark "@name": {name: line}."""
    found = {}
    with open(os.path.join(SRC, "tests/programs", source), encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            for name in re.findall(r"@(\w+)", line):
                found[name] = number
    return found


def run(args, **options):
    """Runs a command to its end; the result has returncode, stdout and stderr (text)."""
    options.setdefault("timeout", TIMEOUT)
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, errors="replace", **options)


def symbols(path):
    """Symbols of a program: {name: address}."""
    result = run(["nm", path])
    if result.returncode != 0:
        raise AssertionError("nm failed: " + result.stderr)
    rows = (line.split() for line in result.stdout.splitlines())
    return {row[2]: int(row[0], 16) for row in rows if len(row) == 3}


def report_text(path, *options):
    """The JSON report of a profile file, without run metadata."""
    result = run([HOTPATH, "report", path, "--json", "--no-run", *options])
    if result.returncode != 0:
        raise AssertionError("hotpath report failed: " + result.stderr)
    return result.stdout


def report_json(path, *options):
    return json.loads(report_text(path, *options))


class Profile:
    """A profile file: its JSON report (without run metadata) and its tables."""

    def __init__(self, path):
        self.path = path
        self.text = report_text(path)
        self.json = json.loads(self.text)

    @property
    def instructions(self):
        return self.json["summary"]["instructions"]

    def function(self, name):
        """The functions row of that name; counts are 0 when it never ran."""
        rows = [f for f in self.json["functions"] if f["name"] == name]
        if len(rows) > 1:
            raise AssertionError("%d functions are called %s" % (len(rows), name))
        return rows[0] if rows else {"name": name, "self": 0, "inclusive": 0, "calls": 0}

    def calls(self, caller, callee):
        """How often `caller` called `callee`."""
        return sum(c["count"] for c in self.json["calls"]
                   if c["caller"] == caller and c["callee"] == callee)

    def calls_inclusive(self, caller, callee):
        """Instructions spent in those calls."""
        return sum(c["inclusive"] for c in self.json["calls"]
                   if c["caller"] == caller and c["callee"] == callee)

    def edges(self, function, kind):
        """Counts of the edges of that kind that leave `function`: {from: {to: count}}."""
        places = set(self.query(
            "SELECT b.module, b.offset + b.branch FROM block b JOIN function f ON f.id = b.function"
            " WHERE f.name = ?", function))
        found = collections.defaultdict(collections.Counter)
        for module, start, to_module, to, count in self.query(
                "SELECT e.from_module, e.from_offset, e.to_module, e.to_offset, sum(c.count)"
                " FROM edge e JOIN edge_count c ON c.edge = e.id JOIN flow w ON w.id = e.flow"
                " WHERE w.name = ? GROUP BY e.id", kind):
            if (module, start) in places:
                found[start][to_module, to] += count
        return found

    def branches(self, file, line):
        """Outcomes of the conditional branches of a source line: [(rarer, more frequent), ...],
        sorted. Which of the two is "taken" is the compiler's choice."""
        found = collections.defaultdict(collections.Counter)
        for start, taken, count in self.query(
                "SELECT DISTINCT e.from_offset, e.taken, c.count FROM edge e JOIN"
                " (SELECT edge, sum(count) AS count FROM edge_count GROUP BY edge) c ON c.edge = e.id"
                " JOIN flow w ON w.id = e.flow"
                " JOIN block b ON b.module = e.from_module AND b.offset + b.branch = e.from_offset"
                " JOIN line l ON l.block = b.id AND l.start <= b.branch AND b.branch < l.stop"
                " JOIN string s ON s.id = l.file"
                " WHERE w.name = 'cond' AND l.line = ? AND (s.text = ? OR s.text LIKE '%/' || ?)",
                line, file, file):
            found[start][taken] += count
        return sorted(tuple(sorted((f[0], f[1]))) for f in found.values())

    def line(self, file, number):
        """Executions of a source line as the report counts them; 0 when it never ran."""
        return sum(row["executions"] for row in self.json["lines"]
                   if row["line"] == number and os.path.basename(row["file"]) == file)

    def query(self, sql, *parameters):
        """Rows of a query on the profile's tables."""
        database = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True)
        try:
            return database.execute(sql, parameters).fetchall()
        finally:
            database.close()


class E2E(unittest.TestCase):
    """A test with a directory of its own, self.dir, gone afterwards."""

    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hotpath-e2e-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def hotpath(self, *args, status=0, **options):
        """Runs hotpath and expects that exit status."""
        result = run((HOTPATH,) + args, **options)
        self.assertEqual(result.returncode, status,
                         "hotpath %s\nstdout: %s\nstderr: %s"
                         % (" ".join(map(str, args)), result.stdout[-2000:], result.stderr[-2000:]))
        return result

    def record(self, *command, options=(), status=0, name="profile.hotpath", **run_options):
        """Records a run of `command` and returns its Profile, which must be free of losses."""
        path = self.path(name)
        self.hotpath("record", "-q", "-o", path, *options, "--", *command, status=status,
                     **run_options)
        profile = Profile(path)
        self.assertEqual(profile.query("SELECT lost FROM run"), [(0,)], "words were lost")
        return profile

    def trace(self, *command, options=(), status=0, name="run.hptrace", check=True, **run_options):
        """Records a trace, checks its invariants, and returns its path."""
        path = self.path(name)
        self.hotpath("trace", "record", "-q", "-o", path, *options, "--", *command, status=status,
                     **run_options)
        if check:
            self.hotpath("trace", "check", path)
        return path

    def replay(self, trace, name="replay.hotpath"):
        """The profile of a trace."""
        path = self.path(name)
        self.hotpath("trace", "replay", "-o", path, trace)
        return Profile(path)


def need(*commands):
    """Skips the whole script (status 77) when a command is not installed."""
    for command in commands:
        if not shutil.which(command):
            print("skipped: %s is not installed" % command)
            sys.exit(77)


def main():
    unittest.main(verbosity=2)
