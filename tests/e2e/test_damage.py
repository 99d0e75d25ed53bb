#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Damaged traces and profiles: each gives a clear error in one line or a correct result, and of a
profile what can be read, with a note; no crash, no hang, no report of a sanitizer.

HOTPATH_MUTATIONS says how many files are damaged, of traces and of profiles each (default 1000).
Every damage is decided by its number, so that a failure can be had again."""
import collections
import concurrent.futures
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess

from util_cli import CC, FAILED, HERE, HOTPATH, MUTATIONS, Case, main, status_of

SECONDS = 20
MEGABYTES = 1000

# A bit of everything that a stream can hold: threads, a fork, a signal, an exec that fails.
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
volatile unsigned sink;
static void on_usr1(int s) { sink += (unsigned)s; }
static void *second(void *p) { for (int i = 0; i < 50; i++) sink += i & 3 ? 1 : 2; return p; }
static unsigned deep(unsigned n) { return n < 2 ? n : deep(n - 1) + deep(n - 2); }
int main(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_usr1};
    char *argv[] = {"x", NULL};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    pthread_create(&thread, NULL, second, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        execv("/no/such/program", argv);
        _exit((int)deep(8) & 1);
    }
    wait(NULL);
    return 0;
}
"""


def damage_bytes(data, number):
    """Changes a file without regard for what is in it."""
    r = random.Random(number)
    data = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 5))):
        at = r.randrange(len(data)) if r.random() < 0.8 else r.randrange(min(256, len(data)))
        n = r.choice((1, 4, 16, 100, 4096))
        kind = r.randrange(8)
        if kind <= 1:
            data[at] ^= 1 << r.randrange(8)
        elif kind == 2:
            data[at] = r.randrange(256)
        elif kind == 3:
            data[at:at + n] = bytes([r.choice((0, 255, r.randrange(256)))]) * len(data[at:at + n])
        elif kind == 4:
            del data[at:at + n]
        elif kind == 5:
            data[at:at] = r.randbytes(n)
        elif kind == 6:
            other = r.randrange(len(data))
            data[at:at + n] = data[other:other + n]
        else:
            del data[at:]
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def damage_rows(path, number):
    """Changes a profile as a database: the file stays a good one, its rows make no sense."""
    r = random.Random(number)
    db = sqlite3.connect(path)
    tables = [name for name, in db.execute("select name from sqlite_master where type = 'table'")]
    for _ in range(r.choice((1, 1, 3))):
        table = r.choice(tables)
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        if not columns:
            break  # just dropped
        column = r.choice(columns)
        # Not longer: the path of a module is in every row of a report, which is kept here.
        value = r.choice((None, -1, 0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -2**63, 1e300,
                          "", "text", "\0\n", b"\xff\xfe", "x" * 5000))
        how = db.execute("select sql from sqlite_master where name = ?", (table,)).fetchone()[0]
        some = f"({columns[0]} * {r.randrange(1, 999)}) % 97 < {r.choice((1, 1, 10, 97))}" \
            if how.endswith("WITHOUT ROWID") else \
            f"rowid in (select rowid from {table} order by (rowid * {r.randrange(1, 999)}) % 97 "\
               f"limit {r.choice((1, 1, 10, 100000))})"
        kind = r.randrange(10)
        try:
            if kind <= 5:
                db.execute(f"update {table} set {column} = ? where {some}", (value,))
            elif kind == 6:
                db.execute(f"delete from {table} where {some}")
            elif kind == 7:
                db.execute(f"insert into {table} select * from {table} where {some}")
            elif kind == 8:
                db.execute(r.choice((f"drop table {table}",
                                     f"alter table {table} rename column {column} to renamed",
                                     f"pragma user_version = {r.choice((0, 2, 999, -1))}",
                                     f"pragma application_id = {r.choice((0, 7))}")))
            else:
                db.execute(f"update {table} set {column} = {column} * 3 + 1 where {some}")
        except sqlite3.Error:
            pass  # the schema does not allow it
    db.commit()
    db.close()


