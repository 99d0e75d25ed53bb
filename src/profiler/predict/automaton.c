// SPDX-License-Identifier: MIT
#include "profiler/predict/automaton.h"

#include "base/grow.h"
#include "base/map64.h"
#include "profiler/predict/branches.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_FAR   10 /* log2 */
#define FIRST_SLOTS 1024
#define MAX_NODES   (UINT32_MAX / 2)
#define NOWHERE     UINT64_MAX

struct hp_node_of_paths {
    uint64_t start, outcomes, targets;
    uint32_t block, last;
    uint32_t first_target;
    uint8_t length, n_targets;
};

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_automaton_init(struct hp_automaton *a, const struct hp_code *code,
                              struct hp_index *index, uint32_t max_length)
{
    *a = (struct hp_automaton){
        .code = code, .index = index, .max_length = max_length, .shift = 32 - FIRST_FAR};
    a->far = calloc((size_t)1 << FIRST_FAR, sizeof *a->far);
    a->slots = calloc(FIRST_SLOTS, sizeof *a->slots);
    a->mask = FIRST_SLOTS - 1;
    a->n_nodes = 1;
    if (a->far && a->slots)
        return HP_OK;
    hp_automaton_fini(a);
    return hp_fail_nomem();
}

void hp_automaton_fini(struct hp_automaton *a)
{
    free(a->near);
    free(a->far);
    free(a->nodes);
    free(a->slots);
    free(a->targets);
    free(a->lists);
    *a = (struct hp_automaton){0};
}

