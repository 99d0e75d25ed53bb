// SPDX-License-Identifier: MIT
#include "machine/history.h"

#include <math.h>

#define SEED 2463534242u

uint64_t hp_tagged_length(const struct hp_tage_config *config, unsigned table)
{
    if (config->tables == 1)
        return config->shortest;
    double ratio = (double)config->longest / (double)config->shortest;
    double exponent = (double)table / (double)(config->tables - 1);
    return (uint64_t)((double)config->shortest * pow(ratio, exponent) + 0.5);
}

void hp_tagged_init(struct hp_tagged *tagged, const struct hp_tage_config *config)
{
    *tagged = (struct hp_tagged){.tables = (unsigned)config->tables,
                                 .index_bits = (unsigned)__builtin_ctzll(config->entries),
                                 .tag_bits = (unsigned)config->tag,
                                 .random = SEED};
    for (unsigned i = 0; i < tagged->tables; i++) {
        uint64_t length = hp_tagged_length(config, i);
        tagged->views[i] = (struct hp_view){.length = (unsigned)length,
                                            .index = hp_fold_make(length, tagged->index_bits),
                                            .tag = hp_fold_make(length, tagged->tag_bits),
                                            .tag2 = hp_fold_make(length, tagged->tag_bits - 1)};
    }
}

void hp_tagged_push(struct hp_tagged *tagged, uint32_t bit)
{
    hp_history_push(&tagged->history, bit);
    for (unsigned i = 0; i < tagged->tables; i++) {
        struct hp_view *view = &tagged->views[i];
        uint32_t out = hp_history_out(&tagged->history, view->length);
        hp_fold_push(&view->index, bit, out);
        hp_fold_push(&view->tag, bit, out);
        hp_fold_push(&view->tag2, bit, out);
    }
}

void hp_tagged_find(struct hp_tagged *tagged, uint64_t pc)
{
    uint64_t spread = pc ^ pc >> tagged->index_bits;
    uint32_t index_mask = (1u << tagged->index_bits) - 1, tag_mask = (1u << tagged->tag_bits) - 1;
    for (unsigned i = 0; i < tagged->tables; i++) {
        const struct hp_view *view = &tagged->views[i];
        tagged->index[i] = ((uint32_t)spread ^ view->index.value) & index_mask;
        tagged->tag[i] =
            (uint16_t)(((uint32_t)pc ^ view->tag.value ^ view->tag2.value << 1) & tag_mask);
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
