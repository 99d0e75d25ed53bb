# SPDX-License-Identifier: MIT
"""HOTPATH_DEBUG: a line from each part that is asked, and nothing from the others."""
import os
import re

from util_cli import FAILED, Case, main

DOMAINS = ["session", "engine", "stream", "symbols", "profiler", "profile"]


class Debug(Case):
    def record(self, domains):
        status, _, err = self.hotpath("record", "-q", "-o", self.path("p"), "--", "true",
                                      env={**os.environ, "HOTPATH_DEBUG": domains})
        self.assertEqual(status, 0, err)
        return re.findall(r"^hotpath: (\w+): [0-9.]+ s: .+$", err.decode(), re.M)

    def test_each_domain_alone(self):
        for domain in DOMAINS:
            self.assertEqual(set(self.record(domain)), {domain})

    def test_all_and_none(self):
        self.assertEqual(set(self.record("all")), set(DOMAINS))
        self.assertEqual(set(self.record("engine,profile")), {"engine", "profile"})
        self.assertEqual(self.record(""), [])

    def test_a_wrong_name_lists_them(self):
        status, _, err = self.hotpath("report", "x",
                                      env={**os.environ, "HOTPATH_DEBUG": "engine,nonsense"})
        self.assertEqual(status, FAILED)
        self.one_line(err, "'nonsense'", "all", *DOMAINS)


if __name__ == "__main__":
    main()
