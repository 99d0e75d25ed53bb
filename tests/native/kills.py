#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills hotpath, the program it watches, or one of its children with signal 9 at random moments.

    kills.py [--count N] [--seed N] [--seconds N] [--signals SIGTERM,SIGHUP,...]

After each: the output file is absent, the old one, or whole; nothing else is in its folder or in
TMPDIR or /dev/shm; every process of the run ends by itself, the program with its right output when
it was not the one that was killed; nothing is left behind as a zombie. HOTPATH and VICTIM name the
command and the program.
"""
import argparse
import collections
import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOTPATH = os.path.abspath(os.environ.get("HOTPATH") or os.path.join(HERE, "..", "..", "build", "hotpath"))
VICTIM = os.path.abspath(os.environ.get("VICTIM") or
                         os.path.join(os.path.dirname(HOTPATH), "tests/native/victim"))
LIMIT = 300  # seconds in which everything must be over
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18

PROGRAMS = [["busy", "300000"], ["threads", "100000"], ["forks", "5000"], ["execs", "50000", "3"]]
# How to watch: arguments before "-- PROGRAM", the output file's name, how to open it.
REPORT = ["report"]
WAYS = [
    (["record", "-q", "-o", "out.hotpath", "--profile", "exact"], "out.hotpath", REPORT),
    (["record", "-q", "-o", "out.hotpath", "--profile", "counts"], "out.hotpath", REPORT),
    (["record", "-q", "-o", "out.hotpath", "--profile", "paths,loops"], "out.hotpath", REPORT),
    (["record", "-q", "-o", "out.hotpath", "--profile", "predictions,hotspots"], "out.hotpath", REPORT),
    (["record", "-q", "-o", "out.hotpath", "--machine", "modern"], "out.hotpath", REPORT),
    (["trace", "record", "-q", "-o", "out.hptrace"], "out.hptrace", ["trace", "check"]),
    (["trace", "record", "-q", "--addresses", "-o", "out.hptrace"], "out.hptrace", ["trace", "check"]),
    (["run", "-q", "--json", "out.json"], "out.json", None),
    (["run", "-q", "--record", "none", "--json", "out.json"], "out.json", None),
    (["top", "-q", "--plain", "-o", "out.hotpath"], "out.hotpath", REPORT),
]
VICTIMS = ["hotpath", "program", "child", "group"]
OLD = b"what was there before"


class Failure(Exception):
    pass


def below(pid):
    """All that come from a process, dead ones that nobody has asked for included, and whose child each
    is: {pid: parent}. Orphans come to us."""
    found = {}
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, thread)) as file:
                for child in map(int, file.read().split()):
                    found[child] = pid
                    found.update(below(child))
    except OSError:
        pass  # it is gone
    return found


def reap():
    """All that ended and came to us, as their parents are gone."""
    reaped = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return reaped
        if pid == 0:
            return reaped
        reaped[pid] = status


class Run:
    def __init__(self, rng, number, base, signals):
        self.rng, self.number = rng, number
        self.signal = rng.choice(signals)
        self.program = rng.choice(PROGRAMS)
        self.way, self.output, self.check = rng.choice(WAYS)
        self.victim = rng.choice(VICTIMS[1:3] if self.program[0] == "forks" and rng.random() < 0.5 else
                                 [v for v in VICTIMS if v != "child"])
        self.replaces = rng.random() < 0.5
        self.dir = os.path.join(base, "run%d" % number)
        self.out, self.tmp = os.path.join(self.dir, "out"), os.path.join(self.dir, "tmp")

    def describe(self):
        return "%s -- victim %s; %s to %s after %.4f s; %s file" % (
            " ".join(self.way), " ".join(self.program), self.signal.name, self.victim, self.delay,
            "an old" if self.replaces else "no")

    def start(self):
        os.makedirs(self.out)
        os.makedirs(self.tmp)
        if self.replaces:
            with open(os.path.join(self.out, self.output), "wb") as file:
                file.write(OLD)
        env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TMPDIR": self.tmp, "LC_ALL": "C"}
        self.stdout = open(os.path.join(self.dir, "stdout"), "w+b")
        self.stderr = open(os.path.join(self.dir, "stderr"), "w+b")
        self.process = subprocess.Popen(
            [HOTPATH, *self.way, "--", VICTIM, *self.program], cwd=self.out, env=env,
            stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=self.stderr, start_new_session=True)

    def find_target(self, hotpath):
        """The program or a child, as soon as there is one; None: the run is over."""
        while os.waitid(os.P_PID, hotpath, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            tree = below(hotpath)
            wanted = [pid for pid in tree if (tree[pid] == hotpath) == (self.victim == "program")]
            if wanted:
                return self.rng.choice(wanted)
            time.sleep(0.001)
        return None

    def kill(self):
        """Kills the one that is to die; says who was, None: nobody any more."""
        hotpath = self.process.pid
        if self.victim == "hotpath":
            self.began = bool(below(hotpath))
            target = hotpath
        elif self.victim == "group":
            os.killpg(hotpath, self.signal)
            return "group"
        else:
            target = self.find_target(hotpath)
            if not target:
                return None
        try:
            os.kill(target, self.signal)
        except ProcessLookupError:
            return None
        return self.victim

    def wait(self):
        """Until all is over; the statuses of those that came to us."""
        statuses, limit = {}, time.monotonic() + LIMIT
        while True:
            statuses.update(reap())
            over = self.process.pid in statuses
            left = below(os.getpid())
            if over and not left:
                return statuses
            if time.monotonic() > limit:
                text = "".join("\n  %d (parent %d) %s" % (pid, left[pid], what(pid)) for pid in left)
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                raise Failure("processes that do not end:" + text)
            time.sleep(0.005)

    def expected(self):
        return EXPECTED[tuple(self.program)]

    def verify(self, killed, statuses):
        out, err = read(self.stdout), read(self.stderr)
        status = statuses[self.process.pid]
        if killed is None and status != 0:
            raise Failure("nobody was killed, and yet status %#x" % status)
        passed_on = self.signal != signal.SIGKILL
        not_begun = killed == "hotpath" and (passed_on or not self.began) and out == b""
        if killed in (None, "hotpath") and out != self.expected() and not not_begun:
            raise Failure("the program printed %r" % out)
        if killed == "program" and not os.WIFEXITED(status):
            raise Failure("hotpath ended by signal %d" % os.WTERMSIG(status))
        if killed == "child" and (not os.WIFEXITED(status) or os.WEXITSTATUS(status)):
            raise Failure("a child was killed, and the status is %#x" % status)
        if b"internal error" in err:
            raise Failure("an internal error")
        never_began = killed == "program" and b"before the program began" in err
        must_be_there = killed not in ("hotpath", "group") and not never_began
        self.verify_output(must_be_there)
        for folder in (self.tmp, *SHARED):
            if os.listdir(folder):
                raise Failure("left in %s: %s" % (folder, os.listdir(folder)))

    def verify_whole(self, path):
        if self.check is None:
            with open(path, "rb") as file:
                json.load(file)
            return
        done = subprocess.run([HOTPATH, *self.check, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LIMIT)
        if done.returncode:
            raise Failure("the output is broken: %r" % done.stderr)

    def is_replacing(self, name):
        """hotpath was killed in the moment in which the new file, whole, had a name and the old one its
        own still: docs/native-engine.md has this exception."""
        if not self.replaces or not re.fullmatch(re.escape(self.output) + r"\.\w{6,8}", name):
            return False
        self.verify_whole(os.path.join(self.out, name))
        return True

    def verify_output(self, must_be_there):
        names = [name for name in sorted(os.listdir(self.out)) if not self.is_replacing(name)]
        path = os.path.join(self.out, self.output)
        if names not in ([], [self.output]):
            raise Failure("left behind: %s" % names)
        if not names and (must_be_there or self.replaces):
            raise Failure("the output is not there")
        if not names:
            return "absent"
        with open(path, "rb") as file:
            content = file.read()
        if content == OLD and self.replaces:
            if must_be_there:
                raise Failure("the output is the old one")
            return "old"
        self.verify_whole(path)
        return "whole"

    def once(self, scale):
        """Kills after a moment: often near the start, sometimes near the end or behind it."""
        self.delay = min(self.rng.expovariate(2.5 / scale), 1.5 * scale)
        self.start()
        time.sleep(self.delay)
        killed = self.kill()
        statuses = self.wait()
        self.process.returncode = statuses.get(self.process.pid)
        self.verify(killed, statuses)
        self.stdout.close()
        self.stderr.close()
        shutil.rmtree(self.dir)
        return killed or "nobody"


def read(file):
    file.seek(0)
    return file.read()


def what(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            command = file.read().replace(b"\0", b" ").decode(errors="replace")
        with open("/proc/%d/wchan" % pid) as file:
            return command + "in " + file.read()
    except OSError:
        return ""


def measure(program, way):
    """How long such a run takes here and now."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run([HOTPATH, *way, "--", VICTIM, *program], cwd=folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=LIMIT)
        return time.monotonic() - began


