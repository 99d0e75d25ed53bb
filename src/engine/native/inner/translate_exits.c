// SPDX-License-Identifier: MIT
/*
 * How control leaves a piece: linked jumps, lookups, returns, and gates into C.
 */
#include "engine/native/inner/landings.h"
#include "engine/native/inner/translate_impl.h"

#define MISS_SIZE 128 /* bytes for an indirect transfer that does not go where it is expected */

/* --- Recording -------------------------------------------------------------------------------- */

/* Count mode: the first word of a pair. The landing writes the second one and advances. */
static void emit_left(struct work *w)
{
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_NEXT);
    hp_emit_store_value(&w->e, HP_X86_RCX, 0, w->id);
}

/* The same before the target is loaded into rcx, which is saved: then it can stay there. If loading
 * it faults, the word is not used. */
static void emit_left_early(struct work *w)
{
    if (hp_engine.mode != HP_RECORD_COUNT)
        return;
    emit_left(w);
    if (w->insn.kind != HP_X86_RET && w->insn.uses & 1 << HP_X86_RCX)
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
}

/* Records the end of the run, inside a rewritten transfer with rcx saved. In count mode that is
 * done early. */
static void emit_ran_indirect(struct work *w)
{
    if (hp_engine.mode != HP_RECORD_STREAM && hp_engine.mode != HP_RECORD_MEMORY)
        return; /* paths: in words only twins run, whose exits are recorded in C */
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_NEXT);
    hp_emit_store_value(&w->e, HP_X86_RCX, 0, w->id);
    hp_emit_add(&w->e, HP_X86_RCX, 4);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_NEXT);
}

/* Whether segments record their ends in their own code: ways out of a section may have no
 * additions, and those of a twin are recorded in C. */
static bool records_inline(const struct work *w)
{
    return hp_engine.mode != HP_RECORD_NONE && !w->section &&
           hp_segs[w->segment].kind != HP_SEG_TWIN && hp_segs[w->segment].kind != HP_SEG_NODE &&
           (hp_engine.mode != HP_RECORD_COUNT || w->id < hp_engine.arena->shape.counted);
}

/* What may be used at the end of this piece: found when it is translated first, and kept. */
void hp_exit_learn(struct work *w, uint64_t target, uint64_t other)
{
    if (w->again) {
        const struct hp_cached_piece *piece =
            &hp_pieces[hp_segs[w->segment].first_piece + w->pieces];
        w->end = (struct hp_head){.dead = piece->end_dead, .flags_dead = piece->end_flags_dead};
        return;
    }
    w->end = hp_work_ahead(w, target, other);
    w->piece->end_dead = w->end.dead;
    w->piece->end_flags_dead = w->end.flags_dead;
}

void hp_exit_record(struct work *w, uint64_t target, uint64_t other)
{
    if (!records_inline(w) || hp_engine.mode == HP_RECORD_COUNT)
        return; /* each way out has a counter of its own */
    hp_exit_learn(w, target, other);
    uint16_t dead = w->end.dead & (uint16_t)~w->insn.reads; /* LOOP and its kind use rcx */
    hp_emit_ran(&w->e, w->id, true, dead, false);
    w->noted = true;
}

/* --- Exits ------------------------------------------------------------------------------------ */

static uint8_t *make_stub(struct work *w, uint32_t exit, int gate)
{
    uint8_t *place = hp_cache_cold(w->area, 17);
    struct hp_emit e = hp_area_emit(w->area, place);
    hp_emit_set(&e, HP_AT_EXIT, exit);
    hp_emit_jump(&e, (uint64_t)(uintptr_t)hp_cache_gate(w->area, gate));
    return place;
}

/* A new exit of this piece. */
static uint32_t new_exit(struct work *w, uint64_t target)
{
    uint32_t number = hp_cache_new_exit();
    hp_exits[number] = (struct hp_exit){
        .target = target, .segment = w->segment, .id = w->id, .piece = (uint16_t)w->pieces};
    if (hp_segs[w->segment].kind == HP_SEG_NODE) {
        hp_exits[number].prefix = w->prefix;
        hp_exits[number].path = w->way.path;
        hp_exits[number].node = w->way.node;
        hp_exits[number].pushed = w->pushed;
    }
    return number;
}

