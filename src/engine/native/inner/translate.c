// SPDX-License-Identifier: MIT
/*
 * From program code to translated code. Instructions are copied; what depends on where they are, or
 * passes control on, is rewritten. No register is taken from the program and the flags are left
 * alone: where the engine needs a register it keeps the program's value in the thread's block.
 *
 * A translation is a pure function of the source and the place it is put. So an address in it is
 * explained, when a signal asks for that, by translating again and watching (hp_locate).
 */
#include "engine/native/inner/landings.h"
#include "engine/native/inner/translate_impl.h"
#include "hotpath/code.h"
#include "hotpath/stream.h"

#include <string.h>

#define SHORT_PIECES 4     /* blocks of a short segment */
#define SHORT_INSNS  40    /* and its instructions, beyond which it does not go on */
#define INSNS_MAX    256   /* the same of a long one */
#define UNROLL_MAX   64    /* instructions in a segment to which a loop may add another round */
#define CODE_MAX     49152 /* bytes of a segment: a block of HP_BLOCK_MAX_INSNS, split if longer */
#define SMALL_MAX    3072  /* bytes of stubs of a segment */
#define MISS_SIZE    128   /* bytes for a return that went elsewhere */
#define CODE_RESERVE 320   /* what an instruction may need, with all that goes with it */

/* --- What the head does ------------------------------------------------------------------------ */

static void learn_head(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    if (!w->flags_known && (insn->reads_flags || insn->writes_flags)) {
        w->flags_known = true;
        w->flags_dead = !insn->reads_flags;
    }
    w->head_reads |= insn->reads;
    if (insn->kind != HP_X86_PLAIN || insn->has_memory || insn->is_string ||
        insn->reads == 0xffff || insn->reads & 1 << HP_X86_RSP)
        w->may_fault = true;
    if (!w->may_fault)
        w->dead |= insn->writes & (uint16_t)~w->head_reads;
}

/* --- Rewritten operands ------------------------------------------------------------------------ */

/* A register of the first eight that the instruction does not touch, for an address. */
static unsigned free_register(const struct work *w, unsigned but)
{
    static const uint8_t candidates[] = {HP_X86_RBX, HP_X86_RSI, HP_X86_RDI,
                                         HP_X86_RDX, HP_X86_RCX, HP_X86_RAX};
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (!(w->insn.uses >> candidates[i] & 1) && candidates[i] != but)
            return candidates[i];
    /* Not known in detail: a vector instruction, whose general registers are in ModRM if anywhere. */
    unsigned reg = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] >> 3 & 7 : 0;
    unsigned rm = w->insn.modrm_at ? w->bytes[w->insn.modrm_at] & 7 : 0;
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (candidates[i] != reg && candidates[i] != rm && candidates[i] != but)
            return candidates[i];
    return HP_X86_RBX;
}

static bool is_vex(const struct work *w)
{
    uint8_t first = w->bytes[w->insn.opcode_at];
    return first == 0xc4 || first == 0xc5 || first == 0x62 || first == 0x8f;
}

/* The bits that extend index and base, wherever the encoding keeps them: as in REX. */
static unsigned extension(const struct work *w)
{
    const uint8_t *opcode = w->bytes + w->insn.opcode_at;
    if (!is_vex(w))
        return w->insn.rex & 3;
    return opcode[0] == 0xc5 || (opcode[0] == 0x8f && (opcode[1] & 0x1f) < 8)
               ? 0
               : (~opcode[1] >> 5) & 3;
}

/* lea reg, [the memory operand], without its segment. */
static void emit_address(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    if (insn->rip_relative) {
        hp_emit_load_value(&w->e, reg, hp_x86_operand(insn, w->pc));
        return;
    }
    unsigned from = insn->modrm_at;
    unsigned end = insn->disp_at ? (unsigned)(insn->disp_at + insn->disp_size) : from + 1;
    bool has_sib = (w->bytes[from] & 7) == 4;
    if (!insn->disp_at && has_sib)
        end = from + 2;
    if (insn->addr32)
        hp_emit_byte(&w->e, 0x67);
    hp_emit_byte(&w->e, 0x48 | (reg >> 3) << 2 | extension(w));
    hp_emit_byte(&w->e, 0x8d);
    hp_emit_byte(&w->e, (w->bytes[from] & 0xc7u) | (reg & 7) << 3);
    hp_emit_bytes(&w->e, w->bytes + from + 1, end - from - 1);
}

