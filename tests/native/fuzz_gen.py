# SPDX-License-Identifier: MIT
"""Random programs in x86-64 assembly: their control flow. generate() makes one by its seed.

A program is a main part and functions that call only functions after them; loops count down in
memory. So every program ends, after at most BUDGET instructions or so. Flags, all registers, the
red zone and the direction flag live across every kind of transfer.
"""
from fuzz_insns import ALL, CONDITIONS, Code, Random, sized

BUDGET = 6000
LINKS = {"low": 0x400000, "middle": 0x200000000, "high": 0x123450000000}
FAR = 0x60000000  # from the ordinary code to that in the section .far


class Program(Code):
    def __init__(self, seed, features):
        super().__init__(Random(seed), seed, features)
        self.counters = 0
        self.functions = []  # (name, words that its return drops, cost), those that may be called
        self.tables = []
        self.shapes = [self.branch] * 5 + [self.transfer] * 6 + [self.loop] * 2 + \
            [self.call] * 5 + [self.switch] * 2 + [self.tricks] * 3 + [self.red_zone] * 2 + \
            [self.system_call, self.pivot, self.backwards, self.count_jump]
        if "common" not in features:
            self.shapes += [self.far, self.far_call]

    # Parts.

    def counter(self):
        """A memory word that nobody else writes."""
        self.counters += 1
        return "fz_counters_%d+%d(%%rip)" % (self.seed, 8 * self.counters)

    def cost(self, budget):
        """Straight code; returns what is left of the budget."""
        count = self.random.randrange(1, 7)
        self.straight(count)
        return budget - count

    def settle(self):
        """Before a transfer all flags are defined."""
        self.need(ALL)

    def arrive(self):
        """At a label: flags that came from elsewhere are read at once, often."""
        if self.random.random() < 0.7:
            self.consume()

    def place(self, label):
        self.emit("%s:" % label)

    def body(self, budget, depth, inner=False):
        """A sequence of shapes within the budget; returns what was spent."""
        left = budget
        most = (3 if inner else 4) if "small" in self.features else (5 if inner else 9)
        for _ in range(self.random.randrange(2, most)):
            left = self.cost(left)
            if left < 60:
                break
            shape = self.random.choice(self.shapes)
            left -= shape(left, depth)
        left = self.cost(left)
        return budget - left

    def branch(self, budget, depth):
        """if/else; one side may be far away."""
        cc = self.random.choice(list(CONDITIONS))
        other, end = self.label(), self.label()
        self.need(ALL)
        if self.random.random() < 0.5:
            self.produce()
        self.emit("j%s%s %s" % (cc, self.random.choice(("", "", ",pn", ",pt")), other))
        self.arrive()
        spent = self.body(budget // 3, depth + 1, True) if depth < 3 else 6
        self.settle()
        self.emit("jmp %s" % end)
        far = self.random.random() < 0.2 and depth == 0
        if far:
            self.emit('.section .far,"ax",@progbits')
        self.place(other)
        self.arrive()
        if not far:
            spent += self.body(budget // 3, depth + 1, True) if depth < 3 else 6
        self.settle()
        if far:
            self.emit("jmp %s" % end)
            self.emit(".text")
        self.place(end)
        self.arrive()
        return spent + 8

    def jump_to(self, target):
        """A jump, of any kind, that leaves the flags alone."""
        how = self.random.randrange(10 if "gs" in self.features else 8)
        r = sized(self.reg(), 8)
        if how >= 8:
            at = self.random.randrange(-512, 500)
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("mov %s, fz_data+%d(%%rip)" % (r, at + 512))
            if how == 8:
                self.emit("jmp *%%gs:%d" % at)
            else:
                self.emit("mov $%d, %s" % (at - 100, r))
                self.emit("jmp *%%gs:100(%s)" % r)
        elif how < 2:
            self.emit("jmp %s" % target)
        elif how == 2:
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit(self.random.choice(("", "notrack ", "bnd ")) + "jmp *%s" % r)
        elif how == 3:
            self.emit("jmp *%s(%%rip)" % self.table([target]))
        elif how == 4:
            self.emit("lea %s-8(%%rip), %s" % (self.table([target]), r))
            self.emit("jmp *8(%s)" % r)
        elif how == 5:
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("push %s" % r)
            self.emit(self.random.choice(("ret", "rep ret", "bnd ret")))
        elif how == 6:
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("push %s" % r)
            self.emit("lea 8(%rsp), %rsp")
            self.emit("jmp *-8(%rsp)")
        else:
            self.emit("movabs $%s, %s" % (target, r))
            self.emit("jmp *%s" % r)

    def transfer(self, budget, depth):
        """Flags and registers over a jump."""
        target = self.label()
        self.settle()
        self.produce()
        if self.random.random() < 0.3:
            self.unary()
            self.settle()
        self.jump_to(target)
        for _ in range(self.random.randrange(3)):
            self.emit(".byte %d" % self.random.choice((0xcc, 0x0f, 0xe8, 0x66)))
        self.place(target)
        self.consume()
        self.consume()
        return 10

    def far(self, budget, depth):
        """Flags and registers over a far return or jump, or an interrupt's return."""
        target = self.label()
        self.settle()
        self.produce()
        r, s = sized(self.reg(), 8), sized(self.reg(), 8)
        how = self.random.randrange(4 if self.low else 3)
        if how == 0:
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("pushq $0x33")
            self.emit("push %s" % r)
            drop = self.random.choice(("", " $8", " $24"))
            self.emit("lretq" + drop)
        elif how == 3:
            self.emit("ljmp *%s(%%rip)" % self.far_pointer(target))
        else:
            self.emit("mov %%rsp, %s" % s)
            self.emit("pushq $0x2b")
            self.emit("push %s" % s)
            self.emit("pushfq")
            self.emit("pushq $0x33")
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("push %s" % r)
            self.emit("iretq")
            drop = ""
        self.place(target)
        if how == 0 and drop:
            self.emit("lea -%s(%%rsp), %%rsp" % drop[2:])
        self.consume()
        self.consume()
        return 14

    def far_pointer(self, target):
        name = self.label()
        self.tables.append("%s: .long %s\n .word 0x33\n .balign 8" % (name, target))
        return name

    def far_call(self, budget, depth):
        """There and back, below 4 GiB."""
        if not self.low:
            return self.far(budget, depth)
        first, end = self.label(), self.label()
        self.settle()
        self.emit("lcall *%s(%%rip)" % self.far_pointer(first))
        self.arrive()
        self.emit("jmp %s" % end)
        self.place(first)
        self.arrive()
        self.settle()
        self.emit("lretl")
        self.place(end)
        self.arrive()
        return 14

    def loop(self, budget, depth):
        times = self.random.randrange(1, 7)
        if depth >= 2 or budget // times < 40:
            return self.transfer(budget, depth)
        counter, head, end = self.counter(), self.label(), self.label()
        self.emit("movq $%d, %s" % (times, counter))
        self.settle()
        self.place(head)
        self.arrive()
        spent = self.body(budget // times - 10, depth + 1, True)
        self.settle()
        form = self.random.randrange(4)
        if form == 0:
            self.emit("decq %s" % counter)
            self.emit("jnz %s" % head)
        elif form == 1:
            self.emit("subq $1, %s" % counter)
            self.emit("ja %s" % head)
        else:  # the flags live on around the loop
            self.emit("mov %s, %%rcx" % counter)
            self.emit("lea -1(%rcx), %rcx")
            self.emit("mov %%rcx, %s" % counter)
            self.emit("jrcxz %s" % end)
            if form == 2:
                self.emit("jmp %s" % head)
            else:
                self.jump_to(head)
        self.place(end)
        self.arrive()
        return (spent + 10) * times

    def count_jump(self, budget, depth):
        """LOOP, LOOPE, LOOPNE, JRCXZ, JECXZ around a short body."""
        head, end = self.label(), self.label()
        self.settle()
        self.emit("mov $%d, %%ecx" % self.random.randrange(1, 9))
        self.place(head)
        self.emit("lea %d(%%rdx,%%rcx,2), %%rdx" % self.random.randrange(100))
        op = self.random.choice(("loop", "loope", "loopne", "addr32 loop", "addr32 loopne"))
        self.emit("%s %s" % (op, head))
        self.emit("%s %s" % (self.random.choice(("jrcxz", "jecxz")), end))
        self.emit("inc %rdx")
        self.place(end)
        self.arrive()
        return 30

    def switch(self, budget, depth):
        """A jump through a table of addresses or of distances."""
        cases = [self.label() for _ in range(self.random.choice((2, 4, 8)))]
        end = self.label()
        index, base = self.reg(), self.reg()
        while base == index:
            base = self.reg()
        i, b = sized(index, 8), sized(base, 8)
        self.emit("and $%d, %s" % (len(cases) - 1, sized(index, 4)))
        if self.random.random() < 0.5:
            self.emit("lea %s(%%rip), %s" % (self.table(cases), b))
            self.emit("jmp *(%s,%s,8)" % (b, i))
        else:
            self.emit("lea %s(%%rip), %s" % (self.table(cases, True), b))
            self.emit("movslq (%s,%s,4), %s" % (b, i, i))
            self.emit("add %s, %s" % (b, i))
            self.emit("notrack jmp *%s" % i)
        self.undefined = 0
        for case in cases:
            self.place(case)
            self.arrive()
            self.cost(0)
            self.settle()
            self.jump_to(end)
        self.place(end)
        self.arrive()
        return 25

    def table(self, labels, relative=False):
        name = self.label()
        if relative:
            self.tables.append("%s: .long %s" % (name, ", ".join("%s-%s" % (l, name)
                                                                 for l in labels)))
        else:
            self.tables.append("%s: .quad %s" % (name, ", ".join(labels)))
        return name

    def call(self, budget, depth):
        """A call of any kind."""
        able = [f for f in self.functions if f[2] < budget // 2]
        if not able:
            return self.transfer(budget, depth)
        name, words, spent = self.random.choice(able)
        for _ in range(words):
            self.emit("push %s" % sized(self.reg(), 8))
        self.settle()
        if self.random.random() < 0.5:
            self.produce()
        r = sized(self.reg(), 8)
        how = self.random.randrange(9 if "gs" in self.features else 8)
        if how == 8:
            self.emit("lea %s(%%rip), %s" % (name, r))
            self.emit("mov %s, fz_data+600(%%rip)" % r)
            self.emit("call *%gs:88")
        elif how < 3:
            self.emit("call %s" % name)
        elif how == 3:
            self.emit("lea %s(%%rip), %s" % (name, r))
            self.emit("call *%s" % r)
        elif how == 4:
            self.emit("call *%s(%%rip)" % self.table([name]))
        elif how == 5:
            self.emit("lea %s(%%rip), %s" % (name, r))
            self.emit("mov %s, -64(%%rsp)" % r)
            self.emit("call *-64(%rsp)")
        else:  # the address it returns to was never called
            back = self.label()
            self.emit("lea %s(%%rip), %s" % (back, r))
            self.emit("push %s" % r)
            self.jump_to(name)
            self.place(back)
        self.arrive()
        return spent + 8

    def tricks(self, budget, depth):
        form = self.random.randrange(6)
        first, second = self.label(), self.label()
        r = sized(self.reg(), 8)
        self.settle()
        if form == 0:  # where am I?
            self.emit("call %s" % first)
            self.place(first)
            self.emit("pop %s" % r)
        elif form == 1:  # return behind the next instruction
            self.emit("call %s" % first)
            self.emit(".byte 0xb8, 1, 2, 3, 4")
            self.emit("jmp %s" % second)
            self.place(first)
            self.emit("addq $5, (%rsp)")
            self.emit("ret")
            self.place(second)
        elif form == 2:  # a retpoline
            target = self.label()
            self.emit("lea %s(%%rip), %s" % (target, r))
            self.emit("call %s" % second)
            self.place(first)
            self.emit("pause")
            self.emit("jmp %s" % first)
            self.place(second)
            self.emit("mov %s, (%%rsp)" % r)
            self.emit("ret")
            self.place(target)
        elif form == 3:  # the middle of an instruction is run too
            counter = self.counter()
            self.emit("movq $2, %s" % counter)
            self.place(first)
            self.emit(".byte 0xa9")  # test $..., %eax, or what follows
            self.emit("inc %edx")
            self.emit("nop")
            self.emit("cmc")
            self.emit("decq %s" % counter)
            self.emit("jg %s+1" % first)
        elif form == 4:  # out of nested calls at once
            stack = self.counter()
            self.emit("mov %%rsp, %s" % stack)
            self.emit("call 1f")
            self.emit("ud2")
            self.emit("1: push %rax")
            self.emit("call 2f")
            self.emit("ud2")
            self.emit("2: mov %s, %%rsp" % stack)
            self.jump_to(first)
            self.place(first)
        else:  # as deep as a counter says
            counter = self.counter()
            self.emit("movq $%d, %s" % (self.random.choice((3, 20, 70)), counter))
            self.emit("call %s" % first)
            self.jump_to(second)
            self.place(first)
            self.emit("decq %s" % counter)
            self.emit("js 1f")
            self.emit("call %s" % first)
            self.emit("1: adc %rax, %rdx")
            self.emit("ret")
            self.place(second)
        self.undefined = 0
        self.arrive()
        return 20 if form < 5 else 300

    def red_zone(self, budget, depth):
        """Values below the stack pointer live over jumps."""
        slots = self.random.sample(range(1, 17), 4)
        regs = [self.reg() for _ in slots]
        for slot, reg in zip(slots, regs):
            self.emit("mov %s, %d(%%rsp)" % (sized(reg, 8), -8 * slot))
        self.settle()
        target = self.label()
        cc = self.random.choice(list(CONDITIONS))
        self.emit("j%s %s" % (cc, target))
        r = sized(self.reg(), 8)
        other = self.label()
        self.emit("lea %s(%%rip), %s" % (other, r))
        self.emit("jmp *%s" % r)
        self.place(other)
        self.emit("addl %%eax, %d(%%rsp)" % (-8 * slots[0]))
        self.place(target)
        for slot in slots:
            self.emit("mov %d(%%rsp), %s" % (-8 * slot, sized(self.reg(), 8)))
        return 16

    def system_call(self, budget, depth):
        """Keeps everything but rax, rcx and r11."""
        self.settle()
        self.emit("mov $%d, %%eax" % self.random.choice((24, 102, 1000)))  # yield, getuid, none
        self.emit("syscall")
        self.emit("mov $7, %ecx")
        self.emit("mov $9, %r11d")
        self.consume()
        return 20

    def pivot(self, budget, depth):
        """The stack pointer elsewhere for a while."""
        saved = self.counter()
        self.emit("mov %%rsp, %s" % saved)
        self.emit("lea fz_pivot+128(%rip), %rsp")
        self.transfer(budget, depth)
        self.straight(2)
        self.settle()
        self.emit("mov %s, %%rsp" % saved)
        return 20

    def backwards(self, budget, depth):
        """The direction flag is set while control goes through jumps and calls."""
        target, back = self.label(), self.label()
        self.settle()
        self.emit("std")
        self.jump_to(target)
        self.place(target)
        self.emit("lea fz_data+500(%rip), %rsi")
        self.emit("lea fz_data+600(%rip), %rdi")
        self.emit("mov $7, %ecx")
        self.emit("rep movsb")
        self.emit("call %s" % back)
        self.emit("cld")
        skip = self.label()
        self.emit("jmp %s" % skip)
        self.place(back)
        self.emit("lodsq")
        self.emit("ret")
        self.place(skip)
        self.arrive()
        return 25

    # The whole.

    def function(self, number):
        name = "fz_f_%d_%d" % (self.seed, number)
        words = self.random.choice((0, 0, 0, 1, 3))
        far = self.random.random() < 0.15
        self.emit('.section .far,"ax",@progbits' if far else ".text")
        self.emit(".p2align %d" % self.random.randrange(5))
        self.place(name)
        spent = self.body(BUDGET // 4, 1)
        self.settle()
        self.emit("ret $%d" % (8 * words) if words else self.random.choice(("ret", "rep ret")))
        self.emit(".text")
        self.functions.insert(0, (name, words, spent + 4))

    def write(self):
        for number in range(self.random.randrange(1, 2 if "small" in self.features else 6)):
            self.function(number)
        self.emit(".p2align 4")
        self.place("fz_p_%d" % self.seed)
        self.body(BUDGET, 0)
        self.settle()
        self.emit("jmp fz_finish")
        self.emit('.section .fztables,"a",@progbits')
        self.emit(".balign 8")
        self.lines += self.tables
        self.emit(".bss")
        self.emit(".balign 8")
        self.place("fz_counters_%d" % self.seed)
        self.emit(".skip %d" % (8 * self.counters + 16))
        self.emit(".text")


def link_of(seed):
    """Where the program of that seed is linked."""
    return list(LINKS)[seed % len(LINKS)]


THREAD_MARK = '.ident "a thread"\n'  # in the frame: from here on once a thread


def generate(seeds, features, frame, threads=1, inputs=1, rounds=1000):
    """The assembly of a file of programs, all linked at the same place, each run with `inputs` different inputs; `threads` of them at once.
    `features` is a set of avx, avx512, gs, storm (signals all the time, and each program `rounds` times), small (a tenth as long), and common: only what
    QEMU does exactly as processors do. `frame`: fuzz_frame.S, preprocessed."""
    link = link_of(seeds[0])
    common, thread = frame.split(THREAD_MARK)
    lines = ["FZ_%s = 1" % f.upper() for f in sorted(features)]
    lines += ["FZ_ROUNDS = %d" % rounds, "FZ_INPUTS = %d" % inputs, common]
    first = 0
    for number, mine in enumerate(thread_seeds(seeds, threads)):
        own = [thread, ".text"]
        for seed in mine:
            assert link_of(seed) == link
            program = Program(seed, set(features) | {link})
            program.write()
            own += program.lines
        own += [".data", ".balign 8", "fz_first: .quad %d" % first, "fz_count: .quad %d" % len(mine),
                "fz_seeds: .quad " + ", ".join(map(str, mine)),
                "fz_programs: .quad " + ", ".join("fz_p_%d" % s for s in mine), ""]
        lines.append("\n".join(own).replace("fz_", "fz%d_" % number))
        first += len(mine) * inputs
    lines += [".data", ".balign 8", "all_threads: .quad %d" % threads, "all_running: .quad %d" % threads,
              "all_starts: .quad " + ", ".join("fz%d_begin" % t for t in range(threads)),
              "all_stacks: .quad " + ", ".join("fz%d_private_top" % t for t in range(threads)), ""]
    return "\n".join(lines)


def thread_seeds(seeds, threads):
    """The seeds of each thread."""
    return [list(seeds[t::threads]) for t in range(threads)]


def run_order(seeds, threads, inputs):
    """The seed and the input of each record, by its number."""
    return [(seed, i) for mine in thread_seeds(seeds, threads) for i in range(inputs) for seed in mine]
