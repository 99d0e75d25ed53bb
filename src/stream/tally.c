// SPDX-License-Identifier: MIT
#include "stream/tally.h"

#include "base/grow.h"
#include "base/tally64.h"
#include "stream/balance.h"
#include "stream/code_impl.h"

#include <stdlib.h>

#define SOON    8  /* ways out whose targets are looked up before they are needed */
#define AT_ONCE 32 /* pairs whose counts are fetched before the first of them is counted */

#define NEAR 8 /* edges of a block that are found one by one */

/* The first instructions of a block, and how often they ran without the rest. */
struct part {
    uint32_t node;
    uint64_t count;
};

/* In an edge: LATE | index of an address where no whole block is known yet. There may be one once
 * all parts are joined. */
#define LATE 0x80000000u

/* How often a segment was left in one direction. */
struct direct {
    uint32_t id, direction;
    uint64_t count;
    uint64_t
        start; /* of what follows, if that is known although the transfer is indirect; else 0 */
    bool is_counter; /* the value of one; else part of an execution that is handled on its own */
};

/* Nodes between which the thread went without a counter or a pair; 0: none. */
struct move {
    uint32_t from, to;
};

struct hp_tally {
    struct hp_code *code;
    struct hp_segment_source *source;
    struct hp_sink *sink;
    struct hp_cursor_stats stats;

    struct hp_tally64 pairs; /* by entered << 32 | left */

    uint32_t left;                  /* first word of a pair; 0: none */
    uint32_t event[HP_EVENT_WORDS]; /* as in a cursor */
    int have, want;

    struct direct *directs;
    size_t n_directs, cap_directs;
    struct hp_derived *derived; /* what is not counted */
    size_t n_derived, cap_derived;
    struct move *moves;
    size_t n_moves, cap_moves;

    struct hp_map64 late_of; /* address -> late */
    uint64_t *late;
    size_t n_late, cap_late;

    struct hp_map64 part_of; /* node -> part */
    struct part *parts;
    size_t n_parts, cap_parts;

    struct hp_edge_count *edges;
    uint32_t *next; /* by edge: another of the same block, index + 1, 0: none */
    size_t n_edges, cap_edges, cap_next;
    uint32_t *first; /* by block: the first of its edges, index + 1, 0: none */
    size_t cap_first;
    struct hp_map64 far; /* from << 32 | to -> edge, of those behind the first NEAR of a block */
};

enum hp_err hp_tally_new(struct hp_code *code, struct hp_segment_source *source,
                         struct hp_sink *sink, struct hp_tally **tally)
{
    struct hp_tally *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->code = code;
    t->source = source;
    t->sink = sink;
    *tally = t;
    return HP_OK;
}

void hp_tally_free(struct hp_tally *tally)
{
    if (!tally)
        return;
    free(tally->parts);
    free(tally->directs);
    free(tally->derived);
    free(tally->moves);
    free(tally->late);
    free(tally->edges);
    free(tally->next);
    free(tally->first);
    hp_tally64_fini(&tally->pairs);
    hp_map64_fini(&tally->late_of);
    hp_map64_fini(&tally->part_of);
    hp_map64_fini(&tally->far);
    free(tally);
}

const struct hp_cursor_stats *hp_tally_stats(const struct hp_tally *tally)
{
    return &tally->stats;
}

/* --- Segments and edges ----------------------------------------------------------------------- */

static void emit(struct hp_tally *t, enum hp_event_kind kind, uint64_t value, bool exact)
{
    struct hp_event event = {.kind = kind, .value = value, .block = HP_NO_ID, .exact = exact};
    t->sink->event(t->sink, &event);
}

static void lose(struct hp_tally *t, enum hp_lost_reason reason)
{
    t->stats.losses++;
    emit(t, HP_EVENT_LOST, reason, true);
}

