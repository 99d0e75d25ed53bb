// SPDX-License-Identifier: MIT
/*
 * Path detection, one transfer at a time: Vaswani, Thazhuthaveetil, Srikant, "A Programmable
 * Hardware Path Profiler", section 3, as described in docs/paths.md under "Exact rules". Beyond the
 * paper: frames left by longjmp or an exception, signal handlers, gaps in the history.
 */
#include "profiler/path/detector_impl.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_LIMIT  4096 /* entries searched for a return that the top does not expect */
#define FIRST_ENTRIES 64
#define MAX_MARKERS   4096 /* nor handlers that never return */

/* --- Finished paths --------------------------------------------------------------------------- */

static void hand_over_numbers(struct hp_detector *d)
{
    const struct hp_path_numbers *numbers = &d->memo->numbers;
    struct hp_known_paths batch = {.numbers = d->numbers,
                                   .n = d->n_numbers,
                                   .known = numbers->known,
                                   .n_known = numbers->n,
                                   .groups = numbers->groups,
                                   .n_groups = numbers->n_groups,
                                   .lists = numbers->lists,
                                   .n_lists = numbers->n_lists,
                                   .source = numbers->source};
    d->stats.paths += d->n_numbers; /* those of groups were added before */
    if (d->ppcr.metric == HP_METRIC_INSTRUCTIONS)
        for (size_t i = 0; i < d->n_numbers; i++)
            d->stats.saturated += numbers->known[d->numbers[i]].path.insns > d->counter_max;
    if (d->sink)
        hp_path_sink_known(d->sink, &batch);
    d->n_numbers = 0;
}

void hp_detector_hand_over(struct hp_detector *d)
{
    d->hand_overs++;
    if (d->n_numbers)
        hand_over_numbers(d);
    if (!d->n_paths)
        return;
    d->stats.paths += d->n_paths;
    struct hp_paths batch = {.paths = d->paths,
                             .n = d->n_paths,
                             .targets = d->targets,
                             .costs = d->counter ? &d->counter->entries[d->n - 1] : NULL};
    if (d->sink)
        d->sink->paths(d->sink, &batch);
    d->n_paths = 0;
    d->n_targets = 0;
}

void hp_detector_flush(struct hp_detector *d)
{
    hp_detector_hand_over(d);
}

static uint32_t saturate(uint64_t value, uint64_t max)
{
    return (uint32_t)(value < max ? value : max);
}

/* The metric's events of a finished path, not saturated. */
static uint64_t events_of(const struct hp_detector *d, const struct hp_path_entry *entry)
{
    if (d->ppcr.metric == HP_METRIC_EXECUTIONS)
        return 1;
    return d->ppcr.metric == HP_METRIC_INSTRUCTIONS ? entry->insns : entry->events;
}

/* Hands over a path by its number, if it has one. */
static bool emit_number(struct hp_detector *d, const struct hp_path *path)
{
    if (!d->memo || path->insns == UINT32_MAX || d->ppcr.metric > HP_METRIC_INSTRUCTIONS)
        return false;
    uint32_t number = hp_path_numbers_get(&d->memo->numbers, path);
    if (number == HP_NO_ID)
        return false;
    if (d->n_paths)
        hp_detector_hand_over(d);
    d->numbers[d->n_numbers++] = number;
    if (d->n_numbers == HP_PATHS_MAX)
        hp_detector_hand_over(d);
    return true;
}

/* An entry's instructions are in no path. */
static void lose(struct hp_detector *d, size_t i)
{
    d->stats.unfinished_insns += d->entries[i].insns;
    if (d->counter)
        hp_path_costs_add(&d->counter->unfinished, &d->counter->entries[i]);
}

