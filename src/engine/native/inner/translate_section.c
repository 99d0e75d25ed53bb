// SPDX-License-Identifier: MIT
/*
 * Sections of rseq (rseq.h). The whole section is one segment, in code order, and on entry the
 * kernel is told where it is. All ways out lead to exits elsewhere, except for the end, which is
 * the end of the range the kernel knows.
 *
 * A section may branch within itself. A branch's target is a *label*: a run of blocks with its own
 * ids begins there, and the code that leads to it records, inside the section, that the previous
 * run has ended. Nothing else is recorded inside. hp_on_rseq_abort() knows the registers used for
 * that.
 */
#include "engine/native/inner/translate_impl.h"

#include <string.h>

static const char unfit[] = "a restartable sequence (rseq) that cannot be run in one piece";

/* --- Labels ----------------------------------------------------------------------------------- */

static bool is_inside(const struct work *w, uint64_t pc)
{
    uint64_t start = hp_segs[w->segment].start;
    return pc - start < w->section_end - start;
}

/* The label at `pc`; -1: none. */
static int find_label(const struct work *w, uint64_t pc)
{
    const struct hp_section *section = hp_rseq_section(w->section);
    for (unsigned i = 0; i < section->n_labels; i++)
        if (section->cs.start + section->labels[i] == pc)
            return (int)i;
    return -1;
}

/* The first label after `pc`, or the end. */
uint64_t hp_section_stop(const struct work *w, uint64_t pc)
{
    const struct hp_section *section = hp_rseq_section(w->section);
    uint64_t stop = w->section_end;
    for (unsigned i = 0; i < section->n_labels; i++) {
        uint64_t label = section->cs.start + section->labels[i];
        if (label > pc && label < stop)
            stop = label;
    }
    return stop;
}

static bool add_label(struct hp_section *section, uint64_t offset)
{
    for (unsigned i = 0; i < section->n_labels; i++)
        if (section->labels[i] == offset)
            return true;
    if (section->n_labels == HP_LABELS_MAX)
        return false;
    section->labels[section->n_labels++] = (uint16_t)offset;
    return true;
}

/* Finds the labels of a section; false: it has too many, or is not plain code. */
static bool find_labels(struct hp_section *section)
{
    uint64_t pc = section->cs.start, end = pc + section->cs.size;
    section->n_labels = 0;
    while (pc < end) {
        uint8_t bytes[15] = {0};
        struct hp_x86 insn;
        unsigned size = end - pc < sizeof bytes ? (unsigned)(end - pc) : (unsigned)sizeof bytes;
        if (!hp_copy(bytes, (const void *)pc, size))
            return false;
        hp_x86_decode(bytes, size, &insn);
        bool direct =
            insn.kind == HP_X86_JUMP || insn.kind == HP_X86_COND || insn.kind == HP_X86_COUNTED;
        uint64_t offset = hp_x86_target(&insn, pc) - section->cs.start;
        if (insn.kind == HP_X86_INVALID ||
            (direct && offset < section->cs.size && !add_label(section, offset)))
            return false;
        pc += insn.length;
    }
    return pc == end;
}

/* jmp to a label */
static void emit_jump_to(struct work *w, int label)
{
    hp_emit_byte(&w->e, 0xe9);
    if (!w->again)
        w->fixes[w->n_fixes++] =
            (struct fix){.disp = w->e.out, .behind = w->e.at + 4, .label = (uint8_t)label};
    hp_emit_u32(&w->e, 0);
}

static void fix_jumps(struct work *w)
{
    for (unsigned i = 0; i < w->n_fixes; i++) {
        const struct fix *fix = &w->fixes[i];
        uint32_t disp = hp_emit_rel(fix->behind, w->label_at[fix->label]);
        w->unfit |= !w->label_at[fix->label];
        memcpy(fix->disp, &disp, 4);
    }
}

/* --- The code --------------------------------------------------------------------------------- */

