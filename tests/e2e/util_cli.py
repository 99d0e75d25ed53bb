# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, small programs to watch, the form of errors.

HOTPATH names the command under test (default: build/hotpath of this tree), CC the compiler for the
small programs. A sanitizer build may be tested: any report of a sanitizer fails the test.
"""
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HOTPATH = os.path.abspath(
    os.environ.get("HOTPATH") or os.path.join(HERE, "..", "..", "build", "hotpath"))
CC = os.environ.get("CC") or "cc"
FAILED, CANNOT_RUN, NOT_FOUND = 125, 126, 127
MUTATIONS = int(os.environ.get("HOTPATH_MUTATIONS") or 400)  # damaged files of each kind
TIMEOUT = 300  # of one command; many times what it takes on a busy machine
PATIENCE = 200  # for something that must come

# Whether what is watched runs in the native engine, and how to watch so that executed programs are
# left alone: QEMU cannot follow them, the native engine need not.
NATIVE = platform.machine() == "x86_64" and \
    os.path.exists(os.path.join(os.path.dirname(HOTPATH), "hotpath-engine"))
QEMU = ["--engine", "qemu"]
NOT_FOLLOWED = [QEMU] + [["--no-follow"]] * NATIVE

# A sanitizer's report must not pass for one of the statuses that mean something.
os.environ.setdefault("ASAN_OPTIONS", "exitcode=99")
os.environ.setdefault("UBSAN_OPTIONS", "exitcode=99:print_stacktrace=1")
for variable in list(os.environ):  # a small environment, the same everywhere
    if variable not in ("PATH", "HOME", "TMPDIR", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        del os.environ[variable]


def tool(name):
    """The path of an installed program; skips the test when there is none."""
    path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    if not path:
        raise unittest.SkipTest(name + " is not installed")
    return path


def wait_until(condition, complaint=lambda: "it does not come"):
    """Waits until `condition` gives something true, and returns that. However long it takes: only what
    never comes is a failure."""
    limit = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > limit:
            raise AssertionError(complaint())
        time.sleep(0.02)


def status_of(returncode):
    """As a shell gives it."""
    return 128 - returncode if returncode < 0 else returncode


def without_times(profile):
    """A profile as JSON, without what time decides: how long threads lived and system calls took, and so their
    order and which caller is the heaviest."""
    for row in profile.get("threads", []):
        for key in ("ns", "syscall_ns", "in_syscalls"):
            row.pop(key, None)
    for view in ("syscalls", "syscall_paths"):
        for row in profile.get(view, []):
            for key in ("ns", "share", "mean_ns", "max_ns", "caller"):
                row.pop(key, None)
        profile.get(view, []).sort(key=lambda row: (row["call"], row.get("path", []), row["calls"]))
    return profile


class Case(unittest.TestCase):
    """A test with a directory of its own (`self.dir`) and one for the class (`self.shared`)."""

    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.mkdtemp(prefix="hotpath-test.")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.built = {}

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="t.", dir=self.shared)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content, mode=0o644):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    @classmethod
    def build(cls, name, source, *flags):
        """Compiles a small C program once a class; returns its path."""
        if name not in cls.built:
            path = os.path.join(cls.shared, name)
            with open(path + ".c", "w") as file:
                file.write(source)
            subprocess.run([CC, "-O1", "-g", "-fno-inline", "-o", path, path + ".c", *flags],
                           check=True)
            cls.built[name] = path
        return cls.built[name]

    def execute(self, argv, **options):
        """Runs and returns (status, stdout, stderr); fails the test when a sanitizer speaks."""
        options.setdefault("cwd", self.dir)
        options.setdefault("timeout", TIMEOUT)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([os.fspath(a) for a in argv], **options)
        self.no_sanitizer(done.stderr or b"")
        return status_of(done.returncode), done.stdout, done.stderr

    def hotpath(self, *args, **options):
        return self.execute([HOTPATH, *args], **options)

    def no_sanitizer(self, text):
        if b"Sanitizer" in text or b"runtime error:" in text:
            self.fail("a sanitizer reports:\n" + text.decode(errors="replace")[:3000])

    def good(self, *args, **options):
        """Runs the command, which must succeed and say nothing on stderr; returns stdout."""
        status, out, err = self.hotpath(*args, **options)
        self.assertEqual((status, err), (0, b""), args)
        return out

    def one_line(self, err, *words):
        """An error is one line from hotpath that holds `words`."""
        text = err.decode()
        self.assertRegex(text, r"\Ahotpath: [^\n]{4,300}\n\Z")
        for word in words:
            self.assertIn(word, text)

    def refused(self, status, args, *words, **options):
        """The command says no, in one line on stderr, with nothing on stdout."""
        got, out, err = self.hotpath(*args, **options)
        self.assertEqual((got, out), (status, b""), (args, err))
        self.one_line(err, *words)

    def profile(self, argv, *options, **run_options):
        """Watches a program quietly; returns (status, stdout, stderr, the profile as JSON)."""
        file = self.path("profile.json")
        status, out, err = self.hotpath("run", "-q", "--json", file, *options, "--", *argv,
                                        **run_options)
        with open(file) as opened:
            return status, out, err, json.load(opened)

    def same_as_alone(self, argv, status=None, more=(), **options):
        """A program prints and exits under watch (with the options `more`) exactly as alone. Returns
        what it did, and its profile."""
        alone = self.execute(argv, **options)
        if status is not None:
            self.assertEqual(alone[0], status, "alone")
        *watched, profile = self.profile(argv, *more, **options)
        self.assertEqual(tuple(watched), alone)
        self.assertEqual(profile["run"]["exit_status"], alone[0])
        return alone, profile


def notes(profile, kind):
    return [note for note in profile["notes"] if note["kind"] == kind]


def function(profile, name):
    """The row of a function; None when it was not run."""
    for row in profile["functions"]:
        if row["name"] == name:
            return row
    return None


def code_of(profile, module):
    """Instructions that were executed in a file."""
    return sum(row["instructions"] for row in profile["modules"] if row["module"] == module)


def pseudo_random(size, seed=1):
    """Bytes that look like text enough to compress, the same every time."""
    words = [b"hot", b"path", b"branch", b"loop", b" ", b"\n", b"block", b"edge", b"0x1f", b"call"]
    state, out = seed, bytearray()
    while len(out) < size:
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        out += words[(state >> 33) % len(words)]
    return bytes(out[:size])


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(verbosity=2)
