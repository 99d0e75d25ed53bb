// SPDX-License-Identifier: MIT
/*
 * From program code to translated code. Instructions are copied, except that position-dependent
 * parts and control transfers are rewritten. No register is taken from the program and the flags
 * are left alone: where the engine needs a register it keeps the program's value in the thread's
 * block.
 *
 * A translation is a pure function of the source and its place. So to find what an address in it
 * means (for a signal), the segment is translated again and watched (hp_locate).
 */
#include "engine/native/inner/landings.h"
#include "engine/native/inner/translate_impl.h"
#include "engine/native/inner/x87.h"
#include "hotpath/code.h"
#include "hotpath/stream.h"

#include <string.h>

#define SHORT_PIECES 4     /* blocks of a short segment */
#define SHORT_INSNS  40    /* and the instructions after which it does not continue */
#define ENTRIES      4     /* of a PLT, in addition */
#define INSNS_MAX    256   /* the same for a long one */
#define UNROLL_MAX   64    /* instructions in a segment up to which a loop may add an iteration */
#define CODE_MAX     49152 /* bytes of a segment: a block of HP_BLOCK_MAX_INSNS, split if longer */
#define SMALL_MAX    20480 /* bytes of stubs of a segment, in chunks */
#define CODE_RESERVE 320   /* the most that one instruction may need */
#define NODE_INSNS   128   /* of a block after another one in a node */
#define AHEAD        6     /* instructions looked at beyond the segment */
#define NEAR_TARGET  48    /* bytes that a conditional jump skips, if both of its ways are likely */

/* --- What the head does ----------------------------------------------------------------------- */

static void learn_head(struct hp_head *head, const struct hp_x86 *insn)
{
    if (!head->flags_known && (insn->reads_flags || insn->writes_flags) && !insn->keeps_flags) {
        head->flags_known = true;
        head->flags_dead = !insn->reads_flags;
    }
    head->reads |= insn->reads;
    if (insn->kind != HP_X86_PLAIN || insn->has_memory || insn->is_string ||
        insn->reads == 0xffff || insn->reads & 1 << HP_X86_RSP)
        head->may_fault = true;
    if (!head->may_fault)
        head->dead |= insn->writes & (uint16_t)~head->reads;
}

/* What the code at `pc` does first. Only a file's own code is looked at: see
 * hp_mapped_place.solid. */
static struct hp_head look_ahead(const struct work *w, uint64_t pc)
{
    struct hp_head head = {0};
    uint32_t known = w->place.solid ? hp_cache_find(pc) : 0;
    if (!w->place.solid || pc < w->place.low || pc >= w->place.high)
        return head;
    if (known)
        return (struct hp_head){.dead = hp_segs[known].dead,
                                .flags_known = true,
                                .flags_dead = hp_segs[known].flags_dead};
    for (unsigned i = 0; i < AHEAD && pc < w->place.high; i++) {
        struct hp_x86 insn;
        uint64_t rest = w->place.high - pc;
        hp_x86_decode((const uint8_t *)(uintptr_t)pc, rest < 15 ? (unsigned)rest : 15, &insn);
        learn_head(&head, &insn);
        if (insn.kind != HP_X86_PLAIN || (head.flags_known && head.may_fault))
            break;
        pc += insn.length;
    }
    return head;
}