/* Makes sure that the code map has the segment; an undefined one is a loss. */
static enum hp_err need(struct hp_tally *t, uint32_t id, bool *there)
{
    struct hp_code *code = t->code;
    if (id >= code->segment_limit || code->route[id] == HP_ROUTE_UNKNOWN) {
        enum hp_err err = t->source && id ? t->source->load(t->source, id) : HP_ERR_NOTFOUND;
        if (err == HP_ERR_NOMEM)
            return err;
    }
    *there = id && id < code->segment_limit && code->route[id] != HP_ROUTE_UNKNOWN;
    if (!*there)
        lose(t, HP_LOST_UNKNOWN);
    return HP_OK;
}

/* Adds an edge that is found behind `link`; `far`: not one by one. */
static enum hp_err new_edge(struct hp_tally *t, uint32_t *link, struct hp_edge_count edge, bool far)
{
    uint32_t i = (uint32_t)t->n_edges;
    if (far)
        HP_TRY(hp_map64_put(&t->far, (uint64_t)edge.from << 32 | edge.to, i));
    t->edges[i] = edge;
    t->next[i] = *link;
    *link = i + 1;
    t->n_edges++;
    return HP_OK;
}

static enum hp_err add_edge(struct hp_tally *t, uint32_t from, uint32_t to, uint64_t count)
{
    HP_TRY(hp_grow(&t->first, &t->cap_first, t->code->n_blocks, sizeof *t->first));
    HP_TRY(hp_grow(&t->edges, &t->cap_edges, t->n_edges + 1, sizeof *t->edges));
    HP_TRY(hp_grow(&t->next, &t->cap_next, t->n_edges + 1, sizeof *t->next));
    uint32_t *link = &t->first[from], i = HP_MAP64_NONE;
    size_t seen = 0;
    for (; *link && seen < NEAR && t->edges[*link - 1].to != to; seen++)
        link = &t->next[*link - 1];
    if (seen == NEAR)
        i = hp_map64_get(&t->far, (uint64_t)from << 32 | to);
    else if (*link)
        i = *link - 1;
    if (i == HP_MAP64_NONE)
        return new_edge(t, link, (struct hp_edge_count){from, to, count}, seen == NEAR);
    t->edges[i].count += count;
    return HP_OK;
}

/* Adds the transfers inside a segment. `*last`: its last block; HP_NO_ID: none. */
static enum hp_err add_inner(struct hp_tally *t, uint32_t id, uint64_t count, uint32_t *last)
{
    const struct hp_chain *chain = &t->code->chains[id];
    size_t n = hp_weight_blocks(chain->weight);
    const uint32_t *blocks = n ? hp_chain_blocks(t->code, chain) : NULL;
    *last = n ? blocks[n - 1] : HP_NO_ID;
    for (size_t i = 0; i + 1 < n; i++)
        HP_TRY(add_edge(t, blocks[i], blocks[i + 1], count));
    return HP_OK;
}

/* The block that `from` reaches at `address`: in the same module, if possible. */
static uint32_t block_at(const struct hp_code *code, uint32_t from, uint64_t address)
{
    return hp_code_block_in(code, code->blocks[from].module, address);
}

/* The end of an edge from `from` to the address. */
static enum hp_err end_at(struct hp_tally *t, uint32_t from, uint64_t address, uint32_t *to)
{
    *to = address == HP_NOWHERE ? HP_NO_ID : block_at(t->code, from, address);
    if (address == HP_NOWHERE || *to != HP_NO_ID)
        return HP_OK;
    uint32_t i = hp_map64_get(&t->late_of, address);
    if (i == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&t->late, &t->cap_late, t->n_late + 1, sizeof *t->late));
        i = (uint32_t)t->n_late;
        HP_TRY(hp_map64_put(&t->late_of, address, i));
        t->late[t->n_late++] = address;
    }
    *to = LATE | i;
    return HP_OK;
}

/* Counts executions of the segment if it is in a trace; `less`: instructions that did not run. */
static void add_traced(struct hp_tally *t, uint32_t id, uint64_t count, uint32_t less)
{
    uint32_t traced = t->code->chains[id].traced;
    if (!traced)
        return;
    t->stats.trace_entries += count;
    t->stats.trace_completions += less ? 0 : count * (traced / HP_TRACED_WHOLE);
    t->stats.trace_insns += count * (hp_code_all_insns(t->code, id) - less);
}

