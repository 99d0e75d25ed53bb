// SPDX-License-Identifier: MIT
#include "path_engine.h"

#include "base/grow.h"

#include <stdlib.h>

static void *grow(void *array, size_t *cap, size_t need, size_t size)
{
    if (hp_grow(array, cap, need, size) != HP_OK)
        abort();
    return array;
}

/* --- Words ------------------------------------------------------------------------------------ */

void sim_put(struct sim_words *to, uint32_t word)
{
    grow(&to->words, &to->cap, to->n + 1, sizeof *to->words);
    to->words[to->n++] = word;
}

void sim_put_event(struct sim_words *to, enum hp_word_kind kind, uint32_t arg,
                   const uint32_t *payload)
{
    uint32_t word = hp_word_event(kind, arg);
    sim_put(to, word);
    for (int i = 0; i < hp_word_payload(word); i++)
        sim_put(to, payload[i]);
}

/* --- Chance ----------------------------------------------------------------------------------- */

static bool happens(struct sim_engine *e, uint32_t percent)
{
    e->random = e->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(e->random >> 33) % 100 < percent;
}

static bool take_id(struct sim_engine *e)
{
    return e->ids && e->ids--;
}

/* --- Prefixes and paths ----------------------------------------------------------------------- */

uint32_t sim_engine_prefix(struct sim_engine *e, const struct sim_node *before, uint32_t segment,
                           enum hp_prefix_how how, uint64_t start)
{
    struct hp_arena_prefix prefix = {before ? before->prefix : 0, segment, how};
    return take_id(e) ? hp_arena_add_prefix(e->arena, &prefix, start) : 0;
}

bool sim_engine_start(struct sim_engine *e, const struct sim_piece *piece)
{
    e->node = (struct sim_node){
        .prefix = sim_engine_prefix(e, NULL, piece->segment, HP_PREFIX_BRANCHED, piece->start),
        .segment = piece->segment,
        .start = piece->start};
    return e->node.prefix;
}

/* The path `from` goes on with the block; false: no ids are left, and nothing has changed. */
static bool extend(struct sim_engine *e, const struct sim_node *from, uint32_t segment,
                   enum hp_prefix_how how, struct hp_path_growth growth)
{
    uint32_t prefix = sim_engine_prefix(e, from, segment, how, from->start);
    if (prefix)
        e->node = (struct sim_node){prefix, segment, from->start, growth};
    return prefix;
}

bool sim_engine_count(struct sim_engine *e, bool taken)
{
    struct hp_arena_path path = {e->node.prefix, taken};
    uint32_t id = take_id(e) ? hp_arena_add_path(e->arena, &path) : 0;
    if (!id)
        return false;
    grow(&e->counters, &e->cap_counters, (size_t)id + 1, sizeof *e->counters);
    e->counters[id]++;
    e->counted++;
    return true;
}

void sim_engine_hand_over(struct sim_engine *e)
{
    if (!e->counting)
        return;
    for (size_t i = 0; i < e->depth; i++) {
        const struct sim_shadow *s = &e->stack[i];
        uint32_t payload[] = {s->node.prefix, (uint32_t)s->return_to,
                              (uint32_t)(s->return_to >> 32)};
        sim_put_event(e->out, HP_WORD_FRAME, 0, payload);
    }
    sim_put_event(e->out, HP_WORD_HANDED, 0, (uint32_t[]){e->node.prefix, e->node.segment});
    e->handed++;
    e->frames += e->depth;
    e->counting = false;
    e->depth = 0;
}

/* --- Transfers -------------------------------------------------------------------------------- */

bool sim_leads(const struct sim_piece *from, uint64_t to)
{
    switch ((enum hp_flow)from->exit.flow) {
    case HP_FLOW_COND: return to == from->exit.direct || to == from->exit.end;
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL: return to == from->exit.direct;
    case HP_FLOW_CALL_IND:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_RETURN: return true;
    default: return to == from->exit.end;
    }
}

