// SPDX-License-Identifier: MIT
#include "profiler/exact/phrases.h"

#include "base/grow.h"
#include "profiler/exact/notes.h"
#include "profiler/exact/stack.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_BITS 14
#define MAX_WORDS  ((size_t)1 << 21)
#define MAX_NODES  ((size_t)1 << 17)
#define NODE_SLOTS (2 * MAX_NODES)
#define MAX_DEPTH  1024 /* frames of a stack with a node */

/* Steps of a pause. */
#define FIRST_PAUSE ((size_t)1 << 19)
#define MAX_PAUSE   ((size_t)1 << 23)

/* --- Adding up -------------------------------------------------------------------------------- */

static uint32_t first_of(const struct hp_exact_thread *t, uint32_t unit)
{
    uint32_t n;
    return *hp_code_unit(t->exact->code, unit, &n);
}

static void add(struct hp_exact_thread *t, const struct hp_phrase_add *a, uint64_t count)
{
    struct hp_exact_loop_thread *l = t->loops;
    switch (a->to) {
    case HP_ADDS_CONTEXT:
        t->contexts[a->index].inclusive += count * a->amount;
        t->contexts[a->index].calls += count;
        break;
    case HP_ADDS_SITE: l->sites[a->index].inclusive += count * a->amount; break;
    case HP_ADDS_SITE_COUNT: l->sites[a->index].count += count; break;
    case HP_ADDS_EXCURSION: t->excursions.counts[a->index] += count; break;
    case HP_ADDS_COVERED: l->covered.counts[a->index] += count; break;
    default: l->covered_calls.counts[a->index] += count * a->amount;
    }
}

static void settle(struct hp_exact_thread *t, struct hp_exact_phrase *p)
{
    if (p->count == 0)
        return;
    for (uint32_t i = 0; i < p->n_units; i++)
        hp_exact_add_to_edge(t, p->units[i], first_of(t, p->units[i + 1]), p->count);
    const uint32_t *words = t->loops->phrases->words + p->list + p->adds;
    for (uint32_t i = 0; i < p->n_adds; i++)
        add(t, (const struct hp_phrase_add *)words + i, p->count);
    p->count = 0;
}

void hp_exact_phrases_settle(struct hp_exact_thread *t)
{
    struct hp_exact_phrases *phrases = t->loops->phrases;
    for (size_t i = 0; phrases && i < (size_t)1 << TABLE_BITS; i++)
        settle(t, &phrases->table[i]);
}

static void forget_all(struct hp_exact_thread *t)
{
    struct hp_exact_phrases *phrases = t->loops->phrases;
    hp_exact_phrases_settle(t);
    memset(phrases->table, 0, sizeof *phrases->table << TABLE_BITS);
    memset(phrases->slots, 0, NODE_SLOTS * sizeof *phrases->slots);
    phrases->n_words = 0;
    phrases->n_nodes = 1;
    for (size_t i = 0; i < t->n_frames; i++)
        t->loops->frames[i].node = 0;
}

/* --- Creating and freeing --------------------------------------------------------------------- */

void hp_exact_phrases_free(struct hp_exact_phrases *phrases)
{
    if (!phrases)
        return;
    free(phrases->table);
    free(phrases->words);
    free(phrases->nodes);
    free(phrases->slots);
    free(phrases->note);
    free(phrases);
}

