// SPDX-License-Identifier: MIT
/*
 * Instructions as reports need them: what is known of each, exactly or by sampling, and what the
 * run comes to.
 */
#ifndef HP_REPORT_INSNS_H
#define HP_REPORT_INSNS_H

#include "hotpath/cycles.h"
#include "hotpath/profile.h"
#include "report/cycles/why.h"

struct hp_tables;
struct hp_rows;

/* --- The run ---------------------------------------------------------------------------------- */

/* What windows say of the whole run. */
struct hp_windows_sum {
    size_t n;
    uint64_t instructions, cycles; /* measured */
    uint64_t run;                  /* instructions of the run */
    struct hp_estimate cpi;        /* mean of the windows' ratios */
    struct hp_estimate all;        /* cycles of the run, from that */
};
#define HP_WINDOWS_TRUSTED 30 /* fewer windows: the interval may be too narrow */

struct hp_insns {
    /* what estimates are from: the first paired one, else the first; NULL: none */
    const struct hp_psampler *sampler;
    size_t first_exact, n_exact;     /* its tallies */
    size_t first_sampled, n_sampled; /* likewise */
    double scale; /* of estimates; 1 where there are exact tallies: both are of the windows then */
    bool exact;   /* cycles were attributed exactly */
    bool has_l3;  /* the machine does, as far as it can be seen */
    uint64_t parts;   /* of all cycles that were attributed */
    uint64_t retired; /* by exact tallies */
    /* cycles from fetch to retire ready, of all retired executions seen (exactly, else by
     * sampling) */
    uint64_t latency;
    struct hp_windows_sum windows;
};

/* The tallies of a name: the index of the first of `*n`. */
size_t hp_insn_tallies(const struct hp_profile *profile, const char *seen, size_t *n);

void hp_insns_init(struct hp_insns *insns, const struct hp_profile *profile);

/* --- One instruction -------------------------------------------------------------------------- */

struct hp_insn_facts {
    const struct hp_profile *profile;
    const struct hp_psampler *sampler;
    /* of estimates: to the run, or 1 where exact numbers, of windows only, stand beside them */
    double scale;
    uint32_t insn;
    const struct hp_pinsn_tally *exact, *sampled; /* NULL: not seen so */
    const struct hp_pinsn_cycles *cycles;         /* exact, by cause */
    size_t n_cycles;
    const struct hp_pwait *waits; /* by producer */
    size_t n_waits;
};

void hp_insn_facts(const struct hp_tables *tables, uint32_t insn, struct hp_insn_facts *facts);

/* Below, what is exact has low = value = high, and `exact` is preferred; with `sampled` only what
 * the sampler says. Where nothing is known all is 0. */
enum hp_insn_source { HP_INSN_BEST, HP_INSN_SAMPLED };

/* The tally that they are from; NULL: none. */
const struct hp_pinsn_tally *hp_insn_tally_of(const struct hp_insn_facts *facts,
                                              enum hp_insn_source source);

/* Executions: fetched ones, or those that retired, were on a wrong path, were trapped. */
struct hp_insn_executions {
    struct hp_estimate fetched, retired, wrong_path, trapped;
};
struct hp_insn_executions hp_insn_executions(const struct hp_insn_facts *facts,
                                             enum hp_insn_source source);

/* Cycles that belong to it; by sampling those from fetch to retire ready, of which many overlap:
 * they add up to more than the run has. */
struct hp_estimate hp_insn_cycles_of(const struct hp_insn_facts *facts, enum hp_insn_source source);

/* Cycles a retired execution in a stage. */
struct hp_estimate hp_insn_stage(const struct hp_insn_facts *facts, enum hp_insn_source source,
                                 enum hp_stage stage);

/* The share of retired executions with an event. */
struct hp_estimate hp_insn_rate(const struct hp_insn_facts *facts, enum hp_insn_source source,
                                enum hp_insn_event event);

/* Issue slots wasted while it was in progress, and instructions retired a cycle around it: only a
 * paired sampler knows. False: nobody does. */
bool hp_insn_wasted(const struct hp_insn_facts *facts, struct hp_estimate *slots);
bool hp_insn_near_ipc(const struct hp_insn_facts *facts, struct hp_estimate *ipc);

/* What it waited for longest; NULL: nothing, or it is not known. */
const struct hp_pwait *hp_insn_longest_wait(const struct hp_insn_facts *facts);

/* Its share of all cycles (of the sampler's, where that is all there is). */
double hp_insn_share(const struct hp_tables *tables, const struct hp_insn_facts *facts);

/* The sentence why it takes its time, clean. */
void hp_insn_why(const struct hp_tables *tables, const struct hp_insn_facts *facts,
                 struct hp_strbuf *text);

/* Makes the rows of the view, not yet in order: v[0] are parts of cycles, or the sampler's cycles;
 * v[1] executions or samples. */
enum hp_err hp_rows_insns(struct hp_rows *rows, struct hp_tables *tables, bool per_thread);

#endif
