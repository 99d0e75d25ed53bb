// SPDX-License-Identifier: MIT
/*
 * A reader goes from frame to frame. Most frames make one item. Damage, missing frames and threads
 * whose start was lost make more, so items go through a short queue.
 *
 * How damage is handled:
 *
 *  - a frame with a good header and a bad payload: its header says what is lost and where to
 *    continue;
 *  - a bad header: the next good one is searched for;
 *  - frames are numbered, so a missing or repeated frame is noticed;
 *  - words are numbered, so each thread learns how many of its words are missing where;
 *  - the addresses of a words frame are in the next frame, and are read with it: if they cannot be,
 *    the thread is told before it gets the words.
 *
 * The reader only moves forward, so any file is read in time proportional to its size.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "hotpath/trace.h"
#include "stream/trace_about.h"
#include "stream/trace_ahead.h"
#include "stream/trace_code.h"
#include "stream/trace_format.h"
#include "stream/trace_input.h"
#include "stream/trace_operands.h"
#include "stream/word_codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX    5 /* of one frame: thread, loss, loss of addresses, words, addresses */
#define AHEAD_FRAMES 8 /* frames examined for the next words */
#define NOT_COUNTED  UINT64_MAX

struct thread {
    struct hp_thread info;
    uint64_t next; /* number of the next word; NOT_COUNTED after a seek */
    bool ended;
    bool unaddressed; /* its words no longer have addresses */
};

struct hp_trace_reader {
    struct hp_trace_input input;
    struct hp_trace_about about;
    struct hp_word_codec *codec;
    struct hp_trace_ahead *ahead;
    uint32_t *words;
    size_t cap_words;

    bool want_addresses;
    struct hp_trace_addresses addresses;
    uint64_t bad_addresses; /* offset of a frame of them that could not be read */
    char bad_text[300];     /* why */

    uint64_t offset; /* of the next frame */
    uint32_t number; /* of the next frame */
    bool resync;     /* the next frame was searched for: frames before it are missing */
    bool skipped;    /* some frame could not be read */
    bool ended;
    uint64_t loaded; /* code and strings before this offset have been loaded */

    struct thread *threads;
    size_t n_threads, cap_threads;
    struct hp_map64 thread_index;

    struct hp_trace_item items[ITEMS_MAX];
    unsigned n_items, at_item;
    uint32_t lost[3]; /* the words of a loss */
    uint32_t lost_addresses[3];
};

/* --- Opening and closing ---------------------------------------------------------------------- */

static enum hp_err open_header(struct hp_trace_reader *reader, const char *path)
{
    uint8_t header[HP_TRACE_HEADER_MAX];
    size_t size = reader->input.size < sizeof header ? (size_t)reader->input.size : sizeof header;
    HP_TRY(hp_trace_input_read(&reader->input, 0, header, size));
    struct hp_trace_info *info = &reader->about.info;
    struct hp_trace_head head;
    HP_TRY(hp_trace_unpack_header(path, header, size, &head));
    info->version = head.version;
    info->run.arch = head.arch;
    info->run.addresses = head.addresses;
    info->file_size = reader->input.size;
    reader->offset = head.length;
    return HP_OK;
}

/* Reads the run in advance, so that it is known from the start. If it is damaged, that is reported
 * when reading gets there. */
static enum hp_err open_run(struct hp_trace_reader *reader)
{
    struct hp_trace_frame frame;
    enum hp_err err = hp_trace_input_frame(&reader->input, reader->offset, &frame);
    if (err == HP_OK && frame.kind == HP_TRACE_FRAME_RUN)
        err = hp_trace_input_load(&reader->input, reader->offset, &frame, HP_TRACE_CONTENT_MAX);
    if (err == HP_OK && frame.kind == HP_TRACE_FRAME_RUN)
        err = hp_trace_about_run(&reader->about, reader->input.content, frame.content);
    return err == HP_ERR_FORMAT ? HP_OK : err;
}

static enum hp_err open_all(struct hp_trace_reader *reader, const char *path)
{
    HP_TRY(hp_trace_input_open(&reader->input, path));
    HP_TRY(hp_trace_about_init(&reader->about));
    HP_TRY(hp_word_codec_new(&reader->codec));
    HP_TRY(hp_trace_ahead_new(path, &reader->ahead));
    HP_TRY(open_header(reader, path));
    HP_TRY(open_run(reader));
    return hp_trace_about_index(&reader->about, &reader->input);
}

