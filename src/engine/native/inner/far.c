// SPDX-License-Identifier: MIT
/*
 * Far transfers that stay in 64-bit code, emulated in C, and system calls by int 0x80. Transfers
 * that leave 64-bit code cannot be observed.
 */
#include "engine/native/inner/far.h"

#include "engine/native/inner/cpu.h"
#include "engine/native/inner/decode_memory.h"
#include "engine/native/inner/sys.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <string.h>

/* The flags that IRET pops: CF PF AF ZF SF TF DF OF NT AC ID. */
#define IRET_FLAGS 0x244dd5u

/* The result of emulating an instruction. */
enum verdict {
    DONE,   /* regs are as after it */
    NATIVE, /* the processor must report what is wrong */
    LEAVES, /* it leads out of ordinary 64-bit code */
};

static bool is_amd(void)
{
    static int known; /* 1 no, 2 yes */
    if (!known) {
        uint32_t r[4];
        hp_cpuid(0, 0, r);
        known = r[1] == 0x68747541 || r[1] == 0x6f677948 ? 2 : 1; /* Auth..., Hygo... */
    }
    return known == 2;
}

static unsigned operand_size(const struct hp_last *l)
{
    bool in_memory = l->insn.modrm_at;
    if (l->insn.wide && !(in_memory && is_amd())) /* AMD has no m16:64 */
        return 8;
    for (unsigned i = 0; i < l->insn.opcode_at; i++)
        if (l->bytes[i] == 0x66)
            return 2;
    return 4;
}

/* Not an ordinary user segment: it may be another valid one (`stack`: for SS, else for CS), or the
 * processor will fault. */
static enum verdict judge_selector(uint16_t selector, bool stack)
{
    uint32_t rights = 0;
    bool known;
    __asm__("lar %2, %0" : "+r"(rights), "=@ccz"(known) : "r"((uint32_t)selector));
    /* Present, for user mode, not a system segment; code, or writable data. */
    bool usable = known && (selector & 3) == 3 && (rights & 0xf000) == 0xf000 &&
                  (stack ? (rights & 0xa00) == 0x200 : (rights & 0x800) != 0);
    return usable ? LEAVES : NATIVE;
}

static enum verdict check_target(uint64_t selector, uint64_t target, bool any_rpl)
{
    if ((selector & 0xffff) != USER_CS && !(any_rpl && (selector & 0xfffc) == (USER_CS & ~3)))
        return judge_selector((uint16_t)selector, false);
    return target >> 47 ? NATIVE : DONE;
}

/* Reads `n` numbers of `size` bytes. */
static bool read_numbers(uint64_t from, unsigned size, unsigned n, uint64_t numbers[5])
{
    uint8_t raw[40];
    if (!hp_copy(raw, (const void *)from, (uint64_t)n * size))
        return false;
    for (unsigned i = 0; i < n; i++) {
        numbers[i] = 0;
        memcpy(&numbers[i], raw + (size_t)i * size, size);
    }
    return true;
}

static enum verdict jump_or_call(struct hp_self *self, const struct hp_last *l, bool is_call)
{
    unsigned size = operand_size(l);
    uint64_t addresses[2], target = 0, *r = self->regs.r;
    uint16_t selector;
    uint8_t raw[10];
    if (hp_operands(self, l->bytes, &l->insn, l->pc, addresses) == 0 ||
        !hp_copy(raw, (const void *)addresses[0], size + 2))
        return NATIVE;
    memcpy(&target, raw, size);
    memcpy(&selector, raw + size, 2);
    enum verdict verdict = check_target(selector, target, true);
    if (verdict != DONE)
        return verdict;
    if (is_call) {
        uint8_t frame[16] = {0};
        frame[size] = USER_CS;
        memcpy(frame, &l->behind, size);
        if (!hp_put(r[RSP] - 2 * size, frame, 2 * size))
            return NATIVE;
        r[RSP] -= 2 * size;
    }
    self->regs.rip = target;
    return DONE;
}

