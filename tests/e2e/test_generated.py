#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generated code has the names that its program writes for perf: of a program whose code is known to
the instruction, and of real runtimes."""
import os
import unittest

from util_cli import NATIVE, QEMU, Case, function, main, notes, tool

# Writes code, calls it, and names it in a map ("map"), a dump ("dump"), or not at all.
GENERATE = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *code;

/* mov n, %ecx; 1: dec %ecx; jnz 1b; ret: 2 + 2 n instructions */
static void put_loop(int at, int n)
{
    unsigned char bytes[] = {0xb9, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
    memcpy(bytes + 1, &n, 4);
    memcpy(code + at, bytes, sizeof bytes);
}
static void put_outer(int at, int n, int callee) /* the same, and a call before it returns */
{
    put_loop(at, n);
    int by = callee - (at + 14);
    code[at + 9] = 0xe8;
    memcpy(code + at + 10, &by, 4);
    code[at + 14] = 0xc3;
}
static void put_mutual(int at, int callee) /* if (n) callee(n - 1) */
{
    const unsigned char bytes[] = {0x85, 0xff, 0x74, 0x07, 0xff, 0xcf, 0xe8, 0, 0, 0, 0, 0xc3};
    int by = callee - (at + 11);
    memcpy(code + at, bytes, sizeof bytes);
    memcpy(code + at + 7, &by, 4);
}
static void run(int at, int times, int n)
{
    void (*volatile call)(int) = (void (*)(int))(code + at);
    while (times--)
        call(n);
}
static void name_in_map(void)
{
    char path[64];
    sprintf(path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx 40 both\n%lx 10 alone in its piece\n%lx 20 deep\n", (long)code,
            (long)code + 64, (long)code + 96);
    fclose(map);
}

static FILE *dump;
static uint64_t now;
static void put(uint64_t value, int n) { fwrite(&value, 1, n, dump); }
static void open_dump(void)
{
    char path[64];
    sprintf(path, "jit-%d.dump", (int)getpid());
    dump = fopen(path, "w");
    put(0x4a695444, 4); put(1, 4); put(40, 4); put(62, 4);
    put(0, 4); put(getpid(), 4); put(0, 8); put(0, 8);
}
static void load(int index, int at, int size, const char *name)
{
    put(0, 4); put(16 + 40 + strlen(name) + 1 + size, 4); put(++now, 8);
    put(getpid(), 4); put(getpid(), 4); put((uint64_t)code + at, 8); put((uint64_t)code + at, 8);
    put(size, 8); put(index, 8);
    fwrite(name, 1, strlen(name) + 1, dump);
    fwrite(code + at, 1, size, dump);
}
static void move(int index, int from, int to, int size)
{
    memcpy(code + to, code + from, size);
    put(1, 4); put(16 + 48, 4); put(++now, 8);
    put(getpid(), 4); put(getpid(), 4); put((uint64_t)code + to, 8); put((uint64_t)code + from, 8);
    put((uint64_t)code + to, 8); put(size, 8); put(index, 8);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%d\n", (int)getpid());
    if (!strcmp(how, "dump")) {
        open_dump();
        put_loop(0, 100);
        load(0, 0, 10, "first");
        run(0, 3, 0);
        put_loop(1, 50); /* the first one is freed, and no block of it is the same */
        code[0] = 0x90;
        load(1, 0, 11, "second");
        run(0, 2, 0);
        move(1, 0, 256, 11);
        run(256, 1, 0);
        fclose(dump);
        return 0;
    }
    put_outer(0, 1000, 32);
    put_loop(32, 500);
    put_loop(64, 100);
    put_mutual(96, 112);
    put_mutual(112, 96);
    put_loop(160, 50);
    put_loop(192, 50);
    run(0, 10, 0);
    run(64, 1, 0);
    run(96, 1, 1000);
    run(160, 1, 0);
    run(192, 1, 0);
    if (!strcmp(how, "map"))
        name_in_map();
    return 0;
}
"""

