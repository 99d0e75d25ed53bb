// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct settings {
    uint64_t entries;
};

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

static enum hp_err bimodal_make(const void *settings, const struct hp_branch_config *config,
                                struct hp_predictor **predictor)
{
    const struct settings *own = settings;
    (void)config;
    struct bimodal *b = malloc(sizeof *b);
    if (!b)
        return hp_fail_nomem();
    *b = (struct bimodal){
        .predictor = {.predict = bimodal_predict, .update = bimodal_update, .free = bimodal_free},
        .mask = own->entries - 1,
        .counters = hp_counters_new(own->entries, 2)};
    if (!b->counters) {
        bimodal_free(&b->predictor);
        return hp_fail_nomem();
    }
    *predictor = &b->predictor;
    return HP_OK;
}

static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_POWER, HP_MEMBER(struct settings, entries), 1, HP_TABLE_MAX,
     "2-bit counters", .initial = 2048},
};

const struct hp_predictor_kind hp_predict_bimodal = {
    .model = {"bimodal", "2-bit counters, by address", NULL, 0, keys, sizeof keys / sizeof *keys},
    .can_be_combined = true,
    .make = bimodal_make,
};
