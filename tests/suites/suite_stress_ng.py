# SPDX-License-Identifier: MIT
"""stress-ng: every stressor for a second, with its own verification."""
import re
import shutil
import subprocess

from suite import Suite, Test, plain

# Changes or ends the machine, or takes all its memory.
NEVER = {"cpu-online", "reboot", "watchdog", "memhotplug", "softlockup", "oom-pipe", "swap", "smi", "clock",
         "physpage", "ioport", "pci", "netdev", "klog", "sysfs", "uprobe", "bigheap", "resources", "shm-sysv",
         "forkheavy", "binderfs", "efivar", "rawdev", "umount", "ramfs", "tmpfs"}


class StressNg(Suite):
    name = "stress-ng"
    about = "Debian's stress-ng: each stressor with --verify --timeout 1"
    limit = 30
    fast = ("access", "brk", "clone", "context", "dup", "exec", "fork", "futex", "funccall", "goto", "longjmp", "mmap",
            "mremap", "mutex", "opcode", "pipe", "pthread", "regs", "sigabrt", "sigchld", "sigfd", "sigio", "signal",
            "sigpending", "sigq", "sigrt", "sigsuspend", "sigtrap", "spawn", "stack", "timerfd", "vdso", "vecmath",
            "vfork", "vm-segv", "wait")

    def __init__(self, folder=None, root=False):
        super().__init__(folder)
        self.root = root

    def missing(self):
        return None if shutil.which("stress-ng") else "the package stress-ng"

    def tests(self):
        names = subprocess.run(["stress-ng", "--stressors"], stdout=subprocess.PIPE, check=True,
                               text=True).stdout.split()
        for name in sorted(set(names) - NEVER):
            yield Test(name, ["stress-ng", "--" + name, "1", "--verify", "--timeout", "1", "--metrics-brief"],
                       root=self.root)

    def outcome(self, test, status, output, scratch):
        found = {"status": status}
        for line in output.splitlines():
            match = re.match(r"stress-ng: (fail|error): *\[\d+\] (.*)", line)
            if match:
                found["%s: %s" % (match.group(1), plain(match.group(2))[:150])] = True
        found["unsuccessful"] = "unsuccessful run" in output
        found["skipped"] = bool(re.search(r"skipp(ing|ed)|not implemented|aborted early", output))
        return found

    def work(self, output, seconds):
        # bogo ops, real time, user time, system time, bogo ops/s of real time
        match = re.search(r"metrc: *\[\d+\] \S+ +(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)", output)
        return float(match.group(3)) if match else None


class StressNgRoot(StressNg):
    name = "stress-ng-root"
    fast = ()
    about = "the same as root: what stress-ng leaves out for anybody else"

    def __init__(self, folder=None):
        super().__init__(folder, True)
