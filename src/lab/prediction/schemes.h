// SPDX-License-Identifier: MIT
/*
 * What the experiments on prediction share: all schemes with all delays behind one run of a
 * program.
 */
#ifndef HP_LAB_PREDICTION_SCHEMES_H
#define HP_LAB_PREDICTION_SCHEMES_H

#include "hotpath/predict.h"
#include "lab/lab.h"

/* The schemes that are compared: those of the paper, and ours. */
struct hp_lab_scheme {
    const char *key;            /* of columns */
    const char *title;          /* shorter, for people */
    const char *name, *options; /* for hp_scheme_parse(), the delay between them */
};
extern const struct hp_lab_scheme hp_lab_schemes[];
extern const size_t hp_lab_n_schemes;

/* Runs a program with every scheme at every one of the n delays. results[scheme * n + delay].
 * HP_ERR_INVALID: more than HP_JUDGE_SCHEMES. */
enum hp_err hp_lab_judge(struct hp_lab *lab, const struct hp_lab_command *command,
                         const unsigned *delays, size_t n,
                         struct hp_prediction results[HP_JUDGE_SCHEMES]);

#endif
