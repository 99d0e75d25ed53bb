# SPDX-License-Identifier: MIT
"""Inputs that hotpath was not tuned on: the benchmark's programs with other data, scripts and options, and other programs."""

import math
import os
import random

import csource
from inputs import MEGABYTE, Inputs, Program, find, find_compiler

# Programs that are in no other measurement.
NOT_TUNED_ON = ["cc1plus", "gawk", "grep", "jq", "sort", "zstd"]


def log_lines(size):
    """A web server's log."""
    rng = random.Random(1001)
    hosts = ["%d.%d.%d.%d" % tuple(rng.randrange(1, 255) for _ in range(4)) for _ in range(700)]
    words = ["".join(rng.choices("abcdefghiklmnoprstuvw", k=rng.randint(3, 9))) for _ in range(400)]
    systems = ["X11", "Windows NT 10.0", "Macintosh"]
    agents = ["Mozilla/5.0_(%s;_rv:%d.0)_Gecko" % (rng.choice(systems).replace(" ", "_"), v) for v in range(90, 120)]
    parts, length, second = [], 0, 0
    while length < size:
        lines = []
        for _ in range(500):
            second += rng.randrange(3)
            path = "/".join(rng.choices(words, k=rng.randint(1, 4))) + rng.choice([".html", ".png", "", "?id=%x&q=%s"
                                                                                 % (rng.getrandbits(40), rng.choice(words))])
            lines.append('%s - - [%02d:%02d:%02d] "%s" "%s /%s HTTP/1.1" %d %d\n' % (
                rng.choice(hosts), second // 3600 % 24, second // 60 % 60, second % 60, rng.choice(agents),
                rng.choice(["GET", "GET", "GET", "POST", "HEAD"]), path, rng.choice([200, 200, 200, 304, 404, 500]),
                int(rng.expovariate(1 / 9000))))
        text = "".join(lines).encode()
        parts.append(text)
        length += len(text)
    return b"".join(parts)[:size]


def shapes(width, height):
    """A PPM of rectangles with hard, ragged edges, ramps and a texture in some."""
    rng = random.Random(1002)
    rows = []
    for y in range(height):
        if y % 48 == 0:
            row = bytearray()
            while len(row) < 3 * width + 24:
                colour, run, kind = rng.randbytes(3), rng.randint(5, 160), rng.randrange(3)
                for x in range(run):
                    ramp, grain = (x if kind == 1 else 0), (rng.randrange(64) if kind == 2 else 0)
                    row += bytes((c + ramp ^ grain) & 255 for c in colour)
        start = 3 * rng.randrange(8)
        rows.append(bytes(row[start : start + 3 * width]))
    return b"P6\n%d %d\n255\n" % (width, height) + b"".join(rows)


def queries(rows):
    """Trees, windows, text and JSON in memory, and a trigger."""
    rng = random.Random(1003)
    lines = [
        "create table node(id integer primary key, parent int, label text, weight int);",
        "create table history(node int, was int);",
        "create table reading(sensor text, at int, value real, extra text);",
        "create trigger changed after update of weight on node begin insert into history values(old.id, old.weight); end;",
        "begin;",
    ]
    for i in range(1, rows):
        lines.append("insert into node values(%d,%d,'%s',%d);" % (i, i // rng.randint(2, 4), "".join(rng.choices("abcdef", k=8)),
                                                                  rng.randrange(100)))
        lines.append("insert into reading values('s%d',%d,%.3f,'{\"a\":%d,\"b\":[%d,%d]}');" % (
            rng.randrange(30), i, rng.gauss(20, 5), rng.randrange(9), rng.randrange(9), rng.randrange(9)))
    lines += [
        "commit;",
        "with recursive down(id, depth) as (select 1, 0 union all select node.id, depth + 1 from node"
        " join down on parent = down.id where depth < 12) select depth, count(*) from down group by depth;",
        "create index by_parent on node(parent);",
        "with recursive up(id, top) as (select id, parent from node where id % 7 = 0 union all select up.id, node.parent from up"
        " join node on node.id = up.top) select count(*), sum(top) from up;",
        "select sensor, round(sum(d), 3) from"
        " (select sensor, value - lag(value) over (partition by sensor order by at) d from reading)"
        " group by sensor order by 2 desc limit 3;",
        "select count(*), max(r) from (select rank() over (order by value) r, sensor from reading) where sensor like 's1%';",
        "select json_extract(extra, '$.a') a, count(*), sum(json_extract(extra, '$.b[1]')) from reading group by a;",
        "update node set weight = weight + 1 where label glob 'a*[bc]';",
        "select count(*), sum(was) from history;",
        "select substr(upper(label), 2, 3) s, group_concat(id % 10, '') from node group by s order by length(2) desc, s limit 2;",
    ]
    return "\n".join(lines).encode() + b"\n"


