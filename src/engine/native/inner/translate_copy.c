// SPDX-License-Identifier: MIT
/*
 * Instructions that do not pass control on: copied, with operands rewritten that depend on where the
 * instruction is, or on GS.
 */
#include "engine/native/inner/translate_impl.h"

#include <string.h>

/* --- Rewritten operands ------------------------------------------------------------------------ */

/* A register of the first eight that the instruction does not touch, for an address. */
static unsigned free_register(const struct work *w, unsigned but)
{
    static const uint8_t candidates[] = {HP_X86_RBX, HP_X86_RSI, HP_X86_RDI,
                                         HP_X86_RDX, HP_X86_RCX, HP_X86_RAX};
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (!(w->insn.uses >> candidates[i] & 1) && candidates[i] != but)
            return candidates[i];
    /* Not known in detail: a vector instruction, whose general registers are in ModRM if anywhere. */
    unsigned reg = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] >> 3 & 7 : 0;
    unsigned rm = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] & 7 : 0;
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (candidates[i] != reg && candidates[i] != rm && candidates[i] != but)
            return candidates[i];
    return HP_X86_RBX;
}

static bool is_vex(const struct work *w)
{
    uint8_t first = w->bytes[w->insn.opcode_at];
    return first == 0xc4 || first == 0xc5 || first == 0x62 || first == 0x8f;
}

/* The bits that extend index and base, wherever the encoding keeps them: as in REX. */
static unsigned extension(const struct work *w)
{
    const uint8_t *opcode = w->bytes + w->insn.opcode_at;
    if (!is_vex(w))
        return w->insn.rex & 3;
    return opcode[0] == 0xc5 || (opcode[0] == 0x8f && (opcode[1] & 0x1f) < 8)
               ? 0
               : (~opcode[1] >> 5) & 3;
}

/* lea reg, [the memory operand], without its segment. */
void hp_emit_address(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    if (insn->rip_relative) {
        hp_emit_load_value(&w->e, reg, hp_x86_operand(insn, w->pc));
        return;
    }
    unsigned from = insn->modrm_at;
    unsigned end = insn->disp_at ? (unsigned)(insn->disp_at + insn->disp_size) : from + 1;
    bool has_sib = (w->bytes[from] & 7) == 4;
    if (!insn->disp_at && has_sib)
        end = from + 2;
    if (insn->addr32)
        hp_emit_byte(&w->e, 0x67);
    hp_emit_byte(&w->e, 0x48 | (reg >> 3) << 2 | extension(w));
    hp_emit_byte(&w->e, 0x8d);
    hp_emit_byte(&w->e, (w->bytes[from] & 0xc7u) | (reg & 7) << 3);
    hp_emit_bytes(&w->e, w->bytes + from + 1, end - from - 1);
}

/* The instruction with [reg] for its memory operand, and no segment. */
static void emit_with_base(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    unsigned rest =
        insn->disp_at ? (unsigned)(insn->disp_at + insn->disp_size) : insn->modrm_at + 1u;
    if (!insn->disp_at && (w->bytes[insn->modrm_at] & 7) == 4)
        rest++; /* SIB */
    bool vex = is_vex(w);
    for (unsigned i = 0; i < insn->modrm_at; i++) {
        uint8_t byte = w->bytes[i];
        if (i < insn->opcode_at && (byte == 0x65 || byte == 0x64 || byte == 0x67))
            continue;
        if (insn->rex && i + 1u == insn->opcode_at)
            byte = (uint8_t)(byte & ~3u);
        if (vex && i == insn->opcode_at + 1u && w->bytes[insn->opcode_at] != 0xc5)
            byte |= 0x60;
        hp_emit_byte(&w->e, byte);
    }
    hp_emit_byte(&w->e, (w->bytes[insn->modrm_at] & 0x38u) | reg);
    hp_emit_bytes(&w->e, w->bytes + rest, insn->length - rest);
}

/* A RIP-relative operand that is out of reach, or one relative to the program's GS. */
static void emit_far_operand(struct work *w)
{
    unsigned reg = free_register(w, HP_X86_RSP);
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    hp_emit_address(w, reg);
    if (w->insn.segment == HP_X86_SEG_GS) {
        unsigned other = free_register(w, reg);
        hp_emit_save(&w->e, other, HP_AT_SCRATCH2);
        hp_emit_restore(&w->e, other, HP_AT_GS_BASE);
        hp_emit_byte(&w->e, 0x48); /* lea reg, [reg + other] */
        hp_emit_byte(&w->e, 0x8d);
        hp_emit_byte(&w->e, 0x04 | reg << 3);
        hp_emit_byte(&w->e, other << 3 | reg);
        hp_emit_restore(&w->e, other, HP_AT_SCRATCH2);
    }
    emit_with_base(w, reg);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

/* LEA of an address out of reach: just the number. */
static bool emit_far_lea(struct work *w)
{
    unsigned reg = (w->bytes[w->insn.modrm_at] >> 3 & 7u) | (w->insn.rex & 4u) << 1;
    if (!w->insn.wide)
        return false;
    hp_emit_load_value(&w->e, reg, hp_x86_operand(&w->insn, w->pc));
    return true;
}

void hp_emit_copy(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    if (insn->segment == HP_X86_SEG_GS && (insn->has_memory || insn->is_string)) {
        emit_far_operand(w);
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
/* --- GS ---------------------------------------------------------------------------------------- */

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
    hp_emit_byte(&w->e, 0x40u | (reg >> 3) << 2); /* 32 bits of it; the rest is 0 */
    hp_emit_byte(&w->e, 0x89);
    hp_emit_gs_operand(&w->e, reg, HP_AT_GS_BASE);
    hp_emit_set(&w->e, HP_AT_GS_BASE + 4, 0);
}

/* A selector in GS: the program can only have 0 there, whose base is 0. */
void hp_emit_gs_selector(struct work *w)
{
    static const uint8_t pop[] = {0x48, 0x8d, 0x64, 0x24, 0x08}; /* lea rsp, [rsp + 8] */
    hp_emit_set(&w->e, HP_AT_GS_BASE, 0);
    hp_emit_set(&w->e, HP_AT_GS_BASE + 4, 0);
    if (w->insn.kind == HP_X86_POP_GS)
        hp_emit_bytes(&w->e, pop, sizeof pop);
}
