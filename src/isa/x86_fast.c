// SPDX-License-Identifier: MIT
/*
 * The length and flow of the commonest x86-64 instructions, ten times faster than a general decode.
 * Only opcodes that are valid with every ModRM byte (or whose exceptions are easily recognized) are
 * known here; for anything else, prefixes other than 66, F2, F3 and REX included, the answer is
 * "ask Zydis". A test compares the two for every opcode with every ModRM byte.
 *
 * The map is independent of the others. Caching Zydis' results by opcode was slower: by a tenth
 * over a large program, four times over a small one. The native engine's decoder, which must know
 * much more, takes 29 ns per instruction where this takes 18 (code of cc1).
 */
#include "isa/x86_impl.h"

enum kind {
    ASK,     /* not known here */
    PLAIN,   /* nothing follows */
    IMM8,    /* an immediate */
    IMMZ,    /* of 2 or 4 bytes */
    IMMV,    /* of 2, 4 or 8 bytes */
    MODRM,   /* ModRM, and so on below */
    MODRM8,  /* and an immediate */
    MODRMZ,  /* and one of 2 or 4 bytes */
    MEMORY,  /* a register is not allowed */
    GROUP3B, /* TEST has an immediate, /1 is its undocumented twin */
    GROUP3Z,
    STORE8, /* MOV r/m, imm: only /0 */
    STOREZ,
    INCDEC, /* group 4: /0 and /1 */
    GROUP5, /* INC, DEC, CALL, JMP, PUSH */
    XCHG,   /* locked when in memory */
    COND8,
    COND32,
    JUMP8,
    JUMP32,
    CALL32,
    RET,
    RET16,
    TRAP,
};

static const uint8_t one_byte[256] = {
    [0x00 ... 0x03] = MODRM, [0x04] = IMM8,
    [0x05] = IMMZ,           [0x08 ... 0x0b] = MODRM,
    [0x0c] = IMM8,           [0x0d] = IMMZ,
    [0x10 ... 0x13] = MODRM, [0x14] = IMM8,
    [0x15] = IMMZ,           [0x18 ... 0x1b] = MODRM,
    [0x1c] = IMM8,           [0x1d] = IMMZ,
    [0x20 ... 0x23] = MODRM, [0x24] = IMM8,
    [0x25] = IMMZ,           [0x28 ... 0x2b] = MODRM,
    [0x2c] = IMM8,           [0x2d] = IMMZ,
    [0x30 ... 0x33] = MODRM, [0x34] = IMM8,
    [0x35] = IMMZ,           [0x38 ... 0x3b] = MODRM,
    [0x3c] = IMM8,           [0x3d] = IMMZ,
    [0x50 ... 0x5f] = PLAIN, [0x63] = MODRM,
    [0x68] = IMMZ,           [0x69] = MODRMZ,
    [0x6a] = IMM8,           [0x6b] = MODRM8,
    [0x70 ... 0x7f] = COND8, [0x80] = MODRM8,
    [0x81] = MODRMZ,         [0x83] = MODRM8,
    [0x84 ... 0x85] = MODRM, [0x86 ... 0x87] = XCHG,
    [0x88 ... 0x8b] = MODRM, [0x8d] = MEMORY,
    [0x90 ... 0x99] = PLAIN, [0xa8] = IMM8,
    [0xa9] = IMMZ,           [0xb0 ... 0xb7] = IMM8,
    [0xb8 ... 0xbf] = IMMV,  [0xc0 ... 0xc1] = MODRM8,
    [0xc2] = RET16,          [0xc3] = RET,
    [0xc6] = STORE8,         [0xc7] = STOREZ,
    [0xc9] = PLAIN,          [0xcc] = TRAP,
    [0xd0 ... 0xd3] = MODRM, [0xe8] = CALL32,
    [0xe9] = JUMP32,         [0xeb] = JUMP8,
    [0xf6] = GROUP3B,        [0xf7] = GROUP3Z,
    [0xfe] = INCDEC,         [0xff] = GROUP5,
};

// After 0F, with the prefix 66 or without.
static const uint8_t two_byte[256] = {
    [0x0b] = TRAP,           [0x10 ... 0x11] = MODRM, [0x1f] = MODRM,
    [0x28 ... 0x29] = MODRM, [0x2e ... 0x2f] = MODRM, [0x40 ... 0x4f] = MODRM,
    [0x51] = MODRM,          [0x54 ... 0x5a] = MODRM, [0x5c ... 0x5f] = MODRM,
    [0x6e ... 0x6f] = MODRM, [0x7e ... 0x7f] = MODRM, [0x80 ... 0x8f] = COND32,
    [0x90 ... 0x9f] = MODRM, [0xa3] = MODRM,          [0xaf] = MODRM,
    [0xb6 ... 0xb7] = MODRM, [0xbe ... 0xbf] = MODRM, [0xd4] = MODRM,
    [0xeb] = MODRM,          [0xef] = MODRM,          [0xfe] = MODRM,
};

// After 0F, with F2 or F3: scalar floating point.
static const uint8_t two_byte_scalar[256] = {
    [0x10 ... 0x11] = MODRM, [0x2a] = MODRM,          [0x2c ... 0x2d] = MODRM,
    [0x51] = MODRM,          [0x58 ... 0x5a] = MODRM, [0x5c ... 0x5f] = MODRM,
};

