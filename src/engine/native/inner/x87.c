// SPDX-License-Identifier: MIT
/*
 * The x87 instruction pointer. The processor keeps the address of the last x87 instruction, which
 * is in the cache. Wherever it is stored it is replaced by the program's.
 */
#include "engine/native/inner/x87.h"

#include "engine/native/inner/far.h"
#include "engine/native/inner/traces.h"
#include "hotpath/stream.h"

#include <string.h>

/* The program's instruction for the one at `address` in the cache; 0: it is no longer there. With
 * the lock held. */
static uint64_t program_address(uint64_t address)
{
    struct hp_spot spot = {0};
    uint8_t bytes[15] = {0};
    struct hp_x86 insn;
    uint32_t segment = hp_cache_segment_at(address);
    if (!segment)
        return 0;
    hp_locate(segment, address, &spot);
    for (unsigned i = 0; i < sizeof bytes && hp_copy(bytes + i, (const void *)(spot.pc + i), 1);
         i++)
        ;
    hp_x86_decode(bytes, sizeof bytes, &insn);
    uint8_t opcode = bytes[insn.opcode_at];
    return (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0x9b ? spot.pc : 0;
}

static uint64_t translate_back(struct hp_self *self, uint64_t address)
{
    uint64_t flushes = atomic_load(&hp_engine.arena->stats.flushes);
    if (address == self->x87_cache && flushes == self->x87_flushes)
        return self->x87_program;
    hp_lock();
    self->x87_program = program_address(address);
    hp_unlock();
    self->x87_cache = address;
    self->x87_flushes = flushes;
    return self->x87_program;
}

static bool correct(struct hp_self *self, uint64_t *pointer)
{
    if (!hp_cache_has(*pointer))
        return false;
    *pointer = translate_back(self, *pointer);
    return true;
}

void hp_x87_correct_frame(struct hp_self *self, uint8_t *state)
{
    uint64_t pointer;
    memcpy(&pointer, state + 8, 8);
    if (correct(self, &pointer))
        memcpy(state + 8, &pointer, 8);
}

/* --- Instructions ----------------------------------------------------------------------------- */

/* Where the pointer is in what the instruction stored at `at`, and its size; 0: not stored. */
static uint64_t find_pointer(const struct hp_self *self, const struct hp_last *l, uint64_t at,
                             unsigned *size)
{
    uint8_t opcode = l->bytes[l->insn.opcode_at], reg = l->bytes[l->insn.modrm_at] >> 3 & 7;
    *size = l->insn.wide ? 8 : 4;
    if (opcode != 0x0f) { /* FNSTENV, FNSAVE: by operand size */
        *size = 4;
        for (unsigned i = 0; i < l->insn.opcode_at; i++)
            if (l->bytes[i] == 0x66)
                *size = 2;
        return at + (*size == 2 ? 6 : 12);
    }
    bool is_fxsave = l->bytes[l->insn.opcode_at + 1] == 0xae && reg == 0;
    uint64_t stored = 0; /* components */
    if (!is_fxsave && (!(self->regs.r[RAX] & 1) || !hp_copy(&stored, (const void *)(at + 512), 8) ||
                       !(stored & 1)))
        return 0;
    return at + 8;
}

/* Reads the pointer; only a part of it may be stored at `at`. False: leave it. */
static bool read_pointer(const struct hp_last *l, uint64_t at, unsigned size, uint64_t *pointer)
{
    *pointer = 0;
    if (l->bytes[l->insn.opcode_at] == 0xd9) { /* FNSTENV keeps it in the processor */
        uint32_t state[7];
        __asm__ volatile("fnstenv %0" : "=m"(state));
        *pointer = hp_cache_with_low(state[3]);
        return true;
    }
    if (!hp_copy(pointer, (const void *)at, size))
        return false;
    if (size == 4)
        *pointer = hp_cache_with_low((uint32_t)*pointer);
    return true;
}

void hp_on_x87(struct hp_self *self)
{
    hp_traces_end(self);
    struct hp_last last;
    uint64_t addresses[2], pointer;
    unsigned size;
    hp_last_read(self, &last);
    atomic_store(&self->where, HP_IN_ENGINE);
    hp_words_ran(self, last.id, false, last.behind);
    if (last.insn.has_memory &&
        hp_operands(self, last.bytes, &last.insn, last.pc, addresses) == 1) {
        uint64_t at = find_pointer(self, &last, addresses[0], &size);
        if (at && read_pointer(&last, at, size, &pointer) && correct(self, &pointer))
            hp_put(at, &pointer, size);
    }
    hp_go_on(self, last.behind);
}
