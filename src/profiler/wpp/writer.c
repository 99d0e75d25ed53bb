// SPDX-License-Identifier: MIT
/*
 * Two threads. The profilers' thread turns paths into numbers and puts them, in chunks, on a
 * bounded queue. The grammars' thread takes them off, chunk by chunk, whichever thread of the
 * program they belong to. Only the queue and the file are shared.
 */
#include "hotpath/wpp.h"

#include "base/grow.h"
#include "base/outfile.h"
#include "profiler/wpp/dictionary.h"
#include "profiler/wpp/format.h"
#include "profiler/wpp/grammar.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK      4096      /* paths */
#define QUEUE_MAX  64        /* chunks */
#define PATHS_FULL (1 << 16) /* bytes of a frame of paths */

struct chunk {
    struct chunk *next;
    struct sequence *sequence;
    size_t n;
    uint32_t ids[CHUNK];
};

/* A thread of the program. */
struct sequence {
    struct hp_path_sink sink; /* first */
    struct hp_wpp *wpp;
    struct hp_thread thread;
    uint32_t number;
    struct chunk *chunk; /* being filled */
    uint64_t symbols, insns;
    /* For the grammars' thread only: */
    struct hp_grammar *grammar; /* NULL: nothing came yet, or it was closed */
    uint64_t parts;
};

struct hp_wpp {
    const struct hp_code *code;
    /* For the profilers' thread only: */
    struct sequence **sequences;
    size_t n_sequences, capacity;
    struct hp_dictionary dictionary;
    struct hp_bytes_out paths; /* a frame of them */
    uint32_t paths_written;
    uint64_t previous_offset;
    /* Shared, under `lock`: */
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct chunk *first, **last, *spare;
    size_t queued, max_queued, n_chunks;
    bool done, given_up;
    struct hp_outfile file;
    struct hp_wpp_stats stats;
    enum hp_err err;
    char error[256];
    /* For the grammars' thread only: */
    pthread_t worker;
    struct hp_grammar_budget budget;
    struct hp_bytes_out part;
    struct sequence **live; /* those with a grammar */
    size_t n_live, live_capacity;
};

/* --- The file --------------------------------------------------------------------------------- */

/* Records the first failure of either thread. */
static void failed(struct hp_wpp *wpp, enum hp_err err)
{
    pthread_mutex_lock(&wpp->lock);
    if (wpp->err == HP_OK) {
        wpp->err = err;
        strncpy(wpp->error, hp_error_text(), sizeof wpp->error - 1);
    }
    pthread_mutex_unlock(&wpp->lock);
}

static enum hp_err write_bytes(struct hp_wpp *wpp, const uint8_t *bytes, size_t size)
{
    pthread_mutex_lock(&wpp->lock);
    size_t written = fwrite(bytes, 1, size, wpp->file.file);
    wpp->stats.file_bytes += written;
    pthread_mutex_unlock(&wpp->lock);
    return written == size ? HP_OK : hp_fail(HP_ERR_IO, "cannot write %s: %m", wpp->file.path);
}

static enum hp_err write_frame(struct hp_wpp *wpp, struct hp_bytes_out *frame)
{
    HP_TRY(hp_wpp_frame_end(frame));
    HP_TRY(write_bytes(wpp, frame->bytes, frame->size));
    frame->size = 0;
    return HP_OK;
}

static enum hp_err write_header(struct hp_wpp *wpp)
{
    struct hp_bytes_out out = {0};
    enum hp_err err = hp_out_bytes(&out, hp_wpp_magic, sizeof hp_wpp_magic);
    if (err == HP_OK)
        err = hp_out_uint(&out, HP_WPP_VERSION, 4);
    if (err == HP_OK)
        err = hp_out_uint(&out, HP_WPP_OLDEST, 4);
    if (err == HP_OK)
        err = hp_out_uint(&out, hp_trace_crc(out.bytes, out.size), 4);
    if (err == HP_OK)
        err = write_bytes(wpp, out.bytes, out.size);
    free(out.bytes);
    return err;
}

/* --- The grammar's thread --------------------------------------------------------------------- */

