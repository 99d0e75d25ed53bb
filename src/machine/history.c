// SPDX-License-Identifier: MIT
#include "machine/history.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define SEED   2463534242u
#define STRIDE 8 /* bits gathered at once */
#define FEW    3 /* fewer bits are folded one by one */

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
        fold->out.of[i] = 1u << tagged->lengths[i] % width;
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
        tagged->row.of[i] = (uint32_t)(i * config->entries);
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

/* Eight bits of the history from the one at `bits` on, the first in bit 0: the product has byte i
 * in bit 56 + i, and what else it has is below. */
static uint32_t gather(const uint8_t *bits)
{
    uint64_t bytes;
    memcpy(&bytes, bits, sizeof bytes);
    return (uint32_t)(le64toh(bytes) * 0x0102040810204080u >> 56);
}

/* The updated fold; `out` is already shifted into place. */
static inline hp_lanes followed(hp_lanes value, unsigned bits, uint32_t in, hp_lanes out,
                                uint32_t width)
{
    value = (value << bits | in) ^ out;
    return (value ^ value >> width) & ((1u << width) - 1);
}

/* Folds in the bit at `latest`. The outgoing bit is all ones or 0 in each lane. */
static void fold_one(struct hp_tagged *tagged, const uint8_t *latest)
{
    struct hp_fold *index = &tagged->index, *tag1 = &tagged->tag1, *tag2 = &tagged->tag2;
    const uint32_t *lengths = tagged->lengths;
    const uint32_t in = *latest, w = index->width, w1 = tag1->width, w2 = tag2->width;
    for (unsigned i = 0; i < tagged->groups; i++, lengths += HP_LANES) {
        hp_lanes out = -(hp_lanes){latest[lengths[0]], latest[lengths[1]], latest[lengths[2]],
                                   latest[lengths[3]]};
        index->value.group[i] =
            followed(index->value.group[i], 1, in, out & index->out.group[i], w);
        tag1->value.group[i] = followed(tag1->value.group[i], 1, in, out & tag1->out.group[i], w1);
        tag2->value.group[i] = followed(tag2->value.group[i], 1, in, out & tag2->out.group[i], w2);
    }
}

/* The same for `bits` of them, at most `stride`, the last of which is `latest`. */
static void fold_some(struct hp_tagged *tagged, const uint8_t *latest, unsigned bits)
{
    struct hp_fold *index = &tagged->index, *tag1 = &tagged->tag1, *tag2 = &tagged->tag2;
    const uint32_t *lengths = tagged->lengths;
    const uint32_t mask = (1u << bits) - 1, in = gather(latest) & mask;
    for (unsigned i = 0; i < tagged->groups; i++, lengths += HP_LANES) {
        hp_lanes out = (hp_lanes){gather(latest + lengths[0]), gather(latest + lengths[1]),
                                  gather(latest + lengths[2]), gather(latest + lengths[3])} &
                       mask;
        index->value.group[i] =
            followed(index->value.group[i], bits, in, out * index->out.group[i], index->width);
        tag1->value.group[i] =
            followed(tag1->value.group[i], bits, in, out * tag1->out.group[i], tag1->width);
        tag2->value.group[i] =
            followed(tag2->value.group[i], bits, in, out * tag2->out.group[i], tag2->width);
    }
}

static void catch_up(struct hp_tagged *tagged)
{
    const uint8_t *latest = tagged->history.bits + tagged->history.at;
    uint32_t pending = tagged->history.pending;
    while (pending >= FEW) {
        unsigned bits = pending < tagged->stride ? pending : tagged->stride;
        pending -= bits;
        fold_some(tagged, latest + pending, bits);
    }
    while (pending)
        fold_one(tagged, latest + --pending);
    tagged->history.pending = 0;
}

/* Keeps the longest history, and the bits gathered together with its last ones. */
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
        tagged->at.group[i] =
            ((tagged->index.value.group[i] ^ spread) & index_mask) + tagged->row.group[i];
        tagged->tag.group[i] =
            (tagged->tag1.value.group[i] ^ tagged->tag2.value.group[i] << 1 ^ low) & tag_mask;
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
