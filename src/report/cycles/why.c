// SPDX-License-Identifier: MIT
#include "report/cycles/why.h"

#include <math.h>

#define LITTLE_CYCLES 0.05 /* an execution: not worth a sentence */
#define WAIT_CYCLES   2.0  /* an execution: less is how instructions depend on each other anyway */
#define COMMON_MISSES                                                                              \
    0.05 /* of executions: a level that is missed so often says more than those before it */
#define RETIRE_IS_MOST 0.75 /* of its cycles: it does not stall */

const char *hp_cause_meaning(enum hp_cause cause)
{
    static const char *const meanings[HP_CAUSES] = {
        [HP_CAUSE_RETIRE] = "instructions retire",
        [HP_CAUSE_EXECUTE] = "the oldest instruction is being executed",
        [HP_CAUSE_UNIT] = "the oldest instruction waits to be issued",
        [HP_CAUSE_L1] = "its load is served by the L1, or a store in flight",
        [HP_CAUSE_L2] = "its load is served by the L2",
        [HP_CAUSE_L3] = "its load is served by the L3",
        [HP_CAUSE_MEMORY] = "its load is served by memory",
        [HP_CAUSE_DTLB] = "the page of its load was not in the DTLB",
        [HP_CAUSE_BLOCKED] = "its load waits for an older store",
        [HP_CAUSE_QUEUE] = "it is done, the branch queue is full",
        [HP_CAUSE_MISPREDICT] = "behind a mispredicted branch",
        [HP_CAUSE_TRAP] = "fetched again: a load was too early",
        [HP_CAUSE_L1I] = "the next line of code was not in the L1I",
        [HP_CAUSE_ITLB] = "the next page of code was not in the ITLB",
        [HP_CAUSE_FETCH] = "fetch was late: taken branches, front end",
        [HP_CAUSE_SERIAL] = "something runs alone",
    };
    return (unsigned)cause < HP_CAUSES ? meanings[cause] : "?";
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* "41", "2.5", "1"; true: it is one */
static bool put_number(struct hp_strbuf *text, double cycles)
{
    double rounded = floor(cycles + 0.5);
    bool whole = cycles >= 9.95 || (cycles - rounded < 0.05 && rounded - cycles < 0.05);
    hp_strbuf_fixed(text, cycles, whole ? 0 : 1);
    return whole && rounded == 1;
}

static void put_cycles(struct hp_strbuf *text, double cycles)
{
    hp_strbuf_add(text, put_number(text, cycles) ? " cycle" : " cycles");
}

/* "in 38 % of executions"; "always" */
static void put_rate(struct hp_strbuf *text, double rate)
{
    if (rate >= 0.9995) {
        hp_strbuf_add(text, "always");
        return;
    }
    hp_strbuf_add(text, "in ");
    if (rate < 0.0005)
        hp_strbuf_add(text, "<0.1");
    else
        hp_strbuf_fixed(text, rate * 100, rate < 0.0995 ? 1 : 0);
    hp_strbuf_add(text, " % of executions");
}

/* ": 14 cycles each", of cycles an execution and how many executions have the event. */
static void put_each(struct hp_strbuf *text, double cycles, double rate)
{
    if (rate <= 0 || cycles <= LITTLE_CYCLES)
        return;
    hp_strbuf_add(text, ": ");
    put_cycles(text, cycles / rate);
    hp_strbuf_add(text, rate >= 0.9995 ? "" : " each");
}

/* --- Clauses ---------------------------------------------------------------------------------- */

/* The farthest level that is often missed: "misses L2 in 38 % of executions". False: none is. */
static bool put_misses(struct hp_strbuf *text, const double *rates, bool has_l3)
{
    double l1 = rates[HP_INSN_L1D], l2 = rates[HP_INSN_L2], l3 = rates[HP_INSN_L3];
    if (l1 <= 0)
        return false;
    bool third = has_l3 && l3 >= COMMON_MISSES;
    bool second = l2 >= COMMON_MISSES;
    hp_strbuf_add(text, third ? "misses L3 " : second ? "misses L2 " : "misses L1 ");
    put_rate(text, third ? l3 : second ? l2 : l1);
    return true;
}

/* "waits 41 cycles for the load at foo.c:12, which misses L2 in 38 % of executions" */
static void put_wait(struct hp_strbuf *text, const struct hp_why *why)
{
    hp_strbuf_add(text, "waits ");
    if (!why->producer) {
        put_cycles(text, why->stages[HP_STAGE_OPERANDS]);
        hp_strbuf_add(text, " for its operands");
        return;
    }
    put_cycles(text, why->wait);
    hp_strbuf_add(text, " for ");
    hp_strbuf_add(text, why->producer);
    if (why->waiting < 0.95) {
        hp_strbuf_add(text, " ");
        put_rate(text, why->waiting);
    }
    struct hp_strbuf misses = {0};
    if (why->producer_loads && put_misses(&misses, why->producer_rates, why->has_l3)) {
        hp_strbuf_add(text, ", which ");
        hp_strbuf_add(text, hp_strbuf_text(&misses));
    }
    text->failed |= misses.failed;
    hp_strbuf_fini(&misses);
}

/* Its own load, which comes from a level: `rate` of executions miss the one before. */
static void put_load(struct hp_strbuf *text, const struct hp_why *why, const char *misses,
                     double rate, double cycles)
{
    hp_strbuf_add(text, "its load misses ");
    hp_strbuf_add(text, misses);
    hp_strbuf_add(text, " ");
    put_rate(text, rate);
    put_each(text, cycles, rate);
    if (why->rates[HP_INSN_DTLB] >= COMMON_MISSES) {
        hp_strbuf_add(text, ", and the DTLB ");
        put_rate(text, why->rates[HP_INSN_DTLB]);
    }
}

/* A clause that is "SUBJECT in 12 % of executions: 14 cycles each". */
static void put_event(struct hp_strbuf *text, const char *subject, double rate, double cycles)
{
    hp_strbuf_add(text, subject);
    hp_strbuf_add(text, " ");
    put_rate(text, rate);
    put_each(text, cycles, rate);
}

static bool divides(enum hp_op op)
{
    return op == HP_OP_DIV || op == HP_OP_FDIV;
}

/* `seen`: cycles of it in which nothing else could retire; < 0: not known. */
static void put_execute(struct hp_strbuf *text, const struct hp_why *why, double seen)
{
    double cycles = why->stages[HP_STAGE_EXECUTE];
    if (cycles < seen)
        cycles = seen;
    hp_strbuf_add(text, "takes ");
    put_cycles(text, cycles);
    hp_strbuf_add(text, divides(why->op) ? " in the divider" : " to execute");
    if (seen >= 0 && seen < 0.95 * cycles) {
        hp_strbuf_add(text, ", ");
        put_number(text, seen);
        hp_strbuf_add(text, " of them not hidden");
    }
}

static void put_unit(struct hp_strbuf *text, const struct hp_why *why, double cycles)
{
    hp_strbuf_add(text, divides(why->op) ? "the divider is busy " : "no unit is free for it ");
    put_rate(text, why->rates[HP_INSN_UNIT_BUSY]);
    put_each(text, cycles, why->rates[HP_INSN_UNIT_BUSY]);
}

/* Before it is issued, though it is the oldest: a unit, or only the cycle that follows what it
 * waited for. */
static void put_issue(struct hp_strbuf *text, const struct hp_why *why, double cycles)
{
    if (why->rates[HP_INSN_UNIT_BUSY] > 0) {
        put_unit(text, why, cycles);
        return;
    }
    hp_strbuf_add(text, "waits ");
    put_cycles(text, cycles);
    hp_strbuf_add(text, " to be issued");
}

/* --- Exactly: by cause ------------------------------------------------------------------------ */

static enum hp_cause largest_cause(const struct hp_why *why)
{
    double all = 0;
    for (int i = 0; i < HP_CAUSES; i++)
        all += why->causes[i];
    if (why->causes[HP_CAUSE_RETIRE] >= RETIRE_IS_MOST * all)
        return HP_CAUSE_RETIRE;
    int largest = HP_CAUSE_RETIRE + 1;
    for (int i = largest; i < HP_CAUSES; i++)
        if (why->causes[i] > why->causes[largest])
            largest = i;
    return (enum hp_cause)largest;
}

static void put_cause(struct hp_strbuf *text, const struct hp_why *why, enum hp_cause cause)
{
    const double *rates = why->rates;
    double cycles = why->causes[cause];
    switch (cause) {
    case HP_CAUSE_EXECUTE: put_execute(text, why, cycles); return;
    case HP_CAUSE_UNIT: put_issue(text, why, cycles); return;
    case HP_CAUSE_L1:
        hp_strbuf_add(text, rates[HP_INSN_FORWARDED] >= 0.5
                                ? "waits for the value of a store in flight: "
                                : "waits for the L1: ");
        put_cycles(text, cycles);
        return;
    case HP_CAUSE_L2: put_load(text, why, "L1", rates[HP_INSN_L1D], cycles); return;
    case HP_CAUSE_L3: put_load(text, why, "L2", rates[HP_INSN_L2], cycles); return;
    case HP_CAUSE_MEMORY:
        put_load(text, why, why->has_l3 ? "L3" : "L2", rates[why->has_l3 ? HP_INSN_L3 : HP_INSN_L2],
                 cycles);
        return;
    case HP_CAUSE_DTLB:
        put_event(text, "the page of its data is not in the DTLB", rates[HP_INSN_DTLB], cycles);
        return;
    case HP_CAUSE_BLOCKED:
        put_event(text, "its load waits for an older store", rates[HP_INSN_BLOCKED], cycles);
        return;
    case HP_CAUSE_QUEUE:
        hp_strbuf_add(text, "is done, but the profiler's branch queue is full: ");
        put_cycles(text, cycles);
        return;
    case HP_CAUSE_MISPREDICT:
        put_event(text, "mispredicted", rates[HP_INSN_MISPREDICTED], cycles);
        return;
    case HP_CAUSE_TRAP:
        put_event(text, "is too early", why->trapped, cycles);
        hp_strbuf_add(text, " (memory trap)");
        return;
    case HP_CAUSE_L1I:
        put_event(text, "its line is not in the L1I", rates[HP_INSN_L1I], cycles);
        return;
    case HP_CAUSE_ITLB:
        put_event(text, "its page is not in the ITLB", rates[HP_INSN_ITLB], cycles);
        return;
    case HP_CAUSE_FETCH:
        hp_strbuf_add(text, "is fetched late: ");
        put_cycles(text, cycles);
        return;
    case HP_CAUSE_SERIAL:
        hp_strbuf_add(text, why->op == HP_OP_SYSTEM || why->op == HP_OP_ATOMIC
                                ? "runs alone: "
                                : "waits for an instruction that runs alone: ");
        put_cycles(text, cycles);
        return;
    default: hp_strbuf_add(text, "does not stall: it is executed often"); return;
    }
}

static void put_exact(const struct hp_why *why, struct hp_strbuf *text)
{
    enum hp_cause cause = largest_cause(why);
    double own = cause == HP_CAUSE_RETIRE ? 0 : why->causes[cause];
    double waits = why->producer ? why->wait * why->waiting : 0;
    bool late = waits >= WAIT_CYCLES && waits > own;
    if (!late || own >= 1)
        put_cause(text, why, cause);
    if (late && own >= 1)
        hp_strbuf_add(text, "; ");
    if (late)
        put_wait(text, why);
}

/* --- By sampling: by stage -------------------------------------------------------------------- */

/* What there was no room in when it could have been mapped. */
static void put_map(struct hp_strbuf *text, const struct hp_why *why)
{
    static const struct {
        enum hp_insn_event event;
        const char *text;
    } events[] = {
        {HP_INSN_NO_REORDER, "the reorder buffer is full"},
        {HP_INSN_NO_QUEUE, "the issue queue is full"},
        {HP_INSN_NO_MEMORY_QUEUE, "the memory queue is full"},
        {HP_INSN_NO_REGISTER, "there is no free register"},
    };
    size_t largest = 0;
    for (size_t i = 1; i < sizeof events / sizeof *events; i++)
        if (why->rates[events[i].event] > why->rates[events[largest].event])
            largest = i;
    hp_strbuf_add(text, "waits ");
    put_cycles(text, why->stages[HP_STAGE_MAP]);
    hp_strbuf_add(text, " between fetch and map");
    if (why->rates[events[largest].event] > 0) {
        hp_strbuf_add(text, ": ");
        hp_strbuf_add(text, events[largest].text);
        hp_strbuf_add(text, " ");
        put_rate(text, why->rates[events[largest].event]);
    }
}

static void put_executing(struct hp_strbuf *text, const struct hp_why *why)
{
    struct hp_strbuf misses = {0};
    if (why->stages[HP_STAGE_LOAD] > 0 && put_misses(&misses, why->rates, why->has_l3)) {
        hp_strbuf_add(text, "its load takes ");
        put_cycles(text, why->stages[HP_STAGE_LOAD]);
        hp_strbuf_add(text, ": it ");
        hp_strbuf_add(text, hp_strbuf_text(&misses));
    } else {
        put_execute(text, why, -1);
    }
    text->failed |= misses.failed;
    hp_strbuf_fini(&misses);
}

static void put_stage(const struct hp_why *why, struct hp_strbuf *text)
{
    int largest = HP_STAGE_MAP;
    for (int i = 0; i <= HP_STAGE_RETIRE; i++)
        if (why->stages[i] > why->stages[largest])
            largest = i;
    if (why->rates[HP_INSN_MISPREDICTED] >= COMMON_MISSES) {
        put_event(text, "mispredicted", why->rates[HP_INSN_MISPREDICTED], 0);
        hp_strbuf_add(text, "; ");
    }
    switch (largest) {
    case HP_STAGE_MAP: put_map(text, why); return;
    case HP_STAGE_OPERANDS: put_wait(text, why); return;
    case HP_STAGE_ISSUE: put_issue(text, why, why->stages[HP_STAGE_ISSUE]); return;
    case HP_STAGE_EXECUTE: put_executing(text, why); return;
    default:
        hp_strbuf_add(text, "retires ");
        put_cycles(text, why->stages[HP_STAGE_RETIRE]);
        hp_strbuf_add(text, " late, behind older instructions");
        return;
    }
}

void hp_why_put(const struct hp_why *why, struct hp_strbuf *text)
{
    double all = 0;
    for (int i = 0; i < HP_CAUSES && why->causes_known; i++)
        all += why->causes[i];
    for (int i = 0; i < HP_STAGES; i++)
        all += why->stages[i];
    if (all <= 0)
        return;
    if (why->causes_known)
        put_exact(why, text);
    else
        put_stage(why, text);
}