struct hp_head hp_work_ahead(const struct work *w, uint64_t pc, uint64_t other)
{
    struct hp_head head = look_ahead(w, pc), second;
    if (other == pc)
        return head;
    second = look_ahead(w, other);
    head.dead &= second.dead;
    head.flags_dead = head.flags_dead && second.flags_dead;
    return head;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

bool hp_work_is_foreign(const struct hp_x86 *insn)
{
    bool gs = insn->segment == HP_X86_SEG_GS;
    return insn->kind == HP_X86_INVALID || insn->kind == HP_X86_SYSTEM ||
           insn->kind == HP_X86_LOAD_GS ||
           (insn->kind == HP_X86_FAR && insn->modrm_at && !insn->has_memory) ||
           (gs && insn->is_string && insn->addr32);
}

/* Guards all of the source up to `end`: for new guards old ones may have to go. */
static bool guard_source(struct work *w, uint64_t end)
{
    if (!w->guarded[1] || w->unguarded < w->guarded[0])
        w->guarded[0] = w->unguarded;
    if (end > w->guarded[1])
        w->guarded[1] = end;
    return hp_guards_set(w->guarded[0], w->guarded[1]);
}

void hp_work_decode(struct work *w, uint64_t pc, const uint8_t *bytes, struct hp_x86 *insn)
{
    uint64_t rest = w->high - pc;
    if (!w->again && pc + 15 > w->unguarded) {
        uint64_t end = (pc + (rest < 15 ? rest : 15) + 4095) & ~(uint64_t)4095;
        if (!guard_source(w, end)) { /* then it is not translated */
            end = w->unguarded;
            w->high = end > pc ? end : pc;
            rest = w->high - pc;
        }
        w->unguarded = end < w->high ? end : UINT64_MAX;
    }
    hp_x86_decode(bytes, rest < 15 ? (unsigned)rest : 15, insn);
}

/* The instruction may contain the address of a section's description, which is 32-byte aligned. */
static void look_for_section(struct work *w)
{
    const struct hp_x86 *insn = &w->insn;
    uint8_t opcode = w->bytes[insn->opcode_at];
    uint64_t value = 0;
    if (insn->is_lea && insn->rip_relative)
        value = hp_x86_operand(insn, w->pc);
    else if (insn->imm_size >= 4 &&
             ((opcode >= 0xb8 && opcode <= 0xbf) || opcode == 0xc7)) /* MOV */
        value = (uint64_t)insn->imm;
    if (value < 4096 || value & 31 || value - w->pc + (1u << 30) > 1u << 31)
        return; /* too far away to be the program's data */
    hp_rseq_learn(value);
    if (!w->section)
        w->high = hp_rseq_next(w->pc, w->high);
}

bool hp_work_straight(struct work *w)
{
    bool in_memory_mode = hp_engine.mode == HP_RECORD_MEMORY;
    unsigned insns_max = in_memory_mode ? MEMORY_INSNS : HP_BLOCK_MAX_INSNS;
    for (;;) {
        if (w->pc >= w->high || w->e.at + CODE_RESERVE > w->limit)
            return false;
        hp_work_decode(w, w->pc, w->bytes, &w->insn);
        if (hp_work_is_foreign(&w->insn))
            return false;
        if (w->in_head)
            learn_head(&w->head, &w->insn);
        if (in_memory_mode)
            hp_memory_insn(w);
        else
            mark_clean(w);
        if (!w->again)
            look_for_section(w);
        switch (w->insn.kind) {
        case HP_X86_PLAIN:
            w->unfit |= w->section && !hp_section_takes(w);
            if (hp_x87_is_stored(w->bytes, &w->insn))
                return true; /* the engine must examine what it stored */
            hp_emit_copy(w);
            break;
        case HP_X86_RDGSBASE:
        case HP_X86_WRGSBASE: hp_emit_gs_base(w); break;
        default: return true;
        }
        w->pc += w->insn.length;
        w->bytes += w->insn.length;
        w->insns++;
        if (w->insns == insns_max)
            return false;
    }
}

bool hp_work_describe(struct work *w, uint64_t end)
{
    if (w->again) {
        w->id = hp_pieces[hp_segs[w->segment].first_piece + w->pieces].id;
        return true;
    }
    struct hp_cached_piece *piece = w->piece;
    piece->size = (uint32_t)(end - piece->start);
    piece->insns = (uint16_t)w->insns;
    piece->last_length = (uint8_t)(end - w->pc);
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)piece->start;
    if (hp_engine.mode == HP_RECORD_NONE) {
        piece->id = w->id = hp_cache_keep(bytes, piece->size);
        return true;
    }
    struct hp_arena_segment segment = {
        .start = piece->start, .module = w->module, .size = piece->size, .parent = w->id};
    if (hp_segs[w->segment].kind == HP_SEG_TRACE)
        segment.trace = (uint16_t)w->plan->n;
    if (hp_segs[w->segment].kind == HP_SEG_NODE)
        segment.parent = 0; /* each piece is a block of a prefix */
    piece->id = w->id = hp_arena_add_segment(hp_engine.arena, &segment, bytes);
    return w->id != 0;
}