/* Writes the grammar of a sequence as one part. The sequence continues without one. */
static enum hp_err close_part(struct hp_wpp *wpp, struct sequence *sequence)
{
    struct hp_grammar *grammar = sequence->grammar;
    hp_grammar_close(grammar);
    struct hp_grammar_stats stats = hp_grammar_stats(grammar);
    enum hp_err err = hp_wpp_frame_begin(&wpp->part, HP_WPP_FRAME_PART);
    if (err == HP_OK)
        err = hp_out_varint(&wpp->part, sequence->number);
    if (err == HP_OK)
        err = hp_out_varint(&wpp->part, stats.symbols);
    if (err == HP_OK)
        err = hp_wpp_encode(grammar, &wpp->part);
    hp_grammar_free(grammar);
    sequence->grammar = NULL;
    for (size_t i = 0; i < wpp->n_live; i++)
        if (wpp->live[i] == sequence)
            wpp->live[i--] = wpp->live[--wpp->n_live];
    if (err == HP_OK)
        err = write_frame(wpp, &wpp->part);
    /* The memory of a big part is not kept. */
    free(wpp->part.bytes);
    wpp->part = (struct hp_bytes_out){0};
    sequence->parts++;
    wpp->stats.parts++;
    wpp->stats.rules += stats.rules;
    wpp->stats.nodes += stats.nodes;
    return err;
}

static struct sequence *largest(const struct hp_wpp *wpp)
{
    struct sequence *found = wpp->live[0];
    for (size_t i = 1; i < wpp->n_live; i++)
        if (hp_grammar_stats(wpp->live[i]->grammar).bytes > hp_grammar_stats(found->grammar).bytes)
            found = wpp->live[i];
    return found;
}

static enum hp_err begin_part(struct hp_wpp *wpp, struct sequence *sequence)
{
    HP_TRY(hp_grow(&wpp->live, &wpp->live_capacity, wpp->n_live + 1, sizeof *wpp->live));
    HP_TRY(hp_grammar_new(&wpp->budget, 0, &sequence->grammar));
    wpp->live[wpp->n_live++] = sequence;
    return HP_OK;
}

static enum hp_err feed(struct hp_wpp *wpp, const struct chunk *chunk)
{
    struct sequence *sequence = chunk->sequence;
    for (size_t i = 0;;) {
        if (!sequence->grammar)
            HP_TRY(begin_part(wpp, sequence));
        i += hp_grammar_push(sequence->grammar, chunk->ids + i, chunk->n - i);
        if (i == chunk->n)
            return HP_OK;
        wpp->stats.cuts++;
        HP_TRY(close_part(wpp, hp_grammar_full(sequence->grammar) ? sequence : largest(wpp)));
    }
}

static struct chunk *take(struct hp_wpp *wpp, struct chunk *done)
{
    pthread_mutex_lock(&wpp->lock);
    if (done) {
        done->next = wpp->spare;
        wpp->spare = done;
    }
    while (!wpp->first && !wpp->done)
        pthread_cond_wait(&wpp->filled, &wpp->lock);
    struct chunk *chunk = wpp->first;
    if (chunk) {
        wpp->first = chunk->next;
        if (!wpp->first)
            wpp->last = &wpp->first;
        wpp->queued--;
        pthread_cond_signal(&wpp->emptied);
    }
    pthread_mutex_unlock(&wpp->lock);
    return chunk;
}

static void *work(void *argument)
{
    struct hp_wpp *wpp = argument;
    enum hp_err err = HP_OK;
    for (struct chunk *chunk = NULL; (chunk = take(wpp, chunk));)
        if (err == HP_OK && (err = feed(wpp, chunk)) != HP_OK)
            failed(wpp, err); /* keeps emptying the queue */
    while (err == HP_OK && !wpp->given_up && wpp->n_live)
        if ((err = close_part(wpp, wpp->live[0])) != HP_OK)
            failed(wpp, err);
    return NULL;
}

/* --- The profilers' thread -------------------------------------------------------------------- */