static bool is_indirect(const struct work *w)
{
    return w->insn.kind == HP_X86_JUMP_IND || w->insn.kind == HP_X86_CALL_IND;
}

/* Emits the displacement of an exit. */
static void emit_exit(struct work *w, uint64_t target, bool taken)
{
    if (w->again) {
        hp_emit_u32(&w->e, 0);
        return;
    }
    uint32_t number = new_exit(w, target);
    struct hp_exit *exit = &hp_exits[number];
    exit->patch = (uint8_t *)(uintptr_t)w->e.at;
    exit->taken = taken;
    exit->is_back = target <= w->pc || is_indirect(w); /* heads: see traces.h */
    exit->recorded = w->noted;
    exit->stub = make_stub(w, number, HP_GATE_EXIT);
    hp_emit_u32(&w->e, hp_emit_rel(w->e.at + 4, (uint64_t)(uintptr_t)exit->stub));
}

void hp_exit_jump(struct work *w, uint64_t target, bool taken)
{
    hp_emit_align_patch(&w->e, 1);
    hp_emit_byte(&w->e, 0xe9);
    emit_exit(w, target, taken);
}

/* Whether the way that is recorded here need not be counted. Of the two ways of a conditional jump
 * it is the one that is: its counter is in its way, that of the other one would be in a stub. */
static bool is_derived(struct work *w, uint64_t target, bool taken)
{
    bool is_alone = w->insn.kind != HP_X86_COND && w->insn.kind != HP_X86_COUNTED;
    if (hp_engine.mode != HP_RECORD_COUNT)
        return false;
    if (w->again)
        return hp_pieces[hp_segs[w->segment].first_piece + w->pieces].end_derived;
    uint64_t start = hp_run_start(&hp_segs[w->segment], w->pieces);
    w->piece->end_derived = is_alone ? hp_arena_derive(hp_engine.arena, w->id, taken, start, target)
                                     : hp_arena_count(hp_engine.arena, w->id, taken);
    return w->piece->end_derived;
}

/* Records the end of the run, unless that is done: one way is left. */
static void record_last(struct work *w, uint64_t target, bool taken)
{
    if (w->noted || !records_inline(w))
        return;
    if (!is_derived(w, target, taken)) {
        hp_exit_learn(w, target, target);
        hp_emit_ran(&w->e, w->id, taken, w->end.dead, w->end.flags_dead);
    }
    w->noted = true;
}

void hp_exit_last(struct work *w, uint64_t target, bool taken)
{
    record_last(w, target, taken);
    hp_exit_jump(w, target, taken);
}

void hp_exit_break(struct work *w, uint64_t next)
{
    record_last(w, next, false);
    w->id = 0;
}

/* Leaves when the condition holds (`taken`) or does not. */
void hp_exit_cond(struct work *w, uint64_t target, bool taken)
{
    hp_emit_align_patch(&w->e, 2);
    hp_emit_byte(&w->e, 0x0f);
    hp_emit_byte(&w->e, 0x80u | (w->insn.condition ^ (taken ? 0u : 1u)));
    emit_exit(w, target, taken);
}

/* LOOP and its kind have short displacements only. */
void hp_exit_counted(struct work *w, uint64_t target)
{
    unsigned n = w->insn.length;
    hp_emit_align_patch(&w->e, n + 3);
    hp_emit_bytes(&w->e, w->bytes, n - 1);
    hp_emit_byte(&w->e, 2);
    hp_emit_byte(&w->e, 0xeb);
    hp_emit_byte(&w->e, 5);
    hp_emit_byte(&w->e, 0xe9);
    emit_exit(w, target, true);
}

static void add_constant(struct work *w, uint64_t value)
{
    if (!w->again)
        w->constants[w->n_constants++] =
            (struct constant){.disp = w->e.out, .behind = w->e.at + 4, .value = value};
    hp_emit_u32(&w->e, 0);
}

