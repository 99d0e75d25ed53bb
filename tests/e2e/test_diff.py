# SPDX-License-Identifier: MIT
"""hotpath diff: two versions of real programs, matched by symbol and line."""
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
import threading

import util_cli
from util_cli import Case, tool

WORK = r"""
#include <stdio.h>
static volatile int sink;
int leaf(int x)
{
    sink = x;
    return x + 1;
}
int slow(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        s += leaf(i);
        sink = s;%s
    }
    return s;
}
int %s(int n)
{
    int s = 7;
    for (int i = 0; i < n; i++) {
        sink = i;
        s ^= sink * 3;
        s += sink;
    }
    return s;
}
int main(void)
{
    int s = slow(1000) + %s(500);
    sink = s;
    return 0;
}
"""
ABOVE = "/* lines\n * that\n * move\n * all\n */\nint above(int x) { return x; }\n"
STORES = 5  # instructions that the new version has more, each time round


def version(stores=0, name="steady", above=""):
    extra = "".join("\n        __asm__ volatile(\"nop\");" for _ in range(stores))
    return above + WORK % (extra, name, name)


# Any bytes may be a symbol.
HOSTILE = [b"<script>alert(1)</script>", b"a\"b'c|d`e", b"new\nline\t]] [x", b"bad\xff\xfe%s%n",
           b"x" * 9000, b".odd.", b" "]


class DiffCase(Case):
    def compile(self, name, files, *flags, compiler=util_cli.CC):
        """Builds self.dir/name/prog of sources {file: text}."""
        os.mkdir(self.path(name))
        for file, text in files.items():
            self.write(name + "/" + file, text)
        subprocess.run([compiler, "-O1", "-g", *flags, "-o", "prog", *sorted(files)], check=True,
                       cwd=self.path(name))
        return self.path(name + "/prog")

    def hostile(self, name, extra=""):
        """A program of functions with the names of HOSTILE."""
        text = "volatile int sink;\n"
        for i in range(len(HOSTILE)):
            text += "int f%d(void) { return sink %s + %d; }\n" % (i, extra, i)
        text += "int main(void) { return %s == 0; }\n" % " + ".join(
            "f%d()" % i for i in range(len(HOSTILE)))
        program = self.compile(name, {"h.c": text}, "-O0")
        renamed = [b"--redefine-sym=f%d=%s" % (i, new) for i, new in enumerate(HOSTILE)]
        subprocess.run([tool("objcopy"), *renamed, program], check=True)
        return program

    def record(self, argv, *options):
        file = self.path("p%d.hotpath" % len(os.listdir(self.dir)))
        self.good("record", "-q", *options, "-o", file, "--", *argv, stdout=subprocess.DEVNULL)
        return file

    def diff(self, old, new, *options):
        found = json.loads(self.good("diff", "--json", *options, old, new))["diff"]
        self.check_sums(found)
        return found

    def check_sums(self, diff):
        """Functions add up to the whole, lines to their functions, to the last instruction."""
        total = [t for t in diff["totals"] if t["name"] == "instructions"][0]
        for side in "old", "new", "delta":
            self.assertEqual(sum(f[side] for f in diff["functions"]), total[side])
        lines = {}
        for line in diff["lines"]:
            lines[line["function"]] = lines.get(line["function"], 0) + line["delta"]
        for number, delta in lines.items():
            self.assertEqual(delta, diff["functions"][number]["delta"])

    def function(self, diff, name):
        rows = [f for f in diff["functions"] if f["name"] == name]
        self.assertEqual(len(rows), 1, name)
        return rows[0]

    def changed_lines(self, diff, name):
        number = diff["functions"].index(self.function(diff, name))
        return [l for l in diff["lines"] if l["function"] == number and l["delta"]]


