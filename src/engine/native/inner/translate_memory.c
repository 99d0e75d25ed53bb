// SPDX-License-Identifier: MIT
/*
 * Memory mode: the address of every memory operand is stored where HP_AT_ADDRESS points.
 *
 * HP_AT_ADDRESS is updated once per block, just before its last instruction; the k-th address of
 * the block goes to [pointer + 8 * k]. So an operand takes two instructions (compute, store) and
 * two registers. These are *held* (with their values in HP_AT_SCRATCH1 and 2) over all following
 * instructions that use neither of them. An instruction that leaves no two registers free, or needs
 * their save slots, borrows two for itself.
 *
 * When a thread is stopped inside a block, hp_spot.addresses says how many addresses HP_AT_ADDRESS
 * lacks (or, in the block's last instruction, has too many).
 */
#include "engine/native/inner/decode_memory.h"
#include "engine/native/inner/translate_impl.h"
#include "engine/native/inner/x87.h"

#define ANY_REG                                                                                    \
    (0xffffu & ~(1u << HP_X86_RSP | 1u << 12)) /* r12 as a base is encoded otherwise               \
                                                */

static uint16_t bit_of(uint8_t reg)
{
    return reg == HP_X86_NO_REG ? 0 : (uint16_t)(1u << reg);
}

static uint16_t registers_of(const struct hp_x86_mem *mems, unsigned n)
{
    uint16_t set = 0;
    for (unsigned i = 0; i < n; i++)
        set |= (uint16_t)(bit_of(mems[i].base) | bit_of(mems[i].index) |
                          (mems[i].plus_al ? 1u << HP_X86_RAX : 0));
    return set;
}

/* --- Single instructions ---------------------------------------------------------------------- */

/* The registers of an operand, as bits of REX. */
static unsigned rex_of(unsigned reg, uint8_t base, uint8_t index)
{
    unsigned rex = 0x48 | (reg >> 3) << 2;
    if (base != HP_X86_NO_REG)
        rex |= base >> 3;
    if (index != HP_X86_NO_REG)
        rex |= (unsigned)(index >> 3) << 1;
    return rex;
}

/* ModRM, SIB and displacement of [base + (index << shift) + disp], with a base or an index. */
static void emit_operand(struct hp_emit *e, unsigned reg, const struct hp_x86_mem *mem)
{
    unsigned mod = 0x80, field = (reg & 7) << 3;
    bool has_base = mem->base != HP_X86_NO_REG, has_index = mem->index != HP_X86_NO_REG;
    if (!has_base || (mem->disp == 0 && (mem->base & 7) != 5))
        mod = 0;
    else if (mem->disp >= -128 && mem->disp < 128)
        mod = 0x40;
    if (has_index || (mem->base & 7) == 4) {
        unsigned index = has_index ? (mem->index & 7u) << 3 : 0x20;
        hp_emit_byte(e, mod | field | 4);
        hp_emit_byte(e, (unsigned)mem->shift << 6 | index | (has_base ? mem->base & 7u : 5));
    } else {
        hp_emit_byte(e, mod | field | (mem->base & 7u));
    }
    if (mod == 0x40)
        hp_emit_byte(e, (unsigned)mem->disp & 0xff);
    else if (mod == 0x80 || !has_base)
        hp_emit_u32(e, (uint32_t)mem->disp);
}

/* lea reg, [mem] */
static void emit_lea(struct hp_emit *e, unsigned reg, const struct hp_x86_mem *mem)
{
    if (mem->addr32)
        hp_emit_byte(e, 0x67);
    hp_emit_byte(e, rex_of(reg, mem->base, mem->index));
    hp_emit_byte(e, 0x8d);
    emit_operand(e, reg, mem);
}

/* mov reg, value; shorter if it is near */
static void emit_constant(struct hp_emit *e, unsigned reg, uint64_t value)
{
    if (!hp_emit_reaches(e->at, value)) {
        hp_emit_load_value(e, reg, value);
        return;
    }
    hp_emit_byte(e, 0x48 | (reg >> 3) << 2); /* lea reg, [rip + ...] */
    hp_emit_byte(e, 0x8d);
    hp_emit_byte(e, 0x05 | (reg & 7) << 3);
    hp_emit_u32(e, hp_emit_rel(e->at + 4, value));
}