/* Hands over the path of the top entry, which stays. */
static void emit(struct hp_detector *d)
{
    const struct hp_path_entry *entry = &d->entries[d->n - 1];
    uint64_t events = events_of(d, entry);
    if (d->only_whole && entry->piece) {
        d->stats.pieces++;
        lose(d, d->n - 1);
        return;
    }
    struct hp_path path = {.start = entry->start,
                           .outcomes = entry->outcomes,
                           .targets = entry->targets,
                           .block = entry->block,
                           .insns = saturate(entry->insns, UINT32_MAX),
                           .events = saturate(events, d->counter_max),
                           .length = (uint8_t)entry->length,
                           .n_targets = (uint8_t)entry->n_targets};
    if (emit_number(d, &path))
        return;
    if (d->n_numbers)
        hp_detector_hand_over(d);
    d->stats.saturated += d->ppcr.metric != HP_METRIC_EXECUTIONS && events > d->counter_max;
    path.first_target = (uint32_t)d->n_targets;
    d->paths[d->n_paths++] = path;
    if (entry->n_targets) {
        memcpy(d->targets + d->n_targets, d->lists[d->n - 1],
               entry->n_targets * sizeof *d->targets);
        d->n_targets += entry->n_targets;
    }
    if (d->n_paths == HP_PATHS_MAX || d->counter ||
        d->n_targets > HP_DETECTOR_TARGETS - HP_PATH_MAX_LENGTH)
        hp_detector_hand_over(d);
}

/* --- The stack -------------------------------------------------------------------------------- */

size_t hp_detector_floor(const struct hp_detector *d)
{
    size_t base = d->n_markers ? d->markers[d->n_markers - 1].base : 0;
    return base > d->low ? base : d->low;
}

/* In the place of the top entry. */
static void start_path(struct hp_detector *d, uint64_t start, uint32_t block, uint64_t return_to)
{
    d->entries[d->n - 1] =
        (struct hp_path_entry){.start = start, .block = block, .return_to = return_to};
    if (d->counter)
        d->counter->entries[d->n - 1] = (struct hp_path_costs){0};
}

static void push_path(struct hp_detector *d, uint64_t start, uint32_t block, uint64_t return_to)
{
    d->n++;
    start_path(d, start, block, return_to);
}

/* Discards the entries from `n` on; returns how many. */
static size_t throw_away(struct hp_detector *d, size_t n)
{
    size_t thrown = d->n - n;
    for (size_t i = n; i < d->n; i++)
        lose(d, i);
    d->n = n;
    return thrown;
}

static void drop_pending(struct hp_detector *d)
{
    d->stats.unfinished_insns += d->pending.insns;
    d->pending = (struct hp_path_pending){0};
    if (d->counter)
        hp_path_costs_move(&d->counter->unfinished, &d->counter->pending);
}

/* Drops markers whose handlers can no longer return. */
static void drop_markers(struct hp_detector *d, size_t n)
{
    while (d->n_markers > n) {
        d->stats.unfinished_insns += d->markers[--d->n_markers].pending.insns;
        if (d->counter)
            hp_path_costs_add(&d->counter->unfinished, &d->counter->markers[d->n_markers]);
    }
}

static void drop_everything(struct hp_detector *d)
{
    d->stats.unfinished += throw_away(d, d->low);
    d->low = d->n = 0;
    drop_markers(d, 0);
}

static void purge(struct hp_detector *d)
{
    d->stats.purges += d->n > d->low || d->n_markers;
    drop_everything(d);
    drop_pending(d);
    d->fresh = true;
}

static void drop_oldest(struct hp_detector *d)
{
    lose(d, d->low++);
    d->stats.dropped++;
}

/* Moves the stack to the start of its memory. */
static void settle_down(struct hp_detector *d)
{
    size_t count = d->n - d->low;
    memmove(d->entries, d->entries + d->low, count * sizeof *d->entries);
    memmove(d->nodes, d->nodes + d->low, count * sizeof *d->nodes);
    if (d->lists)
        memmove(d->lists, d->lists + d->low, count * sizeof *d->lists);
    if (d->counter)
        memmove(d->counter->entries, d->counter->entries + d->low,
                count * sizeof *d->counter->entries);
    for (size_t i = 0; i < d->n_markers; i++)
        d->markers[i].base -= d->markers[i].base < d->low ? d->markers[i].base : d->low;
    d->low = 0;
    d->n = count;
}