class Versions(DiffCase):
    def pair(self, old, new, *flags, record=()):
        flags = flags or ("-fno-inline",)
        return [self.record([self.compile(name, {"work.c": text}, *flags)], *record)
                for name, text in (("old", old), ("new", new))]

    def test_nothing_changed(self):
        one = self.record([self.compile("old", {"work.c": version()})], "-p", "loops,paths")
        diff = self.diff(one, one)
        for part in "totals", "functions", "lines", "loops", "paths":
            self.assertTrue(diff[part], part)
            self.assertEqual({row["delta"] for row in diff[part]}, {0}, part)
        status, out, _ = self.hotpath("diff", "--exit-code", one, one)
        self.assertEqual(status, 0)
        self.assertIn(b"no function changed", out)

    def test_slower_by_a_known_number(self):
        old, new = self.pair(version(), version(STORES, above=ABOVE), record=("-p", "loops,paths"))
        diff = self.diff(old, new)
        slow = self.function(diff, "slow")
        self.assertEqual((slow["status"], slow["delta"]), ("same", STORES * 1000))
        self.assertEqual((slow["old_calls"], slow["new_calls"]), (1, 1))
        self.assertEqual(diff["functions"][0], slow)
        # The lines above did not change anything: neither functions nor lines nor loops.
        for name in "leaf", "steady":
            self.assertEqual(self.function(diff, name)["delta"], 0)
            self.assertEqual(self.changed_lines(diff, name), [])
        lines = self.changed_lines(diff, "slow")
        self.assertEqual(sum(l["delta"] for l in lines), STORES * 1000)
        self.assertEqual({l["old_line"] for l in lines}, {None})
        for loop in diff["loops"]:
            if diff["functions"][loop["function"]]["name"] in ("slow", "steady"):
                self.assertEqual((loop["old"]["iterations"], loop["old"]["executions"]),
                                 (loop["new"]["iterations"], loop["new"]["executions"]))
        steps = [[s["line"] for s in p["steps"]] for p in diff["paths"]
                 if p["status"] == "same" and p["steps"][0]["function"] == "steady"]
        self.assertTrue(steps)

    def test_exit_code_and_threshold(self):
        old, new = self.pair(version(), version(STORES))
        self.assertEqual(self.hotpath("diff", old, new)[0], 0)
        self.assertEqual(self.hotpath("diff", "--exit-code", old, new)[0], 1)
        status, out, _ = self.hotpath("diff", "--exit-code", "-t", "90%", old, new)
        self.assertEqual(status, 0)
        self.assertIn(b"by less than 90.00% of the instructions", out)
        self.refused(125, ["diff", old], "no NEW given; usage: hotpath diff [OPTIONS] OLD NEW")
        self.refused(125, ["diff", "-t", "much", old, new], "not a percentage")
        self.refused(125, ["diff", old, self.path("none")], "none")

    def test_lines_by_text_or_by_place(self):
        old, new = self.pair(version(), version(STORES))
        by_text = self.changed_lines(self.diff(old, new), "slow")
        for name in "old", "new":  # changed later: not to be trusted
            os.utime(self.path(name + "/work.c"), (2 ** 31, 2 ** 31))
        by_place = self.changed_lines(self.diff(old, new), "slow")
        self.assertEqual(sum(l["delta"] for l in by_place), STORES * 1000)
        # What is below what was inserted is not taken for a change.
        self.assertLessEqual(len(by_place), len(by_text) + 1)
        again = self.diff(old, new, "--old-source", self.path("old"), "--new-source",
                          self.path("new"))
        self.assertEqual(self.changed_lines(again, "slow"), by_text)

    def test_renamed_is_a_marked_guess(self):
        old, new = self.pair(version(), version(name="calm"))
        diff = self.diff(old, new)
        calm = self.function(diff, "calm")
        self.assertEqual((calm["status"], calm["old_name"], calm["delta"]), ("renamed", "steady", 0))
        for name in "old", "new":  # also without the source
            shutil.move(self.path(name + "/work.c"), self.path(name + ".c"))
        self.assertEqual(self.function(self.diff(old, new), "calm")["status"], "renamed")
        # Other code under another name is not the same.
        _, other = self.pair_again(version(name="calm").replace("s ^= sink * 3;", "s -= 5 + s / 7;")
                                   .replace("s += sink;", "if (s & 1) s++;")
                                   .replace("sink = i;", "sink += 2 * i;"))
        diff = self.diff(old, other)
        self.assertEqual(self.function(diff, "calm")["status"], "added")
        self.assertEqual(self.function(diff, "steady")["status"], "removed")

    def pair_again(self, text):
        return None, self.record([self.compile("third", {"work.c": text}, "-fno-inline")])

    def test_inlined(self):
        text = version()
        inlined = text.replace("int leaf(int x)", "static inline __attribute__((always_inline)) int leaf(int x)")
        old, new = self.pair(text, inlined)
        leaf = self.function(self.diff(old, new), "leaf")  # less: it is no longer called
        self.assertEqual((leaf["status"], leaf["new_calls"]), ("same", leaf["old_calls"]))
        self.assertTrue(0 < leaf["new"] < leaf["old"], leaf)
        diff = self.diff(old, new, "--physical")
        leaf = self.function(diff, "leaf")
        self.assertEqual((leaf["status"], leaf["new"], leaf["inlined_in"]), ("removed", 0, "slow"))
        back = self.diff(new, old, "--physical")
        self.assertEqual(self.function(back, "leaf")["inlined_in"], "slow")
        out = self.good("diff", "--physical", old, new).decode()
        self.assertIn("leaf (now inlined in slow)", out)

    def test_loops_with_more_iterations(self):
        old, new = self.pair(version(), version().replace("slow(1000)", "slow(1500)"),
                             record=("-p", "loops,paths"))
        diff = self.diff(old, new)
        slow = [l for l in diff["loops"]
                if diff["functions"][l["function"]]["name"] == "slow"]
        self.assertEqual([(l["old"]["iterations"], l["new"]["iterations"]) for l in slow],
                         [(1000, 1500)])
        leaf = self.function(diff, "leaf")
        self.assertEqual((leaf["old_calls"], leaf["new_calls"]), (1000, 1500))
        out = self.good("diff", old, new).decode()
        self.assertIn("1000.0 -> 1500.0", out)
        self.assertNotIn("\x1b", out)

    def test_eighty_columns_on_a_terminal(self):
        name = "a_function_with_quite_a_long_name_" * 3
        old, new = self.pair(version(name=name), version(STORES, name=name).replace(
            "slow(1000)", "slow(2000)"), record=("-p", "loops,paths"))
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        reader = threading.Thread(target=lambda: text.extend(self.drain(ours)))
        text = []
        reader.start()
        status, _, _ = self.hotpath("diff", old, new, stdout=theirs)
        os.close(theirs)
        reader.join()
        self.assertEqual(status, 0)
        shown = b"".join(text).decode()
        self.assertIn("\x1b[", shown)
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\r\n")
        self.assertGreater(len(lines), 20)
        self.assertLessEqual(max(map(len, lines)), 80)

    @staticmethod
    def drain(descriptor):
        """What comes until the other end is closed."""
        while True:
            try:
                data = os.read(descriptor, 65536)
            except OSError:
                data = b""
            if not data:
                os.close(descriptor)
                return
            yield data

    def test_statics_of_equal_names(self):
        part = ("static volatile int sink%s;\nstatic int twin(int n)\n{\n    for (int i = 0; i < n; i++)\n"
                "        sink%s = i;\n    return n;\n}\nint %s(void)\n{\n    return twin(%d);\n}\n")
        main = "int a(void), b(void);\nint main(void)\n{\n    return a() + b() < 0;\n}\n"

        def files(n_a, n_b, above=""):
            return {"a.c": above + part % ("a", "a", "a", n_a), "b.c": part % ("b", "b", "b", n_b),
                    "m.c": main}
        old = self.record([self.compile("old", files(100, 900), "-fno-inline")])
        new = self.record([self.compile("new", files(100, 950, ABOVE.replace("above", "up")),
                                        "-fno-inline")])
        twins = {os.path.basename(f["file"]): f for f in self.diff(old, new)["functions"]
                 if f["name"] == "twin"}
        self.assertEqual(sorted(twins), ["a.c", "b.c"])
        self.assertEqual(twins["a.c"]["delta"], 0)
        self.assertGreaterEqual(twins["b.c"]["delta"], 50 * 3)
        self.assertEqual({f["status"] for f in twins.values()}, {"same"})

    def test_parts_of_a_function_are_one(self):
        # gcc splits these off at -O2; whatever it does, the source has one function each.
        text = r"""
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) static int scale(int x, int by) { sink = x; return x * by + sink; }
__attribute__((noinline)) int check(int x)
{
    if (__builtin_expect(x == 500, 0)) { for (int i = 0; i < 100; i++) sink = i; abort(); }
    return scale(x, 3);
}
int main(void) { int s = 0; for (int i = 0; i < 400; i++) s += check(i); return s == 1; }
"""
        old = self.record([self.compile("old", {"w.c": text}, "-O2")])
        new = self.record([self.compile("new", {"w.c": text}, "-O2", "-fno-ipa-cp", "-fno-ipa-sra",
                                        "-fno-partial-inlining")])
        diff = self.diff(old, new)
        for name in "scale", "check":
            self.assertEqual(self.function(diff, name)["status"], "same")
        self.assertEqual(self.function(diff, "scale")["new_calls"], 400)


