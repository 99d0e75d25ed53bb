// SPDX-License-Identifier: MIT
/* Functions instruction by instruction, with their source: how often each was executed and, where a
 * machine in cycles ran them, what each cost. */
#ifndef HP_REPORT_ANNOTATE_H
#define HP_REPORT_ANNOTATE_H

#include "base/lists.h"
#include "base/strings.h"
#include "hotpath/isa.h"
#include "report/sources.h"
#include "report/tables.h"
#include "symbols/module_code.h"

/* All zero: the hottest three functions as text, no colour, as wide as it gets. */
struct hp_annotate_options {
    const char *const *names; /* functions: by name, linkage name, or a part of one name */
    size_t n_names;           /* 0: the hottest */
    size_t top;               /* of the hottest; 0: HP_ANNOTATE_TOP */
    bool all;                 /* every function that was executed, hottest first */
    bool lines;               /* source lines, without instructions */
    bool json;
    bool color;
    int width;               /* text: columns of the terminal; <= 0: no limit */
    const char *source_path; /* where sources are looked for first; NULL: nowhere else */
};
#define HP_ANNOTATE_TOP 3

/* Prints to `out` and flushes it. HP_ERR_NOTFOUND: no function of that name was executed.
 * HP_ERR_INVALID: it is a part of several names, which text lists.
 * HP_ERR_INVALID: the profile's references do not fit together. HP_ERR_IO, HP_ERR_NOMEM. */
enum hp_err hp_annotate(const struct hp_profile *profile, const struct hp_annotate_options *options,
                        FILE *out);

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
    uint64_t copy;  /* where its function was inlined: offset of its start there; 0: it was not */
};

/* A function, and what it comes to in the annotator's unit. */
struct hp_hot_function {
    uint32_t function;
    size_t name;     /* the first that it was asked for by; SIZE_MAX: it was not executed */
    uint64_t weight; /* of code of its own */
};

/* What weights are: parts of cycles, cycles of samples (hp_insns.weight), instructions. */
enum hp_annotate_by { HP_ANNOTATE_CYCLES, HP_ANNOTATE_SAMPLES, HP_ANNOTATE_INSTRUCTIONS };

/* What all functions share. */
struct hp_annotator {
    struct hp_tables *tables;
    const struct hp_annotate_options *options;
    struct hp_report_options print; /* only width and colour */
    FILE *out;
    enum hp_annotate_by by;
    struct hp_sources sources;
    struct hp_decoder *decoder; /* NULL: none for the architecture */
    struct hp_strings texts;
    struct hp_lists blocks, insns; /* by function */
    const bool *wanted;            /* by block: only their code; NULL (the default): all */
    /* By inlined range: its function. NULL: functions are shown as they have code. */
    uint32_t *range_functions;
    struct hp_annotated_module {
        struct hp_module_code *code;
        char *missing; /* why there is none; NULL: nobody asked */
    } * modules;
    size_t budget; /* of instructions to disassemble: a damaged profile must not take for ever */
};

/* What was made stays on failure. */
enum hp_err hp_annotator_init(struct hp_annotator *annotator, struct hp_tables *tables,
                              const struct hp_annotate_options *options, FILE *out);
void hp_annotator_fini(struct hp_annotator *annotator);

struct hp_function_code {
    struct hp_code_line *lines; /* in order */
    size_t n, capacity;
    const char *missing; /* why the instructions of some blocks are not known; NULL: they are */
};

/* The code of a function, into an empty one. What was made stays on failure. */
enum hp_err hp_annotator_code(struct hp_annotator *annotator, uint32_t function,
                              struct hp_function_code *code);
void hp_function_code_fini(struct hp_function_code *code);

/* A place where a function was inlined. */
struct hp_inlined_place {
    uint32_t caller;  /* function; HP_PROFILE_NONE unknown */
    const char *file; /* of the call; "" unknown */
    uint32_t line;
    double weight; /* of its code there, with what is inlined into that */
};

struct hp_inlined_places {
    struct hp_inlined_place *places; /* the heaviest first */
    size_t n, capacity;
};

/* Prepares for what follows, of a profile that was unfolded. */
enum hp_err hp_annotator_find_inlined(struct hp_annotator *annotator);

/* The code of a function, as hp_annotator_code() has it, and that where it was inlined into others,
 * if it was: then the function's weight is that of all. What was made stays on failure. */
enum hp_err hp_annotator_all_code(struct hp_annotator *annotator, struct hp_hot_function *function,
                                  struct hp_function_code *code, struct hp_inlined_places *places);
void hp_inlined_places_fini(struct hp_inlined_places *places);

/* Adds the code of a part of a block; then puts all code in order, each instruction once. */
enum hp_err hp_annotator_add_range(struct hp_annotator *annotator, uint32_t block, uint32_t from,
                                   uint32_t to, struct hp_function_code *code);
void hp_function_code_join(struct hp_function_code *code);

/* What stands beside a line of code. */
struct hp_code_numbers {
    struct hp_insn_facts facts; /* all zero where the machine knows no instruction */
    struct hp_estimate times;   /* executions: as the machine saw it, else by blocks */
    double weight;
};
struct hp_code_numbers hp_code_numbers(const struct hp_annotator *annotator,
                                       const struct hp_code_line *line);

/* The share of all that a weight is. */
double hp_annotator_share(const struct hp_annotator *annotator, double weight);

struct hp_annotated_line {
    const char *file;
    uint32_t line;
    struct hp_estimate times; /* of its most often executed instruction, in each copy of it */
    double weight;
    double retired; /* instructions, as the machine saw them; of blocks: executed */
    double causes[HP_CAUSES], cycles; /* exact ones */
};

/* Sums the code by source line: those of the function's file first, then by file and line; what has
 * no line is left out. free() them. */
enum hp_err hp_annotator_lines(const struct hp_annotator *annotator, uint32_t function,
                               const struct hp_function_code *code,
                               struct hp_annotated_line **lines, size_t *n);

enum hp_err hp_annotate_text(struct hp_annotator *annotator,
                             const struct hp_hot_function *functions, size_t n);
enum hp_err hp_annotate_json(struct hp_annotator *annotator,
                             const struct hp_hot_function *functions, size_t n);

#endif
