// SPDX-License-Identifier: MIT
#include "path_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_LIMIT 4096 /* entries searched for a frame */

/* A retired block, and its events. */
struct retired {
    uint32_t insns;
    uint32_t events;
};

struct list {
    struct retired *items;
    size_t n, cap;
};

/* A stack entry: a path that is not finished, or the marker of a signal. */
struct place {
    bool marker;
    uint64_t start;
    uint32_t block;
    uint64_t return_to;
    uint32_t extension;
    uint8_t outcomes[HP_PATH_MAX_LENGTH];
    uint32_t length;
    uint64_t targets[HP_PATH_MAX_LENGTH];
    uint32_t n_targets;
    struct list retired; /* of a marker: what was pending when the signal came */
    bool fresh;          /* of a marker */
    uint64_t began;      /* blocks that retired before */
    bool definite;
};

struct reference {
    struct hp_ppcr ppcr;
    struct hp_frame_source *frames;
    void (*found)(void *context, const struct reference_path *path);
    void *context;
    struct place *stack;
    size_t n, cap;
    struct list pending;
    bool fresh;
    struct hp_detector_stats stats;
};

/* One transfer from block `b` to block `t`. */
struct transfer {
    const struct hp_block *b, *t;
    uint32_t b_id, t_id;
    bool taken;
    enum hp_class class;
    bool keep_target; /* it becomes part of the path */
};

/* --- Lists ------------------------------------------------------------------------------------ */

static void *grown(void *items, size_t *cap, size_t size)
{
    *cap = *cap ? 2 * *cap : 16;
    items = realloc(items, *cap * size);
    if (!items) {
        fprintf(stderr, "reference: out of memory\n");
        abort();
    }
    return items;
}

static void list_add(struct list *list, struct retired item)
{
    if (list->n == list->cap)
        list->items = grown(list->items, &list->cap, sizeof *list->items);
    list->items[list->n++] = item;
}

static uint64_t list_insns(const struct list *list)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < list->n; i++)
        sum += list->items[i].insns;
    return sum;
}

static uint64_t list_events(const struct list *list)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < list->n; i++)
        sum += list->items[i].events;
    return sum;
}

/* --- The stack -------------------------------------------------------------------------------- */

static struct place *top(struct reference *r)
{
    return &r->stack[r->n - 1];
}

static size_t count_entries(const struct reference *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += !r->stack[i].marker;
    return n;
}

/* Removes entry `i`; those above move down. */
static void remove_place(struct reference *r, size_t i)
{
    free(r->stack[i].retired.items);
    memmove(&r->stack[i], &r->stack[i + 1], (r->n - i - 1) * sizeof r->stack[0]);
    r->n--;
}

/* Removes entry `i`; its instructions are in no path. */
static void throw_away(struct reference *r, size_t i)
{
    r->stats.unfinished_insns += list_insns(&r->stack[i].retired);
    remove_place(r, i);
}

static void throw_pending_away(struct reference *r)
{
    r->stats.unfinished_insns += list_insns(&r->pending);
    r->pending.n = 0;
}

/* Discards all entries from `first` on; returns how many of them were paths. */
static size_t throw_away_from(struct reference *r, size_t first)
{
    size_t paths = 0;
    while (r->n > first) {
        paths += !top(r)->marker;
        throw_away(r, r->n - 1);
    }
    return paths;
}

static void put(struct reference *r, struct place place)
{
    if (r->n == r->cap)
        r->stack = grown(r->stack, &r->cap, sizeof *r->stack);
    r->stack[r->n++] = place;
}

static void push(struct reference *r, const struct hp_block *block, uint32_t id, uint64_t return_to)
{
    if (count_entries(r) >= r->ppcr.stack_entries) {
        r->stats.overflows++;
        if (r->ppcr.overflow == HP_OVERFLOW_DROP_OLDEST) {
            size_t oldest = 0;
            while (r->stack[oldest].marker)
                oldest++;
            throw_away(r, oldest);
            r->stats.dropped++;
        }
    }
    put(r,
        (struct place){
            .start = block->start, .block = id, .return_to = return_to, .began = r->stats.blocks});
}

/* The path of entry `i` is dropped, whatever it was; another starts there. */
static void restart(struct reference *r, size_t i, const struct hp_block *block, uint32_t id)
{
    struct place place = {.start = block->start,
                          .block = id,
                          .return_to = r->stack[i].return_to,
                          .began = r->stats.blocks};
    free(r->stack[i].retired.items);
    r->stack[i] = place;
}

