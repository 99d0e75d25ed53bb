#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stripped programs: names and lines from a server of debuginfod on this machine, from its clients' cache, and what is said when there are none."""
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import util_cli
from util_cli import tool

WORK = """
#include <stdio.h>
static __attribute__((noinline)) int secret(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s ^= i;
    return s;
}
int main(void) { printf("%d\\n", secret(1000000)); }
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Debuginfod(util_cli.Case):
    def setUp(self):
        super().setUp()
        where = self.path("build")
        os.mkdir(where)
        self.program, debug = os.path.join(where, "work"), self.path("debug")
        os.mkdir(debug)
        with open(self.program + ".c", "w", encoding="utf-8") as file:
            file.write(WORK)
        subprocess.run([tool("gcc"), "-g", "-O1", "-Wl,--build-id=sha1", "-o", self.program, self.program + ".c"], check=True)
        self.debug_file = os.path.join(debug, "work.debug")
        subprocess.run([tool("objcopy"), "--only-keep-debug", self.program, self.debug_file], check=True)
        subprocess.run([tool("strip"), self.program], check=True)
        notes = subprocess.run([tool("readelf"), "-n", self.program], check=True, stdout=subprocess.PIPE).stdout.decode()
        self.build_id = notes.split("Build ID: ")[1].split()[0]
        self.cache = self.path("cache")
        none = self.path("none")
        os.mkdir(none)
        self.env = {**os.environ, "DEBUGINFOD_CACHE_PATH": self.cache, "HOTPATH_DEBUG_DIR": none, "no_proxy": "127.0.0.1"}
        self.env.pop("DEBUGINFOD_URLS", None)

    def record(self, status=0, **env):
        """(the profile, stderr)."""
        path = self.path("profile")
        got, _, err = self.hotpath("record", "-p", "exact", "-o", path, "--", self.program, env={**self.env, **env})
        self.assertEqual(got, status, err)
        return path, err.decode()

    def functions(self, profile):
        return self.good("report", profile, "functions", env=self.env).decode()

    def serve(self):
        """Starts a server of the debug file; returns its address when it knows the file."""
        port, url = free_port(), ""
        server = subprocess.Popen([tool("debuginfod"), "-F", "-d", ":memory:", "-p", str(port), "-t", "1", os.path.dirname(self.debug_file)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**self.env, "TMPDIR": self.path("")})
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        url = "http://127.0.0.1:%d" % port
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(600):
            try:
                opener.open("%s/buildid/%s/debuginfo" % (url, self.build_id), timeout=5).read()
                return url
            except OSError:
                time.sleep(0.1)
        self.fail("the server does not find the file")

    def test_fetched(self):
        url = self.serve()
        profile, _ = self.record(DEBUGINFOD_URLS=url)
        text = self.functions(profile)
        self.assertRegex(text, r"secret +work\.c:\d+")
        self.assertNotIn("have no names", text)
        self.assertTrue(os.path.exists(os.path.join(self.cache, self.build_id, "debuginfo")))
        # From the cache, without a server.
        profile, said = self.record()
        self.assertIn("secret", self.functions(profile))
        self.assertNotIn("fetched", said)

    def test_cached(self):
        os.makedirs(os.path.join(self.cache, self.build_id))
        shutil.copy(self.debug_file, os.path.join(self.cache, self.build_id, "debuginfo"))
        self.assertIn("secret", self.functions(self.record()[0]))
        home, self.env["HOME"] = self.path("home"), self.path("home")
        del self.env["DEBUGINFOD_CACHE_PATH"]
        self.env.pop("XDG_CACHE_HOME", None)
        shutil.copytree(self.cache, os.path.join(home, ".cache", "debuginfod_client"))
        self.assertIn("secret", self.functions(self.record()[0]))
        # Another program's debug file is not used.
        with open(os.path.join(home, ".cache", "debuginfod_client", self.build_id, "debuginfo"), "wb") as file:
            file.write(b"\x7fELF, but what")
        self.assertNotIn("secret", self.functions(self.record()[0]))

    def test_not_asked(self):
        """Without the variable nobody is asked, and the report says what would help."""
        profile, said = self.record()
        text = self.functions(profile)
        self.assertNotIn("secret", text)
        self.assertNotIn("debug", said)
        self.assertEqual(text.count("have no names"), 1)
        self.assertRegex(text, r"note: 9\d\.\d% of the run is in functions of work that have no names: link it without -s")
        self.assertFalse(os.path.exists(self.cache))

    def test_silent_server(self):
        """One that does not answer is waited for once, not for every library."""
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(16)
            profile, said = self.record(DEBUGINFOD_URLS="http://127.0.0.1:%d" % server.getsockname()[1], DEBUGINFOD_TIMEOUT="1")
        self.assertEqual(said.count("no debug information was fetched"), 1, said)
        self.assertIn("not asked again", said)
        self.assertNotIn("secret", self.functions(profile))

    def test_nobody_there(self):
        profile, said = self.record(DEBUGINFOD_URLS="http://127.0.0.1:%d" % free_port())
        self.assertEqual(said.count("no debug information was fetched"), 1, said)
        self.assertNotIn("secret", self.functions(profile))

    def test_package(self):
        """They are of packages, and stripped: those of their debug files are named."""
        for program, *arguments in (("perl", "-e", "$s .= chr($_ % 90) for 1..100000; $s =~ tr/a/b/; print length $s"),
                                    ("python3.11", "-c", "print(sum(len(str(i)) for i in range(30000)))")):
            path, program = self.path(program), tool("/usr/bin/" + program)
            owner = subprocess.run(["dpkg", "-S", program], stdout=subprocess.PIPE).stdout.decode().split(":")[0]
            self.good("record", "-q", "-o", path, "--", program, *arguments, env=self.env, stdout=subprocess.DEVNULL)
            text = self.functions(path)
            self.assertRegex(text, r"have no names: install %s-dbgsym or set DEBUGINFOD_URLS=https://\S+, and record again"
                             % re.escape(owner))


if __name__ == "__main__":
    util_cli.main()
