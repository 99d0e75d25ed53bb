// SPDX-License-Identifier: MIT
/*
 * Nodes: code that counts paths (paths.h). Each piece of a node is one whole block, and stands for
 * one prefix of a path. Branches that only make the path longer record nothing. Where a path ends
 * its counter goes up by one.
 */
#include "engine/native/inner/landings.h"
#include "engine/native/inner/paths.h"
#include "engine/native/inner/translate_impl.h"

#define ROUNDS 4 /* of a loop in a segment */

/* --- Prefixes --------------------------------------------------------------------------------- */

bool hp_node_describe(struct work *w)
{
    const struct hp_cached_piece *piece = &hp_pieces[hp_segs[w->segment].first_piece + w->pieces];
    if (w->again) {
        w->prefix = piece->prefix;
        return true;
    }
    struct hp_arena_prefix prefix = {
        .before = w->node.before, .segment = w->id, .how = w->node.how};
    w->piece->prefix = w->prefix = hp_arena_add_prefix(hp_engine.arena, &prefix, piece->start);
    return w->prefix != 0;
}

static uint8_t flow_of(const struct work *w)
{
    switch (w->insn.kind) {
    case HP_X86_JUMP: return HP_FLOW_JUMP;
    case HP_X86_COND:
    case HP_X86_COUNTED: return HP_FLOW_COND;
    case HP_X86_CALL: return HP_FLOW_CALL;
    case HP_X86_CALL_IND: return HP_FLOW_CALL_IND;
    case HP_X86_JUMP_IND: return HP_FLOW_JUMP_IND;
    case HP_X86_RET: return HP_FLOW_RETURN;
    case HP_X86_SYSCALL: return HP_FLOW_SYSCALL;
    default: return HP_FLOW_TRAP;
    }
}

/* The id of the path that ends with this piece; 0: there is none left. Each round of a loop has its
 * own: a counter is not fast enough to be counted in each round. */
static uint32_t path_id(struct work *w, bool taken)
{
    struct hp_arena_path path = {.prefix = w->prefix, .taken = taken ? 1 + w->round : 0};
    uint32_t id = w->again ? 1 : hp_arena_add_path(hp_engine.arena, &path);
    w->unfit |= id == 0;
    return id;
}

/* Where a way out of the piece leads. */
static struct hp_way way_to(struct work *w, uint64_t target, bool taken)
{
    uint8_t flow = flow_of(w);
    bool direct = flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_CALL;
    struct hp_path_growth growth = {w->node.length, w->node.extension};
    struct hp_path_exit end = {.last = w->pc,
                               .end = w->pc + w->insn.length,
                               .direct = direct ? hp_x86_target(&w->insn, w->pc) : 0,
                               .flow = flow};
    switch (hp_path_move(&hp_engine.arena->paths, &growth, &end, target, taken)) {
    case HP_MOVE_STRAIGHT:
    case HP_MOVE_ON:
        return (struct hp_way){.node = {.before = w->prefix,
                                        .length = (uint8_t)growth.length,
                                        .extension = (uint16_t)growth.extension}};
    case HP_MOVE_CALL: return (struct hp_way){.calls = true};
    default: return (struct hp_way){.path = path_id(w, taken)};
    }
}

/* --- Emitting --------------------------------------------------------------------------------- */

/* Counts the path of the way that is taken from here on, in place. */
static void emit_count(struct work *w, const struct hp_way *way, uint64_t target)
{
    w->way = *way;
    if (!way->path)
        return;
    hp_exit_learn(w, target, target);
    hp_emit_count(&w->e, HP_AT_COUNTERS + way->path * 8, w->end.dead, w->end.flags_dead);
    w->noted = true;
}

/* [the register] := the shadow stack, with one more entry. */
static void emit_push_place(struct work *w, unsigned reg, uint32_t place)
{
    hp_emit_restore(&w->e, reg, HP_AT_SHADOW);
    hp_emit_store_value(&w->e, reg, 0, place);
    hp_emit_add(&w->e, reg, 4);
    hp_emit_save(&w->e, reg, HP_AT_SHADOW);
}

static uint32_t place_of(struct work *w)
{
    struct hp_path_node node = {.before = w->prefix,
                                .how = HP_PREFIX_RETURNED,
                                .length = w->node.length,
                                .extension = w->node.extension};
    uint32_t place = w->again ? 1 : hp_place_for(&node, w->id, w->pc + w->insn.length);
    w->unfit |= place == 0;
    return place;
}

/* Whether the path that ends here begins again, in the same segment. */
static bool goes_around(struct work *w, uint64_t target, uint64_t *next)
{
    const struct hp_seg *seg = &hp_segs[w->segment];
    if (target != seg->start || seg->node.before || w->round + 1 == ROUNDS ||
        !hp_work_goes_on(w, target))
        return false;
    w->round++;
    w->node = (struct hp_path_node){0};
    *next = target;
    return true;
}

