// SPDX-License-Identifier: MIT
#include "export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    struct hp_profiler base; /* first */
    const struct hp_stream_format *format;
    struct hp_stream_setup setup;
    void *state; /* of the format */
    struct thread *threads;
    enum hp_err failure;
    char text[256];
};

struct thread {
    struct thread *next;
    struct stream *stream;
    bool wanted;
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct stream *s = (struct stream *)profiler;
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    *thread =
        (struct thread){.next = s->threads,
                        .stream = s,
                        .wanted = s->setup.thread == HP_STREAM_ALL || s->setup.thread == info->id};
    s->threads = thread;
    *state = thread;
    return HP_OK;
}

/* A failure is told in finish(); nothing is written after it. */
static void put(struct thread *thread, const struct hp_stream_block *block)
{
    struct stream *s = thread->stream;
    s->setup.written->total += block->insns;
    if (!thread->wanted || s->failure != HP_OK)
        return;
    s->failure = s->format->block(s->state, block);
    if (s->failure == HP_OK)
        s->setup.written->written += block->insns;
    else
        snprintf(s->text, sizeof s->text, "%s", hp_error_text());
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct hp_block *code = &batch->table[batch->blocks[i]];
        struct hp_stream_block block = {
            .id = batch->blocks[i], .insns = code->insns, .taken = batch->taken[i], .code = code};
        if (batch->addresses) {
            block.addresses = batch->addresses + batch->address_at[i];
            block.n_addresses = batch->address_at[i + 1] - batch->address_at[i];
        }
        put(state, &block);
    }
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *thread = state;
    if (event->kind != HP_EVENT_TAIL)
        return;
    put(thread,
        &(struct hp_stream_block){.id = event->block,
                                  .insns = event->insns,
                                  .code = hp_code_block(thread->stream->setup.code, event->block),
                                  .addresses = event->addresses,
                                  .n_addresses = event->n_addresses});
}

static enum hp_err flush(FILE *file)
{
    if (file && (fflush(file) != 0 || ferror(file)))
        return hp_fail(HP_ERR_IO, "cannot write: %s", strerror(errno));
    return HP_OK;
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct stream *s = (struct stream *)profiler;
    (void)result;
    if (s->failure != HP_OK)
        return hp_fail(s->failure, "%s", s->text);
    HP_TRY(s->format->close(s->state));
    HP_TRY(flush(s->setup.out));
    return flush(s->setup.second);
}

static void free_stream(struct hp_profiler *profiler)
{
    struct stream *s = (struct stream *)profiler;
    while (s->threads) {
        struct thread *next = s->threads->next;
        free(s->threads);
        s->threads = next;
    }
    s->format->free(s->state);
    free(s);
}

static const struct hp_profiler_ops ops = {
    .name = "stream",
    .start_thread = start_thread,
    .batch = on_batch,
    .event = on_event,
    .finish = finish,
    .free = free_stream,
};

enum hp_err hp_stream_profiler_new(const struct hp_stream_format *format,
                                   const struct hp_stream_setup *setup,
                                   struct hp_profiler **profiler)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s)
        return hp_fail_nomem();
    *s = (struct stream){.base = {.ops = &ops}, .format = format, .setup = *setup};
    s->setup.written->unit = "instructions";
    enum hp_err err = format->open(&s->setup, &s->state);
    if (err != HP_OK) {
        free(s);
        return err;
    }
    *profiler = &s->base;
    return HP_OK;
}
