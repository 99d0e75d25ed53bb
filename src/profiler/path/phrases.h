// SPDX-License-Identifier: MIT
/*
 * Phrases: short sequences of units, and what each did to a path stack. Programs repeat the same
 * few, and one look-up then does what an arc for each unit did (memo.h).
 *
 * Sequences are cut into phrases by their units alone (phrase_ends.h). A phrase holds for one node,
 * and for the paths that wait below and are returned to. A place in the table has room for two; a
 * third is noted when it comes the second time, and replaces the older one.
 */
#ifndef HP_PROFILER_PATH_PHRASES_H
#define HP_PROFILER_PATH_PHRASES_H

#include "hotpath/path.h"
#include "profiler/phrase_ends.h"

/* What a phrase may have of each in its list. */
#define HP_PHRASE_RETURNS 8
#define HP_PHRASE_CALLS   64
#define HP_PHRASE_PATHS   HP_PATH_GROUP_MAX

struct hp_phrase {
    uint32_t units[HP_PHRASE_MAX];
    uint32_t node, next; /* before and after; 0: there is no phrase */
    /* In hp_phrases.lists: the nodes that it returns to, the highest first; those of the paths that
     * it leaves waiting; how far the stack was above where it had been, for each call; the numbers
     * of the paths that it finishes. */
    uint32_t list;
    uint32_t insns;
    uint16_t branches;
    uint8_t n_units, n_returns, n_waiting, n_calls, n_paths;
    uint8_t rise; /* the highest that calls took the stack above where it was */
    uint8_t splits, underflows, others; /* as in struct hp_path_effect */
    uint8_t cap;                        /* room in `lists`, words, from the first phrase here */
    uint32_t group;                     /* its paths as one number, or 0 */
    uint16_t missed; /* part of the hash of the sequence that was last not found here */
    uint16_t uses;   /* without a group */
};
_Static_assert(sizeof(struct hp_phrase) == 64, "a phrase is a cache line");

struct hp_phrases {
    struct hp_phrase *table; /* by hash */
    uint32_t *lists;
    size_t n_words, cap_words, max_words; /* with so many it is emptied */
    size_t n_taken, n_missed, n_spared;   /* of late: see hp_phrases_judge() */
    uint32_t often;                       /* with so many uses, paths of a phrase are a group */
    size_t pause, next_pause;             /* units before phrases are looked for again */
};

void hp_phrases_init(struct hp_phrases *phrases);
void hp_phrases_fini(struct hp_phrases *phrases);

/* `n` phrases were looked up, and so many of them were not there; groups stood for so many paths
 * more than there were groups. Code that does not repeat itself much is taken faster without
 * phrases: if a missing one spares too few paths, there is a pause. */
void hp_phrases_judge(struct hp_phrases *phrases, size_t n, size_t n_missed, size_t n_spared);

/* Forgets all of them. */
void hp_phrases_clear(struct hp_phrases *phrases);

/* Before phrases are asked for. false: out of memory. */
bool hp_phrases_begin(struct hp_phrases *phrases);

/* Room for the list of a phrase in the table, `n` words; NULL: out of memory. Others may be
 * forgotten. */
uint32_t *hp_phrases_room(struct hp_phrases *phrases, struct hp_phrase *phrase, size_t n);

#define HP_PHRASE_BITS 15 /* of a phrase in the table */

/* The two that may have this hash, the newer one first. */
static inline struct hp_phrase *hp_phrases_at(const struct hp_phrases *phrases, uint32_t hash)
{
    return &phrases->table[2 * (hash >> (33 - HP_PHRASE_BITS))];
}

/* Whether these are the units of the phrase, which has as many. There are HP_PHRASE_MAX to read. */
static inline bool hp_phrase_is(const struct hp_phrase *phrase, const uint32_t *units)
{
    const uint32_t *mask = hp_phrase_masks[phrase->n_units];
    uint32_t other = 0;
    for (uint32_t i = 0; i < HP_PHRASE_MAX; i++)
        other |= (phrase->units[i] ^ units[i]) & mask[i];
    return other == 0;
}

#endif
