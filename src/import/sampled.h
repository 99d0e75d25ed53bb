// SPDX-License-Identifier: MIT
/*
 * Samples of instructions, as hardware takes them: tallied by instruction, as those of ProfileMe
 * are (hotpath/sample.h).
 */
#ifndef HP_IMPORT_SAMPLED_H
#define HP_IMPORT_SAMPLED_H

#include "hotpath/sample.h"
#include "import/samples.h"
#include "import/spaces.h"
#include "profiler/result.h"

enum hp_import_sampler {
    HP_IMPORT_OPS,     /* of instructions */
    HP_IMPORT_FETCHES, /* of fetches: the place is any byte of an instruction */
    HP_IMPORT_SAMPLERS
};

/* What there are samples of, at a place. */
struct hp_import_row {
    uint32_t sampler, module; /* of the code map */
    uint64_t offset;
    const struct hp_module_code *code;
    struct hp_insn_tally tally;
};

struct hp_import_sampled {
    struct hp_import_spaces *spaces;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_decoder *decoder;
    struct hp_import_row *rows;
    size_t n_rows, cap_rows;
    struct hp_map64 row_of;
    /* Where the search for the instruction of the last fetch got to, and in which function. */
    struct {
        uint32_t module;
        uint64_t function, at;
    } sweep;
    uint64_t samples[HP_IMPORT_SAMPLERS]; /* that are in the tallies */
    uint64_t taken[HP_IMPORT_SAMPLERS];   /* all of them, and what they stand for */
    uint64_t events[HP_IMPORT_SAMPLERS];
    uint64_t kernel, unknown; /* left out: in the kernel, in code of no known file */
};

/* Keeps the pointers. */
enum hp_err hp_sampled_new(struct hp_import_spaces *spaces, struct hp_code *code,
                           struct hp_functions *functions, struct hp_import_sampled **sampled);
void hp_sampled_free(struct hp_import_sampled *sampled);

/* A sample was taken that stands for so many events. */
void hp_sampled_count(struct hp_import_sampled *sampled, enum hp_import_sampler sampler,
                      uint64_t period);

/* It is of an instruction, or a fetch, of a process. HP_ERR_NOMEM. */
enum hp_err hp_sampled_add(struct hp_import_sampled *sampled, enum hp_import_sampler sampler,
                           const struct hp_perf_sampled *sample, uint64_t pc,
                           const struct hp_timing *timing);

/* Adds instructions with their tallies, and the samplers, to the profile. A name is that of
 * hp_sampler_about(); `lost` is what perf lost. HP_ERR_NOMEM. */
enum hp_err hp_sampled_finish(struct hp_import_sampled *sampled,
                              const char *const names[HP_IMPORT_SAMPLERS], uint64_t lost,
                              struct hp_result *result);

#endif
