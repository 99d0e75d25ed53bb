// SPDX-License-Identifier: MIT
/*
 * The inside of the code map, for the cursor: it is the only other reader.
 *
 * A segment's *route* says what its own code is:
 *
 *   a block id            exactly that block
 *   HP_ROUTE_NODE | node  an open piece of code: a node
 *   HP_ROUTE_UNKNOWN      the segment is not defined
 *
 * Its *chain* says what its word means: the executed blocks, those of its parents first. A *node*
 * is the beginning of a block whose end has not been seen: the code from `start` to `end`, without
 * a control transfer. Nodes come from open segments, from joining a node with what ran next, and
 * from the first part of a block that was cut short.
 */
#ifndef HP_STREAM_CODE_IMPL_H
#define HP_STREAM_CODE_IMPL_H

#include "base/map64.h"
#include "hotpath/code.h"

#include <stdbool.h>

#define HP_EVENT_WORDS   5 /* at most: an event word and its payload */
#define HP_ROUTE_NODE    0x80000000u
#define HP_ROUTE_UNKNOWN UINT32_MAX

/* What the cursor checks and sums up for every block; half a cache line each. `fall` and `target`
 * are HP_NOWHERE when the block cannot go there. */
#define HP_NOWHERE (~(uint64_t)0)
struct hp_hot {
    uint64_t start;
    uint64_t fall;
    uint64_t target;
    uint32_t insns;
    uint32_t anywhere; /* 1: an indirect transfer; any address may follow */
};

/*
 * The chain of a segment: one cache line with all that the cursor needs for nearly every word. The
 * complete list of blocks is in its unit.
 */
#define HP_CHAIN_NEAR 4
struct hp_chain {
    uint64_t start;        /* of its first block */
    uint64_t fall, target; /* of its last block, as in struct hp_hot */
    int32_t strict;        /* 0: any block may follow that one; else all ones */
    uint32_t traced;       /* if it is in a trace, HP_TRACED_... and the instructions; else 0 */
    uint32_t unit;         /* valid when there are blocks; with blocks[0], a struct hp_step */
    uint32_t blocks[HP_CHAIN_NEAR]; /* its first blocks */
    uint32_t taken;                 /* outcomes of the first three: bytes 1 to 3 */
    int64_t weight; /* instructions in its whole blocks, plus their number times HP_CHAIN_BLOCK; an
                       open piece is not included. Negative: needs the slow path */
};
#define HP_CHAIN_BLOCK ((int64_t)1 << 40)
#define HP_CHAIN_SLOW  INT64_MIN
_Static_assert(sizeof(struct hp_chain) == 64, "a chain is a cache line");

/* What an execution of a segment in a trace is: an entry, and one up to its end. Below them is room
 * for the instructions of as many words as the fast loop takes at once, if they are few. */
#define HP_TRACED_ENTRY ((uint32_t)1 << 26)
#define HP_TRACED_WHOLE ((uint32_t)1 << 31)
#define HP_TRACED_FEW   8192

/* The blocks of a unit: one, `at`; or `n` in `chain_blocks` and `chain_taken` from `at` on. There a
 * run shares the entries of its parent if possible. */
struct hp_unit {
    uint32_t at, n;
};

struct hp_node {
    uint64_t start;
    uint64_t end;
    uint64_t last;  /* address of the last instruction; == start - 1 when there is none */
    uint32_t insns; /* below HP_BLOCK_MAX_INSNS */
    uint32_t module;
    uint32_t code; /* position of the bytes */
    uint8_t mode;
    uint8_t last_is_rep;
};

/* The result of joining a node with what ran next: a whole block and then possibly more (a block
 * that grew past HP_BLOCK_MAX_INSNS is split), or only more. `rest` is a route. */
struct hp_join {
    uint32_t block; /* HP_NO_ID: none yet */
    uint32_t rest;
};

struct hp_code_segment {
    uint64_t start;
    uint32_t module;
    uint32_t size;
    uint32_t code;
    uint32_t parent;
    uint8_t mode;
    uint8_t trace; /* enum hp_in_trace */
    uint8_t defined;
};

/* How a signal interrupted the code: between two instructions, because an instruction faulted (and
 * runs again afterwards), or unknown. */
enum hp_signal_cause {
    HP_CAUSE_OUTSIDE,
    HP_CAUSE_FAULT,
    HP_CAUSE_EITHER,
};

/* Numbers of memory operands by id, plus one; 0: not counted yet. */
struct hp_mems {
    uint32_t *counts;
    size_t cap;
};

struct hp_handler {
    uint64_t address;
    bool outside, fault; /* installed for signals of this cause */
};

struct hp_code {
    enum hp_arch arch;
    struct hp_decoder *decoder;
    void (*prepare)(void *context); /* before a change; NULL: nobody minds */
    void *context;

    uint32_t *route; /* by segment id */
    struct hp_chain *chains;
    struct hp_code_segment *segs;
    uint32_t segment_limit; /* routes, chains and segs below this are valid */
    size_t cap_route, cap_chains, cap_segs;
    uint32_t *chain_blocks;
    uint8_t *chain_taken; /* [i]: outcome of chain_blocks[i], unless it ends its run */
    size_t n_chain_blocks, cap_chain_blocks, cap_chain_taken;
    struct hp_unit *units;
    uint32_t n_units;
    size_t cap_units;

