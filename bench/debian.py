# SPDX-License-Identifier: MIT
"""Programs built from Debian's sources, as they are needed to try optimisers: fetched, unpacked, compiled in one command each."""

import glob
import os
import shutil
import subprocess

from timing import Failure

# Name: source package; a command that makes generated sources; the sources, what is among them but not wanted; flags.
SOURCES = {
    "bzip2": ("bzip2", None, ["*.c"], ["bzip2recover.c", "dlltest.c", "mk251.c", "spewG.c", "unzcrash.c"],
              ["-D_FILE_OFFSET_BITS=64"]),
    "lua": ("lua5.4", None, ["src/*.c"], ["luac.c"], ["-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3", "-lm", "-ldl"]),
    "sqlite3": ("sqlite3", "./configure --disable-tcl >/dev/null && make sqlite3.c shell.c >/dev/null",
                ["sqlite3.c", "shell.c"], [], ["-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION", "-lm"]),
    "zstd": ("libzstd", None, ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "lib/decompress/*.S",
                               "lib/dictBuilder/*.c", "programs/*.c"], [],
             ["-DZSTD_NOLEGACY", "-DZSTD_LEGACY_SUPPORT=0", "-Ilib", "-Ilib/common", "-Iprograms"]),
}


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise Failure("%s: %s" % (command if isinstance(command, str) else " ".join(command[:3]),
                                  done.stdout.decode(errors="replace").strip()[-300:]))
    return done.stdout.decode(errors="replace")


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
        run(["apt-get"] + self.options + ["source", "--download-only", package], cwd=into)


class Sources:
    """The sources of one program, unpacked and complete in `directory`."""

    def __init__(self, name, directory, apt):
        self.name = name
        self.package, self.generate, self.patterns, self.unwanted, self.flags = SOURCES[name]
        self.directory = os.path.join(directory, name)
        if not os.path.exists(self.directory):
            self.unpack(apt)

    def unpack(self, apt):
        aside = self.directory + ".new"
        shutil.rmtree(aside, ignore_errors=True)
        os.makedirs(aside)
        apt.fetch(self.package, aside)
        archive = glob.glob(os.path.join(aside, "*.orig.tar.?z"))
        if len(archive) != 1:
            raise Failure("the source package %s has not one archive" % self.package)
        tree = os.path.join(aside, "tree")
        os.makedirs(tree)
        run(["tar", "xf", archive[0], "-C", tree, "--strip-components=1"])
        if self.generate:
            run(["sh", "-c", self.generate], cwd=tree)
        os.rename(tree, self.directory)
        shutil.rmtree(aside)

    def compile(self, compiler, flags, output):
        """All of it by one command, so that nothing of another way to compile it is left over."""
        files = [path for pattern in self.patterns for path in sorted(glob.glob(os.path.join(self.directory, pattern)))
                 if os.path.basename(path) not in self.unwanted]
        files = [os.path.relpath(path, self.directory) for path in files]
        own = [flag for flag in self.flags if not flag.startswith("-l")]
        libraries = [flag for flag in self.flags if flag.startswith("-l")]
        return run([compiler, "-O2", "-w"] + flags + own + files + ["-o", os.path.abspath(output)] + libraries,
                   cwd=self.directory)
