// SPDX-License-Identifier: MIT
/* The loop reference: the shadow stack, by the table of docs/exact.md. */
#include "loop_reference_impl.h"

#include <stdlib.h>

#define STUB_INSNS 5 /* most that a stub has */

static const struct hp_block *block_of(const struct walk *w, uint32_t id)
{
    return hp_code_block(w->r->code, id);
}

static struct activation *top(struct walk_thread *t)
{
    return t->n ? &t->stack[t->n - 1] : NULL;
}

static uint32_t function_of(const struct walk *w, uint32_t block)
{
    return hp_functions_of_block(w->functions, block);
}

/* --- Activations ------------------------------------------------------------------------------ */

static void push(struct walk_thread *t, enum frame_kind kind, uint64_t expects, uint32_t function)
{
    t->stack = loop_reference_room(t->stack, &t->cap, t->n + 1, sizeof *t->stack);
    t->stack[t->n++] = (struct activation){.kind = kind,
                                           .expects = expects,
                                           .function = function,
                                           .entered = t->clock,
                                           .last = HP_NO_ID,
                                           .position = HP_NO_ID,
                                           .pending = HP_NO_ID};
}

/* Runs the nodes of a block in an activation. */
static void retire(struct walk *w, struct walk_thread *t, struct activation *a, uint32_t block,
                   enum came came)
{
    for (uint32_t node = block; node != HP_NO_ID; node = w->r->nodes[node].next) {
        w->listener->run(w, t, a, node, a->last, came);
        a->last = node;
        t->clock += w->r->nodes[node].own;
        came = CAME_WITHIN;
    }
    a->pending = HP_NO_ID;
}

/* The code that a signal interrupted never resumes: the block was run before. Its tail is still to
 * come. */
static void abandon(struct walk *w, struct walk_thread *t, struct activation *a)
{
    if (a->pending == HP_NO_ID)
        return;
    t->abandoned = loop_reference_room(t->abandoned, &t->cap_abandoned, t->n_abandoned + 1,
                                       sizeof *t->abandoned);
    t->abandoned[t->n_abandoned++] = a->pending;
    retire(w, t, a, a->pending, a->came);
}

static void pop(struct walk *w, struct walk_thread *t, bool history)
{
    struct activation *a = top(t);
    if (!history)
        abandon(w, t, a);
    w->listener->end(w, t, a, history);
    free(a->executions);
    t->n--;
}

static void pop_to(struct walk *w, struct walk_thread *t, size_t n)
{
    while (t->n > n)
        pop(w, t, false);
}

/* The newest activation continues with `block`. */
static void go_on(struct walk *w, struct walk_thread *t, uint32_t block, enum came came)
{
    struct activation *a = top(t);
    abandon(w, t, a);
    a->pending = block;
    a->came = came;
}

/* --- Finding activations ---------------------------------------------------------------------- */

/* The number of activations up to the newest that expects the address; 0: none does. */
static size_t expecting(const struct walk_thread *t, uint64_t address)
{
    for (size_t n = t->n; n > 0; n--) {
        if (t->stack[n - 1].kind == SIGNAL)
            return 0;
        if (t->stack[n - 1].kind == CALLED && t->stack[n - 1].expects == address)
            return n;
    }
    return 0;
}

/* The same for the newest of a function; with `by_jumps`, only those from which the newest was
 * reached by jumps. */
static size_t activation_of(const struct walk_thread *t, uint32_t function, bool by_jumps)
{
    for (size_t n = t->n; n > 0; n--) {
        if (t->stack[n - 1].function == function)
            return n;
        if (by_jumps && t->stack[n - 1].kind != JUMPED)
            return 0;
    }
    return 0;
}

/* --- Transfers -------------------------------------------------------------------------------- */

static enum came on_call(struct walk *w, struct walk_thread *t, const struct hp_block *from,
                         uint32_t to)
{
    if (block_of(w, to)->start == from->end)
        return CAME_WITHIN;
    push(t, CALLED, from->end, hp_functions_enter(w->functions, to));
    return CAME_CALLED;
}

/* Where there is no symbol, the function that a return first led to there. */
static uint32_t landing(struct walk *w, uint32_t block)
{
    uint32_t function = function_of(w, block);
    return function == HP_NO_ID && w->returned_to[block] ? w->homes[block] : function;
}

static enum came leave(struct walk *w, struct walk_thread *t, const struct hp_block *from,
                       uint32_t to)
{
    uint64_t address = block_of(w, to)->start;
    bool may_not = (from->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB)) != 0;
    if (address == from->end && may_not)
        return CAME_WITHIN;
    size_t n = expecting(t, address);
    if (n) {
        pop_to(w, t, n - 1);
        return CAME_BACK;
    }
    uint32_t function = landing(w, to);
    n = function == HP_NO_ID ? 0 : activation_of(t, function, false);
    if (n) {
        enum came came = n < t->n ? CAME_EXCEPTION : CAME_WITHIN;
        pop_to(w, t, n);
        return came;
    }
    if (!t->n || top(t)->kind != BASE)
        return CAME_WITHIN;
    pop(w, t, false);
    push(t, BASE, 0, function);
    return CAME_BEGIN;
}

