// SPDX-License-Identifier: MIT
/*
 * Path reconstruction, inside: the backward graph, and the walk over it.
 */
#ifndef HP_PROFILER_SAMPLE_RECONSTRUCT_IMPL_H
#define HP_PROFILER_SAMPLE_RECONSTRUCT_IMPL_H

#include "base/map64.h"
#include "hotpath/reconstruct.h"

/* --- The graph -------------------------------------------------------------------------------- */

/* How control came from one place to another. */
enum hp_arrow_kind {
    HP_ARROW_PLAIN,  /* within a routine, or unknown */
    HP_ARROW_TAIL,   /* a jump to the entry of another routine: it will not return here */
    HP_ARROW_RETURN, /* from a callee */
    HP_ARROW_CALL,
};

/* An edge, seen from its target. */
struct hp_arrow {
    uint32_t from, to;
    uint32_t site; /* RETURN: the place that ends with the call */
    uint8_t kind;
    int8_t bit; /* direction of its conditional branch; -1: none */
    uint64_t count;
};

struct hp_graph_place {
    uint64_t start, last, end, target; /* as in struct hp_block */
    uint32_t block; /* one that starts here: its first `insns` instructions are the place's */
    uint32_t insns;
    uint8_t flow, flags; /* HP_FLOW_NONE: cut, it falls through */
    bool begins;         /* a routine begins here, or nothing before it is known */
    size_t first;        /* arrows to it: first those that are not calls, */
    size_t calls;        /* then calls, up to the next place's first */
    uint64_t entered;    /* how often by calls and tail jumps */
    uint64_t called;     /* how often by calls alone */
    uint64_t came;       /* how often in any way */
    uint64_t left;       /* how often it was executed to its end */
};

struct hp_place_graph {
    struct hp_code *code;
    struct hp_graph_place *places; /* by address; one more, of which only `first` is valid */
    uint32_t n;
    size_t cap_places;
    struct hp_arrow *arrows; /* by `to`, calls last, count, kind, `from` */
    size_t n_arrows, cap_arrows;
    struct hp_map64 by_start; /* address to place */
    struct hp_map64 by_ends;  /* from << 32 | to, to the arrow */
    struct hp_map64 by_call;  /* address after a call to the place that ends with it */
    uint64_t longest;         /* place, in bytes */
    size_t executed, left_out;
};

enum hp_err hp_place_graph_init(struct hp_place_graph *graph, struct hp_code *code,
                                const struct hp_edge_count *edges, size_t n_edges,
                                struct hp_frame_source *frames, bool executed);
/* From samples: the arrows that the code allows between all its blocks, and those that samples saw;
 * the count of an arrow is the number of samples that took it. */
enum hp_err hp_place_graph_sampled(struct hp_place_graph *graph, struct hp_code *code,
                                   const struct hp_path_observation *samples, size_t n,
                                   const bool *known, struct hp_frame_source *frames);
void hp_place_graph_fini(struct hp_place_graph *graph);

/* While it is built: adds an arrow, or adds to its count; lets all exits of a routine return to all
 * its callers (`guess`: of a routine that no exit was observed to leave, all that can be reached);
 * sorts the arrows by target, so that every place knows its own, also when counts changed. */
enum hp_err hp_place_graph_add(struct hp_place_graph *graph, uint32_t from, uint32_t to,
                               uint64_t count);
enum hp_err hp_place_graph_exits(struct hp_place_graph *graph, bool guess);
enum hp_err hp_place_graph_order(struct hp_place_graph *graph);

/* The place that contains the instruction at an address, and its index there; HP_NO_ID: none. */
enum hp_err hp_place_find(const struct hp_place_graph *graph, uint64_t address, uint32_t *place,
                          uint32_t *index);
/* The place in which a block begins; HP_NO_ID: not in the graph. */
uint32_t hp_place_of_block(const struct hp_place_graph *graph, uint32_t block);
/* The arrow between two places, or NULL. */
const struct hp_arrow *hp_place_arrow(const struct hp_place_graph *graph, uint32_t from,
                                      uint32_t to);

static inline bool hp_place_conditional(const struct hp_graph_place *place)
{
    return place->flow == HP_FLOW_COND || place->flags & HP_BLOCK_CONDITIONAL;
}

static inline bool hp_place_calls(const struct hp_graph_place *place)
{
    return place->flow == HP_FLOW_CALL || place->flow == HP_FLOW_CALL_IND;
}

/* --- The walk --------------------------------------------------------------------------------- */

/* A query with its addresses resolved. All of it is the key of its cached answer. */
struct hp_walk_query {
    uint32_t place, index; /* of the sample; index: 0 where it does not matter */
    uint32_t other, other_index;
    uint32_t history;
    uint16_t distance;
    uint8_t bits, scheme, across, likeliest, reserved[6];
};

