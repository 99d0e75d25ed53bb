#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Poor surroundings: limits, no /proc, filters of container runtimes, nothing to write to, namespaces.
In each hotpath works, or says in one line what to change; the program runs in any case, as alone."""
import os
import pty
import pwd
import resource
import subprocess
import unittest

from util_cli import FAILED, HOTPATH, Case, notes, status_of, tool

MIB = 1 << 20
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *n) { volatile long x = 0; for (long i = 0; i < (long)n; i++) x += i; return (void *)x; }
int main(int argc, char **argv)
{
    pthread_t threads[3];
    long sum = (long)work((void *)200000L);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(long)(10000 * i)))
            return 1;
    for (int i = 0; i < 3; i++) {
        void *one;
        pthread_join(threads[i], &one);
        sum += (long)one;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0 && argc > 1)
        return execv(argv[1], argv + 1);
    if (pid == 0)
        return 9;
    int status;
    waitpid(pid, &status, 0);
    printf("%ld %d\n", sum, WEXITSTATUS(status));
    return 5;
}
"""

# Docker's default filter, as far as it can be told from anything here: what it refuses, and with what.
# It answers clone3 with ENOSYS, so that the C library uses clone, whose flags it can look at.
FILTER = r"""
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define FAIL(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define REFUSE(number, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), FAIL(error)
int main(int argc, char **argv)
{
    static const struct sock_filter code[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
        FAIL(EPERM),
        LOAD(nr),
        REFUSE(SYS_clone3, ENOSYS),
        REFUSE(SYS_ptrace, EPERM), REFUSE(SYS_process_vm_readv, EPERM), REFUSE(SYS_process_vm_writev, EPERM),
        REFUSE(SYS_kcmp, EPERM), REFUSE(SYS_perf_event_open, EPERM), REFUSE(SYS_bpf, EPERM),
        REFUSE(SYS_userfaultfd, EPERM), REFUSE(SYS_unshare, EPERM), REFUSE(SYS_setns, EPERM),
        REFUSE(SYS_mount, EPERM), REFUSE(SYS_umount2, EPERM), REFUSE(SYS_pivot_root, EPERM),
        REFUSE(SYS_keyctl, EPERM), REFUSE(SYS_add_key, EPERM), REFUSE(SYS_request_key, EPERM),
        REFUSE(SYS_move_pages, EPERM), REFUSE(SYS_mbind, EPERM), REFUSE(SYS_get_mempolicy, EPERM),
        REFUSE(SYS_set_mempolicy, EPERM), REFUSE(SYS_open_by_handle_at, EPERM), REFUSE(SYS_acct, EPERM),
        REFUSE(SYS_quotactl, EPERM), REFUSE(SYS_syslog, EPERM), REFUSE(SYS_swapon, EPERM),
        REFUSE(SYS_io_uring_setup, EPERM), REFUSE(SYS_vhangup, EPERM), REFUSE(SYS_settimeofday, EPERM),
        REFUSE(SYS_pidfd_getfd, EPERM),
#ifdef OLD /* profiles that do not know these calls yet */
        REFUSE(SYS_pidfd_open, ENOSYS), REFUSE(SYS_rseq, ENOSYS), REFUSE(SYS_faccessat2, ENOSYS),
        REFUSE(SYS_close_range, ENOSYS), REFUSE(SYS_statx, ENOSYS), REFUSE(SYS_membarrier, EPERM),
#endif
        /* clone with new namespaces */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 8),
        FAIL(EPERM),
        /* personality: those that are usual */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 6),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x20000, 1, 0),
        FAIL(EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, (struct sock_filter *)code};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    execv(argv[1], argv + 1);
    return 127;
}
"""


def limited(*limits):
    """For preexec_fn: pairs of a resource and its limit."""
    def limit():
        for which, value in limits:
            resource.setrlimit(which, (value, value))
    return limit


def as_nobody():
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


class Surroundings(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.chmod(cls.shared, 0o755)

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o777)
        self.program = self.build("program", PROGRAM, "-pthread")
        self.alone = self.execute([self.program])
        self.assertEqual(self.alone[0], 5)

    def observed(self, *options, wrapped=(), program=(), **how):
        """In these surroundings everything is observed. Returns the profile's text."""
        argv = [*wrapped, HOTPATH, "run", "--verbose", *options, "--", self.program, *program]
        status, out, err = self.execute(argv, **how)
        self.assertEqual((status, out), self.alone[:2], err)
        self.assertIn(b"engine native", err)
        self.assertIn(b"program.c:", err)
        self.assertNotIn(b"unobserved", err)
        return err.decode()

    def unobserved(self, *words, args=("run",), wrapped=(), program=None, **how):
        """Nothing can be observed: one line says so, and the program runs."""
        status, out, err = self.execute([*wrapped, HOTPATH, *args, "--", program or self.program], **how)
        self.assertEqual((status, out), self.alone[:2], err)
        self.one_line(err, "ran unobserved", *words)


