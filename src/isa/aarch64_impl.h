// SPDX-License-Identifier: MIT
/*
 * The parts of the AArch64 decoder: aarch64.c (flow, floating point by Capstone), aarch64_int.c
 * (integer and system instructions), aarch64_mem.c (loads and stores).
 */
#ifndef HP_ISA_AARCH64_IMPL_H
#define HP_ISA_AARCH64_IMPL_H

#include "isa/isa_impl.h"

/* An integer register field where 31 is the zero register, as a bit of hp_regset.gpr. */
static inline uint64_t a64_x(uint32_t word, unsigned low)
{
    uint32_t reg = hp_bits(word, low, 5);
    return reg == 31 ? 0 : (uint64_t)1 << reg;
}

/* The same where 31 is the stack pointer. */
static inline uint64_t a64_sp(uint32_t word, unsigned low)
{
    return (uint64_t)1 << hp_bits(word, low, 5);
}

/* A vector register field, as a bit of hp_regset.vec. */
static inline uint64_t a64_v(uint32_t word, unsigned low)
{
    return (uint64_t)1 << hp_bits(word, low, 5);
}

/* The field positions. */
enum { A64_RD = 0, A64_RN = 5, A64_RA = 10, A64_RM = 16 };

static inline bool a64_is_loadstore(uint32_t word)
{
    return (word & 0x0a000000) == 0x08000000;
}

/* Exclusive, compare-and-swap or read-modify-write; `word` is in the load/store group. */
bool hp_a64_is_atomic(uint32_t word);

/* Operation class, registers and memory operand of a load or store. */
void hp_a64_loadstore(uint32_t word, struct hp_insn *insn);

/* Operation class and registers of an integer data processing instruction. */
void hp_a64_integer(uint32_t word, struct hp_insn *insn);

/* The same for a branch, exception or system instruction, whose flow is known. */
void hp_a64_branch_system(uint32_t word, struct hp_insn *insn);

#endif
