// SPDX-License-Identifier: MIT
/*
 * Invariants:
 *
 *  1. A words frame starts at a word that is not the payload of an event, so a frame can be read
 *     without the previous one.
 *  2. Strings, modules and segments are in the file before the first words frame that names them.
 *  3. With addresses, a words frame has only words whose addresses are known, and the next frame
 *     has these. Words that will never have addresses are written without, and so is the rest of
 *     their thread.
 *  4. After a failed write every call fails in the same way, and finish removes the file.
 */
#include "base/grow.h"
#include "base/map64.h"
#include "hotpath/trace.h"
#include "stream/address_codec.h"
#include "stream/trace_code.h"
#include "stream/trace_format.h"
#include "stream/trace_operands.h"
#include "stream/trace_output.h"
#include "stream/word_codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Longer frames compress better (gcc: 0.37 bits per word with 1M words, 0.29 with 4M, 0.27 with 8M)
 * and cost memory in writer and reader. */
#define FRAME_WORDS (4u << 20)

/* A frame with this many addresses is written, however few words it has. */
#define FRAME_ADDRESSES (4u << 20)

/* Limit for all threads' pending words together; above it the longest frame is written early. An
 * address counts as two words. */
#define PENDING_WORDS (64u << 20)

/* A thread with this many pending words or addresses that do not match will never match. */
#define UNPAIRED_WORDS     (16u << 20)
#define UNPAIRED_ADDRESSES (64u << 20)

#define CODE_FRAME_BYTES (4u << 20) /* a code frame is written when it gets this long */

struct thread {
    struct hp_thread info;
    uint32_t *words; /* pending */
    size_t n, capacity;
    uint64_t
        *addresses; /* pending: those of the words from the first on, and possibly of later ones */
    size_t n_addresses, cap_addresses;
    uint64_t written; /* words already in frames */
    bool addressed;   /* words wait for their addresses */
    bool ended;
};

struct hp_trace_writer {
    struct hp_trace_output out;
    enum hp_err err; /* what went wrong, once something did */
    char err_text[200];

    struct thread *threads;
    size_t n_threads, cap_threads;
    struct hp_map64 thread_index;
    size_t held; /* words that all threads have room for */

    struct hp_trace_operands operands;
    struct hp_address_codec *address_codec; /* NULL: without addresses */
    struct hp_trace_code_out code;
    struct hp_bytes_out strings;
    uint32_t n_strings;

    struct hp_word_codec *codec;
    struct hp_bytes_out content; /* of the frame being made */
    uint64_t words;
};

static void writer_free(struct hp_trace_writer *writer)
{
    hp_trace_output_fini(&writer->out);
    for (size_t i = 0; i < writer->n_threads; i++) {
        free(writer->threads[i].words);
        free(writer->threads[i].addresses);
    }
    free(writer->threads);
    hp_trace_operands_fini(&writer->operands);
    hp_address_codec_free(writer->address_codec);
    hp_map64_fini(&writer->thread_index);
    hp_trace_code_fini(&writer->code);
    free(writer->strings.bytes);
    hp_word_codec_free(writer->codec);
    free(writer->content.bytes);
    free(writer);
}

/* Records a failure after which the file cannot be completed. */
static enum hp_err broken(struct hp_trace_writer *writer, enum hp_err err)
{
    if (err != HP_OK && writer->err == HP_OK) {
        writer->err = err;
        snprintf(writer->err_text, sizeof writer->err_text, "%s", hp_error_text());
    }
    return err;
}

static enum hp_err usable(const struct hp_trace_writer *writer)
{
    return writer->err == HP_OK ? HP_OK : hp_fail(writer->err, "%s", writer->err_text);
}

/* --- Frames ----------------------------------------------------------------------------------- */

