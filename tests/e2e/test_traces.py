#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What traces did, from the arena to the report. The engine is a stand-in that writes known numbers
there, so that none of this depends on how a program runs."""
import json
import os
import sqlite3
import sys

from util_cli import Case, main, tool

SRC = os.environ.get("SRC", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

# Finds the arena among its descriptors and fills in what an engine would. It writes nothing else.
ENGINE = r"""
#include "engine/arena.h"
#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
    struct hp_arena *a = MAP_FAILED;
    for (int fd = 3; fd < 1024 && (a == MAP_FAILED || a->magic != HP_ARENA_MAGIC); fd++)
        a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (a == MAP_FAILED || a->magic != HP_ARENA_MAGIC)
        return 3;
    int events = argc == 2 ? atoi(argv[1]) : 3;
    a->stats.blocks = 5000;
    a->stats.traces = 100;
    a->stats.trace_blocks = 850;
    a->stats.trace_insns = 4210;
    a->stats.trace_bytes = 3 << 20;
    a->stats.heads = 777;
    a->stats.abandoned = 1;
    a->stats.trace_entries = 2000;
    a->stats.trace_completions = 1500;
    a->stats.trace_insns_run = events > 1000 ? UINT64_MAX : 9000;
    a->n_traces_events = events;
    for (int i = 0; i < events && i < HP_TRACES_EVENTS; i++)
        a->traces_events[i] = (struct hp_traces_event){1000000000ull + i, i % 4, 1, 10 * i, 4096};
    a->attached = 1;
    return argc == 2 ? a->traces * 64 + a->traces_after : 0;
}
"""

PREDICTING = ["net:10", "net:50", "net:100", "path-profile:10", "path-profile:50",
              "path-profile:100"]

STATS = {"traces": 100, "trace_blocks": 850, "trace_insns": 4210, "trace_bytes": 3 << 20,
         "heads": 777, "abandoned": 1, "trace_entries": 2000, "trace_completions": 1500,
         "trace_insns_run": 9000}


class Traces(Case):
    def setUp(self):
        super().setUp()
        engine = self.build("hotpath-engine", ENGINE, "-D_GNU_SOURCE", "-I" + SRC + "/src",
                            "-I" + SRC + "/include")
        os.environ["HOTPATH_PLUGIN_DIR"] = os.path.dirname(engine)
        self.addCleanup(os.environ.pop, "HOTPATH_PLUGIN_DIR")

    def record(self, events, status, *options, name="p.hotpath"):
        path = self.path(name)
        done = self.hotpath("record", "-q", "-o", path, "--engine", "native", *options, "--",
                            tool("true"), str(events))
        self.assertEqual(done[0], status, done)
        return path

    def test_the_engine_is_told(self):
        """It ends with the status 64 * choice + number: none 0, static 1, net 2, path-profile 3."""
        for traces, status in (("none", 0), ("static", 64), ("net:7", 128 + 7), ("net", 128 + 50),
                               ("path-profile:1", 192 + 1), ("path-profile", 192 + 50)):
            for mode in ("none", "count", "stream", "memory"):
                self.record(0, status, "--traces", traces, "--record", mode)

    def test_report(self):
        path = self.record(3, 0, "--traces", "none")
        text = self.good("report", "--verbose", path, "summary").decode()
        self.assertIn("  100 traces of 8.5 blocks and 42.1 instructions, 3072 KiB, 777 heads, "
                      "1 abandoned, 2 flushes (1 full, 1 phase), 1 bail-out, 75.0% completed\n", text)
        lines = [line.split() for line in self.good("report", path, "traces").decode().splitlines()]
        self.assertEqual(lines[0], "process second what traces bytes hot spot in traces before after"
                         .split())
        self.assertEqual(lines[1:4], [["1", "1.000", "full", "0", "4,096"],
                                     ["1", "1.000", "phase", "10", "4,096"],
                                     ["1", "1.000", "bail-out", "20", "4,096"]])

    def test_scripts(self):
        path = self.record(3, 0, "--traces", "none")
        report = json.loads(self.good("report", "--json", path))
        self.assertEqual({name: report["run"]["engine_stats"][name] for name in STATS}, STATS)
        expected = [{"run": 0, "process": 1, "ns": 1000000000 + i, "kind": kind, "traces": 10 * i,
                     "bytes": 4096, "hotspot": 0, "insns_before": 0, "traced_before": 0,
                     "insns_after": 0, "traced_after": 0}
                    for i, kind in enumerate(("full", "phase", "bail-out"))]
        self.assertEqual(report["traces"], expected)
        self.assertEqual(self.good("report", "--csv", path, "traces").decode().splitlines()[:2],
                         ["run,process,ns,kind,traces,bytes,hotspot,insns_before,traced_before,"
                          "insns_after,traced_after", "0,1,1000000000,full,0,4096,0,0,0,0,0"])
        with sqlite3.connect(path) as db:
            self.assertEqual(db.execute("SELECT process, ns, text, traces, bytes FROM traces_event "
                                        "JOIN string s ON s.id = kind ORDER BY ns").fetchall(),
                             [tuple(event.values())[1:6] for event in expected])

    def test_too_many(self):
        """The arena holds 1024; nothing in it can be trusted. Each fourth here has a kind that there
        is not (the first is taken for it), and a count is larger than a profile can hold."""
        path = self.record(1500, 0, "--traces", "none")
        report = json.loads(self.good("report", "--json", path))
        self.assertEqual(len(report["traces"]), 1024)
        self.assertEqual([e["kind"] for e in report["traces"]], ["full", "phase", "bail-out", "full"] * 256)
        self.assertEqual(report["run"]["engine_stats"]["trace_insns_run"], (1 << 63) - 1)
        self.assertEqual([n["count"] for n in report["notes"] if n["kind"] == "traces"], [476])

    def test_merge(self):
        """Sums; what happened stays apart by run."""
        one = self.record(3, 0, "--traces", "none", name="1.hotpath")
        two = self.record(3, 0, "--traces", "none", name="2.hotpath")
        both = self.path("both.hotpath")
        self.good("merge", "-o", both, one, two)
        report = json.loads(self.good("report", "--json", both))
        self.assertEqual(report["run"]["engine_stats"]["traces"], 200)
        self.assertEqual(report["run"]["engine_stats"]["abandoned"], 2)
        self.assertEqual([e["run"] for e in report["traces"]], [0, 0, 0, 1, 1, 1])
        self.good("diff", one, both)

    def test_lab(self):
        """The experiment prints the same numbers, for each choice."""
        result = json.loads(self.good("lab", "dynamo", "--short", "--programs", "gzip", "--inputs",
                                      self.path("inputs"), "--json", "-"))
        expected = {"traces": 100, "blocks": 8.5, "instructions": 42.1, "trace_kib": 3072,
                    "heads": 777, "abandoned": 1, "share": None, "completed": 75, "flushes": 2,
                    "phases": 1, "bail_outs": 1}
        for key, value in expected.items():
            self.assertEqual(result["sheets"][key]["rows"]["gzip"],
                             {choice: value for choice in PREDICTING}, key)

    def test_profiles_of_before(self):
        """They have no such table, and fewer numbers."""
        path = self.record(3, 0, "--traces", "none")
        with sqlite3.connect(path) as db:
            db.execute("DROP TABLE traces_event")
            db.execute("DELETE FROM contents")
            db.execute("DELETE FROM engine_stat WHERE id > 12")
        text = self.good("report", "--verbose", path, "summary").decode()
        self.assertIn("5,000 blocks", text)
        self.assertNotIn("traces", text)
        report = json.loads(self.good("report", "--json", path))
        self.assertEqual((report["traces"], report["run"]["engine_stats"]["traces"]), ([], 0))


if __name__ == "__main__":
    if os.uname().machine != "x86_64":
        print("skipped: the native engine is for x86-64")
        sys.exit(77)
    main()
