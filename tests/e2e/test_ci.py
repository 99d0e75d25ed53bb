# SPDX-License-Identifier: MIT
"""hotpath ci: a run against a committed baseline."""
import html.parser
import json
import os
import re
import subprocess

import util_cli
from test_diff import HOSTILE, DiffCase
from util_cli import NATIVE, tool

REGRESSION = 3
SOURCE = r"""
#include <stdlib.h>
static volatile int sink;
int work(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        sink = i;
        s += sink;%s
    }
    return s;
}
int main(int argc, char **argv)
{
    for (int i = 0; i < 50; i++)
        sink = work(%d);
    return argc > 1 ? atoi(argv[1]) : 0;
}
"""
ROUNDS = 50 * 1000


class CiCase(DiffCase):
    def program(self, name="prog", nops=0, rounds=1000):
        """Builds self.dir/prog, in the place of another."""
        extra = "".join("\n        __asm__ volatile(\"nop\");" for _ in range(nops))
        source = self.write(name + ".c", SOURCE % (extra, rounds))
        subprocess.run([util_cli.CC, "-O1", "-g", "-fno-inline", "-o", self.path(name), source],
                       check=True)
        return self.path(name)

    def ci(self, *options, status=0, program="./prog", arguments=(), **run):
        """Returns (stderr, the result as JSON)."""
        file = self.path("ci.json")
        got, _, err = self.hotpath("ci", *options, "--json", file, "--", program, *arguments, **run)
        self.assertEqual(got, status, err)
        with open(file) as opened:
            return err.decode(), json.load(opened)["ci"]

    def update(self, *options, program="./prog", **run):
        status, _, err = self.hotpath("ci", "--update", *options, "--", program, **run)
        self.assertEqual(status, 0, err)
        return self.read("hotpath.baseline")

    def total(self, result, name="instructions"):
        return [t for t in result["totals"] if t["name"] == name][0]


