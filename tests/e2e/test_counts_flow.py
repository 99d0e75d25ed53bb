#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with known control flow: what is counted is what follows from their text."""
import lib
from lib import E2E, program


class Loops(E2E):
    N, M = 13, 7

    def test_nested_loops(self):
        profile = self.record(program("loops"))
        # the inner body runs N * M times, the triangle is walked twice
        self.assertEqual(profile.calls("rectangle", "innermost"), self.N * self.M)
        self.assertEqual(profile.function("innermost")["calls"], self.N * self.M)
        self.assertEqual(profile.calls("main", "triangle"), 2)


if __name__ == "__main__":
    lib.main()
