# SPDX-License-Identifier: MIT
"""A strict reader of callgrind's format, by the rules of KCachegrind's loader. What that would complain about is an error."""
import collections
import re

Call = collections.namedtuple("Call", "address caller callee count inclusive")
NAME = re.compile(r"(ob|fl|fi|fe|fn|cob|cfi|cfn|jfi)=(?:\((\d+)\)(?: (.+))?|(.+))$", re.S)
KINDS = {"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}  # the others are files


class Callgrind:
    """`costs`: {(object, function, address): [event, ...]}; `lines`: {(file, line): [...]}; `calls`: [Call]; `jumps`: {(from, to): (taken, executed)}, executed
    None for one without a condition; `events`, `summary`, `totals`."""

    def __init__(self, path):
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")  # must be
        assert "\r" not in text and "\0" not in text
        head, body = re.split(r"(?<=\n)(?=events: )", text, 1)
        assert head.startswith("# callgrind format\nversion: 1\n"), head
        for line in head.split("\n"):
            assert re.match(r"(#|$|(version|creator|pid|cmd|part|desc|positions|event):)", line), line
        assert "\npositions: instr line\n" in head
        self.names = collections.defaultdict(dict)
        self.costs, self.lines, self.jumps = collections.defaultdict(list), collections.defaultdict(list), {}
        self.calls, self.position, self.events, self.summary, self.totals = [], None, None, None, None
        self.where = {}  # ob, fl, fn, file now; cob, cfi, cfn of the next call
        for line in body.split("\n"):
            if line and not line.startswith("#"):
                self.read(line)

    def read(self, line):
        name = NAME.match(line)
        if name:
            self.read_name(*name.groups())
        elif line.startswith("events: "):
            self.events = line.split()[1:]
        elif re.match("summary:|totals:", line):
            setattr(self, line.split(":")[0], self.pad(line.split()[1:]))
        elif re.match("calls=", line):
            self.pending = ("call",) + re.match(r"calls=(\d+) \S+ \S+ ?$", line).groups()
        elif line.startswith("jcnd="):
            self.pending = ("jump",) + re.match(r"jcnd=(\d+)/(\d+) (\S+) \S+ ?$", line).groups()
        elif line.startswith("jump="):
            taken, to = re.match(r"jump=(\d+) (\S+) \S+ ?$", line).groups()
            self.pending = ("jump", taken, None, to)
        else:
            self.read_cost(line)

    pending = None

    def read_name(self, key, number, text, plain):
        names = self.names[KINDS.get(key, "fl")]
        if number is not None:
            if text is not None:
                assert names.setdefault(number, text) == text, (key, number, text)
            plain = names[number]  # is defined
        if key == "ob":
            self.where = {"ob": plain}
        elif key in ("fl", "fn"):
            self.where[key] = self.where["file" if key == "fl" else key] = plain
        elif key in ("fi", "fe"):
            self.where["file"] = plain
        else:
            self.where[key] = plain

    def pad(self, numbers):
        assert len(numbers) <= len(self.events), numbers
        return [int(n) for n in numbers] + [0] * (len(self.events) - len(numbers))

    def read_position(self, numbers):
        """Absolute, or as callgrind writes them: relative to the last position, or the same."""
        position = []
        for number, last in zip(numbers, self.position or (0, 0)):
            relative = number[0] in "+-*"
            position.append(last if number == "*" else last + int(number) if relative else int(number, 0))
        return position

    def read_cost(self, line):
        numbers = line.split()
        self.position = address, number = self.read_position(numbers[:2])
        cost = self.pad(numbers[2:])
        where, pending, self.pending = self.where, self.pending, None
        function = (where["ob"], where["fn"])
        if not pending:
            for table, key in ((self.costs, function + (address,)), (self.lines, (where["file"], number))):
                table[key] = [a + b for a, b in zip(table[key] or [0] * len(cost), cost)]
        elif pending[0] == "call":
            callee = (where.get("cob", where["ob"]), where["cfn"])
            self.calls.append(Call(address, function, callee, int(pending[1]), cost[0]))
            where.pop("cob", None), where.pop("cfi", None)
        else:
            assert cost == [0] * len(cost)
            taken, executed = int(pending[1]), pending[2] and int(pending[2])
            to = self.read_position([pending[3]])[0]
            assert executed is None or taken <= executed
            before = self.jumps.get((address, to), (0, executed and 0))
            self.jumps[address, to] = (before[0] + taken, executed and before[1] + executed)
            where.pop("jfi", None)

    def functions(self, event="Ir"):
        """Self costs: {(object, name): cost}."""
        sums, column = collections.Counter(), self.events.index(event)
        for (module, function, _), cost in self.costs.items():
            sums[module, function] += cost[column]
        return sums