const uint8_t *hp_piece_source(const struct hp_cached_piece *piece)
{
    if (hp_engine.mode == HP_RECORD_NONE)
        return hp_cache_kept(piece->id);
    uint32_t position = hp_arena_segment_index(hp_engine.arena)[piece->id];
    const struct hp_arena_segment *stored = hp_arena_store(hp_engine.arena, position);
    return (const uint8_t *)(stored + 1);
}

bool hp_work_begin(struct work *w, uint64_t pc)
{
    w->pc = pc;
    w->insns = 0;
    w->noted = false;
    hp_memory_begin(w);
    if (w->again) {
        const struct hp_cached_piece *piece =
            &hp_pieces[hp_segs[w->segment].first_piece + w->pieces];
        w->bytes = hp_piece_source(piece);
        w->high = piece->start + piece->size;
        return true;
    }
    struct hp_mapped_place place;
    uint8_t first;
    if (!hp_maps_find(w->self, pc, &place) || !place.executable ||
        !hp_copy(&first, (const void *)pc, 1)) /* a file may be shorter than its mapping */
        return false;
    uint32_t number = hp_cache_new_piece();
    w->piece = &hp_pieces[number];
    *w->piece = (struct hp_cached_piece){.start = pc, .segment = w->segment, .first = w->id == 0};
    if (w->pieces == 0)
        hp_segs[w->segment].first_piece = number;
    w->bytes = (const uint8_t *)(uintptr_t)pc;
    w->high = place.high;
    w->module = place.module;
    w->place = place;
    w->unguarded = UINT64_MAX;
    w->high = hp_rseq_next(pc, w->high);
    if (w->section && w->high > hp_section_stop(w, pc))
        w->high = hp_section_stop(w, pc);
    if (place.writable) { /* within two pages, by which it is found: see note_pages() */
        w->unguarded = pc & ~(uint64_t)4095;
        if (w->high > w->unguarded + 8192)
            w->high = w->unguarded + 8192;
    }
    return true;
}

/* Whether segments are long from the start: if leaving one costs a word or a counter, and no traces
 * will do better. */
static bool are_long(void)
{
    return hp_engine.arena->traces == HP_TRACES_STATIC && hp_engine.mode != HP_RECORD_NONE;
}

/* Whether a segment that is a loop goes around again: a counter that is incremented in every round
 * of a short loop costs more than the loop, as each increment waits for the last one. */
static bool goes_around(const struct work *w, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    const struct hp_cached_piece *pieces = &hp_pieces[seg->first_piece];
    unsigned n = w->pieces + 1, insns = w->total + w->insns + 1, round = 1;
    if (hp_engine.mode != HP_RECORD_COUNT || seg->kind != HP_SEG_PLAIN ||
        w->insn.kind == HP_X86_CALL)
        return false;
    while (round < n && pieces[round].start != seg->start)
        round++;
    if (next != seg->start)
        return round < n && next == pieces[n % round].start;
    return n % round == 0 && n + round <= HP_PIECES_MAX && insns + insns / n * round <= UNROLL_MAX;
}

/* Segments that cost only their translation are short, and nothing is translated twice. */
static bool may_be_short(const struct work *w, uint64_t next)
{
    if ((w->insn.kind == HP_X86_JUMP || w->insn.kind == HP_X86_CALL) && hp_slot_is_entry(next))
        return w->pieces < SHORT_PIECES + ENTRIES; /* the entry of a PLT is no block of its own */
    if (goes_around(w, next))
        return true;
    return w->pieces - w->entries + 1 < SHORT_PIECES && w->total <= SHORT_INSNS &&
           !hp_cache_find(next) && !(w->insn.kind == HP_X86_COND && w->insn.imm < 0) &&
           next != hp_segs[w->segment].start;
}

/* Long ones continue into known code and around loops. */
static bool may_be_long(const struct work *w, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (w->pieces + 1 == HP_STATIC_MAX || w->total > INSNS_MAX)
        return false;
    for (unsigned i = 0; i <= w->pieces; i++)
        if (hp_pieces[seg->first_piece + i].start == next && w->total > UNROLL_MAX)
            return false;
    return true;
}

