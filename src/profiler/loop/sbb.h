// SPDX-License-Identifier: MIT
/*
 * From the stream to short backward branches: those of each unit of the code map, computed once for
 * all models and threads. Only the last transfer of a unit is open; it goes to the start of the
 * next unit.
 */
#ifndef HP_PROFILER_LOOP_SBB_H
#define HP_PROFILER_LOOP_SBB_H

#include "hotpath/stream.h"
#include "profiler/loop/model.h"

/* What a unit does. Depths are relative to its start. */
struct hp_sbb_unit {
    uint64_t start;                   /* of its first block */
    uint64_t back;                    /* leaving it to here is a short backward branch */
    uint64_t fall;                    /* leaving it to here takes no branch */
    uint32_t sbb;                     /* that branch */
    uint32_t insns;                   /* after the last inner branch */
    uint32_t counts;                  /* blocks and branches: see hp_sbb_finder_steps() */
    uint32_t last_insns, last_counts; /* of the last block */
    uint32_t inner;                   /* the first of the inner branches */
    uint8_t n_inner;
    int8_t depth; /* before its last transfer */
    int8_t low;   /* the lowest after the last inner branch */
    int8_t last;  /* what the last transfer adds when taken */
};

/* A branch inside a unit: as an event. */
struct hp_sbb_inner {
    uint32_t sbb;
    uint32_t insns;
    int8_t depth, low;
};

#define HP_SBB_EVENTS 1024

typedef void hp_sbb_take(void *context, const struct hp_sbb_chunk *chunk);

struct hp_sbb_finder {
    uint32_t max_offset; /* of all models */
    uint32_t apart;      /* branches at least this many instructions apart may be merged */
    bool calls;          /* depths are needed */
    struct hp_sbb *sbbs;
    size_t n_sbbs, cap_sbbs;
    struct hp_map64 by_address; /* the first with that address */
    struct hp_sbb_unit *units;
    size_t n_units, cap_units;
    struct hp_sbb_inner *inner;
    size_t n_inner, cap_inner;
    struct hp_sbb_event events[HP_SBB_EVENTS];
};

/* Nothing is allocated yet. */
void hp_sbb_finder_init(struct hp_sbb_finder *finder, uint32_t max_offset, uint32_t apart,
                        bool calls);
void hp_sbb_finder_fini(struct hp_sbb_finder *finder);

/* Covers all units of the code map; may add branches. HP_ERR_NOMEM: the units covered before
 * stay. */
enum hp_err hp_sbb_finder_grow(struct hp_sbb_finder *finder, const struct hp_code *code);

struct hp_sbb_counts {
    uint64_t blocks, branches;
};

/* Delivers the events of the steps in chunks; all units must be covered. Returns what was retired,
 * as for a batch. */
struct hp_sbb_counts hp_sbb_finder_steps(struct hp_sbb_finder *finder, const struct hp_step *steps,
                                         size_t n, hp_sbb_take *take, void *context);

#endif
