// SPDX-License-Identifier: MIT
/*
 * The x87 instruction pointer, where a program can see it.
 */
#ifndef HP_NATIVE_X87_H
#define HP_NATIVE_X87_H

#include "engine/native/inner/decode.h"
#include "engine/native/inner/inner.h"

/* Whether the instruction stores the pointer: FNSTENV, FNSAVE, FXSAVE, XSAVE, XSAVEOPT, XSAVEC. */
static inline bool hp_x87_is_stored(const uint8_t *bytes, const struct hp_x86 *insn)
{
    const uint8_t *opcode = bytes + insn->opcode_at;
    if ((opcode[0] != 0x0f && opcode[0] != 0xd9 && opcode[0] != 0xdd) || !insn->has_memory)
        return false;
    unsigned reg = bytes[insn->modrm_at] >> 3 & 7;
    if (opcode[0] != 0x0f)
        return reg == 6;
    if (opcode[1] == 0xc7)
        return reg == 4;
    if (opcode[1] != 0xae || (reg != 0 && reg != 4 && reg != 6))
        return false;
    for (unsigned i = 0; i < insn->opcode_at; i++) /* PTWRITE, CLWB, CLRSSBSY */
        if (bytes[i] == 0xf3 || bytes[i] == 0x66)
            return false;
    return true;
}

/* Corrects the vector state of a signal frame. */
void hp_x87_correct_frame(struct hp_self *self, uint8_t *state);

#endif
