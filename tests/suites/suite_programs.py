# SPDX-License-Identifier: MIT
"""Suites whose tests are programs in a folder, each of which says how it went: the kernel's selftests, glibc's
tests, libc-test, LTP. `prepare` builds them."""
import os
import re

from suite import Suite, Test, executables, plain, tap


class Programs(Suite):
    patterns = ("*",)
    prepared = ""

    def missing(self):
        if self.folder and os.path.isdir(self.folder):
            return None
        return "a folder made by `prepare %s FOLDER`" % self.prepared

    def tests(self):
        for relative, path in executables(self.folder, *self.patterns):
            yield Test(relative, [path])

    def outcome(self, test, status, output, scratch):
        return {"status": status, **tap(output)}


class Selftests(Programs):
    name = "selftests"
    prepared = "selftests"
    about = "the kernel's selftests, of linux-source-6.1: as root"
    limit = 60

    def tests(self):
        with open(os.path.join(self.folder, "kselftest-list.txt"), encoding="utf-8") as text:
            names = [line.strip().split(":", 1) for line in text if ":" in line]
        for extra in ("ldt_gdt_64", "ptrace_syscall_64"):
            if os.path.exists(os.path.join(self.folder, "x86", extra)):
                names.append(("x86", extra))
        for collection, name in names:
            where = os.path.join(self.folder, collection)
            # It maps over its stack when addresses are not randomized, alone too.
            options = ("--aslr",) if name == "sysret_rip_64" else ()
            yield Test("%s/%s" % (collection, name), [os.path.join(where, name)], folder=where, root=True,
                       options=options)

    def outcome(self, test, status, output, scratch):
        found = {"status": status}
        found.update(tap(output))
        for word, text in re.findall(r"^\s*\[(FAIL|SKIP)\]\s*(.*)$", output, re.MULTILINE):
            found["%s: %s" % (word, plain(text)[:100])] = True
        return found


class Glibc(Programs):
    name = "glibc"
    prepared = "glibc"
    about = "tests of Debian's source package glibc: nptl, signal, setjmp, posix, ..."
    limit = 60
    patterns = ("*/tst-*", "*/test-*", "*/bug*")

    def outcome(self, test, status, output, scratch):
        return {"status": status}


class LibcTest(Programs):
    name = "libc-test"
    prepared = "libc-test"
    about = "libc-test, the tests of musl's authors"
    limit = 60
    patterns = ("*.exe",)

    def outcome(self, test, status, output, scratch):
        lines = {plain(line)[:150] for line in output.splitlines() if re.match(r"\S+\.c:\d+: ", line)}
        return {"status": status, **{line: True for line in lines}}


class Ltp(Programs):
    name = "ltp"
    prepared = "ltp"
    about = "the Linux Test Project's system calls: runtest/syscalls of an installed LTP"
    limit = 60

    def tests(self):
        where = os.path.join(self.folder, "testcases", "bin")
        with open(os.path.join(self.folder, "runtest", "syscalls"), encoding="utf-8") as text:
            for line in text:
                words = line.split("#")[0].split()
                if len(words) > 1 and os.access(os.path.join(where, words[1]), os.X_OK):
                    yield Test(words[0], [os.path.join(where, words[1]), *words[2:]], root=True,
                               env={"LTPROOT": self.folder, "PATH": where + ":/usr/sbin:/usr/bin:/sbin:/bin"})

    def outcome(self, test, status, output, scratch):
        found = {"status": status}
        for word, text in re.findall(r"\b(TFAIL|TBROK)\b\s*:?\s*(.*)$", output, re.MULTILINE):
            found["%s: %s" % (word, plain(text)[:100])] = True
        return found