class Languages(DiffCase):
    CXX = r"""
#include <vector>
#include <algorithm>
volatile int sink;
template <class T> __attribute__((noinline)) T twice(T x) { sink = int(x); return x + x; }
struct Shape { virtual ~Shape() {} virtual int area(int) const = 0; };
struct Box : Shape { __attribute__((noinline)) int area(int n) const override { int s = 0; for (int i = 0; i < n; i++) { sink = i; s += sink; %s } return s; } };
__attribute__((noinline)) int apply(int (*f)(int), int n) { int s = 0; for (int i = 0; i < n; i++) s += f(i); return s; }
int main()
{
    Box box;
    int s = box.area(300) + twice(3) + int(twice(2.5));
    %s
    s += apply([](int x) { sink = x; return x + 1; }, 100);
    return s == 12345;
}
"""

    def test_cplusplus(self):
        compiler = tool("g++")
        texts = (self.CXX % ("", ""),
                 self.CXX % ("__asm__ volatile(\"nop\"); __asm__ volatile(\"nop\");",
                             "s += apply([](int x) { sink = x; sink = 2; return x - 1; }, 50);"))
        old, new = [self.record([self.compile(name, {"w.cc": text}, compiler=compiler)])
                    for name, text in zip(("old", "new"), texts)]
        diff = self.diff(old, new)
        rows = {f["linkage"]: f for f in diff["functions"] if f["module"] == "prog"}
        self.assertEqual(rows["_ZNK3Box4areaEi"]["delta"], 600)
        for name in "_Z5twiceIiET_S0_", "_Z5twiceIdET_S0_":
            self.assertEqual((rows[name]["status"], rows[name]["delta"]), ("same", 0))
        self.assertEqual(rows["_Z5applyPFiiEi"]["delta"] > 0, True)


