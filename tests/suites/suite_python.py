# SPDX-License-Identifier: MIT
"""Python's own tests: libpython3.11-testsuite, a file of tests at a time."""
import os
import xml.etree.ElementTree as xml

from suite import Suite, Test

PYTHON = "/usr/bin/python3"
TESTS = "/usr/lib/python3.11/test"
# Tests of tools that are not installed, of the display, and what takes many minutes alone.
NEVER = {"test_tools", "test_peg_generator", "test_asdl_parser", "test_clinic", "test_freeze_tools",
         "test_check_c_globals", "test_ttk_guionly", "test_tk", "test_idle", "test_ossaudiodev",
         "test_winconsoleio", "test_winreg", "test_winsound", "test_msilib", "test_zipfile64"}


class Python(Suite):
    name = "python"
    about = "Debian's libpython3.11-testsuite: python3 -m test NAME"
    limit = 400
    fast = ("test_array", "test_coroutines", "test_ctypes", "test_exceptions", "test_float", "test_generators",
            "test_grammar", "test_long", "test_math", "test_mmap", "test_popen", "test_struct", "test_thread")

    def missing(self):
        return None if os.path.exists(TESTS + "/test_grammar.py") else "the package libpython3.11-testsuite"

    def tests(self):
        names = {n[:-3] if n.endswith(".py") else n for n in os.listdir(TESTS) if n.startswith("test_")}
        for name in sorted(names - NEVER):
            yield Test(name, [PYTHON, "-m", "test", "--junit-xml", "SCRATCH/result.xml", name],
                       env={"PYTHONHASHSEED": "1", "PYTHONDONTWRITEBYTECODE": "1"})

    def outcome(self, test, status, output, scratch):
        found = {"status": status}
        path = os.path.join(scratch, "result.xml")
        try:
            for case in xml.parse(path).iter("testcase"):
                inner = {part.tag for part in case} & {"failure", "error", "skipped"}
                name = case.get("name", "?").replace("test.", "", 1)
                if inner:
                    found[name] = "/".join(sorted(inner))
                else:
                    found["passed"] = found.get("passed", 0) + 1
        except (OSError, xml.ParseError):
            found["result file"] = "none"
        return found
