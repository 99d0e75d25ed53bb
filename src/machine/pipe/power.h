// SPDX-License-Identifier: MIT
/*
 * The events of each retired block, for hp_pipe_config.blocks: misses, and the power of the caches
 * in real cycles (docs/machine.md, "Power").
 *
 * The pipe reports which instruction makes each access of a cache. An instruction's events are kept
 * by its position until it leaves. The joint cost of the accesses of a cache in a cycle is known
 * when the cycle is over, and is then divided among the instructions that made them.
 */
#ifndef HP_MACHINE_PIPE_POWER_H
#define HP_MACHINE_PIPE_POWER_H

#include "machine/pipe/pipe_impl.h"

/* Accesses of a cache by one instruction. */
struct power_use {
    uint64_t at; /* position */
    uint32_t n;
};

/* A cache, and the instructions that use it in this cycle. */
struct power_cache {
    struct power_use *uses;
    uint32_t n_uses;
    uint32_t n; /* accesses */
    uint32_t cost, ports;
};

/* A block that has retired. */
struct power_block {
    uint32_t block, insns;
    uint64_t last; /* position */
    bool mispredicted;
};

enum { POWER_L1D, POWER_L2, POWER_L3, POWER_CACHES };

struct pipe_power {
    uint64_t cycle; /* of all uses, and of what was fetched */
    struct power_cache caches[POWER_CACHES];
    uint32_t fetch_cost, fetch_ports;
    uint32_t reads;   /* lines of code */
    uint64_t reader;  /* position of the instruction that the last was read for */
    uint64_t fetched; /* position of the first that was fetched */
    uint32_t n_fetched;

    struct hp_events *events; /* by position */
    uint64_t mask;
    uint64_t next;         /* position of the first that is in no block yet */
    struct hp_events open; /* of the block that is not complete */

    struct hp_events scratch;  /* of the current access */
    uint64_t before[2];        /* accesses of the lower levels until then */
    struct power_block *ended; /* blocks that wait until their cycle is over */
    size_t n_ended, cap_ended;
    uint32_t *blocks; /* to be delivered, with their events */
    struct hp_events *block_events;
    size_t n, cap_blocks, cap_events;
    struct hp_pipe_caused caused;
};

/* HP_ERR_NOMEM; hp_pipe_power_free() is safe then too. */
enum hp_err hp_pipe_power_new(struct hp_pipe *p);
void hp_pipe_power_free(struct hp_pipe *p);

/* Fetch is at the next instruction; reads a line for it; has fetched it, at position p->tail. */
void hp_pipe_power_begin(struct hp_pipe *p);
void hp_pipe_power_read(struct hp_pipe *p);
void hp_pipe_power_fetched(struct hp_pipe *p);

/* Called before and after an access to memory: by the instruction that fetch is at, or one in
 * flight (`n` accesses of the L1D). */
void hp_pipe_power_start(struct hp_pipe *p);
void hp_pipe_power_end_fetch(struct hp_pipe *p);
void hp_pipe_power_end(struct hp_pipe *p, const struct pipe_insn *insn, uint32_t n);

/* All instructions from `position` on are about to be aborted, and the one that fetch is at. */
void hp_pipe_power_abort(struct hp_pipe *p, uint64_t position);

/* The last instruction of a block, at position p->head - 1, has retired. */
void hp_pipe_power_block(struct hp_pipe *p, uint32_t block, const struct pipe_fed *fed);

/* Delivers the blocks that are complete, if there are at least `least`; with `all` the cycle is
 * over. */
void hp_pipe_power_hand_out(struct hp_pipe *p, size_t least, bool all);

#endif
