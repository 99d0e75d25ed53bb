// SPDX-License-Identifier: MIT
#include "stream/cursor_impl.h"

#include <stdlib.h>
#include <string.h>

enum hp_err hp_cursor_new(struct hp_code *code, struct hp_segment_source *source,
                          struct hp_sink *sink, struct hp_cursor **cursor)
{
    struct hp_cursor *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->code = code;
    c->source = source;
    c->sink = sink;
    c->by_steps = sink->steps != NULL;
    c->room = (c->by_steps ? HP_STEPS_MAX : HP_BATCH_MAX) + 1;
    c->last = HP_NO_ID;
    c->partial = HP_NO_ID;
    c->before = HP_NO_ID;
    c->limit = UINT32_MAX;
    *cursor = c;
    return HP_OK;
}

void hp_cursor_free(struct hp_cursor *cursor)
{
    if (cursor)
        hp_pairing_free(cursor->pairing);
    free(cursor);
}

enum hp_err hp_cursor_expect_addresses(struct hp_cursor *cursor)
{
    if (cursor->pairing)
        return HP_OK;
    cursor->by_steps = false;
    cursor->room = HP_BATCH_MAX + 1;
    return hp_pairing_new(&cursor->pairing);
}

void hp_cursor_expect_counting(struct hp_cursor *cursor)
{
    cursor->may_count = true;
}

const struct hp_cursor_stats *hp_cursor_stats(const struct hp_cursor *cursor)
{
    return &cursor->stats;
}

/* --- Words, one at a time --------------------------------------------------------------------- */

/* Takes the code of a word: the first block like anything that runs next, the others follow it. */
enum hp_err hp_cursor_take_segment(struct hp_cursor *c, uint32_t id)
{
    uint32_t route = c->code->route[id];
    size_t n = hp_weight_blocks(c->code->chains[id].weight);
    hp_cursor_count_traced(c, id);
    if (n == 0 || !c->code->segs[id].parent)
        return hp_cursor_take_route(c, route);
    const uint32_t limit = c->limit; /* applies to its own code, which comes last */
    size_t inner = route & HP_ROUTE_NODE ? n : n - 1;
    c->limit = UINT32_MAX;
    HP_TRY(hp_cursor_take_route(c, hp_chain_blocks(c->code, &c->code->chains[id])[0]));
    for (size_t i = 1; i < inner; i++)
        HP_TRY(hp_cursor_accept(c, hp_chain_blocks(c->code, &c->code->chains[id])[i]));
    c->limit = limit;
    return hp_cursor_accept(c, route);
}

enum hp_err hp_cursor_find_route(struct hp_cursor *c, uint32_t id, uint32_t *route)
{
    struct hp_code *code = c->code;
    if (id >= code->segment_limit || code->route[id] == HP_ROUTE_UNKNOWN) {
        enum hp_err err = c->source ? c->source->load(c->source, id) : HP_ERR_NOTFOUND;
        if (err == HP_ERR_NOMEM)
            return err;
    }
    *route = id < code->segment_limit ? code->route[id] : HP_ROUTE_UNKNOWN;
    return HP_OK;
}

enum hp_err hp_cursor_take_word(struct hp_cursor *c, uint32_t word)
{
    if (c->have < c->want) {
        c->event[c->have++] = word;
        return c->have == c->want ? hp_cursor_handle_event(c) : HP_OK;
    }
    if (word & HP_WORD_EVENT) {
        int payload = hp_word_payload(word);
        if (payload < 0)
            return hp_cursor_lose(c, HP_LOST_UNKNOWN);
        c->event[0] = word;
        c->have = 1;
        c->want = payload + 1;
        return payload ? HP_OK : hp_cursor_handle_event(c);
    }
    uint32_t route = HP_ROUTE_UNKNOWN;
    HP_TRY(hp_cursor_lose_counting(c));
    if (word)
        HP_TRY(hp_cursor_find_route(c, word, &route));
    if (route == HP_ROUTE_UNKNOWN)
        return hp_cursor_lose(c, HP_LOST_UNKNOWN);
    return hp_cursor_take_segment(c, word);
}

/* --- Words, many ------------------------------------------------------------------------------ */

/* Copies the blocks of a long run beyond the near ones, to `count` on in the buffer. */
static __attribute__((noinline)) void copy_far(struct hp_cursor *c, const struct hp_chain *chain,
                                               size_t count)
{
    const size_t near = HP_CHAIN_NEAR, at = c->code->units[chain->unit].at;
    const size_t far = c->code->units[chain->unit].n - near;
    memcpy(c->blocks + count + near, c->code->chain_blocks + at + near, far * sizeof *c->blocks);
    memcpy(c->taken + count + near - 1, c->code->chain_taken + at + near - 1, far);
}