class Gate(CiCase):
    def test_same_program_is_within(self):
        self.program()
        first = self.update()
        err, result = self.ci("--threshold", "0%")
        self.assertEqual(result["verdict"], "within")
        self.assertEqual({t["delta"] for t in result["totals"]}, {0})
        self.assertEqual((result["functions"], result["others"]), ([], 0))
        self.assertIn("within the limits", err)
        self.assertEqual(self.update(), first)  # nothing in it but what was counted
        self.assertEqual(self.hotpath("ci", "-q", "--", "./prog"), (0, b"", b""))

    def test_regression_is_explained(self):
        self.program()
        self.update()
        self.program(nops=3)
        err, result = self.ci(status=REGRESSION)
        total, work = self.total(result), result["functions"][0]
        self.assertEqual((total["delta"], total["exceeded"]), (3 * ROUNDS, True))
        self.assertEqual((work["name"], work["delta"]), ("work", 3 * ROUNDS))
        self.assertIn("same number of calls, 3000 more instructions per call", work["why"])
        self.assertEqual(result["others"] + sum(f["delta"] for f in result["functions"]),
                         total["delta"])
        self.assertIn("prog: regression", err)
        self.assertIn("work +150,000 (same number of calls", err)
        self.assertIn("outside prog", err)
        self.assertIn("--update", err)
        self.assertEqual(self.ci("-t", "90%")[1]["verdict"], "within")
        # Other counts of the same run have limits of their own.
        self.assertEqual(self.ci("-t", "90%", "--limit", "branches=0%")[1]["verdict"], "within")
        self.ci("-t", "90%", "--limit", "instructions=5%", status=REGRESSION)

    def test_line_of_the_change(self):
        self.program()
        self.update()
        self.program(nops=1)
        source = self.read("prog.c").decode().split("\n")
        where = [i for i, line in enumerate(source, 1) if "nop" in line]
        _, result = self.ci(status=REGRESSION)
        self.assertIn("at prog.c:%d" % where[0], result["functions"][0]["why"])

    def test_called_more_often(self):
        self.program()
        self.update()
        source = self.read("prog.c").decode().replace("i < 50", "i < 60")
        subprocess.run([util_cli.CC, "-O1", "-g", "-fno-inline", "-o", self.path("prog"),
                        self.write("prog.c", source)], check=True)
        _, result = self.ci(status=REGRESSION)
        self.assertIn("60 calls instead of 50, same number of instructions per call",
                      result["functions"][0]["why"])

    def test_improvement_asks_for_an_update(self):
        self.program(nops=3)
        self.update()
        self.program()
        err, result = self.ci()
        self.assertEqual(result["verdict"], "improvement")
        self.assertIn("Better than the baseline; to keep the improvement, update it", err)
        self.update()
        self.assertEqual(self.ci()[1]["verdict"], "within")

    def test_limit_of_functions(self):
        self.program()
        self.update()
        self.program(nops=1)
        _, result = self.ci("-t", "99%", "--function-threshold", "5%", status=REGRESSION)
        self.assertEqual([f["name"] for f in result["functions"] if f["exceeded"]], ["work"])
        self.ci("-t", "99%", "--function-threshold", "50%")

    def test_only_some_modules(self):
        self.program()
        self.update("--module", "prog")
        self.assertNotIn(b"ld-linux", self.read("hotpath.baseline"))
        _, result = self.ci("--module", "prog", "-t", "0%")
        self.assertEqual(result["verdict"], "within")
        self.assertLess(self.total(result)["new"], 10 * ROUNDS)
        # The baseline is of something else: told, and not within 1 %.
        _, result = self.ci(status=REGRESSION)
        self.assertIn("modules", [d["what"] for d in result["differences"]])
        got, _, err = self.hotpath("ci", "--module", "nowhere", "--", "./prog")
        self.assertEqual(got, 125)
        self.one_line(err, "'nowhere'")

    def test_another_environment_is_told(self):
        self.program()
        text = self.update().decode()
        self.write("hotpath.baseline", re.sub(r"(?m)^libc .*$", "libc libc.so.6%20feedfeedfeed",
                                              text))
        err, result = self.ci()
        self.assertEqual([d["what"] for d in result["differences"]], ["libc"])
        self.program(nops=1)
        err, _ = self.ci(status=REGRESSION)
        self.assertIn("differs from the baseline: libc", err)
        self.assertIn("feedfeedfeed", err)

    def test_machine(self):
        self.program(rounds=100)
        self.update("--machine", "modern")
        _, result = self.ci("--machine", "modern", "-t", "0%")
        names = [t["name"] for t in result["totals"]]
        for name in "instructions", "cycles", "l1d.misses", "l2.misses", "mispredictions":
            self.assertIn(name, names)
        self.assertEqual({t["delta"] for t in result["totals"]}, {0})
        self.program(nops=1, rounds=100)
        _, result = self.ci("--machine", "modern", "-t", "99%", "--limit", "cycles=0%",
                            status=REGRESSION)
        self.assertTrue(self.total(result, "cycles")["exceeded"])


