# SPDX-License-Identifier: MIT
"""Daemons: children that outlive the program are observed with --wait, to their end or until a signal."""

import json
import os
import signal
import subprocess

from util_cli import HOTPATH, Case, main, wait_until

# Goes into the background, says so in a file, and then works: for ever, or a little.
DAEMON = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static void work(long n)
{
    for (volatile long i = 0; i < n; i++)
        ;
}
int main(int argc, char **argv)
{
    (void)argc;
    if (fork() != 0)
        return 3;
    setsid();
    if (fork() != 0)
        _exit(0);
    for (long n = atol(argv[2]), i = 0; i < n || n == 0; i++) {
        work(1000000);
        if (i == 0)
            close(open(argv[1], O_CREAT | O_WRONLY, 0600));
    }
    return 0;
}
"""


def lives_child_of(pid):
    """Whether the process has a child that has not ended: a zombie has."""
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        try:
            if open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0] != "Z":
                return True
        except FileNotFoundError:
            pass
    return False


class Daemon(Case):
    def work_of(self, profile):
        functions = json.loads(self.good("report", profile, "functions", "--json"))["functions"]
        return sum(f["self"] for f in functions if f["name"] == "work")

    def test_is_observed_to_its_end(self):
        program = self.build("daemon", DAEMON)
        status, _, err = self.hotpath("record", "-q", "--wait", "-o", self.path("p"), "--", program, self.path("up"), "3")
        self.assertEqual(status, 3, err)
        self.assertGreater(self.work_of(self.path("p")), 3 * 3 * 10**6)

    def test_is_observed_until_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            program, up, profile = self.build("daemon", DAEMON), self.path("up"), self.path("p")
            command = [HOTPATH, "record", "-q", "--wait", "-o", profile, "--", program, up, "0"]
            watch = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            wait_until(lambda: os.path.exists(up) and not lives_child_of(watch.pid))
            watch.send_signal(number)
            self.assertEqual(watch.wait(), 3)
            self.assertGreater(self.work_of(profile), 10**6)
            processes = json.loads(self.good("report", profile, "processes", "--json"))["processes"]
            os.kill(max(processes, key=lambda p: p["instructions"])["pid"], signal.SIGKILL)
            os.unlink(up)

    def test_is_left_alone_without(self):
        program = self.build("daemon", DAEMON)
        status, _, err = self.hotpath("record", "-q", "-o", self.path("p"), "--", program, self.path("up"), "300")
        self.assertEqual(status, 3, err)
        self.assertLess(self.work_of(self.path("p")), 300 * 3 * 10**6)


if __name__ == "__main__":
    main()
