// SPDX-License-Identifier: MIT
/* The tally of an instruction's executions. */
#include "hotpath/sample.h"

/* --- Names ------------------------------------------------------------------------------------ */

const char *hp_insn_event_name(enum hp_insn_event event)
{
    static const char *const names[HP_INSN_EVENTS] = {
        [HP_INSN_L1I] = "l1i",
        [HP_INSN_ITLB] = "itlb",
        [HP_INSN_L1D] = "l1d",
        [HP_INSN_L2] = "l2",
        [HP_INSN_L3] = "l3",
        [HP_INSN_DTLB] = "dtlb",
        [HP_INSN_TAKEN] = "taken",
        [HP_INSN_MISPREDICTED] = "mispredicted",
        [HP_INSN_BTB] = "btb",
        [HP_INSN_FORWARDED] = "forwarded",
        [HP_INSN_BLOCKED] = "blocked",
        [HP_INSN_NO_REORDER] = "no-reorder",
        [HP_INSN_NO_QUEUE] = "no-queue",
        [HP_INSN_NO_MEMORY_QUEUE] = "no-memory-queue",
        [HP_INSN_NO_REGISTER] = "no-register",
        [HP_INSN_UNIT_BUSY] = "unit-busy",
    };
    return (unsigned)event < HP_INSN_EVENTS ? names[event] : "?";
}

const char *hp_stage_name(enum hp_stage stage)
{
    static const char *const names[HP_STAGES] = {
        [HP_STAGE_MAP] = "map",       [HP_STAGE_OPERANDS] = "operands",
        [HP_STAGE_ISSUE] = "issue",   [HP_STAGE_EXECUTE] = "execute",
        [HP_STAGE_RETIRE] = "retire", [HP_STAGE_LOAD] = "load",
    };
    return (unsigned)stage < HP_STAGES ? names[stage] : "?";
}

/* --- One execution ---------------------------------------------------------------------------- */

/* The timing bit of an event; 0: it follows from where the data came from. */
static const uint32_t event_bits[HP_INSN_EVENTS] = {
    [HP_INSN_L1I] = HP_TIMING_L1I,
    [HP_INSN_ITLB] = HP_TIMING_ITLB,
    [HP_INSN_DTLB] = HP_TIMING_DTLB,
    [HP_INSN_TAKEN] = HP_TIMING_TAKEN,
    [HP_INSN_MISPREDICTED] = HP_TIMING_MISPREDICTED,
    [HP_INSN_BTB] = HP_TIMING_BTB,
    [HP_INSN_FORWARDED] = HP_TIMING_FORWARDED,
    [HP_INSN_BLOCKED] = HP_TIMING_BLOCKED,
    [HP_INSN_NO_REORDER] = HP_TIMING_NO_REORDER,
    [HP_INSN_NO_QUEUE] = HP_TIMING_NO_QUEUE,
    [HP_INSN_NO_MEMORY_QUEUE] = HP_TIMING_NO_MEMORY_QUEUE,
    [HP_INSN_NO_REGISTER] = HP_TIMING_NO_REGISTER,
    [HP_INSN_UNIT_BUSY] = HP_TIMING_UNIT_BUSY,
};

#define ANY_EVENT                                                                                  \
    (HP_TIMING_L1I | HP_TIMING_ITLB | HP_TIMING_DTLB | HP_TIMING_TAKEN | HP_TIMING_MISPREDICTED |  \
     HP_TIMING_BTB | HP_TIMING_FORWARDED | HP_TIMING_BLOCKED | HP_TIMING_NO_REORDER |              \
     HP_TIMING_NO_QUEUE | HP_TIMING_NO_MEMORY_QUEUE | HP_TIMING_NO_REGISTER | HP_TIMING_UNIT_BUSY)

static void add_events(struct hp_insn_tally *tally, const struct hp_timing *timing)
{
    if (timing->events & ANY_EVENT)
        for (size_t i = 0; i < HP_INSN_EVENTS; i++)
            tally->events[i] += (timing->events & event_bits[i]) != 0;
    if (timing->data_from > HP_FROM_L1) {
        tally->events[HP_INSN_L1D]++;
        tally->events[HP_INSN_L2] += timing->data_from > HP_FROM_L2;
        tally->events[HP_INSN_L3] += timing->data_from > HP_FROM_L3;
    }
}

static void add_stage(struct hp_insn_tally *tally, enum hp_stage stage, uint32_t from, uint32_t to)
{
    uint64_t cycles = to > from ? to - from : 0;
    tally->stages[stage] += cycles;
    tally->stage_squares[stage] += cycles * cycles;
}

/* A point that an instruction did not reach is that of the point before: a nop is never issued, and
 * all its time from map to retire ready is execution. */
static uint32_t later(uint32_t point, uint32_t before)
{
    return point == HP_NEVER || point < before ? before : point;
}

static void add_stages(struct hp_insn_tally *tally, const struct hp_timing *timing)
{
    uint32_t mapped = later(timing->mapped, 0);
    uint32_t ready = later(timing->ready, mapped);
    uint32_t issued = later(timing->issued, ready);
    uint32_t done = later(timing->done, issued);
    add_stage(tally, HP_STAGE_MAP, 0, mapped);
    add_stage(tally, HP_STAGE_OPERANDS, mapped, ready);
    add_stage(tally, HP_STAGE_ISSUE, ready, issued);
    add_stage(tally, HP_STAGE_EXECUTE, issued, done);
    add_stage(tally, HP_STAGE_RETIRE, done, later(timing->left, done));
    add_stage(tally, HP_STAGE_LOAD, issued, later(timing->loaded, issued));
}

void hp_insn_tally_add(struct hp_insn_tally *tally, const struct hp_timing *timing)
{
    tally->fetched++;
    if (timing->events & HP_TIMING_RETIRED) {
        tally->retired++;
        add_events(tally, timing);
        add_stages(tally, timing);
    } else if (timing->events & HP_TIMING_TRAPPED) {
        tally->trapped++;
    } else {
        tally->wrong_path++;
    }
}

void hp_insn_tally_merge(struct hp_insn_tally *tally, const struct hp_insn_tally *other)
{
    tally->fetched += other->fetched;
    tally->retired += other->retired;
    tally->wrong_path += other->wrong_path;
    tally->trapped += other->trapped;
    for (size_t i = 0; i < HP_INSN_EVENTS; i++)
        tally->events[i] += other->events[i];
    for (size_t i = 0; i < HP_STAGES; i++) {
        tally->stages[i] += other->stages[i];
        tally->stage_squares[i] += other->stage_squares[i];
    }
}
