// SPDX-License-Identifier: MIT
/* Blocks that ran in pieces, were cut short or interrupted: one route at a time. */
#include "stream/cursor_impl.h"

static uint64_t route_start(const struct hp_code *code, uint32_t route)
{
    return route & HP_ROUTE_NODE ? code->nodes[route & ~HP_ROUTE_NODE].start
                                 : code->blocks[route].start;
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* Takes the addresses of the code of `route`: they are waiting, and there is room. */
static enum hp_err take_addresses(struct hp_cursor *c, uint32_t route)
{
    uint32_t n;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, route, c->limit, &n));
    hp_pairing_take(c->pairing, n);
    return HP_OK;
}

/* The partial block has become shorter: drops its excess addresses. */
static enum hp_err trim_addresses(struct hp_cursor *c)
{
    uint32_t n;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, c->partial | HP_ROUTE_NODE, UINT32_MAX, &n));
    size_t end = c->pairing->base + c->pairing->at[c->count] + n;
    if (end > c->pairing->n_held)
        c->pairing->mismatch = true;
    else
        c->pairing->n_held = end;
    return HP_OK;
}

/* --- Placing ---------------------------------------------------------------------------------- */

/* Places code that follows what is pending, or with nothing pending starts anew; its addresses have
 * been taken. */
static void place(struct hp_cursor *c, uint32_t route)
{
    if (route & HP_ROUTE_NODE) {
        c->partial = route & ~HP_ROUTE_NODE;
        c->head = 0;
    } else {
        hp_cursor_append(c, route);
        c->joined = false;
    }
}

enum hp_err hp_cursor_accept(struct hp_cursor *c, uint32_t route)
{
    HP_TRY(take_addresses(c, route));
    place(c, route);
    return HP_OK;
}

/* --- Partial blocks --------------------------------------------------------------------------- */

/* One more iteration of the REP instruction that ends the partial block: it keeps the addresses of
 * the first. */
static enum hp_err fold(struct hp_cursor *c, uint32_t route)
{
    uint32_t n;
    c->stats.rep_iterations++;
    c->head = (int32_t)c->code->nodes[c->partial].insns - 1;
    if (!c->pairing)
        return HP_OK;
    HP_TRY(hp_code_mems(c->code, route, c->limit, &n));
    hp_pairing_skip(c->pairing, n);
    return HP_OK;
}

/* Places the join of the partial block and the code of `route`. The join must have as many operands
 * as both parts together: undecodable code might not. */
static enum hp_err place_join(struct hp_cursor *c, const struct hp_join *join)
{
    uint32_t n = 0, rest = 0, start = 0;
    if (c->pairing) {
        start = c->pairing->at[c->count];
        if (join->block != HP_NO_ID)
            HP_TRY(hp_code_mems(c->code, join->block, UINT32_MAX, &n));
        HP_TRY(hp_code_mems(c->code, join->rest, UINT32_MAX, &rest));
        uint32_t have = hp_pairing_n_held(c->pairing) - start;
        bool fits = c->limit == UINT32_MAX ? have == n + rest : have >= n;
        c->pairing->mismatch |= !fits;
    }
    if (join->block != HP_NO_ID) {
        hp_cursor_append(c, join->block);
        if (c->pairing && !c->pairing->mismatch)
            c->pairing->at[c->count] = c->pairing->at[c->count - 1] + n;
    }
    place(c, join->rest);
    return HP_OK;
}

/* Continues the partial block with the code of `route`, if that follows it. */
static enum hp_err continue_partial(struct hp_cursor *c, uint32_t route, bool *done)
{
    const struct hp_node *node = &c->code->nodes[c->partial];
    uint64_t start = route_start(c->code, route);
    *done = true;
    if (node->last_is_rep && start == node->last && route & HP_ROUTE_NODE &&
        c->code->nodes[route & ~HP_ROUTE_NODE].insns == 1)
        return fold(c, route);
    if (start != node->end) {
        *done = false;
        return HP_OK;
    }
    struct hp_join join;
    int32_t head = (int32_t)node->insns;
    HP_TRY(hp_code_join(c->code, c->partial, route, &join));
    HP_TRY(take_addresses(c, route));
    c->partial = HP_NO_ID;
    if (join.block != HP_NO_ID)
        head -= (int32_t)c->code->blocks[join.block].insns;
    HP_TRY(place_join(c, &join));
    c->joined = true;
    c->head = head;
    return HP_OK;
}

