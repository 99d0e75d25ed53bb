// SPDX-License-Identifier: MIT
/*
 * Finds the branches of a forward path in the code map, while that grows.
 */
#ifndef HP_PROFILER_PREDICT_BRANCHES_H
#define HP_PROFILER_PREDICT_BRANCHES_H

#include "base/map64.h"
#include "hotpath/code.h"
#include "hotpath/predict.h"

static inline bool hp_rule_is_branch(const struct hp_block *block)
{
    return block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
           block->flow != HP_FLOW_TRAP;
}

/* Whether a target is part of the path. */
static inline bool hp_rule_is_indirect(const struct hp_block *block)
{
    return block->flow == HP_FLOW_JUMP_IND || block->flow == HP_FLOW_CALL_IND ||
           block->flow == HP_FLOW_RETURN;
}

struct hp_branch_finder {
    struct hp_branch_source source; /* first */
    const struct hp_code *code;
    struct hp_map64 by_module; /* start, and module -> the newest block there */
    struct hp_map64 by_start;  /* the same, of any module */
    uint32_t n_blocks;         /* blocks in the maps */
};

/* Keeps `code`. */
void hp_branch_finder_init(struct hp_branch_finder *finder, const struct hp_code *code);
void hp_branch_finder_fini(struct hp_branch_finder *finder);

#endif
