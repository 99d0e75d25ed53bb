// SPDX-License-Identifier: MIT
#include "stream/balance.h"

#include <stdlib.h>

struct node {
    int64_t excess;  /* what arrived, less what left */
    uint32_t degree; /* edges without a count; */
    uint32_t edges;  /* their numbers, combined by exclusive or: of one, its number */
};

struct hp_balance {
    struct node nodes[HP_FLOW_NODES];
};

enum hp_err hp_balance_new(struct hp_balance **balance)
{
    *balance = calloc(1, sizeof **balance); /* large, and mostly not touched */
    return *balance ? HP_OK : hp_fail_nomem();
}

void hp_balance_free(struct hp_balance *balance)
{
    free(balance);
}

void hp_balance_add(struct hp_balance *balance, uint32_t from, uint32_t to, uint64_t count)
{
    balance->nodes[from].excess -= (int64_t)count;
    balance->nodes[to].excess += (int64_t)count;
}

static void take_edge(struct node *node, uint32_t edge)
{
    node->degree--;
    node->edges ^= edge;
}

/* The node has one edge without a count: it takes all of the excess, and then the other end may
 * have one. */
static void solve_from(struct hp_balance *balance, const struct hp_derived *edges, uint32_t at,
                       uint64_t *counts, size_t *invalid)
{
    while (balance->nodes[at].degree == 1) {
        uint32_t i = balance->nodes[at].edges;
        bool leaves = edges[i].from == at;
        uint32_t other = leaves ? edges[i].to : edges[i].from;
        int64_t count = leaves ? balance->nodes[at].excess : -balance->nodes[at].excess;
        balance->nodes[at].excess = 0;
        balance->nodes[other].excess += leaves ? count : -count;
        take_edge(&balance->nodes[at], i);
        take_edge(&balance->nodes[other], i);
        counts[i] = count > 0 ? (uint64_t)count : 0;
        *invalid += count < 0;
        at = other;
    }
}

size_t hp_balance_solve(struct hp_balance *balance, const struct hp_derived *edges, size_t n,
                        uint64_t *counts)
{
    size_t invalid = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t ends[] = {edges[i].from, edges[i].to};
        counts[i] = 0;
        for (int k = 0; k < 2; k++) {
            balance->nodes[ends[k]].degree++;
            balance->nodes[ends[k]].edges ^= (uint32_t)i;
        }
    }
    for (size_t i = 0; i < n; i++) {
        solve_from(balance, edges, edges[i].from, counts, &invalid);
        solve_from(balance, edges, edges[i].to, counts, &invalid);
    }
    for (size_t i = 0; i < n; i++) /* what is left are cycles */
        invalid += balance->nodes[edges[i].from].degree && balance->nodes[edges[i].to].degree;
    return invalid;
}
