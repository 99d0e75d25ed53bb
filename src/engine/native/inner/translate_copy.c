// SPDX-License-Identifier: MIT
/*
 * Instructions that do not transfer control: copied, with operands rewritten that depend on the
 * instruction's address or on GS.
 */
#include "engine/native/inner/decode_memory.h"
#include "engine/native/inner/translate_impl.h"

#include <string.h>

/* --- Rewritten operands ----------------------------------------------------------------------- */

/* reg := reg + the program's GS base, using `other`. */
static void emit_add_gs_base(struct work *w, unsigned reg, unsigned other)
{
    hp_emit_save(&w->e, other, HP_AT_SCRATCH2);
    hp_emit_restore(&w->e, other, HP_AT_GS_BASE);
    hp_emit_sum(&w->e, reg, other, 0);
    hp_emit_restore(&w->e, other, HP_AT_SCRATCH2);
}

/* One of the first eight registers that the instruction does not touch, for an address. */
static unsigned free_register(const struct work *w, unsigned but)
{
    static const uint8_t candidates[] = {HP_X86_RBX, HP_X86_RSI, HP_X86_RDI,
                                         HP_X86_RDX, HP_X86_RCX, HP_X86_RAX};
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (!(w->insn.uses >> candidates[i] & 1) && candidates[i] != but)
            return candidates[i];
    /* Not known in detail: a vector instruction, whose general registers can only be in ModRM. */
    unsigned reg = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] >> 3 & 7 : 0;
    unsigned rm = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] & 7 : 0;
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (candidates[i] != reg && candidates[i] != rm && candidates[i] != but)
            return candidates[i];
    return HP_X86_RBX;
}

static bool has_prefix(const struct work *w, uint8_t prefix)
{
    for (unsigned i = 0; i < w->insn.opcode_at; i++)
        if (w->bytes[i] == prefix)
            return true;
    return false;
}

/* VEX, EVEX or XOP: 8F is also POP. */
static bool is_vex(const struct work *w)
{
    const uint8_t *opcode = w->bytes + w->insn.opcode_at;
    return opcode[0] == 0xc4 || opcode[0] == 0xc5 || opcode[0] == 0x62 ||
           (opcode[0] == 0x8f && (opcode[1] & 31) >= 8);
}

/* The bits that extend index and base, wherever the encoding has them: as in REX. */
static unsigned extension(const struct work *w)
{
    const uint8_t *opcode = w->bytes + w->insn.opcode_at;
    if (!is_vex(w))
        return w->insn.rex & 3;
    return opcode[0] == 0xc5 ? 0 : (~opcode[1] >> 5) & 3;
}

/* Gathers and scatters: the index is a vector. */
static bool has_vector_index(const struct work *w)
{
    const uint8_t *opcode = w->bytes + w->insn.opcode_at;
    bool map2 =
        (opcode[0] == 0xc4 && (opcode[1] & 31) == 2) || (opcode[0] == 0x62 && (opcode[1] & 7) == 2);
    uint8_t number = opcode[0] == 0xc4 ? opcode[3] : opcode[4];
    return map2 && ((number >= 0x90 && number <= 0x93) || (number >= 0xa0 && number <= 0xa3) ||
                    number == 0xc6 || number == 0xc7);
}

/* The displacement of the memory operand, as used in the address. */
static int32_t displacement(const struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    const uint8_t *opcode = w->bytes + insn->opcode_at, *modrm = w->bytes + insn->modrm_at;
    int32_t disp = insn->disp_at ? insn->disp : 0;
    if (opcode[0] == 0x62 && insn->disp_size == 1)
        disp *= (int32_t)hp_x86_disp8_scale(opcode);
    if (opcode[0] == 0x8f && !is_vex(w) && (modrm[0] & 7) == 4 && !(insn->rex & 1) &&
        (modrm[1] & 7) == 4) /* POP to [rsp + ...]: relative to rsp after the pop */
        disp += !insn->wide && has_prefix(w, 0x66) ? 2 : 8;
    return disp;
}

