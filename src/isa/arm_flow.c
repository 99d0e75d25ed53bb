// SPDX-License-Identifier: MIT
/*
 * Control flow of A32 and T32. This is longer than for other architectures because r15 is the
 * program counter, so that moves, additions and loads can be jumps.
 */
#include "isa/arm_impl.h"

enum {
    TARGET_NONE,
    TARGET_A32,     /* 24 bits, words */
    TARGET_A32_BLX, /* 24 bits, words, plus a halfword */
    TARGET_T_8,
    TARGET_T_11,
    TARGET_T_CB,
    TARGET_T_20,
    TARGET_T_24,
    TARGET_T_24_BLX,
};

enum { SP = 13, LR = 14, PC = 15 };

// --- targets ---

// The 25-bit offset of the 32-bit Thumb B, BL and BLX: bits J1 and J2 are stored inverted.
static int64_t thumb_offset_24(uint32_t w)
{
    uint32_t s = hp_bits(w, 26, 1);
    uint32_t i1 = !(hp_bits(w, 13, 1) ^ s), i2 = !(hp_bits(w, 11, 1) ^ s);
    return hp_sign(
        s << 24 | i1 << 23 | i2 << 22 | hp_bits(w, 16, 10) << 12 | hp_bits(w, 0, 11) << 1, 25);
}

static int64_t thumb_offset_20(uint32_t w)
{
    return hp_sign(hp_bits(w, 26, 1) << 20 | hp_bits(w, 11, 1) << 19 | hp_bits(w, 13, 1) << 18 |
                       hp_bits(w, 16, 6) << 12 | hp_bits(w, 0, 11) << 1,
                   21);
}

// Addresses are 32 bits and wrap.
static uint64_t target_of(uint64_t address, uint32_t w, uint8_t kind)
{
    uint64_t arm_pc = address + 8, thumb_pc = address + 4;
    uint64_t target = 0;
    switch (kind) {
    case TARGET_A32: target = arm_pc + (uint64_t)hp_sign(w, 24) * 4; break;
    case TARGET_A32_BLX:
        target = arm_pc + (uint64_t)hp_sign(w, 24) * 4 + 2 * hp_bits(w, 24, 1);
        break;
    case TARGET_T_8: target = thumb_pc + (uint64_t)hp_sign(w, 8) * 2; break;
    case TARGET_T_11: target = thumb_pc + (uint64_t)hp_sign(w, 11) * 2; break;
    case TARGET_T_CB: target = thumb_pc + (hp_bits(w, 9, 1) << 6 | hp_bits(w, 3, 5) << 1); break;
    case TARGET_T_20: target = thumb_pc + (uint64_t)thumb_offset_20(w); break;
    case TARGET_T_24: target = thumb_pc + (uint64_t)thumb_offset_24(w); break;
    case TARGET_T_24_BLX: target = (thumb_pc & ~(uint64_t)3) + (uint64_t)thumb_offset_24(w); break;
    default: break;
    }
    return target & 0xffffffff;
}

// --- A32 ---

// The condition field is not part of these.
static const struct hp_isa_flow_row a32_rows[] = {
    {0x0f000000, 0x0a000000, HP_FLOW_JUMP, TARGET_A32},
    {0x0f000000, 0x0b000000, HP_FLOW_CALL, TARGET_A32},
    {0x0f000000, 0x0f000000, HP_FLOW_SYSCALL, 0},
    {0x0fffffff, 0x012fff1e, HP_FLOW_RETURN, 0},   // BX LR
    {0x0ffffff0, 0x012fff10, HP_FLOW_JUMP_IND, 0}, // BX
    {0x0fffffff, 0x012fff2e, HP_FLOW_RETURN, 0},   // BXJ LR
    {0x0ffffff0, 0x012fff20, HP_FLOW_JUMP_IND, 0}, // BXJ
    {0x0ffffff0, 0x012fff30, HP_FLOW_CALL_IND, 0}, // BLX
    {0x0ff000f0, 0x01000070, HP_FLOW_TRAP, 0},     // HLT
    {0x0ff000f0, 0x01200070, HP_FLOW_TRAP, 0},     // BKPT
    {0x0ff000f0, 0x01400070, HP_FLOW_TRAP, 0},     // HVC
    {0x0ff000f0, 0x01600070, HP_FLOW_TRAP, 0},     // SMC
    {0x0fffffff, 0x0160006e, HP_FLOW_RETURN, 0},   // ERET
    {0x0ff000f0, 0x07f000f0, HP_FLOW_TRAP, 0},     // UDF
};

// The condition field is "never": the word is a different instruction.
static const struct hp_isa_flow_row a32_unconditional_rows[] = {
    {0xfe000000, 0xfa000000, HP_FLOW_CALL, TARGET_A32_BLX},
    {0xfe50ffff, 0xf8100a00, HP_FLOW_RETURN, 0}, // RFE
};

