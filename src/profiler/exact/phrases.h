// SPDX-License-Identifier: MIT
/*
 * Phrases: with loops, what a short sequence of units did, from one stack. Programs repeat the same
 * few sequences. So such a sequence is watched once (notes.h), and from then on it is one look-up
 * and one counter, however many calls, returns and iterations are in it.
 *
 * A *node* is a whole stack: all that transfers can depend on. From one node a phrase always does
 * the same, as long as nothing is learned about the code: it ends frames (at most up to those that
 * were there), iterates loops, pushes frames, and adds to counters. Frames that were there before,
 * or are there afterwards, and the records of loops are changed each time. Everything else is only
 * counted, and added up when the phrase is forgotten, or in the end.
 *
 * Memory is bounded: a phrase makes place for another, and when nodes or lists have become too many
 * all are forgotten. Where too few sequences come again, there are pauses.
 */
#ifndef HP_PROFILER_EXACT_PHRASES_H
#define HP_PROFILER_EXACT_PHRASES_H

#include "profiler/exact/loops.h"
#include "profiler/phrase_ends.h"

struct hp_exact_phrase {
    uint32_t units[HP_PHRASE_MAX + 1]; /* the last is the one behind; its rest is 0 */
    uint32_t node;                     /* the stack before; 0: there is no phrase */
    uint32_t epoch;                    /* what was known */
    uint32_t work;                     /* what it spares, roughly; 0: it must be shown */
    uint32_t list;                     /* in `words`: stages, then what to add */
    uint32_t insns;
    uint32_t count;        /* executions that are not added up yet */
    uint16_t n_adds, adds; /* where they are, from `list` on */
    uint8_t n_units;       /* without the one behind */
    uint8_t rise;          /* the highest the stack got above where it was */
    uint16_t missed;       /* part of the hash of the sequence that was last not found here */
};
_Static_assert(sizeof(struct hp_exact_phrase) == 64, "a phrase is a cache line");

/* A part of a phrase: events of loops in one frame, then what happens to that. */
struct hp_phrase_stage {
    uint32_t then;  /* HP_PHRASE_ENDS, _POPS; else the node to push */
    uint32_t insns; /* until then, since the phrase began */
    uint32_t n_events;
    /* events follow */
};
#define HP_PHRASE_ENDS 0u
#define HP_PHRASE_POPS UINT32_MAX

/* What a phrase adds: to a context, instructions and a call; to others so much. */
struct hp_phrase_add {
    uint32_t to; /* enum hp_phrase_adds */
    uint32_t index, amount;
};

/* The frame at the top of a stack, and the stack below. */
struct hp_stack_node {
    uint64_t expects;
    uint32_t below; /* node; 0: nothing */
    uint32_t function, context;
    uint32_t site, left; /* hp_loop_frame's `site` and `function` */
    uint32_t cover;
    uint32_t kind;
    uint32_t reserved; /* 0 */
};

struct hp_exact_phrases {
    struct hp_exact_phrase *table; /* by hash, in pairs */
    uint32_t *words;
    size_t n_words, cap_words;
    struct hp_stack_node *nodes; /* [0] is none */
    size_t n_nodes, cap_nodes;
    uint32_t *slots; /* of nodes, by hash; 0: free */
    struct hp_note *note;
    size_t n_taken, n_missed, n_spared; /* of late: phrases, those not there, `work` */
    size_t pause, next_pause;           /* steps before phrases are looked for again */
};

/* hp_exact_count() without the last step: takes steps[0] ... steps[n - 1]. */
void hp_exact_phrases_count(struct hp_exact_thread *thread, const struct hp_step *steps, size_t n);

/* Adds up what was only counted. */
void hp_exact_phrases_settle(struct hp_exact_thread *thread);

void hp_exact_phrases_free(struct hp_exact_phrases *phrases);

/* --- For notes.c ------------------------------------------------------------------------------ */

/* The node of the stack; 0: it has none. Never 0 and never forgotten while a note is taken, unless
 * there is no memory. */
uint32_t hp_exact_phrases_node(struct hp_exact_thread *thread);

#endif
