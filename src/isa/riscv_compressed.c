// SPDX-License-Identifier: MIT
/*
 * RV64C: each 16-bit instruction stands for one 32-bit instruction. Expanding it leaves a single
 * table for flow, registers and memory.
 */
#include "isa/riscv_impl.h"

enum {
    OP_LOAD = 0x03,
    OP_FLOAD = 0x07,
    OP_IMM = 0x13,
    OP_IMM32 = 0x1b,
    OP_STORE = 0x23,
    OP_FSTORE = 0x27,
    OP_OP = 0x33,
    OP_LUI = 0x37,
    OP_OP32 = 0x3b,
    OP_BRANCH = 0x63,
    OP_JALR = 0x67,
    OP_JAL = 0x6f,
};

static const uint32_t word_ebreak = 0x00100073;
static const uint32_t word_unimp = 0xc0001073;

// --- 32-bit formats ---

static uint32_t type_r(uint32_t op, uint32_t f3, uint32_t f7, uint32_t rd, uint32_t a, uint32_t b)
{
    return op | rd << 7 | f3 << 12 | a << 15 | b << 20 | f7 << 25;
}

static uint32_t type_i(uint32_t op, uint32_t f3, uint32_t rd, uint32_t a, int64_t imm)
{
    return op | rd << 7 | f3 << 12 | a << 15 | ((uint32_t)imm & 0xfff) << 20;
}

static uint32_t type_s(uint32_t op, uint32_t f3, uint32_t a, uint32_t b, uint32_t imm)
{
    return op | hp_bits(imm, 0, 5) << 7 | f3 << 12 | a << 15 | b << 20 | hp_bits(imm, 5, 7) << 25;
}

static uint32_t type_b(uint32_t f3, uint32_t a, uint32_t b, uint32_t imm)
{
    return OP_BRANCH | hp_bits(imm, 11, 1) << 7 | hp_bits(imm, 1, 4) << 8 | f3 << 12 | a << 15 |
           b << 20 | hp_bits(imm, 5, 6) << 25 | hp_bits(imm, 12, 1) << 31;
}

static uint32_t type_j(uint32_t rd, uint32_t imm)
{
    return OP_JAL | rd << 7 | hp_bits(imm, 12, 8) << 12 | hp_bits(imm, 11, 1) << 20 |
           hp_bits(imm, 1, 10) << 21 | hp_bits(imm, 20, 1) << 31;
}

// --- 16-bit fields ---

static uint32_t low_reg(uint32_t h, unsigned at)
{
    return 8 + hp_bits(h, at, 3);
}

static int64_t imm6(uint32_t h)
{
    return hp_sign(hp_bits(h, 12, 1) << 5 | hp_bits(h, 2, 5), 6);
}

static uint32_t shift6(uint32_t h)
{
    return hp_bits(h, 12, 1) << 5 | hp_bits(h, 2, 5);
}

static uint32_t offset_word(uint32_t h)
{
    return hp_bits(h, 6, 1) << 2 | hp_bits(h, 10, 3) << 3 | hp_bits(h, 5, 1) << 6;
}

static uint32_t offset_double(uint32_t h)
{
    return hp_bits(h, 10, 3) << 3 | hp_bits(h, 5, 2) << 6;
}

static uint32_t jump_offset(uint32_t h)
{
    uint32_t imm = hp_bits(h, 3, 3) << 1 | hp_bits(h, 11, 1) << 4 | hp_bits(h, 2, 1) << 5 |
                   hp_bits(h, 7, 1) << 6 | hp_bits(h, 6, 1) << 7 | hp_bits(h, 9, 2) << 8 |
                   hp_bits(h, 8, 1) << 10 | hp_bits(h, 12, 1) << 11;
    return (uint32_t)hp_sign(imm, 12);
}

static uint32_t branch_offset(uint32_t h)
{
    uint32_t imm = hp_bits(h, 3, 2) << 1 | hp_bits(h, 10, 2) << 3 | hp_bits(h, 2, 1) << 5 |
                   hp_bits(h, 5, 2) << 6 | hp_bits(h, 12, 1) << 8;
    return (uint32_t)hp_sign(imm, 9);
}

// --- the three quadrants ---

static uint32_t expand_addi4spn(uint32_t h)
{
    uint32_t imm = hp_bits(h, 11, 2) << 4 | hp_bits(h, 7, 4) << 6 | hp_bits(h, 6, 1) << 2 |
                   hp_bits(h, 5, 1) << 3;
    return imm ? type_i(OP_IMM, 0, low_reg(h, 2), 2, imm) : 0;
}

