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

from util_cli import Case, HOTPATH, tool

# Two phases of about the same length, an iteration of the outer loops has 64 of the inner. Its output and its status are known; with a second
# argument it waits for a signal in the end.
PHASES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned sink;

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
    int c = argc > 2 ? 0 : getchar();
    printf("begin, and stdin has %d\n", c);
    fflush(stdout);
    fprintf(stderr, "to stderr\n");
    first(n);
    printf("middle\n");
    second(n);
    printf("end\n");
    if (argc > 2) {
        fflush(stdout);
        pause();
    }
    return 7;
}
"""
OUT = b"begin, and stdin has -1\nmiddle\nend\n"

# Symbols are any bytes. These would clear the screen, set the title, turn the writing direction; no assembler makes them.
EVIL = b"evil\033[2J\033]0;owned\007\x9b\xe2\x80\xae<b>"
HOSTILE = r"""
static volatile unsigned sink;
void PLACEHOLDER(unsigned n)
{
    while (n--)
        sink += n;
}
int main(int argc, char **argv)
{
    (void)argv;
    PLACEHOLDER(argc > 1 ? 400000000 : 40000000);
    return 0;
}
""".replace("PLACEHOLDER", "p" * len(EVIL))


def build_hostile(case):
    path = case.build("hostile", HOSTILE)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content.replace(b"p" * len(EVIL), EVIL))
    return path


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
    def setUp(self):
        super().setUp()
        self.program = self.build("phases", PHASES)

    def top(self, *options, program=None, **more):
        status, out, err = self.hotpath("top", *options, "--", *(program or [self.program, "250000"]),
                                        **more)
        return status, out, err.decode()

    def test_phases_come_one_after_the_other(self):
        status, out, err = self.top("-i", "0.05")
        self.assertEqual((status, out), (7, OUT))
        self.assertIn("to stderr", err)
        found, report = pages(err.replace("to stderr\n", ""))
        self.assertEqual([p.seconds for p in found], sorted(p.seconds for p in found))
        found = [p for p in found if p.tables["function"]]  # on a busy machine nothing may happen for a moment
        self.assertGreater(len(found), 5)
        self.assertRegex(report, r"exit status 7")
        self.assertIn("Hot spots", report)
        for page in found:
            self.assertEqual(page.command, self.program + " 250000")
            for line in page.lines:
                self.assertLessEqual(len(line), 80)
            for rate in page.rates[1:]:
                self.assertFalse(rate.startswith("0"), page.lines[1])
            self.assertLessEqual(sum(s for _, s in page.named("function")), 100.5)
        self.assertEqual({p.threads for p in found[:-1]}, {"1"})
        self.check_phases(found)

    def check_phases(self, found):
        """Some pages are of the first phase only, later ones of the second; loops, paths and hot spots agree."""
        first = [i for i, p in enumerate(found) if p.shares("function").get("first", 0) > 99]
        second = [i for i, p in enumerate(found)
                  if p.shares("function").get("step", 0) + p.shares("function").get("second", 0) > 99]
        self.assertTrue(first and second)
        self.assertLess(max(first), min(second))
        in_first, in_second = found[first[-1]], found[second[-1]]
        self.assertEqual({n for n, s in in_first.named("path") if s > 1}, {"first"})
        self.assertEqual({n for n, s in in_second.named("path") if s > 1}, {"step", "second"})
        for page, name in (in_first, "first"), (in_second, "second"):
            inner = [row for row in page.tables["loop"] if "·" + name in row]
            self.assertEqual(len(inner), 1)
            self.assertRegex(inner[0], r" 64\.\d ")
        spots = [re.match(r"hot spot (\d+): ([\d.]+)% for", p.spot) for p in (in_first, in_second)]
        self.assertNotEqual(spots[0].group(1), spots[1].group(1))
        self.assertGreater(min(float(s.group(2)) for s in spots), 90)
        self.assertRegex(in_first.spot, r"first phases\.c:\d+")

    def test_the_profile_is_that_of_record(self):
        """Looking changes nothing."""
        argv = [self.program, "60000"]
        lists = "exact,loops,paths,hotspots"
        status, _, _ = self.top("-i", "0.05", "-q", "-o", "top.hotpath", program=argv)
        self.assertEqual(status, 7)
        self.hotpath("record", "-q", "-p", lists, "-o", "record.hotpath", "--", *argv)
        got, want = [json.loads(self.good("report", name, "all", "--json", "-n0"))
                     for name in ("top.hotpath", "record.hotpath")]
        for report in got, want:
            for hotspot in report["hotspots"]:
                del hotspot["pid"]
        self.assertGreater(len(got["paths"]), 100)
        for member in "functions", "loops", "paths", "hotspots", "blocks", "edges":
            self.assertEqual(got[member], want[member], member)

    def test_since_the_start_comes_to_what_the_report_says(self):
        _, _, err = self.top("-i", "0.05", "--since-start", "-n0")
        found, report = pages(err.replace("to stderr\n", ""))
        self.assertIn("since the start", found[-1].lines[1])
        functions = dict(re.findall(r"(?m)^ +([\d.]+)% .* (first|second|step) +phases", report)[:3])
        self.assertEqual(len(functions), 3)
        shares = found[-1].shares("function")
        for share, name in functions.items():
            self.assertAlmostEqual(shares[name], float(share), delta=8, msg=name)
        first = [p.shares("function").get("first", 0) for p in found]
        self.assertGreater(max(first), 95)
        self.assertLess(first[-1], 70)

    def test_views_and_what_is_not_profiled(self):
        for view, table in ("functions", "function"), ("paths", "path"), ("loops", "loop"), \
                ("hotspots", "hottest"):
            with self.subTest(view=view):
                _, _, err = self.top("-q", "-i", "0.05", "-v", view, program=[self.program, "60000"])
                found, _ = pages(err.replace("to stderr\n", ""))
                self.assertEqual(list(found[-1].tables), [table])
                self.assertTrue(found[-1].tables[table])
        _, _, err = self.top("-q", "-i", "0.05", "-p", "exact", program=[self.program, "60000"])
        self.assertEqual(err.count("not profiled"), 3 * err.count("hotpath top:"))

    def test_a_part_of_the_run(self):
        _, _, err = self.top("-q", "-i", "0.1", "--from", "second", program=[self.program, "200000"])
        found, _ = pages(err.replace("to stderr\n", ""))
        self.assertIn("waiting", found[0].spot)
        self.assertGreater(found[-1].shares("function")["step"], 20)
        for page in found:
            self.assertEqual(page.shares("function").get("first", 0), 0)

    def test_threads_and_processes(self):
        source = r"""
            #include <pthread.h>
            #include <sys/wait.h>
            #include <unistd.h>
            static void *work(void *n) { for (volatile long i = 0; i < (long)n; i++); return n; }
            int main(void)
            {
                pthread_t threads[3];
                for (int round = 0; round < 4; round++) {
                    for (int i = 0; i < 3; i++)
                        pthread_create(&threads[i], 0, work, (void *)3000000);
                    for (int i = 0; i < 3; i++)
                        pthread_join(threads[i], 0);
                    if (fork() == 0)
                        _exit(work((void *)3000000) == 0);
                    wait(0);
                }
                return 0;
            }"""
        program = self.build("workers", source, "-pthread")
        status, _, err = self.top("-q", "-i", "0.05", program=[program])
        found, _ = pages(err)
        self.assertEqual(status, 0)
        self.assertGreater(max(int(p.threads) for p in found), 1)
        busy = [p for p in found if p.tables["function"]]
        self.assertGreater(len(busy), 3)
        for page in busy[1:]:
            self.assertGreater(page.shares("function").get("work", 0), 80)

    def test_hostile_names(self):
        program = build_hostile(self)
        status, _, err = self.hotpath("top", "-i", "0.1", "--", program)
        self.assertEqual(status, 0)
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
        status, _, _ = self.top("-q", program=["sh", "-c", "kill -TERM $$"])
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

    def wait_for(self, pattern, *options, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.screen(*options)
            if re.search(pattern, text):
                return text
            time.sleep(0.05)
        self.fail("%r does not come:\n%s" % (pattern, text))

    def start(self, *argv, tail=""):
        command = " ".join(shlex.quote(a) for a in (HOTPATH, "top", *argv))
        self.keys("-l", "stty -a > before; %s%s; echo status=$?; stty -a > after" % (command, tail))
        self.keys("Enter")

    def check_restored(self, status):
        text = self.wait_for(r"status=\d+\n" + PROMPT, "-S", "-2000")
        self.assertIn("status=%d\n" % status, text)
        for _ in range(50):
            if self.read("after"):
                break
            time.sleep(0.02)
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
        self.start("-i", "0.1", "--", self.program, "40000000")
        text = self.wait_for(r"first +phases")
        lines = text.splitlines()
        self.assertEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("hotpath top", lines[0])
        self.assertIn("q quit", lines[-1])
        self.assertRegex(text, r"rate +[▁▂▃▄▅▆▇█]")
        for key, title in ("4", "hottest in"), ("2", "path in"), ("3", "loop in"), ("1", "function"):
            self.keys(key)
            text = self.wait_for(r"(?m)^ *(#|share) .*%s" % title)
            self.assertEqual(len(re.findall(r"(?m)^ *(?:#|share) ", text)), 1)
        self.keys("Tab")
        self.wait_for(r"(?m)^ *share .*path in")
        self.keys("t")
        self.wait_for("since the start")
        self.keys("t", "?")
        self.wait_for("hold the view")
        self.keys("x")
        self.wait_for("path in")
        self.keys("p")
        held = self.wait_for("PAUSED")
        time.sleep(0.3)
        self.assertEqual(self.screen(), held)
        self.keys("Space")
        self.wait_for(r"(?s)\A((?!PAUSED).)*\Z")
        self.keys("r", "s", "0")
        self.wait_for("(?s)function.*path in.*loop in")
        self.assertNotIn("begin", self.screen())
        self.keys("q")
        self.wait_for("begin, and stdin has -1\nto stderr\nhotpath: the program goes on")
        self.assertNotIn("q quit", self.screen())
        self.keys("C-c")
        text = self.check_restored(128 + signal.SIGINT)
        self.assertIn("Functions", text)
        self.assertNotIn("middle", text)

    def test_output_is_complete_at_the_end(self):
        self.start("-i", "0.1", "--", self.program, "120000")
        self.wait_for("q quit")
        text = self.check_restored(7)
        self.assertIn("begin, and stdin has -1\nto stderr\nmiddle\nend\nhotpath: ", text)
        self.assertIn("Hot spots", text)

    def test_redirected_streams_are_left_alone(self):
        self.write("input", "A")
        self.start("-q", "-i", "0.1", "--", self.program, "120000", tail=" < input > out 2> err")
        text = self.check_restored(7)  # stderr is no terminal: plain pages
        self.assertNotIn("q quit", text)
        self.assertEqual(self.read("out"), OUT.replace(b"-1", b"65"))
        self.assertIn(b"hotpath top", self.read("err"))
        self.start("-q", "-i", "0.1", "--", self.program, "120000", tail=" < input > out2")
        self.wait_for("q quit")
        self.check_restored(7)
        self.assertEqual(self.read("out2"), OUT.replace(b"-1", b"65"))

    def test_resize(self):
        self.start("-q", "-i", "0.1", "--", self.program, "40000000", "wait")
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
                self.start("-q", "-i", "0.1", "--", self.program, "40000000", tail=" & echo $! > pid; fg")
                self.wait_for(r"first +phases")  # the program has begun
                pid = int(self.read("pid"))
                if number == signal.SIGINT:
                    self.keys("C-c")
                else:
                    os.kill(pid, number)
                self.wait_for("status=%d\n" % (128 + number), "-S", "-200")
        self.check_restored(128 + signal.SIGINT)

    def test_stop_and_continue(self):
        self.start("-q", "-i", "0.1", "--", self.program, "40000000")
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
        self.keys("-l", "stty -a > after")
        self.keys("Enter")
        time.sleep(0.2)
        self.assertEqual(self.read("before"), self.read("after"))

    def test_hostile_names(self):
        program = build_hostile(self)
        self.start("-q", "-i", "0.1", "--", program, "long")
        text = self.wait_for(r"evil\?")
        self.assertIn("q quit", text)
        title = subprocess.run(self.tmux + ["display-message", "-p", "#{pane_title}"], check=True,
                               stdout=subprocess.PIPE).stdout
        self.assertNotIn(b"owned", title)
        self.keys("K")
        self.check_restored(128 + signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