BOTH = 10 * (3 + 2 * 1000 + 2 + 2 * 500)  # and two entries each time, one from the other
ALONE = 2 + 2 * 100
DEEP = 1000 * 5 + 3
REST = 2 * (2 + 2 * 50)

HOT_JS = """
function mixOne(x) { return (Math.imul(x, 31) + (x >>> 7)) | 0; }
function hotLoop(n) { let s = 1; for (let i = 0; i < n; i++) s = mixOne(s + i); return s; }
let s = 0;
for (let i = 0; i < 100; i++) s = (s + hotLoop(10000)) | 0;
console.log(s);
"""

HOT_JAVA = """
public class Hot {
    static int mixOne(int x) { return x * 31 + (x >>> 7); }
    static int hotLoop(int n) { int s = 1; for (int i = 0; i < n; i++) s = mixOne(s + i); return s; }
    public static void main(String[] a) {
        int s = 0;
        for (int i = 0; i < 100; i++) s += hotLoop(10000);
        System.out.println(s);
    }
}
"""


def generated(profile):
    return [f for f in profile["functions"] if f["module"].startswith("[anon")]


class Generated(Case):
    def tearDown(self):
        for pid in self.pids:
            for name in ("/tmp/perf-%d.map" % pid, "/tmp/jit-%d.dump" % pid):
                if os.path.lexists(name):
                    os.unlink(name)

    def setUp(self):
        super().setUp()
        self.pids = set()

    def watch(self, argv, *options):
        status, _, err, profile = self.profile(argv, *options)
        self.assertEqual((status, err), (0, b""), argv)
        self.pids |= {thread["pid"] for thread in profile["threads"]}
        total = profile["summary"]["instructions"]
        for row in profile["functions"]:
            self.assertLessEqual(row["self"], row["inclusive"], row)
            self.assertLessEqual(row["inclusive"], total, row)
        for row in profile["calls"]:
            self.assertLessEqual(row["inclusive"], total, row)
        self.assertEqual(sum(row["self"] for row in profile["functions"]), total)
        return profile

    def of(self, profile, name):
        row = function(profile, name)
        self.assertIsNotNone(row, (name, generated(profile)))
        return row["self"], row["inclusive"], row["calls"]

    def engines(self):
        return [QEMU] + [[]] * NATIVE

    def test_a_map(self):
        program = self.build("generate", GENERATE)
        for engine in self.engines():
            profile = self.watch([program, "map"], *engine)
            # what is called in one piece is one function, and counts once in its caller
            self.assertEqual(self.of(profile, "both"), (BOTH, BOTH, 20))
            self.assertEqual(self.of(profile, "alone in its piece"), (ALONE, ALONE, 1))
            self.assertEqual(self.of(profile, "deep"), (DEEP, DEEP, 1001))
            rest = [f for f in generated(profile) if f["name"] == f["module"]]
            self.assertEqual([(f["self"], f["calls"]) for f in rest], [(REST, 2)])
            self.assertEqual(len(generated(profile)), 4)
            self.assertEqual(notes(profile, "names"), [])
            between = [c for c in profile["calls"] if c["caller"] == c["callee"] == "both"]
            self.assertEqual([c["count"] for c in between], [10])

    def test_no_names(self):
        program = self.build("generate", GENERATE)
        for engine in self.engines():
            profile = self.watch([program], *engine)
            self.assertEqual([(f["name"], f["self"]) for f in generated(profile)],
                             [("[anon]", BOTH + ALONE + DEEP + REST)])

    def test_a_dump(self):
        """Code that takes the place of other code, and code that moves."""
        program = self.build("generate", GENERATE)
        for engine in self.engines():
            profile = self.watch([program, "dump"], *engine)
            self.assertEqual(self.of(profile, "first"), (3 * 202, 3 * 202, 3))
            self.assertEqual(self.of(profile, "second"), (3 * 103, 3 * 103, 3))
            self.assertEqual(len(generated(profile)), 2)
            self.assertEqual(notes(profile, "names"), [])

    def test_counted(self):
        """Without an order of execution names are the same."""
        program = self.build("generate", GENERATE)
        status, _, err, profile = self.profile([program, "map"], "--profile", "counts")
        self.assertEqual((status, err), (0, b""))
        self.pids |= {thread["pid"] for thread in profile["threads"]}
        self.assertEqual(function(profile, "both")["self"], BOTH)
        self.assertEqual(function(profile, "deep")["self"], DEEP)

    def test_a_file_that_cannot_be_used(self):
        """One note says why."""
        program = self.build("generate", GENERATE)
        script = 'echo "1 1 x" >real; ln -s "$PWD/real" /tmp/perf-$$.map; exec "$0"'
        profile = self.watch(["sh", "-c", script, program])
        self.assertEqual([f["name"] for f in generated(profile)], ["[anon]"])
        self.assertEqual(len(notes(profile, "names")), 1)
        self.assertIn("symbolic link", notes(profile, "names")[0]["text"])

    @unittest.skipUnless(NATIVE, "QEMU does not follow programs")
    def test_a_process_with_a_number_of_its_own(self):
        """The file is called after the number that the process knows."""
        program, unshare = self.build("generate", GENERATE), tool("unshare")
        apart = [unshare, "-U", "-r", "--pid", "--fork"]
        if self.execute([*apart, "true"])[0]:
            self.skipTest("namespaces cannot be made here")
        _, out, _, profile = self.profile([*apart, program, "map"])
        self.pids |= {int(out), *(thread["pid"] for thread in profile["threads"])}
        self.assertEqual(self.of(profile, "both"), (BOTH, BOTH, 20))

    @unittest.skipUnless(NATIVE, "QEMU does not follow programs")
    def test_two_processes(self):
        """Each has names of its own."""
        program = self.build("generate", GENERATE)
        profile = self.watch(["sh", "-c", '"$0" map; "$0" map', program])
        self.assertEqual(self.of(profile, "both"), (2 * BOTH, 2 * BOTH, 40))
        self.assertEqual(self.of(profile, "deep")[0], 2 * DEEP)
        self.assertEqual(notes(profile, "names"), [])

    def hot_loops(self, argv):
        profile = self.watch(argv)
        # the loop is about 5 instructions for each of a million rounds, if it is compiled at all
        hot = [f for f in generated(profile) if "hotLoop" in f["name"]]
        self.assertGreater(sum(f["self"] for f in hot), 10**5, generated(profile)[:20])
        return profile

    def no_names(self, argv):
        profile = self.watch(argv)
        self.assertTrue(generated(profile))
        for row in generated(profile):
            self.assertEqual(row["name"], row["module"])
        names = [row["name"] for row in generated(profile)]
        self.assertEqual(len(names), len(set(names)))

    @unittest.skipUnless(NATIVE, "runtimes take too long in QEMU")
    def test_node(self):
        node, script = tool("node"), self.write("hot.js", HOT_JS)
        self.hot_loops([node, "--always-sparkplug", "--perf-basic-prof", script])
        self.hot_loops([node, "--always-sparkplug", "--perf-prof", script])
        self.no_names([node, script])
        err = self.hotpath("run", "--view", "functions", "--", node, script)[2].decode()
        self.assertIn("of the run is in generated code that has no names: node --perf-basic-prof writes them", err)

    @unittest.skipUnless(NATIVE, "runtimes take too long in QEMU")
    def test_java(self):
        java, javac = tool("java"), tool("javac")
        self.execute([javac, self.write("Hot.java", HOT_JAVA)])
        dump = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"]
        if self.execute([java, *dump, "-version"])[0]:
            self.skipTest("this java cannot write a map")
        self.hot_loops([java, "-Xbatch", *dump, "-cp", self.dir, "Hot"])
        self.no_names([java, "-Xbatch", "-cp", self.dir, "Hot"])


if __name__ == "__main__":
    main()
