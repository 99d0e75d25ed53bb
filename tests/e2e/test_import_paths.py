#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What branch stacks show of the order of execution, against the exact profile of the trace that they were made from."""
import json
import struct
import unittest

import util_cli
from util_cli import FAILED
from test_export_perf import WORK
from test_import import Import, MMAP2, SAMPLE, kind, swapped


class Ordered(Import):
    def exact(self, program, *options):
        """An exact profile of the program's trace."""
        path = self.path("exact.hotpath")
        self.good("trace", "replay", "-o", path, *options, self.trace(program)[0])
        return path

    def stacks(self, program, settings, *options):
        return self.take(self.record(program, settings), *options)


class Paths(Ordered):
    """Paths that lie within a stack."""

    def paths(self, profile):
        return {tuple(row[:-1]): row[-1] for row in self.query(profile, """SELECT s.text, m.path,
            p.offset, p.length, p.outcomes, p.targets, sum(c.count) FROM path p JOIN path_count c
            ON c.path = p.id JOIN module m ON m.id = p.module JOIN string s ON s.id = p.kind
            GROUP BY 1, 2, 3, 4, 5, 6""")}

    def detector(self, profile):
        return dict(self.query(profile, "SELECT name, value FROM model_stat WHERE part LIKE 'paths %'"))

    def test_within(self):
        """None that did not happen is there. Where stacks are consecutive, a path that is not there was unfinished at the end of one."""
        program = self.program("work", WORK)
        for paths in ("bl", "wpp", "forward", "extended-loop:1", "extended-call:1"):
            exact = self.paths(self.exact(program, "--paths", paths))
            for depth in (8, 127):
                profile = self.stacks(program, "perf,consecutive,depth=%d" % depth, "--paths", paths)
                found = self.paths(profile)
                for path, count in found.items():
                    self.assertLessEqual(count, exact.get(path, 0), (paths, depth, path))
                missing = sum(exact.values()) - sum(found.values())
                self.assertGreater(len(found), 100)
                if not paths.startswith("extended"):  # how often a piece has grown is not known
                    self.assertLessEqual(missing, self.detector(profile)["unfinished"])
                self.assertGreater(self.detector(profile)["pieces"], 0)

    def test_estimates(self):
        """Counts stand for the run; what is cut is said."""
        program = self.program("work", WORK)
        exact = self.exact(program, "--paths", "bl")
        profile = self.stacks(program, "perf,period=101,depth=32", "-p", "paths")
        first = "SELECT sum(c.count) FROM path_count c JOIN path p ON p.id = c.path JOIN function f ON f.id = p.function WHERE f.name = 'mixed'"
        (a,), (b,) = self.query(exact, first)[0], self.query(profile, first)[0]
        self.assertLess(abs(a - b) / a, 0.25)
        notes = " ".join(text for text, in self.query(profile, "SELECT text FROM note WHERE kind = 'paths'"))
        self.assertIn("within a branch stack", notes)
        self.assertIn("pieces of paths are cut", notes)

    def test_views(self):
        """Reports, pages and merged profiles have them."""
        program = self.program("work", WORK)
        profile = self.stacks(program, "perf,consecutive,depth=32", "-p", "paths")
        self.assertRegex(self.good("report", "--top", "3", profile, "paths").decode(), r"bl: [0-9,]+ paths")
        report = json.loads(self.good("report", "--json", profile, "paths"))
        self.assertIn("mixed", json.dumps(report))
        self.good("html", "-q", "-o", self.path("page.html"), profile)
        self.good("merge", "-o", self.path("two.hotpath"), profile, profile)
        once, twice = self.paths(profile), self.paths(self.path("two.hotpath"))
        self.assertEqual(twice, {path: 2 * count for path, count in once.items()})

    def test_refused(self):
        path = self.record(self.program("work", WORK), "perf,period=50")
        for options in (["-p", "cycles"], ["--table", "vaswani"], ["--machine", "modern"], ["-p", "predictions"], ["--wpp", self.path("w")]):
            self.refused(FAILED, ["import", "-o", self.path("x.hotpath"), *options, path], "no complete record")


