// SPDX-License-Identifier: MIT
/*
 * For the tests of the stream: a code map made of hand-assembled bytes, and a sink that writes down
 * what a cursor delivers and insists on what every profiler may rely on.
 *
 * What is delivered, as text, one item each:
 *   1000/3+   the block at 0x1000 of 3 instructions, taken        1000/3-   it fell through
 *   1000/3.   an HP_EVENT_TAIL, exact                             1000/3?   one that is not
 *   signal(N) sigreturn lost(N) break fork(N) exec(N) exec_failed module(N) module(-N) end(N)
 */
#ifndef HP_TEST_STREAM_FIXTURE_H
#define HP_TEST_STREAM_FIXTURE_H

#include "base/grow.h"
#include "hotpath/profiler.h"
#include "hotpath/stream.h"
#include "profiler/check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- The sink --------------------------------------------------------------------------------- */

/* One block of a batch, or one event. */
struct item {
    uint8_t event; /* enum hp_event_kind + 1; 0: a block that was retired */
    uint8_t taken; /* of a block; of an event: exact */
    uint32_t insns;
    uint32_t block;
    uint32_t next;  /* of a block: what was run after it */
    uint64_t value; /* address of the block (a tail's too), or the event's value */
    /* of a block or a tail: its addresses, in the recorder's; n < 0: it has none */
    size_t addresses;
    int32_t n_addresses;
};

struct recorder {
    struct hp_sink sink; /* first */
    struct hp_code *code;
    struct item *items;
    size_t n, cap;
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
    uint32_t expected; /* what the next batch has to start with; HP_NO_ID: any */
    size_t batches;
    uint64_t blocks, instructions;
    bool ended;
    struct hp_profiler *also[3]; /* profilers behind the sink, with their states */
    void *states[3];
    size_t n_also;
};

static inline struct item *new_item(struct recorder *r)
{
    assert_int_equal(hp_grow(&r->items, &r->cap, r->n + 1, sizeof *r->items), HP_OK);
    return &r->items[r->n++];
}

/* Puts down the addresses of a block: one for each memory operand. */
static inline void record_addresses(struct recorder *r, struct item *item,
                                    const uint64_t *addresses, size_t n)
{
    const struct hp_insn *insns;
    size_t mems = 0;
    item->n_addresses = -1;
    if (!addresses)
        return;
    assert_int_equal(hp_code_insns(r->code, item->block, &insns), HP_OK);
    for (uint32_t i = 0; i < item->insns; i++)
        mems += insns[i].n_mems;
    assert_int_equal(n, mems);
    assert_int_equal(
        hp_grow(&r->addresses, &r->cap_addresses, r->n_addresses + n + 1, sizeof *addresses),
        HP_OK);
    if (n)
        memcpy(r->addresses + r->n_addresses, addresses, n * sizeof *addresses);
    item->addresses = r->n_addresses;
    item->n_addresses = (int32_t)n;
    r->n_addresses += n;
}

static inline void record_batch(struct hp_sink *sink, const struct hp_batch *batch)
{
    struct recorder *r = (struct recorder *)sink;
    assert_false(r->ended);
    assert_in_range(batch->n, 1, HP_BATCH_MAX);
    assert_ptr_equal(batch->table, hp_code_blocks(r->code));
    for (size_t i = 0; i <= batch->n; i++)
        assert_true(batch->blocks[i] < hp_code_n_blocks(r->code));
    /* A block that was cut short may come again as another with the same start. */
    if (r->expected != HP_NO_ID)
        assert_int_equal(batch->table[r->expected].start, batch->table[batch->blocks[0]].start);
    for (size_t i = 0; i < batch->n; i++) {
        const struct hp_block *block = &batch->table[batch->blocks[i]];
        *new_item(r) = (struct item){.taken = batch->taken[i],
                                     .insns = block->insns,
                                     .block = batch->blocks[i],
                                     .next = batch->blocks[i + 1],
                                     .value = block->start};
        const uint32_t *at = batch->address_at;
        record_addresses(r, &r->items[r->n - 1], at ? batch->addresses + at[i] : NULL,
                         at ? at[i + 1] - at[i] : 0);
        r->instructions += block->insns;
    }
    r->blocks += batch->n;
    r->batches++;
    r->expected = batch->blocks[batch->n];
    for (size_t i = 0; i < r->n_also; i++)
        r->also[i]->ops->batch(r->states[i], batch);
}

