// SPDX-License-Identifier: MIT
/*
 * Path detection by units, from memory: the same as detector.c, an arc of the memo at a time. What
 * the memo does not know goes through hp_detector_transfer(), one transfer at a time, and is noted
 * there if it depends on nothing but the node and the symbol.
 *
 * While this runs, the detector's entries are valid up to `written`, and so is `return_to` of that
 * one. Above, the memo's nodes say what they are, and the node of the top is a variable. When it
 * returns, all entries are valid, and the nodes are only what spares a return a look-up.
 *
 * For a sink that takes groups, sequences of units are looked up first (phrases.h).
 */
#include "profiler/path/detector_impl.h"

#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A symbol may finish so many paths. */
#define ROOM (2 * HP_RUN_MAX)
_Static_assert(ROOM < HP_PATHS_MAX, "there is room for them");

struct run {
    struct hp_detector *d;
    struct hp_path_memo *memo;
    const struct hp_code *code;
    const struct hp_block *table;
};

/* A phrase that is being noted. */
struct note {
    bool good;     /* so far */
    size_t top;    /* where the stack was */
    size_t lowest; /* that it has been since */
    size_t rise;
    size_t n_calls;
    int32_t calls[HP_PHRASE_CALLS]; /* how far the stack was above `top` */
};

struct state {
    uint32_t node; /* 0: unknown; then everything is in the detector, and the next is valid */
    uint32_t last; /* block whose successor is unknown */
    uint32_t *nodes;
    size_t top, bottom, written; /* entries */
    size_t full;                 /* with so many, a call overflows */
    size_t most;                 /* there may be no more */
    uint32_t *out;
    uint64_t insns, branches;
    size_t n_missed; /* phrases, in a piece */
    size_t n_spared; /* paths of groups beyond one each */
};

/* --- Between the nodes and the detector ------------------------------------------------------- */

static void write_entry(struct hp_detector *d, const struct hp_path_memo *memo, size_t written,
                        size_t i, uint32_t id)
{
    const struct hp_memo_node *node = &memo->nodes[id];
    uint64_t return_to =
        i > written ? memo->nodes[d->nodes[i - 1]].return_to : d->entries[i].return_to;
    d->entries[i] = (struct hp_path_entry){.start = node->start,
                                           .outcomes = node->outcomes,
                                           .insns = node->insns,
                                           .return_to = return_to,
                                           .block = node->block,
                                           .extension = node->extension,
                                           .length = node->length};
}

/* Makes the detector's state that of the loop. */
static void store(const struct run *r, struct state *s)
{
    struct hp_detector *d = r->d;
    d->stats.branches += s->branches;
    d->stats.blocks += s->branches;
    d->stats.instructions += s->insns;
    s->branches = s->insns = 0;
    d->n_numbers = (size_t)(s->out - d->numbers);
    d->n = s->top + 1;
    if (!s->node)
        return;
    for (size_t i = s->written; i < s->top; i++)
        write_entry(d, r->memo, s->written, i, d->nodes[i]);
    write_entry(d, r->memo, s->written, s->top, s->node);
    d->pending.insns = r->memo->nodes[s->node].pending;
    s->last = r->memo->nodes[s->node].last;
}

/* The node of the top entry. */
static uint32_t node_of(const struct run *r, size_t i, uint32_t last, uint64_t return_to)
{
    const struct hp_detector *d = r->d;
    const struct hp_path_entry *entry = &d->entries[i];
    uint64_t pending = return_to ? 0 : d->pending.insns;
    if (entry->insns > UINT32_MAX || entry->events || pending > UINT32_MAX || d->pending.events)
        return 0;
    return hp_path_memo_node(r->memo, &(struct hp_memo_node){.start = entry->start,
                                                             .outcomes = entry->outcomes,
                                                             .return_to = return_to,
                                                             .block = entry->block,
                                                             .last = last,
                                                             .insns = (uint32_t)entry->insns,
                                                             .pending = (uint32_t)pending,
                                                             .extension = entry->extension,
                                                             .length = entry->length});
}

