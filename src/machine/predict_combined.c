// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

struct settings {
    uint64_t first, second, meta;
};

struct combined {
    struct hp_predictor predictor; /* first */
    struct hp_predictor *parts[2];
    bool said[2]; /* the latest prediction of each */
    uint64_t mask;
    uint8_t *choices;
};

static bool combined_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct combined *c = (struct combined *)predictor;
    for (int i = 0; i < 2; i++)
        c->said[i] = c->parts[i]->predict(c->parts[i], pc, backward);
    return c->said[hp_counter_taken(c->choices[pc & c->mask], 2)];
}

static void combined_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct combined *c = (struct combined *)predictor;
    uint8_t *choice = &c->choices[pc & c->mask];
    if (c->said[0] != c->said[1])
        *choice = hp_counter_next(*choice, 2, c->said[1] == taken);
    for (int i = 0; i < 2; i++)
        c->parts[i]->update(c->parts[i], pc, taken);
}

static void combined_free(struct hp_predictor *predictor)
{
    struct combined *c = (struct combined *)predictor;
    hp_predictor_free(c->parts[0]);
    hp_predictor_free(c->parts[1]);
    free(c->choices);
    free(c);
}

static enum hp_err combined_make(const void *settings, const struct hp_branch_config *config,
                                 struct hp_predictor **predictor)
{
    const struct settings *own = settings;
    struct combined *c = malloc(sizeof *c);
    if (!c)
        return hp_fail_nomem();
    *c = (struct combined){.predictor = {.predict = combined_predict,
                                         .update = combined_update,
                                         .free = combined_free},
                           .mask = own->meta - 1,
                           .choices = hp_counters_new(own->meta, 2)};
    enum hp_err err = c->choices ? HP_OK : hp_fail_nomem();
    if (err == HP_OK)
        err = hp_predictor_make(config, own->first, &c->parts[0]);
    if (err == HP_OK)
        err = hp_predictor_make(config, own->second, &c->parts[1]);
    if (err != HP_OK)
        combined_free(&c->predictor);
    else
        *predictor = &c->predictor;
    return err;
}

static bool check_part(const char *key, uint64_t id, struct hp_machine_fault *fault)
{
    if (!hp_predictor_kinds[id]->can_be_combined)
        return hp_fault_at(fault, "combined", key,
                           "only bimodal, gshare and local predictors can be combined");
    return true;
}

static bool check(const void *settings, struct hp_machine_fault *fault)
{
    const struct settings *own = settings;
    return check_part("first", own->first, fault) && check_part("second", own->second, fault);
}

#define PREDICTOR .form = "a predictor", .read = hp_predictor_read, .write = hp_predictor_write
static const struct hp_setting keys[] = {
    {"first", HP_SETTING_NUMBER, HP_MEMBER(struct settings, first), 0, 0, "one predictor", NULL,
     HP_PREDICT_bimodal, PREDICTOR},
    {"second", HP_SETTING_NUMBER, HP_MEMBER(struct settings, second), 0, 0, "the other", NULL,
     HP_PREDICT_gshare, PREDICTOR},
    {"meta", HP_SETTING_POWER, HP_MEMBER(struct settings, meta), 1, HP_TABLE_MAX,
     "2-bit counters that choose between the two, by address", .initial = 1024},
};

const struct hp_predictor_kind hp_predict_combined = {
    .model = {"combined", "two predictors, and counters that learn which one to believe", NULL, 0,
              keys, sizeof keys / sizeof *keys},
    .check = check,
    .make = combined_make,
};
