// SPDX-License-Identifier: MIT
/*
 * The memory operands of an instruction: the same ones, in the same order, that the isa part lists
 * (hp_insn.mems), with what is needed to compute their addresses. The unit test compares the two.
 * Self-contained, like decode.h.
 */
#ifndef HP_NATIVE_DECODE_MEMORY_H
#define HP_NATIVE_DECODE_MEMORY_H

#include "engine/native/inner/decode.h"

#define HP_X86_MEMS_MAX 2
#define HP_X86_NO_REG   0xff

/*
 * The address is base + (index << shift) + disp with the registers before the instruction,
 * truncated to 32 bits with `addr32`, plus the base of the segment. A RIP-relative operand has
 * neither base nor index: disp is its address. The vector index of gathers and scatters is not
 * included.
 */
struct hp_x86_mem {
    uint8_t base, index; /* HP_X86_NO_REG: none */
    uint8_t shift;
    uint8_t segment; /* HP_X86_SEG_* */
    bool addr32;
    bool plus_al; /* XLAT: plus AL, zero-extended */
    int64_t disp;
};

/* Of the instruction at `address`, with its bytes at `code` and decoded into `insn`. Returns how
 * many there are. */
unsigned hp_x86_memory(const uint8_t *code, const struct hp_x86 *insn, uint64_t address,
                       struct hp_x86_mem mems[HP_X86_MEMS_MAX]);

/* The factor of an EVEX instruction's eight-bit displacement; `evex` points to its 62 byte. */
unsigned hp_x86_disp8_scale(const uint8_t *evex);

#endif