/* Where the segment goes on after this piece, if that is decided already: by a plan, or because it
 * is translated again. 0: it ends. */
static uint64_t planned_next(const struct work *w)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    unsigned i = w->pieces + 1;
    if (w->again)
        return i < seg->n_pieces ? hp_pieces[seg->first_piece + i].start : 0;
    return i < w->plan->n ? w->plan->starts[i] : 0;
}

static bool is_planned(const struct work *w)
{
    return w->again || w->plan;
}

/* Whether a whole block that can be part of a node, and is not too long, is at `pc`. */
static bool is_block(const struct hp_mapped_place *place, uint64_t pc)
{
    uint64_t high = hp_rseq_next(pc, place->high);
    for (unsigned i = 0; i < NODE_INSNS && pc < high && !place->writable; i++) {
        struct hp_x86 insn;
        uint64_t rest = high - pc;
        hp_x86_decode((const uint8_t *)(uintptr_t)pc, rest < 15 ? (unsigned)rest : 15, &insn);
        if (hp_work_is_foreign(&insn) || hp_x87_is_stored((const uint8_t *)(uintptr_t)pc, &insn))
            return false;
        if (insn.kind != HP_X86_PLAIN && insn.kind != HP_X86_RDGSBASE &&
            insn.kind != HP_X86_WRGSBASE)
            return hp_node_takes(insn.kind);
        pc += insn.length;
    }
    return false;
}

/* Whether the rules of this kind of segment let it continue at `next`. */
static bool is_chosen(const struct work *w, uint64_t next)
{
    if (hp_segs[w->segment].kind == HP_SEG_NODE)
        return may_be_long(w, next);
    if (w->plan)
        return planned_next(w) == next;
    return are_long() ? may_be_long(w, next) : may_be_short(w, next);
}

/* Whether the segment should continue with the code at `next`, which follows `w->insn`. */
bool hp_work_goes_on(const struct work *w, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (w->again)
        return planned_next(w) == next;
    if (!hp_emit_reaches((uint64_t)(uintptr_t)w->area->low, next) || hp_rseq_at(next) ||
        !is_chosen(w, next))
        return false;
    struct hp_mapped_place place;
    if (!hp_maps_find(w->self, next, &place) || !place.executable ||
        (place.writable && next >> 12 != seg->start >> 12))
        return false;
    if (seg->kind == HP_SEG_NODE)
        return is_block(&place, next);
    struct hp_x86 insn;
    uint64_t rest = place.high - next;
    hp_x86_decode((const uint8_t *)(uintptr_t)next, rest < 15 ? (unsigned)rest : 15, &insn);
    return !hp_work_is_foreign(&insn);
}

/* Whether static rules expect a conditional jump to be taken: a loop. */
static bool is_loop(const struct work *w, uint64_t target)
{
    return w->insn.imm < 0 || target == hp_segs[w->segment].start;
}

/* Whether a run of blocks ends at this conditional jump, and another begins behind it, in the same
 * segment: then what goes on there is counted, and what leaves need not be. */
static bool breaks(const struct work *w, uint64_t target, uint64_t next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (w->again)
        return hp_pieces[seg->first_piece + w->pieces + 1].first;
    return hp_engine.mode == HP_RECORD_COUNT && seg->kind == HP_SEG_PLAIN &&
           w->id < hp_engine.arena->shape.counted && next == w->pc + w->insn.length &&
           target > next && target - next <= NEAR_TARGET;
}

/* A conditional jump. If the segment ends here and its ways out are counted, the expected one comes
 * last: it is counted here, so that a loop takes one branch in a round. */
static bool emit_cond(struct work *w, uint64_t target, uint64_t behind, uint64_t *next)
{
    bool to_target = is_loop(w, target);
    if (is_planned(w))
        to_target = planned_next(w) == target && target != behind;
    *next = to_target ? target : behind;
    bool more = hp_work_goes_on(w, *next);
    if (!more) {
        hp_exit_record(w, target, behind);
        to_target = hp_engine.mode == HP_RECORD_COUNT && is_loop(w, target);
    }
    hp_exit_cond(w, to_target ? behind : target, !to_target);
    if (more && breaks(w, target, *next))
        hp_exit_break(w, *next);
    if (!more)
        hp_exit_last(w, to_target ? target : behind, to_target);
    return more;
}