static bool is_taken(const struct sim_piece *from, uint64_t to)
{
    bool may_fall = from->exit.flow == HP_FLOW_COND || from->exit.flow == HP_FLOW_SYSCALL ||
                    from->exit.flow == HP_FLOW_TRAP || from->exit.flow == HP_FLOW_NONE;
    return !(may_fall && to == from->exit.end);
}

static void push(struct sim_engine *e, const struct sim_node *node)
{
    grow(&e->stack, &e->cap_stack, e->depth + 1, sizeof *e->stack);
    e->stack[e->depth++] = (struct sim_shadow){*node, e->last.exit.end};
}

static bool may_land(struct sim_engine *e, const struct sim_piece *to)
{
    const struct sim_piece *from = &e->last;
    bool may =
        hp_path_may_land(hp_arena_function(e->arena, from->module, from->base, from->start),
                         hp_arena_function(e->arena, to->module, to->base, to->start), to->start);
    e->landed += may;
    e->spared += !may;
    return may;
}

/* Returns to the frame below, which expects that. */
static bool come_back(struct sim_engine *e, uint32_t segment)
{
    const struct sim_node *caller = &e->stack[--e->depth].node;
    e->returned++;
    return sim_engine_count(e, true) &&
           extend(e, caller, segment, HP_PREFIX_RETURNED, caller->growth);
}

/* Counting, the thread goes on with the block; false: that takes words, and nothing has changed. */
static bool go_on(struct sim_engine *e, const struct sim_piece *piece)
{
    uint64_t to = piece->start;
    struct sim_node from = e->node;
    struct hp_path_growth growth = from.growth;
    bool taken = is_taken(&e->last, to);
    if (!sim_leads(&e->last, to) || happens(e, e->hands_over) || e->ids < 2)
        return false;
    switch (hp_path_move(&e->rules, &growth, &e->last.exit, to, taken)) {
    case HP_MOVE_STRAIGHT:
    case HP_MOVE_ON: return extend(e, &from, piece->segment, HP_PREFIX_BRANCHED, growth);
    case HP_MOVE_CALL:
        if (e->depth == e->room)
            return false;
        push(e, &from);
        return sim_engine_start(e, piece);
    case HP_MOVE_RETURN:
        return e->depth && e->stack[e->depth - 1].return_to == to && come_back(e, piece->segment);
    case HP_MOVE_JUMP:
        if (may_land(e, piece))
            return false;
        break;
    case HP_MOVE_CYCLE: break;
    }
    return sim_engine_count(e, taken) && sim_engine_start(e, piece);
}

static bool may_count(const struct sim_engine *e, uint64_t to)
{
    return e->has_last && sim_leads(&e->last, to) &&
           hp_path_starts(&e->rules, &e->last.exit, to, is_taken(&e->last, to));
}

/* --- What befalls the thread ------------------------------------------------------------------ */

void sim_engine_run(struct sim_engine *e, const struct sim_piece *piece)
{
    if (e->counting && !go_on(e, piece))
        sim_engine_hand_over(e);
    if (!e->counting) {
        if (may_count(e, piece->start) && happens(e, e->counts) && sim_engine_start(e, piece)) {
            sim_put_event(e->out, HP_WORD_COUNTING, 0, &piece->segment);
            e->begun++;
            e->counting = true;
        } else {
            sim_put(e->out, piece->segment);
        }
    }
    e->last = *piece;
    e->has_last = true;
}

void sim_engine_event(struct sim_engine *e, const uint32_t *words)
{
    enum hp_word_kind kind = (enum hp_word_kind)hp_word_kind(words[0]);
    bool is_apart = kind == HP_WORD_FORK || kind == HP_WORD_EXEC || kind == HP_WORD_EXEC_FAILED ||
                    kind == HP_WORD_MODULE;
    if (!is_apart) {
        sim_engine_hand_over(e);
        e->has_last = false;
    }
    sim_put_event(e->out, kind, hp_word_arg(words[0]), words + 1);
}

void sim_engine_fini(struct sim_engine *e)
{
    free(e->stack);
    free(e->counters);
    *e = (struct sim_engine){0};
}
