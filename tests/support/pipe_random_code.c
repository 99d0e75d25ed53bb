// SPDX-License-Identifier: MIT
#include "pipe_random.h"
#include "pipe_random_insns.h"

#include <stdlib.h>
#include <string.h>

#define INSNS_MAX 12 /* of a block */
#define CODE      0x401000u

/* --- Code ------------------------------------------------------------------------------------- */

/* A block during the layout of the code. */
struct layout {
    uint64_t start, last;
    uint8_t bytes[160];
    uint32_t size, second; /* second: where its second instruction begins */
    enum end end;
};

static void add_bytes(struct layout *b, struct bytes bytes)
{
    memcpy(b->bytes + b->size, bytes.byte, bytes.n);
    b->size += bytes.n;
}

static void fill(uint64_t *seed, const struct arch *arch, struct layout *b)
{
    uint32_t n = pipe_random(seed, INSNS_MAX);
    b->size = 0;
    for (uint32_t i = 0; i < n; i++) {
        add_bytes(b, arch->straight[pipe_random(seed, arch->n)]);
        if (i == 0)
            b->second = b->size;
    }
    if (n < 2)
        b->second = 0;
    b->last = b->start + b->size;
    /* Most blocks end with conditional branches. */
    b->end = pipe_random(seed, 2) ? END_COND : (enum end)pipe_random(seed, ENDS);
    add_bytes(b, random_end(arch->arch, b->end, pipe_random(seed, 6)));
}

/* Adds the part of a block from `skip` on as the i-th block. */
static void add_block(struct random_code *c, uint32_t module, uint32_t i, const struct layout *b,
                      uint32_t skip)
{
    struct hp_segment segment = {.start = b->start + skip,
                                 .module = module,
                                 .size = b->size - skip,
                                 .bytes = b->bytes + skip};
    if (hp_code_add_segment(c->code, i + 1, &segment) != HP_OK) {
        fprintf(stderr, "pipe_random: %s\n", hp_error_text());
        abort();
    }
    /* Equal code is the same block. */
    c->ids[i] = HP_NO_ID;
    for (uint32_t k = hp_code_n_blocks(c->code); k-- > 0 && c->ids[i] == HP_NO_ID;)
        if (hp_code_block(c->code, k)->start == segment.start)
            c->ids[i] = k;
}

/* Sets the target of a direct transfer. */
static void aim(const struct arch *arch, struct layout *b, uint64_t target)
{
    if (is_direct(b->end))
        random_end_lead(arch->arch, b->end, b->bytes + (b->last - b->start),
                        (uint32_t)(b->start + b->size - b->last), (int32_t)(target - b->last));
}

void pipe_random_code(uint64_t *seed, struct random_code *c)
{
    static const struct hp_module anonymous = {
        .path = "[anon]", .build_id = "", .high = UINT64_MAX};
    const struct arch *arch = &random_archs[pipe_random(seed, RANDOM_ARCHS)];
    struct layout *blocks = calloc(RANDOM_BLOCKS, sizeof *blocks);
    uint32_t n = 1 + pipe_random(seed, RANDOM_BLOCKS / 2), module;
    uint64_t at = CODE;
    *c = (struct random_code){.n = n};
    if (!blocks || hp_code_new(arch->arch, &c->code) != HP_OK ||
        hp_code_add_module(c->code, &anonymous, &module) != HP_OK)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        blocks[i].start = at;
        fill(seed, arch, &blocks[i]);
        at += blocks[i].size;
        c->behind[i] = i + 1 < n ? i + 1 : HP_NO_ID;
        /* Occasionally there is a gap, and the next block is far away. */
        if (pipe_random(seed, 12) == 0) {
            at += 4 * pipe_random(seed, 600);
            c->behind[i] = HP_NO_ID;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        c->target[i] = pipe_random(seed, n);
        aim(arch, &blocks[i], blocks[c->target[i]].start);
        add_block(c, module, i, &blocks[i], 0);
    }
    /* Some are entered in the middle, too; some are replaced by other code at times. */
    for (uint32_t i = 0; i < n && c->n < RANDOM_BLOCKS; i++) {
        uint32_t what = pipe_random(seed, 8);
        c->behind[c->n] = c->behind[i];
        c->target[c->n] = c->target[i];
        if (what == 0) {
            fill(seed, arch, &blocks[i]);
            aim(arch, &blocks[i], blocks[c->target[i]].start);
            c->behind[c->n] = HP_NO_ID;
            add_block(c, module, c->n++, &blocks[i], 0);
        } else if (what < 4 && blocks[i].second) {
            add_block(c, module, c->n++, &blocks[i], blocks[i].second);
        }
    }
    free(blocks);
}

