// SPDX-License-Identifier: MIT
/*
 * Loop profilers that fit into hardware (docs/loops.md): DAProf, the frequent loop detection profiler, and ours. They see short backward
 * branches (taken, to an address less than `max_offset` bytes before them) and, with the extension `calls`, calls and returns.
 *
 * An emulator or a simulator embeds a model: hp_loop_model_branch() for every retired branch, then hp_loop_model_entries(). The profiler behind `hotpath
 * run --loop-model` feeds the same models with the stream, faster.
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

enum hp_loop_model_kind { HP_LOOP_DAPROF, HP_LOOP_FREQUENT };

/* Reset policy and sizes of a model; which of them matter is the kind's affair. */
struct hp_loop_config {
    enum hp_loop_model_kind kind;
    uint32_t entries;
    uint32_t ways;           /* entries: fully associative */
    uint32_t max_offset;     /* bytes */
    uint32_t fifo;           /* entries; 0: no FIFO before it, nothing is ever lost */
    uint32_t fifo_service;   /* instructions the profiler takes for one branch: 3 */
    uint32_t execution_bits; /* of `executions`; frequent: of the frequency counter */
    uint32_t iteration_bits; /* of the current iterations, and of the integer part of the average */
    uint32_t
        fraction_bits; /* of the average: 2^fraction_bits is the weight of the past + 1 (3: 7/8, 4: 15/16, 5: 31/32) */
    uint32_t freshness;    /* its maximum */
    uint32_t address_bits; /* of a code address, for the size */
    uint32_t insn_bytes;   /* what an offset is counted in: 4; 1 for x86 */
    bool calls;
    bool first_average;
    bool
        exact_average; /* no fixed point: total iterations and executions, unbounded (to compare with) */
    bool tasks;        /* one state a thread */
};

/* Reads a preset ("daprof": 32 entries, 8 ways; "daprof-16way", "daprof-full", "frequent") and changes to it: "daprof,ways=16,calls,first-average,ratio=15/16,
 * fifo=8,max-offset=256,entries=64,execution-bits=20,iteration-bits=12,freshness=3,tasks". HP_ERR_INVALID: one line. */
enum hp_err hp_loop_config_parse(const char *text, struct hp_loop_config *config);
/* A text that hp_loop_config_parse() reads, cut to `size`. */
void hp_loop_config_format(const struct hp_loop_config *config, char *text, size_t size);

/* The hardware: bits of the cache, the FIFO, and all else it remembers. */
uint64_t hp_loop_config_bits(const struct hp_loop_config *config);

/* A loop as the model knows it. */
struct hp_loop_entry {
    uint64_t address; /* of its short backward branch */
    uint64_t target;  /* of that: the loop's first instruction */
    double
        executions; /* as counted; only shares among the entries mean anything once they were halved */
    double average;      /* iterations (back edges) an execution; 0: not known */
    double iterations;   /* in all: their product, or the frequency */
    double instructions; /* estimated, executed in it */
};

struct hp_loop_stats {
    uint64_t branches;     /* short backward ones */
    uint64_t overflows;    /* lost at the FIFO */
    uint64_t replacements; /* of entries */
    uint64_t halvings;
    uint64_t saturations;       /* of current iterations */
    uint64_t context_overflows; /* extension calls: recursion deeper than it can tell apart */
};

struct hp_loop_model;

enum hp_err hp_loop_model_new(const struct hp_loop_config *config, struct hp_loop_model **model);
void hp_loop_model_free(struct hp_loop_model *model);

/* A retired branch, of thread `thread` (0 when there is one only). */
void hp_loop_model_branch(struct hp_loop_model *model, uint32_t thread,
                          const struct hp_branch *branch);

/* What it knows, by descending iterations. `*entries` is freed with free(). HP_ERR_NOMEM. */
enum hp_err hp_loop_model_entries(const struct hp_loop_model *model, struct hp_loop_entry **entries,
                                  size_t *n);
const struct hp_loop_stats *hp_loop_model_stats(const struct hp_loop_model *model);

#ifdef __cplusplus
}
#endif
#endif
