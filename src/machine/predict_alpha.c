// SPDX-License-Identifier: MIT
/*
 * The tournament predictor of the Alpha 21264 (Kessler, IEEE Micro 19(2), 1999): like a combined
 * one, but with local counters of 3 bits and a choice indexed by the history of all branches.
 */
#include "machine/predictor.h"

#include <stdlib.h>

struct settings {
    uint64_t histories, local, global;
};

struct alpha {
    struct hp_predictor predictor; /* first */
    uint64_t histories_mask, local_mask, global_mask;
    uint64_t path; /* the last outcomes of all branches */
    bool local_said, global_said;
    uint16_t *histories;
    uint8_t *local, *global, *choices;
};

static bool alpha_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct alpha *a = (struct alpha *)predictor;
    (void)backward;
    a->local_said = hp_counter_taken(a->local[a->histories[pc & a->histories_mask]], 3);
    a->global_said = hp_counter_taken(a->global[a->path], 2);
    return hp_counter_taken(a->choices[a->path], 2) ? a->global_said : a->local_said;
}

static void alpha_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct alpha *a = (struct alpha *)predictor;
    uint16_t *history = &a->histories[pc & a->histories_mask];
    uint8_t *local = &a->local[*history], *global = &a->global[a->path];
    uint8_t *choice = &a->choices[a->path];
    if (a->local_said != a->global_said)
        *choice = hp_counter_next(*choice, 2, a->global_said == taken);
    *local = hp_counter_next(*local, 3, taken);
    *global = hp_counter_next(*global, 2, taken);
    *history = (uint16_t)(((uint64_t)*history << 1 | taken) & a->local_mask);
    a->path = (a->path << 1 | taken) & a->global_mask;
}

static void alpha_free(struct hp_predictor *predictor)
{
    struct alpha *a = (struct alpha *)predictor;
    free(a->histories);
    free(a->local);
    free(a->global);
    free(a->choices);
    free(a);
}

static enum hp_err alpha_make(const void *settings, const struct hp_branch_config *config,
                              struct hp_predictor **predictor)
{
    const struct settings *own = settings;
    (void)config;
    struct alpha *a = malloc(sizeof *a);
    if (!a)
        return hp_fail_nomem();
    uint64_t locals = (uint64_t)1 << own->local, globals = (uint64_t)1 << own->global;
    *a = (struct alpha){
        .predictor = {.predict = alpha_predict, .update = alpha_update, .free = alpha_free},
        .histories_mask = own->histories - 1,
        .local_mask = locals - 1,
        .global_mask = globals - 1,
        .histories = calloc(own->histories, sizeof *a->histories),
        .local = hp_counters_new(locals, 3),
        .global = hp_counters_new(globals, 2),
        .choices = hp_counters_new(globals, 2)};
    if (!a->histories || !a->local || !a->global || !a->choices) {
        alpha_free(&a->predictor);
        return hp_fail_nomem();
    }
    *predictor = &a->predictor;
    return HP_OK;
}

static const struct hp_setting keys[] = {
    {"histories", HP_SETTING_POWER, HP_MEMBER(struct settings, histories), 1, HP_TABLE_MAX,
     "registers of a branch's own outcomes, by address", .initial = 1024},
    {"local", HP_SETTING_SIZE, HP_MEMBER(struct settings, local), 1, 16,
     "outcomes in each; they choose one of 2^local 3-bit counters", .initial = 10},
    {"global", HP_SETTING_SIZE, HP_MEMBER(struct settings, global), 1, 24,
     "outcomes of all branches, that choose a 2-bit counter and whom to believe", .initial = 12},
};

const struct hp_predictor_kind hp_predict_alpha = {
    .model = {"alpha21264", "the tournament predictor of the Alpha 21264", NULL, 0, keys,
              sizeof keys / sizeof *keys},
    .make = alpha_make,
};
