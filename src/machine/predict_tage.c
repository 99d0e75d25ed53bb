// SPDX-License-Identifier: MIT
/*
 * TAGE (Seznec and Michaud, "A case for (partially) TAgged GEometric history length branch prediction",
 * JILP 8, 2006), without loop predictor and statistical corrector.
 *
 * A base table of 2-bit counters by address, and tables indexed by address and a history of geometric
 * length. An entry has a 3-bit counter, a tag and 2 bits of usefulness. The *provider* is the matching
 * table with the longest history; the *alternate* is what would be said without it. A provider that is
 * new (weak counter, usefulness 0) is believed only if that has paid off lately (`use_alternate`).
 * Update: the provider's counter (or the base's) learns; its usefulness counts whether it was right where
 * the alternate was wrong; after a misprediction an entry with usefulness 0 in a longer table is taken
 * (of the first two that have one, the shorter twice as often), or all that might have been lose one of
 * usefulness. Usefulness is halved now and then.
 *
 * The history has one bit for each conditional branch, and one for every other transfer, made of its
 * target.
 */
#include "machine/history.h"
#include "machine/predictor.h"

#include <stdlib.h>

struct entry {
    uint16_t tag;
    uint8_t counter, useful;
};

struct tage {
    struct hp_predictor predictor; /* first */
    struct hp_tagged tagged;
    uint8_t *base;
    uint64_t base_mask;
    struct entry *tables[HP_TAGE_TABLES];
    uint64_t entries, reset, updates;
    uint8_t use_alternate; /* 4 bits */
    /* Of the branch that update() will be about. */
    int provider; /* -1: the base */
    bool said, provider_said, alternate_said, is_new;
};

#define COUNTER_BITS 3
#define WEAK_TAKEN   4
#define USEFUL_BITS  2
#define NO_TAG       UINT16_MAX /* of an empty entry: tags have at most 15 bits */

static struct entry *entry_of(struct tage *t, int table)
{
    return &t->tables[table][t->tagged.index[table]];
}

static int longest_match(struct tage *t, int below)
{
    for (int i = below - 1; i >= 0; i--)
        if (entry_of(t, i)->tag == t->tagged.tag[i])
            return i;
    return -1;
}

static bool table_says(struct tage *t, int table, uint64_t pc)
{
    if (table < 0)
        return hp_counter_taken(t->base[pc & t->base_mask], 2);
    return hp_counter_taken(entry_of(t, table)->counter, COUNTER_BITS);
}

static bool tage_predict(struct hp_predictor *predictor, uint64_t pc, bool backward)
{
    struct tage *t = (struct tage *)predictor;
    (void)backward;
    hp_tagged_find(&t->tagged, pc);
    t->provider = longest_match(t, (int)t->tagged.tables);
    t->provider_said = table_says(t, t->provider, pc);
    t->alternate_said = t->provider_said;
    t->is_new = false;
    if (t->provider >= 0) {
        const struct entry *e = entry_of(t, t->provider);
        t->alternate_said = table_says(t, longest_match(t, t->provider), pc);
        t->is_new = e->useful == 0 && (e->counter == WEAK_TAKEN || e->counter == WEAK_TAKEN - 1);
    }
    t->said =
        t->is_new && hp_counter_taken(t->use_alternate, 4) ? t->alternate_said : t->provider_said;
    return t->said;
}

/* After a misprediction: an entry in a longer table. */
static void allocate(struct tage *t, bool taken)
{
    int chosen = -1;
    for (int i = t->provider + 1; i < (int)t->tagged.tables; i++) {
        if (entry_of(t, i)->useful)
            continue;
        if (chosen >= 0) {
            if (hp_tagged_random(&t->tagged) && hp_tagged_random(&t->tagged))
                chosen = i;
            break;
        }
        chosen = i;
    }
    if (chosen >= 0) {
        *entry_of(t, chosen) =
            (struct entry){.tag = t->tagged.tag[chosen],
                           .counter = (uint8_t)(taken ? WEAK_TAKEN : WEAK_TAKEN - 1)};
        return;
    }
    for (int i = t->provider + 1; i < (int)t->tagged.tables; i++)
        entry_of(t, i)->useful--;
}

static void learn(struct tage *t, uint64_t pc, bool taken)
{
    if (t->provider < 0) {
        uint8_t *counter = &t->base[pc & t->base_mask];
        *counter = hp_counter_next(*counter, 2, taken);
        return;
    }
    struct entry *e = entry_of(t, t->provider);
    if (t->provider_said != t->alternate_said) {
        if (t->is_new)
            t->use_alternate = hp_counter_next(t->use_alternate, 4, t->alternate_said == taken);
        e->useful = hp_counter_next(e->useful, USEFUL_BITS, t->provider_said == taken);
    }
    e->counter = hp_counter_next(e->counter, COUNTER_BITS, taken);
}

static void halve_usefulness(struct tage *t)
{
    for (unsigned i = 0; i < t->tagged.tables; i++)
        for (uint64_t k = 0; k < t->entries; k++)
            t->tables[i][k].useful >>= 1;
}

static void tage_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct tage *t = (struct tage *)predictor;
    bool new_was_right = t->is_new && t->provider_said == taken;
    learn(t, pc, taken);
    if (t->said != taken && !new_was_right)
        allocate(t, taken);
    if (++t->updates % t->reset == 0)
        halve_usefulness(t);
    hp_tagged_push(&t->tagged, taken);
}

static void tage_note(struct hp_predictor *predictor, uint64_t pc, uint64_t target)
{
    struct tage *t = (struct tage *)predictor;
    (void)pc;
    hp_tagged_push(&t->tagged, (uint32_t)(target ^ target >> 3 ^ target >> 6) & 1);
}

static void tage_free(struct hp_predictor *predictor)
{
    struct tage *t = (struct tage *)predictor;
    for (unsigned i = 0; i < HP_TAGE_TABLES; i++)
        free(t->tables[i]);
    free(t->base);
    free(t);
}

enum hp_err hp_tage_new(const struct hp_tage_config *config, struct hp_predictor **predictor)
{
    struct tage *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->predictor = (struct hp_predictor){
        .predict = tage_predict, .update = tage_update, .note = tage_note, .free = tage_free};
    hp_tagged_init(&t->tagged, config);
    t->base = hp_counters_new(config->base, 2);
    t->base_mask = config->base - 1;
    t->entries = config->entries;
    t->reset = config->reset;
    t->use_alternate = 8;
    bool whole = t->base;
    for (unsigned i = 0; i < t->tagged.tables; i++) {
        t->tables[i] = calloc(config->entries, sizeof *t->tables[i]);
        whole = whole && t->tables[i];
        for (uint64_t k = 0; t->tables[i] && k < config->entries; k++)
            t->tables[i][k] = (struct entry){.tag = NO_TAG, .counter = WEAK_TAKEN - 1};
    }
    if (!whole) {
        tage_free(&t->predictor);
        return hp_fail_nomem();
    }
    *predictor = &t->predictor;
    return HP_OK;
}
