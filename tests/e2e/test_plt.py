# SPDX-License-Identifier: MIT
"""Stubs of the procedure linkage table are a part of what they call, in all that is about functions;
--plt shows them. A lazily bound program, one bound at start, and sqlite3."""

import json
import re

from util_cli import HOTPATH, Case, main, tool

CALLS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}
int main(void)
{
    char *words[300];
    for (int i = 0; i < 300; i++) {
        char word[20];
        snprintf(word, sizeof word, "%d", i * 7919 % 1000);
        words[i] = strdup(word);
    }
    qsort(words, 300, sizeof *words, compare);
    puts(words[0]);
    for (int i = 0; i < 300; i++)
        free(words[i]);
    return 0;
}
"""
FLAGS = ("-no-pie", "-fno-builtin", "-fcf-protection=none")
SQL = ("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) "
       "insert into t select i, i * i from n; select sum(b) from t order by a;")


class Plt(Case):
    def record(self, *command):
        profile = self.path("p.hotpath")
        self.execute([HOTPATH, "record", "-q", "-o", profile, "--", *command])
        return profile

    def lazy(self):
        """A profile of a program that binds functions when they are called."""
        return self.record(self.build("lazy", CALLS, *FLAGS, "-Wl,-z,lazy"))

    def text(self, *arguments):
        return self.good(*arguments).decode()

    def report(self, profile, *options):
        """Without inlined functions: their contexts are estimates."""
        return json.loads(self.text("report", profile, "--json", "--physical", *options))

    def check(self, profile):
        """Sums are kept, and no stub is left; returns both reports."""
        before, after = self.report(profile, "--plt"), self.report(profile)
        total = before["summary"]["instructions"]
        self.assertTrue(any("@plt" in f["name"] for f in before["functions"]))
        self.assertEqual(after["summary"]["instructions"], total)
        for view, names in (("functions", ["name"]), ("contexts", ["function"]),
                            ("calls", ["caller", "callee"]), ("lines", ["function"])):
            for row in after[view]:
                for name in names:
                    self.assertNotIn("@plt", row[name], (view, row))
        for report in (before, after):
            self.assertEqual(sum(f["self"] for f in report["functions"]), total)
            self.assertEqual(sum(c["self"] for c in report["contexts"]), total)
            for f in report["functions"]:
                self.assertTrue(f["self"] <= f["inclusive"] <= total, f)
        old = {f["address"]: f for f in before["functions"]}
        for f in after["functions"]:
            self.assertGreaterEqual(f["self"], old[f["address"]]["self"])
            if "_dl_runtime_resolve" not in f["name"]:
                self.assertGreaterEqual(f["inclusive"], old[f["address"]]["inclusive"])
        return before, after

    def calls(self, report, caller, callee):
        return sum(c["count"] for c in report["calls"]
                   if c["caller"] == caller and re.search(callee, c["callee"]))

    def test_a_call_is_of_what_the_stub_leads_to(self):
        for how in ("lazy", "now"):
            program = self.build(how, CALLS, *FLAGS, "-Wl,-z," + how)
            before, after = self.check(self.record(program))
            for caller, callee in (("compare", "strcmp"), ("main", "strdup"), ("main", "free"),
                                   ("main", "snprintf")):
                stubs = self.calls(before, caller, "^%s@plt$" % callee)
                self.assertGreaterEqual(stubs, 300, callee)
                self.assertEqual(self.calls(after, caller, callee), stubs, callee)
            mains = [[f for f in report["functions"] if f["name"] == "main"]
                     for report in (before, after)]
            self.assertEqual(mains[0], mains[1])

    def test_exports_have_no_stubs(self):
        profile = self.lazy()
        total = self.report(profile)["summary"]["instructions"]
        for name in ("callgrind", "folded", "speedscope"):
            self.assertNotIn("@plt", self.text("export", "-f", name, profile), name)
            self.assertIn("@plt", self.text("export", "-f", name, "--plt", profile), name)
        folded = self.text("export", "-f", "folded", profile)
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), total)

    def test_pages_and_diffs_have_no_stubs(self):
        profile = self.lazy()
        for options, shown in ((), False), (("--plt",), True):
            page = json.loads(self.text("html", "--data", *options, profile))["functions"]
            stubs = [n for n, name in zip(page["self"], page["name"]) if "@plt" in str(name) and n]
            self.assertEqual(bool(stubs), shown)
        self.assertNotIn("@plt", self.text("diff", "--json", profile, profile))

    def test_the_file_keeps_them(self):
        profile = self.lazy()
        self.report(profile)
        self.assertIn("strcmp@plt", self.text("report", profile, "functions", "--csv", "--plt"))

    def test_sqlite(self):
        self.check(self.record(tool("sqlite3"), ":memory:", SQL))


if __name__ == "__main__":
    main()