class Limits(Surroundings):
    def test_address_space(self):
        for size in (16384, 2000, 512, 200):
            for mode in ("exact", "counts"):
                with self.subTest(MiB=size, mode=mode):
                    self.observed("--profile", mode, preexec_fn=limited((resource.RLIMIT_AS, size * MIB)))

    def test_too_little_address_space(self):
        self.unobserved("ulimit -v", preexec_fn=limited((resource.RLIMIT_AS, 48 * MIB)))

    def test_memory_mode_in_little_address_space(self):
        self.observed("--machine", "modern", preexec_fn=limited((resource.RLIMIT_AS, 512 * MIB)))

    def test_private_memory(self):
        self.observed(preexec_fn=limited((resource.RLIMIT_DATA, 200 * MIB)))

    def test_size_of_files(self):
        self.observed(preexec_fn=limited((resource.RLIMIT_FSIZE, 200 * MIB)))
        self.unobserved("ulimit -f", preexec_fn=limited((resource.RLIMIT_FSIZE, MIB)))

    def test_descriptors(self):
        for n in (64, 20, 12):
            with self.subTest(descriptors=n):
                self.observed(preexec_fn=limited((resource.RLIMIT_NOFILE, n)))
        for n in (8, 7, 6):
            with self.subTest(descriptors=n):
                self.unobserved("ulimit -n", preexec_fn=limited((resource.RLIMIT_NOFILE, n)))

    def test_locked_memory(self):
        """A program that locks all its memory does not fill the engine's, which is sparse."""
        source = """
        #include <stdio.h>
        #include <string.h>
        #include <sys/mman.h>
        int main(void)
        {
            char line[200];
            FILE *file = fopen("/proc/self/status", "r");
            if (mlockall(MCL_CURRENT))
                return 77;
            while (fgets(line, sizeof line, file))
                if (strncmp(line, "VmRSS:", 6) == 0)
                    fputs(line + 6, stdout);
            return 0;
        }"""
        locks = self.build("locks", source)
        status, out, err = self.hotpath("run", "-q", "--", locks,
                                        preexec_fn=limited((resource.RLIMIT_AS, 2000 * MIB)))
        if status == 77:
            self.skipTest("memory may not be locked here")
        self.assertEqual(status, 0, err)
        self.assertLess(int(out.split()[0]), 200 << 10)

    def test_all_at_once(self):
        self.observed(preexec_fn=limited((resource.RLIMIT_AS, 512 * MIB), (resource.RLIMIT_NOFILE, 20),
                                         (resource.RLIMIT_DATA, 256 * MIB), (resource.RLIMIT_CORE, 0)))

    def test_counts_do_not_depend_on_them(self):
        """What a program executes is counted to the last one, in whatever room there is."""
        straight = self.build("straight", "int main(void) { volatile int x = 0; for (int i = 0; i < 5000; i++)"
                              " x += i; return 5; }")
        found = set()
        for limits in ((), ((resource.RLIMIT_AS, 512 * MIB),), ((resource.RLIMIT_AS, 128 * MIB),)):
            status, _, _, profile = self.profile([straight], preexec_fn=limited(*limits))
            self.assertEqual(status, 5)
            main = [row for row in profile["functions"] if row["name"] == "main"]
            found.add(main[0]["self"])
        self.assertEqual(len(found), 1, found)


