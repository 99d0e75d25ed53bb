// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct settings {
    uint64_t entries, history;
};

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

static enum hp_err gshare_make(const void *settings, const struct hp_branch_config *config,
                               struct hp_predictor **predictor)
{
    const struct settings *own = settings;
    (void)config;
    struct gshare *g = malloc(sizeof *g);
    if (!g)
        return hp_fail_nomem();
    *g = (struct gshare){
        .predictor = {.predict = gshare_predict, .update = gshare_update, .free = gshare_free},
        .mask = own->entries - 1,
        .history_mask = ((uint64_t)1 << own->history) - 1,
        .counters = hp_counters_new(own->entries, 2)};
    if (!g->counters) {
        gshare_free(&g->predictor);
        return hp_fail_nomem();
    }
    *predictor = &g->predictor;
    return HP_OK;
}

static bool check(const void *settings, struct hp_machine_fault *fault)
{
    const struct settings *own = settings;
    return hp_check_history("gshare", own->history, own->entries, fault);
}

static const struct hp_setting keys[] = {
    {"entries", HP_SETTING_POWER, HP_MEMBER(struct settings, entries), 1, HP_TABLE_MAX,
     "2-bit counters", .initial = 4096},
    {"history", HP_SETTING_SIZE, HP_MEMBER(struct settings, history), 0, 24,
     "outcomes in the history", .initial = 12},
};

const struct hp_predictor_kind hp_predict_gshare = {
    .model = {"gshare", "2-bit counters, by address xor the last outcomes (McFarling)", NULL, 0,
              keys, sizeof keys / sizeof *keys},
    .can_be_combined = true,
    .check = check,
    .make = gshare_make,
};