static enum verdict far_return(struct hp_self *self, const struct hp_last *l)
{
    unsigned size = operand_size(l);
    uint64_t popped[5];
    if (!read_numbers(self->regs.r[RSP], size, 2, popped))
        return NATIVE;
    enum verdict verdict = check_target(popped[1], popped[0], false);
    if (verdict != DONE)
        return verdict;
    self->regs.r[RSP] += 2 * size + (l->insn.imm_at ? (uint16_t)l->insn.imm : 0u);
    self->regs.rip = popped[0];
    return DONE;
}

static enum verdict interrupt_return(struct hp_self *self, const struct hp_last *l)
{
    unsigned size = operand_size(l);
    uint64_t popped[5]; /* rip, cs, flags, rsp, ss */
    if (self->regs.flags & FLAG_NT || !read_numbers(self->regs.r[RSP], size, 5, popped))
        return NATIVE;
    enum verdict verdict = check_target(popped[1], popped[0], false);
    if (verdict != DONE)
        return verdict;
    if ((popped[4] & 0xffff) != USER_SS)
        return judge_selector((uint16_t)popped[4], true);
    if (size != 8)
        return NATIVE;
    self->regs.flags = (self->regs.flags & ~(uint64_t)IRET_FLAGS) | (popped[2] & IRET_FLAGS);
    self->regs.r[RSP] = popped[3];
    self->regs.rip = popped[0];
    return DONE;
}

static enum verdict do_it(struct hp_self *self, const struct hp_last *l)
{
    switch (l->bytes[l->insn.opcode_at]) {
    case 0xca:
    case 0xcb: return far_return(self, l);
    case 0xcf: return interrupt_return(self, l);
    default: return jump_or_call(self, l, (l->bytes[l->insn.modrm_at] >> 3 & 7) == 3);
    }
}

/* Undoes the recording of the instruction that ends the segment. */
static void take_back(struct hp_self *self, const struct hp_last *l)
{
    struct hp_x86_mem mems[HP_X86_MEMS_MAX];
    if (hp_engine.mode == HP_RECORD_MEMORY) {
        self->address -= hp_x86_memory(l->bytes, &l->insn, l->pc, mems);
        self->address_seen = NULL;
    }
    hp_words_arrived(self, l->pc);
    if (l->insns > 1 || (l->before_by && hp_engine.mode == HP_RECORD_COUNT))
        hp_words_ran_part(self, l->id, l->insns - 1); /* also says where the transfer went */
    else if (l->before)
        hp_words_ran(self, l->before, l->before_taken, l->pc);
}

void hp_last_read(const struct hp_self *self, struct hp_last *l)
{
    const struct hp_exit *exit = &hp_exits[self->exit];
    const struct hp_cached_piece *piece = hp_last_piece(exit->segment);
    *l = (struct hp_last){.pc = exit->target,
                          .behind = piece->start + piece->size,
                          .id = exit->id,
                          .insns = piece->insns};
    if (hp_segs[exit->segment].n_pieces > 1 && !piece->first) {
        l->before = piece[-1].id;
        l->before_taken = piece[-1].taken;
        l->before_by = piece[-1].taken == HP_WENT_BY;
    }
    unsigned size = (unsigned)(l->behind - l->pc);
    if (size > 15 || !hp_copy(l->bytes, (const void *)l->pc, size))
        size = 0;
    hp_x86_decode(l->bytes, size, &l->insn);
}

void hp_on_far(struct hp_self *self)
{
    hp_traces_end(self);
    struct hp_last last;
    hp_last_read(self, &last);
    atomic_store(&self->where, HP_IN_ENGINE);
    self->regs.rip = last.pc;
    switch (last.insn.kind == HP_X86_FAR ? do_it(self, &last) : NATIVE) {
    case DONE:
        if (self->regs.flags & FLAG_TF) { /* the next instruction traps */
            if (hp_engine.mode == HP_RECORD_COUNT)
                hp_words_ran_part(self, last.id, last.insns);
            else
                hp_words_ran(self, last.id, true, self->regs.rip);
            hp_go_on(self, self->regs.rip);
        }
        hp_go_on_from(self, last.id, self->regs.rip);
    case NATIVE: take_back(self, &last); hp_probe(self, last.pc, false);
    default: take_back(self, &last); hp_release(self, last.pc, "the program leaves 64-bit code");
    }
}