static bool grow_stack(struct hp_detector *d)
{
    size_t cap = d->cap;
    if (hp_grow(&d->entries, &d->cap, d->n + 1, sizeof *d->entries) != HP_OK)
        return false;
    if (hp_grow(&d->nodes, &d->cap_nodes, d->cap, sizeof *d->nodes) == HP_OK &&
        (!d->ppcr.by_address ||
         hp_grow(&d->lists, &d->cap_lists, d->cap, sizeof *d->lists) == HP_OK) &&
        (!d->counter || hp_grow(&d->counter->entries, &d->counter->cap_entries, d->cap,
                                sizeof *d->counter->entries) == HP_OK))
        return true;
    d->cap = cap;
    return false;
}

/* Makes room for one more entry; without memory the oldest is dropped. */
static __attribute__((noinline)) void make_room(struct hp_detector *d)
{
    if (d->low > 0 && d->low >= d->cap / 2) {
        settle_down(d);
    } else if (!grow_stack(d)) {
        d->out_of_memory = true;
        drop_oldest(d);
        settle_down(d);
    }
}

static void push(struct hp_detector *d, uint64_t start, uint32_t block, uint64_t return_to)
{
    if (d->n - d->low >= d->ppcr.stack_entries) {
        d->stats.overflows++;
        if (d->ppcr.overflow == HP_OVERFLOW_DROP_OLDEST || d->n - d->low >= HP_DETECTOR_MAX_SPILL)
            drop_oldest(d);
    }
    if (d->n == d->cap)
        make_room(d);
    push_path(d, start, block, return_to);
}

/* Nothing is known of what was before. */
static void push_piece(struct hp_detector *d, uint64_t start, uint32_t block)
{
    push(d, start, block, 0);
    d->entries[d->n - 1].piece = true;
}

void hp_detector_begin(struct hp_detector *d, uint64_t start, uint32_t block)
{
    push_piece(d, start, block);
    d->fresh = false;
}

/* --- Unwinding -------------------------------------------------------------------------------- */

static uint32_t function_of(const struct hp_detector *d, uint32_t block)
{
    return d->frames && block != HP_NO_ID ? d->frames->function_of(d->frames, block) : HP_NO_ID;
}

/* The nearest of at most `limit` entries below `n` whose path starts in `function`: its place + 1;
 * 0: none. */
static size_t find_function(const struct hp_detector *d, size_t n, uint32_t function, size_t limit)
{
    for (; n > d->low && limit; n--, limit--)
        if (function_of(d, d->entries[n - 1].block) == function)
            return n;
    return 0;
}

/* Unwinds to the frame at `place`, which continues at the target with a new path: the interrupted
 * one is unknown. */
static void resume(struct hp_detector *d, size_t place, const struct hp_path_transfer *x)
{
    uint64_t return_to = d->entries[place].return_to;
    while (d->n_markers && d->markers[d->n_markers - 1].base > place)
        drop_markers(d, d->n_markers - 1);
    d->stats.repairs++;
    d->stats.repaired += throw_away(d, place);
    push_path(d, x->target, x->to, return_to);
}

/* Forgets all frames: what follows begins with the target. */
static void begin_anew(struct hp_detector *d, const struct hp_path_transfer *x)
{
    d->stats.purges++;
    drop_everything(d);
    push_piece(d, x->target, x->to);
}

/* A return to another address than the top entry expected; the top is finished and gone. */
static void unexpected_return(struct hp_detector *d, const struct hp_path_transfer *x)
{
    size_t end = hp_detector_floor(d);
    if (d->n > SEARCH_LIMIT && end < d->n - SEARCH_LIMIT)
        end = d->n - SEARCH_LIMIT;
    for (size_t n = d->n; n > end; n--) {
        if (d->entries[n - 1].return_to == x->target) {
            d->stats.repairs++;
            d->stats.repaired += throw_away(d, n - 1);
            return;
        }
    }
    uint32_t function = d->only_whole ? HP_NO_ID : function_of(d, x->to);
    size_t found = function == HP_NO_ID ? 0 : find_function(d, d->n, function, SEARCH_LIMIT);
    if (found)
        resume(d, found - 1, x);
    else
        begin_anew(d, x);
}