class Memory(Surroundings):
    """A control group of 512 MiB, where one can be made."""

    LIMIT = 512 * MIB

    def group(self):
        for top, maximum in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                             ("/sys/fs/cgroup", "memory.max")):
            path = os.path.join(top, "hotpath-test.%d" % os.getpid())
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.addCleanup(os.rmdir, path)
            try:
                with open(os.path.join(path, maximum), "w") as file:
                    file.write(str(self.LIMIT))
            except OSError:
                continue
            return path
        self.skipTest("no control group can be made")

    def join(self, group):
        def join():
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))
        return join

    def test_everything_fits(self):
        join = self.join(self.group())
        for options in ([], ["--profile", "counts"], ["--profile", "paths,loops"], ["--machine", "modern"]):
            with self.subTest(options=options):
                self.observed(*options, preexec_fn=join)

    def test_many_threads_and_processes(self):
        """Rings of those that are gone are used again: what is touched does not grow."""
        source = r"""
        #include <pthread.h>
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static void *work(void *x) { volatile int n = 0; while (n < 30000) n++; return x; }
        int main(void)
        {
            for (int i = 0; i < 200; i++) {
                pthread_t t;
                pthread_create(&t, NULL, work, NULL);
                pthread_join(t, NULL);
                pid_t pid = i % 4 ? 0 : fork();
                if (i % 4 == 0 && pid == 0)
                    _exit(work(NULL) != NULL);
                if (pid > 0)
                    waitpid(pid, NULL, 0);
            }
            puts("done");
            return 0;
        }"""
        many = self.build("many", source, "-pthread")
        status, out, err = self.hotpath("run", "--", many, preexec_fn=self.join(self.group()))
        self.assertEqual((status, out), (0, b"done\n"), err)
        self.assertIn(b"251 threads", err)


