// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct settings {
    uint64_t histories, history, entries;
};

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

static enum hp_err local_make(const void *settings, const struct hp_branch_config *config,
                              struct hp_predictor **predictor)
{
    const struct settings *own = settings;
    (void)config;
    struct local *l = malloc(sizeof *l);
    if (!l)
        return hp_fail_nomem();
    *l = (struct local){
        .predictor = {.predict = local_predict, .update = local_update, .free = local_free},
        .histories_mask = own->histories - 1,
        .history_mask = ((uint64_t)1 << own->history) - 1,
        .mask = own->entries - 1,
        .bits = (unsigned)own->history,
        .histories = calloc(own->histories, sizeof *l->histories),
        .counters = hp_counters_new(own->entries, 2)};
    if (!l->histories || !l->counters) {
        local_free(&l->predictor);
        return hp_fail_nomem();
    }
    *predictor = &l->predictor;
    return HP_OK;
}

static bool check(const void *settings, struct hp_machine_fault *fault)
{
    const struct settings *own = settings;
    return hp_check_history("local", own->history, own->entries, fault);
}

static const struct hp_setting keys[] = {
    {"histories", HP_SETTING_POWER, HP_MEMBER(struct settings, histories), 1, HP_TABLE_MAX,
     "registers of outcomes, by address; 1: all branches share it", .initial = 1024},
    {"history", HP_SETTING_SIZE, HP_MEMBER(struct settings, history), 1, 24, "outcomes in each",
     .initial = 10},
    {"entries", HP_SETTING_POWER, HP_MEMBER(struct settings, entries), 1, HP_TABLE_MAX,
     "2-bit counters, by a history and as many address bits as fit", .initial = 1024},
};

const struct hp_predictor_kind hp_predict_local = {
    .model = {"local", "2-bit counters, by the branch's own last outcomes (Yeh and Patt)", NULL, 0,
              keys, sizeof keys / sizeof *keys},
    .can_be_combined = true,
    .check = check,
    .make = local_make,
};
