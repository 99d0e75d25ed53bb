# SPDX-License-Identifier: MIT
"""hotpath html without a browser: the page holds its data and nothing else of the profile, and the data are the numbers of the report.

Environment (set by ctest): HOTPATH, the command in its build directory.
"""
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import time

import util_cli
from util_cli import CC, FAILED

OPEN = '<script id="hotpath-data" type="application/octet-stream">'
TEMPLATE = "<!DOCTYPE html>\n<title>test</title>\n" + OPEN + "</script>\n<script>0</script>\n"
EXACT = ["-p", "exact,loops,paths,predictions,hotspots", "--hotspots", "merten,candidate=4",
         "--loop-model", "daprof"]
CYCLES = ["-p", "exact,loops,cycles,instructions", "--machine", "modern", "--windows", "all",
          "--sample", "profileme,interval=100,pairs"]
SOURCE = r"""
#include <stdlib.h>
static int values[3000];
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static unsigned mix(unsigned n)
{
    return n & 1 ? n * 3 + 1 : n / 2;
}
static unsigned collatz(unsigned n)
{
    unsigned steps = 0;
    while (n > 1) {
        n = mix(n);
        steps++;
    }
    return steps;
}
int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 1; i < 3000; i++)
        sum += (unsigned)(values[i] = (int)collatz(i));
    qsort(values, 3000, sizeof *values, order);
    return sum == 1;
}
"""
TABLES = ["modules", "files", "lines", "functions", "blocks", "edges", "code", "contexts", "paths",
          "steps"]


def rows(table):
    """A table as a list of objects."""
    return [dict(zip(table, values)) for values in zip(*table.values())]


