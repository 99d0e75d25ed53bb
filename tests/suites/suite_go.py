# SPDX-License-Identifier: MIT
"""Go's standard library: `go test -c` of each package (by `prepare go`), run in its source folder."""
import os
import re
import shutil

from suite import Suite, Test, executables


class Go(Suite):
    name = "go"
    about = "Debian's golang: the tests of the standard library, -test.short"
    limit = 300

    def missing(self):
        if not shutil.which("go"):
            return "the package golang-go"
        if self.folder and any(executables(self.folder, "*.test")):
            return None
        return "a folder made by `prepare go FOLDER`"

    def tests(self):
        source = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("go")))), "src")
        if not os.path.isdir(os.path.join(source, "os")):
            source = "/usr/lib/go/src"
        for relative, path in executables(self.folder, "*.test"):
            name = relative[:-len(".test")]
            yield Test(name, [path, "-test.short", "-test.v"], folder=os.path.join(source, name),
                       env={"GOCACHE": os.path.join(self.folder, ".cache"), "GOFLAGS": "-mod=mod"})

    def outcome(self, test, status, output, scratch):
        results = {name: word for word, name in
                   re.findall(r"^\s*--- (PASS|FAIL|SKIP): (\S+)", output, re.MULTILINE)}
        found = {name: word for name, word in results.items() if word != "PASS"}
        found["passed"] = sum(word == "PASS" and "/" not in name for name, word in results.items())
        found["status"] = status
        return found
