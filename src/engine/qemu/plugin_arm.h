// SPDX-License-Identifier: MIT
/*
 * ARM's two instruction sets. QEMU's interface does not tell which one a block is in.
 */
#ifndef HP_QEMU_PLUGIN_ARM_H
#define HP_QEMU_PLUGIN_ARM_H

#include "engine/arena.h"
#include "engine/qemu/plugin_api.h"

/*
 * Whether the block is Thumb code. By its address or a 16-bit instruction when there is one, or
 * because an instruction cannot be Thumb; else by the code that ends where it starts, or the code
 * that ran before it and came here by a direct branch (`before`; NULL: not known); else it is taken
 * for Thumb, which it has to look like.
 */
bool hp_arm_is_thumb(const struct qemu_plugin_tb *tb, const struct hp_arena_segment *before);

/* Remembers which code ends where. */
void hp_arm_remember(const struct hp_arena_segment *segment);

/* The length of a Thumb instruction. QEMU may show more: it peeks across the end of a page. */
size_t hp_arm_thumb_size(const void *insn);

#endif