bool hp_detector_may_land(const struct hp_detector *d, const struct hp_path_transfer *x)
{
    uint32_t from = function_of(d, x->from), to = function_of(d, x->to);
    return from != HP_NO_ID && to != HP_NO_ID && from != to &&
           !d->frames->is_entry(d->frames, x->to);
}

/* The place + 1 of the frame that an indirect jump returns to (longjmp, an exception); 0: none, it
 * is an ordinary jump. */
static size_t find_landing(const struct hp_detector *d, const struct hp_path_transfer *x)
{
    if (!hp_detector_may_land(d, x))
        return 0;
    return find_function(d, d->n - 1, function_of(d, x->to), SEARCH_LIMIT);
}

/* --- Operations ------------------------------------------------------------------------------- */

enum hp_class hp_detector_class(const struct hp_ppcr *ppcr, const struct hp_path_transfer *x)
{
    bool backward = x->taken && x->target <= x->last;
    if (ppcr->by_address)
        return backward ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
    switch (x->flow) {
    case HP_FLOW_COND:
    case HP_FLOW_JUMP:
        if (ppcr->direction == HP_DIRECTION_STATIC)
            backward = (x->direct || x->taken) && (x->direct ? x->direct : x->target) <= x->last;
        return backward ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
        return x->taken && x->target != x->end ? HP_CLASS_CALL : HP_CLASS_FORWARD;
    case HP_FLOW_RETURN: return x->taken ? HP_CLASS_RETURN : HP_CLASS_FORWARD;
    default: return x->taken ? HP_CLASS_INDIRECT : HP_CLASS_FORWARD;
    }
}

/* What the class does to the stack now: its operations, or those that an extension leaves. */
static unsigned operations_of(const struct hp_ppcr *ppcr, struct hp_path_entry *top,
                              enum hp_class class)
{
    unsigned ops = ppcr->ops[class];
    const unsigned own = ops & (HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT);
    if (ppcr->extension == HP_EXTEND_LOOP && class == HP_CLASS_BACKWARD &&
        top->extension < ppcr->max_extension) {
        top->extension++;
        return HP_PATH_UPDATE;
    }
    if (ppcr->extension == HP_EXTEND_CALL && class == HP_CLASS_CALL &&
        top->extension < ppcr->max_extension) {
        top->extension++;
        return own;
    }
    if (ppcr->extension == HP_EXTEND_CALL && class == HP_CLASS_RETURN && top->extension) {
        top->extension--;
        return own;
    }
    return ops;
}

static void add_pending(struct hp_detector *d, struct hp_path_entry *top)
{
    top->insns += d->pending.insns;
    top->events += d->pending.events;
    d->pending = (struct hp_path_pending){0};
    if (d->counter)
        hp_path_costs_move(&d->counter->entries[d->n - 1], &d->counter->pending);
}

/* With by_address, a target that the code does not show becomes part of the path. */
static void add_target(struct hp_detector *d, struct hp_path_entry *top,
                       const struct hp_path_transfer *x)
{
    top->targets = hp_path_hash_target(top->targets, x->target);
    d->lists[d->n - 1][top->n_targets++] = x->target;
}

static bool is_computed(uint8_t flow)
{
    return flow == HP_FLOW_JUMP_IND || flow == HP_FLOW_CALL_IND || flow == HP_FLOW_RETURN;
}

/* Applies the updates. True: the path was full, and is finished without this outcome. */
static bool update(struct hp_detector *d, unsigned ops, enum hp_class class,
                   const struct hp_path_transfer *x)
{
    struct hp_path_entry *top = &d->entries[d->n - 1];
    if (ops & (HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT))
        add_pending(d, top);
    if (!(ops & HP_PATH_UPDATE))
        return false;
    if (top->length == d->ppcr.max_length) {
        d->stats.splits++;
        emit(d);
        return true;
    }
    top->outcomes = top->outcomes << 1 | x->taken;
    top->length++;
    if (d->ppcr.by_address && x->taken && class == HP_CLASS_FORWARD && is_computed(x->flow))
        add_target(d, top, x);
    return false;
}

