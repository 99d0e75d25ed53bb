// SPDX-License-Identifier: MIT
/*
 * Engines observe executed code. An engine delivers threads and their words to a consumer, and
 * defines the segments they name in a code map.
 */
#ifndef HP_ENGINE_ENGINE_H
#define HP_ENGINE_ENGINE_H

#include "hotpath/stream.h"

/* How often a segment ran to its end and left in one direction: 1 through its branch's target, 0 by
 * falling through. */
struct hp_count {
    uint32_t segment;
    uint32_t direction;
    uint64_t count;
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
    /* In HP_RECORD_MEMORY: the addresses accessed by the code that the words name, in order
     * (docs/stream.md). They come in batches of their own, before or after their words. May be
     * NULL. */
    enum hp_err (*addresses)(struct hp_consumer *consumer, uint32_t thread,
                             const uint64_t *addresses, size_t n);
    enum hp_err (*end)(struct hp_consumer *consumer, uint32_t thread, enum hp_end_reason reason);
    /* Called now and then, also when idle: for progress displays. May be NULL. */
    void (*tick)(struct hp_consumer *consumer);
    /* True when nothing more is wanted. May be NULL. */
    bool (*done)(struct hp_consumer *consumer);
};

#endif