/* The instruction with [reg] for its memory operand, and no segment. */
static void emit_with_base(struct work *w, unsigned reg)
{
    const struct hp_x86 *insn = &w->insn;
    unsigned rest =
        insn->disp_at ? (unsigned)(insn->disp_at + insn->disp_size) : insn->modrm_at + 1u;
    if (!insn->disp_at && (w->bytes[insn->modrm_at] & 7) == 4)
        rest++; /* SIB */
    bool vex = is_vex(w);
    for (unsigned i = 0; i < insn->modrm_at; i++) {
        uint8_t byte = w->bytes[i];
        if (i < insn->opcode_at && (byte == 0x65 || byte == 0x64 || byte == 0x67))
            continue;
        if (insn->rex && i + 1u == insn->opcode_at)
            byte = (uint8_t)(byte & ~3u);
        if (vex && i == insn->opcode_at + 1u && w->bytes[insn->opcode_at] != 0xc5)
            byte |= 0x60;
        hp_emit_byte(&w->e, byte);
    }
    hp_emit_byte(&w->e, (w->bytes[insn->modrm_at] & 0x38u) | reg);
    hp_emit_bytes(&w->e, w->bytes + rest, insn->length - rest);
}

/* A RIP-relative operand that is out of reach, or one relative to the program's GS. */
static void emit_far_operand(struct work *w)
{
    unsigned reg = free_register(w, HP_X86_RSP);
    hp_emit_save(&w->e, reg, HP_AT_SCRATCH1);
    mark(w, false, false, (uint8_t)reg, NOT_SAVED);
    emit_address(w, reg);
    if (w->insn.segment == HP_X86_SEG_GS) {
        unsigned other = free_register(w, reg);
        hp_emit_save(&w->e, other, HP_AT_SCRATCH2);
        hp_emit_restore(&w->e, other, HP_AT_GS_BASE);
        hp_emit_byte(&w->e, 0x48); /* lea reg, [reg + other] */
        hp_emit_byte(&w->e, 0x8d);
        hp_emit_byte(&w->e, 0x04 | reg << 3);
        hp_emit_byte(&w->e, other << 3 | reg);
        hp_emit_restore(&w->e, other, HP_AT_SCRATCH2);
    }
    emit_with_base(w, reg);
    hp_emit_restore(&w->e, reg, HP_AT_SCRATCH1);
}

/* LEA of an address out of reach: just the number. */
static bool emit_far_lea(struct work *w)
{
    unsigned reg = (w->bytes[w->insn.modrm_at] >> 3 & 7u) | (w->insn.rex & 4u) << 1;
    if (!w->insn.wide)
        return false;
    hp_emit_load_value(&w->e, reg, hp_x86_operand(&w->insn, w->pc));
    return true;
}

static void emit_copy(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    if (insn->segment == HP_X86_SEG_GS && (insn->has_memory || insn->is_string)) {
        emit_far_operand(w);
        return;
    }
    if (!insn->rip_relative) {
        hp_emit_bytes(&w->e, w->bytes, insn->length);
        return;
    }
    uint64_t operand = hp_x86_operand(insn, w->pc), behind = w->e.at + insn->length;
    if (!hp_emit_reaches(behind, operand) || insn->addr32) {
        if (!insn->is_lea || !emit_far_lea(w))
            emit_far_operand(w);
        return;
    }
    uint8_t *disp = w->e.out + insn->disp_at;
    hp_emit_bytes(&w->e, w->bytes, insn->length);
    uint32_t value = hp_emit_rel(behind, operand);
    memcpy(disp, &value, 4);
}

/* --- Recording --------------------------------------------------------------------------------- */

/* In the middle of a rewritten transfer, rcx being saved: the run up to here is over. */
static void emit_ran_indirect(struct work *w)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_NEXT);
    hp_emit_store_value(&w->e, HP_X86_RCX, 0, w->id);
    if (hp_engine.mode == HP_RECORD_COUNT)
        return; /* the landing writes the other half and moves on */
    hp_emit_add(&w->e, HP_X86_RCX, 4);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_NEXT);
}

/* --- Exits ------------------------------------------------------------------------------------- */

