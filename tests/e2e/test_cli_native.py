#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command with the native engine: which engine is chosen, what it says about its work, what
--profile, --record, --traces and --cache-size do. Skipped where the engine was not built."""
import json
import os
import sys

from util_cli import NATIVE, Case, main, notes, tool

LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
static int odd(int n) { return n % 2; }
int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < atoi(argv[argc - 1]); i++)
        sum += odd(i);
    printf("%d\n", sum);
    return 7;
}
"""

STATS = ["segments", "blocks", "instructions", "links", "lookups", "invalidated", "flushes",
         "translate_ns", "cache_bytes", "memory_bytes", "processes", "threads", "detached",
         "traces", "trace_blocks", "trace_insns", "trace_bytes", "heads", "abandoned",
         "trace_entries", "trace_completions", "trace_insns_run", "waited_ns"]


class Native(Case):
    def setUp(self):
        super().setUp()
        self.program = [self.build("loop", LOOP), "1000"]
        self.alone = self.execute(self.program)
        self.assertEqual(self.alone, (7, b"500\n", b""))

    def watch(self, *options, argv=None):
        """Runs; the program must print and exit as it does alone. Returns the report as JSON."""
        *got, report = self.profile(argv or self.program, *options)
        self.assertEqual(tuple(got), self.execute(argv) if argv else self.alone, options)
        return report

    def test_is_the_default(self):
        for options in ((), ("--engine", "native")):
            report = self.watch(*options)
            self.assertEqual(report["run"]["engine"], "native")
            self.assertEqual(notes(report, "detached"), [])
        self.assertEqual(self.watch("--engine", "qemu")["run"]["engine"], "qemu")

    def test_code_that_cannot_be_read(self):
        """The processor's to judge; in the middle of a block the thread is let go."""
        with open(os.path.join(os.path.dirname(__file__), "../native/detach.c")) as source:
            program = self.build("detach", source.read())
        alone = self.execute([program, "at"])
        self.assertEqual(alone[:2], (128 + 7, b"going\n"))
        self.assertEqual(notes(self.watch(argv=[program, "at"]), "detached"), [])
        status, out, err, report = self.profile([program, "into"])
        self.assertEqual((status, out), alone[:2])
        self.assertIn(b"goes on unobserved", err)
        self.assertEqual([n["count"] for n in notes(report, "detached")], [1])
        self.assertEqual(report["run"]["engine_stats"]["detached"], 1)

    def test_says_what_it_did(self):
        report = self.watch()
        stats = report["run"]["engine_stats"]
        self.assertEqual(list(stats), STATS)
        self.assertGreaterEqual(stats["blocks"], stats["segments"])
        # Every block that ran was translated, and what was translated fits what ran.
        self.assertGreaterEqual(stats["instructions"], stats["blocks"])
        self.assertGreater(stats["blocks"], 500)
        self.assertGreater(stats["translate_ns"], 0)
        self.assertGreater(stats["cache_bytes"], 4096)
        self.assertGreaterEqual(stats["memory_bytes"], stats["cache_bytes"])
        self.assertEqual((stats["processes"], stats["threads"], stats["detached"]), (1, 1, 0))
        self.assertNotIn("engine_stats", self.watch("--engine", "qemu")["run"])

    def test_the_summary_has_a_line_about_it(self):
        status, out, err = self.hotpath("run", "--", *self.program)
        self.assertEqual((status, out), self.alone[:2])
        text = err.decode()
        self.assertRegex(text, r"\Ahotpath: [^\n]*\s+\S+ s, [\d,]+ instructions, \S+% in [^\n]*, exit status 7\n")
        self.assertNotIn("engine", text)
        status, out, err = self.hotpath("run", "--verbose", "--", *self.program)
        self.assertEqual((status, out), self.alone[:2])
        self.assertRegex(err.decode(), r"(?m)^  engine native, x86_64: [\d,]+ blocks in [\d,]+ segments, "
                         r"[\d,]+ links?, [\d,]+ flush(es)?, translated in [\d.]+ ms, "
                         r"code cache [\d.]+ MiB, memory [\d.]+ MiB$")

    def test_is_kept_in_profiles_and_traces(self):
        profile, trace = self.path("p.hotpath"), self.path("t.hptrace")
        self.assertEqual(self.hotpath("record", "-q", "-o", profile, "--", *self.program)[0], 7)
        run = json.loads(self.good("report", "--json", profile))["run"]
        self.assertEqual(run["engine"], "native")
        self.assertEqual(list(run["engine_stats"]), STATS)
        self.assertEqual(self.hotpath("trace", "record", "-q", "-o", trace, "--",
                                      *self.program)[0], 7)
        self.assertIn(b"native", self.good("trace", "info", trace))
        self.good("trace", "check", trace)
        run = json.loads(self.good("trace", "replay", trace, "--json"))["run"]
        self.assertEqual(run["engine"], "native")

    def test_every_way_to_record(self):
        whole = self.watch()
        for options in (["--record", "none"], ["--record", "memory"], ["--profile", "none"],
                        ["--profile", "none", "--record", "none"],
                        ["--profile", "none", "--record", "count"],
                        ["--profile", "none", "--record", "stream"],
                        ["--profile", "none", "--record", "memory"]):
            report = self.watch(*options)
            self.assertEqual(report["summary"]["instructions"], 0, options)
            self.assertEqual(len(notes(report, "nothing")), 1, options)
            self.assertGreater(report["run"]["engine_stats"]["blocks"], 500, options)
        for options in (["--record", "stream"], ["--profile", "exact"]):
            self.assertEqual(self.watch(*options)["summary"], whole["summary"], options)

    def test_a_small_cache(self):
        """A mebibyte: it may be flushed; the counts stay."""
        argv = [tool("python3"), "-S", "-c", "print(sum(range(1000)))"]
        os.environ["PYTHONHASHSEED"] = "0"
        self.addCleanup(os.environ.pop, "PYTHONHASHSEED")
        stats = self.watch("--cache-size", "1M", argv=argv)["run"]["engine_stats"]
        self.assertLessEqual(stats["cache_bytes"], 1 << 20)
        self.assertEqual(stats["detached"], 0)
        self.assertEqual(self.watch("--cache-size", "256M", argv=argv)["run"]["engine_stats"]
                         ["flushes"], 0)

    def test_a_short_lag(self):
        """A ring of two chunks: the program waits, and nothing is lost. So does it with a long one."""
        argv = [tool("gzip"), "-9c", tool("bash")]
        short = self.watch("--lag", "256K", argv=argv)
        for lag in ("300K", "1M", "64M"):
            self.assertEqual(self.watch("--lag", lag, argv=argv)["summary"], short["summary"], lag)

    def test_every_choice_of_traces(self):
        """The program does the same, and its counts are the same."""
        whole = self.watch()["summary"]
        for traces in ("none", "static", "net", "net:1", "path-profile", "path-profile:1"):
            self.assertEqual(self.watch("--traces", traces)["summary"], whole, traces)

    def test_programs_that_are_executed(self):
        argv = [tool("sh"), "-c", "%s 10; exec %s 20" % (self.program[0], self.program[0])]
        report = self.watch(argv=argv)
        self.assertEqual(notes(report, "exec"), [])
        self.assertGreaterEqual(report["run"]["engine_stats"]["processes"], 2)
        report = self.watch("--no-follow", argv=argv)
        self.assertEqual(len(notes(report, "exec")), 1) # the child that executes is not watched
        self.assertRegex(notes(report, "exec")[0]["text"], r"loop was executed and ran outside "
                         r"hotpath: .*--no-follow")

    def test_low_descriptors_are_free(self):
        """The first descriptor that a program opens has the number it would have alone."""
        argv = [tool("sh"), "-c", "exec 3</dev/null; readlink /proc/self/fd/3; ulimit -n"]
        self.watch(argv=argv)
        program = self.build("opens", '#include <fcntl.h>\n#include <stdio.h>\nint main(void)\n{\n'
                             '    for (int i = 0; i < 20; i++)\n'
                             '        printf("%d\\n", open("/dev/null", O_RDONLY));\n}\n')
        self.watch(argv=[program])

    def test_the_name_of_a_script(self):
        """AT_EXECFN and the process's name are the script's, its argv[0] the interpreter."""
        script = self.write("script", "#!/bin/sh\ncat /proc/$$/comm\ntr '\\0' ' ' < /proc/$$/cmdline\n",
                            0o755)
        out = self.execute([script])[1]
        self.assertTrue(out.startswith(b"script\n"))
        self.watch(argv=[script])


if __name__ == "__main__":
    if not NATIVE:
        print("skipped: there is no hotpath-engine beside the command")
        sys.exit(77)
    main()
