// SPDX-License-Identifier: MIT
#include "profiler/path/detector_impl.h"

/* Whether a block that goes on at its end was not taken there: as the cursor has it. */
static bool falls(const struct hp_code *code, const struct hp_block *block)
{
    switch (block->flow) {
    case HP_FLOW_JUMP:
    case HP_FLOW_CALL:
    case HP_FLOW_JUMP_IND:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN:
        return (block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0 ||
               hp_code_arch(code) == HP_ARCH_NONE;
    default: return true;
    }
}

static void retire(struct hp_detector *d, const struct hp_code *code, uint32_t from, uint32_t to)
{
    const struct hp_block *table = hp_code_blocks(code);
    bool taken = table[to].start != table[from].end || !falls(code, &table[from]);
    hp_detector_retire(d, table, from, to, taken, 0);
}

void hp_detector_steps(struct hp_detector *d, const struct hp_steps *steps)
{
    uint32_t n;
    uint32_t last = steps->steps[0].first;
    for (size_t i = 1; i <= steps->n; i++) {
        const uint32_t *blocks = hp_code_unit(steps->code, steps->steps[i].unit, &n);
        for (uint32_t k = 0; k < n; k++) {
            retire(d, steps->code, last, blocks[k]);
            last = blocks[k];
        }
    }
}
