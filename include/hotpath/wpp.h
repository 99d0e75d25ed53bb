// SPDX-License-Identifier: MIT
/*
 * The whole program path: every path of a run, in order, as a grammar that generates exactly that
 * sequence (docs/wpp.md).
 *
 * Writing: each thread of the program has a sink that receives its paths (of any control register;
 * `wpp` is the intended one). A separate thread turns them into a grammar, in bounded memory, and
 * writes the file. Reading: the grammar's rules are subpaths that were executed repeatedly, across
 * loops and calls; the exact sequence can be recovered.
 */
#ifndef HOTPATH_WPP_H
#define HOTPATH_WPP_H

#include "hotpath/code.h"
#include "hotpath/path.h"
#include "hotpath/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Writing ---------------------------------------------------------------------------------- */

#define HP_WPP_BOUND_DEFAULT ((size_t)256 << 20)
#define HP_WPP_BOUND_MIN     ((size_t)256 << 10)

struct hp_wpp_stats {
    uint64_t symbols;    /* paths executed: the length of the sequences */
    uint64_t insns;      /* retired along them */
    uint64_t paths;      /* distinct ones, as in the file */
    uint64_t rules;      /* of all grammars, start rules included */
    uint64_t nodes;      /* in the bodies of the rules */
    uint64_t parts;      /* grammars */
    uint64_t cuts;       /* grammars closed because the bound was reached */
    uint64_t forgotten;  /* times the table of known paths was emptied for the same reason */
    uint64_t file_bytes; /* size of the file */
    uint64_t peak;       /* peak bytes of memory */
    uint32_t threads;
};

struct hp_wpp;

/*
 * Starts a file; it appears under `path` when hp_wpp_finish() succeeds, not before. Keeps `code`:
 * paths are located in its blocks. `bound`: bytes of memory for grammars, the table of known paths
 * and pending paths (0: the default). When grammars need more, the largest is closed and written as
 * one part, and its thread continues with an empty one: only compression across the cut is lost.
 * HP_ERR_INVALID: a bound below HP_WPP_BOUND_MIN.
 */
HP_MUST_CHECK enum hp_err hp_wpp_new(const char *path, const struct hp_code *code, size_t bound,
                                     struct hp_wpp **wpp);

/* The sink for a thread's paths; lives as long as `wpp`. All sinks are used by one thread at a time
 * (the profilers'); it waits when the grammar's thread falls behind. hp_wpp_finish() reports
 * failures in the meantime, including a failure of this function. */
HP_MUST_CHECK enum hp_err hp_wpp_thread(struct hp_wpp *wpp, const struct hp_thread *thread,
                                        struct hp_path_sink **sink);

/* Ends all sequences, writes the rest, moves the file into place; always frees `wpp`. `ppcr` (text)
 * says what the paths are; `stats` may be NULL. */
HP_MUST_CHECK enum hp_err hp_wpp_finish(struct hp_wpp *wpp, const struct hp_trace_run *about,
                                        const char *ppcr, struct hp_wpp_stats *stats);

/* Gives up: no file. NULL is allowed. */
void hp_wpp_abort(struct hp_wpp *wpp);

/* --- Reading ---------------------------------------------------------------------------------- */

struct hp_wpp_module {
    const char *path;
    const char *build_id; /* "" none */
};

struct hp_wpp_path {
    uint64_t offset;   /* of its first instruction in the module; without one, its address */
    uint64_t outcomes; /* the last branch is bit 0 */
    uint64_t targets;  /* as in struct hp_path */
    uint32_t module;   /* index; HP_NO_ID: none */
    uint32_t insns;
    uint32_t length;
    uint32_t reserved;
};

struct hp_wpp_thread {
    uint32_t id;
    int32_t pid, tid;
    uint64_t symbols; /* paths that it executed */
    uint64_t insns;
};

struct hp_wpp_about {
    const char *version, *engine, *arch, *ppcr, *machine, *directory;
    char *const *command; /* NULL-terminated */
    int64_t started;
    double seconds;
    int exit_status;
};

struct hp_wpp_reader;

/* Reads and checks all of a file. HP_ERR_FORMAT: not a whole program path, damaged, truncated, or
 * it contradicts itself. HP_ERR_VERSION: written by a later, incompatible version. */
HP_MUST_CHECK enum hp_err hp_wpp_open(const char *path, struct hp_wpp_reader **reader);
void hp_wpp_close(struct hp_wpp_reader *reader);

const struct hp_wpp_about *hp_wpp_about(const struct hp_wpp_reader *reader);
/* Of the file's contents (cuts, forgotten and peak are the writer's). */
const struct hp_wpp_stats *hp_wpp_reader_stats(const struct hp_wpp_reader *reader);
const struct hp_wpp_thread *hp_wpp_threads(const struct hp_wpp_reader *reader, size_t *n);
const struct hp_wpp_module *hp_wpp_modules(const struct hp_wpp_reader *reader, size_t *n);
const struct hp_wpp_path *hp_wpp_paths(const struct hp_wpp_reader *reader, size_t *n);

/* --- The sequence ----------------------------------------------------------------------------- */

/* Iterates over a thread's sequence (its index in hp_wpp_threads()) with a stack as deep as the
 * grammar. */
struct hp_wpp_cursor;
HP_MUST_CHECK enum hp_err hp_wpp_cursor_new(const struct hp_wpp_reader *reader, size_t thread,
                                            struct hp_wpp_cursor **cursor);
void hp_wpp_cursor_free(struct hp_wpp_cursor *cursor);

/* Up to `max` paths (indices); fewer only at the end. */
size_t hp_wpp_cursor_next(struct hp_wpp_cursor *cursor, uint32_t *paths, size_t max);

/* Skips `n` paths without visiting them one by one. */
void hp_wpp_cursor_skip(struct hp_wpp_cursor *cursor, uint64_t n);

/* --- Hot subpaths ----------------------------------------------------------------------------- */

/* A sequence of paths that was executed as a whole. */
struct hp_wpp_subpath {
    const uint32_t *paths; /* indices; belongs to the list */
    size_t n;
    uint64_t count; /* executions */
    uint64_t insns; /* of one */
};

/*
 * Cuts all sequences into subpaths of at most `max_length` paths: the largest rules that are not
 * longer, and single paths where there is none. Every executed path is in exactly one of them, so
 * their shares add up to one. Returns the `top` heaviest (0: all) by count times instructions, then
 * the shorter, then in the order of the file. Free `*list` with hp_wpp_subpaths_free().
 */
HP_MUST_CHECK enum hp_err hp_wpp_subpaths(const struct hp_wpp_reader *reader, size_t max_length,
                                          size_t top, struct hp_wpp_subpath **list, size_t *n);
void hp_wpp_subpaths_free(struct hp_wpp_subpath *list, size_t n);

#ifdef __cplusplus
}
#endif
#endif
