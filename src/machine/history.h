// SPDX-License-Identifier: MIT
/*
 * Long histories for TAGE and ITTAGE. A table with a history of `length` bits and an index of `width` bits
 * sees the history folded: bit i of it (0 is the latest) is xored into bit i % width. The fold
 * follows the history step by step, so its cost does not depend on the length.
 */
#ifndef HP_MACHINE_HISTORY_H
#define HP_MACHINE_HISTORY_H

#include "machine/machine.h"

#define HP_TAGE_TABLES   16
#define HP_HISTORY_MAX   2000
#define HP_HISTORY_RING_ 2048

struct hp_fold {
    uint32_t value;
    uint8_t width, out; /* out: length % width */
};

struct hp_history {
    uint8_t bits[HP_HISTORY_RING_];
    uint32_t at; /* the latest */
};

static inline struct hp_fold hp_fold_make(uint64_t length, unsigned width)
{
    return (struct hp_fold){.width = (uint8_t)width, .out = (uint8_t)(length % width)};
}

static inline void hp_history_push(struct hp_history *history, uint32_t bit)
{
    history->at++;
    history->bits[history->at % HP_HISTORY_RING_] = (uint8_t)bit;
}

/* The bit that has just become too old for a history of `length`. */
static inline uint32_t hp_history_out(const struct hp_history *history, unsigned length)
{
    return history->bits[(history->at - length) % HP_HISTORY_RING_];
}

/* After hp_history_push(), for every fold of the history. */
static inline void hp_fold_push(struct hp_fold *fold, uint32_t in, uint32_t out)
{
    uint32_t value = (fold->value << 1 | in) ^ out << fold->out;
    fold->value = (value ^ value >> fold->width) & ((1u << fold->width) - 1);
}

/* What a tagged table sees of the history: folded for its index, and twice for its tag. */
struct hp_view {
    unsigned length;
    struct hp_fold index, tag, tag2;
};

/* Tagged tables: what each sees, and where they are for the branch at hand. */
struct hp_tagged {
    struct hp_history history;
    unsigned tables;
    unsigned index_bits, tag_bits;
    struct hp_view views[HP_TAGE_TABLES];
    uint32_t index[HP_TAGE_TABLES]; /* of the table's entry for the branch */
    uint16_t tag[HP_TAGE_TABLES];
    uint32_t random;
};

/* `history.c`: lengths are geometric from the shortest to the longest. */
void hp_tagged_init(struct hp_tagged *tagged, const struct hp_tage_config *config);
void hp_tagged_push(struct hp_tagged *tagged, uint32_t bit);
/* Fills index[] and tag[]. */
void hp_tagged_find(struct hp_tagged *tagged, uint64_t pc);
/* The length of a table's history. */
uint64_t hp_tagged_length(const struct hp_tage_config *config, unsigned table);
/* One repeatable random bit. */
uint32_t hp_tagged_random(struct hp_tagged *tagged);

#endif
