# SPDX-License-Identifier: MIT
"""What npm has for the tests: installed once a build, beside it."""
import fcntl
import json
import os
import shutil
import subprocess
import unittest

from util_cli import HERE, HOTPATH, tool

SOURCE = os.path.join(HERE, "npm")
PLACE = os.path.join(os.path.dirname(HOTPATH), "tests", "npm")
MODULES = os.path.join(PLACE, "node_modules")


def modules():
    """The directory of the packages, installed first when they are not there; skips the test where that cannot be done."""
    npm = tool("npm")
    os.makedirs(PLACE, exist_ok=True)
    with open(os.path.join(PLACE, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests may want them at the same time
        wanted = os.path.join(SOURCE, "package-lock.json")
        done = os.path.join(PLACE, "installed.json")
        if not same(wanted, done):
            for name in ("package.json", "package-lock.json"):
                shutil.copy(os.path.join(SOURCE, name), PLACE)
            result = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PLACE, timeout=120,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if result.returncode:
                raise unittest.SkipTest("npm could not install what reads the exports: "
                                        + result.stdout.decode(errors="replace")[-300:])
            shutil.copy(wanted, done)
    return MODULES


def same(a, b):
    try:
        with open(a, "rb") as one, open(b, "rb") as other:
            return one.read() == other.read()
    except OSError:
        return False


def node(script, *files):
    """What a script of tests/e2e/npm prints of files, from JSON."""
    done = subprocess.run([tool("node"), os.path.join(SOURCE, script), modules(), *files], timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise AssertionError("%s: %s" % (script, done.stderr.decode(errors="replace")[-2000:]))
    return json.loads(done.stdout)