/* An empty chunk; NULL: out of memory. */
static struct chunk *empty_chunk(struct hp_wpp *wpp)
{
    pthread_mutex_lock(&wpp->lock);
    struct chunk *chunk = wpp->spare;
    if (chunk)
        wpp->spare = chunk->next;
    pthread_mutex_unlock(&wpp->lock);
    if (!chunk) {
        chunk = malloc(sizeof *chunk);
        wpp->n_chunks += chunk != NULL;
    }
    return chunk;
}

static void hand_over(struct hp_wpp *wpp, struct sequence *sequence)
{
    struct chunk *chunk = sequence->chunk;
    sequence->chunk = NULL;
    if (!chunk)
        return;
    chunk->next = NULL;
    pthread_mutex_lock(&wpp->lock);
    while (wpp->queued >= wpp->max_queued)
        pthread_cond_wait(&wpp->emptied, &wpp->lock);
    *wpp->last = chunk;
    wpp->last = &chunk->next;
    wpp->queued++;
    pthread_cond_signal(&wpp->filled);
    pthread_mutex_unlock(&wpp->lock);
}

static enum hp_err flush_paths(struct hp_wpp *wpp)
{
    if (!wpp->paths.size)
        return HP_OK;
    return write_frame(wpp, &wpp->paths);
}

/* Writes a path that got the next number. */
static enum hp_err new_path(struct hp_wpp *wpp, const struct hp_path *path)
{
    struct hp_bytes_out *out = &wpp->paths;
    if (!out->size) {
        HP_TRY(hp_wpp_frame_begin(out, HP_WPP_FRAME_PATHS));
        wpp->previous_offset = 0;
    }
    bool known = path->block != HP_NO_ID && path->block < hp_code_n_blocks(wpp->code);
    uint32_t module = known ? hp_code_block(wpp->code, path->block)->module : HP_NO_ID;
    uint64_t offset = path->start;
    if (known)
        offset -= hp_code_module(wpp->code, module)->base;
    HP_TRY(hp_out_varint(out, (uint32_t)(module + 1)));
    HP_TRY(hp_out_varint(out, hp_zigzag((int64_t)(offset - wpp->previous_offset))));
    HP_TRY(hp_out_varint(out, path->length));
    HP_TRY(hp_out_varint(out, path->outcomes));
    HP_TRY(hp_out_varint(out, path->targets));
    HP_TRY(hp_out_varint(out, path->insns));
    wpp->previous_offset = offset;
    wpp->paths_written++;
    if (wpp->paths_written == HP_GRAMMAR_TERMINALS)
        return hp_fail(HP_ERR_UNSUPPORTED, "%s: more than %u different paths", wpp->file.path,
                       HP_GRAMMAR_TERMINALS);
    return out->size >= PATHS_FULL ? flush_paths(wpp) : HP_OK;
}

static void take_paths(struct hp_path_sink *sink, const struct hp_paths *paths)
{
    struct sequence *sequence = (struct sequence *)sink;
    struct hp_wpp *wpp = sequence->wpp;
    for (size_t i = 0; i < paths->n && wpp->paths_written < HP_GRAMMAR_TERMINALS; i++) {
        const struct hp_path *path = &paths->paths[i];
        if (!sequence->chunk) {
            sequence->chunk = empty_chunk(wpp);
            if (!sequence->chunk) {
                failed(wpp, hp_fail_nomem());
                return;
            }
            sequence->chunk->sequence = sequence;
            sequence->chunk->n = 0;
        }
        uint32_t next = wpp->dictionary.next, id = hp_dictionary_id(&wpp->dictionary, path);
        if (id == next) {
            enum hp_err err = new_path(wpp, path);
            if (err != HP_OK)
                failed(wpp, err);
        }
        sequence->chunk->ids[sequence->chunk->n++] = id;
        sequence->symbols++;
        sequence->insns += path->insns;
        if (sequence->chunk->n == CHUNK)
            hand_over(wpp, sequence);
    }
}

/* --- Beginning and end ------------------------------------------------------------------------ */

/* Signals go to the other threads. */
static enum hp_err start(struct hp_wpp *wpp)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    wpp->done = false;
    int error = pthread_create(&wpp->worker, NULL, work, wpp);
    if (error)
        wpp->done = true;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error ? hp_fail(HP_ERR_IO, "cannot start a thread: %s", strerror(error)) : HP_OK;
}

