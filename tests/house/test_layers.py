#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What uses what: the #includes of src/ must be what the table in docs/design.md says."""
import os
import re
import unittest

SRC = os.environ.get("SRC") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(*path):
    with open(os.path.join(SRC, *path), encoding="utf-8") as file:
        return file.read()


def table():
    """The folders in the order of the table, each with those that it may use."""
    rows = re.findall(r"^\| `src/(\w+)/` \|.*\|([^|]*)\|$", read("docs", "design.md"), re.M)
    return {name: re.findall(r"\w+", uses) for name, uses in rows}


def includes():
    """(file, the folder it is in, the folder of what it includes)"""
    for folder, _, names in os.walk(os.path.join(SRC, "src")):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), os.path.join(SRC, "src"))
            if name.endswith((".c", ".h", ".S")):
                for used in re.findall(r'#include "(\w+)/', read("src", path)):
                    yield path, path.split(os.sep)[0], used


class Layers(unittest.TestCase):
    def test_every_folder_has_a_row(self):
        self.assertEqual(sorted(table()), sorted(os.listdir(os.path.join(SRC, "src"))))

    def test_rows_use_rows_above(self):
        seen = []
        for name, uses in table().items():
            below = [use for use in uses if use not in seen and use != "all"]
            self.assertEqual(below, [], "src/%s uses what stands below it" % name)
            seen.append(name)

    def test_includes_are_in_the_table(self):
        rows = table()
        wrong = ["%s includes %s/" % (path, used) for path, folder, used in includes()
                 if used not in (folder, "hotpath", *rows[folder]) and "all" not in rows[folder]]
        self.assertEqual(wrong, [])

    def test_the_table_names_nothing_unused(self):
        used = {(folder, use) for _, folder, use in includes()}
        spare = ["src/%s does not use %s" % (name, use) for name, uses in table().items()
                 for use in uses if use != "all" and (name, use) not in used]
        self.assertEqual(spare, [])


if __name__ == "__main__":
    unittest.main()