/* An indirect transfer: the segment continues where it is expected to go, if anything is. */
static bool emit_indirect(struct work *w, uint64_t *next)
{
    bool is_return = w->insn.kind == HP_X86_RET;
    *next = 0;
    if (is_return && w->insn.imm_at)
        ; /* RET n is rare */
    else if (is_planned(w))
        *next = planned_next(w);
    else if (is_return && w->n_returns)
        *next = w->returns[--w->n_returns];
    bool by_slot = !*next && !is_return;
    if (by_slot)
        *next = hp_slot_target(w);
    bool more = *next && hp_work_goes_on(w, *next);
    if (more)
        hp_exit_expected(w, *next);
    else if (is_return)
        hp_exit_return(w);
    else if (by_slot && *next && hp_engine.mode != HP_RECORD_COUNT) /* there landings count */
        hp_exit_expected_last(w, *next);
    else
        hp_exit_indirect(w);
    if (more && w->insn.kind == HP_X86_CALL_IND && !is_planned(w))
        w->returns[w->n_returns++] = w->pc + w->insn.length;
    w->entries += more && w->insn.kind == HP_X86_JUMP_IND;
    return more;
}

/* Emits the transfer that ends a piece; true when the segment continues at `*next`. */
static bool emit_end(struct work *w, uint64_t *next)
{
    const struct hp_x86 *insn = &w->insn;
    uint64_t behind = w->pc + insn->length, target = hp_x86_target(insn, w->pc);
    bool more = false;
    switch (insn->kind) {
    case HP_X86_JUMP:
        *next = target;
        more = hp_work_goes_on(w, target);
        if (!more)
            hp_exit_last(w, target, true);
        break;
    case HP_X86_CALL:
        *next = target;
        more = hp_work_goes_on(w, target);
        hp_exit_push_return(w);
        if (more)
            w->returns[w->n_returns++] = behind;
        else
            hp_exit_last(w, target, true);
        break;
    case HP_X86_COND: more = emit_cond(w, target, behind, next); break;
    case HP_X86_COUNTED:
        *next = behind;
        more = hp_work_goes_on(w, behind);
        if (!more)
            hp_exit_record(w, target, behind);
        hp_exit_counted(w, target);
        if (!more)
            hp_exit_last(w, behind, false);
        break;
    case HP_X86_JUMP_IND:
    case HP_X86_CALL_IND:
    case HP_X86_RET: more = emit_indirect(w, next); break;
    case HP_X86_SYSCALL: hp_exit_gate(w, HP_GATE_SYSCALL, behind); break;
    case HP_X86_XBEGIN: /* a transaction that always fails immediately */
        hp_emit_byte(&w->e, 0xb8);
        hp_emit_u32(&w->e, 0);
        hp_exit_jump(w, target, true);
        break;
    case HP_X86_FAR: hp_exit_gate(w, HP_GATE_FAR, w->pc); break;
    case HP_X86_PLAIN: /* stores the x87 instruction pointer */
        hp_emit_copy(w);
        hp_exit_gate(w, HP_GATE_X87, w->pc);
        break;
    default: /* HP_X86_TRAP */
        if (w->bytes[insn->opcode_at] == 0xcd && (uint8_t)insn->imm == 0x80) {
            hp_exit_gate(w, HP_GATE_INT80, w->pc);
            break;
        }
        hp_emit_copy(w);
        w->pc = behind;
        w->insns++;
        hp_memory_begin(w);
        mark_clean(w);
        hp_exit_jump(w, behind, false);
        break;
    }
    return more;
}

/* How the segment continues at `next`: HP_WENT_... */
static uint8_t how_it_went(const struct work *w, uint64_t next)
{
    if (w->insn.kind == HP_X86_RET || w->insn.kind == HP_X86_JUMP_IND ||
        w->insn.kind == HP_X86_CALL_IND)
        return HP_WENT_BY;
    return next == w->pc + w->insn.length ? HP_WENT_ON : HP_WENT_TO;
}

