// SPDX-License-Identifier: MIT
/*
 * The frequent loop detection profiler (Gordon-Ross, Vahid, 2005), as described in the paper of
 * DAProf: a cache of counters of short backward branches. A miss replaces the smallest; when a
 * counter reaches its maximum all are halved.
 */
#include "profiler/loop/model.h"

static uint32_t find_smallest(const struct hp_loop_model *m, uint64_t address)
{
    uint32_t first = hp_loop_set(m, address), best = first;
    for (uint32_t i = first; i < first + m->config.ways; i++)
        if (m->slots[i].executions < m->slots[best].executions)
            best = i;
    return best;
}

static __attribute__((noinline)) void halve(struct hp_loop_model *m)
{
    for (uint32_t i = 0; i < m->config.entries; i++)
        m->slots[i].executions >>= 1;
    m->stats.halvings++;
}

/* Counts `n` branches of a slot, one after the other. */
static inline void count(struct hp_loop_model *m, struct hp_loop_slot *slot, uint64_t n)
{
    while (__builtin_expect(n >= m->execution_max - slot->executions, 0)) {
        n -= m->execution_max - slot->executions;
        slot->executions = m->execution_max;
        halve(m);
    }
    slot->executions += n;
}

static void branch(struct hp_loop_model *m, const struct hp_sbb *sbb, uint32_t index,
                   uint64_t times)
{
    uint32_t slot = hp_loop_find(m, sbb);
    if (slot == HP_NO_ID) {
        slot = find_smallest(m, sbb->address);
        hp_loop_model_take(m, slot, sbb, index);
        m->slots[slot].executions = 0;
    }
    count(m, &m->slots[slot], times);
}

static void frequent_consume(struct hp_loop_model *m, struct hp_loop_task *task,
                             const struct hp_sbb_chunk *chunk)
{
    (void)task;
    for (size_t k = 0; k < chunk->n; k++) {
        const struct hp_sbb_event *e = &chunk->events[k];
        const struct hp_sbb *sbb = &chunk->sbbs[e->sbb];
        if (sbb->offset >= m->config.max_offset) {
            hp_loop_pass(m, (uint64_t)e->first + e->rest);
            continue;
        }
        m->stats.branches += e->times;
        uint64_t times = m->config.fifo ? hp_loop_fifo(m, e) : e->times;
        if (times)
            branch(m, sbb, e->sbb, times);
    }
    hp_loop_pass(m, chunk->insns);
}

const struct hp_loop_ops hp_loop_frequent = {.consume = frequent_consume};

/* --- Settings --------------------------------------------------------------------------------- */

static const struct hp_preset presets[] = {
    {"frequent",
     &(const struct hp_loop_config){.kind = HP_LOOP_FREQUENT,
                                    .entries = 16,
                                    .ways = HP_LOOP_FULL,
                                    .max_offset = 256,
                                    .fifo_service = 3,
                                    .execution_bits = 16},
     "16 entries, fully associative", NULL},
};

#define AT(member) HP_MEMBER(struct hp_loop_config, member)
static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_NUMBER, AT(entries), 1, 1 << 16, "loops that it remembers"},
    {"ways", HP_SETTING_NUMBER, AT(ways), 1, 1 << 16, "entries of a set", .word = "full",
     .word_value = HP_LOOP_FULL},
    {"max-offset", HP_SETTING_NUMBER, AT(max_offset), 1, 1u << 31,
     "bytes: a branch is short when its target is fewer before it"},
    {"fifo", HP_SETTING_NUMBER, AT(fifo), 0, 4096, "branches that can wait; 0: none is ever lost"},
    {"fifo-service", HP_SETTING_NUMBER, AT(fifo_service), 1, 4096,
     "instructions that pass while it takes a branch"},
    {"execution-bits", HP_SETTING_NUMBER, AT(execution_bits), 2, 32, "bits of a frequency counter"},
    {"address-bits", HP_SETTING_NUMBER, AT(address_bits), 16, 64,
     "bits of a code address, for the size; auto: by architecture", .word = "auto"},
    {"insn-bytes", HP_SETTING_NUMBER, AT(insn_bytes), 1, 16,
     "unit of an offset, for the size; auto: by architecture", .word = "auto"},
};
#undef AT

const struct hp_model hp_loop_frequent_model = {
    .name = "frequent",
    .help = "the frequent loop detector: how often short backward branches are taken",
    .presets = presets,
    .n_presets = sizeof presets / sizeof *presets,
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
};
