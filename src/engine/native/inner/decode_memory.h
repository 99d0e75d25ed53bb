// SPDX-License-Identifier: MIT
/*
 * The memory operands of an instruction: the same ones, in the same order, that hotpath's isa part
 * lists (hp_insn.mems), with what it takes to compute their addresses. The unit test holds the two
 * against each other. Stands alone, like decode.h.
 */
#ifndef HP_NATIVE_DECODE_MEMORY_H
#define HP_NATIVE_DECODE_MEMORY_H

#include "engine/native/inner/decode.h"

#define HP_X86_MEMS_MAX 2
#define HP_X86_NO_REG   0xff

/*
 * The address is base + (index << shift) + disp with the registers as they are before the
 * instruction, cut to 32 bits with `addr32`, plus the base of the segment. A RIP-relative operand
 * has neither base nor index: disp is its address. The vector index of gathers and scatters is left
 * out.
 */
struct hp_x86_mem {
    uint8_t base, index; /* HP_X86_NO_REG: none */
    uint8_t shift;
    uint8_t segment; /* HP_X86_SEG_* */
    bool addr32;
    bool plus_al; /* XLAT: and AL, without a sign */
    int64_t disp;
};

/* Of the instruction at `address`, whose bytes are at `code` and which was decoded into `insn`.
 * Returns how many there are. */
unsigned hp_x86_memory(const uint8_t *code, const struct hp_x86 *insn, uint64_t address,
                       struct hp_x86_mem mems[HP_X86_MEMS_MAX]);

/* What the eight-bit displacement of an EVEX instruction is multiplied with; `evex` points to its
 * 62. */
unsigned hp_x86_disp8_scale(const uint8_t *evex);

#endif
