// SPDX-License-Identifier: MIT
/* Far calls and returns: processors do not pair them as calls and returns. */
#ifndef HP_ISA_X86_FAR_H
#define HP_ISA_X86_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An instruction of x86-64 that calls or returns. */
static inline bool hp_x86_is_far(const uint8_t *insn, size_t size)
{
    size_t i = 0;
    while (i + 1 < size && ((insn[i] & 0xf0) == 0x40 || insn[i] == 0x66 || insn[i] == 0x2e ||
                            insn[i] == 0x3e || (insn[i] & 0xfe) == 0xf2))
        i++;
    bool returns = insn[i] == 0xca || insn[i] == 0xcb || insn[i] == 0xcf;
    return returns || (insn[i] == 0xff && i + 1 < size && (insn[i + 1] >> 3 & 7) == 3);
}

#endif
