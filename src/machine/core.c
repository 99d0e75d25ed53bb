// SPDX-License-Identifier: MIT
#include "machine/core_impl.h"
#include "machine/power.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_core_new(const struct hp_machine *machine, struct hp_core **core)
{
    struct hp_core *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->machine = machine;
    enum hp_err err = hp_memory_init(&c->memory, machine);
    if (err == HP_OK)
        err = hp_branches_init(&c->branches, &machine->branch);
    if (err != HP_OK) {
        hp_core_free(c);
        return err;
    }
    hp_blocks_init(&c->blocks, machine, &c->memory);
    *core = c;
    return HP_OK;
}

void hp_core_free(struct hp_core *core)
{
    if (!core)
        return;
    hp_memory_fini(&core->memory);
    hp_branches_fini(&core->branches);
    hp_blocks_fini(&core->blocks);
    free(core);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* A cycle's number is n_blocks times this plus the cycle in the block. */
#define CYCLES_OF_BLOCK HP_BLOCK_MAX_INSNS

static void fetch(struct hp_core *core, uint64_t line, const struct hp_step_info *step)
{
    struct hp_memory *memory = &core->memory;
    if (line != memory->last_fetched) {
        memory->cycle = core->n_blocks * CYCLES_OF_BLOCK + step->cycle;
        hp_memory_fetch(memory, line, step->same);
    } else {
        memory->fetch_missed = memory->fetch_page_missed = false;
    }
}

/* The block's fetches and, of its operands, the first `n`, whose addresses are given. */
static void run_steps(struct hp_core *core, const struct hp_block_info *info,
                      const uint64_t *addresses, size_t n)
{
    const struct hp_step_info *step = core->blocks.steps + info->steps;
    const struct hp_step_info *end = step + info->n_steps;
    uint64_t line = info->first_line;
    for (; step < end; step++) {
        if (step->size == 0) {
            fetch(core, line++, step);
        } else if (n) {
            core->memory.cycle = core->n_blocks * CYCLES_OF_BLOCK + step->cycle;
            hp_memory_access(&core->memory, *addresses++, step->size, step->access);
            n--;
        }
    }
}

static void run_branch(struct hp_core *core, const struct hp_block_info *info, bool taken,
                       uint64_t target)
{
    struct hp_transfer transfer = {.pc = info->pc,
                                   .target = target,
                                   .end = info->end,
                                   .flow = info->flow,
                                   .conditional = info->flags & HP_INFO_CONDITIONAL,
                                   .backward = info->flags & HP_INFO_BACKWARD,
                                   .taken = taken};
    core->memory.events->count[HP_METRIC_MISPREDICTIONS] +=
        hp_branches_retire(&core->branches, &transfer);
}

void hp_core_count(struct hp_core *core, const struct hp_block_info *info, bool addresses,
                   struct hp_events *events)
{
    uint32_t *count = events->count;
    count[HP_METRIC_INSTRUCTIONS] += info->insns;
    count[HP_METRIC_POWER] += info->insns * HP_POWER_ONE;
    count[HP_METRIC_POWER_CYCLE] += info->fetch_power_cycle;
    if (!addresses)
        return;
    count[HP_METRIC_POWER] += info->data_power;
    count[HP_METRIC_POWER_CYCLE] += info->data_power_cycle;
    core->reads += info->reads;
    core->writes += info->writes;
    core->updates += info->updates;
}

/* All of a block except its branch. */
static void run_straight(struct hp_core *core, const struct hp_block_info *info,
                         const uint64_t *addresses, size_t n, struct hp_events *events)
{
    *events = (struct hp_events){0};
    core->memory.events = events;
    hp_core_count(core, info, addresses, events);
    run_steps(core, info, addresses, n);
}

/* Metrics that are counted elsewhere are left out: this runs for every block. */
static void add_totals(struct hp_core *core, const struct hp_events *events)
{
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

static void run_block(struct hp_core *core, const struct hp_batch *batch, size_t i,
                      struct hp_events *events)
{
    const struct hp_block_info *info = &core->blocks.infos[batch->blocks[i]];
    const uint64_t *addresses = NULL;
    size_t n = 0;
    if (batch->addresses) {
        addresses = batch->addresses + batch->address_at[i];
        n = batch->address_at[i + 1] - batch->address_at[i];
    }
    run_straight(core, info, addresses, n, events);
    if (info->flags & HP_INFO_BRANCH)
        run_branch(core, info, batch->taken[i], batch->table[batch->blocks[i + 1]].start);
    add_totals(core, events);
}

enum hp_err hp_core_batch(struct hp_core *core, struct hp_code *code, const struct hp_batch *batch,
                          struct hp_events *events)
{
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t block = batch->blocks[i];
        if (block >= core->blocks.cap_infos || !(core->blocks.infos[block].flags & HP_INFO_KNOWN)) {
            enum hp_err err = hp_blocks_add(&core->blocks, code, block);
            if (err != HP_OK) {
                memset(&events[i], 0, (batch->n - i) * sizeof *events);
                return err;
            }
        }
        run_block(core, batch, i, &events[i]);
    }
    return HP_OK;
}

enum hp_err hp_core_tail(struct hp_core *core, struct hp_code *code, const struct hp_event *tail,
                         struct hp_events *events)
{
    struct hp_block_info info;
    *events = (struct hp_events){0};
    HP_TRY(hp_blocks_part(&core->blocks, code, tail->block, tail->insns, &info));
    run_straight(core, &info, tail->addresses, tail->addresses ? tail->n_addresses : 0, events);
    core->blocks.n_steps = info.steps;
    add_totals(core, events);
    return HP_OK;
}

/* --- What it did ------------------------------------------------------------------------------ */

static void stat(struct hp_core *core, const char *name, uint64_t value)
{
    core->stats[core->n_stats++] = (struct hp_core_stat){.name = name, .value = value};
}

static void first_level_stats(struct hp_core *core)
{
    const struct hp_memory *m = &core->memory;
    uint64_t data_misses = core->totals[HP_METRIC_L1D_MISSES];
    stat(core, "l1i.accesses", core->totals[HP_METRIC_INSTRUCTIONS]);
    stat(core, "l1i.misses", core->totals[HP_METRIC_L1I_MISSES]);
    stat(core, "l1i.fills", m->l1i.fills);
    stat(core, "l1d.accesses", core->reads + core->writes);
    stat(core, "l1d.reads", core->reads);
    stat(core, "l1d.writes", core->writes);
    stat(core, "l1d.updates", core->updates);
    stat(core, "l1d.misses", data_misses);
    stat(core, "l1d.read_misses", data_misses - m->data_write_misses);
    stat(core, "l1d.write_misses", m->data_write_misses);
    stat(core, "l1d.fills", m->l1d.fills);
    stat(core, "l1d.writebacks", m->l1d.writebacks);
}

static void lower_level_stats(struct hp_core *core)
{
    static const char *const names[2][7] = {
        {"l2.reads", "l2.writes", "l2.misses", "l2.write_misses", "l2.fills", "l2.writebacks",
         "l2.accesses"},
        {"l3.reads", "l3.writes", "l3.misses", "l3.write_misses", "l3.fills", "l3.writebacks",
         "l3.accesses"}};
    for (unsigned i = 0; i < core->memory.n_lower; i++) {
        const struct hp_level *level = &core->memory.lower[i];
        stat(core, names[i][6], level->reads + level->writes);
        stat(core, names[i][0], level->reads);
        stat(core, names[i][1], level->writes);
        stat(core, names[i][2], level->misses);
        stat(core, names[i][3], level->write_misses);
        stat(core, names[i][4], level->fills);
        stat(core, names[i][5], level->writebacks);
    }
    stat(core, "memory.reads", core->memory.memory_reads);
    stat(core, "memory.writes", core->memory.memory_writes);
}

static void tlb_stats(struct hp_core *core)
{
    const struct hp_memory *m = &core->memory;
    if (m->has_itlb) {
        stat(core, "itlb.accesses", core->totals[HP_METRIC_INSTRUCTIONS]);
        stat(core, "itlb.misses", core->totals[HP_METRIC_ITLB_MISSES]);
    }
    if (m->has_dtlb) {
        stat(core, "dtlb.accesses", core->reads + core->writes);
        stat(core, "dtlb.misses", core->totals[HP_METRIC_DTLB_MISSES]);
    }
    if (m->has_tlb2) {
        stat(core, "tlb2.accesses", m->tlb2.lookups);
        stat(core, "tlb2.misses", m->tlb2.misses);
    }
}

static void branch_stats(struct hp_core *core)
{
    const struct hp_branch_stats *b = &core->branches.stats;
    stat(core, "branches", b->transfers);
    stat(core, "branches.conditional", b->conditional);
    stat(core, "branches.taken", b->taken);
    stat(core, "branches.indirect", b->indirect);
    stat(core, "branches.calls", b->calls);
    stat(core, "branches.returns", b->returns);
    stat(core, "mispredictions", b->mispredictions);
    stat(core, "mispredictions.direction", b->directions);
    stat(core, "mispredictions.target", b->targets);
    stat(core, "mispredictions.return", b->return_addresses);
    stat(core, "btb.lookups", b->btb_lookups);
    stat(core, "btb.misses", b->btb_misses);
}

const struct hp_core_stat *hp_core_stats(struct hp_core *core)
{
    core->n_stats = 0;
    stat(core, "blocks", core->n_blocks);
    stat(core, "instructions", core->totals[HP_METRIC_INSTRUCTIONS]);
    first_level_stats(core);
    lower_level_stats(core);
    tlb_stats(core);
    branch_stats(core);
    stat(core, "power", core->totals[HP_METRIC_POWER]);
    stat(core, "power.cycle", core->totals[HP_METRIC_POWER_CYCLE]);
    stat(core, NULL, 0);
    return core->stats;
}
