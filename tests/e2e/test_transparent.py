#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program under watch prints and exits exactly as alone: real programs, every way to end, and
everything a program can see of its surroundings."""
import errno
import os
import pty
import signal
import struct
import subprocess

from util_cli import (CANNOT_RUN, CC, HOTPATH, NOT_FOUND, Case, function, main, pseudo_random,
                      status_of, tool)

SURROUNDINGS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>
extern char **environ;
int main(int argc, char **argv)
{
    char path[PATH_MAX];
    for (int i = 0; i < argc; i++)
        printf("arg %d '%s'\n", i, argv[i]);
    for (char **e = environ; *e; e++)
        printf("env '%s'\n", *e);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    printf("exe '%.*s'\n", (int)n, path);
    printf("cwd '%s'\n", getcwd(path, sizeof path));
    for (int fd = 0; fd < 1000; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d open, tty %d\n", fd, isatty(fd));
    printf("next fd %d\n", open("/dev/null", O_RDONLY));
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    printf("stack %lld\n", (long long)limit.rlim_cur);
    mode_t mask = umask(0);
    printf("umask %o, nice %d\n", (unsigned)mask, nice(0));
    for (int s = 1; s < 32; s++) {
        struct sigaction a;
        if (s != SIGKILL && s != SIGSTOP && sigaction(s, NULL, &a) == 0 && a.sa_handler != SIG_DFL)
            printf("signal %d not default\n", s);
    }
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    for (int s = 1; s < 32; s++)
        if (sigismember(&blocked, s))
            printf("signal %d blocked\n", s);
    fprintf(stderr, "on stderr\n");
    return 0;
}
"""

ENDS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const char *how = argv[1];
    printf("before ");
    fflush(stdout);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)(argc == 2 ? 8L : 0L) = 1;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "trap") == 0)
        __builtin_trap();
    if (strcmp(how, "divide") == 0)
        printf("%d", 1000 / (volatile int){argc - 2});
    if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    printf("buffered");
    exit(atoi(how));
}
"""

CLOSES_ALL = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned work(unsigned n)
{
    unsigned x = 1;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525 + (x & 1 ? 7 : 9);
    return x;
}
int main(int argc, char **argv)
{
    if (strcmp(argv[1], "loop") == 0)
        for (int fd = 0; fd < 4096; fd++)
            close(fd);
    else if (syscall(SYS_close_range, 0, ~0u, 0) != 0)
        return 9;
    unsigned x = work(3000000); /* enough to fill the ring several times */
    int fd = open(argv[2], O_CREAT | O_WRONLY | O_TRUNC, 0644);
    if (fd != 0)
        return 8;
    dprintf(fd, "%u\n", x);
    return argc == 3 ? 42 : 7;
}
"""

TERMINAL = r"""
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    printf("%d%d%d\n", isatty(0), isatty(1), isatty(2));
    return 0;
}
"""


