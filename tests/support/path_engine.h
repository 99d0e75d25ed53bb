// SPDX-License-Identifier: MIT
/*
 * A simulated engine that counts paths (docs/counted-paths.md). It is shown what a thread executes,
 * block by block, and does what translated code would: it has prefixes and paths in an arena,
 * counters, a shadow stack, and falls back to words where the rules say so, and at random. It is
 * for tests: it aborts when memory runs out.
 */
#ifndef HP_TESTS_PATH_ENGINE_H
#define HP_TESTS_PATH_ENGINE_H

#include "engine/arena.h"
#include "hotpath/stream.h"

struct sim_words {
    uint32_t *words;
    size_t n, cap;
};

void sim_put(struct sim_words *to, uint32_t word);
/* With as many words of payload as the kind has. */
void sim_put_event(struct sim_words *to, enum hp_word_kind kind, uint32_t arg,
                   const uint32_t *payload);

/* The code of a segment: a whole block, or the rest of one. */
struct sim_piece {
    uint64_t start;
    struct hp_path_exit exit;
    uint32_t segment, insns;
    uint32_t module; /* record */
    uint64_t base;   /* of the module */
};

/* A prefix of a path, as the engine knows it. */
struct sim_node {
    uint32_t prefix, segment;
    uint64_t start; /* of the path */
    struct hp_path_growth growth;
};

struct sim_shadow {
    struct sim_node node; /* at the call */
    uint64_t return_to;
};

struct sim_engine {
    /* To be filled in. */
    struct hp_arena *arena;
    struct hp_path_rules rules;
    struct sim_words *out;
    uint64_t random;
    uint32_t ids;                /* that it may take */
    uint32_t hands_over, counts; /* percent: without need; where it can */
    size_t room;                 /* of the shadow stack */
    /* Its state. */
    bool counting;
    struct sim_node node;
    struct sim_shadow *stack;
    size_t depth, cap_stack;
    bool has_last; /* `last` ran to its end, and the next block follows it */
    struct sim_piece last;
    uint64_t *counters; /* by path */
    size_t cap_counters;
    /* What it did: counted paths, handed over, with so many frames, began to count, returned
     * normally, met jumps that may be a longjmp, and others. */
    uint64_t counted, handed, frames, begun, returned, landed, spared;
};

void sim_engine_fini(struct sim_engine *e);

/* The thread runs a block to its end. */
void sim_engine_run(struct sim_engine *e, const struct sim_piece *piece);

/* An event of the stream befalls it: a word with its payload. */
void sim_engine_event(struct sim_engine *e, const uint32_t *words);

/* It stops counting. */
void sim_engine_hand_over(struct sim_engine *e);

/* Whether the code shows that the block may go there. */
bool sim_leads(const struct sim_piece *from, uint64_t to);

/* Parts of it, for tests that misuse them. A prefix, 0: no ids are left; the path starts with the
 * block; the path has ended. */
uint32_t sim_engine_prefix(struct sim_engine *e, const struct sim_node *before, uint32_t segment,
                           enum hp_prefix_how how, uint64_t start);
bool sim_engine_start(struct sim_engine *e, const struct sim_piece *piece);
bool sim_engine_count(struct sim_engine *e, bool taken);

#endif