/* A point on the way back, with everything that the rest of the way depends on. */
struct hp_walk_state {
    uint32_t place;
    uint32_t stack; /* calls that must be met, for the returns so far */
    uint16_t near;  /* instructions from here to the sample, up to the pair's distance */
    uint8_t level;  /* branches from here to the sample */
    uint8_t seen;   /* the pair's other instruction was met */
    uint8_t way;    /* hp_walk_best(): 0 for the likeliest */
    bool ends;      /* hp_walk_all(): a segment begins here */
    uint32_t link;  /* the last of its links; 0: none */
    uint64_t path;  /* hp_walk_best(): identifies the way */
    double cost;    /* its negative log likelihood */
};

/* From a state to one nearer to the sample. */
struct hp_walk_link {
    uint32_t state;
    uint32_t next; /* the next one of the same state; 0: none */
};

/* A step that may be taken. */
struct hp_walk_choice {
    double cost; /* including it */
    uint32_t state;
    bool only;    /* nothing less likely follows it in the list of arrows */
    size_t arrow; /* SIZE_MAX: none, the routine begins */
};

struct hp_walk_frame {
    uint32_t below, site;
    uint32_t depth;
};

/* Nested returns whose calls have not been met: segments with more are ignored. Otherwise a routine
 * that calls itself and then only returns would have infinitely many segments. */
#define HP_WALK_DEPTH 64

/* A slot of a hash table that is emptied by incrementing the round. */
struct hp_walk_slot {
    uint32_t round, value;
};

struct hp_backward_walk {
    const struct hp_place_graph *graph;
    uint32_t limit; /* of states */
    bool linked;    /* keep links */
    struct hp_walk_state *states;
    uint32_t n_states;
    struct hp_walk_frame *frames; /* the first is the empty stack */
    uint32_t n_frames;
    struct hp_walk_link *links; /* the first is none */
    size_t n_links, cap_links;
    uint32_t *todo; /* states */
    uint32_t n_todo;
    struct hp_walk_choice *heap; /* the likeliest first */
    size_t n_heap, cap_heap;
    uint32_t pending[HP_RECONSTRUCT_BITS + 1]; /* of them, by level */
    uint8_t ways;
    struct hp_walk_slot *state_slots, *frame_slots;
    uint32_t mask, round;
    /* The query and its answer. */
    const struct hp_walk_query *query;
    struct hp_reconstruct_answer *answer;
    uint32_t end; /* of the likeliest way: the first state of its full segment */
    bool over;
};

enum hp_err hp_walk_init(struct hp_backward_walk *walk, const struct hp_place_graph *graph,
                         uint32_t states);
void hp_walk_fini(struct hp_backward_walk *walk);

/* Finds all segments of the full length: afterwards every way from a state with `ends` along links
 * to state 0 is one, unless it is `over`. HP_ERR_NOMEM. */
enum hp_err hp_walk_all(struct hp_backward_walk *walk, const struct hp_walk_query *query);
/* Finds for all lengths the likeliest segment, or whether there are two: `ways`. With `linked`, the
 * likeliest one of the full length goes from `end` along links. HP_ERR_NOMEM. */
enum hp_err hp_walk_best(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                         uint8_t ways, bool linked, struct hp_reconstruct_answer *answer);
/* For COUNTS and EDGES, step by step. `trail`, unless NULL, gets the places, the sample's first. */
struct hp_walk_trail {
    uint32_t *places;
    size_t n, cap;
};
enum hp_err hp_walk_greedy(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                           struct hp_walk_trail *trail, struct hp_reconstruct_answer *answer);

/* Starts a query. */
void hp_walk_start(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                   struct hp_reconstruct_answer *answer);

/* The state like this one, created if new; HP_NO_ID: no room. */
uint32_t hp_walk_find(struct hp_backward_walk *walk, const struct hp_walk_state *like);

/* Records that a state leads to one nearer to the sample. */
enum hp_err hp_walk_join(struct hp_backward_walk *walk, uint32_t from, uint32_t to);

/* Adds the last `insns` instructions of a place to a state's segment. False: the pair's other
 * instruction should be among them, and is not. */
bool hp_walk_extend(const struct hp_walk_query *query, struct hp_walk_state *state, uint32_t place,
                    uint32_t insns);
/* Whether a segment that begins here contains the pair's other instruction, or is too short to. */
bool hp_walk_accepts(const struct hp_walk_query *query, const struct hp_walk_state *state);

/* The stack after a step back; HP_NO_ID: not a valid step, or no room. */
#define HP_WALK_EMPTY 0 /* without calls */
uint32_t hp_walk_behind(struct hp_backward_walk *walk, const struct hp_arrow *arrow,
                        uint32_t stack);

/* --- Estimates -------------------------------------------------------------------------------- */

/* Replaces the counts of a sampled graph by estimates (docs/reconstruction.md). The walk is over
 * this graph. */
enum hp_err hp_place_graph_estimate(struct hp_place_graph *graph, struct hp_backward_walk *walk,
                                    const struct hp_path_observation *samples, size_t n);

/* Identifies a path that is longer by a place, or by HP_WALK_BEGINNING: one that begins there. */
static inline uint64_t hp_walk_path(uint64_t path, uint32_t place)
{
    path = (path ^ (place + 1)) * 0x9e3779b97f4a7c15u;
    return path ^ path >> 29;
}
#define HP_WALK_BEGINNING (UINT32_MAX - 1)

#endif
