// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct local {
    struct hp_predictor predictor; /* first */
    uint64_t histories_mask, history_mask, mask;
    unsigned bits;
    uint32_t *histories;
    uint8_t *counters;
};

static uint8_t *local_counter(struct local *l, uint64_t pc)
{
    uint64_t history = l->histories[pc & l->histories_mask];
    return &l->counters[(pc << l->bits | history) & l->mask];
}

static bool local_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    (void)backward;
    return hp_counter_taken(*local_counter((struct local *)predictor, pc), 2);
}

static void local_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct local *l = (struct local *)predictor;
    uint8_t *counter = local_counter(l, pc);
    uint32_t *history = &l->histories[pc & l->histories_mask];
    *counter = hp_counter_next(*counter, 2, taken);
    *history = (uint32_t)((*history << 1 | taken) & l->history_mask);
}

static void local_free(struct hp_predictor *predictor)
{
    struct local *l = (struct local *)predictor;
    free(l->histories);
    free(l->counters);
    free(l);
}

enum hp_err hp_local_new(uint64_t histories, uint64_t history, uint64_t entries,
                         struct hp_predictor **predictor)
{
    struct local *l = malloc(sizeof *l);
    if (!l)
        return hp_fail_nomem();
    *l = (struct local){
        .predictor = {.predict = local_predict, .update = local_update, .free = local_free},
        .histories_mask = histories - 1,
        .history_mask = ((uint64_t)1 << history) - 1,
        .mask = entries - 1,
        .bits = (unsigned)history,
        .histories = calloc(histories, sizeof *l->histories),
        .counters = hp_counters_new(entries, 2)};
    if (!l->histories || !l->counters) {
        local_free(&l->predictor);
        return hp_fail_nomem();
    }
    *predictor = &l->predictor;
    return HP_OK;
}
