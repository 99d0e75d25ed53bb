// SPDX-License-Identifier: MIT
/*
 * A trace in memory: its words as an engine delivered them, and its complete code map, so that
 * consumers of words can be timed alone and repeatedly.
 */
#ifndef HP_BENCH_RECORDING_H
#define HP_BENCH_RECORDING_H

#include "engine/engine.h"
#include "hotpath/trace.h"

/* As a live engine, which delivers a chunk of its ring at a time. */
#define RECORDING_CHUNK 32768

struct recording_part {
    uint32_t thread;
    size_t first, n;                   /* words */
    size_t first_address, n_addresses; /* those of the words */
};

struct recording {
    struct hp_code *code;
    struct hp_thread *threads;
    size_t n_threads, cap_threads;
    struct recording_part *parts; /* in order of delivery */
    size_t n_parts, cap_parts;
    uint32_t *words;
    size_t n_words, cap_words;
    uint64_t *addresses; /* NULL: the trace has none */
    size_t n_addresses, cap_addresses;
};

/* Loads the trace at `path`, at most `max_words` of it (0: all), with its addresses if it has any.
 * With a limit, the last part may have more addresses than its words need. */
enum hp_err recording_load(struct recording *recording, const char *path, size_t max_words);
void recording_fini(struct recording *recording);

/*
 * Rewrites it as an engine would deliver it that lays out runs of at most `longest` blocks: a
 * conditional branch is followed by the code it falls through to, a direct jump or call by its
 * target.
 */
enum hp_err recording_lay_out(struct recording *recording, uint32_t longest);

/* Delivers it to a consumer, including threads and their ends. Addresses, if there are any and the
 * consumer takes them, follow the words of their part. */
enum hp_err recording_play(const struct recording *recording, struct hp_consumer *consumer);

#endif
