// SPDX-License-Identifier: MIT
/*
 * Reading a running program's stream: hotpath's side of the arena.
 */
#ifndef HP_ENGINE_LIVE_H
#define HP_ENGINE_LIVE_H

#include "engine/arena.h"
#include "engine/engine.h"
#include "engine/traces.h"
#include "hotpath/code.h"

#include <sys/types.h>

struct hp_live;

/* What the engine learns through the arena. */
struct hp_live_options {
    bool follow;                /* children are observed too */
    bool wait;                  /* also those that outlive the program, to their end */
    uint32_t mode;              /* enum hp_record_mode */
    bool calls;                 /* system calls are recorded, with their times */
    uint64_t cache_size;        /* bytes a native process may use for translated code */
    uint64_t lag;               /* bytes of words that a thread may be ahead; 0: as usual */
    struct hp_path_rules paths; /* which paths are counted, in HP_RECORD_PATHS */
    struct hp_traces_choice traces;
};

/* Creates the arena. */
enum hp_err hp_live_new(const struct hp_live_options *options, struct hp_live **live);
void hp_live_free(struct hp_live *live);

/* The arena's descriptor, for the engine's process to inherit (it is close-on-exec here). */
int hp_live_fd(const struct hp_live *live);

/*
 * The source of segments for cursors over `code`, which must be the same in every call. Valid for
 * the lifetime of `live`.
 */
struct hp_segment_source *hp_live_source(struct hp_live *live, struct hp_code *code);

/* The source of the paths that the engine counts, over the same code. Valid likewise. */
struct hp_path_source *hp_live_paths(struct hp_live *live);

/* Where the functions of a module of the code map are, for an engine that counts paths. `*ranges`
 * is valid until the next call. On failure the engine does not learn where they are. */
struct hp_range_source {
    enum hp_err (*ranges)(struct hp_range_source *source, uint32_t module,
                          const struct hp_arena_range **ranges, size_t *n);
};

/* Keeps `source`. Before the run. */
void hp_live_set_ranges(struct hp_live *live, struct hp_range_source *source);

/* The text of a string id (a path given to exec), valid until the next call; NULL: none. */
const char *hp_live_string(struct hp_live *live, uint32_t id);

/* What the engine did so far. Written by the watched processes: not to be trusted. */
void hp_live_engine_stats(const struct hp_live *live, struct hp_engine_stats *stats);

/* What happened to traces, from 0; false: no more. Its kind is valid, its amounts are below 2^63,
 * but none of it is to be trusted either. */
bool hp_live_traces_event(const struct hp_live *live, uint32_t i, struct hp_traces_event *event);

/* Wishes for a trace that begins at the address, for this hot spot. */
void hp_live_wish(struct hp_live *live, uint32_t hotspot, uint64_t address);

/* What became of the wishes for a hot spot: an event of the kind HP_TRACES_STEERED, with the traces
 * made for it. False: no process has learned of it. To be trusted no more than other events. */
bool hp_live_steered(const struct hp_live *live, uint32_t hotspot, struct hp_traces_event *event);

/* Whether the program has ended by now, and its children are waited for. */
bool hp_live_waits(struct hp_live *live);

/* The consumer is done before the program, which is left alone: hp_live_run() does not wait for its
 * end. */
void hp_live_leave(struct hp_live *live);

/* What happened outside the stream. */
struct hp_live_stats {
    bool attached;               /* the engine started */
    bool left;                   /* the program runs, see hp_live_leave(); there is no status */
    uint32_t unobserved_threads; /* no ring was free */
    uint32_t traces_events_lost; /* there was no room */
    uint64_t wishes_lost;        /* likewise */
    uint32_t natively;           /* programs that had to run natively from the start */
    char why[HP_ARENA_WHY];      /* reason for the last of them */
    int status;                  /* of the program, as waitpid gives it */
};

/*
 * Reads until the process `pid`, a child of ours started with the arena, has ended and all words of
 * its observed children are read; then reaps it. Children that outlive it are left alone from then
 * on, unless they are waited for. When the consumer fails or is done, the program continues
 * unobserved and, without hp_live_leave(), is still waited for; the consumer's failure is returned.
 * `stats` is always filled.
 */
enum hp_err hp_live_run(struct hp_live *live, pid_t pid, struct hp_consumer *consumer,
                        struct hp_live_stats *stats);

#endif