static enum came on_return(struct walk *w, struct walk_thread *t, const struct hp_block *from,
                           uint32_t to)
{
    enum came came = leave(w, t, from, to);
    if (!w->returned_to[to])
        w->homes[to] = top(t) ? top(t)->function : HP_NO_ID;
    w->returned_to[to] = true;
    return came;
}

/* Whether a jump that ends `from` is the end of a stub: its activation ran nothing but `from`. */
static bool is_stub(struct walk_thread *t, const struct hp_block *from)
{
    return from->flow == HP_FLOW_JUMP_IND && from->insns <= STUB_INSNS && top(t) &&
           t->clock - top(t)->entered == from->insns;
}

static enum came on_jump(struct walk *w, struct walk_thread *t, uint32_t from_id, uint32_t to)
{
    const struct hp_block *from = block_of(w, from_id);
    uint32_t function = function_of(w, to);
    bool computed = from->flow == HP_FLOW_JUMP_IND;
    if (function == HP_NO_ID &&
        (is_stub(t, from) || (from->module != block_of(w, to)->module && !w->returned_to[to])))
        function = hp_functions_enter(w->functions, to);
    else if (computed)
        function = landing(w, to);
    if (function == HP_NO_ID || !top(t) || top(t)->function == function)
        return CAME_WITHIN;
    if (!computed && function_of(w, from_id) == function)
        return CAME_WITHIN;
    bool entry = hp_functions_is_entry(w->functions, to), far = computed && !entry;
    size_t n = activation_of(t, function, !far);
    if (n && entry) {
        struct activation before = t->stack[n - 1];
        pop_to(w, t, n - 1);
        push(t, before.kind, before.expects, function);
        top(t)->entered = before.entered;
        return CAME_JUMPED;
    }
    if (n) {
        pop_to(w, t, n);
        return far ? CAME_EXCEPTION : CAME_BACK;
    }
    if (far)
        return CAME_WITHIN;
    push(t, JUMPED, top(t)->expects, function);
    return CAME_JUMPED;
}

/* The direct jumps of a block are examined once one of them, new to the thread, has left its
 * function. */
static bool is_watched(struct walk *w, struct walk_thread *t, uint32_t from, uint32_t to)
{
    uint64_t key = (uint64_t)from << 32 | to;
    if (!t->watched) {
        t->watched = calloc(w->r->n_nodes, sizeof *t->watched);
        if (!t->watched)
            abort();
    }
    if (hp_map64_get(&t->edges_seen, key) == HP_MAP64_NONE) {
        if (hp_map64_put(&t->edges_seen, key, 0) != HP_OK)
            abort();
        t->watched[from] |= function_of(w, from) != function_of(w, to);
    }
    return t->watched[from];
}

/* `from` was run and `to` comes next. */
static void transfer(struct walk *w, struct walk_thread *t, uint32_t from, uint32_t to)
{
    const struct hp_block *b = block_of(w, from);
    enum came came = CAME_WITHIN;
    switch (b->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: came = on_call(w, t, b, to); break;
    case HP_FLOW_RETURN: came = on_return(w, t, b, to); break;
    case HP_FLOW_JUMP:
    case HP_FLOW_COND:
        if (is_watched(w, t, from, to))
            came = on_jump(w, t, from, to);
        break;
    case HP_FLOW_JUMP_IND: came = on_jump(w, t, from, to); break;
    default: break;
    }
    bool jump = b->flow == HP_FLOW_JUMP || b->flow == HP_FLOW_COND || b->flow == HP_FLOW_JUMP_IND;
    if (came == CAME_WITHIN && jump)
        came = CAME_ALONG;
    go_on(w, t, to, came);
}

/* --- The stream ------------------------------------------------------------------------------- */

static void begin(struct walk *w, struct walk_thread *t, uint32_t block)
{
    t->fresh = false;
    push(t, BASE, 0, hp_functions_enter(w->functions, block));
    go_on(w, t, block, CAME_BEGIN);
}

/* Whether the block was run when it was abandoned. */
static bool was_abandoned(struct walk_thread *t, uint32_t block)
{
    for (size_t i = 0; i < t->n_abandoned; i++) {
        if (t->abandoned[i] == block) {
            t->abandoned[i] = t->abandoned[--t->n_abandoned];
            return true;
        }
    }
    return false;
}

