# SPDX-License-Identifier: MIT
"""The documents say what is so: commands in README.md work, paths that are named exist, manual pages
have the options that the command has, and no others.

Environment (set by ctest): HOTPATH, the command in its build directory; SRC, the source tree.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.abspath(os.environ.get("SRC") or os.path.join(HERE, "..", ".."))
HOTPATH = os.path.abspath(os.environ.get("HOTPATH") or os.path.join(SRC, "build", "hotpath"))
BUILD = os.path.dirname(HOTPATH)
TIMEOUT = 300
COMMANDS = ["run", "record", "top", "report", "annotate", "html", "export", "import", "compare", "diff", "ci", "merge", "lab",
            "stop", "help"]
TRACE_COMMANDS = ["record", "info", "check", "dump", "replay"]
WPP_COMMANDS = ["info", "expand", "hot"]
GROUPS = {"trace": TRACE_COMMANDS, "wpp": WPP_COMMANDS}
ALL = [[c] for c in COMMANDS] + [[g, c] for g in sorted(GROUPS) for c in GROUPS[g]]
# Not run: they would run this test again, or take long.
UNSAFE = re.compile(r"\b(make (test|bench|clean)|sudo|git clone|apt)\b")


def read(*path):
    with open(os.path.join(SRC, *path), encoding="utf-8") as file:
        return file.read()


def run(*argv, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          universal_newlines=True, errors="replace", **options)


def hotpath(*arguments):
    """What the command prints; it must succeed."""
    done = run(HOTPATH, *arguments)
    if done.returncode != 0:
        raise AssertionError("hotpath %s: status %d: %s" % (" ".join(arguments), done.returncode,
                                                            done.stderr))
    return done.stdout


def fenced(text, language):
    """The contents of the fenced blocks of a language, in order."""
    return re.findall(r"^```%s\n(.*?)^```$" % language, text, re.M | re.S)


def commands_shown():
    """The commands that a reader is told to run, in the order of reading."""
    return [block for document in (["README.md"], ["docs", "commands.md"], ["docs", "library.md"])
            for block in fenced(read(*document), "sh")]


def is_sanitized():
    try:
        with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
            return "HP_SANITIZE:BOOL=ON" in cache.read()
    except OSError:
        return False


def documents():
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + sorted(os.path.relpath(path, SRC)
                                  for path in glob.glob(os.path.join(SRC, "docs", "*.md")))


def manual_pages():
    return sorted(os.path.basename(p) for p in glob.glob(os.path.join(SRC, "man", "*.1")))


def manual(page):
    """A page as it is installed: with the options of its commands."""
    with open(os.path.join(BUILD, "man", page), encoding="utf-8") as file:
        return file.read()


class Scratch(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="hotpath-docs.")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)


class Completion(Scratch):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = ("PATH=%s:$PATH; . %s; COMP_WORDS=(hotpath %s); COMP_CWORD=%d; _hotpath; printf '%%s\\n' \"${COMPREPLY[@]}\""
                  % (BUILD, os.path.join(BUILD, "completion", "hotpath.bash"), " ".join(word or "''" for word in words), len(words)))
        return run("bash", "-c", script, cwd=self.dir).stdout.split()

    def test_formats_and_views(self):
        formats = re.findall(r"(?m)^  ([a-z0-9-]+) ", hotpath("export", "--help").split("Formats:")[1].split("\n\n")[0])
        self.assertGreater(len(formats), 10)
        self.assertEqual(self.complete("export", "--format", ""), formats)
        views = re.findall(r"(?m)^  ([a-z-]+) ", hotpath("help", "views"))
        self.assertGreater(len(views), 15)
        self.assertEqual(sorted(self.complete("report", "FILE", "")), sorted(views))

    def test_options_and_commands(self):
        self.assertEqual(self.complete("re"), ["record", "report"])
        self.assertEqual(self.complete("trace", "re"), ["record", "replay"])
        self.assertEqual(self.complete("trace", "record", "--no"), ["--no-follow"])
        self.assertEqual(self.complete("run", "--engine", ""), ["native", "qemu"])
        self.assertIn("hotspots", self.complete("run", "-p", ""))
        self.assertEqual(self.complete("help", "prof"), ["profilers"])
        self.assertEqual(self.complete("run", "--hotspots", "d"), ["dense"])
        self.assertEqual(self.complete("lab", "li"), ["list"])
        self.assertEqual(self.complete("ru"), ["run"])
        self.assertEqual(self.complete("run", "--", "hotpath-eng"), ["hotpath-engine"])

    def test_files_and_directories(self):
        os.mkdir(os.path.join(self.dir, "there"))
        with open(os.path.join(self.dir, "file"), "w"):
            pass
        self.assertEqual(sorted(self.complete("report", "-o", "")), ["file", "there"])
        self.assertEqual(self.complete("annotate", "--source-path", ""), ["there"])
        self.assertEqual(sorted(self.complete("merge", "")), ["file", "there"])
        self.assertIn("file", self.complete("report", ""))
        self.assertIn("file", self.complete("run", "--machine", ""))
        self.assertNotIn("file", self.complete("run", "--engine", ""))
        self.assertEqual(self.complete("no-such", ""), [])

    def test_other_shells_can_read_theirs(self):
        for shell, check in (("zsh", "-n"), ("fish", "--no-execute")):
            script = os.path.join(BUILD, "completion", "hotpath." + shell)
            with open(script) as file:
                self.assertIn("hotpath help --complete -- ", file.read())
            if shutil.which(shell):
                self.assertEqual(run(shell, check, script).returncode, 0)


class Readme(Scratch):
    def make_tree(self):
        """A directory that looks like a built clone: the sources, and the build as build/."""
        for name in os.listdir(SRC):
            if not name.startswith((".git", "build")):
                os.symlink(os.path.join(SRC, name), os.path.join(self.dir, name))
        os.symlink(BUILD, os.path.join(self.dir, "build"))

    def test_every_command_works_as_written(self):
        self.make_tree()
        blocks = [b for b in commands_shown() if not UNSAFE.search(b)]
        self.assertGreaterEqual(len(blocks), 5)
        for block in blocks:
            if "make run" in block and not shutil.which("dpkg-query"):
                continue  # it installs Debian packages
            if "pkg-config" in block and is_sanitized():
                continue  # the library then needs the sanitizers' run time too
            done = run("bash", "-euo", "pipefail", "-c", block, cwd=self.dir)
            self.assertEqual(done.returncode, 0, block + done.stdout[-2000:] + done.stderr[-2000:])
            if "make run" in block:
                self.assertRegex(done.stderr, r" s, [\d,]+ instructions, ")
                self.assertIn("self %", done.stderr)
            if "make install" in block:
                self.check_installed(os.path.join(self.dir, "stage", "usr", "local"))

    def check_installed(self, prefix):
        names = ["bin/hotpath", "lib/hotpath/hotpath-qemu.so", "include/hotpath/trace.h"]
        names += ["share/man/man1/" + page for page in manual_pages()]
        if os.path.exists(os.path.join(BUILD, "hotpath-engine")):
            names.append("lib/hotpath/hotpath-engine")
        if os.path.exists(os.path.join(BUILD, "page.html")):
            names.append("share/hotpath/page.html")
        for name in names:
            self.assertTrue(os.path.exists(os.path.join(prefix, name)), name)
        done = run(os.path.join(prefix, "bin", "hotpath"), "run", "-n1", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r" s, [\d,]+ instructions, ")

    def test_names_every_command(self):
        text = read("README.md")
        for line in re.findall(r"^  (\w+) ", hotpath("--help").split("Commands:")[1], re.M):
            if line != "hotpath":
                self.assertIn("`hotpath %s " % line, text)
        for group in GROUPS:
            self.assertIn("hotpath %s %s" % (group, "|".join(GROUPS[group])),
                          text.replace("\\|", "|"))

    def test_picture_looks_like_a_report(self):
        text = run(HOTPATH, "run", "-n1", "--", "true").stderr
        columns = re.search(r"^ +self %.*$", text, re.M).group(0).split()
        pictures = [block.splitlines() for block in fenced(read("README.md"), "")]
        self.assertTrue(any(line.split() == columns for lines in pictures for line in lines))

    def test_json_has_the_members_shown(self):
        profile = os.path.join(self.dir, "true.hotpath")
        hotpath("record", "-q", "-o", profile, "--", "true")
        shown = json.loads(fenced(read("docs", "commands.md"), "json")[0])
        real = json.loads(hotpath("report", profile, "summary", "--json"))
        self.assertEqual(list(shown), list(real))
        self.assertEqual(list(shown["summary"]), list(real["summary"]))
        self.assertEqual(shown["hotpath"], real["hotpath"])

    def test_code_is_that_of_the_sample(self):
        blocks = fenced(read("docs", "library.md"), "c")
        self.assertTrue(blocks)
        for block in blocks:
            self.assertIn(block, read("samples", "count_blocks.c"))


class Sample(Scratch):
    """samples/count_blocks.c, the use of the library that docs/library.md shows."""

    def setUp(self):
        super().setUp()
        self.command = os.path.join(BUILD, "samples", "count_blocks")
        self.trace = os.path.join(self.dir, "a.hptrace")

    def test_counts_as_the_profiler_does(self):
        hotpath("trace", "record", "-q", "-o", self.trace, "--", "sh", "-c", "(exit 3) & wait")
        done = run(self.command, self.trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        got = re.findall(r"^thread (\d+): (\d+) blocks, (\d+) instructions$", done.stdout, re.M)
        report = json.loads(hotpath("trace", "replay", self.trace, "--view", "threads", "--json"))
        want = [(t["thread"], t["blocks"], t["instructions"]) for t in report["threads"]]
        self.assertEqual(len(want), 2)
        # The profile numbers threads in its own order.
        self.assertEqual(sorted(tuple(map(int, row[1:])) for row in got),
                         sorted(row[1:] for row in want))

    def test_says_what_is_wrong(self):
        hotpath("trace", "record", "-q", "-o", self.trace, "--", "true")
        with open(self.trace, "r+b") as file:
            file.truncate(os.path.getsize(self.trace) // 2)
        for arguments, status in ([self.trace], 1), ([self.dir + "/none"], 1), ([], 2):
            done = run(self.command, *arguments)
            self.assertEqual((done.returncode, done.stdout), (status, ""))
            self.assertRegex(done.stderr, r"\A[^\n]+\n\Z")


class Paths(unittest.TestCase):
    TOP = r"(?:src|include|docs|tests|scripts|samples|man|bench|lab)"

    def assert_there(self, document, path):
        """`path` may have {a,b} and *; NAME and FOLDER stand for any."""
        path = re.sub("NAME|FOLDER", "*", path)
        braces = re.search(r"\{([^}]*)\}", path)
        if braces:
            for choice in braces.group(1).split(","):
                self.assert_there(document, path[:braces.start()] + choice + path[braces.end():])
            return
        self.assertTrue(glob.glob(os.path.join(SRC, path)), "%s names %s" % (document, path))

    def test_links_lead_somewhere(self):
        n = 0
        for document in documents():
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", read(document)):
                if not re.match(r"[a-z]+:", target):
                    self.assert_there(document,
                                      os.path.normpath(os.path.join(os.path.dirname(document),
                                                                    target)))
                    n += 1
        self.assertGreater(n, 10)

    def test_paths_in_code_exist(self):
        n = 0
        for document in documents():
            for span in re.findall(r"`([^`\n]+)`", read(document)):
                for path in re.findall(r"(?<![\w./-])(%s/[\w./*{},-]*)" % self.TOP, span):
                    self.assert_there(document, path.rstrip(".,"))
                    n += 1
        self.assertGreater(n, 10)

    def test_index_names_every_document(self):
        index = read("docs", "README.md")
        for document in documents():
            if document.startswith("docs/") and document != "docs/README.md":
                self.assertIn("](%s)" % os.path.basename(document), index)


# --- Options -------------------------------------------------------------------------------------


def options_of(command):
    """What a command has, from its help: {long name: (letter or None, argument or None)}.
    An argument follows after one blank, the text of a flag after several."""
    rows = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?", hotpath(*command, "--help"),
                      re.M)
    found = {}
    for letter, name, argument in rows:
        found[name] = (letter or None, argument or None)
    return found


def plain(roff):
    """A line of roff as text: fonts and escapes gone."""
    roff = re.sub(r"\\f[BIRP]", "", roff).replace("\\-", "-").replace("\\&", "")
    macro = re.match(r"\.[A-Z]+ (.*)", roff)
    if not macro:
        return roff
    words = re.findall(r'"([^"]*)"|(\S+)', macro.group(1))
    joint = " " if roff.startswith((".B ", ".I ")) else ""
    return joint.join(quoted or word for quoted, word in words)


def tags(section):
    """The tags of the tagged paragraphs of a section."""
    return [plain(line) for line in re.findall(r"^\.TP\n(.*)$", section, re.M)]


def options_in(section):
    found = {}
    for tag in tags(section):
        match = re.fullmatch(r"(?:-(\w), )?--([\w-]+)(?: (\S+))?", tag)
        if match:
            found[match.group(2)] = (match.group(1), match.group(3))
    return found


def section(page, name, level="SH"):
    """The text of a section, up to the next of its level."""
    match = re.search(r"^\.%s %s\n(.*?)(?=^\.SH|^\.%s|\Z)" % (level, name, level), page,
                      re.M | re.S)
    if not match:
        raise AssertionError("no section " + name)
    return match.group(1)


class Manual(unittest.TestCase):
    maxDiff = 4000

    def test_there_is_a_page_for_every_command(self):
        self.assertEqual(manual_pages(), sorted(["hotpath.1"] +
                                                ["hotpath-%s.1" % c for c in COMMANDS + list(GROUPS)]))
        listed = re.findall(r"^  (\w+) +\w", hotpath("--help").split("Commands:")[1]
                            .split("Start with")[0], re.M)
        self.assertEqual(sorted(listed), sorted(COMMANDS + list(GROUPS)))
        for group in GROUPS:
            text = hotpath(group, "--help").split("Commands:")[1]
            self.assertEqual(re.findall(r"^  (\w+) +\w", text, re.M), GROUPS[group])
        commands = section(manual("hotpath.1"), "COMMANDS")
        self.assertEqual(sorted(tags(commands)),
                         sorted("hotpath-%s(1)" % c for c in COMMANDS + list(GROUPS)))

    def test_options_are_those_of_the_command(self):
        for command in ALL:
            page = manual("hotpath-%s.1" % command[0])
            text = section(page, "OPTIONS")
            if command[0] in GROUPS:
                text = section(text, command[1], "SS")
            with self.subTest(command=command):
                self.assertEqual(options_in(text), options_of(command))
                listed = [line.split("\t")[0] for line in hotpath("help", "--complete", "--", *command, "-").splitlines()]
                self.assertEqual(sorted(listed), sorted("--" + o for o in options_of(command)))

    def test_options_are_not_written_by_hand(self):
        """In the sources of the pages, a line stands for the options of each command."""
        for page in manual_pages():
            if page == "hotpath.1":
                continue
            text = section(read("man", page), "OPTIONS")
            self.assertEqual(tags(text), [], page)
            name = page[len("hotpath-"):-len(".1")]
            wanted = [[name, sub] for sub in GROUPS[name]] if name in GROUPS else [[name]]
            self.assertEqual([words.split() for words in re.findall(r'^\.\\" OPTIONS (.*)$', text, re.M)], wanted)
            for command in wanted:
                self.assertIn(hotpath("help", "--man", *command), manual(page))

    def test_options_named_anywhere_exist(self):
        known = {"version", "help", "name"}  # --name stands for any in hotpath(1)
        for command in ALL:
            known |= set(options_of(command))
        for page in manual_pages():
            named = set(re.findall(r"\\-\\-([a-z][a-z\\-]*)", manual(page)))
            self.assertLessEqual({n.replace("\\-", "-") for n in named}, known, page)

    def test_examples_use_options_that_exist(self):
        n = 0
        texts = commands_shown()
        for page in manual_pages():
            text = manual(page).replace("\\-", "-")
            texts += re.findall(r"^\.nf\n(.*?)^\.fi$", text, re.M | re.S)
        for line in re.findall(r"^(?:build/)?hotpath (.*)$", "\n".join(texts), re.M):
            words = line.split(" -- ")[0].split()
            command = words[:2] if words[0] in GROUPS else words[:1]
            options = options_of(command)
            letters = {letter for letter, _ in options.values()}
            for word in words[len(command):]:
                if word.startswith("--"):
                    self.assertIn(word[2:], options, line)
                elif word.startswith("-") and len(word) > 1:
                    self.assertIn(word[1], letters, line)
            n += 1
        self.assertGreater(n, 20)

    def test_formats_of_exports_are_told(self):
        text = hotpath("export", "--help").split("Formats:\n")[1].split("\n\n")[0]
        formats = re.findall(r"^  (\S+) ", text, re.M)
        self.assertGreater(len(formats), 5)
        described = section(manual("hotpath-export.1"), "DESCRIPTION")
        self.assertEqual(sorted(tags(described)), sorted(formats))
        listed = re.findall(r"^- `(\S+)`: ", read("docs", "export.md"), re.M)
        self.assertEqual(sorted(listed), sorted(formats))

    def test_environment_is_told(self):
        used = set()
        for path in glob.glob(os.path.join(SRC, "src", "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as file:
                used |= set(re.findall(r'\bgetenv\("(\w+)"\)', file.read()))
        told = set(tags(section(manual("hotpath.1"), "ENVIRONMENT")))
        self.assertEqual(told, used)

    def test_sections_and_version(self):
        version = hotpath("--version").strip()
        for page in manual_pages():
            text = manual(page)
            self.assertIn('"%s"' % version, text.splitlines()[1], page)
            for name in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS",
                         "FILES", "SEE ALSO"):
                self.assertTrue(section(text, name).strip(), page)

    def test_see_also_leads_to_pages(self):
        for page in manual_pages():
            for name in re.findall(r"\.BR (hotpath\S*) \(1\)", manual(page)):
                self.assertIn(name.replace("\\-", "-") + ".1", manual_pages())

    def test_pages_are_formatted_without_a_warning(self):
        tried = 0
        for page in manual_pages():
            path = os.path.join(BUILD, "man", page)
            for command in (["groff", "-man", "-ww", "-z", "-Tutf8", path],
                            ["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l", path]):
                if shutil.which(command[0]):
                    done = run(*command)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), page)
                    tried += 1
        if not tried:
            self.skipTest("neither groff nor man is installed")


if __name__ == "__main__":
    unittest.main()