class Files(CiCase):
    def test_several_benchmarks(self):
        self.program("prog")
        self.program("other", nops=2)
        self.update()
        one = self.read("hotpath.baseline")
        self.update("--name", "a b]", program="./other")
        both = self.read("hotpath.baseline")
        self.assertIn(one.split(b"[prog]")[1], both)
        self.assertEqual(re.findall(rb"(?m)^\[.*\]$", both), [b"[a%20b]]", b"[prog]"])
        self.assertEqual(self.ci()[1]["verdict"], "within")
        self.assertEqual(self.ci("--name", "a b]", program="./other")[1]["verdict"], "within")
        got, _, err = self.hotpath("ci", "--name", "third", "--", "./prog")
        self.assertEqual(got, 125)
        self.one_line(err, "no benchmark 'third'", "prog", "--update")

    def test_missing(self):
        self.program()
        self.refused(125, ["ci", "--", "./prog"], "hotpath.baseline", "hotpath ci --update")
        self.refused(125, ["ci", "-b", "x/y", "--", "./prog"], "x/y")

    def test_corrupt(self):
        self.program()
        good = self.update()
        bad = [b"", b"not one\n", b"hotpath-baseline 2\n", b"\0" * 100, good + b"\0",
               good.replace(b"total instructions ", b"total instructions -"),
               good.replace(b"total instructions ", b"total instructions 9999999999999"),
               good.replace(b"total instructions", b"total iinstructions"),
               good.replace(b"function ", b"function %zz"), good.replace(b"own +", b"own "),
               good.replace(b"  own", b"  owned"), good + good.split(b"\n", 2)[2],
               re.sub(rb"(?m)^total instructions .*$", b"", good),
               re.sub(rb"(?m)^total instructions .*$", b"total instructions 5", good)]
        for text in bad:
            self.assertNotEqual(text, good)
            self.write("hotpath.baseline", text)
            self.refused(125, ["ci", "--", "./prog"], "update")
        os.remove(self.path("hotpath.baseline"))
        os.mkdir(self.path("hotpath.baseline"))
        self.refused(125, ["ci", "--", "./prog"], "hotpath.baseline")

    def test_damaged_at_random(self):
        self.program()
        good = bytearray(self.update("--module", "prog"))
        state = 7
        for _ in range(12):  # a run each at most: no sanitizer speaks, and the status is one of ours
            damaged = bytearray(good)
            for _ in range(4):
                state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                damaged[(state >> 20) % len(damaged)] = (state >> 40) % 256
            self.write("hotpath.baseline", bytes(damaged))
            got, _, err = self.hotpath("ci", "-q", "--module", "prog", "--", "./prog")
            self.assertIn(got, (0, REGRESSION, 125), err)

    def test_failing_program(self):
        self.program()
        before = self.update()
        for options in [], ["--update"]:
            got, _, err = self.hotpath("ci", *options, "--", "./prog", "7")
            self.assertEqual(got, 7)
            self.one_line(err, "./prog failed with status 7")
        self.assertEqual(self.read("hotpath.baseline"), before)
        got, _, err = self.hotpath("ci", "--", "./none")
        self.assertEqual(got, 125)  # no such benchmark: known before it runs
        self.refused(127, ["ci", "--name", "prog", "--", "./none"], "none")

    def test_nothing_counted(self):
        self.program()
        got, _, err = self.hotpath("ci", "--update", "--from", "nowhere_at_all", "--", "./prog")
        self.assertEqual(got, 125)
        self.one_line(err, "nothing was counted")

    def test_options(self):
        self.program()
        self.refused(125, ["ci"], "no PROGRAM given")
        self.refused(125, ["ci", "-t", "-1", "--", "./prog"], "not a percentage")
        self.refused(125, ["ci", "--limit", "time=1%", "--", "./prog"], "--limit")
        self.refused(125, ["ci", "--update", "--env", "NOT_SET_HERE", "--", "./prog"], "not set")
        self.refused(125, ["ci", "--name", "", "--", "./prog"], "empty")

    def test_profile_is_kept(self):
        self.program()
        self.update()
        self.ci("-o", "kept.hotpath")
        self.assertIn(b"work", self.good("report", "kept.hotpath"))


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)

    def handle_data(self, data):
        self.text += data


class Hostile(CiCase):
    def test_names_are_harmless(self):
        self.hostile("old")
        self.hostile("new", "* 3 * 5 * 7 * 9")
        name = "x|y<b>`\n"
        module = ["--module", "prog", "--name", name]
        self.update(*module, program="old/prog")
        self.assertEqual(self.ci(*module, program="old/prog")[1]["verdict"], "within")
        err, result = self.ci(*module, "--summary", "s.md", program="new/prog", status=REGRESSION)
        self.assertEqual(result["name"], name)
        names = {f["name"] for f in result["functions"]}
        for symbol in HOSTILE:
            self.assertIn(symbol.decode("utf-8", "replace"), names)
        for line in err.split("\n"):
            self.assertFalse(any(ord(c) < 32 for c in line), line)
        tags = Tags()
        text = self.read("s.md").decode()
        tags.feed(text)
        self.assertEqual(set(tags.seen), {"code"})
        self.assertIn("<script>alert(1)</script>", tags.text)
        for row in re.findall(r"(?m)^\|.*$", text):
            self.assertIn(row.count("|"), (4, 6), row)
        self.assertNotIn("x" * 200, text)

    def test_summary_is_appended(self):
        self.program()
        self.update()
        self.write("s.md", "before\n")
        self.ci("--summary", "s.md")
        self.ci("--summary", "s.md")
        text = self.read("s.md").decode()
        self.assertTrue(text.startswith("before\n"))
        self.assertEqual(text.count("### hotpath ci"), 2)
        self.assertIn("| instructions | ", text)


