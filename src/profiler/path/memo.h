// SPDX-License-Identifier: MIT
/*
 * What units did to a path stack: an automaton that is built while the program runs, and shared by
 * the detectors of all threads.
 *
 * A *node* is all that matters at the top of the stack: the unfinished path, and the block whose
 * successor is not known yet. A *symbol* is a unit, or the rest of one. An *arc* says what a symbol
 * does at a node: the paths that it finishes (by number), the paths that it leaves waiting for a
 * call to return, and the next node. An arc that returns from the frame in which it began ends
 * there; the rest of the unit is a symbol at the node of the path that waits below. With extended
 * calls the frame may stay, if it does not return to where it was called: then the rest is a symbol
 * at the node of a new path.
 *
 * Arcs are not computed here: a detector runs the symbol one transfer at a time (detector.c), and
 * notes what happened if it depends on nothing but node and symbol.
 */
#ifndef HP_PROFILER_PATH_MEMO_H
#define HP_PROFILER_PATH_MEMO_H

#include "profiler/path/numbers.h"
#include "profiler/path/phrases.h"

struct hp_memo_node {
    uint64_t start, outcomes;
    uint64_t return_to; /* it waits for a call to return here; 0: it does not */
    uint32_t block;
    uint32_t last; /* block: retired, its successor is unknown; HP_NO_ID: none */
    uint32_t insns, pending;
    uint32_t extension, length;
};

#define HP_MEMO_NONE UINT32_MAX
#define HP_MEMO_MANY 0x80000000u

struct hp_path_arc {
    uint32_t symbol;
    uint32_t next;   /* node; 0: the arc returns */
    uint32_t out;    /* HP_MEMO_NONE: nothing else happens; below HP_MEMO_MANY: the number of the
                        path that it finishes; else, without HP_MEMO_MANY, its effect's position */
    uint32_t weight; /* instructions, and branches << HP_MEMO_BRANCHES */
};

#define HP_MEMO_BRANCHES 24
_Static_assert((HP_RUN_MAX + 1) * HP_BLOCK_MAX_INSNS < 1 << HP_MEMO_BRANCHES, "they fit");

struct hp_path_effect {
    uint8_t n_paths;   /* finished */
    uint8_t n_waiting; /* that stay below the top; after an arc that returns: 0 */
    uint8_t n_calls;   /* of frames, also those that have returned again */
    uint8_t rise;      /* the highest the stack got above where it was */
    uint8_t splits;
    uint8_t others;     /* blocks that end with no branch */
    uint8_t underflows; /* of frames above */
    uint8_t reserved;
    uint32_t then; /* it returns, and this symbol follows; HP_MEMO_NONE */
    /* With extended calls: where `then` follows if the frame began with a call that returns
     * elsewhere, which is an underflow: a path that starts where it returns to. Else 0. */
    uint32_t again;
    /* The numbers of the paths, the nodes of those that wait, and for each call how far the stack
     * was above where it had been. */
    uint32_t list[];
};

/* The arcs of a node that are tried first, in order of appearance. All others are in a hash
 * table. */
#define HP_MEMO_NEAR 4
struct hp_memo_near {
    struct hp_path_arc arcs[HP_MEMO_NEAR];
};
_Static_assert(sizeof(struct hp_memo_near) == 64, "the arcs of a node are a cache line");

struct hp_memo_far {
    uint32_t node; /* 0: free */
    struct hp_path_arc arc;
};

struct hp_path_memo {
    struct hp_path_numbers numbers;
    struct hp_phrases phrases;
    uint64_t generation;       /* how often it was emptied */
    struct hp_memo_near *near; /* by node; [0] has none */
    struct hp_memo_node *nodes;
    size_t n_nodes, cap_near, cap_nodes;
    uint32_t *slots; /* of nodes: ids, 0: free */
    size_t n_slots;
    struct hp_memo_far *far; /* open addressing, linear probing */
    size_t n_far, cap_far;
    uint32_t *effects;
    size_t n_effects, cap_effects;
    size_t max_nodes, max_far, max_effects; /* with so many (words) it is emptied */
};

void hp_path_memo_init(struct hp_path_memo *memo);
void hp_path_memo_fini(struct hp_path_memo *memo);

/* Before arcs are asked for: empties it if it has become too large. All nodes are void then;
 * numbers of paths stay. false: out of memory. */
bool hp_path_memo_bound(struct hp_path_memo *memo);

/* The node, from 1 on; 0: out of memory. */
uint32_t hp_path_memo_node(struct hp_path_memo *memo, const struct hp_memo_node *node);

/* Adds an arc that is not there yet. `effect` with its list, if arc->out is HP_MEMO_MANY. Without
 * memory nothing happens. */
void hp_path_memo_add(struct hp_path_memo *memo, uint32_t node, struct hp_path_arc *arc,
                      const struct hp_path_effect *effect);

/* An arc that is not among the first of its node; NULL: there is none. */
const struct hp_path_arc *hp_path_memo_far(const struct hp_path_memo *memo, uint32_t node,
                                           uint32_t symbol);

static inline const struct hp_path_arc *hp_path_memo_arc(const struct hp_path_memo *memo,
                                                         uint32_t node, uint32_t symbol)
{
    const struct hp_path_arc *arc = memo->near[node].arcs;
    for (int i = 0; i < HP_MEMO_NEAR; i++)
        if (arc[i].symbol == symbol)
            return &arc[i];
    return hp_path_memo_far(memo, node, symbol);
}

static inline const struct hp_path_effect *hp_path_memo_effect(const struct hp_path_memo *memo,
                                                               uint32_t out)
{
    return (const struct hp_path_effect *)&memo->effects[out - HP_MEMO_MANY];
}

/* --- Symbols ---------------------------------------------------------------------------------- */

#define HP_MEMO_REST 0x80000000u

/* Units from here on have no symbols. */
#define HP_MEMO_UNITS 0x1ffffffu

/* The unit from its block `first` on, not 0. */
static inline uint32_t hp_memo_rest(uint32_t unit, uint32_t first)
{
    return HP_MEMO_REST | unit * HP_RUN_MAX | first;
}

static inline uint32_t hp_memo_unit(uint32_t symbol)
{
    return symbol & HP_MEMO_REST ? (symbol & ~HP_MEMO_REST) / HP_RUN_MAX : symbol;
}

static inline uint32_t hp_memo_first(uint32_t symbol)
{
    return symbol & HP_MEMO_REST ? symbol % HP_RUN_MAX : 0;
}

#endif
