// SPDX-License-Identifier: MIT
/*
 * The Alpha instruction table: one row per instruction, sorted by opcode (bits 31:26).
 */
#ifndef HP_ISA_ALPHA_IMPL_H
#define HP_ISA_ALPHA_IMPL_H

#include "isa/isa_impl.h"

/* Formats, as in the architecture handbook. */
enum alpha_format {
    ALPHA_PAL,     /* number */
    ALPHA_MISC,    /* no operands, or ra written */
    ALPHA_HINT,    /* (rb): cache hints */
    ALPHA_MEMORY,  /* ra, disp(rb) */
    ALPHA_ADDRESS, /* the same, but only computes the address (LDA, LDAH) */
    ALPHA_JUMP,    /* ra, (rb) */
    ALPHA_BRANCH,  /* ra, target */
    ALPHA_OPERATE, /* ra, rb or literal, rc */
    ALPHA_FLOAT,   /* fa, fb, fc */
};

/* The registers of the three fields: read or written, integer or floating point. */
enum {
    ALPHA_AR = 1 << 0,  /* ra read */
    ALPHA_AW = 1 << 1,  /* ra written */
    ALPHA_FAR = 1 << 2, /* fa read */
    ALPHA_FAW = 1 << 3, /* fa written */
    ALPHA_BR = 1 << 4,
    ALPHA_FBR = 1 << 5,
    ALPHA_CR = 1 << 6,
    ALPHA_CW = 1 << 7,
    ALPHA_FCR = 1 << 8,
    ALPHA_FCW = 1 << 9,
};

struct alpha_row {
    uint32_t mask;
    uint32_t match;
    const char *name;
    uint16_t regs;
    uint8_t format; /* enum alpha_format */
    uint8_t size;   /* of the memory operand, bytes; 0: none */
    uint8_t op;     /* enum hp_op */
    uint8_t flow;   /* enum hp_flow */
};

extern const struct alpha_row hp_alpha_rows[];
extern const size_t hp_alpha_row_count;

#endif
