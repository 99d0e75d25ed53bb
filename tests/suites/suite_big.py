# SPDX-License-Identifier: MIT
"""Big programs at work: the scripts in big/, run whole in the engine. What they print is compared."""
import glob
import os
import re
import shutil

from suite import Suite, Test

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(os.path.dirname(HERE))


class Big(Suite):
    name = "big"
    about = "big programs at work: the scripts in tests/suites/big"
    limit = 400

    def tests(self):
        for path in sorted(glob.glob(os.path.join(HERE, "big", "*.sh"))):
            with open(path, encoding="utf-8") as text:
                needs = re.match(r"# needs: (.*)", text.readline()).group(1).split()
            lacks = [n for n in needs if not shutil.which(n) and not glob.glob(os.path.expandvars(n))]
            yield Test(os.path.basename(path)[:-3], ["bash", path],
                       env={"SUITES_SOURCE": SRC, "SUITES_HOTPATH": os.environ["HOTPATH"],
                            **{n: os.environ[n] for n in os.environ if n.startswith("SUITES_")}},
                       lacks=lacks)

    def outcome(self, test, status, output, scratch):
        lines = output.splitlines()
        return {"status": status, "lines": len(lines),
                **{"line %d" % (i + 1): line for i, line in enumerate(lines[:500])}}
