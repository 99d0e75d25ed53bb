#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The papers' worked examples as programs, in both engines: paths to the bit."""
import json
import subprocess

import lib
from lib import program

lib.need("nm")


class Worked(lib.E2E):
    def paths(self, name, kind, engine="native"):
        """{(label of the start, outcomes): (count, instructions)}"""
        target = program(name)
        listing = subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout
        labels = {int(line.split()[0], 16): line.split()[2] for line in listing.splitlines()
                  if line.split()[1] in "tT"}
        base = min(labels) & ~0xfffff  # where the linker puts programs that are not to be moved
        profile = self.record(target, options=("--paths", kind, "--engine", engine))
        found = {}
        for path in profile.json["paths"]:
            offset = int(path["start"].rsplit("+", 1)[1], 16)
            label = labels.get(offset) or labels.get(offset + base)
            found[label, path["outcomes"]] = (path["count"], path["instructions"])
        return found

    def check(self, name, kind, expected):
        for engine in ("native", "qemu"):
            with self.subTest(kind=kind, engine=engine):
                found = self.paths(name, kind, engine)
                self.assertEqual({key: value[0] for key, value in found.items()}, expected)

    def test_figure_1(self):
        self.check("figure1", "forward", {
            ("_start", "0101"): 1,  # the first time
            ("a", "0101"): 7,       # ABDG
            ("a", "01001"): 5,      # ABDGJ
            ("a", "01111"): 11,     # ABDHJ
            ("a", "10111"): 3,      # ACEIJ
            ("a", "11111"): 2,      # ACFIJ
        })

    # worked.S: the branches are, three times round the loop:
    #   a0 b1 call e1 r d1    a1 call e0 r d1    a0 b1 call e1 r d0
    # What is under way when the program ends is no path.

    def test_bl(self):
        # A call pushes, so f has paths of its own; d ends one when it goes back.
        self.check("worked", "bl", {
            ("f", "1"): 2, ("f", "0"): 1,  # e
            ("_start", "011"): 1,          # a b d
            ("loop", "11"): 1,             # a d
        })

    def test_bl_instructions(self):
        found = self.paths("worked", "bl")
        self.assertEqual(found["f", "1"], (2, 2 * 3))  # test, jz, ret
        self.assertEqual(found["f", "0"], (1, 4))      # ... and nop
        self.assertEqual(found["loop", "11"], (1, 7))  # lodsb, test, jz; nop, call; dec, jnz

    def test_wpp(self):
        # Calls and returns end a path, and the next begins where they go.
        self.check("worked", "wpp", {
            ("_start", "01"): 1,           # a b
            ("f", "1"): 2, ("f", "0"): 1,  # e
            ("back", "1"): 2,              # d
            ("loop", "1"): 1,              # a
            ("loop", "01"): 1,             # a b
        })

    def test_extended_loop(self):
        # The first d is gone through, the second ends the path.
        self.check("worked", "extended-loop:1", {
            ("f", "1"): 2, ("f", "0"): 1,
            ("_start", "01111"): 1,  # a b d, a d
        })
        # Both are gone through; the third does not go back.
        self.check("worked", "extended-loop:2", {("f", "1"): 2, ("f", "0"): 1})

    def test_extended_call(self):
        # The call and its return are gone through, without an outcome of their own.
        self.check("worked", "extended-call:1", {
            ("_start", "0111"): 1,  # a b e d
            ("loop", "101"): 1,     # a e d
        })

    def test_extended_call_that_ends_inside(self):
        # _start grows through f's call; g is pushed, and grows through h's. The loop ends that path, so the return of h finds
        # one that grew through nothing: g goes on with a path of its own, and neither g's frame nor _start's path is lost. The
        # returns of g and f are those of a frame and of a call grown through: there is no path at f2.
        self.check("extended", "extended-call:1", {
            ("g", "1"): 1,   # call h, jnz
            ("hl", "0"): 1,  # jnz, ret
            ("g2", ""): 1,   # ret
        })
        found = self.paths("extended", "extended-call:1")
        self.assertEqual(found["g", "1"], (1, 5))   # nop, call; nop, dec, jnz
        self.assertEqual(found["hl", "0"], (1, 3))  # dec, jnz; ret
        self.assertEqual(found["g2", ""], (1, 2))   # nop, ret

    def test_forward(self):
        # f is behind the loop, so its call is forward and its return backward: that ends the path.
        self.check("worked", "forward", {
            ("_start", "01111"): 1,  # a b call e r
            ("back", "1"): 2,        # d
            ("loop", "1101"): 1,     # a call e r
            ("loop", "01111"): 1,    # a b call e r
        })

    def test_a_table_of_operations(self):
        # As bl, but calls are part of the path and the return is an outcome.
        table = "call=update+push,return=update+pop,forward=update,backward=update+pop+push,indirect=update+pop+push"
        self.check("worked", table, {
            ("f", "11"): 2, ("f", "01"): 1,  # e r
            ("_start", "0111"): 1,           # a b call d
            ("loop", "111"): 1,              # a call d
        })


if __name__ == "__main__":
    lib.main()
