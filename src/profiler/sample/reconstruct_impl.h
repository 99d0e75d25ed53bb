// SPDX-License-Identifier: MIT
/*
 * Path reconstruction, inside: the graph backwards, and the walk over it.
 */
#ifndef HP_PROFILER_SAMPLE_RECONSTRUCT_IMPL_H
#define HP_PROFILER_SAMPLE_RECONSTRUCT_IMPL_H

#include "base/map64.h"
#include "hotpath/reconstruct.h"

/* --- The graph -------------------------------------------------------------------------------- */

/* How control came from one place to another. */
enum hp_arrow_kind {
    HP_ARROW_PLAIN,  /* within a routine, or nobody knows better */
    HP_ARROW_TAIL,   /* a jump to another routine's beginning: nothing will come back here */
    HP_ARROW_RETURN, /* from a callee */
    HP_ARROW_CALL,
};

/* An edge, as it is seen from where it leads to. */
struct hp_arrow {
    uint32_t from, to;
    uint32_t site; /* RETURN: the place that ends with the call */
    uint8_t kind;
    int8_t bit; /* direction of the conditional branch that it is of; -1: of none */
    uint64_t count;
};

struct hp_graph_place {
    uint64_t start, last, end, target; /* as in struct hp_block */
    uint32_t block; /* one that starts here: its first `insns` instructions are the place's */
    uint32_t insns;
    uint8_t flow, flags; /* HP_FLOW_NONE: cut, it falls through */
    bool begins;         /* a routine begins here, or nothing is known before */
    size_t first;        /* arrows here: those that are no calls, */
    size_t calls;        /* and calls, up to the next one's first */
    uint64_t entered;    /* how often by calls and tail jumps, */
    uint64_t called;     /* by calls alone, */
    uint64_t came;       /* in any way */
    uint64_t left;       /* how often it was executed to its end */
};

struct hp_place_graph {
    struct hp_code *code;
    struct hp_graph_place *places; /* by address; one more, with `first` only */
    uint32_t n;
    size_t cap_places;
    struct hp_arrow *arrows; /* by `to`, calls last, how often, kind, `from` */
    size_t n_arrows, cap_arrows;
    struct hp_map64 by_start; /* address to place */
    struct hp_map64 by_ends;  /* from << 32 | to, to the arrow */
    struct hp_map64 by_call;  /* address behind a call to the place that ends with it */
    uint64_t longest;         /* place, in bytes */
    size_t executed, left_out;
};

enum hp_err hp_place_graph_init(struct hp_place_graph *graph, struct hp_code *code,
                                const struct hp_edge_count *edges, size_t n_edges,
                                struct hp_frame_source *frames, bool executed);
void hp_place_graph_fini(struct hp_place_graph *graph);

/* While it is made: adds an arrow, or adds to its count; lets all exits of a routine return to
 * whoever calls it. */
enum hp_err hp_place_graph_add(struct hp_place_graph *graph, uint32_t from, uint32_t to,
                               uint64_t count);
enum hp_err hp_place_graph_exits(struct hp_place_graph *graph);

/* The place that has the instruction at an address, and which of its instructions that is;
 * HP_NO_ID: none. */
enum hp_err hp_place_find(const struct hp_place_graph *graph, uint64_t address, uint32_t *place,
                          uint32_t *index);
/* The place in which a block begins; HP_NO_ID when it is not in the graph. */
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

/* A query with its addresses looked up. All of it is the key under which its answer is kept. */
struct hp_walk_query {
    uint32_t place, index; /* of the sample; index: 0 where it makes no difference */
    uint32_t other, other_index;
    uint32_t history;
    uint16_t distance;
    uint8_t bits, scheme, across, likeliest, reserved[6];
};

/* Somewhere on the way back, with all that what comes before depends on. */
struct hp_walk_state {
    uint32_t place;
    uint32_t stack; /* calls that have to be met, of returns that were */
    uint16_t near;  /* instructions from here to the sample, as far as the pair's distance */
    uint8_t level;  /* branches from here to the sample */
    uint8_t seen;   /* the pair's other instruction */
    uint8_t way;    /* hp_walk_best(): the likeliest has 0 */
    bool ends;      /* hp_walk_all(): a segment begins here */
    uint32_t link;  /* the last of its links; 0: none */
    uint64_t path;  /* hp_walk_best(): which way it is, */
    double cost;    /* and the logarithm of how unlikely that is */
};