bool hp_is_sysenter(uint64_t pc)
{
    uint8_t bytes[15] = {0};
    struct hp_x86 insn;
    for (unsigned i = 0; i < sizeof bytes && hp_copy(bytes + i, (const void *)(pc + i), 1); i++)
        ;
    hp_x86_decode(bytes, sizeof bytes, &insn);
    return insn.kind == HP_X86_SYSTEM && bytes[insn.opcode_at + 1] == 0x34;
}

/* --- int 0x80 --------------------------------------------------------------------------------- */

/*
 * i386 calls that the engine would have to know about: they make threads, processes, mappings or
 * signal handlers, or change the engine's state in the kernel.
 */
static bool is_ours(uint32_t number)
{
    static const uint16_t numbers[] = {
        2,   11,  120, 190, 358, 435, /* fork, execve, clone, vfork, execveat, clone3 */
        86,  90,  91,  117, 125, 163, 192, 380,
        397, /* uselib, mmap, munmap, ipc, mprotect, mremap,
                                                        mmap2, pkey_mprotect, shmat */
        48,  67,  68,  69,  72,  119, 126, 173,
        174, /* signal, sigaction, sgetmask, ssetmask,
                                                        sigsuspend, sigreturn, sigprocmask, rt_...
              */
        175, 179, 186, 308, 309, 319, 413, 414,
        441,                               /* rt_sigprocmask, rt_sigsuspend, sigaltstack,
                                                        pselect6, ppoll, epoll_pwait, ... */
        63,  330, 436,                     /* dup2, dup3, close_range */
        113, 166, 123, 243, 384,           /* vm86, modify_ldt, set_thread_area, arch_prctl */
        172, 354, 375, 386, 26,  348, 440, /* prctl, seccomp, membarrier, rseq, ptrace,
                                                        process_vm_writev, process_madvise */
    };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

enum { NR_EXIT = 1, NR_CLOSE = 6, NR_EXIT_GROUP = 252 };

static bool closes_ours(const struct hp_self *self)
{
    int fd = (int)self->regs.r[RBX];
    return (uint32_t)self->regs.r[RAX] == NR_CLOSE &&
           (fd == hp_engine.arena_fd || fd == hp_engine.engine_fd);
}

static int make_call(struct hp_self *self)
{
    uint64_t number = self->regs.r[RAX];
    if (closes_ours(self)) {
        self->regs.r[RAX] = (uint64_t)-9; /* EBADF */
        return 1;
    }
    int result = hp_raw_int80(self);
    if (result == 1 && (int64_t)self->regs.r[RAX] == -14 && hp_guards_lift(0, UINT64_MAX)) {
        self->regs.r[RAX] = number; /* EFAULT: possibly caused by a guard */
        result = hp_raw_int80(self);
    }
    return result;
}

void hp_on_int80(struct hp_self *self)
{
    hp_traces_end(self);
    struct hp_last last;
    uint32_t number = (uint32_t)self->regs.r[RAX];
    hp_last_read(self, &last);
    atomic_store(&self->where, HP_IN_ENGINE);
    self->regs.rip = last.pc;
    if (is_ours(number)) {
        take_back(self, &last);
        hp_release(self, last.pc, "the program makes a system call of 32-bit programs");
    }
    if (number == NR_EXIT || number == NR_EXIT_GROUP) {
        hp_words_ran(self, last.id, false, last.behind);
        hp_words_not_ended(self, last.id, last.insns);
        self->regs.r[RDI] = self->regs.r[RBX];
        hp_sys_exit(self, number == NR_EXIT_GROUP);
    }
    int result = make_call(self);
    if (result != 1) {
        take_back(self, &last);
        if (result < 0)
            hp_probe(self, last.pc, false);
        hp_go_on(self, last.pc);
    }
    hp_words_ran(self, last.id, false, last.behind);
    hp_go_on(self, last.behind);
}
