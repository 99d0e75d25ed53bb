// SPDX-License-Identifier: MIT
/*
 * Feeding: blocks and their addresses are kept in two rings until they have retired.
 */
#include "machine/pipe/pipe_impl.h"
#include "machine/pipe/power.h"

#include <stdlib.h>

/* --- Addresses -------------------------------------------------------------------------------- */

static enum hp_err make_room(struct hp_pipe *p, size_t n)
{
    size_t cap = p->cap_addresses;
    size_t need = (size_t)(p->addresses_tail - p->addresses_head) + n;
    if (need <= cap)
        return HP_OK;
    while (cap < need)
        cap *= 2;
    uint64_t *addresses = malloc(cap * sizeof *addresses);
    if (!addresses)
        return hp_fail_nomem();
    for (uint64_t i = p->addresses_head; i != p->addresses_tail; i++)
        addresses[i & (cap - 1)] = p->addresses[i & (p->cap_addresses - 1)];
    free(p->addresses);
    p->addresses = addresses;
    p->cap_addresses = cap;
    return HP_OK;
}

static enum hp_err keep_addresses(struct hp_pipe *p, struct pipe_fed *fed,
                                  const uint64_t *addresses, size_t n)
{
    fed->addresses = p->addresses_tail;
    if (!addresses)
        return HP_OK;
    if (n > UINT32_MAX)
        return hp_fail(HP_ERR_INVALID, "a block with %zu addresses", n);
    HP_TRY(make_room(p, n));
    for (size_t i = 0; i < n; i++)
        p->addresses[p->addresses_tail++ & (p->cap_addresses - 1)] = addresses[i];
    fed->n_addresses = (uint32_t)n;
    fed->flags |= FED_ADDRESSES;
    return HP_OK;
}

/* --- Blocks ----------------------------------------------------------------------------------- */

/* The core counts a block when it retires: it must be known by then. */
static enum hp_err know_block(struct hp_pipe *p, uint32_t block)
{
    struct hp_blocks *blocks = &p->core->blocks;
    if (block < blocks->cap_infos && blocks->infos[block].flags & HP_INFO_KNOWN)
        return HP_OK;
    return hp_blocks_add(blocks, hp_program_code(p->program), block);
}

/* A block's ring entry, with what batches and tails have in common filled in. */
static enum hp_err add_block(struct hp_pipe *p, uint32_t block, struct pipe_fed **added)
{
    uint32_t piece;
    if (p->fed_tail - p->fed_head > p->fed_mask)
        return hp_fail(HP_ERR_INTERNAL, "the pipe holds %u blocks, and cannot retire one",
                       p->fed_mask + 1);
    HP_TRY(hp_program_block(p->program, block, &piece));
    HP_TRY(know_block(p, block));
    struct pipe_fed *fed = fed_at(p, p->fed_tail);
    const struct hp_piece *known = hp_program_piece(p->program, piece);
    *fed = (struct pipe_fed){
        .before = p->fed_insns, .piece = piece, .first = known->first, .n = known->n};
    if (p->measured)
        fed->flags |= FED_MEASURED;
    if (p->break_next)
        fed->flags |= FED_BREAK;
    fed->delay = p->delay_next;
    *added = fed;
    return HP_OK;
}

static void added(struct hp_pipe *p, const struct pipe_fed *fed)
{
    p->fed_tail++;
    p->fed_insns += fed->n;
    p->break_next = false;
    p->delay_next = 0;
}

static enum hp_err feed_block(struct hp_pipe *p, const struct hp_batch *batch, size_t i,
                              uint16_t cost)
{
    struct pipe_fed *fed;
    const uint64_t *addresses = NULL;
    size_t n = 0;
    HP_TRY(add_block(p, batch->blocks[i], &fed));
    if (batch->addresses) {
        addresses = batch->addresses + batch->address_at[i];
        n = batch->address_at[i + 1] - batch->address_at[i];
    }
    HP_TRY(keep_addresses(p, fed, addresses, n));
    fed->next = batch->table[batch->blocks[i + 1]].start;
    fed->cost = cost;
    if (batch->taken[i])
        fed->flags |= FED_TAKEN;
    added(p, fed);
    return HP_OK;
}

enum hp_err hp_pipe_feed(struct hp_pipe *p, const struct hp_batch *batch, const uint16_t *costs,
                         size_t first, size_t n)
{
    for (size_t i = first; i < first + n; i++)
        HP_TRY(feed_block(p, batch, i, costs ? costs[i] : 0));
    return hp_pipe_refresh(p);
}

enum hp_err hp_pipe_feed_tail(struct hp_pipe *p, const struct hp_event *tail)
{
    struct pipe_fed *fed;
    if (tail->insns == 0)
        return HP_OK;
    HP_TRY(add_block(p, tail->block, &fed));
    HP_TRY(keep_addresses(p, fed, tail->addresses, tail->n_addresses));
    fed->flags |= FED_TAIL;
    if (tail->insns < fed->n)
        fed->n = tail->insns;
    added(p, fed);
    return hp_pipe_refresh(p);
}

/* --- Retired ---------------------------------------------------------------------------------- */

static void count_block(struct hp_pipe *p, const struct pipe_fed *fed,
                        const struct hp_block_info *info)
{
    struct hp_core *core = p->core;
    hp_core_count(core, info, fed->flags & FED_ADDRESSES, &p->events);
    core->n_blocks++;
}

void hp_pipe_block_retired(struct hp_pipe *p)
{
    const struct pipe_fed *fed = fed_at(p, p->fed_head);
    const struct hp_piece *piece = hp_program_piece(p->program, fed->piece);
    struct hp_blocks *blocks = &p->core->blocks;
    if (fed->n == piece->n) {
        count_block(p, fed, &blocks->infos[piece->block]);
    } else {
        struct hp_block_info part;
        enum hp_err err =
            hp_blocks_part(blocks, hp_program_code(p->program), piece->block, fed->n, &part);
        if (err != HP_OK) {
            p->error = err;
        } else {
            blocks->n_steps = part.steps;
            count_block(p, fed, &part);
        }
    }
    if (p->power)
        hp_pipe_power_block(p, piece->block, fed);
    p->addresses_head = fed->addresses + fed->n_addresses;
    p->fed_head++;
}