/* From a state to one nearer to the sample. */
struct hp_walk_link {
    uint32_t state;
    uint32_t next; /* another one of the same state; 0: none */
};

/* A step that may be taken. */
struct hp_walk_choice {
    double cost; /* with it */
    uint32_t state;
    bool only;    /* nothing less likely comes after it in the list of arrows */
    size_t arrow; /* SIZE_MAX: none, the routine begins */
};

struct hp_walk_frame {
    uint32_t below, site;
    uint32_t depth;
};

/* Returns one in the other, of which the calls have not been met: a segment with more is not
 * considered. Else a routine that calls itself, and after that does nothing but return, would have
 * segments without end. */
#define HP_WALK_DEPTH 64

/* A slot of a hash table that is emptied by counting up. */
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
    uint32_t pending[HP_RECONSTRUCT_BITS + 1]; /* of them by level */
    uint8_t ways;
    struct hp_walk_slot *state_slots, *frame_slots;
    uint32_t mask, round;
    /* What was asked, and found. */
    const struct hp_walk_query *query;
    struct hp_reconstruct_answer *answer;
    uint32_t end; /* of the likeliest way: the state that its full segment begins with */
    bool over;
};

enum hp_err hp_walk_init(struct hp_backward_walk *walk, const struct hp_place_graph *graph,
                         uint32_t states);
void hp_walk_fini(struct hp_backward_walk *walk);

/* All segments of the full length: afterwards every way from a state with `ends` along links to
 * state 0 is one; unless it is `over`. HP_ERR_NOMEM. */
enum hp_err hp_walk_all(struct hp_backward_walk *walk, const struct hp_walk_query *query);
/* For all lengths the likeliest segment, or whether there are two: `ways`. With `linked`, the
 * likeliest one of the full length is from `end` along links. HP_ERR_NOMEM. */
enum hp_err hp_walk_best(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                         uint8_t ways, bool linked, struct hp_reconstruct_answer *answer);
/* Step by step alone: COUNTS and EDGES. `trail`, unless NULL, gets the places, the sample's first.
 */
struct hp_walk_trail {
    uint32_t *places;
    size_t n, cap;
};
enum hp_err hp_walk_greedy(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                           struct hp_walk_trail *trail, struct hp_reconstruct_answer *answer);

/* Begins with a query. */
void hp_walk_start(struct hp_backward_walk *walk, const struct hp_walk_query *query,
                   struct hp_reconstruct_answer *answer);

/* The state like that, a new one if need be; HP_NO_ID when there is no room. */
uint32_t hp_walk_find(struct hp_backward_walk *walk, const struct hp_walk_state *like);

/* Notes how a state leads to one nearer to the sample. */
enum hp_err hp_walk_join(struct hp_backward_walk *walk, uint32_t from, uint32_t to);

/* Takes `insns` more instructions, up to the end of those of a place, into a state's segment.
 * False: the pair's other instruction should be among them, and is not. */
bool hp_walk_extend(const struct hp_walk_query *query, struct hp_walk_state *state, uint32_t place,
                    uint32_t insns);
/* Whether a segment that begins here has the pair's other instruction in it, or is too short to
 * have it. */
bool hp_walk_accepts(const struct hp_walk_query *query, const struct hp_walk_state *state);

/* What is left of a stack behind a step back; HP_NO_ID: that is no step, or there is no room. */
#define HP_WALK_EMPTY 0 /* the stack of no calls */
uint32_t hp_walk_behind(struct hp_backward_walk *walk, const struct hp_arrow *arrow,
                        uint32_t stack);

/* Identities of paths: of none, of one longer by a place, of one that begins there. */
static inline uint64_t hp_walk_path(uint64_t path, uint32_t place)
{
    path = (path ^ (place + 1)) * 0x9e3779b97f4a7c15u;
    return path ^ path >> 29;
}
#define HP_WALK_BEGINNING (UINT32_MAX - 1)

#endif
