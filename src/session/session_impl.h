// SPDX-License-Identifier: MIT
/* A session, for the parts of the library that look into one. */
#ifndef HP_SESSION_IMPL_H
#define HP_SESSION_IMPL_H

#include "engine/live.h"
#include "engine/program.h"
#include "hotpath/session.h"
#include "hotpath/trace.h"
#include "profiler/pipeline.h"
#include "session/recorded.h"
#include "session/selection.h"
#include "symbols/functions.h"

/* What is known of a run apart from its stream, and what it points to. Not to be moved. */
struct hp_run_about {
    struct hp_trace_run run;
    char directory[4096];
    char machine[256];
};

/* The hot spots that steer the engine (steer.c), in the order of their detection. */
struct hp_steering {
    struct hp_steered *spots;
    size_t n, capacity;
};

/* What a thread is called. */
struct hp_named {
    uint32_t thread;
    int32_t parent;
    int32_t pid;          /* as its process knows it; 0: not told */
    char *name, *command; /* NULL: not told yet */
    uint64_t ns;          /* that it lived; 0: not told */
};
struct hp_names {
    struct hp_named *all; /* in the order of their beginning */
    size_t n, capacity;
};

/* The consumer stands between the engine and the pipeline: it copies the words into the trace. */
struct hp_session {
    struct hp_consumer consumer; /* first */
    const struct hp_session_settings *settings;
    struct hp_plan plan;
    struct hp_code *code;
    struct hp_functions *functions;
    struct hp_profilers profilers;
    struct hp_pipeline *pipeline;   /* NULL: nobody wants the words */
    struct hp_consumer *next;       /* that of the pipeline, or NULL */
    struct hp_trace_writer *writer; /* NULL: no trace is written */
    struct hp_trace_reader *reader; /* NULL: not a replay */
    struct hp_recorded *recorded;   /* NULL: not somebody else's */
    struct hp_live *live;           /* NULL: a replay */
    struct hp_live_stats live_stats;
    struct hp_steering steering;
    struct hp_names names;
    struct hp_generated *generated; /* NULL: no names were looked for */
    struct hp_run_about about;      /* of a program */
    const struct hp_trace_run *run; /* the same, or that of the trace */
    const char *trace_path;         /* of the trace to write; NULL: the profilers are wanted */
    uint64_t damaged;               /* parts of the trace that is read */
    bool addressed;                 /* the stream comes with addresses */
    bool started, over, stopped;    /* the program */
    bool ended;                     /* observation, because the settings' ended() said so */
    int signals;                    /* caught while it ran */
    pid_t pid;
    enum hp_err trace_failure;
    char trace_error[256];
};

struct hp_functions *hp_session_functions(struct hp_session *session);

/* What a run calls things. The program's arguments, ended by NULL; NULL: not known. */
char *const *hp_session_command(const struct hp_session *session);
/* What an HP_EVENT_EXEC refers to; NULL: not known. */
const char *hp_session_text(const struct hp_session *session, uint32_t id);
/* The name of a thread, known when it has ended; NULL: not known. */
const char *hp_names_find(const struct hp_names *names, uint32_t thread);

/* Before the run: what hot spots find becomes traces. Afterwards: what became of it. */
enum hp_err hp_steer(struct hp_session *session);
enum hp_err hp_steered_events(struct hp_session *session, struct hp_profile *profile);
void hp_steering_free(struct hp_steering *steering);

/* A thread begins; it tells its names; and those of threads in the profile are added to that. */
enum hp_err hp_names_begin(struct hp_names *names, const struct hp_thread *thread);
enum hp_err hp_names_take(struct hp_names *names, uint32_t thread,
                          const struct hp_thread_names *is);
enum hp_err hp_names_add(const struct hp_names *names, const struct hp_result *result,
                         struct hp_profile *profile);
void hp_names_free(struct hp_names *names);

/* After a run: generated code gets the names that its processes have written, if any. */
enum hp_err hp_name_generated(struct hp_session *session, struct hp_profile *profile);

struct hp_standard {
    int saved[3]; /* -1: untouched */
};

#define HP_STANDARD_UNTOUCHED ((struct hp_standard){.saved = {-1, -1, -1}})

/* NULL: stays as it is. `standard` is untouched; it is to be restored, also when this fails. */
enum hp_err hp_standard_redirect(const char *input, const char *output,
                                 struct hp_standard *standard);
void hp_standard_restore(struct hp_standard *standard);

/* Puts a descriptor in the place of a standard one. */
bool hp_standard_replace(struct hp_standard *standard, int fd, int by);

/* They are for the program, which decides what happens. One from the terminal reaches it by itself;
 * one that is sent to hotpath is passed on. From before the program starts; caught, not ignored: it
 * inherits what is ignored. */
void hp_signals_catch(void);

/* The program's process is known: what was sent since hp_signals_catch() goes there too. */
void hp_signals_pass_to(pid_t pid);

/* How many were caught so far. */
int hp_signals_caught(void);

/* Everything as it was before hp_signals_catch(). */
void hp_signals_restore(void);

#endif