enum hp_err hp_wpp_new(const char *path, const struct hp_code *code, size_t bound,
                       struct hp_wpp **out)
{
    if (!bound)
        bound = HP_WPP_BOUND_DEFAULT;
    if (bound < HP_WPP_BOUND_MIN)
        return hp_fail(HP_ERR_INVALID, "a whole program path needs at least %zu bytes, not %zu",
                       HP_WPP_BOUND_MIN, bound);
    struct hp_wpp *wpp = calloc(1, sizeof *wpp);
    if (!wpp)
        return hp_fail_nomem();
    wpp->code = code;
    wpp->last = &wpp->first;
    size_t chunks = bound / 8 / sizeof(struct chunk);
    wpp->max_queued = chunks > QUEUE_MAX ? QUEUE_MAX : chunks > 1 ? chunks : 1;
    wpp->budget.max = bound / 8 * 5;
    pthread_mutex_init(&wpp->lock, NULL);
    pthread_cond_init(&wpp->filled, NULL);
    pthread_cond_init(&wpp->emptied, NULL);
    wpp->done = true; /* there is no thread yet */
    enum hp_err err = hp_dictionary_init(&wpp->dictionary, bound / 4);
    if (err == HP_OK)
        err = hp_outfile_open(&wpp->file, path);
    if (err == HP_OK)
        err = write_header(wpp);
    if (err == HP_OK)
        err = start(wpp);
    if (err != HP_OK) {
        hp_wpp_abort(wpp);
        return err;
    }
    *out = wpp;
    return HP_OK;
}

static enum hp_err new_sequence(struct hp_wpp *wpp, const struct hp_thread *thread,
                                struct hp_path_sink **sink)
{
    HP_TRY(hp_grow(&wpp->sequences, &wpp->capacity, wpp->n_sequences + 1, sizeof(void *)));
    struct sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence)
        return hp_fail_nomem();
    sequence->sink.paths = take_paths;
    sequence->wpp = wpp;
    sequence->thread = *thread;
    sequence->number = (uint32_t)wpp->n_sequences;
    wpp->sequences[wpp->n_sequences++] = sequence;
    *sink = &sequence->sink;
    return HP_OK;
}

enum hp_err hp_wpp_thread(struct hp_wpp *wpp, const struct hp_thread *thread,
                          struct hp_path_sink **sink)
{
    enum hp_err err = new_sequence(wpp, thread, sink);
    if (err != HP_OK)
        failed(wpp, err);
    return err;
}

/* Ends the grammars' thread once the queue is empty. */
static void stop(struct hp_wpp *wpp, bool give_up)
{
    if (wpp->done)
        return;
    pthread_mutex_lock(&wpp->lock);
    wpp->done = true;
    wpp->given_up = give_up;
    pthread_cond_signal(&wpp->filled);
    pthread_mutex_unlock(&wpp->lock);
    pthread_join(wpp->worker, NULL);
}

static enum hp_err write_modules(struct hp_wpp *wpp, struct hp_bytes_out *out)
{
    HP_TRY(hp_wpp_frame_begin(out, HP_WPP_FRAME_MODULES));
    uint32_t n = hp_code_n_modules(wpp->code);
    HP_TRY(hp_out_varint(out, n));
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_module *module = hp_code_module(wpp->code, i);
        HP_TRY(hp_out_string(out, module->path));
        HP_TRY(hp_out_string(out, module->build_id));
    }
    return write_frame(wpp, out);
}

static enum hp_err write_threads(struct hp_wpp *wpp, struct hp_bytes_out *out)
{
    HP_TRY(hp_wpp_frame_begin(out, HP_WPP_FRAME_THREADS));
    HP_TRY(hp_out_varint(out, wpp->n_sequences));
    for (size_t i = 0; i < wpp->n_sequences; i++) {
        const struct sequence *s = wpp->sequences[i];
        const uint64_t numbers[] = {
            s->thread.id, (uint32_t)s->thread.pid, (uint32_t)s->thread.tid, s->parts, s->symbols,
            s->insns};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            HP_TRY(hp_out_varint(out, numbers[k]));
        wpp->stats.symbols += s->symbols;
        wpp->stats.insns += s->insns;
    }
    return write_frame(wpp, out);
}