/*
 * The entry into a section: its last instruction tells the kernel that the section begins (unless
 * the thread has no rseq). The registers used are restored inside.
 */
static void emit_section_entrance(struct work *w)
{
    static const uint8_t arm[] = {0x48, 0x89, 0x41, 0x08}; /* mov [rcx + 8], rax: rseq_cs */
    const unsigned size = 12 + 12 + 10 + sizeof arm;
    w->pc = hp_segs[w->segment].start;
    mark(w, false, false, NOT_SAVED, NOT_SAVED);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    hp_emit_save(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    mark(w, false, true, HP_X86_RAX, NOT_SAVED);
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RSEQ);
    hp_emit_byte(&w->e, 0xe3); /* jrcxz behind */
    hp_emit_byte(&w->e, size);
    hp_emit_set(&w->e, HP_AT_BEGUN, HP_UNIT_BEGINS);
    hp_emit_set(&w->e, HP_AT_UNIT, w->section);
    hp_emit_load_value(&w->e, HP_X86_RAX, (uint64_t)(uintptr_t)w->slot);
    hp_emit_bytes(&w->e, arm, sizeof arm);
    w->slot_start = w->e.at;
    hp_emit_restore(&w->e, HP_X86_RAX, HP_AT_SCRATCH1);
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
    hp_emit_set(&w->e, HP_AT_BEGUN, HP_UNIT_RUNS);
}

bool hp_section_takes(const struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    return insn->kind == HP_X86_PLAIN && insn->segment != HP_X86_SEG_GS &&
           (!insn->rip_relative ||
            (!insn->addr32 && hp_emit_reaches(w->e.at, hp_x86_operand(insn, w->pc))));
}

/* Records that the run has ended, and another begins in the section. */
static void emit_ran(struct work *w, bool taken)
{
    uint32_t counter =
        (uint32_t)(HP_AT_COUNTERS + w->id * sizeof(struct hp_counter) + (taken ? 8u : 0));
    if (hp_engine.mode == HP_RECORD_NONE)
        return;
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    hp_emit_set(&w->e, HP_AT_BEGUN, HP_UNIT_RCX_SAVED);
    if (hp_engine.mode == HP_RECORD_COUNT) {
        w->unfit |= w->id >= HP_ARENA_COUNTED;
        hp_emit_restore(&w->e, HP_X86_RCX, counter);
        hp_emit_add(&w->e, HP_X86_RCX, 1);
        hp_emit_save(&w->e, HP_X86_RCX, counter);
    } else {
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_NEXT);
        hp_emit_store_value(&w->e, HP_X86_RCX, 0, w->id);
        hp_emit_add(&w->e, HP_X86_RCX, 4);
        hp_emit_save(&w->e, HP_X86_RCX, HP_AT_NEXT);
    }
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
    hp_emit_set(&w->e, HP_AT_BEGUN, HP_UNIT_RUNS);
}

/* A branch to a label. */
static void emit_inner_branch(struct work *w, int label)
{
    const struct hp_x86 *insn = &w->insn;
    uint8_t *skip = NULL;
    if (insn->kind == HP_X86_COND) {
        hp_emit_byte(&w->e, 0x70u | (insn->condition ^ 1u));
    } else if (insn->kind == HP_X86_COUNTED) { /* itself, over a jump */
        hp_emit_bytes(&w->e, w->bytes, insn->length - 1u);
        hp_emit_byte(&w->e, 2);
        hp_emit_byte(&w->e, 0xeb);
    }
    if (insn->kind != HP_X86_JUMP) {
        skip = w->e.out;
        hp_emit_byte(&w->e, 0);
    }
    emit_ran(w, true);
    emit_jump_to(w, label);
    if (skip)
        *skip = (uint8_t)(w->e.out - skip - 1);
}

static void emit_way_out(struct work *w, uint64_t target)
{
    if (w->insn.kind == HP_X86_JUMP)
        hp_exit_jump(w, target, true);
    else if (w->insn.kind == HP_X86_COND)
        hp_exit_cond(w, target, true);
    else
        hp_exit_counted(w, target);
}

