// SPDX-License-Identifier: MIT
/*
 * The opcode maps of the decoder: one 32-bit entry per opcode. Internal to decode*.c.
 */
#ifndef HP_NATIVE_DECODE_TABLES_H
#define HP_NATIVE_DECODE_TABLES_H

#include "engine/native/inner/decode.h"

/* The fields of an entry. 0: no such instruction. */
enum {
    MODRM = 1 << 0,
    IB = 1 << 1,    /* immediates: one byte */
    IW = 2 << 1,    /* two */
    IZ = 3 << 1,    /* two or four, by operand size */
    IV = 4 << 1,    /* two, four or eight */
    ID = 5 << 1,    /* four */
    IA = 6 << 1,    /* an address: eight, or four with 67 */
    I3 = 7 << 1,    /* ENTER's three bytes */
    I3B = 8 << 1,   /* group 3: only TEST has one, a byte */
    I3Z = 9 << 1,   /* the same of operand size */
    I78 = 10 << 1,  /* EXTRQ, INSERTQ: two bytes with 66 or F2 */
    IMM = 15 << 1,  /* mask of the above */
    GR = 1 << 5,    /* general register in ModRM.reg: read */
    GW = 1 << 6,    /* written */
    ER = 1 << 7,    /* general register or memory in ModRM.rm: read */
    EW = 1 << 8,    /* written */
    GB = 1 << 9,    /* ModRM.reg is a byte register */
    EB = 1 << 10,   /* ModRM.rm is one */
    FX = 1 << 11,   /* 66 is not an operand size here: a write has 32 or 64 bits */
    FR = 1 << 12,   /* reads_flags */
    FW = 1 << 13,   /* writes_flags */
    K = 1 << 14,    /* known in detail by the bits here and its action; else conservative */
    NM = 1 << 15,   /* the memory operand is not accessed: LEA, NOP, prefetches */
    VSIB = 1 << 16, /* the index is a vector register */
    SC = 1 << 17,   /* general registers only with F2 or F3, vector ones without */
    NS = 1 << 18,   /* the other way round */
    LEA = 1 << 19,  /* and nothing else */
    ACTION = 20,    /* shift of enum action */
};

/* What the bits cannot express: handled by code after them. */
enum action {
    DO_NOTHING,
    /* only a kind and registers, from a table */
    DO_JUMP,
    DO_COND,
    DO_COUNTED,
    DO_CALL,
    DO_STACK,
    DO_PUSH_REG,
    DO_POP_REG,
    DO_POP_RM,
    DO_LEAVE,
    DO_ACC_READ,
    DO_CMPXCHG,
    DO_POP_GS,
    DO_LAST_SIMPLE = DO_POP_GS,
    /* control flow */
    DO_RET,
    DO_SYSCALL,
    DO_TRAP,
    DO_FAR,
    DO_SYSTEM,
    DO_LGS,
    /* implicit registers */
    DO_ACC_CHANGE,
    DO_MOV_IMM,
    DO_XCHG_ACC,
    DO_CBW,
    DO_CWD,
    DO_XLAT,
    DO_MOV_FROM_OFFSET,
    DO_MOV_TO_OFFSET,
    DO_BSWAP,
    DO_CPUID,
    DO_RDTSC,
    DO_MASKMOV,
    DO_STRING,
    /* groups and exceptions */
    DO_ZERO_IDIOM,
    DO_GROUP1,
    DO_SHIFT,
    DO_SHIFT_DOUBLE,
    DO_GROUP3,
    DO_GROUP4,
    DO_GROUP5,
    DO_GROUP7,
    DO_GROUP8,
    DO_GROUP9,
    DO_GROUP11,
    DO_GROUP15,
    DO_X87,
    DO_MOV_TO_SEGMENT,
    DO_MOV_CONTROL,
    DO_HINT,
    DO_POPCNT,
    DO_BSF,
    DO_MOVBE,
    DO_ADX,
    DO_KEYLOCKER,
    DO_PCMPSTR,
    /* VEX */
    DO_ANDN,
    DO_BLS,
    DO_BZHI,
    DO_MULX,
    DO_BEXTR,
    DO_VEX_GROUP15,
    DO_JKD,
};

extern const uint32_t hp_x86_one[256];
extern const uint32_t hp_x86_0f[256];
extern const uint32_t hp_x86_0f38[256];
extern const uint32_t hp_x86_0f3a[256];
/* VEX and EVEX: map 1 (and 5), map 2 (and 6), map 3. */
extern const uint32_t hp_x86_vex1[256];
extern const uint32_t hp_x86_vex2[256];
extern const uint32_t hp_x86_vex3[256];

/* Prefixes seen, as bits. */
enum {
    P66 = 1 << 0,
    PF2 = 1 << 1,
    PF3 = 1 << 2,
    P67 = 1 << 3,
    PFS = 1 << 4,
    PGS = 1 << 5,
    POTHER = 1 << 6, /* LOCK and meaningless segment prefixes */
    PREX = 1 << 7,
};

/* REX, or the equivalent bits of VEX, EVEX and XOP, not inverted. */
enum { EXT_B = 1, EXT_X = 2, EXT_R = 4, EXT_W = 8 };

/* A disassembled instruction, before its effects are determined. */
struct hp_x86_parts {
    const uint8_t *code;
    unsigned readable;  /* bytes */
    unsigned limit;     /* those the instruction may have */
    unsigned at;        /* the next byte */
    unsigned extension; /* EXT_* */
    uint32_t entry;
    uint8_t prefixes;
    uint8_t opcode;
    uint8_t modrm;
    uint8_t vvvv; /* VEX's register */
    bool operand16;
    bool implicit_memory; /* memory without ModRM, to which a segment prefix applies */
    uint16_t address;     /* registers of the memory operand */
};

/* Fills in kind, condition, registers, flags and so on from the parts. */
void hp_x86_effects(struct hp_x86_parts *p, struct hp_x86 *insn);

#endif