/* A return, with the top finished: its frame is gone, perhaps others too. */
static void leave_frame(struct hp_detector *d, const struct hp_path_transfer *x)
{
    uint64_t return_to = d->entries[--d->n].return_to;
    if (!return_to || return_to == x->target)
        return;
    if (d->ppcr.extension == HP_EXTEND_CALL) {
        /* Returns from a call that an already finished path grew through: the frame continues. */
        d->stats.underflows++;
        push_path(d, x->target, x->to, return_to);
        return;
    }
    unexpected_return(d, x);
}

static void finish_path(struct hp_detector *d, unsigned ops, enum hp_class class,
                        const struct hp_path_transfer *x)
{
    struct hp_path_entry *top = &d->entries[d->n - 1];
    if (ops & HP_PATH_PUSH)
        start_path(d, x->target, x->to, top->return_to);
    else if (class == HP_CLASS_RETURN)
        leave_frame(d, x);
    else
        d->n--;
}

/* Of a piece it is not known how often it grew: whether it does so here, and what then begins. */
static bool is_uncertain(const struct hp_detector *d, enum hp_class class)
{
    if (!d->only_whole || !d->entries[d->n - 1].piece)
        return false;
    return d->ppcr.extension == HP_EXTEND_LOOP ? class == HP_CLASS_BACKWARD
           : d->ppcr.extension == HP_EXTEND_CALL
               ? class == HP_CLASS_CALL || class == HP_CLASS_RETURN
               : false;
}

/* A full path has ended, and another one begins in its frame. Of a piece it is not known how long
 * it is: it may have ended before. */
static void split_path(struct hp_detector *d, const struct hp_path_transfer *x)
{
    struct hp_path_entry *top = &d->entries[d->n - 1];
    bool piece = top->piece;
    start_path(d, x->target, x->to, top->return_to);
    top->piece = piece;
}

void hp_detector_transfer(struct hp_detector *d, const struct hp_path_transfer *x)
{
    enum hp_class class = hp_detector_class(&d->ppcr, x);
    unsigned ops = operations_of(&d->ppcr, &d->entries[d->n - 1], class);
    size_t landing = 0;
    bool anew = false, uncertain = is_uncertain(d, class);
    d->stats.branches++;
    d->nodes[d->n - 1] = 0;
    if (class == HP_CLASS_INDIRECT && (ops & HP_PATH_POP) && d->frames) {
        anew = d->only_whole && hp_detector_may_land(d, x);
        landing = anew ? 0 : find_landing(d, x);
    }
    bool split = update(d, ops, class, x);
    if (!(ops & HP_PATH_POP)) {
        if (split)
            split_path(d, x);
        if (ops & HP_PATH_PUSH) {
            push(d, x->target, x->to, class == HP_CLASS_CALL ? x->end : 0);
            d->entries[d->n - 1].piece = uncertain;
        }
        return;
    }
    if (!split)
        emit(d);
    if (anew) {
        d->n--;
        begin_anew(d, x);
        return;
    }
    if (landing) {
        d->n--;
        resume(d, landing - 1, x);
        return;
    }
    finish_path(d, ops, class, x);
    if (uncertain && (ops & HP_PATH_PUSH))
        d->entries[d->n - 1].piece = true;
    if (d->n == hp_detector_floor(d)) {
        d->stats.underflows += !d->n_markers;
        push_piece(d, x->target, x->to);
    }
}

/* --- Input ------------------------------------------------------------------------------------ */

/* A block was retired: `events` of the metric in it. */
static void retire(struct hp_detector *d, uint64_t start, uint32_t block, uint32_t insns,
                   uint32_t events)
{
    if (d->fresh)
        hp_detector_begin(d, start, block);
    d->stats.blocks++;
    d->stats.instructions += insns;
    d->pending.insns += insns;
    d->pending.events += events;
}

void hp_detector_retire(struct hp_detector *d, const struct hp_block *table, uint32_t from,
                        uint32_t to, bool taken, uint32_t events)
{
    const struct hp_block *block = &table[from];
    retire(d, block->start, from, block->insns, events);
    if (!hp_path_is_branch(block->flow))
        return;
    struct hp_path_transfer x = hp_path_transfer_of(table, from, to, taken);
    hp_detector_transfer(d, &x);
}