/* --- The walk --------------------------------------------------------------------------------- */

#define WALK_MAX  400 /* blocks of a batch */
#define CALLS_MAX 16

struct walk {
    uint64_t *seed;
    const struct random_code *code;
    uint32_t at, calls[CALLS_MAX], n_calls;
    uint64_t recent; /* address */
    /* A batch. */
    uint32_t blocks[WALK_MAX + 1], address_at[WALK_MAX + 1];
    uint8_t taken[WALK_MAX];
    uint16_t costs[WALK_MAX];
    uint64_t addresses[WALK_MAX * INSNS_MAX * 3];
    size_t n;
};

/* An address that was used recently, or one of a pool. */
static uint64_t random_address(uint64_t *seed, uint64_t *recent)
{
    static const uint64_t bases[] = {0x7000, 0x7008, 0x7010, 0x70f8,         0x7ff8,         0x8000,
                                     0x9000, 0x9100, 0,      0x123456789000, UINT64_MAX - 20};
    if (pipe_random(seed, 2))
        *recent = bases[pipe_random(seed, pipe_random(seed, 4) ? 4 : 11)] +
                  (pipe_random(seed, 3) ? 0 : pipe_random(seed, 16));
    return *recent;
}

static void add_addresses(struct walk *w)
{
    const struct hp_insn *insns;
    const struct hp_block *block = hp_code_block(w->code->code, w->code->ids[w->at]);
    if (hp_code_insns(w->code->code, w->code->ids[w->at], &insns) != HP_OK)
        abort();
    w->address_at[w->n + 1] = w->address_at[w->n];
    for (uint32_t i = 0; i < block->insns; i++)
        for (uint32_t k = 0; k < insns[i].n_mems; k++)
            w->addresses[w->address_at[w->n + 1]++] = random_address(w->seed, &w->recent);
}

static uint32_t anywhere(struct walk *w)
{
    return pipe_random(w->seed, w->code->n);
}

/* The target of a return: usually the last call. */
static uint32_t returned_to(struct walk *w)
{
    if (w->n_calls == 0 || pipe_random(w->seed, 8) == 0)
        return anywhere(w);
    return w->calls[--w->n_calls];
}

/* Leaves the current block. Indirect transfers go to few places. HP_NO_ID: no successor. */
static uint32_t leave(struct walk *w, const struct hp_block *block, uint8_t *taken)
{
    const struct random_code *c = w->code;
    uint32_t behind = c->behind[w->at];
    *taken = 1;
    if (block->flags & HP_BLOCK_CONDITIONAL && block->flow != HP_FLOW_COND && behind != HP_NO_ID &&
        pipe_random(w->seed, 2)) {
        *taken = 0;
        return behind;
    }
    switch ((enum hp_flow)block->flow) {
    case HP_FLOW_COND:
        *taken = behind == HP_NO_ID || pipe_random(w->seed, 2 + w->at % 3) == 0;
        return *taken ? c->target[w->at] : behind;
    case HP_FLOW_JUMP: return c->target[w->at];
    case HP_FLOW_RETURN: return returned_to(w);
    case HP_FLOW_JUMP_IND: return (w->at + pipe_random(w->seed, 2)) % c->n;
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
        if (behind != HP_NO_ID && w->n_calls < CALLS_MAX)
            w->calls[w->n_calls++] = behind;
        return block->flow == HP_FLOW_CALL ? c->target[w->at]
                                           : (w->at + pipe_random(w->seed, 3)) % c->n;
    default: *taken = 0; return behind;
    }
}

