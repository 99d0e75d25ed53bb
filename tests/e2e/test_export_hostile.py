#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every format that is made of a profile, of profiles that nobody wants: with hostile names, empty, merged, with absurd numbers, damaged. It writes a file or
says in one line why not; it never crashes or hangs, and leaves no half of a file. What is for viewers their readers read, and the totals stay.

HOTPATH_MUTATIONS says how many damaged profiles there are, two of a hundred (default: 8)."""
import concurrent.futures
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess

import util_hostile
import util_npm
from test_damage import damage_bytes, damage_rows
from util_callgrind import Callgrind
from util_cli import FAILED, HOTPATH, MUTATIONS, Case, main, status_of, tool

SECONDS = 20


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


class Hostile(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = util_hostile.build(cls.shared)
        cls.profile = os.path.join(cls.shared, "hostile.hotpath")
        subprocess.run([HOTPATH, "record", "-q", "-p", "exact,loops,paths", "--table", "512x4", "-o", cls.profile, "--",
                        cls.program], check=True)
        cls.formats = cls.find_formats()

    @classmethod
    def find_formats(cls):
        """Those of a profile: they say so when they are given a program."""
        text = subprocess.run([HOTPATH, "export", "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
        names = re.findall(r"^  (\S+) ", text.split("Formats:\n")[1].split("\n\n")[0], re.M)
        found = []
        for name in names:
            done = subprocess.run([HOTPATH, "export", "-f", name, "-o", "/dev/null", "--", "true"], stderr=subprocess.PIPE)
            if b"is made of one profile" in done.stderr:
                found.append(name)
        return found

    def check(self, form, profile, *options):
        """Exports; returns the file, or None when it was refused."""
        directory = os.path.join(self.dir, "%s.%s" % (form, os.path.basename(profile)))
        os.mkdir(directory)
        out = os.path.join(directory, "out")
        done = subprocess.run([HOTPATH, "export", "-f", form, *options, "-o", out, profile], timeout=SECONDS, preexec_fn=limit,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        what, status = (form, profile, options, done.stderr[-2000:]), status_of(done.returncode)
        self.no_sanitizer(done.stderr)
        self.assertIn(status, (0, FAILED), what)
        self.assertEqual(done.stdout, b"", what)
        self.assertRegex(done.stderr, rb"\A(hotpath: note: [^\n]+ is damaged, [^\n]+\n)?(hotpath: note: [^\n]+ of the run[^\n]*\n)?"
                         rb"hotpath: [^\n]+\n\Z", what)
        self.assertEqual(os.listdir(directory), [] if status else ["out"], what)
        return None if status else out

    def check_all(self, profile, *options):
        """All formats; returns {format: file} of those that were written. What cannot be loaded is left after the first."""
        found = {"callgrind": self.check("callgrind", profile, *options)}
        others = [form for form in self.formats if form != "callgrind"]
        if found["callgrind"] or options:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                found.update(zip(others, pool.map(lambda form: self.check(form, profile, *options), others)))
        return {form: file for form, file in found.items() if file}

    def total(self, profile):
        return json.loads(self.good("report", profile, "summary", "--json"))["summary"]["instructions"]

    def test_formats_are_found(self):
        self.assertLessEqual({"callgrind", "pprof", "folded", "speedscope"}, set(self.formats))

    def test_hostile_names(self):
        files, total = self.check_all(self.profile), self.total(self.profile)
        read = Callgrind(files["callgrind"])
        self.assertEqual((read.summary[0], read.totals[0]), (total, total))
        annotated = self.execute([tool("callgrind_annotate"), "--auto=no", "--show-percs=no", files["callgrind"]])
        self.assertEqual((annotated[0], annotated[2]), (0, b""))
        self.assertIn("{:,}".format(total).encode() + b" ", annotated[1])
        self.check_stacks(files, total)

    def check_stacks(self, files, total):
        with open(files["folded"], encoding="utf-8") as file:
            self.assertEqual(sum(int(re.fullmatch(r"[^;]+(?:;[^;]+)* (\d+)", line.rstrip("\n")).group(1)) for line in file), total)
        with open(files["speedscope"], encoding="utf-8") as file:
            names = {frame["name"] for frame in json.load(file)["shared"]["frames"]}
        for name in (b"<script>", b'say "hi"; rm', b"two\nlines", b"a" * 10000):
            self.assertTrue(any(name.decode() in other for other in names), name)
        named = []
        for form, name in (("folded", "x.collapsedstack.txt"), ("speedscope", "x.speedscope.json"), ("pprof", "x.pb.gz")):
            named.append(shutil.copy(files[form], self.path(name)))
        for profiles in util_npm.node("read_speedscope.js", *named):
            self.assertEqual(sum(p["total"] for p in profiles), total)
        pprof = util_npm.node("read_pprof.js", files["pprof"])[0]
        self.assertEqual(sum(sample["values"][1] for sample in pprof["samples"]), total)

    def test_other_requests(self):
        for options in (("--metric", "cycles"), ("--table", "512x4"), ("--module", "none"), ("--table", "\x1b[0m\n<b>")):
            with self.subTest(options=options):
                self.check_all(self.profile, *options)
                shutil.rmtree(self.dir)
                os.mkdir(self.dir)

    def test_empty(self):
        for name, options in (("none", ("-p", "none")), ("after", ("--after", "1G")), ("counts", ("-p", "counts"))):
            profile = self.path(name)
            self.good("record", "-q", *options, "-o", profile, "--", tool("true"))
            files = self.check_all(profile)
            if name != "counts":
                self.assertEqual(Callgrind(files["callgrind"]).totals[0], 0)

    def test_merged(self):
        other, both = self.path("other"), self.path("both")
        self.good("record", "-q", "-o", other, "--", tool("gzip"), "-c", self.profile, stdout=subprocess.DEVNULL)
        self.good("merge", "-o", both, self.profile, other, self.profile)
        files, total = self.check_all(both), self.total(both)
        self.assertEqual(total, 2 * self.total(self.profile) + self.total(other))
        self.assertEqual(Callgrind(files["callgrind"]).totals[0], total)
        self.check_stacks(files, total)

    def test_absurd_numbers(self):
        """A database that is in order, with numbers and texts that are not."""
        changes = (
            "UPDATE block_count SET count = 9223372036854775807",
            "UPDATE context_count SET self = 9223372036854775807, calls = 9223372036854775807",
            "UPDATE call_count SET inclusive = 9223372036854775807, count = 0",
            "UPDATE block SET insns = 4294967295",
            "UPDATE line SET line = 4294967295, insns = 4294967295",
            "UPDATE edge SET flow = (id * 7) % 9, taken = 1",
            "UPDATE function SET offset = -id, name = '', linkage = ''",
            "UPDATE function SET name = replace(hex(zeroblob(30000)), '0', 'x;') WHERE id % 40 = 0",
            "UPDATE module SET path = '/dev/zero', build_id = ''",
            "UPDATE run SET started = -9223372036854775807, seconds = 1e300",
            "UPDATE context SET parent = id - 1 WHERE id > 0",
            "DELETE FROM function_count; DELETE FROM call_count; DELETE FROM thread WHERE id > 0",
        )
        for i, change in enumerate(changes):
            profile = shutil.copy(self.profile, self.path("changed%d" % i))
            with sqlite3.connect(profile) as db:
                db.executescript(change + "; DELETE FROM contents;")
            with self.subTest(change=change):
                self.check_all(profile)

    def test_damaged(self):
        for number in range(max(8, MUTATIONS * 2 // 100)):
            profile = self.path("damaged%d" % number)
            if number % 2:
                with open(self.profile, "rb") as file, open(profile, "wb") as damaged:
                    damaged.write(damage_bytes(file.read(), number))
            else:
                shutil.copy(self.profile, profile)
                damage_rows(profile, number)
                with sqlite3.connect(profile) as db:
                    try:
                        db.execute("DELETE FROM contents")
                    except sqlite3.Error:
                        pass  # it went away
            with self.subTest(number=number):
                self.check_all(profile)


if __name__ == "__main__":
    main()
