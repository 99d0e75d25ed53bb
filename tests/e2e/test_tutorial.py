#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tutorial and the how-to pages: every command in them works, in order, and prints what they say it prints.

Figures may be others with another compiler, C library or processor, and so may the names and places of libc's routines; all else must be there.
Environment (set by ctest): HOTPATH, the command in its build directory; SRC, the source tree.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from util_cli import HOTPATH, NATIVE, main

SRC = os.path.abspath(os.environ.get("SRC") or os.path.join(os.path.dirname(__file__), "..", ".."))
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.M | re.S)
TIMEOUT = 300


def shape(line):
    """What must be the same of a line of output everywhere."""
    line = re.sub(r"_(evex|avx\w*|sse\w*|erms|unaligned\w*)\b", "_cpu", line)
    line = re.sub(r"\b(?!words)[\w-]+\.[Sch]:[\d-]+", "", line)  # a place in libc, which needs its debug information
    line = re.sub(r"[▁▂▃▄▅▆▇█]+", "", line)
    line = re.sub(r"[-+±]?\d[\d,.]*( ?[%kMG]\b| ?%)?", "0", line)
    return " ".join(line.split())


class Pages(unittest.TestCase):
    def setUp(self):
        if not NATIVE:
            self.skipTest("there is no native engine here")
        self.dir = tempfile.mkdtemp(prefix="hotpath-tutorial.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        shutil.copytree(os.path.join(SRC, "examples"), os.path.join(self.dir, "examples"))
        os.symlink(os.path.dirname(HOTPATH), os.path.join(self.dir, "build"))

    def run_block(self, text, page):
        """The commands of a block, in a shell that goes on where the one before ended."""
        state = os.path.join(self.dir, ".state")
        script = "[ ! -e %s ] || . %s\nset -e\n%s\n{ export -p; echo \"cd '$PWD'\"; } > %s\n" % (state, state, text, state)
        done = subprocess.run(["bash", "-c", script], cwd=self.dir, stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = done.stdout.decode(errors="replace")
        self.assertEqual(done.returncode, 0, "%s: %s\n%s" % (page, text, output))
        return output

    def check_page(self, page):
        with open(os.path.join(SRC, "docs", page), encoding="utf-8") as file:
            blocks = BLOCK.findall(file.read())
        self.assertTrue(blocks)
        output = ""
        for kind, text in blocks:
            if kind == "sh":
                output = self.run_block(text, page)
                continue
            shapes = {shape(line) for line in output.splitlines()}
            for line in text.splitlines():
                if line.strip() not in ("", "…"):
                    self.assertIn(shape(line), shapes, "%s shows a line that was not printed: %s" % (page, line))

    def need(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(tool + " is not installed")

    def test_tutorial(self):
        self.check_page("tutorial.md")

    def test_reading_a_path(self):
        self.check_page("howto-path.md")

    def test_optimisers(self):
        self.need("clang-19", "llvm-bolt-19")
        self.check_page("howto-bolt.md")


if __name__ == "__main__":
    main()
