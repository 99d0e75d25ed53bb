// SPDX-License-Identifier: MIT
/*
 * Instructions: what is known of each static instruction from the timings of its executions (pipe.h): of all of them (exact), or of a sample
 * in the manner of ProfileMe (Dean et al., MICRO 1997). docs/instructions.md.
 */
#ifndef HOTPATH_SAMPLE_H
#define HOTPATH_SAMPLE_H

#include "hotpath/pipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Tallies ---------------------------------------------------------------------------------- */

/* Events of an instruction that are counted, of its retired executions. */
enum hp_insn_event {
    HP_INSN_L1I,
    HP_INSN_ITLB,
    HP_INSN_L1D, /* the data were not in the L1: they came from, or were on their way from, farther */
    HP_INSN_L2, /* ... they came from beyond the L2 */
    HP_INSN_L3, /* ... beyond the L3 */
    HP_INSN_DTLB,
    HP_INSN_TAKEN,
    HP_INSN_MISPREDICTED,
    HP_INSN_BTB,
    HP_INSN_FORWARDED,
    HP_INSN_BLOCKED,
    HP_INSN_NO_REORDER,
    HP_INSN_NO_QUEUE,
    HP_INSN_NO_MEMORY_QUEUE,
    HP_INSN_NO_REGISTER,
    HP_INSN_UNIT_BUSY,
    HP_INSN_EVENTS
};
/* "l1i", "itlb", "l1d", "l2", "l3", "dtlb", "taken", "mispredicted", "btb", "forwarded", "blocked", "no-reorder", "no-queue",
 * "no-memory-queue", "no-register", "unit-busy". */
const char *hp_insn_event_name(enum hp_insn_event event);

/* Stages between two of a timing's points; of retired executions. */
enum hp_stage {
    HP_STAGE_MAP,      /* fetch to map: no registers, no room */
    HP_STAGE_OPERANDS, /* map to data ready */
    HP_STAGE_ISSUE,    /* data ready to issue: no unit */
    HP_STAGE_EXECUTE,  /* issue to retire ready */
    HP_STAGE_RETIRE,   /* retire ready to retire: older instructions */
    HP_STAGE_LOAD, /* issue to the completion of its last load; 0 when it does not load. Part of EXECUTE */
    HP_STAGES
};
/* "map", "operands", "issue", "execute", "retire", "load". */
const char *hp_stage_name(enum hp_stage stage);

/* What was seen of one static instruction, in all its executions or in those sampled. */
struct hp_insn_tally {
    uint64_t fetched; /* all of the following three */
    uint64_t retired, wrong_path, trapped;
    uint64_t events[HP_INSN_EVENTS];
    uint64_t stages[HP_STAGES]; /* cycles */
    uint64_t stage_squares
        [HP_STAGES]; /* sums of squares of each execution's, for confidence intervals */
};

/* Adds one. What is not HP_TIMING_MEASURED is the caller's to leave out. */
void hp_insn_tally_add(struct hp_insn_tally *tally, const struct hp_timing *timing);

/* --- The sampler ------------------------------------------------------------------------------ */

enum hp_sample_mode {
    HP_SAMPLE_INSTRUCTIONS, /* counts instructions fetched on the predicted path */
    HP_SAMPLE_SLOTS,        /* counts fetch opportunities: `width` of the machine a cycle */
};

struct hp_sample_config {
    enum hp_sample_mode mode;
    uint64_t
        interval; /* mean, at least 2; intervals are uniform around it, from half of it to once and a half. Of pairs: between first ones */
    uint64_t
        window; /* of pairs: the distance, in what the mode counts, is uniform in 1 ... window; 0: single samples. At least the
                          machine's instructions in flight */
    uint64_t seed;   /* a thread's generator starts with this and its number */
    uint32_t buffer; /* samples (pairs) an interrupt */
    uint32_t interrupt_cycles, sample_cycles; /* cost of an interrupt, and of reading each sample */
    uint32_t near;    /* cycles: two instructions that retire within this are neighbours */
    uint32_t history; /* bits of the path register, at most 32 */
};