/* Emits the end of the piece; true when the segment continues at `*next`. */
static bool end_piece(struct work *w, uint64_t *next)
{
    if (hp_segs[w->segment].kind != HP_SEG_NODE)
        return emit_end(w, next);
    w->unfit |= !hp_node_takes(w->insn.kind) || !hp_node_describe(w);
    return !w->unfit && hp_node_end(w, next) && !w->unfit;
}

/* Makes one piece; true when another follows, at `*next`. */
static bool make_piece(struct work *w, uint64_t *next, const char **why)
{
    bool ended = hp_work_straight(w);
    if (!ended && hp_segs[w->segment].kind == HP_SEG_NODE) {
        w->unfit = true; /* not a whole block */
        return false;
    }
    if (!ended) { /* the rest is found at run time */
        if (w->insns == 0)
            return false;
        if (!hp_work_describe(w, w->pc))
            *why = "the code map is full";
        hp_memory_end(w, false);
        mark_clean(w);
        hp_exit_jump(w, w->pc, false);
        w->pieces++;
        return false;
    }
    w->insns++; /* the last instruction counts; marks from here on treat it as incomplete */
    bool described = hp_work_describe(w, w->pc + w->insn.length);
    w->insns--;
    if (!described) {
        *why = "the code map is full";
        return false;
    }
    hp_memory_end(w, true);
    bool more = end_piece(w, next);
    if (w->piece)
        w->piece->taken = more ? how_it_went(w, *next) : 1;
    w->total += w->insns + 1;
    w->pieces++;
    w->in_head = w->in_head && (w->insn.kind == HP_X86_JUMP || w->insn.kind == HP_X86_CALL);
    return more;
}

static void place_constants(struct work *w)
{
    if (w->n_constants)
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
    w->in_head = true;
    while (more && hp_work_begin(w, pc))
        more = make_piece(w, &pc, why);
}

uint32_t hp_translate(struct hp_self *self, const struct hp_order *order, const char **why)
{
    uint64_t pc = order->pc;
    struct work w = {.self = self, .plan = order->plan, .node = order->node};
    *why = NULL;
    w.area = hp_cache_room(pc, CODE_MAX, SMALL_MAX);
    w.segment = w.area ? hp_cache_new_segment() : 0;
    if (!w.segment)
        return 0;
    struct hp_seg *seg = &hp_segs[w.segment];
    uint8_t *landing = w.area->code;
    *seg = (struct hp_seg){.start = pc,
                           .kind = (uint8_t)order->kind,
                           .node = order->node,
                           .function = order->function,
                           .on_trial = order->on_trial};
    seg->code = landing;
    if (order->land) /* for its size; written again when the segment is known */
        seg->code = hp_landing_write(landing, w.segment, NULL);
    w.e = hp_area_emit(w.area, seg->code);
    if (order->node.how == HP_PREFIX_RETURNED)
        hp_node_entrance(&w, pc);
    w.limit = w.e.at + CODE_MAX - 1024;
    if (!hp_section_begin(&w, pc, why) || (w.section && order->kind == HP_SEG_NODE))
        return 0;
    if (w.section)
        hp_section_make(&w, why);
    else
        make_pieces(&w, pc, why);
    if (*why || w.pieces == 0 || w.unfit)
        return 0;
    place_constants(&w);
    seg->n_pieces = w.pieces;
    seg->code_size = (uint32_t)(w.e.at - (uint64_t)(uintptr_t)seg->code);
    if (!w.section) { /* a section may be left at any instruction */
        seg->dead = w.head.dead;
        seg->flags_dead = w.head.flags_dead;
    }
    struct hp_engine_stats *stats = &hp_engine.arena->stats;
    atomic_fetch_add_explicit(&stats->segments, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->blocks, w.pieces, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->instructions, w.total, memory_order_relaxed);
    if (order->kind == HP_SEG_TRACE && hp_engine.mode != HP_RECORD_NONE)
        hp_arena_end_trace(hp_engine.arena, hp_last_piece(w.segment)->id);
    hp_cache_publish(w.segment, w.area);
    if (order->land) {
        hp_landing_write(landing, w.segment, NULL);
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
    w.node = seg->node;
    if (seg->section)
        hp_section_again(&w);
    else
        make_pieces(&w, seg->start, &why);
    w.e.at = UINT64_MAX; /* in case it is at the very end */
    mark_clean(&w);
}
