# SPDX-License-Identifier: MIT
"""The inputs of the measured programs: generated, the same everywhere, no network."""

import math
import os
import random

MEGABYTE = 1 << 20


def mixed_bytes(size):
    """Three quarters text of a skewed vocabulary, one quarter records of binary numbers."""
    rng = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    vocabulary = ["".join(rng.choices(letters, range(26, 0, -1), k=rng.randint(2, 11))) for _ in range(5000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    parts, length = [], 0
    while length < size:
        text = " ".join(rng.choices(vocabulary, weights, k=9000)).encode() + b"\n"
        counter = rng.randint(0, 1 << 20)
        records = b"".join((counter + 3 * i).to_bytes(4, "little") + rng.randbytes(4) for i in range(2200))
        parts += [text, records]
        length += len(text) + len(records)
    return b"".join(parts)[:size]


def picture(width, height):
    """A PPM of smooth colour with noise: every row is a window into one long strip."""
    rng = random.Random(2)
    strip = bytearray()
    for x in range(4 * width):
        for channel in range(3):
            value = 128 + 90 * math.sin(x / (37 + 11 * channel)) + 25 * math.sin(x / 5.3) + rng.gauss(0, 4)
            strip.append(max(0, min(255, int(value))))
    rows = [b"P6\n%d %d\n255\n" % (width, height)]
    for y in range(height):
        start = 3 * int(1.5 * width * (1 + math.sin(y / 90)))
        rows.append(bytes(strip[start : start + 3 * width]))
    return b"".join(rows)


def statements(orders):
    """Tables of customers and orders in memory, filled, indexed, joined, changed and searched."""
    rng = random.Random(3)
    lines = [
        "create table customer(id integer primary key, name text, city text);",
        "create table orders(id integer primary key, customer int, amount real, note text);",
        "begin;",
    ]
    customers = max(10, orders // 20)
    for i in range(customers):
        lines.append("insert into customer values(%d,'name%d','city%d');" % (i, rng.randrange(10**6), rng.randrange(50)))
    for i in range(orders):
        lines.append(
            "insert into orders values(%d,%d,%.2f,'note %x');"
            % (i, rng.randrange(customers), rng.random() * 1000, rng.getrandbits(48))
        )
    lines += [
        "commit;",
        "create index by_customer on orders(customer);",
        "select city, count(*), round(sum(amount), 2) from customer join orders on customer.id = customer"
        " group by city order by 3 desc;",
        "select count(*) from orders where note like '%ab%' or note like '%9f%';",
        "update orders set amount = amount * 1.1 where customer % 7 = 3;",
        "select customer, max(amount) from orders group by customer having count(*) > 25 order by 2 limit 20;",
        "select count(distinct substr(note, 6, 3)) from orders;",
        "delete from orders where id % 3 = 0;",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)" % (3 * orders)
        + " select sum(i * i % 17) from n;",
        "select round(sum(amount), 2) from orders;",
    ]
    return "\n".join(lines).encode() + b"\n"


def write_once(path, make):
    if not os.path.exists(path):
        content = make()
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.rename(path + ".new", path)
    return path


def programs(directory, scale):
    """Writes the inputs; returns (name, command, path of standard input or None) for each program.

    With scale 1 each takes half a second to a second natively; the work is proportional to it.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    directory = os.path.join(directory, "inputs-%g" % scale)
    os.makedirs(directory, exist_ok=True)

    def sized(name, make):
        return write_once(os.path.join(directory, name), make)

    def scaled(number):
        return max(1, int(number * scale))

    gzip_input = sized("gzip.data", lambda: mixed_bytes(scaled(12 * MEGABYTE)))
    bzip2_input = sized("bzip2.data", lambda: mixed_bytes(scaled(6 * MEGABYTE)))
    image = sized("cjpeg.ppm", lambda: picture(4000, scaled(4000)))
    sql = sized("sqlite3.sql", lambda: statements(scaled(80000)))
    return [
        ("gzip", ["gzip", "-6c", gzip_input], None),
        ("bzip2", ["bzip2", "-9c", bzip2_input], None),
        ("perl", ["perl", os.path.join(here, "workload.pl"), str(scaled(80))], None),
        ("sqlite3", ["sqlite3", "-batch", ":memory:"], sql),
        ("lua5.4", ["lua5.4", os.path.join(here, "workload.lua"), str(scaled(80))], None),
        ("cjpeg", ["cjpeg", "-quality", "90", "-progressive", image], None),
    ]
