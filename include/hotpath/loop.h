// SPDX-License-Identifier: MIT
/*
 * Loop profilers that fit into hardware (docs/loops.md): DAProf, the frequent loop detection
 * profiler, and ours. They see short backward branches (taken, to an address less than `max_offset`
 * bytes before them) and, with the extension `calls`, calls and returns.
 *
 * An emulator or a simulator embeds a model: it calls hp_loop_model_branch() for every retired
 * branch, then hp_loop_model_entries(). The profiler behind `hotpath run --loop-model` feeds the
 * same models from the stream, faster.
 */
#ifndef HOTPATH_LOOP_H
#define HOTPATH_LOOP_H

#include "hotpath/error.h"
#include "hotpath/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hp_loop_model_kind { HP_LOOP_DAPROF, HP_LOOP_FREQUENT, HP_LOOP_RANGES };

/* Sizes and rules of a model; which of them apply depends on the kind. */
struct hp_loop_config {
    enum hp_loop_model_kind kind;
    uint32_t entries;
    uint32_t ways;           /* entries: fully associative; entries / ways is a power of two */
    uint32_t max_offset;     /* bytes */
    uint32_t fifo;           /* entries; 0: no FIFO, nothing is ever lost */
    uint32_t fifo_service;   /* instructions the profiler takes for one branch: 3 */
    uint32_t execution_bits; /* of `executions`; frequent: of the frequency counter */
    uint32_t iteration_bits; /* of the current iterations, and of the integer part of the average */
    /* Of the average. The past has the weight 1 - 2^-fraction_bits (3: 7/8, 4: 15/16). */
    uint32_t fraction_bits;
    uint32_t freshness;    /* its maximum: at most half of the ways */
    uint32_t address_bits; /* of a code address, for the size; 0: see below */
    uint32_t insn_bytes;   /* what an offset is counted in; 0: see below */
    uint32_t depth_bits;   /* calls: of the depth that an entry remembers; it saturates */
    uint32_t contexts;     /* calls: executions suspended by recursion */
    bool calls;
    bool first_average;
    bool exact_average; /* no fixed point: iterations and executions unbounded (for comparison) */
    bool tasks;         /* running executions are kept per thread */
    /* ranges: mantissa of the instructions; execution_bits and iteration_bits are those of the
     * others. `contexts` is the number of loops that can be active at once. */
    uint32_t instruction_bits;
};
/* address_bits and insn_bytes of 0 are the paper's, 32 and 4; `hotpath run` puts those of the
 * program's architecture there: x86-64 48 and 1, AArch64 and Alpha 48 and 4, RISC-V 48 and 2, ARM
 * 32 and 4 (Thumb code: say insn-bytes=2). */

/*
 * Reads a preset and changes to it: "daprof,ways=16,calls,ratio=15/16". Presets: "daprof" (32
 * entries, 8 ways), "daprof-16way", "daprof-full", "frequent", "ranges" (ours, docs/better.md: 21
 * entries). Changes: entries, ways (a number, or "full"), max-offset, fifo, fifo-service,
 * execution-bits, iteration-bits, ratio, freshness, address-bits, insn-bytes, depth-bits, contexts,
 * instruction-bits with a number; calls, first-average, exact-average, tasks without. A fully
 * associative model stays so when entries change; freshness defaults to half of the ways, at
 * most 7. HP_ERR_INVALID: one line.
 */
HP_MUST_CHECK enum hp_err hp_loop_config_parse(const char *text, struct hp_loop_config *config);
/* A text that hp_loop_config_parse() reads, cut to `size`. */
void hp_loop_config_format(const struct hp_loop_config *config, char *text, size_t size);

/* Size of the hardware in bits: the cache, the FIFO, and all other state. */
uint64_t hp_loop_config_bits(const struct hp_loop_config *config);

/* A loop as the model knows it. */
struct hp_loop_entry {
    uint64_t address; /* of its short backward branch; ranges: of the last one */
    uint64_t target;  /* of that: the loop's first instruction; ranges: where it is entered */
    /* As counted; once counters were halved, only ratios between entries are meaningful. 0:
     * unknown. */
    double executions;
    double average;      /* iterations (back edges) per execution; 0: unknown */
    double iterations;   /* in all: their product, or the frequency */
    double instructions; /* estimated, executed in it: iterations x (offset / insn_bytes + 1); for
                            insn_bytes 1 as if they were 4; ranges: as counted */
};

struct hp_loop_stats {
    uint64_t branches;     /* short backward ones */
    uint64_t overflows;    /* of them, lost at the FIFO */
    uint64_t replacements; /* of entries in use */
    uint64_t halvings;
    uint64_t saturations; /* iterations not counted: current iterations were at their maximum */
    uint64_t context_overflows; /* calls: executions ended because no context was free */
};

struct hp_loop_model;

/* HP_ERR_INVALID: impossible sizes; one line. HP_ERR_NOMEM. */
HP_MUST_CHECK enum hp_err hp_loop_model_new(const struct hp_loop_config *config,
                                            struct hp_loop_model **model);
void hp_loop_model_free(struct hp_loop_model *model);

/*
 * A retired branch, of thread `thread` (0 when there is one only): address, target, insns, flow and
 * taken are used. So is `end`, where it is known: a call to the next instruction does not count as
 * a call. The instructions are the FIFO's clock; blocks that do not end with a branch may be passed
 * as HP_FLOW_NONE, not taken.
 */
void hp_loop_model_branch(struct hp_loop_model *model, uint32_t thread,
                          const struct hp_branch *branch);

/* The loops it knows, by descending iterations, then address. `*entries` is freed with free().
 * HP_ERR_NOMEM: now, or for a thread of a model with `tasks`. */
HP_MUST_CHECK enum hp_err hp_loop_model_entries(const struct hp_loop_model *model,
                                                struct hp_loop_entry **entries, size_t *n);
const struct hp_loop_stats *hp_loop_model_stats(const struct hp_loop_model *model);

#ifdef __cplusplus
}
#endif
#endif
