#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calling contexts of real programs: threads, recursion, signals, longjmp, exceptions, fork. What must hold for any tree, trees that are known
on paper, and the same trees from both engines."""
import collections
import json
import os
import subprocess

import lib
import util_cli
from lib import PROGRAMS, program

lib.need("gcc")

NATIVE = os.uname().machine == "x86_64" and \
    os.path.exists(os.path.join(os.path.dirname(lib.HOTPATH), "hotpath-engine"))
COMMANDS = [("recursion",), ("threads",), ("forks",), ("exceptions",), ("jumps",), ("tail",), ("interpreter",),
            ("signals", "raise"), ("signals", "timer"), ("signals", "nested"), ("signals", "jump")]
MUSL = [("recursion",), ("jumps",), ("tail",), ("signals", "raise"), ("signals", "nested"),
        ("signals", "altstack"), ("signals", "jump")]

KNOWN = """\
#include <setjmp.h>
#include <signal.h>
static volatile int sink;
static jmp_buf env;
__attribute__((noinline)) static void leaf(void) { sink++; }
__attribute__((noinline)) static void thrower(int n) { leaf(); if (n == 0) longjmp(env, 1); thrower(n - 1); sink++; }
__attribute__((noinline)) static void deep(int n) { if (n) deep(n - 1); sink++; }
__attribute__((noinline)) static void handler(int s) { (void)s; leaf(); }
__attribute__((noinline)) static void raiser(void) { raise(SIGUSR1); leaf(); }
int main(void)
{
    signal(SIGUSR1, handler);
    if (!setjmp(env))
        thrower(2);
    leaf();
    for (int i = 0; i < 5; i++)
        raiser();
    deep(1000);
    return 0;
}
"""


class Limit(util_cli.Case):
    """A C compiler has more contexts than are wanted: what is beyond is said in percent, and nothing is lost."""

    def compile(self, *options):
        source, path = self.path("main.c"), self.path("profile")
        with open(source, "w", encoding="utf-8") as file:
            file.write(KNOWN)
        self.good("record", "-q", *options, "-o", path, "--", "gcc", "-O1", "-S", "-o", "/dev/null", source)
        return path

    def summary(self, path):
        return json.loads(self.good("report", path, "summary", "--json"))["summary"]

    def folded(self, path):
        """(instructions in the file, what is said of it)."""
        out = self.path("folded")
        status, _, said = self.hotpath("export", "--format", "folded", "-o", out, path)
        self.assertEqual(status, 0)
        with open(out, encoding="utf-8") as file:
            return sum(int(line.rsplit(" ", 1)[1]) for line in file), said.decode()

    def test_what_is_beyond_is_told(self):
        path = self.compile("--contexts", "100")
        summary = self.summary(path)
        share = 100 * summary["contexts_beyond"] / summary["instructions"]
        self.assertTrue(5 < share < 100, share)
        sentence = "%.1f%% of the run is in contexts beyond the limit" % share
        self.assertIn(sentence, self.good("report", path, "contexts").decode())
        total, said = self.folded(path)
        self.assertEqual(total, summary["instructions"])
        self.assertIn(sentence, said)
        for form in ("speedscope", "pprof"):
            self.assertIn(sentence, self.hotpath("export", "--format", form, "-o", self.path("out"), path)[2].decode())
        page = json.loads(self.good("html", "--data", path))
        self.assertTrue(any(sentence in line for line in page["limits"]), page["limits"])
        merged = self.path("merged")
        self.good("merge", "-o", merged, path, path)
        self.assertEqual(self.summary(merged)["contexts_beyond"], 2 * summary["contexts_beyond"])

    def test_nothing_is_beyond(self):
        path = self.compile()
        summary = self.summary(path)
        self.assertEqual(summary["contexts_beyond"], 0)
        self.assertNotIn("beyond", self.good("report", path, "contexts").decode())
        total, said = self.folded(path)
        self.assertEqual(total, summary["instructions"])
        self.assertNotIn("beyond", said)

    def test_refused(self):
        self.refused(util_cli.FAILED, ["run", "-p", "paths", "--contexts", "9", "--", "true"], "--profile exact")


class Contexts(lib.E2E):
    def stacks(self, profile):
        """{(names, from the outermost): [self, calls]}, all threads together."""
        names, found = [], collections.defaultdict(lambda: [0, 0])
        for number, parent, name in profile.query(
                "SELECT c.id, c.parent, f.name FROM context c LEFT JOIN function f ON f.id = c.function ORDER BY c.id"):
            self.assertEqual(number, len(names))
            names.append((names[parent] if parent is not None else ()) + (name,))
        for context, own, calls in profile.query("SELECT context, sum(self), sum(calls) FROM context_count GROUP BY context"):
            found[names[context]][0] += own
            found[names[context]][1] += calls
        return found

    def check(self, profile):
        """What holds for every profile with contexts."""
        for number, instructions, own in profile.query(
                "SELECT id, instructions, (SELECT sum(self) FROM context_count c WHERE c.thread = t.id) FROM thread t"):
            self.assertEqual(own, instructions, "thread %d" % number)
        if not profile.query("SELECT * FROM context_rest"):
            entered = dict(profile.query(
                "SELECT k.function, sum(c.calls) FROM context_count c JOIN context k ON k.id = c.context GROUP BY k.function"))
            for function, calls in profile.query("SELECT function, sum(calls) FROM function_count GROUP BY function"):
                self.assertEqual(entered.get(function, 0), calls, "function %d" % function)
        self.assertEqual(profile.query("SELECT count(*) FROM context WHERE parent >= id"), [(0,)])

    def test_programs(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                profile = self.record(program(command[0]), *command[1:])
                self.check(profile)
                self.assertGreater(profile.query("SELECT count(*) FROM context")[0][0], 3)

    def test_known(self):
        path = self.path("known")
        with open(path + ".c", "w", encoding="utf-8") as out:
            out.write(KNOWN)
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-o", path, path + ".c"], check=True)
        profile = self.record(path)
        self.check(profile)
        stacks = self.stacks(profile)

        def calls(*names):
            """Of contexts that end so."""
            return sum(v[1] for stack, v in stacks.items() if stack[-len(names):] == names)

        self.assertEqual(calls("main", "thrower"), 1)
        self.assertEqual(calls("main", "thrower", "thrower", "thrower", "leaf"), 1)
        self.assertEqual(calls("thrower", "longjmp"), 0)  # named otherwise: out of it nobody returns
        self.assertEqual(calls("main", "leaf"), 1)  # behind longjmp it is main again
        self.assertEqual(calls("main", "raiser", "leaf"), 5)
        self.assertEqual(stacks["handler",][1], 5)  # a handler is called by nobody
        self.assertEqual(stacks["handler", "leaf"][1], 5)
        self.assertEqual(calls("raiser", "handler"), 0)
        deepest = max(stacks, key=len)
        self.assertEqual((len(deepest), deepest[-1]), (200, "deep"))
        own = [v[0] for s, v in stacks.items() if s[-2:] == ("deep", "deep")]
        self.assertEqual(len(set(own)), 2)  # but for the last all alike
        (rest,) = profile.query("SELECT r.instructions, r.calls, c.self FROM context_rest r JOIN context_count c USING (context, thread)")
        self.assertEqual(rest[1], 1001 - sum(1 for s in stacks if s[-1] == "deep"))
        self.assertEqual((rest[2], rest[2] - rest[0]), (stacks[deepest][0], min(own)))

    def test_engines_agree(self):
        if not NATIVE:
            self.skipTest("there is one engine")
        for command in MUSL:
            path = os.path.join(PROGRAMS, "musl", command[0])
            if not os.path.exists(path):
                self.skipTest("musl is not installed")
            with self.subTest(command=command):
                native, qemu = (self.stacks(self.record(path, *command[1:], options=("--engine", engine)))
                                for engine in ("native", "qemu"))
                self.assertGreater(sum("main" in stack for stack in native), 3)
                for stack in set(native) | set(qemu):  # before main it counts what the system hands over
                    if "__libc_start_main" not in stack or "main" in stack:
                        self.assertEqual(native.get(stack), qemu.get(stack), stack)

    def test_counts_have_none(self):
        profile = self.record(program("recursion"), options=("--profile", "counts"))
        self.assertEqual(profile.query("SELECT count(*) FROM context"), [(0,)])


class Tables(lib.E2E):
    """What hot path tables had in the end."""

    def rows(self, profile):
        found = collections.defaultdict(dict)
        for table, path, events in profile.query(
                "SELECT s.text, t.path, t.events FROM table_path t JOIN string s ON s.id = t.table_name"):
            found[table][path] = events
        return found

    def stat(self, profile, table, name):
        return profile.query("SELECT value FROM model_stat WHERE part = ? AND name = ?", "hpt " + table, name)[0][0]

    def test_rows(self):
        # More paths than have their steps for their weight alone.
        profile = self.record("/usr/bin/python3", "-c", "pass", options=(
            "--profile", "paths", "--table", "vaswani", "--table", "64x2,policy=lru", "--table", "random-admission"))
        exact = dict(profile.query("SELECT path, sum(events) FROM path_count GROUP BY path"))
        stepped = {path for path, in profile.query("SELECT DISTINCT path FROM path_step")}
        rows = self.rows(profile)
        self.assertEqual(set(rows), {"512x4 bl", "64x2,policy=lru bl", "random-admission bl"})
        self.assertGreater(len(exact), 10000)
        self.assertGreater(len(stepped), 10000)
        for table, paths in rows.items():
            self.assertEqual(len(paths), self.stat(profile, table, "filled"))
            self.assertEqual(sum(paths.values()), self.stat(profile, table, "events"))
            self.assertLessEqual(set(paths), stepped)
            if table == "random-admission bl":  # goes on from the count of the path that it replaces
                continue
            self.assertEqual(len(paths), self.stat(profile, table, "misses") - self.stat(profile, table, "replacements"))
            for path, events in paths.items():
                self.assertLessEqual(events, exact[path])

    def test_bounded(self):
        profile = self.record(program("switches"), options=(
            "--profile", "paths", "--max-paths", "20", "--table", "512x4"))
        paths = self.rows(profile)["512x4 bl"]
        (left,) = profile.query("SELECT count FROM note WHERE kind = 'paths' AND text LIKE '%tables%'")
        self.assertGreater(left[0], 0)
        self.assertEqual(len(paths) + left[0], self.stat(profile, "512x4 bl", "filled"))
        self.assertLess(sum(paths.values()), self.stat(profile, "512x4 bl", "events"))


if __name__ == "__main__":
    lib.main()
