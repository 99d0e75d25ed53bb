// SPDX-License-Identifier: MIT
/* What is sampled for a perf.data file: "perf,period=1000,depth=32". */
#ifndef HP_EXPORT_SAMPLES_SETTINGS_H
#define HP_EXPORT_SAMPLES_SETTINGS_H

#include "base/settings.h"

enum hp_samples_of { HP_SAMPLES_OF_BRANCHES, HP_SAMPLES_OF_INSTRUCTIONS };

struct hp_samples_settings {
    uint64_t period;
    uint32_t depth;
    uint32_t of; /* enum hp_samples_of */
    bool consecutive, overlap, chains;
};

extern const struct hp_model_family hp_samples_family;

/* HP_ERR_INVALID: the text is wrong, or its settings contradict each other. */
enum hp_err hp_samples_parse(const char *text, struct hp_samples_settings *settings);

#endif