static void emit(struct reference *r, const struct place *place)
{
    uint64_t events = 1;
    if (r->ppcr.metric != HP_METRIC_EXECUTIONS) {
        uint64_t most = (UINT64_C(1) << r->ppcr.counter_bits) - 1;
        events = list_events(&place->retired);
        if (events > most) {
            events = most;
            r->stats.saturated++;
        }
    }
    struct reference_path path = {
        .start = place->start,
        .block = place->block,
        .length = place->length,
        .outcomes = place->outcomes,
        .n_targets = place->n_targets,
        .targets = place->targets,
        .insns = list_insns(&place->retired),
        .events = events,
        .began = place->began,
        .definite = place->definite,
    };
    r->stats.paths++;
    r->found(r->context, &path);
}

/* --- Class and operations --------------------------------------------------------------------- */

static void classify(const struct reference *r, struct transfer *x)
{
    enum hp_flow flow = x->b->flow;
    bool goes_back = x->taken && x->t->start <= x->b->last;
    bool indirect = flow == HP_FLOW_CALL_IND || flow == HP_FLOW_JUMP_IND || flow == HP_FLOW_RETURN;
    bool call = flow == HP_FLOW_CALL || flow == HP_FLOW_CALL_IND;
    x->keep_target = false;
    if (r->ppcr.by_address) {
        x->class = goes_back ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
        x->keep_target = indirect && x->taken && !goes_back;
    } else if (flow == HP_FLOW_COND || flow == HP_FLOW_JUMP) {
        if (r->ppcr.direction == HP_DIRECTION_STATIC)
            goes_back = x->b->target <= x->b->last;
        x->class = goes_back ? HP_CLASS_BACKWARD : HP_CLASS_FORWARD;
    } else if (!x->taken) {
        x->class = HP_CLASS_FORWARD;
    } else if (call) {
        x->class = x->t->start == x->b->end ? HP_CLASS_FORWARD : HP_CLASS_CALL;
    } else {
        x->class = flow == HP_FLOW_RETURN ? HP_CLASS_RETURN : HP_CLASS_INDIRECT;
    }
}

/* The operations for the transfer. `*swallowed`: the extension made the path grow through it. */
static unsigned choose_operations(struct reference *r, const struct transfer *x, bool *swallowed)
{
    unsigned ops = r->ppcr.ops[x->class];
    unsigned own = ops & (HP_PATH_UPDATE | HP_PATH_UPDATE_COUNT);
    uint32_t *extension = &top(r)->extension;
    *swallowed = true;
    if (r->ppcr.extension == HP_EXTEND_LOOP && x->class == HP_CLASS_BACKWARD &&
        *extension < r->ppcr.max_extension) {
        ++*extension;
        return HP_PATH_UPDATE;
    }
    if (r->ppcr.extension == HP_EXTEND_CALL && x->class == HP_CLASS_CALL &&
        *extension < r->ppcr.max_extension) {
        ++*extension;
        return own;
    }
    if (r->ppcr.extension == HP_EXTEND_CALL && x->class == HP_CLASS_RETURN && *extension != 0) {
        --*extension;
        return own;
    }
    *swallowed = false;
    return ops;
}

static void add_pending(struct reference *r)
{
    for (size_t i = 0; i < r->pending.n; i++)
        list_add(&top(r)->retired, r->pending.items[i]);
    r->pending.n = 0;
}

/* The operation update; `pops`: a pop comes after it. */
static void update(struct reference *r, const struct transfer *x, bool pops)
{
    add_pending(r);
    struct place *path = top(r);
    if (path->length < r->ppcr.max_length) {
        path->outcomes[path->length++] = x->taken;
        if (x->keep_target)
            path->targets[path->n_targets++] = x->t->start;
        return;
    }
    r->stats.splits++;
    if (!pops) {
        emit(r, path);
        restart(r, r->n - 1, x->t, x->t_id);
    }
}

/* --- Frames that are gone --------------------------------------------------------------------- */

static uint32_t function_of(const struct reference *r, uint32_t block)
{
    return r->frames ? r->frames->function_of(r->frames, block) : HP_NO_ID;
}

/* The nearest of at most `limit` entries below the top that started in the function of the target;
 * r->n when there is none. */
static size_t find_function(const struct reference *r, const struct transfer *x, size_t limit)
{
    uint32_t function = function_of(r, x->t_id);
    if (function == HP_NO_ID)
        return r->n;
    for (size_t i = r->n - 1; i-- > 0 && limit > 0;) {
        if (r->stack[i].marker)
            continue;
        limit--;
        if (function_of(r, r->stack[i].block) == function)
            return i;
    }
    return r->n;
}

/* The nearest entry below the top that returns to the target, in this handler; r->n when there is
 * none. */
static size_t find_return(const struct reference *r, const struct transfer *x)
{
    size_t searched = 0;
    for (size_t i = r->n - 1; i-- > 0 && !r->stack[i].marker && searched < SEARCH_LIMIT; searched++)
        if (r->stack[i].return_to == x->t->start)
            return i;
    return r->n;
}