/* lea reg, [the memory operand], without its segment and without a vector index. */
void hp_emit_address(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    if (insn->rip_relative) {
        hp_emit_load_value(&w->e, reg, hp_x86_operand(insn, w->pc));
        return;
    }
    const uint8_t *modrm = w->bytes + insn->modrm_at;
    bool has_sib = (modrm[0] & 7) == 4, vector_index = has_vector_index(w);
    bool no_base = has_sib && modrm[0] < 0x40 && (modrm[1] & 7) == 5;
    if (insn->addr32)
        hp_emit_byte(&w->e, 0x67);
    hp_emit_byte(&w->e, 0x48 | (reg >> 3) << 2 | (extension(w) & (vector_index ? 1u : 3u)));
    hp_emit_byte(&w->e, 0x8d);
    hp_emit_byte(&w->e, (no_base ? 0x00u : 0x80u) | (modrm[0] & 7u) | (reg & 7) << 3);
    if (has_sib)
        hp_emit_byte(&w->e, vector_index ? (modrm[1] & 7u) | 0x20 : modrm[1]);
    hp_emit_u32(&w->e, (uint32_t)displacement(w));
}

/* Prefixes except those already in the address, and REX without index and base. */
static void emit_prefixes(struct work *w)
{
    for (unsigned i = 0; i < w->insn.opcode_at; i++) {
        uint8_t byte = w->bytes[i];
        if (byte == 0x65 || byte == 0x67 || (byte == 0x64 && w->insn.segment != HP_X86_SEG_FS))
            continue;
        if (w->insn.rex && i + 1u == w->insn.opcode_at)
            byte = (uint8_t)(byte & ~3u);
        hp_emit_byte(&w->e, byte);
    }
}

/* The instruction with [reg] or [reg + vector] as memory operand, not relative to GS. */
static void emit_with_base(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    const uint8_t *modrm = w->bytes + insn->modrm_at;
    bool vector_index = has_vector_index(w);
    unsigned rest =
        insn->disp_at ? (unsigned)(insn->disp_at + insn->disp_size) : insn->modrm_at + 1u;
    if (!insn->disp_at && (modrm[0] & 7) == 4)
        rest++; /* SIB */
    emit_prefixes(w);
    for (unsigned i = insn->opcode_at; i < insn->modrm_at; i++) {
        uint8_t byte = w->bytes[i];
        if (is_vex(w) && i == insn->opcode_at + 1u && w->bytes[insn->opcode_at] != 0xc5)
            byte |= vector_index ? 0x20 : 0x60;
        hp_emit_byte(&w->e, byte);
    }
    hp_emit_byte(&w->e, (modrm[0] & 0x38u) | (vector_index ? 4 : reg));
    if (vector_index)
        hp_emit_byte(&w->e, (modrm[1] & 0xf8u) | reg);
    hp_emit_bytes(&w->e, w->bytes + rest, insn->length - rest);
}

