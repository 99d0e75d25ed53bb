// SPDX-License-Identifier: MIT
/* Words with addresses: each waits for the other (pairing.h). */
#include "stream/cursor_impl.h"

#include <string.h>

/* The addresses can no longer be matched: the waiting words continue without them. */
static enum hp_err lose_addresses(struct hp_cursor *c)
{
    HP_TRY(hp_cursor_lose(c, HP_LOST_ADDRESSES));
    struct hp_pairing *p = c->pairing;
    c->pairing = NULL;
    c->limit = UINT32_MAX;
    enum hp_err err = hp_cursor_feed_words(c, p->words + p->first_word, p->n_words - p->first_word);
    hp_pairing_free(p);
    return err;
}

/* --- Runs that simply follow ------------------------------------------------------------------ */

/* What the fast loop has taken and not yet told the cursor. */
struct taken {
    size_t words;
    size_t addresses;
    size_t count; /* of the cursor's buffer */
    int64_t weight;
    uint64_t traced, whole;
};

/* Copies the `n` blocks of a chain, with their outcomes, to `count` on in the buffer; and where the
 * addresses of each end. These have been counted for the segment already. */
static inline void copy_run(struct hp_cursor *c, const struct hp_chain *chain, size_t n,
                            size_t count, bool is_taken)
{
    const uint32_t *counts = c->code->block_mems.counts;
    const uint32_t *blocks = chain->blocks;
    uint32_t *at = c->pairing->at + count, outcomes = chain->taken | is_taken;
    memcpy(c->taken + count - 1, &outcomes, sizeof outcomes);
    memcpy(c->blocks + count, blocks, sizeof chain->blocks);
    if (__builtin_expect(n > HP_CHAIN_NEAR, 0)) {
        size_t first = c->code->units[chain->unit].at;
        blocks = c->code->chain_blocks + first;
        memcpy(c->blocks + count, blocks, n * sizeof *blocks);
        memcpy(c->taken + count, c->code->chain_taken + first, n - 1);
    }
    for (size_t i = 0; i < n; i++)
        at[i + 1] = at[i] + counts[blocks[i]] - 1;
}

/* Tells the cursor. `last`: the chain taken last. */
static enum hp_err settle(struct hp_cursor *c, const struct taken *t, const struct hp_chain *last)
{
    struct hp_pairing *p = c->pairing;
    if (t->words == 0)
        return HP_OK;
    HP_TRY(hp_pairing_reserve(p, t->addresses));
    hp_pairing_take(p, t->addresses);
    p->first_word += t->words;
    c->limit = UINT32_MAX;
    c->count = t->count;
    c->n_blocks += hp_weight_blocks(t->weight);
    c->joined = false;
    c->last_word = p->words[p->first_word - 1];
    /* The last block's count when something follows it. */
    c->stats.instructions += hp_weight_insns(t->weight) + c->code->hot[c->last].insns;
    c->last = hp_chain_blocks(c->code, last)[hp_weight_blocks(last->weight) - 1];
    c->stats.instructions -= c->code->hot[c->last].insns;
    if (t->traced)
        hp_cursor_add_traced(c, t->traced, t->whole);
    if (c->count > HP_CURSOR_ROOM)
        hp_cursor_flush(c);
    return HP_OK;
}

/*
 * Like the cursor's fast loop: takes waiting words while they are runs of whole blocks that follow
 * from one another, have all their addresses here, and are not cut by the next word. What they hold
 * is one piece of what waits, and taken as one.
 */