/* --- Parts ------------------------------------------------------------------------------------ */

static enum hp_err add_part(struct hp_tally *t, uint32_t node, uint64_t count)
{
    uint32_t i = hp_map64_get(&t->part_of, node);
    if (i == HP_MAP64_NONE) {
        HP_TRY(hp_grow(&t->parts, &t->cap_parts, t->n_parts + 1, sizeof *t->parts));
        i = (uint32_t)t->n_parts;
        HP_TRY(hp_map64_put(&t->part_of, node, i));
        t->parts[t->n_parts++] = (struct part){.node = node};
    }
    t->parts[i].count += count;
    return HP_OK;
}

static enum hp_err add_prefix(struct hp_tally *t, uint32_t block, uint32_t insns)
{
    uint32_t node;
    if (insns >= t->code->blocks[block].insns)
        return add_edge(t, block, HP_NO_ID, 1);
    if (insns == 0)
        return HP_OK;
    HP_TRY(hp_code_prefix_insns(t->code, block, insns, &node));
    return add_part(t, node, 1);
}

static enum hp_err add_count(struct hp_tally *t, const struct direct *direct)
{
    HP_TRY(hp_grow(&t->directs, &t->cap_directs, t->n_directs + 1, sizeof *t->directs));
    t->directs[t->n_directs++] = *direct;
    return HP_OK;
}

/* The segment's parent ran `count` times and went on with the segment. */
static enum hp_err add_parent(struct hp_tally *t, uint32_t id, uint64_t count)
{
    uint32_t parent = t->code->segs[id].parent;
    if (!parent)
        return HP_OK;
    uint64_t start = t->code->segs[id].start;
    uint32_t direction = start != t->code->chains[parent].fall;
    return add_count(
        t, &(struct direct){.id = parent, .direction = direction, .start = start, .count = count});
}

static enum hp_err add_move(struct hp_tally *t, uint32_t from, uint32_t to)
{
    HP_TRY(hp_grow(&t->moves, &t->cap_moves, t->n_moves + 1, sizeof *t->moves));
    t->moves[t->n_moves++] = (struct move){from, to};
    return HP_OK;
}

/* The node at which the run begins. */
static uint32_t node_of(const struct hp_tally *t, uint32_t id)
{
    return hp_flow_node(t->code->chains[id].start);
}

/* A segment ran `count` times that ends with an open piece, which continues with what runs next. */
static enum hp_err add_open(struct hp_tally *t, uint32_t id, uint64_t count)
{
    HP_TRY(add_parent(t, id, count));
    return add_part(t, t->code->route[id] & ~HP_ROUTE_NODE, count);
}

/* A segment ran, but only `insns` instructions of its last block or final open piece. */
static enum hp_err take_part(struct hp_tally *t, uint32_t id, uint32_t insns)
{
    bool there;
    uint32_t block;
    HP_TRY(need(t, id, &there));
    if (!there)
        return HP_OK;
    HP_TRY(add_move(t, node_of(t, id), 0));
    uint32_t route = t->code->route[id];
    uint32_t last = hp_code_last_insns(t->code, id);
    add_traced(t, id, 1, insns < last ? last - insns : 0);
    if (!(route & HP_ROUTE_NODE)) {
        HP_TRY(add_inner(t, id, 1, &block));
        return add_prefix(t, block, insns);
    }
    uint32_t node = route & ~HP_ROUTE_NODE;
    if (t->code->nodes[node].insns == 0 || insns >= t->code->nodes[node].insns)
        return add_open(t, id, 1);
    HP_TRY(add_parent(t, id, 1));
    HP_TRY(hp_code_close_node(t->code, node, &block));
    return add_prefix(t, block, insns);
}

/* Latest start first: parts that continue where another ends are then already complete. */
static int by_start(const void *a, const void *b, void *code)
{
    const struct hp_node *nodes = ((const struct hp_code *)code)->nodes;
    uint64_t x = nodes[((const struct part *)a)->node].start;
    uint64_t y = nodes[((const struct part *)b)->node].start;
    return x > y ? -1 : x < y;
}

