// SPDX-License-Identifier: MIT
/*
 * A session: one run of a program under an engine, or one replay of a trace, into a profile and/or
 * a trace.
 */
#ifndef HP_CLI_SESSION_H
#define HP_CLI_SESSION_H

#include "cli/options.h"
#include "cli/wanted.h"
#include "hotpath/profile.h"
#include "profiler/pipeline.h"

#include <sys/types.h>

/* A run that goes on. */
struct hp_ongoing {
    pid_t pid;
    const char *engine;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_pipeline *pipeline;
    const struct hp_wanted *wanted;
    const struct hp_wanted_parts *parts;
    bool over; /* nothing more will be observed; the program may go on */
};

/*
 * Somebody who looks at a live run. look() is called between batches, when every profiler has got all of them and nobody else is at
 * work: every few hundred microseconds, or every 20 ms while nothing arrives; and a last time when the program has ended. It
 * returns at once when there is nothing to do: once its buffers are full, the program waits.
 */
struct hp_onlooker {
    void (*look)(struct hp_onlooker *onlooker, const struct hp_ongoing *run);
};

struct hp_session_options {
    const char *engine; /* "native", "qemu"; NULL: the one that fits */
    const char *record; /* "none", "count", "stream", "memory"; NULL: what `wanted` needs */
    struct hp_wanted_options wanted;
    bool addresses;      /* the trace gets those of data */
    bool randomize;      /* address space layout, as without us */
    uint64_t cache_size; /* bytes of translated code a process may keep */
    const char *sysroot; /* NULL: found */
    const char *from;
    uint64_t after, length;
    enum hp_line_detail lines; /* which source lines the profile needs */
    bool follow;
    bool quiet;                   /* no progress */
    struct hp_onlooker *onlooker; /* NULL: nobody; it is not asked about a replay */
    char *const *environment;     /* for the program, padded (engine/environment.h); NULL: ours */
};

#define HP_SESSION_DEFAULTS                                                                        \
    {                                                                                              \
        .follow = true, .cache_size = UINT64_C(256) << 20                                          \
    }

/* The rows for these in a command's option table: how to watch, and which region. */
#define HP_SESSION_WATCH_ROWS(o)                                                                   \
    {"engine",    'e',    HP_OPT_TEXT,                                                             \
     &(o).engine, "NAME", "how to watch the program: native (default where\nit can) or qemu"},     \
        {"no-follow", 0, HP_OPT_NOT, &(o).follow, NULL, "do not observe children"},                \
        {"cache-size", 0,                                                                          \
         HP_OPT_SIZE,  &(o).cache_size,                                                            \
         "SIZE",       "translated code that the native engine keeps, a\nprocess (default 256M)"}, \
        {"aslr",         0,    HP_OPT_FLAG,                                                        \
         &(o).randomize, NULL, "let addresses differ from run to run (native engine)"},            \
        {"sysroot",    0,     HP_OPT_TEXT,                                                         \
         &(o).sysroot, "DIR", "where a foreign program's libraries are\n(default: /usr/TRIPLE)"},  \
    {                                                                                              \
        "quiet", 'q', HP_OPT_FLAG, &(o).quiet, NULL, "no progress, no closing line"                \
    }

#define HP_SESSION_PROFILE_ROWS(o)                                                                 \
    HP_WANTED_ROWS((o).wanted),                                                                    \
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

/*
 * Runs the program to its end. With `trace_path` the stream is recorded there; with `profile` what
 * the options ask for is put there, normal. `*status` is the program's exit status
 * as a shell gives it; it is set whenever the program ran, also when something of ours failed.
 * HP_ERR_UNOBSERVED: it ran natively, because the engine could not be had; `profile` is empty.
 * HP_ERR_NOTFOUND and HP_ERR_UNSUPPORTED with `*status` 127 and 126: the program could not be run.
 */
enum hp_err hp_session_run(const struct hp_session_options *options, char *const *argv,
                           const char *trace_path, struct hp_profile *profile, int *status);

/* Replays a trace into `profile`. With `salvage` damaged parts are skipped and noted, else they are
 * an error. */
enum hp_err hp_session_replay(const struct hp_session_options *options, const char *trace_path,
                              bool salvage, struct hp_profile *profile);

#endif