static inline void record_event(struct hp_sink *sink, const struct hp_event *event)
{
    struct recorder *r = (struct recorder *)sink;
    struct item *item = new_item(r);
    assert_false(r->ended);
    *item = (struct item){.event = (uint8_t)(event->kind + 1),
                          .taken = event->exact,
                          .block = event->block,
                          .value = event->value};
    if (event->kind == HP_EVENT_TAIL) {
        assert_true(event->block < hp_code_n_blocks(r->code));
        item->value = hp_code_block(r->code, event->block)->start;
        item->insns = event->insns;
        record_addresses(r, item, event->addresses, event->n_addresses);
        r->blocks++;
        r->instructions += event->insns;
    }
    switch (event->kind) {
    case HP_EVENT_SIGNAL:
    case HP_EVENT_SIGRETURN:
    case HP_EVENT_TAIL:
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: r->expected = HP_NO_ID; break;
    default: break;
    }
    r->ended = event->kind == HP_EVENT_END;
    for (size_t i = 0; i < r->n_also; i++)
        r->also[i]->ops->event(r->states[i], event);
}

static inline void recorder_init(struct recorder *r, struct hp_code *code)
{
    *r = (struct recorder){
        .sink = {.batch = record_batch, .event = record_event}, .code = code, .expected = HP_NO_ID};
}

/* Puts a profiler behind the sink, which owns it from then on. */
static inline void recorder_add(struct recorder *r, struct hp_profiler *profiler)
{
    struct hp_thread thread = {.id = 0, .pid = 10, .tid = 10};
    r->also[r->n_also] = profiler;
    assert_int_equal(profiler->ops->start_thread(profiler, &thread, &r->states[r->n_also]), HP_OK);
    r->n_also++;
}

static inline void recorder_fini(struct recorder *r)
{
    for (size_t i = 0; i < r->n_also; i++)
        r->also[i]->ops->free(r->also[i]);
    free(r->items);
    free(r->addresses);
    *r = (struct recorder){0};
}

static inline void print_item(const struct item *item, FILE *out)
{
    unsigned long long value = item->value;
    if (!item->event) {
        fprintf(out, "%llx/%u%c ", value, item->insns, item->taken ? '+' : '-');
        return;
    }
    switch ((enum hp_event_kind)(item->event - 1)) {
    case HP_EVENT_TAIL:
        fprintf(out, "%llx/%u%c ", value, item->insns, item->taken ? '.' : '?');
        break;
    case HP_EVENT_SIGNAL: fprintf(out, "signal(%llu) ", value); break;
    case HP_EVENT_SIGRETURN: fprintf(out, "sigreturn "); break;
    case HP_EVENT_LOST: fprintf(out, "lost(%llu) ", value); break;
    case HP_EVENT_DISCONTINUITY: fprintf(out, "break "); break;
    case HP_EVENT_FORK: fprintf(out, "fork(%llu) ", value); break;
    case HP_EVENT_EXEC: fprintf(out, "exec(%llu) ", value); break;
    case HP_EVENT_EXEC_FAILED: fprintf(out, "exec_failed "); break;
    case HP_EVENT_MODULE: fprintf(out, "module(%s%llu) ", item->taken ? "" : "-", value); break;
    case HP_EVENT_END: fprintf(out, "end(%llu) ", value); break;
    case HP_EVENT_KIND_COUNT_: break;
    }
}

