// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include <stdlib.h>

static bool static_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    (void)predictor;
    (void)pc;
    return backward;
}

static void static_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    (void)predictor;
    (void)pc;
    (void)taken;
}

static void static_free(struct hp_predictor *predictor)
{
    free(predictor);
}

static enum hp_err static_make(const void *settings, const struct hp_branch_config *config,
                               struct hp_predictor **predictor)
{
    (void)settings, (void)config;
    struct hp_predictor *p = malloc(sizeof *p);
    if (!p)
        return hp_fail_nomem();
    *p = (struct hp_predictor){
        .predict = static_predict, .update = static_update, .free = static_free};
    *predictor = p;
    return HP_OK;
}

/* Backward branches are taken, forward ones are not. */
const struct hp_predictor_kind hp_predict_static = {
    .model = {.name = "static", .help = "backward branches are taken, forward ones are not"},
    .make = static_make,
};
