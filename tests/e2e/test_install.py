# SPDX-License-Identifier: MIT
"""Installing, and what is released: an installed hotpath needs nothing of the build; packages have all of it; the
archive needs no npm; a copied build directory is its own."""
import fnmatch
import os
import shutil
import tarfile
import tempfile
import unittest

from lib import HOTPATH, SRC, run

BUILD = os.path.dirname(os.path.abspath(HOTPATH))
PACKAGES = ["hotpath", "libhotpath-dev"]


class Scratch(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="hotpath-install-")
        self.addCleanup(self.scratch.cleanup)
        self.dir = self.scratch.name

    def check(self, *args, **options):
        done = run(args, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done


class Installed(Scratch):
    def stage(self):
        self.check("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": self.dir + "/stage"})
        return self.dir + "/stage"

    def test_needs_nothing_of_the_build(self):
        os.rename(self.stage(), self.dir + "/elsewhere")
        command = self.dir + "/elsewhere/usr/bin/hotpath"
        profile = self.dir + "/p.hotpath"
        outside = {"cwd": self.dir, "env": {"PATH": os.environ["PATH"], "HOME": self.dir,
                                            "ASAN_OPTIONS": "detect_leaks=0"}}  # it refuses to be traced
        strace = shutil.which("strace")
        watched = [strace, "-f", "-e", "trace=%file", "-o", self.dir + "/calls"] if strace else []
        self.check(*watched, command, "record", "-q", "--machine", "modern", "-o", profile, "--", "true", **outside)
        if os.path.exists(BUILD + "/page.html"):
            self.check(*watched, command, "html", profile, "-o", self.dir + "/p.html", **outside)
        if strace:
            with open(self.dir + "/calls", errors="replace") as calls:
                opened = [line for line in calls if BUILD + "/" in line and "= -1" not in line]
            self.assertEqual(opened, [])

    def test_each_file_is_in_one_package(self):
        stage = self.stage() + "/"
        patterns = {}
        for package in PACKAGES:
            with open(os.path.join(SRC, "debian", package + ".install")) as file:
                patterns[package] = file.read().split()
        multiarch = {"usr/lib/libhotpath.a": "usr/lib/x/libhotpath.a",
                     "usr/lib/pkgconfig/hotpath.pc": "usr/lib/x/pkgconfig/hotpath.pc"}  # as debian/rules has it
        for folder, _, names in os.walk(stage):
            for name in names:
                path = os.path.join(folder, name)[len(stage):]
                path = multiarch.get(path, path)
                holders = [package for package in PACKAGES for pattern in patterns[package]
                           if fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, pattern + "/*")]
                self.assertEqual(len(holders), 1, path)


class Archive(Scratch):
    def test_holds_the_page_and_is_the_same_each_time(self):
        if not os.path.exists(BUILD + "/page.html") or not os.path.exists(SRC + "/.git"):
            self.skipTest("no git checkout, or no page")
        contents = []
        for out in (self.dir + "/a", self.dir + "/b"):
            path = self.check(SRC + "/scripts/dist", BUILD, out).stdout.splitlines()[-1]
            with open(path, "rb") as file:
                contents.append(file.read())
        self.assertEqual(contents[0], contents[1])
        with tarfile.open(path) as archive:
            names = archive.getnames()
        top = names[0].split("/")[0]
        for name in ("CMakeLists.txt", "page.html", "debian/rules", "src/cli/main.c"):
            self.assertIn(top + "/" + name, names)
        self.assertFalse([name for name in names if "node_modules" in name or "/.git/" in name])

    def test_without_git_says_so(self):
        shutil.copytree(SRC + "/scripts", self.dir + "/scripts")
        done = run([self.dir + "/scripts/dist", self.dir], env={**os.environ, "GIT_CEILING_DIRECTORIES": "/"}, cwd=self.dir)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("git checkout", done.stderr)


class Copied(Scratch):
    def make_tree(self):
        tree = self.dir + "/first"
        os.makedirs(tree + "/scripts")
        shutil.copy(SRC + "/scripts/configure", tree + "/scripts")
        with open(tree + "/CMakeLists.txt", "w") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(small NONE)\n"
                       "add_custom_target(where ALL COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/made)\n")
        return tree

    def build(self, tree):
        self.check("scripts/configure", "build", cwd=tree)
        self.check("ninja", "-C", "build", cwd=tree)

    def test_builds_in_its_own_place(self):
        first, second = self.make_tree(), self.dir + "/second"
        self.build(first)
        shutil.copytree(first, second)
        for tree in (first, second):
            os.unlink(tree + "/build/made")
        self.build(second)
        self.assertTrue(os.path.exists(second + "/build/made"))
        self.assertFalse(os.path.exists(first + "/build/made"))

    def test_is_configured_once(self):
        tree = self.make_tree()
        self.build(tree)
        self.assertEqual(self.check("scripts/configure", "build", cwd=tree).stdout, "")


if __name__ == "__main__":
    unittest.main()