EXPECTED = {}  # what programs print
SHARED = []  # folders that nobody else uses, when there can be any


def own_shared_memory():
    """Puts an empty /dev/shm over the others'."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0 \
            and libc.mount(b"none", b"/dev/shm", b"tmpfs", 0, None) == 0:
        SHARED.append("/dev/shm")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="go on with this number")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--signals", default="SIGKILL", help="others than SIGKILL, separated by commas")
    options = parser.parse_args()
    signals = [signal.Signals[name] for name in options.signals.split(",")]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    own_shared_memory()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for program in PROGRAMS:
        EXPECTED[tuple(program)] = subprocess.run([VICTIM, *program], stdout=subprocess.PIPE, check=True).stdout
    scales, tally, failed = {}, collections.Counter(), 0
    began = time.monotonic()
    base = tempfile.mkdtemp(prefix="hotpath-kills.")
    done = 0
    for number in range(options.first, options.first + options.count):
        if options.seconds and time.monotonic() - began > options.seconds:
            break
        rng = random.Random(options.seed * 1000003 + number)
        run = Run(rng, number, base, signals)
        key = (tuple(run.program), tuple(run.way))
        if key not in scales:
            scales[key] = measure(run.program, run.way)
        done += 1
        try:
            tally[run.once(scales[key])] += 1
        except (Failure, subprocess.TimeoutExpired) as error:
            failed += 1
            print("kill %d (seed %d): %s\n  %s\n  in %s" % (number, options.seed, error, run.describe(), run.dir),
                  flush=True)
    if not failed:
        shutil.rmtree(base)
    print("%d runs in %.0f s, %d at fault; killed: %s" % (
        done, time.monotonic() - began, failed,
        ", ".join("%s %d" % (name, tally[name]) for name in (*VICTIMS, "nobody"))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