/* `node` is that of the detector's state. */
static void load(const struct run *r, struct state *s, uint32_t node)
{
    struct hp_detector *d = r->d;
    size_t limit = d->low + HP_DETECTOR_MAX_SPILL;
    if (d->n_paths)
        hp_detector_hand_over(d);
    s->node = node;
    s->nodes = d->nodes;
    s->top = s->written = d->n - 1;
    s->bottom = hp_detector_floor(d);
    s->full = d->low + d->ppcr.stack_entries;
    s->most = limit < d->cap ? limit : d->cap;
    if (d->ppcr.overflow == HP_OVERFLOW_DROP_OLDEST && s->full < s->most)
        s->most = s->full;
    s->out = d->numbers + d->n_numbers;
}

/* --- Learning --------------------------------------------------------------------------------- */

/* The node of a path that starts at this block. */
static uint32_t node_of_start(const struct run *r, uint32_t block)
{
    return hp_path_memo_node(
        r->memo,
        &(struct hp_memo_node){.start = r->table[block].start, .block = block, .last = HP_NO_ID});
}

/* An arc that may be noted. */
struct lesson {
    uint32_t node, symbol;
    bool good; /* so far, nothing else mattered */
    size_t base, low, first_number;
    uint64_t trouble, hand_overs, insns, branches, blocks, splits, underflows;
    size_t n_calls, rise;
    uint32_t calls[HP_RUN_MAX + 1];
};

/* Grows whenever what happened depends on the stack below; see retire() for underflows. */
static uint64_t trouble_of(const struct hp_detector_stats *stats)
{
    return stats->dropped + stats->repairs + stats->purges + stats->unfinished +
           stats->unfinished_insns;
}

static void begin(struct lesson *l, const struct hp_detector *d, uint32_t node, uint32_t symbol)
{
    l->node = node;
    l->symbol = symbol;
    l->good = node != 0 && d->n_paths == 0;
    l->base = d->n;
    l->low = d->low;
    l->first_number = d->n_numbers;
    l->trouble = trouble_of(&d->stats);
    l->hand_overs = d->hand_overs;
    l->insns = d->stats.instructions;
    l->branches = d->stats.branches;
    l->blocks = d->stats.blocks;
    l->splits = d->stats.splits;
    l->underflows = d->stats.underflows;
    l->n_calls = l->rise = 0;
}

/* Fills in the effect; `arc` is what is known of it. `then` begins with the block `to`. */
static void conclude(const struct run *r, const struct lesson *l, struct hp_path_arc *arc,
                     uint32_t then, uint32_t to)
{
    const struct hp_detector *d = r->d;
    size_t n_paths = d->n_numbers - l->first_number;
    size_t n_waiting = then == HP_MEMO_NONE ? d->n - l->base : 0;
    uint64_t branches = d->stats.branches - l->branches;
    uint64_t others = d->stats.blocks - l->blocks - branches;
    uint64_t splits = d->stats.splits - l->splits;
    uint64_t underflows = d->stats.underflows - l->underflows;
    if (d->n_paths || d->hand_overs != l->hand_overs || d->low != l->low ||
        trouble_of(&d->stats) != l->trouble || hp_path_memo_arc(r->memo, l->node, l->symbol))
        return;
    arc->symbol = l->symbol;
    arc->weight = (uint32_t)(d->stats.instructions - l->insns) | (uint32_t)branches
                                                                     << HP_MEMO_BRANCHES;
    arc->out = n_paths ? d->numbers[l->first_number] : HP_MEMO_NONE;
    if (n_paths < 2 && !l->n_calls && !splits && !others && !underflows && then == HP_MEMO_NONE) {
        hp_path_memo_add(r->memo, l->node, arc, NULL);
        return;
    }
    uint32_t again = 0;
    if (then != HP_MEMO_NONE && d->ppcr.extension == HP_EXTEND_CALL &&
        !(again = node_of_start(r, to)))
        return;
    union {
        struct hp_path_effect effect;
        uint32_t words[sizeof(struct hp_path_effect) / 4 + 3 * (HP_RUN_MAX + 1)];
    } noted = {.effect = {.n_paths = (uint8_t)n_paths,
                          .n_waiting = (uint8_t)n_waiting,
                          .n_calls = (uint8_t)l->n_calls,
                          .rise = (uint8_t)l->rise,
                          .splits = (uint8_t)splits,
                          .others = (uint8_t)others,
                          .underflows = (uint8_t)underflows,
                          .then = then,
                          .again = again}};
    uint32_t *list = noted.words + sizeof(struct hp_path_effect) / 4;
    memcpy(list, d->numbers + l->first_number, n_paths * sizeof *list);
    for (size_t i = 0; i < n_waiting; i++)
        if (!(list[n_paths + i] = d->nodes[l->base - 1 + i]))
            return;
    memcpy(list + n_paths + n_waiting, l->calls, l->n_calls * sizeof *list);
    arc->out = HP_MEMO_MANY;
    hp_path_memo_add(r->memo, l->node, arc, &noted.effect);
}