void hp_detector_batch(struct hp_detector *d, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        hp_detector_retire(d, batch->table, batch->blocks[i], batch->blocks[i + 1], batch->taken[i],
                           batch->events ? batch->events[i].count[d->ppcr.metric] : 0);
}

void hp_detector_branch(struct hp_detector *d, const struct hp_branch *branch, uint32_t events)
{
    uint64_t start = branch->start ? branch->start : branch->address;
    retire(d, start, HP_NO_ID, branch->insns, events);
    struct hp_path_transfer x = {.last = branch->address,
                                 .end = branch->end,
                                 .direct = branch->direct,
                                 .target = branch->target,
                                 .from = HP_NO_ID,
                                 .to = HP_NO_ID,
                                 .flow = branch->flow,
                                 .taken = branch->taken != 0};
    hp_detector_transfer(d, &x);
}

static void enter_signal(struct hp_detector *d)
{
    if (d->n_markers == MAX_MARKERS)
        purge(d);
    if (hp_grow(&d->markers, &d->cap_markers, d->n_markers + 1, sizeof *d->markers) != HP_OK ||
        (d->counter && hp_grow(&d->counter->markers, &d->counter->cap_markers, d->cap_markers,
                               sizeof *d->counter->markers) != HP_OK)) {
        d->out_of_memory = true;
        purge(d);
        return;
    }
    d->markers[d->n_markers++] =
        (struct hp_path_marker){.base = d->n, .pending = d->pending, .fresh = d->fresh};
    if (d->counter) {
        d->counter->markers[d->n_markers - 1] = d->counter->pending;
        d->counter->pending = (struct hp_path_costs){0};
    }
    d->pending = (struct hp_path_pending){0};
    d->fresh = true;
}

static void leave_signal(struct hp_detector *d)
{
    if (!d->n_markers) {
        purge(d);
        return;
    }
    const struct hp_path_marker *marker = &d->markers[d->n_markers - 1];
    d->stats.unfinished += throw_away(d, hp_detector_floor(d));
    drop_pending(d);
    d->pending = marker->pending;
    d->n_markers--;
    if (d->counter)
        d->counter->pending = d->counter->markers[d->n_markers];
    /* What was interrupted may have been dropped by an overflow. */
    d->fresh = marker->fresh || d->n == hp_detector_floor(d);
}

void hp_detector_event(struct hp_detector *d, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_SIGNAL: enter_signal(d); break;
    case HP_EVENT_SIGRETURN: leave_signal(d); break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: purge(d); break;
    case HP_EVENT_TAIL:
        d->stats.blocks++;
        d->stats.instructions += event->insns;
        d->stats.unfinished_insns += event->insns;
        break;
    case HP_EVENT_END:
        drop_everything(d);
        drop_pending(d);
        d->fresh = true;
        break;
    default: return;
    }
    if (event->kind == HP_EVENT_END)
        hp_detector_flush(d);
    else
        hp_detector_hand_over(d);
}

/* --- Counted paths ---------------------------------------------------------------------------- */

void hp_detector_lend(struct hp_detector *d, uint64_t start, uint32_t block)
{
    if (d->fresh) {
        hp_detector_begin(d, start, block);
        return;
    }
    struct hp_path_entry *top = &d->entries[d->n - 1];
    d->stats.unfinished_insns += top->insns;
    drop_pending(d);
    start_path(d, start, block, top->return_to);
}

/* The path at the top is this one, whose blocks are retired here. */
static void give_back(struct hp_detector *d, const struct hp_path_prefix *path)
{
    if (d->fresh)
        hp_detector_begin(d, path->start, path->block);
    struct hp_path_entry *top = &d->entries[d->n - 1];
    start_path(d, path->start, path->block, top->return_to);
    d->nodes[d->n - 1] = 0;
    top->outcomes = path->outcomes;
    top->insns = path->insns;
    top->extension = path->extension;
    top->length = path->length;
    d->stats.blocks += path->blocks;
    d->stats.branches += path->branches;
    d->stats.instructions += path->insns + path->pending;
}

