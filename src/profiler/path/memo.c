// SPDX-License-Identifier: MIT
#include "profiler/path/memo.h"

#include "base/grow.h"
#include "base/map64.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096
#define FIRST_NODES 1024
#define MAX_NODES   (1u << 20)
#define MAX_FAR     (1u << 21)
#define MAX_EFFECTS (1u << 24)

void hp_path_memo_init(struct hp_path_memo *memo)
{
    *memo = (struct hp_path_memo){
        .n_nodes = 1, .max_nodes = MAX_NODES, .max_far = MAX_FAR, .max_effects = MAX_EFFECTS};
    hp_path_numbers_init(&memo->numbers);
    hp_phrases_init(&memo->phrases);
}

static void drop(struct hp_path_memo *memo)
{
    free(memo->near);
    free(memo->nodes);
    free(memo->slots);
    free(memo->far);
    free(memo->effects);
}

void hp_path_memo_fini(struct hp_path_memo *memo)
{
    drop(memo);
    hp_path_numbers_fini(&memo->numbers);
    hp_phrases_fini(&memo->phrases);
    *memo = (struct hp_path_memo){0};
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static uint64_t hash_node(const struct hp_memo_node *n)
{
    uint64_t hash = hp_hash64(n->start ^ (uint64_t)n->block << 40) ^ n->outcomes;
    hash = hp_hash64(hash ^ (uint64_t)n->last << 32 ^ n->length ^ (uint64_t)n->extension << 16);
    return hp_hash64(hash ^ n->return_to ^ (uint64_t)n->insns << 48 ^ n->pending);
}

static bool same_node(const struct hp_memo_node *a, const struct hp_memo_node *b)
{
    return a->start == b->start && a->outcomes == b->outcomes && a->return_to == b->return_to &&
           a->block == b->block && a->last == b->last && a->insns == b->insns &&
           a->pending == b->pending && a->extension == b->extension && a->length == b->length;
}

static void put_slot(uint32_t *slots, size_t n_slots, uint64_t hash, uint32_t id)
{
    size_t i = hash & (n_slots - 1);
    while (slots[i])
        i = (i + 1) & (n_slots - 1);
    slots[i] = id;
}

static bool grow_slots(struct hp_path_memo *memo)
{
    size_t n = memo->n_slots ? memo->n_slots * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 1; i < memo->n_nodes; i++)
        put_slot(slots, n, hash_node(&memo->nodes[i]), (uint32_t)i);
    free(memo->slots);
    memo->slots = slots;
    memo->n_slots = n;
    return true;
}

/* Arcs of a node begin with a cache line. */
static bool grow_near(struct hp_path_memo *memo, size_t need)
{
    if (need <= memo->cap_near)
        return true;
    size_t n = memo->cap_near ? memo->cap_near * 2 : FIRST_NODES;
    struct hp_memo_near *near = aligned_alloc(sizeof *near, n * sizeof *near);
    if (!near)
        return false;
    if (memo->cap_near)
        memcpy(near, memo->near, memo->cap_near * sizeof *near);
    memset(near + memo->cap_near, 0xff, (n - memo->cap_near) * sizeof *near);
    free(memo->near);
    memo->near = near;
    memo->cap_near = n;
    return true;
}

static uint32_t add_node(struct hp_path_memo *memo, const struct hp_memo_node *node, uint64_t hash)
{
    size_t n = memo->n_nodes;
    if (hp_grow(&memo->nodes, &memo->cap_nodes, n + 1, sizeof *memo->nodes) != HP_OK ||
        !grow_near(memo, n + 1) || (n > memo->n_slots / 2 && !grow_slots(memo)))
        return 0;
    memo->nodes[n] = *node;
    put_slot(memo->slots, memo->n_slots, hash, (uint32_t)n);
    memo->n_nodes++;
    return (uint32_t)n;
}