/* Whether it leaves the frame of the top. */
static bool is_leaving(const struct hp_detector *d, enum hp_class class)
{
    const struct hp_path_entry *top = &d->entries[d->n - 1];
    if (class == HP_CLASS_RETURN && d->ppcr.extension == HP_EXTEND_CALL && top->extension)
        return false;
    if (class == HP_CLASS_BACKWARD && d->ppcr.extension == HP_EXTEND_LOOP &&
        top->extension < d->ppcr.max_extension)
        return false;
    return (d->ppcr.ops[class] & (HP_PATH_POP | HP_PATH_PUSH)) == HP_PATH_POP;
}

/* What became of the frame of the top. */
enum fate {
    STAYS,
    LEFT,  /* as expected */
    AGAIN, /* it did not return to where it was called: with extended calls it stays */
};

/* Retires the block `from`. */
static enum fate retire(const struct run *r, struct lesson *l, uint32_t from, uint32_t to)
{
    struct hp_detector *d = r->d;
    const struct hp_block *table = r->table;
    bool taken = table[to].start != table[from].end || !hp_path_falls(r->code, &table[from]);
    struct hp_path_transfer x = hp_path_transfer_of(table, from, to, taken);
    enum hp_class class = hp_detector_class(&d->ppcr, &x);
    bool leaving = is_leaving(d, class);
    size_t n = d->n;
    uint64_t return_to = d->entries[n - 1].return_to;
    if (!hp_path_is_branch(table[from].flow)) {
        hp_detector_retire(d, table, from, to, taken, 0);
        return STAYS;
    }
    if (class == HP_CLASS_INDIRECT && d->frames && hp_detector_may_land(d, &x))
        l->good = false;
    hp_detector_retire(d, table, from, to, taken, 0);
    if (leaving) {
        bool returns = class == HP_CLASS_RETURN && return_to;
        if (returns && return_to == x.target && d->n == n - 1)
            return LEFT;
        if (returns && return_to != x.target && d->ppcr.extension == HP_EXTEND_CALL)
            return AGAIN;
        l->good = false;
        return STAYS;
    }
    if (d->n == n + 1 && class == HP_CLASS_CALL) {
        d->nodes[n - 1] = node_of(r, n - 1, HP_NO_ID, x.end);
        l->good &= n >= l->base;
        if (l->good) {
            l->calls[l->n_calls++] = (uint32_t)(n - l->base);
            l->rise = d->n - l->base > l->rise ? d->n - l->base : l->rise;
        }
    } else if (d->n != n) {
        l->good = false;
    }
    return STAYS;
}

