// SPDX-License-Identifier: MIT
/* The gate: whether a run is within limits of its baseline, and what the difference comes from. */
#ifndef HP_DIFF_GATE_H
#define HP_DIFF_GATE_H

#include "diff/diff.h"

/* How much more there may be, in percent of the baseline; < 0: any number. */
struct hp_gate_limits {
    double totals[HP_TOTALS];
    double functions; /* of each function with a share worth keeping in a baseline */
};

enum hp_gate_verdict {
    HP_GATE_WITHIN,
    HP_GATE_IMPROVED, /* something that is limited fell by more than it may rise */
    HP_GATE_REGRESSED,
};

/* A function that changed by a part worth telling. */
struct hp_gate_function {
    const struct hp_change *change;
    bool exceeded; /* the limit of functions */
};

struct hp_gate {
    const struct hp_diff *diff; /* of a baseline and a run */
    struct hp_gate_limits limits;
    enum hp_gate_verdict verdict;
    int64_t rest; /* change of all that is not listed: together that of all instructions */
    size_t n_functions;
    struct hp_gate_function functions[]; /* largest change first */
};

/* Judges. `diff` must outlive it; free() it. */
enum hp_err hp_gate_make(const struct hp_diff *diff, const struct hp_gate_limits *limits,
                         struct hp_gate **gate);

struct hp_gate_print {
    const char *name;     /* of the benchmark */
    const char *baseline; /* file */
    const char *program;  /* key of the module that is the program's own; NULL unknown */
    bool color;
};

enum hp_err hp_gate_print_text(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out);
enum hp_err hp_gate_print_json(const struct hp_gate *gate, const struct hp_gate_print *print,
                               FILE *out);
/* A section in GitHub's Markdown. */
enum hp_err hp_gate_print_markdown(const struct hp_gate *gate, const struct hp_gate_print *print,
                                   FILE *out);

/* Why a function changed, clean: "same number of calls, 12 more instructions per call, mostly at
 * inflate.c:210". */
void hp_gate_why(const struct hp_diff *diff, const struct hp_change *function,
                 struct hp_strbuf *text);

#endif
