// SPDX-License-Identifier: MIT
#include "import/ibs.h"

#include "base/base.h"

struct hp_ibs_cpu hp_ibs_cpu_of(const char *cpu)
{
    unsigned family, model;
    bool known = sscanf(cpu, "AuthenticAMD,%u,%u", &family, &model) == 2;
    return (struct hp_ibs_cpu){.zen3 = known && family == 0x19 && model < 0x10};
}

static uint32_t sixteen(uint64_t value, unsigned from)
{
    return (uint32_t)(value >> from & 0xffff);
}

/* As far as it is known: what came from beyond the L2 is from the L3 unless the source says more,
 * which it does of loads. */
static uint8_t data_from(uint64_t data2, uint64_t data3, uint32_t caps,
                         const struct hp_ibs_cpu *cpu)
{
    bool unknown = cpu->zen3 && data3 & (HP_IBS_DATA3_NO_MAB | HP_IBS_DATA3_PREFETCH);
    bool zen4 = caps & HP_IBS_CAPS_ZEN4;
    uint64_t source = (data2 & 7) | (zen4 ? (data2 >> 6 & 3) << 3 : 0);
    if (!(data3 & (HP_IBS_DATA3_LOAD | HP_IBS_DATA3_STORE)))
        return HP_FROM_NOWHERE;
    if (!(data3 & HP_IBS_DATA3_MISS))
        return HP_FROM_L1;
    if (!(data3 & HP_IBS_DATA3_L2_MISS) || unknown)
        return HP_FROM_L2;
    if (!(data3 & HP_IBS_DATA3_LOAD) || source < HP_IBS_SOURCE_CACHE)
        return HP_FROM_L3;
    return source == HP_IBS_SOURCE_CACHE && !zen4 ? HP_FROM_L3 : HP_FROM_MEMORY;
}

static uint32_t events_of(uint64_t data, uint64_t data3)
{
    uint32_t events = HP_TIMING_RETIRED | HP_TIMING_MEASURED;
    if (data & HP_IBS_DATA_BRANCH) {
        events |= data & HP_IBS_DATA_TAKEN ? HP_TIMING_TAKEN : 0;
        events |= data & HP_IBS_DATA_MISPREDICTED ? HP_TIMING_MISPREDICTED : 0;
    }
    if (data3 & (HP_IBS_DATA3_LOAD | HP_IBS_DATA3_STORE)) {
        events |= data3 & HP_IBS_DATA3_MISS ? HP_TIMING_L1D : 0;
        events |= data3 & HP_IBS_DATA3_TLB1_MISS ? HP_TIMING_DTLB : 0;
        events |= data3 & HP_IBS_DATA3_TLB2_MISS ? HP_TIMING_TLB2 : 0;
    }
    return events;
}

enum hp_ibs_state hp_ibs_take_op(struct hp_perf_bytes raw, const struct hp_ibs_cpu *cpu,
                                 struct hp_ibs_sample *sample)
{
    uint64_t r[HP_IBS_BRTARGET];
    uint32_t caps = hp_perf_u32(&raw);
    for (size_t i = 0; i < sizeof r / sizeof *r; i++)
        r[i] = hp_perf_u64(&raw);
    uint64_t data = r[HP_IBS_OP_DATA], data3 = r[HP_IBS_OP_DATA3];
    uint32_t tag = sixteen(data, HP_IBS_DATA_TAG_TO_RETIRE);
    uint32_t completion = sixteen(data, HP_IBS_DATA_COMPLETION_TO_RETIRE);
    if (raw.bad || !(r[HP_IBS_OP_CTL] & HP_IBS_CTL_VALID))
        return HP_IBS_DAMAGED;
    sample->pc = r[HP_IBS_OP_RIP];
    sample->filtered = caps & HP_IBS_CAPS_ZEN4 && r[HP_IBS_OP_CTL] & HP_IBS_CTL_L3;
    sample->timing = (struct hp_timing){.ready = HP_NEVER,
                                        .issued = HP_NEVER,
                                        .done = completion < tag ? tag - completion : 0,
                                        .left = tag,
                                        .loaded = HP_NEVER,
                                        .events = events_of(data, data3)};
    if (data3 & HP_IBS_DATA3_LOAD && data3 & HP_IBS_DATA3_MISS)
        sample->timing.loaded = sixteen(data3, HP_IBS_DATA3_MISS_CYCLES);
    if (data3 & HP_IBS_DATA3_ADDRESS)
        sample->timing.address = r[HP_IBS_DC_LINADDR];
    sample->timing.data_from = data_from(r[HP_IBS_OP_DATA2], data3, caps, cpu);
    return data & HP_IBS_DATA_NO_RIP ? HP_IBS_NO_PLACE : HP_IBS_GOOD;
}

enum hp_ibs_state hp_ibs_take_fetch(struct hp_perf_bytes raw, const struct hp_ibs_cpu *cpu,
                                    struct hp_ibs_sample *sample)
{
    hp_perf_u32(&raw); /* capabilities */
    uint64_t control = hp_perf_u64(&raw);
    sample->pc = hp_perf_u64(&raw);
    if (raw.bad || !(control & HP_IBS_FETCH_VALID))
        return HP_IBS_DAMAGED;
    sample->filtered = false;
    uint32_t cycles = sixteen(control, HP_IBS_FETCH_CYCLES);
    uint32_t events = HP_TIMING_RETIRED | HP_TIMING_MEASURED;
    events |= control & HP_IBS_FETCH_MISS && !cpu->zen3 ? HP_TIMING_L1I : 0;
    events |= control & HP_IBS_FETCH_TLB1_MISS ? HP_TIMING_ITLB : 0;
    sample->timing = (struct hp_timing){.mapped = cycles,
                                        .ready = HP_NEVER,
                                        .issued = HP_NEVER,
                                        .done = cycles,
                                        .left = cycles,
                                        .loaded = HP_NEVER,
                                        .events = events};
    return control & HP_IBS_FETCH_COMPLETE ? HP_IBS_GOOD : HP_IBS_ABORTED;
}
