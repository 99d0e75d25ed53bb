# SPDX-License-Identifier: MIT
"""A call through a stub into a library without symbols is a call of a function there.

Environment (set by ctest): HOTPATH, the command.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HOTPATH = os.path.abspath(
    os.environ.get("HOTPATH") or os.path.join(HERE, "..", "..", "build", "hotpath"))
CC = os.environ.get("CC") or "gcc"

# The exported name is that of the resolver; what the stub jumps to has no symbol once stripped, as
# the string functions of a C library without debug files.
LIBRARY = """
static int first(int x) { return x < 2 ? x : x * 3; }
static int second(int x) { return x > 1000 ? x : x + 7; }
static int (*choose_one(void))(int) { return first; }
static int (*choose_two(void))(int) { return second; }
int one(int x) __attribute__((ifunc("choose_one")));
int two(int x) __attribute__((ifunc("choose_two")));
"""
PROGRAM = """
int one(int), two(int);
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += one(i);
    for (int i = 0; i < 300; i++)
        sum += two(i);
    return sum == 0;
}
"""
# Out of a handler, and out of a deep recursion, a thousand times each: nothing is left on the stack.
JUMPS = """
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf there;
static volatile int zero, sink;
static void on_signal(int number) { (void)number; siglongjmp(there, 1); }
static __attribute__((noinline)) int deep(int depth)
{
    if (depth == 0)
        longjmp(there, 1);
    int result = deep(depth - 1);
    return sink += result;
}
int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGFPE, &action, 0);
    for (volatile int i = 0; i < 1000; i = i + 1)
        if (sigsetjmp(there, 1) == 0)
            sink = 1 / zero;
    for (volatile int i = 0; i < 1000; i = i + 1)
        if (sigsetjmp(there, 0) == 0)
            deep(20);
    return 0;
}
"""


class Stripped(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hotpath-stripped.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def compile(self, source, *flags):
        subprocess.run([CC, "-O1", "-xc", "-", "-xnone", *flags], input=source.encode(),
                       cwd=self.dir, check=True)

    def profile(self, *flags):
        self.compile(LIBRARY, "-shared", "-fPIC", "-s", "-o", "libstripped.so")
        self.compile(PROGRAM, "-o", "program", "./libstripped.so", *flags)
        out = subprocess.run([HOTPATH, "run", "-q", "--plt", "--json", "-", "--", "./program"],
                             cwd=self.dir, check=True, stdout=subprocess.PIPE, timeout=300).stdout
        return json.loads(out)

    def check_jumps(self, *flags):
        self.compile(JUMPS, "-s", "-o", "jumps", *flags)
        for profile in ("exact", "loops"):
            out = subprocess.run([HOTPATH, "run", "-q", "--profile", profile, "--json", "-", "--", "./jumps"],
                                 cwd=self.dir, check=True, stdout=subprocess.PIPE, timeout=300).stdout
            self.assertEqual(json.loads(out)["summary"]["contexts_beyond"], 0)

    def test_jumps_back(self):
        self.check_jumps()

    def test_jumps_back_in_one_file(self):
        self.check_jumps("-static")

    def check(self, *flags):
        profile = self.profile(*flags)
        there = {f["name"]: f for f in profile["functions"] if f["module"] == "libstripped.so"}
        for stub, count in ("one@plt", 1000), ("two@plt", 300):
            callees = {}
            for call in profile["calls"]:
                if call["caller"] == stub and call["callee"] in there:
                    callees[call["callee"]] = call["count"]
            # Bound lazily, the first call goes through the dynamic linker.
            (name, calls), = callees.items()
            self.assertIn(calls, (count, count - 1))
            self.assertEqual(there[name]["calls"], count)
            self.assertGreaterEqual(there[name]["self"], 2 * count)

    def test_bound_at_start(self):
        self.check("-Wl,-z,now")

    def test_bound_lazily(self):
        self.check("-Wl,-z,lazy")


if __name__ == "__main__":
    unittest.main()
