#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs in assembler without a library: every edge and every instruction is known."""
import lib
from lib import E2E, program


class Exact(E2E):
    def watch(self, name):
        """Profile of a program, its stream checked, and what places its symbols have."""
        self.trace(program(name))
        profile = self.record(program(name))
        symbols = lib.symbols(program(name))
        start = next(f for f in profile.json["functions"] if f["name"] == "_start")
        base = symbols["_start"] - int(start["address"].rsplit("+", 1)[1], 16)
        self.places = {"%s+0x%x" % (name, address - base): label
                       for label, address in symbols.items()}
        self.addresses = {label: place for place, label in self.places.items()}
        return profile

    def self_of(self, profile, names):
        return {name: profile.function(name)["self"] for name in names}


class Flow(Exact):
    # from, to, kind, taken: count. `again` labels of the same address: see aliases.
    EDGES = {
        ("j_inner", "b_inner", "cond", True): 12,            # 3 * (5 - 1)
        ("j_inner", "b_after_inner", "cond", False): 3,
        ("j_call", "leaf", "call", True): 3,
        ("j_leaf", "b_two", "cond", True): 1,
        ("j_leaf", "b_not_two", "cond", False): 3,
        ("j_leaf_ret", "b_after_call", "return", True): 3,
        ("j_leaf_ret", "b_after_indirect", "return", True): 1,
        ("j_odd", "b_odd", "cond", True): 2,                 # ebx = 3, 1
        ("j_odd", "b_even", "cond", False): 1,
        ("j_even", "b_join", "jump", True): 1,
        ("j_outer", "b_outer", "cond", True): 2,
        ("j_outer", "b_loop_setup", "cond", False): 1,
        ("j_loop", "b_loop", "cond", True): 5,
        ("j_loop", "j_jrcxz", "cond", False): 1,
        ("j_jrcxz", "b_zero", "cond", True): 1,
        ("j_indirect", "b_there", "jump_ind", True): 1,
        ("j_call_indirect", "leaf", "call_ind", True): 1,
        ("j_jump_memory", "b_from_memory", "jump_ind", True): 1,
        ("j_ret_as_jump", "b_returned", "return", True): 1,
        ("j_syscall", "b_exit", "syscall", False): 1,
    }
    # start: (instructions, count). A block runs from where control arrived to the next transfer,
    # so code that is fallen into belongs to the block before as well.
    BLOCKS = {
        "_start": (5, 1),             # falls through b_outer into b_inner
        "b_outer": (4, 2),
        "b_inner": (3, 12),
        "b_after_inner": (2, 3),
        "leaf": (2, 4),
        "b_not_two": (3, 3),
        "b_two": (2, 1),
        "b_after_call": (2, 3),
        "b_even": (2, 1),
        "b_odd": (4, 2),
        "b_join": (2, 1),
        "b_loop_setup": (3, 1),
        "b_loop": (2, 5),
        "b_jrcxz": (1, 1),
        "b_zero": (2, 1),
        "b_there": (3, 1),
        "b_after_indirect": (2, 1),
        "b_from_memory": (4, 1),
        "b_returned": (3, 1),
        "b_exit": (3, 1),
    }
    ALIASES = {"b_start": "_start", "j_jrcxz": "b_jrcxz"}

    def label(self, place):
        name = self.places.get(place, place)
        return self.ALIASES.get(name, name)

    def test_every_edge(self):
        profile = self.watch("flow")
        found = {(self.label(e["from"]), self.label(e["to"]), e["kind"], e["taken"]): e["count"]
                 for e in profile.json["edges"]}
        expected = {(self.ALIASES.get(f, f), self.ALIASES.get(t, t), kind, taken): count
                    for (f, t, kind, taken), count in self.EDGES.items()}
        self.assertEqual(found, expected)

    def test_every_block(self):
        profile = self.watch("flow")
        found = {self.label(b["address"]): (b["instructions"], b["count"])
                 for b in profile.json["blocks"]}
        self.assertEqual(found, self.BLOCKS)
        self.assertEqual(profile.instructions, sum(n * c for n, c in self.BLOCKS.values()))
        summary = profile.json["summary"]
        self.assertEqual(summary["block_executions"], sum(c for n, c in self.BLOCKS.values()))
        # the transfers, without the system calls
        self.assertEqual(summary["branches"], sum(count for (f, t, kind, taken), count
                                                  in self.EDGES.items() if kind != "syscall"))

    def test_calls(self):
        profile = self.watch("flow")
        self.assertEqual(profile.calls("_start", "leaf"), 4)
        self.assertEqual(profile.function("leaf"), dict(
            profile.function("leaf"), calls=4, self=2 * 4 + 3 * 3 + 2, inclusive=2 * 4 + 3 * 3 + 2))


