# SPDX-License-Identifier: MIT
"""A C file for the compiler to work on: generated, self-contained, as varied as hand-written code.

Functions of different kinds (lexers, lists, hash tables, matrices, bit fields, random statements ...)
follow each other, no two alike, and call those before them.
"""

import random

HEADER = """
typedef unsigned long size_t;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
extern void *malloc(size_t);
extern void *realloc(void *, size_t);
extern void free(void *);
extern void *memcpy(void *, const void *, size_t);
extern int memcmp(const void *, const void *, size_t);
extern size_t strlen(const char *);
extern int printf(const char *, ...);
extern double sqrt(double);
struct buffer { char *text; size_t used, room; };
static inline u32 rotate(u32 x, int n) { return x << (n & 31) | x >> (-n & 31); }
static inline int smaller(int a, int b) { return a < b ? a : b; }
static void put(struct buffer *b, char c)
{
    if (b->used == b->room) {
        b->room = b->room ? b->room * 2 : 16;
        b->text = realloc(b->text, b->room);
    }
    b->text[b->used++] = c;
}
"""


class Writer:
    """Writes functions; `callable_names` are those written before, all int (int, int)."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.callable_names = []

    def number(self):
        return str(self.rng.choice([self.rng.randrange(1, 10), self.rng.randrange(1, 300), self.rng.getrandbits(24)]))

    def expression(self, names, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice(names) if rng.random() < 0.75 else self.number()
        left, right = self.expression(names, depth - 1), self.expression(names, depth - 1)
        kind = rng.randrange(12)
        if kind < 7:
            return "(%s %s %s)" % (left, rng.choice("+ - * & | ^ + -".split()), right)
        if kind == 7:
            return "(%s %s %d)" % (left, rng.choice(["<<", ">>"]), rng.randrange(1, 12))
        if kind == 8:
            return "(%s %s (%s | 1))" % (left, rng.choice("/%"), right)
        if kind == 9:
            return "(%s ? %s : %s)" % (self.condition(names), left, right)
        if kind == 10:
            return "(int)rotate((u32)%s, %d)" % (left, rng.randrange(1, 31))
        return "smaller(%s, %s)" % (left, right)

    def condition(self, names):
        rng = self.rng
        one = "%s %s %s" % (self.expression(names, 1), rng.choice(["<", ">", "==", "!=", "<=", ">="]),
                            self.expression(names, 1))
        if rng.random() < 0.3:
            return "%s %s %s > %s" % (one, rng.choice(["&&", "||"]), rng.choice(names), self.number())
        return one

    def statements(self, names, depth, indent):
        return "".join(self.statement(names, depth, indent) for _ in range(self.rng.randrange(2, 5)))

    def statement(self, names, depth, indent):
        rng, pad = self.rng, "    " * indent
        kind = rng.randrange(9) if depth else 0
        if kind <= 2:
            return "%s%s %s %s;\n" % (pad, rng.choice(names), rng.choice(["=", "+=", "^=", "-="]), self.expression(names, 3))
        inner = self.statements(names, depth - 1, indent + 1)
        if kind == 3:
            return "%sif (%s) {\n%s%s}\n" % (pad, self.condition(names), inner, pad)
        if kind == 4:
            other = self.statements(names, depth - 1, indent + 1)
            return "%sif (%s) {\n%s%s} else {\n%s%s}\n" % (pad, self.condition(names), inner, pad, other, pad)
        if kind == 5:
            return ("%sfor (int i%d = 0; i%d < %s; i%d++) {\n%s%s}\n"
                    % (pad, indent, indent, self.number(), indent, inner, pad))
        if kind == 6:
            cases = "".join("%scase %d:\n%s%s    break;\n" % (pad, n, self.statement(names, depth - 1, indent + 1), pad)
                            for n in rng.sample(range(40), rng.randrange(3, 9)))
            return "%sswitch (%s & 31) {\n%s%sdefault:\n%s%s}\n" % (pad, rng.choice(names), cases, pad, inner, pad)
        if kind == 7 and self.callable_names:
            return "%s%s += %s(%s, %s);\n" % (pad, rng.choice(names), rng.choice(self.callable_names[-20:]),
                                              self.expression(names, 2), self.expression(names, 1))
        return "%swhile (%s) {\n%s%s    if (--%s < 0)\n%s        break;\n%s}\n" % (
            pad, self.condition(names), inner, pad, rng.choice(names), pad, pad)

    # --- Kinds of functions: each returns text that defines int NAME(int, int) ---

    def mixture(self, name):
        return "int %s(int a, int b)\n{\n    int c = %s, d = a ^ b;\n%s    return a + b + c + d;\n}\n" % (
            name, self.number(), self.statements(["a", "b", "c", "d"], 3, 1))

    def lexer(self, name):
        rng = self.rng
        states = rng.randrange(4, 9)
        cases = ""
        for state in range(states):
            tests = "".join("            if (c %s '%s')\n                state = %d;\n"
                            % (rng.choice(["==", "<", ">"]), rng.choice("abcxyz0159+-.;"), rng.randrange(states))
                            for _ in range(rng.randrange(1, 4)))
            action = rng.choice(["put(out, c);", "n += c - '0';", "n = n * %d + c;" % rng.randrange(2, 99), "n ^= state;"])
            cases += "        case %d:\n%s            %s\n            break;\n" % (state, tests, action)
        return ("static int %s_scan(struct buffer *out, const char *p, int n)\n{\n    int state = 0;\n"
                "    for (char c; (c = *p) != 0; p++) {\n        switch (state) {\n%s        }\n    }\n"
                "    return n + state;\n}\n"
                "int %s(int a, int b)\n{\n    struct buffer out = {0};\n    int n = %s_scan(&out, \"%s\" + (a & 3), b);\n"
                "    free(out.text);\n    return n;\n}\n"
                % (name, cases, name, name, "".join(rng.choices("abcxyz0159+-.;", k=20))))

    def table(self, name):
        rng = self.rng
        size, factor = 1 << rng.randrange(4, 12), rng.getrandbits(31) | 1
        return """struct {n}_entry {{ struct {n}_entry *next; {t} key; int value, hits : {h}, dirty : 1; }};