/* Joins a part with executions of the block `rest`, at most `*count` times. */
static enum hp_err join_with(struct hp_tally *t, uint32_t node, uint32_t rest, uint64_t *count)
{
    for (uint32_t i = rest < t->cap_first ? t->first[rest] : 0; i && *count; i = t->next[i - 1]) {
        struct hp_edge_count *edge = &t->edges[i - 1];
        uint64_t some = edge->count < *count ? edge->count : *count;
        uint32_t to = edge->to;
        if (some == 0)
            continue;
        struct hp_join join;
        HP_TRY(hp_code_join(t->code, node, rest, &join));
        if (join.rest & HP_ROUTE_NODE)
            return HP_OK;
        edge->count -= some;
        *count -= some;
        if (join.block != HP_NO_ID)
            HP_TRY(add_edge(t, join.block, join.rest, some));
        HP_TRY(add_edge(t, join.rest, to, some));
    }
    return HP_OK;
}

static enum hp_err join_part(struct hp_tally *t, uint32_t node, uint64_t count)
{
    uint64_t end = t->code->nodes[node].end;
    uint32_t block = hp_code_block_at(t->code, end);
    for (; block != HP_NO_ID && count; block = t->code->next_at_start[block])
        if (t->code->blocks[block].module == t->code->nodes[node].module)
            HP_TRY(join_with(t, node, block, &count));
    if (!count)
        return HP_OK;
    if (t->code->nodes[node].insns == 0)
        return HP_OK;
    HP_TRY(hp_code_close_node(t->code, node, &block));
    return add_edge(t, block, HP_NO_ID, count);
}

/* --- Words ------------------------------------------------------------------------------------ */

static uint64_t pair_key(uint32_t left, uint32_t entered)
{
    return (uint64_t)entered << 32 | left;
}

/* Takes a pair that may be new. */
static __attribute__((noinline)) enum hp_err new_pair(struct hp_tally *t, uint32_t left,
                                                      uint32_t entered)
{
    bool there[2];
    HP_TRY(need(t, left, &there[0]));
    HP_TRY(need(t, entered, &there[1]));
    if (!there[0] || !there[1])
        return HP_OK;
    uint64_t *count = hp_tally64_add(&t->pairs, pair_key(left, entered));
    if (!count)
        return hp_fail_nomem();
    ++*count;
    return HP_OK;
}

static enum hp_err end_half(struct hp_tally *t);

static uint32_t moved_node(const uint32_t address[2])
{
    uint64_t value = address[0] | (uint64_t)address[1] << 32;
    return value ? hp_flow_node(value) : 0;
}

static enum hp_err take_syscall(struct hp_tally *t)
{
    struct hp_syscall call;
    uint32_t segment = t->event[4];
    bool there = segment != 0;
    if (!t->sink->syscall || !hp_syscall_read(t->event, &call))
        return HP_OK;
    if (segment)
        HP_TRY(need(t, segment, &there));
    const struct hp_chain *chain = there ? &t->code->chains[segment] : NULL;
    size_t n = chain ? hp_weight_blocks(chain->weight) : 0;
    if (n)
        call.block = hp_chain_blocks(t->code, chain)[n - 1];
    t->sink->syscall(t->sink, 0, &call);
    return HP_OK;
}

static enum hp_err handle_event(struct hp_tally *t)
{
    uint32_t arg = hp_word_arg(t->event[0]);
    HP_TRY(end_half(t));
    switch ((enum hp_word_kind)hp_word_kind(t->event[0])) {
    case HP_WORD_LOST: lose(t, (enum hp_lost_reason)arg); break;
    case HP_WORD_SIGNAL: t->stats.signals++; break;
    case HP_WORD_FORK: emit(t, HP_EVENT_FORK, t->event[1], true); break;
    case HP_WORD_EXEC: emit(t, HP_EVENT_EXEC, t->event[1], arg == 1); break;
    case HP_WORD_EXEC_FAILED: emit(t, HP_EVENT_EXEC_FAILED, 0, true); break;
    case HP_WORD_MODULE: emit(t, HP_EVENT_MODULE, t->event[1], arg == 1); break;
    case HP_WORD_PART: return take_part(t, t->event[1], arg);
    case HP_WORD_MOVED: return add_move(t, moved_node(t->event + 1), moved_node(t->event + 3));
    case HP_WORD_SYSCALL: return take_syscall(t);
    case HP_WORD_END:
    case HP_WORD_HANDLER:
    case HP_WORD_SIGRETURN:
    case HP_WORD_CUT:
    case HP_WORD_COUNTING:
    case HP_WORD_FRAME:
    case HP_WORD_HANDED:
    case HP_WORD_PAD:
    case HP_WORD_KIND_COUNT_: break;
    }
    return HP_OK;
}

