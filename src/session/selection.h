// SPDX-License-Identifier: MIT
/*
 * From the words of the settings to how a program is watched: which profilers, with which
 * parameters; which engine, and what it records.
 */
#ifndef HP_SESSION_SELECTION_H
#define HP_SESSION_SELECTION_H

#include "base/names.h"
#include "engine/arena.h"
#include "engine/program.h"
#include "engine/traces.h"
#include "hotpath/machine.h"
#include "hotpath/sample.h"
#include "hotpath/session.h"
#include "hotpath/wpp.h"
#include "profiler/hotspot/profiler.h"
#include "profiler/loop/models.h"
#include "profiler/path/paths.h"
#include "profiler/predict/predictions.h"
#include "profiler/result.h"
#include "profiler/windows.h"

#define HP_SAMPLERS_MAX 4

struct hp_selection {
    bool exact, loops, paths, predictions, hotspots; /* from the order of execution */
    bool cycles, instructions;                       /* from a machine in cycles */
    bool counts;                                     /* from counters */
    bool none;                                       /* nothing at all */
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
    const struct hp_session_settings *settings;
};

/* Reads the words. HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_selection_parse(const struct hp_session_settings *settings,
                               struct hp_selection *selection);

/* Whether it is nothing at all. */
bool hp_selection_is_empty(const struct hp_selection *selection);

/* Whether hot spots say which code becomes traces: --traces hotspots. */
bool hp_selection_steers(const struct hp_selection *selection);

/* Whether an engine may count paths, with these rules, instead of writing the stream. */
bool hp_selection_counts_paths(const struct hp_selection *selection, struct hp_path_rules *rules);

/* Whether a machine is run in cycles. */
bool hp_selection_is_in_cycles(const struct hp_selection *selection);

/* An error of a part, with the setting it came from; HP_OK stays. */
enum hp_err hp_in_setting(enum hp_err err, const char *option);

/* What was made of it. */
struct hp_profilers {
    struct hp_profiler **list; /* in the order in which they finish */
    size_t n, capacity;
    struct hp_wpp *wpp;         /* NULL: not selected */
    struct hp_machine *machine; /* likewise */
    struct hp_program *program; /* its code, where it is run in cycles */
    struct hp_profiler *samplers[HP_SAMPLERS_MAX];
    size_t n_samplers;                            /* some of the profilers */
    struct hp_profiler *exact, *paths, *hotspots; /* likewise; NULL: not selected */
    struct hp_functions *of_paths; /* functions for the paths alone; NULL: those of the session */
};

/* Makes the profilers. `counted`: the engine counts paths. What was made stays in `profilers` on
 * failure. */
enum hp_err hp_profilers_open(const struct hp_selection *selection, struct hp_code *code,
                              struct hp_functions *functions, bool counted,
                              struct hp_profilers *profilers);

/* Takes one more, also when this fails. */
enum hp_err hp_profilers_add(struct hp_profilers *profilers, struct hp_profiler *profiler);

/* The end of the run: everything goes into the profile, or into files of its own. */
enum hp_err hp_profilers_finish(struct hp_profilers *profilers,
                                const struct hp_selection *selection,
                                const struct hp_trace_run *about, struct hp_result *result);

/* Frees all, finished or not. */
void hp_profilers_close(struct hp_profilers *profilers);

enum hp_plan_engine { HP_PLAN_NATIVE, HP_PLAN_QEMU };

struct hp_plan {
    struct hp_selection selection;
    enum hp_record_mode mode;
    enum hp_plan_engine engine;
    uint64_t cache_size, lag;
    bool counts_paths;          /* HP_RECORD_PATHS, in place of the stream */
    struct hp_path_rules rules; /* of those paths */
    struct hp_traces_choice traces;
};

/* By enum hp_plan_engine and enum hp_record_mode. */
extern const struct hp_name hp_plan_engines[], hp_plan_records[];

/* Checks the words of the settings and that they fit together; all but the engine is decided then.
 * HP_ERR_INVALID: the text says what is wrong. */
enum hp_err hp_plan_settings(const struct hp_session_settings *settings, struct hp_plan *plan);

/*
 * Chooses the engine for the program: the one asked for, else native where it can run the program
 * and is installed. HP_ERR_UNSUPPORTED: what was asked for cannot run it, or cannot record what is
 * wanted.
 */
enum hp_err hp_plan_choose(const struct hp_session_settings *settings,
                           const struct hp_executable *program, struct hp_plan *plan);

#endif
