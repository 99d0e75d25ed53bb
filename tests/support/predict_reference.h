// SPDX-License-Identifier: MIT
/*
 * The slow reference of prediction: a direct implementation of the definitions of schemes and
 * measures. It records every execution, and computes the measures from that at the end. It shares
 * only the names of structs with the library. It is for tests: it aborts when memory runs out.
 */
#ifndef HP_TESTS_PREDICT_REFERENCE_H
#define HP_TESTS_PREDICT_REFERENCE_H

#include "hotpath/predict.h"

/* A path, as a list of branches. */
struct tested_path {
    uint64_t start;
    uint32_t block;
    uint32_t n;
    struct hp_flow_branch branches[HP_PATH_MAX_LENGTH];
};

struct predict_reference;

struct predict_reference *predict_reference_new(const struct hp_scheme_config *config,
                                                uint32_t max_length);
void predict_reference_free(struct predict_reference *r);

/* The path was executed. Returns the path that is predicted now, or NULL; valid until the next
 * call. */
const struct tested_path *predict_reference_run(struct predict_reference *r,
                                                const struct tested_path *path);

/* All but `splits` and `lost`. `hot`: in parts of a million. */
void predict_reference_measure(const struct predict_reference *r, uint32_t hot,
                               struct hp_prediction *measures);

/* The path as the library's struct; its targets go to `targets`. */
struct hp_path tested_descriptor(const struct tested_path *path, uint64_t *targets);

#endif