/* push imm32, or push qword [rip + constant]: the program's return address. */
void hp_exit_push_return(struct work *w)
{
    uint64_t behind = w->pc + w->insn.length;
    if (behind >> 31 == 0) {
        hp_emit_byte(&w->e, 0x68);
        hp_emit_u32(&w->e, (uint32_t)behind);
        return;
    }
    hp_emit_byte(&w->e, 0xff);
    hp_emit_byte(&w->e, 0x35);
    add_constant(w, behind);
}

/* rcx := operand of an indirect jump or call. */
void hp_exit_load_target(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    uint8_t modrm = w->bytes[insn->modrm_at];
    if (insn->segment == HP_X86_SEG_GS && insn->has_memory) {  /* the program's GS */
        static const uint8_t add[] = {0x48, 0x8d, 0x0c, 0x01}; /* lea rcx, [rcx + rax] */
        static const uint8_t load[] = {0x48, 0x8b, 0x09};      /* mov rcx, [rcx] */
        hp_emit_address(w, HP_X86_RCX);
        hp_emit_save(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
        hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_GS_BASE);
        hp_emit_bytes(&w->e, add, sizeof add);
        hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
        hp_emit_bytes(&w->e, load, sizeof load);
        return;
    }
    if (insn->rip_relative) {
        uint64_t operand = hp_x86_operand(insn, w->pc);
        if (!hp_emit_reaches(w->e.at, operand) || insn->segment != HP_X86_SEG_NONE) {
            hp_emit_load_value(&w->e, HP_X86_RCX, operand);
            if (insn->segment == HP_X86_SEG_FS)
                hp_emit_byte(&w->e, 0x64);
            static const uint8_t load[] = {0x48, 0x8b, 0x09}; /* mov rcx, [rcx] */
            hp_emit_bytes(&w->e, load, 3);
            return;
        }
        static const uint8_t load[] = {0x48, 0x8b, 0x0d};
        hp_emit_bytes(&w->e, load, 3);
        hp_emit_u32(&w->e, hp_emit_rel(w->e.at + 4, operand));
        return;
    }
    if (insn->segment == HP_X86_SEG_FS)
        hp_emit_byte(&w->e, 0x64);
    if (insn->addr32)
        hp_emit_byte(&w->e, 0x67);
    hp_emit_byte(&w->e, 0x48u | (insn->rex & 3u));
    hp_emit_byte(&w->e, 0x8b);
    hp_emit_byte(&w->e, (modrm & 0xc7u) | HP_X86_RCX << 3);
    hp_emit_bytes(&w->e, w->bytes + insn->modrm_at + 1, insn->length - insn->modrm_at - 1u);
}

uint32_t hp_exit_set(struct work *w)
{
    uint32_t number = w->again ? 0 : new_exit(w, 0);
    if (number)
        hp_exits[number].indirect = w->insn.kind;
    hp_emit_set(&w->e, HP_AT_EXIT, number);
    return number;
}

void hp_exit_to_gate(struct work *w, int gate)
{
    hp_emit_jump(&w->e, w->again ? w->e.at : (uint64_t)(uintptr_t)hp_cache_gate(w->area, gate));
}

/* Goes where HP_AT_TARGET says through the gate, so that what is left is known there. */
static void emit_miss(struct work *w)
{
    hp_exit_set(w);
    hp_exit_to_gate(w, HP_GATE_MISS);
}

/*
 * Goes where HP_AT_TARGET says, with rcx saved: the table leads to the landing. `in_rcx`: the
 * target is still there.
 */