static enum hp_err slow_word(struct hp_tally *t, uint32_t word)
{
    if (t->have < t->want) {
        t->event[t->have++] = word;
        return t->have == t->want ? handle_event(t) : HP_OK;
    }
    if (word & HP_WORD_EVENT) {
        int payload = hp_word_payload(word);
        if (payload < 0) {
            lose(t, HP_LOST_UNKNOWN);
            return HP_OK;
        }
        if (hp_word_kind(word) == HP_WORD_PAD)
            return HP_OK;
        t->event[0] = word;
        t->have = 1;
        t->want = payload + 1;
        return payload ? HP_OK : handle_event(t);
    }
    if (!t->left) {
        t->left = word;
        return HP_OK;
    }
    uint32_t left = t->left;
    t->left = 0;
    return new_pair(t, left, word);
}

/* Counts up to AT_ONCE pairs, as long as they were seen before; returns how many. An event is in no
 * pair. */
static inline size_t count_some(struct hp_tally64 *pairs, const uint32_t *words, size_t n)
{
    uint64_t keys[AT_ONCE];
    struct hp_tally64_slot *homes[AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        keys[i] = pair_key(words[2 * i], words[2 * i + 1]);
        homes[i] = hp_tally64_home(pairs, keys[i]);
        __builtin_prefetch(homes[i], 1);
    }
    for (size_t i = 0; i < n; i++)
        if (keys[i] & HP_WORD_EVENT || !hp_tally64_count(pairs, homes[i], keys[i]))
            return i;
    return n;
}

/* Takes pairs seen before; returns how many words it took. */
static __attribute__((noinline)) size_t fast_pairs(struct hp_tally *t, const uint32_t *words,
                                                   size_t n)
{
    if (t->left || t->have < t->want || !t->pairs.n_slots)
        return 0;
    size_t at = 0, some = AT_ONCE, did = some;
    for (; did == some && at + 2 <= n; at += 2 * did) {
        some = n - at < (size_t)2 * AT_ONCE ? (n - at) / 2 : AT_ONCE;
        did = count_some(&t->pairs, words + at, some);
    }
    return at;
}

enum hp_err hp_tally_words(struct hp_tally *t, const uint32_t *words, size_t n)
{
    t->stats.words += n;
    for (size_t i = 0; i < n;) {
        i += fast_pairs(t, words + i, n - i);
        if (i < n)
            HP_TRY(slow_word(t, words[i++]));
    }
    return HP_OK;
}

/* --- The result ------------------------------------------------------------------------------- */

/* A pair without a second word: the thread ended there. */
static enum hp_err end_half(struct hp_tally *t)
{
    uint32_t left = t->left, last;
    bool there;
    t->left = 0;
    if (!left)
        return HP_OK;
    HP_TRY(need(t, left, &there));
    if (!there)
        return HP_OK;
    HP_TRY(add_move(t, node_of(t, left), 0));
    add_traced(t, left, 1, 0);
    HP_TRY(add_inner(t, left, 1, &last));
    return last == HP_NO_ID ? HP_OK : add_edge(t, last, HP_NO_ID, 1);
}

