// SPDX-License-Identifier: MIT
/*
 * What is printed beside the code of a function, before it is known how.
 */
#ifndef HP_REPORT_ANNOTATION_H
#define HP_REPORT_ANNOTATION_H

#include "base/strings.h"
#include "hotpath/isa.h"
#include "report/annotate/annotate.h"
#include "report/sources.h"
#include "report/tables.h"
#include "symbols/module_code.h"

/* An instruction; or a block of which the instructions are not known. */
struct hp_code_line {
    struct hp_place place;
    uint32_t version;
    uint32_t length; /* bytes */
    uint32_t insns;  /* 0: an instruction; else a block of so many */
    uint32_t insn;   /* the profile's row; HP_PROFILE_NONE: there is none */
    const char *text;
    const char *file; /* "" unknown */
    uint32_t line;
    const char *inlined;
    uint64_t count; /* executions by blocks */
};

/* A function that was executed. */
struct hp_hot_function {
    uint32_t function;
    uint64_t weight; /* parts of cycles; the sampler's; instructions: hp_annotator.by */
};

enum hp_annotate_by { HP_ANNOTATE_CYCLES, HP_ANNOTATE_SAMPLES, HP_ANNOTATE_INSTRUCTIONS };

/* What all functions share. */
struct hp_annotator {
    struct hp_tables *tables;
    const struct hp_annotate_options *options;
    FILE *out;
    enum hp_annotate_by by;
    struct hp_sources sources;
    struct hp_decoder *decoder; /* NULL: none for the architecture */
    struct hp_strings texts;
    uint32_t *blocks, *insns; /* the profile's, by function, then place */
    uint64_t *block_counts;
    const bool *wanted; /* by block: only their code; NULL (the default): all */
    struct {
        struct hp_module_code *code;
        char *missing; /* why there is none */
        bool asked;
    } * modules;
    size_t budget; /* of instructions to disassemble: a damaged profile must not take for ever */
};

enum hp_err hp_annotator_init(struct hp_annotator *annotator, struct hp_tables *tables,
                              const struct hp_annotate_options *options, FILE *out);
void hp_annotator_fini(struct hp_annotator *annotator);

/* The functions that were executed, hottest first; free() them. */
enum hp_err hp_annotator_functions(const struct hp_annotator *annotator,
                                   struct hp_hot_function **functions, size_t *n);

/* The code of a function in order; free() it. `*missing`: why the instructions of some of its
 * blocks are not known, or NULL. */
enum hp_err hp_annotator_code(struct hp_annotator *annotator, uint32_t function,
                              struct hp_code_line **lines, size_t *n, const char **missing);

/* Executions of a line of code: as the machine saw it, else by blocks. */
struct hp_estimate hp_code_line_times(const struct hp_annotator *annotator,
                                      const struct hp_code_line *line);

/* --- Source lines ----------------------------------------------------------------------------- */

struct hp_annotated_line {
    const char *file;
    uint32_t line;
    struct hp_estimate times; /* of its most often executed instruction */
    double weight;            /* in the annotator's unit */
    double retired;           /* instructions, as the machine saw them; of blocks: executed */
    double causes[HP_CAUSES]; /* cycles, exact ones */
};

/* Sums the code by source line: those of the function's file first, then by file and line; what has
 * no line is left out. free() them. */
enum hp_err hp_annotator_lines(const struct hp_annotator *annotator, uint32_t function,
                               const struct hp_code_line *code, size_t n,
                               struct hp_annotated_line **lines, size_t *n_lines);

/* The share of all that a weight is. */
double hp_annotator_share(const struct hp_annotator *annotator, double weight);

/* That of a function. */
double hp_annotator_function_share(const struct hp_annotator *annotator,
                                   const struct hp_hot_function *function);

/* The weight of a line of code. */
double hp_annotator_weight(const struct hp_annotator *annotator, const struct hp_code_line *line);

/* --- Printing --------------------------------------------------------------------------------- */

enum hp_err hp_annotate_text(struct hp_annotator *annotator,
                             const struct hp_hot_function *functions, size_t n);
enum hp_err hp_annotate_json(struct hp_annotator *annotator,
                             const struct hp_hot_function *functions, size_t n);

#endif