/* Runs the symbol, of which the memo knows nothing, one transfer at a time. */
static __attribute__((noinline)) void learn(const struct run *r, struct state *s, uint32_t symbol,
                                            uint32_t unit)
{
    struct hp_detector *d = r->d;
    struct lesson l; /* its list is long, and written before it is read */
    uint32_t n, first = 0, node = s->node;
    store(r, s);
    if (d->n_numbers > HP_PATHS_MAX - ROOM)
        hp_detector_hand_over(d);
    if (unit >= HP_MEMO_UNITS)
        node = 0;
    else
        first = hp_memo_first(symbol);
    const uint32_t *blocks = hp_code_unit(r->code, unit, &n);
    uint32_t from = s->last;
    begin(&l, d, node, symbol);
    for (uint32_t i = first; i < n; i++) {
        enum fate fate = from == HP_NO_ID ? STAYS : retire(r, &l, from, blocks[i]);
        from = blocks[i];
        if (fate == STAYS || (fate == LEFT ? d->n >= l.base : d->n > l.base))
            continue;
        l.underflows += fate == AGAIN; /* whether it is one depends on the frame */
        uint32_t rest = i ? hp_memo_rest(unit, i) : unit;
        bool clean = unit < HP_MEMO_UNITS && !d->pending.insns && !d->pending.events;
        if (l.good && clean)
            conclude(r, &l, &(struct hp_path_arc){0}, rest, from);
        node = !clean          ? 0
               : fate == AGAIN ? node_of_start(r, from)
                               : node_of(r, d->n - 1, HP_NO_ID, r->table[from].start);
        begin(&l, d, node, rest);
    }
    node = node_of(r, d->n - 1, from, 0);
    if (l.good && node && d->n >= l.base)
        conclude(r, &l, &(struct hp_path_arc){.next = node}, HP_MEMO_NONE, HP_NO_ID);
    s->last = from;
    load(r, s, node);
}

/* --- The loop --------------------------------------------------------------------------------- */

/* Counts the calls of frames above the limit; they are few. */
static void count_overflows(const struct run *r, const struct state *s,
                            const struct hp_path_effect *e)
{
    const uint32_t *calls = e->list + e->n_paths + e->n_waiting;
    for (uint32_t i = 0; i < e->n_calls; i++)
        r->d->stats.overflows += s->top + 1 + calls[i] >= s->full;
}

static void note_calls(struct note *note, size_t top, const struct hp_path_effect *e)
{
    const uint32_t *calls = e->list + e->n_paths + e->n_waiting;
    size_t rise = top + e->rise;
    if (note->n_calls + e->n_calls > HP_PHRASE_CALLS) {
        note->good = false;
        return;
    }
    if (rise > note->top && rise - note->top > note->rise)
        note->rise = rise - note->top;
    for (uint32_t i = 0; i < e->n_calls; i++)
        note->calls[note->n_calls++] = (int32_t)(top + calls[i] - note->top);
}

/* Applies the effect; false: it cannot be, and nothing happened. */
ALWAYS_INLINE bool apply(const struct run *r, struct state *s, const struct hp_path_effect *e,
                         struct note *note)
{
    if (e->n_calls) {
        size_t most = s->top + 1 + e->rise;
        if (most > s->most)
            return false;
        if (most > s->full)
            count_overflows(r, s, e);
        if (note)
            note_calls(note, s->top, e);
    }
    for (uint32_t i = 0; i < e->n_paths; i++)
        *s->out++ = e->list[i];
    for (uint32_t i = 0; i < e->n_waiting; i++)
        s->nodes[s->top++] = e->list[e->n_paths + i];
    r->d->stats.splits += e->splits;
    r->d->stats.underflows += e->underflows;
    r->d->stats.blocks += e->others;
    return true;
}

ALWAYS_INLINE void count_retired(struct state *s, uint32_t weight)
{
    s->insns += weight & ((1u << HP_MEMO_BRANCHES) - 1);
    s->branches += weight >> HP_MEMO_BRANCHES;
}

/* Whether what waits at a node is a call that returns to where the path of another starts. */
ALWAYS_INLINE bool returns_to(const struct hp_path_memo *memo, uint32_t waiting, uint32_t started)
{
    return memo->nodes[waiting].return_to == memo->nodes[started].start;
}

/* Follows the arc, and those of what it returns to. HP_MEMO_NONE; or a symbol that must be learned,
 * before which nothing is missing. */