/* Blocks can be found by their start only when all are known: the count is kept until then. */
enum hp_err hp_tally_count(struct hp_tally *t, uint32_t id, uint32_t direction, uint64_t count)
{
    bool there;
    if (id == 0)
        return add_move(t, hp_flow_node(count), 0);
    HP_TRY(need(t, id, &there));
    if (!there || !count)
        return HP_OK;
    return add_count(
        t, &(struct direct){.id = id, .direction = direction, .count = count, .is_counter = true});
}

enum hp_err hp_tally_derive(struct hp_tally *t, const struct hp_derived *edges, size_t n)
{
    HP_TRY(hp_grow(&t->derived, &t->cap_derived, t->n_derived + n, sizeof *t->derived));
    for (size_t i = 0; i < n; i++)
        if (edges[i].segment && edges[i].direction < 2 && edges[i].from &&
            edges[i].from < HP_FLOW_NODES && edges[i].to && edges[i].to < HP_FLOW_NODES &&
            edges[i].from != edges[i].to)
            t->derived[t->n_derived++] = edges[i];
    return HP_OK;
}

/* Where the last block of the chain leads in this direction, or in the only one; HP_NOWHERE: not
 * known. */
static uint64_t target_of(const struct hp_chain *chain, uint32_t direction)
{
    uint64_t to = direction ? chain->target : chain->fall;
    if (to == HP_NOWHERE)
        to = direction ? chain->fall : chain->target;
    return to;
}

static enum hp_err add_direct(struct hp_tally *t, const struct direct *direct)
{
    uint32_t last, end;
    if (direct->is_counter)
        add_traced(t, direct->id, direct->count, 0);
    if (t->code->route[direct->id] & HP_ROUTE_NODE)
        return add_open(t, direct->id, direct->count);
    HP_TRY(add_inner(t, direct->id, direct->count, &last));
    if (last == HP_NO_ID)
        return HP_OK;
    uint64_t to = target_of(&t->code->chains[direct->id], direct->direction);
    if (to == HP_NOWHERE && direct->start)
        to = direct->start;
    HP_TRY(end_at(t, last, to, &end));
    return add_edge(t, last, end, direct->count);
}

static enum hp_err add_directs(struct hp_tally *t)
{
    for (size_t i = 0; i < t->n_directs; i++) {
        const struct direct *soon = &t->directs[i + SOON < t->n_directs ? i + SOON : i];
        hp_map64_fetch(&t->code->at_start, target_of(&t->code->chains[soon->id], soon->direction));
        HP_TRY(add_direct(t, &t->directs[i]));
    }
    return HP_OK;
}

static enum hp_err add_pair(struct hp_tally *t, uint32_t left, uint32_t entered, uint64_t count)
{
    uint32_t last, to;
    if (!count)
        return HP_OK;
    add_traced(t, left, count, 0);
    HP_TRY(add_inner(t, left, count, &last));
    if (last == HP_NO_ID)
        return HP_OK;
    const struct hp_chain *chain = &t->code->chains[entered];
    if (hp_weight_blocks(chain->weight))
        to = chain->blocks[0];
    else
        HP_TRY(end_at(t, last, t->code->segs[entered].start, &to));
    return add_edge(t, last, to, count);
}

static enum hp_err add_pairs(struct hp_tally *t)
{
    for (size_t i = 0; i < t->pairs.n_slots; i++) {
        const struct hp_tally64_slot *slot = &t->pairs.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            HP_TRY(add_pair(t, (uint32_t)slot->key, (uint32_t)(slot->key >> 32), slot->count));
    }
    return HP_OK;
}

static enum hp_err join_parts(struct hp_tally *t)
{
    if (t->n_parts)
        qsort_r(t->parts, t->n_parts, sizeof *t->parts, by_start, t->code);
    for (size_t i = 0; i < t->n_parts; i++)
        HP_TRY(join_part(t, t->parts[i].node, t->parts[i].count));
    return HP_OK;
}

/* --- What is not counted ---------------------------------------------------------------------- */

/* The node to which a segment was left; 0: not known. */
static uint32_t node_behind(const struct hp_tally *t, const struct direct *direct)
{
    uint32_t route = t->code->route[direct->id];
    if (route & HP_ROUTE_NODE)
        return hp_flow_node(t->code->nodes[route & ~HP_ROUTE_NODE].end);
    const struct hp_chain *chain = &t->code->chains[direct->id];
    uint64_t to =
        hp_weight_blocks(chain->weight) ? target_of(chain, direct->direction) : HP_NOWHERE;
    return to == HP_NOWHERE ? 0 : hp_flow_node(to);
}

