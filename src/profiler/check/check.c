// SPDX-License-Identifier: MIT
#include "profiler/check/check.h"

#include "base/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 65536 /* open calls remembered; deeper ones push out the oldest */

struct check {
    struct hp_profiler base; /* first */
    struct hp_code *code;
    struct hp_decoder *decoder;
    uint32_t checked_blocks;
    struct thread **threads;
    size_t n_threads, cap_threads;
    struct hp_check_stats stats;
};

struct thread {
    struct check *check;
    uint32_t id;
    bool ended;
    uint32_t signals;  /* open */
    uint32_t expected; /* the block that the next batch must start with; HP_NO_ID: any */
    uint64_t *returns; /* addresses that open calls expect */
    size_t depth, cap;
};

static __attribute__((format(printf, 2, 3))) void violation(struct check *check, const char *format,
                                                            ...)
{
    if (check->stats.violations++ == 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(check->stats.first, sizeof check->stats.first, format, args);
        va_end(args);
    }
}

/* --- Blocks ----------------------------------------------------------------------------------- */

static void check_block(struct check *c, const struct hp_block *b)
{
    unsigned long long start = b->start;
    const uint8_t *bytes = hp_code_bytes(c->code, b);
    enum hp_isa_mode mode = b->flags & HP_BLOCK_THUMB ? HP_MODE_THUMB : HP_MODE_DEFAULT;
    struct hp_insn insn = {0};
    uint64_t at = b->start;
    uint32_t insns = 0;
    c->stats.blocks++;
    if (b->start > b->last || b->last >= b->end || b->insns == 0 || b->insns > HP_BLOCK_MAX_INSNS) {
        violation(c, "block at 0x%llx has impossible bounds", start);
        return;
    }
    while (at < b->end) {
        if (hp_decode(c->decoder, mode, at, bytes + (at - b->start), (size_t)(b->end - at), false,
                      &insn) != HP_OK)
            return; /* the program may use an instruction that we cannot decode */
        insns++;
        if (insn.flow != HP_FLOW_NONE && at != b->last)
            violation(c, "block at 0x%llx goes on behind the transfer at 0x%llx", start,
                      (unsigned long long)at);
        at += insn.length;
    }
    if (at != b->end || insns != b->insns || insn.address != b->last || insn.flow != b->flow ||
        insn.target != b->target)
        violation(c, "block at 0x%llx is not what its code says", start);
}

/* --- Transfers -------------------------------------------------------------------------------- */

static void note_call(struct thread *t, uint64_t address)
{
    t->check->stats.calls++;
    if (t->depth == MAX_DEPTH)
        t->depth = 0; /* counted as unmatched from here on, so that memory stays bounded */
    if (hp_grow(&t->returns, &t->cap, t->depth + 1, sizeof *t->returns) == HP_OK)
        t->returns[t->depth++] = address;
}

static void note_return(struct thread *t, uint64_t address)
{
    struct hp_check_stats *stats = &t->check->stats;
    stats->returns++;
    for (size_t n = t->depth; n > 0 && t->depth - n < 256; n--) {
        if (t->returns[n - 1] != address)
            continue;
        if (n == t->depth)
            stats->matched_returns++;
        else
            stats->unwinding_returns++;
        t->depth = n - 1;
        return;
    }
}

static void check_transfer(struct thread *t, const struct hp_block *a, const struct hp_block *b,
                           bool taken)
{
    struct check *c = t->check;
    bool fell = b->start == a->end;
    bool may_fall = a->flow == HP_FLOW_COND || a->flow == HP_FLOW_SYSCALL ||
                    a->flow == HP_FLOW_TRAP || a->flow == HP_FLOW_NONE ||
                    a->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB);
    bool direct = a->flow == HP_FLOW_JUMP || a->flow == HP_FLOW_COND || a->flow == HP_FLOW_CALL;
    bool computed =
        a->flow == HP_FLOW_JUMP_IND || a->flow == HP_FLOW_CALL_IND || a->flow == HP_FLOW_RETURN;
    c->stats.transfers++;
    if (!computed && !(direct && b->start == a->target) && !(may_fall && fell))
        violation(c, "thread %u: 0x%llx (%s) cannot go to 0x%llx", t->id,
                  (unsigned long long)a->last, hp_flow_name(a->flow), (unsigned long long)b->start);
    if (taken == (may_fall && fell))
        violation(c, "thread %u: the outcome of 0x%llx is wrong", t->id,
                  (unsigned long long)a->last);
    if (taken && (a->flow == HP_FLOW_CALL || a->flow == HP_FLOW_CALL_IND) && !fell)
        note_call(t, a->end);
    else if (taken && a->flow == HP_FLOW_RETURN)
        note_return(t, b->start);
}

