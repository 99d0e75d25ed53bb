// SPDX-License-Identifier: MIT
#include "profiler/wpp/grammar.h"
#include "profiler/wpp/grammar_impl.h"

#include <stdlib.h>

struct found {
    uint32_t nodes, rules, digrams;
    bool following;   /* the start rule is not settled from here on */
    uint32_t *uses;   /* of each rule, by nodes */
    uint8_t *repeats; /* ... one of which repeats it */
    uint8_t *state;   /* of each rule: 1 in progress, 2 done */
    uint32_t *stack;  /* nodes at which rules were entered */
};

static enum hp_err wrong(const char *what, uint32_t where)
{
    return hp_fail(HP_ERR_INTERNAL, "grammar: %s at node %u", what, where);
}

static enum hp_err check_node(const struct hp_grammar *g, uint32_t i, struct found *found)
{
    const struct node *node = &g->nodes[i], *next = &g->nodes[node->next];
    if (node->symbol >= SYMBOL_FREE || node->repeat == 0)
        return wrong("a node that is none", i);
    if (g->nodes[node->next].prev != i)
        return wrong("neighbours disagree", i);
    found->nodes++;
    if (is_rule(node->symbol)) {
        uint32_t rule = node->symbol & ~HP_GRAMMAR_RULE;
        if (rule >= g->n_nodes || g->nodes[rule].symbol != SYMBOL_GUARD)
            return wrong("a rule that is none", i);
        found->uses[rule]++;
        found->repeats[rule] |= node->repeat > 1;
    }
    found->following |= i == g->follow_from;
    bool pending = !g->closed && node->next == g->nodes[g->start].prev;
    if (next->symbol == SYMBOL_GUARD || pending || found->following)
        return HP_OK;
    if (node->symbol == next->symbol)
        return next->repeat > g->max_repeat - node->repeat ? HP_OK : wrong("a run in two", i);
    found->digrams++;
    return hp_grammar_find(g, i) == i ? HP_OK : wrong("a digram twice", i);
}

static enum hp_err check_rule(const struct hp_grammar *g, uint32_t guard, struct found *found)
{
    uint32_t before = found->nodes;
    found->rules++;
    found->following = false;
    for (uint32_t i = g->nodes[guard].next; i != guard; i = g->nodes[i].next)
        HP_TRY(check_node(g, i, found));
    return found->nodes - before >= 2 || guard == g->start ? HP_OK
                                                           : wrong("a body too short", guard);
}

/* All rules are reachable from the start, and none from itself. */
static enum hp_err check_order(const struct hp_grammar *g, struct found *found)
{
    uint32_t depth = 0, at = g->nodes[g->start].next, reached = 1;
    found->state[g->start] = 1;
    for (;;) {
        const struct node *node = &g->nodes[at];
        if (node->symbol == SYMBOL_GUARD) {
            found->state[at] = 2;
            if (!depth)
                break;
            at = g->nodes[found->stack[--depth]].next;
            continue;
        }
        uint32_t rule = node->symbol & ~HP_GRAMMAR_RULE;
        if (is_rule(node->symbol) && found->state[rule] == 1)
            return wrong("a rule within itself", at);
        if (!is_rule(node->symbol) || found->state[rule]) {
            at = node->next;
            continue;
        }
        found->state[rule] = 1;
        found->stack[depth++] = at;
        reached++;
        at = g->nodes[rule].next;
    }
    return reached == g->n_rules ? HP_OK : wrong("a rule that nobody names", g->start);
}

static enum hp_err check_all(const struct hp_grammar *g, struct found *found)
{
    for (uint32_t i = 1; i < g->n_nodes; i++)
        if (g->nodes[i].symbol == SYMBOL_GUARD)
            HP_TRY(check_rule(g, i, found));
    for (uint32_t i = 1; i < g->n_nodes; i++) {
        if (g->nodes[i].symbol != SYMBOL_GUARD || i == g->start)
            continue;
        if (found->uses[i] != g->nodes[i].repeat)
            return wrong("uses miscounted", i);
        if (found->uses[i] < 2 && !found->repeats[i])
            return wrong("a rule of no use", i);
    }
    if (found->rules != g->n_rules || found->digrams != g->n_digrams ||
        found->nodes + found->rules + g->n_free + 1 != g->n_nodes)
        return wrong("nodes, rules or digrams miscounted", 0);
    return check_order(g, found);
}

enum hp_err hp_grammar_check(const struct hp_grammar *g)
{
    struct found found = {.uses = calloc(g->n_nodes, sizeof *found.uses),
                          .repeats = calloc(g->n_nodes, 1),
                          .state = calloc(g->n_nodes, 1),
                          .stack = calloc(g->n_nodes, sizeof *found.stack)};
    enum hp_err err = HP_OK;
    if (!found.uses || !found.repeats || !found.state || !found.stack)
        err = hp_fail_nomem();
    else
        err = check_all(g, &found);
    free(found.uses);
    free(found.repeats);
    free(found.state);
    free(found.stack);
    return err;
}