ALWAYS_INLINE uint32_t follow(const struct run *r, struct state *s, uint32_t symbol,
                              struct note *note)
{
    const struct hp_path_arc *arc = hp_path_memo_arc(r->memo, s->node, symbol);
    for (;;) {
        const struct hp_path_arc *after = NULL;
        uint32_t again = 0;
        if (!arc)
            return symbol;
        if (arc->out < HP_MEMO_MANY) {
            *s->out++ = arc->out;
        } else if (arc->out != HP_MEMO_NONE) {
            const struct hp_path_effect *e = hp_path_memo_effect(r->memo, arc->out);
            if (e->then != HP_MEMO_NONE) {
                uint32_t below = s->top > s->bottom ? s->nodes[s->top - 1] : 0;
                again = e->again && below && !returns_to(r->memo, below, e->again) ? e->again : 0;
                after = hp_path_memo_arc(r->memo, again ? again : below, e->then);
                if (!after)
                    return symbol;
            }
            if (!apply(r, s, e, note))
                return symbol;
            symbol = e->then;
        }
        count_retired(s, arc->weight);
        if (!after) {
            s->node = arc->next;
            return HP_MEMO_NONE;
        }
        arc = after;
        if (again) {
            r->d->stats.underflows++;
            s->node = again;
            if (note)
                note->good = false;
            continue;
        }
        s->top--;
        if (note)
            note->lowest = s->top < note->lowest ? s->top : note->lowest;
        s->written = s->top < s->written ? s->top : s->written;
        s->node = s->nodes[s->top];
    }
}

static __attribute__((noinline)) void hand_over(const struct run *r, struct state *s)
{
    r->d->n_numbers = (size_t)(s->out - r->d->numbers);
    hp_detector_hand_over(r->d);
    s->out = r->d->numbers;
}

/* So many paths fit behind those that are not handed over yet. */
ALWAYS_INLINE void make_room(const struct run *r, struct state *s, size_t n)
{
    if (__builtin_expect(s->out > r->d->numbers + HP_PATHS_MAX - n, 0))
        hand_over(r, s);
}

/* Follows unit after unit; false: not all were known. `note`: of a phrase; NULL: there is none. */
ALWAYS_INLINE bool take_units(const struct run *r, struct state *s, const uint32_t *units, size_t n,
                              struct note *note)
{
    bool known = true;
    for (size_t i = 0; i < n; i++) {
        uint32_t unknown = follow(r, s, units[i], note);
        if (__builtin_expect(unknown != HP_MEMO_NONE, 0)) {
            learn(r, s, unknown, units[i]);
            known = false;
        }
        make_room(r, s, ROOM);
    }
    return known;
}

/* --- Phrases ---------------------------------------------------------------------------------- */

#define PIECE 256 /* steps that are cut at a time */

/* For the paths of a phrase, which are copied in eights, and those of another unit. */
#define PHRASE_ROOM (HP_PHRASE_PATHS + 8 + ROOM)
_Static_assert(PHRASE_ROOM < HP_PATHS_MAX, "there is room for them");

/* Counts the calls of frames above the limit. */
static __attribute__((noinline)) void count_far_calls(const struct run *r, const struct state *s,
                                                      const struct hp_phrase *p)
{
    const uint32_t *calls = r->memo->phrases.lists + p->list + p->n_returns + p->n_waiting;
    for (uint32_t i = 0; i < p->n_calls; i++)
        r->d->stats.overflows += s->top + 1 + (size_t)(int32_t)calls[i] >= s->full;
}

/* Hands over the paths of a phrase. */
ALWAYS_INLINE void finish_paths(const struct run *r, struct state *s, struct hp_phrase *p,
                                const uint32_t *list)
{
    if (p->group) {
        *s->out++ = p->group;
        s->n_spared += p->n_paths - 1u;
        return;
    }
    for (uint32_t i = 0; i < p->n_paths; i += 8)
        memcpy(s->out + i, list + i, 8 * sizeof *list);
    s->out += p->n_paths;
    if (++p->uses == r->memo->phrases.often && p->n_paths > 1)
        p->group = hp_path_numbers_group(&r->memo->numbers, list, p->n_paths);
}

