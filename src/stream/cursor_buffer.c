// SPDX-License-Identifier: MIT
/* What the cursor holds until it is delivered, and what happens to it when nothing follows. */
#include "stream/cursor_impl.h"

#include <string.h>

void hp_cursor_set_last(struct hp_cursor *c, uint32_t block)
{
    c->last = block;
    c->count = block != HP_NO_ID;
    c->n_blocks = 0;
    if (c->count && c->by_steps)
        c->steps[0] = (struct hp_step){.unit = c->code->unit_of[block], .first = block};
    else if (c->count)
        c->blocks[0] = block;
}

static uint32_t last_of_unit(const struct hp_code *code, uint32_t unit)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(code, unit, &n);
    return blocks[n - 1];
}

uint32_t hp_cursor_before_last(const struct hp_cursor *c)
{
    if (c->count < 2)
        return c->before;
    if (!c->by_steps)
        return c->blocks[c->count - 2];
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(c->code, c->steps[c->count - 1].unit, &n);
    return n > 1 ? blocks[n - 2] : last_of_unit(c->code, c->steps[c->count - 2].unit);
}

static void deliver(struct hp_cursor *c)
{
    if (c->by_steps) {
        struct hp_steps steps = {.code = c->code, .steps = c->steps, .n = c->count - 1};
        c->sink->steps(c->sink, &steps);
        return;
    }
    struct hp_batch batch = {
        .code = c->code,
        .table = c->code->blocks,
        .blocks = c->blocks,
        .taken = c->taken,
        .n = c->count - 1,
    };
    if (c->pairing && !c->pairing->mismatch) {
        batch.addresses = c->pairing->held + c->pairing->base;
        batch.address_at = c->pairing->at;
    }
    c->sink->batch(c->sink, &batch);
}

void hp_cursor_flush(struct hp_cursor *c)
{
    if (c->count < 2)
        return;
    c->stats.blocks += c->n_blocks;
    deliver(c);
    if (c->pairing)
        hp_pairing_deliver(c->pairing, c->count);
    c->before = hp_cursor_before_last(c);
    hp_cursor_set_last(c, c->last);
}

void hp_cursor_emit(struct hp_cursor *c, enum hp_event_kind kind, uint64_t value, bool exact)
{
    struct hp_event event = {.kind = kind, .value = value, .block = HP_NO_ID, .exact = exact};
    hp_cursor_flush(c);
    c->sink->event(c->sink, &event);
}

/* Its addresses are held at `at`. */
static void emit_tail(struct hp_cursor *c, uint32_t block, bool exact, size_t at, size_t n)
{
    struct hp_event event = {.kind = HP_EVENT_TAIL,
                             .block = block,
                             .insns = c->code->blocks[block].insns,
                             .exact = exact};
    if (c->pairing && !c->pairing->mismatch) {
        event.addresses = c->pairing->held + at;
        event.n_addresses = n;
    }
    c->stats.blocks++;
    c->stats.instructions += event.insns;
    if (!exact)
        c->stats.cuts++;
    c->sink->event(c->sink, &event);
}

/* The last block has all addresses held after the previous block's. */
static void end_addresses(struct hp_cursor *c)
{
    c->pairing->at[c->count] = hp_pairing_n_held(c->pairing);
}

void hp_cursor_append(struct hp_cursor *c, uint32_t block)
{
    if (c->last == HP_NO_ID) {
        hp_cursor_set_last(c, block);
        if (c->pairing)
            end_addresses(c);
        return;
    }
    const struct hp_hot *from = &c->code->hot[c->last];
    c->stats.instructions += from->insns;
    if (c->by_steps) {
        c->steps[c->count++] = (struct hp_step){.unit = c->code->unit_of[block], .first = block};
    } else {
        c->taken[c->count - 1] = c->code->hot[block].start != from->fall;
        c->blocks[c->count++] = block;
    }
    c->last = block;
    c->n_blocks++;
    if (c->pairing)
        end_addresses(c);
    if (c->count == c->room)
        hp_cursor_flush(c);
}

/* --- Giving up -------------------------------------------------------------------------------- */

enum hp_err hp_cursor_drop_pending(struct hp_cursor *c, bool exact)
{
    uint32_t block;
    if (c->partial != HP_NO_ID && c->code->nodes[c->partial].insns > 0) {
        HP_TRY(hp_code_close_node(c->code, c->partial, &block));
        hp_cursor_append(c, block);
    }
    c->partial = HP_NO_ID;
    hp_cursor_flush(c);
    if (c->last != HP_NO_ID)
        emit_tail(c, c->last, exact || c->code->blocks[c->last].flow == HP_FLOW_SYSCALL,
                  c->pairing ? c->pairing->base : 0, c->pairing ? c->pairing->at[1] : 0);
    hp_cursor_set_last(c, HP_NO_ID);
    c->before = HP_NO_ID;
    if (c->pairing)
        hp_pairing_clear(c->pairing);
    return HP_OK;
}

/* Drops a context that nothing will return to; its addresses end at `end`. */
static enum hp_err drop_context(struct hp_cursor *c, const struct hp_cursor_context *context,
                                size_t end)
{
    bool exact = context->cause == HP_CAUSE_OUTSIDE;
    size_t split = context->held + context->split;
    if (context->block != HP_NO_ID)
        emit_tail(c, context->block,
                  exact || context->partial != HP_NO_ID ||
                      c->code->blocks[context->block].flow == HP_FLOW_SYSCALL,
                  context->held, context->split);
    uint32_t block;
    if (context->partial != HP_NO_ID && c->code->nodes[context->partial].insns > 0) {
        HP_TRY(hp_code_close_node(c->code, context->partial, &block));
        emit_tail(c, block, exact, split, end - split);
    }
    return HP_OK;
}

/* The same for the innermost one, when nothing is pending. */
enum hp_err hp_cursor_drop_last_context(struct hp_cursor *c)
{
    const struct hp_cursor_context *context = &c->contexts[--c->n_contexts];
    HP_TRY(drop_context(c, context, c->pairing ? c->pairing->base : 0));
    if (c->pairing) {
        c->pairing->base = context->held;
        hp_pairing_clear(c->pairing);
    }
    return HP_OK;
}

/* The same for the outermost, to make room for another. */
enum hp_err hp_cursor_drop_first_context(struct hp_cursor *c)
{
    size_t end = c->contexts[1].held;
    HP_TRY(drop_context(c, &c->contexts[0], end));
    memmove(&c->contexts[0], &c->contexts[1], (HP_CURSOR_CONTEXTS - 1) * sizeof *c->contexts);
    c->n_contexts--;
    if (c->pairing)
        hp_pairing_remove(c->pairing, 0, end);
    for (size_t i = 0; i < c->n_contexts; i++)
        c->contexts[i].held -= end;
    return HP_OK;
}

enum hp_err hp_cursor_lose(struct hp_cursor *c, enum hp_lost_reason reason)
{
    c->stats.losses++;
    HP_TRY(hp_cursor_drop_pending(c, false));
    while (c->n_contexts)
        HP_TRY(hp_cursor_drop_last_context(c));
    c->sigreturn = false;
    c->counting = false;
    hp_cursor_emit(c, HP_EVENT_LOST, reason, true);
    return HP_OK;
}
