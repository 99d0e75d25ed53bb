// SPDX-License-Identifier: MIT
/*
 * Trace files: a recorded stream. Format: docs/trace-format.md.
 *
 * A trace holds the run (command, engine, ...), strings, modules, segments, threads and every
 * thread's words, in frames that are compressed and checksummed one by one, with an index at the
 * end so that a reader can seek. A trace whose writer died has no index; its whole frames can still
 * be read.
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
 * `code` is the code map of the run: segments and modules are taken from it as words first name
 * them. With `addresses` it is asked for operands, too, so nobody else may use it during a call. */
HP_MUST_CHECK enum hp_err hp_trace_writer_new(const char *path, const struct hp_trace_run *run,
                                              struct hp_code *code,
                                              struct hp_trace_writer **writer);

/* After a failed write (HP_ERR_IO and the like) every further call fails alike; finish or abort
 * then removes the file. HP_ERR_INVALID, for a thread that was announced twice, never or has ended,
 * changes nothing. */

/* Announces a thread; before its first words. */
HP_MUST_CHECK enum hp_err hp_trace_writer_thread(struct hp_trace_writer *writer,
                                                 const struct hp_thread *thread);

/* Names a string that HP_WORD_EXEC words refer to. */
HP_MUST_CHECK enum hp_err hp_trace_writer_string(struct hp_trace_writer *writer, uint32_t id,
                                                 const char *text);

/* Appends words of a thread. Every segment they name should be in the code map by now; one that is
 * not is written as a word all the same (the reader's cursor will report the loss). */
HP_MUST_CHECK enum hp_err hp_trace_writer_words(struct hp_trace_writer *writer, uint32_t thread,
                                                const uint32_t *words, size_t n);

/* Appends addresses of a thread, which may come before or after the words they belong to. Those
 * that no word asks for by the end of the thread are left out; words that have none are written
 * without, and so are all that come after them. */
HP_MUST_CHECK enum hp_err hp_trace_writer_addresses(struct hp_trace_writer *writer, uint32_t thread,
                                                    const uint64_t *addresses, size_t n);

/* Says how a thread ended (it is stored so that a replay ends alike). */
HP_MUST_CHECK enum hp_err hp_trace_writer_end(struct hp_trace_writer *writer, uint32_t thread,
                                              enum hp_end_reason reason);

/* Writes what is pending and the index, and moves the file into place. `seconds` and `exit_status`
 * of the run are stored with the index. Frees the writer, whatever happens. */
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

/* Has the addresses read, too, where the trace has them (run.addresses): before the first item.
 * Otherwise they are passed over. */
void hp_trace_reader_want_addresses(struct hp_trace_reader *reader);

/* Counts of frames, words, addresses, threads, segments and modules, the run time and the exit
 * status are 0 when the trace is not complete. */
const struct hp_trace_info *hp_trace_reader_info(const struct hp_trace_reader *reader);

/* What hp_trace_reader_next() found. */
enum hp_trace_item_kind {
    HP_TRACE_END,        /* nothing more */
    HP_TRACE_THREAD,     /* a thread begins: `thread`; its pid and the like are 0 when lost */
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

/* Reads on. Modules and segments met on the way are added to `code`, which was made by the caller
 * with the trace's architecture and must be the same in every call. HP_ERR_FORMAT on damage: the
 * text says where; a further call goes on behind the damaged frame, after the item for which words
 * are lost: an HP_TRACE_WORDS item whose only word is HP_WORD_LOST with its payload. Where
 * addresses are wanted and those of some words are lost, such an item with HP_LOST_ADDRESSES comes
 * before them: from there on the thread has none. */
HP_MUST_CHECK enum hp_err hp_trace_reader_next(struct hp_trace_reader *reader, struct hp_code *code,
                                               struct hp_trace_item *item);

/* Goes to the frame that holds word number `word` of thread `thread` (counted from 0): the
 * following items are from that frame on; `*first` is the number of that frame's first word. All
 * code of the trace is added to `code`. HP_ERR_UNSUPPORTED: the trace is not complete.
 * HP_ERR_NOTFOUND: the thread has no such word. HP_ERR_FORMAT: some code or thread record is
 * damaged; the place was gone to all the same. No threads are announced again but those that start
 * later. */
HP_MUST_CHECK enum hp_err hp_trace_reader_seek(struct hp_trace_reader *reader, struct hp_code *code,
                                               uint32_t thread, uint64_t word, uint64_t *first);

/* The text of a string id; NULL when there is none. */
const char *hp_trace_reader_string(const struct hp_trace_reader *reader, uint32_t id);

#ifdef __cplusplus
}
#endif
#endif