static enum hp_err write_about(struct hp_wpp *wpp, const struct hp_trace_run *about,
                               const char *ppcr, struct hp_bytes_out *out)
{
    const char *texts[] = {about->version, about->engine,    hp_arch_name(about->arch),
                           ppcr,           about->directory, about->machine};
    HP_TRY(hp_wpp_frame_begin(out, HP_WPP_FRAME_ABOUT));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        HP_TRY(hp_out_string(out, texts[i] ? texts[i] : ""));
    HP_TRY(hp_out_uint(out, (uint64_t)about->started, 8));
    HP_TRY(hp_out_uint(out, (uint64_t)(about->seconds * 1e6), 8));
    HP_TRY(hp_out_uint(out, (uint32_t)about->exit_status, 4));
    size_t n = 0;
    while (about->command && about->command[n])
        n++;
    HP_TRY(hp_out_varint(out, n));
    for (size_t i = 0; i < n; i++)
        HP_TRY(hp_out_string(out, about->command[i]));
    return write_frame(wpp, out);
}

static enum hp_err write_end(struct hp_wpp *wpp, struct hp_bytes_out *out)
{
    struct hp_wpp_stats *stats = &wpp->stats;
    stats->paths = wpp->dictionary.next;
    stats->forgotten = wpp->dictionary.forgotten;
    stats->threads = (uint32_t)wpp->n_sequences;
    stats->peak = wpp->budget.peak + wpp->n_chunks * sizeof(struct chunk) +
                  (wpp->dictionary.mask + 1) * sizeof *wpp->dictionary.entries;
    const uint64_t numbers[] = {stats->paths, stats->parts,     stats->rules, stats->nodes,
                                stats->cuts,  stats->forgotten, stats->peak};
    HP_TRY(hp_wpp_frame_begin(out, HP_WPP_FRAME_END));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HP_TRY(hp_out_varint(out, numbers[i]));
    return write_frame(wpp, out);
}

static enum hp_err finish(struct hp_wpp *wpp, const struct hp_trace_run *about, const char *ppcr)
{
    for (size_t i = 0; i < wpp->n_sequences; i++)
        hand_over(wpp, wpp->sequences[i]);
    stop(wpp, false);
    if (wpp->err != HP_OK)
        return hp_fail(wpp->err, "%s", wpp->error);
    HP_TRY(flush_paths(wpp));
    HP_TRY(write_modules(wpp, &wpp->part));
    HP_TRY(write_threads(wpp, &wpp->part));
    HP_TRY(write_about(wpp, about, ppcr, &wpp->part));
    HP_TRY(write_end(wpp, &wpp->part));
    return hp_outfile_commit(&wpp->file);
}

enum hp_err hp_wpp_finish(struct hp_wpp *wpp, const struct hp_trace_run *about, const char *ppcr,
                          struct hp_wpp_stats *stats)
{
    enum hp_err err = finish(wpp, about, ppcr);
    if (stats)
        *stats = wpp->stats;
    hp_wpp_abort(wpp);
    return err;
}

void hp_wpp_abort(struct hp_wpp *wpp)
{
    if (!wpp)
        return;
    stop(wpp, true);
    hp_outfile_abort(&wpp->file);
    for (size_t i = 0; i < wpp->n_sequences; i++) {
        hp_grammar_free(wpp->sequences[i]->grammar);
        free(wpp->sequences[i]->chunk);
        free(wpp->sequences[i]);
    }
    for (struct chunk *chunk; (chunk = wpp->spare);) {
        wpp->spare = chunk->next;
        free(chunk);
    }
    hp_dictionary_fini(&wpp->dictionary);
    pthread_mutex_destroy(&wpp->lock);
    pthread_cond_destroy(&wpp->filled);
    pthread_cond_destroy(&wpp->emptied);
    free(wpp->sequences);
    free(wpp->live);
    free(wpp->part.bytes);
    free(wpp->paths.bytes);
    free(wpp);
}
