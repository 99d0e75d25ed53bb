// SPDX-License-Identifier: MIT
/*
 * Engines observe executed code. An engine delivers threads and their words to a consumer, and
 * defines the segments they name in a code map.
 */
#ifndef HP_ENGINE_ENGINE_H
#define HP_ENGINE_ENGINE_H

#include "hotpath/stream.h"

/* How often a segment ran to its end and left in one direction: 1 through its branch's target, 0 by
 * falling through. Segment 0: the address at which the thread was when it ended. From an engine
 * that counts paths: how often a path was executed; `segment` is its id, `direction` 0. */
struct hp_count {
    uint32_t segment;
    uint32_t direction;
    uint64_t count;
};

/* A prefix of a path that an engine counts: docs/counted-paths.md. */
struct hp_counted_prefix {
    uint32_t before; /* the prefix without its last block; 0: the path starts with that block */
    uint32_t block;  /* the last one; its code is in the code map */
    bool returned;   /* the block before ended with a call, which has returned */
};

/* A path that it counted. */
struct hp_counted {
    uint32_t prefix; /* all of its blocks */
    bool taken;      /* the transfer that finished it was */
};

/* What ids of prefixes and paths mean. HP_ERR_NOTFOUND, HP_ERR_FORMAT: the engine did not say, or
 * nonsense. HP_ERR_NOMEM. */
struct hp_path_source {
    enum hp_err (*prefix)(struct hp_path_source *source, uint32_t id,
                          struct hp_counted_prefix *prefix);
    enum hp_err (*path)(struct hp_path_source *source, uint32_t id, struct hp_counted *path);
};

/* What the threads of a profile are called. "": unknown. */
struct hp_thread_names {
    int32_t pid;         /* of its process, as that knows it: in its own namespace */
    const char *name;    /* of the thread */
    const char *command; /* the command line of its process, or the beginning of it */
    uint64_t ns;         /* how long it lived; 0: not known */
};

/*
 * Receives what an engine delivers; all calls come from one thread. For each program thread:
 * thread() once, words(), counts() and addresses() any number of times, end() once. After a failure
 * the engine delivers no more; the program continues.
 */
struct hp_consumer {
    enum hp_err (*thread)(struct hp_consumer *consumer, const struct hp_thread *thread);
    enum hp_err (*words)(struct hp_consumer *consumer, uint32_t thread, const uint32_t *words,
                         size_t n);
    /* Only from an engine that counts. May be NULL. */
    enum hp_err (*counts)(struct hp_consumer *consumer, uint32_t thread,
                          const struct hp_count *counts, size_t n);
    /* Likewise: what was not counted, in any thread; after the counts of a thread. May be NULL. */
    enum hp_err (*derived)(struct hp_consumer *consumer, uint32_t thread,
                           const struct hp_derived *edges, size_t n);
    /* In HP_RECORD_MEMORY: the addresses accessed by the code that the words name, in order
     * (docs/stream.md). They come in batches of their own, before or after their words. May be
     * NULL. */
    enum hp_err (*addresses)(struct hp_consumer *consumer, uint32_t thread,
                             const uint64_t *addresses, size_t n);
    /* Once, before end(). May be NULL. */
    enum hp_err (*named)(struct hp_consumer *consumer, uint32_t thread,
                         const struct hp_thread_names *names);
    enum hp_err (*end)(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason);
    /* Called now and then, also when idle: for progress displays. May be NULL. */
    void (*tick)(struct hp_consumer *consumer);
    /* Called while nothing arrives: does some of what has to be done in the end. True: there is
     * more of it. May be NULL. */
    bool (*ahead)(struct hp_consumer *consumer);
    /* True when nothing more is wanted. May be NULL. */
    bool (*done)(struct hp_consumer *consumer);
};

#endif
