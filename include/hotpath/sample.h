// SPDX-License-Identifier: MIT
/*
 * Instructions: what the timings (pipe.h) of its executions tell about each static instruction; all
 * executions (exact), or samples as ProfileMe takes them (Dean et al., MICRO 1997). See
 * docs/instructions.md.
 */
#ifndef HOTPATH_SAMPLE_H
#define HOTPATH_SAMPLE_H

#include "hotpath/pipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Tallies ---------------------------------------------------------------------------------- */

/* Events of retired executions that are counted for an instruction. */
enum hp_insn_event {
    HP_INSN_L1I,
    HP_INSN_ITLB,
    HP_INSN_L1D, /* the data were not in the L1: they came, or were on their way, from farther */
    HP_INSN_L2,  /* ... they came from beyond the L2 */
    HP_INSN_L3,  /* ... beyond the L3 */
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
/* "l1i", "itlb", "l1d", "l2", "l3", "dtlb", "taken", "mispredicted", "btb", "forwarded", "blocked",
 * "no-reorder", "no-queue", "no-memory-queue", "no-register", "unit-busy". */
const char *hp_insn_event_name(enum hp_insn_event event);

/* Intervals between two points of a timing; of retired executions. */
enum hp_stage {
    HP_STAGE_MAP,      /* fetch to map: no registers, no room */
    HP_STAGE_OPERANDS, /* map to data ready */
    HP_STAGE_ISSUE,    /* data ready to issue: no unit */
    HP_STAGE_EXECUTE,  /* issue to retire ready */
    HP_STAGE_RETIRE,   /* retire ready to retire: older instructions */
    HP_STAGE_LOAD, /* issue to completion of its last load; 0: it does not load. Part of EXECUTE */
    HP_STAGES
};
/* "map", "operands", "issue", "execute", "retire", "load". */
const char *hp_stage_name(enum hp_stage stage);

/* Observations of one static instruction, over all its executions or those sampled. */
struct hp_insn_tally {
    uint64_t fetched; /* sum of the next three */
    uint64_t retired, wrong_path, trapped;
    uint64_t events[HP_INSN_EVENTS];
    uint64_t stages[HP_STAGES];        /* cycles */
    uint64_t stage_squares[HP_STAGES]; /* sums of squares, for confidence intervals */
};

/* Adds one. The caller leaves out those that are not HP_TIMING_MEASURED. */
void hp_insn_tally_add(struct hp_insn_tally *tally, const struct hp_timing *timing);
/* Adds another tally: of another thread, or another instruction of a line, loop or function. */
void hp_insn_tally_merge(struct hp_insn_tally *tally, const struct hp_insn_tally *other);

/* --- The sampler ------------------------------------------------------------------------------ */

enum hp_sample_mode {
    HP_SAMPLE_INSTRUCTIONS, /* counts instructions fetched on the predicted path */
    HP_SAMPLE_SLOTS,        /* counts fetch opportunities: the machine's `width` in every cycle */
};

/* By what counts of edges samples get their paths (hotpath/reconstruct.h). */
enum hp_sample_edges {
    HP_SAMPLE_EDGES_RUN,     /* those of the run: everything that was executed is seen */
    HP_SAMPLE_EDGES_SAMPLES, /* estimates from the samples: as a profiler in hardware has it */
};

#define HP_SAMPLE_MACHINE_WINDOW UINT64_MAX /* pairs, with the window of the machine */

struct hp_sample_config {
    enum hp_sample_mode mode;
    uint64_t interval; /* mean, at least 2; intervals are uniform from half of it to one and a half
                          times it. Of pairs: between the first ones */
    uint64_t window; /* of pairs: the distance, in what the mode counts, is uniform in 1 ... window;
                        0: single samples. At least the machine's instructions in flight */
    uint64_t seed;   /* a thread's generator starts with this and the thread's number */
    uint32_t buffer; /* samples (pairs) per interrupt */
    uint32_t interrupt_cycles, sample_cycles; /* cost of an interrupt, and of reading each sample */
    uint32_t near;    /* cycles: two instructions that retire within this are neighbours */
    uint32_t history; /* bits of the path register, at most 32 */
    enum hp_sample_edges edges;
    /* More measures of overlap, of pairs (hp_overlap_around(), hp_overlap_busy()). */
    uint32_t around; /* 1: yes */
    uint32_t busy; /* HP_SAMPLE_BUSY_ANY: on any unit; HP_SAMPLE_BUSY_ON + an enum hp_unit_kind; 0:
                      no */
    uint32_t
        split; /* 1: they, and useful overlap, apart for loads that hit the L1 and that missed */
    uint64_t most; /* samples (pairs) that are kept; when there are as many, each is dropped with
                      probability 1/2, and the interval doubles; 0: all are kept */
    uint32_t tags; /* samples (pairs) that can be in flight at once, each in registers of its own */
};
enum { HP_SAMPLE_BUSY_ANY = 1, HP_SAMPLE_BUSY_ON };

/* "profileme", or that followed by changes, joined by commas: mode=slots, interval=N, pairs,
 * window=N, seed=N, buffer=N, interrupt=N, sample=N, near=N, history=N, edges=samples,
 * around, busy=UNIT, split, most=N, tags=N. window=0
 * with pairs: that of the machine; any other window implies pairs. Defaults: instructions, interval
 * 10000, single samples, seed 1, a buffer of 1, 1000 cycles per interrupt and 100 per sample, near
 * 30, 12 bits of history, the run's edges. HP_ERR_INVALID: the text says what is wrong. */
HP_MUST_CHECK enum hp_err hp_sample_config_parse(const char *text, struct hp_sample_config *config);
/* The inverse, in canonical form. At most 256 bytes. */
void hp_sample_config_format(const struct hp_sample_config *config, char *text, size_t size);
/* The mean distance of samples, by which a count of them is multiplied. The interval, or half of it
 * when they come in pairs (window > 0). */
double hp_sample_distance(uint64_t interval, uint64_t window);

/* The profile registers of one tagged instruction, when it has retired or was aborted. */
struct hp_sample {
    int32_t pid, tid;
    bool empty; /* the selected slot held no instruction: the rest is 0 except timing.fetched */
    uint64_t pc;
    struct hp_timing timing; /* events, latencies, address, path register (`history`, cut to the
                                configured bits) */
};

struct hp_sample_pair {
    struct hp_sample first, second; /* single samples: no second (empty) */
    bool paired;
    uint64_t distance;      /* what the minor counter was set to */
    uint64_t fetch_latency; /* cycles between their fetches */
};

struct hp_sampler;

/* What a sampler needs to know about the machine whose timings it sees: ours, or another
 * simulator's. */
struct hp_sample_machine {
    uint64_t width;     /* fetch opportunities in a cycle, at least 1 */
    uint64_t in_flight; /* most instructions in flight at once; 0: unknown */
    uint64_t window;    /* of pairs, where the config leaves it to the machine, at least 1 */
    /* The address of a static instruction; NULL: a sample's pc is the instruction's id. */
    uint64_t (*pc)(const void *context, uint32_t insn);
    const void *context;
};
/* For the machine of a program; the context is the program. The window covers everything that can
 * be in flight together with an instruction, or retire within `near` cycles of it. */
struct hp_sample_machine hp_sample_machine_of(const struct hp_sample_config *config,
                                              const struct hp_program *program);

/* `deliver` gets full buffers, and the rest at the end. Keeps the machine's context.
 * HP_ERR_INVALID: the config does not fit the machine. HP_ERR_NOMEM. */
typedef void (*hp_sample_deliver)(void *context, const struct hp_sample_pair *samples, size_t n);
HP_MUST_CHECK enum hp_err hp_sampler_new(const struct hp_sample_config *config,
                                         const struct hp_program *program,
                                         const struct hp_thread *thread, hp_sample_deliver deliver,
                                         void *context, struct hp_sampler **sampler);
/* The same for any machine. */
HP_MUST_CHECK enum hp_err hp_sampler_new_on(const struct hp_sample_config *config,
                                            const struct hp_sample_machine *machine,
                                            const struct hp_thread *thread,
                                            hp_sample_deliver deliver, void *context,
                                            struct hp_sampler **sampler);
void hp_sampler_free(struct hp_sampler *sampler);

/* From now on the mean interval is twice as long: every count from here on is selected with half
 * the probability. May be called while samples are delivered. */
void hp_sampler_double(struct hp_sampler *sampler);

/* All timings of a thread, in the order of fetch; HP_TIMING_MEASURED ones are counted and sampled.
 * Rules: docs/instructions.md. */
void hp_sampler_timings(struct hp_sampler *sampler, const struct hp_timing *timings, size_t n);
/* Delivers what is left. */
void hp_sampler_end(struct hp_sampler *sampler);

/* The config in use: its window is set. */
const struct hp_sample_config *hp_sampler_config(const struct hp_sampler *sampler);

struct hp_sampler_stats {
    uint64_t samples, empty, lost, interrupts, cost; /* as in struct hp_psampler */
    uint64_t counted; /* instructions or slots that were measured, sampled or not */
};
const struct hp_sampler_stats *hp_sampler_stats(const struct hp_sampler *sampler);

/* --- Samplers of hardware --------------------------------------------------------------------- */

/* What samples of a kind of sampler know. Those of hardware come from `hotpath import`. */
struct hp_sampler_about {
    const char *name;    /* its samplers are called so, or so with settings behind a comma */
    const char *of;      /* what is counted between samples: "ops"; "": as its settings say */
    const char *latency; /* what its cycles are: "from fetch to retire ready" */
    /* What its stages `execute` and `load` are called, where they are not ProfileMe's; NULL: they
     * are. */
    const char *execute, *load;
    const char *unknown;     /* what it does not know, of what ProfileMe does; "": nothing */
    bool executions;         /* a sample stands for so many executions; else for as many cycles */
    bool fetches;            /* it knows fetches of code, not instructions */
    bool aborted;            /* it knows instructions that did not retire */
    uint32_t stages, events; /* which it knows: bits by enum hp_stage, enum hp_insn_event */
};
/* By the name of a sampler; what is not in the list is ProfileMe. */
const struct hp_sampler_about *hp_sampler_about(const char *name);

/* --- Estimates -------------------------------------------------------------------------------- */

/* An estimated number of executions, events or cycles, with its 95 % confidence interval. */
struct hp_estimate {
    double value, low, high;
};

/* k samples with a property, at a mean distance of S (hp_sample_distance()), give kS. scale:
 * hp_psampler.scale / 1000. */
struct hp_estimate hp_estimate_count(uint64_t k, double distance, double scale);
/* The total of a non-negative quantity, from its sum and sum of squares over the samples. If they
 * are 0, the interval is that of a count of 0, as if each unseen one were 1. Samples, and so this
 * interval, easily miss the contribution of a few very large ones. */
struct hp_estimate hp_estimate_total(double sum, double squares, double distance, double scale);
/* The share of k in n samples, in 0 ... 1. */
struct hp_estimate hp_estimate_share(uint64_t k, uint64_t n);

/* Wasted issue slots: progress * width * interval / 2 - useful * window * interval (section 5.2.3),
 * times scale. */
struct hp_estimate hp_estimate_wasted(uint64_t progress, uint64_t useful, uint64_t pairs,
                                      uint64_t width, uint64_t window, double interval,
                                      double scale);

/* Instructions retired per cycle around an instruction, itself included. It retired in `retired`
 * pairs (counted twice when it is both); in `near` of them the other one retired at most `cycles`
 * before or after it. Between 0 and what the window can hold. */
struct hp_estimate hp_estimate_ipc(uint64_t near, uint64_t retired, uint64_t window,
                                   uint64_t cycles);

/* --- Overlap ---------------------------------------------------------------------------------- */

/* A measure of how two instructions overlap: `it`, the one of interest, and `other`, fetched
 * `later` cycles after it (negative: before). Called for each pair both ways round. */
typedef double (*hp_overlap)(const struct hp_sample *it, const struct hp_sample *other,
                             int64_t later, void *context);

/* The paper's measures. All but the last are 1 or 0; with an empty sample all are 0.
 * hp_overlap_useful: other is issued while `it` is between fetch and retire ready (in one of the
 * hp_sample_progress() cycles from its fetch on), and retires. hp_overlap_near: both retire, at
 * most *(uint32_t *)context cycles apart. hp_overlap_around: other is issued while `it` is mapped
 * and not issued. hp_overlap_busy: the number of cycles in which other executes (on the unit *(enum
 * hp_unit_kind *)context; NULL: on any) while `it` executes, from issue to retire ready. */
double hp_overlap_useful(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context);
double hp_overlap_near(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context);
double hp_overlap_around(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                         void *context);
double hp_overlap_busy(const struct hp_sample *it, const struct hp_sample *other, int64_t later,
                       void *context);

/* Cycles from fetch to retire ready; to the end, if it did not become ready. 0: empty. */
uint64_t hp_sample_progress(const struct hp_sample *sample);

/* A measure summed over the pairs with an instruction, both ways round. */
struct hp_overlap_sum {
    uint64_t pairs; /* counted twice when it is both */
    double sum;     /* estimate over all executions and their windows: sum * window * interval, */
    double squares; /* that is, hp_estimate_total(sum, squares, window * interval, scale) */
};

/* Sums any measure over pairs, by static instruction. */
struct hp_overlap_tally;
HP_MUST_CHECK enum hp_err hp_overlap_tally_new(hp_overlap measure, void *context,
                                               struct hp_overlap_tally **tally);
void hp_overlap_tally_free(struct hp_overlap_tally *tally);
/* Adds what was delivered: an hp_sample_deliver with the tally as its context. Single samples and
 * empty slots are ignored. */
void hp_overlap_tally_pairs(void *tally, const struct hp_sample_pair *samples, size_t n);
/* Adds one sample, and the other one of its pair, fetched `later` cycles after it. */
void hp_overlap_tally_one(struct hp_overlap_tally *tally, const struct hp_sample *it,
                          const struct hp_sample *other, int64_t later);
/* All 0: the instruction is in no pair. HP_ERR_NOMEM: memory ran out before; pairs are missing. */
HP_MUST_CHECK enum hp_err hp_overlap_tally_get(const struct hp_overlap_tally *tally, uint32_t insn,
                                               struct hp_overlap_sum *sum);

#ifdef __cplusplus
}
#endif
#endif
