// SPDX-License-Identifier: MIT
/*
 * Finding the parts of an instruction. Every byte is checked against the limit before it is looked
 * at; what the instruction does is said by decode_effects.c.
 */
#include "engine/native/inner/decode_tables.h"

enum { MAX_LENGTH = 15 };

static const uint8_t prefix_bits[256] = {
    [0x26] = POTHER,        [0x2e] = POTHER, [0x36] = POTHER, [0x3e] = POTHER,
    [0x40 ... 0x4f] = PREX, [0x64] = PFS,    [0x65] = PGS,    [0x66] = P66,
    [0x67] = P67,           [0xf0] = POTHER, [0xf2] = PF2,    [0xf3] = PF3,
};

/* --- Prefixes and opcodes ----------------------------------------------------------------------- */

// A REX counts only directly before the opcode, of FS and GS the last, and of F2 and F3 likewise.
static bool take_prefixes(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    for (; p->at < p->limit; p->at++) {
        uint8_t byte = p->code[p->at], bit = prefix_bits[byte];
        if (!bit) {
            insn->rex = (uint8_t)p->extension;
            p->extension &= 15;
            return true;
        }
        p->extension = 0;
        if (bit == PREX)
            p->extension = byte;
        else if (bit == PFS || bit == PGS)
            p->prefixes = (uint8_t)((p->prefixes & ~(PFS | PGS)) | bit);
        else if (bit == PF2 || bit == PF3)
            p->prefixes = (uint8_t)((p->prefixes & ~(PF2 | PF3)) | bit);
        else
            p->prefixes |= bit;
    }
    return false;
}

static void take_pp(struct hp_x86_parts *p, uint8_t pp)
{
    static const uint8_t bits[4] = {0, P66, PF3, PF2};
    p->prefixes = (uint8_t)((p->prefixes & ~(P66 | PF2 | PF3)) | bits[pp & 3]);
}

static uint32_t vex_entry(unsigned map, uint8_t opcode)
{
    switch (map) {
    case 1:
    case 5: return hp_x86_vex1[opcode];
    case 2:
    case 6: return hp_x86_vex2[opcode];
    case 3: return hp_x86_vex3[opcode];
    default: return 0;
    }
}

// The vectors of XOP, and its few general instructions, which are not known in detail.
static uint32_t xop_entry(unsigned map, uint8_t opcode)
{
    switch (map) {
    case 8: return MODRM | IB | K;
    case 9: return opcode >= 0x80 ? MODRM | K : MODRM;
    case 10: return MODRM | ID;
    default: return 0;
    }
}

// C5 and two bytes, C4, 8F and three, or 62 and four, of which the last is the opcode.
static bool take_vex(struct hp_x86_parts *p, uint8_t first)
{
    unsigned more = first == 0xc5 ? 2 : first == 0x62 ? 4 : 3;
    if (p->limit - p->at < more)
        return false;
    const uint8_t *code = p->code + p->at;
    uint8_t last = code[first != 0xc5], flipped = (uint8_t)~code[0];
    unsigned map = 1;
    p->extension = flipped >> 5 & (unsigned)(first == 0xc5 ? EXT_R : EXT_R | EXT_X | EXT_B);
    if (first != 0xc5) {
        map = code[0] & (first == 0x62 ? 7 : 31);
        p->extension |= (unsigned)(last >> 4) & EXT_W;
    }
    p->vvvv = ~last >> 3 & 15;
    take_pp(p, last);
    p->opcode = code[more - 1];
    p->at += more;
    p->entry = first == 0x8f ? xop_entry(map, p->opcode) : vex_entry(map, p->opcode);
    return p->entry != 0;
}

static bool take_0f(struct hp_x86_parts *p)
{
    if (p->at == p->limit)
        return false;
    p->opcode = p->code[p->at++];
    p->entry = hp_x86_0f[p->opcode];
    if (p->opcode != 0x38 && p->opcode != 0x3a)
        return p->entry != 0;
    if (p->at == p->limit)
        return false;
    const uint32_t *map = p->opcode == 0x38 ? hp_x86_0f38 : hp_x86_0f3a;
    p->opcode = p->code[p->at++];
    p->entry = map[p->opcode];
    return p->entry != 0;
}

static bool take_opcode(struct hp_x86_parts *p)
{
    uint8_t first = p->code[p->at++];
    if (first == 0x0f)
        return take_0f(p);
    p->opcode = first;
    p->entry = hp_x86_one[first];
    if (first == 0xc4 || first == 0xc5 || first == 0x62)
        return take_vex(p, first);
    // POP r/m is not XOP: its ModRM.reg is 0.
    if (first == 0x8f && p->at < p->limit && (p->code[p->at] & 31) >= 8)
        return take_vex(p, first);
    return p->entry != 0;
}

