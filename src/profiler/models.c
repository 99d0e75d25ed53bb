// SPDX-License-Identifier: MIT
#include "profiler/models.h"

#include "engine/traces.h"
#include "machine/keys.h"

const struct hp_model_family *const hp_model_families[] = {
    &hp_path_family,      &hp_hpt_family,    &hp_scheme_family,  &hp_loop_family,
    &hp_hotspot_family,   &hp_sample_family, &hp_windows_family, &hp_machine_family,
    &hp_predictor_family, &hp_traces_family,
};
const unsigned hp_n_model_families = sizeof hp_model_families / sizeof *hp_model_families;
