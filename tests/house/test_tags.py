#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when a struct, union or enum tag is defined twice in src/ and include/: one name, one meaning.

Tags with the prefix hp_ are seen everywhere; those without belong to their file.
"""
import collections
import glob
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEFINITION = re.compile(r"^(?:typedef )?(?:struct|union|enum) (?:__attribute__\S+ )?(hp_\w+) \{", re.M)


def main():
    where = collections.defaultdict(list)
    for folder in "src", "include":
        for path in glob.glob(os.path.join(TOP, folder, "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as file:
                for tag in DEFINITION.findall(file.read()):
                    where[tag].append(os.path.relpath(path, TOP))
    twice = {tag: paths for tag, paths in where.items() if len(paths) > 1}
    for tag, paths in sorted(twice.items()):
        print("%s is defined in %s" % (tag, " and ".join(sorted(paths))))
    if len(where) < 100:
        sys.exit("only %d tags were found: the expression is wrong" % len(where))
    sys.exit(1 if twice else 0)


main()