static enum hp_err put_run(struct hp_trace_writer *writer, const struct hp_trace_run *run)
{
    struct hp_bytes_out *out = &writer->content;
    out->size = 0;
    HP_TRY(hp_out_string(out, run->version ? run->version : ""));
    HP_TRY(hp_out_string(out, run->engine ? run->engine : ""));
    HP_TRY(hp_out_string(out, run->directory ? run->directory : ""));
    HP_TRY(hp_out_string(out, run->machine ? run->machine : ""));
    HP_TRY(hp_out_uint(out, (uint64_t)run->started, 8));
    uint32_t n = 0;
    while (run->command && run->command[n])
        n++;
    HP_TRY(hp_out_uint(out, n, 4));
    for (uint32_t i = 0; i < n; i++)
        HP_TRY(hp_out_string(out, run->command[i]));
    struct hp_trace_frame frame = {.kind = HP_TRACE_FRAME_RUN, .count = 1};
    return hp_trace_output_frame(&writer->out, frame, out->bytes, out->size);
}

static enum hp_err put_strings(struct hp_trace_writer *writer)
{
    if (writer->n_strings == 0)
        return HP_OK;
    struct hp_trace_frame frame = {.kind = HP_TRACE_FRAME_STRINGS, .count = writer->n_strings};
    HP_TRY(hp_trace_output_frame(&writer->out, frame, writer->strings.bytes, writer->strings.size));
    writer->strings.size = 0;
    writer->n_strings = 0;
    return HP_OK;
}

static enum hp_err put_code(struct hp_trace_writer *writer)
{
    struct hp_trace_frame frame = {.kind = HP_TRACE_FRAME_CODE};
    writer->content.size = 0;
    HP_TRY(hp_trace_code_take(&writer->code, &writer->content, &frame.count));
    if (writer->content.size == 0)
        return HP_OK;
    return hp_trace_output_frame(&writer->out, frame, writer->content.bytes, writer->content.size);
}

/* --- Words ------------------------------------------------------------------------------------ */

/* Collects the code that words name. `*whole`: how many of them come before an event with an
 * incomplete payload. */
static enum hp_err collect_code(struct hp_trace_writer *writer, const uint32_t *words, size_t n,
                                size_t *whole)
{
    size_t i = 0;
    while (i < n) {
        uint32_t word = words[i];
        if (word & HP_WORD_EVENT) {
            int payload = hp_word_payload(word);
            size_t next = i + 1 + (size_t)(payload > 0 ? payload : 0);
            if (next > n)
                break;
            i = next;
            continue;
        }
        if (!hp_trace_code_has(&writer->code, word)) {
            HP_TRY(hp_trace_code_add(&writer->code, word));
            if (writer->code.segments.size >= CODE_FRAME_BYTES)
                HP_TRY(put_code(writer));
        }
        i++;
    }
    *whole = i;
    return HP_OK;
}

/* Writes the first `n` pending words of a thread. */
static enum hp_err put_words(struct hp_trace_writer *writer, struct thread *thread, size_t n)
{
    const uint8_t *code;
    size_t size;
    HP_TRY(put_strings(writer));
    HP_TRY(put_code(writer));
    HP_TRY(hp_word_encode(writer->codec, thread->words, n, &code, &size));
    struct hp_trace_frame frame = {
        .kind = HP_TRACE_FRAME_WORDS,
        .thread = thread->info.id,
        .count = (uint32_t)n,
        .first = thread->written,
    };
    return hp_trace_output_frame(&writer->out, frame, code, size);
}

/* Drops the first `n` pending words and `n_addresses` pending addresses: they are written. */
static void drop_pending(struct hp_trace_writer *writer, struct thread *thread, size_t n,
                         size_t n_addresses)
{
    thread->written += n;
    thread->n -= n;
    if (thread->n)
        memmove(thread->words, thread->words + n, thread->n * sizeof *thread->words);
    thread->n_addresses -= n_addresses;
    if (thread->n_addresses)
        memmove(thread->addresses, thread->addresses + n_addresses,
                thread->n_addresses * sizeof *thread->addresses);
    writer->words += n;
}

/* Writes a thread's pending words; an incomplete event at the end stays, unless `last`. */
static enum hp_err flush_words(struct hp_trace_writer *writer, struct thread *thread, bool last)
{
    while (thread->n) {
        size_t some = thread->n < FRAME_WORDS ? thread->n : FRAME_WORDS, n;
        HP_TRY(collect_code(writer, thread->words, some, &n));
        if (last && some == thread->n)
            n = some;
        if (n == 0)
            break;
        HP_TRY(put_words(writer, thread, n));
        drop_pending(writer, thread, n, 0);
    }
    return HP_OK;
}