static bool end_cond(struct work *w, uint64_t target, uint64_t behind, uint64_t *next)
{
    bool counted = w->insn.kind == HP_X86_COUNTED;
    struct hp_way to = way_to(w, target, true), on = way_to(w, behind, false);
    *next = behind;
    w->way = to;
    if (!to.path && !on.path && hp_work_goes_on(w, behind)) {
        if (counted)
            hp_exit_counted(w, target);
        else
            hp_exit_cond(w, target, true);
        w->node = on.node;
        return true;
    }
    if (to.path && !counted) { /* a loop: what leaves it is the exception */
        w->way = on;
        hp_exit_cond(w, behind, false);
        emit_count(w, &to, target);
        if (goes_around(w, target, next))
            return true;
        hp_exit_jump(w, target, true);
        return false;
    }
    if (counted)
        hp_exit_counted(w, target);
    else
        hp_exit_cond(w, target, true);
    emit_count(w, &on, behind);
    hp_exit_jump(w, behind, false);
    return false;
}

static bool end_jump(struct work *w, uint64_t target, uint64_t *next)
{
    struct hp_way way = way_to(w, target, true);
    *next = target;
    if (!way.path && hp_work_goes_on(w, target)) {
        w->node = way.node;
        return true;
    }
    emit_count(w, &way, target);
    if (way.path && goes_around(w, target, next))
        return true;
    hp_exit_jump(w, target, true);
    return false;
}

/* A call pushes its place, with a register that the called code overwrites first, or rcx. */
static void emit_call(struct work *w, uint64_t target)
{
    hp_exit_learn(w, target, target);
    uint16_t usable = w->end.dead & 0xcf; /* the first eight except rsp, rbp */
    unsigned reg = usable ? (unsigned)__builtin_ctz(usable) : HP_X86_RCX;
    if (!usable)
        hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, !usable, NOT_SAVED, NOT_SAVED); /* the stack may be full: see shadow_fault() */
    emit_push_place(w, reg, place_of(w));
    if (!usable)
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
}

static bool end_call(struct work *w, uint64_t target, uint64_t *next)
{
    struct hp_way way = way_to(w, target, true);
    hp_exit_push_return(w);
    if (!way.calls) /* of the next instruction */
        return end_jump(w, target, next);
    emit_call(w, target);
    w->pushed = true;
    w->way = way;
    *next = target;
    if (hp_work_goes_on(w, target)) {
        w->calls[w->n_returns] = w->node;
        w->calls[w->n_returns].before = w->prefix;
        w->calls[w->n_returns].how = HP_PREFIX_RETURNED;
        w->returns[w->n_returns++] = w->pc + w->insn.length;
        w->node = (struct hp_path_node){0};
        return true;
    }
    hp_exit_jump(w, target, true);
    return false;
}

/* Counts the path and pops the shadow stack, with rcx saved. rcx is where the entry was. */
static void emit_pop_place(struct work *w, uint32_t path)
{
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_COUNTERS + path * 8);
    hp_emit_add(&w->e, HP_X86_RCX, 1);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_COUNTERS + path * 8);
    hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_SHADOW);
    hp_emit_add(&w->e, HP_X86_RCX, -4);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_SHADOW);
}

/*
 * A return: counts, pops the last place of the shadow stack, and goes there. The place's entrance
 * compares the address.
 *
 *      pop rcx; mov [target], rcx; count; pop the place; mov ecx, [rcx]; jmp [rcx]
 */
static void emit_return(struct work *w, uint32_t path)
{
    static const uint8_t go[] = {0x8b, 0x09, 0xff, 0x21}; /* mov ecx, [rcx]; jmp [rcx] */
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    hp_emit_byte(&w->e, 0x59); /* pop rcx */
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    hp_exit_drop(w);
    uint32_t exit = hp_exit_set(w);
    if (exit)
        hp_exits[exit].popped = true;
    emit_pop_place(w, path);
    hp_emit_bytes(&w->e, go, sizeof go);
}

/* Goes to `elsewhere` unless rcx, or its lower half, is as expected. */
static void emit_compare(struct work *w, bool is_half, uint32_t expected, uint64_t elsewhere)
{
    if (!is_half)
        hp_emit_byte(&w->e, 0x48);
    hp_emit_byte(&w->e, 0x8d); /* lea rcx, [rcx - expected + HP_CHECKED] */
    hp_emit_byte(&w->e, 0x89);
    hp_emit_u32(&w->e, (uint32_t)HP_CHECKED - expected);
    hp_emit_check(&w->e, elsewhere);
}

/* rcx := 32 bits at gs:[at] */
static void emit_load_half(struct work *w, uint32_t at)
{
    hp_emit_byte(&w->e, 0x65);
    hp_emit_byte(&w->e, 0x8b);
    hp_emit_gs_operand(&w->e, HP_X86_RCX, at);
}