static struct {n}_entry *{n}_heads[{size}];
static struct {n}_entry *{n}_find({t} key, int make)
{{
    struct {n}_entry **at = &{n}_heads[((u32)key * {factor}u) >> {shift}];
    for (; *at; at = &(*at)->next)
        if ((*at)->key == key) {{
            (*at)->hits++;
            return *at;
        }}
    if (make && (*at = malloc(sizeof **at)))
        **at = (struct {n}_entry){{.key = key, .value = {value}, .dirty = 1}};
    return *at;
}}
int {n}(int a, int b)
{{
    int sum = 0;
    for (int i = a; i < b; i += {step}) {{
        struct {n}_entry *e = {n}_find(({t})(i ^ {value}), i & 1);
        if (e)
            sum += e->value{op}e->hits;
    }}
    return sum;
}}
""".format(n=name, t=rng.choice(["u16", "u32", "u64", "int"]), h=rng.randrange(5, 30), size=size, factor=factor,
           shift=33 - size.bit_length(), value=self.number(), step=rng.randrange(1, 9), op=rng.choice([" + ", " * ", " ^ "]))

    def matrix(self, name):
        rng = self.rng
        return """static {t} {n}_a[{rows}][{cols}], {n}_b[{cols}][{rows}];
int {n}(int a, int b)
{{
    {t} sum = 0, most = ({t})a;
    for (int i = 0; i < {rows}; i++)
        for (int j = 0; j < {cols}; j++) {{
            {n}_a[i][j] = {n}_b[j][i] * ({t}){k} + ({t})(i {op} j);
            sum += {n}_a[i][j] {op2} {n}_b[j][{fixed}];
        }}
    for (int i = 0; i < {rows}; i++)
        most = {n}_a[i][{fixed}] > most ? {n}_a[i][{fixed}] : most;
    {extra}
    return (int)(sum + most) + b;
}}
""".format(n=name, t=rng.choice(["float", "double", "int", "u8", "u16", "long"]), rows=rng.randrange(9, 60),
           cols=rng.randrange(9, 60), k=rng.randrange(2, 50), op=rng.choice("+-*&"), op2=rng.choice("+-*"),
           fixed=rng.randrange(9), extra=rng.choice(["", "sum = sqrt(sum * sum + 1.5);", "printf(\"%d\\n\", (int)sum);"]))

    def tree(self, name):
        rng = self.rng
        return """struct {n} {{ struct {n} *left, *right; {t} key; union {{ double d; u64 u; char c[8]; }} v; }};
static struct {n} *{n}_add(struct {n} *t, {t} key)
{{
    if (!t) {{
        t = malloc(sizeof *t);
        t->left = t->right = 0;
        t->key = key;
        t->v.{field} = {value};
    }} else if (key < t->key) {{
        t->left = {n}_add(t->left, key);
    }} else if (key > t->key) {{
        t->right = {n}_add(t->right, key);
    }} else {{
        t->v.u ^= {value};
    }}
    return t;
}}
static int {n}_walk(const struct {n} *t, int depth)
{{
    int left = t ? {n}_walk(t->left, depth + 1) : 0;
    return t ? left {op} {n}_walk(t->right, depth + 1) + (int)t->v.u : depth;
}}
int {n}(int a, int b)
{{
    struct {n} *root = 0;
    for (u32 x = (u32)a; b-- > 0; x = x * 1103515245u + {value})
        root = {n}_add(root, ({t})(x >> {shift}));
    return {n}_walk(root, 0);
}}
""".format(n=name, t=rng.choice(["int", "u16", "u64", "long"]), field=rng.choice(["d", "u"]), value=self.number(),
           op=rng.choice("+-^"), shift=rng.randrange(3, 20))

    def dispatch(self, name):
        rng = self.rng
        chosen = [rng.choice(self.callable_names) for _ in range(rng.randrange(3, 8))]
        return ("static int (*const %s_table[])(int, int) = {%s};\nint %s(int a, int b)\n{\n    static const u8 order[] = {%s};\n"
                "    for (size_t i = 0; i < sizeof order; i++)\n        a += %s_table[order[i]](a, b) %s;\n    return a;\n}\n"
                % (name, ", ".join(chosen), name, ", ".join(str(rng.randrange(len(chosen))) for _ in range(9)), name,
                   rng.choice(["* 3", "/ 7", "& 255", "- b"])))

    def text(self, functions):
        kinds = [self.lexer, self.table, self.mixture, self.matrix, self.tree, self.mixture, self.dispatch, self.mixture]
        parts = [HEADER]
        for number in range(functions):
            kind = kinds[number % len(kinds)]
            name = "%s_%d" % (kind.__name__, number)
            parts.append(kind(name))
            self.callable_names.append(name)
        return "\n".join(parts)


def c_file(functions):
    return Writer(4).text(functions).encode()
