#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`record --hardware` and `lab fidelity` from end to end, on a machine that allows what this one may not: a kernel that is made up (a library in front
of the C library's), and a perf that lets `hotpath export` write what the processor would have sampled."""
import os
import stat
import unittest

import util_cli
from util_cli import FAILED, HOTPATH, NATIVE, tool
from test_export_perf import WORK
from test_import import Import

KERNEL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open) {
        const struct perf_event_attr *attr = (const void *)a[0];
        const char *allowed = getenv("ALLOWED");
        const char *asked = attr->sample_type & PERF_SAMPLE_BRANCH_STACK ? "stacks" : attr->type == 77 && !attr->config2 ? "ibs" : "";
        if (allowed && strcmp(allowed, asked) == 0)
            return open("/dev/null", O_RDONLY | O_CLOEXEC);
        errno = EOPNOTSUPP;
        return -1;
    }
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
static FILE *take(const char *name, const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
    if (!strstr(path, "/ibs_op/type"))
        return real(path, mode);
    FILE *file = tmpfile();
    if (file) {
        fputs("77\n", file);
        rewind(file);
    }
    return file;
}
FILE *fopen(const char *path, const char *mode) { return take("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return take("fopen64", path, mode); }
"""

PERF = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
out=$2
while [ "$1" != -- ]; do shift; done
shift
case $ALLOWED in
stacks) format=perf,period=101 machine= ;;
*) format=ibs,interval=500 machine="--machine modern --for 10M" ;;
esac
unset LD_PRELOAD
exec %s export -q --format $format $machine -o "$out" -- "$@"
"""


def is_amd():
    with open("/proc/cpuinfo") as file:
        return "AuthenticAMD" in file.read()


class Hardware(Import):
    def setUp(self):
        super().setUp()
        if not NATIVE:
            self.skipTest("there is no native engine here")
        self.tools = self.path("tools")
        os.mkdir(self.tools)
        perf = os.path.join(self.tools, "perf")
        with open(perf, "w") as file:
            file.write(PERF % HOTPATH)
        os.chmod(perf, stat.S_IRWXU)
        self.kernel = self.build("kernel.so", KERNEL, "-shared", "-fPIC", "-ldl")

    def there(self, allowed, path=None):
        """The environment of that machine."""
        return dict(os.environ, ALLOWED=allowed, LD_PRELOAD=self.kernel, PATH=path or self.tools + ":" + os.environ["PATH"],
                    ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")

    def record(self, allowed, *program):
        path = self.path("sampled.hotpath")
        status, _, err = self.hotpath("record", "-q", "--hardware", "-o", path, "--", *program, env=self.there(allowed))
        self.assertEqual([name for name in os.listdir(self.dir) if name.startswith("sampled.hotpath.")], [])
        return path, status, err

    def test_stacks(self):
        path, status, err = self.record("stacks", self.program("work", WORK))
        self.assertEqual((status, err), (0, b""))
        self.assertGreater(self.stats(path)["stacks"], 100)

    @unittest.skipUnless(is_amd(), "only processors of AMD have it")
    def test_instructions(self):
        path, status, err = self.record("ibs", self.program("work", WORK))
        self.assertEqual((status, err), (0, b""))
        self.assertGreater(self.stats(path)["instructions sampled"], 100)

    def test_status(self):
        """That of the program; what was recorded is kept."""
        path, status, _ = self.record("stacks", tool("sh"), "-c", "exit 7")
        self.assertEqual(status, 7)
        self.assertTrue(os.path.exists(path))

    def test_no_perf(self):
        status, _, err = self.hotpath("record", "--hardware", "-o", self.path("x.hotpath"), "--", tool("true"),
                                      env=self.there("stacks", "/nowhere"))
        self.assertEqual(status, FAILED)
        self.one_line(err, "needs perf")

    def test_neither(self):
        status, _, err = self.hotpath("record", "--hardware", "-o", self.path("x.hotpath"), "--", tool("true"), env=self.there("nothing"))
        self.assertEqual(status, FAILED)
        self.one_line(err, "neither branch stacks nor samples of instructions")

    @unittest.skipUnless(is_amd(), "only processors of AMD have it")
    def test_fidelity(self):
        """The samples are those of `modern`: it is nearest to them."""
        text = self.good("lab", "fidelity", "--short", "--machine-instructions", "5M", "--cycle-instructions", "500K", "--programs", "gzip",
                         "--inputs", self.path("inputs"), env=self.there("ibs"), timeout=300).decode()
        rows = [line.split() for line in text.splitlines() if line.strip().startswith("gzip")]
        self.assertEqual(len(rows), 3, text)
        errors = [float(row[2]) for row in rows]
        self.assertEqual(min(errors), errors[0], text)


if __name__ == "__main__":
    util_cli.main()
