// SPDX-License-Identifier: MIT
/*
 * x86-64 instructions, as far as a copying translator must know them: length, positions of the
 * parts, control flow, and effect on registers and flags. Self-contained (no libc); takes about
 * twenty nanoseconds per instruction.
 *
 * Everything in 64-bit mode is decoded: legacy, VEX, EVEX, XOP and 3DNow! encodings. The unit test
 * compares it with Zydis.
 */
#ifndef HP_NATIVE_DECODE_H
#define HP_NATIVE_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/* What the translator must do with an instruction. */
enum hp_x86_kind {
    HP_X86_PLAIN,   /* copy; only a RIP-relative or GS operand needs care */
    HP_X86_INVALID, /* no such instruction (or over 15 bytes, or cut off by `size`): running it
                       raises #UD; length is the number of bytes examined, at least 1 */

    HP_X86_JUMP,     /* JMP rel8/rel32 */
    HP_X86_COND,     /* Jcc rel8/rel32; `condition` is the low nibble of the opcode */
    HP_X86_COUNTED,  /* LOOP, LOOPE, LOOPNE, JRCXZ, JECXZ: rel8 only */
    HP_X86_CALL,     /* CALL rel32 */
    HP_X86_JUMP_IND, /* JMP r/m64 */
    HP_X86_CALL_IND, /* CALL r/m64 */
    HP_X86_RET,      /* near RET, `imm` bytes dropped afterwards */
    HP_X86_SYSCALL,  /* SYSCALL */
    HP_X86_TRAP,   /* INT3, INT n, INT1, UD0, UD1, UD2, HLT: ends a block exactly where the isa part
                      says HP_FLOW_TRAP or HP_FLOW_SYSCALL */
    HP_X86_FAR,    /* far CALL, JMP, RET; IRET */
    HP_X86_SYSTEM, /* SYSENTER, SYSEXIT, SYSRET, RSM, UIRET: not translated */
    HP_X86_XBEGIN, /* XBEGIN rel32 */

    HP_X86_RDGSBASE, /* to register `reg`; 32-bit operand unless `wide` */
    HP_X86_WRGSBASE, /* from register `reg` */
    HP_X86_LOAD_GS,  /* MOV GS, r/m; POP GS; LGS: a selector */
};

/* Registers are numbered as in encodings: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi,
 * 8 ... 15. Sets of them are bit masks. */
enum {
    HP_X86_RAX,
    HP_X86_RCX,
    HP_X86_RDX,
    HP_X86_RBX,
    HP_X86_RSP,
    HP_X86_RBP,
    HP_X86_RSI,
    HP_X86_RDI
};

/* Opcodes that identify some instructions. */
#define HP_X86_PUSHF 0x9c
#define HP_X86_POPF  0x9d
#define HP_X86_IRET  0xcf
#define HP_X86_HLT   0xf4

enum {
    HP_X86_SEG_NONE, /* or one without meaning in 64-bit mode */
    HP_X86_SEG_FS,
    HP_X86_SEG_GS,
};

struct hp_x86 {
    uint8_t length;
    uint8_t kind; /* enum hp_x86_kind */
    uint8_t condition;
    uint8_t reg;       /* see the kinds */
    uint8_t opcode_at; /* offset of the opcode's first byte after prefixes and REX (its 0F, VEX,
                          EVEX, XOP byte if it starts with one) */
    uint8_t rex;       /* the REX byte, 0: none */
    uint8_t modrm_at;  /* offset of ModRM; 0: none */
    uint8_t disp_at;   /* offset of the displacement; 0: none */
    uint8_t disp_size; /* 1 or 4 */
    uint8_t imm_at;    /* offset of the immediate or branch displacement; 0: none */
    uint8_t imm_size;  /* 1, 2, 3 (ENTER), 4, 8 */
    uint8_t segment; /* HP_X86_SEG_*, of the memory operand; FS and GS only count where there is one
                        (string instructions and MOV moffs included, LEA and NOP not) */
    bool rip_relative; /* the memory operand is [rip + disp32] (or [eip + disp32]: see addr32) */
    bool addr32;       /* has an address-size prefix (67) */
    bool has_memory;   /* reads or writes memory through ModRM; LEA, NOP and prefetches do not */
    bool is_lea;       /* LEA: ModRM's memory operand is only an address */
    bool is_rep;       /* a string instruction with a REP or REPNE prefix */
    bool is_string;    /* MOVS, CMPS, STOS, LODS, SCAS, INS, OUTS */
    bool wide;         /* REX.W or equivalent: 64-bit operands */
    /* Effect on general registers, for finding a free one. Conservative: an instruction that is not
     * known in detail uses and reads everything, flags included, and writes nothing for certain. */
    uint16_t uses;   /* every register involved, implicit ones included */
    uint16_t reads;  /* registers whose old value may matter, those in addresses included; a partly
                        written register counts as read */
    uint16_t writes; /* registers whose whole 64 bits are overwritten in any case (not by a CMOV or
                        a REP with count 0) */
    /* The six arithmetic flags together (OF SF ZF AF PF CF); the direction flag counts only as
     * read. */
    bool reads_flags;  /* any of them may matter, also "preserves some and writes others" */
    bool writes_flags; /* all six are written or undefined in any case */
    bool keeps_flags;  /* reads_flags only because some stay as they are: none is used */
    int64_t imm;       /* sign-extended immediate, or branch displacement, when imm_at */
    int32_t disp;      /* sign-extended displacement, when disp_at */
};

/*
 * Decodes one instruction at `code`, of which `size` bytes can be read (15 are always enough).
 * Never fails: see HP_X86_INVALID. `*insn` is filled completely.
 */
void hp_x86_decode(const uint8_t *code, unsigned size, struct hp_x86 *insn);

/* The target of a direct transfer at address `address`. */
static inline uint64_t hp_x86_target(const struct hp_x86 *insn, uint64_t address)
{
    return address + insn->length + (uint64_t)insn->imm;
}

/* The address of a RIP-relative operand of an instruction at `address`. */
static inline uint64_t hp_x86_operand(const struct hp_x86 *insn, uint64_t address)
{
    uint64_t operand = address + insn->length + (uint64_t)(int64_t)insn->disp;
    return insn->addr32 ? (uint32_t)operand : operand;
}

#endif
