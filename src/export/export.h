// SPDX-License-Identifier: MIT
/*
 * Exports: what hotpath found, for the tools people already use. A format is a file with its
 * struct hp_export_format and a line in formats.c. It is made of a profile, or of a run: of every
 * block that is executed, or of what became of every instruction on a machine in cycles.
 */
#ifndef HP_EXPORT_EXPORT_H
#define HP_EXPORT_EXPORT_H

#include "base/settings.h"
#include "hotpath/profile.h"
#include "hotpath/profiler.h"
#include "symbols/functions.h"
#include "text/strbuf.h"

#include <stdio.h>

/* What was written, and of how much; of a format about one file, of the executions in it. */
struct hp_export_written {
    const char *unit;         /* "instructions", "branches", ... */
    uint64_t written, total;  /* the latter in the profile, or in the run */
    uint64_t retired, cycles; /* of timings */
    char missing[256];        /* where the rest is: "in other modules", ...; "": there is none */
    char detail[256];         /* what else there is to know of it; "": nothing */
};

/* As a module: all of them at once, of formats that have `all_modules`. */
#define HP_EXPORT_ALL "all"

/* What is wanted of a format that is made of a profile. What a format has no use for it refuses. */
struct hp_export_request {
    const struct hp_profile *profile; /* normal; names in it are any bytes, of any length */
    FILE *out;
    /* The file that it is about, by path or by name; NULL: the program, HP_EXPORT_ALL: every one.
     */
    const char *module;
    const char *table;                /* counts of this hot path table; NULL: the exact ones */
    const char *metric;               /* what is counted: "instructions" (NULL), "cycles" */
    struct hp_export_written written; /* filled in */
};

/* In place of a thread: all of them, in the order in which they are read. */
#define HP_STREAM_ALL HP_NO_ID

/* What a run calls things. Functions may return NULL: not known. */
struct hp_stream_names {
    void *context;
    char *const *command; /* of the program, ended by NULL; NULL: not known */
    const char *(*text)(void *context, uint32_t id);   /* that an HP_EVENT_EXEC refers to */
    const char *(*thread)(void *context, uint32_t id); /* of a thread; known at the end */
};

/* Where a format of a run writes, and what of. The state of such a format begins with this. */
struct hp_stream_setup {
    const char *settings; /* what was said behind the format's name, with it; where it has any */
    struct hp_stream_names names;
    FILE *out;
    FILE *second; /* NULL: the format has no second file, or it is not wanted */
    struct hp_code *code;
    struct hp_program *program;        /* of timings */
    struct hp_functions *functions;    /* NULL: nothing is named */
    uint32_t thread;                   /* HP_STREAM_ALL */
    uint64_t interval;                 /* instructions, where the run is cut; 0: the format's own */
    struct hp_export_written *written; /* filled in while the run goes on */
};

/* A block that was executed. What is pointed to is valid during the call. */
struct hp_stream_block {
    uint32_t id;
    uint32_t insns; /* that were executed: all, but of the last one of a thread or before a loss */
    uint8_t taken;  /* how it was left; 0 where nobody knows */
    const struct hp_block *code;
    uint64_t next; /* address of what the thread executed next; 0: nobody knows */
    const struct hp_thread *thread;
    const uint64_t *addresses; /* one for every memory operand of these; NULL: not known */
    size_t n_addresses;
};

/* What a format is made of tells which of write(), block() and timing() it has. */
struct hp_export_format {
    const char *name;
    const char *summary;                    /* one line: what it is, and what reads it */
    const struct hp_model_family *settings; /* "NAME,key=value"; NULL: it has none */

    /* Of a profile. HP_ERR_INVALID: it has not got what the format is made of; the text says how to
     * record it. */
    enum hp_err (*write)(struct hp_export_request *request);
    bool functions;   /* it is about functions: stubs are parts of what they call, */
    bool inlined;     /* and inlined functions are functions: it does not say where code is */
    bool one_module;  /* it is about one file of the program */
    bool all_modules; /* it can be about all of them */

    /* Of a run, of what a thread did as it comes: every block, or what became of every instruction
     * on a machine in cycles. Write errors may be left to the file's error flag. */
    enum hp_err (*block)(void *state, const struct hp_stream_block *block);
    enum hp_err (*timing)(void *state, const struct hp_timing *timing);
    /* Beside blocks: a thread begins, before its first block; its events, but for HP_EVENT_TAIL,
     * which comes as a block. These may be NULL. */
    enum hp_err (*thread)(void *state, const struct hp_thread *thread);
    enum hp_err (*event)(void *state, const struct hp_thread *thread, const struct hp_event *event);
    size_t state_size; /* of the state, which is zero behind its setup at first */
    /* HP_ERR_INVALID, HP_ERR_UNSUPPORTED: not of this; the text says why. These may be NULL. */
    enum hp_err (*open)(void *state);
    /* Writes what was held back, and says more about it in setup.written->detail. */
    enum hp_err (*close)(void *state);
    void (*fini)(void *state);
    bool whole;         /* of timings: it is of a whole run, unless --for says otherwise */
    bool addresses;     /* it needs those of data */
    bool all;           /* it can be of all threads */
    bool all_usual;     /* it is, unless --thread says otherwise */
    bool intervals;     /* it cuts the run */
    const char *second; /* behind the file's name it makes that of a second one: ".pc"; or NULL */
};

/* All of them, up to NULL. */
extern const struct hp_export_format *const hp_export_formats[];

/* By its name, behind which there may be settings after a comma. HP_ERR_INVALID: there is none of
 * that name (NULL: none was given); the text lists them. */
enum hp_err hp_export_find(const char *name, const struct hp_export_format **format);

/* A profiler that gives what it gets to a format. It writes while the program runs: that is what it
 * is for. A failure is told in finish(). Errors: as the format's open(); HP_ERR_NOMEM. */
enum hp_err hp_stream_profiler_new(const struct hp_export_format *format,
                                   const struct hp_stream_setup *setup,
                                   struct hp_profiler **profiler);

/* The module a request is about, as the profile's index: the one whose path, or whose name without
 * directories, is `name`, or the only one whose name begins with it; NULL: that of the program that
 * was started. HP_ERR_INVALID: there is none, or several; the text says which there are. */
enum hp_err hp_export_module(const struct hp_profile *profile, const char *name, uint32_t *module);

/* The same for a format that can be about all: `*modules` (free() it) are those in which something
 * was executed, for HP_EXPORT_ALL. */
enum hp_err hp_export_modules(const struct hp_profile *profile, const char *name,
                              uint32_t **modules, size_t *n);

/* Whether one of `n` modules that gave this error, as its file is gone, is left out. */
static inline bool hp_export_skips(enum hp_err err, size_t n)
{
    return n > 1 && (err == HP_ERR_IO || err == HP_ERR_NOTFOUND || err == HP_ERR_FORMAT);
}

/* What a format about one file leaves out of a run: "jq has <0.1% of the run, libjq.so.1 has 89.9%:
 * --module libjq.so.1". Nothing when it is all of it, or not known. `*heavier`: another file has
 * more. */
enum hp_err hp_export_left_out(const struct hp_export_format *format,
                               const struct hp_export_request *request, struct hp_strbuf *text,
                               bool *heavier);

#endif
