// SPDX-License-Identifier: MIT
/*
 * The plan: what units do to a path stack with a given control register. The detectors of all
 * threads share it. It is a memo, and only with `by_address` what follows: what each unit of the
 * code map does, computed once.
 *
 * A unit is divided into *segments*. A segment is a series of transfers that only append outcomes
 * and add instructions, up to and including one that may do more: finish a path, or start one. The
 * last segment of a unit ends with the transfer that leaves it, whose target is known only when the
 * next unit is. Most units have one segment.
 */
#ifndef HP_PROFILER_PATH_PLAN_H
#define HP_PROFILER_PATH_PLAN_H

#include "profiler/path/memo.h"

/* What the transfer at the end of a segment does, after its outcome and instructions were added. */
enum hp_path_act {
    HP_ACT_NONE,
    HP_ACT_CYCLE,   /* finishes the path, starts one in the same frame */
    HP_ACT_ADDRESS, /* a cycle when it goes backward, else its target becomes part of the path */
    HP_ACT_SLOW,    /* the whole segment goes through hp_detector_transfer() */
};

struct hp_path_segment {
    uint64_t start;  /* of the first block of the unit */
    uint64_t bits;   /* the outcomes without the last one; shifted to make room for it when `add` */
    uint64_t fall;   /* the last transfer is not taken when it goes here */
    uint64_t target; /* where it goes; only when it stays in the unit */
    uint64_t place;  /* the address of its branch */
    uint32_t insns;
    uint32_t to;   /* its target block; only when it stays in the unit */
    uint32_t next; /* the unit's next segment, in `more`; 0: this is the last */
    uint32_t reserved;
    uint8_t length; /* outcomes */
    uint8_t add;    /* 1: the last transfer's is one of them */
    uint8_t act[2]; /* enum hp_path_act: when it is not taken, and when it is */
    uint8_t branches;
    uint8_t first, n; /* blocks of the unit */
    uint8_t reserved_too;
};
_Static_assert(sizeof(struct hp_path_segment) == 64, "a segment is a cache line");

struct hp_path_plan {
    struct hp_ppcr ppcr;
    struct hp_frame_source *frames;
    struct hp_path_memo memo;      /* in use unless paths are by address; then all the rest is */
    struct hp_path_segment *units; /* the first segment of each */
    size_t n_units, cap_units;
    struct hp_path_segment *more;
    size_t n_more, cap_more;
};

/* Keeps `frames`. Nothing is allocated yet. */
void hp_path_plan_init(struct hp_path_plan *plan, const struct hp_ppcr *ppcr,
                       struct hp_frame_source *frames);
void hp_path_plan_fini(struct hp_path_plan *plan);

/* Covers all units of the code map. HP_ERR_NOMEM: the units covered before stay. */
enum hp_err hp_path_plan_grow(struct hp_path_plan *plan, const struct hp_code *code);

/* Whether a block may fall through, and is not taken then: as in the cursor. */
bool hp_path_falls(const struct hp_code *code, const struct hp_block *block);

#endif
