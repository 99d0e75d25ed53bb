// SPDX-License-Identifier: MIT
/*
 * Instructions that a gate deals with: what ended a segment, in the state before it or behind it.
 */
#ifndef HP_NATIVE_FAR_H
#define HP_NATIVE_FAR_H

#include "engine/native/inner/cache.h"
#include "engine/native/inner/decode.h"

struct hp_last {
    uint8_t bytes[16];
    struct hp_x86 insn; /* HP_X86_INVALID when it is not there any more */
    uint64_t pc, behind;
    uint32_t id;     /* of the run up to it */
    uint32_t insns;  /* of its block */
    uint32_t before; /* id of the run up to the block before, 0: none */
    bool before_taken;
};

/* The instruction at the exit by which the thread left the cache. Before the thread says that it is
 * out. */
void hp_last_read(const struct hp_self *self, struct hp_last *last);

#endif
