#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is hard for an engine (tests/native): signals, faults, processes, threads, contexts, generated
code, surroundings. Each part prints, says on stderr and exits exactly as alone, in every mode."""
import json
import os
import resource
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "native"))
import engine  # noqa: E402

PROGRAMS = os.environ.get("NATIVE_PROGRAMS") or os.path.join(engine.SRC, "build/tests/native")
NAMES = ["storm", "waits", "faults", "processes", "contexts", "codegen", "mappings",
         "surroundings", "rare", "calls", "filters", "tracing", "rseq", "signals", "slots"]
STATIC = ["storm-static", "faults-static", "processes-static", "contexts-static"]
FAILED = 125  # hotpath's own status


class Stress(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hotpath-stress-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def compare(self, argv, modes, *hotpath_options, env=()):
        options = {"cwd": self.dir, "timeout": 300,
                   "env": {"PATH": "/usr/bin:/bin", "HOME": self.dir, "LC_ALL": "C", **dict(env)}}
        expected = engine.alone(argv, **options)
        self.assertNotIn(b"not so", expected.stdout, "the program itself is at fault")
        self.assertNotIn(expected.status, (2, FAILED, "timeout"), "alone")
        for mode in modes:
            with self.subTest(program=os.path.basename(argv[0]), part=argv[1:], mode=mode):
                found = engine.differences(expected, engine.watched(mode, argv, *hotpath_options,
                                                                   **options))
                self.assertFalse(found, "\n".join(found))

    def parts(self, name, modes, *hotpath_options, env=()):
        path = os.path.join(PROGRAMS, name)
        listed = engine.alone([path])
        self.assertEqual((listed.status, listed.stderr), (0, b""))
        names = listed.stdout.decode().split()
        self.assertGreater(len(names), 1)
        for part in names:
            self.compare([path, part], modes, *hotpath_options, env=env)

    def test_thrown(self):
        for name in ("throws", "throws-static"):
            self.compare([os.path.join(PROGRAMS, name)], engine.modes())


    def test_fixed_addresses(self):
        """Without randomisation of addresses programs lie where engines like to be, too."""
        setarch = shutil.which("setarch")
        if not setarch:
            self.skipTest("setarch is not installed")
        for part in ("writable", "moved", "libraries"):
            argv = [os.path.join(PROGRAMS, "codegen"), part]
            expected = engine.alone([setarch, "-R", *argv])
            for mode in engine.modes("stream"):
                got = self.without_randomisation(mode, setarch, argv)
                self.assertEqual(engine.differences(expected, got), [])

    def without_randomisation(self, mode, setarch, argv):
        """hotpath itself is started that way; the program inherits it."""
        command = engine.command(mode, argv, os.path.join(self.dir, "run.json"))
        return engine.alone([setarch, "-R", *command])

    def test_slots_are_followed(self):
        """A segment continues through a slot: what is after it needs no word of its own."""
        trace = os.path.join(self.dir, "calls.hpt")
        argv = [os.path.join(PROGRAMS, "slots"), "calls"]
        recorded = engine.alone([engine.HOTPATH, "trace", "record", "--engine", "native", "-q",
                                 "--traces", "none", "-o", trace, "--", *argv])
        self.assertEqual(recorded.stdout, engine.alone(argv).stdout)
        info = json.loads(engine.alone([engine.HOTPATH, "trace", "info", "--json", trace]).stdout)
        self.assertLess(info["words"], 350000, "100,000 calls, four words each without")

    def summary(self, mode, part):
        path = os.path.join(self.dir, mode + ".json")
        engine.alone(engine.command(mode, [os.path.join(PROGRAMS, "slots"), part], path))
        with open(path, encoding="utf-8") as f:
            found = json.load(f)["summary"]
        return {key: found[key] for key in ("instructions", "blocks", "branches", "edges")}

    def test_slots_are_counted(self):
        """Transfers through slots are the same in counts and in the stream."""
        for part in ("bound", "lazy", "changes", "unreadable", "libraries"):
            with self.subTest(part=part):
                self.assertEqual(self.summary("count", part), self.summary("stream", part))

    def test_small_cache(self):
        """The cache is full all the time, even while a thread cannot leave it."""
        for name, part in (("mappings", "stopped"), ("mappings", "by-many"), ("codegen", "many"),
                           ("codegen", "threads")):
            self.compare([os.path.join(PROGRAMS, name), part], engine.modes("stream"),
                         "--cache-size", "1M")

    def test_mapped_twice(self):
        """The cache as it is where memory cannot be writable and executable."""
        for name in ("codegen", "processes"):
            self.parts(name, engine.modes("stream"), env={"HOTPATH_CACHE": "twice"})

    def test_no_writable_code(self):
        """Where that is refused to hotpath and the program, or to programs that the program executes."""
        deny = os.path.join(PROGRAMS, "deny")
        shell = ["/bin/sh", "-c", "for i in 1 2 3; do (echo $i | cat); done"]
        for how in ("filter", "kernel"):
            expected = engine.alone([deny, how, *shell])
            if expected.status == 77:
                continue
            for mode in engine.modes("stream"):
                json = os.path.join(self.dir, mode + ".json")
                for command in ([deny, how, *engine.command(mode, shell, json)],
                                engine.command(mode, [deny, how, *shell], json)):
                    got = engine.alone(command)
                    self.assertEqual(engine.differences(expected, got), [])
                    self.assertGreater(os.path.getsize(json), 2000, "nothing was observed")

    def test_processes_not_followed(self):
        self.parts("processes", engine.modes("stream"), "--no-follow")


def add(name, modes):
    setattr(Stress, "test_" + name.replace("-", "_"), lambda self: self.parts(name, modes))


for program in NAMES:
    add(program, engine.modes())
for program in STATIC:
    add(program, engine.modes("stream"))

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.uname().machine != "x86_64":
        print("skipped: the native engine runs x86-64 programs")
        sys.exit(77)
    unittest.main(verbosity=2)