class Repeats(CiCase):
    STACK = r"""
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    char text[3000];
    memset(text, argc, sizeof text);
    printf("%d %d\n", (int)((unsigned long)text & 4095), (int)strlen(strcpy(text, "x")));
    return 0;
}
"""

    def environments(self):
        few = {"PATH": os.environ["PATH"], "HOME": "/"}
        many = dict(few, A="1", GITHUB_LONG_NAME="x" * 333, HOME="/nowhere/else")
        return [few, many, dict(few, B="22")]

    def test_whatever_the_environment(self):
        """The same counts to the last one, where the environment is another."""
        data = self.write("data", util_cli.pseudo_random(3000))
        commands = [["gzip", "-c", data], ["sort", "-S", "1M", data], ["sed", "s/hot/cold/", data]]
        for command in commands:
            tool(command[0])
            texts = set()
            for environment in self.environments():
                got, _, err = self.hotpath("ci", "-q", "--update", "--", *command, env=environment)
                self.assertEqual(got, 0, err)
                texts.add(self.read("hotpath.baseline"))
                os.remove(self.path("hotpath.baseline"))
            self.assertEqual(len(texts), 1, command)

    def test_stack_is_where_it_was(self):
        program = self.build("stack", self.STACK)
        engines = [["-e", "qemu"]] + [["-e", "native"]] * NATIVE
        for engine in engines:
            places = set()
            for environment in self.environments():
                for arguments in [], ["1", "22", "x" * 77]:
                    got, out, err = self.hotpath("ci", "-q", "--update", *engine, "--", program,
                                                 *arguments, env=environment)
                    self.assertEqual(got, 0, err)
                    places.add(out)
            self.assertEqual(len(places), 1, (engine, places))

    def test_environment_of_the_program(self):
        env = tool("env")
        os.environ["SEEN_HERE"] = "yes"
        self.addCleanup(os.environ.pop, "SEEN_HERE")

        def variables(*options):
            out = self.hotpath("ci", "-q", "--update", *options, "--", env)[1].decode()
            return dict(line.split("=", 1) for line in out.splitlines())
        fixed = {"PATH", "HOME", "LC_ALL", "TZ"}
        pads = {"HOTPATH_PAD", "HOTPATH_PAD2"}
        self.assertEqual(set(variables()) - pads, fixed)
        more = variables("--env", "SEEN_HERE", "--env", "X=1=2", "--env", "TZ=UTC1")
        self.assertEqual(set(more) - pads, fixed | {"SEEN_HERE", "X"})
        self.assertEqual((more["SEEN_HERE"], more["X"], more["TZ"]), ("yes", "1=2", "UTC1"))
        self.assertEqual(variables("--keep-env"), dict(os.environ))


class Workflow(CiCase):
    def test_example_uses_options_that_exist(self):
        path = os.path.join(os.path.dirname(util_cli.HERE), "..", "examples", "ci-workflow.yml")
        with open(path) as file:
            text = file.read()
        known = self.good("help", "--complete", "--", "ci", "-").decode().split()
        self.assertNotIn("\t", text)
        used = re.findall(r"hotpath ci ((?:[^\n\\]|\\\n)*)", text)
        self.assertTrue(used)
        for command in used:
            for option in re.findall(r"(?<!\S)(--[a-z-]+)", command.split(" -- ")[0]):
                self.assertIn(option, known)


if __name__ == "__main__":
    util_cli.main()
