// SPDX-License-Identifier: MIT
/*
 * TAGE (Seznec and Michaud, "A case for (partially) TAgged GEometric history length branch
 * prediction", JILP 8, 2006), without loop predictor and statistical corrector.
 *
 * A base table of 2-bit counters by address, and tables indexed by address and a history of
 * geometric length. An entry has a 3-bit counter, a tag and 2 bits of usefulness. The *provider* is
 * the matching table with the longest history; the *alternate* is the prediction without it. A new
 * provider (weak counter, usefulness 0) is used only if that has paid off lately (`use_alternate`).
 * Update: the provider's counter (or the base's) learns; its usefulness counts whether it was right
 * where the alternate was wrong. After a misprediction an entry with usefulness 0 in a longer table
 * is replaced (of the first two that have one, the shorter twice as often); if there is none, all
 * candidates lose one of usefulness. Usefulness is halved periodically.
 *
 * The history has one bit for each conditional branch, and one for every other transfer, derived
 * from its target.
 */
#include "machine/history.h"
#include "machine/predictor.h"

#include <stdlib.h>

/* An entry without its tag: tags are accessed far more often. */
struct entry {
    uint8_t counter, useful;
};

struct tage {
    struct hp_predictor predictor; /* first */
    uint8_t *base;
    uint64_t base_mask;
    uint16_t *tags; /* table after table */
    struct entry *entries;
    uint64_t n_entries, reset, until_reset;
    uint8_t use_alternate; /* 4 bits */
    /* Of the latest prediction, for update(). */
    bool said, provider_said, alternate_said, is_new;
    int provider; /* -1: the base */
    struct hp_tagged tagged;
};

#define COUNTER_BITS 3
#define WEAK_TAKEN   4
#define USEFUL_BITS  2
#define NO_TAG       UINT16_MAX /* of an empty entry: tags have at most 15 bits */

static struct entry *entry_of(struct tage *t, int table)
{
    return &t->entries[t->tagged.at.of[table]];
}

/* Bit i: table i has the branch. All are checked: which one has it is hard to predict. */
static uint32_t matches(const struct tage *t)
{
    const uint32_t *at = t->tagged.at.of, *tag = t->tagged.tag.of;
    uint32_t found = 0;
    for (unsigned i = t->tagged.tables; i-- > 0;)
        found = found << 1 | (t->tags[at[i]] == tag[i]);
    return found;
}

/* -1: none of them. */
static int longest(uint32_t found)
{
    return found ? 31 - __builtin_clz(found) : -1;
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
    uint32_t found = matches(t);
    t->provider = longest(found);
    t->provider_said = table_says(t, t->provider, pc);
    t->alternate_said = t->provider_said;
    t->is_new = false;
    if (t->provider >= 0) {
        const struct entry *e = entry_of(t, t->provider);
        t->alternate_said = table_says(t, longest(found ^ 1u << t->provider), pc);
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
        t->tags[t->tagged.at.of[chosen]] = (uint16_t)t->tagged.tag.of[chosen];
        *entry_of(t, chosen) =
            (struct entry){.counter = (uint8_t)(taken ? WEAK_TAKEN : WEAK_TAKEN - 1)};
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
    for (uint64_t i = 0; i < t->n_entries; i++)
        t->entries[i].useful >>= 1;
    t->until_reset = t->reset;
}

static void tage_update(struct hp_predictor *predictor, uint64_t pc, bool taken)
{
    struct tage *t = (struct tage *)predictor;
    bool new_was_right = t->is_new && t->provider_said == taken;
    learn(t, pc, taken);
    if (t->said != taken && !new_was_right)
        allocate(t, taken);
    if (--t->until_reset == 0)
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
    free(t->tags);
    free(t->entries);
    free(t->base);
    free(t);
}

static enum hp_err tage_make(const void *settings, const struct hp_branch_config *config,
                             struct hp_predictor **predictor)
{
    const struct hp_tage_config *own = settings;
    (void)config;
    struct tage *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->predictor = (struct hp_predictor){
        .predict = tage_predict, .update = tage_update, .note = tage_note, .free = tage_free};
    hp_tagged_init(&t->tagged, own);
    t->base = hp_counters_new(own->base, 2);
    t->base_mask = own->base - 1;
    t->n_entries = own->entries * own->tables;
    t->reset = t->until_reset = own->reset;
    t->use_alternate = 8;
    t->tags = malloc(t->n_entries * sizeof *t->tags);
    t->entries = malloc(t->n_entries * sizeof *t->entries);
    bool whole = t->base && t->tags && t->entries;
    for (uint64_t i = 0; whole && i < t->n_entries; i++) {
        t->tags[i] = NO_TAG;
        t->entries[i] = (struct entry){.counter = WEAK_TAKEN - 1};
    }
    if (!whole) {
        tage_free(&t->predictor);
        return hp_fail_nomem();
    }
    *predictor = &t->predictor;
    return HP_OK;
}

_Static_assert(sizeof(struct hp_tage_config) <= HP_PREDICTOR_SETTINGS * sizeof(uint64_t),
               "HP_PREDICTOR_SETTINGS");

#define AT(member) HP_MEMBER(struct hp_tage_config, member)
const struct hp_setting hp_tage_keys[HP_TAGE_KEYS] = {
    {"base", HP_SETTING_POWER, AT(base), 16, HP_TABLE_MAX, "entries of the table without history",
     .initial = 4096},
    {"tables", HP_SETTING_SIZE, AT(tables), 1, HP_TAGE_TABLES, "tables with history", .initial = 7},
    {"entries", HP_SETTING_POWER, AT(entries), 16, HP_TABLE_MAX, "entries of each",
     .initial = 1024},
    {"tag", HP_SETTING_SIZE, AT(tag), 4, 15, "bits of a tag", .initial = 11},
    {"shortest", HP_SETTING_SIZE, AT(shortest), 1, HP_HISTORY_MAX, "history of the first table",
     .initial = 5},
    {"longest", HP_SETTING_SIZE, AT(longest), 1, HP_HISTORY_MAX,
     "history of the last; those between are geometric", .initial = 130},
    {"reset", HP_SETTING_SIZE, AT(reset), 1, 1u << 30,
     "predictions after which usefulness is halved", .initial = 1 << 18},
};
#undef AT

static bool check(const void *settings, struct hp_machine_fault *fault)
{
    return hp_check_tage("tage", settings, fault);
}

const struct hp_predictor_kind hp_predict_tage = {
    .model = {"tage", "TAGE: tagged tables with histories of geometric length", NULL, 0,
              hp_tage_keys, HP_TAGE_KEYS},
    .check = check,
    .make = tage_make,
};