void hp_automaton_clear(struct hp_automaton *a)
{
    memset(a->far, 0, ((size_t)1 << (32 - a->shift)) * sizeof *a->far);
    memset(a->slots, 0, (a->mask + 1) * sizeof *a->slots);
    a->n_nodes = 1;
    a->n_far = a->n_targets = a->n_lists = 0;
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static uint64_t hash_node(const struct hp_node_of_paths *n)
{
    struct hp_path path = {.start = n->start,
                           .outcomes = n->outcomes,
                           .targets = n->targets,
                           .block = n->block,
                           .length = n->length};
    return hp_hash64(hp_path_hash(&path) ^ n->last);
}

static bool same_node(const struct hp_node_of_paths *a, const struct hp_node_of_paths *b)
{
    return a->start == b->start && a->outcomes == b->outcomes && a->targets == b->targets &&
           a->block == b->block && a->last == b->last && a->length == b->length;
}

static void put_slot(uint32_t *slots, size_t mask, uint64_t hash, uint32_t id)
{
    size_t i = hash & mask;
    while (slots[i])
        i = (i + 1) & mask;
    slots[i] = id;
}

static enum hp_err grow_slots(struct hp_automaton *a)
{
    size_t n = (a->mask + 1) * 2;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (!slots)
        return hp_fail_nomem();
    for (size_t i = 1; i < a->n_nodes; i++)
        put_slot(slots, n - 1, hash_node(&a->nodes[i]), (uint32_t)i);
    free(a->slots);
    a->slots = slots;
    a->mask = n - 1;
    return HP_OK;
}

static enum hp_err add_node(struct hp_automaton *a, struct hp_node_of_paths *node, uint64_t hash,
                            const uint64_t *list, uint32_t *id)
{
    if (a->n_nodes > MAX_NODES || a->n_targets > UINT32_MAX - HP_PATH_MAX_LENGTH)
        return hp_fail_nomem();
    HP_TRY(hp_grow(&a->nodes, &a->cap_nodes, a->n_nodes + 1, sizeof *a->nodes));
    HP_TRY(hp_grow(&a->near, &a->cap_near, a->n_nodes + 1, sizeof *a->near));
    HP_TRY(hp_grow(&a->targets, &a->cap_targets, a->n_targets + HP_PATH_MAX_LENGTH,
                   sizeof *a->targets));
    if (a->n_nodes > (a->mask + 1) / 2)
        HP_TRY(grow_slots(a));
    node->first_target = (uint32_t)a->n_targets;
    memcpy(a->targets + a->n_targets, list, node->n_targets * sizeof *list);
    a->n_targets += node->n_targets;
    *id = (uint32_t)a->n_nodes++;
    a->nodes[*id] = *node;
    a->near[*id] = (struct hp_node_arcs){0};
    put_slot(a->slots, a->mask, hash, *id);
    return HP_OK;
}

enum hp_err hp_automaton_node(struct hp_automaton *a, const struct hp_prefix *prefix,
                              uint32_t *node)
{
    struct hp_node_of_paths wanted = {.start = prefix->start,
                                      .outcomes = prefix->outcomes,
                                      .targets = prefix->targets,
                                      .block = prefix->block,
                                      .last = prefix->last,
                                      .length = (uint8_t)prefix->length,
                                      .n_targets = (uint8_t)prefix->n_targets};
    uint64_t hash = hash_node(&wanted);
    uint32_t id;
    for (size_t i = hash & a->mask; (id = a->slots[i]); i = (i + 1) & a->mask)
        if (same_node(&a->nodes[id], &wanted))
            break;
    if (!id)
        HP_TRY(add_node(a, &wanted, hash, prefix->list, &id));
    *node = id;
    return HP_OK;
}

void hp_automaton_prefix(const struct hp_automaton *a, uint32_t node, struct hp_prefix *prefix)
{
    const struct hp_node_of_paths *n = &a->nodes[node];
    prefix->start = n->start;
    prefix->outcomes = n->outcomes;
    prefix->targets = n->targets;
    prefix->block = n->block;
    prefix->last = n->last;
    prefix->length = n->length;
    prefix->n_targets = n->n_targets;
    if (n->n_targets)
        memcpy(prefix->list, a->targets + n->first_target, n->n_targets * sizeof *prefix->list);
}

/* --- The rules -------------------------------------------------------------------------------- */

/* Data for making an arc. */
struct making {
    struct hp_automaton *a;
    struct hp_prefix at; /* the current path */
    uint32_t paths[HP_RUN_MAX];
    uint32_t n;
};

/* Where the block falls through to. Any Thumb transfer may be conditional, and any in code that
 * cannot be decoded. */
static uint64_t fall_of(const struct hp_code *code, const struct hp_block *block)
{
    bool may = block->flow == HP_FLOW_COND || !hp_rule_is_branch(block) ||
               block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB) ||
               hp_code_arch(code) == HP_ARCH_NONE;
    return may ? block->end : NOWHERE;
}

/* Finishes the current path and starts another. */
static void end_path(struct making *m, uint64_t start, uint32_t block, uint16_t flags)
{
    struct hp_prefix *at = &m->at;
    struct hp_path path = {.start = at->start,
                           .outcomes = at->outcomes,
                           .targets = at->targets,
                           .block = at->block,
                           .events = 1,
                           .length = (uint8_t)at->length,
                           .n_targets = (uint8_t)at->n_targets};
    uint32_t id = hp_index_intern(m->a->index, &path, at->list);
    if (id != HP_NO_ID)
        hp_index_paths(m->a->index)[id].flags |= flags;
    m->paths[m->n++] = id;
    at->start = start;
    at->outcomes = at->targets = 0;
    at->block = block;
    at->length = at->n_targets = 0;
}

/* The last block was followed by the block `to`. */
static void transfer(struct making *m, uint32_t to)
{
    struct hp_prefix *at = &m->at;
    const struct hp_block *b = hp_code_block(m->a->code, at->last);
    uint64_t target = hp_code_block(m->a->code, to)->start;
    bool taken = target != fall_of(m->a->code, b), back = taken && target <= b->last;
    at->last = to;
    if (!hp_rule_is_branch(b))
        return;
    if (at->length == m->a->max_length) { /* the outcome belongs to no path */
        end_path(m, target, to, HP_INDEXED_SPLIT);
        return;
    }
    at->outcomes = at->outcomes << 1 | taken;
    at->length++;
    if (back) {
        end_path(m, target, to, 0);
    } else if (taken && hp_rule_is_indirect(b)) {
        at->targets = hp_path_hash_target(at->targets, target);
        at->list[at->n_targets++] = target;
    }
}

