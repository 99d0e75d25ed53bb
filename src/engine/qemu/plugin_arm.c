// SPDX-License-Identifier: MIT
#include "engine/qemu/plugin_arm.h"

#include "hotpath/isa.h"

#include <string.h>

#define ENDS 65536 /* power of two; a collision only costs a guess */

static struct {
    uint32_t address;
    uint32_t mode; /* + 1; 0: empty */
} ends[ENDS];

static uint16_t half(const void *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

size_t hp_arm_thumb_size(const void *insn)
{
    return half(insn) >= 0xe800 ? 4 : 2;
}

static size_t slot(uint32_t address)
{
    return (address >> 1) & (ENDS - 1);
}

void hp_arm_remember(const struct hp_arena_segment *segment)
{
    uint32_t end = (uint32_t)(segment->start + segment->size);
    ends[slot(end)].address = end;
    ends[slot(end)].mode = segment->mode + 1;
}

/* Whether QEMU may have peeked past a 16-bit instruction at `address`, to see if the next one fits
 * the page: then it shows four bytes. */
static bool may_be_peeked(uint64_t address)
{
    return ((address + 2) & 0xffe) == 0xffe || ((address + 2) & 0xfff) == 0;
}

/* What the bytes say: 1 Thumb, 0 A32, -1 could be either. */
static int by_bytes(const struct qemu_plugin_tb *tb)
{
    if (qemu_plugin_tb_vaddr(tb) & 2)
        return 1;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        if (qemu_plugin_insn_size(insn) != 4 || address & 2)
            return 1;
        if (hp_arm_thumb_size(qemu_plugin_insn_data(insn)) == 2 && !may_be_peeked(address))
            return 0;
    }
    return -1;
}

/* The mode after a segment whose last instruction is a direct branch or none; -1 after any
 * other. */
static int mode_after(const struct hp_arena_segment *segment)
{
    const uint8_t *end = (const uint8_t *)(segment + 1) + segment->size;
    if (segment->size < 4)
        return -1;
    if (segment->mode == HP_MODE_THUMB) {
        uint16_t first = half(end - 4), second = half(end - 2);
        bool wide_branch = first >> 11 == 0x1e && second >> 15;
        if (wide_branch && (second & 0xd000) == 0xc000)
            return 0; /* BLX to A32 */
        bool narrow = second >> 12 == 0xd || second >> 11 == 0x1c || (second & 0xf500) == 0xb100;
        return wide_branch || narrow ? 1 : -1;
    }
    uint32_t insn = (uint32_t)half(end - 4) | (uint32_t)half(end - 2) << 16;
    if (insn >> 25 == 0x7d)
        return 1; /* BLX to Thumb */
    return (insn >> 25 & 7) == 5 ? 0 : -1;
}

bool hp_arm_is_thumb(const struct qemu_plugin_tb *tb, const struct hp_arena_segment *before)
{
    int mode = by_bytes(tb);
    if (mode >= 0)
        return mode;
    uint32_t start = (uint32_t)qemu_plugin_tb_vaddr(tb);
    if (ends[slot(start)].mode && ends[slot(start)].address == start)
        return ends[slot(start)].mode - 1 == HP_MODE_THUMB;
    mode = before ? mode_after(before) : -1;
    return mode != 0;
}
