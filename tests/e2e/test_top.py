# SPDX-License-Identifier: MIT
"""hotpath top: plain pages of a program whose phases are known, and the view on a real terminal (tmux)."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from util_cli import Case, HOTPATH, status_of, tool, wait_until

# Two phases; an iteration of the outer loops has 64 of the inner. Its output and status are known.
# With a second argument, a file of one byte steers it: it stays in the first phase while that is 1,
# in the second while it is 2, and sleeps before it ends while it is 3.
PHASES = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned sink;
static const volatile char *steer = "9";

void first(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < 64; k++)
            if (k & 1)
                sink += k;
            else
                sink ^= i;
}

unsigned step(unsigned n)
{
    return n & 1 ? 3 * n + 1 : n / 2;
}

void second(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < 64; k++)
            sink = step(sink);
}

int main(int argc, char **argv)
{
    unsigned n = (unsigned)atoi(argv[1]);
    if (argc > 2)
        steer = mmap(NULL, 1, PROT_READ, MAP_SHARED, open(argv[2], O_RDONLY), 0);
    alarm(1000); /* if the test has died */
    setvbuf(stdin, NULL, _IONBF, 0); /* however it comes, the same instructions */
    printf("begin, and stdin has %d\n", getchar());
    fflush(stdout);
    fprintf(stderr, "to stderr\n");
    do
        first(n);
    while (*steer == '1');
    printf("middle\n");
    fflush(stdout);
    getchar();
    do
        second(n);
    while (*steer <= '2');
    printf("end\n");
    fflush(stdout);
    while (*steer <= '3')
        usleep(10000);
    return 7;
}
"""
OUT = b"begin, and stdin has -1\nmiddle\nend\n"
ROUNDS = "2000"  # of a steered program: some milliseconds

# Symbols are any bytes. These would clear the screen, set the title, turn the writing direction; no assembler makes them.
EVIL = b"evil\033[2J\033]0;owned\007\x9b\xe2\x80\xae<b>"
HOSTILE = r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned sink;
void PLACEHOLDER(unsigned n)
{
    while (n--)
        sink += n;
}
int main(int argc, char **argv)
{
    const volatile char *steer = mmap(0, 1, PROT_READ, MAP_SHARED, open(argv[1], O_RDONLY), 0);
    alarm(1000);
    while (*steer == '1')
        PLACEHOLDER(100000);
    return argc - 2;
}
""".replace("PLACEHOLDER", "p" * len(EVIL))


# Calls a function of the C library until it is steered on.
CALLS = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    const volatile char *steer = mmap(NULL, 1, PROT_READ, MAP_SHARED, open(argv[argc - 1], O_RDONLY), 0);
    alarm(1000);
    while (*steer == '1')
        for (int i = 0; i < 1000; i++)
            rand();
    return 0;
}
"""


def build_hostile(case):
    path = case.build("hostile", HOSTILE)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content.replace(b"p" * len(EVIL), EVIL))
    return path


def steer(case, phase):
    """Lets a steered program go on, see PHASES."""
    with open(case.path("steer"), "r+") as file:
        file.write(phase)


class Page:
    """A plain page: the numbers of its head, and the rows of each table."""

    def __init__(self, text):
        self.lines = text.splitlines()
        head = re.fullmatch(r"hotpath top: (.*?) +([\d.]+) s  (\d+) threads?  (\w+)", self.lines[0])
        self.command, self.seconds, self.threads, self.engine = head.groups()
        self.seconds = float(self.seconds)
        self.rates = re.match(r"(\S+ ?[kMG]?) instructions  (\S+ ?[kMG]?)/s  (\S+ ?[kMG]?) branches/s",
                              self.lines[1]).groups()
        self.spot = self.lines[2]
        self.tables = {}
        for line in self.lines[3:]:
            title = re.search(r"\b(function|path in|loop in|hottest in)\b", line)
            if title and "%" not in line:
                rows = self.tables[title.group(1).split()[0]] = []
            elif "%" in line:
                rows.append(line)

    def shares(self, table):
        return {name: share for name, share in self.named(table)}

    def named(self, table):
        """(name, share), in order; the names of functions here have no blanks."""
        found = []
        for row in self.tables[table]:
            match = re.match(r"(?: *\d+ )? *<?([\d.]+)%.*? ([A-Za-z_·][\w.]*)( |$)",
                             re.sub(r" [\d.,]+ [kMG] ", " ", row))
            found.append((match.group(2).strip("·"), float(match.group(1))))
        return found