void hp_exit_lookup(struct work *w, bool in_rcx)
{
    if (hp_segs[w->segment].kind == HP_SEG_TWIN ||
        (hp_segs[w->segment].kind == HP_SEG_NODE && w->insn.kind == HP_X86_RET)) {
        emit_miss(w);
        return;
    }
    static const uint8_t low_rcx[] = {0x0f, 0xb7, 0xc9};         /* movzx ecx, cx */
    static const uint8_t low[] = {0x65, 0x0f, 0xb7, 0x0c, 0x25}; /* movzx ecx, word gs:[target] */
    static const uint8_t load[] = {0x65, 0x8b, 0x0c, 0x25};      /* mov ecx, gs:[target] */
    static const uint8_t pext[] = {0x65, 0xc4, 0xe2, 0x72,
                                   0xf5, 0x0c, 0x25}; /* pext ecx, ecx, gs:[] */
    static const uint8_t jump[] = {0xff, 0x24, 0xcd}; /* jmp [rcx * 8 + table] */
    if (hp_landings_have_pext) {
        if (!in_rcx) {
            hp_emit_bytes(&w->e, load, sizeof load);
            hp_emit_u32(&w->e, HP_AT_TARGET);
        }
        hp_emit_bytes(&w->e, pext, sizeof pext);
        hp_emit_u32(&w->e, HP_AT_MASK);
    } else if (in_rcx) {
        hp_emit_bytes(&w->e, low_rcx, sizeof low_rcx);
    } else {
        hp_emit_bytes(&w->e, low, sizeof low);
        hp_emit_u32(&w->e, HP_AT_TARGET);
    }
    hp_emit_bytes(&w->e, jump, sizeof jump);
    hp_emit_u32(&w->e, hp_landings_at);
}

/* Whether the target, once loaded into rcx, is still there at the look-up. */
static bool keeps_target(void)
{
    return hp_engine.mode == HP_RECORD_NONE || hp_engine.mode == HP_RECORD_COUNT;
}

void hp_exit_indirect(struct work *w)
{
    bool is_call = w->insn.kind == HP_X86_CALL_IND;
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    emit_left_early(w);
    hp_exit_load_target(w);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    if (is_call)
        hp_exit_push_return(w);
    emit_ran_indirect(w);
    if (hp_slot_waits(w)) {
        hp_exit_set(w);
        hp_exit_to_gate(w, HP_GATE_SLOT);
        return;
    }
    hp_exit_lookup(w, keeps_target());
}

void hp_exit_drop(struct work *w)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0xa4, 0x24}; /* lea rsp, [rsp + imm] */
    if (!w->insn.imm_at)
        return;
    hp_emit_bytes(&w->e, lea, sizeof lea);
    hp_emit_u32(&w->e, (uint32_t)w->insn.imm & 0xffff);
}

void hp_exit_return(struct work *w)
{
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    emit_left_early(w);
    hp_emit_byte(&w->e, 0x59); /* pop rcx */
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    hp_exit_drop(w);
    emit_ran_indirect(w);
    hp_exit_lookup(w, keeps_target());
}

/* Whether an instruction can contain the address, and its negative. */
static bool is_near(uint64_t address)
{
    return address >> 31 == 0;
}

/* lea rcx, [rcx + value] */
static void emit_add_near(struct work *w, uint32_t value)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x89};
    hp_emit_bytes(&w->e, lea, sizeof lea);
    hp_emit_u32(&w->e, value);
}

/* lea rcx, [rcx + reg] */
static void emit_add_reg(struct work *w, unsigned reg)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x0c};
    hp_emit_bytes(&w->e, lea, sizeof lea);
    hp_emit_byte(&w->e, reg << 3 | HP_X86_RCX);
}

