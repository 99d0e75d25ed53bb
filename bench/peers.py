# SPDX-License-Identifier: MIT
"""Other ways to count or to watch what a program does, in one table with the native engine."""

import os
import shutil
from dataclasses import replace

from debian import SOURCES, Apt, Sources, find_bolt, run
from inputs import find
from native import Table, run_ways
from timing import Failure

# BOLT instruments only what has relocations; it fails on computed jumps in position-independent code and on functions
# that gcc splits. All of a program's builds share these flags, so that they differ by what instruments them alone.
PLAIN = {"gcc": ["-fno-pie", "-fno-reorder-blocks-and-partition"], "clang-19": ["-fno-pie"]}
LINK = ["-no-pie", "-Wl,--emit-relocs"]

# Way: the build it is compared with, which is not instrumented.
REBUILT = {"gcc arcs": "gcc", "clang instr": "clang", "bolt": "gcc"}


class Builds:
    """Programs rebuilt from Debian's sources, plain and instrumented; kept in `directory`."""

    def __init__(self, directory, may_build):
        self.directory = os.path.abspath(directory)
        self.may_build = may_build
        self.notes = []  # what is missing, and why

    def ways(self, name):
        """Executables of the program: build -> path. What cannot be had is left out, and noted."""
        if name not in SOURCES:
            self.notes.append("%s: there is no recipe to rebuild it" % name)
            return {}
        builds = {
            "gcc": lambda: self.build(name, "gcc", "gcc", []),
            "gcc arcs": lambda: self.build(name, "gcc-arcs", "gcc", ["-fprofile-arcs", "-fprofile-update=single",
                                                                     "-fprofile-dir=" + self.profile(name, "gcc")]),
            "clang": lambda: self.build(name, "clang", "clang-19", []),
            "clang instr": lambda: self.build(name, "clang-instr", "clang-19",
                                              ["-fprofile-instr-generate=" + self.profile(name, "clang.profraw")]),
            "bolt": lambda: self.bolt(name),
        }
        found = {}
        for way, build in builds.items():
            try:
                if way not in REBUILT or REBUILT[way] in found:
                    found[way] = build()
            except (Failure, OSError) as error:
                self.notes.append("%s, %s: %s" % (name, way, error))
        return found

    def profile(self, name, file):
        return os.path.join(self.directory, name, "profiles", file)

    def kept(self, name, folder):
        """The executable of an earlier build, or None."""
        try:
            with open(os.path.join(self.directory, name, folder + ".path")) as file:
                return file.read()
        except FileNotFoundError:
            if not self.may_build:
                raise Failure("not built yet; bench/run --part peers does it")
            return None

    def keep(self, name, folder, path):
        """Notes that a build is complete; the profiles of programs that it ran are of no use."""
        shutil.rmtree(os.path.join(self.directory, name, "profiles"), ignore_errors=True)
        with open(os.path.join(self.directory, name, folder + ".path"), "w") as file:
            file.write(path)
        return path

    def build(self, name, folder, compiler, flags):
        path = self.kept(name, folder)
        if not path:
            find(compiler)
            sources = Sources(name, os.path.join(self.directory, "sources"), Apt(os.path.join(self.directory, "apt")))
            print("  building %s: %s" % (name, folder), flush=True)
            where = os.path.join(self.directory, name, folder)
            path = self.keep(name, folder, sources.build(compiler, PLAIN[compiler], flags, LINK, where))
        return path

    def bolt(self, name):
        """gcc's build, instrumented; it lies beside it because python3 looks for its modules there."""
        path = self.kept(name, "bolt")
        if not path:
            base = self.kept(name, "gcc")
            os.makedirs(self.profile(name, ""), exist_ok=True)
            run([find_bolt(), base, "-instrument", "-o", base + "-bolt", "--instrumentation-file=" + self.profile(name, "fdata")])
            path = self.keep(name, "bolt", base + "-bolt")
        os.makedirs(self.profile(name, ""), exist_ok=True)
        return path


class Peers:
    """`native` measures hotpath, and knows the programs."""

    def __init__(self, native, may_build):
        self.native = native
        self.builds = Builds(os.path.join(native.directory, "peers"), may_build)
        self.quick = native.quick

    def under(self, program, tool, options=()):
        """The program under a tool that is installed; None if it is not."""
        try:
            return program.under([find(tool), *options])
        except FileNotFoundError as error:
            if str(error) not in self.builds.notes:
                self.builds.notes.append(str(error))
            return None

    def valgrind(self, program, *options):
        return self.under(program, "valgrind", ["-q", "--log-file=" + os.devnull, *options])

    def ways_of(self, program, paths):
        """All ways of the table, way -> (Program, rounds), those without a program left out."""
        often, once = self.native.rounds, 1
        ways = {"native": (program, often)}
        for mode in ("none", "count", "paths"):
            ways[mode] = (self.native.watched(program, mode), often if mode != "paths" else once)
        for way, path in paths.items():
            ways[way] = (replace(program, command=[path] + program.command[1:]), often)
        ways["valgrind"] = (self.valgrind(program, "--tool=none"), once)
        ways["qemu"] = (self.under(program, "qemu-x86_64"), once)
        return {way: pair for way, pair in ways.items() if pair[0]}

    def together(self):
        columns = ["none", "count", "paths", *REBUILT, "valgrind", "qemu"]
        paths = {name: self.builds.ways(name) for name in self.native.names}
        inputs = self.native.inputs(0.7, 0.12)
        table = Table("Peers, ratios to the same build alone (medians of %d; paths, valgrind, qemu: one run)"
                      % self.native.rounds, columns)
        for name in self.native.names:
            table.add(name, run_ways(self.ways_of(inputs.program(name), paths[name]), bases=REBUILT))
        self.native.finish(table, "peers")
        for note in self.builds.notes:
            print("  - %s" % note)
        self.native.report.result["peers"]["missing"] = self.builds.notes

    def slow_of(self, name, small, tiny):
        """The slowest on two inputs."""
        small, tiny = small.program(name), tiny.program(name)
        callgrind = self.valgrind(small, "--tool=callgrind", "--callgrind-out-file=" + os.devnull)
        lackey = self.valgrind(tiny, "--tool=lackey", "--basic-counts=no", "--trace-superblocks=yes")
        ways = {"native": (small, 3), "qemu engine": (self.native.watched(small, "exact", "qemu"), 1)}
        if callgrind:
            ways["callgrind"] = (callgrind, 1)
        row = run_ways(ways, 2000)
        if lackey:
            row.merge(run_ways({"native": (tiny, 3), "lackey": (lackey, 1)}, 2000))
        return row

    def slow(self):
        table = Table("Slower ones, ratios to native on short inputs (one run)", ["qemu engine", "callgrind", "lackey"])
        small, tiny = self.native.inputs(0.15, 0.12), self.native.inputs(0.03, 0.03)
        for name in self.native.names:
            table.add(name, self.slow_of(name, small, tiny))
        self.native.finish(table, "slow_peers")

    def measure(self):
        self.together()
        if not self.quick:
            self.slow()