void hp_detector_frame(struct hp_detector *d, const struct hp_path_prefix *path, uint64_t return_to)
{
    give_back(d, path);
    push(d, path->start, path->block, return_to);
}

void hp_detector_take_back(struct hp_detector *d, const struct hp_path_prefix *path)
{
    give_back(d, path);
    d->pending.insns = path->pending;
}

void hp_detector_counted(struct hp_detector_stats *stats, struct hp_path_sink *sink,
                         const struct hp_path_counted *path, uint64_t times)
{
    stats->blocks += times * path->blocks;
    stats->branches += times * path->branches;
    stats->instructions += times * path->insns;
    stats->paths += times;
    stats->splits += path->split ? times : 0;
    stats->saturated += path->saturated ? times : 0;
    while (times) {
        uint64_t some = times <= UINT32_MAX ? times : UINT32_MAX;
        struct hp_path next = path->path;
        next.more = (uint32_t)(some - 1);
        sink->paths(sink, &(struct hp_paths){.paths = &next, .n = 1});
        times -= some;
    }
}

/* --- Costs ------------------------------------------------------------------------------------ */

enum hp_err hp_detector_count_costs(struct hp_detector *d)
{
    d->counter = calloc(1, sizeof *d->counter);
    if (!d->counter)
        return hp_fail_nomem();
    return hp_grow(&d->counter->entries, &d->counter->cap_entries, d->cap,
                   sizeof *d->counter->entries);
}

void hp_detector_add_costs(struct hp_detector *d, const struct hp_path_costs *costs)
{
    hp_path_costs_add(&d->counter->pending, costs);
}

struct hp_path_costs *hp_detector_unfinished_costs(struct hp_detector *d)
{
    return &d->counter->unfinished;
}

/* --- Creating --------------------------------------------------------------------------------- */

enum hp_err hp_detector_new_shared(struct hp_path_plan *plan, struct hp_path_sink *sink,
                                   struct hp_detector **detector)
{
    HP_TRY(hp_detector_new(&plan->ppcr, plan->frames, sink, detector));
    (*detector)->shared = plan;
    return HP_OK;
}

enum hp_err hp_detector_new(const struct hp_ppcr *ppcr, struct hp_frame_source *frames,
                            struct hp_path_sink *sink, struct hp_detector **detector)
{
    HP_TRY(hp_ppcr_check(ppcr));
    struct hp_detector *d = calloc(1, sizeof *d);
    if (!d)
        return hp_fail_nomem();
    d->ppcr = *ppcr;
    d->counter_max = (UINT64_C(1) << ppcr->counter_bits) - 1;
    d->frames = frames;
    d->sink = sink;
    d->fresh = true;
    enum hp_err err = hp_grow(&d->entries, &d->cap, FIRST_ENTRIES, sizeof *d->entries);
    if (err == HP_OK)
        err = hp_grow(&d->nodes, &d->cap_nodes, d->cap, sizeof *d->nodes);
    if (err == HP_OK && ppcr->by_address)
        err = hp_grow(&d->lists, &d->cap_lists, d->cap, sizeof *d->lists);
    if (err != HP_OK) {
        hp_detector_free(d);
        return err;
    }
    *detector = d;
    return HP_OK;
}

void hp_detector_free(struct hp_detector *d)
{
    if (!d)
        return;
    free(d->entries);
    free(d->nodes);
    free(d->lists);
    free(d->markers);
    if (d->counter) {
        free(d->counter->entries);
        free(d->counter->markers);
        free(d->counter);
    }
    if (d->plan && d->plan != d->shared) {
        hp_path_plan_fini(d->plan);
        free(d->plan);
    }
    free(d);
}

enum hp_err hp_detector_check(const struct hp_detector *detector)
{
    return detector->out_of_memory ? hp_fail_nomem() : HP_OK;
}

void hp_detector_only_whole(struct hp_detector *detector)
{
    detector->only_whole = true;
}

const struct hp_detector_stats *hp_detector_stats(const struct hp_detector *detector)
{
    return &detector->stats;
}
