# SPDX-License-Identifier: MIT
"""Libraries that come and go while the program runs."""

import re

from util_cli import Case, main

LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 2; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        double (*cube_root)(double) = (double (*)(double))dlsym(library, "cbrt");
        printf("%g\n", cube_root(27));
        dlclose(library);
    }
    puts("end");
    return 0;
}
"""


class Modules(Case):
    def test_loading_and_unloading_is_in_the_stream(self):
        program = self.build("loads", LOADS)
        self.assertEqual(self.good("trace", "record", "-q", "-o", self.path("t"), "--", program),
                         b"3\n3\nend\n")
        self.good("trace", "check", self.path("t"))
        text = self.good("trace", "dump", self.path("t")).decode()
        events = re.findall(r"\[module (\d+) (loaded|unloaded)\]", text)
        # The program, its linker and its C library stay; the other one comes and goes twice.
        unloaded = [number for number, what in events if what == "unloaded"]
        self.assertEqual(len(unloaded), 2)
        for number in set(unloaded):
            changes = [what for n, what in events if n == number]
            self.assertEqual(changes, ["loaded", "unloaded"] * (len(changes) // 2))
        stay = {n for n, _ in events} - set(unloaded)
        self.assertEqual(len(stay), 3)


if __name__ == "__main__":
    main()
