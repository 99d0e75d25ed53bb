// SPDX-License-Identifier: MIT
/*
 * Inside a grammar, for its check.
 *
 * Nodes are in one array and refer to each other by index; 0: none. A rule is its *guard*: a node
 * that closes the ring of the rule's body, so the rule's symbol is HP_GRAMMAR_RULE | index of the
 * guard. In a guard, `repeat` counts the nodes that name the rule.
 */
#ifndef HP_PROFILER_WPP_GRAMMAR_IMPL_H
#define HP_PROFILER_WPP_GRAMMAR_IMPL_H

#include "profiler/wpp/grammar.h"

#define SYMBOL_GUARD UINT32_MAX       /* of a guard node */
#define SYMBOL_FREE  (UINT32_MAX - 1) /* of a free node; `next` is the next free one */

#define LEVELS 32 /* of nested rules that are followed */

struct node {
    uint32_t symbol;
    uint32_t repeat;
    uint32_t prev, next;
};

/* A digram, by its left node. `tag` is its hash; linear probing. */
struct slot {
    uint32_t node; /* 0: empty */
    uint32_t tag;
};

/* A body that the end of the sequence follows. */
struct level {
    uint32_t at;    /* the current node, in the body or its guard */
    uint32_t first; /* the first node of the sequence in this body; 0: none */
    uint32_t node; /* the node of the sequence for the completed repetitions of the body; 0: none */
};

struct hp_grammar {
    struct hp_grammar_budget *budget;
    struct node *nodes;
    uint32_t n_nodes, capacity; /* used (including free ones in between), allocated */
    uint32_t free;              /* list */
    uint32_t n_free;
    uint32_t start; /* the start rule's guard */
    uint32_t n_rules;
    uint32_t max_repeat;
    bool closed, full;
    struct slot *slots;
    uint32_t n_slots, n_digrams;
    uint32_t *todo; /* left nodes of new digrams */
    size_t n_todo, todo_capacity;
    uint64_t symbols;
    /* The nodes of the start rule from follow_from to follow_last equal those from follow_other to
     * levels[0].at. follow_from 0: nothing is followed. What comes after follow_last, up to the
     * last but one, is in the bodies of further levels. */
    uint32_t follow_from, follow_last, follow_other;
    uint32_t tail; /* those nodes */
    uint32_t n_levels;
    struct level levels[LEVELS];
    uint32_t again; /* nodes to be appended, linked by `next`; 0: none */
};

static inline bool is_rule(uint32_t symbol)
{
    return symbol & HP_GRAMMAR_RULE;
}

uint32_t hp_grammar_find(const struct hp_grammar *g, uint32_t left);

#endif