/* Applies a phrase that begins at the node; false: it cannot be, and nothing happened. */
ALWAYS_INLINE bool apply_phrase(const struct run *r, struct state *s, struct hp_phrase *p)
{
    const uint32_t *list = r->memo->phrases.lists + p->list;
    if (s->top < s->bottom + p->n_returns)
        return false;
    for (uint32_t i = 0; i < p->n_returns; i++)
        if (s->nodes[s->top - 1 - i] != list[i])
            return false;
    if (p->n_calls) {
        size_t most = s->top + 1 + p->rise;
        if (most > s->most)
            return false;
        if (most > s->full)
            count_far_calls(r, s, p);
    }
    s->top -= p->n_returns;
    s->written = s->top < s->written ? s->top : s->written;
    list += p->n_returns;
    for (uint32_t i = 0; i < p->n_waiting; i++)
        s->nodes[s->top++] = list[i];
    finish_paths(r, s, p, list + p->n_waiting + p->n_calls);
    s->insns += p->insns;
    s->branches += p->branches;
    r->d->stats.splits += p->splits;
    r->d->stats.underflows += p->underflows;
    r->d->stats.blocks += p->others;
    s->node = p->next;
    return true;
}

/* What was before a phrase. */
struct before {
    uint32_t node;
    uint32_t below[HP_PHRASE_RETURNS]; /* nodes, the highest first */
    const uint32_t *out;
    uint64_t hand_overs, insns, branches, splits, underflows, others;
};

static uint64_t others_of(const struct run *r)
{
    return r->d->stats.blocks - r->d->stats.branches;
}

static struct before look(const struct run *r, const struct state *s)
{
    struct before b = {.node = s->node,
                       .out = s->out,
                       .hand_overs = r->d->hand_overs,
                       .insns = s->insns,
                       .branches = s->branches,
                       .splits = r->d->stats.splits,
                       .underflows = r->d->stats.underflows,
                       .others = others_of(r)};
    for (size_t i = 0; i < HP_PHRASE_RETURNS && i < s->top; i++)
        b.below[i] = s->nodes[s->top - 1 - i];
    return b;
}

/* Puts it into the table, if it is short enough. */
static void keep(const struct run *r, const struct state *s, const struct before *b,
                 const struct note *note, struct hp_phrase *p, const uint32_t *units, size_t n)
{
    size_t n_returns = note->top - note->lowest, n_waiting = s->top - note->lowest;
    size_t n_paths = (size_t)(s->out - b->out), n_calls = note->n_calls;
    uint64_t splits = r->d->stats.splits - b->splits;
    uint64_t underflows = r->d->stats.underflows - b->underflows;
    uint64_t others = others_of(r) - b->others;
    size_t room = n_returns + n_waiting + n_calls + (n_paths + 7) / 8 * 8; /* read in eights */
    if (n_returns > HP_PHRASE_RETURNS || n_paths > HP_PHRASE_PATHS || room > UINT8_MAX ||
        (splits | underflows | others) > UINT8_MAX)
        return;
    uint32_t *list = hp_phrases_room(&r->memo->phrases, p, room);
    if (!list)
        return;
    *p = (struct hp_phrase){.node = b->node,
                            .next = s->node,
                            .list = p->list,
                            .cap = p->cap,
                            .insns = (uint32_t)(s->insns - b->insns),
                            .branches = (uint16_t)(s->branches - b->branches),
                            .n_units = (uint8_t)n,
                            .n_returns = (uint8_t)n_returns,
                            .n_waiting = (uint8_t)n_waiting,
                            .n_calls = (uint8_t)n_calls,
                            .n_paths = (uint8_t)n_paths,
                            .rise = (uint8_t)note->rise,
                            .splits = (uint8_t)splits,
                            .underflows = (uint8_t)underflows,
                            .others = (uint8_t)others};
    memcpy(p->units, units, n * sizeof *units);
    memcpy(list, b->below, n_returns * sizeof *list);
    list += n_returns;
    memcpy(list, s->nodes + note->lowest, n_waiting * sizeof *list);
    list += n_waiting;
    memcpy(list, note->calls, n_calls * sizeof *list);
    memcpy(list + n_calls, b->out, n_paths * sizeof *list);
}

/* Follows the units of a phrase that the table does not have, and notes it. */
static __attribute__((noinline)) void note_phrase(const struct run *r, struct state *s,
                                                  struct hp_phrase *p, const uint32_t *units,
                                                  size_t n)
{
    make_room(r, s, HP_PATHS_MAX / 2);
    struct note note = {.good = s->node != 0, .top = s->top, .lowest = s->top};
    struct before b = look(r, s);
    bool known = take_units(r, s, units, n, &note);
    if (known && note.good && r->d->hand_overs == b.hand_overs)
        keep(r, s, &b, &note, p, units, n);
}

