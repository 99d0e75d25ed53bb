// SPDX-License-Identifier: MIT
/*
 * Pipeline logs: every instruction that a core fetched, with the cycles in which it came and went,
 * in a format that a viewer reads.
 *
 * A log gets the timings of one thread (hotpath/pipe.h), numbers the instructions, finds out which
 * one another waited for, names them, and hands them to the writer of a format in the order of
 * fetch.
 */
#ifndef HP_EXPORT_LOG_H
#define HP_EXPORT_LOG_H

#include "hotpath/pipe.h"
#include "hotpath/profiler.h"
#include "symbols/functions.h"

#include <stdio.h>

#define HP_LOG_NONE UINT64_MAX

/* An instruction of a log. What is pointed to is valid during the call. */
struct hp_log_insn {
    const struct hp_timing *timing;
    const struct hp_static *code;
    uint64_t id;       /* 0, 1, ... in the order of fetch */
    uint64_t producer; /* id of the one it waited for longest to become ready; HP_LOG_NONE */
    uint32_t thread;
    const char *text;  /* disassembled */
    const char *where; /* "main+0x12, sort.c:34"; "" when that is not known */
};

/* A format: how instructions are written. Write errors are left to the file's error flag. */
struct hp_log_format {
    /* Begins a log in `file`, which it keeps. HP_ERR_NOMEM. */
    enum hp_err (*open)(FILE *file, void **state);
    /* The next instruction: none was fetched before the one before it. HP_ERR_NOMEM. */
    enum hp_err (*insn)(void *state, const struct hp_log_insn *insn);
    /* Writes what was held back. */
    enum hp_err (*close)(void *state);
    void (*free)(void *state); /* NULL is allowed */
};

struct hp_log_stats {
    uint64_t instructions, retired;
    uint64_t first, last; /* cycles: the first fetch, the last that left */
    uint64_t others;      /* instructions of other threads: not in the log */
};

struct hp_log;

/* Keeps everything; `functions` may be NULL: then nothing is said of where instructions are. A log
 * is of one thread, which has cycles of its own; what comes of others is counted and left out.
 * HP_ERR_NOMEM. */
enum hp_err hp_log_new(const struct hp_log_format *format, FILE *file, struct hp_program *program,
                       struct hp_functions *functions, uint32_t thread, struct hp_log **log);
void hp_log_free(struct hp_log *log);

/* Adds timings of a thread, in the order of fetch. HP_ERR_INVALID: they are not in order, or of
 * instructions that do not exist. */
enum hp_err hp_log_add(struct hp_log *log, uint32_t thread, const struct hp_timing *timings,
                       size_t n);

/* Ends the log: all has come. HP_ERR_IO: something could not be written. */
enum hp_err hp_log_close(struct hp_log *log);

const struct hp_log_stats *hp_log_stats(const struct hp_log *log);

/* What the events of a timing mean, in words: "L1D miss, from L2; mispredicted". At most `size`
 * bytes, always terminated. */
void hp_log_describe(const struct hp_timing *timing, char *text, size_t size);

/* A profiler that gives what it gets to a log, which it keeps, and closes it in finish(). It writes
 * while the program runs: that is what it is for. */
enum hp_err hp_log_profiler_new(struct hp_log *log, struct hp_profiler **profiler);

#endif
