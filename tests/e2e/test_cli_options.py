#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line: help that names every option, and one clear line for every mistake."""
import json
import os
import re
import struct

from util_cli import FAILED, HOTPATH, Case, main, tool

COMMANDS = [("run",), ("record",), ("report",), ("export",), ("compare",), ("merge",), ("trace", "record"),
            ("trace", "info"), ("trace", "check"), ("trace", "dump"), ("trace", "replay")]
VIEWS = ["summary", "functions", "blocks", "edges", "calls", "lines", "threads", "modules", "all"]


class Help(Case):
    def test_main_help_lists_the_commands(self):
        for how in ("--help", "-h", "help"):
            text = self.good(how).decode()
            for command in {c[0] for c in COMMANDS}:
                self.assertRegex(text, rf"(?m)^  {command} +\S")

    def test_trace_help_lists_the_commands(self):
        text = self.good("trace", "--help").decode()
        for command in (c[1] for c in COMMANDS if len(c) == 2):
            self.assertRegex(text, rf"(?m)^  {command} +\S")

    def test_version(self):
        self.assertRegex(self.good("--version").decode(), r"\Ahotpath \d+\.\d+\.\d+\n\Z")

    def options(self, *command):
        """The names of a command's options, as completion offers them."""
        lines = self.good("help", "--complete", "--", *command, "-").decode().splitlines()
        return [line.split("\t")[0] for line in lines]

    def test_every_command_explains_its_options(self):
        for command in COMMANDS:
            text = self.good(*command, "--help").decode()
            self.assertEqual(text, self.good(*command, "-h").decode())
            self.assertTrue(text.startswith("Usage: hotpath " + " ".join(command)), command)
            names = self.options(*command)
            self.assertIn("--help", names)
            for name in names:
                self.assertRegex(text, rf"(?m)^  (-\w, |    ){name}( \S+)?(  +\S|\n +\S)", command)
            self.assertLessEqual(max(map(len, text.splitlines())), 100, command)

    def test_what_is_no_profile_is_said(self):
        with open(self.path("text"), "w") as file:
            file.write("no profile at all\n" * 100)
        for name, why in (("text", "not an SQLite database"), ("/", "not a regular file")):
            for command in (["report"], ["annotate"], ["html"], ["export", "-f", "folded"]):
                status, out, err = self.hotpath(*command, self.path(name))
                self.assertEqual((status, out), (FAILED, b""))
                self.one_line(err, "is not a profile: " + why)

    def test_help_wins_over_a_missing_program(self):
        self.good("run", "--top", "3", "--help")

    def test_help_after_the_program_is_the_programs(self):
        status, out, _ = self.hotpath("run", "--", tool("echo"), "--help")
        self.assertEqual((status, out), (0, self.execute([tool("echo"), "--help"])[1]))
        status, out, _ = self.hotpath("run", tool("echo"), "--top", "x")
        self.assertEqual((status, out), (0, b"--top x\n"))

    def test_nothing_at_all(self):
        """Without a command: the help, and a status that says nothing was done."""
        for command in ([], ["trace"]):
            status, out, _ = self.hotpath(*command)
            self.assertEqual(status, FAILED)
            self.assertIn(b"Usage:", out)


