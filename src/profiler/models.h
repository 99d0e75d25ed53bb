// SPDX-License-Identifier: MIT
/*
 * All settings in one table: each family lists its models, presets and keys beside its own code.
 * `hotpath help models` prints it.
 */
#ifndef HP_PROFILER_MODELS_H
#define HP_PROFILER_MODELS_H

#include "base/settings.h"

extern const struct hp_model_family *const hp_model_families[];
extern const unsigned hp_n_model_families;

extern const struct hp_model_family hp_path_family;    /* path/ppcr.c */
extern const struct hp_model_family hp_hpt_family;     /* path/hpt_config.c */
extern const struct hp_model_family hp_loop_family;    /* loop/model_config.c */
extern const struct hp_model_family hp_hotspot_family; /* hotspot/config.c */
extern const struct hp_model_family hp_scheme_family;  /* predict/scheme.c */
extern const struct hp_model_family hp_sample_family;  /* sample/config.c */
extern const struct hp_model_family hp_windows_family; /* windows.c */

#endif
