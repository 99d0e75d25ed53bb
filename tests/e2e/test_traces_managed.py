#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the native engine makes of traces: how often they are executed, when they are dropped, when it
gives them up. The programs leave no doubt, however fast the machine is."""
import sys

from util_cli import NATIVE, Case, main

# Without a C library: what is executed is known to the instruction.
LOOP = r"""
__asm__(".globl _start\n"
        "_start: mov $1000000, %ecx\n"
        "1: nop; nop; nop; sub $1, %ecx; jnz 1b\n"
        "mov $60, %eax; xor %edi, %edi; syscall\n");
"""
LOOP_INSNS = 1 + 5 * 1000000 + 3


class Managed(Case):
    def watch(self, argv, *options):
        """Runs; returns what the engine did, its events of traces, and the whole report."""
        status, out, err, report = self.profile(argv, *options)
        self.assertEqual((status, out, err), self.execute(argv), options)
        return report["run"]["engine_stats"], report["traces"], report

    def test_executions(self):
        """One trace: the loop, several rounds of it. It is left before its end once, at most."""
        loop = self.build("loop", LOOP, "-nostdlib", "-static")
        seen = []
        for profile, mode in (("counts", "count"), ("exact", "stream"), ("exact", "memory")):
            stats, events, report = self.watch([loop], "--profile", profile, "--record", mode,
                                               "--traces", "net:50")
            self.assertEqual((stats["traces"], events), (1, []))
            self.assertEqual(report["summary"]["instructions"], LOOP_INSNS)
            size = stats["trace_insns"]
            self.assertEqual(size, 5 * stats["trace_blocks"])
            run, entries, whole = (stats["trace_" + name]
                                   for name in ("insns_run", "entries", "completions"))
            self.assertGreater(run, LOOP_INSNS - 5 * 200)
            self.assertLessEqual(run, LOOP_INSNS)
            self.assertEqual(run % 5, 0)
            self.assertIn(entries - whole, (0, 1))
            self.assertEqual(whole, run // size)
            seen.append((run, entries, whole))
        self.assertEqual(seen, seen[:1] * 3)

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


if __name__ == "__main__":
    if not NATIVE:
        print("skipped: there is no native engine")
        sys.exit(77)
    main()
