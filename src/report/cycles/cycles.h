// SPDX-License-Identifier: MIT
/* What a machine in cycles says: of the run, and of each instruction, exactly or by sampling. */
#ifndef HP_REPORT_CYCLES_H
#define HP_REPORT_CYCLES_H

#include "hotpath/cycles.h"
#include "hotpath/profile.h"
#include "hotpath/sample.h"
#include "report/report.h"
#include "text/strbuf.h"

struct hp_rows;
struct hp_tables;

/* What windows say of the whole run. */
struct hp_windows_sum {
    size_t n;
    uint64_t instructions;  /* measured */
    uint64_t run;           /* instructions of the run */
    struct hp_estimate cpi; /* mean of the windows' ratios */
    struct hp_estimate all; /* cycles of the run, from that */
};
#define HP_WINDOWS_TRUSTED 30 /* fewer windows: the interval may be too narrow */

/* Tallies that are seen in one way, by instruction. */
struct hp_insn_tallies {
    const struct hp_pinsn_tally *tallies;
    size_t n;
};
struct hp_insn_tallies hp_insn_tallies(const struct hp_profile *profile, const char *seen);

struct hp_insns {
    /* what estimates are from: the first paired one, else the first; NULL: none */
    const struct hp_psampler *sampler;
    struct hp_insn_tallies counted;       /* of all executions */
    struct hp_insn_tallies sampled;       /* of the sampler */
    struct hp_insn_tallies fetches;       /* of a sampler of fetches besides; none: there is none */
    const struct hp_psampler *fetcher;    /* that one */
    const struct hp_sampler_about *about; /* what the sampler knows */
    struct hp_insn_tallies best;          /* the former, where there are any */
    double scale; /* of estimates; 1 where there are exact tallies: both are of the windows then */
    bool exact;   /* cycles were attributed exactly */
    bool has_l3;  /* the machine does, as far as it can be seen */
    uint64_t parts;   /* of all cycles that were attributed */
    uint64_t retired; /* by exact tallies */
    uint64_t weight;  /* what shares are of: `parts`, or the latencies of the best tallies */
    struct hp_windows_sum windows;
};

void hp_insns_init(struct hp_insns *insns, const struct hp_profile *profile);

/* Cycles from fetch to retire ready, as far as these are known. */
uint64_t hp_insn_latency(const struct hp_insn_tally *tally);
/* The part of the time that a tally of the best ones stands for: its latency, or where cycles were
 * counted between samples how many there are. */
uint64_t hp_insn_time(const struct hp_insns *insns, const struct hp_insn_tally *tally);

/* Cycles an instruction; 0 where none retired. */
double hp_cpi_of(uint64_t parts, uint64_t retired);

/* The name of cause i; NULL behind the last. */
const char *hp_cause_at(size_t i);

/* The causes that have any cycles, most first; returns how many. */
size_t hp_causes_order(const double cycles[HP_CAUSES], enum hp_cause causes[HP_CAUSES]);

/* What the run comes to, in text: extrapolated from windows first, then what was measured. */
enum hp_err hp_print_cycles_head(const struct hp_tables *tables,
                                 const struct hp_report_options *options, FILE *out);

/* The group of each instruction, into groups[n_insns]: 0 ... *n - 1. Without a source line those of
 * a function are together, and so are all that are in no loop, and all that are in no function. */
enum hp_err hp_insn_groups(const struct hp_profile *profile, enum hp_report_by by, uint32_t *groups,
                           uint32_t *n);

struct hp_insn_facts {
    const struct hp_insns *run;
    const struct hp_sampler_about *about; /* what `sampled` knows */
    uint32_t insn;
    /* NULL: not seen so. Below, `exact` is preferred; set it to NULL for what the sampler says. */
    const struct hp_pinsn_tally *exact, *sampled;
    const struct hp_pinsn_tally *fetches; /* NULL: there was no sampler of fetches, or none of it */
    const struct hp_pinsn_cycles *cycles; /* exact, by cause */
    size_t n_cycles;
};

struct hp_insn_facts hp_insn_facts(const struct hp_tables *tables, uint32_t insn);

