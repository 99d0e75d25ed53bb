# SPDX-License-Identifier: MIT
"""What an adapter to a test suite is made of: see Suite."""
import fnmatch
import os
import re

NOBODY = 65534


class Test:
    """One test: a name, a command, and where it runs. folder: None for an empty one of its own."""

    def __init__(self, name, argv, folder=None, env=None, root=False, lacks=(), options=()):
        self.name = name
        self.argv = [str(a) for a in argv]
        self.folder = folder
        self.env = env or {}
        self.lacks = lacks  # programs it needs that are not installed
        self.options = options  # of hotpath
        self.root = root  # needs the rights of root; else it runs as nobody


class Suite:
    """A test suite. A subclass says which tests there are, and what is compared of a run."""
    name = ""
    about = ""   # one line
    limit = 60   # seconds a test may take alone
    fast = ()    # names for CI: the same on every machine, however busy

    def __init__(self, folder=None):
        self.folder = folder  # where the suite was built, if it had to be

    def missing(self):
        """What has to be there first, in words; None if nothing."""
        return None

    def tests(self):
        """All tests, in order."""
        raise NotImplementedError

    def outcome(self, test, status, output, scratch):
        """What is compared of a run: a dictionary of names and plain values."""
        return {"status": status}

    def work(self, output, seconds):
        """How much a run did, a second; None if only its time counts."""
        return None


def tap(output):
    """Lines of the Test Anything Protocol, as {name: result}."""
    found = {}
    for match in re.finditer(r"^[ \t]*(not ok|ok)\b[ \t]*(\d*)[ \t]*(?:- )?(.*)$", output, re.MULTILINE):
        found["%s %s" % (match.group(2), plain(match.group(3).strip())[:120])] = match.group(1)
    return found


# Numbers of processes, addresses and times: never the same twice.
CHANGING = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b|\d+(\.\d+)?")


def plain(text):
    return CHANGING.sub("N", text)


def executables(folder, *patterns):
    """Paths of the executables below a folder whose names, relative to it, fit one of the patterns."""
    for top, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(top, name)
            relative = os.path.relpath(path, folder)
            if os.access(path, os.X_OK) and any(fnmatch.fnmatch(relative, p) for p in patterns):
                yield relative, path