static uint8_t a32_data_processing(uint32_t w)
{
    uint32_t opcode = hp_bits(w, 21, 4);
    bool immediate = hp_bits(w, 25, 1), sets_flags = hp_bits(w, 20, 1);
    if (hp_bits(w, 12, 4) != PC || (opcode & 0xc) == 8)
        return HP_FLOW_NONE; // comparisons, and others encoded in their place
    if (!immediate && (w & 0x90) == 0x90)
        return HP_FLOW_NONE; // multiplications, loads of halfwords
    if ((w & 0x0fefffff) == 0x01a0f00e)
        return HP_FLOW_RETURN; // MOV PC, LR
    if (sets_flags && opcode == 2 && hp_bits(w, 16, 4) == LR)
        return HP_FLOW_RETURN; // SUBS PC, LR, #n: from an exception
    return HP_FLOW_JUMP_IND;
}

static uint8_t a32_load(uint32_t w)
{
    bool load_word = hp_bits(w, 20, 1) && !hp_bits(w, 22, 1);
    bool media = hp_bits(w, 25, 1) && hp_bits(w, 4, 1);
    if (!load_word || media || hp_bits(w, 12, 4) != PC)
        return HP_FLOW_NONE;
    return (w & 0x0fffffff) == 0x049df004 ? HP_FLOW_RETURN : HP_FLOW_JUMP_IND;
}

// Loading the stack pointer and the program counter together is a return as well: the frames of the
// old procedure call standard are left by LDM FP, {.., SP, PC}.
static uint8_t a32_load_multiple(uint32_t w)
{
    if (!hp_bits(w, 20, 1) || !hp_bits(w, PC, 1))
        return HP_FLOW_NONE;
    return hp_bits(w, 16, 4) == SP || hp_bits(w, SP, 1) ? HP_FLOW_RETURN : HP_FLOW_JUMP_IND;
}

static uint8_t a32_computed(uint32_t w)
{
    switch (hp_bits(w, 25, 3)) {
    case 0:
    case 1: return a32_data_processing(w);
    case 2:
    case 3: return a32_load(w);
    case 4: return a32_load_multiple(w);
    default: return HP_FLOW_NONE;
    }
}

static bool a32_is_atomic(uint32_t w)
{
    if ((w & 0x0fb00ff0) == 0x01000090)
        return true;                                           // SWP, SWPB
    return (w & 0x0f8000f0) == 0x01800090 && hp_bits(w, 9, 1); // LDREX, STREX, LDAEX, STLEX
}

static void a32_flow(uint32_t w, struct hp_insn *insn)
{
    bool unconditional = w >> 28 == 0xf;
    const struct hp_isa_flow_row *row;
    if (unconditional)
        row = hp_isa_find_flow(a32_unconditional_rows,
                               sizeof a32_unconditional_rows / sizeof *a32_unconditional_rows, w);
    else
        row = hp_isa_find_flow(a32_rows, sizeof a32_rows / sizeof *a32_rows, w);
    if (row) {
        insn->flow = row->flow;
        insn->target = target_of(insn->address, w, row->target);
    } else if (!unconditional) {
        insn->flow = a32_computed(w);
        if (a32_is_atomic(w))
            insn->flags |= HP_INSN_ATOMIC;
    }
    if (insn->flow != HP_FLOW_NONE && w >> 28 < 0xe) {
        insn->flags |= HP_INSN_CONDITIONAL;
        if (insn->flow == HP_FLOW_JUMP)
            insn->flow = HP_FLOW_COND;
    }
}

// --- T32 ---

static const struct hp_isa_flow_row thumb16_rows[] = {
    {0xff00, 0xde00, HP_FLOW_TRAP, 0},    // UDF
    {0xff00, 0xdf00, HP_FLOW_SYSCALL, 0}, // SVC
    {0xf000, 0xd000, HP_FLOW_COND, TARGET_T_8},  {0xf800, 0xe000, HP_FLOW_JUMP, TARGET_T_11},
    {0xf500, 0xb100, HP_FLOW_COND, TARGET_T_CB}, {0xfff8, 0x4770, HP_FLOW_RETURN, 0}, // BX LR
    {0xff80, 0x4700, HP_FLOW_JUMP_IND, 0},                                            // BX
    {0xff80, 0x4780, HP_FLOW_CALL_IND, 0},                                            // BLX
    {0xffff, 0x46f7, HP_FLOW_RETURN, 0},                                              // MOV PC, LR
    {0xff87, 0x4687, HP_FLOW_JUMP_IND, 0},                                            // MOV PC, Rm
    {0xff87, 0x4487, HP_FLOW_JUMP_IND, 0},                                            // ADD PC, Rm
    {0xff00, 0xbd00, HP_FLOW_RETURN, 0}, // POP {.., PC}
    {0xff00, 0xbe00, HP_FLOW_TRAP, 0},   // BKPT
    {0xffc0, 0xba80, HP_FLOW_TRAP, 0},   // HLT
};

