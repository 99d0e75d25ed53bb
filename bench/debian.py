# SPDX-License-Identifier: MIT
"""Programs built from Debian's sources, without Debian's patches: to try optimisers, and to be instrumented by others."""

import glob
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field

from inputs import find
from timing import Failure


@dataclass
class Recipe:
    """How a program is made: by one command of its sources, or by commands of its own."""

    package: str
    generate: str = None  # makes generated sources, in the unpacked tree
    sources: list = field(default_factory=list)
    unwanted: list = field(default_factory=list)  # what is among them but not part of the program
    flags: list = field(default_factory=list)
    language: str = "c"
    # Or these, run in an empty folder. $SRC is the tree; $CC, $PLAIN the compiler and its flags, $FLAGS what else the
    # program, but nothing that `configure` tries, is compiled and linked with; $LINK is for linking only.
    build: str = None
    result: str = None  # where they leave the program


CONFIGURE = '"$SRC/configure" CC="$CC" CFLAGS="$PLAIN" LDFLAGS="$LINK" '
MAKE = 'make -j2 CFLAGS="$PLAIN $FLAGS" LDFLAGS="$LINK $FLAGS" '

SOURCES = {
    "bzip2": Recipe("bzip2", None, ["*.c"], ["bzip2recover.c", "dlltest.c", "mk251.c", "spewG.c", "unzcrash.c"],
                    ["-D_FILE_OFFSET_BITS=64"]),
    "cjpeg": Recipe("libjpeg-turbo", result="cjpeg-static", build="""
        cmake -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="$PLAIN $FLAGS $LINK" \
            -DCMAKE_POSITION_INDEPENDENT_CODE=OFF -DENABLE_SHARED=OFF -DREQUIRE_SIMD=ON "$SRC"
        make -j2 cjpeg-static"""),
    "gnugo": Recipe("gnugo", result="interface/gnugo", build="""
        cp -r "$SRC/." . && ./configure CC="$CC" CFLAGS="$PLAIN -fcommon" LDFLAGS="$LINK" --without-readline
        make -j2 CFLAGS="$PLAIN -fcommon $FLAGS" LDFLAGS="$LINK $FLAGS"
        """),
    "gzip": Recipe("gzip", result="gzip", build=CONFIGURE + "&&" + MAKE),
    "lua": Recipe("lua5.4", None, ["src/*.c"], ["luac.c"], ["-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3", "-lm", "-ldl"]),
    # A default argument moves from a friend's declaration, where only old compilers take it.
    "minisat": Recipe("minisat2", "sed -i '/friend.*mkLit/s/ = false//; /inline.*mkLit/s/bool sign/& = false/'"
                      " minisat/core/SolverTypes.h", ["minisat/simp/*.cc", "minisat/core/Solver.cc", "minisat/utils/*.cc"], [],
                      ["-I.", "-std=gnu++98", "-D__STDC_LIMIT_MACROS", "-D__STDC_FORMAT_MACROS", "-lz"], "c++"),
    # With threads, as Debian's; its modules are those of Debian's perl, which has the same version.
    "perl": Recipe("perl", result="perl", build="""
        modules=$(perl -MConfig -e 'print "-Dprivlib=$Config{privlib} -Darchlib=$Config{archlib}"')
        sh "$SRC/Configure" -des -Dmksymlinks -Dusethreads -Uusedl -Dcc="$CC" -Doptimize="$PLAIN" -Dldflags="$LINK" $modules
        make -j2 OPTIMIZE="$PLAIN $FLAGS" CLDFLAGS="$LINK $FLAGS" perl"""),
    # The modules that are used are part of the program, as in Debian's.
    "python3": Recipe("python3.11", result="python", build="""
        mkdir Modules && printf '%s\\n' '*static*' '_json _json.c' '_struct _struct.c' '_random _randommodule.c' \
            '_heapq _heapqmodule.c' '_bisect _bisectmodule.c' 'math mathmodule.c -lm' >Modules/Setup.local
        """ + CONFIGURE + """ --without-ensurepip
        make -j2 CFLAGS="$PLAIN $FLAGS" LDFLAGS="$LINK $FLAGS" python pybuilddir.txt"""),
    "sqlite3": Recipe("sqlite3", "./configure --disable-tcl >/dev/null && make sqlite3.c shell.c >/dev/null",
                      ["sqlite3.c", "shell.c"], [], ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-lm"]),
    "xz": Recipe("xz-utils", result="src/xz/xz", build=CONFIGURE + "--disable-shared --disable-nls --disable-doc &&" + MAKE),
    "zstd": Recipe("libzstd", None, ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "lib/decompress/*.S",
                                     "lib/dictBuilder/*.c", "programs/*.c"], [],
                   ["-DZSTD_NOLEGACY", "-DZSTD_LEGACY_SUPPORT=0", "-Ilib", "-Ilib/common", "-Iprograms"]),
}


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failure("%s: %s" % (command if isinstance(command, str) else " ".join(command[:3]),
                                  done.stdout.decode(errors="replace").strip()[-300:]))
    return done.stdout.decode(errors="replace")


