// SPDX-License-Identifier: MIT
/*
 * The RISC-V instruction table: one row per instruction, sorted by major opcode.
 */
#ifndef HP_ISA_RISCV_IMPL_H
#define HP_ISA_RISCV_IMPL_H

#include "isa/isa_impl.h"

/* Which fields of the word are registers, and of which file: X integer, F floating point, V vector.
 * D is written (bits 11:7), A, B, C are read (bits 19:15, 24:20, 31:27). */
enum {
    RV_DX = 1 << 0,
    RV_DF = 1 << 1,
    RV_DV = 1 << 2,
    RV_AX = 1 << 3,
    RV_AF = 1 << 4,
    RV_AV = 1 << 5,
    RV_BX = 1 << 6,
    RV_BF = 1 << 7,
    RV_BV = 1 << 8,
    RV_CF = 1 << 9,
    RV_EV = 1 << 10, /* the vector register in bits 11:7 is read (a store's data) */
};

/* How the immediate is encoded. */
enum rv_imm {
    RV_IMM_NONE,
    RV_IMM_I,
    RV_IMM_SHIFT, /* bits 25:20 */
    RV_IMM_S,
    RV_IMM_B,
    RV_IMM_U,
    RV_IMM_J,
    RV_IMM_CSR,  /* bits 31:20 */
    RV_IMM_CSRI, /* the same, with a small constant instead of register A */
    RV_IMM_ZERO, /* memory at register A, no displacement */
};

/* The size of the memory operand in bytes (0: unknown), or'ed with how it is used. */
enum {
    RV_MEM_SIZE = 0x1f,
    RV_MEM_READ = 0x20,
    RV_MEM_WRITE = 0x40,
};

struct rv_row {
    uint32_t mask;
    uint32_t match;
    const char *name; /* NULL: the row stands for several instructions */
    uint16_t regs;
    uint8_t imm;  /* enum rv_imm */
    uint8_t mem;  /* 0: no memory operand */
    uint8_t op;   /* enum hp_op */
    uint8_t flow; /* enum hp_flow; JAL and JALR are refined by their registers */
};

/* Rows [first, last) have the major opcode (bits 6:2). */
struct rv_range {
    uint16_t first;
    uint16_t last;
};

extern const struct rv_row hp_rv_rows[];
extern const size_t hp_rv_row_count;

/* The 32-bit instruction that a 16-bit one stands for; 0 when it is reserved. */
uint32_t hp_rv_expand(uint32_t half);

#endif
