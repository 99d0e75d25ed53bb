// SPDX-License-Identifier: MIT
/*
 * Formats that are made of everything a thread executes, block by block, as it comes: traces and
 * vectors for simulators. A profiler on the batches gives the blocks to the writer of a format.
 */
#ifndef HP_EXPORT_STREAM_H
#define HP_EXPORT_STREAM_H

#include "hotpath/profiler.h"
#include "symbols/functions.h"

#include <stdio.h>

struct hp_export_written;

#define HP_STREAM_ALL                                                                              \
    HP_NO_ID /* in place of a thread: all of them, in the order in which they are read */

/* A block that was executed. What is pointed to is valid during the call. */
struct hp_stream_block {
    uint32_t id;
    uint32_t insns; /* that were executed: all, but of the last one of a thread or before a loss */
    uint8_t taken;  /* how it was left; 0 where nobody knows */
    const struct hp_block *code;
    const uint64_t
        *addresses; /* one for every memory operand of these instructions; NULL: not known */
    size_t n_addresses;
};

/* Where a format writes, and what of. All is kept. */
struct hp_stream_setup {
    FILE *out;
    FILE *second; /* NULL: the format has no second file, or it is not wanted */
    struct hp_code *code;
    struct hp_functions *functions;    /* NULL: nothing is named */
    uint32_t thread;                   /* HP_STREAM_ALL */
    uint64_t interval;                 /* instructions, where the run is cut; 0: the format's own */
    struct hp_export_written *written; /* filled in at the end of the run */
};

struct hp_stream_format {
    bool addresses;     /* it needs those of data */
    bool all;           /* it can be of all threads */
    bool intervals;     /* it cuts the run */
    const char *second; /* what the second file's name has behind the first one's: ".pc"; NULL:
                           there is none */
    /* HP_ERR_INVALID, HP_ERR_UNSUPPORTED: not of this; the text says why. HP_ERR_NOMEM. */
    enum hp_err (*open)(const struct hp_stream_setup *setup, void **state);
    /* The next block. HP_ERR_NOMEM, HP_ERR_IO. */
    enum hp_err (*block)(void *state, const struct hp_stream_block *block);
    /* Writes what was held back, and says more about it in setup->written->detail. */
    enum hp_err (*close)(void *state);
    void (*free)(void *state); /* NULL is allowed */
};

/* A profiler that gives what it gets to a format. It writes while the program runs: that is what it
 * is for. A failure is told in finish(). */
enum hp_err hp_stream_profiler_new(const struct hp_stream_format *format,
                                   const struct hp_stream_setup *setup,
                                   struct hp_profiler **profiler);

#endif
