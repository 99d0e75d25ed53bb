// SPDX-License-Identifier: MIT
/*
 * The parts of the x86-64 decoder: x86.c (flow, registers, memory), x86_fast.c (common
 * instructions, flow only), x86_op.c (operation class).
 */
#ifndef HP_ISA_X86_IMPL_H
#define HP_ISA_X86_IMPL_H

#include "isa/isa_impl.h"

#include <Zydis/Zydis.h>

/*
 * Length, flow, target and flags of an instruction that x86_fast.c knows. False: unknown, or cut
 * off; the flow and flags of `*insn` are then undefined.
 */
bool hp_x86_fast(const uint8_t *code, size_t size, struct hp_insn *insn);

/* MOVS, CMPS, STOS, LODS, SCAS, INS, OUTS, repeated or not. */
bool hp_x86_is_string(const ZydisDecodedInstruction *zi);

/*
 * For each mnemonic, its class when its operands are vector or floating point registers: FADD,
 * FMUL, FDIV, VEC, or LOAD for a plain move. Filled once per decoder, from the names.
 */
void hp_x86_vector_ops(uint8_t ops[ZYDIS_MNEMONIC_MAX_VALUE + 1]);

/*
 * Whether it combines a register with itself to a result that does not depend on it: xor eax, eax
 * and the like, as processors recognize them. Except for parts of registers and MMX registers (all
 * one in hp_regset).
 */
bool hp_x86_is_constant(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *operands);

/* Whether it preserves a part of the vector register it writes, although Zydis does not say so. */
bool hp_x86_keeps_part(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *operands);

/*
 * The operation class of a fully decoded instruction; `insn` already has its flow, flags, registers
 * and memory operands.
 */
enum hp_op hp_x86_op(const ZydisDecodedInstruction *zi, const uint8_t *vector_ops,
                     const struct hp_insn *insn);

#endif
