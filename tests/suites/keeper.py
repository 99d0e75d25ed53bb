#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one command and leaves nothing of it behind: keeper.py OUTPUT LIMIT USER ARGV...

OUTPUT: a file for stdout and stderr together. LIMIT: seconds. USER: a user's number, or -1 for one's
own. On stdout: the status as a shell gives it, or "timeout", and the seconds it took. Whatever the
command started is ended with it, in other sessions too: orphans come to this process.
"""
import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def descendants():
    """The processes below this one, whatever their session."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as stat:
                    parents[int(name)] = int(stat.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                pass
    found, new = set(), {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def end_all():
    """Ends and reaps every descendant. A tracer may hold one back for a moment, so: until none is left."""
    for _ in range(400):
        left = descendants()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005 if left else 0.05)


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def child(output, user, argv):
    os.setpgid(0, 0)
    null = os.open("/dev/null", os.O_RDWR)
    out = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.closerange(3, 256)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if user >= 0:
        become(user)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.execvp(argv[0], argv)


def main():
    output, limit, user, argv = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.setsid()  # here: alone the command would lead its session, under hotpath it could not
    for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda *_: None)  # orphans that mean their former parent
    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            child(output, user, argv)
        except OSError as error:
            os.write(2, ("%s: %s\n" % (argv[0], error)).encode())
        os._exit(127)
    status, pause = "timeout", 0.001
    while time.monotonic() - begin < limit:
        done, code = os.waitpid(-1, os.WNOHANG)  # orphans too
        if done == pid:
            status = str(os.WEXITSTATUS(code) if os.WIFEXITED(code) else 128 + os.WTERMSIG(code))
            break
        if done == 0:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
    took = time.monotonic() - begin
    end_all()
    print(status, "%.3f" % took)


if __name__ == "__main__":
    main()
