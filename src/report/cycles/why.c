// SPDX-License-Identifier: MIT
/*
 * Why an instruction takes its time, as one plain sentence (without a capital letter and a full
 * stop): "waits 41 cycles for the load at foo.c:12, which misses L2 in 38 % of executions".
 *
 * Where every cycle was attributed exactly, the sentence is about the cause that most of the
 * instruction's cycles have; where only latencies are known (sampling) about the stage that takes
 * longest. What it waits for follows when it waits longer than it takes itself, or stands alone
 * when that is next to nothing.
 */
#include "base/base.h"
#include "report/cycles/cycles.h"
#include "text/number.h"

#include <math.h>

#define LITTLE_CYCLES  0.05 /* an execution: not worth a sentence */
#define WAIT_CYCLES    2.0  /* an execution: less is how instructions depend on each other anyway */
#define COMMON_MISSES  0.05 /* of executions: such a level says more than those before it */
#define ALWAYS         0.9995 /* of executions: all of them */
#define MOST           0.95   /* of executions or cycles: the rest is not worth a word */
#define RETIRE_IS_MOST 0.75   /* of its cycles: it does not stall */

#define NO_EVENT HP_INSN_EVENTS

static const struct cause {
    const char *meaning;
    const char *clause;       /* what is said of an instruction: how often, and its cycles; */
    enum hp_insn_event event; /* NO_EVENT: only the cycles */
} causes[HP_CAUSES] = {
    [HP_CAUSE_RETIRE] = {"instructions retire", "", NO_EVENT},
    [HP_CAUSE_EXECUTE] = {"the oldest instruction is being executed", "", NO_EVENT},
    [HP_CAUSE_UNIT] = {"the oldest instruction waits to be issued", "", NO_EVENT},
    [HP_CAUSE_L1] = {"its load is served by the L1, or a store in flight", "waits for the L1",
                     NO_EVENT},
    [HP_CAUSE_L2] = {"its load is served by the L2", "its load misses L1", HP_INSN_L1D},
    [HP_CAUSE_L3] = {"its load is served by the L3", "its load misses L2", HP_INSN_L2},
    [HP_CAUSE_MEMORY] = {"its load is served by memory", "its load misses L3", HP_INSN_L3},
    [HP_CAUSE_DTLB] = {"the page of its load was not in the DTLB",
                       "the page of its data is not in the DTLB", HP_INSN_DTLB},
    [HP_CAUSE_BLOCKED] = {"its load waits for an older store", "its load waits for an older store",
                          HP_INSN_BLOCKED},
    [HP_CAUSE_QUEUE] = {"it is done, the branch queue is full",
                        "is done, but the profiler's branch queue is full", NO_EVENT},
    [HP_CAUSE_MISPREDICT] = {"behind a mispredicted branch", "mispredicted", HP_INSN_MISPREDICTED},
    [HP_CAUSE_TRAP] = {"fetched again: a load was too early", "is too early", NO_EVENT},
    [HP_CAUSE_L1I] = {"the next line of code was not in the L1I", "its line is not in the L1I",
                      HP_INSN_L1I},
    [HP_CAUSE_ITLB] = {"the next page of code was not in the ITLB", "its page is not in the ITLB",
                       HP_INSN_ITLB},
    [HP_CAUSE_FETCH] = {"fetch was late: taken branches, front end", "is fetched late", NO_EVENT},
    [HP_CAUSE_SERIAL] = {"something runs alone", "waits for an instruction that runs alone",
                         NO_EVENT},
};

const char *hp_cause_meaning(enum hp_cause cause)
{
    return (unsigned)cause < HP_CAUSES ? causes[cause].meaning : "?";
}

/* --- Arguments of hp_strbuf_format() ---------------------------------------------------------- */

#define TEXT_SIZE     (HP_NUMBER_SIZE + 24)
#define CYCLES(value) cycles_text((char[TEXT_SIZE]){0}, value)
#define RATE(value)   rate_text((char[TEXT_SIZE]){0}, value)

/* "41 cycles", "2.5 cycles", "1 cycle" */
static const char *cycles_text(char text[TEXT_SIZE], double cycles)
{
    const char *number = HP_SHORT(cycles);
    snprintf(text, TEXT_SIZE, "%s cycle%s", number, strcmp(number, "1") == 0 ? "" : "s");
    return text;
}

/* "in 38 % of executions"; "always" */
static const char *rate_text(char text[TEXT_SIZE], double rate)
{
    if (rate >= ALWAYS)
        return "always";
    snprintf(text, TEXT_SIZE, "in %s %% of executions",
             rate < 0.0005 ? "<0.1" : HP_FIXED(rate * 100, rate < 0.0995 ? 1 : 0));
    return text;
}

/* --- Clauses ---------------------------------------------------------------------------------- */

/* The farthest level that is often missed, and how often; NULL: none is. */
static const char *missed_level(const double *rates, bool has_l3, double *rate)
{
    bool third = has_l3 && rates[HP_INSN_L3] >= COMMON_MISSES;
    bool second = rates[HP_INSN_L2] >= COMMON_MISSES;
    *rate = rates[third ? HP_INSN_L3 : second ? HP_INSN_L2 : HP_INSN_L1D];
    return rates[HP_INSN_L1D] <= 0 ? NULL : third ? "L3" : second ? "L2" : "L1";
}