/* The partial block was cut short if `start` is one of its instructions. */
static enum hp_err cut_partial(struct hp_cursor *c, uint64_t start, bool *done)
{
    const struct hp_node *node = &c->code->nodes[c->partial];
    *done = false;
    if (node->insns == 0 || start < node->start || start > node->last)
        return HP_OK;
    uint32_t block, prefix;
    HP_TRY(hp_code_close_node(c->code, c->partial, &block));
    enum hp_err err = hp_code_prefix(c->code, block, start, &prefix);
    if (err == HP_ERR_INVALID)
        return HP_OK;
    HP_TRY(err);
    c->partial = prefix;
    *done = true;
    return trim_addresses(c);
}

/* The last block was cut short if `start` is one of its later instructions: its first part then
 * becomes the partial block. */
static enum hp_err cut_last(struct hp_cursor *c, uint64_t start, bool *done)
{
    const struct hp_block *last = &c->code->blocks[c->last];
    *done = false;
    if (start < last->start || start > last->last)
        return HP_OK;
    uint32_t node;
    enum hp_err err = hp_code_prefix(c->code, c->last, start, &node);
    if (err == HP_ERR_INVALID)
        return HP_OK;
    HP_TRY(err);
    hp_cursor_flush(c); /* leaves only the cut block */
    hp_cursor_set_last(c, HP_NO_ID);
    c->partial = node;
    *done = true;
    return trim_addresses(c);
}

/*
 * Whether code inside the last block runs again because the block was cut short there, although the
 * block could have branched there itself: it ends with an indirect transfer, or is a loop. That is
 * so after a signal raised by an instruction; and when the translator made a piece of that one
 * instruction, not part of the block, to redo it alone.
 */
static bool runs_again(const struct hp_cursor *c, uint32_t route, enum hp_signal_cause cause)
{
    if (cause == HP_CAUSE_FAULT)
        return true;
    if (cause == HP_CAUSE_EITHER)
        return c->code->hot[c->last].anywhere;
    return route & HP_ROUTE_NODE && c->code->nodes[route & ~HP_ROUTE_NODE].insns == 1 && !c->joined;
}

/* --- Routes ----------------------------------------------------------------------------------- */

static enum hp_err discontinuity(struct hp_cursor *c)
{
    HP_TRY(hp_cursor_drop_pending(c, false));
    c->stats.discontinuities++;
    hp_cursor_emit(c, HP_EVENT_DISCONTINUITY, 0, true);
    return HP_OK;
}

/* Takes whatever runs next. */
enum hp_err hp_cursor_take_route(struct hp_cursor *c, uint32_t route)
{
    enum hp_signal_cause cause = HP_CAUSE_OUTSIDE;
    if (c->sigreturn)
        HP_TRY(hp_cursor_leave_signal(c, &cause));
    uint64_t start = route_start(c->code, route);
    if (hp_code_is_handler(c->code, start) && hp_cursor_is_signal(c, start))
        HP_TRY(hp_cursor_enter_signal(
            c, 0, cause != HP_CAUSE_OUTSIDE ? cause : hp_code_handler_cause(c->code, start)));
    bool done = false, goes_on = true;
    if (c->partial != HP_NO_ID) {
        HP_TRY(continue_partial(c, route, &done));
        if (done)
            return HP_OK;
        HP_TRY(cut_partial(c, start, &done));
        goes_on = false;
    } else if (c->last != HP_NO_ID) {
        goes_on = hp_cursor_follows(c, start);
        if (!goes_on || runs_again(c, route, cause))
            HP_TRY(cut_last(c, start, &done));
    }
    if (done)
        return continue_partial(c, route, &done);
    if (!goes_on)
        HP_TRY(discontinuity(c));
    return hp_cursor_accept(c, route);
}

enum hp_err hp_cursor_cut_word(struct hp_cursor *c, uint32_t insns)
{
    uint32_t node, block;
    int64_t keep = (int64_t)insns + (c->partial != HP_NO_ID || c->joined ? c->head : 0);
    insns = keep > 0 ? (uint32_t)keep : 0;
    if (c->partial != HP_NO_ID) {
        if (insns >= c->code->nodes[c->partial].insns)
            return HP_OK;
        HP_TRY(hp_code_close_node(c->code, c->partial, &block));
        HP_TRY(hp_code_prefix_insns(c->code, block, insns, &c->partial));
        return trim_addresses(c);
    }
    if (c->last == HP_NO_ID)
        return HP_OK;
    block = c->last;
    if (insns >= c->code->blocks[block].insns)
        return HP_OK;
    HP_TRY(hp_code_prefix_insns(c->code, block, insns, &node));
    hp_cursor_flush(c);
    hp_cursor_set_last(c, HP_NO_ID);
    c->partial = node;
    c->head = 0;
    return trim_addresses(c);
}