def pages(text):
    """The pages, and what comes behind the last: the report."""
    parts = text.split("\n\n")
    found = [Page(p) for p in parts if p.startswith("hotpath top: ")]
    return found, "\n\n".join(p for p in parts if not p.startswith("hotpath top: "))


class Plain(Case):
    """Pages one below the other. The program stays in a phase until the pages that are due there have
    come, so that nothing depends on how fast anything is."""

    def setUp(self):
        super().setUp()
        self.program = self.build("phases", PHASES)
        self.begun = None

    def begin(self, *options, program=None, stdin=subprocess.DEVNULL):
        self.write("steer", "1")
        self.command = program or [self.program, ROUNDS, "steer"]
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            self.begun = subprocess.Popen(
                [HOTPATH, "top", "-i", "0.05", *options, "--", *self.command],
                cwd=self.dir, stdin=stdin, stdout=out, stderr=err)
        self.addCleanup(self.stop, self.begun)

    def stop(self, begun):
        if begun.poll() is None:
            begun.send_signal(signal.SIGTERM)
            begun.wait()

    def steer(self, phase):
        steer(self, phase)

    def err(self):
        return self.read("err").decode().replace("to stderr\n", "")

    def pages(self):
        return pages(self.err().rpartition("\n\n")[0] + "\n\n")[0]

    def page_with(self, condition):
        """The first page from now on that is so."""
        begin = len(self.pages())

        def look():
            ended = self.begun.poll() is not None
            for page in self.pages()[begin:]:
                if condition(page):
                    return page
            self.assertFalse(ended, "the program has ended:\n" + self.err())
            return None
        return wait_until(look, lambda: "no such page:\n" + self.err()[-3000:])

    def share(self, at_least, *names):
        """A condition of a page: these functions have that share of it."""
        return self.page_with(
            lambda page: sum(page.shares("function").get(n, 0) for n in names) > at_least)

    def finish(self, status=7):
        """Lets the program end; returns all its pages, and the report."""
        self.steer("4")
        self.assertEqual(status_of(self.begun.wait()), status)
        self.no_sanitizer(self.read("err"))
        return pages(self.err())

    def test_phases_come_one_after_the_other(self):
        hot = r"hot spot (\d+): (9[1-9]|100)[\d.]*% for"
        self.begin()
        in_first = self.page_with(lambda page: page.shares("function").get("first", 0) > 99
                                  and re.match(hot, page.spot))
        self.steer("2")
        in_second = self.page_with(lambda page: page.shares("function").get("first", 0) == 0
                                   and re.match(hot, page.spot))
        found, report = self.finish()
        self.assertEqual(self.read("out"), OUT)
        self.assertIn(b"to stderr", self.read("err"))
        self.assertEqual([p.seconds for p in found], sorted(p.seconds for p in found))
        self.assertRegex(report, r"exit status 7")
        self.assertIn("Hot spots", report)
        found = [p for p in found if p.tables["function"]]  # for a moment, nothing may happen
        for page in found:
            self.assertTrue(" ".join(self.command).startswith(page.command.rstrip("…")))
            for line in page.lines:
                self.assertLessEqual(len(line), 80)
            for rate in page.rates[1:]:
                self.assertFalse(rate.startswith("0"), page.lines[1])
            self.assertLessEqual(sum(s for _, s in page.named("function")), 100.5)
        self.assertEqual({p.threads for p in found[:-1]}, {"1"})
        self.check_phases(found, in_first, in_second)

    def check_phases(self, found, in_first, in_second):
        """Pages of the first phase come before those of the second; loops, paths and hot spots
        agree."""
        first = [i for i, p in enumerate(found) if p.shares("function").get("first", 0) > 99]
        second = [i for i, p in enumerate(found)
                  if p.shares("function").get("step", 0) + p.shares("function").get("second", 0) > 99]
        self.assertTrue(first and second)
        self.assertLess(max(first), min(second))
        self.assertEqual({n for n, s in in_first.named("path") if s > 1}, {"first"})
        self.assertEqual({n for n, s in in_second.named("path") if s > 1}, {"step", "second"})
        for page, name in (in_first, "first"), (in_second, "second"):
            inner = [row for row in page.tables["loop"] if "·" + name in row]
            self.assertEqual(len(inner), 1)
            self.assertRegex(inner[0], r" 64\.\d ")
        spots = [re.match(r"hot spot (\d+):", p.spot).group(1) for p in (in_first, in_second)]
        self.assertNotEqual(*spots)
        self.assertRegex(in_first.spot, r"first phases\.c:\d+")

    def test_the_profile_is_that_of_record(self):
        """Looking changes nothing. The program waits for a byte between its phases, until there was
        a look."""
        argv = [self.program, "60000"]
        read, write = os.pipe()
        os.write(write, b"A")
        self.begin("-q", "-o", "top.hotpath", program=argv, stdin=read)
        self.share(50, "first")
        os.write(write, b"B")
        for end in read, write:
            os.close(end)
        self.finish()
        self.assertEqual(self.read("out"), OUT.replace(b"-1", b"65"))
        self.hotpath("record", "-q", "-p", "exact,loops,paths,hotspots", "-o", "record.hotpath",
                     "--", *argv, input=b"AB")
        got, want = [json.loads(self.good("report", name, "all", "--json", "-n0"))
                     for name in ("top.hotpath", "record.hotpath")]
        for report in got, want:
            for hotspot in report["hotspots"]:
                del hotspot["pid"]
        self.assertGreater(len(got["paths"]), 100)
        for member in "functions", "loops", "paths", "hotspots", "blocks", "edges":
            self.assertEqual(got[member], want[member], member)

    def test_since_the_start_comes_to_what_the_report_says(self):
        self.begin("--since-start", "-n0")
        page = self.share(95, "first")
        self.assertIn("since the start", page.lines[1])
        self.steer("2")
        self.page_with(lambda page: 0 < page.shares("function").get("first", 0) < 70)
        self.steer("3")
        wait_until(lambda: self.read("out") == OUT)
        before = self.page_with(lambda page: True)
        last = self.page_with(lambda page: True)
        while last.rates[0] != before.rates[0]:  # not all that the program did had been read
            before, last = last, self.page_with(lambda page: True)
        _, report = self.finish()
        functions = re.findall(r"(?m)^ +([\d.]+)% .* (first|second|step) +phases", report)[:3]
        self.assertEqual({name for _, name in functions}, {"first", "second", "step"})
        for share, name in functions:
            self.assertAlmostEqual(last.shares("function")[name], float(share), delta=1, msg=name)

    def test_views_and_what_is_not_profiled(self):
        for view, table in ("functions", "function"), ("paths", "path"), ("loops", "loop"), \
                ("hotspots", "hottest"):
            with self.subTest(view=view):
                self.begin("-q", "-v", view)
                self.page_with(lambda page: page.tables[table])
                found, _ = self.finish()
                self.assertEqual({tuple(page.tables) for page in found}, {(table,)})
        self.begin("-q", "-p", "exact")
        self.share(50, "first")
        self.finish()
        self.assertEqual(self.err().count("not profiled"), 3 * self.err().count("hotpath top:"))

    def test_a_part_of_the_run(self):
        self.begin("-q", "--from", "second")
        self.page_with(lambda page: "waiting" in page.spot)
        self.steer("2")
        self.share(20, "step")
        found, _ = self.finish()
        for page in found:
            self.assertEqual(page.shares("function").get("first", 0), 0)

    def test_stubs_are_a_part_of_what_they_lead_to(self):
        calls = self.build("calls", CALLS)
        for options, there in ([], False), (["--plt"], True):
            self.begin("-p", "loops", "--view", "functions", *options, program=[calls, "steer"])
            page = self.share(30, "random", "random_r", "rand", "__random", "__random_r")
            rows = [row for row in page.tables["function"] if "rand@plt" in row]
            self.assertEqual(bool(rows), there, page.tables["function"])
            self.finish(status=0)

    def test_threads_and_processes(self):
        source = r"""
            #include <fcntl.h>
            #include <pthread.h>
            #include <sys/mman.h>
            #include <sys/wait.h>
            #include <unistd.h>
            static const volatile char *steer;
            static void *work(void *phase) { while (*steer == *(char *)phase); return phase; }
            int main(int argc, char **argv)
            {
                pthread_t threads[3];
                steer = mmap(0, 1, PROT_READ, MAP_SHARED, open(argv[1], O_RDONLY), 0);
                alarm(1000);
                for (int i = 0; i < 3; i++)
                    pthread_create(&threads[i], 0, work, "1");
                for (int i = 0; i < 3; i++)
                    pthread_join(threads[i], 0);
                if (fork() == 0) {
                    alarm(1000);
                    _exit(work("2") == 0);
                }
                wait(0);
                return argc - 2;
            }"""
        program = self.build("workers", source, "-pthread")
        self.begin("-q", program=[program, "steer"])
        self.page_with(lambda page: page.threads == "4" and page.shares("function").get("work", 0) > 80)
        self.steer("2")
        self.page_with(lambda page: page.threads == "2" and page.shares("function").get("work", 0) > 80)
        self.finish(status=0)

    def test_hostile_names(self):
        self.begin(program=[build_hostile(self), "steer"])
        self.page_with(lambda page: any("evil?" in row for row in page.tables["function"]))
        self.finish(status=0)
        err = self.read("err")
        err.decode()  # UTF-8
        self.assertIn(b"evil?[2J?]0;owned?", err)
        self.assertFalse(re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80\xae|\xc2\x9b", err))

    def test_mistakes(self):
        for options, words in [(["--view", "x"], "no view 'x'"), (["-i", "0"], "0.05"),
                               (["-i", "x"], "'x'"), (["-p", "counts"], "counts"),
                               (["-o", "/none/such"], "cannot write")]:
            self.refused(125, ["top", *options, "--", "true"], words)
        self.refused(125, ["top"], "hotpath top")
        self.refused(127, ["top", "--", "no-such-program"], "no-such-program")
        status, _, _ = self.hotpath("top", "-q", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(status, 128 + signal.SIGTERM)


PROMPT = r"(.*\n)*bash-[\d.]+[#$]"


class Terminal(Case):
    """In tmux, 80 by 24."""

    def setUp(self):
        super().setUp()
        self.tmux = [tool("tmux"), "-u", "-f", "/dev/null", "-S", self.path("socket")]
        self.program = self.build("phases", PHASES)
        environment = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
        environment.update(ASAN_OPTIONS="exitcode=99", SHELL="/bin/bash")
        subprocess.run(self.tmux + ["new-session", "-d", "-x", "80", "-y", "24",
                                    shutil.which("bash") + " --norc --noprofile"],
                       check=True, env=environment, cwd=self.dir)
        self.addCleanup(subprocess.run, self.tmux + ["kill-server"], stderr=subprocess.DEVNULL)

    def keys(self, *keys):
        subprocess.run(self.tmux + ["send-keys", *keys], check=True)

    def screen(self, *options):
        return subprocess.run(self.tmux + ["capture-pane", "-p", *options], check=True,
                              stdout=subprocess.PIPE).stdout.decode()

    def wait_for(self, pattern, *options):
        def look():
            text = self.screen(*options)
            return text if re.search(pattern, text) else None
        return wait_until(look, lambda: "%r does not come:\n%s" % (pattern, self.screen(*options)))

    def start(self, *options, program=None, tail="", before=""):
        """A steered program (see PHASES): it stays in its first phase."""
        self.write("steer", "1")
        self.write("after", "")
        argv = [*options, "--", program or self.program]
        argv += ([] if program else [ROUNDS]) + ["steer"]
        command = " ".join(shlex.quote(a) for a in (HOTPATH, "top", "-i", "0.1", *argv))
        self.keys("-l", "stty -a > before; %s%s%s; echo status=$?; stty -a > after" % (before, command, tail))
        self.keys("Enter")

    def check_restored(self, status):
        text = self.wait_for(r"status=\d+\n" + PROMPT, "-S", "-2000")
        self.assertIn("status=%d\n" % status, text)
        wait_until(lambda: self.read("after").endswith(b"\n"))
        before, after = (re.sub(rb"rows.*?columns \d+", b"", self.read(name))
                         for name in ("before", "after"))
        self.assertEqual(before, after)
        self.keys("-l", "printf 'cur%s' sor")  # what is typed is seen
        self.keys("Enter")
        self.wait_for(r"printf 'cur%s' sor\n.*cursor")
        flags = subprocess.run(self.tmux + ["display-message", "-p",
                                            "#{alternate_on} #{cursor_flag} #{wrap_flag}"],
                               check=True, stdout=subprocess.PIPE).stdout
        self.assertEqual(flags.split(), [b"0", b"1", b"1"])
        return text

    def test_keys_and_end(self):
        self.start()
        text = self.wait_for(r"first +phases")
        lines = text.splitlines()
        self.assertEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("hotpath top", lines[0])
        self.assertIn("q quit", lines[-1])
        self.assertRegex(text, r"rate +[▁▂▃▄▅▆▇█]")
        for key, title in ("4", "hottest in"), ("2", "path in"), ("3", "loop in"), ("1", "function"):
            self.keys(key)
            text = self.wait_for(r"(?m)^ *(#|share)\W.*%s" % title)
            self.assertEqual(len(re.findall(r"(?m)^ *(?:#|share)\W", text)), 1)
        self.keys("Tab")
        self.wait_for(r"(?m)^ *share\W.*path in")
        self.keys("t")
        self.wait_for("since the start")
        self.keys("t", "?")
        self.wait_for("freeze the view")
        self.keys("x")
        self.wait_for("path in")
        self.keys("p")
        self.wait_for("FROZEN")
        held = wait_until(self.still)
        time.sleep(0.5)  # some intervals; nothing is waited for that must have happened by then
        self.assertEqual(self.screen(), held)
        self.keys("Space")
        self.wait_for(r"(?s)\A((?!FROZEN).)*\Z")
        self.keys("z", "s", "0")
        self.wait_for("(?s)function.*path in.*loop in")
        self.assertNotIn("begin", self.screen())
        self.keys("q")
        self.wait_for("begin, and stdin has -1\nto stderr\nhotpath: the program goes on")
        self.assertNotIn("q quit", self.screen())
        self.keys("C-c")
        text = self.check_restored(128 + signal.SIGINT)
        self.assertIn("Functions", text)
        self.assertNotIn("middle", text)

    def test_a_function_is_opened(self):
        self.start("-q")
        self.wait_for(r"(?m)^>.* first +phases")
        self.keys("Enter")
        text = self.wait_for(r"(?m)^in first +Esc back$[\s\S]*phases\.c:\d+ +sink \^= i;")
        self.assertLess(text.index("source"), text.index("its loop"))
        self.assertRegex(text, r"its loop\n.* phases\.c:\d+\n.* ·phases\.c:\d+\n")
        self.wait_for(r"called from .*\n.*100\.0% .* main +phases")
        self.assertRegex(self.screen(), r"it calls .*\n +it called nothing\n")
        self.keys("f")  # what is asked for now is of this moment
        self.wait_for("FROZEN")
        steer(self, "2")
        self.keys("3", "Enter")
        self.wait_for(r"(?m)^in main +Esc back$[\s\S]*it calls .*\n.*% .* first +phases")
        self.keys("Escape", "Escape", "1")
        self.wait_for(r"(?m)^>.* first +phases")
        self.assertNotIn("second", self.screen())
        self.keys("f", "End")
        self.wait_for(r"(?m)^>.* (second|step|main) +phases")  # main was there for a moment
        self.keys("/")
        self.keys("-l", "STEP")
        self.wait_for(r"function +where\n>.* step +phases\S+\n\n[\s\S]*filter: STEP_ +by name")
        self.keys("Enter", "Enter")
        self.wait_for(r"(?m)^in step +Esc back[\s\S]*called from .*\n.*100\.0% .* second +phases")
        self.keys("4", "3", "Enter")
        self.wait_for(r"(?m)^in second +Esc back[\s\S]*it calls .*\n.*100\.0% .* step +phases")
        self.keys("BSpace", "BSpace", "BSpace", "/")
        self.keys("-l", "share > 1% and name ~ sec")
        self.wait_for(r"function +where\n>.* second +phases\S+\n\n[\s\S]*sec_ +by columns")
        self.keys("Escape")
        self.wait_for(r"(?m)^0-4 part")
        self.keys("s", "s", "r")
        self.wait_for(r"function▴ +where\n.* step +phases\S+\n.* second +phases")
        self.keys("C-c")
        self.check_restored(128 + signal.SIGINT)

    def test_no_color(self):
        self.start("-q", before="NO_COLOR=1 ")
        self.wait_for(r"(?m)^>.* first +phases")  # the chosen row is seen all the same
        self.assertNotIn("\033[", self.screen("-e"))
        self.keys("K")
        self.check_restored(128 + signal.SIGINT)

    def test_only_what_changes_is_written(self):
        """What the terminal gets while nothing changes: nothing."""
        self.start("-q")
        self.wait_for(r"first +phases")
        self.keys("f")
        self.wait_for("FROZEN")
        self.screen()
        subprocess.run(self.tmux + ["pipe-pane", "cat > %s" % shlex.quote(self.path("written"))], check=True)
        self.keys("x")  # no key
        self.keys("Down")
        wait_until(lambda: os.path.exists(self.path("written")) and self.read("written").count(b"\033[K") >= 2)
        self.assertEqual(self.read("written").count(b"\033[K"), 2)  # the row that was chosen, and the one that is
        self.assertNotIn(b"\033[2J", self.read("written"))
        self.keys("K")
        self.check_restored(128 + signal.SIGINT)

    def test_fatal_signals_restore_the_terminal(self):
        for number in signal.SIGUSR1, signal.SIGABRT:
            with self.subTest(signal=number):
                self.start("-q", tail=" & echo $! > pid; fg")
                self.wait_for(r"first +phases")
                os.kill(int(self.read("pid")), number)
                self.check_restored(128 + number)
                steer(self, "4")  # the program goes on
                self.keys("-l", "clear")
                self.keys("Enter")
                self.wait_for(r"\A" + PROMPT + r" *\n*\Z")

    def still(self):
        """The screen, when it does not change; None while it is being drawn."""
        before = self.screen()
        time.sleep(0.05)
        return before if self.screen() == before else None

    def test_output_is_complete_at_the_end(self):
        self.start()
        self.wait_for("q quit")
        steer(self, "4")
        text = self.check_restored(7)
        self.assertIn("begin, and stdin has -1\nto stderr\nmiddle\nend\nhotpath: ", text)
        self.assertIn("Hot spots", text)

    def test_redirected_streams_are_left_alone(self):
        self.write("input", "A")
        self.start("-q", tail=" < input > out 2> err")
        wait_until(lambda: os.path.exists(self.path("err")) and b"hotpath top" in self.read("err"))
        steer(self, "4")
        text = self.check_restored(7)  # stderr is no terminal: plain pages
        self.assertNotIn("q quit", text)
        self.assertEqual(self.read("out"), OUT.replace(b"-1", b"65"))
        self.start("-q", tail=" < input > out2")
        self.wait_for("q quit")
        steer(self, "4")
        self.check_restored(7)
        self.assertEqual(self.read("out2"), OUT.replace(b"-1", b"65"))

    def test_resize(self):
        self.start("-q")
        self.wait_for("q quit")
        subprocess.run(self.tmux + ["resize-window", "-x", "50", "-y", "12"], check=True)
        text = self.wait_for(r"\A(.*\n){11}.*q quit")
        self.assertLessEqual(max(map(len, text.splitlines())), 50)
        subprocess.run(self.tmux + ["resize-window", "-x", "130", "-y", "40"], check=True)
        text = self.wait_for(r"\A(.*\n){39}.*q quit")
        self.assertGreater(max(map(len, text.splitlines())), 120)
        self.keys("K")
        self.check_restored(128 + signal.SIGINT)

    def test_signals(self):
        for number in signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
            with self.subTest(signal=number):
                self.start("-q", tail=" & echo $! > pid; fg")
                self.wait_for(r"first +phases")  # the program has begun
                pid = int(self.read("pid"))
                if number == signal.SIGINT:
                    self.keys("C-c")
                else:
                    os.kill(pid, number)
                self.wait_for("status=%d\n" % (128 + number), "-S", "-200")
        self.check_restored(128 + signal.SIGINT)

    def test_stop_and_continue(self):
        self.start("-q")
        self.wait_for("q quit")
        self.keys("C-z")
        self.wait_for(r"Stopped(.*\n)+status=\d+\n" + PROMPT)
        self.assertNotIn("q quit", self.screen())
        self.assertEqual(self.read("before"), self.read("after"))
        self.keys("-l", "fg")
        self.keys("Enter")
        self.wait_for("q quit")
        self.keys("C-c")
        self.wait_for(r"fg\n" + PROMPT)
        self.keys("-l", "stty -a > again")
        self.keys("Enter")
        self.wait_for(r"> again\n" + PROMPT)
        self.assertEqual(self.read("before"), self.read("again"))

    def test_hostile_names(self):
        self.start("-q", program=build_hostile(self))
        text = self.wait_for(r"evil\?")
        self.assertIn("q quit", text)
        title = subprocess.run(self.tmux + ["display-message", "-p", "#{pane_title}"], check=True,
                               stdout=subprocess.PIPE).stdout
        self.assertNotIn(b"owned", title)
        self.keys("K")
        self.check_restored(128 + signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
