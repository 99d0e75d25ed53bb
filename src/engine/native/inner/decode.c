// SPDX-License-Identifier: MIT
/*
 * Finding the parts of an instruction. Every byte is checked against the limit before it is read.
 * decode_effects.c determines what the instruction does.
 */
#include "engine/native/inner/decode_tables.h"

enum { MAX_LENGTH = 15 };

static const uint8_t prefix_bits[256] = {
    [0x26] = POTHER,        [0x2e] = POTHER, [0x36] = POTHER, [0x3e] = POTHER,
    [0x40 ... 0x4f] = PREX, [0x64] = PFS,    [0x65] = PGS,    [0x66] = P66,
    [0x67] = P67,           [0xf0] = POTHER, [0xf2] = PF2,    [0xf3] = PF3,
};

/* --- Prefixes and opcodes --------------------------------------------------------------------- */

// The usual case, no prefix or a REX, without a branch on which.
static bool take_rex(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (p->limit < 2)
        return false;
    uint8_t first = p->code[0];
    unsigned is_rex = first >> 4 == 4;
    if (prefix_bits[p->code[is_rex]])
        return false;
    insn->rex = (uint8_t)(first & (0 - is_rex));
    p->extension = insn->rex & 15u;
    p->at = is_rex;
    return true;
}

// A REX counts only directly before the opcode; the last of FS and GS counts, and of F2 and F3.
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

/* --- Operands --------------------------------------------------------------------------------- */

// A number of 1 to 8 readable bytes. If possible, without a branch on how many.
static int64_t little_endian(const struct hp_x86_parts *p, unsigned bytes)
{
    const uint8_t *code = p->code + p->at;
    unsigned unused = 64 - 8 * bytes;
    uint64_t value = 0;
    if (p->readable - p->at >= 8)
        __builtin_memcpy(&value, code, 8);
    else
        for (unsigned i = 0; i < bytes; i++)
            value |= (uint64_t)code[i] << 8 * i;
    return (int64_t)(value << unused) >> unused;
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
    static const uint8_t sizes[4] = {0, 1, 4, 0};
    unsigned disp_size = sizes[mod];
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
    insn->disp = (int32_t)little_endian(p, disp_size);
    p->at += disp_size;
    return true;
}

// By operand size: 32 bits, 16, 64.
static const uint8_t immediate_sizes[16][3] = {
    [IB >> 1] = {1, 1, 1},  [IW >> 1] = {2, 2, 2},  [IZ >> 1] = {4, 2, 4}, [IV >> 1] = {4, 2, 8},
    [ID >> 1] = {4, 4, 4},  [IA >> 1] = {8, 8, 8},  [I3 >> 1] = {3, 3, 3}, [I3B >> 1] = {1, 1, 1},
    [I3Z >> 1] = {4, 2, 4}, [I78 >> 1] = {2, 2, 2},
};

static unsigned immediate_size(const struct hp_x86_parts *p)
{
    unsigned kind = p->entry & IMM;
    unsigned bytes = immediate_sizes[kind >> 1][p->operand16 ? 1 : p->extension & EXT_W ? 2 : 0];
    if (kind < IA)
        return bytes;
    if (kind == IA)
        return p->prefixes & P67 ? 4 : 8;
    if ((kind == I3B || kind == I3Z) && (p->modrm & 0x30))
        return 0;
    if (kind == I78 && !(p->prefixes & (P66 | PF2)))
        return 0;
    return bytes;
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
    insn->imm = little_endian(p, bytes);
    p->at += bytes;
    return true;
}

/* --- The whole -------------------------------------------------------------------------------- */

static bool take_all(struct hp_x86_parts *p, struct hp_x86 *insn)
{
    if (!take_rex(p, insn) && !take_prefixes(p, insn))
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

// In words: without vector registers compilers use REP STOS, which takes 10 ns.
static void clear(struct hp_x86 *insn)
{
    uint8_t *bytes = (uint8_t *)insn;
    _Static_assert(sizeof *insn == 48, "cleared in six words");
    __builtin_memset(bytes, 0, 8);
    __builtin_memset(bytes + 8, 0, 8);
    __builtin_memset(bytes + 16, 0, 8);
    __builtin_memset(bytes + 24, 0, 8);
    __builtin_memset(bytes + 32, 0, 8);
    __builtin_memset(bytes + 40, 0, 8);
}

void hp_x86_decode(const uint8_t *code, unsigned size, struct hp_x86 *insn)
{
    struct hp_x86_parts parts = {
        .code = code,
        .readable = size,
        .limit = size < MAX_LENGTH ? size : MAX_LENGTH,
    };
    clear(insn);
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
