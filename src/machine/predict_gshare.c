// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct gshare {
    struct hp_predictor predictor; /* first */
    uint64_t mask, history, history_mask;
    uint8_t *counters;
};

static bool gshare_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct gshare *g = (struct gshare *)predictor;
    (void)backward;
    return hp_counter_taken(g->counters[(pc ^ g->history) & g->mask], 2);
}

static void gshare_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct gshare *g = (struct gshare *)predictor;
    uint8_t *counter = &g->counters[(pc ^ g->history) & g->mask];
    *counter = hp_counter_next(*counter, 2, taken);
    g->history = (g->history << 1 | taken) & g->history_mask;
}

static void gshare_free(struct hp_predictor *predictor)
{
    struct gshare *g = (struct gshare *)predictor;
    free(g->counters);
    free(g);
}

enum hp_err hp_gshare_new(uint64_t entries, uint64_t history, struct hp_predictor **predictor)
{
    struct gshare *g = malloc(sizeof *g);
    if (!g)
        return hp_fail_nomem();
    *g = (struct gshare){
        .predictor = {.predict = gshare_predict, .update = gshare_update, .free = gshare_free},
        .mask = entries - 1,
        .history_mask = ((uint64_t)1 << history) - 1,
        .counters = hp_counters_new(entries, 2)};
    if (!g->counters) {
        gshare_free(&g->predictor);
        return hp_fail_nomem();
    }
    *predictor = &g->predictor;
    return HP_OK;
}