uint32_t hp_path_memo_node(struct hp_path_memo *memo, const struct hp_memo_node *node)
{
    uint64_t hash = hash_node(node);
    size_t mask = memo->n_slots - 1;
    for (size_t i = hash & mask; memo->slots[i]; i = (i + 1) & mask)
        if (same_node(&memo->nodes[memo->slots[i]], node))
            return memo->slots[i];
    return add_node(memo, node, hash);
}

/* --- Arcs ------------------------------------------------------------------------------------- */

static struct hp_memo_far *place_of(const struct hp_path_memo *memo, uint32_t node, uint32_t symbol)
{
    size_t mask = memo->cap_far - 1;
    size_t i = hp_hash64((uint64_t)node << 32 | symbol) & mask;
    while (memo->far[i].node && (memo->far[i].node != node || memo->far[i].arc.symbol != symbol))
        i = (i + 1) & mask;
    return &memo->far[i];
}

const struct hp_path_arc *hp_path_memo_far(const struct hp_path_memo *memo, uint32_t node,
                                           uint32_t symbol)
{
    if (!memo->far || memo->near[node].arcs[HP_MEMO_NEAR - 1].symbol == HP_MEMO_NONE)
        return NULL;
    const struct hp_memo_far *far = place_of(memo, node, symbol);
    return far->node ? &far->arc : NULL;
}

static bool grow_far(struct hp_path_memo *memo)
{
    struct hp_memo_far *old = memo->far;
    size_t n_old = memo->cap_far, n = n_old ? n_old * 2 : FIRST_SLOTS;
    struct hp_memo_far *far = calloc(n, sizeof *far);
    if (!far)
        return false;
    memo->far = far;
    memo->cap_far = n;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].node)
            *place_of(memo, old[i].node, old[i].arc.symbol) = old[i];
    free(old);
    return true;
}

static bool add_effect(struct hp_path_memo *memo, const struct hp_path_effect *effect,
                       uint32_t *out)
{
    size_t n = sizeof *effect / sizeof *effect->list + effect->n_paths + effect->n_waiting +
               effect->n_calls;
    if (hp_grow(&memo->effects, &memo->cap_effects, memo->n_effects + n, sizeof *memo->effects) !=
        HP_OK)
        return false;
    memcpy(memo->effects + memo->n_effects, effect, n * sizeof *memo->effects);
    *out = HP_MEMO_MANY | (uint32_t)memo->n_effects;
    memo->n_effects += n;
    return true;
}

void hp_path_memo_add(struct hp_path_memo *memo, uint32_t node, struct hp_path_arc *arc,
                      const struct hp_path_effect *effect)
{
    struct hp_path_arc *near = memo->near[node].arcs;
    int i = 0;
    while (i < HP_MEMO_NEAR && near[i].symbol != HP_MEMO_NONE)
        i++;
    if (i == HP_MEMO_NEAR && memo->n_far >= memo->cap_far / 2 && !grow_far(memo))
        return;
    if (arc->out == HP_MEMO_MANY && !add_effect(memo, effect, &arc->out))
        return;
    if (i < HP_MEMO_NEAR) {
        near[i] = *arc;
        return;
    }
    *place_of(memo, node, arc->symbol) = (struct hp_memo_far){.node = node, .arc = *arc};
    memo->n_far++;
}

/* --- Bounds ----------------------------------------------------------------------------------- */

bool hp_path_memo_bound(struct hp_path_memo *memo)
{
    if (memo->n_nodes >= memo->max_nodes || memo->n_far >= memo->max_far ||
        memo->n_effects >= memo->max_effects) {
        drop(memo);
        hp_phrases_clear(&memo->phrases);
        *memo = (struct hp_path_memo){.numbers = memo->numbers,
                                      .phrases = memo->phrases,
                                      .generation = memo->generation + 1,
                                      .n_nodes = 1,
                                      .max_nodes = memo->max_nodes,
                                      .max_far = memo->max_far,
                                      .max_effects = memo->max_effects};
    }
    return grow_near(memo, 1) && (memo->slots || grow_slots(memo)) &&
           hp_phrases_begin(&memo->phrases);
}