enum hp_err hp_trace_reader_open(const char *path, struct hp_trace_reader **result)
{
    *result = NULL;
    struct hp_trace_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return hp_fail_nomem();
    enum hp_err err = open_all(reader, path);
    if (err != HP_OK) {
        hp_trace_reader_close(reader);
        return err;
    }
    *result = reader;
    return HP_OK;
}

void hp_trace_reader_close(struct hp_trace_reader *reader)
{
    if (!reader)
        return;
    hp_trace_input_close(&reader->input);
    hp_trace_about_fini(&reader->about);
    hp_word_codec_free(reader->codec);
    hp_trace_ahead_free(reader->ahead);
    free(reader->words);
    hp_trace_addresses_fini(&reader->addresses);
    free(reader->threads);
    hp_map64_fini(&reader->thread_index);
    free(reader);
}

const struct hp_trace_info *hp_trace_reader_info(const struct hp_trace_reader *reader)
{
    return &reader->about.info;
}

void hp_trace_reader_want_addresses(struct hp_trace_reader *reader)
{
    reader->want_addresses = reader->about.info.run.addresses;
}

const char *hp_trace_reader_string(const struct hp_trace_reader *reader, uint32_t id)
{
    uint32_t index = hp_map64_get(&reader->about.string_index, id);
    return index == HP_MAP64_NONE ? NULL : reader->about.strings[index];
}

/* --- Threads and items ------------------------------------------------------------------------ */

static struct hp_trace_item *queue(struct hp_trace_reader *reader, enum hp_trace_item_kind kind,
                                   const struct hp_thread *thread)
{
    struct hp_trace_item *item = &reader->items[reader->n_items++];
    *item = (struct hp_trace_item){.kind = kind, .thread = *thread};
    return item;
}

static struct thread *find_thread(struct hp_trace_reader *reader, uint32_t id)
{
    uint32_t index = hp_map64_get(&reader->thread_index, id);
    return index == HP_MAP64_NONE ? NULL : &reader->threads[index];
}

static enum hp_err add_thread(struct hp_trace_reader *reader, const struct hp_thread *info,
                              struct thread **thread)
{
    HP_TRY(hp_grow(&reader->threads, &reader->cap_threads, reader->n_threads + 1,
                   sizeof *reader->threads));
    HP_TRY(hp_map64_put(&reader->thread_index, info->id, (uint32_t)reader->n_threads));
    *thread = &reader->threads[reader->n_threads++];
    **thread = (struct thread){.info = *info};
    return HP_OK;
}

/* The thread of a frame; one whose start was lost is announced now, with what is known about it. */
static enum hp_err need_thread(struct hp_trace_reader *reader, uint32_t id, struct thread **thread)
{
    *thread = find_thread(reader, id);
    if (*thread)
        return HP_OK;
    HP_TRY(add_thread(reader, &(struct hp_thread){.id = id}, thread));
    queue(reader, HP_TRACE_THREAD, &(*thread)->info);
    return HP_OK;
}

/* Reports a thread's missing words up to number `until`, if there are any. */
static void report_loss(struct hp_trace_reader *reader, struct thread *thread, uint64_t until)
{
    if (thread->next != NOT_COUNTED && until > thread->next) {
        uint64_t n = until - thread->next;
        reader->lost[0] = hp_word_event(HP_WORD_LOST, HP_LOST_RECORD);
        reader->lost[1] = (uint32_t)n;
        reader->lost[2] = (uint32_t)(n >> 32);
        struct hp_trace_item *item = queue(reader, HP_TRACE_WORDS, &thread->info);
        item->words = reader->lost;
        item->n_words = 3;
    }
    thread->next = until;
}

/* --- Frames ----------------------------------------------------------------------------------- */

/* An error in the current frame, with the reason of the last failure. */
static enum hp_err damaged(const struct hp_trace_reader *reader)
{
    char why[300];
    snprintf(why, sizeof why, "%s", hp_error_text());
    return hp_fail(HP_ERR_FORMAT, "%s: trace is damaged at byte %" PRIu64 ": %s",
                   reader->input.path, reader->offset, why);
}