/* --- Words and addresses ---------------------------------------------------------------------- */

/* Writes the first `n` pending words, whose operands were just walked, and their addresses. */
static enum hp_err put_pair(struct hp_trace_writer *writer, struct thread *thread, size_t n)
{
    const struct hp_trace_operands *operands = &writer->operands;
    const uint8_t *code;
    size_t size, whole;
    HP_TRY(collect_code(writer, thread->words, n, &whole));
    HP_TRY(put_words(writer, thread, n));
    HP_TRY(hp_address_encode(writer->address_codec, operands->places, thread->addresses,
                             operands->n, &code, &size));
    struct hp_trace_frame frame = {
        .kind = HP_TRACE_FRAME_ADDRESSES,
        .thread = thread->info.id,
        .count = (uint32_t)operands->n,
        .first = thread->written,
    };
    HP_TRY(hp_trace_output_frame(&writer->out, frame, code, size));
    drop_pending(writer, thread, n, operands->n);
    return HP_OK;
}

static bool is_full(const struct thread *thread)
{
    return thread->n >= FRAME_WORDS || thread->n_addresses >= FRAME_ADDRESSES;
}

/* The addresses can no longer be matched with words. */
static void give_up_addresses(struct hp_trace_writer *writer, struct thread *thread)
{
    writer->held -= 2 * thread->cap_addresses;
    free(thread->addresses);
    thread->addresses = NULL;
    thread->n_addresses = thread->cap_addresses = 0;
    thread->addressed = false;
}

/* Writes pending words as far as their addresses are known. */
static enum hp_err flush_pairs(struct hp_trace_writer *writer, struct thread *thread, bool last)
{
    size_t n;
    do {
        size_t words = thread->n < FRAME_WORDS ? thread->n : FRAME_WORDS;
        size_t max = thread->n_addresses < FRAME_ADDRESSES ? thread->n_addresses : FRAME_ADDRESSES;
        HP_TRY(hp_trace_operands_walk(&writer->operands, thread->words, words, max,
                                      last && words == thread->n, &n));
        if (n)
            HP_TRY(put_pair(writer, thread, n));
    } while (n && thread->n && (last || is_full(thread)));
    if (last || thread->n > UNPAIRED_WORDS || thread->n_addresses > UNPAIRED_ADDRESSES)
        give_up_addresses(writer, thread);
    return HP_OK;
}

/* Writes what is pending for a thread; what may still be completed stays, unless `last`. */
static enum hp_err flush(struct hp_trace_writer *writer, struct thread *thread, bool last)
{
    if (thread->addressed)
        HP_TRY(flush_pairs(writer, thread, last));
    return thread->addressed ? HP_OK : flush_words(writer, thread, last);
}

/* --- Room ------------------------------------------------------------------------------------- */

/* Reallocates an array to the size of its `n` pending elements. */
static enum hp_err shrink(void *array, size_t *capacity, size_t n, size_t size)
{
    void **from = array, *rest = NULL;
    size_t room = 0;
    if (n) {
        HP_TRY(hp_grow(&rest, &room, n, size));
        memcpy(rest, *from, n * size);
    }
    free(*from);
    *from = rest;
    *capacity = room;
    return HP_OK;
}

static size_t room_of(const struct thread *thread)
{
    return thread->capacity + 2 * thread->cap_addresses;
}

/* Frees a thread's spare room. */
static enum hp_err release(struct hp_trace_writer *writer, struct thread *thread)
{
    size_t before = room_of(thread);
    HP_TRY(shrink(&thread->words, &thread->capacity, thread->n, sizeof *thread->words));
    HP_TRY(shrink(&thread->addresses, &thread->cap_addresses, thread->n_addresses,
                  sizeof *thread->addresses));
    writer->held = writer->held - before + room_of(thread);
    return HP_OK;
}

