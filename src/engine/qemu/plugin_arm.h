// SPDX-License-Identifier: MIT
/*
 * ARM's two instruction sets. QEMU's interface does not say which one a block uses.
 */
#ifndef HP_QEMU_PLUGIN_ARM_H
#define HP_QEMU_PLUGIN_ARM_H

#include "engine/arena.h"
#include "engine/qemu/plugin_api.h"

/*
 * Whether the block is Thumb code. Decided by its address or a 16-bit instruction, if there is one,
 * or by an instruction that cannot be Thumb; else by the code that ends where it starts, or by the
 * code that ran before it and came here by a direct branch (`before`; NULL: unknown). Otherwise it
 * is taken for Thumb, which it must look like.
 */
bool hp_arm_is_thumb(const struct qemu_plugin_tb *tb, const struct hp_arena_segment *before);

/* Records the mode of the code that ends where this segment does. */
void hp_arm_remember(const struct hp_arena_segment *segment);

/* The length of a Thumb instruction. QEMU may show more: it peeks across a page boundary. */
size_t hp_arm_thumb_size(const void *insn);

#endif