/*
 * What a return place leads to: the call may have returned elsewhere, where the flags are needed.
 *
 *   elsewhere:
 *      jmp miss
 *   entrance:
 *      rcx := target; lea rcx, [rcx - pc + HP_CHECKED]; check, else elsewhere; mov rcx, gs:[rcx]
 *
 * An address that is not near is compared in two halves.
 */
void hp_node_entrance(struct work *w, uint64_t pc)
{
    struct hp_seg *seg = &hp_segs[w->segment];
    struct hp_head head = {0};
    uint64_t elsewhere = w->e.at;
    if (hp_maps_find(w->self, pc, &w->place))
        head = hp_work_ahead(w, pc, pc);
    hp_emit_jump(&w->e, (uint64_t)(uintptr_t)hp_cache_gate(w->area, HP_GATE_MISS));
    seg->entrance = (uint8_t *)(uintptr_t)w->e.at;
    if (pc >> 31) {
        emit_load_half(w, HP_AT_TARGET + 4);
        emit_compare(w, true, (uint32_t)(pc >> 32), elsewhere);
        emit_load_half(w, HP_AT_TARGET);
        emit_compare(w, true, (uint32_t)pc, elsewhere);
    } else {
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_TARGET);
        emit_compare(w, false, (uint32_t)pc, elsewhere);
    }
    if (!(head.dead & 1 << HP_X86_RCX))
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
    seg->code = (uint8_t *)(uintptr_t)w->e.at;
}

/* A return after which the segment goes on. */
static void emit_expected(struct work *w, uint64_t next, uint32_t path)
{
    static const uint8_t subtract[] = {0x65, 0x48, 0x83};
    hp_exit_learn(w, next, next);
    hp_exit_check(w, next);
    if (w->end.flags_dead) {
        hp_emit_count(&w->e, HP_AT_COUNTERS + path * 8, 0, true);
        hp_emit_bytes(&w->e, subtract, sizeof subtract); /* sub qword gs:[shadow], 4 */
        hp_emit_gs_operand(&w->e, 5, HP_AT_SHADOW);
        hp_emit_byte(&w->e, 4);
    } else {
        emit_pop_place(w, path);
    }
    if (!(w->end.dead & 1 << HP_X86_RCX))
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_RCX);
}

static bool end_return(struct work *w, uint64_t *next)
{
    struct hp_way way = {.path = path_id(w, true)};
    w->way = way;
    if (w->n_returns && !w->insn.imm_at && hp_work_goes_on(w, w->returns[w->n_returns - 1])) {
        *next = w->returns[--w->n_returns];
        emit_expected(w, *next, way.path);
        w->node = w->calls[w->n_returns];
        return true;
    }
    emit_return(w, way.path);
    return false;
}

/* An indirect jump or call, to the node at which a path starts. */
static void end_indirect(struct work *w)
{
    bool is_call = w->insn.kind == HP_X86_CALL_IND, is_start;
    struct hp_way way = {.calls = is_call, .path = is_call ? 0 : path_id(w, true)};
    w->way = way;
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_RCX);
    mark(w, false, true, NOT_SAVED, NOT_SAVED);
    hp_exit_load_target(w);
    hp_emit_save(&w->e, HP_X86_RCX, HP_AT_TARGET);
    if (is_call) {
        hp_exit_push_return(w);
        emit_push_place(w, HP_X86_RCX, place_of(w));
        w->pushed = true;
    } else {
        uint32_t from = w->again ? 0 : hp_paths_function(w->self, w->piece->start, &is_start);
        hp_emit_restore(&w->e, HP_X86_RCX, HP_AT_COUNTERS + way.path * 8);
        hp_emit_add(&w->e, HP_X86_RCX, 1);
        hp_emit_save(&w->e, HP_X86_RCX, HP_AT_COUNTERS + way.path * 8);
        hp_emit_set(&w->e, HP_AT_FROM, from);
    }
    hp_exit_set(w);
    hp_exit_lookup(w, false);
}

bool hp_node_takes(unsigned kind)
{
    return kind == HP_X86_JUMP || kind == HP_X86_CALL || kind == HP_X86_COND ||
           kind == HP_X86_COUNTED || kind == HP_X86_JUMP_IND || kind == HP_X86_CALL_IND ||
           kind == HP_X86_RET || kind == HP_X86_SYSCALL;
}

bool hp_node_end(struct work *w, uint64_t *next)
{
    uint64_t behind = w->pc + w->insn.length, target = hp_x86_target(&w->insn, w->pc);
    w->pushed = false;
    switch (w->insn.kind) {
    case HP_X86_JUMP: return end_jump(w, target, next);
    case HP_X86_CALL: return end_call(w, target, next);
    case HP_X86_COND:
    case HP_X86_COUNTED: return end_cond(w, target, behind, next);
    case HP_X86_JUMP_IND:
    case HP_X86_CALL_IND: end_indirect(w); return false;
    case HP_X86_RET: return end_return(w, next);
    default: /* HP_X86_SYSCALL */
        w->way = way_to(w, behind, false);
        hp_exit_gate(w, HP_GATE_SYSCALL, behind);
        return false;
    }
}
