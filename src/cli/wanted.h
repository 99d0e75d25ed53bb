// SPDX-License-Identifier: MIT
/*
 * What is wanted of a run: which profilers, with which parameters. From the command line's words to the profilers themselves.
 */
#ifndef HP_CLI_WANTED_H
#define HP_CLI_WANTED_H

#include "cli/options.h"
#include "hotpath/machine.h"
#include "hotpath/sample.h"
#include "hotpath/wpp.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/loop/models.h"
#include "profiler/path/paths.h"
#include "profiler/predict/predictions.h"
#include "profiler/result.h"
#include "profiler/windows.h"

/* Somebody who wants what a machine in cycles says of a run, or just what is executed: makes the profiler that gets it, which is then the
 * session's. One of the two. */
struct hp_observer {
    enum hp_err (*open)(struct hp_observer *observer, struct hp_program *program,
                        struct hp_functions *functions, struct hp_profiler **profiler);
    enum hp_err (*open_stream)(struct hp_observer *observer, struct hp_code *code,
                               struct hp_functions *functions, struct hp_profiler **profiler);
    bool addresses; /* what is executed is wanted with the addresses of data */
};

/* As given: NULL, 0 or none where nothing was said. */
struct hp_wanted_options {
    const char *profile;    /* a list: see read_list() */
    const char *paths;      /* a control register: hp_ppcr_parse() */
    const char *metric;     /* what is counted along paths */
    struct hp_texts tables; /* hot path tables: hp_hpt_parse() */
    uint64_t window;        /* instructions */
    uint64_t max_paths;
    const char *wpp;             /* file of the whole program path */
    uint64_t wpp_memory;         /* bytes */
    struct hp_texts schemes;     /* of prediction: hp_scheme_parse() */
    struct hp_texts loop_models; /* hp_loop_config_parse() */
    const char *hotspots;        /* a detector: hp_hotspot_config_parse() */
    const char *machine;         /* hp_machine_load() */
    struct hp_texts samplers;    /* of instructions: hp_sample_config_parse() */
    const char *windows;         /* what is run in cycles: hp_windows_parse() */
    struct hp_observer *observer;
};

/* The rows for these in a command's option table. */
#define HP_WANTED_ROWS(o)                                                                            \
    {"profile",                                                                                      \
     'p',                                                                                            \
     HP_OPT_TEXT,                                                                                    \
     &(o).profile,                                                                                   \
     "LIST",                                                                                         \
     "what to make of it, joined by commas: exact (default:\nblocks, edges, calls, functions), "     \
     "loops, "                                                                                       \
     "paths,\npredictions, hotspots; with a machine cycles,\ninstructions; or counts (cheaper "      \
     "than exact,\nno order), or none"},                                                             \
        {"paths",                                                                                    \
         0,                                                                                          \
         HP_OPT_TEXT,                                                                                \
         &(o).paths,                                                                                 \
         "TYPE",                                                                                     \
         "which paths: bl (default), wpp, extended-loop:N,\nextended-call:N, forward, or a table "   \
         "of operations"},                                                                           \
        {"metric",                                                                                   \
         0,                                                                                          \
         HP_OPT_TEXT,                                                                                \
         &(o).metric,                                                                                \
         "NAME",                                                                                     \
         "what to count along paths: executions (default),\ninstructions; with --machine l1i, "      \
         "l1d, l2, itlb, dtlb,\nmispredictions, power, power-cycle"},                                \
        {"table",                                                                                    \
         0,                                                                                          \
         HP_OPT_TEXTS,                                                                               \
         &(o).tables,                                                                                \
         "SIZE",                                                                                     \
         "model a hot path table too: vaswani, 512x4,\nrandom-admission, ... (may be repeated)"},    \
        {"window",    0,   HP_OPT_COUNT,                                                             \
         &(o).window, "N", "compare the tables every N instructions as well"},                       \
        {"max-paths",    0,   HP_OPT_COUNT,                                                          \
         &(o).max_paths, "N", "distinct paths to keep, a thread (default 33M)"},                     \
        {"wpp",    0,      HP_OPT_TEXT,                                                              \
         &(o).wpp, "FILE", "write the whole program path: every path, in order\n(for hotpath wpp)"}, \
        {"wpp-memory",    0,      HP_OPT_SIZE,                                                       \
         &(o).wpp_memory, "SIZE", "memory for its grammar (default 256M)"},                          \
        {"predict",                                                                                  \
         0,                                                                                          \
         HP_OPT_TEXTS,                                                                               \
         &(o).schemes,                                                                               \
         "SCHEME",                                                                                   \
         "measure a prediction scheme: net:50, path-profile:50,\nboa:50, net-rate:50, "              \
         "rate-table:50 (may be repeated)"},                                                         \
        {"loop-model",                                                                               \
         0,                                                                                          \
         HP_OPT_TEXTS,                                                                               \
         &(o).loop_models,                                                                           \
         "MODEL",                                                                                    \
         "model a loop profiler in hardware beside the exact\nloops: daprof, daprof,calls, "         \
         "frequent, ranges (may be repeated)"},                                                      \
        {"hotspots",                                                                                 \
         0,                                                                                          \
         HP_OPT_TEXT,                                                                                \
         &(o).hotspots,                                                                              \
         "NAME",                                                                                     \
         "which hot spot detector: merten (default), dense; and\nchanges to it: "                    \
         "merten,candidate=8"},                                                                      \
        {"machine",                                                                                  \
         0,                                                                                          \
         HP_OPT_TEXT,                                                                                \
         &(o).machine,                                                                               \
         "NAME",                                                                                     \
         "model a machine: vaswani, alpha21264, arm9, modern, or\na file. Alone: where the "         \
         "cycles "                                                                                   \
         "go, from windows of the run"},                                                             \
        {"sample",                                                                                   \
         0,                                                                                          \
         HP_OPT_TEXTS,                                                                               \
         &(o).samplers,                                                                              \
         "SAMPLER",                                                                                  \
         "sample instructions on the machine: profileme, with\nchanges: "                            \
         "profileme,interval=1000,pairs (may be repeated)"},                                         \
    {                                                                                                \
        "windows", 0, HP_OPT_TEXT, &(o).windows, "WINDOWS",                                          \
            "what is run in cycles: all, or\nperiod=1M,detail=50K,ramp=2K,warm=all"                  \
    }