static uint8_t *make_stub(struct work *w, uint32_t exit, int gate)
{
    w->area->small -= 17;
    struct hp_emit e = {w->area->small, (uint64_t)(uintptr_t)w->area->small};
    hp_emit_set(&e, HP_AT_EXIT, exit);
    hp_emit_jump(&e, (uint64_t)(uintptr_t)hp_cache_gate(w->area, gate));
    return w->area->small;
}

/* The displacement of an exit goes here. */
static void emit_exit(struct work *w, uint64_t target, bool taken)
{
    if (w->again) {
        hp_emit_u32(&w->e, 0);
        return;
    }
    uint32_t number = hp_cache_new_exit();
    struct hp_exit *exit = &hp_exits[number];
    *exit = (struct hp_exit){
        .target = target, .patch = w->e.out, .segment = w->segment, .id = w->id, .taken = taken};
    exit->stub = make_stub(w, number, HP_GATE_EXIT);
    hp_segs[w->segment].n_exits++;
    hp_emit_u32(&w->e, hp_emit_rel(w->e.at + 4, (uint64_t)(uintptr_t)exit->stub));
}

static void emit_jump_exit(struct work *w, uint64_t target, bool taken)
{
    hp_emit_align_patch(&w->e, 1);
    hp_emit_byte(&w->e, 0xe9);
    emit_exit(w, target, taken);
}

/* Leaves when the condition holds (`taken`) or when it does not. */
static void emit_cond_exit(struct work *w, uint64_t target, bool taken)
{
    hp_emit_align_patch(&w->e, 2);
    hp_emit_byte(&w->e, 0x0f);
    hp_emit_byte(&w->e, 0x80u | (w->insn.condition ^ (taken ? 0u : 1u)));
    emit_exit(w, target, taken);
}

/* LOOP and its like have short displacements only. */
static void emit_counted_exit(struct work *w, uint64_t target)
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

/* push qword [rip + constant]: the program's return address. */
static void emit_push_return(struct work *w)
{
    hp_emit_byte(&w->e, 0xff);
    hp_emit_byte(&w->e, 0x35);
    add_constant(w, w->pc + w->insn.length);
}