class Long(Exact):
    def test_longer_than_a_block(self):
        profile = self.watch("straight")
        # 12000 and the return, 3 times; blocks are split after 4096 instructions
        self.assertEqual(profile.function("straight")["self"], 3 * 12001)
        self.assertEqual(profile.instructions, 1 + 3 * (1 + 12001 + 2) + 3)
        blocks = sorted((b["address"], b["instructions"], b["count"])
                        for b in profile.json["blocks"] if b["function"] == "straight")
        self.assertEqual([b[1:] for b in blocks], [(4096, 3), (4096, 3), (12001 - 2 * 4096, 3)])
        self.assertEqual(profile.calls("_start", "straight"), 3)

    def test_ends_of_pages(self):
        profile = self.watch("pages")
        names = ["cross%d" % k for k in range(1, 17)]
        # mov, 7 rounds of 3, ret
        self.assertEqual(self.self_of(profile, names), {n: 100 * (1 + 7 * 3 + 1) for n in names})
        self.assertEqual(profile.instructions, 1 + 100 * (16 * (1 + 23) + 2) + 3)
        blocks = {self.places.get(b["address"]): (b["instructions"], b["count"])
                  for b in profile.json["blocks"]}
        for k in range(1, 17):
            self.assertEqual(blocks["cross%d" % k], (4, 100))     # the first round
            self.assertEqual(blocks["loop%d" % k], (3, 600))      # the six others


class Strings(Exact):
    # instructions of one call; a REP instruction is one whatever it repeats
    FUNCTIONS = {"zero": 5, "one": 5, "thousand": 5, "words": 6, "compare": 5, "scan": 6, "pair": 7,
                 "big": 5, "looped": 1 + 10 * 6 + 1}

    def test_rep_counts_once(self):
        profile = self.watch("rep")
        self.assertEqual(self.self_of(profile, self.FUNCTIONS),
                         {name: 20 * n for name, n in self.FUNCTIONS.items()})
        self.assertEqual(profile.function("_start")["self"], 2 + 20 * (9 + 2) + 3)
        kinds = {e["kind"] for e in profile.json["edges"]}
        self.assertEqual(kinds, {"call", "return", "cond"}, "a repetition is no branch")


class Faults(Exact):
    # calls, instructions of a call: what faults is retired once, when it is run again
    FUNCTIONS = {"protect": (3 * 2, 4), "loop_fault": (2 * 2, 1 + 8 * 4 + 1), "cross_fault": (2, 8),
                 "jump_fault": (2, 4), "leaf": (2, 1), "on_fault": ((8 + 2 + 1) * 2, 7)}

    def test_faults_repaired(self):
        profile = self.watch("faults")
        expected = {name: (calls, calls * insns) for name, (calls, insns) in self.FUNCTIONS.items()}
        found = {name: profile.function(name) for name in expected}
        self.assertEqual({name: (f["calls"], f["self"]) for name, f in found.items()}, expected)
        self.assertEqual(profile.function("restore")["self"], 22 * 2)
        self.assertEqual(profile.function("_start")["self"], 7 + 2 * 18 + 3)
        self.assertEqual(profile.json["notes"], [])


class Locked(Exact):
    def test_locked_instructions_redone(self):
        profile = self.watch("clones")
        # in 4 threads: 10 rounds of 3, one instruction before, the return
        self.assertEqual(profile.function("add_locked")["self"], 4 * (1 + 10 * 3 + 1))
        self.assertEqual(profile.function("add_locked")["calls"], 4)


class Modifying(Exact):
    def test_code_that_changes_itself(self):
        profile = self.watch("selfmod")
        self.assertEqual(self.self_of(profile, ("_start", "patched", "ahead")),
                         {"_start": 1 + 10 * 5 + 3, "patched": 10 * 2, "ahead": 10 * 6})
        versions = [b for b in profile.json["blocks"] if b["function"] == "patched"]
        self.assertEqual(len(versions), 10, "each round runs other code")
        self.assertEqual({b["count"] for b in versions}, {1})


if __name__ == "__main__":
    lib.main()
