#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the native engine makes of traces: how often they are executed, when they are dropped, when it
gives them up. The programs leave no doubt, however fast the machine is."""
import sys

from util_cli import NATIVE, Case, main, notes

# Without a C library: what is executed is known to the instruction.
LOOP = r"""
__asm__(".globl _start\n"
        "_start: mov $1000000, %ecx\n"
        "1: nop; nop; nop; sub $1, %ecx; jnz 1b\n"
        "mov $60, %eax; xor %edi, %edi; syscall\n");
"""
LOOP_INSNS = 1 + 5 * 1000000 + 3

# Many loops, each executed a little, then never again.
FLAT = "static volatile unsigned sink;\n" + "".join(
    "static void __attribute__((noinline)) f%d(void)\n"
    "{ for (int i = 0; i < 3000; i++) sink += %du ^ sink; }\n" % (i, i * 7919 + 1)
    for i in range(400)) + "int main(void) {" + "".join("f%d();" % i for i in range(400)) + \
    "return sink & 63; }"

# Thirty loops; then only one of them, for a hundred times as long; then thirty others.
PHASES = "static volatile unsigned sink;\n" + "".join(
    "static void __attribute__((noinline)) f%d(long n) { while (n--) sink += %du ^ sink; }\n" %
    (i, i * 7919 + 1) for i in range(60)) + "int main(void) {" + \
    "".join("f%d(5000);" % i for i in range(30)) + "f0(15000000);" + \
    "".join("f%d(5000);" % i for i in range(30, 60)) + "return sink & 63; }"

# One loop, executed long enough for the reader to find it and say so: the engine never is more than
# eight chunks of 32768 words ahead of the reader.
HOT = r"""
static volatile unsigned sink;
static void __attribute__((noinline)) hot(long n) { while (n--) sink += 7 ^ sink; }
int main(void) { hot(3000000); return sink & 63; }
"""

# More code than a program has whose traces pay, and then one hot loop.
LARGE = r"""
__asm__(".globl many\n"
        "many: xor %eax, %eax\n"
        ".rept 70000\n"
        "jz 1f; nop; 1:\n"
        ".endr\n"
        "ret\n");
