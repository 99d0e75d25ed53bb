// SPDX-License-Identifier: MIT
#include "machine/core_impl.h"
#include "machine/halves.h"

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

enum hp_err hp_core_batch(struct hp_core *core, struct hp_code *code, const struct hp_batch *batch,
                          struct hp_events *events)
{
    uint32_t wrong[HP_BATCH_MAX];
    size_t n;
    enum hp_err err = hp_core_prepare(core, code, batch, &n);
    for (size_t i = 0; i < n; i += HP_BATCH_MAX) {
        struct hp_batch part = hp_batch_part(batch, i, n - i < HP_BATCH_MAX ? n - i : HP_BATCH_MAX);
        hp_core_run_memory(core, &part, part.n, events + i);
        hp_core_add_wrong(events + i, wrong, hp_core_run_branches(core, &part, part.n, wrong));
    }
    memset(events + n, 0, (batch->n - n) * sizeof *events);
    return err;
}

enum hp_err hp_core_tail(struct hp_core *core, struct hp_code *code, const struct hp_event *tail,
                         struct hp_events *events)
{
    struct hp_block_info info;
    *events = (struct hp_events){0};
    HP_TRY(hp_blocks_part(&core->blocks, code, tail->block, tail->insns, &info));
    hp_core_run_straight(core, &info, tail->addresses, tail->addresses ? tail->n_addresses : 0,
                         events);
    core->blocks.n_steps = info.steps;
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
