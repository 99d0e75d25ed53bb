// SPDX-License-Identifier: MIT
/*
 * What is sampled for a perf.data file: "perf,period=1000,depth=32"; how it is traced:
 * "perf-pt,cpus=2".
 */
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

/* How a run is traced. */
struct hp_tracing_settings {
    uint32_t cpus;     /* 0: buffers are those of threads */
    uint64_t slice;    /* instructions after which a thread goes to another processor */
    uint64_t sync;     /* bytes between places where reading can begin */
    bool returns;      /* are compressed */
    bool long_packets; /* Intel PT */
    bool raw;          /* Arm ETM: not in frames; likewise: */
    bool switches;     /* threads have no ids in the packets */
};

extern const struct hp_model_family hp_pt_family, hp_etm_family;

/* HP_ERR_INVALID: likewise. */
enum hp_err hp_pt_parse(const char *text, struct hp_tracing_settings *settings);
enum hp_err hp_etm_parse(const char *text, struct hp_tracing_settings *settings);

#endif
