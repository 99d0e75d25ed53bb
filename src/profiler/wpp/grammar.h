// SPDX-License-Identifier: MIT
/*
 * Sequitur (Nevill-Manning and Witten, 1997) with exponents: turns a sequence of 32-bit terminals,
 * symbol by symbol, into a grammar that generates exactly that sequence.
 *
 * A rule's body is a list of *nodes*; a node is a symbol (a terminal or a rule) and how often it is
 * repeated. Invariants, after every symbol, except for the end of the sequence, which may still
 * grow and is being compared with what came before:
 *   1. Runs are maximal: neighbours have different symbols.
 *   2. Digram uniqueness: no two neighbours (symbol, exponent, symbol, exponent) occur twice.
 *   3. Rule utility: a rule is named by at least two nodes, or by one that repeats it.
 *   4. Every body except the start rule's has at least two nodes.
 *
 * So a loop of n iterations costs one node, not log n rules, and digrams never overlap themselves.
 */
#ifndef HP_PROFILER_WPP_GRAMMAR_H
#define HP_PROFILER_WPP_GRAMMAR_H

#include "hotpath/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_GRAMMAR_RULE      0x80000000u /* a symbol with this bit is a rule; without, a terminal */
#define HP_GRAMMAR_TERMINALS 0x80000000u /* terminals are below this */

/* Memory that several grammars share, bytes. An empty grammar takes its minimum (some KB) in any
 * case. */
struct hp_grammar_budget {
    size_t max;
    size_t used;
    size_t peak;
};

struct hp_grammar;

/* `max_repeat`: the largest exponent, 0: the largest possible; other values are for tests. */
enum hp_err hp_grammar_new(struct hp_grammar_budget *budget, uint32_t max_repeat,
                           struct hp_grammar **grammar);
void hp_grammar_free(struct hp_grammar *grammar);

/* Appends terminals; returns how many. Fewer than `n`: the budget (or memory) is exhausted, and it
 * may accept more when that has changed; or the grammar is full. */
size_t hp_grammar_push(struct hp_grammar *grammar, const uint32_t *terminals, size_t n);

/* Accepts no more, whatever the budget: an exponent has reached its limit, or it was closed. */
bool hp_grammar_full(const struct hp_grammar *grammar);

/* Ends the sequence: now the invariants hold for the last node too. */
void hp_grammar_close(struct hp_grammar *grammar);

struct hp_grammar_stats {
    uint64_t symbols; /* appended */
    uint32_t rules;   /* the start rule included */
    uint32_t nodes;   /* in all bodies */
    size_t bytes;     /* of memory */
};
struct hp_grammar_stats hp_grammar_stats(const struct hp_grammar *grammar);

/* HP_ERR_INTERNAL: an invariant does not hold; the text says which. Takes as much time and memory
 * as the grammar itself. */
enum hp_err hp_grammar_check(const struct hp_grammar *grammar);

/* --- For reading a grammar -------------------------------------------------------------------- */

/* The start rule; the body of a rule (its symbol): first node, next node, 0 at the end. */
uint32_t hp_grammar_start(const struct hp_grammar *grammar);
uint32_t hp_grammar_first(const struct hp_grammar *grammar, uint32_t rule);
uint32_t hp_grammar_next(const struct hp_grammar *grammar, uint32_t node);
uint32_t hp_grammar_symbol(const struct hp_grammar *grammar, uint32_t node);
uint32_t hp_grammar_repeat(const struct hp_grammar *grammar, uint32_t node);

/* Rules are numbers below this, without HP_GRAMMAR_RULE, unordered; not all numbers are rules. */
uint32_t hp_grammar_limit(const struct hp_grammar *grammar);

#endif