/* NULL: out of memory; it does without. */
static struct hp_exact_phrases *begin(struct hp_exact_thread *t)
{
    struct hp_exact_phrases *phrases = t->loops->phrases;
    if (phrases)
        return phrases;
    phrases = calloc(1, sizeof *phrases);
    if (!phrases)
        return NULL;
    size_t size = sizeof *phrases->table << TABLE_BITS;
    phrases->table = aligned_alloc(sizeof *phrases->table, size);
    phrases->slots = calloc(NODE_SLOTS, sizeof *phrases->slots);
    phrases->note = malloc(sizeof *phrases->note);
    if (!phrases->table || !phrases->slots || !phrases->note) {
        hp_exact_phrases_free(phrases);
        return NULL;
    }
    memset(phrases->table, 0, size);
    phrases->n_nodes = 1;
    phrases->next_pause = FIRST_PAUSE;
    return t->loops->phrases = phrases;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static struct hp_stack_node node_of(const struct hp_exact_thread *t, size_t i, uint32_t below)
{
    const struct hp_frame *frame = &t->frames[i];
    const struct hp_loop_frame *with = &t->loops->frames[i];
    return (struct hp_stack_node){.expects = frame->expects,
                                  .below = below,
                                  .function = frame->function,
                                  .context = frame->context,
                                  .site = with->site,
                                  .left = with->function,
                                  .cover = with->cover,
                                  .kind = frame->kind};
}

static size_t slot_of(const struct hp_stack_node *node)
{
    uint64_t hash = hp_hash64((uint64_t)node->below << 32 | node->context) ^ node->expects;
    hash ^= (uint64_t)node->site << 32 ^ node->cover;
    return hp_hash64(hash) % NODE_SLOTS;
}

/* 0: there is no room. */
static uint32_t find_node(struct hp_exact_phrases *phrases, const struct hp_stack_node *node)
{
    size_t i = slot_of(node);
    for (; phrases->slots[i]; i = (i + 1) % NODE_SLOTS)
        if (memcmp(&phrases->nodes[phrases->slots[i]], node, sizeof *node) == 0)
            return phrases->slots[i];
    if (phrases->n_nodes == MAX_NODES ||
        hp_grow(&phrases->nodes, &phrases->cap_nodes, phrases->n_nodes + 1,
                sizeof *phrases->nodes) != HP_OK)
        return 0;
    phrases->nodes[phrases->n_nodes] = *node;
    return phrases->slots[i] = (uint32_t)phrases->n_nodes++;
}

uint32_t hp_exact_phrases_node(struct hp_exact_thread *t)
{
    struct hp_loop_frame *frames = t->loops->frames;
    size_t i = t->n_frames;
    if (i == 0 || i > MAX_DEPTH || t->n_active)
        return 0;
    while (i > 0 && !frames[i - 1].node)
        i--;
    for (uint32_t below = i ? frames[i - 1].node : 0; i < t->n_frames; i++) {
        struct hp_stack_node node = node_of(t, i, below);
        below = frames[i].node = find_node(t->loops->phrases, &node);
        if (below == 0)
            return 0;
    }
    return frames[t->n_frames - 1].node;
}

/* --- Phrases ---------------------------------------------------------------------------------- */

/* Changes with everything that is learned. */
HP_STACK_INLINE uint32_t epoch_of(const struct hp_exact_thread *t)
{
    return t->loops->version + (uint32_t)(t->exact->learned + t->exact->watched);
}

HP_STACK_INLINE void push_node(struct hp_exact_thread *t, uint32_t id)
{
    struct hp_exact_loop_thread *l = t->loops;
    const struct hp_stack_node *node = &l->phrases->nodes[id];
    t->frames[t->n_frames++] = (struct hp_frame){.expects = node->expects,
                                                 .entered = t->clock,
                                                 .function = node->function,
                                                 .context = node->context,
                                                 .call = HP_NO_ID,
                                                 .kind = (uint8_t)node->kind};
    hp_exact_loops_push_from(t, node->site, node->left);
    l->cover = l->frames[t->n_frames - 1].cover = node->cover;
    l->frames[t->n_frames - 1].node = id;
}

/* Applies a phrase that begins at the node of the stack. False: it cannot be, and nothing
 * happened. */
HP_STACK_INLINE bool apply(struct hp_exact_thread *t, struct hp_exact_phrase *p)
{
    size_t most = t->n_frames + p->rise;
    if (most > t->cap_frames || most > t->loops->cap_frames || p->count == UINT32_MAX)
        return false;
    const uint32_t *words = t->loops->phrases->words + p->list;
    uint64_t clock = t->clock;
    for (;;) {
        const struct hp_phrase_stage *stage = (const struct hp_phrase_stage *)words;
        const struct hp_leg_event *events = (const struct hp_leg_event *)(stage + 1);
        if (stage->n_events)
            hp_exact_loops_apply(t, events, stage->n_events);
        if (stage->then == HP_PHRASE_ENDS)
            break;
        t->clock = clock + stage->insns;
        if (stage->then == HP_PHRASE_POPS)
            hp_stack_pop(t, true);
        else
            push_node(t, stage->then);
        words = (const uint32_t *)(events + stage->n_events);
    }
    t->clock = clock + p->insns;
    p->count++;
    t->loops->phrases->n_spared += p->work;
    return true;
}

/* Room for `n` words; false: there is none. All phrases may be forgotten. */
static bool make_room(struct hp_exact_thread *t, size_t n)
{
    struct hp_exact_phrases *phrases = t->loops->phrases;
    if (phrases->n_words + n > MAX_WORDS || phrases->n_nodes + MAX_DEPTH > MAX_NODES)
        forget_all(t);
    return hp_grow(&phrases->words, &phrases->cap_words, phrases->n_words + n,
                   sizeof *phrases->words) == HP_OK;
}

static void keep(struct hp_exact_thread *t, struct hp_exact_phrase *p, uint32_t node,
                 const uint32_t *units, size_t n)
{
    struct hp_exact_phrases *phrases = t->loops->phrases;
    const struct hp_note *note = phrases->note;
    size_t n_adds = note->n_adds * sizeof *note->adds / sizeof *phrases->words;
    *p = (struct hp_exact_phrase){.node = node,
                                  .work = (uint32_t)(note->n + note->n_adds + n),
                                  .epoch = epoch_of(t),
                                  .list = (uint32_t)phrases->n_words,
                                  .insns = (uint32_t)(t->clock - note->clock),
                                  .n_adds = (uint16_t)note->n_adds,
                                  .adds = (uint16_t)note->n_words,
                                  .n_units = (uint8_t)n,
                                  .rise = (uint8_t)(note->highest - note->base)};
    memcpy(p->units, units, (n + 1) * sizeof *units);
    uint32_t *words = phrases->words + phrases->n_words;
    memcpy(words, note->words, note->n_words * sizeof *words);
    memcpy(words + note->n_words, note->adds, n_adds * sizeof *words);
    phrases->n_words += note->n_words + n_adds;
}

/* The phrase depends on more, and has to be shown each time. */
static void keep_shown(struct hp_exact_thread *t, struct hp_exact_phrase *p, uint32_t node,
                       const uint32_t *units, size_t n)
{
    *p = (struct hp_exact_phrase){.node = node, .epoch = epoch_of(t), .n_units = (uint8_t)n};
    memcpy(p->units, units, (n + 1) * sizeof *units);
}

/* Shows the steps, and notes what they do. */
static __attribute__((noinline)) void note_phrase(struct hp_exact_thread *t,
                                                  struct hp_exact_phrase *p, uint32_t node,
                                                  const struct hp_step *steps,
                                                  const uint32_t *units, size_t n)
{
    struct hp_note *note = t->loops->phrases->note;
    uint32_t epoch = epoch_of(t);
    hp_note_begin(note, t);
    t->loops->note = note;
    hp_exact_count_some(t, steps, n);
    t->loops->note = NULL;
    if (epoch != epoch_of(t))
        return;
    settle(t, p);
    if (note->highest - note->base <= UINT8_MAX && hp_note_conclude(note, t))
        keep(t, p, node, units, n);
    else
        keep_shown(t, p, node, units, n);
}

HP_STACK_INLINE bool is_phrase(const struct hp_exact_phrase *p, uint32_t node,
                               const uint32_t *units, size_t n)
{
    const uint32_t *mask = hp_phrase_masks[n + 1];
    uint32_t other = (p->node ^ node) | (p->n_units ^ (uint32_t)n);
    for (uint32_t i = 0; i <= HP_PHRASE_MAX; i++)
        other |= (p->units[i] ^ units[i]) & mask[i];
    return other == 0;
}

#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

HP_STACK_INLINE uint64_t hash_of(uint32_t node, uint32_t unit_hash)
{
    return ((uint64_t)node << 32 ^ unit_hash) * SPREAD;
}

/* The two that may have this hash, the newer one first. */
HP_STACK_INLINE struct hp_exact_phrase *phrases_at(const struct hp_exact_phrases *phrases,
                                                   uint64_t hash)
{
    return &phrases->table[hash >> (65 - TABLE_BITS) << 1];
}

#define AHEAD_TABLE 6 /* phrases */
#define AHEAD_WORDS 3

/* What will be needed soon, if the stack is the same then. */
HP_STACK_INLINE void prefetch(const struct hp_exact_phrases *phrases, uint32_t node,
                              const struct hp_phrase_end *end)
{
    const struct hp_exact_phrase *p = phrases_at(phrases, hash_of(node, end[AHEAD_TABLE].hash));
    __builtin_prefetch(&p[0], 1);
    __builtin_prefetch(&p[1]);
    p = phrases_at(phrases, hash_of(node, end[AHEAD_WORDS].hash));
    __builtin_prefetch(phrases->words + p->list);
}

/* Takes the `n` steps of a phrase. */
HP_STACK_INLINE void take_phrase(struct hp_exact_thread *t, struct hp_exact_phrases *phrases,
                                 const struct hp_step *steps, const uint32_t *units, size_t n,
                                 const struct hp_phrase_end *end)
{
    uint32_t node = t->n_frames ? t->loops->frames[t->n_frames - 1].node : 0;
    if (__builtin_expect(!node, 0))
        node = hp_exact_phrases_node(t);
    prefetch(phrases, node, end);
    uint64_t hash = hash_of(node, end->hash);
    struct hp_exact_phrase *p = phrases_at(phrases, hash);
    uint32_t epoch = epoch_of(t);
    for (int i = 0; i < 2; i++)
        if (is_phrase(&p[i], node, units, n) && p[i].epoch == epoch && node) {
            if (!p[i].work || !apply(t, &p[i]))
                hp_exact_count_some(t, steps, n);
            return;
        }
    phrases->n_missed++;
    uint16_t part = (uint16_t)(hash >> 16);
    if (p->missed != part || !node) {
        p->missed = part;
        hp_exact_count_some(t, steps, n);
        return;
    }
    if (!make_room(t, HP_NOTE_WORDS + 3 * HP_NOTE_ADDS) || !(node = hp_exact_phrases_node(t))) {
        hp_exact_count_some(t, steps, n);
        return;
    }
    struct hp_exact_phrase older = p[1];
    p[1] = p[0];
    p[0] = older;
    note_phrase(t, p, node, steps, units, n);
}

/* --- Steps ------------------------------------------------------------------------------------ */

#define PIECE 256 /* steps that are cut at a time */

/* If of so many phrases a missing one spares less, there is a pause. */
#define JUDGED ((size_t)1 << 14)
#define PAYS   300

static void judge(struct hp_exact_phrases *phrases, size_t n)
{
    phrases->n_taken += n;
    if (phrases->n_taken < JUDGED)
        return;
    if (phrases->n_missed * PAYS > phrases->n_spared) {
        phrases->pause = phrases->next_pause;
        phrases->next_pause *= phrases->next_pause < MAX_PAUSE ? 2 : 1;
    } else {
        phrases->next_pause = FIRST_PAUSE;
    }
    phrases->n_taken = phrases->n_missed = phrases->n_spared = 0;
}

/* Takes most of the `n` steps; returns how many. */
static size_t take_piece(struct hp_exact_thread *t, struct hp_exact_phrases *phrases,
                         const struct hp_step *steps, size_t n)
{
    uint32_t units[PIECE + 1 + HP_PHRASE_MAX]; /* the last ones are read, and do not matter */
    struct hp_phrase_end ends[PIECE + AHEAD_TABLE];
    size_t n_ends = hp_phrase_ends(steps + 1, n, units + 1, ends), at = 0;
    units[0] = steps[0].unit;
    memset(units + n + 1, 0, HP_PHRASE_MAX * sizeof *units);
    memset(ends + n_ends, 0, AHEAD_TABLE * sizeof *ends);
    for (size_t i = 0; i < n_ends; i++) {
        take_phrase(t, phrases, steps + at, units + at, ends[i].end - at, &ends[i]);
        at = ends[i].end;
    }
    judge(phrases, n_ends);
    return at;
}

void hp_exact_phrases_count(struct hp_exact_thread *t, const struct hp_step *steps, size_t n)
{
    struct hp_exact_phrases *phrases = begin(t);
    size_t i = 0;
    while (phrases && phrases->pause == 0 && n - i > HP_PHRASE_MAX)
        i += take_piece(t, phrases, steps + i, n - i < PIECE ? n - i : PIECE);
    if (phrases)
        phrases->pause -= n - i < phrases->pause ? n - i : phrases->pause;
    hp_exact_count_some(t, steps + i, n - i);
}