/*
 * Takes words while they are runs of whole blocks that follow from one another and the buffer has
 * room; returns how many it took. This is the hot loop: one cache line per word, and no branch on
 * the number of blocks in a run unless there are many.
 */
static inline __attribute__((always_inline)) size_t
fast_loop(struct hp_cursor *c, const uint32_t *words, size_t n, const bool by_steps)
{
    const struct hp_chain *chains = c->code->chains;
    const uint32_t limit = c->code->segment_limit;
    const struct hp_chain first = hp_cursor_chain_of_last(c), *from = &first;
    int64_t weight = 0;
    uint64_t traced = 0, whole = 0;
    size_t count = c->count, room = c->room - count;
    const uint32_t *at = words, *end = words + (n < room ? n : room);
    for (; at < end && (by_steps || count <= HP_CURSOR_ROOM); at++) {
        uint32_t word = *at; /* read once: the watched process can write there */
        __builtin_prefetch(&chains[at[end - at > HP_CURSOR_AHEAD ? HP_CURSOR_AHEAD : 0]]);
        if (__builtin_expect(word >= limit, 0))
            break;
        const struct hp_chain *to = &chains[word];
        uint64_t start = to->start;
        bool taken = start != from->fall;
        uint64_t strict = (uint64_t)(int64_t)from->strict;
        if (__builtin_expect(taken & (((start ^ from->target) & strict) != 0), 0))
            break;
        int64_t own = to->weight;
        if (__builtin_expect(own <= 0, 0))
            break;
        if (by_steps) {
            memcpy(&c->steps[count++], &to->unit, sizeof *c->steps);
        } else {
            uint32_t outcomes = to->taken | taken;
            memcpy(c->taken + count - 1, &outcomes, sizeof outcomes);
            memcpy(c->blocks + count, to->blocks, sizeof to->blocks);
            size_t blocks = (uint64_t)own / HP_CHAIN_BLOCK;
            if (__builtin_expect(blocks > HP_CHAIN_NEAR, 0))
                copy_far(c, to, count);
            count += blocks;
        }
        weight += own;
        traced += to->traced;
        whole += to->traced / HP_TRACED_WHOLE;
        from = to;
    }
    c->count = count;
    c->n_blocks += hp_weight_blocks(weight);
    c->joined &= at == words;
    /* The last block's count when something follows it. */
    c->stats.instructions += hp_weight_insns(weight) + c->code->hot[c->last].insns;
    c->last = hp_chain_blocks(c->code, from)[hp_weight_blocks(from->weight) - 1];
    c->stats.instructions -= c->code->hot[c->last].insns;
    if (at != words)
        c->last_word = at[-1];
    if (traced)
        hp_cursor_add_traced(c, traced, whole);
    if (count > (by_steps ? HP_STEPS_MAX : HP_CURSOR_ROOM))
        hp_cursor_flush(c);
    return (size_t)(at - words);
}

/* Not inlined: the loops need all registers. */
static __attribute__((noinline)) size_t fast_blocks(struct hp_cursor *c, const uint32_t *words,
                                                    size_t n)
{
    return fast_loop(c, words, n, false);
}

static __attribute__((noinline)) size_t fast_steps(struct hp_cursor *c, const uint32_t *words,
                                                   size_t n)
{
    return fast_loop(c, words, n, true);
}

static size_t fast_words(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    if (c->last == HP_NO_ID || c->partial != HP_NO_ID || c->sigreturn || c->have < c->want)
        return 0;
    return c->by_steps ? fast_steps(c, words, n) : fast_blocks(c, words, n);
}

enum hp_err hp_cursor_feed_words(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    size_t i = 0;
    while (i < n && !c->ended) {
        i += fast_words(c, words + i, n - i);
        if (i < n && !c->ended)
            HP_TRY(hp_cursor_take_word(c, words[i++]));
    }
    hp_cursor_flush(c);
    return HP_OK;
}

/* --- Feeding ---------------------------------------------------------------------------------- */

enum hp_err hp_cursor_feed(struct hp_cursor *c, const uint32_t *words, size_t n)
{
    c->stats.words += n;
    if (!c->pairing)
        return hp_cursor_feed_words(c, words, n);
    if (c->ended)
        return HP_OK;
    HP_TRY(hp_pairing_add_words(c->pairing, words, n));
    return hp_cursor_pair_words(c, false);
}

enum hp_err hp_cursor_feed_addresses(struct hp_cursor *c, const uint64_t *addresses, size_t n)
{
    if (!c->pairing || c->ended || n == 0)
        return HP_OK;
    HP_TRY(hp_pairing_add_addresses(c->pairing, addresses, n));
    return hp_cursor_pair_words(c, false);
}

enum hp_err hp_cursor_end(struct hp_cursor *c, enum hp_end_reason reason)
{
    if (c->pairing)
        HP_TRY(hp_cursor_pair_words(c, true));
    return hp_cursor_end_stream(c, reason);
}
