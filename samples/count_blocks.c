// SPDX-License-Identifier: MIT
/*
 * Uses the library: reads a trace (hotpath trace record) and counts the blocks and instructions of
 * each thread. Needs only the public headers.
 *
 * A trace contains words; a cursor for each thread turns them into blocks and passes these to a
 * sink.
 */
#include <hotpath/trace.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct counter {
    struct hp_sink sink; /* first: the cursor gets a counter as its sink */
    struct hp_thread thread;
    struct hp_cursor *cursor;
    uint64_t blocks, instructions;
    struct counter *next;
};

static void on_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct counter *counter = (struct counter *)sink;
    counter->blocks += batch->n;
    for (size_t i = 0; i < batch->n; i++)
        counter->instructions += batch->table[batch->blocks[i]].insns;
}

static void on_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct counter *counter = (struct counter *)sink;
    if (event->kind != HP_EVENT_TAIL) /* a block without a known successor */
        return;
    counter->blocks++;
    counter->instructions += event->insns;
}

static enum hp_err add_counter(struct counter **list, const struct hp_thread *thread,
                               struct hp_code *code)
{
    struct counter *counter = calloc(1, sizeof *counter);
    if (!counter)
        return hp_fail_nomem();
    counter->sink = (struct hp_sink){.batch = on_batch, .event = on_event};
    counter->thread = *thread;
    while (*list)
        list = &(*list)->next;
    *list = counter;
    return hp_cursor_new(code, NULL, &counter->sink, &counter->cursor);
}

static struct counter *find(struct counter *list, uint32_t thread)
{
    while (list && list->thread.id != thread)
        list = list->next;
    return list;
}

static enum hp_err count(struct hp_trace_reader *reader, struct hp_code *code,
                         struct counter **counters)
{
    for (;;) {
        struct hp_trace_item item;
        HP_TRY(hp_trace_reader_next(reader, code, &item));
        struct counter *counter = find(*counters, item.thread.id);
        if (item.kind == HP_TRACE_END)
            return HP_OK;
        if (item.kind == HP_TRACE_THREAD)
            HP_TRY(add_counter(counters, &item.thread, code));
        if (item.kind == HP_TRACE_WORDS && counter)
            HP_TRY(hp_cursor_feed(counter->cursor, item.words, item.n_words));
        if (item.kind == HP_TRACE_THREAD_END && counter)
            HP_TRY(hp_cursor_end(counter->cursor, item.reason));
    }
}

int main(int argc, char **argv)
{
    struct hp_trace_reader *reader = NULL;
    struct hp_code *code = NULL;
    struct counter *counters = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: count_blocks TRACE\n");
        return 2;
    }
    enum hp_err err = hp_trace_reader_open(argv[1], &reader);
    if (err == HP_OK)
        err = hp_code_new(hp_trace_reader_info(reader)->run.arch, &code);
    if (err == HP_OK)
        err = count(reader, code, &counters);
    if (err != HP_OK)
        fprintf(stderr, "count_blocks: %s\n", hp_error_text());
    while (counters) {
        struct counter *next = counters->next;
        if (err == HP_OK)
            printf("thread %" PRIu32 ": %" PRIu64 " blocks, %" PRIu64 " instructions\n",
                   counters->thread.id, counters->blocks, counters->instructions);
        hp_cursor_free(counters->cursor);
        free(counters);
        counters = next;
    }
    hp_code_free(code);
    hp_trace_reader_close(reader);
    return err == HP_OK ? 0 : 1;
}