class Loops(Ordered):
    """Executions of loops that lie within a stack."""

    def totals(self, profile):
        return {row[:2]: row[2:] for row in self.query(profile, """SELECT m.path, l.offset, sum(c.executions),
            sum(c.iterations), min(c.min), max(c.max), l.flags FROM loop l JOIN loop_count c ON c.loop = l.id
            JOIN module m ON m.id = l.module WHERE m.path <> '[vdso]' GROUP BY 1, 2""")}

    def seen(self, profile):
        return self.query(profile, """SELECT m.path, l.offset, s.whole, s.iterations, s.count FROM loop_seen s
            JOIN loop l ON l.id = s.loop JOIN module m ON m.id = l.module WHERE m.path <> '[vdso]'""")

    def test_seen(self):
        """Whole executions have iterations as the exact profile knows them; cut ones not more than it does."""
        program = self.program("work", WORK)
        exact = self.totals(self.exact(program, "-p", "exact,loops"))
        for depth in (16, 127):
            profile = self.stacks(program, "perf,consecutive,depth=%d" % depth, "-p", "loops")
            found, whole = self.totals(profile), {}
            self.assertEqual({k: v[:2] for k, v in found.items()}, {k: v[:2] for k, v in exact.items()})
            for path, offset, is_whole, iterations, count in self.seen(profile):
                executions, _, least, most, _ = exact[path, offset]
                if not most:
                    continue  # not known one by one
                self.assertLessEqual(iterations, most, (path, offset))
                if is_whole:
                    self.assertGreaterEqual(iterations, least, (path, offset))
                    whole[path, offset] = whole.get((path, offset), 0) + count
                    self.assertLessEqual(whole[path, offset], executions, (path, offset))
            self.assertGreater(len(whole), 20)
        stacks = self.stats(profile)["stacks"]
        self.assertGreaterEqual(sum(whole.values()) + sum(v[0] for k, v in exact.items() if k not in whole),
                                sum(v[0] for v in exact.values()) - 4 * stacks)
        (mixed,), = self.query(profile, """SELECT sum(s.count) FROM loop_seen s JOIN loop l ON l.id = s.loop
            JOIN function f ON f.id = l.function WHERE f.name = 'mixed' AND s.whole AND s.iterations = 20""")
        self.assertGreaterEqual(mixed, 500 - stacks)

    def test_estimates(self):
        """Numbers of executions and iterations are near the exact ones."""
        program = self.program("work", WORK)
        profile = self.stacks(program, "perf,period=101,depth=32", "-p", "loops,paths")
        (executions, iterations), = self.query(profile, """SELECT sum(c.executions), sum(c.iterations) FROM loop_count c
            JOIN loop l ON l.id = c.loop JOIN function f ON f.id = l.function WHERE f.name = 'mixed'""")
        self.assertLess(abs(executions - 500) / 500, 0.25)
        self.assertLess(abs(iterations / executions - 20), 2)
        self.assertRegex(self.good("report", profile, "loops").decode(), r"20 100%; \d+ cut, up to 20\+ +mixed")
        rows = json.loads(self.good("report", "--json", profile, "loops"))["loops"]
        row, = (row for row in rows if row["function"] == "mixed")
        self.assertEqual([seen["iterations"] for seen in row["seen"]], [20])
        self.assertLessEqual(max(cut["at_least"] for cut in row["cut"]), 20)
        # Merged, executions add up.
        self.good("merge", "-o", self.path("two.hotpath"), profile, profile)
        count = "SELECT whole, sum(count) FROM loop_seen GROUP BY 1"
        self.assertEqual(self.query(self.path("two.hotpath"), count), [(w, 2 * n) for w, n in self.query(profile, count)])