class Html(util_cli.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.printed = {}
        cls.template = os.path.join(cls.shared, "template.html")
        with open(cls.template, "w") as file:
            file.write(TEMPLATE)
        cls.with_template = dict(os.environ, HOTPATH_PAGE=cls.template)
        cls.program = cls.build("program", SOURCE, "-Wl,--build-id")
        cls.exact = cls.record("exact", *EXACT)
        cls.cycles = cls.record("cycles", *CYCLES)
        cls.counts = cls.record("counts", "-p", "counts")
        cls.nothing = cls.record("nothing", "-p", "none")

    @classmethod
    def record(cls, name, *options, program=None):
        path = os.path.join(cls.shared, name + ".hotpath")
        subprocess.run([util_cli.HOTPATH, "record", "-q", "-o", path, *options, "--",
                        program or cls.program], check=True, stdout=subprocess.DEVNULL,
                       cwd=cls.shared, timeout=util_cli.TIMEOUT)
        return path

    def output(self, *arguments):
        """What a command prints for the files that do not change; it is run once."""
        if arguments not in self.printed:
            self.printed[arguments] = self.good(*arguments)
        return self.printed[arguments]

    def data(self, profile, *options):
        """The data alone; its tables are rectangular."""
        data = json.loads(self.output("html", profile, "--data", *options).decode("utf-8"))
        for name in TABLES:
            self.assertEqual(len({len(column) for column in data[name].values()}), 1, name)
        return data

    def page(self, profile, *options):
        """A page as text."""
        path = self.path("page.html")
        status, out, err = self.hotpath("html", profile, "-o", path, *options,
                                        env=self.with_template)
        self.assertEqual((status, out), (0, b""), err)
        self.assertRegex(err.decode(), r"\Ahotpath: page written to \S+ \(\d+\.\d MB\)\n\Z")
        with open(path, encoding="ascii") as file:
            return file.read()

    def unpack(self, page):
        """The data in a page, which is otherwise the template."""
        match = re.fullmatch(re.escape(TEMPLATE).replace(re.escape(OPEN), re.escape(OPEN) +
                                                         "([A-Za-z0-9+/]*=*)"), page)
        self.assertTrue(match)
        return json.loads(gzip.decompress(base64.b64decode(match.group(1))).decode("utf-8"))

    def report(self, profile, *options):
        return json.loads(self.output("report", profile, "--json", *options))

    # --- The numbers are those of the report ------------------------------------------------------

    def names(self, data, report):
        """What rows refer to, as the report has it."""
        functions, blocks = rows(data["functions"]), rows(data["blocks"])
        module = lambda row: data["modules"]["name"][row["module"]] if row["module"] >= 0 else ""
        is_place = lambda row: module(row) and int(row["offset"], 16) >> 63 == 0  # not inlined
        place = lambda row: "%s+0x%s" % (module(row), row["offset"]) if is_place(row) else ""
        file = lambda index: data["files"]["path"][index] if index >= 0 else ""
        name = lambda index: functions[index]["name"] if index >= 0 else ""
        return functions, blocks, module, place, file, name

    def test_functions_blocks_and_lines(self):
        for profile in self.exact, self.cycles:
            data, report = self.data(profile), self.report(profile)
            functions, blocks, module, place, file, name = self.names(data, report)
            self.assertEqual(data["notes"], report["notes"])
            for key, value in report["summary"].items():
                self.assertEqual(data["summary"][key], value)
            for key, value in report["run"].items():
                self.assertEqual(data["run"][key], value)
            executed = [f for f in functions if f["self"] or f["calls"] or f["inclusive"]]
            self.assertEqual(functions[:len(executed)], executed)
            self.assertEqual(
                [(f["name"], module(f), place(f), file(f["file"]), f["line"], f["self"],
                  f["inclusive"], f["calls"]) for f in executed],
                [(f["name"], f["module"], f["address"], f["file"], f["line"], f["self"],
                  f["inclusive"], f["calls"]) for f in report["functions"]])
            self.assertEqual(
                sorted((place(b), b["size"], b["insns"], b["count"], data["flows"][b["flow"]],
                        name(b["function"]), file(b["file"]), b["line"]) for b in blocks
                       if b["count"]),
                sorted((b["address"], b["size"], b["instructions"], b["count"], b["kind"],
                        b["function"], b["file"], b["line"]) for b in report["blocks"]))
            self.assertEqual([(file(r["file"]), r["line"], r["instructions"], r["executions"])
                              for r in rows(data["lines"])],
                             [(r["file"], r["line"], r["instructions"], r["executions"])
                              for r in report["lines"]])

    def test_what_enters_a_block_leaves_it(self):
        data, report = self.data(self.exact), self.report(self.exact)
        blocks, edges = rows(data["blocks"]), rows(data["edges"])
        overlap = data["flows"].index("overlap")
        leaves, joins = [0] * len(blocks), [0] * len(blocks)
        for edge in edges:
            leaves[edge["from"]] += edge["count"]
            if edge["flow"] == overlap:
                joins[edge["to"]] += edge["count"]
        off = [i for i, b in enumerate(blocks) if b["count"] + joins[i] != leaves[i]]
        self.assertLessEqual(len(off), 2, off)  # the end of the run, and what a signal would leave
        self.assertEqual(sum(e["count"] for e in edges if e["flow"] != overlap),
                         sum(e["count"] for e in report["edges"]))

    def test_paths(self):
        data, report = self.data(self.exact), self.report(self.exact)
        functions, blocks, module, place, file, name = self.names(data, report)
        self.assertGreater(len(report["paths"]), 50)
        got = []
        for path in rows(data["paths"]):
            steps = range(path["first_step"], path["first_step"] + path["n_steps"])
            got.append((data["kinds"][path["kind"]]["kind"], place(path), path["length"],
                        path["outcomes"], path["count"], path["instructions"], path["events"],
                        name(path["function"]),
                        [place(blocks[data["steps"]["block"][i]]) for i in steps],
                        [data["hows"][data["steps"]["how"][i]] for i in steps]))
        self.assertEqual(got, [(p["kind"], p["start"], p["length"], p["outcomes"], p["count"],
                                p["instructions"], p["events"], p["function"], p["blocks"],
                                p["ways"]) for p in report["paths"]])
        for kind in data["kinds"]:
            of = [p for p in report["paths"] if p["kind"] == kind["kind"]]
            self.assertEqual((kind["paths"], kind["count"], kind["instructions"]),
                             (len(of), sum(p["count"] for p in of),
                              sum(p["instructions"] for p in of)))

    def test_loops_and_hot_spots(self):
        data, report = self.data(self.exact), self.report(self.exact)
        functions, blocks, module, place, file, name = self.names(data, report)
        self.assertGreater(len(report["loops"]), 5)
        self.assertTrue(report["hotspots"])
        for got, expected in zip(data["loops"], report["loops"]):
            del expected["models"], expected["branches"]
            got["function"], got["file"] = name(got["function"]), file(got["file"])
            got["blocks"] = [place(blocks[i]) for i in got["blocks"]]
            if expected["header"]:  # where it is written
                self.assertEqual(f"{got['file']}:{got['line']}", expected["header"])
                self.assertGreaterEqual(got["last_line"], got["line"])
                got.update({key: expected[key] for key in ("file", "line", "last_line")})
        self.assertEqual(data["loops"], report["loops"])
        for got in data["hotspots"]:
            got["functions"] = [name(i) for i in got["functions"]]
            got["blocks"] = [place(blocks[i]) for i in got["blocks"]]
        self.assertEqual(data["hotspots"], report["hotspots"])
        for loop, row in zip(data["loops"], range(len(data["loops"]))):
            inside = {place(b) for b in blocks if b["loop"] == row}
            self.assertLessEqual(inside, set(loop["blocks"]))

    def test_contexts(self):
        data = self.data(self.exact)
        contexts = rows(data["contexts"])
        self.assertTrue(data["summary"]["has_contexts"])
        self.assertEqual(sum(c["self"] for c in contexts), data["summary"]["instructions"])
        above = [c["self"] for c in contexts]
        for i, context in reversed(list(enumerate(contexts))):
            self.assertLess(context["parent"], i)
            self.assertEqual(context["inclusive"], above[i])
            if context["parent"] >= 0:
                above[context["parent"]] += above[i]
        for name in "collatz", "mix", "order":
            function = data["functions"]["name"].index(name)
            self.assertEqual(sum(c["self"] for c in contexts if c["function"] == function),
                             data["functions"]["self"][function], name)

    def test_lists(self):
        data, report = self.data(self.exact), self.report(self.exact)
        self.assertTrue(report["predictions"] and report["loop_models"] and report["machine"])
        for name in "predictions", "loop_models", "machine", "threads", "sampling", "syscalls":
            self.assertEqual(data[name], report[name], name)
        self.assertTrue(data["syscall_paths"])
        for got in data["syscall_paths"]:
            got["path"] = [data["functions"]["name"][f] for f in got["path"]]
        self.assertEqual(data["syscall_paths"], report["syscall_paths"][:2000])

    def test_instructions_and_cycles(self):
        data, report = self.data(self.cycles), self.report(self.cycles)
        functions, blocks, module, place, file, name = self.names(data, report)
        self.assertGreater(len(data["instructions"]), 100)
        for got in data["instructions"]:
            block = blocks[got.pop("block")]
            at = int(got["address"].rsplit("+", 1)[1], 16) - int(block["offset"], 16)
            self.assertTrue(0 <= at < block["size"])
            got["function"], got["file"] = name(got["function"]), file(got["file"])
        self.assertEqual(data["instructions"], report["instructions"][:5000])
        self.assertEqual(data["sampling"], report["sampling"])
        self.assertEqual(data["cpi"]["run"], report["cpi"])
        self.assertEqual(data["summary"]["cycles"], round(report["cpi"][0]["cycles"]))
        self.assertEqual(data["summary"]["machine_name"], "modern")
        for by in "function", "loop", "line":
            all_rows = self.report(self.cycles, "cpi", "--by", by)["cpi"]
            self.assertEqual(data["cpi"][by], all_rows[1:501], by)
        by_name = {r["address"]: r["cycles"] for r in self.report(self.cycles, "cpi", "--by",
                                                                  "function")["cpi"][1:]}
        for function in functions:
            self.assertLess(abs(function["cycles"] - by_name.get(place(function), 0)), 1)

    # --- Code and source --------------------------------------------------------------------------

    def test_code_fills_its_blocks(self):
        for profile in self.exact, self.cycles:
            data = self.data(profile)
            code = rows(data["code"])
            kept = [b for b in rows(data["blocks"]) if b["n_code"]]
            # What was only ever run as the rest of a longer block is counted there.
            self.assertEqual(len(kept), sum(count > 0 for count in data["blocks"]["count"]))
            self.assertGreater(len(kept), 0.99 * len(data["blocks"]["count"]))
            for block in kept:
                mine = code[block["first_code"]:block["first_code"] + block["n_code"]]
                self.assertEqual(len(mine), block["insns"])
                self.assertEqual(mine[0]["offset"], block["offset"])
                self.assertTrue(all(row["text"] for row in mine))
                self.assertEqual((mine[0]["file"], mine[0]["line"]), (block["file"], block["line"]))
        insns = {row["insn"] for row in code} - {-1}  # of the machine
        self.assertGreater(len(insns), 100)
        for row in code:
            if row["insn"] >= 0:
                self.assertTrue(data["instructions"][row["insn"]]["address"]
                                .endswith("+0x" + row["offset"]))

    def source_of(self, data, name):
        for path, source in zip(data["files"]["path"], data["sources"]):
            if os.path.basename(path) == name:
                return source
        return None

    def test_source_is_shown(self):
        text = SOURCE.split("\n")
        source = self.source_of(self.data(self.exact), "program.c")
        first, lines = source["first"], source["lines"]
        self.assertEqual(lines, text[first - 1:first - 1 + len(lines)])
        self.assertIn("        n = mix(n);", lines)

    def test_source_newer_than_the_program_is_not_shown(self):
        program = self.build("newer", SOURCE)
        profile = self.record("newer", program=program)
        self.assertTrue(self.source_of(self.data(profile), "newer.c"))
        then = time.time() + 1000
        os.utime(program + ".c", (then, then))
        self.printed.clear()
        data = self.data(profile)
        self.assertIsNone(self.source_of(data, "newer.c"))
        self.assertIn("changed after", " ".join(data["limits"]))
        # Older than the run, but not than the program.
        os.utime(program, (1e9, 1e9))
        os.utime(program + ".c", (1.1e9, 1.1e9))
        self.printed.clear()
        self.assertIsNone(self.source_of(self.data(profile), "newer.c"))
        # Who says where it is knows best.
        self.assertTrue(self.source_of(self.data(profile, "--source-path", self.shared), "newer.c"))

    def test_source_may_be_any_bytes(self):
        with open(os.path.join(self.shared, "bytes.c"), "wb") as file:
            file.write(b"/* \xff\xfe </script><script>alert(1)</script> \x01 */\nint main(void)\n{\n"
                       b"    return 0; // \xc3\x28\n}\n")
        program = os.path.join(self.shared, "bytes")
        subprocess.run([CC, "-g", "-o", program, program + ".c"], check=True)
        profile = self.record("bytes", program=program)
        page = self.page(profile)
        source = self.source_of(self.unpack(page), "bytes.c")
        self.assertIn("</script><script>", source["lines"][0])
        self.assertIn("\ufffd", source["lines"][3])

    # --- Hostile names ----------------------------------------------------------------------------

    def hostile(self, names, folder):
        """A program whose functions have these names, in a folder of that name: compiled with others as long, which are then replaced in the file."""
        os.mkdir(self.path(folder))
        others = [("H%d" % i).ljust(len(name), "x") for i, name in enumerate(names)]
        functions = "".join("__attribute__((noinline)) static int %s(int n)\n{\n"
                            "    int s = %d;\n    while (n-- > 0)\n        s = s * 5 + n;\n"
                            "    return s;\n}\n" % (other, i) for i, other in enumerate(others))
        calls = " + ".join("%s(argc * 1000)" % other for other in others)
        program = self.path(os.path.join(folder, "program"))
        self.write("source.c", '#line 1 "<script>alert(2)</script>.c"\n' + functions +
                   "int main(int argc, char **argv)\n{\n    (void)argv;\n    return (%s) == 1;\n}\n"
                   % calls)
        subprocess.run([CC, "-g", "-O1", "-o", program, self.path("source.c")], check=True)
        with open(program, "rb") as file:
            content = file.read()
        for name, other in zip(names, others):
            self.assertIn(other.encode() + b"\0", content)
            content = content.replace(other.encode() + b"\0", name + b"\0")
        with open(program, "wb") as file:
            file.write(content)
        return program

    def test_names_are_never_markup(self):
        names = [b"</script><script>alert(1)</script>", b"<img src=x onerror=alert(1)>",
                 b"\"'`\\ &amp; <!--", b"line\nend\r\ttab\x01\x7f", b"<b>" * 3400,
                 "\u2028\u2029\u202e]]>".encode(), b"\xff\xfe<i>\xc3\x28"]
        program = self.hostile(names, "<svg onload=alert(3)>")
        profile = self.path("hostile.hotpath")
        self.assertEqual(self.hotpath("record", "-q", "-o", profile, *EXACT, "--", program,
                                      "</script><b>", b"\xff\n'")[0], 0)
        page = self.page(profile)
        data = self.unpack(page)
        self.assertEqual(data, self.data(profile))
        report = self.report(profile)
        self.assertEqual([f["name"] for f in report["functions"]],
                         data["functions"]["name"][:len(report["functions"])])
        for name in names:
            self.assertIn(name.decode(errors="replace"), data["functions"]["name"])
        self.assertEqual(page.count("<"), TEMPLATE.count("<"))
        self.assertTrue(any("<script>alert(2)</script>.c" in p for p in data["files"]["path"]))
        self.assertEqual(data["run"]["command"][1:], ["</script><b>", "\ufffd\n'"])

    # --- Other profiles ---------------------------------------------------------------------------

    def test_counts_only(self):
        data, report = self.data(self.counts), self.report(self.counts)
        n = len(report["functions"])
        self.assertEqual(data["functions"]["self"][:n], [f["self"] for f in report["functions"]])
        self.assertEqual(set(data["functions"]["inclusive"]), {-1})
        self.assertEqual((data["paths"]["count"], data["loops"], data["kinds"]), ([], [], []))

    def test_nothing_was_profiled(self):
        data = self.unpack(self.page(self.nothing))
        for name in TABLES:
            self.assertEqual([c for c in data[name].values() if c], [], name)
        self.assertEqual([note["kind"] for note in data["notes"]], ["nothing"])
        self.assertEqual(data["run"]["exit_status"], 0)

    def test_merged(self):
        merged = self.path("merged.hotpath")
        self.good("merge", "-o", merged, self.exact, self.exact)
        data, report = self.data(merged), self.report(merged)
        self.assertEqual(data["run"]["runs"], 2)
        self.assertEqual([h["total"] for h in data["hotspots"]],
                         [h["total"] for h in report["hotspots"]])
        self.assertEqual(data["paths"]["count"], [p["count"] for p in report["paths"]])
        once = self.data(self.exact)
        self.assertEqual(data["functions"]["self"], [2 * n for n in once["functions"]["self"]])

    def test_the_same_page_every_time(self):
        self.assertEqual(self.page(self.cycles), self.page(self.cycles))

    # --- Files and errors -------------------------------------------------------------------------

    def test_where_the_page_goes(self):
        with open(self.nothing, "rb") as file:
            content = file.read()
        self.write("a.hotpath", content)
        self.write("b", content)
        for profile, page in ("a.hotpath", "a.html"), ("b", "b.html"):
            status, out, err = self.hotpath("html", profile, "-q", env=self.with_template)
            self.assertEqual((status, out, err), (0, b"", b""))
            self.unpack(self.read(page).decode())
        status, out, err = self.hotpath("html", "b", "-o", "-", env=self.with_template)
        self.assertEqual((status, err), (0, b""))
        self.assertEqual(out, self.read("b.html"))
        self.good("html", "b", "--data", "-o", "b.json")
        self.assertEqual(json.loads(self.read("b.json")), self.data("b"))

    def test_a_template_is_needed(self):
        for name, content, words in [("none.html", None, ["cannot open the template"]),
                                     ("wrong.html", "<html>", ["no place for the data", "make"]),
                                     ("folder", None, ["template"])]:
            if name == "folder":
                os.mkdir(self.path(name))
            elif content is not None:
                self.write(name, content)
            self.refused(FAILED, ["html", self.nothing, "-o", self.path("x.html")], *words,
                         env=dict(os.environ, HOTPATH_PAGE=self.path(name)))
            self.assertFalse(os.path.exists(self.path("x.html")))
        # A command by itself, as it is when npm was not there; unless a template is installed.
        with open(util_cli.HOTPATH, "rb") as file:
            alone = self.write("hotpath", file.read(), 0o755)
        status, out, err = self.execute([alone, "html", self.nothing, "-o", self.path("x.html")])
        if not os.path.exists("/usr/local/share/hotpath/page.html"):
            self.assertEqual((status, out), (FAILED, b""))
            self.one_line(err, "template", "make", "npm", "--data")

    def test_damaged_profiles(self):
        with open(self.exact, "rb") as file:
            content = file.read()
        for name, damaged in (("cut", content[:len(content) // 2]), ("text", b"no profile\n"),
                              ("empty", b"")):
            path = self.write(name, damaged)
            self.refused(FAILED, ["html", path, "--data"], name)
            self.refused(FAILED, ["html", path, "-o", self.path("x.html")], name,
                         env=self.with_template)
        self.refused(FAILED, ["html", self.path("missing"), "--data"], "missing")
        self.assertFalse(os.path.exists(self.path("x.html")))

    def test_what_cannot_be_written(self):
        for output in self.path("no/such/place.html"), self.dir:
            self.refused(FAILED, ["html", self.nothing, "-o", output], env=self.with_template)
        self.refused(FAILED, ["html", self.nothing, "-o", "/dev/full"], "/dev/full", "space",
                     env=self.with_template)
        self.refused(FAILED, ["html", self.exact, "--data", "-o", "/dev/full"], "space")
        self.assertEqual(os.listdir(self.dir), [])

    def test_command_line(self):
        self.refused(FAILED, ["html"], "no FILE given; usage: hotpath html [OPTIONS] (FILE | --diff OLD NEW)")
        self.refused(FAILED, ["html", "a", "b"], "too many arguments; usage: hotpath html")
        self.refused(FAILED, ["html", "--diff"], "no OLD given; usage: hotpath html")
        self.refused(FAILED, ["html", "--diff", "a"], "no NEW given; usage: hotpath html")
        self.refused(FAILED, ["html", "--diff", "a", "b", "c"], "too many arguments; usage: hotpath html")
        self.refused(FAILED, ["html", "a", "--old-source", "x"], "--old-source and --new-source are for --diff")
        self.refused(FAILED, ["html", "--diff", "a", "b", "-s", "x"], "--old-source and --new-source name the sources")

    def test_diff(self):
        old, new = self.path("old.hotpath"), self.path("new.hotpath")
        shutil.copy(self.nothing, old)
        shutil.copy(self.exact, new)
        status, out, err = self.hotpath("html", "--diff", old, new, env=self.with_template)
        self.assertEqual((status, out), (0, b""))
        self.assertIn(b"new.diff.html", err)
        head, _, rest = self.read("new.diff.html").decode().partition(OPEN)
        self.assertEqual(head + OPEN + rest[rest.index("<"):], TEMPLATE)
        data = json.loads(gzip.decompress(base64.b64decode(rest[:rest.index("<")])))
        self.assertEqual(data, json.loads(self.good("html", "--data", "--diff", old, new)))
        self.assertEqual(data["diff"], json.loads(self.good("diff", "--json", old, new))["diff"])
        for name in "briefs", "tags":
            self.assertEqual(len(data[name]), len(data["diff"]["functions"]))
        self.assertEqual(len(data["line_texts"]), len(data["diff"]["lines"]))
        self.refused(FAILED, ["html", "--diff", old, self.path("missing"), "--data"], "missing")
        self.assertIn(b"--source-path", self.good("html", "--help"))


if __name__ == "__main__":
    util_cli.main()