static enum hp_err relieve(struct hp_trace_writer *writer)
{
    while (writer->held > PENDING_WORDS) {
        struct thread *longest = &writer->threads[0];
        for (size_t i = 1; i < writer->n_threads; i++)
            if (room_of(&writer->threads[i]) > room_of(longest))
                longest = &writer->threads[i];
        size_t before = writer->held;
        HP_TRY(flush(writer, longest, false));
        HP_TRY(release(writer, longest));
        if (writer->held >= before)
            break;
    }
    return HP_OK;
}

static enum hp_err append(struct hp_trace_writer *writer, struct thread *thread,
                          const uint32_t *words, size_t n)
{
    while (n > 0) {
        size_t free_words = thread->n < FRAME_WORDS ? FRAME_WORDS - thread->n : FRAME_WORDS;
        size_t some = n < free_words ? n : free_words, before = room_of(thread);
        HP_TRY(hp_grow(&thread->words, &thread->capacity, thread->n + some, sizeof *words));
        writer->held += room_of(thread) - before;
        memcpy(thread->words + thread->n, words, some * sizeof *words);
        thread->n += some;
        words += some;
        n -= some;
        if (is_full(thread))
            HP_TRY(flush(writer, thread, false));
        HP_TRY(relieve(writer));
    }
    return HP_OK;
}

static enum hp_err append_addresses(struct hp_trace_writer *writer, struct thread *thread,
                                    const uint64_t *addresses, size_t n)
{
    if (!thread->addressed || n == 0)
        return HP_OK;
    size_t before = room_of(thread);
    HP_TRY(hp_grow(&thread->addresses, &thread->cap_addresses, thread->n_addresses + n,
                   sizeof *addresses));
    writer->held += room_of(thread) - before;
    memcpy(thread->addresses + thread->n_addresses, addresses, n * sizeof *addresses);
    thread->n_addresses += n;
    if (is_full(thread))
        HP_TRY(flush(writer, thread, false));
    return relieve(writer);
}

/* --- The interface ---------------------------------------------------------------------------- */

static enum hp_err start(struct hp_trace_writer *writer, const char *path,
                         const struct hp_trace_run *run)
{
    HP_TRY(hp_word_codec_new(&writer->codec));
    if (run->addresses)
        HP_TRY(hp_address_codec_new(&writer->address_codec));
    HP_TRY(hp_trace_output_open(&writer->out, path, run->arch, run->addresses));
    return put_run(writer, run);
}

enum hp_err hp_trace_writer_new(const char *path, const struct hp_trace_run *run,
                                struct hp_code *code, struct hp_trace_writer **result)
{
    *result = NULL;
    if (run->arch <= HP_ARCH_NONE || run->arch >= HP_ARCH_COUNT_)
        return hp_fail(HP_ERR_INVALID, "a trace needs an architecture: %s", path);
    struct hp_trace_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return hp_fail_nomem();
    writer->code.code = writer->operands.code = code;
    enum hp_err err = start(writer, path, run);
    if (err != HP_OK) {
        writer_free(writer);
        return err;
    }
    *result = writer;
    return HP_OK;
}

enum hp_err hp_trace_writer_thread(struct hp_trace_writer *writer, const struct hp_thread *thread)
{
    HP_TRY(usable(writer));
    if (hp_map64_get(&writer->thread_index, thread->id) != HP_MAP64_NONE)
        return hp_fail(HP_ERR_INVALID, "thread %" PRIu32 " was announced before", thread->id);
    HP_TRY(hp_grow(&writer->threads, &writer->cap_threads, writer->n_threads + 1,
                   sizeof *writer->threads));
    HP_TRY(hp_map64_put(&writer->thread_index, thread->id, (uint32_t)writer->n_threads));
    writer->threads[writer->n_threads++] =
        (struct thread){.info = *thread, .addressed = writer->address_codec != NULL};
    struct hp_bytes_out *out = &writer->content;
    out->size = 0;
    HP_TRY(broken(writer, hp_out_uint(out, (uint32_t)thread->pid, 4)));
    HP_TRY(broken(writer, hp_out_uint(out, (uint32_t)thread->tid, 4)));
    HP_TRY(broken(writer, hp_out_uint(out, (uint32_t)thread->parent, 4)));
    struct hp_trace_frame frame = {.kind = HP_TRACE_FRAME_THREAD, .thread = thread->id, .count = 1};
    return broken(writer, hp_trace_output_frame(&writer->out, frame, out->bytes, out->size));
}