static enum hp_err take_thread(struct hp_trace_reader *reader, const struct hp_trace_frame *frame)
{
    HP_TRY(hp_trace_input_load(&reader->input, reader->offset, frame, HP_TRACE_CONTENT_MAX));
    struct hp_bytes_in in = {reader->input.content, reader->input.content + frame->content, false};
    struct hp_thread info = {.id = frame->thread};
    info.pid = (int32_t)hp_in_uint(&in, 4);
    info.tid = (int32_t)hp_in_uint(&in, 4);
    info.parent = (int32_t)hp_in_uint(&in, 4);
    const char *wrong = NULL;
    if (in.bad)
        wrong = "the record of a thread is cut off";
    else if (find_thread(reader, info.id))
        wrong = "a thread starts twice";
    if (wrong) {
        hp_fail(HP_ERR_FORMAT, "%s", wrong);
        return damaged(reader);
    }
    struct thread *thread;
    HP_TRY(add_thread(reader, &info, &thread));
    queue(reader, HP_TRACE_THREAD, &info);
    return HP_OK;
}

static enum hp_err decode_words(struct hp_trace_reader *reader, const struct hp_trace_frame *frame)
{
    if (frame->count > HP_WORD_CODEC_MAX) {
        hp_fail(HP_ERR_FORMAT, "%" PRIu32 " words are too many", frame->count);
        return damaged(reader);
    }
    if (hp_trace_ahead_take(reader->ahead, reader->offset, &reader->words, &reader->cap_words))
        return HP_OK;
    HP_TRY(hp_trace_input_load(&reader->input, reader->offset, frame,
                               hp_word_code_bound(frame->count)));
    HP_TRY(hp_grow(&reader->words, &reader->cap_words, frame->count + HP_WORD_CODEC_SLACK,
                   sizeof *reader->words));
    enum hp_err err = hp_word_decode(reader->codec, reader->input.content, frame->content,
                                     reader->words, frame->count);
    return err == HP_ERR_FORMAT ? damaged(reader) : err;
}

/* Starts reading the next words frame after the current one while the current words are used. */
static void read_ahead(struct hp_trace_reader *reader, const struct hp_trace_frame *present)
{
    struct hp_trace_frame frame = *present;
    uint64_t offset = reader->offset;
    for (int i = 0; i < AHEAD_FRAMES; i++) {
        offset = hp_trace_input_behind(offset, &frame);
        if (hp_trace_input_frame(&reader->input, offset, &frame) != HP_OK ||
            hp_trace_input_cut_off(&reader->input, offset, &frame))
            return;
        if (frame.kind == HP_TRACE_FRAME_WORDS) {
            hp_trace_ahead_ask(reader->ahead, offset, &frame);
            return;
        }
    }
}

