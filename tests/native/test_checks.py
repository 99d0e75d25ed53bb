#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tests of this folder can fail: given an engine that does nearly nothing wrong, each says so, and
given one that does nothing wrong, none does."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Stands for hotpath: runs the program behind "--", and changes a byte far into its output.
FAKE = r"""#!/usr/bin/python3 -IS
import os, subprocess, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(0)
argv = sys.argv[sys.argv.index("--") + 1:]
done = subprocess.run(argv, stdout=subprocess.PIPE)
out = bytearray(done.stdout)
if %(harm)d and out:
    out[len(out) * 3 // 4] ^= 1
sys.stdout.buffer.write(out)
sys.stdout.flush()
code = done.returncode
sys.exit(128 - code if code < 0 else code)
"""


class Checks(unittest.TestCase):
    def outcome(self, harm, *command):
        with tempfile.TemporaryDirectory(prefix="hotpath-checks-") as folder:
            os.chmod(folder, 0o755)
            path = os.path.join(folder, "hotpath")
            with open(path, "w", encoding="ascii") as file:
                file.write(FAKE % {"harm": harm})
            os.chmod(path, 0o755)
            env = dict(os.environ, HOTPATH=path, HOTPATH_TEST_ENGINE="native", HOTPATH_TEST_MODES="stream")
            done = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, env=env,
                                  timeout=300, universal_newlines=True, errors="replace")
            return done.returncode, done.stdout

    def both(self, expected, *command):
        self.assertEqual(self.outcome(0, *command)[0], 0)
        status, out = self.outcome(1, *command)
        self.assertEqual(status, 1)
        self.assertRegex(out, expected)

    def test_fuzz(self):
        """The program and the place are named."""
        self.both(r"seed 19, input 0: data\+\d+ alone", os.path.join(HERE, "fuzz.py"), "--seed",
                  "10", "--count", "15")

    def test_real(self):
        self.both(r"gzip +DIFFERENT\n +mode stream: gzip -dc .*at byte", os.path.join(HERE, "real.py"),
                  "--only", "gzip", "--modes", "stream")

    def test_breadth(self):
        self.both(r"gzip --help\n +stdout at byte", os.path.join(HERE, "..", "breadth", "run"), "--only",
                  "gzip")


if __name__ == "__main__":
    unittest.main(verbosity=2)
