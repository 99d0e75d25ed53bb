// SPDX-License-Identifier: MIT
/*
 * Which paths an engine counts (HP_RECORD_PATHS), and what the end of a block does to one. The
 * whole protocol is in docs/counted-paths.md. No libc: the native engine includes this.
 */
#ifndef HP_ENGINE_PATHS_H
#define HP_ENGINE_PATHS_H

#include "hotpath/isa.h"

#include <stdbool.h>
#include <stdint.h>

/* The paths are Ball-Larus paths, extended or not (docs/paths.md). */
struct hp_path_rules {
    uint32_t max_length;    /* outcomes of a path; 0: no paths are counted */
    uint32_t max_extension; /* backward branches that a path grows through */
    uint32_t by_encoding;   /* not 0: a branch is backward by its encoded target, taken or not */
};

/* How far a path has grown. Both are 0 where it starts. */
struct hp_path_growth {
    uint32_t length;    /* outcomes */
    uint32_t extension; /* backward branches among them */
};

/* The end of a block: its last instruction. */
struct hp_path_exit {
    uint64_t last;   /* its address */
    uint64_t end;    /* the address after it */
    uint64_t direct; /* where a direct branch leads when it is taken; else 0 */
    uint8_t flow;    /* enum hp_flow */
};

/* What the end of a block does to the path that it is on. */
enum hp_path_move {
    HP_MOVE_STRAIGHT, /* it is no branch: the path goes on at the next address */
    HP_MOVE_ON,       /* the path grows by an outcome, and goes on at the target */
    HP_MOVE_CYCLE,    /* the path is finished; the next starts at the target, in the same frame */
    HP_MOVE_CALL,     /* a path starts at the target, in a new frame; this one waits */
    HP_MOVE_RETURN,   /* the path is finished, and its frame; that of the caller goes on */
    HP_MOVE_JUMP,     /* as HP_MOVE_CYCLE, unless it is a longjmp: see hp_path_may_land() */
};

/* Control goes from the end of a block to `target`; `taken` is false when that is the address after
 * it and it could have gone elsewhere. With HP_MOVE_ON, `*growth` is that of the longer path. */
static inline enum hp_path_move hp_path_move(const struct hp_path_rules *rules,
                                             struct hp_path_growth *growth,
                                             const struct hp_path_exit *from, uint64_t target,
                                             bool taken)
{
    bool backward = false;
    switch (from->flow) {
    case HP_FLOW_NONE:
    case HP_FLOW_SYSCALL:
    case HP_FLOW_TRAP: return HP_MOVE_STRAIGHT;
    case HP_FLOW_COND:
    case HP_FLOW_JUMP:
        backward = taken && target <= from->last;
        if (rules->by_encoding && from->direct)
            backward = from->direct <= from->last;
        break;
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: /* a call of the next address only reads the program counter */
        if (taken && target != from->end)
            return HP_MOVE_CALL;
        break;
    case HP_FLOW_RETURN:
        if (taken)
            return HP_MOVE_RETURN;
        break;
    default:
        if (taken)
            return HP_MOVE_JUMP;
        break;
    }
    if ((backward && growth->extension == rules->max_extension) ||
        growth->length == rules->max_length)
        return HP_MOVE_CYCLE;
    growth->extension += backward;
    growth->length++;
    return HP_MOVE_ON;
}

/* Whether a thread in words may count from the target on, whatever path it is on: one starts there
 * for certain. */
static inline bool hp_path_starts(const struct hp_path_rules *rules,
                                  const struct hp_path_exit *from, uint64_t target, bool taken)
{
    struct hp_path_growth none = {0, rules->max_extension};
    switch (hp_path_move(rules, &none, from, target, taken)) {
    case HP_MOVE_CALL:
    case HP_MOVE_JUMP: return true;
    case HP_MOVE_CYCLE: return rules->max_extension == 0 && rules->max_length > 0;
    default: return false;
    }
}

/* What hp_arena_function() says of an address, other than where its function starts. */
#define HP_FUNCTION_NONE    0u /* it is in none */
#define HP_FUNCTION_UNKNOWN 1u /* the reader has not said yet */

/* Whether a jump to `target` may return to a frame further down (longjmp, an exception). `from` and
 * `to`: the functions of the start of the block that jumps, and of the target. */
static inline bool hp_path_may_land(uint64_t from, uint64_t to, uint64_t target)
{
    if (from == HP_FUNCTION_NONE || to == HP_FUNCTION_NONE)
        return false;
    if (from == HP_FUNCTION_UNKNOWN || to == HP_FUNCTION_UNKNOWN)
        return true;
    return from != to && to != target;
}

#endif
