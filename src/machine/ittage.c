// SPDX-License-Identifier: MIT
#include "machine/ittage.h"

#include "machine/history.h"
#include "machine/predictor.h"

#include <stdlib.h>

struct entry {
    uint64_t target;
    uint16_t tag;
    uint8_t confidence, useful;
};

struct hp_ittage {
    struct hp_tagged tagged;
    uint64_t *base; /* last targets */
    uint64_t base_mask;
    struct entry *entries; /* table after table */
    uint64_t n_entries, reset, until_reset;
    /* Of the latest prediction, for update(). */
    int provider; /* -1: the base */
    uint64_t said, provider_said, alternate_said;
};

static struct entry *entry_of(struct hp_ittage *t, int table)
{
    return &t->entries[t->tagged.at.of[table]];
}

/* An entry without a target is an empty one. */
static int longest_match(struct hp_ittage *t, int below)
{
    for (int i = below - 1; i >= 0; i--)
        if (entry_of(t, i)->target && entry_of(t, i)->tag == t->tagged.tag.of[i])
            return i;
    return -1;
}

static uint64_t table_says(struct hp_ittage *t, int table, uint64_t pc)
{
    return table < 0 ? t->base[pc & t->base_mask] : entry_of(t, table)->target;
}

uint64_t hp_ittage_predict(struct hp_ittage *t, uint64_t pc)
{
    hp_tagged_find(&t->tagged, pc);
    t->provider = longest_match(t, (int)t->tagged.tables);
    t->provider_said = t->said = t->alternate_said = table_says(t, t->provider, pc);
    if (t->provider >= 0) {
        t->alternate_said = table_says(t, longest_match(t, t->provider), pc);
        if (entry_of(t, t->provider)->confidence == 0 && t->alternate_said)
            t->said = t->alternate_said;
    }
    return t->said;
}

/* Takes the first longer table whose entry is not useful; if there is none, all lose their
 * usefulness. */
static void allocate(struct hp_ittage *t, uint64_t target)
{
    for (int i = t->provider + 1; i < (int)t->tagged.tables; i++) {
        struct entry *e = entry_of(t, i);
        if (!e->useful) {
            *e = (struct entry){.target = target, .tag = (uint16_t)t->tagged.tag.of[i]};
            return;
        }
    }
    for (int i = t->provider + 1; i < (int)t->tagged.tables; i++)
        entry_of(t, i)->useful = 0;
}

static void learn(struct hp_ittage *t, uint64_t target)
{
    struct entry *e = entry_of(t, t->provider);
    if (t->provider_said != t->alternate_said)
        e->useful = t->provider_said == target;
    if (e->target != target && e->confidence == 0)
        e->target = target;
    else
        e->confidence = hp_counter_next(e->confidence, 2, e->target == target);
}

static void forget_usefulness(struct hp_ittage *t)
{
    for (uint64_t i = 0; i < t->n_entries; i++)
        t->entries[i].useful = 0;
    t->until_reset = t->reset;
}

void hp_ittage_update(struct hp_ittage *t, uint64_t pc, uint64_t target)
{
    bool provider_was_right = t->provider >= 0 && t->provider_said == target;
    if (t->provider >= 0)
        learn(t, target);
    t->base[pc & t->base_mask] = target;
    if (t->said != target && !provider_was_right)
        allocate(t, target);
    if (--t->until_reset == 0)
        forget_usefulness(t);
    uint64_t bits = target ^ target >> 4 ^ target >> 8;
    for (int i = 0; i < 4; i++)
        hp_tagged_push(&t->tagged, (uint32_t)(bits >> i) & 1);
}

void hp_ittage_note(struct hp_ittage *t, bool taken)
{
    hp_tagged_push(&t->tagged, taken);
}

void hp_ittage_free(struct hp_ittage *t)
{
    if (!t)
        return;
    free(t->entries);
    free(t->base);
    free(t);
}

enum hp_err hp_ittage_new(const struct hp_tage_config *config, struct hp_ittage **ittage)
{
    struct hp_ittage *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    hp_tagged_init(&t->tagged, config);
    t->base = calloc(config->base, sizeof *t->base);
    t->base_mask = config->base - 1;
    t->n_entries = config->entries * config->tables;
    t->reset = t->until_reset = config->reset;
    t->entries = calloc(t->n_entries, sizeof *t->entries);
    if (!t->base || !t->entries) {
        hp_ittage_free(t);
        return hp_fail_nomem();
    }
    *ittage = t;
    return HP_OK;
}
