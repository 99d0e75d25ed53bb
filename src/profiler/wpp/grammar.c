// SPDX-License-Identifier: MIT
/*
 * One deviation from the textbook: a digram is examined only when its right node is complete, that
 * is, when another symbol has been appended after it. So a run of one path never touches the table,
 * and complete runs are compared with complete runs.
 *
 * Every change creates new neighbours. They are put on a list and examined one by one until the
 * list is empty.
 */
#include "profiler/wpp/grammar.h"

#include "base/grow.h"
#include "profiler/wpp/grammar_impl.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 128
#define SPARE                                                                                      \
    32 /* nodes that must be free before a symbol is appended, beside those that follow            \
        */
#define MAX_CAPACITY (1u << 30)

/* --- Digrams ---------------------------------------------------------------------------------- */

static uint32_t tag_of(const struct node *left, const struct node *right)
{
    uint64_t symbols = (uint64_t)left->symbol << 32 | right->symbol;
    uint64_t repeats = (uint64_t)left->repeat << 32 | right->repeat;
    uint64_t h = (symbols ^ repeats * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    return (uint32_t)((h * UINT64_C(0xbf58476d1ce4e5b9)) >> 32);
}

/* Tables have any number of slots: a tag is scaled to its slot. */
static uint32_t home(uint32_t tag, uint32_t n_slots)
{
    return (uint32_t)((uint64_t)tag * n_slots >> 32);
}

static uint32_t after(const struct hp_grammar *g, uint32_t slot)
{
    return slot + 1 == g->n_slots ? 0 : slot + 1;
}

static bool is_digram(const struct hp_grammar *g, uint32_t left)
{
    return g->nodes[left].symbol != SYMBOL_GUARD &&
           g->nodes[g->nodes[left].next].symbol != SYMBOL_GUARD;
}

/* Whether a node is the last of the sequence: digrams with it are not in the table yet. */
static bool may_grow(const struct hp_grammar *g, uint32_t node)
{
    return node == g->nodes[g->start].prev && !g->closed;
}

/* The slot of the digram at `left`, or the free one for it. */
static uint32_t probe(const struct hp_grammar *g, uint32_t left, uint32_t *tag)
{
    const struct node *a = &g->nodes[left], *b = &g->nodes[a->next];
    *tag = tag_of(a, b);
    for (uint32_t i = home(*tag, g->n_slots);; i = after(g, i)) {
        const struct slot *slot = &g->slots[i];
        if (!slot->node)
            return i;
        if (slot->tag != *tag)
            continue;
        const struct node *c = &g->nodes[slot->node], *d = &g->nodes[c->next];
        if (a->symbol == c->symbol && b->symbol == d->symbol && a->repeat == c->repeat &&
            b->repeat == d->repeat)
            return i;
    }
}

uint32_t hp_grammar_find(const struct hp_grammar *g, uint32_t left)
{
    uint32_t tag;
    return g->slots[probe(g, left, &tag)].node;
}

/* Removes a slot; displaced ones move up, so there are no tombstones. */
static void take_out(struct hp_grammar *g, uint32_t hole)
{
    for (uint32_t i = after(g, hole); g->slots[i].node; i = after(g, i)) {
        uint32_t wants = home(g->slots[i].tag, g->n_slots);
        /* Whether `hole` lies between its home slot and its slot. */
        bool passes = wants <= i ? wants <= hole && hole < i : wants <= hole || hole < i;
        if (!passes)
            continue;
        g->slots[hole] = g->slots[i];
        hole = i;
    }
    g->slots[hole] = (struct slot){0};
    g->n_digrams--;
}

/* Removes the digram at `left`, which is about to change, from the table if it is there. */
static void forget(struct hp_grammar *g, uint32_t left)
{
    uint32_t tag;
    if (!is_digram(g, left) || may_grow(g, g->nodes[left].next))
        return;
    uint32_t slot = probe(g, left, &tag);
    if (g->slots[slot].node == left)
        take_out(g, slot);
}

/* The digram in the table that equals the one at `left`, by its left node; 0: none, it was added
 * now. */
static uint32_t find_or_remember(struct hp_grammar *g, uint32_t left)
{
    uint32_t tag, slot = probe(g, left, &tag), known = g->slots[slot].node;
    if (!known) {
        g->slots[slot] = (struct slot){.node = left, .tag = tag};
        g->n_digrams++;
    }
    return known;
}

/* --- Memory ----------------------------------------------------------------------------------- */

/* Keeps the table at most half full: there are fewer digrams than nodes. */
static uint32_t slots_for(uint32_t capacity)
{
    return capacity * 2;
}

static size_t bytes_for(uint32_t capacity)
{
    return capacity * sizeof(struct node) + slots_for(capacity) * sizeof(struct slot);
}

static bool rehash(struct hp_grammar *g, uint32_t n_slots)
{
    struct slot *old = g->slots;
    uint32_t n_old = g->n_slots;
    g->slots = calloc(n_slots, sizeof *g->slots);
    if (!g->slots) {
        g->slots = old;
        return false;
    }
    g->n_slots = n_slots;
    for (uint32_t i = 0; i < n_old; i++) {
        if (!old[i].node)
            continue;
        uint32_t to = home(old[i].tag, n_slots);
        while (g->slots[to].node)
            to = after(g, to);
        g->slots[to] = old[i];
    }
    free(old);
    return true;
}

/* The largest capacity up to `want` within the budget: while the table grows, the old one exists
 * too. */
static uint32_t affordable(const struct hp_grammar *g, uint32_t want)
{
    size_t now = g->n_slots * sizeof(struct slot);
    size_t others = g->budget->used - bytes_for(g->capacity);
    if (others + now >= g->budget->max)
        return 0;
    size_t most = (g->budget->max - others - now) / bytes_for(1);
    return most < want ? (uint32_t)most : want;
}

static bool grow(struct hp_grammar *g)
{
    uint32_t old = g->capacity, want = old < MAX_CAPACITY / 2 ? old * 2 : MAX_CAPACITY;
    want = affordable(g, want);
    if (want < old + old / 8)
        return false;
    struct node *nodes = realloc(g->nodes, want * sizeof *nodes);
    if (!nodes)
        return false;
    g->nodes = nodes;
    size_t both =
        g->budget->used - bytes_for(old) + bytes_for(want) + g->n_slots * sizeof *g->slots;
    if (!rehash(g, slots_for(want)))
        return false;
    g->capacity = want;
    g->budget->used += bytes_for(want) - bytes_for(old);
    g->budget->peak = both > g->budget->peak ? both : g->budget->peak;
    return true;
}

static uint32_t room(const struct hp_grammar *g)
{
    return g->n_free + (g->capacity - g->n_nodes);
}

/* The caller has made sure of room. */
static uint32_t new_node(struct hp_grammar *g, uint32_t symbol, uint32_t repeat)
{
    uint32_t i = g->free;
    if (i) {
        g->free = g->nodes[i].next;
        g->n_free--;
    } else {
        i = g->n_nodes++;
    }
    g->nodes[i] = (struct node){.symbol = symbol, .repeat = repeat};
    return i;
}

static void free_node(struct hp_grammar *g, uint32_t i)
{
    g->nodes[i] = (struct node){.symbol = SYMBOL_FREE, .next = g->free};
    g->free = i;
    g->n_free++;
}

static void link_nodes(struct hp_grammar *g, uint32_t left, uint32_t right)
{
    g->nodes[left].next = right;
    g->nodes[right].prev = left;
}

/* --- Rules ------------------------------------------------------------------------------------ */

static struct node *guard_of(struct hp_grammar *g, uint32_t symbol)
{
    return &g->nodes[symbol & ~HP_GRAMMAR_RULE];
}

static void add_use(struct hp_grammar *g, uint32_t symbol)
{
    if (is_rule(symbol))
        guard_of(g, symbol)->repeat++;
}

static void drop_use(struct hp_grammar *g, uint32_t symbol)
{
    if (is_rule(symbol))
        guard_of(g, symbol)->repeat--;
}

static uint32_t new_rule(struct hp_grammar *g)
{
    uint32_t guard = new_node(g, SYMBOL_GUARD, 0);
    link_nodes(g, guard, guard);
    g->n_rules++;
    return guard;
}

/* Puts the digram at `left` on the list. The list has room for the nodes of the grammar. */
static void look_at(struct hp_grammar *g, uint32_t left)
{
    if (g->n_todo < g->todo_capacity ||
        hp_grow(&g->todo, &g->todo_capacity, g->n_todo + 1, sizeof *g->todo) == HP_OK)
        g->todo[g->n_todo++] = left;
    else
        g->full = true; /* a digram may occur twice: the grammar is longer, not wrong */
}

/* Joins `left` and its right neighbour into one node if they have the same symbol. No digram of the
 * two is in the table. */
static void join(struct hp_grammar *g, uint32_t left)
{
    uint32_t right = g->nodes[left].next;
    struct node *a = &g->nodes[left], *b = &g->nodes[right];
    if (a->symbol != b->symbol || a->symbol == SYMBOL_GUARD)
        return;
    if (b->repeat > g->max_repeat - a->repeat) {
        g->full = true; /* a run of billions: the next symbol starts another grammar */
        return;
    }
    forget(g, a->prev);
    forget(g, right);
    a->repeat += b->repeat;
    drop_use(g, a->symbol);
    link_nodes(g, left, b->next);
    free_node(g, right);
    look_at(g, a->prev);
    look_at(g, left);
}

/* Replaces the nodes from `first` to `last`, whose digrams are not in the table, by the rule. */
static void substitute(struct hp_grammar *g, uint32_t first, uint32_t last, uint32_t rule)
{
    struct node *node = &g->nodes[first];
    uint32_t before = node->prev, behind = g->nodes[last].next;
    forget(g, before);
    forget(g, last);
    drop_use(g, node->symbol);
    for (uint32_t i = node->next, next; i != behind; i = next) {
        next = g->nodes[i].next;
        drop_use(g, g->nodes[i].symbol);
        free_node(g, i);
    }
    link_nodes(g, first, behind);
    node->symbol = HP_GRAMMAR_RULE | rule;
    node->repeat = 1;
    add_use(g, node->symbol);
    look_at(g, first);
    look_at(g, before);
    join(g, first);
    join(g, before);
}

/* Makes the nodes from `first` to `last` the body of a new rule, which replaces them. Their digrams
 * stay in the table. */
static uint32_t extract(struct hp_grammar *g, uint32_t first, uint32_t last)
{
    uint32_t before = g->nodes[first].prev, behind = g->nodes[last].next;
    forget(g, before);
    forget(g, last);
    uint32_t rule = new_rule(g), node = new_node(g, HP_GRAMMAR_RULE | rule, 1);
    g->nodes[rule].repeat = 1;
    link_nodes(g, rule, first);
    link_nodes(g, last, rule);
    link_nodes(g, before, node);
    link_nodes(g, node, behind);
    look_at(g, node);
    look_at(g, before);
    return rule;
}

/* Rule utility: if the node is the only one that names its rule, and only once, the rule's body
 * replaces it. */
static void dissolve(struct hp_grammar *g, uint32_t i)
{
    struct node *node = &g->nodes[i];
    if (!is_rule(node->symbol) || node->symbol >= SYMBOL_FREE || node->repeat != 1 ||
        guard_of(g, node->symbol)->repeat != 1)
        return;
    uint32_t guard = node->symbol & ~HP_GRAMMAR_RULE, before = node->prev, behind = node->next;
    uint32_t first = g->nodes[guard].next, last = g->nodes[guard].prev;
    forget(g, before);
    forget(g, i);
    link_nodes(g, before, first);
    link_nodes(g, last, behind);
    free_node(g, i);
    free_node(g, guard);
    g->n_rules--;
    look_at(g, before);
    look_at(g, last);
    join(g, last);
    join(g, before);
}

/* The rule whose whole body is the nodes from `first` to `last`; 0: none. Never the start rule. */
static uint32_t whole(const struct hp_grammar *g, uint32_t first, uint32_t last)
{
    uint32_t guard = g->nodes[first].prev;
    bool is =
        g->nodes[guard].symbol == SYMBOL_GUARD && guard != g->start && g->nodes[last].next == guard;
    return is ? guard : 0;
}

/* The nodes from `first` to `last` equal those from `other` to `other_last`, whose digrams are in
 * the table. */
static void match(struct hp_grammar *g, uint32_t first, uint32_t last, uint32_t other,
                  uint32_t other_last)
{
    uint32_t rule = whole(g, other, other_last), mine = whole(g, first, last);
    if (!rule && mine) {
        forget(g, other); /* `mine` are two nodes */
        find_or_remember(g, first);
        substitute(g, other, other_last, rule = mine);
    } else {
        if (!rule && room(g) < 2) {
            g->full = true;
            return;
        }
        if (!rule)
            rule = extract(g, other, other_last);
        substitute(g, first, last, rule);
    }
    /* Rules further along were completed while followed: they are still used elsewhere too. */
    uint32_t second = g->nodes[g->nodes[rule].next].next;
    dissolve(g, g->nodes[rule].next);
    if (second != rule)
        dissolve(g, second);
}

/* --- The end of the sequence ------------------------------------------------------------------ */

/*
 * When the last complete digram of the sequence occurs elsewhere, nothing is done yet: the end of
 * the sequence *follows* that place as long as what is appended equals what comes there, at the
 * cost of a comparison. The textbook would make a rule of every prefix, and dissolve it again.
 *
 * Where a rule comes, its body is followed, and so on: one level for each. Nodes that followed a
 * whole body become one node that names the rule. Meanwhile nothing else changes. In the end, what
 * was followed on the first level is a match; what was followed of incomplete bodies is removed and
 * appended again, node by node.
 */

static void settle(struct hp_grammar *g);

static void end_following(struct hp_grammar *g)
{
    uint32_t from = g->follow_from, last = g->follow_last;
    g->nodes[g->nodes[g->start].prev].next = g->again;
    g->again = g->nodes[last].next;
    link_nodes(g, last, g->start);
    g->follow_from = 0;
    g->tail = 0;
    match(g, from, last, g->follow_other, g->levels[0].at);
    settle(g);
}

/* Replaces the nodes at the end that followed a whole body by a node of its rule, or by one more
 * repetition of it. */
static uint32_t collapse(struct hp_grammar *g, struct level *level)
{
    uint32_t end = g->nodes[g->start].prev, rule = g->nodes[level->at].next, to = level->node;
    uint32_t i = level->first;
    if (to) {
        g->nodes[to].repeat++;
    } else {
        to = level->node = i;
        i = g->nodes[i].next;
        drop_use(g, g->nodes[to].symbol);
        g->nodes[to].symbol = HP_GRAMMAR_RULE | rule;
        g->nodes[to].repeat = 1;
        add_use(g, g->nodes[to].symbol);
    }
    for (uint32_t next; i != end; i = next) {
        next = g->nodes[i].next;
        drop_use(g, g->nodes[i].symbol);
        free_node(g, i);
        g->tail--;
    }
    link_nodes(g, to, end);
    level->at = rule;
    level->first = 0;
    return to;
}

/* The node at the end equals the next one at the followed place. */
static void advance(struct hp_grammar *g, uint32_t node, uint32_t place)
{
    struct level *level = &g->levels[g->n_levels - 1];
    g->tail++;
    for (;;) {
        level->at = place;
        if (level == g->levels) {
            g->follow_last = node;
            g->tail = 0;
            return;
        }
        if (!level->first)
            level->first = node;
        if (g->nodes[g->nodes[place].next].symbol != SYMBOL_GUARD)
            return;
        node = collapse(g, level);
        place = g->nodes[level[-1].at].next;
        if (g->nodes[node].repeat != g->nodes[place].repeat)
            return;
        level--;
        g->n_levels--;
    }
}

/* Whether `last`, the last complete node of the sequence, equals the next one at the followed
 * place. */
static bool follow(struct hp_grammar *g, uint32_t last)
{
    const struct node *a = &g->nodes[last];
    for (;;) {
        uint32_t place = g->nodes[g->levels[g->n_levels - 1].at].next;
        const struct node *b = &g->nodes[place];
        if (a->symbol == b->symbol && a->repeat == b->repeat && place != g->follow_from) {
            advance(g, last, place);
            return true;
        }
        if (!is_rule(b->symbol) || b->symbol == SYMBOL_GUARD || place == g->follow_from ||
            g->n_levels == LEVELS)
            return false;
        g->levels[g->n_levels++] = (struct level){.at = b->symbol & ~HP_GRAMMAR_RULE};
    }
}

/* Examines the last complete digram of the sequence. */
static void look_at_end(struct hp_grammar *g)
{
    uint32_t right = g->nodes[g->nodes[g->start].prev].prev, left = g->nodes[right].prev;
    if (left == g->start || g->nodes[left].symbol == g->nodes[right].symbol)
        return;
    uint32_t other = find_or_remember(g, left);
    if (other && other != left) {
        g->follow_from = left;
        g->follow_last = right;
        g->follow_other = other;
        g->levels[0] = (struct level){.at = g->nodes[other].next};
        g->n_levels = 1;
    }
}

/* Examines all digrams on the list; the one at the end of the sequence last, when nothing else
 * changes. */
static void settle(struct hp_grammar *g)
{
    bool at_end = false;
    while (g->n_todo) {
        uint32_t left = g->todo[--g->n_todo], right = g->nodes[left].next;
        if (g->nodes[left].symbol == SYMBOL_FREE || !is_digram(g, left) ||
            g->nodes[left].symbol == g->nodes[right].symbol)
            continue; /* gone, or a run that cannot be joined */
        if (may_grow(g, right))
            continue;
        if (may_grow(g, g->nodes[right].next)) {
            at_end = true;
            continue;
        }
        uint32_t other = find_or_remember(g, left);
        if (other && other != left)
            match(g, left, right, other, g->nodes[other].next);
    }
    if (at_end)
        look_at_end(g);
}

/* --- The grammar ------------------------------------------------------------------------------ */

enum hp_err hp_grammar_new(struct hp_grammar_budget *budget, uint32_t max_repeat,
                           struct hp_grammar **grammar)
{
    struct hp_grammar *g = calloc(1, sizeof *g);
    if (!g)
        return hp_fail_nomem();
    g->budget = budget;
    g->max_repeat = max_repeat ? max_repeat : UINT32_MAX;
    g->capacity = FIRST_CAPACITY;
    g->nodes = malloc(g->capacity * sizeof *g->nodes);
    if (!g->nodes || !rehash(g, slots_for(g->capacity))) {
        free(g->nodes);
        free(g);
        return hp_fail_nomem();
    }
    budget->used += bytes_for(g->capacity);
    budget->peak = budget->used > budget->peak ? budget->used : budget->peak;
    g->nodes[0] = (struct node){.symbol = SYMBOL_FREE};
    g->n_nodes = 1;
    g->start = new_rule(g);
    *grammar = g;
    return HP_OK;
}

void hp_grammar_free(struct hp_grammar *g)
{
    if (!g)
        return;
    g->budget->used -= bytes_for(g->capacity);
    free(g->nodes);
    free(g->slots);
    free(g->todo);
    free(g);
}

/* Appends a node. The previous last node is complete now, unless both are one run. */
static void attach(struct hp_grammar *g, uint32_t node)
{
    uint32_t last = g->nodes[g->start].prev;
    if (g->nodes[last].symbol == g->nodes[node].symbol) {
        if (g->nodes[node].repeat <= g->max_repeat - g->nodes[last].repeat) {
            g->nodes[last].repeat += g->nodes[node].repeat;
            drop_use(g, g->nodes[node].symbol);
            free_node(g, node);
            return;
        }
        g->full = true;
    }
    link_nodes(g, last, node);
    link_nodes(g, node, g->start);
    if (g->follow_from) {
        if (!follow(g, last))
            end_following(g);
        return;
    }
    look_at(g, g->nodes[last].prev);
    settle(g);
}

static void attach_all(struct hp_grammar *g)
{
    while (g->again) {
        uint32_t node = g->again;
        g->again = g->nodes[node].next;
        attach(g, node);
    }
}

/* Appends a terminal that differs from the last node's. */
static bool append(struct hp_grammar *g, uint32_t terminal)
{
    if (room(g) < SPARE + g->tail && !grow(g))
        return false;
    attach(g, new_node(g, terminal, 1));
    attach_all(g);
    return true;
}

/* Appends a terminal; false: no room. */
static bool push(struct hp_grammar *g, uint32_t terminal)
{
    struct node *last = &g->nodes[g->nodes[g->start].prev];
    if (last->symbol != terminal)
        return append(g, terminal);
    if (last->repeat == g->max_repeat) {
        g->full = true;
        return false;
    }
    last->repeat++;
    return true;
}

size_t hp_grammar_push(struct hp_grammar *g, const uint32_t *terminals, size_t n)
{
    size_t i = 0;
    while (i < n && !g->full && !g->closed && push(g, terminals[i]))
        i++;
    g->symbols += i;
    return i;
}

bool hp_grammar_full(const struct hp_grammar *g)
{
    return g->full || g->closed;
}

void hp_grammar_close(struct hp_grammar *g)
{
    while (g->follow_from) {
        end_following(g);
        attach_all(g);
    }
    g->closed = true;
    look_at(g, g->nodes[g->nodes[g->start].prev].prev);
    settle(g);
}

struct hp_grammar_stats hp_grammar_stats(const struct hp_grammar *g)
{
    return (struct hp_grammar_stats){
        .symbols = g->symbols,
        .rules = g->n_rules,
        .nodes = g->n_nodes - 1 - g->n_free - g->n_rules,
        .bytes = bytes_for(g->capacity),
    };
}

uint32_t hp_grammar_start(const struct hp_grammar *g)
{
    return HP_GRAMMAR_RULE | g->start;
}

uint32_t hp_grammar_first(const struct hp_grammar *g, uint32_t rule)
{
    return hp_grammar_next(g, rule & ~HP_GRAMMAR_RULE);
}

uint32_t hp_grammar_next(const struct hp_grammar *g, uint32_t node)
{
    uint32_t next = g->nodes[node].next;
    return g->nodes[next].symbol == SYMBOL_GUARD ? 0 : next;
}

uint32_t hp_grammar_symbol(const struct hp_grammar *g, uint32_t node)
{
    return g->nodes[node].symbol;
}

uint32_t hp_grammar_repeat(const struct hp_grammar *g, uint32_t node)
{
    return g->nodes[node].repeat;
}

uint32_t hp_grammar_limit(const struct hp_grammar *g)
{
    return g->n_nodes;
}
