// SPDX-License-Identifier: MIT
#include "machine/halves.h"

#include "machine/core_impl.h"

#define AHEAD 8 /* blocks: so far ahead, what is known about one is brought near */

enum hp_err hp_core_prepare(struct hp_core *core, struct hp_code *code,
                            const struct hp_batch *batch, size_t *n)
{
    for (*n = 0; *n < batch->n; ++*n) {
        uint32_t block = batch->blocks[*n];
        if (block >= core->blocks.cap_infos || !(core->blocks.infos[block].flags & HP_INFO_KNOWN))
            HP_TRY(hp_blocks_add(&core->blocks, code, block));
    }
    return HP_OK;
}

/* --- Caches and TLBs -------------------------------------------------------------------------- */

/* A cycle's number is n_blocks times this plus the cycle in the block. */
#define CYCLES_OF_BLOCK HP_BLOCK_MAX_INSNS

static inline void fetch(struct hp_core *core, uint64_t line, const struct hp_step_info *step)
{
    struct hp_memory *memory = &core->memory;
    if (line != memory->last_fetched) {
        memory->cycle = core->n_blocks * CYCLES_OF_BLOCK + step->cycle;
        hp_memory_fetch(memory, line, step->same);
    } else {
        memory->fetch_missed = memory->fetch_page_missed = false;
    }
}

static inline void access(struct hp_core *core, uint64_t address, const struct hp_step_info *step)
{
    struct hp_memory *memory = &core->memory;
    if (hp_memory_access_hit(memory, address, step->size, step->access))
        return;
    memory->cycle = core->n_blocks * CYCLES_OF_BLOCK + step->cycle;
    hp_memory_access(memory, address, step->size, step->access);
}

/* The block's fetches and, of its operands, the first `n`, whose addresses are given. */
static inline void run_steps(struct hp_core *core, const struct hp_block_info *info,
                             const uint64_t *addresses, size_t n)
{
    const struct hp_step_info *step = core->blocks.steps + info->steps;
    const struct hp_step_info *end = step + info->n_steps;
    uint64_t line = info->first_line;
    for (; step < end; step++) {
        if (step->size == 0) {
            fetch(core, line++, step);
        } else if (n) {
            access(core, *addresses++, step);
            n--;
        }
    }
}

void hp_core_run_straight(struct hp_core *core, const struct hp_block_info *info,
                          const uint64_t *addresses, size_t n, struct hp_events *events)
{
    *events = (struct hp_events){0};
    core->memory.events = events;
    hp_core_count(core, info, addresses, events);
    run_steps(core, info, addresses, n);
    /* Metrics that are counted elsewhere are left out: this runs for every block. */
    const uint32_t *count = events->count;
    uint64_t *totals = core->totals;
    core->n_blocks++;
    totals[HP_METRIC_INSTRUCTIONS] += count[HP_METRIC_INSTRUCTIONS];
    totals[HP_METRIC_L1I_MISSES] += count[HP_METRIC_L1I_MISSES];
    totals[HP_METRIC_L1D_MISSES] += count[HP_METRIC_L1D_MISSES];
    totals[HP_METRIC_ITLB_MISSES] += count[HP_METRIC_ITLB_MISSES];
    totals[HP_METRIC_DTLB_MISSES] += count[HP_METRIC_DTLB_MISSES];
    totals[HP_METRIC_POWER] += count[HP_METRIC_POWER];
    totals[HP_METRIC_POWER_CYCLE] += count[HP_METRIC_POWER_CYCLE];
}

void hp_core_run_memory(struct hp_core *core, const struct hp_batch *batch, size_t n,
                        struct hp_events *events)
{
    const struct hp_block_info *infos = core->blocks.infos;
    const uint64_t *addresses = NULL;
    size_t n_addresses = 0;
    struct hp_events unwanted;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(&infos[batch->blocks[i + AHEAD]]);
        if (batch->addresses) {
            addresses = batch->addresses + batch->address_at[i];
            n_addresses = batch->address_at[i + 1] - batch->address_at[i];
        }
        hp_core_run_straight(core, &infos[batch->blocks[i]], addresses, n_addresses,
                             events ? &events[i] : &unwanted);
    }
}

/* --- Branches --------------------------------------------------------------------------------- */

static inline bool run_branch(struct hp_branches *branches, const struct hp_block_info *info,
                              bool taken, uint64_t target)
{
    struct hp_transfer transfer = {.pc = info->pc,
                                   .target = target,
                                   .end = info->end,
                                   .flow = info->flow,
                                   .conditional = info->flags & HP_INFO_CONDITIONAL,
                                   .backward = info->flags & HP_INFO_BACKWARD,
                                   .taken = taken};
    return hp_branches_retire(branches, &transfer);
}

size_t hp_core_run_branches(struct hp_core *core, const struct hp_batch *batch, size_t n,
                            uint32_t *wrong)
{
    const struct hp_block_info *infos = core->blocks.infos;
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hp_block_info *info = &infos[batch->blocks[i]];
        wrong[n_wrong] = (uint32_t)i;
        if (info->flags & HP_INFO_BRANCH)
            n_wrong += run_branch(&core->branches, info, batch->taken[i],
                                  batch->table[batch->blocks[i + 1]].start);
    }
    return n_wrong;
}
