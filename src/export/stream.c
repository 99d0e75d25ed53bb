// SPDX-License-Identifier: MIT
#include "export/export.h"

#include "base/base.h"

#include <errno.h>

struct stream {
    struct hp_profiler base; /* first */
    const struct hp_export_format *format;
    struct hp_stream_setup *state; /* of the format: this, and what it has behind it; behind us */
    struct side {
        struct stream *stream;
        bool wanted;
    } wanted, others; /* threads */
    enum hp_err failure;
    char text[256];
};

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct stream *s = (struct stream *)profiler;
    uint32_t wanted = s->state->thread;
    *state = wanted == HP_STREAM_ALL || wanted == info->id ? &s->wanted : &s->others;
    return HP_OK;
}

/* Gives a block or a timing to the format. Nothing is written after a failure. */
static void put(const struct side *side, uint32_t insns, const struct hp_stream_block *block,
                const struct hp_timing *timing)
{
    struct stream *s = side->stream;
    s->state->written->total += insns;
    if (!side->wanted || s->failure != HP_OK)
        return;
    s->failure = block ? s->format->block(s->state, block) : s->format->timing(s->state, timing);
    if (s->failure == HP_OK)
        s->state->written->written += insns;
    else
        snprintf(s->text, sizeof s->text, "%s", hp_error_text());
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    const struct side *side = state;
    for (size_t i = 0; side->stream->format->block && i < batch->n; i++) {
        const struct hp_block *code = &batch->table[batch->blocks[i]];
        struct hp_stream_block block = {
            .id = batch->blocks[i], .insns = code->insns, .taken = batch->taken[i], .code = code};
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
    if (event->kind != HP_EVENT_TAIL || !side->stream->format->block)
        return;
    const struct hp_stream_block block = {
        .id = event->block,
        .insns = event->insns,
        .code = hp_code_block(side->stream->state->code, event->block),
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
    *s = (struct stream){{&ops}, format, state, .wanted = {s, true}, .others = {s, false}};
    setup->written->unit = "instructions";
    *profiler = &s->base;
    enum hp_err err = format->open ? format->open(state) : HP_OK;
    if (err != HP_OK)
        free_stream(&s->base);
    return err;
}
