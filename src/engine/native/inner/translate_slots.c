// SPDX-License-Identifier: MIT
/*
 * Jumps and calls through a slot, `jmp [rip + d]`: entries of a PLT, calls of code that has none.
 * They nearly always go where the slot says when they are translated. It is compared all the same.
 *
 * A slot that is bound lazily first leads back into the PLT, or nowhere. A segment translated then
 * is translated again when the slot is bound: until that, it is left through a gate.
 *
 * Code that is out of reach is looked up: a jump through a constant is no cheaper than that.
 */
#include "engine/native/inner/translate_impl.h"

#define TRIES  4    /* arrivals at an entry whose slot is not bound; then nothing is expected */
#define COUNTS 4096 /* of tries, by address */

static uint8_t tries[COUNTS];

static uint8_t *tries_of(uint64_t entry)
{
    return &tries[(entry >> 3) % COUNTS];
}

/* Skips ENDBR64. */
static unsigned skip_mark(const uint8_t *bytes)
{
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
    for (unsigned i = 0; i < sizeof endbr; i++)
        if (bytes[i] != endbr[i])
            return 0;
    return sizeof endbr;
}

/* Whether the code is what a slot leads to until it is bound: push imm32; jmp rel32. */
static bool is_binder(uint64_t pc)
{
    uint8_t bytes[16];
    if (!hp_copy(bytes, (const void *)pc, sizeof bytes))
        return false;
    unsigned at = skip_mark(bytes);
    if (bytes[at] != 0x68)
        return false;
    at += 5;
    return bytes[at] == 0xe9 || (bytes[at] == 0xf2 && bytes[at + 1] == 0xe9); /* BND */
}

bool hp_slot_is_entry(uint64_t pc)
{
    uint8_t bytes[8];
    if (!hp_copy(bytes, (const void *)pc, sizeof bytes))
        return false;
    unsigned at = skip_mark(bytes);
    at += bytes[at] == 0xf2; /* BND */
    return bytes[at] == 0xff && bytes[at + 1] == 0x25;
}

/* What the piece says, which is translated again. */
static const struct hp_cached_piece *piece_again(const struct work *w)
{
    return &hp_pieces[hp_segs[w->segment].first_piece + w->pieces];
}

uint64_t hp_slot_target(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    uint64_t target;
    struct hp_mapped_place place;
    if (w->again)
        return piece_again(w)->expects;
    if (!insn->rip_relative || insn->addr32 || insn->segment != HP_X86_SEG_NONE ||
        hp_engine.mode == HP_RECORD_PATHS ||
        !hp_copy(&target, (const void *)hp_x86_operand(insn, w->pc), sizeof target))
        return 0;
    if (hp_maps_find(w->self, target, &place) && place.executable && !is_binder(target))
        return hp_emit_reaches(w->e.at, target) ? target : 0;
    w->piece->waits =
        hp_segs[w->segment].kind == HP_SEG_PLAIN && *tries_of(w->piece->start) < TRIES;
    return 0;
}

bool hp_slot_waits(const struct work *w)
{
    return w->again ? piece_again(w)->waits : w->piece->waits;
}

bool hp_slot_is_over(uint32_t segment, uint64_t target)
{
    uint8_t *n = tries_of(hp_last_piece(segment)->start);
    if (is_binder(target))
        return ++*n >= TRIES;
    *n = 0;
    return true;
}