class Intervals(Ordered):
    """How sure estimates are."""

    ITEMS = {
        "functions": """SELECT m.path, f.offset, sum(c.self), s.samples, s.sum, s.squares FROM function f
            JOIN module m ON m.id = f.module JOIN function_count c ON c.function = f.id
            LEFT JOIN function_sample s ON s.function = f.id GROUP BY f.id""",
        "blocks": """SELECT m.path, b.offset, b.size, sum(c.count), s.samples, s.sum, s.squares FROM block b
            JOIN module m ON m.id = b.module JOIN block_count c ON c.block = b.id
            LEFT JOIN block_sample s ON s.block = b.id GROUP BY b.id""",
        "edges": """SELECT m.path, e.from_offset, e.to_offset, e.taken, sum(c.count), s.samples, s.sum, s.squares
            FROM edge e JOIN module m ON m.id = e.from_module JOIN edge_count c ON c.edge = e.id
            LEFT JOIN edge_sample s ON s.edge = e.id GROUP BY e.id""",
        "loops": """SELECT m.path, l.offset, sum(c.iterations), s.samples, s.sum, s.squares FROM loop l
            JOIN module m ON m.id = l.module JOIN loop_count c ON c.loop = l.id
            LEFT JOIN loop_sample s ON s.loop = l.id WHERE l.flags = 0 GROUP BY l.id""",
        "paths": """SELECT m.path, p.offset, p.outcomes, p.length, sum(c.count), s.samples, s.sum, s.squares FROM path p
            JOIN module m ON m.id = p.module JOIN path_count c ON c.path = p.id
            LEFT JOIN path_sample s ON s.path = p.id GROUP BY p.id""",
    }

    def items(self, profile, sql):
        return {row[:-4]: row[-4:] for row in self.query(profile, sql)}

    def test_cover(self):
        """Most intervals contain the exact count; short paths' too."""
        program = self.program("work", WORK)
        exact = self.exact(program, "-p", "exact,loops,paths")
        profile = self.stacks(program, "perf,period=101,depth=32", "-p", "loops,paths")
        for name, sql in self.ITEMS.items():
            wanted, tried, inside = self.items(exact, sql), 0, 0
            for item, (count, samples, total, squares) in self.items(profile, sql).items():
                if not samples or samples < 10 or (name == "paths" and item[-1] > 4):
                    continue
                self.assertLessEqual(samples, self.stats(profile)["stacks"])
                self.assertLessEqual(total, squares)
                self.assertGreaterEqual(squares * samples, total * total)
                half = 1.96 * squares ** 0.5 / total * count
                tried += 1
                inside += abs(wanted[item][0] - count) <= half + 1
            self.assertGreater(tried, 5, name)
            self.assertGreaterEqual(inside, 0.85 * tried, name)

    def blocks_of(self, profile, recording):
        """By address: where a block ends, the branch that ends it, and its row; and the rows of the program's own blocks that alone
        end with their branch."""
        starts, ends = {}, {}
        for one in recording.records:
            if kind(one) != MMAP2 or not struct.unpack_from("<I", one, 64)[0] & 4:  # not executable
                continue
            low, size, offset = struct.unpack_from("<3Q", one, 16)
            path = one[72:].split(b"\0")[0].decode()
            for row, start, length, branch in self.query(profile, """SELECT b.id, b.offset, b.size, b.branch FROM block b
                    JOIN module m ON m.id = b.module WHERE m.path = '%s'""" % path):
                at = low + start - offset
                if low <= at < low + size:
                    starts[at] = at + length, at + branch, row
                    ends.setdefault(at + branch, []).append(row)
        return starts, ends

    def straight(self, starts, at, branch):
        """The rows of the blocks from an address to a branch; None: it does not lead there."""
        rows = []
        while at in starts:
            end, last, row = starts[at]
            rows.append(row)
            if last == branch:
                return rows
            if branch < end:
                return None
            at = end
        return None

    def shown(self, stack, starts, ends):
        """How often a stack, oldest branch first, shows each block."""
        counts, before = {}, None
        for start, to in stack:
            rows = None if before is None else self.straight(starts, before, start)
            if rows is None:
                rows = ends.get(start, [])[:1]
            for row in rows if to in starts else rows[:-1]:
                counts[row] = counts.get(row, 0) + 1
            before = to
        return counts

    def test_sums(self):
        """Of blocks: the samples that show them, the executions that these show, and the sum of squares, as a slow count has them.
        The same where a stack has more branches than its sample stands for."""
        program = self.program("work", WORK)
        for settings in ("perf,period=101,depth=16", "perf,period=5,depth=16"):
            recording = self.recording(program, settings)
            profile = self.take(self.path("perf.data"))
            starts, ends = self.blocks_of(profile, recording)
            wanted = {}
            for one in recording.records:
                if kind(one) != SAMPLE:
                    continue
                n, = struct.unpack_from("<Q", one, 40)
                stack = [struct.unpack_from("<2Q", one, 48 + 24 * i) for i in reversed(range(n))]
                for row, x in self.shown(stack, starts, ends).items():
                    samples, total, squares = wanted.get(row, (0, 0, 0))
                    wanted[row] = samples + 1, total + x, squares + x * x
            alone = {rows[0] for rows in ends.values() if len(rows) == 1}
            found = {row[0]: row[1:] for row in self.query(profile, "SELECT block, samples, sum, squares FROM block_sample")}
            compared = [row for row in wanted if row in alone]
            self.assertGreater(len(compared), 200)
            for row in compared:
                self.assertEqual(found[row], wanted[row], settings)
            # The order of branches is kept for loops, and read again otherwise.
            loops = self.take(self.path("perf.data"), "-p", "loops")
            for table in ("function_sample", "block_sample", "edge_sample"):
                rows = "SELECT samples, sum, squares FROM %s ORDER BY 1, 2, 3" % table
                self.assertEqual(self.query(profile, rows), self.query(loops, rows))

    def test_views(self):
        """Reports have a column of them; where nothing is estimated there is none."""
        program = self.program("work", WORK)
        estimated = self.stacks(program, "perf,period=101,depth=32", "-p", "loops,paths")
        for view in ("functions", "blocks", "edges", "loops", "paths"):
            self.assertIn("±", self.good("report", "--top", "3", estimated, view).decode(), view)
            rows = json.loads(self.good("report", "--json", "--top", "1", estimated, view))[view]
            row = rows[0]
            self.assertGreater(row["error"], 0, view)
            self.assertLess(row["error"], 2, view)
        self.good("merge", "-o", self.path("two.hotpath"), estimated, estimated)
        once, twice = (json.loads(self.good("report", "--json", "--top", "1", p, "functions"))["functions"][0]["error"]
                       for p in (estimated, self.path("two.hotpath")))
        self.assertAlmostEqual(once / twice, 2 ** 0.5, places=3)
        whole = self.stacks(program, "perf,consecutive,depth=32", "-p", "loops,paths")
        for view in ("functions", "blocks", "edges", "loops", "paths"):
            self.assertNotIn("±", self.good("report", "--top", "3", whole, view).decode(), view)
        for table in ("function_sample", "block_sample", "edge_sample", "loop_sample", "path_sample"):
            self.assertEqual(self.query(whole, "SELECT count(*) FROM " + table), [(0,)])


