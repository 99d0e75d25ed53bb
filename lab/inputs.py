# SPDX-License-Identifier: MIT
"""Real programs and their inputs, for the experiments and the measurements: generated, the same everywhere, no
network."""

import math
import os
import random
import shlex
import shutil
import struct
import subprocess
from dataclasses import dataclass, replace

import csource

MEGABYTE = 1 << 20


@dataclass
class Program:
    command: list
    stdin: str = os.devnull
    status: int = 0
    several: bool = False  # its children belong to it

    def under(self, prefix):
        """The same, with the command in front."""
        return replace(self, command=prefix + self.command)


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


def picture_rows(width, height):
    """Rows of smooth colour with noise, three bytes a pixel: each is a window into one long strip."""
    rng = random.Random(2)
    strip = bytearray()
    for x in range(4 * width):
        for channel in range(3):
            value = 128 + 90 * math.sin(x / (37 + 11 * channel)) + 25 * math.sin(x / 5.3) + rng.gauss(0, 4)
            strip.append(max(0, min(255, int(value))))
    for y in range(height):
        start = 3 * int(1.5 * width * (1 + math.sin(y / 90)))
        yield bytes(strip[start : start + 3 * width])


def picture(width, height):
    """A PPM of them."""
    return b"".join([b"P6\n%d %d\n255\n" % (width, height), *picture_rows(width, height)])


def tiff(width, height, grey=False):
    """The same as a TIFF, or only its green: not compressed, but below the 256th strip they come again, from the same
    place in the file."""
    samples, in_strip, different = 1 if grey else 3, 16, 256
    height = (height + in_strip - 1) // in_strip * in_strip
    rows = [row[1::3] if grey else row for row in picture_rows(width, min(height, different * in_strip))]
    strips = [b"".join(rows[y : y + in_strip]) for y in range(0, len(rows), in_strip)]
    count = height // in_strip
    short, long = 3, 4  # types of fields
    table = 8 + 2 + 12 * 11 + 4  # where what does not fit into a field begins: sizes of samples, offsets, lengths
    offsets, lengths = table + 8, table + 8 + 4 * count
    data, size = lengths + 4 * count, in_strip * width * samples
    starts = [data + i % different * size for i in range(count)]
    fields = [
        (256, long, 1, width),
        (257, long, 1, height),
        (258, short, samples, 8 if grey else table),
        (259, short, 1, 1),  # not compressed
        (262, short, 1, 1 if grey else 2),  # black is 0, or RGB
        (273, long, count, starts[0] if count == 1 else offsets),
        (277, short, 1, samples),
        (278, long, 1, in_strip),
        (279, long, count, size if count == 1 else lengths),
        (284, short, 1, 1),
        (296, short, 1, 1),
    ]
    head = struct.pack("<2sHIH", b"II", 42, 8, len(fields)) + b"".join(struct.pack("<HHII", *f) for f in fields)
    head += struct.pack("<IHHHH", 0, 8, 8, 8, 0)
    head += struct.pack("<%dI" % count, *starts) + struct.pack("<%dI" % count, *[size] * count)
    return head + b"".join(strips)


