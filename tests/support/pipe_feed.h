// SPDX-License-Identifier: MIT
/*
 * The input of a pipe, recorded, so that the fast pipe and the slow one can be fed the same; and a
 * comparison of their results in every field. When memory runs out, everything here reports it and
 * aborts.
 */
#ifndef HP_TEST_PIPE_FEED_H
#define HP_TEST_PIPE_FEED_H

#include "hotpath/pipe.h"

#include <stdio.h>

enum feed_kind {
    FEED_BATCH,
    FEED_TAIL,
    FEED_BREAK,
    FEED_INTERRUPT, /* `insns` cycles */
    FEED_MEASURE,
    FEED_DRAIN,
    FEED_FUNCTIONAL /* a batch for the functional model, after FEED_DRAIN */
};

struct feed_item {
    enum feed_kind kind;
    size_t blocks, taken, at; /* a batch: where its n + 1 blocks, n outcomes and costs, n + 1 places
                                 of addresses begin */
    size_t n;
    size_t addresses, n_addresses;
    bool has_addresses;
    uint32_t block, insns; /* a tail */
    bool measured;
};

struct pipe_feed {
    struct hp_code *code;
    struct feed_item *items;
    uint32_t *blocks, *at;
    uint8_t *taken;
    uint16_t *costs;
    uint64_t *addresses;
    size_t n_items, n_blocks, n_at, n_taken, n_costs, n_addresses;
    size_t cap_items, cap_blocks, cap_at, cap_taken, cap_costs, cap_addresses;
    bool functional;       /* there is FEED_FUNCTIONAL */
    uint64_t instructions; /* of batches and tails for the pipe */
};

/* `code` is kept. */
void pipe_feed_init(struct pipe_feed *feed, struct hp_code *code);
void pipe_feed_fini(struct pipe_feed *feed);

/* `costs` may be NULL: none. All is copied. */
void pipe_feed_batch(struct pipe_feed *feed, const struct hp_batch *batch, const uint16_t *costs);
void pipe_feed_tail(struct pipe_feed *feed, const struct hp_event *tail);
void pipe_feed_break(struct pipe_feed *feed);
void pipe_feed_interrupt(struct pipe_feed *feed, uint32_t cycles);
void pipe_feed_measure(struct pipe_feed *feed, bool measured);
void pipe_feed_drain(struct pipe_feed *feed);
/* Drains, and runs a batch with the functional model on the same core. */
void pipe_feed_functional(struct pipe_feed *feed, const struct hp_batch *batch);

/* Runs it with the functional model. */
void pipe_feed_warm(const struct pipe_feed *feed, struct hp_core *core);

/* The same for one block of a batch, or for a tail; its events. */
void pipe_feed_run_block(const struct pipe_feed *feed, const struct feed_item *item, size_t i,
                         struct hp_core *core, struct hp_events *events);

/* --- Running ---------------------------------------------------------------------------------- */

struct pipe_run {
    struct hp_program *program;
    struct hp_core *core;
    struct hp_timing *timings;
    size_t n, cap;
    struct hp_pipe_stats stats;
    /* The events of each block, from the fast pipe, if wanted. */
    uint32_t *blocks;
    struct hp_events *events;
    size_t n_blocks, n_events, cap_blocks, cap_events;
};

struct pipe_setup {
    const struct hp_machine *machine;
    const struct pipe_feed *warm; /* run with the functional model first; NULL: nothing */
    int queue;
    bool no_wrong_path;
    bool blocks;  /* the fast pipe reports the events of each block */
    uint64_t cut; /* not 0: seed; batches are fed to the fast pipe in random pieces */
};

/* Feeds all, on a program and a core of its own, and drains. */
void pipe_run_slow(struct pipe_run *run, const struct pipe_feed *feed,
                   const struct pipe_setup *setup);
void pipe_run_fast(struct pipe_run *run, const struct pipe_feed *feed,
                   const struct pipe_setup *setup);
void pipe_run_fini(struct pipe_run *run);

/* Whether both did the same. If not, writes the first different instruction and what was fetched
 * around it to `out`. */
bool pipe_runs_equal(const struct pipe_run *slow, const struct pipe_run *fast, FILE *out);

/* Whether a run obeys the laws, whatever the machine: what is retired is what was fed, stages
 * follow each other, sums are right; branches are predicted as in the functional model, and
 * operands accessed as often; in order and without wrong paths, the first levels have the same
 * misses. If not, writes which one is broken to `out`. In pipe_laws.c. */
bool pipe_run_lawful(const struct pipe_run *run, const struct pipe_feed *feed,
                     const struct pipe_setup *setup, FILE *out);

/* A line for one timing; cycles from the start. */
void pipe_print_timing(const struct pipe_run *run, size_t i, FILE *out);

#endif