// The first halfword is the upper one. Order matters: B<c>.W comes after the system instructions,
// which have 111x in place of its condition.
static const struct hp_isa_flow_row thumb32_rows[] = {
    {0xf800d000, 0xf000d000, HP_FLOW_CALL, TARGET_T_24},
    {0xf800d001, 0xf000c000, HP_FLOW_CALL, TARGET_T_24_BLX},
    {0xf800d000, 0xf0009000, HP_FLOW_JUMP, TARGET_T_24},
    {0xffffff00, 0xf3de8f00, HP_FLOW_RETURN, 0},   // SUBS PC, LR, #n; ERET
    {0xffffffff, 0xf3ce8f00, HP_FLOW_RETURN, 0},   // BXJ LR
    {0xfff0ffff, 0xf3c08f00, HP_FLOW_JUMP_IND, 0}, // BXJ
    {0xfff0f000, 0xf7e08000, HP_FLOW_TRAP, 0},     // HVC
    {0xfff0ffff, 0xf7f08000, HP_FLOW_TRAP, 0},     // SMC
    {0xfff0f000, 0xf7f0a000, HP_FLOW_TRAP, 0},     // UDF
    {0xfb80d000, 0xf3808000, HP_FLOW_NONE, 0},     // MSR, hints, barriers, MRS ...
    {0xf800d000, 0xf0008000, HP_FLOW_COND, TARGET_T_20},
    {0xfff0ffe0, 0xe8d0f000, HP_FLOW_JUMP_IND, 0}, // TBB, TBH
    {0xffdf8000, 0xe89d8000, HP_FLOW_RETURN, 0},   // LDM SP{!}, {.., PC}
    {0xffd08000, 0xe8908000, HP_FLOW_JUMP_IND, 0}, // LDM
    {0xffd0ffff, 0xe810c000, HP_FLOW_RETURN, 0},   // RFEDB
    {0xffd0ffff, 0xe990c000, HP_FLOW_RETURN, 0},   // RFEIA
    {0xffdf8000, 0xe91d8000, HP_FLOW_RETURN, 0},   // LDMDB SP
    {0xffd08000, 0xe9108000, HP_FLOW_JUMP_IND, 0}, // LDMDB
    {0xffffffff, 0xf85dfb04, HP_FLOW_RETURN, 0},   // POP {PC}
    {0xff7ff000, 0xf85ff000, HP_FLOW_JUMP_IND, 0}, // LDR PC, literal
    {0xfff0f000, 0xf8d0f000, HP_FLOW_JUMP_IND, 0}, // LDR PC, [Rn, #n]
    {0xfff0f800, 0xf850f800, HP_FLOW_JUMP_IND, 0}, // LDR PC, [Rn, #n]! and so on
    {0xfff0ffc0, 0xf850f000, HP_FLOW_JUMP_IND, 0}, // LDR PC, [Rn, Rm]
};

static bool thumb_is_atomic(uint32_t w)
{
    if ((w & 0xffe00000) == 0xe8400000)
        return true; // LDREX, STREX
    uint32_t kind = hp_bits(w, 4, 4);
    return (w & 0xffe00000) == 0xe8c00000 && (kind == 4 || kind == 5 || kind == 7 || kind >= 12);
}

static void thumb_flow(uint32_t w, struct hp_insn *insn)
{
    const struct hp_isa_flow_row *row;
    if (insn->length == 2)
        row = hp_isa_find_flow(thumb16_rows, sizeof thumb16_rows / sizeof *thumb16_rows, w);
    else
        row = hp_isa_find_flow(thumb32_rows, sizeof thumb32_rows / sizeof *thumb32_rows, w);
    if (row) {
        insn->flow = row->flow;
        insn->target = target_of(insn->address, w, row->target);
    }
    if (insn->flow == HP_FLOW_COND)
        insn->flags |= HP_INSN_CONDITIONAL;
    if (insn->length == 4 && thumb_is_atomic(w))
        insn->flags |= HP_INSN_ATOMIC;
}

bool hp_arm_flow(const struct hp_isa_bytes *bytes, struct hp_insn *insn)
{
    if (bytes->mode != HP_MODE_THUMB) {
        insn->length = 4;
        a32_flow(hp_le32(bytes->code), insn);
        return true;
    }
    uint32_t first = hp_le16(bytes->code);
    insn->length = first >> 11 >= 0x1d ? 4 : 2;
    if (bytes->size < insn->length)
        return false;
    thumb_flow(insn->length == 4 ? first << 16 | hp_le16(bytes->code + 2) : first, insn);
    return true;
}