/*
 * The first block of a batch: run since the previous batch, unless a handler that seemed to have
 * ended returned to it. Then, or when the block was cut short and is another one now, its meaning
 * is unclear, and these functions are not compared.
 */
static void run_first(struct walk *w, struct walk_thread *t, uint32_t block)
{
    struct activation *a = top(t);
    bool known = a->pending != HP_NO_ID && a->came != CAME_BEGIN;
    if (a->pending != block) {
        loop_reference_stray(w->r, block);
        if (known || a->last != HP_NO_ID)
            loop_reference_stray(w->r, known ? a->pending : a->last);
    }
    if (known || !was_abandoned(t, block)) {
        retire(w, t, a, block, known ? a->came : CAME_BEGIN);
        return;
    }
    loop_reference_stray(w->r, block);
    for (uint32_t node = block; node != HP_NO_ID; node = w->r->nodes[node].next)
        a->last = node;
    a->pending = HP_NO_ID;
}

static void walk_batch(struct walk *w, struct walk_thread *t, const uint32_t *blocks, size_t n)
{
    if (t->fresh)
        begin(w, t, blocks[0]);
    run_first(w, t, blocks[0]);
    for (size_t i = 0; i < n; i++) {
        transfer(w, t, blocks[i], blocks[i + 1]);
        if (i + 1 < n)
            retire(w, t, top(t), blocks[i + 1], top(t)->came);
    }
}

static void on_signal(struct walk *w, struct walk_thread *t)
{
    if (top(t) && top(t)->pending != HP_NO_ID)
        w->listener->interrupt(w, t, top(t));
    push(t, SIGNAL, 0, HP_NO_ID);
    t->fresh = true;
}

static void on_sigreturn(struct walk *w, struct walk_thread *t)
{
    for (bool boundary = false; t->n && !boundary;) {
        boundary = top(t)->kind == SIGNAL;
        pop(w, t, false);
    }
    t->fresh = t->n == 0;
}

/* The newest activation that continues where the block starts; NULL: none. */
static struct activation *waiting_for(struct walk *w, struct walk_thread *t, uint32_t block)
{
    for (size_t n = t->n; n > 0; n--) {
        uint32_t pending = t->stack[n - 1].pending;
        if (pending != HP_NO_ID && block_of(w, pending)->start == block_of(w, block)->start)
            return &t->stack[n - 1];
    }
    return NULL;
}

static void on_tail(struct walk *w, struct walk_thread *t, uint32_t block)
{
    if (t->fresh)
        begin(w, t, block);
    struct activation *a = waiting_for(w, t, block);
    if (a && a->pending != block)
        loop_reference_stray(w->r, a->pending);
    if (a)
        retire(w, t, a, block, a->came);
    else if (!was_abandoned(t, block))
        w->listener->orphan(w, t, block);
}

static void end_history(struct walk *w, struct walk_thread *t)
{
    for (; t->n; pop(w, t, true))
        if (top(t)->pending != HP_NO_ID) /* it was reached, and perhaps not run */
            loop_reference_stray(w->r, top(t)->pending);
    t->n_abandoned = 0;
    t->fresh = true;
}

static void walk_event(struct walk *w, struct walk_thread *t, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_TAIL: on_tail(w, t, event->block); break;
    case HP_EVENT_SIGNAL: on_signal(w, t); break;
    case HP_EVENT_SIGRETURN: on_sigreturn(w, t); break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY:
    case HP_EVENT_END: end_history(w, t); break;
    default: break;
    }
}

void loop_reference_walk(struct loop_reference *r, struct hp_functions *functions,
                         const struct listener *listener)
{
    struct walk w = {
        .r = r, .functions = functions, .listener = listener, .n_threads = r->n_threads};
    w.threads = calloc(r->n_threads + 1, sizeof *w.threads);
    w.returned_to = calloc(r->n_nodes + 1, sizeof *w.returned_to);
    w.homes = calloc(r->n_nodes + 1, sizeof *w.homes);
    if (!w.threads || !w.returned_to || !w.homes)
        abort();
    for (uint32_t i = 0; i < r->n_threads; i++) {
        w.threads[i].id = i;
        w.threads[i].fresh = true;
    }
    for (size_t i = 0; i < r->n_chunks; i++) {
        const struct chunk *c = &r->chunks[i];
        if (c->is_event)
            walk_event(&w, &w.threads[c->thread], &c->event);
        else
            walk_batch(&w, &w.threads[c->thread], r->blocks + c->first, c->n);
    }
    for (uint32_t i = 0; i < r->n_threads; i++) {
        end_history(&w, &w.threads[i]); /* of those whose end is missing */
        free(w.threads[i].stack);
        free(w.threads[i].abandoned);
        free(w.threads[i].watched);
        hp_map64_fini(&w.threads[i].edges_seen);
    }
    free(w.threads);
    free(w.returned_to);
    free(w.homes);
}
