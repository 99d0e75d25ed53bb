// SPDX-License-Identifier: MIT
#include "export/export.h"

#include "base/base.h"

#include <errno.h>

/* A thread. */
struct side {
    struct stream *stream;
    struct hp_thread thread;
    bool wanted;
    struct side *next;
};

struct stream {
    struct hp_profiler base; /* first */
    const struct hp_export_format *format;
    struct hp_stream_setup *state; /* of the format: this, and what it has behind it; behind us */
    struct side *sides;
    enum hp_err failure;
    char text[256];
};

/* Keeps a failure of the format: nothing is written after it. */
static void keep(struct stream *s, enum hp_err err)
{
    s->failure = err;
    if (err != HP_OK)
        snprintf(s->text, sizeof s->text, "%s", hp_error_text());
}

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct stream *s = (struct stream *)profiler;
    uint32_t wanted = s->state->thread;
    struct side *side;
    HP_TRY(hp_new(&side, 1, sizeof *side));
    *side = (struct side){s, *info, wanted == HP_STREAM_ALL || wanted == info->id, s->sides};
    *state = s->sides = side;
    if (side->wanted && s->format->thread && s->failure == HP_OK)
        keep(s, s->format->thread(s->state, &side->thread));
    return HP_OK;
}

/* Gives a block or a timing to the format. */
static void put(const struct side *side, uint32_t insns, const struct hp_stream_block *block,
                const struct hp_timing *timing)
{
    struct stream *s = side->stream;
    s->state->written->total += insns;
    if (!side->wanted || s->failure != HP_OK)
        return;
    keep(s, block ? s->format->block(s->state, block) : s->format->timing(s->state, timing));
    if (s->failure == HP_OK)
        s->state->written->written += insns;
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    const struct side *side = state;
    for (size_t i = 0; side->stream->format->block && i < batch->n; i++) {
        const struct hp_block *code = &batch->table[batch->blocks[i]];
        struct hp_stream_block block = {.id = batch->blocks[i],
                                        .insns = code->insns,
                                        .taken = batch->taken[i],
                                        .code = code,
                                        .next = batch->table[batch->blocks[i + 1]].start,
                                        .thread = &side->thread};
        if (batch->addresses) {
            block.addresses = batch->addresses + batch->address_at[i];
            block.n_addresses = batch->address_at[i + 1] - batch->address_at[i];
        }
        put(side, block.insns, &block, NULL);
    }
}

static void on_event(void *state, const struct hp_event *event)
{
    const struct side *side = state;
    struct stream *s = side->stream;
    if (event->kind != HP_EVENT_TAIL) {
        if (side->wanted && s->format->event && s->failure == HP_OK)
            keep(s, s->format->event(s->state, &side->thread, event));
        return;
    }
    if (!s->format->block)
        return;
    const struct hp_stream_block block = {.id = event->block,
                                          .insns = event->insns,
                                          .code = hp_code_block(s->state->code, event->block),
                                          .thread = &side->thread,
                                          .addresses = event->addresses,
                                          .n_addresses = event->n_addresses};
    put(side, block.insns, &block, NULL);
}

static void on_timings(void *state, const struct hp_timing *timings, size_t n)
{
    const struct side *side = state;
    for (size_t i = 0; side->stream->format->timing && i < n; i++)
        put(side, 1, NULL, &timings[i]);
}

static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    struct stream *s = (struct stream *)profiler;
    FILE *files[] = {s->state->out, s->state->second};
    (void)result;
    if (s->failure != HP_OK)
        return hp_fail(s->failure, "%s", s->text);
    if (s->format->close)
        HP_TRY(s->format->close(s->state));
    for (size_t i = 0; i < 2; i++)
        if (files[i] && (fflush(files[i]) != 0 || ferror(files[i])))
            return hp_fail(HP_ERR_IO, "cannot write%s: %s",
                           s->format->timing ? " the pipeline log" : "", strerror(errno));
    return HP_OK;
}

static void free_stream(struct hp_profiler *profiler)
{
    struct stream *s = (struct stream *)profiler;
    if (s->format->fini)
        s->format->fini(s->state);
    for (struct side *side = s->sides, *next; side; side = next) {
        next = side->next;
        free(side);
    }
    free(s);
}

static const struct hp_profiler_ops ops = {
    .name = "stream",
    .start_thread = start_thread,
    .batch = on_batch,
    .event = on_event,
    .timings = on_timings,
    .finish = finish,
    .free = free_stream,
};

enum hp_err hp_stream_profiler_new(const struct hp_export_format *format,
                                   const struct hp_stream_setup *setup,
                                   struct hp_profiler **profiler)
{
    struct stream *s;
    HP_TRY(hp_new(&s, 1, sizeof *s + format->state_size));
    struct hp_stream_setup *state = (void *)(s + 1);
    *state = *setup;
    *s = (struct stream){.base = {&ops}, .format = format, .state = state};
    setup->written->unit = "instructions";
    *profiler = &s->base;
    enum hp_err err = format->open ? format->open(state) : HP_OK;
    if (err != HP_OK)
        free_stream(&s->base);
    return err;
}