/* Control falls through to `next`, at the end of a piece. */
static void emit_fall(struct work *w, uint64_t next)
{
    if (next == w->section_end) {
        w->slot_end = w->e.at;
        hp_exit_jump(w, next, false);
    } else if (find_label(w, next) >= 0) {
        emit_ran(w, false);
    }
}

/* Emits the transfer that ends a piece. Returns where the next piece is. */
static uint64_t emit_transfer(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    uint64_t behind = w->pc + insn->length, target = hp_x86_target(insn, w->pc);
    if (insn->kind != HP_X86_JUMP && insn->kind != HP_X86_COND && insn->kind != HP_X86_COUNTED) {
        w->unfit = true;
        return w->section_end;
    }
    int label = is_inside(w, target) ? find_label(w, target) : -1;
    if (label >= 0)
        emit_inner_branch(w, label);
    else
        emit_way_out(w, target);
    w->slot_end = w->e.at;
    if (insn->kind != HP_X86_JUMP)
        emit_fall(w, behind);
    else if (behind < w->section_end && find_label(w, behind) < 0)
        behind = hp_section_stop(w, behind);
    return behind;
}

/* Returns where the next piece is. */
static uint64_t make_piece(struct work *w, const char **why)
{
    uint64_t stop = w->high, next;
    bool ended = hp_work_straight(w);
    if (!ended && (w->insns == 0 || w->pc != stop)) {
        w->unfit = true;
        return w->section_end;
    }
    unsigned last = ended ? 1 : 0;
    w->insns += last; /* see make_piece() in translate.c */
    if (!hp_work_describe(w, w->pc + (ended ? w->insn.length : 0)))
        *why = "the code map is full";
    w->insns -= last;
    if (ended) {
        next = emit_transfer(w);
    } else {
        next = w->pc;
        mark_clean(w);
        emit_fall(w, next);
    }
    if (w->piece)
        w->piece->taken = next != w->pc + (ended ? w->insn.length : 0);
    w->total += w->insns + last;
    w->pieces++;
    return next;
}

static void make_pieces(struct work *w, uint64_t pc, const char **why)
{
    while (pc < w->section_end && !w->unfit && !*why) {
        int label = find_label(w, pc);
        if (w->pieces == HP_SECTION_MAX || !hp_work_begin(w, pc)) {
            w->unfit = true;
            return;
        }
        if (label >= 0) {
            w->label_at[label] = w->e.at;
            w->id = 0;
        }
        if (w->piece)
            w->piece->first = label >= 0;
        pc = make_piece(w, why);
    }
}

/* --- The whole -------------------------------------------------------------------------------- */

bool hp_section_begin(struct work *w, uint64_t pc, const char **why)
{
    w->section = hp_rseq_at(pc);
    if (!w->section && !(w->self->rseq && hp_rseq_inside(pc)))
        return true;
    struct hp_section *section = hp_rseq_section(w->section);
    w->slot = w->section ? hp_rseq_slot(w->section) : NULL;
    if (!w->slot || !find_labels(section)) {
        *why = unfit;
        return false;
    }
    w->section_end = section->cs.start + section->cs.size;
    hp_segs[w->segment].section = (uint16_t)w->section;
    return true;
}

void hp_section_make(struct work *w, const char **why)
{
    emit_section_entrance(w);
    make_pieces(w, hp_segs[w->segment].start, why);
    fix_jumps(w);
    if (!*why && (w->unfit || w->slot_end <= w->slot_start))
        *why = unfit;
    w->slot->start = w->slot_start;
    w->slot->size = *why ? 0 : w->slot_end - w->slot_start;
}

void hp_section_again(struct work *w)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    const struct hp_section *section = hp_rseq_section(seg->section);
    const char *why = NULL;
    w->section = seg->section;
    w->section_end = section->cs.start + section->cs.size;
    emit_section_entrance(w);
    make_pieces(w, seg->start, &why);
}