def pages(number):
    """PostScript: on each page a column of text in several fonts, curves, a chart and shadings."""
    rng = random.Random(8)
    fonts = ["Times-Roman", "Helvetica-Bold", "Courier", "Times-Italic"]
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(rng.choices(letters, range(26, 0, -1), k=rng.randint(2, 11))) for _ in range(800)]
    lines = ["%!PS-Adobe-3.0", "%%%%Pages: %d" % number, "%%EndComments"]
    for page in range(number):
        lines.append("%%%%Page: %d %d" % (page + 1, page + 1))
        lines.append("gsave 40 60 240 120 rectclip << /ShadingType 2 /ColorSpace /DeviceRGB /Coords [40 60 280 180]")
        lines.append("/Function << /FunctionType 2 /Domain [0 1] /C0 [%.2f .2 .4] /C1 [.9 %.2f .3] /N 1.4 >> >> shfill grestore"
                     % (rng.random(), rng.random()))
        lines.append("gsave 320 60 240 120 rectclip << /ShadingType 3 /ColorSpace /DeviceRGB /Coords [440 120 5 440 120 130]")
        lines.append("/Function << /FunctionType 2 /Domain [0 1] /C0 [1 1 %.2f] /C1 [.1 .3 .5] /N 1 >> >> shfill grestore"
                     % rng.random())
        for y in range(56):
            text = " ".join(rng.choices(words, k=12))
            lines.append("/%s findfont %d scalefont setfont 0 setgray 40 %d moveto (%s) show"
                         % (fonts[(page + y // 14) % 4], 8 + y // 14, 760 - 9 * y, text))
        for _ in range(60):
            points = " ".join("%d" % rng.randrange(200, 560) for _ in range(6))
            lines.append("%.1f setlinewidth %.2f %.2f %.2f setrgbcolor %d %d moveto %s curveto %s"
                         % (rng.uniform(0.2, 3), rng.random(), rng.random(), rng.random(), rng.randrange(40, 560),
                            rng.randrange(200, 700), points, rng.choice(["stroke", "stroke", "closepath fill"])))
        lines.append("0 1 39 { dup 12 mul 60 add 200 moveto 7 mul 31 mod 4 mul 0 exch rlineto stroke } for")
        lines.append("showpage")
    return "\n".join(lines + ["%%EOF"]).encode() + b"\n"


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


def formula(variables, ratio):
    """A random 3-SAT formula with `ratio` clauses a variable, in DIMACS form."""
    rng = random.Random(5)
    lines = ["p cnf %d %d" % (variables, int(variables * ratio))]
    for _ in range(int(variables * ratio)):
        lines.append("%d %d %d 0" % tuple(v * rng.choice((1, -1)) for v in rng.sample(range(1, variables + 1), 3)))
    return "\n".join(lines).encode() + b"\n"


# Seconds natively, variables, clauses a variable: how hard a formula is has to be tried.
FORMULAS = [(0.05, 200, 4.5), (0.2, 220, 4.5), (0.7, 240, 4.5), (3.1, 260, 4.6)]


def formula_of(seconds):
    """The arguments of the formula nearest to `seconds`."""
    return min(FORMULAS, key=lambda entry: abs(math.log(entry[0] / seconds)))[1:]


def go_moves(moves):
    """Commands for a Go program that plays both sides, from an empty board every 24 moves."""
    lines = ["boardsize 13"]
    for number in range(moves):
        if number % 24 == 0:
            lines.append("clear_board")
        lines.append("genmove %s" % ("white" if number % 2 else "black"))
    return "\n".join(lines + ["quit"]).encode() + b"\n"


def linear_program(rows):
    """A linear program in the form of CPLEX: most profit from `rows` scarce things; feasible, bounded."""
    rng = random.Random(6)
    columns = 2 * rows
    uses = [[] for _ in range(rows)]
    for column in range(columns):
        for row in rng.sample(range(rows), 8):
            uses[row].append("%.3f x%d" % (rng.uniform(0.5, 9.5), column))
    lines = ["Maximize", " profit:"]
    lines += [" + %.3f x%d" % (rng.uniform(1, 20), column) for column in range(columns)]
    lines.append("Subject To")
    for row, terms in enumerate(uses):
        lines.append(" r%d:" % row)
        lines += ["  + " + term for term in terms or ["1 x0"]]
        lines.append("  <= %.3f" % rng.uniform(100, 1000))
    return "\n".join(lines + ["End"]).encode() + b"\n"


def sound(seconds):
    """A WAV file, 44.1 kHz, stereo: blocks of notes, each a window into one long strip."""
    rng = random.Random(7)
    rate, block = 44100, 2205
    strip = []
    for t in range(4 * rate):
        note = 110 * 2 ** ((t // 5000) % 24 / 12)
        wave = sum(math.sin(2 * math.pi * note * k * t / rate) / k for k in (1, 2, 3, 5))
        strip.append(int(7000 * wave + rng.gauss(0, 250)))
    frames = []
    for _ in range(int(seconds * rate) // block):
        left, right = rng.randrange(len(strip) - block), rng.randrange(len(strip) - block)
        pairs = zip(strip[left : left + block], strip[right : right + block])
        frames.append(struct.pack("<%dh" % (2 * block), *(max(-32768, min(32767, v)) for pair in pairs for v in pair)))
    data = b"".join(frames)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 2, rate, 4 * rate, 4, 16)
    return struct.pack("<4sI4s", b"RIFF", 36 + len(data), b"WAVE") + form + struct.pack("<4sI", b"data", len(data)) + data


def write_once(path, make):
    if not os.path.exists(path):
        content = make()
        with open(path + ".new", "wb") as file:
            file.write(content)
        os.rename(path + ".new", path)
    return path


def find(name):
    """The distribution's program, if there is one: a wrapper found earlier in PATH would be measured instead."""
    path = shutil.which(name, path="/usr/bin:/bin:/usr/games") or shutil.which(name)
    if not path:
        raise FileNotFoundError("%s is not installed: scripts/packages bench" % name)
    return path


def find_compiler(name="cc1"):
    """The C or C++ compiler proper, without the driver."""
    done = subprocess.run([find("gcc"), "-print-prog-name=" + name], stdout=subprocess.PIPE, check=True, text=True)
    return find(done.stdout.strip())


class Inputs:
    """Commands that take about `seconds` each natively, with their input files, which are written once."""

    folder = "inputs"

    def __init__(self, directory, seconds):
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.directory = os.path.join(directory, "%s-%g" % (self.folder, seconds))
        self.seconds = seconds
        os.makedirs(self.directory, exist_ok=True)

    def scaled(self, per_second):
        return max(1, int(per_second * self.seconds))

    def file(self, name, make):
        return write_once(os.path.join(self.directory, name), make)

    def script(self, name, per_second):
        return [os.path.join(self.here, name), str(self.scaled(per_second))]

    def bytes_of(self, name, per_second):
        return self.file(name + ".data", lambda: mixed_bytes(self.scaled(per_second)))

    def output(self, name):
        """A file for a program that cannot write to a pipe."""
        return os.path.join(self.directory, "out-" + name)

    def converted(self, name, make, command):
        """A file that a program makes of what `make` gives: its command is told both paths."""
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            source = write_once(path + ".source", make)
            subprocess.run(command(source, path + ".new"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
            os.remove(source)
            os.rename(path + ".new", path)
        return path

    def compiled(self, source):
        """A program of ours, of a C file beside this one."""
        source = os.path.join(self.here, source)
        path = os.path.join(self.directory, os.path.splitext(os.path.basename(source))[0])
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
            subprocess.run([find("gcc"), "-O2", "-g", "-fno-tree-vectorize", "-o", path + ".new", source], check=True)
            os.rename(path + ".new", path)
        return path

    def colour_tiff(self, per_second):
        return self.file("colour-%d.tiff" % per_second, lambda: tiff(960, self.scaled(per_second)))

    def program(self, name):
        return getattr(self, name.replace("-", "_"))()

    # --- The programs, alphabetically ---

    def bzip2(self):
        return Program([find("bzip2"), "-9c", self.bytes_of("bzip2", 14 * MEGABYTE)])

    def cc1(self):
        source = self.file("cc1.i", lambda: csource.c_file(self.scaled(40)))
        return Program([find_compiler(), "-quiet", "-w", "-O2", "-fpreprocessed", source, "-o", "-"])

    def cjpeg(self):
        image = self.file("cjpeg.ppm", lambda: picture(4000, self.scaled(4200)))
        return Program([find("cjpeg"), "-quality", "98", "-progressive", "-sample", "1x1", image])

    def compress(self):
        return Program([find("compress"), "-c", self.bytes_of("compress", 20 * MEGABYTE)])

    def djpeg(self):
        cjpeg = find("cjpeg")
        image = self.converted("djpeg.jpeg", lambda: picture(960, min(65000, self.scaled(200000))),
                               lambda source, path: [cjpeg, "-quality", "90", "-outfile", path, source])
        return Program([find("djpeg"), image])

    def glpsol(self):
        model = self.file("glpsol.lp", lambda: linear_program(20 + self.scaled(900)))
        return Program([find("glpsol"), "--nopresol", "--lp", model])

    def gnugo(self):
        moves = self.file("gnugo.gtp", lambda: go_moves(6 + self.scaled(38)))
        return Program([find("gnugo"), "--mode", "gtp", "--seed", "1", "--level", "1"], stdin=moves)

    def gs(self):
        script = self.file("gs.ps", lambda: pages(self.scaled(90)))
        return Program([find("gs"), "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r150",
                        "-sOutputFile=" + os.devnull, script])

    def gzip(self):
        return Program([find("gzip"), "-6c", self.bytes_of("gzip", 28 * MEGABYTE)])

    def lame(self):
        wave = self.file("lame.wav", lambda: sound(2 + self.scaled(40)))
        return Program([find("lame"), "--quiet", "-b", "128", wave, "-"])

    def lua(self):
        return Program([find("lua5.4")] + self.script("workload.lua", 155))

    def madplay(self):
        lame = find("lame")
        song = self.converted("madplay.mp3", lambda: sound(1 + self.scaled(400)),
                              lambda source, path: [lame, "--quiet", "-b", "128", source, path])
        return Program([find("madplay"), "-Q", "-o", "raw:" + os.devnull, song])

    def minisat(self):
        clauses = self.file("minisat.cnf", lambda: formula(*formula_of(self.seconds)))
        return Program([find("minisat"), "-verb=0", clauses], status=20)  # unsatisfiable

    def perl(self):
        return Program([find("perl")] + self.script("workload.pl", 195))

    def pigz(self, threads):
        return Program([find("pigz"), "-6c", "-p", str(threads), self.bytes_of("pigz", 30 * MEGABYTE)])

    def python3(self):
        return Program([find("python3")] + self.script("workload.py", 780))

    def several(self):
        """Four programs, one after the other begun, all at once."""
        commands = [self.program(name).command for name in ("gzip", "bzip2", "lua", "perl")]
        return Program([find("sh"), "-c", "".join("%s >/dev/null & " % shlex.join(c) for c in commands) + "wait"], several=True)

    def skid(self):
        return Program([self.compiled("skid.c"), str(self.scaled(1000000))])

    def sqlite3(self):
        sql = self.file("sqlite3.sql", lambda: statements(self.scaled(180000)))
        return Program([find("sqlite3"), "-batch", ":memory:"], stdin=sql)

    def three_loops(self):
        return Program([self.compiled("three_loops.c"), str(self.scaled(10000))])

    def tiff2bw(self):
        return Program([find("tiff2bw"), self.colour_tiff(400000), self.output("tiff2bw.tiff")])

    def tiff2rgba(self):
        return Program([find("tiff2rgba"), "-b", "-c", "none", self.colour_tiff(400000), self.output("tiff2rgba.tiff")])

    def tiffdither(self):
        grey = self.file("grey.tiff", lambda: tiff(960, self.scaled(50000), grey=True))
        return Program([find("tiffdither"), "-c", "g4", grey, self.output("tiffdither.tiff")])

    def tiffmedian(self):
        return Program([find("tiffmedian"), self.colour_tiff(160000), self.output("tiffmedian.tiff")])

    def xz(self):
        return Program([find("xz"), "-1c", "-T1", self.bytes_of("xz", 12 * MEGABYTE)])
