# SPDX-License-Identifier: MIT
"""Which engine the tests of the native engine run programs in, and how.

Environment: HOTPATH, the command (default: build/hotpath of this tree). HOTPATH_TEST_ENGINE: native
(default), qemu, or none, which runs programs alone: then every comparison must come out equal, or
the test itself is at fault. HOTPATH_TEST_MODES: the modes to run in, comma-separated (default: all).
HOTPATH_TEST_OPTIONS: more options of hotpath run, such as --cache-size 1M.
"""
import collections
import os
import shlex
import signal
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))
HOTPATH = os.path.abspath(os.environ.get("HOTPATH") or os.path.join(SRC, "build", "hotpath"))
ENGINE = os.environ.get("HOTPATH_TEST_ENGINE") or "native"
OPTIONS = shlex.split(os.environ.get("HOTPATH_TEST_OPTIONS") or "")
TIMEOUT = 120

# What the engine records, and the options that make it record that.
MODES = collections.OrderedDict([
    ("none", ["--profile", "none", "--record", "none"]),
    ("count", ["--profile", "counts"]),
    ("stream", ["--profile", "exact"]),
    ("memory", ["--profile", "none", "--record", "memory"]),
    ("paths", ["--profile", "paths"]),
])

Result = collections.namedtuple("Result", "status stdout stderr")


def modes(*wanted):
    """The modes to run in: those wanted (default: all) that the engine has and the environment
    allows."""
    if ENGINE != "native":
        return [ENGINE]
    allowed = (os.environ.get("HOTPATH_TEST_MODES") or ",".join(MODES)).split(",")
    unknown = set(allowed) - set(MODES)
    if unknown:
        raise SystemExit("HOTPATH_TEST_MODES: no such mode: " + ", ".join(sorted(unknown)))
    return [m for m in wanted or MODES if m in allowed]


def command(mode, argv, json, *options):
    """The command that runs `argv` in the engine. Results go to the file `json`, so that nothing is
    printed beside what the program prints."""
    argv = [os.fspath(a) for a in argv]
    if mode == "none" and ENGINE == "none":
        return argv
    engine = ["--engine", "qemu"] if mode == "qemu" else ["--engine", "native"] + MODES[mode]
    return [HOTPATH, "run", "-q", *engine, *OPTIONS, *options, "--json", json, "--"] + argv


def alone(argv, **options):
    """Runs a command to its end and gives its Result; status as a shell gives it, or "timeout". The
    command leads a process group, of which nothing is left behind after a timeout."""
    limit = options.pop("timeout", TIMEOUT)
    if "input" in options:
        data = options.pop("input")
        options["stdin"] = subprocess.PIPE
    else:
        data = None
        options.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen([os.fspath(a) for a in argv], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True, **options)
    try:
        out, err = process.communicate(data, timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Result("timeout", out, err)
    status = process.returncode
    return Result(128 - status if status < 0 else status, out, err)


def watched(mode, argv, *hotpath_options, **options):
    """Runs a command in the engine, as alone() does."""
    with tempfile.TemporaryDirectory(prefix="hotpath-native-") as folder:
        if os.geteuid() == 0:
            os.chmod(folder, 0o777)  # the command may be run as somebody else
        return alone(command(mode, argv, os.path.join(folder, "run.json"), *hotpath_options),
                     **options)


def first_difference(a, b):
    """Where two byte strings part, as a line for people."""
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    start = max(0, at - 60)
    return "at byte %d of %d and %d: alone %r, engine %r" % (at, len(a), len(b),
                                                             a[start:at + 60], b[start:at + 60])


def differences(expected, got):
    """What differs between two Results, a line each; empty when they are equal."""
    lines = []
    if expected.status != got.status:
        lines.append("status: alone %s, engine %s" % (expected.status, got.status))
    for name in ("stdout", "stderr"):
        a, b = getattr(expected, name), getattr(got, name)
        if a != b:
            lines.append("%s %s" % (name, first_difference(a, b)))
    return lines