/* A measure of overlap with others, of an execution. The sampler has pairs. */
struct hp_estimate hp_insn_overlap_each(const struct hp_psampler *sampler,
                                        const struct hp_pinsn_overlap *overlap);

/* All zero where nothing is known. */
const struct hp_insn_tally *hp_insn_tally(const struct hp_insn_facts *facts);

/* Estimates: what is exact has low = value = high. */

/* Whether it is known how often it was executed, and a stage, and an event. */
bool hp_insn_has_counts(const struct hp_insn_facts *facts);
bool hp_insn_has_stage(const struct hp_insn_facts *facts, enum hp_stage stage);
bool hp_insn_has_event(const struct hp_insn_facts *facts, enum hp_insn_event event);
/* What text calls a stage. */
const char *hp_insn_stage_name(const struct hp_insn_facts *facts, enum hp_stage stage);

/* The facts of the fetches of an instruction, which has some: latency and events are of those. */
struct hp_insn_facts hp_insn_fetch_facts(const struct hp_insn_facts *facts);

/* Executions, of as many in the tally. */
struct hp_estimate hp_insn_count(const struct hp_insn_facts *facts, uint64_t n);
struct hp_estimate hp_insn_retired(const struct hp_insn_facts *facts);

/* Cycles that belong to it; where they were not attributed those from fetch to retire ready, of
 * which many overlap: they add up to more than the run has. */
struct hp_estimate hp_insn_cycles(const struct hp_insn_facts *facts);
struct hp_estimate hp_insn_latencies(const struct hp_insn_facts *facts);
/* Cycles of an execution. */
double hp_insn_each(const struct hp_insn_facts *facts);

/* Of a retired execution: cycles in a stage, and how often it has an event. */
struct hp_estimate hp_insn_stage(const struct hp_insn_facts *facts, enum hp_stage stage);
struct hp_estimate hp_insn_rate(const struct hp_insn_facts *facts, enum hp_insn_event event);

/* What only a paired sampler knows; false: nobody does. */
enum hp_insn_paired {
    HP_INSN_WASTED,   /* issue slots wasted while it was in progress */
    HP_INSN_NEAR_IPC, /* instructions retired a cycle around it */
};
bool hp_insn_paired(const struct hp_insn_facts *facts, enum hp_insn_paired what,
                    struct hp_estimate *estimate);

/* Its part of hp_insns.weight. */
uint64_t hp_insn_weight(const struct hp_insn_facts *facts);

/* "operands 3.1, load 38.2; l1d 38.0%": the stages that take most, and the events that are worth
 * knowing. */
void hp_insn_say(const struct hp_insn_facts *facts, struct hp_strbuf *text);
struct hp_list;
/* What the sampler says, as an object; null where it has none. */
void hp_insn_list_estimates(const struct hp_insn_facts *facts, struct hp_list *list);

/* The sentence why it takes its time, clean. */
void hp_insn_why(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                 struct hp_strbuf *text);

/* Executions are retired ones. All zero: nothing is known. */
struct hp_why {
    enum hp_op op;
    bool has_l3;                  /* the machine does: else what misses L2 comes from memory */
    bool causes_known;            /* exactly */
    bool merged;                  /* execution has all since dispatch in it */
    double causes[HP_CAUSES];     /* cycles an execution */
    double stages[HP_STAGES];     /* cycles an execution */
    double rates[HP_INSN_EVENTS]; /* of executions, 0 ... 1 */
    double trapped;               /* times it was fetched again, an execution */
    /* What it waited for longest. */
    const char *producer;                  /* clean: "the load at foo.c:12"; NULL: not known */
    bool producer_loads;                   /* its rates are worth a word */
    double producer_rates[HP_INSN_EVENTS]; /* as above */
    double wait;                           /* cycles, of an execution that waited for it */
    double waiting;                        /* of executions, how many did: 0 ... 1 */
};

/* Appends the sentence; nothing where nothing is known. */
void hp_why_put(const struct hp_why *why, struct hp_strbuf *text);

/* What a cause means, for people: "loads from memory". */
const char *hp_cause_meaning(enum hp_cause cause);

#endif
