# SPDX-License-Identifier: MIT
"""Classes, dictionaries, generators, strings, JSON and regular expressions. Argument: how many rounds."""

import json
import re
import sys


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def length(self):
        return (self.x * self.x + self.y * self.y) ** 0.5


def primes(limit):
    found = []
    for n in range(2, limit):
        if all(n % p for p in found if p * p <= n):
            found.append(n)
            yield n


def queens(n, row=0, columns=0, up=0, down=0):
    if row == n:
        return 1
    count, free = 0, ~(columns | up | down) & ((1 << n) - 1)
    while free:
        bit = free & -free
        free ^= bit
        count += queens(n, row + 1, columns | bit, (up | bit) << 1, (down | bit) >> 1)
    return count


def words(n):
    text = " ".join("key%d=%s" % (i * 7919 % 211, "abc" * (i % 4)) for i in range(n))
    seen = {}
    for match in re.finditer(r"(\w+)=(\w*)", text):
        seen.setdefault(match.group(1), []).append(len(match.group(2)))
    order = sorted(seen.items(), key=lambda item: (-sum(item[1]), item[0]))
    return len(json.dumps(json.loads(json.dumps(order))))


def walk(n):
    place = Vector(0.0, 0.0)
    for i in range(n):
        place = place + Vector(i % 7 - 3, i % 5 - 2)
    return int(place.length())


total = 0
for _ in range(int(sys.argv[1])):
    total += sum(primes(600)) + queens(6) + words(400) + walk(1500)
print(total)