class Mistakes(Case):
    def test_unknown_commands(self):
        self.refused(FAILED, ["nonsense"], "nonsense")
        self.refused(FAILED, ["trace", "nonsense"], "nonsense")
        self.refused(FAILED, ["--nonsense"], "--nonsense")

    def test_unknown_options(self):
        for command in COMMANDS:
            self.refused(FAILED, [*command, "--nonsense"], "--nonsense")
            self.refused(FAILED, [*command, "--nonsense=3", "x"], "--nonsense")
            self.refused(FAILED, [*command, "-Z"], "-Z")

    def test_missing_arguments(self):
        for command in COMMANDS:
            self.refused(FAILED, [*command], "hotpath " + " ".join(command))
        self.refused(FAILED, ["run", "--"], "no PROGRAM given")
        self.refused(FAILED, ["record", "-o"], "--output")
        self.refused(FAILED, ["trace", "record", "--", "true"], "output")
        self.refused(FAILED, ["trace", "record", "-o", "x"], "no PROGRAM given")
        self.refused(FAILED, ["merge", "-o", "x"], "no PROFILE given")
        self.refused(FAILED, ["merge", "x"], "output")
        self.refused(FAILED, ["compare", "x"], "no B given")
        self.refused(FAILED, ["compare", "x", "y", "z"], "too many arguments")
        self.refused(FAILED, ["report", "x", "functions", "y"], "arguments")
        self.refused(FAILED, ["trace", "info", "a", "b"], "too many arguments")

    def test_wrong_values(self):
        true = tool("true")
        for number in ("x", "-1", "", "1x", "1.5.2k", "1e999", "99999999999999999999", "nan", "1kk"):
            self.refused(FAILED, ["run", "--top", number, "--", true], "--top")
            self.refused(FAILED, ["run", f"--after={number}", "--", true], "--after")
        self.refused(FAILED, ["run", "--engine", "nonsense", "--", true], "nonsense", "qemu")
        self.refused(FAILED, ["record", "--engine", "nonsense", "--", true], "nonsense", "qemu")
        for command in (["run"], ["record"]):
            self.refused(FAILED, [*command, "--profile", "nonsense", "--", true], "nonsense",
                         "exact, counts, loops, paths, predictions, hotspots, cycles, instructions, none")
            self.refused(FAILED, [*command, "--profile", "paths,none", "--", true], "none")
            self.refused(FAILED, [*command, "--profile", "counts,paths", "--", true], "counts")
            self.refused(FAILED, [*command, "--profile", "counts", "--machine", "modern", "--", true],
                         "--profile counts goes with loops only")
            self.refused(FAILED, [*command, "--paths", "nonsense", "--", true], "--paths", "nonsense")
            self.refused(FAILED, [*command, "--paths", "extended-loop:0", "--", true], "--paths")
            self.refused(FAILED, [*command, "--paths", "call=update+update_count,return=pop,forward=,"
                         "backward=,indirect=", "--", true],
                         "--paths", "update_count")
            self.refused(FAILED, [*command, "--paths", "bl,length=65", "--", true], "--paths", "64")
            for table in ("500x4", "512x0", "512x3", "4x8", "0x1", "x", "512x4,policy=best"):
                self.refused(FAILED, [*command, "--table", table, "--", true], "--table")
            self.refused(FAILED, [*command, "--metric", "nonsense", "--", true], "--metric", "l1d")
            self.refused(FAILED, [*command, "--metric", "l2", "--", true], "--machine")
            self.refused(FAILED, [*command, "--max-paths", "9", "--", true], "--max-paths", "paths")
            self.refused(FAILED, [*command, "--wpp-memory", "1G", "--", true], "--wpp-memory", "--wpp ")
            for scheme in ("nonsense:1", "net:", "net:-1", "net:99999999999", "net:5,after=never"):
                self.refused(FAILED, [*command, "--predict", scheme, "--", true], "--predict")
            self.refused(FAILED, [*command, "--record", "nonsense", "--", true], "nonsense", "memory")
        self.refused(FAILED, ["run", "--view", "nonsense", "--", true], "nonsense", "functions")
        self.refused(FAILED, ["run", "--threads", "nonsense", "--", true], "nonsense", "each")
        self.refused(FAILED, ["run", "--quiet=yes", "--", true], "--quiet")
        self.assertEqual(os.listdir(self.dir), [])

    def test_sizes(self):
        for size in ("x", "", "1x", "64kb", "-1"):
            self.refused(FAILED, ["run", "--cache-size", size, "--", tool("true")], "--cache-size",
                         "is not a size")
        for size in ("0", "1000", "1023k", "1025M", "1t"):
            self.refused(FAILED, ["run", "--cache-size", size, "--", tool("true")], "--cache-size",
                         "from 1M to 1G")

        for size in ("0", "255K", "65M"):
            self.refused(FAILED, ["run", "--lag", size, "--", tool("true")], "--lag", "from 256K to 64M")

    def test_traces(self):
        true = tool("true")
        for command in (["run"], ["record", "-o", self.path("p")], ["top"],
                        ["trace", "record", "-o", self.path("t")]):
            for traces in ("nonsense", ""):
                self.refused(FAILED, [*command, "--traces", traces, "--", true], "--traces",
                             "there is no '%s'" % traces, "none, static, net:N, path-profile:N")
            for number in ("", "-1", "1x"):
                self.refused(FAILED, [*command, "--traces", "net:" + number, "--", true], "--traces",
                             "'%s' is not a number" % number)
            for number in ("0", "1000001"):
                self.refused(FAILED, [*command, "--traces", "net:" + number, "--", true], "--traces",
                             "%s is not between 1 and 1000000" % number)
            for setting, wrong in (("5", "no setting '5'"), ("cache=2G", "not between"),
                                   ("then=stay", "none of plain, leave"), ("bail", "needs a value")):
                self.refused(FAILED, [*command, "--traces", "net," + setting, "--", true],
                             "--traces", wrong)
            self.refused(FAILED, [*command, "--traces", "static:5", "--", true], "--traces",
                         "static takes no number")
        for options, wrong in ((["--traces", "hotspots:x"], "there is no 'x'"),
                               (["--traces", "hotspots:dense", "--hotspots", "dense"], "too many"),
                               (["--traces", "hotspots", "--profile", "counts"], "order of exec"),
                               (["--traces", "hotspots", "--profile", "none"], "no other"),
                               (["--traces", "hotspots", "--record", "count"], "needs the order")):
            self.refused(FAILED, ["run", *options, "--", true], wrong)
        self.refused(FAILED, ["trace", "record", "-o", self.path("t"), "--traces", "hotspots", "--", true],
                     "needs a profile")
        self.refused(126, ["run", "--engine", "qemu", "--traces", "net:50", "--", true],
                     "--traces needs the native engine", "qemu", true)
        self.assertEqual(os.listdir(self.dir), [])

    def test_profiles_that_cannot_be_made(self):
        true = tool("true")
        for profile, record in (("exact", "none"), ("exact", "count"), ("paths", "count"),
                                ("counts", "stream"), ("counts", "none")):
            self.refused(FAILED, ["run", "--profile", profile, "--record", record, "--", true],
                         "--profile " + profile, "--record " + record)
        for region in (["--from", "main"], ["--after", "1"], ["--for", "1"]):
            for what in (["--profile", "counts"], ["--profile", "none"], ["--record", "count"]):
                self.refused(FAILED, ["run", *region, *what, "--", true], region[0],
                             "--profile exact")

    def test_what_an_engine_cannot_do(self):
        true = tool("true")
        for what in (["--profile", "counts"], ["--record", "count"], ["--record", "memory"],
                     ["--record", "none"]):
            self.refused(126, ["run", "--engine", "qemu", *what, "--", true], "qemu", "stream",
                         "native")
        # An AArch64 program: a header and one loadable segment.
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 183, 1, 0x400000, 64, 0, 0,
                             64, 56, 1, 64, 0, 0)
        foreign = self.write("foreign", header + struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000,
                                                             120, 120, 4096))
        os.chmod(foreign, 0o755)
        self.refused(126, ["run", "--engine", "native", "--", foreign], foreign, "aarch64",
                     "--engine qemu")

    def test_an_engine_that_does_not_start(self):
        """An engine that ends before the program begins, and one that is not there."""
        engine = self.write("hotpath-engine", b"#!/bin/sh\nexit 3\n")
        os.chmod(engine, 0o755)
        os.environ["HOTPATH_PLUGIN_DIR"] = self.dir
        self.addCleanup(os.environ.pop, "HOTPATH_PLUGIN_DIR")
        for how in ([], ["--engine", "native"]):
            self.refused(FAILED, ["run", *how, "--", tool("true")], "native engine", "status 3")
        os.chmod(engine, 0o644)
        status, _, err = self.hotpath("run", "--", tool("true"))
        self.assertEqual(status, 0)
        if not os.path.exists(os.path.join(os.path.dirname(HOTPATH), "hotpath-engine")):
            self.assertIn(b"qemu engine", err)
            self.refused(FAILED, ["run", "--engine", "native", "--", tool("true")],
                         "hotpath-engine is neither beside", "HOTPATH_PLUGIN_DIR")

    def test_32_bit_programs(self):
        """Neither engine runs them; the line says so."""
        header = b"\x7fELF\1\1\1" + bytes(9) + b"\2\0\3\0\1" + bytes(31)
        path = self.write("i386", header)
        os.chmod(path, 0o755)
        for engine in ([], ["--engine", "native"], ["--engine", "qemu"]):
            self.refused(126, ["run", *engine, "--", path], path, "32-bit", "native", "qemu")

    def test_missing_files(self):
        missing = self.path("missing")
        for command in (["report", missing], ["compare", missing, missing],
                        ["merge", "-o", self.path("out"), missing], ["trace", "info", missing],
                        ["trace", "check", missing], ["trace", "dump", missing],
                        ["trace", "replay", missing]):
            self.refused(FAILED, command, missing)
        self.assertEqual(os.listdir(self.dir), [])

    def test_wrong_files(self):
        """Directories, empty files, files of the other kind."""
        trace, profile = self.path("t.hptrace"), self.path("p.hotpath")
        self.hotpath("trace", "record", "-o", trace, "--", tool("true"))
        self.hotpath("record", "-o", profile, "--", tool("true"))
        self.assertTrue(os.path.exists(trace) and os.path.exists(profile))
        wrong = [self.dir, self.write("empty", b""), self.write("text", b"hello\n"), "/dev/null"]
        for path in wrong + [trace]:
            self.refused(FAILED, ["report", path], path)
            self.refused(FAILED, ["compare", profile, path], path)
            self.refused(FAILED, ["merge", "-o", self.path("out"), profile, path], path)
        for path in wrong + [profile]:
            for command in ("info", "check", "dump", "replay"):
                self.refused(FAILED, ["trace", command, path], path)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_strange_names(self):
        """One line, also when the name is more."""
        for name in ("two\nlines", "esc\x1b[31mred", "tab\there"):
            for command in (["report", name], ["trace", "info", name], ["run", "--", name],
                            ["report", "x", name], ["run", "--engine", name, "--", "true"],
                            ["--" + name], [name], ["run", "--" + name], ["trace", name]):
                status, out, err = self.hotpath(*command)
                self.assertIn(status, (FAILED, 127), command)
                self.assertEqual(out, b"", command)
                self.one_line(err)
                self.assertNotIn(b"\x1b", err)

    def test_report_choices(self):
        profile = self.path("p.hotpath")
        self.hotpath("record", "-o", profile, "--", tool("true"))
        self.refused(FAILED, ["report", profile, "nonsense"], "nonsense", "functions")
        self.refused(FAILED, ["report", "--json", "--csv", profile], "--json", "--csv")
        self.refused(FAILED, ["report", "--csv", profile, "all"], "all")
        self.refused(FAILED, ["report", "--threads", "some", profile], "some")