class Files(Surroundings):
    def in_mounts(self, script, *options, **how):
        """With mounts of its own, changed by a shell."""
        probe = subprocess.run([tool("unshare"), "-m", "sh", "-c", script + "\nexit 0"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.dir)
        if probe.returncode:
            self.skipTest("mounts cannot be changed here")
        return ["unshare", "-m", "sh", "-c", script + '\nexec "$@"', "sh"]

    NO_PROC = "mount --make-rprivate / && mount -t tmpfs none /proc || exit 77"
    READ_ONLY = "mount --make-rprivate / && while read -r _ place _; do " \
                "mount -o remount,bind,ro \"$place\" 2>/dev/null; done < /proc/self/mounts; " \
                "! touch /x 2>/dev/null || exit 77"

    def test_no_proc(self):
        wrapped = self.in_mounts(self.NO_PROC)
        for options in ([], ["--profile", "counts"], ["--machine", "modern"]):
            self.observed(*options, wrapped=wrapped)

    def test_programs_executed_without_proc(self):
        """By a path, a relative path, through a script: all are followed."""
        other = self.build("other", "int other_main(int x) { return x * 3; }\n"
                           "int main(int argc, char **argv) { return other_main(argc) + 4; }")
        os.symlink(other, self.path("near"))
        script = self.write("script", "#!%s\n" % other, 0o755)
        for what in (other, "./near", script):
            status, out, err = self.execute(
                [*self.in_mounts(self.NO_PROC), HOTPATH, "run", "--top", "0", "--", self.program, what])
            self.assertEqual(status, 5, err)
            self.assertIn(b"other_main", err, what)
            self.assertNotIn(b"outside hotpath", err)

    def test_nothing_can_be_written(self):
        wrapped = self.in_mounts(self.READ_ONLY)
        self.observed(wrapped=wrapped)
        status, out, err = self.execute([*wrapped, HOTPATH, "record", "-o", "/no.hotpath", "--", self.program])
        self.assertEqual((status, out), (FAILED, b""))
        self.one_line(err, "/no.hotpath", "Read-only")

    def test_no_shared_memory(self):
        """/dev/shm is not used: it may be small, or nowhere."""
        script = "mount --make-rprivate / && mount -t tmpfs -o size=4k none /dev/shm || exit 77"
        self.observed(wrapped=self.in_mounts(script))

    def test_memory_files_that_must_not_be_executed(self):
        """vm.memfd_noexec = 2, in a PID namespace of its own."""
        script = "mount --make-rprivate / && mount -t proc none /proc && echo 2 > /proc/sys/vm/memfd_noexec || exit 77"
        probe = subprocess.run(["unshare", "-m", "-p", "-f", "sh", "-c", script], stderr=subprocess.DEVNULL)
        if probe.returncode:
            self.skipTest("vm.memfd_noexec cannot be set here")
        wrapped = ["unshare", "-m", "-p", "-f", "sh", "-c", script + '\n"$@"', "sh"]
        self.observed(wrapped=wrapped)
        self.observed("--top", "0", wrapped=wrapped)

    def test_program_on_a_file_system_without_programs(self):
        """noexec: as natively, it is not run."""
        script = "mount --make-rprivate / && mount -t tmpfs -o noexec none %s && cp %s %s/prog || exit 77" % (
            self.dir, self.program, self.dir)
        wrapped = self.in_mounts(script)
        status, out, err = self.execute([*wrapped, HOTPATH, "run", "--", self.path("prog")])
        self.assertEqual((status, out), (126, b""), err)
        self.one_line(err, "prog")


class FullDisk(Surroundings):
    """A file system of 64 KiB is full while the program runs: it goes on to its end, unharmed."""

    SCRIPT = 'mount -t tmpfs -o size=64k none "$1" || exit 77; cd "$1"; shift; "$@"; status=$?; ls -A; exit $status'

    def fill(self, *options, program):
        small = self.path("small")
        os.makedirs(small, exist_ok=True)
        argv = ["unshare", "-m", "sh", "-c", self.SCRIPT, "sh", small, HOTPATH, *options, "--", *program]
        status, out, err = self.execute(argv)
        if status == 77:
            self.skipTest("no file system can be mounted")
        self.assertEqual(status, FAILED, err)
        self.one_line(err, "No space left")
        self.assertEqual(out, b"to the end\n", options)

    def test_while_the_program_runs(self):
        # Random jumps: what is recorded of them does not compress.
        source = """
        #include <stdio.h>
        int main(void)
        {
            volatile unsigned long sum = 0;
            unsigned long x = 1;
            for (int i = 0; i < 2000000; i++) {
                x = x * 6364136223846793005ul + 1442695040888963407ul;
                switch (x >> 61) {
                case 0: sum += 1; break;
                case 1: sum *= 3; break;
                case 2: sum ^= x; break;
                case 3: sum -= 7; break;
                case 4: sum += x >> 3; break;
                case 5: sum = ~sum; break;
                default: sum++;
                }
            }
            puts("to the end");
            return 0;
        }"""
        jumps = self.build("jumps", source)
        for options in (["trace", "record", "-o", "out"], ["trace", "record", "--addresses", "-o", "out"],
                        ["run", "-q", "--paths", "wpp", "--wpp", "out"]):
            with self.subTest(options=options):
                self.fill(*options, program=[jumps])

    def test_at_its_end(self):
        program = [tool("sh"), "-c", "echo to the end"]
        for options in (["record", "-o", "out"], ["run", "--json", "out"]):
            with self.subTest(options=options):
                self.fill(*options, program=program)


class Ends(Surroundings):
    def test_hangup(self):
        """The terminal goes away while the program runs: all end, and the profile is whole or not there."""
        waits = self.build("waits", "#include <unistd.h>\n#include <stdio.h>\n"
                           "int main(void) { puts(\"begin\"); fflush(stdout); for (;;) pause(); }")
        for command in (["record", "-q", "-o"], ["top", "-q", "-o"]):
            pid, terminal = pty.fork()
            if pid == 0:
                os.chdir(self.dir)
                os.execv(HOTPATH, [HOTPATH, *command, "out", "--", waits])
            if command[0] == "record":
                self.assertIn(b"begin", os.read(terminal, 100))
            else:
                os.read(terminal, 1)
            os.close(terminal)
            _, status = os.waitpid(pid, 0)
            self.assertIn(status_of(os.waitstatus_to_exitcode(status)), (129, FAILED), command)
            self.assertIn(os.listdir(self.dir), ([], ["out"]))
            if os.path.exists(self.path("out")):
                self.good("report", "out")
                os.remove(self.path("out"))

    def test_nowhere_to_print(self):
        """Closed descriptors, and devices that are full, are no reason not to keep a profile."""
        script = 'exec "$0" record -o out -- "$1" %s'
        for how in (">&- 2>&- <&-", "2>/dev/full", ">/dev/null 2>&-"):
            status, _, _ = self.execute(["sh", "-c", script % how, HOTPATH, self.program])
            self.assertEqual(status, 5, how)
            self.good("report", "out")
            os.remove(self.path("out"))


class Users(Surroundings):
    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            self.skipTest("only root can be somebody else")
        probe = subprocess.run([HOTPATH, "--version"], preexec_fn=as_nobody, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        if probe.returncode:
            self.skipTest("the command cannot be run by others")

    def test_unprivileged(self):
        self.observed(preexec_fn=as_nobody)
        status, out, err = self.hotpath("record", "-o", "p.hotpath", "--", self.program, preexec_fn=as_nobody)
        self.assertEqual((status, out), self.alone[:2], err)
        self.assertEqual(self.hotpath("report", "p.hotpath")[0], 0)

    def test_program_that_cannot_be_read(self):
        hidden = self.path("hidden")
        subprocess.run(["cp", self.program, hidden], check=True)
        os.chmod(hidden, 0o111)
        for args in (["run"], ["record", "-o", "p.hotpath"], ["trace", "record", "-o", "t.hptrace"]):
            self.unobserved("cannot be read", args=args, program=hidden, preexec_fn=as_nobody)
        self.assertEqual(os.listdir(self.dir), ["hidden"])

    def test_becomes_another_user(self):
        """The program may not send us a signal then, nor look at us."""
        err = self.hotpath("run", "--top", "0", "--", tool("setpriv"), "--reuid", "65534", "--clear-groups",
                           self.program)
        self.assertEqual(err[:2], self.alone[:2], err[2])
        self.assertIn(b"main", err[2])


class Namespaces(Surroundings):
    def enter(self, *options):
        command = [tool("unshare"), *options]
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no such namespace here")
        return command

    def test_hotpath_is_inside(self):
        for options in (["-U"], ["-U", "-r"], ["-U", "-r", "-p", "-f"], ["-U", "-r", "-p", "-f", "-n", "-i", "-u"]):
            with self.subTest(options=options):
                self.observed(wrapped=self.enter(*options))

    def test_program_goes_inside(self):
        """It does not see us then, and its numbers are not ours."""
        work = self.build("work", "int main(void) { volatile long x = 0; for (long i = 0; i < 3000000; i++)"
                          " x += i; return 5; }")
        for options in (["-U"], ["-U", "-r", "-p", "-f"], ["-U", "-r", "-m", "-p", "-f", "--mount-proc"]):
            with self.subTest(options=options):
                status, out, err, profile = self.profile([*self.enter(*options), work])
                self.assertEqual((status, out, err), (5, b"", b""))
                main = [row for row in profile["functions"] if row["name"] == "main"]
                self.assertTrue([row for row in main if row["self"] > 9000000], main)
                self.assertEqual(notes(profile, "detached"), [])

    def test_many_with_the_same_number(self):
        """Processes that are all number 1, each in a namespace of its own, are told apart."""
        work = self.build("work1", "int main(void) { volatile long x = 0; for (long i = 0; i < 100000; i++)"
                          " x += i; return 5; }")
        self.enter("-U", "-r", "-p", "-f")
        script = "for i in 1 2 3 4 5 6; do unshare -U -r -p -f %s & done; wait" % work
        status, _, err, profile = self.profile([tool("sh"), "-c", script])
        self.assertEqual((status, err), (0, b""))
        main = sum(row["calls"] for row in profile["functions"] if row["name"] == "main" and row["module"] == "work1")
        self.assertEqual(main, 6)

    def test_hotpath_dies_out_of_sight(self):
        """The program goes on when hotpath is killed, from wherever it cannot see that."""
        work = self.build("work2", "#include <stdio.h>\nint main(void) { volatile long x = 0;"
                          " for (long i = 0; i < 30000000; i++) x += i; puts(\"whole\"); return 5; }")
        for command in (self.enter("-U", "-r", "-p", "-f"), ["env"]):
            with subprocess.Popen([HOTPATH, "run", "--", *command, tool("sh"), "-c", "echo begin; " + work],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                self.assertEqual(process.stdout.readline(), b"begin\n")
                process.kill()
                self.assertEqual(process.stdout.read(), b"whole\n")

    def test_chroot(self):
        """Into a folder with a static program and nothing else."""
        if os.getuid() != 0:
            self.skipTest("only root may")
        static = self.build("static", "#include <stdio.h>\nint main(void) { puts(\"in here\"); return 5; }", "-static")
        enter = self.build("enter", "#include <unistd.h>\nint main(int n, char **a)"
                           " { return chroot(a[1]) || chdir(\"/\") || execv(a[2], a + 2); }")
        os.mkdir(self.path("root"))
        subprocess.run(["cp", static, self.path("root/prog")], check=True)
        status, out, err = self.hotpath("run", "--top", "0", "--", enter, self.path("root"), "/prog")
        self.assertEqual((status, out), (5, b"in here\n"), err)
        self.assertNotIn(b"outside hotpath", err)


class Filters(Surroundings):
    def launcher(self, *flags):
        launcher = self.build("filter" + "".join(flags), FILTER, *flags)
        if self.execute([launcher, tool("true")])[0] == 77:
            self.skipTest("no filters here")
        return [launcher]

    def test_of_containers(self):
        for flags in ([], ["-DOLD"]):
            for options in ([], ["--profile", "counts"], ["--machine", "modern"]):
                with self.subTest(flags=flags, options=options):
                    text = self.observed(*options, wrapped=self.launcher(*flags))
                    self.assertIn("addresses were randomized", text)

    def test_executed_programs(self):
        status, out, err = self.execute([*self.launcher(), HOTPATH, "run", "--", tool("sh"), "-c",
                                         "%s; exit 6" % self.program])
        self.assertEqual((status, out), (6, self.alone[1]), err)
        self.assertNotIn(b"outside hotpath", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
