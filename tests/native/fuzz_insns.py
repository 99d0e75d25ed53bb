# SPDX-License-Identifier: MIT
"""Random instructions for the generated programs: everything but control flow.

Flags that the architecture leaves undefined are never consumed: Code.undefined is the set of them,
and whoever reads one, or leaves the straight line, has a full producer put in front. (AF after a
logical operation counts as defined: every processor clears it.)
"""
import random

C, P, A, Z, S, O = 0x1, 0x4, 0x10, 0x40, 0x80, 0x800
ALL = C | P | A | Z | S | O

CONDITIONS = {"o": O, "no": O, "b": C, "ae": C, "e": Z, "ne": Z, "be": C | Z, "a": C | Z, "s": S,
              "ns": S, "p": P, "np": P, "l": S | O, "ge": S | O, "le": Z | S | O, "g": Z | S | O}

NAMES = ["ax", "cx", "dx", "bx", "bp", "si", "di"] + ["r%d" % i for i in range(8, 16)]
SUFFIX = {1: "b", 2: "w", 4: "l", 8: "q"}
DATA = 1024


class Random(random.Random):
    """A generator that is fast rather than perfectly even: making programs takes longer than running them."""

    def choice(self, seq):
        return seq[int(self.random() * len(seq))]

    def randrange(self, start, stop=None):
        if stop is None:
            return int(self.random() * start)
        return start + int(self.random() * (stop - start))

    def randint(self, a, b):
        return a + int(self.random() * (b - a + 1))


def sized(name, size):
    """The name of a register at a size."""
    return SIZED[name, size]


def sized_slow(name, size):
    if name[0] == "r":
        return "%" + name + {1: "b", 2: "w", 4: "d", 8: ""}[size]
    if size == 1:
        return "%" + (name[0] + "l" if name[1] == "x" else name + "l")
    return "%" + {2: "", 4: "e", 8: "r"}[size] + name


SIZED = {(name, size): sized_slow(name, size) for name in NAMES for size in (1, 2, 4, 8)}


# Two- and three-operand vector instructions. {d}{s}{t}: registers, {m}: register or memory,
# {i}: immediate; x, y, z: the width.
SSE = """
paddb {m},{d};paddq {m},{d};psubw {m},{d};pmullw {m},{d};pmaddwd {m},{d};pand {m},{d};por {m},{d}
pxor {m},{d};pandn {m},{d};pcmpeqb {m},{d};pcmpgtd {m},{d};punpcklbw {m},{d};punpckhqdq {m},{d}
packsswb {m},{d};pshufd ${i},{m},{d};pshufhw ${i},{m},{d};psllw ${i},{d};psrlq ${i},{d};psrldq ${i},{d}
addps {m},{d};mulpd {m},{d};subps {m},{d};divpd {m},{d};sqrtps {m},{d};minps {m},{d};maxpd {m},{d}
cmpps $2,{m},{d};shufps ${i},{m},{d};unpcklps {m},{d};cvtdq2ps {m},{d};cvttps2dq {m},{d}
pshufb {m},{d};palignr ${i},{m},{d};phaddd {m},{d};pabsb {m},{d};pmulhrsw {m},{d};pblendw ${i},{m},{d}
pminud {m},{d};pmulld {m},{d};movdqa {m},{d};movups {m},{d};movaps {d},{s};aesenc {m},{d}
pclmulqdq $1,{m},{d};mpsadbw ${i},{m},{d};dppd ${i},{m},{d};roundps $1,{m},{d};psadbw {m},{d}
""".replace("\n", ";").strip(";").split(";")
AVX = """
vpaddd {m},{s},{d};vpsubq {m},{s},{d};vpmullw {m},{s},{d};vpand {m},{s},{d};vpxor {m},{s},{d}
vpcmpeqd {m},{s},{d};vpshufb {m},{s},{d};vpalignr ${i},{m},{s},{d};vpshufd ${i},{m},{d}
vaddps {m},{s},{d};vmulpd {m},{s},{d};vsubps {m},{s},{d};vdivps {m},{s},{d};vandnpd {m},{s},{d}
vblendps ${i},{m},{s},{d};vshufpd ${i},{m},{s},{d};vcmpps $1,{m},{s},{d};vpblendvb {t},{m},{s},{d}
vpsllvd {m},{s},{d};vpsrlvq {m},{s},{d};vpminsd {m},{s},{d};vpunpckldq {m},{s},{d};vmovdqu {m},{d}
vpabsd {m},{d};vpsrad ${i},{s},{d};vfmadd231ps {m},{s},{d};vfnmadd132pd {m},{s},{d};vpmaddubsw {m},{s},{d}
""".replace("\n", ";").strip(";").split(";")
AVX512 = """
vpaddd {m},{s},{d}{k};vpternlogq ${i},{m},{s},{d}{k};vpermw {m},{s},{d}{k};vprold ${i},{m},{d}{k}
vmulps {m},{s},{d}{k};vpxord {m},{s},{d}{k};vpabsq {m},{d}{k};vmovdqu8 {m},{d}{k};vpsraq ${i},{m},{d}{k}
valignq $1,{m},{s},{d}{k};vpmullw {m},{s},{d}{k};vfmadd213pd {m},{s},{d}{k};vshuff64x2 $1,{n},{s},{d}{k}
""".replace("\n", ";").strip(";").split(";")
X87 = ["fld1", "fldz", "fldpi", "flds {m4}", "fldl {m8}", "fildl {m4}"], \
      ["fadd %st(1),%st", "fmul %st(1),%st", "fsub %st(1),%st", "fxch %st(1)", "fabs", "fchs",
       "fsqrt", "fadds {m4}", "fmull {m8}"], \
      ["fstps {m4}", "fstpl {m8}", "fistpl {m4}", "fstp %st(0)", "fisttpl {m4}"]


