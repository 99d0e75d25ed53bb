#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paths that the engine counts are those of the stream: the same profile, row by row, whatever happens to
the program."""
import os
import sqlite3

from lib import E2E, main, program, run

COMPARE = os.environ.get("COUNTED_COMPARE", "build/tests/counted_compare")

PROGRAMS = [("loops",), ("switches",), ("recursion",), ("tail",), ("pointers",), ("jumps",), ("exceptions",),
            ("interpreter",), ("generated",), ("signals", "raise"), ("signals", "nested"), ("signals", "segv"),
            ("signals", "jump"), ("faults",), ("selfmod",), ("calls",)]
KINDS = ["bl", "bl,length=5", "bl,direction=static", "extended-loop:2"]
# What is about the run and not about the program.
APART = {"contents", "run", "engine_stat", "traces_event", "thread_time"}


class SimulatedEngine(E2E):
    def test_programs(self):
        """What an engine that obeys the rules would count, of what these programs execute."""
        for name, *arguments in PROGRAMS:
            trace = self.trace(program(name), *arguments)
            for options in ([], ["--hand-over=5"]):
                with self.subTest(name, arguments=arguments, options=options):
                    result = run([COMPARE, *options, trace, *KINDS])
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    self.assertEqual(result.stdout.count(": equal\n"), len(KINDS))


class CountedPaths(E2E):
    def rows(self, *command, options, **others):
        profile = self.record(*command, options=["--engine", "native", "--profile", "paths", *options],
                              **others)
        tables = {}
        with sqlite3.connect(profile.path) as file:
            for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
                columns = "id, instructions, blocks, branches" if table == "thread" else "*"
                tables[table] = sorted(map(repr, file.execute('SELECT %s FROM "%s"' % (columns, table))))
        return {table: rows for table, rows in tables.items() if table not in APART}

    def expect_same(self, *command, options=()):
        streamed = self.rows(*command, options=["--record", "stream", *options], name="streamed.hotpath")
        counted = self.rows(*command, options=options, name="counted.hotpath")
        self.assertEqual(streamed.keys(), counted.keys())
        for table, rows in streamed.items():
            if rows != counted[table]:
                a, b = set(rows) - set(counted[table]), set(counted[table]) - set(rows)
                self.fail("%s: %d rows only in the stream's, %d only in the counted:\n- %s\n+ %s" % (
                    table, len(a), len(b), "\n- ".join(sorted(a)[:5]), "\n+ ".join(sorted(b)[:5])))

    def test_programs(self):
        for name, *arguments in PROGRAMS:
            with self.subTest(name, arguments=arguments):
                self.expect_same(program(name), *arguments)

    def test_kinds(self):
        for kind in KINDS:
            for metric in ("executions", "instructions"):
                with self.subTest(kind, metric=metric):
                    self.expect_same(program("jumps"), options=["--paths", kind, "--metric", metric])


if __name__ == "__main__":
    main()