/* --- Operands ----------------------------------------------------------------------------------- */

static int64_t little_endian(const uint8_t *code, unsigned bytes)
{
    switch (bytes) {
    case 1: return (int8_t)code[0];
    case 2: return (int16_t)(code[0] | code[1] << 8);
    case 3: return (int32_t)(code[0] | code[1] << 8 | code[2] << 16);
    case 4: {
        int32_t value;
        __builtin_memcpy(&value, code, sizeof value);
        return value;
    }
    default: {
        int64_t value;
        __builtin_memcpy(&value, code, sizeof value);
        return value;
    }
    }
}

static unsigned take_sib(struct hp_x86_parts *p, unsigned mod, unsigned disp_size)
{
    uint8_t sib = p->code[p->at++];
    unsigned index = (sib >> 3 & 7u) | (p->extension & EXT_X) << 2;
    unsigned base = (sib & 7u) | (p->extension & EXT_B) << 3;
    if (index != HP_X86_RSP && !(p->entry & VSIB))
        p->address = (uint16_t)(1u << index);
    if ((sib & 7) == 5 && mod == 0)
        return 4;
    p->address |= (uint16_t)(1u << base);
    return disp_size;
}

// ModRM, SIB and displacement.
static bool take_modrm(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (p->at == p->limit)
        return false;
    insn->modrm_at = (uint8_t)p->at;
    p->modrm = p->code[p->at++];
    unsigned mod = p->modrm >> 6, rm = p->modrm & 7;
    if (mod == 3 || p->entry >> ACTION == DO_MOV_CONTROL)
        return true;
    insn->has_memory = !(p->entry & NM);
    unsigned disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        if (p->at == p->limit)
            return false;
        disp_size = take_sib(p, mod, disp_size);
    } else if (rm == 5 && mod == 0) {
        insn->rip_relative = true;
        disp_size = 4;
    } else {
        p->address = (uint16_t)(1u << (rm | (p->extension & EXT_B) << 3));
    }
    if (!disp_size)
        return true;
    if (p->limit - p->at < disp_size)
        return false;
    insn->disp_at = (uint8_t)p->at;
    insn->disp_size = (uint8_t)disp_size;
    insn->disp = (int32_t)little_endian(p->code + p->at, disp_size);
    p->at += disp_size;
    return true;
}

static unsigned immediate_size(const struct hp_x86_parts *p)
{
    bool test = (p->modrm & 0x30) == 0;
    unsigned z = p->operand16 ? 2 : 4;
    switch (p->entry & IMM) {
    case IB: return 1;
    case IW: return 2;
    case IZ: return z;
    case IV: return p->extension & EXT_W ? 8 : z;
    case ID: return 4;
    case IA: return p->prefixes & P67 ? 4 : 8;
    case I3: return 3;
    case I3B: return test ? 1 : 0;
    case I3Z: return test ? z : 0;
    case I78: return p->prefixes & (P66 | PF2) ? 2 : 0;
    default: return 0;
    }
}

static bool take_immediate(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    unsigned bytes = immediate_size(p);
    if (!bytes)
        return true;
    if (p->limit - p->at < bytes)
        return false;
    insn->imm_at = (uint8_t)p->at;
    insn->imm_size = (uint8_t)bytes;
    insn->imm = little_endian(p->code + p->at, bytes);
    p->at += bytes;
    return true;
}

/* --- The whole ---------------------------------------------------------------------------------- */

static bool take_all(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!take_prefixes(p, insn))
        return false;
    insn->opcode_at = (uint8_t)p->at;
    if (!take_opcode(p))
        return false;
    insn->wide = p->extension & EXT_W;
    insn->addr32 = p->prefixes & P67;
    p->operand16 = (p->prefixes & P66) && !insn->wide;
    if ((p->entry & MODRM) && !take_modrm(p, insn))
        return false;
    return !(p->entry & IMM) || take_immediate(p, insn);
}

void hp_x86_decode(const uint8_t *code, unsigned size, struct hp_x86 *insn)
{
    struct hp_x86_parts parts = {
        .code = code,
        .limit = size < MAX_LENGTH ? size : MAX_LENGTH,
    };
    *insn = (struct hp_x86){0};
    if (take_all(&parts, insn)) {
        insn->length = (uint8_t)parts.at;
        hp_x86_effects(&parts, insn);
        return;
    }
    *insn = (struct hp_x86){
        .kind = HP_X86_INVALID,
        .length = (uint8_t)(parts.at ? parts.at : 1),
        .uses = 0xffff,
        .reads = 0xffff,
        .reads_flags = true,
    };
}