/* Everything that the thread did is in the flow, but for what is not counted. */
static void fill(const struct hp_tally *t, struct hp_balance *balance)
{
    for (size_t i = 0; i < t->n_moves; i++)
        hp_balance_add(balance, t->moves[i].from, t->moves[i].to, 1);
    for (size_t i = 0; i < t->n_directs; i++)
        if (t->directs[i].is_counter)
            hp_balance_add(balance, node_of(t, t->directs[i].id), node_behind(t, &t->directs[i]),
                           t->directs[i].count);
    for (size_t i = 0; i < t->pairs.n_slots; i++) {
        const struct hp_tally64_slot *slot = &t->pairs.slots[i];
        if (slot->key != HP_TALLY64_NONE)
            hp_balance_add(balance, node_of(t, (uint32_t)slot->key),
                           node_of(t, (uint32_t)(slot->key >> 32)), slot->count);
    }
}

/* What is not counted may have been, before that was decided: such counters say nothing. */
static enum hp_err drop_derived(struct hp_tally *t)
{
    uint32_t limit = t->code->segment_limit;
    uint8_t *derived = calloc(limit + 1, 1);
    if (!derived)
        return hp_fail_nomem();
    for (size_t i = 0; i < t->n_derived; i++)
        if (t->derived[i].segment < limit)
            derived[t->derived[i].segment] |= (uint8_t)(1 << t->derived[i].direction);
    size_t n = 0;
    for (size_t i = 0; i < t->n_directs; i++) {
        const struct direct *direct = &t->directs[i];
        if (!direct->is_counter || !(derived[direct->id] >> direct->direction & 1))
            t->directs[n++] = *direct;
    }
    t->n_directs = n;
    free(derived);
    return HP_OK;
}

static enum hp_err add_solved(struct hp_tally *t, const uint64_t *counts)
{
    for (size_t i = 0; i < t->n_derived; i++)
        if (counts[i])
            HP_TRY(hp_tally_count(t, t->derived[i].segment, t->derived[i].direction, counts[i]));
    return HP_OK;
}

/* Adds the counts that follow from the others. */
static enum hp_err derive(struct hp_tally *t)
{
    struct hp_balance *balance = NULL;
    size_t invalid = 0;
    uint64_t *counts = NULL;
    if (t->n_derived == 0)
        return HP_OK;
    HP_TRY(drop_derived(t));
    enum hp_err err = hp_balance_new(&balance);
    if (err == HP_OK && !(counts = malloc(t->n_derived * sizeof *counts)))
        err = hp_fail_nomem();
    if (err == HP_OK) {
        fill(t, balance);
        invalid = hp_balance_solve(balance, t->derived, t->n_derived, counts);
    }
    hp_balance_free(balance);
    if (err == HP_OK)
        err = add_solved(t, counts);
    free(counts);
    if (err == HP_OK && invalid)
        lose(t, HP_LOST_UNFINISHED);
    return err;
}

enum hp_err hp_tally_edges(struct hp_tally *t, const struct hp_edge_count **edges, size_t *n)
{
    HP_TRY(end_half(t));
    HP_TRY(derive(t));
    HP_TRY(add_directs(t));
    HP_TRY(add_pairs(t));
    HP_TRY(join_parts(t));
    *edges = t->edges;
    *n = 0;
    for (size_t i = 0; i < t->n_edges; i++) {
        struct hp_edge_count e = t->edges[i];
        if (!e.count)
            continue;
        if (e.to != HP_NO_ID && e.to & LATE)
            e.to = block_at(t->code, e.from, t->late[e.to & ~LATE]);
        t->edges[(*n)++] = e;
        t->stats.blocks += e.count;
        t->stats.instructions += e.count * t->code->blocks[e.from].insns;
    }
    return HP_OK;
}
