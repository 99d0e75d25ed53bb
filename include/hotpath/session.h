// SPDX-License-Identifier: MIT
/*
 * Sessions: run a program under an engine, or replay a trace, and get a profile.
 *
 *     struct hp_session_settings settings = {.profile = "exact,paths"};
 *     struct hp_profile *profile;
 *     int status;
 *     hp_session_run(&settings, argv, &profile, &status);
 *
 * A program runs with the caller's environment, directory and standard descriptors, unless the
 * settings say otherwise. Several sessions may run at the same time in different threads, except
 * those with `pass_signals`, `input` or `output`, which change state that all threads share.
 */
#ifndef HOTPATH_SESSION_H
#define HOTPATH_SESSION_H

#include "hotpath/code.h"
#include "hotpath/pipe.h"
#include "hotpath/profile.h"
#include "hotpath/profiler.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HP_TEXTS_MAX 16

struct hp_texts {
    const char *items[HP_TEXTS_MAX];
    size_t n;
};

/* `*status` when the program has none: hotpath failed, the program cannot be run, there is no such
 * program. */
enum { HP_STATUS_FAILED = 125, HP_STATUS_CANNOT_RUN = 126, HP_STATUS_NOT_FOUND = 127 };

/* `*status` of a program that still runs: see hp_session_settings.ended. */
#define HP_STATUS_RUNS (-1)

struct hp_session;

/*
 * All zero: the defaults. Texts are those of the options of the same names of `hotpath run`; they
 * must stay valid for the call.
 */
struct hp_session_settings {
    /* --- Which profilers, and their settings --- */
    const char *profile; /* names of hp_session_profilers(), joined by commas; NULL: what the rest
                            of the settings asks for, else "exact" */
    const char *paths;   /* which paths; NULL: "bl" */
    const char *metric;  /* what is counted along paths; NULL: executions */
    struct hp_texts tables;      /* hot path tables to model */
    uint64_t window;             /* instructions after which the tables are compared; 0: never */
    uint64_t max_paths;          /* distinct paths of a thread; 0: 33 M */
    uint64_t contexts;           /* calling contexts to keep; 0: as many as suit the memory */
    const char *wpp;             /* file to write the whole program path to */
    uint64_t wpp_memory;         /* bytes for its grammar; 0: 256 M */
    struct hp_texts schemes;     /* prediction schemes */
    struct hp_texts loop_models; /* loop profilers in hardware */
    const char *hotspots;        /* the hot spot detector; NULL: "merten" */
    const char *machine;         /* the machine to model: a name or a file */
    struct hp_texts samplers;    /* samplers of instructions, on the machine in cycles */
    const char *windows;         /* which parts are modelled in cycles */

    /* --- How the program is run --- */
    const char *engine;  /* "native", "qemu"; NULL: native where it can run the program */
    const char *record;  /* "none", "count", "stream", "memory"; NULL: what is needed */
    bool addresses;      /* record the addresses of data, too */
    bool no_follow;      /* do not observe children */
    bool wait;           /* observe children that outlive the program to their end, or until SIGINT
                            or SIGTERM (with pass_signals) */
    bool randomize;      /* let addresses differ from run to run */
    bool pass_signals;   /* catch SIGINT, SIGQUIT, SIGTERM and SIGHUP while the program runs; the
                                 latter two are passed on to it */
    bool stop;           /* end the program when its region is over */
    uint64_t cache_size; /* bytes of translated code that a process may keep; 0: 256 M */
    uint64_t lag;        /* bytes of what it recorded that a thread may be ahead of the profilers;
                                 0: 1 M. Then it waits for them */
    const char *traces;  /* how the native engine chooses traces: "net:50"; NULL: as is usual */
    const char *sysroot; /* of a foreign program; NULL: found */
    char *const *environment; /* of the program, as environ; NULL: ours. The native engine adds to
                                 it: see src/engine/environment.h */
    const char *input;        /* file for its standard input; NULL: ours */
    const char *output;       /* file for its standard output and error; NULL: ours */

    /* --- Which part of the run, and which contents of the profile --- */
    const char *from;          /* begin when this function is first entered */
    uint64_t after;            /* then skip this many instructions */
    uint64_t length;           /* then profile this many; 0: all */
    enum hp_line_detail lines; /* source lines that the profile needs */
    bool physical;             /* not all lines: without the functions that were inlined */
    bool salvage;              /* skip and note the damaged parts of a trace */

