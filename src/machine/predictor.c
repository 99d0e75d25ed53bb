// SPDX-License-Identifier: MIT
#include "machine/predictor.h"

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

static enum hp_err make(const struct hp_branch_config *config, uint64_t kind,
                        struct hp_predictor **predictor)
{
    switch (kind) {
    case HP_PREDICT_STATIC: return hp_static_new(predictor);
    case HP_PREDICT_BIMODAL: return hp_bimodal_new(config->bimodal_entries, predictor);
    case HP_PREDICT_GSHARE:
        return hp_gshare_new(config->gshare_entries, config->gshare_history, predictor);
    case HP_PREDICT_LOCAL:
        return hp_local_new(config->local_histories, config->local_history, config->local_entries,
                            predictor);
    case HP_PREDICT_ALPHA21264:
        return hp_alpha_new(config->alpha_histories, config->alpha_local, config->alpha_global,
                            predictor);
    case HP_PREDICT_TAGE: return hp_tage_new(&config->tage, predictor);
    default: return hp_fail(HP_ERR_INTERNAL, "no predictor of kind %d", (int)kind);
    }
}

enum hp_err hp_predictor_new(const struct hp_branch_config *config, struct hp_predictor **predictor)
{
    struct hp_predictor *first = NULL, *second = NULL;
    if (config->predictor != HP_PREDICT_COMBINED)
        return make(config, config->predictor, predictor);
    HP_TRY(make(config, config->first, &first));
    enum hp_err err = make(config, config->second, &second);
    if (err != HP_OK) {
        hp_predictor_free(first);
        return err;
    }
    return hp_combined_new(first, second, config->meta_entries, predictor);
}