class Cycles(Ordered):
    """Cycles from one taken branch to the next."""

    def timed(self, recording, reverse=False):
        """The samples, with cycles in the flags of branches, some of which have none; and what they say of each run."""
        records, runs = [], {}
        for one in recording.records:
            if kind(one) == SAMPLE:
                body = bytearray(one)
                chain, = struct.unpack_from("<Q", body, 40)
                stack = 48 + 8 * chain
                n, = struct.unpack_from("<Q", body, stack)
                before = None
                for i in reversed(range(n)):  # oldest first
                    at = stack + 8 + 24 * i
                    start, end, flags = struct.unpack_from("<3Q", body, at)
                    cycles = 0 if start % 16 == 7 else 3 + start % 5 + len(records) % 4
                    bits = int("{:016b}".format(cycles)[::-1], 2) if reverse else cycles
                    struct.pack_into("<Q", body, at + 16, flags | bits << 4)
                    if before is not None and start:
                        runs.setdefault((before, start), []).append(cycles)
                    before = end
                one = bytes(body)
            records.append(one)
        return records, runs

    def runs(self, profile):
        return sorted(self.query(profile, "SELECT count, cycles, squares, min, max, unknown FROM run_cycle"))

    def test_runs(self):
        """Each run has the cycles of the branch at its end; what was not recorded is counted apart."""
        program = self.program("work", WORK)
        recording = self.recording(program, "perf,period=101,depth=16,chains")
        records, wanted = self.timed(recording)
        profile = self.take(self.write("timed.data", recording.file(records)))
        expected = []
        for cycles in wanted.values():
            known = [c for c in cycles if c]
            expected.append((len(known), sum(known), sum(c * c for c in known), min(known, default=0),
                             max(known, default=0), len(cycles) - len(known)))
        found, left = self.runs(profile), sorted(expected)
        for run in found:
            self.assertIn(run, left)
            left.remove(run)
        self.assertLess(len(left), 0.05 * len(expected))  # in the kernel's own page of code
        self.assertGreater(sum(run[5] for run in found), 0)
        self.assertEqual(self.stats(profile)["runs with cycles"], sum(run[0] for run in found))
        self.assertIn("have no recorded cycles", self.notes(profile)["cycles"])
        # As a machine of the other byte order writes it, which has the highest bit first.
        recording.records = self.timed(recording, True)[0]
        self.assertEqual(self.runs(self.take(self.write("other.data", swapped(recording)))), found)

    def test_views(self):
        program = self.program("work", WORK)
        recording = self.recording(program, "perf,period=101,depth=16,chains")
        plain = self.take(self.write("plain.data", recording.file()))
        self.assertIn("no cycles between branches", self.good("report", plain, "runs").decode())
        self.assertNotIn("run_cycles", self.good("report", "--json", "--top", "1", plain, "functions").decode())
        profile = self.take(self.write("timed.data", recording.file(self.timed(recording)[0])))
        rows = json.loads(self.good("report", "--json", profile, "runs"))["runs"]
        self.assertAlmostEqual(sum(row["share"] for row in rows), 1, places=3)
        for row in rows:
            if row["count"]:
                self.assertAlmostEqual(row["mean"], row["cycles"] / row["count"], places=3)
                self.assertLessEqual(row["min"], row["mean"])
        functions = json.loads(self.good("report", "--json", profile, "functions"))["functions"]
        mixed, = (f["run_cycles"] for f in functions if f["name"] == "mixed")
        self.assertEqual(mixed, sum(row["cycles"] for row in rows if row["function"] == "mixed"))
        self.assertEqual(sum(f["run_cycles"] for f in functions), sum(row["cycles"] for row in rows))
        self.assertRegex(self.good("report", profile, "runs").decode(), r"mixed")


if __name__ == "__main__":
    util_cli.main()
