// SPDX-License-Identifier: MIT
/*
 * Trace files: a recorded stream. Format: docs/trace-format.md.
 *
 * A trace holds the run (command, engine, ...), strings, modules, segments, threads and every
 * thread's words, in frames that are compressed and checksummed separately, with an index at the
 * end so that a reader can seek. A trace whose writer died has no index; its complete frames can
 * still be read.
 */
#ifndef HOTPATH_TRACE_H
#define HOTPATH_TRACE_H

#include "hotpath/code.h"
#include "hotpath/error.h"
#include "hotpath/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hp_trace_run {
    const char *version; /* of hotpath */
    const char *engine;
    enum hp_arch arch;
    char *const *command; /* NULL-terminated */
    const char *directory;
    const char *machine;
    int64_t started;
    double seconds;  /* known at the end; 0 in hp_trace_writer_new() */
    int exit_status; /* likewise */
    bool addresses;  /* words come with the addresses of data (docs/stream.md) */
};

/* --- Writing ---------------------------------------------------------------------------------- */

struct hp_trace_writer;

/* Starts a trace. The file appears under `path` when hp_trace_writer_finish() succeeds, not before.
 * `code` is the code map of the run: segments and modules are taken from it when words first name
 * them. With `addresses`, calls also decode operands in it, so it must not be used concurrently. */
HP_MUST_CHECK enum hp_err hp_trace_writer_new(const char *path, const struct hp_trace_run *run,
                                              struct hp_code *code,
                                              struct hp_trace_writer **writer);

/* After a failed write (HP_ERR_IO and the like) every further call fails the same way; finish or
 * abort then removes the file. HP_ERR_INVALID, for a thread that was announced twice or never, or
 * that has ended, changes nothing. */

/* Announces a thread; before its first words. */
HP_MUST_CHECK enum hp_err hp_trace_writer_thread(struct hp_trace_writer *writer,
                                                 const struct hp_thread *thread);

/* Names a string that HP_WORD_EXEC words refer to. */
HP_MUST_CHECK enum hp_err hp_trace_writer_string(struct hp_trace_writer *writer, uint32_t id,
                                                 const char *text);

/* Appends words of a thread. Every segment they name should be in the code map by now. The word of
 * one that is not is written anyway (the reader's cursor will report the loss). */
HP_MUST_CHECK enum hp_err hp_trace_writer_words(struct hp_trace_writer *writer, uint32_t thread,
                                                const uint32_t *words, size_t n);

/* Appends addresses of a thread, which may come before or after the words they belong to. Addresses
 * that no word needs by the end of the thread are left out. Words whose addresses are missing are
 * written without them, and so are all later words. */
HP_MUST_CHECK enum hp_err hp_trace_writer_addresses(struct hp_trace_writer *writer, uint32_t thread,
                                                    const uint64_t *addresses, size_t n);

/* Stores how a thread ended, so that a replay ends the same way. */
HP_MUST_CHECK enum hp_err hp_trace_writer_end(struct hp_trace_writer *writer, uint32_t thread,
                                              enum hp_end_reason reason);

/* Writes what is pending and the index, and moves the file into place. `seconds` and `exit_status`
 * of the run are stored with the index. Always frees the writer. */
HP_MUST_CHECK enum hp_err hp_trace_writer_finish(struct hp_trace_writer *writer, double seconds,
                                                 int exit_status);

/* Gives up: removes the unfinished file and frees the writer. NULL is allowed. */
void hp_trace_writer_abort(struct hp_trace_writer *writer);

/* --- Reading ---------------------------------------------------------------------------------- */

struct hp_trace_info {
    struct hp_trace_run run; /* strings belong to the reader */
    uint32_t version;        /* of the format */
    bool complete;           /* the index is there */
    uint64_t file_size;
    uint64_t frames;
    uint64_t words;
    uint64_t addresses;
    uint32_t threads;
    uint32_t segments;
    uint32_t modules;
};

struct hp_trace_reader;

HP_MUST_CHECK enum hp_err hp_trace_reader_open(const char *path, struct hp_trace_reader **reader);
void hp_trace_reader_close(struct hp_trace_reader *reader);

/* Requests the addresses, too, if the trace has them (run.addresses). Call it before the first
 * item; otherwise they are skipped. */
void hp_trace_reader_want_addresses(struct hp_trace_reader *reader);

/* Counts of frames, words, addresses, threads, segments and modules, the run time and the exit
 * status are 0 when the trace is not complete. */
const struct hp_trace_info *hp_trace_reader_info(const struct hp_trace_reader *reader);

/* What hp_trace_reader_next() found. */
enum hp_trace_item_kind {
    HP_TRACE_END,        /* nothing more */
    HP_TRACE_THREAD,     /* a thread begins: `thread`; its pid etc. are 0 when lost */
    HP_TRACE_WORDS,      /* `words`, `n_words` of `thread.id` */
    HP_TRACE_THREAD_END, /* `thread.id` ended: `reason` */
    HP_TRACE_ADDRESSES, /* `addresses`, `n_addresses` of `thread.id`: those of the words in the item
                           before */
};

struct hp_trace_item {
    enum hp_trace_item_kind kind;
    struct hp_thread thread;
    const uint32_t *words; /* valid until the next call */
    size_t n_words;
    const uint64_t *addresses; /* likewise */
    size_t n_addresses;
    enum hp_end_reason reason;
};

/* Reads the next item. Adds the modules and segments it meets to `code`, which the caller made with
 * the trace's architecture and which must be the same in every call. HP_ERR_FORMAT on damage: the
 * text says where. The next call continues after the damaged frame; if words were lost, it first
 * returns an HP_TRACE_WORDS item whose only word is HP_WORD_LOST with its payload. If addresses are
 * wanted and those of some words are lost, such an item with HP_LOST_ADDRESSES precedes those
 * words: from there on the thread has no addresses. */
HP_MUST_CHECK enum hp_err hp_trace_reader_next(struct hp_trace_reader *reader, struct hp_code *code,
                                               struct hp_trace_item *item);

/* Seeks to the frame that holds word number `word` (from 0) of thread `thread`: the next items are
 * from that frame on. `*first` is the number of that frame's first word. Adds all code of the trace
 * to `code`. HP_ERR_UNSUPPORTED: the trace is not complete. HP_ERR_NOTFOUND: the thread has no such
 * word. HP_ERR_FORMAT: some code or thread record is damaged; the seek took place anyway. Only
 * threads that start later are announced again. */
HP_MUST_CHECK enum hp_err hp_trace_reader_seek(struct hp_trace_reader *reader, struct hp_code *code,
                                               uint32_t thread, uint64_t word, uint64_t *first);

/* The text of a string id; NULL when there is none. */
const char *hp_trace_reader_string(const struct hp_trace_reader *reader, uint32_t id);

#ifdef __cplusplus
}
#endif
#endif