/* --- Arcs ------------------------------------------------------------------------------------- */

static struct hp_far_arc *place_of(const struct hp_automaton *a, uint32_t node, uint32_t unit)
{
    uint32_t last = UINT32_MAX >> a->shift;
    uint32_t i = (node * 0x9e3779b1u ^ unit * 0x85ebca6bu) >> a->shift;
    while (a->far[i].node && (a->far[i].node != node || a->far[i].arc.unit != unit))
        i = i == last ? 0 : i + 1;
    return &a->far[i];
}

static enum hp_err grow_far(struct hp_automaton *a)
{
    size_t n = (size_t)1 << (32 - a->shift);
    struct hp_far_arc *old = a->far, *far = a->shift ? calloc(n * 2, sizeof *far) : NULL;
    if (!far)
        return hp_fail_nomem();
    a->far = far;
    a->shift--;
    for (size_t i = 0; i < n; i++)
        if (old[i].node)
            *place_of(a, old[i].node, old[i].arc.unit) = old[i];
    free(old);
    return HP_OK;
}

/* Runs the unit, starting at the node. */
static enum hp_err make_arc(struct hp_automaton *a, uint32_t node, uint32_t unit,
                            struct hp_arc *arc)
{
    struct making m; /* its lists are long, and written before they are read */
    uint32_t n;
    m.a = a;
    m.n = 0;
    const uint32_t *blocks = hp_code_unit(a->code, unit, &n);
    hp_automaton_prefix(a, node, &m.at);
    for (uint32_t i = 0; i < n; i++)
        transfer(&m, blocks[i]);
    *arc = (struct hp_arc){.unit = unit, .path = m.n ? m.paths[0] : HP_ARC_NONE};
    HP_TRY(hp_automaton_node(a, &m.at, &arc->next));
    if (m.n == 0 || (m.n == 1 && arc->path < HP_ARC_MANY))
        return HP_OK;
    HP_TRY(hp_grow(&a->lists, &a->cap_lists, a->n_lists + 1 + m.n + HP_LIST_FEW, sizeof *a->lists));
    if (a->n_lists + 1 + m.n >= HP_ARC_MANY - 1)
        return hp_fail_nomem();
    arc->path = HP_ARC_MANY | (uint32_t)a->n_lists;
    a->lists[a->n_lists++] = m.n;
    memcpy(a->lists + a->n_lists, m.paths, m.n * sizeof *m.paths);
    a->n_lists += m.n;
    return HP_OK;
}

static const struct hp_arc *add_far(struct hp_automaton *a, uint32_t node, const struct hp_arc *arc)
{
    if (a->n_far + 1 > ((size_t)1 << (32 - a->shift)) / 2 && grow_far(a) != HP_OK)
        return NULL;
    struct hp_far_arc *far = place_of(a, node, arc->unit);
    *far = (struct hp_far_arc){.node = node, .arc = *arc};
    a->n_far++;
    return &far->arc;
}

static __attribute__((noinline)) const struct hp_arc *new_arc(struct hp_automaton *a, uint32_t node,
                                                              uint32_t unit)
{
    struct hp_arc arc;
    if (make_arc(a, node, unit, &arc) != HP_OK)
        return NULL;
    for (int i = 0; i < HP_NODE_ARCS; i++)
        if (!a->near[node].arcs[i].next) {
            a->near[node].arcs[i] = arc;
            return &a->near[node].arcs[i];
        }
    return add_far(a, node, &arc);
}

const struct hp_arc *hp_automaton_arc(struct hp_automaton *a, uint32_t node, uint32_t unit)
{
    const struct hp_far_arc *far = place_of(a, node, unit);
    return far->node ? &far->arc : new_arc(a, node, unit);
}