extern void many(void);
static volatile unsigned sink;
static void __attribute__((noinline)) add(unsigned n) { sink += n ^ sink; }
static void (*volatile how)(unsigned) = add;
int main(void)
{
    many();
    for (unsigned i = 0; i < 300000000; i++)
        how(i);
    return sink & 63;
}
"""

MODES = (("counts", "count"), ("exact", "stream"), ("none", "none"))


class Managed(Case):
    def watch(self, argv, *options):
        """Runs; returns what the engine did, its events of traces, and the whole report."""
        status, out, err, report = self.profile(argv, *options)
        self.assertEqual((status, out, err), self.execute(argv), options)
        return report["run"]["engine_stats"], report["traces"], report

    def test_executions(self):
        """One trace: the loop, several rounds of it. It is left before its end once, at most."""
        loop = self.build("loop", LOOP, "-nostdlib", "-static")
        seen = {}
        for profile, mode in (("counts", "count"), ("exact", "stream"), ("exact", "memory")):
            stats, events, report = self.watch([loop], "--profile", profile, "--record", mode,
                                               "--traces", "net:50")
            self.assertEqual((stats["traces"], events), (1, []))
            self.assertEqual(report["summary"]["instructions"], LOOP_INSNS)
            size = stats["trace_insns"]
            self.assertEqual(size, 5 * stats["trace_blocks"])
            run, entries, whole = (stats["trace_" + name]
                                   for name in ("insns_run", "entries", "completions"))
            at_once = 64 if mode == "count" else 5  # short loops go around in plain segments
            self.assertGreater(run, LOOP_INSNS - 100 * at_once)
            self.assertLessEqual(run, LOOP_INSNS)
            self.assertEqual(run % 5, 0)
            self.assertIn(entries - whole, (0, 1))
            self.assertEqual(whole, run // size)
            seen[mode] = run, entries, whole
        self.assertEqual(seen["stream"], seen["memory"])

    def test_executions_that_are_not_known(self):
        """Where nothing is recorded; where only a part was to be read."""
        loop = self.build("loop", LOOP, "-nostdlib", "-static")
        for options in (("--record", "none"), ("--profile", "exact", "--after", "1000")):
            stats, _, _ = self.watch([loop], "--traces", "net:50", *options)
            self.assertEqual((stats["traces"], stats["trace_entries"], stats["trace_completions"],
                              stats["trace_insns_run"]), (1, 0, 0, 0), options)

    def test_several_programs_and_threads(self):
        """Never more than was executed; never more whole executions than executions."""
        source = r'''
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static int odd(int n) { return n & 1 ? n : n / 3; }
static void *work(void *sum)
{
    for (int i = 0; i < 200000; i++)
        *(volatile int *)sum += odd(i) + odd(i / 7);
    return sum;
}
int main(void)
{
    int sums[3] = {0};
    pthread_t threads[2];
    pid_t child = fork();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    work(&sums[2]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return child ? wait(NULL) != child : 0;
}
'''
        program = self.build("work", source, "-O1", "-pthread")
        for profile in ("counts", "exact"):
            stats, _, report = self.watch([program], "--profile", profile, "--traces", "net:50")
            total = report["summary"]["instructions"]
            self.assertGreater(stats["trace_insns_run"], total // 2)
            self.assertLessEqual(stats["trace_insns_run"], total)
            self.assertGreater(stats["trace_completions"], 0)
            self.assertLessEqual(stats["trace_completions"], stats["trace_entries"])

    def test_a_limit(self):
        """Traces are dropped when there are too many bytes of them; each is as if it were the first."""
        program = self.build("phases", PHASES, "-O1")
        for profile, _ in MODES:
            limit = 4096
            stats, events, report = self.watch([program], "--profile", profile, "--traces",
                                               "net:50,phase=0,bail=0,cache=%d" % limit)
            self.assertGreater(stats["trace_bytes"], 3 * limit)
            self.assertGreater(len(events), 2)
            self.assertEqual({e["kind"] for e in events}, {"full"})
            for event in events:
                self.assertTrue(limit <= event["bytes"] <= 2 * limit, event)
            self.assertEqual([e["traces"] for e in events], sorted({e["traces"] for e in events}))
            self.assertEqual(stats["flushes"], 0)  # the other code stays

    def test_a_new_phase(self):
        """The traces of the second thirty come after a quiet time: the first ones go."""
        program = self.build("phases", PHASES, "-O1")
        whole = self.watch([program], "--traces", "none")[2]["summary"]
        for profile, _ in MODES:
            for phase, kinds in ((20, ["phase"]), (1000, []), (0, [])):
                stats, events, report = self.watch([program], "--profile", profile, "--traces",
                                                   "net:50,phase=%d" % phase)
                self.assertEqual([e["kind"] for e in events], kinds)
                for event in events:
                    self.assertGreater(event["bytes"], 0)
                    self.assertLess(event["bytes"], stats["trace_bytes"])
                    self.assertLess(event["traces"], stats["traces"])
                if profile != "none":
                    self.assertEqual(report["summary"]["instructions"], whole["instructions"])

    def test_traces_that_do_not_pay(self):
        """Two looks after the first: 60 traces were made. They stay, and no more are made."""
        program = self.build("flat", FLAT, "-O1")
        plain = self.watch([program], "--traces", "none")[2]["summary"]
        for profile, _ in MODES:
            stats, events, report = self.watch([program], "--profile", profile, "--traces",
                                               "net:50,bail=20")
            self.assertEqual([(e["kind"], e["traces"]) for e in events], [("bail-out", 60)])
            self.assertEqual(stats["traces"], 60)
            self.assertGreater(events[0]["bytes"], 0)
            self.assertEqual(stats["detached"], 0)
            if profile != "none":
                self.assertEqual(report["summary"]["instructions"], plain["instructions"])
                self.assertLess(stats["trace_insns_run"], plain["instructions"] // 2)
            stats, events, _ = self.watch([program], "--profile", profile, "--traces",
                                          "net:50,bail=0")
            self.assertEqual(events, [])
            self.assertGreater(stats["traces"], 400)

    def test_large_programs(self):
        """Heads of a program with much code are not counted where no words are written."""
        program = self.build("large", LARGE, "-O1")
        stats, events, _ = self.watch([program], "--profile", "counts")
        self.assertGreater(stats["segments"], 65536)
        self.assertEqual((stats["heads"], stats["traces"], events), (0, 0, []))

    def test_leaving(self):
        """Or the program is let go. The profile is of what was before, and says so."""
        program = self.build("flat", FLAT, "-O1")
        plain = self.watch([program], "--traces", "none")[2]["summary"]
        for profile, _ in MODES:
            stats, events, report = self.watch([program], "--profile", profile, "--traces",
                                               "net:50,bail=20,then=leave")
            self.assertEqual([(e["kind"], e["traces"]) for e in events], [("bail-out", 60)])
            self.assertEqual(stats["detached"], 1)
            gone, = notes(report, "detached")
            self.assertIn("traces did not pay", gone["text"])
            if profile != "none":
                self.assertLess(report["summary"]["instructions"], plain["instructions"] // 2)
                self.assertGreater(stats["trace_insns_run"], 0)

    def test_traces_that_pay(self):
        """Loops that go on are not given up, however many."""
        source = FLAT.replace("i < 3000", "i < 30000")
        program = self.build("hot", source, "-O1")
        for profile, _ in MODES:
            stats, events, _ = self.watch([program], "--profile", profile, "--traces",
                                          "net:50,bail=20")
            self.assertEqual(events, [])
            self.assertGreater(stats["traces"], 400)

    def test_hot_spots_steer(self):
        """Only code of hot spots becomes traces, from their detection on. No count changes."""
        program = self.build("steered", HOT, "-O1")
        for mode in ("stream", "memory"):
            for profile in ("exact,hotspots", "hotspots", None):
                options = ["--record", mode] + (["--profile", profile] if profile else [])
                _, events, plain = self.watch([program], *options, "--traces", "none",
                                              "--hotspots", "merten")
                self.assertEqual(events, [])
                for detector in ("hotspots", "hotspots,after=1", "hotspots:merten",
                                 "hotspots:merten,candidate=8", "hotspots:merten,monitor=off"):
                    stats, events, report = self.watch([program], *options, "--traces", detector)
                    self.assertEqual(report["summary"]["instructions"],
                                     plain["summary"]["instructions"])
                    if detector in ("hotspots", "hotspots:merten") and profile:
                        for spot in report["hotspots"] + plain["hotspots"]:
                            spot.pop("pid", None)
                        self.assertEqual(report["hotspots"], plain["hotspots"])
                        self.assertEqual(report["functions"], plain["functions"])
                    self.assertEqual({e["kind"] for e in events}, {"hot-spot"})
                    self.assertEqual(sum(e["traces"] for e in events), stats["traces"])
                    self.assertEqual(sum(e["bytes"] for e in events), stats["trace_bytes"])
                    numbers = [spot["id"] for spot in report["hotspots"]]
                    for event in events:
                        self.assertGreater(event["traces"], 0)
                        self.assertIn(event["hotspot"] - 1, numbers)
                    self.assertEqual(events[0]["traced_before"], 0)
                    last = max(events, key=lambda event: event["insns_after"])
                    self.assertGreater(last["traced_after"], last["insns_after"] * 8 // 10)
                    self.assertGreater(stats["trace_insns_run"],
                                       report["summary"]["instructions"] * 7 // 10)

    def test_no_hot_spot(self):
        """Then nothing is counted, and nothing is made."""
        loop = self.build("short", LOOP.replace("$1000000", "$100"), "-nostdlib", "-static")
        stats, events, _ = self.watch([loop], "--traces", "hotspots")
        self.assertEqual((stats["heads"], stats["traces"], events), (0, 0, []))

    def test_hot_spots_of_several_processes(self):
        """A child finds the wishes of its parent; threads share them."""
        source = r'''
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sinks[3];
static void __attribute__((noinline)) hot(volatile unsigned *sink, long n)
{ while (n--) *sink += 7 ^ *sink; }
static void *work(void *sink) { hot(sink, 1000000); return sink; }
int main(void)
{
    pthread_t threads[2];
    hot(&sinks[0], 3000000);
    pid_t child = fork();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)&sinks[i + 1]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return child ? wait(NULL) != child : 0;
}
'''
        program = self.build("family", source, "-O1", "-pthread")
        stats, events, report = self.watch([program], "--traces", "hotspots")
        self.assertGreater(stats["trace_insns_run"], report["summary"]["instructions"] * 7 // 10)
        self.assertEqual({e["process"] for e in events if e["traces"]} - {1, 2}, set())


if __name__ == "__main__":
    if not NATIVE:
        print("skipped: there is no native engine")
        sys.exit(77)
    main()