/* The top was emitted, and frame `j` is live again: a path starts somewhere in it. */
static void resume_frame(struct reference *r, const struct transfer *x, size_t j)
{
    remove_place(r, r->n - 1);
    r->stats.repairs++;
    r->stats.repaired += throw_away_from(r, j + 1) + 1;
    r->stats.unfinished_insns += list_insns(&r->stack[j].retired);
    restart(r, j, x->t, x->t_id);
}

/* A return that ends the top's path and its frame. */
static void return_from(struct reference *r, const struct transfer *x)
{
    emit(r, top(r));
    if (top(r)->return_to == x->t->start || top(r)->return_to == 0) {
        remove_place(r, r->n - 1);
        return;
    }
    if (r->ppcr.extension == HP_EXTEND_CALL) {
        r->stats.underflows++;
        restart(r, r->n - 1, x->t, x->t_id);
        return;
    }
    size_t k = find_return(r, x);
    if (k < r->n) {
        remove_place(r, r->n - 1);
        r->stats.repairs++;
        r->stats.repaired += throw_away_from(r, k);
        return;
    }
    size_t j = find_function(r, x, SEARCH_LIMIT);
    if (j < r->n) {
        resume_frame(r, x, j);
        return;
    }
    remove_place(r, r->n - 1);
    r->stats.purges++;
    r->stats.unfinished += throw_away_from(r, 0);
    push(r, x->t, x->t_id, 0);
}

/* Whether an indirect jump leaves its frame for one below: longjmp, a landing pad. */
static bool leaves_frame(const struct reference *r, const struct transfer *x, unsigned ops)
{
    if (x->class != HP_CLASS_INDIRECT || r->ppcr.by_address || !(ops & HP_PATH_POP))
        return false;
    uint32_t from = function_of(r, x->b_id), to = function_of(r, x->t_id);
    if (from == HP_NO_ID || to == HP_NO_ID || from == to || r->frames->is_entry(r->frames, x->t_id))
        return false;
    return find_function(r, x, SEARCH_LIMIT) < r->n;
}

/* --- One transfer ----------------------------------------------------------------------------- */

/* A pop and a push are consecutive paths in the same frame: the stack does not grow. */
static void pop_and_push(struct reference *r, const struct transfer *x, unsigned ops)
{
    if (ops & HP_PATH_POP) {
        emit(r, top(r));
        if (ops & HP_PATH_PUSH)
            restart(r, r->n - 1, x->t, x->t_id);
        else
            remove_place(r, r->n - 1);
    } else if (ops & HP_PATH_PUSH) {
        push(r, x->t, x->t_id, x->class == HP_CLASS_CALL ? x->b->end : 0);
    }
    if (ops & HP_PATH_PUSH)
        top(r)->definite = true;
}

static void branch(struct reference *r, struct transfer *x)
{
    bool swallowed;
    classify(r, x);
    unsigned ops = choose_operations(r, x, &swallowed);
    if (ops & HP_PATH_UPDATE)
        update(r, x, ops & HP_PATH_POP);
    if (ops & HP_PATH_UPDATE_COUNT)
        add_pending(r);
    if (x->class == HP_CLASS_RETURN && !swallowed && ops & HP_PATH_POP && !(ops & HP_PATH_PUSH)) {
        return_from(r, x);
    } else if (leaves_frame(r, x, ops)) {
        emit(r, top(r));
        resume_frame(r, x, find_function(r, x, SEARCH_LIMIT));
    } else {
        pop_and_push(r, x, ops);
    }
    if (r->n == 0 || top(r)->marker) {
        r->stats.underflows += r->n == 0;
        push(r, x->t, x->t_id, 0);
    }
}

void reference_batch(struct reference *r, const struct hp_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct transfer x = {
            .b_id = batch->blocks[i],
            .t_id = batch->blocks[i + 1],
            .b = &batch->table[batch->blocks[i]],
            .t = &batch->table[batch->blocks[i + 1]],
            .taken = batch->taken[i],
        };
        struct hp_branch unused;
        uint32_t events = 0;
        if (r->ppcr.metric == HP_METRIC_INSTRUCTIONS)
            events = x.b->insns;
        else if (batch->events)
            events = batch->events[i].count[r->ppcr.metric];
        if (r->fresh)
            push(r, x.b, x.b_id, 0);
        r->fresh = false;
        list_add(&r->pending, (struct retired){.insns = x.b->insns, .events = events});
        r->stats.blocks++;
        r->stats.instructions += x.b->insns;
        if (hp_batch_branch(batch, i, &unused)) {
            r->stats.branches++;
            branch(r, &x);
        }
    }
}

/* --- Events ----------------------------------------------------------------------------------- */

static void purge(struct reference *r)
{
    r->stats.purges += r->n != 0;
    r->stats.unfinished += throw_away_from(r, 0);
    throw_pending_away(r);
    r->fresh = true;
}