# Says where it was loaded.
PRELOADED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
__attribute__((constructor)) static void loaded(void)
{
    printf("preloaded into %s\n", program_invocation_short_name);
    fflush(stdout);
}
"""


class RealPrograms(Case):
    def test_gzip(self):
        data = self.write("data", pseudo_random(300000))
        self.same_as_alone([tool("gzip"), "-9nc", data], 0)
        packed = self.execute([tool("gzip"), "-9nc", data])[1]
        alone, _ = self.same_as_alone([tool("gzip"), "-dc"], 0, input=packed)
        self.assertEqual(alone[1], pseudo_random(300000))

    def test_gzip_complains(self):
        self.same_as_alone([tool("gzip"), "-dc"], 1, input=b"not gzip")

    def test_bzip2(self):
        data = self.write("data", pseudo_random(150000))
        self.same_as_alone([tool("bzip2"), "-9c", data], 0)

    def test_perl(self):
        alone, _ = self.same_as_alone(
            [tool("perl"), "-e", "my %h; $h{$_ % 97} += $_ for 1..20000; "
             "print map { \"$_ $h{$_}\\n\" } sort { $a <=> $b } keys %h; "
             "print STDERR \"done\\n\"; exit 17"], 17)
        self.assertEqual(alone[2], b"done\n")

    def test_sqlite3(self):
        sql = ("create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n "
               "where i < 3000) insert into t select i, i*i%101 from n; "
               "select b, count(*), sum(a) from t group by b order by b; select bad;")
        alone, _ = self.same_as_alone([tool("sqlite3"), ":memory:"], input=sql.encode())
        self.assertIn(b"bad", alone[2])

    def test_lua(self):
        self.same_as_alone(
            [tool("lua5.4"), "-e", "local function f(n) if n < 2 then return n end "
             "return f(n-1) + f(n-2) end print(f(18)) error('no', 0)"], 1)

    def test_cjpeg(self):
        pixels = bytes((x * y + x) % 256 for y in range(160) for x in range(160 * 3))
        image = self.write("in.ppm", b"P6 160 160 255\n" + pixels)
        alone, _ = self.same_as_alone([tool("cjpeg"), "-quality", "80", image], 0)
        self.assertEqual(alone[1][:2], b"\xff\xd8")


class Ends(Case):
    def ends(self, how, status):
        alone, profile = self.same_as_alone([self.build("ends", ENDS), how], status)
        self.assertEqual(function(profile, "main")["calls"], 1)
        return alone

    def test_segv(self):
        self.assertEqual(self.ends("segv", 139)[1:], (b"before ", b""))

    def test_abort(self):
        self.ends("abort", 134)

    def test_kills_itself(self):
        self.ends("kill", 137)

    def test_illegal_instruction(self):
        self.ends("trap", 132)

    def test_division_by_zero(self):
        self.ends("divide", 136)

    def test_terminates_itself(self):
        self.ends("term", 143)

    def test_exit_without_flush(self):
        self.assertEqual(self.ends("_exit", 3)[1], b"before ")

    def test_exit_codes(self):
        for code in (0, 1, 2, 77, 124, 125, 126, 127, 128, 139, 254, 255):
            self.ends(str(code), code)

    def test_every_exit_code(self):
        """All 256, with a program too small to need more than a few milliseconds."""
        tiny = self.build("tiny", "void _start(void) { __asm__ volatile(\"mov (%%rsp),%%rdi\\n"
                          "dec %%rdi\\nmov $231,%%eax\\nsyscall\" ::: \"rdi\", \"rax\"); }\n",
                          "-static", "-nostdlib", "-fomit-frame-pointer", "-O2")
        for code in range(256):
            status, out, err = self.hotpath("run", "-q", "--json", "p.json", "--", tiny,
                                            *["x"] * code)
            self.assertEqual((status, out, err), (code, b"", b""))


class Descriptors(Case):
    def closes_all(self, how):
        program = self.build("closes_all", CLOSES_ALL)
        alone, profile = self.same_as_alone([program, how, self.path("out")], 42)
        with open(self.path("out")) as file:
            self.assertRegex(file.read(), r"^\d+\n$")
        self.assertGreater(function(profile, "work")["self"], 3000000 * 4)
        self.assertEqual(profile["run"]["lost"], 0)
        return alone

    def test_closes_all_in_a_loop(self):
        self.closes_all("loop")

    def test_closes_all_at_once(self):
        self.closes_all("range")

    def test_stdin_from_pipe(self):
        alone, _ = self.same_as_alone([tool("cat")], 0, input=pseudo_random(200000))
        self.assertEqual(alone[1], pseudo_random(200000))

    def test_broken_pipe(self):
        """`prog | head -1`: the program dies of SIGPIPE, hotpath does not."""
        for watch in ([], [HOTPATH, "run", "-q", "--json", self.path("p.json"), "--"]):
            with subprocess.Popen([*watch, tool("yes")], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                self.assertEqual(process.stdout.readline(), b"y\n")
                process.stdout.close()
                err = process.stderr.read()
                self.assertEqual((status_of(process.wait(30)), err), (141, b""))
        self.assertGreater(len(self.read("p.json")), 1000)

    def test_standard_descriptors_closed_before(self):
        """As alone when hotpath itself is started without stdin, stdout or stderr."""
        program = self.build("surroundings", SURROUNDINGS)
        for closed in ("<&-", ">&-", "2>&-"):
            alone = self.execute(["sh", "-c", f"'{program}' {closed}"])
            status, out, _ = self.execute(
                ["sh", "-c", f"'{HOTPATH}' run -q --json p.json -- '{program}' {closed}"])
            self.assertEqual((status, out), alone[:2], closed)


class Surroundings(Case):
    def surroundings(self, argv, **options):
        alone, _ = self.same_as_alone(argv, 0, **options)
        return alone[1].decode()

    def test_arguments_environment_descriptors(self):
        program = self.build("surroundings", SURROUNDINGS)
        environment = dict(os.environ, EMPTY="", COMMA="a,b,=c", LONG="x" * 5000, UTF="\u00e9",
                           LC_ALL="C", A_FIRST="1", Z_LAST="2")
        text = self.surroundings([program, "", "a b", "-x", "--", "*"], env=environment)
        self.assertIn(f"exe '{os.path.realpath(program)}'", text)
        self.assertIn("next fd 3\n", text)
        self.assertIn("env 'COMMA=a,b,=c'", text)

    def test_name_of_the_process(self):
        alone, _ = self.same_as_alone([tool("cat"), "/proc/self/comm"], 0)
        self.assertEqual(alone[1], b"cat\n")

    def test_preloaded_library(self):
        """The program's linker loads it, QEMU's does not."""
        library = self.build("preload.so", PRELOADED, "-shared", "-fPIC")
        program = self.build("surroundings", SURROUNDINGS)
        environment = dict(os.environ, LD_LIBRARY_PATH="/nowhere")
        alone = self.execute([program], env=environment)
        status, out, err, _ = self.profile([program], env=environment)
        self.assertIn(b"env 'LD_LIBRARY_PATH=/nowhere'", out)
        self.assertEqual(sorted(out.splitlines()), sorted(alone[1].splitlines())) # order may differ
        environment = dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS="verify_asan_link_order=0")
        status, out, _, _ = self.profile([program], env=environment)
        self.assertEqual(status, 0)
        self.assertEqual(out.count(b"preloaded into surroundings\n"), 1)
        self.assertNotIn(b"preloaded into qemu", out)

    def test_inherited_descriptors(self):
        program = self.build("surroundings", SURROUNDINGS)
        fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(4)]
        self.addCleanup(lambda: [os.close(fd) for fd in fds])
        os.dup2(fds[0], 300)
        self.addCleanup(os.close, 300)
        text = self.surroundings([program], pass_fds=fds + [300])
        self.assertIn("fd 300 open", text)

    def test_signals_ignored_before(self):
        program = self.build("surroundings", SURROUNDINGS)
        for name in ("SIGINT", "SIGQUIT", "SIGCHLD", "SIGPIPE", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name)

            def ignore():
                signal.signal(number, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

            alone, _ = self.same_as_alone([program], 0, preexec_fn=ignore)
            self.assertIn(f"signal {int(number)} not default", alone[1].decode())
            self.assertIn("blocked", alone[1].decode())

    def test_status_with_children_ignored(self):
        """Whoever ignores SIGCHLD loses the status of its children; hotpath must not."""
        program = self.build("exits", "int main(void) { return 23; }\n")
        self.same_as_alone([program], 23,
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def test_relative_path_and_directory(self):
        os.symlink(self.build("surroundings", SURROUNDINGS), self.path("here"))
        text = self.surroundings(["./here"])
        self.assertIn("arg 0 './here'", text)
        self.assertIn(f"cwd '{os.path.realpath(self.dir)}'", text)

    def test_found_in_path(self):
        os.symlink(self.build("surroundings", SURROUNDINGS), self.path("findme"))
        environment = dict(os.environ, PATH="/nowhere:" + self.dir + ":/usr/bin:/bin")
        text = self.surroundings(["env", "findme", "1"], env=environment)
        self.assertIn("arg 0 'findme'", text)
        status, out, err, _ = self.profile(["findme", "1"], env=environment)
        self.assertEqual((status, out.decode(), err), (0, text, b"on stderr\n"))

    def test_terminal(self):
        program = self.build("terminal", TERMINAL)
        for redirected in ("", "<", ">", "2>"):
            answers = []
            for watch in ("", f"'{HOTPATH}' run -q --json p.json -- "):
                command = f"{watch}'{program}'"
                if redirected == ">":
                    command += " > out; cat out"
                elif redirected:
                    command += f" {redirected} /dev/null"
                answers.append(self.on_terminal(["sh", "-c", command]))
            self.assertEqual(answers[0], answers[1], redirected)
            self.assertRegex(answers[0], rb"[01]{3}\r\n")

    def on_terminal(self, argv):
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execvp(argv[0], argv)
        out = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError as error:
                self.assertEqual(error.errno, errno.EIO)
                break
            if not piece:
                break
            out += piece
        os.waitpid(pid, 0)
        os.close(fd)
        return out


class Scripts(Case):
    def test_shell(self):
        script = self.write("script", "#!/bin/sh\necho \"$0\" \"$@\"\nexit 5\n", 0o755)
        alone, _ = self.same_as_alone([script, "a b", "c"], 5)
        self.assertEqual(alone[1].decode(), f"{script} a b c\n")

    def test_shell_in_path(self):
        self.write("pathscript", "#!/bin/sh -e\necho \"$0 $1 $-\"\nfalse\n", 0o755)
        environment = dict(os.environ, PATH=self.dir + ":/usr/bin:/bin")
        alone = self.execute(["env", "pathscript", "x"], env=environment)
        *watched, _ = self.profile(["pathscript", "x"], env=environment)
        self.assertEqual(tuple(watched), alone)

    def test_perl(self):
        script = self.write("script", f"#!{tool('perl')} -w\nprint \"$0 @ARGV\\n\"; exit 6;\n",
                            0o755)
        self.same_as_alone([script, "x"], 6)

    def test_through_env(self):
        """env executes its program: out of sight, but the same."""
        script = self.write("script", "#!/usr/bin/env sh\necho $0 $1; exit 4\n", 0o755)
        self.same_as_alone([script, "x"], 4)

    def test_script_of_script(self):
        first = self.write("first", "#!/bin/sh\necho first \"$@\"\n", 0o755)
        second = self.write("second", f"#!{first} with\n", 0o755)
        self.same_as_alone([second, "x"], 0)

    def test_text_without_interpreter(self):
        """As execvp does: the shell runs it."""
        script = self.write("script", "echo plain $1\nexit 3\n", 0o755)
        status, out, err, _ = self.profile([script, "x"])
        self.assertEqual((status, out, err), (3, b"plain x\n", b""))

    def test_missing_interpreter(self):
        script = self.write("script", "#!/no/such/interpreter\n", 0o755)
        self.refused(CANNOT_RUN, ["run", "--", script], script, "/no/such/interpreter")


class MissingLinker(Case):
    def setUp(self):
        super().setUp()
        self.program = self.build("unlinked", "int main(void) { return 0; }\n",
                                  "-Wl,--dynamic-linker=/no/such/ld.so")

    def test_is_named(self):
        """Nothing is started, so nothing is left: no profile, no trace."""
        self.assertRaises(FileNotFoundError, self.execute, [self.program])
        for options in (["run"], ["run", "--engine", "native"], ["record", "-o", "p"],
                        ["trace", "record", "-o", "p"]):
            self.refused(NOT_FOUND, [*options, "--", self.program], self.program, "/no/such/ld.so")
            self.assertFalse(os.path.exists(self.path("p")))

    def test_of_a_child(self):
        """The program learns of it, as alone, and goes on."""
        self.same_as_alone([tool("sh"), "-c", self.program + "; echo $?"], 0)


class CannotRun(Case):
    def test_not_found(self):
        self.refused(NOT_FOUND, ["run", "--", "no-such-program-here"], "no-such-program-here")
        self.refused(NOT_FOUND, ["run", "--", "./missing"], "./missing")
        self.refused(NOT_FOUND, ["record", "-o", "x", "--", "/no/such/place/x"], "/no/such/place/x")
        self.refused(NOT_FOUND, ["trace", "record", "-o", "x", "--", "no-such-program-here"])
        self.assertEqual(os.listdir(self.dir), [])

    def test_not_executable(self):
        path = self.write("plain", "#!/bin/sh\n", 0o644)
        self.refused(CANNOT_RUN, ["run", "--", path], path)

    def test_directory(self):
        self.refused(CANNOT_RUN, ["run", "--", self.dir], self.dir)

    def test_empty_name(self):
        self.refused(NOT_FOUND, ["run", "--", ""])

    def elf(self, machine, bits, name, data=1):
        header = b"\x7fELF" + bytes([1 if bits == 32 else 2, data, 1]) + bytes(9)
        order = "<" if data == 1 else ">"
        if bits == 32:
            header += struct.pack(order + "HHIIIIIHHHHHH", 2, machine, 1, 0x8048000, 52, 0, 0, 52,
                                  32, 1, 0, 0, 0)
            header += struct.pack(order + "8I", 1, 0, 0x8048000, 0x8048000, 84, 84, 5, 4096)
        else:
            header += struct.pack(order + "HHIQQQIHHHHHH", 2, machine, 1, 0x400000, 64, 0, 0, 64,
                                  56, 1, 0, 0, 0)
            header += struct.pack(order + "IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 120, 120, 4096)
        return self.write(name, header, 0o755)

    def test_foreign_elf(self):
        i386 = self.elf(3, 32, "i386")
        self.refused(CANNOT_RUN, ["run", "--", i386], i386)
        unknown = self.elf(0x1234, 64, "unknown")
        self.refused(CANNOT_RUN, ["run", "--", unknown], unknown, str(0x1234))
        big_endian = self.elf(21, 64, "ppc64", data=2)
        self.refused(CANNOT_RUN, ["run", "--", big_endian], big_endian)

    def test_damaged_elf(self):
        with open(tool("true"), "rb") as file:
            whole = file.read()
        for size in (4, 16, 17, 40, 63, 64, 100, 200):
            cut = self.write("cut", whole[:size], 0o755)
            self.refused(CANNOT_RUN, ["run", "-q", "--", cut], cut)

    def test_object_file(self):
        source = self.write("object.c", "int main(void) { return 0; }\n")
        subprocess.run([CC, "-c", "-o", self.path("object"), source], check=True)
        os.chmod(self.path("object"), 0o755)
        self.refused(CANNOT_RUN, ["run", "--", self.path("object")], self.path("object"))

    def test_binary_nonsense(self):
        path = self.write("nonsense", bytes(range(256)) * 4, 0o755)
        self.refused(CANNOT_RUN, ["run", "--", path], path)

    def test_empty_file(self):
        path = self.write("empty", b"", 0o755)
        self.refused(CANNOT_RUN, ["run", "--", path], path)


if __name__ == "__main__":
    main()