def find_bolt():
    """BOLT, by its own path and not by a link to it: it looks for what it links into programs beside itself."""
    return os.path.realpath(find("llvm-bolt-19"))


class Apt:
    """apt, with the sources of the packages that the machine may install; nothing of the machine is changed."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        self.options = ["-qq", "-o", "Dir::Etc::SourceList=/dev/null", "-o", "APT::Sandbox::User=root",
                        "-o", "Dir::Etc::SourceParts=" + os.path.join(self.directory, "parts"),
                        "-o", "Dir::State::Lists=" + os.path.join(self.directory, "lists"),
                        "-o", "Dir::Cache=" + os.path.join(self.directory, "cache")]
        for part in ("parts", "lists/partial", "cache/archives/partial"):
            os.makedirs(os.path.join(self.directory, part), exist_ok=True)

    def write_parts(self):
        """The machine's own lists, but of sources."""
        for path in glob.glob("/etc/apt/sources.list.d/*.sources") + glob.glob("/etc/apt/sources.list"):
            with open(path) as file:
                lines = ["Types: deb-src\n" if line.startswith("Types:") else
                         "deb-src" + line[3:] if line.startswith("deb ") else line for line in file]
            name = "list.list" if path.endswith(".list") else os.path.basename(path)
            with open(os.path.join(self.directory, "parts", name), "w") as file:
                file.writelines(lines)

    def fetch(self, package, into):
        if not os.listdir(os.path.join(self.directory, "parts")):
            self.write_parts()
            subprocess.run(["apt-get"] + self.options + ["update"], stderr=subprocess.DEVNULL)
        get = ["apt-get"] + self.options + ["source", "--download-only", "--tar-only"]
        known = subprocess.run(["apt-cache"] + self.options + ["showsrc", package], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout
        versions = [line.split()[1] for line in known.splitlines() if line.startswith("Version:")]
        failure = Failure("there is no source package %s" % package)
        for version in reversed(versions):  # a mirror may not have the newest
            try:
                return run(get + ["%s=%s" % (package, version)], cwd=into)
            except Failure as why:
                failure = why
        raise failure


class Sources:
    """The sources of one program, unpacked and complete in `directory`."""

    def __init__(self, name, directory, apt):
        self.name = name
        self.recipe = SOURCES[name]
        self.directory = os.path.join(os.path.abspath(directory), name)
        if not os.path.exists(self.directory):
            self.unpack(apt)

    def unpack(self, apt):
        aside = self.directory + ".new"
        shutil.rmtree(aside, ignore_errors=True)
        os.makedirs(aside)
        apt.fetch(self.recipe.package, aside)
        archive = glob.glob(os.path.join(aside, "*.orig.tar.?z"))
        if len(archive) != 1:
            raise Failure("the source package %s has not one archive" % self.recipe.package)
        tree = os.path.join(aside, "tree")
        os.makedirs(tree)
        run(["tar", "xf", archive[0], "-C", tree, "--strip-components=1"])
        if self.recipe.generate:
            run(["sh", "-c", self.recipe.generate], cwd=tree)
        os.rename(tree, self.directory)
        shutil.rmtree(aside)

    def compile(self, compiler, flags, output):
        """All of it by one command, so that nothing of another way to compile it is left over."""
        recipe = self.recipe
        files = [path for pattern in recipe.sources for path in sorted(glob.glob(os.path.join(self.directory, pattern)))
                 if os.path.basename(path) not in recipe.unwanted]
        files = [os.path.relpath(path, self.directory) for path in files]
        own = [flag for flag in recipe.flags if not flag.startswith("-l")]
        libraries = [flag for flag in recipe.flags if flag.startswith("-l")]
        if recipe.language == "c++":
            compiler = compiler.replace("gcc", "g++").replace("clang", "clang++")
        return run([compiler, "-O2", "-w"] + flags + own + files + ["-o", os.path.abspath(output)] + libraries,
                   cwd=self.directory)

    def build(self, compiler, plain, flags, link, folder):
        """The program in `folder`, made by one command or by its own. `flags` are what is tried, `link` is for linking
        only. Returns its path."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if not self.recipe.build:
            path = os.path.join(folder, self.name)
            self.compile(compiler, plain + flags + link, path)
            return path
        words = {"SRC": self.directory, "CC": compiler, "PLAIN": shlex.join(["-O2", "-w"] + plain),
                 "FLAGS": shlex.join(flags), "LINK": shlex.join(link), "LC_ALL": "C"}
        run(["sh", "-e", "-c", self.recipe.build], cwd=folder, env=dict(os.environ, **words), stdin=subprocess.DEVNULL)
        return os.path.join(folder, self.recipe.result)