static void signal_starts(struct reference *r)
{
    put(r, (struct place){.marker = true, .retired = r->pending, .fresh = r->fresh});
    r->pending = (struct list){0};
    r->fresh = true;
}

static void signal_returns(struct reference *r)
{
    size_t i = r->n;
    while (i > 0 && !r->stack[i - 1].marker)
        i--;
    if (i == 0) {
        purge(r);
        return;
    }
    r->stats.unfinished += throw_away_from(r, i);
    throw_pending_away(r);
    free(r->pending.items);
    r->pending = top(r)->retired;
    r->fresh = top(r)->fresh;
    r->n--;
    if (r->n == 0 || top(r)->marker) /* the interrupted path was dropped by an overflow */
        r->fresh = true;
}

void reference_event(struct reference *r, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_SIGNAL: signal_starts(r); break;
    case HP_EVENT_SIGRETURN: signal_returns(r); break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: purge(r); break;
    case HP_EVENT_TAIL:
        r->stats.blocks++;
        r->stats.instructions += event->insns;
        r->stats.unfinished_insns += event->insns;
        break;
    case HP_EVENT_END:
        r->stats.unfinished += throw_away_from(r, 0);
        throw_pending_away(r);
        r->fresh = true;
        break;
    default: break;
    }
}

/* --- Making one ------------------------------------------------------------------------------- */

struct reference *reference_new(const struct hp_ppcr *ppcr, struct hp_frame_source *frames,
                                void (*found)(void *context, const struct reference_path *path),
                                void *context)
{
    struct reference *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->ppcr = *ppcr;
    r->frames = frames;
    r->found = found;
    r->context = context;
    r->fresh = true;
    return r;
}

void reference_free(struct reference *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->stack[i].retired.items);
    free(r->stack);
    free(r->pending.items);
    free(r);
}

const struct hp_detector_stats *reference_stats(const struct reference *r)
{
    return &r->stats;
}

struct hp_path reference_descriptor(const struct reference_path *path)
{
    struct hp_path p = {
        .start = path->start,
        .block = path->block,
        .length = (uint8_t)path->length,
        .n_targets = (uint8_t)path->n_targets,
        .insns = path->insns > UINT32_MAX ? UINT32_MAX : (uint32_t)path->insns,
        .events = (uint32_t)path->events,
    };
    for (uint32_t i = 0; i < path->length; i++)
        p.outcomes = p.outcomes << 1 | path->outcomes[i];
    for (uint32_t i = 0; i < path->n_targets; i++)
        p.targets = hp_path_hash_target(p.targets, path->targets[i]);
    return p;
}

/* --- Presets ---------------------------------------------------------------------------------- */

bool reference_preset(const char *name, struct hp_ppcr *ppcr)
{
    const uint8_t update_pop_push = HP_PATH_UPDATE | HP_PATH_POP | HP_PATH_PUSH;
    *ppcr = (struct hp_ppcr){
        .ops =
            {
                [HP_CLASS_CALL] = HP_PATH_UPDATE_COUNT | HP_PATH_PUSH,
                [HP_CLASS_RETURN] = HP_PATH_UPDATE_COUNT | HP_PATH_POP,
                [HP_CLASS_FORWARD] = HP_PATH_UPDATE,
                [HP_CLASS_BACKWARD] = update_pop_push,
                [HP_CLASS_INDIRECT] = update_pop_push,
            },
        .max_length = 32,
        .stack_entries = 32,
        .overflow = HP_OVERFLOW_SPILL,
        .metric = HP_METRIC_EXECUTIONS,
        .counter_bits = 8,
    };
    if (strcmp(name, "bl") == 0)
        return true;
    if (strcmp(name, "wpp") == 0) {
        ppcr->ops[HP_CLASS_CALL] = HP_PATH_UPDATE_COUNT | HP_PATH_POP | HP_PATH_PUSH;
        ppcr->ops[HP_CLASS_RETURN] = HP_PATH_UPDATE_COUNT | HP_PATH_POP | HP_PATH_PUSH;
        return true;
    }
    if (strcmp(name, "forward") == 0) {
        ppcr->ops[HP_CLASS_CALL] = 0;
        ppcr->ops[HP_CLASS_RETURN] = 0;
        ppcr->ops[HP_CLASS_INDIRECT] = 0;
        ppcr->by_address = true;
        return true;
    }
    if (sscanf(name, "extended-loop:%u", &ppcr->max_extension) == 1) {
        ppcr->extension = HP_EXTEND_LOOP;
        return true;
    }
    if (sscanf(name, "extended-call:%u", &ppcr->max_extension) == 1) {
        ppcr->extension = HP_EXTEND_CALL;
        return true;
    }
    return false;
}
