// SPDX-License-Identifier: MIT
/*
 * The list of schemes. To add one: a file that defines its struct hp_scheme_kind, declared here,
 * and a line in the table in scheme.c.
 */
#ifndef HP_PROFILER_PREDICT_SCHEME_H
#define HP_PROFILER_PREDICT_SCHEME_H

#include "base/settings.h"
#include "hotpath/predict.h"

struct hp_scheme_kind {
    struct hp_model model; /* one preset, of its name; see HP_SCHEME_MODEL() */
    enum hp_err (*make)(const struct hp_scheme_config *config, struct hp_scheme **scheme);
};

/* For a scheme with only a delay. */
extern const struct hp_setting hp_scheme_delay[1];
#define HP_SCHEME_DELAY(most)                                                                      \
    {                                                                                              \
        "delay", HP_SETTING_NUMBER, HP_MEMBER(struct hp_scheme_config, delay), 0, most,            \
            "executions before a prediction: more than these make a path or a head hot"            \
    }

/* The model of a scheme: its name, one sentence and its keys. */
#define HP_SCHEME_MODEL(scheme, sentence, scheme_keys)                                             \
    {                                                                                              \
        .name = scheme, .help = sentence,                                                          \
        .presets =                                                                                 \
            (const struct hp_preset[]){                                                            \
                {scheme, &(const struct hp_scheme_config){.name = scheme}, sentence, "delay"}},    \
        .n_presets = 1, .keys = scheme_keys, .n_keys = sizeof scheme_keys / sizeof *scheme_keys    \
    }

extern const struct hp_scheme_kind hp_scheme_net;
extern const struct hp_scheme_kind hp_scheme_path_profile;
extern const struct hp_scheme_kind hp_scheme_boa;
extern const struct hp_scheme_kind hp_scheme_net_rate;
extern const struct hp_scheme_kind hp_scheme_rate_table;

#endif
