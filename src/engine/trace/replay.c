// SPDX-License-Identifier: MIT
#include "engine/trace/replay.h"

#include "base/grow.h"

#include <stdlib.h>

/* Threads that have begun and not ended. */
struct open_threads {
    uint8_t *open;
    size_t cap;
};

static enum hp_err deliver(struct hp_consumer *consumer, const struct hp_trace_item *item,
                           struct open_threads *threads)
{
    uint32_t id = item->thread.id;
    switch (item->kind) {
    case HP_TRACE_THREAD:
        HP_TRY(consumer->thread(consumer, &item->thread));
        HP_TRY(hp_grow(&threads->open, &threads->cap, (size_t)id + 1, 1));
        threads->open[id] = 1;
        break;
    case HP_TRACE_WORDS: HP_TRY(consumer->words(consumer, id, item->words, item->n_words)); break;
    case HP_TRACE_ADDRESSES:
        if (consumer->addresses)
            HP_TRY(consumer->addresses(consumer, id, item->addresses, item->n_addresses));
        break;
    case HP_TRACE_THREAD_END:
        HP_TRY(consumer->end(consumer, id, item->reason));
        if (id < threads->cap)
            threads->open[id] = 0;
        break;
    case HP_TRACE_END: break;
    }
    if (consumer->tick)
        consumer->tick(consumer);
    return HP_OK;
}

static enum hp_err deliver_all(struct hp_trace_reader *reader, struct hp_code *code,
                               struct hp_consumer *consumer, bool salvage, uint64_t *damaged,
                               struct open_threads *threads)
{
    for (;;) {
        struct hp_trace_item item;
        enum hp_err err = hp_trace_reader_next(reader, code, &item);
        if (err == HP_ERR_FORMAT && salvage) {
            (*damaged)++;
            continue;
        }
        HP_TRY(err);
        if (item.kind == HP_TRACE_END)
            break;
        err = deliver(consumer, &item, threads);
        if (err == HP_ERR_FORMAT && salvage)
            (*damaged)++; /* words of a thread whose beginning is damaged */
        else
            HP_TRY(err);
        if (consumer->done && consumer->done(consumer))
            break;
    }
    for (size_t id = 0; id < threads->cap; id++)
        if (threads->open[id])
            HP_TRY(consumer->end(consumer, (uint32_t)id, HP_END_KILLED));
    return HP_OK;
}

enum hp_err hp_replay(struct hp_trace_reader *reader, struct hp_code *code,
                      struct hp_consumer *consumer, bool salvage, uint64_t *damaged)
{
    struct open_threads threads = {0};
    *damaged = 0;
    enum hp_err err = deliver_all(reader, code, consumer, salvage, damaged, &threads);
    free(threads.open);
    return err;
}
