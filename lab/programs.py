#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of the experiments, for `hotpath lab`: which there are, and a command for each with its input files.

    programs.py list                        NAME, package, what it stands for; one a line, tabs between
    programs.py command DIR FORM NAME       the command as lines "stdin FILE", "status N", "argument TEXT" ...

FORM is long (at least 2 billion instructions) or short (as little as the program can do). What is generated is kept
in DIR. Exit status 3: the program is not installed; its package is printed.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from inputs import Inputs  # noqa: E402

# Name: package, what it stands for, how large its long and its short input are (in seconds of inputs.py).
PROGRAMS = {
    "bzip2": ("bzip2", "SPEC bzip2", 0.50, 0.004),
    "cc1": ("gcc", "SPEC gcc: the C compiler proper", 0.42, 0.02),
    "cjpeg": ("libjpeg-turbo-progs", "SPEC ijpeg", 0.30, 0.004),
    "compress": ("ncompress", "SPEC compress", 4.3, 0.06),
    "djpeg": ("libjpeg-turbo-progs", "MiBench jpeg, decoding", 0.30, 0.004),
    "glpsol": ("glpk-utils", "numeric, sparse: linear programming in floating point", 1.15, 0.15),
    "gnugo": ("gnugo", "SPEC go", 0.45, 0.004),
    "gs": ("ghostscript", "Ghostview: PostScript to pixels", 0.27, 0.02),
    "gzip": ("gzip", "SPEC gzip", 0.60, 0.008),
    "lame": ("lame", "numeric, dense: transforms in floating point", 0.45, 0.004),
    "lua": ("lua5.4", "SPEC li: an interpreter", 0.25, 0.004),
    "madplay": ("madplay, lame", "MiBench mad", 0.25, 0.004),
    "minisat": ("minisat", "constraints: deltablue, SPEC parser", 0.7, 0.03),
    "perl": ("perl", "SPEC perl", 0.26, 0.004),
    "python3": ("python3", "an interpreter", 0.24, 0.002),
    "sqlite3": ("sqlite3", "SPEC vortex: a database", 0.36, 0.004),
    "tiff2bw": ("libtiff-tools", "MiBench tiff2bw", 0.25, 0.004),
    "tiff2rgba": ("libtiff-tools", "MiBench tiff2rgba", 0.25, 0.004),
    "tiffdither": ("libtiff-tools", "MiBench tiffdither", 0.36, 0.006),
    "tiffmedian": ("libtiff-tools", "MiBench tiffmedian", 0.25, 0.004),
    "xz": ("xz-utils", "compression with long matches", 0.70, 0.008),
}


def print_command(directory, form, name):
    package, _, long_seconds, short_seconds = PROGRAMS[name]
    try:
        program = Inputs(directory, long_seconds if form == "long" else short_seconds).program(name)
    except FileNotFoundError:
        print(package)
        return 3
    print("stdin %s" % os.path.abspath(program.stdin))
    print("status %d" % program.status)
    for argument in program.command:
        print("argument %s" % argument)
    return 0


def main(arguments):
    if arguments == ["list"]:
        for name, (package, stands_for, _, _) in PROGRAMS.items():
            print("%s\t%s\t%s" % (name, package, stands_for))
        return 0
    if len(arguments) == 4 and arguments[0] == "command" and arguments[2] in ("long", "short") and arguments[3] in PROGRAMS:
        try:
            return print_command(os.path.abspath(arguments[1]), *arguments[2:])
        except (OSError, subprocess.SubprocessError) as error:
            print("programs.py: %s" % error, file=sys.stderr)
            return 1
    print("usage: programs.py list | command DIR long|short NAME", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