/* reg := the base of a segment */
static void emit_segment_base(struct hp_emit *e, unsigned reg, unsigned segment)
{
    if (segment == HP_X86_SEG_GS) {
        hp_emit_restore(e, reg, HP_AT_GS_BASE);
    } else if (hp_engine.has_fsgsbase) { /* rdfsbase */
        hp_emit_byte(e, 0xf3);
        hp_emit_byte(e, 0x48 | reg >> 3);
        hp_emit_byte(e, 0x0f);
        hp_emit_byte(e, 0xae);
        hp_emit_byte(e, 0xc0 | (reg & 7));
    } else { /* mov reg, fs:[0]: in the ABI it points to itself */
        hp_emit_byte(e, 0x64);
        hp_emit_byte(e, 0x48 | (reg >> 3) << 2);
        hp_emit_byte(e, 0x8b);
        hp_emit_gs_operand(e, reg, 0);
    }
}

/* reg := address of an operand; `other` is also used if there is a segment. */
static void emit_compute(struct hp_emit *e, const struct hp_x86_mem *mem, unsigned reg,
                         unsigned other)
{
    struct hp_x86_mem plain = *mem;
    if (mem->plus_al) { /* movzx reg, al */
        hp_emit_byte(e, 0x40 | (reg >> 3) << 2);
        hp_emit_byte(e, 0x0f);
        hp_emit_byte(e, 0xb6);
        hp_emit_byte(e, 0xc0 | (reg & 7) << 3);
        plain.index = (uint8_t)reg;
    }
    if (plain.base == HP_X86_NO_REG && plain.index == HP_X86_NO_REG)
        emit_constant(e, reg, mem->addr32 ? (uint32_t)mem->disp : (uint64_t)mem->disp);
    else
        emit_lea(e, reg, &plain);
    if (mem->segment == HP_X86_SEG_NONE)
        return;
    struct hp_x86_mem sum = {.base = (uint8_t)reg, .index = (uint8_t)other};
    emit_segment_base(e, other, mem->segment);
    emit_lea(e, reg, &sum);
}

/* Stores the address of an operand in [pointer + 8 * slot]. */
static void emit_record(struct hp_emit *e, const struct hp_x86_mem *mem, unsigned reg,
                        unsigned pointer, int slot)
{
    bool is_register = mem->base != HP_X86_NO_REG && mem->index == HP_X86_NO_REG && !mem->disp &&
                       !mem->addr32 && mem->segment == HP_X86_SEG_NONE && !mem->plus_al;
    unsigned value = is_register ? mem->base : reg;
    if (!is_register)
        emit_compute(e, mem, reg, pointer);
    if (mem->segment != HP_X86_SEG_NONE)
        hp_emit_restore(e, pointer, HP_AT_ADDRESS);
    /* Always with a displacement: hp_words_fault() recognizes the instruction by it. */
    bool small = slot < 16;
    hp_emit_byte(e, rex_of(value, (uint8_t)pointer, HP_X86_NO_REG));
    hp_emit_byte(e, 0x89);
    hp_emit_byte(e, (small ? 0x40u : 0x80u) | (value & 7) << 3 | (pointer & 7));
    if (small)
        hp_emit_byte(e, (unsigned)slot * 8);
    else
        hp_emit_u32(e, (uint32_t)slot * 8);
}

/* --- Holding registers ------------------------------------------------------------------------ */

static bool ends_block(const struct hp_x86 *insn)
{
    return insn->kind != HP_X86_PLAIN && insn->kind != HP_X86_RDGSBASE &&
           insn->kind != HP_X86_WRGSBASE;
}

/* Whether its translation may need HP_AT_SCRATCH1 and 2. Its exact place is not known yet, so a
 * margin is left. */
static bool may_need_scratch(const struct work *w, const struct hp_x86 *insn, uint64_t pc)
{
    const uint64_t margin = 1 << 20;
    if (insn->segment == HP_X86_SEG_GS)
        return true;
    if (!insn->rip_relative)
        return false;
    uint64_t operand = hp_x86_operand(insn, pc);
    return insn->addr32 || !hp_emit_reaches(w->e.at, operand - margin) ||
           !hp_emit_reaches(w->e.at, operand + margin);
}

static unsigned take_register(uint16_t *set)
{
    unsigned reg = 31u - (unsigned)__builtin_clz(*set);
    *set &= (uint16_t) ~(1u << reg);
    return reg;
}

static bool has_two(unsigned set)
{
    return (set & (set - 1)) != 0;
}

/*
 * Finds how far two registers can be held from w->insn on: sets w->held and w->held_until. The
 * result is the same when the piece is translated again, which ends with the piece: nothing after
 * the end is examined.
 */
