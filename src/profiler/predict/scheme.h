// SPDX-License-Identifier: MIT
/*
 * The schemes there are. To add one: a file that defines its struct hp_scheme_kind, declared here, and a line in
 * the table in scheme.c.
 */
#ifndef HP_PROFILER_PREDICT_SCHEME_H
#define HP_PROFILER_PREDICT_SCHEME_H

#include "hotpath/predict.h"

struct hp_scheme_kind {
    const char *name;
    bool has_after; /* takes after=reset|keep */
    enum hp_err (*make)(const struct hp_scheme_config *config, struct hp_scheme **scheme);
};

extern const struct hp_scheme_kind hp_scheme_net;
extern const struct hp_scheme_kind hp_scheme_path_profile;
extern const struct hp_scheme_kind hp_scheme_boa;
extern const struct hp_scheme_kind hp_scheme_net_rate;
extern const struct hp_scheme_kind hp_scheme_rate_table;

#endif
