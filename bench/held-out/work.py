# SPDX-License-Identifier: MIT
"""An expression compiler, matrices, edit distances, a shortest path, exceptions and big numbers. Argument: how many rounds."""

import heapq
import sys
from collections import defaultdict, deque

state = 7


def draw(below):
    global state
    state = (state * 48271) % 2147483647
    return state % below


def expression(depth):
    if depth == 0 or draw(5) == 0:
        return str(draw(90) + 1)
    return "(%s%s%s)" % (expression(depth - 1), "+-*/"[draw(4)], expression(depth - 1))


class Compiler:
    """Text to a program of a stack machine."""

    def __init__(self, text):
        self.text, self.at, self.code = text, 0, []

    def value(self):
        if self.text[self.at] == "(":
            self.at += 1
            self.value()
            operator = self.text[self.at]
            self.at += 1
            self.value()
            self.at += 1
            self.code.append((operator, None))
        else:
            start = self.at
            while self.at < len(self.text) and self.text[self.at].isdigit():
                self.at += 1
            self.code.append(("push", int(self.text[start:self.at])))


def execute(code):
    stack = []
    for name, value in code:
        if name == "push":
            stack.append(value)
            continue
        right, left = stack.pop(), stack.pop()
        try:
            if name == "+":
                stack.append(left + right)
            elif name == "-":
                stack.append(left - right)
            elif name == "*":
                stack.append(left * right % 10007)
            else:
                stack.append(left // right)
        except ZeroDivisionError:
            stack.append(left)
    return stack[0]


def multiply(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) % 997 for column in columns] for row in a]


def distance(a, b):
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, line[0] = line[0], i
        for j, y in enumerate(b, 1):
            last, line[j] = line[j], min(line[j] + 1, line[j - 1] + 1, last + (x != y))
    return line[-1]


def shortest(nodes):
    edges = defaultdict(list)
    for node in range(nodes):
        for _ in range(3):
            edges[node].append((draw(nodes), draw(50) + 1))
    best, queue = {}, [(0, 0)]
    while queue:
        length, node = heapq.heappop(queue)
        if node in best:
            continue
        best[node] = length
        for other, cost in edges[node]:
            if other not in best:
                heapq.heappush(queue, (length + cost, other))
    return sum(best.values())


def ring(players, step):
    circle = deque(range(players))
    while len(circle) > 1:
        circle.rotate(-step)
        circle.popleft()
    return circle[0]


total = 0
for number in range(int(sys.argv[1])):
    compiler = Compiler(expression(6))
    compiler.value()
    total += execute(compiler.code)
    square = [[draw(50) for _ in range(8)] for _ in range(8)]
    total += multiply(square, square)[2][5]
    total += distance("".join("abcd"[draw(4)] for _ in range(22)), f"{number:b}abba{total:x}")
    total += shortest(40) + ring(60, 7) + len(str(3 ** (200 + number % 50)))
    total += len({word.strip(".,").title() for word in "it was held out, and it was not tuned. on it".split()})
print(total)