enum hp_err hp_trace_writer_string(struct hp_trace_writer *writer, uint32_t id, const char *text)
{
    HP_TRY(usable(writer));
    HP_TRY(broken(writer, hp_out_uint(&writer->strings, id, 4)));
    HP_TRY(broken(writer, hp_out_string(&writer->strings, text)));
    writer->n_strings++;
    if (writer->strings.size >= CODE_FRAME_BYTES)
        return broken(writer, put_strings(writer));
    return HP_OK;
}

static enum hp_err find_thread(struct hp_trace_writer *writer, uint32_t id, struct thread **thread)
{
    HP_TRY(usable(writer));
    uint32_t index = hp_map64_get(&writer->thread_index, id);
    if (index == HP_MAP64_NONE)
        return hp_fail(HP_ERR_INVALID, "thread %" PRIu32 " was not announced", id);
    *thread = &writer->threads[index];
    if ((*thread)->ended)
        return hp_fail(HP_ERR_INVALID, "thread %" PRIu32 " has ended", id);
    return HP_OK;
}

enum hp_err hp_trace_writer_words(struct hp_trace_writer *writer, uint32_t id,
                                  const uint32_t *words, size_t n)
{
    struct thread *thread;
    HP_TRY(find_thread(writer, id, &thread));
    return broken(writer, append(writer, thread, words, n));
}

enum hp_err hp_trace_writer_addresses(struct hp_trace_writer *writer, uint32_t id,
                                      const uint64_t *addresses, size_t n)
{
    struct thread *thread;
    HP_TRY(find_thread(writer, id, &thread));
    return broken(writer, append_addresses(writer, thread, addresses, n));
}

enum hp_err hp_trace_writer_end(struct hp_trace_writer *writer, uint32_t id,
                                enum hp_end_reason reason)
{
    struct thread *thread;
    HP_TRY(find_thread(writer, id, &thread));
    HP_TRY(broken(writer, flush(writer, thread, true)));
    HP_TRY(broken(writer, release(writer, thread)));
    thread->ended = true;
    uint8_t content = (uint8_t)reason;
    struct hp_trace_frame frame = {
        .kind = HP_TRACE_FRAME_THREAD_END, .thread = id, .count = 1, .first = thread->written};
    return broken(writer, hp_trace_output_frame(&writer->out, frame, &content, 1));
}

/* The contents of the index before its lines. */
static enum hp_err put_totals(struct hp_trace_writer *writer, double seconds, int exit_status)
{
    struct hp_bytes_out *out = &writer->content;
    out->size = 0;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    HP_TRY(hp_out_uint(out, bits, 8));
    HP_TRY(hp_out_uint(out, (uint32_t)exit_status, 4));
    HP_TRY(hp_out_uint(out, writer->words, 8));
    HP_TRY(hp_out_uint(out, writer->n_threads, 4));
    HP_TRY(hp_out_uint(out, writer->code.all_segments, 4));
    return hp_out_uint(out, writer->code.n_ranges, 4);
}

static enum hp_err complete(struct hp_trace_writer *writer, double seconds, int exit_status)
{
    HP_TRY(usable(writer));
    for (size_t i = 0; i < writer->n_threads; i++)
        HP_TRY(flush(writer, &writer->threads[i], true));
    HP_TRY(put_strings(writer));
    HP_TRY(put_code(writer));
    HP_TRY(put_totals(writer, seconds, exit_status));
    return hp_trace_output_commit(&writer->out, &writer->content);
}

enum hp_err hp_trace_writer_finish(struct hp_trace_writer *writer, double seconds, int exit_status)
{
    enum hp_err err = complete(writer, seconds, exit_status);
    writer_free(writer);
    return err;
}

void hp_trace_writer_abort(struct hp_trace_writer *writer)
{
    if (writer)
        writer_free(writer);
}
