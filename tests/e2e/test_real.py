#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of real programs are sound: `trace check` finds every block where the one before said it
would be, and nothing lost. Replaying one gives the same counts as the check saw."""
import json
import os
import re

from util_cli import NATIVE, NOT_FOLLOWED, QEMU, Case, code_of, main, notes, pseudo_random, tool

# Without jumps between threads' stacks that are not calls, returns go where calls came from. How
# many may not (setjmp, exceptions, signal frames, resolvers): a small share.
STRAY_RETURNS = 0.02


class Real(Case):
    def check(self, argv, threads=1, more=(), **options):
        trace = self.path("trace")
        status, _, err = self.hotpath("trace", "record", "-q", "-o", trace, *more, "--", *argv,
                                      **options)
        self.assertEqual(status, 0, err)
        status, out, err = self.hotpath("trace", "check", trace)
        self.assertEqual((status, err), (0, b""), out.decode())
        text = out.decode()
        self.assertIn(": good\n", text)
        numbers = re.search(r"(\d+) threads?, (\d+) instructions, (\d+) transfers", text)
        returns = re.search(r"(\d+) calls, (\d+) returns: (\d+) to the latest call, (\d+)", text)
        self.assertTrue(numbers and returns, text)
        self.assertGreaterEqual(int(numbers[1]), threads, text)
        self.assertGreater(int(numbers[2]), 50000, text)
        stray = int(returns[2]) - int(returns[3]) - int(returns[4])
        self.assertLessEqual(stray, STRAY_RETURNS * int(returns[2]) + 5, text)
        profile = json.loads(self.good("trace", "replay", "--json", trace))
        self.assertEqual(profile["summary"]["instructions"], int(numbers[2]))
        self.assertEqual(profile["run"]["lost"], 0)
        os.unlink(trace)
        return profile

    def data(self, size):
        return self.write("data", pseudo_random(size))

    def test_gzip(self):
        self.check([tool("gzip"), "-9nc", self.data(300000)])

    def test_bzip2(self):
        self.check([tool("bzip2"), "-9c", self.data(100000)])

    def test_perl(self):
        self.check([tool("perl"), "-e", "my %h; $h{$_ % 97} .= sprintf('%d', $_) for 1..20000; "
                    "my @s = sort { $a cmp $b } values %h; eval { die 'x' }; print scalar(@s)"])

    def test_sqlite3(self):
        self.check([tool("sqlite3"), ":memory:"], input=(
            b"create table t(a primary key, b); with recursive n(i) as (select 1 union all "
            b"select i+1 from n where i < 3000) insert into t select i, i*i%101 from n; "
            b"select b, count(*) from t group by b;"))

    def test_lua(self):
        self.check([tool("lua5.4"), "-e", "local function f(n) if n < 2 then return n end return "
                    "f(n-1) + f(n-2) end print(f(18), pcall(error, 'x')) "
                    "local c = coroutine.wrap(function() for i = 1, 9 do coroutine.yield(i) end end)"
                    " print(c(), c())"])

    def test_cjpeg(self):
        pixels = bytes((x * y + x) % 256 for y in range(160) for x in range(160 * 3))
        self.check([tool("cjpeg"), self.write("in.ppm", b"P6 160 160 255\n" + pixels)])

    def test_python(self):
        self.check([tool("python3"), "-ISc", "print(sum(i * i for i in range(20000)))"])

    def test_bash(self):
        self.check([tool("bash"), "-c", "x=; for i in {1..300}; do x=$x$i; done; echo ${#x} "
                    "$(echo sub) | cat; trap 'echo t' USR1; kill -USR1 $$"], threads=2)

    def test_dash(self):
        self.check([tool("dash"), "-c", "i=0; while [ $i -lt 500 ]; do i=$((i+1)); done; (exit 3); "
                    "echo $?"], threads=2)

    def test_grep(self):
        self.check([tool("grep"), "-cE", "(hot|pa+th)[a-z ]*edge", self.data(200000)])

    def test_sed(self):
        self.check([tool("sed"), "-n", "s/\\(hot\\)\\(.*\\)path/\\2\\1/p;$=", self.data(50000)])

    def test_awk(self):
        self.check([tool("awk"), "{ n[$1] += NF } END { for (k in n) s += n[k]; print s }",
                    self.data(100000)])

    def test_git(self):
        self.check([tool("git"), "--version"])

    def test_openssl(self):
        self.check([tool("openssl"), "dgst", "-sha256", self.data(200000)])

    def test_sort(self):
        self.check([tool("sort"), "--parallel=2", "-S", "1M", self.data(100000)])

    def test_xz_threads(self):
        self.check([tool("xz"), "-T2", "--block-size=50000", "-1c", self.data(200000)], threads=3)

    def test_zstd_threads(self):
        self.check([tool("zstd"), "-T2", "-5", "-qc", self.data(200000)], threads=2)

    def test_pigz(self):
        self.check([tool("pigz"), "-p2", "-c", self.data(300000)], threads=2)

    def test_compiler(self):
        """Forks, executes, maps and unmaps. What it executes is followed, except by QEMU."""
        source = self.write("x.c", "int main(void) { return 0; }\n")
        argv = [tool("gcc"), "-S", "-o", self.path("x.s"), source]
        for more in NOT_FOLLOWED:
            profile = self.check(argv, more=more)
            texts = [note["text"] for note in notes(profile, "exec")]
            if more == QEMU: # else the child that would have executed it was not seen either
                self.assertEqual(len(texts), 1, texts)
                self.assertIn("/cc1 was executed", texts[0])
            self.assertEqual(code_of(profile, "cc1"), 0)
        if not NATIVE:
            return
        profile = self.check(argv, threads=2)
        self.assertEqual(notes(profile, "exec"), [])
        self.assertGreater(code_of(profile, "cc1"), 1000000)


if __name__ == "__main__":
    main()