#define HP_SAMPLERS_MAX 4

struct hp_wanted {
    bool exact, loops, paths, predictions, hotspots; /* from the order of execution */
    bool cycles, instructions;                       /* from a machine in cycles */
    bool counts;                                     /* from counters */
    bool addresses;                                  /* something needs those of data */
    struct hp_paths_config paths_config;
    struct hp_judge_config judge_config;
    struct hp_loop_config loop_models[HP_TEXTS_MAX];
    size_t n_loop_models;
    struct hp_hotspot_config hotspot_config;
    struct hp_sample_config samplers[HP_SAMPLERS_MAX];
    size_t n_samplers;
    struct hp_windows windows;
    const char *machine; /* NULL: none */
    const struct hp_wanted_options *options;
};

/* Reads the words. HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_wanted_parse(const struct hp_wanted_options *options, struct hp_wanted *wanted);

/* Whether it is nothing at all. */
bool hp_wanted_nothing(const struct hp_wanted *wanted);

#define HP_WANTED_MAX 12

/* What was made of it. */
struct hp_wanted_parts {
    struct hp_profiler *profilers[HP_WANTED_MAX]; /* in the order in which they finish */
    size_t n;
    struct hp_wpp *wpp;         /* NULL: not wanted */
    struct hp_machine *machine; /* likewise */
    struct hp_program *program; /* its code, where it is run in cycles */
    struct hp_profiler *samplers[HP_SAMPLERS_MAX];
    size_t n_samplers;                            /* some of the profilers */
    struct hp_profiler *exact, *paths, *hotspots; /* some of the profilers; NULL: not wanted */
};

/* What was made stays in `parts` on failure. */
enum hp_err hp_wanted_open(const struct hp_wanted *wanted, struct hp_code *code,
                           struct hp_functions *functions, struct hp_wanted_parts *parts);

/* The end of the run: everything goes into the profile, or into files of its own. */
enum hp_err hp_wanted_finish(const struct hp_wanted *wanted, struct hp_wanted_parts *parts,
                             const struct hp_trace_run *about, struct hp_result *result);

/* Frees all, finished or not. */
void hp_wanted_close(struct hp_wanted_parts *parts);

#endif
