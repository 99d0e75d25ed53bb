// SPDX-License-Identifier: MIT
/*
 * What the rules of forward paths ask of a block.
 */
#ifndef HP_PROFILER_PREDICT_RULES_H
#define HP_PROFILER_PREDICT_RULES_H

#include "hotpath/code.h"

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

#endif
