// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

#include "machine/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *hp_counters_new(uint64_t n, unsigned bits)
{
    uint8_t *counters = malloc(n);
    if (counters)
        memset(counters, (1 << (bits - 1)) - 1, n);
    return counters;
}

void hp_predictor_free(struct hp_predictor *predictor)
{
    if (predictor)
        predictor->free(predictor);
}

const struct hp_predictor_kind *const hp_predictor_kinds[HP_N_PREDICTORS] = {
#define EACH(name) &hp_predict_##name,
    HP_PREDICTORS(EACH)
#undef EACH
};

static const struct hp_model *const models[] = {
#define EACH(name) &hp_predict_##name.model,
    HP_PREDICTORS(EACH)
#undef EACH
};

const struct hp_model_family hp_predictor_family = {
    .name = "branch predictors",
    .label = "predictor",
    .option = "[branch] predictor, in a machine file",
    .help = "predict which way conditional branches go; the keys are those of a section",
    .models = models,
    .n_models = HP_N_PREDICTORS,
};

enum hp_err hp_predictor_make(const struct hp_branch_config *config, uint64_t id,
                              struct hp_predictor **predictor)
{
    return hp_predictor_kinds[id]->make(config->settings[id], config, predictor);
}

enum hp_err hp_predictor_new(const struct hp_branch_config *config, struct hp_predictor **predictor)
{
    return hp_predictor_make(config, config->predictor, predictor);
}

enum hp_err hp_predictor_read(const struct hp_setting *setting, const char *text, void *config)
{
    char names[200] = "";
    size_t at = 0;
    for (unsigned i = 0; i < HP_N_PREDICTORS; i++) {
        if (strcmp(models[i]->name, text) == 0) {
            hp_setting_set(setting, config, i);
            return HP_OK;
        }
        if (at < sizeof names)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                                   models[i]->name);
    }
    return hp_fail(HP_ERR_INVALID, "'%.40s' is none of %s", text, names);
}

void hp_predictor_write(const struct hp_setting *setting, const void *config, char *text,
                        size_t size)
{
    snprintf(text, size, "%s", models[hp_setting_get(setting, config)]->name);
}