    struct hp_hot *hot; /* by block id, like blocks */
    struct hp_block *blocks;
    uint32_t *next_at_start; /* by block id: another block with the same start, or HP_NO_ID */
    uint32_t *unit_of;       /* by block id */
    uint32_t n_blocks;
    size_t cap_hot, cap_blocks, cap_next, cap_unit_of;
    struct hp_map64 at_start; /* start address -> block id */
    /* For starts with several blocks, such as code that is repeatedly generated or loaded at one
     * place. Keys are hashes; if one is taken by another block, the next number. */
    struct hp_map64 same_code;  /* start, module, code -> block id */
    struct hp_map64 same_place; /* start, module -> the latest block's id */
    struct hp_insn **insns;     /* by block id: decoded instructions, NULL: not decoded yet */
    size_t cap_insns;
    struct hp_mems block_mems, node_mems, segment_mems;

    struct hp_node *nodes;
    uint32_t n_nodes;
    size_t cap_nodes;
    struct hp_join *joins;
    uint32_t n_joins;
    size_t cap_joins;
    struct hp_map64 join_of;   /* node << 32 | route -> join */
    struct hp_map64 prefix_of; /* block << 32 | bytes -> node */

    uint8_t *bytes;
    size_t n_bytes, cap_bytes;

    struct hp_module *modules;
    uint32_t n_modules;
    size_t cap_modules;
    struct hp_map64 module_of; /* hash of path, build id and base, or the next number -> module */

    struct hp_handler *handlers;
    size_t n_handlers, cap_handlers;
    struct hp_map64 handler_at; /* address -> handler */
};

/* How many blocks a weight stands for, and how many instructions. */
static inline size_t hp_weight_blocks(int64_t weight)
{
    return (size_t)((weight & INT64_MAX) / HP_CHAIN_BLOCK);
}

static inline uint64_t hp_weight_insns(int64_t weight)
{
    return (uint64_t)(weight & (HP_CHAIN_BLOCK - 1));
}

/* Instructions of the segment's last block, or open piece. */
static inline uint32_t hp_code_last_insns(const struct hp_code *code, uint32_t id)
{
    uint32_t route = code->route[id];
    return route & HP_ROUTE_NODE ? code->nodes[route & ~HP_ROUTE_NODE].insns
                                 : code->blocks[route].insns;
}

/* All of its instructions, with the open piece. */
static inline uint64_t hp_code_all_insns(const struct hp_code *code, uint32_t id)
{
    uint64_t insns = hp_weight_insns(code->chains[id].weight);
    return code->route[id] & HP_ROUTE_NODE ? insns + hp_code_last_insns(code, id) : insns;
}

/* The blocks of a chain; it must have some. Valid until the next segment is added. */
static inline const uint32_t *hp_chain_blocks(const struct hp_code *code,
                                              const struct hp_chain *chain)
{
    return hp_weight_blocks(chain->weight) > HP_CHAIN_NEAR
               ? code->chain_blocks + code->units[chain->unit].at
               : chain->blocks;
}

/* The latest block that starts at `address`, or HP_NO_ID. The others follow it in
 * `next_at_start`. */
static inline uint32_t hp_code_block_at(const struct hp_code *code, uint64_t address)
{
    return hp_map64_get(&code->at_start, address); /* HP_MAP64_NONE == HP_NO_ID */
}

/* The same in this module; if it has none, in any. */
uint32_t hp_code_block_in(const struct hp_code *code, uint32_t module, uint64_t address);

/* Joins `node` with the code of `route`, which starts at the node's end. */
enum hp_err hp_code_join(struct hp_code *code, uint32_t node, uint32_t route, struct hp_join *join);

/* The node of a block's first instructions, up to the address `end` (== its start: an empty node).
 * HP_ERR_INVALID: `end` is not the start of one of its instructions. */
enum hp_err hp_code_prefix(struct hp_code *code, uint32_t block, uint64_t end, uint32_t *node);

/* The same by number of instructions (at most those of the block without the last one). */
enum hp_err hp_code_prefix_insns(struct hp_code *code, uint32_t block, uint32_t insns,
                                 uint32_t *node);

/* A block for a node that will never be completed: it ends with HP_FLOW_NONE. */
enum hp_err hp_code_close_node(struct hp_code *code, uint32_t node, uint32_t *block);

/*
 * The number of memory operands (hp_insn.n_mems) of the first `insns` instructions of the code of
 * `route`; and of all code that the word of a defined segment stands for, of whose own code only
 * `insns` instructions count. UINT32_MAX: all; these numbers are cached, a segment's with those of
 * all its blocks. HP_ERR_NOMEM.
 */
enum hp_err hp_code_mems(struct hp_code *code, uint32_t route, uint32_t insns, uint32_t *mems);
enum hp_err hp_code_segment_mems(struct hp_code *code, uint32_t id, uint32_t insns, uint32_t *mems);

/* Whether signals enter blocks that start here. */
bool hp_code_is_handler(const struct hp_code *code, uint64_t address);

/* The cause of a signal, by the program's signal number; 0: unknown. */
enum hp_signal_cause hp_code_signal_cause(const struct hp_code *code, uint32_t signal);

/* Records that the handler at `address` was installed for `signal`; the cause of signals that
 * arrive there, as far as that is known. */
void hp_code_set_handler_signal(struct hp_code *code, uint64_t address, uint32_t signal);
enum hp_signal_cause hp_code_handler_cause(const struct hp_code *code, uint64_t address);

#endif
