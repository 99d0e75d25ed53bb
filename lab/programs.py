#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of the experiments, for `hotpath lab`: which there are, and a command for each with its input files.

    programs.py list                        NAME, package, what it stands for; one a line, tabs between
    programs.py command DIR FORM NAME [arm] the command as lines "stdin FILE", "status N", "argument TEXT" ...; of one that
                                            has children "several 1"; of a program for ARM also "arch arm", "sysroot DIR"

FORM is long (at least a billion instructions) or short (as little as the program can do). What is generated is kept
in DIR. Exit status 3: the program is not installed; a line says where it is to be had.
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
    "several": ("bzip2, gzip, lua5.4, perl", "several processes at once", 0.12, 0.004),
    "skid": ("gcc", "the loop of ProfileMe's figure 2: a load and nops", 0.4, 0.01),
    "sqlite3": ("sqlite3", "SPEC vortex: a database", 0.36, 0.004),
    "three-loops": ("gcc", "three loops for ProfileMe's figure 7", 0.02, 0.004),
    "tiff2bw": ("libtiff-tools", "MiBench tiff2bw", 0.25, 0.004),
    "tiff2rgba": ("libtiff-tools", "MiBench tiff2rgba", 0.25, 0.004),
    "tiffdither": ("libtiff-tools", "MiBench tiffdither", 0.36, 0.006),
    "tiffmedian": ("libtiff-tools", "MiBench tiffmedian", 0.25, 0.004),
    "xz": ("xz-utils", "compression with long matches", 0.70, 0.008),
}


def in_sysroot(directory, command):
    """The same program for ARM, and where its libraries are; as arm-sysroot makes it. FileNotFoundError: it is not there."""
    sysroot = os.path.join(directory, "arm")
    path = sysroot + command[0]
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(path)
    return sysroot, [path] + command[1:]


def print_command(directory, form, name, arch=None):
    package, _, long_seconds, short_seconds = PROGRAMS[name]
    try:
        program = Inputs(directory, long_seconds if form == "long" else short_seconds).program(name)
    except FileNotFoundError:
        print("it is in the package %s" % package)
        return 3
    if arch:
        try:
            sysroot, program.command = in_sysroot(directory, program.command)
        except FileNotFoundError as error:
            print("there is no %s: lab/arm-sysroot %s fetches what there is for ARM" % (error, directory))
            return 3
        print("arch %s" % arch)
        print("sysroot %s" % sysroot)
    print("stdin %s" % os.path.abspath(program.stdin))
    print("status %d" % program.status)
    if program.several:
        print("several 1")
    for argument in program.command:
        print("argument %s" % argument)
    return 0


def main(arguments):
    if arguments == ["list"]:
        for name, (package, stands_for, _, _) in PROGRAMS.items():
            print("%s\t%s\t%s" % (name, package, stands_for))
        return 0
    if (len(arguments) in (4, 5) and arguments[0] == "command" and arguments[2] in ("long", "short")
            and arguments[3] in PROGRAMS and arguments[4:] in ([], ["arm"])):
        try:
            return print_command(os.path.abspath(arguments[1]), *arguments[2:])
        except (OSError, subprocess.SubprocessError) as error:
            print("programs.py: %s" % error, file=sys.stderr)
            return 1
    print("usage: programs.py list | command DIR long|short NAME [arm]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