static void plan(struct work *w)
{
    struct hp_x86 insn = w->insn;
    uint64_t pc = w->pc;
    const uint8_t *bytes = w->bytes;
    uint16_t unused = ANY_REG;
    w->held_until = 0;
    for (unsigned insns = w->insns; insns < MEMORY_INSNS && pc < w->high; insns++) {
        if (pc != w->pc)
            hp_work_decode(w, pc, bytes, &insn);
        if (hp_work_is_foreign(&insn))
            break;
        struct hp_x86_mem mems[HP_X86_MEMS_MAX];
        bool is_end = ends_block(&insn) || hp_x87_is_stored(bytes, &insn);
        uint16_t used =
            is_end ? registers_of(mems, hp_x86_memory(bytes, &insn, pc, mems)) : insn.uses;
        if (!has_two(unused & ~(unsigned)used) || (!is_end && may_need_scratch(w, &insn, pc)))
            break;
        unused &= (uint16_t)~used;
        pc += insn.length;
        bytes += insn.length;
        w->held_until = pc;
        if (is_end)
            break;
    }
    w->held[0] = (uint8_t)take_register(&unused);
    w->held[1] = (uint8_t)take_register(&unused);
}

static void save(struct work *w)
{
    hp_emit_save(&w->e, w->held[0], HP_AT_SCRATCH1);
    hp_emit_save(&w->e, w->held[1], HP_AT_SCRATCH2);
    mark_recording(w, w->held[0], w->held[1]);
    hp_emit_restore(&w->e, w->held[1], HP_AT_ADDRESS);
}

static void restore(struct work *w)
{
    hp_emit_restore(&w->e, w->held[0], HP_AT_SCRATCH1);
    hp_emit_restore(&w->e, w->held[1], HP_AT_SCRATCH2);
    w->held_until = 0;
    mark_recording(w, NOT_SAVED, NOT_SAVED);
}

/* Records the addresses of w->insn. */
static void record(struct work *w, const struct hp_x86_mem *mems, unsigned n)
{
    if (!w->held_until) {
        plan(w);
        if (!w->held_until) { /* for this instruction only */
            uint16_t unused = (uint16_t)(ANY_REG & ~(unsigned)registers_of(mems, n));
            w->held[0] = (uint8_t)take_register(&unused);
            w->held[1] = (uint8_t)take_register(&unused);
        }
        save(w);
    }
    for (unsigned i = 0; i < n; i++)
        emit_record(&w->e, &mems[i], w->held[0], w->held[1], w->addresses + w->recorded++);
    if (!w->held_until)
        restore(w);
}

/* --- What the translator calls ---------------------------------------------------------------- */

void hp_memory_begin(struct work *w)
{
    w->addresses = w->recorded = 0;
    w->held_until = 0;
}

void hp_memory_insn(struct work *w)
{
    struct hp_x86_mem mems[HP_X86_MEMS_MAX];
    w->addresses += w->recorded; /* the previous one is complete */
    w->recorded = 0;
    if (w->held_until)
        mark_recording(w, w->held[0], w->held[1]);
    else
        mark_recording(w, NOT_SAVED, NOT_SAVED);
    if (w->held_until && w->pc >= w->held_until)
        restore(w);
    unsigned n = hp_x86_memory(w->bytes, &w->insn, w->pc, mems);
    if (n > 0)
        record(w, mems, n);
    if (w->held_until)
        mark(w, true, false, w->held[0], w->held[1]);
    else
        mark_clean(w);
}

void hp_memory_end(struct work *w, bool with_insn)
{
    if (!with_insn) {
        w->addresses += w->recorded;
        w->recorded = 0;
    }
    int n = w->addresses + w->recorded;
    if (n == 0)
        return;
    if (!w->held_until) {
        w->held[0] = 15;
        w->held[1] = 14;
        mark_recording(w, NOT_SAVED, NOT_SAVED);
        save(w);
    } else {
        mark_recording(w, w->held[0], w->held[1]);
    }
    struct hp_x86_mem sum = {.base = w->held[1], .index = HP_X86_NO_REG, .disp = 8 * n};
    emit_lea(&w->e, w->held[1], &sum);
    hp_emit_save(&w->e, w->held[1], HP_AT_ADDRESS);
    w->addresses = -w->recorded;
    w->recorded = 0;
    mark_recording(w, w->held[0], w->held[1]);
    restore(w);
    mark_clean(w);
}