static uint32_t expand_q0(uint32_t h)
{
    uint32_t a = low_reg(h, 7);
    uint32_t b = low_reg(h, 2);
    switch (h >> 13) {
    case 0: return h == 0 ? word_unimp : expand_addi4spn(h);
    case 1: return type_i(OP_FLOAD, 3, b, a, offset_double(h));
    case 2: return type_i(OP_LOAD, 2, b, a, offset_word(h));
    case 3: return type_i(OP_LOAD, 3, b, a, offset_double(h));
    case 5: return type_s(OP_FSTORE, 3, a, b, offset_double(h));
    case 6: return type_s(OP_STORE, 2, a, b, offset_word(h));
    case 7: return type_s(OP_STORE, 3, a, b, offset_double(h));
    default: return 0;
    }
}

static uint32_t expand_arithmetic(uint32_t h)
{
    static const uint8_t functions[4] = {0, 4, 6, 7}; // sub, xor, or, and
    uint32_t rd = low_reg(h, 7);
    uint32_t b = low_reg(h, 2);
    switch (hp_bits(h, 10, 2)) {
    case 0: return type_i(OP_IMM, 5, rd, rd, shift6(h));
    case 1: return type_i(OP_IMM, 5, rd, rd, 0x400 | shift6(h));
    case 2: return type_i(OP_IMM, 7, rd, rd, imm6(h));
    }
    uint32_t which = hp_bits(h, 5, 2);
    if (!hp_bits(h, 12, 1))
        return type_r(OP_OP, functions[which], which == 0 ? 0x20 : 0, rd, rd, b);
    return which < 2 ? type_r(OP_OP32, 0, which == 0 ? 0x20 : 0, rd, rd, b) : 0;
}

static uint32_t expand_lui(uint32_t h, uint32_t rd)
{
    if (rd == 2) {
        uint32_t imm = hp_bits(h, 6, 1) << 4 | hp_bits(h, 2, 1) << 5 | hp_bits(h, 5, 1) << 6 |
                       hp_bits(h, 3, 2) << 7 | hp_bits(h, 12, 1) << 9;
        return imm ? type_i(OP_IMM, 0, 2, 2, hp_sign(imm, 10)) : 0;
    }
    return imm6(h) ? OP_LUI | rd << 7 | (uint32_t)imm6(h) << 12 : 0;
}

static uint32_t expand_q1(uint32_t h)
{
    uint32_t rd = hp_bits(h, 7, 5);
    switch (h >> 13) {
    case 0: return type_i(OP_IMM, 0, rd, rd, imm6(h));
    case 1: return rd ? type_i(OP_IMM32, 0, rd, rd, imm6(h)) : 0;
    case 2: return type_i(OP_IMM, 0, rd, 0, imm6(h));
    case 3: return expand_lui(h, rd);
    case 4: return expand_arithmetic(h);
    case 5: return type_j(0, jump_offset(h));
    case 6: return type_b(0, low_reg(h, 7), 0, branch_offset(h));
    default: return type_b(1, low_reg(h, 7), 0, branch_offset(h));
    }
}

static uint32_t expand_jump_move(uint32_t h, uint32_t rd, uint32_t b)
{
    bool link = hp_bits(h, 12, 1);
    if (b)
        return type_r(OP_OP, 0, 0, rd, link ? rd : 0, b); // add, mv
    if (rd)
        return type_i(OP_JALR, 0, link, rd, 0);
    return link ? word_ebreak : 0;
}

static uint32_t expand_q2(uint32_t h)
{
    uint32_t rd = hp_bits(h, 7, 5);
    uint32_t b = hp_bits(h, 2, 5);
    uint32_t load8 = hp_bits(h, 5, 2) << 3 | hp_bits(h, 12, 1) << 5 | hp_bits(h, 2, 3) << 6;
    uint32_t load4 = hp_bits(h, 4, 3) << 2 | hp_bits(h, 12, 1) << 5 | hp_bits(h, 2, 2) << 6;
    uint32_t store8 = hp_bits(h, 10, 3) << 3 | hp_bits(h, 7, 3) << 6;
    uint32_t store4 = hp_bits(h, 9, 4) << 2 | hp_bits(h, 7, 2) << 6;
    switch (h >> 13) {
    case 0: return type_i(OP_IMM, 1, rd, rd, shift6(h));
    case 1: return type_i(OP_FLOAD, 3, rd, 2, load8);
    case 2: return rd ? type_i(OP_LOAD, 2, rd, 2, load4) : 0;
    case 3: return rd ? type_i(OP_LOAD, 3, rd, 2, load8) : 0;
    case 4: return expand_jump_move(h, rd, b);
    case 5: return type_s(OP_FSTORE, 3, 2, b, store8);
    case 6: return type_s(OP_STORE, 2, 2, b, store4);
    default: return type_s(OP_STORE, 3, 2, b, store8);
    }
}

uint32_t hp_rv_expand(uint32_t half)
{
    switch (half & 3) {
    case 0: return expand_q0(half);
    case 1: return expand_q1(half);
    case 2: return expand_q2(half);
    default: return 0;
    }
}
