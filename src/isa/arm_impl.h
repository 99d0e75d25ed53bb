// SPDX-License-Identifier: MIT
/*
 * The parts of the ARM decoder: arm_flow.c (length and control flow from the bits), arm.c (the
 * decoder), arm_operands.c (operation class, registers and memory from Capstone's details).
 */
#ifndef HP_ISA_ARM_IMPL_H
#define HP_ISA_ARM_IMPL_H

#include "isa/capstone_impl.h"
#include "isa/isa_impl.h"

/*
 * Length, flow, target and flags. False when the instruction is cut off.
 *
 * A Thumb instruction inside an IT block is conditional, but its bits do not show it: it is decoded
 * as if it stood alone. After such a branch the program may fall through.
 */
bool hp_arm_flow(const struct hp_isa_bytes *bytes, struct hp_insn *insn);

/*
 * Operation class, registers and memory operand of the instruction that `capstone` decoded last and
 * whose flow is in `insn`.
 */
void hp_arm_operands(const struct hp_capstone *capstone, bool thumb, struct hp_insn *insn);

/* In hp_regset.vec: S0-S31 are bits 0-31 (D and Q registers are several of them), D16-D31 are bits
 * 32-47, and the comparison flags of FPSCR are bit 48. */
#define HP_ARM_FPSCR 48

#endif