def colouring(nodes, colours):
    """A clique with one node too many for its colours, each colour given to no two: the principle of pigeon holes."""
    lines = ["p cnf %d %d" % (nodes * colours, nodes + colours * nodes * (nodes - 1) // 2)]
    for n in range(nodes):
        lines.append(" ".join(str(n * colours + c + 1) for c in range(colours)) + " 0")
    for c in range(colours):
        for a in range(nodes):
            lines += ["-%d -%d 0" % (a * colours + c + 1, b * colours + c + 1) for b in range(a + 1, nodes)]
    return "\n".join(lines).encode() + b"\n"


# Holes: seconds natively.
HOLES = {7: 0.04, 8: 0.32, 9: 3.3}


def go_commands(moves):
    """Both sides on a small board, the last moves taken back now and then."""
    lines = ["boardsize 9", "komi 6.5"]
    for number in range(moves):
        if number % 30 == 0:
            lines += ["clear_board", "fixed_handicap %d" % (2 + number // 30 % 3)]
        lines.append("genmove %s" % ("black" if number % 2 else "white"))
        if number % 11 == 10:
            lines += ["undo", "estimate_score"]
    return "\n".join(lines + ["quit"]).encode() + b"\n"


def json_lines(number):
    rng = random.Random(1004)
    tags = ["red", "green", "blue", "old", "new", "sale"]
    return "".join('{"id":%d,"name":"item %x","price":%.2f,"tags":[%s],"at":{"x":%d,"y":%d}}\n' % (
        i, rng.getrandbits(40), rng.uniform(1, 500), ",".join('"%s"' % t for t in rng.sample(tags, rng.randint(0, 4))),
        rng.randrange(100), rng.randrange(100)) for i in range(number)).encode()


def cplusplus(parts):
    """Classes and functions that instantiate the standard library's templates."""
    lines = ["#include <%s>" % header for header in
             ("algorithm", "functional", "iostream", "map", "memory", "numeric", "sstream", "string", "unordered_map", "vector")]
    for i in range(parts):
        lines.append("""
namespace part%(i)d {
struct item { std::string name; double values[%(n)d]; bool operator<(const item &o) const { return name < o.name; } };
template <typename T> struct bag {
    std::map<T, std::vector<item>> inside;
    void put(const T &key, item value) { inside[key].push_back(std::move(value)); }
    double sum() const {
        double total = 0;
        for (const auto &[key, items] : inside)
            total = std::accumulate(items.begin(), items.end(), total,
                                    [](double t, const item &v) { return t + v.values[%(k)d]; });
        return total;
    }
};
std::string work(int n) {
    bag<int> numbers; bag<std::string> names; std::unordered_map<std::string, std::shared_ptr<item>> known;
    for (int i = 0; i < n; i++) {
        item one{std::to_string(i * %(n)d), {}};
        numbers.put(i %% 10, one); names.put(one.name, one);
        known.emplace(one.name, std::make_shared<item>(one));
    }
    std::vector<item> order;
    for (auto &entry : known) order.push_back(*entry.second);
    std::sort(order.begin(), order.end());
    std::ostringstream out;
    out << numbers.sum() + names.sum() << order.size();
    return out.str();
}
}""" % {"i": i, "n": 3 + i % 5, "k": i % 3})
    return "\n".join(lines).encode() + b"\n"


class HeldOut(Inputs):
    """As Inputs; the sizes are again those of about `seconds` each natively."""

    folder = "held-out"

    def work(self, name, per_second):
        here = os.path.dirname(os.path.abspath(__file__))
        return [os.path.join(here, "held-out", "work." + name), str(self.scaled(per_second))]

    def bytes_of(self, name, per_second):
        return self.file(name + ".log", lambda: log_lines(self.scaled(per_second)))

    def bzip2(self):
        return Program([find("bzip2"), "-5c", self.bytes_of("bzip2", 11 * MEGABYTE)])

    def cc1(self):
        source = self.file("cc1.i", lambda: csource.Writer(1005).text(self.scaled(60)).encode())
        return Program([find_compiler(), "-quiet", "-w", "-O1", "-g", "-fpreprocessed", source, "-o", "-"])

    def cc1plus(self):
        source = self.converted("cc1plus.ii", lambda: cplusplus(self.scaled(1.5)),
                                lambda source, path: [find("g++"), "-E", "-P", "-x", "c++", source, "-o", path])
        return Program([find_compiler("cc1plus"), "-quiet", "-w", "-O1", "-std=gnu++17", "-fpreprocessed", source, "-o", "-"])

    def cjpeg(self):
        image = self.file("cjpeg.ppm", lambda: shapes(3000, self.scaled(5500)))
        return Program([find("cjpeg"), "-quality", "95", "-sample", "2x1", "-arithmetic", image])

    def gawk(self):
        return Program([find("gawk"), "-f", self.work("awk", 0)[0], self.bytes_of("gawk", 17 * MEGABYTE)])

    def gnugo(self):
        moves = self.file("gnugo.gtp", lambda: go_commands(4 + self.scaled(7)))
        return Program([find("gnugo"), "--mode", "gtp", "--seed", "7", "--level", "5"], stdin=moves)

    def grep(self):
        return Program([find("grep"), "-Ec", r"([a-z])\1[a-z]*/.*(GET|id=[0-9a-f]*([0-9])\3)| 500 [0-9]{5,}$",
                        self.bytes_of("grep", 14 * MEGABYTE)])

    def gzip(self):
        return Program([find("gzip"), "-8c", self.bytes_of("gzip", 17 * MEGABYTE)])

    def jq(self):
        lines = self.file("jq.json", lambda: json_lines(self.scaled(36000)))
        return Program([find("jq"), "-c", "-n", "[inputs | select(.price > 20) | .tags[] as $t | {t: $t, p: .price, x: .at.x}]"
                        " | group_by(.t) | map({tag: .[0].t, n: length, sum: (map(.p) | add | floor), far: (map(.x) | max)})",
                        lines])

    def lua(self):
        return Program([find("lua5.4")] + self.work("lua", 600))

    def minisat(self):
        holes = min(HOLES, key=lambda n: abs(math.log(HOLES[n] / self.seconds)))
        return Program([find("minisat"), "-verb=0", self.file("minisat.cnf", lambda: colouring(holes + 1, holes))], status=20)

    def perl(self):
        return Program([find("perl")] + self.work("pl", 2300))

    def pigz(self, threads):
        return Program([find("pigz"), "-8c", "-p", str(threads), self.bytes_of("pigz", 17 * MEGABYTE)])

    def python3(self):
        return Program([find("python3")] + self.work("py", 3500))

    def sort(self):
        return Program([find("sort"), "--parallel=1", "-S", "1G", "-k8,8n", "-k7,7r", self.bytes_of("sort", 18 * MEGABYTE)])

    def sqlite3(self):
        sql = self.file("sqlite3.sql", lambda: queries(self.scaled(75000)))
        return Program([find("sqlite3"), "-batch", ":memory:"], stdin=sql)

    def xz(self):
        return Program([find("xz"), "-2c", "-T1", self.bytes_of("xz", 9 * MEGABYTE)])

    def zstd(self):
        return Program([find("zstd"), "-9qc", "--single-thread", self.bytes_of("zstd", 37 * MEGABYTE)])