    /* --- Callbacks, all in the calling thread; NULL: none --- */
    void *context;
    /* Adds profilers of the caller's own with hp_session_add(), before the run. Where `profile` is
     * NULL, they are the only ones. */
    enum hp_err (*attach)(void *context, struct hp_session *session);
    bool timings; /* they want the timings of a machine in cycles */
    /* Called between batches, when every profiler has received all of them: every few hundred
     * microseconds, or every 20 ms while nothing arrives, and once more at the end. While it runs,
     * the engine's buffers fill; when they are full, the program waits. */
    void (*tick)(void *context, struct hp_session *session);
    /* Asked as often, and more: true ends the observation of a program. It goes on unobserved:
     * hp_session_run() returns what was observed, with the status HP_STATUS_RUNS, and
     * hp_session_wait() waits for it. */
    bool (*ended)(void *context, struct hp_session *session);
    /* Called after the run, before the profilers are freed. */
    enum hp_err (*collect)(void *context, struct hp_session *session);
    /* Reports that the profile was inconsistent and has been repaired. */
    void (*warn)(void *context, const char *text);
};

/*
 * Runs the program argv[0] to its end. `*profile` receives the normalized results; free it with
 * hp_profile_free(). `profile` NULL: no profile is made. `*status` is the program's exit status as
 * a shell gives it; it is set whenever the program ran, also when this fails.
 * HP_ERR_INVALID: the settings are wrong; the program did not run.
 * HP_ERR_UNOBSERVED: no engine was available; the program ran natively.
 * HP_ERR_NOTFOUND, HP_ERR_UNSUPPORTED with the status 127 or 126: the program could not be run.
 * On failure `*profile` is NULL.
 */
HP_MUST_CHECK enum hp_err hp_session_run(const struct hp_session_settings *settings,
                                         char *const *argv, struct hp_profile **profile,
                                         int *status);

/*
 * Waits for the end of the program of the last session, which had the status HP_STATUS_RUNS, in the
 * thread that ran it; returns its status. `tick`, if not NULL, is called every 20 ms. Signals are
 * passed on as before.
 */
int hp_session_wait(void (*tick)(void *context), void *context);

/* The same, but records the execution in a trace. No profilers are made. */
HP_MUST_CHECK enum hp_err hp_session_record(const struct hp_session_settings *settings,
                                            char *const *argv, const char *trace_path, int *status);

/* Replays a trace into a profile, unless `profile` is NULL. Ignores the settings of how the program
 * is run. */
HP_MUST_CHECK enum hp_err hp_session_replay(const struct hp_session_settings *settings,
                                            const char *trace_path, struct hp_profile **profile);

/* --- The profilers ---------------------------------------------------------------------------- */

struct hp_session_profiler {
    const char *name;
    const char *help;  /* one line: what it finds */
    const char *cost;  /* of a run, relative to one without hotpath: docs/benchmarks.md */
    const char *needs; /* "order" of execution, a "machine" model; "": nothing */
};

/* Ended by a NULL name. */
const struct hp_session_profiler *hp_session_profilers(void);

/* --- For callbacks ---------------------------------------------------------------------------- */

struct hp_session_info {
    pid_t pid;             /* 0: a replay */
    const char *engine;    /* "native", "qemu"; of a replay that of the trace */
    uint64_t instructions; /* executed so far */
    uint64_t lost;         /* gaps in what was recorded */
    double waited;         /* seconds in which its threads waited for the profilers so far */
    bool over;             /* nothing more will be observed; the program may continue */
    bool stopped;          /* the program was ended: see settings.stop */
    int status;            /* after the run */
    double seconds;        /* likewise */
};

/* Sums over the threads: too slow for every tick(). */
struct hp_session_info hp_session_info(struct hp_session *session);

/* Its `over`, quickly. */
bool hp_session_is_over(const struct hp_session *session);

/* The code map, which grows during the run. */
struct hp_code *hp_session_code(struct hp_session *session);

/* The program of the machine in cycles; NULL without one. */
struct hp_program *hp_session_program(struct hp_session *session);

/* In attach(). The session takes ownership of the profiler, even on failure. */
HP_MUST_CHECK enum hp_err hp_session_add(struct hp_session *session, struct hp_profiler *profiler);

/* In collect(), at most once: the profile. hp_session_run() must have been called without one. */
HP_MUST_CHECK enum hp_err hp_session_profile(struct hp_session *session,
                                             struct hp_profile **profile);

#ifdef __cplusplus
}
#endif
#endif
