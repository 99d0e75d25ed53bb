// SPDX-License-Identifier: MIT
/*
 * The options of commands that run a program.
 */
#ifndef HP_CLI_SESSION_OPTIONS_H
#define HP_CLI_SESSION_OPTIONS_H

#include "cli/options.h"
#include "cli/progress.h"
#include "hotpath/session.h"

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

/* The rows for these in a command's option table: how to watch, and which region. */
#define HP_SESSION_WATCH_ROWS(o)                                                                   \
    {"engine",    'e',    HP_OPT_TEXT,                                                             \
     &(o).engine, "NAME", "how to watch the program: native (default where\nit can) or qemu"},     \
        {"no-follow", 0, HP_OPT_FLAG, &(o).no_follow, NULL, "do not observe children"},            \
        {"cache-size", 0,                                                                          \
         HP_OPT_SIZE,  &(o).cache_size,                                                            \
         "SIZE",       "translated code that the native engine keeps, a\nprocess (default 256M)"}, \
        {"aslr",         0,    HP_OPT_FLAG,                                                        \
         &(o).randomize, NULL, "let addresses differ from run to run (native engine)"},            \
    {                                                                                              \
        "sysroot", 0, HP_OPT_TEXT, &(o).sysroot, "DIR",                                            \
            "where a foreign program's libraries are\n(default: /usr/TRIPLE)"                      \
    }

#define HP_SESSION_PROFILE_ROWS(o)                                                                 \
    HP_WANTED_ROWS((o)),                                                                           \
    {                                                                                              \
        "record", 0, HP_OPT_TEXT, &(o).record, "WHAT",                                             \
            "what the engine records, for measuring it: none,\ncount, stream or memory"            \
    }

#define HP_SESSION_REGION_ROWS(o)                                                                  \
    {"from", 0, HP_OPT_TEXT, &(o).from, "FUNCTION", "start when FUNCTION is first entered"},       \
        {"after", 0, HP_OPT_COUNT, &(o).after, "N", "skip N instructions (10M, 1G, ...)"},         \
    {                                                                                              \
        "for", 0, HP_OPT_COUNT, &(o).length, "N",                                                  \
            "profile N instructions; the program goes on\nunobserved"                              \
    }

#endif