/* A RIP-relative operand that is out of reach, or one relative to the program's GS. */
static void emit_far_operand(struct work *w)
{
    unsigned reg = free_register(w, HP_X86_RSP);
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    hp_emit_address(w, reg);
    if (w->insn.segment == HP_X86_SEG_GS)
        emit_add_gs_base(w, reg, free_register(w, reg));
    emit_with_base(w, reg);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

/* LEA of an address out of reach: loads the number. */
static bool emit_far_lea(struct work *w)
{
    unsigned reg = (w->bytes[w->insn.modrm_at] >> 3 & 7u) | (w->insn.rex & 4u) << 1;
    if (!w->insn.wide)
        return false;
    hp_emit_load_value(&w->e, reg, hp_x86_operand(&w->insn, w->pc));
    return true;
}

/* --- GS-relative operands without ModRM ------------------------------------------------------- */

/*
 * MOVS, CMPS, LODS, OUTS: adds the program's GS base to rsi and subtracts it afterwards. A repeated
 * instruction can still be stopped in the middle: hp_spot.biased.
 */
static void emit_gs_string(struct work *w)
{
    const unsigned reg = HP_X86_RBX;
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    hp_emit_restore(&w->e, reg, HP_AT_GS_BASE);
    hp_emit_sum(&w->e, HP_X86_RSI, reg, 0);
    mark_biased(w, (uint8_t)reg);
    emit_prefixes(w);
    hp_emit_bytes(&w->e, w->bytes + w->insn.opcode_at, 1);
    hp_emit_byte(&w->e, 0x48); /* not reg */
    hp_emit_byte(&w->e, 0xf7);
    hp_emit_byte(&w->e, 0xd0 | reg);
    hp_emit_sum(&w->e, HP_X86_RSI, reg, 1);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

/* MASKMOVQ, MASKMOVDQU, VMASKMOVDQU: with the address in rdi, which is restored. */
static void emit_gs_maskmov(struct work *w)
{
    const unsigned reg = HP_X86_RDI;
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    if (w->insn.addr32) { /* mov edi, edi */
        hp_emit_byte(&w->e, 0x89);
        hp_emit_byte(&w->e, 0xff);
    }
    emit_add_gs_base(w, reg, HP_X86_RBX);
    emit_prefixes(w);
    hp_emit_bytes(&w->e, w->bytes + w->insn.opcode_at, w->insn.length - w->insn.opcode_at);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

/* MOV with the address in the instruction, and XLAT, become MOV between the accumulator and
 * [reg]. */
static void emit_gs_accumulator(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    const unsigned reg = HP_X86_RSI;
    uint8_t opcode = w->bytes[insn->opcode_at];
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    if (opcode == 0xd7) {
        static const uint8_t index[] = {0x0f, 0xb6, 0xf0};           /* movzx esi, al */
        static const uint8_t sum[] = {0x67, 0x48, 0x8d, 0x34, 0x33}; /* lea rsi, [rbx + rsi] */
        hp_emit_bytes(&w->e, index, sizeof index);
        hp_emit_bytes(&w->e, sum + !insn->addr32, sizeof sum - !insn->addr32);
    } else {
        hp_emit_load_value(&w->e, reg, insn->addr32 ? (uint32_t)insn->imm : (uint64_t)insn->imm);
    }
    emit_add_gs_base(w, reg, HP_X86_RDI);
    emit_prefixes(w);
    hp_emit_byte(&w->e, opcode == 0xd7 ? 0x8au : 0x88u | ((opcode & 3u) ^ 2u)); /* A0 ... A3 */
    hp_emit_byte(&w->e, reg);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

static void emit_gs_operand(struct work *w)
{
    if (w->insn.has_memory)
        emit_far_operand(w);
    else if (w->insn.is_string)
        emit_gs_string(w);
    else if (w->insn.modrm_at)
        emit_gs_maskmov(w);
    else
        emit_gs_accumulator(w);
}

/* --- All of them ------------------------------------------------------------------------------ */

/* A POPF that sets the trap flag is left to hp_step(): HLT faults. The flags are dead here. */
static void emit_pop_flags(struct work *w)
{
    static const uint8_t check[] = {0xf6, 0x44, 0x24, 0x01, 0x01}; /* test byte [rsp + 1], 1 */
    static const uint8_t leave[] = {0x74, 0x01, HP_X86_HLT};       /* jz over; hlt */
    hp_emit_bytes(&w->e, check, sizeof check);
    mark(w, false, false, NOT_SAVED, NOT_SAVED);
    hp_emit_bytes(&w->e, leave, sizeof leave);
    hp_emit_bytes(&w->e, w->bytes, w->insn.length);
}

void hp_emit_copy(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    if (w->bytes[insn->opcode_at] == HP_X86_POPF) {
        emit_pop_flags(w);
        return;
    }
    if (insn->segment == HP_X86_SEG_GS) {
        emit_gs_operand(w);
        return;
    }
    if (!insn->rip_relative) {
        hp_emit_bytes(&w->e, w->bytes, insn->length);
        return;
    }
    uint64_t operand = hp_x86_operand(insn, w->pc), behind = w->e.at + insn->length;
    if (!hp_emit_reaches(behind, operand) || insn->addr32) {
        if (!insn->is_lea || !emit_far_lea(w))
            emit_far_operand(w);
        return;
    }
    uint8_t *disp = w->e.out + insn->disp_at;
    hp_emit_bytes(&w->e, w->bytes, insn->length);
    uint32_t value = hp_emit_rel(behind, operand);
    memcpy(disp, &value, 4);
}
/* --- GS --------------------------------------------------------------------------------------- */

void hp_emit_gs_base(struct work *w)
{
    unsigned reg = w->insn.reg;
    if (w->insn.kind == HP_X86_WRGSBASE && w->insn.wide) {
        hp_emit_save(&w->e, reg, HP_AT_GS_BASE);
        return;
    }
    hp_emit_byte(&w->e, 0x65);
    if (w->insn.kind == HP_X86_RDGSBASE) {
        unsigned rex = (w->insn.wide ? 0x48u : 0x40u) | (reg >> 3) << 2;
        hp_emit_byte(&w->e, rex);
        hp_emit_byte(&w->e, 0x8b);
        hp_emit_gs_operand(&w->e, reg, HP_AT_GS_BASE);
        return;
    }
    hp_emit_byte(&w->e, 0x40u | (reg >> 3) << 2); /* 32 bits of it; the upper half becomes 0 */
    hp_emit_byte(&w->e, 0x89);
    hp_emit_gs_operand(&w->e, reg, HP_AT_GS_BASE);
    hp_emit_set(&w->e, HP_AT_GS_BASE + 4, 0);
}
