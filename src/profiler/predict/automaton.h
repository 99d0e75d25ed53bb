// SPDX-License-Identifier: MIT
/*
 * The automaton behind the fast detector of forward paths.
 *
 * A *node* is all that matters of what was executed before: the path at hand as far as it goes (a *prefix*), and the block whose successor is not
 * known yet. From a node, a unit (code.h) that is executed next leads to another node, and on the way paths may
 * end: an *arc*. Arcs are made by the rules of paths when they are first needed; from then on a step, however many blocks and
 * paths it stands for, is one look into a hash table. Paths are ids of an index.
 */
#ifndef HP_PROFILER_PREDICT_AUTOMATON_H
#define HP_PROFILER_PREDICT_AUTOMATON_H

#include "hotpath/predict.h"

struct hp_prefix {
    uint64_t start, outcomes, targets; /* as in struct hp_path */
    uint32_t block;
    uint32_t last; /* block: retired, its successor is not known */
    uint32_t length, n_targets;
    uint64_t list[HP_PATH_MAX_LENGTH]; /* of targets */
};

#define HP_ARC_NEAR 4

struct hp_arc {
    uint64_t key;  /* hp_arc_key(); 0: free */
    uint32_t next; /* name of a node */
    uint32_t n;    /* paths that end */
    uint32_t paths
        [HP_ARC_NEAR]; /* these, HP_NO_ID where the index had no room; or, when there are more, where in `lists` they are */
};
_Static_assert(sizeof(struct hp_arc) == 32, "two arcs are a cache line");

/* A node's name is its id (from 1) times this, so that it is its own hash. */
#define HP_NODE_NAME 0x9e3779b1u
#define HP_UNIT_HASH 0x85ebca6bu

struct hp_node_of_paths;

struct hp_automaton {
    const struct hp_code *code;
    struct hp_index *index;
    uint32_t max_length;
    struct hp_arc *arcs; /* open addressing, linear probing */
    unsigned shift;      /* 32 - log2 of the number of arcs there is room for */
    size_t n_arcs;
    struct hp_node_of_paths *nodes; /* [0] is not used */
    size_t n_nodes, cap_nodes;
    uint32_t *slots; /* of nodes: ids, 0: free */
    size_t mask;     /* number of slots - 1 */
    uint64_t *targets;
    size_t n_targets, cap_targets;
    uint32_t *lists;
    size_t n_lists, cap_lists;
};

static inline uint64_t hp_arc_key(uint32_t node, uint32_t unit)
{
    return node | (uint64_t)unit << 32;
}

/* Where the arc is, if nothing else was there when it was made. */
static inline uint32_t hp_arc_home(const struct hp_automaton *a, uint32_t node, uint32_t unit)
{
    return (node ^ unit * HP_UNIT_HASH) >> a->shift;
}

/* Keeps the pointers. */
enum hp_err hp_automaton_init(struct hp_automaton *a, const struct hp_code *code,
                              struct hp_index *index, uint32_t max_length);
void hp_automaton_fini(struct hp_automaton *a);

/* Forgets all nodes and arcs. */
void hp_automaton_clear(struct hp_automaton *a);

/* The name of the node of a prefix; HP_ERR_NOMEM. */
enum hp_err hp_automaton_node(struct hp_automaton *a, const struct hp_prefix *prefix,
                              uint32_t *node);
/* The inverse. */
void hp_automaton_prefix(const struct hp_automaton *a, uint32_t node, struct hp_prefix *prefix);

/* Finds or makes an arc; valid until the next is made. NULL: memory ran out. */
const struct hp_arc *hp_automaton_arc(struct hp_automaton *a, uint32_t node, uint32_t unit);

#endif
