// SPDX-License-Identifier: MIT
#include "recording.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

static enum hp_err keep_thread(struct recording *r, const struct hp_thread *thread)
{
    HP_TRY(hp_grow(&r->threads, &r->cap_threads, r->n_threads + 1, sizeof *r->threads));
    r->threads[r->n_threads++] = *thread;
    return HP_OK;
}

static enum hp_err keep_words(struct recording *r, uint32_t thread, const uint32_t *words, size_t n)
{
    HP_TRY(hp_grow(&r->words, &r->cap_words, r->n_words + n, sizeof *r->words));
    HP_TRY(hp_grow(&r->parts, &r->cap_parts, r->n_parts + 1, sizeof *r->parts));
    memcpy(r->words + r->n_words, words, n * sizeof *words);
    r->parts[r->n_parts++] = (struct recording_part){.thread = thread, .first = r->n_words, .n = n};
    r->n_words += n;
    return HP_OK;
}

/* They belong to the part before. */
static enum hp_err keep_addresses(struct recording *r, const uint64_t *addresses, size_t n)
{
    HP_TRY(hp_grow(&r->addresses, &r->cap_addresses, r->n_addresses + n, sizeof *r->addresses));
    memcpy(r->addresses + r->n_addresses, addresses, n * sizeof *addresses);
    struct recording_part *part = &r->parts[r->n_parts - 1];
    part->first_address = r->n_addresses;
    part->n_addresses = n;
    r->n_addresses += n;
    return HP_OK;
}

static enum hp_err keep_all(struct recording *r, struct hp_trace_reader *reader, size_t max_words)
{
    struct hp_trace_item item;
    for (;;) {
        HP_TRY(hp_trace_reader_next(reader, r->code, &item));
        if (item.kind == HP_TRACE_ADDRESSES)
            HP_TRY(keep_addresses(r, item.addresses, item.n_addresses));
        else if (max_words && r->n_words == max_words)
            return HP_OK;
        if (item.kind == HP_TRACE_END)
            return HP_OK;
        if (item.kind == HP_TRACE_THREAD)
            HP_TRY(keep_thread(r, &item.thread));
        if (item.kind != HP_TRACE_WORDS)
            continue;
        size_t n = item.n_words;
        if (max_words && n > max_words - r->n_words)
            n = max_words - r->n_words;
        if (n)
            HP_TRY(keep_words(r, item.thread.id, item.words, n));
    }
}

enum hp_err recording_load(struct recording *r, const char *path, size_t max_words)
{
    struct hp_trace_reader *reader;
    *r = (struct recording){0};
    HP_TRY(hp_trace_reader_open(path, &reader));
    hp_trace_reader_want_addresses(reader);
    enum hp_err err = hp_code_new(hp_trace_reader_info(reader)->run.arch, &r->code);
    if (err == HP_OK)
        err = keep_all(r, reader, max_words);
    hp_trace_reader_close(reader);
    return err;
}

void recording_fini(struct recording *r)
{
    hp_code_free(r->code);
    free(r->threads);
    free(r->parts);
    free(r->words);
    free(r->addresses);
    *r = (struct recording){0};
}

enum hp_err recording_play(const struct recording *r, struct hp_consumer *consumer)
{
    for (size_t i = 0; i < r->n_threads; i++)
        HP_TRY(consumer->thread(consumer, &r->threads[i]));
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct recording_part *part = &r->parts[i];
        for (size_t at = 0; at < part->n; at += RECORDING_CHUNK) {
            size_t rest = part->n - at;
            HP_TRY(consumer->words(consumer, part->thread, r->words + part->first + at,
                                   rest < RECORDING_CHUNK ? rest : RECORDING_CHUNK));
        }
        if (part->n_addresses && consumer->addresses)
            HP_TRY(consumer->addresses(consumer, part->thread, r->addresses + part->first_address,
                                       part->n_addresses));
    }
    for (size_t i = 0; i < r->n_threads; i++)
        HP_TRY(consumer->end(consumer, r->threads[i].id, HP_END_EXIT));
    return HP_OK;
}
