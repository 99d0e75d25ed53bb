# SPDX-License-Identifier: MIT
"""A program with names that nobody wants: quotes, separators, line ends, escape sequences, HTML, bytes that are not UTF-8, ten thousand letters, in its
symbols, its source files and its own path."""
import os
import subprocess

from util_cli import CC, tool

SYMBOLS = {
    "plain_one": b'say "hi"; rm -rf \\ $HOME `id` \'x\'',
    "plain_two": b"two\nlines\r\nfn=(1) main\n0x1 1 999999",
    "plain_three": b"<script>alert(1)</script></style>&amp;<!--",
    "plain_four": b"\xff\xfe\x80 not \xc3( utf\xed\xa0\x80",
    "plain_five": b"_Z10000" + b"a" * 10000 + b"v",
    "plain_six": b"\x1b[31mred\x1b[0m\x07\x01\x7f\xe2\x80\xae",
    "plain_seven": b" ",
    "plain_eight": b"(7) 12345",
    "plain_nine": b"calls=5 0x10 1",
    "plain_ten": b"-3 +5 * totals: 7",
    "plain_eleven": b"__proto__",
    "plain_twelve": b"%s%n%d{}[]null,\"",
}

SOURCE = """
#line 7 "<i>a;b 12\\\\n\\"quoted\\".c"
volatile unsigned sink;
%s
#line 3 "fn=(1) other"
int main(void)
{
    for (int i = 0; i < 20; i++) {
        %s
    }
    return 0;
}
"""


def build(directory):
    """Makes the program; returns its path."""
    functions = "\n".join('#line %d "x\\n\\tfile %d;\\xff\\".c"\n__attribute__((noinline)) unsigned %s(unsigned n) { sink += n; return n ? %s(n - 1) + 1 : 0; }'
                          % (i + 1, i, name, name) for i, name in enumerate(SYMBOLS))
    calls = " ".join("sink += %s(i %% 4);" % name for name in SYMBOLS)
    source, program = os.path.join(directory, "hostile.c"), os.path.join(directory, "<b>'a;b (3) \"")
    with open(source, "w") as file:
        file.write(SOURCE % (functions, calls))
    subprocess.run([CC, "-O1", "-g", "-static", "-fno-optimize-sibling-calls", "-o", program, source], check=True)
    for old, new in SYMBOLS.items():
        subprocess.run([tool("objcopy"), b"--redefine-sym=" + old.encode() + b"=" + new, program], check=True)
    return program