/* --- A code map and a cursor ------------------------------------------------------------------ */

struct stream {
    struct hp_code *code;
    struct hp_cursor *cursor;
    struct recorder recorder;
    uint32_t module;
};

static inline void stream_init_arch(struct stream *s, enum hp_arch arch)
{
    struct hp_module module = {.path = "[anon]", .build_id = "", .high = UINT64_MAX};
    struct hp_profiler *check;
    *s = (struct stream){0};
    assert_int_equal(hp_code_new(arch, &s->code), HP_OK);
    assert_int_equal(hp_code_add_module(s->code, &module, &s->module), HP_OK);
    recorder_init(&s->recorder, s->code);
    assert_int_equal(hp_check_new(s->code, &check), HP_OK);
    recorder_add(&s->recorder, check);
    assert_int_equal(hp_cursor_new(s->code, NULL, &s->recorder.sink, &s->cursor), HP_OK);
}

static inline void stream_init(struct stream *s)
{
    stream_init_arch(s, HP_ARCH_X86_64);
}

/* The checker's view of what was delivered. */
static inline const struct hp_check_stats *stream_checked(const struct stream *s)
{
    return hp_check_stats(s->recorder.also[0]);
}

/* What the cursor says of itself has to agree with what it delivered, and the checker with both. */
static inline void stream_verify(const struct stream *s)
{
    const struct hp_cursor_stats *stats = hp_cursor_stats(s->cursor);
    const struct hp_check_stats *checked = stream_checked(s);
    if (checked->violations)
        print_error("%s\n", checked->first);
    assert_int_equal(checked->violations, 0);
    assert_int_equal(stats->blocks, s->recorder.blocks);
    if (s->recorder.ended)
        assert_int_equal(stats->instructions, s->recorder.instructions);
    assert_int_equal(stats->losses, checked->losses + checked->aborts);
    assert_int_equal(stats->discontinuities, checked->discontinuities);
    assert_int_equal(stats->signals, checked->signals);
    assert_int_equal(stats->cuts, checked->cuts);
}

static inline void stream_fini(struct stream *s)
{
    hp_cursor_free(s->cursor);
    recorder_fini(&s->recorder);
    hp_code_free(s->code);
}

/* Adds the segment of the bytes in `hex`; blanks mean nothing. */
static inline enum hp_err try_segment(struct stream *s, uint32_t id, uint64_t start, uint8_t mode,
                                      const char *hex)
{
    uint8_t bytes[256];
    struct hp_segment segment = {.start = start, .module = s->module, .mode = mode, .bytes = bytes};
    int used;
    unsigned byte;
    for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used)
        bytes[segment.size++] = (uint8_t)byte;
    return hp_code_add_segment(s->code, id, &segment);
}

static inline void add_segment(struct stream *s, uint32_t id, uint64_t start, const char *hex)
{
    assert_int_equal(try_segment(s, id, start, HP_MODE_DEFAULT, hex), HP_OK);
}

#define EVENT(kind, arg) hp_word_event(HP_WORD_##kind, arg)
#define FEED(s, ...)                                                                               \
    feed(s, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static inline void feed(struct stream *s, const uint32_t *words, size_t n)
{
    assert_int_equal(hp_cursor_feed(s->cursor, words, n), HP_OK);
}

/* Compares everything delivered since the last call with `expected`. */
static inline void expect(struct stream *s, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < s->recorder.n; i++)
        print_item(&s->recorder.items[i], out);
    fclose(out);
    if (size)
        text[size - 1] = 0;
    assert_string_equal(text, expected);
    free(text);
    s->recorder.n = 0;
}

/* --- Random numbers --------------------------------------------------------------------------- */

static inline uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ *state >> 33;
    return (uint32_t)(x * 0xff51afd7ed558ccdu >> 32);
}

static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return random_next(state) % n;
}

#endif