/* Whether the frame's words can be the thread's next ones. */
static enum hp_err check_order(const struct hp_trace_reader *reader, const struct thread *thread,
                               const struct hp_trace_frame *frame)
{
    const char *wrong = NULL;
    if (thread->ended)
        wrong = "the thread has ended before";
    else if (thread->next != NOT_COUNTED && frame->first < thread->next)
        wrong = "words come twice";
    else if (frame->first >= NOT_COUNTED - frame->count)
        wrong = "the word number is impossible";
    if (!wrong)
        return HP_OK;
    hp_fail(HP_ERR_FORMAT, "%s", wrong);
    return damaged(reader);
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* Reads the addresses of the current words frame from the next frame. HP_ERR_NOTFOUND: it has none.
 * HP_ERR_FORMAT: they are damaged, which is reported when the reader gets there. */
static enum hp_err find_addresses(struct hp_trace_reader *reader,
                                  const struct hp_trace_frame *words, struct hp_code *code,
                                  struct hp_trace_frame *frame)
{
    uint64_t offset = hp_trace_input_behind(reader->offset, words);
    enum hp_err err = hp_trace_input_frame(&reader->input, offset, frame);
    if (err == HP_ERR_FORMAT)
        return HP_ERR_NOTFOUND;
    HP_TRY(err);
    if (frame->kind != HP_TRACE_FRAME_ADDRESSES || frame->thread != words->thread ||
        frame->first != words->first)
        return HP_ERR_NOTFOUND;
    err = hp_trace_addresses_read(&reader->addresses, &reader->input, offset, frame, code,
                                  reader->words, words->count);
    if (err == HP_ERR_FORMAT) {
        reader->bad_addresses = offset;
        snprintf(reader->bad_text, sizeof reader->bad_text, "%s", hp_error_text());
    }
    return err;
}

/* Tells a thread that its words have no addresses from here on. */
static void report_no_addresses(struct hp_trace_reader *reader, struct thread *thread)
{
    reader->lost_addresses[0] = hp_word_event(HP_WORD_LOST, HP_LOST_ADDRESSES);
    struct hp_trace_item *item = queue(reader, HP_TRACE_WORDS, &thread->info);
    item->words = reader->lost_addresses;
    item->n_words = 3;
    thread->unaddressed = true;
}

/* Queues the decoded words, with their addresses if wanted. */
static enum hp_err queue_words(struct hp_trace_reader *reader, struct thread *thread,
                               const struct hp_trace_frame *frame, struct hp_code *code)
{
    struct hp_trace_frame addresses = {0};
    enum hp_err err = HP_ERR_NOTFOUND;
    bool wanted = reader->want_addresses && !thread->unaddressed;
    if (wanted)
        err = find_addresses(reader, frame, code, &addresses);
    if (err != HP_OK && err != HP_ERR_NOTFOUND && err != HP_ERR_FORMAT)
        return err;
    if (wanted && err != HP_OK)
        report_no_addresses(reader, thread);
    struct hp_trace_item *item = queue(reader, HP_TRACE_WORDS, &thread->info);
    item->words = reader->words;
    item->n_words = frame->count;
    if (err == HP_OK && addresses.count) {
        item = queue(reader, HP_TRACE_ADDRESSES, &thread->info);
        item->addresses = reader->addresses.addresses;
        item->n_addresses = addresses.count;
    }
    return HP_OK;
}

/* A frame of addresses has been read with the words before it. */
static enum hp_err take_addresses(const struct hp_trace_reader *reader)
{
    if (reader->offset != reader->bad_addresses)
        return HP_OK;
    hp_fail(HP_ERR_FORMAT, "%s", reader->bad_text);
    return damaged(reader);
}

/* --- By kind of frame ------------------------------------------------------------------------- */

static enum hp_err take_words(struct hp_trace_reader *reader, const struct hp_trace_frame *frame,
                              struct hp_code *code)
{
    struct thread *thread;
    HP_TRY(need_thread(reader, frame->thread, &thread));
    HP_TRY(check_order(reader, thread, frame));
    enum hp_err err = decode_words(reader, frame);
    if (err == HP_ERR_FORMAT) {
        /* The words missing before this frame and its own words make one loss. */
        if (thread->next == NOT_COUNTED)
            thread->next = frame->first;
        report_loss(reader, thread, frame->first + frame->count);
    }
    HP_TRY(err);
    report_loss(reader, thread, frame->first);
    if (frame->count) {
        HP_TRY(queue_words(reader, thread, frame, code));
        thread->next = frame->first + frame->count;
    }
    read_ahead(reader, frame);
    return HP_OK;
}

static enum hp_err take_end(struct hp_trace_reader *reader, const struct hp_trace_frame *frame)
{
    struct thread *thread;
    HP_TRY(need_thread(reader, frame->thread, &thread));
    HP_TRY(check_order(reader, thread, frame));
    report_loss(reader, thread, frame->first);
    HP_TRY(hp_trace_input_load(&reader->input, reader->offset, frame, HP_TRACE_CONTENT_MAX));
    struct hp_bytes_in in = {reader->input.content, reader->input.content + frame->content, false};
    uint64_t reason = hp_in_uint(&in, 1);
    if (in.bad || reason > HP_END_SIGNAL) {
        hp_fail(HP_ERR_FORMAT, "a thread ends in an unknown way");
        return damaged(reader);
    }
    thread->ended = true;
    queue(reader, HP_TRACE_THREAD_END, &thread->info)->reason = (enum hp_end_reason)reason;
    return HP_OK;
}

static enum hp_err take_code(struct hp_trace_reader *reader, const struct hp_trace_frame *frame,
                             uint64_t offset, struct hp_code *code)
{
    if (offset < reader->loaded)
        return HP_OK;
    HP_TRY(hp_trace_input_load(&reader->input, offset, frame, HP_TRACE_CONTENT_MAX));
    const uint8_t *content = reader->input.content;
    enum hp_err err = frame->kind == HP_TRACE_FRAME_CODE
                          ? hp_trace_code_load(content, frame->content, reader->about.info.version,
                                               reader->skipped, code)
                          : hp_trace_about_strings(&reader->about, content, frame->content);
    reader->loaded = offset + 1;
    return err == HP_ERR_FORMAT ? damaged(reader) : err;
}

static enum hp_err take_run(struct hp_trace_reader *reader, const struct hp_trace_frame *frame)
{
    HP_TRY(hp_trace_input_load(&reader->input, reader->offset, frame, HP_TRACE_CONTENT_MAX));
    enum hp_err err = hp_trace_about_run(&reader->about, reader->input.content, frame->content);
    return err == HP_ERR_FORMAT ? damaged(reader) : err;
}

/* The index is the last frame; it was read when the trace was opened. */
static enum hp_err take_index(struct hp_trace_reader *reader)
{
    if (reader->about.info.complete && reader->offset != reader->about.index_offset) {
        hp_fail(HP_ERR_FORMAT, "an index that is not the last frame");
        return damaged(reader);
    }
    reader->ended = true;
    return HP_OK;
}

static enum hp_err take_frame(struct hp_trace_reader *reader, const struct hp_trace_frame *frame,
                              struct hp_code *code)
{
    switch (frame->kind) {
    case HP_TRACE_FRAME_RUN: return take_run(reader, frame);
    case HP_TRACE_FRAME_STRINGS:
    case HP_TRACE_FRAME_CODE: return take_code(reader, frame, reader->offset, code);
    case HP_TRACE_FRAME_THREAD: return take_thread(reader, frame);
    case HP_TRACE_FRAME_WORDS: return take_words(reader, frame, code);
    case HP_TRACE_FRAME_ADDRESSES: return take_addresses(reader);
    case HP_TRACE_FRAME_THREAD_END: return take_end(reader, frame);
    case HP_TRACE_FRAME_INDEX: return take_index(reader);
    default: return HP_OK; /* from a later version: not needed to understand the rest */
    }
}

/* --- Continuing ------------------------------------------------------------------------------- */

static enum hp_err truncated(struct hp_trace_reader *reader)
{
    reader->ended = true;
    return hp_fail(HP_ERR_FORMAT, "%s: trace is truncated at byte %" PRIu64, reader->input.path,
                   reader->input.size);
}

/* Goes to the next frame after a damaged header. */
static enum hp_err resynchronise(struct hp_trace_reader *reader)
{
    uint64_t bad = reader->offset, found;
    HP_TRY(hp_trace_input_scan(&reader->input, bad + 1, &found));
    reader->skipped = reader->resync = true;
    reader->offset = found;
    reader->ended = found == reader->input.size;
    return hp_fail(
        HP_ERR_FORMAT, "%s: trace is damaged at byte %" PRIu64 ": no frame there; %s %" PRIu64,
        reader->input.path, bad, reader->ended ? "none up to byte" : "the next is at", found);
}

/* Compares the frame's number with the expected one. `*repeated`: it was read before. */
static enum hp_err check_number(struct hp_trace_reader *reader, const struct hp_trace_frame *frame,
                                bool *repeated)
{
    uint32_t expected = reader->number;
    *repeated = frame->number < expected;
    bool told = reader->resync;
    reader->resync = false;
    if (frame->number == expected || (frame->number > expected && told)) {
        reader->number = frame->number;
        return HP_OK;
    }
    reader->skipped = true;
    if (!*repeated)
        reader->number = frame->number;
    return hp_fail(HP_ERR_FORMAT,
                   "%s: trace is damaged at byte %" PRIu64 ": frame %" PRIu32 " where %" PRIu32
                   " should be",
                   reader->input.path, reader->offset, frame->number, expected);
}

/* Takes one frame, which may queue items. */
static enum hp_err step(struct hp_trace_reader *reader, struct hp_code *code)
{
    const struct hp_trace_input *input = &reader->input;
    if (reader->offset >= input->size || input->size - reader->offset < HP_TRACE_FRAME_HEADER)
        return truncated(reader);
    struct hp_trace_frame frame;
    enum hp_err err = hp_trace_input_frame(input, reader->offset, &frame);
    if (err == HP_ERR_FORMAT)
        return resynchronise(reader);
    HP_TRY(err);
    if (hp_trace_input_cut_off(input, reader->offset, &frame)) {
        if (frame.kind == HP_TRACE_FRAME_WORDS)
            (void)take_words(reader, &frame, code); /* fails, and reports how much is lost */
        return truncated(reader);
    }
    bool repeated;
    err = check_number(reader, &frame, &repeated);
    if (repeated)
        reader->offset = hp_trace_input_behind(reader->offset, &frame);
    HP_TRY(err);
    err = take_frame(reader, &frame, code);
    if (err != HP_OK && err != HP_ERR_FORMAT)
        return err;
    if (err == HP_ERR_FORMAT)
        reader->skipped = true;
    reader->offset = hp_trace_input_behind(reader->offset, &frame);
    reader->number++;
    return err;
}

static enum hp_err check_code(const struct hp_trace_reader *reader, const struct hp_code *code)
{
    if (hp_code_arch(code) == reader->about.info.run.arch)
        return HP_OK;
    return hp_fail(HP_ERR_INVALID, "%s: a trace of %s cannot be read as one of %s",
                   reader->input.path, hp_arch_name(reader->about.info.run.arch),
                   hp_arch_name(hp_code_arch(code)));
}

enum hp_err hp_trace_reader_next(struct hp_trace_reader *reader, struct hp_code *code,
                                 struct hp_trace_item *item)
{
    HP_TRY(check_code(reader, code));
    for (;;) {
        if (reader->at_item < reader->n_items) {
            *item = reader->items[reader->at_item++];
            return HP_OK;
        }
        reader->n_items = reader->at_item = 0;
        if (reader->ended) {
            *item = (struct hp_trace_item){.kind = HP_TRACE_END};
            return HP_OK;
        }
        HP_TRY(step(reader, code));
    }
}

/* --- Seeking ---------------------------------------------------------------------------------- */

static const struct hp_trace_entry *find_entry(const struct hp_trace_about *about, uint32_t thread,
                                               uint64_t word)
{
    for (size_t i = 0; i < about->n_entries; i++) {
        const struct hp_trace_entry *entry = &about->entries[i];
        if (entry->kind == HP_TRACE_FRAME_WORDS && entry->thread == thread &&
            word >= entry->first && word - entry->first < entry->count)
            return entry;
    }
    return NULL;
}

/* Restarts as if the reader had come to `entry` by reading, with no thread's words counted. */
static void go_to(struct hp_trace_reader *reader, const struct hp_trace_entry *entry)
{
    reader->offset = entry->offset;
    reader->number = (uint32_t)(entry - reader->about.entries);
    reader->resync = reader->ended = false;
    reader->n_items = reader->at_item = 0;
    reader->n_threads = 0;
    hp_map64_fini(&reader->thread_index);
}

/* Does what the frame of `entry` requires for reading from frame `target` on. */
static enum hp_err prepare(struct hp_trace_reader *reader, const struct hp_trace_entry *entry,
                           const struct hp_trace_entry *target, struct hp_code *code)
{
    bool is_code = entry->kind == HP_TRACE_FRAME_CODE || entry->kind == HP_TRACE_FRAME_STRINGS;
    if (!is_code && (entry->kind != HP_TRACE_FRAME_THREAD || entry > target))
        return HP_OK;
    reader->offset = entry->offset;
    struct hp_trace_frame frame;
    HP_TRY(hp_trace_input_frame(&reader->input, entry->offset, &frame));
    if (frame.kind != entry->kind) {
        hp_fail(HP_ERR_FORMAT, "the index is wrong about this frame");
        return damaged(reader);
    }
    if (is_code)
        return take_code(reader, &frame, entry->offset, code);
    enum hp_err err = take_thread(reader, &frame);
    reader->n_items = 0;
    return err;
}

enum hp_err hp_trace_reader_seek(struct hp_trace_reader *reader, struct hp_code *code,
                                 uint32_t thread, uint64_t word, uint64_t *first)
{
    HP_TRY(check_code(reader, code));
    const struct hp_trace_about *about = &reader->about;
    if (!about->info.complete)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: cannot seek in a trace without an index",
                       reader->input.path);
    const struct hp_trace_entry *target = find_entry(about, thread, word);
    if (!target)
        return hp_fail(HP_ERR_NOTFOUND, "%s: thread %" PRIu32 " has no word %" PRIu64,
                       reader->input.path, thread, word);
    go_to(reader, target);
    enum hp_err result = HP_OK;
    char text[400] = "";
    for (size_t i = 0; i < about->n_entries; i++) {
        enum hp_err err = prepare(reader, &about->entries[i], target, code);
        if (err == HP_OK || result != HP_OK)
            continue;
        result = err;
        snprintf(text, sizeof text, "%s", hp_error_text());
        reader->skipped = true;
    }
    for (size_t i = 0; i < reader->n_threads; i++)
        reader->threads[i].next = NOT_COUNTED;
    reader->offset = target->offset;
    *first = target->first;
    return result == HP_OK ? HP_OK : hp_fail(result, "%s", text);
}