class Code:
    """A growing list of lines of assembly and what is known about the flags at its end."""

    def __init__(self, random, seed, features):
        self.random = random
        self.seed = seed
        self.features = features
        self.low = "low" in features  # linked below 2 GiB: absolute addresses fit
        self.lines = []
        self.undefined = 0
        self.labels = 0
        self.kinds = [(self.alu, 16), (self.unary, 4), (self.move, 10), (self.consume, 10),
                      (self.shift, 5), (self.multiply, 3), (self.bits, 4), (self.exchange, 4),
                      (self.flags, 4), (self.stack, 5), (self.string, 2), (self.sse, 8), (self.x87, 1),
                      (self.filler, 2), (self.wide, 1)]
        if "avx" in features:
            self.kinds += [(self.avx, 6), (self.bmi, 4)]
        if "avx512" in features:
            self.kinds.append((self.avx512, 5))
        if "gs" in features:
            self.kinds += [(self.gs_string, 3), (self.gs_implicit, 3), (self.gs_stack, 1)]
        if "common" in features:  # without what QEMU does not do as processors do
            self.kinds = [k for k in self.kinds if k[0] not in (self.x87, self.wide)]
        self.pool = [kind for kind, weight in self.kinds for _ in range(weight)]

    def emit(self, line):
        self.lines.append(line)

    def label(self):
        self.labels += 1
        return ".L%d_%d" % (self.seed, self.labels)

    def reg(self, *but):
        while True:
            name = self.random.choice(NAMES)
            if name not in but:
                return name

    def size(self):
        return self.random.choice((1, 2, 4, 4, 8, 8, 8))

    def imm(self, size):
        if size == 1 or self.random.random() < 0.5:
            return self.random.randint(-128, 127)
        return self.random.randint(-32768, 32767) if size == 2 else \
            self.random.randint(-2**31, 2**31 - 1)

    def mem(self, size, but=(), align=0):
        """A memory operand in the data; may emit instructions that leave the flags alone."""
        step = align or 1
        at = self.random.randrange(0, (DATA - 64 - size) // step) * step
        how = self.random.random()
        if how < 0.45:
            return "fz_data+%d(%%rip)" % at
        if how < 0.60:
            segment = "gs" if "gs" in self.features and self.random.random() < 0.4 else "fs"
            if "gs" in self.features and self.random.random() < 0.5:
                return self.segment_mem(segment, at - 512, but)
            return "%%%s:%d" % (segment, at - 512)
        if how < 0.66 and self.low:
            return self.random.choice(("fz_data+%d", "fz_data+%d(%%eip)")) % at
        base = self.reg(*but)
        if how < 0.83 or align:
            self.emit("lea fz_data+%d(%%rip), %%%s" % (at, sized(base, 8)[1:]))
            return "%d(%s)" % (self.random.choice((0, 0, 8)) if not align else 0, sized(base, 8))
        index = self.reg(base, *but)
        self.emit("movzbl %s, %s" % (sized(self.reg(), 1), sized(index, 4)))
        self.emit("lea fz_data(%%rip), %s" % sized(base, 8))
        return "%d(%s,%s,%d)" % (self.random.randrange(0, 256), sized(base, 8), sized(index, 8),
                                 self.random.choice((1, 2)))

    def segment_mem(self, segment, at, but):
        """The same by way of registers; displacements of one byte are scaled in EVEX."""
        base = self.reg(*but)
        disp = self.random.choice((0, 8, 16, 64, -64, 128, 256, 1000))
        self.emit("mov $%d, %s" % (at - disp, sized(base, 8)))
        if self.random.random() < 0.5:
            return "%%%s:%d(%s)" % (segment, disp, sized(base, 8))
        index = self.reg(base, *but)
        self.emit("mov $0, %s" % sized(index, 4))
        return "%%%s:%d(%s,%s,%d)" % (segment, disp, sized(base, 8), sized(index, 8),
                                      self.random.choice((1, 2, 8)))

    def operand(self, size, but=()):
        """A register or a memory operand."""
        return self.mem(size, but) if self.random.random() < 0.35 else sized(self.reg(), size)

    def need(self, mask):
        """Defines the flags of `mask`."""
        if self.undefined & mask:
            self.produce()

    def produce(self):
        """An instruction that defines all flags and depends on none."""
        size = self.size()
        op = self.random.choice(("add", "sub", "cmp", "cmp", "test", "and", "xor", "neg"))
        if op == "neg":
            self.emit("neg%s %s" % (SUFFIX[size], sized(self.reg(), size)))
        elif self.random.random() < 0.3:
            self.emit("%s%s $%d, %s" % (op, SUFFIX[size], self.imm(size), self.operand(size)))
        else:
            self.emit("%s%s %s, %s" % (op, SUFFIX[size], sized(self.reg(), size),
                                       self.operand(size)))
        self.undefined = 0

    def straight(self, count):
        for _ in range(count):
            self.random.choice(self.pool)()

    # Kinds of instructions.

    def alu(self):
        op = self.random.choice(("add", "sub", "and", "or", "xor", "cmp", "test", "adc", "sbb"))
        if op in ("adc", "sbb"):
            self.need(C)
        size = self.size()
        form = self.random.random()
        if form < 0.3:
            line = "%s%s $%d, %s" % (op, SUFFIX[size], self.imm(size), self.operand(size))
        elif form < 0.65 or op == "test":
            line = "%s%s %s, %s" % (op, SUFFIX[size], sized(self.reg(), size), self.operand(size))
        else:
            line = "%s%s %s, %s" % (op, SUFFIX[size], self.operand(size), sized(self.reg(), size))
        in_memory = line.endswith(")")
        if in_memory and op not in ("cmp", "test") and self.random.random() < 0.2:
            line = "lock " + line
        self.emit(line)
        self.undefined = 0

    def unary(self):
        size = self.size()
        op = self.random.choice(("inc", "dec", "neg", "not"))
        self.emit("%s%s %s" % (op, SUFFIX[size], self.operand(size)))
        if op in ("inc", "dec"):
            self.undefined &= C
        elif op == "neg":
            self.undefined = 0

    def move(self):
        size = self.size()
        form = self.random.randrange(9)
        a, b = self.reg(), self.reg()
        if form == 0:
            self.emit("mov%s $%d, %s" % (SUFFIX[size], self.imm(size), self.operand(size)))
        elif form == 1:
            self.emit("mov%s %s, %s" % (SUFFIX[size], self.operand(size), sized(a, size)))
        elif form == 2:
            self.emit("mov%s %s, %s" % (SUFFIX[size], sized(a, size), self.operand(size)))
        elif form == 3:
            self.emit("mov%sl %s, %s" % (self.random.choice(("zb", "sb")), self.operand(1),
                                         sized(a, 4)))
        elif form == 4:
            self.emit("movslq %s, %s" % (self.operand(4), sized(a, 8)))
        elif form == 5:
            self.emit("lea fz_data+%d(%%rip), %s" % (self.random.randrange(DATA), sized(a, 8)))
        elif form == 6:
            self.emit("lea %d(%s,%s,%d), %s" % (self.imm(4), sized(a, 8), sized(b, 8),
                                                self.random.choice((1, 2, 4, 8)),
                                                sized(self.reg(), self.random.choice((4, 8)))))
        elif form == 7:
            self.emit("movabs $%d, %s" % (self.random.getrandbits(64), sized(a, 8)))
        else:
            self.emit(self.random.choice(("movabs fz_data+%d, %%rax", "movabs %%rax, fz_data+%d",
                                          "movabs fz_data+%d, %%al"))
                      % self.random.randrange(DATA - 8))

    def consume(self):
        """Reads flags."""
        form = self.random.randrange(6)
        cc = self.random.choice(list(CONDITIONS))
        if form < 2:
            self.need(CONDITIONS[cc])
            self.emit("set%s %s" % (cc, self.operand(1)))
        elif form == 2:
            self.need(CONDITIONS[cc])
            size = self.random.choice((2, 4, 8))
            self.emit("cmov%s %s, %s" % (cc, self.operand(size), sized(self.reg(), size)))
        elif form == 3:
            self.need(ALL & ~O)
            self.emit("lahf")
        elif form == 4:
            self.need(ALL)
            self.emit("pushfq")
            self.emit("pop%s %s" % ("q", sized(self.reg(), 8)))
        else:
            self.need(C)
            size = self.size()
            self.emit("%s%s %s, %s" % (self.random.choice(("adc", "sbb")), SUFFIX[size],
                                       sized(self.reg(), size), self.operand(size)))
            self.undefined = 0

    def shift(self):
        size = self.random.choice((4, 8))
        op = self.random.choice(("shl", "shr", "sar", "rol", "ror", "rcl", "rcr", "shld", "shrd"))
        count = self.random.choice(("$1", "$%d" % self.random.randrange(2, 31), "%cl"))
        if op[:2] == "rc":
            self.need(C)
        if op[-1] == "d":
            to = sized(self.reg(), size) if "common" in self.features else self.operand(size)
            self.emit("%s%s %s, %s, %s" % (op, SUFFIX[size], count, sized(self.reg(), size), to))
        else:
            self.emit("%s%s %s, %s" % (op, SUFFIX[size], count, self.operand(size)))
        if op[0] == "r":
            changed, lost = C | O, O
        else:
            changed, lost = ALL, O | A
        if count == "$1":
            self.undefined = self.undefined & ~changed | (lost & A)
        elif count == "%cl":  # a count of 0 leaves all flags as they were
            self.undefined |= lost
        else:
            self.undefined = self.undefined & ~changed | lost

    def multiply(self):
        size = self.random.choice((2, 4, 8))
        form = self.random.randrange(4)
        if form == 0:
            self.emit("%s%s %s" % (self.random.choice(("mul", "imul")), SUFFIX[size],
                                   self.operand(size)))
        elif form == 1:
            self.emit("imul %s, %s" % (self.operand(size), sized(self.reg(), size)))
        elif form == 2:
            self.emit("imul $%d, %s, %s" % (self.imm(size), self.operand(size),
                                            sized(self.reg(), size)))
        else:
            divisor = self.reg("ax", "dx")
            self.emit("mov $0, %edx")
            self.emit("mov $%d, %s" % (self.random.randrange(1, 1 << 31), sized(divisor, 4)))
            self.emit("div%s %s" % (SUFFIX[max(size, 4)], sized(divisor, max(size, 4))))
            self.undefined = ALL
            return
        self.undefined = ALL & ~(C | O)

    def bits(self):
        size = self.random.choice((4, 8))
        form = self.random.randrange(5)
        if form == 0:
            self.emit("%s%s $%d, %s" % (self.random.choice(("bt", "bts", "btr", "btc")), SUFFIX[size],
                                        self.random.randrange(32), self.operand(size)))
            self.undefined = self.undefined & Z | O | S | A | P
        elif form == 1:
            self.emit("bt%s %s, %s" % (SUFFIX[size], sized(self.reg(), size),
                                       sized(self.reg(), size)))
            self.undefined = self.undefined & Z | O | S | A | P
        elif form == 2:
            self.emit("popcnt %s, %s" % (self.operand(size), sized(self.reg(), size)))
            self.undefined = 0
        elif form == 3:
            self.emit("bswap %s" % sized(self.reg(), size))
        else:
            self.emit("crc32%s %s, %s" % (SUFFIX[size], self.operand(size), sized(self.reg(), size)))

    def exchange(self):
        size = self.random.choice((4, 8))
        form = self.random.randrange(4)
        where = "fz_data+%d(%%rip)" % (self.random.randrange((DATA - 16) // 16) * 16)
        lock = self.random.choice(("", "lock "))
        if form == 0:
            self.emit("xchg %s, %s" % (sized(self.reg(), size), self.operand(size)))
        elif form == 1:
            self.emit("%sxadd %s, %s" % (lock, sized(self.reg(), size), where))
            self.undefined = 0
        elif form == 2:
            self.emit("%scmpxchg %s, %s" % (lock, sized(self.reg(), size), where))
            self.undefined = 0
        else:
            self.emit("%scmpxchg16b %s" % (lock, where))
            self.undefined &= ~Z

    def flags(self):
        form = self.random.randrange(6)
        if form < 3:
            if form == 2:
                self.need(C)
            self.emit(("clc", "stc", "cmc")[form])
            self.undefined &= ~C
        elif form == 3:
            self.emit("sahf")
            self.undefined &= O
        elif form == 4:
            self.emit("pushq $%d" % (self.random.getrandbits(12) & 0x8d5))
            self.emit("popfq")
            self.undefined = 0
        else:
            self.produce()

    def stack(self):
        form = self.random.randrange(7)
        a, b = sized(self.reg(), 8), sized(self.reg(), 8)
        if form == 0:
            self.emit("push %s" % a)
            self.emit("pop %s" % b)
        elif form == 1:
            self.emit("pushq fz_data+%d(%%rip)" % self.random.randrange(DATA - 8))
            self.emit("popq fz_data+%d(%%rip)" % self.random.randrange(DATA - 8))
        elif form == 2:
            self.emit("push %rsp")
            self.emit(self.random.choice(("pop %rsp", "pop " + a)))
        elif form == 3:
            self.emit("push %s" % a)
            self.emit("pushq 0(%rsp)")
            self.emit("popq 0(%rsp)")
            self.emit("pop %s" % b)
        elif form == 4:
            self.emit("pushq $%d" % self.imm(4))
            self.emit("pop %s" % b)
        elif form == 5:
            self.emit("enter $%d, $0" % self.random.choice((0, 16, 32)))
            self.emit("leave")
        else:
            self.emit("mov %s, -%d(%%rsp)" % (a, self.random.randrange(1, 15) * 8))

    def string(self):
        op = self.random.choice(("movs", "stos", "lods", "cmps", "scas"))
        size = self.random.choice((1, 2, 4, 8))
        back = self.random.random() < 0.3
        count = self.random.choice((0, 1, 2, 5, 20))
        self.emit("lea fz_data+%d(%%rip), %%rsi" % (self.random.randrange(160, 400)))
        self.emit("lea fz_data+%d(%%rip), %%rdi" % (self.random.randrange(160, 800)))
        self.emit("mov $%d, %%ecx" % count)
        if back:
            self.emit("std")
        if op in ("cmps", "scas"):
            self.produce_plain()  # a count of 0 leaves the flags as they were
            self.emit("%s %s%s" % (self.random.choice(("repe", "repne")), op, SUFFIX[size]))
        else:
            self.emit("%s%s%s" % (self.random.choice(("rep ", "rep ", "")), op, SUFFIX[size]))
        if back:
            self.emit("cld")

    def gs_string(self):
        """String instructions whose source is relative to GS, which points to the data's middle."""
        op = self.random.choice(("movs", "lods", "cmps"))
        size = self.random.choice((1, 2, 4, 8))
        back = self.random.random() < 0.3
        short = self.low and self.random.random() < 0.3
        a = "e" if short else "r"
        self.emit("mov $%d, %%rsi" % self.random.randrange(0 if short else -300, 300))
        if back and short:
            self.emit("mov $200, %esi")
        self.emit("lea fz_data+%d(%%rip), %%rdi" % self.random.randrange(160, 800))
        self.emit("mov $%d, %%ecx" % self.random.choice((0, 1, 2, 5, 20)))
        if short and self.random.random() < 0.5:
            for reg in ("rsi", "rdi", "rcx"):  # the upper halves do not count
                self.emit("movabs $0x1234500000000, %rdx")
                self.emit("lea (%%%s,%%rdx), %%%s" % (reg, reg))
        if back:
            self.emit("std")
        repeat = self.random.choice(("rep ", "rep ", ""))
        source, target = "%%gs:(%%%ssi)" % a, "%%es:(%%%sdi)" % a
        if op == "cmps":
            self.produce_plain()
            repeat = self.random.choice(("repe ", "repne "))
            self.emit("%scmps%s %s, %s" % (repeat, SUFFIX[size], target, source))
        elif op == "movs":
            self.emit("%smovs%s %s, %s" % (repeat, SUFFIX[size], source, target))
        else:
            self.emit("%slods%s %s, %s" % (repeat, SUFFIX[size], source, sized("ax", size)))
        if back:
            self.emit("cld")

    def gs_implicit(self):
        """Operands relative to GS that no ModRM gives, or that have a vector in their address."""
        form = self.random.randrange(6)
        at = self.random.randrange(-512, 480)
        if form == 0:
            r = sized("ax", self.size())
            pair = ("%%gs:%d" % at, r)
            self.emit("movabs %s, %s" % (pair if self.random.random() < 0.5 else pair[::-1]))
        elif form == 1:
            r = self.random.choice(("%al", "%ax", "%eax", "%rax"))
            code = 0xa0 + (r != "%al") + 2 * self.random.randrange(2)
            prefix = {"%ax": "0x66, ", "%rax": "0x48, "}.get(r, "")
            self.emit(".byte 0x65, 0x67, %s%#x" % (prefix, code))
            self.emit(".long %d" % self.random.randrange(480))
        elif form == 2:
            short = self.random.random() < 0.3
            self.emit("mov $%d, %%rbx" % self.random.randrange(0 if short else -512, 200))
            self.emit("xlat %%gs:(%%%sbx)" % ("e" if short else "r"))
        elif form == 3:
            short = self.random.random() < 0.3
            self.emit("mov $%d, %%rdi" % self.random.randrange(0 if short else -512, 480))
            kind = self.random.randrange(3 if "avx" in self.features else 2)
            if kind == 0:
                self.emit("movq fz_data+64(%rip), %mm1")
                self.emit("movq %mm1, %mm2")
            self.emit(".byte 0x65%s" % (", 0x67" if short else ""))
            self.emit(("maskmovq %mm1, %mm2", "maskmovdqu %xmm3, %xmm9",
                       "vmaskmovdqu %xmm3, %xmm12")[kind])
            if kind == 0:
                self.emit("emms")
        elif form == 4 and "avx" in self.features:
            self.emit("vpcmpeqd %ymm1, %ymm1, %ymm1")
            self.emit("vpcmpeqd %ymm12, %ymm12, %ymm12")
            self.emit("mov $%d, %%r9" % at)
            self.emit("vpgatherdd %%ymm1, %%gs:%d(%%r9,%%ymm12,4), %%ymm3"
                      % self.random.choice((4, 8, 200)))
        elif form == 5 and "avx512" in self.features:
            self.emit("kxnorw %k1, %k1, %k1")
            self.emit("vpxord %zmm20, %zmm20, %zmm20")
            self.emit("mov $%d, %%rbp" % (at - 16))
            self.emit("vpgatherdq %gs:16(%rbp,%ymm20,8), %zmm21{%k1}")
        else:
            self.emit("movups %%gs:%d, %%xmm3" % at)

    def gs_stack(self):
        """POP to an address with the stack pointer in it; the GS base goes elsewhere for that."""
        self.emit("lea fz_data+%d(%%rip), %%rax" % self.random.randrange(512, 900))
        self.emit("mov %rsp, %rbx")
        self.emit("not %rbx")
        self.emit("lea 1(%rax,%rbx), %rbx")
        self.emit("wrgsbase %rbx")
        if self.random.random() < 0.5:
            self.emit("push %rax")
            self.emit("popq %%gs:%d(%%rsp)" % self.random.choice((0, 8)))
        else:
            self.emit("pushw %ax")
            self.emit("popw %%gs:%d(%%rsp)" % self.random.choice((0, 8)))
        self.emit("rdgsbase %rbx")
        self.emit("lea fz_data+512(%rip), %rax")
        self.emit("wrgsbase %rax")

    def produce_plain(self):
        """Defines all flags and changes nothing else."""
        self.emit("cmp %s, %s" % (sized(self.reg(), 8), sized(self.reg(), 8)))
        self.undefined = 0

    def filler(self):
        self.emit(self.random.choice(
            ("nop", "nopw 0x123(%rax,%rbx,2)", "nopl fz_data(%rip)", "endbr64", "pause", "lfence",
             "prefetcht0 fz_data+64(%rip)", "cltq", "cqto", "cwtl", "xchg %ax, %ax",
             "lea fz_data+256(%rip), %rbx\n xlatb", "movnti %rdx, fz_data+8(%rip)", "mfence")))

    def sse(self):
        form = self.random.random()
        x = "%%xmm%d" % self.random.randrange(16)
        if form < 0.15:
            size = self.random.choice((4, 8))
            op = "movd" if size == 4 else "movq"
            pair = (x, self.operand(size))
            self.emit("%s %s, %s" % ((op,) + (pair if self.random.random() < 0.5 else pair[::-1])))
        elif form < 0.25:
            self.emit("%s %s, %s" % (self.random.choice(("movups", "movdqu")), x, self.mem(16)))
        elif form < 0.32:
            self.emit("%s %s, %s" % (self.random.choice(("comiss", "ucomiss")),
                                     "%%xmm%d" % self.random.randrange(16), x))
            self.undefined = 0
        elif form < 0.38:
            self.emit("pmovmskb %s, %s" % (x, sized(self.reg(), 4)))
        else:
            self.vector(self.random.choice(SSE), "x", 16, 16)

    def vector(self, template, width, registers, bytes_, mask=""):
        r = ["%%%smm%d" % (width, self.random.randrange(registers)) for _ in range(4)]
        m = r[3]
        if "{m}" in template and self.random.random() < 0.4:
            align = 16 if template in SSE else 0
            m = self.mem(bytes_, align=align)
        self.emit(template.format(d=r[0], s=r[1], t=r[2], n=r[3], m=m,
                                  i=self.random.randrange(0, 64), k=mask))

    def avx(self):
        width, bytes_ = self.random.choice((("x", 16), ("y", 32)))
        form = self.random.random()
        if form < 0.06:
            self.emit(self.random.choice(("vzeroupper", "vzeroall")))
        elif form < 0.14:
            self.emit("vmovdqu %%%smm%d, %s" % (width, self.random.randrange(16), self.mem(bytes_)))
        elif form < 0.2:
            self.emit("vpcmpeqd %ymm1, %ymm1, %ymm1")
            self.emit("vpxor %ymm2, %ymm2, %ymm2")
            self.emit("lea fz_data+%d(%%rip), %%rdi" % self.random.randrange(512))
            self.emit("vpgatherdd %ymm1, 8(%rdi,%ymm2,4), %ymm3")
        else:
            self.vector(self.random.choice(AVX), width, 16, bytes_)

    def avx512(self):
        width, bytes_ = self.random.choice((("x", 16), ("y", 32), ("z", 64), ("z", 64)))
        form = self.random.random()
        if form < 0.1:
            self.emit("kmovq %s, %%k%d" % (sized(self.reg(), 8), self.random.randrange(1, 8)))
        elif form < 0.15:
            self.emit("kortestw %%k%d, %%k%d" % (self.random.randrange(8), self.random.randrange(8)))
            self.undefined = 0
        elif form < 0.25:
            self.emit("vmovdqu64 %%zmm%d, %s" % (self.random.randrange(32), self.mem(64)))
        else:
            mask = self.random.choice(("", "", "{{%%k%d}}", "{{%%k%d}}{{z}}"))
            if mask:
                mask = (mask % self.random.randrange(1, 8)).replace("{{", "{").replace("}}", "}")
            template = self.random.choice(AVX512)
            if "shuff64x2" in template:
                width, bytes_ = "z", 64
            self.vector(template, width, 32, bytes_, mask)

    def bmi(self):
        size = self.random.choice((4, 8))
        a, b = sized(self.reg(), size), sized(self.reg(), size)
        form = self.random.randrange(7)
        if form == 0:
            self.emit("andn %s, %s, %s" % (self.operand(size), a, b))
            self.undefined = A | P
        elif form == 1:
            self.emit("%s %s, %s, %s" % (self.random.choice(("sarx", "shlx", "shrx")), a,
                                         self.operand(size), b))
        elif form == 2:
            self.emit("rorx $%d, %s, %s" % (self.random.randrange(32), self.operand(size), b))
        elif form == 3:
            self.emit("%s %s, %s, %s" % (self.random.choice(("pdep", "pext")), self.operand(size), a,
                                         b))
        elif form == 4:
            low = self.reg()
            self.emit("mulx %s, %s, %s" % (self.operand(size), sized(low, size),
                                           sized(self.reg(low), size)))
        elif form == 5:
            self.need(C)
            self.emit("adcx %s, %s" % (self.operand(size), a))
            self.undefined &= ~C
        else:
            self.need(O)
            self.emit("adox %s, %s" % (self.operand(size), a))
            self.undefined &= ~O

    def x87(self):
        load, work, store = (self.random.choice(list_) for list_ in X87)
        self.emit("fld1")
        for template in (load, work, store, "fstp %st(0)"):
            self.emit(template.format(m4="fz_data+%d(%%rip)" % self.random.randrange(DATA - 8),
                                      m8="fz_data+%d(%%rip)" % self.random.randrange(DATA - 8)))

    def wide(self):
        """The whole vector and x87 state, there and back."""
        self.emit("fxsave64 fz_area(%rip)")
        self.emit("fxrstor64 fz_area(%rip)")