/* Fills a batch of `n` blocks, or fewer if there is no successor. The walk is then at its last
 * successor. */
static void walk(struct walk *w, size_t n, bool costs)
{
    w->n = 0;
    w->address_at[0] = 0;
    w->blocks[0] = w->code->ids[w->at];
    while (w->n < n) {
        const struct hp_block *block = hp_code_block(w->code->code, w->code->ids[w->at]);
        uint8_t taken;
        uint32_t next = leave(w, block, &taken);
        if (next == HP_NO_ID)
            return;
        add_addresses(w);
        w->taken[w->n] = taken;
        w->costs[w->n] =
            (uint16_t)(costs && pipe_random(w->seed, 2) ? pipe_random(w->seed, 12) : 0);
        w->blocks[++w->n] = w->code->ids[next];
        w->at = next;
    }
}

static void feed_tail(struct walk *w, struct pipe_feed *feed)
{
    w->n = 0;
    w->address_at[0] = 0;
    add_addresses(w);
    struct hp_event tail = {.kind = HP_EVENT_TAIL, .block = w->code->ids[w->at], .exact = true};
    uint32_t insns = hp_code_block(w->code->code, tail.block)->insns;
    const struct hp_insn *insn;
    tail.insns = pipe_random(w->seed, 3) ? insns : 1 + pipe_random(w->seed, insns);
    if (hp_code_insns(w->code->code, tail.block, &insn) != HP_OK)
        abort();
    for (uint32_t i = 0; i < tail.insns; i++)
        tail.n_addresses += insn[i].n_mems;
    if (pipe_random(w->seed, 8))
        tail.addresses = w->addresses;
    else
        tail.n_addresses = 0;
    pipe_feed_tail(feed, &tail);
}

/* Optionally runs the functional model on the core for a while. */
static void drain(struct walk *w, struct pipe_feed *feed)
{
    size_t n = w->n;
    if (pipe_random(w->seed, 2)) {
        pipe_feed_drain(feed);
        return;
    }
    walk(w, 1 + pipe_random(w->seed, 30), false);
    struct hp_batch batch = {.code = w->code->code,
                             .table = hp_code_blocks(w->code->code),
                             .blocks = w->blocks,
                             .taken = w->taken,
                             .n = w->n,
                             .addresses = w->addresses,
                             .address_at = w->address_at};
    if (w->n)
        pipe_feed_functional(feed, &batch);
    w->n = n;
}

void pipe_random_walk(uint64_t *seed, const struct random_code *code, size_t blocks, bool costs,
                      struct pipe_feed *feed)
{
    struct walk *w = calloc(1, sizeof *w);
    bool measured = true;
    if (!w)
        abort();
    w->seed = seed;
    w->code = code;
    for (size_t n = 0; n < blocks; n += w->n + 1) {
        size_t some = 1 + pipe_random(seed, pipe_random(seed, 4) ? WALK_MAX : 20);
        walk(w, some < blocks - n ? some : blocks - n, costs);
        bool addresses = pipe_random(seed, 10);
        struct hp_batch batch = {.code = code->code,
                                 .table = hp_code_blocks(code->code),
                                 .blocks = w->blocks,
                                 .taken = w->taken,
                                 .n = w->n,
                                 .addresses = addresses ? w->addresses : NULL,
                                 .address_at = addresses ? w->address_at : NULL};
        if (w->n)
            pipe_feed_batch(feed, &batch, w->costs);
        bool stuck = w->n < some && w->n < blocks - n;
        uint32_t what = pipe_random(seed, 7);
        if (stuck || what == 0)
            feed_tail(w, feed);
        else if (what == 1)
            pipe_feed_break(feed);
        else if (what == 2)
            drain(w, feed);
        else if (what == 3)
            pipe_feed_measure(feed, measured = !measured);
        else if (what == 4)
            pipe_feed_interrupt(feed, pipe_random(seed, 3) ? pipe_random(seed, 50) : 3000);
        if (stuck || what <= 2)
            w->at = anywhere(w);
    }
    free(w);
}
