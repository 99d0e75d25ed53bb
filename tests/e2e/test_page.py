#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of `hotpath html` in a real browser (tests/page, Playwright with Debian's Chromium)."""
import base64
import copy
import gzip
import json
import os
import shutil
import subprocess
import unittest

from util_cli import HERE, HOTPATH, Case, main, tool

TESTS = os.path.join(HERE, "..", "page")
BUILD = os.path.dirname(HOTPATH)
TEMPLATE = os.path.join(BUILD, "page.html")
MODULES = os.path.join(BUILD, "page-tests")
DATA = '<script id="hotpath-data" type="application/octet-stream">'
EVIL = "<img src=x onerror=window.pwned=1></script><script>window.pwned=2</script>'\"&amp;\n"

# Nested loops, calls, two phases, an input-dependent branch: something for every view.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned table[4096];
unsigned collatz(unsigned n)
{
    unsigned steps = 0;
    while (n > 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}
int by_value(const void *a, const void *b)
{
    return (*(const unsigned *)a > *(const unsigned *)b) - (*(const unsigned *)a < *(const unsigned *)b);
}
unsigned mix(unsigned rounds)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned j = 0; j < 64; j++)
            sum = sum * 31 + table[(sum + j) & 4095];
    return sum;
}
int main(void)
{
    for (unsigned i = 0; i < 4096; i++)
        table[i] = collatz(i + 1);
    unsigned sum = mix(1500);
    qsort(table, 4096, sizeof *table, by_value);
    printf("%u\n", sum);
    return 0;
}
"""
HOSTILE = r"""
__attribute__((noinline)) int evil(int) __asm__("\"<img src=x onerror=window.pwned=1></script><script>window.pwned=2</script>'\"");
__attribute__((noinline)) int evil(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 3 ? i : 2; return s; }
int main(void) { int t = 0; for (int i = 0; i < 2000; i++) t += evil(i % 50); return t == 7; }
"""
# Two processes by name, one of them with threads.
PARTS = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static volatile unsigned sink;
__attribute__((noinline)) unsigned work(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s = s * 31 + i; return s; }
static void *thread(void *n) { sink += work(*(unsigned *)n); return n; }
int main(int argc, char **argv)
{
    unsigned sizes[] = {200000, 400000};
    pthread_t threads[2];
    for (int i = 0; argc > 1 && strcmp(argv[1], "second") == 0 && i < 2; i++)
        pthread_create(&threads[i], NULL, thread, &sizes[i]);
    sink += work(100000);
    for (int i = 0; argc > 1 && strcmp(argv[1], "second") == 0 && i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""
NAMES = r"""
#include <map>
#include <string>
#include <vector>
template <typename K, typename V> struct Table {
    std::map<K, std::vector<V>> rows;
    template <typename F> __attribute__((noinline)) void each(F f) { for (auto &row : rows) for (auto &v : row.second) f(row.first, v); }
};
int main()
{
    Table<std::string, std::pair<std::string, double>> table;
    for (int i = 0; i < 2000; i++)
        table.rows["row" + std::to_string(i % 50)].emplace_back("v", i * 0.5);
    double sum = 0;
    table.each([&](const std::string &k, const std::pair<std::string, double> &v) { sum += v.second + k.size(); });
    return sum < 0;
}
"""
# Two versions: the new one finds words by a hash, and has more of them.
OLD = r"""
#include <stdio.h>
#include <string.h>
#define TIMES 600
static char words[100][8];
static unsigned n;
__attribute__((noinline)) unsigned steps(unsigned x) { unsigned s = 0; while (x > 1) { x = x & 1 ? 3 * x + 1 : x / 2; s++; } return s; }
//
__attribute__((noinline)) char *find(const char *text)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0)
            return words[i];
    return strcpy(words[n++], text);
}
int main(void)
{
    char text[8];
    unsigned sum = 0;
    for (unsigned i = 0; i < TIMES; i++) {
        snprintf(text, sizeof text, "w%u", i * 79 % 61);
        sum += find(text)[1] + steps(i + 1);
    }
    printf("%u\n", sum);
    return 0;
}
"""
NEW = (OLD.replace("TIMES 600", "TIMES 650").replace("//", """static unsigned char slots[256];
__attribute__((noinline)) unsigned hash(const char *text) { unsigned h = 5381; while (*text) h = h * 33 + (unsigned char)*text++; return h; }""")
       .replace("    for (unsigned i = 0; i < n; i++)\n        if", """    unsigned at = hash(text) & 255;
    for (unsigned i; (i = slots[at]) != 0; at = (at + 1) & 255)
        if""").replace("words[i], text", "words[i - 1], text").replace("return words[i]", "return words[i - 1]")
       .replace("    return strcpy", "    slots[at] = n + 1;\n    return strcpy"))
PROFILES = ("-p", "exact,loops,paths,predictions,hotspots,cycles,instructions", "--machine", "modern",
            "--windows", "all", "--sample", "profileme,interval=200,pairs", "--predict", "net:10", "--predict", "net:50",
            "--predict", "path-profile:10", "--predict", "path-profile:50")
WINDOWS = ("-p", "loops,paths,hotspots,cycles,instructions", "--machine", "modern", "--windows", "period=50K,detail=10K,ramp=2K,warm=all")
# A compiler at work: thousands of functions, contexts and paths.
COMPILED = "".join(f"double f{i}(double *a, int n) {{ double s = {i}; for (int k = 0; k < n; k++) s += a[k] * {i}; return s; }}\n"
                   for i in range(60))


def evil(value):
    """The data with a hostile text in place of every one that comes from outside."""
    if isinstance(value, str):
        return EVIL + value
    if isinstance(value, list):
        return [evil(item) for item in value]
    if isinstance(value, dict):
        return {key: evil(item) for key, item in value.items()}
    return value


def hostile_data(data):
    data = copy.deepcopy(data)
    kept = {name: data[name] for name in ("flows", "hows")}  # of hotpath itself, not of a program
    offsets = {name: data[name]["offset"] for name in ("functions", "blocks", "code", "paths")}
    data = evil(data)
    data.update(kept)
    for name, column in offsets.items():
        data[name]["offset"] = column
    data["names"].append(EVIL + "x" * 10000)
    data["functions"]["name"][1] = EVIL + "long::" * 1700
    return data


def large_data(data, paths=100000):
    """The paths over and over, with the functions and steps they have."""
    data = copy.deepcopy(data)
    for name, column in data["paths"].items():
        data["paths"][name] = (column * (paths // len(column) + 1))[:paths]
    data["paths"]["kind"] = [0] * paths
    data["paths"]["count"] = [(i * 7919) % 1000003 for i in range(paths)]
    return data


def cut_data(data):
    """Without the last fifth of the contexts, as large runs lose the lightest."""
    data = copy.deepcopy(data)
    for name, column in data["contexts"].items():
        del column[len(column) * 4 // 5:]
    return data


def twin_data(data):
    """The first hot spot once more, found later."""
    data = copy.deepcopy(data)
    first = data["hotspots"][0]
    data["hotspots"].append(dict(first, id=99, detected_at_instructions=data["summary"]["instructions"]))
    return data


class Page(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.node, npm, cls.chromium = tool("node"), tool("npm"), tool("chromium")
        if not os.path.exists(TEMPLATE):
            raise unittest.SkipTest("the page's template was not built")
        lock = os.path.join(MODULES, "package-lock.json")
        os.makedirs(MODULES, exist_ok=True)
        done = os.path.join(MODULES, "node_modules", ".package-lock.json")
        wanted = os.path.join(TESTS, "package-lock.json")
        fresh = os.path.exists(done) and os.path.exists(lock) and open(lock).read() == open(wanted).read()
        for name in os.listdir(TESTS):
            shutil.copy(os.path.join(TESTS, name), MODULES)
        if not fresh and subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
                                         "--loglevel=error"], cwd=MODULES, timeout=300).returncode:
            os.remove(lock)
            raise unittest.SkipTest("npm could not get the tests' libraries")

    def record(self, name, command, *options):
        """A command's profile: files by what they are, and the data."""
        profile = self.path(name + ".hotpath")
        files = {"page": self.path(name + ".html"), "report": self.path(name + ".report.json"), "data": self.path(name + ".data.json")}
        self.hotpath("record", "-q", "-o", profile, *options, "--", *command)
        self.good("html", "-q", profile, "-o", files["page"])
        for what, content in (("report", self.good("report", "--json", profile)), ("data", self.good("html", "--data", profile))):
            with open(files[what], "wb") as file:
                file.write(content)
        return files, json.loads(content)

    def compiler(self):
        """A command that compiles without starting others."""
        compiler = subprocess.run([tool("gcc"), "-print-prog-name=cc1"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        return [compiler, "-quiet", "-O2", self.write("compiled.c", COMPILED), "-o", self.path("compiled.s")]

    def template_program(self):
        path = self.path("names")
        subprocess.run([tool("g++"), "-O1", "-g", "-o", path, self.write("names.cpp", NAMES)], check=True)
        return path

    def page(self, name, content):
        """A page with `content` for data: an object, or the text between the tags."""
        if not isinstance(content, str):
            content = base64.b64encode(gzip.compress(json.dumps(content).encode(), 1)).decode()
        with open(TEMPLATE) as file:
            template = file.read()
        return {"page": self.write(name + ".html", template.replace(DATA, DATA + content))}

    def compare(self, name, old, new):
        """The page of what changed between two profiles, as record() has it."""
        files = {"page": self.path(name + ".html"), "report": self.path(name + ".report.json"), "data": self.path(name + ".data.json")}
        self.good("html", "-q", "--diff", old, new, "-o", files["page"])
        for what, content in (("report", self.good("diff", "--json", old, new)), ("data", self.good("html", "--data", "--diff", old, new))):
            with open(files[what], "wb") as file:
                file.write(content)
        return files, json.loads(content)

    def differences(self):
        profiles = []
        for name, source in (("old", OLD), ("new", NEW)):
            profiles.append(self.path(name + ".hotpath"))
            self.hotpath("record", "-q", "-o", profiles[-1], "-p", "exact,loops,paths", "--", self.build(name, source))
        diff, data = self.compare("diff", *profiles)
        same, _ = self.compare("same", profiles[0], profiles[0])
        strings = copy.deepcopy(data)
        kept = [entry["status"] for entry in data["diff"]["functions"] + data["diff"]["paths"]]
        strings = dict(evil(strings), format=1)
        for entry, status in zip(strings["diff"]["functions"] + strings["diff"]["paths"], kept):
            entry["status"] = status
        strings["diff"]["totals"] = data["diff"]["totals"]
        return {"diff": diff, "same": same, "diff strings": self.page("diff-strings", strings)}

    def pages(self):
        program = [self.build("all", PROGRAM)]
        everything, data = self.record("all", program, *PROFILES)
        default, _ = self.record("default", program)
        bare, _ = self.record("bare", [self.build("bare", PROGRAM, "-g0")], "-p", "exact,loops,paths")
        windows, _ = self.record("windows", program, *WINDOWS)
        huge, _ = self.record("huge", self.compiler(), "-p", "exact,loops,paths")
        hostile, _ = self.record("hostile", [self.build("hostile", HOSTILE)], "-p", "exact,loops,paths,hotspots")
        parts = self.build("parts", PARTS, "-pthread")
        processes, _ = self.record("processes", ["sh", "-c", f"{parts} first; {parts} second"], "-p", "exact")
        threads, _ = self.record("threads", [parts, "second"])
        names, _ = self.record("names", [self.template_program()], "-p", "exact,loops,paths")
        empty = self.path("empty.hotpath")
        self.hotpath("record", "-q", "-o", empty, "-p", "none", "--", "/bin/true")
        self.good("html", "-q", empty, "-o", self.path("empty.html"))
        whole = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
        with open(os.path.join(MODULES, "node_modules", "axe-core", "axe.min.js")) as file:
            axe = file.read()
        return {"all": everything, "default": default, "bare": bare, "windows": windows, "huge": huge, "hostile": hostile, "empty": {"page": self.path("empty.html")},
                "strings": self.page("strings", hostile_data(data)), "big": self.page("big", large_data(data)),
                "twins": self.page("twins", twin_data(data)), "some contexts": self.page("some-contexts", cut_data(data)),
                "damaged": self.page("damaged", "!" + whole), "cut": self.page("cut", whole[:len(whole) // 2 // 4 * 4]),
                "other": self.page("other", {"format": 2}), "list": self.page("list", [1]), "template": {"page": TEMPLATE},
                "processes": processes, "threads": threads, "names": names, **self.differences(), "axe": axe}

    def test_in_a_browser(self):
        manifest = self.write("pages.json", json.dumps(self.pages()))
        tests = sorted(name for name in os.listdir(MODULES) if name.endswith(".test.mjs"))
        environment = dict(os.environ, PAGES=manifest, CHROMIUM=self.chromium)
        done = subprocess.run([self.node, "--test", "--test-concurrency=1", "--test-reporter=spec", *tests], cwd=MODULES, env=environment,
                              timeout=570, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout.decode(errors="replace"))
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    main()
