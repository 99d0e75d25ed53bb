// SPDX-License-Identifier: MIT
/*
 * Instructions: what the profilers need to know about one, on any architecture.
 */
#ifndef HOTPATH_ISA_H
#define HOTPATH_ISA_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hp_arch {
    HP_ARCH_NONE,
    HP_ARCH_X86_64,
    HP_ARCH_AARCH64,
    HP_ARCH_ARM, /* A32 and T32 (Thumb) */
    HP_ARCH_RISCV64,
    HP_ARCH_ALPHA,
    HP_ARCH_COUNT_
};

/* "x86_64", "aarch64", "arm", "riscv64", "alpha"; "none" for anything else. */
const char *hp_arch_name(enum hp_arch arch);

/* The inverse of hp_arch_name(); HP_ARCH_NONE when unknown. */
enum hp_arch hp_arch_from_name(const char *name);

/* How an instruction transfers control. Everything but HP_FLOW_NONE ends a block. */
enum hp_flow {
    HP_FLOW_NONE,     /* continues with the next instruction */
    HP_FLOW_JUMP,     /* direct jump */
    HP_FLOW_COND,     /* direct conditional jump: target or next instruction */
    HP_FLOW_CALL,     /* direct call */
    HP_FLOW_JUMP_IND, /* jump to a computed address */
    HP_FLOW_CALL_IND, /* call of a computed address */
    HP_FLOW_RETURN,   /* return from a call */
    HP_FLOW_SYSCALL,  /* enters the kernel; continues with the next instruction unless the kernel
                         decides otherwise (signal return, new thread) */
    HP_FLOW_TRAP, /* raises an exception; does not continue (breakpoint, undefined instruction) */
    HP_FLOW_COUNT_
};

/* "none", "jump", "cond", "call", "jump_ind", "call_ind", "return", "syscall", "trap". */
const char *hp_flow_name(enum hp_flow flow);

/* Operation classes for the machine model: where an instruction executes and how long it may
 * take. */
enum hp_op {
    HP_OP_NOP,
    HP_OP_ALU,    /* integer add, logic, compare, move, address arithmetic, shift */
    HP_OP_MUL,    /* integer multiply */
    HP_OP_DIV,    /* integer divide */
    HP_OP_FADD,   /* floating point (scalar or vector) add, compare, convert, move */
    HP_OP_FMUL,   /* floating point multiply, fused multiply-add */
    HP_OP_FDIV,   /* floating point divide, square root, transcendental */
    HP_OP_VEC,    /* vector integer and permutes, crypto */
    HP_OP_LOAD,   /* does nothing but load */
    HP_OP_STORE,  /* does nothing but store */
    HP_OP_BRANCH, /* any control transfer */
    HP_OP_ATOMIC, /* locked or exclusive memory operation, fence */
    HP_OP_STRING, /* x86 string operation */
    HP_OP_SYSTEM, /* system call, trap, privileged or serialising instruction */
    HP_OP_COUNT_
};

const char *hp_op_name(enum hp_op op);

/*
 * A set of registers. `gpr`: bit n is integer register n in the architecture's own numbering (x86:
 * rax rcx rdx rbx rsp rbp rsi rdi r8-r15; the zero register is never a member; AArch64 SP is bit
 * 31; ARM's PC, r15, is not recorded); bit 63 is the flags. `vec`: bit n is floating point / vector
 * register n (x86: xmm/ymm/zmm n in bits 0-31, mask register k n in bits 32-39, x87/mmx as one in
 * bit 40; ARM: s0-s31 in bits 0-31, of which d0-d15 and q0-q7 are made, d16-d31 in bits 32-47, the
 * flags of FPSCR in bit 48; RISC-V: f n in bits 0-31, v n in bits 32-63).
 *
 * A register that is written in part or conditionally counts as read too. One that is combined with
 * itself into a constant is not read (x86: xor eax, eax, pxor xmm0, xmm0 and the like).
 */
struct hp_regset {
    uint64_t gpr;
    uint64_t vec;
};
#define HP_REG_FLAGS 63

/*
 * A memory operand. Registers are numbered as in hp_regset.gpr; HP_MEM_NOREG: none. The address is
 * base + index * scale + disp with the registers as they are before the instruction. Segment bases
 * (x86 FS, GS) are not part of it. A scale of 0 with an index: the index is subtracted or shifted
 * otherwise (ARM). Where an instruction has two, what it reads comes first.
 */
#define HP_MEM_NOREG 0xff
#define HP_MEM_PC    0xfe /* relative to the address of the next instruction (x86) or this one */
struct hp_mem {
    uint8_t base;
    uint8_t index;
    uint8_t scale; /* index is multiplied by this */
    uint8_t read : 1;
    uint8_t write : 1;
    uint16_t size; /* bytes; 0 when it is not known statically */
    int64_t disp;
};
#define HP_INSN_MAX_MEMS 2

enum {
    HP_INSN_CONDITIONAL = 1 << 0, /* the control transfer may also fall through (HP_FLOW_COND, ARM's
                                     conditional calls and returns) */
    HP_INSN_REP = 1 << 1,         /* x86 REP string form: repeats itself, counted once */
    HP_INSN_ATOMIC = 1 << 2,
};

/* Instruction set of the bytes, where an architecture has several. */
enum hp_isa_mode {
    HP_MODE_DEFAULT = 0,
    HP_MODE_THUMB = 1, /* ARM only */
};

struct hp_insn {
    uint64_t address;
    uint64_t target; /* of a direct transfer; 0 for any other */
    uint8_t length;  /* bytes */
    uint8_t flow;    /* enum hp_flow */
    uint8_t op;      /* enum hp_op */
    uint8_t flags;
    uint8_t n_mems;
    struct hp_regset reads;
    struct hp_regset writes;
    struct hp_mem mems[HP_INSN_MAX_MEMS];
};

/*
 * A decoder for one architecture. Owns the state of the underlying library; use one for each
 * thread.
 */
struct hp_decoder;

/* HP_ERR_UNSUPPORTED when there is no decoder for the architecture. Free with hp_decoder_free(). */
HP_MUST_CHECK enum hp_err hp_decoder_new(enum hp_arch arch, struct hp_decoder **decoder);
void hp_decoder_free(struct hp_decoder *decoder);

/*
 * Decodes the instruction at `code` (at most `size` bytes readable) that the program has at
 * `address`. Fills all of `*insn`. With `flow_only`, only address, target, length, flow and flags
 * are guaranteed (faster); they are the same either way. HP_ERR_FORMAT: not a valid instruction, or
 * cut off by `size`. (Valid instructions differ between versions of AArch64 and ARM. AArch64: only
 * those in a reserved top level group are invalid; ARM: only those cut off.) Then `*insn` is a
 * HP_FLOW_NONE HP_OP_SYSTEM instruction of the architecture's smallest length, so that a caller may
 * skip it.
 */
enum hp_err hp_decode(struct hp_decoder *decoder, enum hp_isa_mode mode, uint64_t address,
                      const uint8_t *code, size_t size, bool flow_only, struct hp_insn *insn);

/*
 * Writes the assembly text of an instruction into `text`, always terminated ("(bad)" when it does
 * not decode; ".inst 0x..." where hotpath has no disassembler for the architecture).
 */
void hp_disassemble(struct hp_decoder *decoder, enum hp_isa_mode mode, uint64_t address,
                    const uint8_t *code, size_t size, char *text, size_t text_size);

#ifdef __cplusplus
}
#endif
#endif