struct cursor {
    const uint8_t *code;
    size_t size;
    size_t at; /* of the ModRM byte or the immediate */
    bool operand16;
    bool wide; /* REX.W */
};

static const uint8_t *find_kind(struct cursor *c)
{
    bool scalar = c->code[0] == 0xf2 || c->code[0] == 0xf3;
    c->operand16 = c->code[0] == 0x66;
    c->at = scalar || c->operand16;
    if (c->at < c->size && (c->code[c->at] & 0xf0) == 0x40)
        c->wide = c->code[c->at++] & 8;
    if (c->at >= c->size)
        return NULL;
    uint8_t opcode = c->code[c->at++];
    if (opcode != 0x0f)
        return scalar ? NULL : &one_byte[opcode];
    if (c->at >= c->size)
        return NULL;
    opcode = c->code[c->at++];
    return scalar ? &two_byte_scalar[opcode] : &two_byte[opcode];
}

// Bytes of ModRM, SIB and displacement. The caller detects missing bytes by the length.
static size_t modrm_length(const struct cursor *c)
{
    uint8_t modrm = c->code[c->at], mod = modrm >> 6, rm = modrm & 7;
    if (mod == 3)
        return 1;
    size_t length = mod == 1 ? 2 : mod == 2 ? 5 : 1;
    if (mod == 0 && rm == 5)
        return 5;
    if (rm == 4) {
        length++;
        if (mod == 0 && c->at + 1 < c->size && (c->code[c->at + 1] & 7) == 5)
            length += 4;
    }
    return length;
}

static int64_t relative(const uint8_t *code, unsigned bytes)
{
    return bytes == 1 ? hp_sign(*code, 8) : hp_sign(hp_le32(code), 32);
}

// A control transfer without ModRM: `bytes` of displacement, 0 for none.
static bool transfer(const struct cursor *c, enum hp_flow flow, unsigned bytes,
                     struct hp_insn *insn)
{
    if (c->operand16 || c->at + bytes > c->size)
        return false;
    insn->flow = (uint8_t)flow;
    insn->length = (uint8_t)(c->at + bytes);
    if (flow == HP_FLOW_COND)
        insn->flags = HP_INSN_CONDITIONAL;
    if (flow == HP_FLOW_COND || flow == HP_FLOW_JUMP || flow == HP_FLOW_CALL)
        insn->target = insn->address + insn->length + (uint64_t)relative(c->code + c->at, bytes);
    return true;
}

// The number of bytes of the immediate after ModRM; -1: not handled here.
static int modrm_immediate(const struct cursor *c, enum kind kind, struct hp_insn *insn)
{
    uint8_t modrm = c->code[c->at], reg = modrm >> 3 & 7;
    bool memory = modrm < 0xc0;
    int z = c->operand16 && !c->wide ? 2 : 4;
    switch (kind) {
    case MODRM: return 0;
    case MODRM8: return 1;
    case MODRMZ: return z;
    case MEMORY: return memory ? 0 : -1;
    case GROUP3B: return reg == 1 ? -1 : reg == 0;
    case GROUP3Z: return reg == 1 ? -1 : reg == 0 ? z : 0;
    case STORE8: return reg == 0 ? 1 : -1;
    case STOREZ: return reg == 0 ? z : -1;
    case INCDEC: return reg <= 1 ? 0 : -1;
    case XCHG:
        if (memory)
            insn->flags = HP_INSN_ATOMIC;
        return 0;
    case GROUP5:
        if (reg == 3 || reg == 5 || reg == 7 || (c->operand16 && reg >= 2))
            return -1;
        insn->flow = reg == 2 ? HP_FLOW_CALL_IND : reg == 4 ? HP_FLOW_JUMP_IND : HP_FLOW_NONE;
        return 0;
    default: return -1;
    }
}

bool hp_x86_fast(const uint8_t *code, size_t size, struct hp_insn *insn)
{
    struct cursor c = {.code = code, .size = size};
    const uint8_t *kind = find_kind(&c);
    if (!kind)
        return false;
    size_t length = c.at;
    switch ((enum kind) * kind) {
    case ASK: return false;
    case PLAIN: break;
    case IMM8: length += 1; break;
    case IMMZ: length += c.operand16 && !c.wide ? 2 : 4; break;
    case IMMV: length += c.wide ? 8 : c.operand16 ? 2 : 4; break;
    case COND8: return transfer(&c, HP_FLOW_COND, 1, insn);
    case COND32: return transfer(&c, HP_FLOW_COND, 4, insn);
    case JUMP8: return transfer(&c, HP_FLOW_JUMP, 1, insn);
    case JUMP32: return transfer(&c, HP_FLOW_JUMP, 4, insn);
    case CALL32: return transfer(&c, HP_FLOW_CALL, 4, insn);
    case RET: return transfer(&c, HP_FLOW_RETURN, 0, insn);
    case RET16: return transfer(&c, HP_FLOW_RETURN, 2, insn);
    case TRAP: return transfer(&c, HP_FLOW_TRAP, 0, insn);
    default: {
        int immediate = c.at < size ? modrm_immediate(&c, (enum kind) * kind, insn) : -1;
        if (immediate < 0)
            return false;
        length += modrm_length(&c) + (size_t)immediate;
    }
    }
    if (length > size)
        return false;
    insn->length = (uint8_t)length;
    return true;
}
