// SPDX-License-Identifier: MIT
/*
 * Shared by the experiments on prediction: all schemes with all delays in one run of a program.
 */
#ifndef HP_LAB_PREDICTION_SCHEMES_H
#define HP_LAB_PREDICTION_SCHEMES_H

#include "hotpath/predict.h"
#include "lab/lab.h"

/* The compared schemes: the paper's, and ours. */
struct hp_lab_scheme {
    const char *key;            /* of columns */
    const char *title;          /* shorter, for people */
    const char *name, *options; /* for hp_scheme_parse(), with the delay between them */
};
extern const struct hp_lab_scheme hp_lab_schemes[];
extern const size_t hp_lab_n_schemes;

/* Runs a program with every scheme at each of the n delays. results[scheme * n + delay].
 * HP_ERR_INVALID: more than HP_JUDGE_SCHEMES. */
enum hp_err hp_lab_judge(struct hp_lab *lab, const struct hp_lab_command *command,
                         const unsigned *delays, size_t n,
                         struct hp_prediction results[HP_JUDGE_SCHEMES]);

#endif
