# SPDX-License-Identifier: MIT
"""Processes and threads have names: those that make, a shell and a program with threads give theirs."""

import json
import os

from util_cli import Case, main

THREADS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <unistd.h>
static sem_t named;
static void *work(void *name)
{
    prctl(PR_SET_NAME, name);
    sem_post(&named);
    if (*(const char *)name == 'w')
        pause(); /* until the process ends */
    return NULL;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, "worker");
    pthread_create(&b, NULL, work, "helper");
    pthread_join(b, NULL);
    sem_wait(&named);
    sem_wait(&named);
    return 0;
}
"""

MAKEFILE = "all: a b\n\na b:\n\t@sh -c 'i=0; while [ $$i -lt $(N) ]; do i=$$((i+1)); done' $@\n"


class Names(Case):
    def view(self, profile, view):
        return json.loads(self.good("report", profile, view, "--json"))[view]

    def record(self, *command, options=()):
        profile = self.path("p.hotpath")
        self.good("record", "-q", "-o", profile, *options, "--", *command)
        return profile

    def test_threads_have_the_names_they_give_themselves(self):
        threads = self.view(self.record(self.build("named", THREADS, "-pthread")), "threads")
        self.assertEqual(sorted(t["name"] for t in threads), ["helper", "named", "worker"])
        for thread in threads:
            self.assertTrue(thread["command"].endswith("/named"), thread)

    def test_make_is_readable(self):
        with open(self.path("Makefile"), "w") as file:
            file.write(MAKEFILE)
        profile = self.record("make", "-s", "-j2", "-C", os.path.dirname(self.path("Makefile")), "N=20000")
        processes = self.view(profile, "processes")
        loops = [p for p in processes if "sh -c i=0" in p["command"] and p["instructions"] > 10**6]
        self.assertEqual({p["command"][-1] for p in loops}, {"a", "b"})
        first = [p for p in processes if p["parent"] == 0]
        self.assertEqual(len(first), 1)
        self.assertTrue(first[0]["command"].startswith("make -s -j2"))
        self.assertLessEqual({p["parent"] for p in processes} - {0}, {p["pid"] for p in processes})

    def test_a_process_is_asked_for_by_its_command(self):
        profile = self.record("sh", "-c", "X=-u; ls / > /dev/null; exec sort $X /etc/passwd > /dev/null")
        rows = json.loads(self.good("report", profile, "processes", "--process", "sort -u", "--json"))["processes"]
        self.assertEqual([row["command"] for row in rows], ["sort -u /etc/passwd"])
        whole = [p for p in self.view(profile, "processes") if p["command"] == "sort -u /etc/passwd"]
        self.assertEqual(rows, whole)
        threads = json.loads(self.good("report", profile, "threads", "--thread", "ls", "--json"))["threads"]
        self.assertEqual([t["command"] for t in threads], ["ls /"])
        functions = json.loads(self.good("report", profile, "functions", "--process", "ls /", "--thread", "ls",
                                         "--json"))["functions"]
        self.assertEqual(sum(f["self"] for f in functions), threads[0]["instructions"])

    def test_a_program_of_that_name_comes_first(self):
        """"ls" is also a part of "false" and of an argument."""
        profile = self.record("sh", "-c", "ls / > /dev/null; /bin/false; /bin/echo ls > /dev/null; sort /etc/shells > /dev/null")
        def asked(name):
            rows = json.loads(self.good("report", profile, "processes", "--process", name, "--json"))["processes"]
            return sorted(row["command"] for row in rows)
        self.assertEqual(asked("ls"), ["ls /"])
        self.assertEqual(asked("shells"), [c for c in asked("s") if "/etc/shells" in c])
        self.assertTrue(asked("shells"))

    def test_processes_add_up_to_the_threads(self):
        profile = self.record("sh", "-c", "true; ls / > /dev/null; (exec echo x)")
        processes, threads = self.view(profile, "processes"), self.view(profile, "threads")
        for value in ("instructions", "blocks", "branches"):
            self.assertEqual(sum(p[value] for p in processes), sum(t[value] for t in threads))
        self.assertEqual(sum(p["threads"] for p in processes), len(threads))
        self.assertAlmostEqual(sum(p["share"] for p in processes), 1, places=4)

    def test_other_modes_have_names_too(self):
        for options in (["--profile", "counts"], ["--profile", "paths"]):
            profile = self.record("sh", "-c", "exec ls /", options=options)
            self.assertIn("ls /", {t["command"] for t in self.view(profile, "threads")})

    def test_a_long_command_is_cut(self):
        threads = self.view(self.record("true", "x" * 5000), "threads")
        self.assertEqual(threads[0]["command"], ("true " + "x" * 5000)[:255])

    def test_a_merged_profile_keeps_them(self):
        one = self.record("true", "one")
        os.rename(one, self.path("one"))
        self.good("merge", "-o", self.path("both"), self.path("one"), self.record("true", "two"))
        self.assertEqual(sorted(p["command"] for p in self.view(self.path("both"), "processes")),
                         ["true one", "true two"])


if __name__ == "__main__":
    main()
