// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct bimodal {
    struct hp_predictor predictor; /* first */
    uint64_t mask;
    uint8_t *counters;
};

static bool bimodal_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct bimodal *b = (struct bimodal *)predictor;
    (void)backward;
    return hp_counter_taken(b->counters[pc & b->mask], 2);
}

static void bimodal_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct bimodal *b = (struct bimodal *)predictor;
    uint8_t *counter = &b->counters[pc & b->mask];
    *counter = hp_counter_next(*counter, 2, taken);
}

static void bimodal_free(struct hp_predictor *predictor)
{
    struct bimodal *b = (struct bimodal *)predictor;
    free(b->counters);
    free(b);
}

enum hp_err hp_bimodal_new(uint64_t entries, struct hp_predictor **predictor)
{
    struct bimodal *b = malloc(sizeof *b);
    if (!b)
        return hp_fail_nomem();
    *b = (struct bimodal){
        .predictor = {.predict = bimodal_predict, .update = bimodal_update, .free = bimodal_free},
        .mask = entries - 1,
        .counters = hp_counters_new(entries, 2)};
    if (!b->counters) {
        bimodal_free(&b->predictor);
        return hp_fail_nomem();
    }
    *predictor = &b->predictor;
    return HP_OK;
}