/* "waits 41 cycles for the load at foo.c:12, which misses L2 in 38 % of executions" */
static void put_wait(struct hp_strbuf *text, const struct hp_why *why)
{
    double rate;
    const char *level = missed_level(why->producer_rates, why->has_l3, &rate);
    if (!why->producer) {
        hp_strbuf_format(text, "waits %s for its operands", CYCLES(why->stages[HP_STAGE_OPERANDS]));
        return;
    }
    hp_strbuf_format(text, "waits %s for %s", CYCLES(why->wait), why->producer);
    if (why->waiting < MOST)
        hp_strbuf_format(text, " %s", RATE(why->waiting));
    if (why->producer_loads && level)
        hp_strbuf_format(text, ", which misses %s %s", level, RATE(rate));
}

/* "SUBJECT in 12 % of executions: 14 cycles each", of `cycles` an execution. */
static void put_event(struct hp_strbuf *text, const char *subject, double rate, double cycles)
{
    hp_strbuf_format(text, "%s %s", subject, RATE(rate));
    if (rate > 0 && cycles > LITTLE_CYCLES)
        hp_strbuf_format(text, ": %s%s", CYCLES(cycles / rate), rate >= ALWAYS ? "" : " each");
}

static bool divides(enum hp_op op)
{
    return op == HP_OP_DIV || op == HP_OP_FDIV;
}

/* `seen`: cycles of it in which nothing else could retire; < 0: not known. */
static void put_execute(struct hp_strbuf *text, const struct hp_why *why, double seen)
{
    double cycles = fmax(why->stages[HP_STAGE_EXECUTE], seen);
    hp_strbuf_format(text, "takes %s %s", CYCLES(cycles),
                     why->merged        ? "from dispatch to completion"
                     : divides(why->op) ? "in the divider"
                                        : "to execute");
    if (seen >= 0 && seen < MOST * cycles)
        hp_strbuf_format(text, ", %s of them not hidden", HP_SHORT(seen));
}

/* Why the oldest is not issued: no unit, or only the cycle that follows what it waited for. */
static void put_issue(struct hp_strbuf *text, const struct hp_why *why, double cycles)
{
    double busy = why->rates[HP_INSN_UNIT_BUSY];
    if (busy > 0)
        put_event(text, divides(why->op) ? "the divider is busy" : "no unit is free for it", busy,
                  cycles);
    else
        hp_strbuf_format(text, "waits %s to be issued", CYCLES(cycles));
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
    bool second = cause == HP_CAUSE_MEMORY && !why->has_l3;
    bool load = cause >= HP_CAUSE_L2 && cause <= HP_CAUSE_MEMORY;
    struct cause said = causes[second ? HP_CAUSE_L3 : cause];
    double cycles = why->causes[cause], pages = load ? why->rates[HP_INSN_DTLB] : 0;
    if (cause == HP_CAUSE_L1 && why->rates[HP_INSN_FORWARDED] >= 0.5)
        said.clause = "waits for the value of a store in flight";
    if (cause == HP_CAUSE_SERIAL && (why->op == HP_OP_SYSTEM || why->op == HP_OP_ATOMIC))
        said.clause = "runs alone";
    switch (cause) {
    case HP_CAUSE_RETIRE: hp_strbuf_add(text, "does not stall: it is executed often"); return;
    case HP_CAUSE_EXECUTE: put_execute(text, why, cycles); return;
    case HP_CAUSE_UNIT: put_issue(text, why, cycles); return;
    case HP_CAUSE_TRAP:
        put_event(text, said.clause, why->trapped, cycles);
        hp_strbuf_add(text, " (memory trap)");
        return;
    default: break;
    }
    if (said.event == NO_EVENT)
        hp_strbuf_format(text, "%s: %s", said.clause, CYCLES(cycles));
    else
        put_event(text, said.clause, why->rates[said.event], cycles);
    if (pages >= COMMON_MISSES)
        hp_strbuf_format(text, ", and the DTLB %s", RATE(pages));
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
    double rate = why->rates[events[largest].event];
    hp_strbuf_format(text, "waits %s between fetch and map", CYCLES(why->stages[HP_STAGE_MAP]));
    if (rate > 0)
        hp_strbuf_format(text, ": %s %s", events[largest].text, RATE(rate));
}

static void put_executing(struct hp_strbuf *text, const struct hp_why *why)
{
    double rate, load = why->stages[HP_STAGE_LOAD];
    const char *level = missed_level(why->rates, why->has_l3, &rate);
    if (why->merged) {
        put_execute(text, why, -1);
        if (load > 0 && level)
            hp_strbuf_format(text, "; misses %s %s", level, RATE(rate));
    } else if (load > 0 && level)
        hp_strbuf_format(text, "its load takes %s: it misses %s %s", CYCLES(load), level,
                         RATE(rate));
    else
        put_execute(text, why, -1);
}

static void put_stage(const struct hp_why *why, struct hp_strbuf *text)
{
    int largest = HP_STAGE_MAP;
    for (int i = 0; i <= HP_STAGE_RETIRE; i++)
        if (why->stages[i] > why->stages[largest])
            largest = i;
    if (why->rates[HP_INSN_MISPREDICTED] >= COMMON_MISSES)
        hp_strbuf_format(text, "mispredicted %s; ", RATE(why->rates[HP_INSN_MISPREDICTED]));
    switch (largest) {
    case HP_STAGE_MAP: put_map(text, why); return;
    case HP_STAGE_OPERANDS: put_wait(text, why); return;
    case HP_STAGE_ISSUE: put_issue(text, why, why->stages[HP_STAGE_ISSUE]); return;
    case HP_STAGE_EXECUTE: put_executing(text, why); return;
    default:
        hp_strbuf_format(text, "retires %s late, behind older instructions",
                         CYCLES(why->stages[HP_STAGE_RETIRE]));
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
