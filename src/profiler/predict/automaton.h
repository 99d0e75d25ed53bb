// SPDX-License-Identifier: MIT
/*
 * The automaton of the fast detector of forward paths.
 *
 * A *node* is all that matters of the execution so far: the unfinished current path (a *prefix*),
 * and the block whose successor is not known yet. From a node, the unit (code.h) that is executed
 * next leads to another node, and paths may end on the way: an *arc*. Arcs are made by the rules of
 * paths when first needed. From then on a step, however many blocks and paths it covers, is one
 * lookup in a node or a hash table. Paths are ids of an index.
 *
 * Measured on traces with a word per block, in nanoseconds per branch for everything after the
 * cursor: outcomes shifted into a register and a hash at the end of a path 6 to 7, arcs in a hash
 * table only 3.5 to 8, this 2.5 to 4. With a word per run of blocks it is below 2.
 */
#ifndef HP_PROFILER_PREDICT_AUTOMATON_H
#define HP_PROFILER_PREDICT_AUTOMATON_H

#include "hotpath/predict.h"

struct hp_prefix {
    uint64_t start, outcomes, targets; /* as in struct hp_path */
    uint32_t block;
    uint32_t last; /* block: retired, its successor is unknown */
    uint32_t length, n_targets;
    uint64_t list[HP_PATH_MAX_LENGTH]; /* of targets */
};

/* A step to a unit: the next node, and the path that ends on the way; HP_ARC_NONE: none. Several
 * paths: their position in `lists`, preceded there by their number, with HP_ARC_MANY set;
 * HP_LIST_FEW may be read there in any case. */
struct hp_arc {
    uint32_t unit;
    uint32_t next; /* node */
    uint32_t path;
};

#define HP_ARC_NONE UINT32_MAX
#define HP_ARC_MANY 0x80000000u
#define HP_LIST_FEW 4

static inline bool hp_arc_is_many(uint32_t path)
{
    return path + 1 > HP_ARC_MANY;
}

/* The arcs of a node that are tried first, in order of appearance; consecutive nodes have them side
 * by side. All others are in a hash table. (Moving frequent ones here was no faster.) */
#define HP_NODE_ARCS 2
struct hp_node_arcs {
    struct hp_arc arcs[HP_NODE_ARCS]; /* next 0: free */
    uint32_t reserved[2];
};
_Static_assert(sizeof(struct hp_node_arcs) == 32, "two nodes are a cache line");

struct hp_far_arc {
    uint32_t node; /* 0: free */
    struct hp_arc arc;
};

struct hp_node_of_paths;

struct hp_automaton {
    const struct hp_code *code;
    struct hp_index *index;
    uint32_t max_length;
    struct hp_node_arcs *near; /* by node; [0] is not used */
    size_t cap_near;
    struct hp_far_arc *far; /* open addressing, linear probing */
    unsigned shift;         /* 32 - log2 of its capacity */
    size_t n_far;
    struct hp_node_of_paths *nodes; /* [0] is not used */
    size_t n_nodes, cap_nodes;
    uint32_t *slots; /* of nodes: ids, 0: free */
    size_t mask;     /* number of slots - 1 */
    uint64_t *targets;
    size_t n_targets, cap_targets;
    uint32_t *lists;
    size_t n_lists, cap_lists;
};

/* Keeps the pointers. */
enum hp_err hp_automaton_init(struct hp_automaton *a, const struct hp_code *code,
                              struct hp_index *index, uint32_t max_length);
void hp_automaton_fini(struct hp_automaton *a);

/* Drops all nodes and arcs. */
void hp_automaton_clear(struct hp_automaton *a);

/* The node of a prefix, from 1 on; HP_ERR_NOMEM. */
enum hp_err hp_automaton_node(struct hp_automaton *a, const struct hp_prefix *prefix,
                              uint32_t *node);
/* The inverse. */
void hp_automaton_prefix(const struct hp_automaton *a, uint32_t node, struct hp_prefix *prefix);

/* Finds an arc that is not among the first of its node, or makes it. Valid until the next call.
 * NULL: out of memory. */
const struct hp_arc *hp_automaton_arc(struct hp_automaton *a, uint32_t node, uint32_t unit);

#endif