/* rcx := rcx + value, using rax. */
static void emit_add_value(struct work *w, uint64_t value)
{
    if (is_near(value)) {
        emit_add_near(w, (uint32_t)value);
        return;
    }
    hp_emit_save(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    hp_emit_load_value(&w->e, HP_X86_RAX, value);
    emit_add_reg(w, HP_X86_RAX);
    hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
}

/* A transfer that went elsewhere; rcx is the distance from the expected address. `saved`: a
 * register whose value is in HP_AT_SCRATCH1, or NOT_SAVED. */
static uint64_t make_miss(struct work *w, uint64_t expected, uint8_t saved)
{
    struct hp_emit before = w->e;
    uint8_t *place = hp_cache_cold(w->area, MISS_SIZE);
    w->e = hp_area_emit(w->area, place);
    if (saved != NOT_SAVED)
        hp_emit_restore(&w->e, saved, HP_AT_SCRATCH1);
    emit_add_value(w, expected);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    if (hp_engine.mode == HP_RECORD_COUNT)
        emit_left(w);
    else
        emit_ran_indirect(w);
    hp_exit_lookup(w, hp_engine.mode == HP_RECORD_NONE);
    w->e = before;
    return (uint64_t)(uintptr_t)place;
}

/* rcx := where the transfer goes. */
static void emit_load_any(struct work *w)
{
    if (w->insn.kind == HP_X86_RET) {
        hp_emit_byte(&w->e, 0x59); /* pop rcx */
        return;
    }
    hp_exit_load_target(w);
    if (w->insn.kind == HP_X86_CALL_IND)
        hp_exit_push_return(w);
}

/* rcx := rcx - expected + more. Returns the register that was used for it and is not restored, as
 * it is overwritten next; NOT_SAVED: none. */
static uint8_t emit_distance(struct work *w, uint64_t expected, int more)
{
    expected -= (uint64_t)more;
    if (is_near(expected)) {
        emit_add_near(w, (uint32_t)-expected);
        return NOT_SAVED;
    }
    uint16_t usable = w->end.dead & 0xcd; /* the first eight except rcx, rsp, rbp */
    unsigned reg = usable ? (unsigned)__builtin_ctz(usable) : HP_X86_RAX;
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    hp_emit_byte(&w->e, 0x48); /* mov reg, [rip + constant] */
    hp_emit_byte(&w->e, 0x8b);
    hp_emit_byte(&w->e, reg << 3 | 5);
    add_constant(w, -expected);
    emit_add_reg(w, reg);
    if (usable)
        return (uint8_t)reg;
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
    return NOT_SAVED;
}

/* rcx := target - expected + more, with w->end known; returns as emit_distance(). */
static uint8_t emit_compare(struct work *w, uint64_t expected, int more)
{
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    emit_load_any(w);
    return emit_distance(w, expected, more);
}

void hp_exit_check(struct work *w, uint64_t expected)
{
    uint8_t saved = emit_compare(w, expected, 0);
    hp_emit_byte(&w->e, 0xe3); /* jrcxz */
    hp_emit_byte(&w->e, 5);
    hp_emit_jump(&w->e, w->again ? w->e.at : make_miss(w, expected, saved));
}

/* Finds out what may be used where the transfer is expected to go. */
static void learn_expected(struct work *w, uint64_t expected)
{
    if (is_near(expected)) /* nothing but rcx is needed */
        w->end = (struct hp_head){0};
    else
        hp_exit_learn(w, expected, expected);
}

/*
 * An indirect transfer after which the segment continues at `expected`: compares the address with
 * the real one, without flags.
 *
 *      rcx := target; rcx := rcx - expected; jrcxz behind; jmp elsewhere
 */
void hp_exit_expected(struct work *w, uint64_t expected)
{
    learn_expected(w, expected);
    hp_exit_check(w, expected);
    if (!(w->end.dead & 1 << HP_X86_RCX))
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
}

/*
 * The segment is left: the same, but what is usual comes first.
 *
 *      rcx := target; rcx := rcx - expected + HP_CHECKED; check; jmp expected
 *   other:
 *      jmp elsewhere
 */
void hp_exit_expected_last(struct work *w, uint64_t expected)
{
    if (w->piece)
        w->piece->expects = expected;
    learn_expected(w, expected);
    uint8_t saved = emit_compare(w, expected, HP_CHECKED);
    hp_emit_check(&w->e, w->e.at);
    uint8_t *check = w->e.out;
    if (!(w->end.dead & 1 << HP_X86_RCX))
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
    record_last(w, expected, true);
    hp_exit_jump(w, expected, true);
    check[-1] = (uint8_t)(w->e.out - check);
    hp_emit_jump(&w->e, w->again ? w->e.at : make_miss(w, expected, saved));
}

void hp_exit_gate(struct work *w, int gate, uint64_t target)
{
    if (w->again) {
        hp_emit_set(&w->e, HP_AT_EXIT, 0);
        hp_emit_jump(&w->e, w->e.at);
        return;
    }
    uint32_t number = new_exit(w, target);
    hp_emit_set(&w->e, HP_AT_EXIT, number);
    hp_emit_jump(&w->e, (uint64_t)(uintptr_t)hp_cache_gate(w->area, gate));
}
