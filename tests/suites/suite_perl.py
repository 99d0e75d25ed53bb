# SPDX-License-Identifier: MIT
"""perl's own tests, with Debian's perl: see `prepare perl`."""
import os

from suite import Suite, Test, tap

# Tests of the source tree itself, or of what takes many minutes.
NEVER = ("porting/", "bigmem/", "benchmark/", "x2p/", "japh/", "test_pl/", "re/uniprops", "lib/croak/")


class Perl(Suite):
    name = "perl"
    about = "t/ and lib/ of Debian's source package perl, with the perl that is installed"
    limit = 120

    def missing(self):
        if self.folder and os.path.isdir(os.path.join(self.folder, "t")):
            return None
        return "a folder made by `prepare perl FOLDER`"

    def tests(self):
        tests = os.path.join(self.folder, "t")
        for top, folders, files in os.walk(self.folder):
            folders.sort()
            for name in sorted(files):
                path = os.path.relpath(os.path.join(top, name), tests)
                if name.endswith(".t") and not path.startswith(NEVER):
                    yield Test(path.replace("../", ""), ["perl", "-I../lib", path], folder=tests,
                               env={"PERL_CORE": "1", "PERL_HASH_SEED": "0"})

    def outcome(self, test, status, output, scratch):
        found = {"status": status}
        results = tap(output)
        found["tests"] = len(results)
        found.update({name: result for name, result in results.items() if result != "ok"})
        return found