/* rcx := operand of an indirect jump or call. */
static void emit_load_target(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    uint8_t modrm = w->bytes[insn->modrm_at];
    if (insn->segment == HP_X86_SEG_GS && insn->has_memory) {  /* the program's GS */
        static const uint8_t add[] = {0x48, 0x8d, 0x0c, 0x01}; /* lea rcx, [rcx + rax] */
        static const uint8_t load[] = {0x48, 0x8b, 0x09};      /* mov rcx, [rcx] */
        emit_address(w, HP_X86_RCX);
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

/*
 * Where HP_AT_TARGET says, rcx being saved: the table has the landing. The target is still in rcx
 * when nothing is recorded.
 */
static void emit_lookup(struct work *w)
{
    static const uint8_t low_rcx[] = {0x0f, 0xb7, 0xc9};         /* movzx ecx, cx */
    static const uint8_t low[] = {0x65, 0x0f, 0xb7, 0x0c, 0x25}; /* movzx ecx, word gs:[target] */
    static const uint8_t load[] = {0x65, 0x8b, 0x0c, 0x25};      /* mov ecx, gs:[target] */
    static const uint8_t pext[] = {0x65, 0xc4, 0xe2, 0x72,
                                   0xf5, 0x0c, 0x25}; /* pext ecx, ecx, gs:[] */
    static const uint8_t jump[] = {0xff, 0x24, 0xcd}; /* jmp [rcx * 8 + table] */
    bool in_rcx = hp_engine.mode == HP_RECORD_NONE;
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

static void emit_indirect(struct work *w)
{
    bool is_call = w->insn.kind == HP_X86_CALL_IND;
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    emit_load_target(w);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    if (is_call)
        emit_push_return(w);
    emit_ran_indirect(w);
    emit_lookup(w);
}

static void emit_return(struct work *w)
{
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    hp_emit_byte(&w->e, 0x59); /* pop rcx */
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    if (w->insn.imm_at) { /* lea rsp, [rsp + imm] */
        static const uint8_t lea[] = {0x48, 0x8d, 0xa4, 0x24};
        hp_emit_bytes(&w->e, lea, sizeof lea);
        hp_emit_u32(&w->e, (uint32_t)w->insn.imm & 0xffff);
    }
    emit_ran_indirect(w);
    emit_lookup(w);
}

/* rcx := rcx + value, by way of rax. */
static void emit_add_value(struct work *w, uint64_t value)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x0c, 0x01}; /* lea rcx, [rcx + rax] */
    hp_emit_save(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    hp_emit_load_value(&w->e, HP_X86_RAX, value);
    hp_emit_bytes(&w->e, lea, sizeof lea);
    hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
}

/* The return did not go where it was expected to; rcx is how far from there. */
static uint64_t make_miss(struct work *w, uint64_t expected)
{
    struct hp_emit saved = w->e;
    w->area->small -= MISS_SIZE;
    w->e = (struct hp_emit){w->area->small, (uint64_t)(uintptr_t)w->area->small};
    emit_add_value(w, expected);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    emit_ran_indirect(w);
    emit_lookup(w);
    w->e = saved;
    return (uint64_t)(uintptr_t)w->area->small;
}

/*
 * A return of a call in the same segment: compares the address with the expected one, without
 * flags, and goes on.
 *      pop rcx; mov rax, -expected; lea rcx, [rcx + rax]; jrcxz behind; jmp elsewhere
 */
static void emit_expected_return(struct work *w, uint64_t expected)
{
    static const uint8_t load[] = {0x48, 0x8b, 0x05};      /* mov rax, [rip + constant] */
    static const uint8_t lea[] = {0x48, 0x8d, 0x0c, 0x01}; /* lea rcx, [rcx + rax] */
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    hp_emit_save(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    mark(w, false, true, HP_X86_RAX, NOT_SAVED);
    hp_emit_byte(&w->e, 0x59); /* pop rcx */
    hp_emit_bytes(&w->e, load, sizeof load);
    add_constant(w, -expected);
    hp_emit_bytes(&w->e, lea, sizeof lea);
    hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    hp_emit_byte(&w->e, 0xe3); /* jrcxz */
    hp_emit_byte(&w->e, 5);
    hp_emit_jump(&w->e, w->again ? w->e.at : make_miss(w, expected));
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
}

/* Into C, for good. */
static void emit_gate(struct work *w, int gate, uint64_t target)
{
    if (w->again) {
        hp_emit_set(&w->e, HP_AT_EXIT, 0);
        hp_emit_jump(&w->e, w->e.at);
        return;
    }
    uint32_t number = hp_cache_new_exit();
    hp_exits[number] = (struct hp_exit){.target = target,
                                        .segment = w->segment,
                                        .id = w->id,
                                        .is_syscall = gate == HP_GATE_SYSCALL};
    hp_segs[w->segment].n_exits++;
    hp_emit_set(&w->e, HP_AT_EXIT, number);
    hp_emit_jump(&w->e, (uint64_t)(uintptr_t)hp_cache_gate(w->area, gate));
}

/* --- GS ---------------------------------------------------------------------------------------- */

static void emit_gs_base(struct work *w)
{
    unsigned reg = w->insn.reg;
    if (w->insn.kind == HP_X86_WRGSBASE && w->insn.wide) {
        hp_emit_save(&w->e, reg, HP_AT_GS_BASE);
        return;
    }
    hp_emit_byte(&w->e, 0x65);
    if (w->insn.kind == HP_X86_RDGSBASE) {
        unsigned rex = (w->insn.wide ? 0x48u : 0x40u) | (reg >> 3) << 2;
        hp_emit_byte(&w->e, rex);
        hp_emit_byte(&w->e, 0x8b);
        hp_emit_gs_operand(&w->e, reg, HP_AT_GS_BASE);
        return;
    }
    hp_emit_byte(&w->e, 0x40u | (reg >> 3) << 2); /* 32 bits of it; the rest is 0 */
    hp_emit_byte(&w->e, 0x89);
    hp_emit_gs_operand(&w->e, reg, HP_AT_GS_BASE);
    hp_emit_set(&w->e, HP_AT_GS_BASE + 4, 0);
}

/* A selector in GS: the program can only have 0 there, whose base is 0. */
static void emit_gs_selector(struct work *w)
{
    static const uint8_t pop[] = {0x48, 0x8d, 0x64, 0x24, 0x08}; /* lea rsp, [rsp + 8] */
    hp_emit_set(&w->e, HP_AT_GS_BASE, 0);
    hp_emit_set(&w->e, HP_AT_GS_BASE + 4, 0);
    if (w->insn.kind == HP_X86_POP_GS)
        hp_emit_bytes(&w->e, pop, sizeof pop);
}

/* --- Blocks ------------------------------------------------------------------------------------ */

bool hp_work_is_foreign(const struct hp_x86 *insn)
{
    bool gs = insn->segment == HP_X86_SEG_GS;
    return insn->kind == HP_X86_INVALID || insn->kind == HP_X86_FAR || (gs && insn->is_string) ||
           (gs && insn->has_memory && !insn->modrm_at);
}

void hp_work_decode(struct work *w, uint64_t pc, const uint8_t *bytes, struct hp_x86 *insn)
{
    uint64_t rest = w->high - pc;
    if (!w->again && pc + 15 > w->unguarded) {
        uint64_t end = (pc + (rest < 15 ? rest : 15) + 4095) & ~(uint64_t)4095;
        hp_guards_set(w->unguarded, end);
        w->unguarded = end < w->high ? end : UINT64_MAX;
    }
    hp_x86_decode(bytes, rest < 15 ? (unsigned)rest : 15, insn);
}

/* Instructions up to one that ends the block, which is left in w->insn and not emitted. False when
 * no more could be read, or there is no more room. */
static bool emit_straight(struct work *w)
{
    bool in_memory_mode = hp_engine.mode == HP_RECORD_MEMORY;
    unsigned insns_max = in_memory_mode ? MEMORY_INSNS : HP_BLOCK_MAX_INSNS;
    for (;;) {
        if (w->pc >= w->high || w->e.at + CODE_RESERVE > w->limit)
            return false;
        hp_work_decode(w, w->pc, w->bytes, &w->insn);
        if (hp_work_is_foreign(&w->insn))
            return false;
        if (w->head)
            learn_head(w);
        if (in_memory_mode)
            hp_memory_insn(w);
        else
            mark_clean(w);
        switch (w->insn.kind) {
        case HP_X86_PLAIN: emit_copy(w); break;
        case HP_X86_RDGSBASE:
        case HP_X86_WRGSBASE: emit_gs_base(w); break;
        case HP_X86_MOV_GS:
        case HP_X86_POP_GS: emit_gs_selector(w); break;
        default: return true;
        }
        w->pc += w->insn.length;
        w->bytes += w->insn.length;
        w->insns++;
        if (w->insns == insns_max)
            return false;
    }
}

/* The piece is complete: gives it its id in the stream. False when the code map is full. */
static bool describe_piece(struct work *w, uint64_t end)
{
    if (w->again) {
        w->id = hp_pieces[hp_segs[w->segment].first_piece + w->pieces].id;
        return true;
    }
    struct hp_piece *piece = w->piece;
    piece->size = (uint32_t)(end - piece->start);
    piece->insns = (uint16_t)w->insns;
    struct hp_arena_segment segment = {
        .start = piece->start, .module = w->module, .size = piece->size, .parent = w->id};
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)piece->start;
    piece->id = w->id = hp_arena_add_segment(hp_engine.arena, &segment, bytes);
    return w->id != 0;
}

/* The source of the next piece is at `pc`. False when there is no code. */
static bool begin_piece(struct work *w, uint64_t pc)
{
    w->pc = pc;
    w->insns = 0;
    hp_memory_begin(w);
    if (w->again) {
        const struct hp_piece *piece = &hp_pieces[hp_segs[w->segment].first_piece + w->pieces];
        uint32_t position = hp_arena_segment_index(hp_engine.arena)[piece->id];
        const struct hp_arena_segment *stored = hp_arena_store(hp_engine.arena, position);
        w->bytes = (const uint8_t *)(stored + 1);
        w->high = piece->start + piece->size;
        return true;
    }
    struct hp_place place;
    uint8_t first;
    if (!hp_maps_find(w->self, pc, &place) || !place.executable ||
        !hp_copy(&first, (const void *)pc, 1)) /* a file may be shorter than its mapping */
        return false;
    uint32_t number = hp_cache_new_piece();
    w->piece = &hp_pieces[number];
    *w->piece = (struct hp_piece){.start = pc, .segment = w->segment};
    if (w->pieces == 0)
        hp_segs[w->segment].first_piece = number;
    w->bytes = (const uint8_t *)(uintptr_t)pc;
    w->high = place.high;
    w->module = place.module;
    w->unguarded = UINT64_MAX;
    if (place.writable) { /* within two pages, by which it can be found: see note_pages() */
        w->unguarded = pc & ~(uint64_t)4095;
        if (w->high > w->unguarded + 8192)
            w->high = w->unguarded + 8192;
    }
    return true;
}

/* Where a segment costs nothing but its translation, it is short and nothing is translated twice. */
static bool may_be_short(const struct work *w, uint64_t next)
{
    return w->pieces + 1 < SHORT_PIECES && w->total <= SHORT_INSNS && !hp_cache_find(next) &&
           !(w->insn.kind == HP_X86_COND && w->insn.imm < 0) && next != hp_segs[w->segment].start;
}

/* Where it costs a word or a counter when it is left, it is long: goes on into known code, and round loops. */
static bool may_be_long(const struct work *w, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (w->pieces + 1 == HP_PIECES_MAX || w->total > INSNS_MAX)
        return false;
    for (unsigned i = 0; i <= w->pieces; i++)
        if (hp_pieces[seg->first_piece + i].start == next && w->total > UNROLL_MAX)
            return false;
    return true;
}

/* Whether the segment should go on with the code at `next`, which follows from `w->insn`. */
static bool goes_on(const struct work *w, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (w->again)
        return w->pieces + 1 < seg->n_pieces;
    if (!hp_emit_reaches((uint64_t)(uintptr_t)w->area->low, next) ||
        !(hp_engine.mode == HP_RECORD_NONE ? may_be_short(w, next) : may_be_long(w, next)))
        return false;
    struct hp_place place;
    if (!hp_maps_find(w->self, next, &place) || !place.executable ||
        (place.writable && next >> 12 != seg->start >> 12))
        return false;
    struct hp_x86 insn;
    uint64_t rest = place.high - next;
    hp_x86_decode((const uint8_t *)(uintptr_t)next, rest < 15 ? (unsigned)rest : 15, &insn);
    return !hp_work_is_foreign(&insn);
}

/* A conditional jump: backwards it is expected to be taken (a loop, which is unrolled), else not. */
static bool emit_cond(struct work *w, uint64_t target, uint64_t behind, uint64_t *next)
{
    bool back = w->insn.imm < 0;
    *next = back ? target : behind;
    bool more = goes_on(w, *next);
    if (more && back) {
        emit_cond_exit(w, behind, false);
    } else {
        emit_cond_exit(w, target, true);
        if (!more)
            emit_jump_exit(w, behind, false);
    }
    return more;
}

/* Emits the transfer that ends a piece; true when the segment goes on at `*next`. */
static bool emit_end(struct work *w, uint64_t *next)
{
    const struct hp_x86 *insn = &w->insn;
    uint64_t behind = w->pc + insn->length, target = hp_x86_target(insn, w->pc);
    bool more = false;
    switch (insn->kind) {
    case HP_X86_JUMP:
        *next = target;
        more = goes_on(w, target);
        if (!more)
            emit_jump_exit(w, target, true);
        break;
    case HP_X86_CALL:
        *next = target;
        more = goes_on(w, target);
        emit_push_return(w);
        if (more)
            w->returns[w->n_returns++] = behind;
        else
            emit_jump_exit(w, target, true);
        break;
    case HP_X86_COND: more = emit_cond(w, target, behind, next); break;
    case HP_X86_COUNTED:
        *next = behind;
        more = goes_on(w, behind);
        emit_counted_exit(w, target);
        if (!more)
            emit_jump_exit(w, behind, false);
        break;
    case HP_X86_JUMP_IND:
    case HP_X86_CALL_IND: emit_indirect(w); break;
    case HP_X86_RET:
        if (w->n_returns && !insn->imm_at) {
            *next = w->returns[--w->n_returns];
            more = goes_on(w, *next);
        }
        if (more)
            emit_expected_return(w, *next);
        else
            emit_return(w);
        break;
    case HP_X86_SYSCALL: emit_gate(w, HP_GATE_SYSCALL, behind); break;
    case HP_X86_XBEGIN: /* a transaction that always fails at once */
        hp_emit_byte(&w->e, 0xb8);
        hp_emit_u32(&w->e, 0);
        emit_jump_exit(w, target, true);
        break;
    default: /* HP_X86_TRAP */
        emit_copy(w);
        w->pc = behind;
        w->insns++;
        hp_memory_begin(w);
        mark_clean(w);
        emit_jump_exit(w, behind, false);
        break;
    }
    return more;
}

/* One piece; true when another follows, at `*next`. */
static bool make_piece(struct work *w, uint64_t *next, const char **why)
{
    if (!emit_straight(w)) { /* what follows is found when it is run */
        if (w->insns == 0)
            return false;
        if (!describe_piece(w, w->pc))
            *why = "the code map is full";
        hp_memory_end(w, false);
        mark_clean(w);
        emit_jump_exit(w, w->pc, false);
        w->pieces++;
        return false;
    }
    w->insns++; /* the end counts; marks made from here on do not have it complete */
    bool described = describe_piece(w, w->pc + w->insn.length);
    w->insns--;
    if (!described) {
        *why = "the code map is full";
        return false;
    }
    hp_memory_end(w, true);
    bool more = emit_end(w, next);
    if (w->piece)
        w->piece->taken = more ? *next != w->pc + w->insn.length : 1;
    w->total += w->insns + 1;
    w->pieces++;
    w->head = w->head && (w->insn.kind == HP_X86_JUMP || w->insn.kind == HP_X86_CALL);
    return more;
}

static void place_constants(struct work *w)
{
    hp_emit_nops(&w->e, (unsigned)-w->e.at & 7);
    for (unsigned i = 0; i < w->n_constants; i++) {
        uint32_t disp = hp_emit_rel(w->constants[i].behind, w->e.at);
        memcpy(w->constants[i].disp, &disp, 4);
        hp_emit_u64(&w->e, w->constants[i].value);
    }
}

static void make_pieces(struct work *w, uint64_t pc, const char **why)
{
    bool more = true;
    w->head = true;
    while (more && begin_piece(w, pc))
        more = make_piece(w, &pc, why);
}

uint32_t hp_translate(struct hp_self *self, uint64_t pc, bool land, const char **why)
{
    struct work w = {.self = self};
    *why = NULL;
    w.area = hp_cache_room(pc, CODE_MAX, SMALL_MAX);
    w.segment = w.area ? hp_cache_new_segment() : 0;
    if (!w.segment)
        return 0;
    struct hp_seg *seg = &hp_segs[w.segment];
    uint8_t *landing = w.area->code, *code = landing;
    if (land) /* for its size; written again when the id is known */
        code = hp_landing_write(landing, pc, 0, NULL);
    *seg = (struct hp_seg){.start = pc, .code = code, .first_exit = hp_cache_next_exit()};
    w.e = (struct hp_emit){code, (uint64_t)(uintptr_t)code};
    w.limit = w.e.at + CODE_MAX - 1024;
    make_pieces(&w, pc, why);
    if (*why || w.pieces == 0)
        return 0;
    place_constants(&w);
    seg->n_pieces = w.pieces;
    seg->code_size = (uint32_t)(w.e.out - seg->code);
    seg->dead = w.dead;
    seg->flags_dead = w.flags_known && w.flags_dead;
    struct hp_engine_stats *stats = &hp_engine.arena->stats;
    atomic_fetch_add_explicit(&stats->segments, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->blocks, w.pieces, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->instructions, w.total, memory_order_relaxed);
    hp_cache_publish(w.segment, w.area);
    if (land) {
        hp_landing_write(landing, pc, hp_pieces[seg->first_piece].id, NULL);
        hp_land(w.segment, landing);
    }
    return w.segment;
}

void hp_locate(uint32_t segment, uint64_t address, struct hp_spot *spot)
{
    const struct hp_seg *seg = &hp_segs[segment];
    const char *why;
    struct work w = {
        .self = hp_self(), .segment = segment, .again = true, .wanted = address, .spot = spot};
    w.e = (struct hp_emit){w.self->scratch_code, (uint64_t)(uintptr_t)seg->code};
    w.limit = w.e.at + CODE_MAX - 1024;
    make_pieces(&w, seg->start, &why);
    w.e.at = UINT64_MAX; /* if it is the last thing */
    mark_clean(&w);
}