static enum hp_err pair_runs(struct hp_cursor *c)
{
    const struct hp_pairing *p = c->pairing;
    if (c->last == HP_NO_ID || c->partial != HP_NO_ID || c->sigreturn || c->have < c->want)
        return HP_OK;
    const struct hp_mems known = c->code->segment_mems;
    const struct hp_chain *chains = c->code->chains;
    const struct hp_chain first = hp_cursor_chain_of_last(c), *from = &first;
    const uint32_t *words = p->words + p->first_word;
    const size_t n = p->n_words - p->first_word, n_addresses = hp_pairing_n_waiting(p);
    const size_t limit = c->code->segment_limit < known.cap ? c->code->segment_limit : known.cap;
    struct taken t = {.count = c->count};
    for (; t.words + 1 < n && t.count <= HP_CURSOR_ROOM; t.words++) {
        uint32_t id = words[t.words];
        __builtin_prefetch(
            &chains[words[n - t.words > HP_CURSOR_AHEAD ? t.words + HP_CURSOR_AHEAD : t.words]]);
        if (id >= limit || !known.counts[id] || words[t.words + 1] & HP_WORD_EVENT)
            break;
        const struct hp_chain *to = &chains[id];
        bool is_taken = to->start != from->fall;
        size_t need = known.counts[id] - 1;
        if ((is_taken && from->strict && to->start != from->target) || to->weight <= 0 ||
            need > n_addresses - t.addresses)
            break;
        size_t blocks = hp_weight_blocks(to->weight);
        copy_run(c, to, blocks, t.count, is_taken);
        t.count += blocks;
        t.addresses += need;
        t.weight += to->weight;
        t.traced += to->traced;
        t.whole += to->traced / HP_TRACED_WHOLE;
        from = to;
    }
    return settle(c, &t, from);
}

/* --- Everything else, word by word ------------------------------------------------------------ */

/* The number of addresses of the next waiting segment. `*found`: whether the segment is known. */
static enum hp_err count_needed(struct hp_cursor *c, uint32_t id, uint32_t *need, bool *found)
{
    const struct hp_mems *known = &c->code->segment_mems;
    uint32_t route = HP_ROUTE_UNKNOWN;
    *found = true;
    if (c->limit == UINT32_MAX && id < known->cap && known->counts[id]) {
        *need = known->counts[id] - 1;
        return HP_OK;
    }
    if (id)
        HP_TRY(hp_cursor_find_route(c, id, &route));
    *found = route != HP_ROUTE_UNKNOWN;
    return *found ? hp_code_segment_mems(c->code, id, c->limit, need) : HP_OK;
}

/* The next waiting word is a segment: takes it if all its addresses are there. `ended`: nothing
 * more will come. */
static enum hp_err pair_segment(struct hp_cursor *c, bool ended, bool *done)
{
    struct hp_pairing *p = c->pairing;
    uint32_t id = p->words[p->first_word], need;
    bool is_last = p->first_word + 1 == p->n_words, found;
    uint32_t next = is_last ? 0 : p->words[p->first_word + 1];
    bool is_cut = next & HP_WORD_EVENT && hp_word_kind(next) == HP_WORD_CUT;
    *done = false;
    if (is_last && !ended)
        return HP_OK;
    c->limit = is_cut ? hp_word_arg(next) : UINT32_MAX;
    HP_TRY(count_needed(c, id, &need, &found));
    if (!found) {
        HP_TRY(hp_cursor_take_word(c, id));
        p->first_word++;
        return lose_addresses(c);
    }
    if (need > hp_pairing_n_waiting(p))
        return ended ? lose_addresses(c) : HP_OK;
    HP_TRY(hp_pairing_reserve(p, need));
    HP_TRY(hp_cursor_take_segment(c, id));
    p->first_word++;
    *done = true;
    return HP_OK;
}

enum hp_err hp_cursor_pair_words(struct hp_cursor *c, bool ended)
{
    bool done = true;
    while (done && c->pairing && !c->ended && c->pairing->first_word < c->pairing->n_words) {
        struct hp_pairing *p = c->pairing;
        HP_TRY(pair_runs(c));
        if (p->first_word == p->n_words)
            break;
        uint32_t word = p->words[p->first_word];
        bool inside = c->have < c->want;
        if (inside || word & HP_WORD_EVENT) {
            p->first_word++;
            HP_TRY(hp_cursor_take_word(c, word));
            p->mismatch |= !inside && hp_word_payload(word) < 0;
        } else {
            HP_TRY(pair_segment(c, ended, &done));
        }
        if (c->pairing && (p->mismatch || p->over) && !c->ended)
            HP_TRY(lose_addresses(c));
    }
    if (c->pairing && !c->ended && !ended && hp_pairing_is_too_long(c->pairing))
        HP_TRY(lose_addresses(c));
    hp_cursor_flush(c);
    return HP_OK;
}
