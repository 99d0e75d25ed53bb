#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs with known control flow on the other architectures: the same counts.

Built with the cross compilers that were installed when the project was configured; static, and some
dynamically linked. For Alpha only those without a C library are static: Debian's static one faults
before main in QEMU, watched or not.
"""
import os
import unittest

import lib
from expected import Expectations
from lib import program

PROGRAMS = ("loops", "switches", "recursion", "tail", "pointers", "interpreter", "jumps", "threads",
            "forks")
SIGNALS = ("raise", "segv", "nested", "altstack", "jump")
DYNAMIC = ("recursion", "threads")


class Machine(Expectations):
    """One architecture; the derived classes say which."""

    arch = None

    def watch(self, name, *arguments):
        """One run: its stream recorded, checked, and profiled by replaying."""
        return self.replay(self.trace(program(os.path.join(self.arch, name)), *arguments))

    def setUp(self):
        super().setUp()
        if not os.path.isdir(program(self.arch)):
            self.skipTest("there was no cross compiler for %s" % self.arch)

    def test_flow(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                getattr(self, "expect_" + name)(self.watch(name))

    def test_signals(self):
        for which in SIGNALS:
            with self.subTest(signals=which):
                self.expect_signals(self.watch("signals", which), which)

    def test_dynamic(self):
        for name in DYNAMIC:
            with self.subTest(program=name):
                profile = self.record(program(os.path.join(self.arch, name + "-dynamic")))
                getattr(self, "expect_" + name)(profile)


class Aarch64(Machine):
    arch = "aarch64"


class Arm(Machine):
    """Thumb, as Debian builds for this architecture."""

    arch = "arm"


class ArmA32(Machine):
    arch = "arm-a32"


class Riscv64(Machine):
    """With compressed instructions."""

    arch = "riscv64"


class Alpha(Machine):
    arch = "alpha"


def load_tests(loader, _tests, _pattern):
    """Without the base class."""
    suite = unittest.TestSuite()
    for machine in (Aarch64, Arm, ArmA32, Riscv64, Alpha):
        suite.addTests(loader.loadTestsFromTestCase(machine))
    return suite


if __name__ == "__main__":
    lib.main()
