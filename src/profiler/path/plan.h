// SPDX-License-Identifier: MIT
/*
 * The plan: what each unit of the code map does to a path stack with a given control register,
 * computed once. The detectors of all threads share it.
 *
 * A unit is divided into *segments*. A segment is a series of transfers that only append outcomes
 * and add instructions, up to and including one that may do more: finish a path, or start one. The
 * last segment of a unit ends with the transfer that leaves it, whose target is known only when the
 * next unit is. Most units have one segment.
 */
#ifndef HP_PROFILER_PATH_PLAN_H
#define HP_PROFILER_PATH_PLAN_H

#include "hotpath/path.h"

/* What the transfer at the end of a segment does, after its outcome and instructions were added. */
enum hp_path_act {
    HP_ACT_NONE,
    HP_ACT_CYCLE,    /* finishes the path, starts one in the same frame */
    HP_ACT_CALL,     /* starts one in a new frame */
    HP_ACT_RETURN,   /* finishes the path and its frame */
    HP_ACT_INDIRECT, /* a cycle, unless it is a longjmp */
    HP_ACT_ADDRESS,  /* a cycle when it goes backward, else its target becomes part of the path */
    HP_ACT_SLOW,     /* the whole segment goes through hp_detector_transfer() */
    HP_ACT_EXTENDED_LOOP, /* a cycle, a call, a return, unless the path grows through them */
    HP_ACT_EXTENDED_CALL,
    HP_ACT_EXTENDED_RETURN,
};

struct hp_path_segment {
    uint64_t start;  /* of the first block of the unit */
    uint64_t bits;   /* the outcomes without the last one; shifted to make room for it when `add` */
    uint64_t fall;   /* the last transfer is not taken when it goes here */
    uint64_t target; /* where it goes; only when it stays in the unit */
    uint64_t place;  /* the address of its branch when that decides, else the address after it */
    uint32_t insns;
    uint32_t to;   /* its target block; in the last segment, the function it leaves: see landing */
    uint32_t next; /* the unit's next segment, in `more`; 0: this is the last */
    uint32_t landing; /* the function that the unit's first block is in the middle of: see
                         hp_path_plan_landing() */
    uint8_t length;   /* outcomes */
    uint8_t add;      /* 1: the last transfer's is one of them */
    uint8_t act[2];   /* enum hp_path_act: when it is not taken, and when it is */
    uint8_t branches;
    uint8_t first, n; /* blocks of the unit */
    uint8_t reserved;
};
_Static_assert(sizeof(struct hp_path_segment) == 64, "a segment is a cache line");

#define HP_LANDING_NOT     HP_NO_ID       /* no function, or the entry of one */
#define HP_LANDING_UNASKED (HP_NO_ID - 1) /* not computed yet */

struct hp_path_plan {
    struct hp_ppcr ppcr;
    struct hp_frame_source *frames;
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

/* Computes `landing` of the unit: the function that a jump to its first block `block` would return
 * to, HP_LANDING_NOT when that cannot be a longjmp. */
uint32_t hp_path_plan_landing(struct hp_path_plan *plan, uint32_t unit, uint32_t block);

/* Whether a block may fall through, and is not taken then: as in the cursor. */
bool hp_path_falls(const struct hp_code *code, const struct hp_block *block);

#endif
