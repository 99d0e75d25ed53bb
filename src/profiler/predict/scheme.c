// SPDX-License-Identifier: MIT
/* Schemes by name. */
#include "profiler/predict/scheme.h"

#include "profiler/models.h"

#include <stdio.h>
#include <string.h>

const struct hp_setting hp_scheme_delay[1] = {HP_SCHEME_DELAY(HP_DELAY_MAX)};

static const struct hp_scheme_kind *const kinds[] = {
    &hp_scheme_net,      &hp_scheme_path_profile, &hp_scheme_boa,
    &hp_scheme_net_rate, &hp_scheme_rate_table,
};
static const struct hp_model *const models[] = {
    &hp_scheme_net.model,      &hp_scheme_path_profile.model, &hp_scheme_boa.model,
    &hp_scheme_net_rate.model, &hp_scheme_rate_table.model,
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

const struct hp_model_family hp_scheme_family = {
    .name = "prediction schemes",
    .label = "prediction scheme",
    .option = "--predict",
    .help = "predict hot paths while the program runs (docs/prediction.md)",
    .size = sizeof(struct hp_scheme_config),
    .models = models,
    .n_models = N_KINDS,
};

static const struct hp_scheme_kind *find_kind(const struct hp_scheme_config *config)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (strncmp(kinds[i]->model.name, config->name, sizeof config->name) == 0)
            return kinds[i];
    return NULL;
}

/* --- Reading and writing ---------------------------------------------------------------------- */

enum hp_err hp_scheme_parse(const char *text, struct hp_scheme_config *config)
{
    struct hp_scheme_config new;
    struct hp_said said;
    HP_TRY(hp_settings_parse(&hp_scheme_family, text, &new, &said));
    *config = new;
    return HP_OK;
}

void hp_scheme_format(const struct hp_scheme_config *config, char *text, size_t size)
{
    const struct hp_scheme_kind *kind = find_kind(config);
    struct hp_scheme_config base = {.delay = config->delay};
    snprintf(text, size, "%s:%llu", config->name, (unsigned long long)config->delay);
    if (kind)
        hp_settings_write(&kind->model, config, &base, text, size);
}

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_scheme_new(const struct hp_scheme_config *config, struct hp_scheme **scheme)
{
    const struct hp_scheme_kind *kind = find_kind(config);
    if (!kind)
        return hp_fail(HP_ERR_INVALID, "prediction scheme: there is no '%.*s'",
                       (int)sizeof config->name, config->name);
    for (unsigned i = 0; i < kind->model.n_keys; i++)
        HP_TRY(hp_setting_check(&kind->model.keys[i], "prediction scheme", config));
    if (config->keep && !hp_setting_find(&kind->model, "after"))
        return hp_fail(HP_ERR_INVALID, "prediction scheme: %s has no setting 'after'",
                       kind->model.name);
    HP_TRY(kind->make(config, scheme));
    (*scheme)->max_length = HP_PATH_MAX_LENGTH;
    return HP_OK;
}

void hp_scheme_free(struct hp_scheme *scheme)
{
    if (scheme)
        scheme->ops->free(scheme);
}
