// SPDX-License-Identifier: MIT
/* Words with addresses: each waits for the other (pairing.h). */
#include "stream/cursor_impl.h"

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

/* Like the fast loop: takes a run of whole blocks, with `n` addresses, that follows from the last
 * one. */
static bool pair_run(struct hp_cursor *c, uint32_t id, uint32_t n)
{
    struct hp_pairing *p = c->pairing;
    const struct hp_chain *chain = &c->code->chains[id];
    if (c->last == HP_NO_ID || c->partial != HP_NO_ID || c->sigreturn || c->limit != UINT32_MAX ||
        chain->weight <= 0 || !hp_cursor_follows(c, chain->start))
        return false;
    const uint32_t *blocks = hp_chain_blocks(c->code, chain);
    const uint32_t *counts = c->code->block_mems.counts; /* already counted for the segment */
    size_t n_blocks = hp_weight_blocks(chain->weight);
    hp_pairing_take(p, n);
    for (size_t i = 0; i < n_blocks; i++) {
        hp_cursor_append(c, blocks[i]);
        p->at[c->count] = p->at[c->count - 1] + counts[blocks[i]] - 1;
    }
    c->joined = false;
    return true;
}

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
    if (pair_run(c, id, need))
        hp_cursor_count_traced(c, id);
    else
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