class Spelling(Case):
    """The same option in all its spellings."""

    def setUp(self):
        super().setUp()
        self.profile_path = self.path("p.hotpath")
        self.hotpath("record", "-o", self.profile_path, "--", tool("true"))

    def test_spellings(self):
        expected = self.good("report", "--top", "2", "--json", self.profile_path)
        for words in (["-n", "2", "-j", self.profile_path], ["-n2", self.profile_path, "--json"],
                      [self.profile_path, "--top=2", "-j"],
                      ["--json", "--top=0.002k", "--", self.profile_path]):
            self.assertEqual(self.good("report", *words), expected, words)
        self.assertEqual(len(json.loads(expected)["functions"]), 2)

    def test_names_that_look_like_options(self):
        os.rename(self.profile_path, self.path("-p"))
        text = self.good("report", "--", "-p").decode()
        self.assertTrue(re.search(r"instructions", text))

    def test_run_views(self):
        for view in VIEWS:
            status, out, err = self.hotpath("run", "-v", view, "--top", "3", "--", tool("true"))
            self.assertEqual((status, out), (0, b""), view)
            report = self.good("report", "--top", "3", self.profile_path, view)
            self.assertEqual(len(err.splitlines()), len(report.splitlines()), view)


if __name__ == "__main__":
    main()
