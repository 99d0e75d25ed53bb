#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Large programs whose profiles were once lost, or said wrong things: compilers with irreducible loops, runtimes whose threads do not end."""
import json
import os
import shutil
import subprocess
import unittest

import util_cli
from util_cli import tool

SOURCES = ("base/grow.c", "text/strbuf.c", "profiler/path/prefixes.c")  # of src/

JAVA = """
public class Ends {
    public static void main(String[] words) {
        Thread sleeper = new Thread(() -> { try { Thread.sleep(1000000); } catch (InterruptedException e) { } });
        sleeper.setDaemon(true);
        sleeper.start();
        System.out.println("done");
    }
}
"""
GO = """
package main
import "fmt"
func main() {
    never := make(chan int)
    for i := 0; i < 4; i++ { go func() { <-never }() }
    fmt.Println("done")
}
"""


class Large(util_cli.Case):
    def test_loops_of_a_compiler(self):
        """Nothing of its loops contradicts itself, and the profile is read as it is."""
        top = os.environ.get("SRC") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        path = self.path("profile")
        for source in SOURCES:
            with self.subTest(source=source):
                self.good("record", "-q", "-p", "loops", "-o", path, "--", tool("clang-19"), "-O2", "-S", "-w", "-std=gnu17", "-D_GNU_SOURCE",
                          "-I" + os.path.join(top, "src"), "-I" + os.path.join(top, "include"), "-o", "/dev/null", os.path.join(top, "src", source))
                report = json.loads(self.good("report", path, "--json"))
                self.assertEqual([note for note in report["notes"] if note["kind"] != "names"], [])
                self.assertGreater(len(report["loops"]), 1000)
                self.assertEqual(report["summary"]["contexts_beyond"], 0)

    def ends(self, *argv):
        """The program ends with status 0: nobody says that a signal ended it."""
        path = self.path("profile")
        status, out, err = self.hotpath("record", "-o", path, "--", *argv)
        self.assertEqual((status, out), (0, b"done\n"), err)
        text = self.good("report", path, "summary").decode()
        self.assertNotIn("signal", text)

    @unittest.skipUnless(shutil.which("javac") and shutil.which("java"), "no Java")
    def test_java(self):
        with open(self.path("Ends.java"), "w", encoding="utf-8") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-d", self.path(""), self.path("Ends.java")], check=True)
        self.ends("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", self.path(""), "Ends")

    @unittest.skipUnless(shutil.which("go"), "no Go")
    def test_go(self):
        with open(self.path("ends.go"), "w", encoding="utf-8") as file:
            file.write(GO)
        subprocess.run(["go", "build", "-o", self.path("ends"), self.path("ends.go")], check=True, cwd=self.path(""),
                       env={**os.environ, "HOME": self.path(""), "GOCACHE": self.path("cache"), "GO111MODULE": "off"})
        self.ends(self.path("ends"))


if __name__ == "__main__":
    util_cli.main()