static void on_batch(void *state, const struct hp_batch *batch)
{
    struct thread *t = state;
    struct check *c = t->check;
    for (; c->checked_blocks < hp_code_n_blocks(batch->code); c->checked_blocks++)
        check_block(c, &batch->table[c->checked_blocks]);
    if (t->ended)
        violation(c, "thread %u goes on after its end", t->id);
    if (t->expected != HP_NO_ID &&
        batch->table[batch->blocks[0]].start != batch->table[t->expected].start)
        violation(c, "thread %u: a batch does not continue the one before", t->id);
    for (size_t i = 0; i < batch->n; i++)
        check_transfer(t, &batch->table[batch->blocks[i]], &batch->table[batch->blocks[i + 1]],
                       batch->taken[i]);
    t->expected = batch->blocks[batch->n];
}

static void on_event(void *state, const struct hp_event *event)
{
    struct thread *t = state;
    struct hp_check_stats *stats = &t->check->stats;
    if (t->ended)
        violation(t->check, "thread %u goes on after its end", t->id);
    switch (event->kind) {
    case HP_EVENT_SIGNAL:
        stats->signals++;
        t->signals++;
        t->expected = HP_NO_ID;
        break;
    case HP_EVENT_SIGRETURN:
        if (t->signals == 0)
            violation(t->check, "thread %u: a signal return without a signal", t->id);
        else
            t->signals--;
        t->expected = HP_NO_ID;
        break;
    case HP_EVENT_TAIL:
        stats->cuts += !event->exact;
        t->expected = HP_NO_ID;
        break;
    case HP_EVENT_LOST:
        if (event->value == HP_LOST_ABORTED)
            stats->aborts++;
        else
            stats->losses++;
        t->expected = HP_NO_ID;
        break;
    case HP_EVENT_DISCONTINUITY:
        stats->discontinuities++;
        t->expected = HP_NO_ID;
        break;
    case HP_EVENT_COUNTING: t->expected = HP_NO_ID; break;
    case HP_EVENT_HANDED: t->expected = event->block; break;
    case HP_EVENT_END: t->ended = true; break;
    default: break;
    }
}

/* --- The profiler ----------------------------------------------------------------------------- */

static enum hp_err start_thread(struct hp_profiler *profiler, const struct hp_thread *info,
                                void **state)
{
    struct check *c = (struct check *)profiler;
    HP_TRY(hp_grow(&c->threads, &c->cap_threads, c->n_threads + 1, sizeof *c->threads));
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return hp_fail_nomem();
    thread->check = c;
    thread->id = info->id;
    thread->expected = HP_NO_ID;
    c->threads[c->n_threads++] = thread;
    *state = thread;
    return HP_OK;
}

/* The checker adds nothing to a profile. */
static enum hp_err finish(struct hp_profiler *profiler, struct hp_result *result)
{
    (void)profiler;
    (void)result;
    return HP_OK;
}

static void free_check(struct hp_profiler *profiler)
{
    struct check *c = (struct check *)profiler;
    for (size_t i = 0; i < c->n_threads; i++) {
        free(c->threads[i]->returns);
        free(c->threads[i]);
    }
    free(c->threads);
    hp_decoder_free(c->decoder);
    free(c);
}

static const struct hp_profiler_ops ops = {
    .name = "check",
    .start_thread = start_thread,
    .batch = on_batch,
    .event = on_event,
    .finish = finish,
    .free = free_check,
};

enum hp_err hp_check_new(struct hp_code *code, struct hp_profiler **profiler)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c)
        return hp_fail_nomem();
    c->base.ops = &ops;
    c->code = code;
    enum hp_err err = hp_decoder_new(hp_code_arch(code), &c->decoder);
    if (err != HP_OK) {
        free(c);
        return err;
    }
    *profiler = &c->base;
    return HP_OK;
}

const struct hp_check_stats *hp_check_stats(const struct hp_profiler *profiler)
{
    return &((const struct check *)profiler)->stats;
}