/* "profileme", or that followed by changes, joined by commas: mode=slots, interval=N, pairs, window=N, seed=N, buffer=N,
 * interrupt=N, sample=N, near=N, history=N. window=0 with pairs: that of the machine. HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_sample_config_parse(const char *text, struct hp_sample_config *config);
/* The inverse, in one form only. At most 256 bytes. */
void hp_sample_config_format(const struct hp_sample_config *config, char *text, size_t size);

/* The profile registers of one tagged instruction, when it has retired or was aborted. */
struct hp_sample {
    int32_t pid, tid;
    bool empty; /* the selected slot held no instruction: the rest is 0 but for timing.fetched */
    uint64_t pc;
    struct hp_timing
        timing; /* events, latencies, address, path register (history, cut to the configured bits) */
};

struct hp_sample_pair {
    struct hp_sample first, second; /* single samples: no second (empty) */
    bool paired;
    uint64_t distance;      /* what the minor counter was set to */
    uint64_t fetch_latency; /* cycles between their fetches */
};

struct hp_sampler;

/* Delivers full buffers, and the rest at the end. Keeps `program`. HP_ERR_INVALID: the config does not fit the machine. HP_ERR_NOMEM. */
typedef void (*hp_sample_deliver)(void *context, const struct hp_sample_pair *samples, size_t n);
enum hp_err hp_sampler_new(const struct hp_sample_config *config, const struct hp_program *program,
                           const struct hp_thread *thread, hp_sample_deliver deliver, void *context,
                           struct hp_sampler **sampler);
void hp_sampler_free(struct hp_sampler *sampler);

/* All timings of a thread, in the order of fetch; HP_TIMING_MEASURED ones are counted and sampled. Rules: docs/instructions.md. */
void hp_sampler_timings(struct hp_sampler *sampler, const struct hp_timing *timings, size_t n);
/* Delivers what is left. */
void hp_sampler_end(struct hp_sampler *sampler);

struct hp_sampler_stats {
    uint64_t samples, empty, lost, interrupts, cost; /* as in struct hp_psampler */
    uint64_t counted; /* instructions or slots that were measured, sampled or not */
};
const struct hp_sampler_stats *hp_sampler_stats(const struct hp_sampler *sampler);

/* --- Estimates -------------------------------------------------------------------------------- */

/* A number of executions, events or cycles in all, and what it is between with a confidence of 95 %. */
struct hp_estimate {
    double value, low, high;
};

/* kS, of k samples with a property at a mean interval of S; scale: hp_psampler.scale / 1000. */
struct hp_estimate hp_estimate_count(uint64_t k, double interval, double scale);
/* The total of a quantity of which the samples have this sum and sum of squares. */
struct hp_estimate hp_estimate_total(double sum, double squares, double interval, double scale);
/* The share of k in n samples, in 0 ... 1. */
struct hp_estimate hp_estimate_share(uint64_t k, uint64_t n);

/* Wasted issue slots: progress * width * interval / 2 - useful * window * interval (section 5.2.3), times scale. */
struct hp_estimate hp_estimate_wasted(uint64_t progress, uint64_t useful, uint64_t pairs,
                                      uint64_t width, uint64_t window, double interval,
                                      double scale);

/* A measure of how two instructions overlap: of `it`, which is the one looked at, and `other`, fetched `later` cycles after it (negative:
 * before). Asked of each pair both ways round. */
typedef double (*hp_overlap)(const struct hp_sample *it, const struct hp_sample *other,
                             int64_t later, void *context);

/* Those the paper names. hp_overlap_useful: other is issued while `it` is between fetch and retire ready, and retires. hp_overlap_near: both
 * retire, within *(uint32_t *)context cycles. hp_overlap_around: other is issued while `it` is mapped and not issued. hp_overlap_busy: other
 * executes (on the unit *(enum hp_unit_kind *)context) while `it` executes. */
double hp_overlap_useful(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context);
double hp_overlap_near(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context);
double hp_overlap_around(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context);
double hp_overlap_busy(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context);

#ifdef __cplusplus
}
#endif
#endif
