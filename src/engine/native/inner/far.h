// SPDX-License-Identifier: MIT
/*
 * Instructions handled by a gate: the last one of a segment, with the state before or after it.
 */
#ifndef HP_NATIVE_FAR_H
#define HP_NATIVE_FAR_H

#include "engine/native/inner/cache.h"
#include "engine/native/inner/decode.h"

struct hp_last {
    uint8_t bytes[16];
    struct hp_x86 insn; /* HP_X86_INVALID when it is no longer there */
    uint64_t pc, behind;
    uint32_t id;     /* of the run up to it */
    uint32_t insns;  /* in its block */
    uint32_t before; /* id of the run up to the previous block, 0: none */
    bool before_taken;
    bool before_by; /* it ended with an indirect transfer */
};

/* The instruction at the exit by which the thread left the cache. Call it before the thread
 * declares itself out. */
void hp_last_read(const struct hp_self *self, struct hp_last *last);

#endif
