// SPDX-License-Identifier: MIT
/*
 * Counts that follow from others. What arrives at a node of a thread's flow also leaves it. If the
 * edges without a count are a forest of the nodes, their counts are what balances all nodes.
 */
#ifndef HP_STREAM_BALANCE_H
#define HP_STREAM_BALANCE_H

#include "hotpath/error.h"
#include "hotpath/stream.h"

struct hp_balance;

enum hp_err hp_balance_new(struct hp_balance **balance);
void hp_balance_free(struct hp_balance *balance);

/* Something went from one node to another `count` times. Node 0: from or to where nothing is
 * balanced. */
void hp_balance_add(struct hp_balance *balance, uint32_t from, uint32_t to, uint64_t count);

/*
 * The counts of the edges, which have nodes other than 0 and two different ones each. Call it once,
 * after all hp_balance_add(). Returns how many have no valid count (it is 0 then): they are not a
 * forest, or would have to be negative. Where something is missing in the flow, the counts on the
 * way to it are wrong by as much.
 */
size_t hp_balance_solve(struct hp_balance *balance, const struct hp_derived *edges, size_t n,
                        uint64_t *counts);

#endif
