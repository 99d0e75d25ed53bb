// SPDX-License-Identifier: MIT
/*
 * Long histories for TAGE and ITTAGE. A table with a history of `length` bits and an index of
 * `width` bits sees the history folded: bit i of it (0 is the latest) is xored into bit i % width.
 * The folds are updated incrementally, so their cost does not depend on the length.
 *
 * They are updated only when a prediction is needed, up to eight bits at a time, for all tables at
 * once: a fold F of width w becomes, k <= w bits later, with `in` the new bits and `out` those that
 * have become too old,
 *
 *     G = (F << k | in) ^ out << length % w,     F' = (G ^ G >> w) & (2^w - 1)
 */
#ifndef HP_MACHINE_HISTORY_H
#define HP_MACHINE_HISTORY_H

#include "base/settings.h"
#include "machine/machine.h"

#define HP_TAGE_TABLES 16
#define HP_HISTORY_MAX 2000

/* The keys of TAGE, which ITTAGE has too. */
#define HP_TAGE_KEYS 7
extern const struct hp_setting hp_tage_keys[HP_TAGE_KEYS];

/* Four tables' numbers side by side. */
typedef uint32_t hp_lanes __attribute__((vector_size(16)));
#define HP_LANES  4
#define HP_GROUPS (HP_TAGE_TABLES / HP_LANES)

/* A number for each table. */
union hp_numbers {
    hp_lanes group[HP_GROUPS];
    uint32_t of[HP_TAGE_TABLES];
};

#define HP_HISTORY_ROOM_ 8192

/* The latest bit is bits[at], the one before it the next, each in a byte. The history grows
 * downwards and is moved up when it reaches the bottom. */
struct hp_history {
    uint8_t bits[HP_HISTORY_ROOM_];
    uint32_t at;
    uint32_t pending; /* bits not folded yet */
};

/* One way to fold the history, for all tables. */
struct hp_fold {
    union hp_numbers value;
    union hp_numbers out; /* 1 << length % width */
    uint32_t width;
};

/* Tagged tables: the history that each sees, folded for its index and twice for its tag, and the
 * entries for the current branch. */
struct hp_tagged {
    union hp_numbers row; /* where each table begins, in one array of all */
    union hp_numbers at;  /* of each table's entry for the branch, in that array */
    union hp_numbers tag;
    struct hp_fold index, tag1, tag2;
    uint32_t lengths[HP_TAGE_TABLES];
    unsigned tables, groups;
    unsigned index_bits, tag_bits;
    unsigned stride; /* most bits folded at once: the smallest width, or 8 */
    uint32_t random;
    struct hp_history history;
};

/* `history.c`: lengths are geometric from the shortest to the longest. */
void hp_tagged_init(struct hp_tagged *tagged, const struct hp_tage_config *config);

/* For hp_tagged_push(), when there is no room. */
void hp_tagged_make_room(struct hp_tagged *tagged);

static inline void hp_tagged_push(struct hp_tagged *tagged, uint32_t bit)
{
    struct hp_history *history = &tagged->history;
    if (history->at == 0)
        hp_tagged_make_room(tagged);
    history->bits[--history->at] = (uint8_t)bit;
    history->pending++;
}

/* Fills at[] and tag[]. */
void hp_tagged_find(struct hp_tagged *tagged, uint64_t pc);

/* The length of a table's history. */
uint64_t hp_tagged_length(const struct hp_tage_config *config, unsigned table);
/* One repeatable random bit. */
uint32_t hp_tagged_random(struct hp_tagged *tagged);

#endif