class Damage(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.build("program", PROGRAM, "-static", "-pthread")
        cls.trace, cls.addressed, cls.good_profile = (os.path.join(cls.shared, n) for n in
                                                      ("trace", "addressed", "profile"))
        everything = ["record", "--profile", "exact,loops,paths,predictions,hotspots",
                      "--loop-model", "daprof", "--hotspots", "merten,candidate=4,detect=7"]
        for command, path in ((["trace", "record"], cls.trace), (everything, cls.good_profile),
                              (["trace", "record", "--addresses"], cls.addressed)):
            subprocess.run([HOTPATH, *command, "-q", "-o", path, "--", cls.program], check=True)
        for name in ("trace", "addressed", "good_profile"):
            with open(getattr(cls, name), "rb") as file:
                setattr(cls, name + "_bytes", file.read())

    def run_one(self, *args):
        try:
            done = subprocess.run([HOTPATH, *args], stdin=subprocess.DEVNULL, timeout=SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            return "hang", b"", b""
        return status_of(done.returncode), done.stdout, done.stderr

    @staticmethod
    def is_note(line):
        """Whether the line says that a profile is damaged."""
        return line.startswith("hotpath: note: ") and ": the file is damaged, or was changed: " in line

    def judge(self, number, command, result, statuses):
        """What is wrong with how a command dealt with a damaged file; None when nothing is."""
        status, out, err = result
        what = f"number {number}: {' '.join(command)}: status {status}"
        if b"Sanitizer" in err or b"runtime error:" in err:
            return what + ", sanitizer: " + err.decode(errors="replace")[:1500]
        if status not in statuses:
            return f"{what}, {err[-300:]!r}"
        lines = err.decode(errors="replace").split("\n")
        if status != FAILED:
            lines = [line for line in lines if not self.is_note(line)]
            return None if lines == [""] else f"{what}, but says {err[:300]!r}"
        if len(lines) != 2 or lines[1] or not lines[0].startswith("hotpath: ") or len(lines[0]) < 20:
            return f"{what}, not one line: {err[:300]!r}"
        return None

    def over_all(self, one):
        """Calls one(number) for every number, two at a time; fails with what they complain of."""
        seen, complaints = collections.Counter(), []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for statuses, wrong in pool.map(one, range(1, MUTATIONS + 1)):
                seen.update(statuses)
                complaints += wrong
        # Small files must not ask for much, whatever they say.
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if used > MEGABYTES * 1024:
            complaints.append(f"a command used {used // 1024} MB")
        text = "\n".join(complaints[:10])
        self.assertEqual(complaints, [], f"{len(complaints)} of {MUTATIONS}:\n{text}")
        return seen

    # --- Traces ---

    REPLAY = ("trace", "replay", "--json", "--machine", "arm9")

    def try_trace(self, number, path, must_be_same):
        """Checks a damaged trace, and does one other thing with it."""
        other = [["info"], ["dump"], ["dump", "--words"], ["replay", "--json"],
                 ["replay", "--json", "--salvage", "--machine", "arm9"],
                 ["replay", "--json", "--from", "main", "--for", "1000"],
                 ["dump", "--code", "--addresses"]][number % 7]
        seen, wrong, results = [], [], []
        for command, statuses in ((["check"], (0, 1, FAILED)), (other, (0, FAILED))):
            result = self.run_one("trace", *command, path)
            results.append(result)
            wrong.append(self.judge(number, command, result, statuses))
            seen.append((command[0], result[0]))
        status, out, _ = results[1]
        if status == 0 and other[0] == "replay":
            try:
                json.loads(out)
            except ValueError as error:
                wrong.append(f"number {number}: {other}: not JSON: {error}")
        if must_be_same and results[0][0] == 0:
            replayed = self.run_one(*self.REPLAY, path)
            if replayed[1] != self.replayed:
                wrong.append(f"number {number}: found good, but is not what was recorded")
        os.unlink(path)
        return seen, [w for w in wrong if w]

    def test_traces(self):
        """The file is damaged anywhere: checksums find it."""
        for trace, content in ((self.trace, self.trace_bytes), (self.addressed, self.addressed_bytes)):
            self.replayed = self.good(*self.REPLAY, trace)

            def one(number):
                return self.try_trace(number, self.write(str(number), damage_bytes(content, number)),
                                      True)

            seen = self.over_all(one)
            self.assertGreater(seen["check", FAILED] + seen["check", 1], MUTATIONS * 0.9, seen)

    def test_traces_with_good_checksums(self):
        """The content of a frame is damaged before it is compressed and its checksums are made."""
        maker = os.path.join(self.shared, "damage_trace")
        subprocess.run([CC, "-O2", "-o", maker, os.path.join(HERE, "damage_trace.c"), "-lzstd"],
                       check=True)
        for trace in (self.trace, self.addressed):
            subprocess.run([maker, trace, self.dir, "0", str(MUTATIONS + 1)], check=True)
            # Number 0 is not damaged: what puts the others together does it right.
            self.assertEqual(self.good(*self.REPLAY, self.path("0")), self.good(*self.REPLAY, trace))
            self.good("trace", "check", self.path("0"))
            seen = self.over_all(
                lambda number: self.try_trace(number, self.path(str(number)), False))
            # Many get past the checksums to what reads the content, and some of them to the checker.
            self.assertGreater(seen["check", 1], MUTATIONS * 0.02, seen)
            self.assertGreater(seen["check", 0] + seen["check", 1], MUTATIONS * 0.1, seen)
            self.assertGreater(seen["check", 1] + seen["check", FAILED], MUTATIONS * 0.3, seen)

    # --- Profiles ---

    def try_profile(self, number, path):
        out = path + ".out"
        other = [["compare", "--json", path, self.good_profile],
                 ["compare", self.good_profile, path], ["merge", "-o", out, path, path],
                 ["merge", "-o", out, self.good_profile, path], ["report", path, "all", "--top", "0"],
                 ["report", "--csv", path, ("edges", "loops", "hotspots")[number // 6 % 3]]][number % 6]
        seen, wrong, results = [], [], []
        for command in (["report", "--json", path], other):
            result = self.run_one(*command)
            results.append(result)
            wrong.append(self.judge(number, command, result, (0, FAILED)))
            seen.append((command[0], result[0]))
        for command, (status, text, _) in zip((["report", "--json"], other), results):
            if status == 0 and "--json" in command:
                try:
                    json.loads(text)
                except ValueError as error:
                    wrong.append(f"number {number}: {command}: not JSON: {error}")
        if other[0] == "merge" and results[1][0] == 0:
            again = self.run_one("report", out)
            if again[0] != 0:
                wrong.append(f"number {number}: {other}: cannot be read: {again[2]!r}")
        if other[0] == "merge" and (results[1][0] == 0) != os.path.exists(out):
            wrong.append(f"number {number}: {other}: the file and the status disagree")
        noted = b"the file is damaged" in results[0][2]
        if results[0][0] == 0 and not noted and results[0][1] != self.reported:
            wrong.append(f"number {number}: accepted, but is not what was recorded")
        if noted and "damaged" not in [note["kind"] for note in json.loads(results[0][1])["notes"]]:
            wrong.append(f"number {number}: damaged, but the report does not say so")
        if noted != (b"the file is damaged" in results[1][2]) and results[1][0] == 0:
            wrong.append(f"number {number}: only one of two commands says that it is damaged")
        seen.append(("noted", noted))
        if results[0][0] == FAILED and results[1][0] == 0:
            wrong.append(f"number {number}: {other} accepts what report refuses")
        for name in (path, out):
            if os.path.exists(name):
                os.unlink(name)
        return seen, [w for w in wrong if w]

    def test_profiles(self):
        """The file or its rows are damaged anywhere: the checksums of the tables find it."""
        self.reported = self.good("report", "--json", self.good_profile)

        def one(number):
            path = self.path(str(number))
            if number % 2:
                self.write(str(number), damage_bytes(self.good_profile_bytes, number))
            else:
                shutil.copyfile(self.good_profile, path)
                damage_rows(path, number)
            return self.try_profile(number, path)

        seen = self.over_all(one)
        self.assertGreater(seen["report", FAILED], MUTATIONS * 0.1, seen)
        self.assertGreater(seen["noted", True], MUTATIONS * 0.3, seen)
        self.assertGreater(seen["report", 0], seen["noted", True], seen)
        self.assertEqual(os.listdir(self.dir), [])


if __name__ == "__main__":
    main()