class Programs(DiffCase):
    def test_gzip(self):
        gzip = tool("gzip")
        data = self.write("data", util_cli.pseudo_random(40000))
        six = self.record([gzip, "-6c", data], "-p", "loops,paths")
        nine = self.record([gzip, "-9c", data], "-p", "loops,paths")
        diff = self.diff(six, nine)
        # The same build: functions without symbols are matched by place.
        same = [f for f in diff["functions"] if f["status"] == "same"]
        self.assertGreater(len(same), 0.9 * len(diff["functions"]))
        back = self.diff(nine, six)
        self.assertEqual(sorted(f["delta"] for f in diff["functions"]),
                         sorted(-f["delta"] for f in back["functions"]))

    def test_cycles_on_a_machine(self):
        program = self.compile("old", {"work.c": version()}, "-fno-inline")
        other = self.compile("new", {"work.c": version(STORES)}, "-fno-inline")
        options = ("-p", "exact,cycles", "--machine", "modern", "--from", "main")
        diff = self.diff(self.record([program], *options), self.record([other], *options))
        names = [t["name"] for t in diff["totals"]]
        self.assertIn("cycles", names)
        self.assertIn("l1d.misses", names)
        slow = self.function(diff, "slow")
        self.assertEqual(slow["new_retired"] - slow["old_retired"], STORES * 1000)
        self.assertGreater(slow["old_cycles"], 0)
        self.assertGreater(slow["old_events"]["taken"], 900)

    def test_hostile_names(self):
        old, new = [self.record([self.hostile(name, extra)]) for name, extra in (("old", ""),
                                                                                ("new", "* 3"))]
        diff = self.diff(old, new)
        found = {f["linkage"]: f for f in diff["functions"]}
        for name in HOSTILE:
            row = found[name.decode("utf-8", "replace")]
            self.assertEqual(row["status"], "same")
            self.assertGreater(row["delta"], 0)
        out = self.good("diff", "-n", "0", old, new)
        for line in out.decode().split("\n"):  # UTF-8, and nothing that moves the cursor
            self.assertFalse(any(ord(c) < 32 for c in line))


if __name__ == "__main__":
    util_cli.main()