ALWAYS_INLINE bool try_phrase(const struct run *r, struct state *s, struct hp_phrase *p,
                              const uint32_t *units, size_t n)
{
    return p->node == s->node && p->n_units == n && hp_phrase_is(p, units) && apply_phrase(r, s, p);
}

ALWAYS_INLINE void take_phrase(const struct run *r, struct state *s, const uint32_t *units,
                               size_t n, uint32_t hash)
{
    struct hp_phrase *p = hp_phrases_at(&r->memo->phrases, hash);
    make_room(r, s, PHRASE_ROOM);
    if (try_phrase(r, s, &p[0], units, n) || try_phrase(r, s, &p[1], units, n))
        return;
    s->n_missed++;
    if (p->missed == (uint16_t)hash) {
        struct hp_phrase older = p[1];
        p[1] = p[0];
        p[0] = older;
        note_phrase(r, s, p, units, n);
    } else {
        p->missed = (uint16_t)hash;
        take_units(r, s, units, n, NULL);
    }
}

#define AHEAD_TABLE 8 /* phrases */
#define AHEAD_LISTS 3

/* What will be needed soon. */
ALWAYS_INLINE void prefetch(const struct hp_phrases *phrases, const struct hp_phrase_end *end)
{
    const struct hp_phrase *p = hp_phrases_at(phrases, end[AHEAD_TABLE].hash);
    __builtin_prefetch(&p[0]);
    __builtin_prefetch(&p[1]);
    p = hp_phrases_at(phrases, end[AHEAD_LISTS].hash);
    __builtin_prefetch(phrases->lists + p->list);
}

/* Takes steps[0] ... steps[n - 1], or most of them: how many. */
static size_t take_piece(const struct run *r, struct state *s, const struct hp_step *steps,
                         size_t n, bool all)
{
    uint32_t units[PIECE + HP_PHRASE_MAX]; /* the last ones are read, and do not matter */
    struct hp_phrase_end ends[PIECE + AHEAD_TABLE];
    size_t n_ends = hp_phrase_ends(steps, n, units, ends), at = 0;
    s->n_missed = s->n_spared = 0;
    memset(units + n, 0, HP_PHRASE_MAX * sizeof *units);
    memset(ends + n_ends, 0, AHEAD_TABLE * sizeof *ends);
    for (size_t i = 0; i < n_ends; i++) {
        prefetch(&r->memo->phrases, &ends[i]);
        take_phrase(r, s, units + at, ends[i].end - at, ends[i].hash);
        at = ends[i].end;
    }
    r->d->stats.paths += s->n_spared;
    hp_phrases_judge(&r->memo->phrases, n_ends, s->n_missed, s->n_spared);
    if (!all)
        return at;
    take_units(r, s, units + at, n - at, NULL);
    return n;
}

void hp_detector_by_memo(struct hp_detector *d, const struct hp_steps *steps)
{
    struct run r = {
        .d = d, .memo = d->memo, .code = steps->code, .table = hp_code_blocks(steps->code)};
    bool groups = d->sink && d->sink->groups && d->ppcr.metric == HP_METRIC_EXECUTIONS;
    size_t *pause = groups ? &d->memo->phrases.pause : NULL;
    struct state s = {.last = steps->steps[0].first};
    if (d->generation != d->memo->generation) {
        memset(d->nodes, 0, d->cap_nodes * sizeof *d->nodes);
        d->generation = d->memo->generation;
    }
    if (d->n_numbers > HP_PATHS_MAX - ROOM)
        hp_detector_hand_over(d);
    load(&r, &s, node_of(&r, d->n - 1, s.last, 0));
    for (size_t i = 1; i <= steps->n;) {
        size_t rest = steps->n + 1 - i, n = rest < PIECE ? rest : PIECE;
        if (pause && *pause < n) {
            i += take_piece(&r, &s, &steps->steps[i], n, n == rest);
            continue;
        }
        for (size_t end = i + n; i < end; i++)
            take_units(&r, &s, &steps->steps[i].unit, 1, NULL);
        if (pause)
            *pause -= n;
    }
    store(&r, &s);
}
