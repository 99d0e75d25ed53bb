// SPDX-License-Identifier: MIT
#include "machine/history.h"

#include <math.h>
#include <string.h>

#define SEED   2463534242u
#define STRIDE 8 /* bits gathered at once */

uint64_t hp_tagged_length(const struct hp_tage_config *config, unsigned table)
{
    if (config->tables == 1)
        return config->shortest;
    double ratio = (double)config->longest / (double)config->shortest;
    double exponent = (double)table / (double)(config->tables - 1);
    return (uint64_t)((double)config->shortest * pow(ratio, exponent) + 0.5);
}

static void set_fold(struct hp_fold *fold, const struct hp_tagged *tagged, uint32_t width)
{
    fold->width = width;
    for (unsigned i = 0; i < tagged->tables; i++)
        fold->out[i / HP_LANES][i % HP_LANES] = 1u << tagged->lengths[i] % width;
}

void hp_tagged_init(struct hp_tagged *tagged, const struct hp_tage_config *config)
{
    *tagged = (struct hp_tagged){.tables = (unsigned)config->tables,
                                 .index_bits = (unsigned)__builtin_ctzll(config->entries),
                                 .tag_bits = (unsigned)config->tag,
                                 .random = SEED};
    tagged->groups = (tagged->tables + HP_LANES - 1) / HP_LANES;
    for (unsigned i = 0; i < tagged->tables; i++) {
        tagged->lengths[i] = (uint32_t)hp_tagged_length(config, i);
        tagged->row[i / HP_LANES][i % HP_LANES] = (uint32_t)(i * config->entries);
    }
    set_fold(&tagged->index, tagged, tagged->index_bits);
    set_fold(&tagged->tag1, tagged, tagged->tag_bits);
    set_fold(&tagged->tag2, tagged, tagged->tag_bits - 1);
    unsigned narrowest =
        tagged->index_bits < tagged->tag_bits - 1 ? tagged->index_bits : tagged->tag_bits - 1;
    tagged->stride = narrowest < STRIDE ? narrowest : STRIDE;
    tagged->history.at = HP_HISTORY_ROOM_ - HP_HISTORY_MAX - STRIDE;
}

/* --- Following the history -------------------------------------------------------------------- */

/* Eight bits of the history from the one at `bits` on, the first in bit 0: the product has byte i in bit 56 + i, and what
 * else it has is below. */
static uint32_t gather(const uint8_t *bits)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; i++) /* one load on a little-endian machine */
        bytes |= (uint64_t)bits[i] << 8 * i;
    return (uint32_t)(bytes * 0x0102040810204080u >> 56);
}

/* A single bit comes: what goes out is all ones or 0. */
static void follow_one(struct hp_fold *fold, unsigned groups, uint32_t in, const hp_lanes *out)
{
    const uint32_t width = fold->width, mask = (1u << width) - 1;
    for (unsigned i = 0; i < groups; i++) {
        hp_lanes value = (fold->value[i] << 1 | in) ^ (out[i] & fold->out[i]);
        fold->value[i] = (value ^ value >> width) & mask;
    }
}

static void follow(struct hp_fold *fold, unsigned groups, unsigned bits, uint32_t in,
                   const hp_lanes *out)
{
    const uint32_t width = fold->width, mask = (1u << width) - 1;
    for (unsigned i = 0; i < groups; i++) {
        hp_lanes value = (fold->value[i] << bits | in) ^ out[i] * fold->out[i];
        fold->value[i] = (value ^ value >> width) & mask;
    }
}

/* The folds see the bit at `latest` come. */
static void fold_one(struct hp_tagged *tagged, const uint8_t *latest)
{
    hp_lanes out[HP_GROUPS];
    const uint32_t *lengths = tagged->lengths;
    for (unsigned i = 0; i < tagged->groups; i++, lengths += HP_LANES)
        out[i] = -(hp_lanes){latest[lengths[0]], latest[lengths[1]], latest[lengths[2]],
                             latest[lengths[3]]};
    follow_one(&tagged->index, tagged->groups, *latest, out);
    follow_one(&tagged->tag1, tagged->groups, *latest, out);
    follow_one(&tagged->tag2, tagged->groups, *latest, out);
}

/* The same for `bits` of them, at most `stride`, the last of which is `latest`. */
static void fold_some(struct hp_tagged *tagged, const uint8_t *latest, unsigned bits)
{
    hp_lanes out[HP_GROUPS];
    const uint32_t *lengths = tagged->lengths;
    const uint32_t mask = (1u << bits) - 1, in = gather(latest) & mask;
    for (unsigned i = 0; i < tagged->groups; i++, lengths += HP_LANES)
        out[i] = (hp_lanes){gather(latest + lengths[0]), gather(latest + lengths[1]),
                            gather(latest + lengths[2]), gather(latest + lengths[3])} &
                 mask;
    follow(&tagged->index, tagged->groups, bits, in, out);
    follow(&tagged->tag1, tagged->groups, bits, in, out);
    follow(&tagged->tag2, tagged->groups, bits, in, out);
}

static void catch_up(struct hp_tagged *tagged)
{
    const uint8_t *latest = tagged->history.bits + tagged->history.at;
    uint32_t pending = tagged->history.pending;
    while (pending > 1) {
        unsigned bits = pending < tagged->stride ? pending : tagged->stride;
        pending -= bits;
        fold_some(tagged, latest + pending, bits);
    }
    if (pending)
        fold_one(tagged, latest);
    tagged->history.pending = 0;
}

/* Keeps as much as the longest history sees, and what is gathered with its last bits. */
void hp_tagged_make_room(struct hp_tagged *tagged)
{
    struct hp_history *history = &tagged->history;
    catch_up(tagged);
    history->at = HP_HISTORY_ROOM_ - HP_HISTORY_MAX - STRIDE;
    memmove(history->bits + history->at, history->bits, HP_HISTORY_MAX + STRIDE);
}

void hp_tagged_find(struct hp_tagged *tagged, uint64_t pc)
{
    if (tagged->history.pending)
        catch_up(tagged);
    const uint32_t spread = (uint32_t)(pc ^ pc >> tagged->index_bits), low = (uint32_t)pc;
    const uint32_t index_mask = (1u << tagged->index_bits) - 1;
    const uint32_t tag_mask = (1u << tagged->tag_bits) - 1;
    for (unsigned i = 0; i < tagged->groups; i++) {
        tagged->at[i] = ((tagged->index.value[i] ^ spread) & index_mask) + tagged->row[i];
        tagged->tag[i] = (tagged->tag1.value[i] ^ tagged->tag2.value[i] << 1 ^ low) & tag_mask;
    }
}

uint32_t hp_tagged_random(struct hp_tagged *tagged)
{
    uint32_t x = tagged->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    tagged->random = x;
    return x >> 31;
}
