// SPDX-License-Identifier: MIT
/*
 * The shadow stack: which function runs inside which. The loop that counts edges is in the same
 * file so that calls and returns are inlined into it (a tenth faster than across files).
 */
#include "base/grow.h"
#include "profiler/exact/contexts.h"
#include "profiler/exact/excursions.h"
#include "profiler/exact/legs.h"
#include "profiler/exact/loops.h"
#include "profiler/exact/ops.h"
#include "profiler/exact/phrases.h"
#include "profiler/exact/stack.h"

#define AHEAD 16 /* steps whose cells are fetched before they are needed */

/* --- Pushing and popping ---------------------------------------------------------------------- */

uint32_t hp_exact_find_call(struct hp_exact_thread *t, uint32_t caller, uint32_t callee)
{
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t index = hp_map64_get(&t->call_of, key);
    if (index != HP_MAP64_NONE)
        return index;
    if (hp_grow(&t->calls, &t->cap_calls, t->n_calls + 1, sizeof *t->calls) != HP_OK ||
        hp_map64_put(&t->call_of, key, (uint32_t)t->n_calls) != HP_OK) {
        t->exact->out_of_memory = true;
        return HP_NO_ID;
    }
    t->calls[t->n_calls] = (struct hp_call){.caller = caller, .callee = callee};
    return (uint32_t)t->n_calls++;
}

HP_STACK_INLINE void pop_to(struct hp_exact_thread *t, size_t n_frames)
{
    bool loops = t->loops;
    while (t->n_frames > n_frames)
        hp_stack_pop(t, loops);
}

/* --- Functions of blocks ---------------------------------------------------------------------- */

static __attribute__((noinline)) void ask(struct hp_exact *exact, uint32_t block)
{
    struct hp_stack_block *spot = &exact->spots[block];
    spot->function = hp_functions_of_block(exact->functions, block);
    spot->entry = hp_functions_is_entry(exact->functions, block);
    if (spot->asked)
        hp_ops_learned(exact, block);
    spot->asked = true;
}

/* The function of a block by its symbol, or the one entered there; else HP_NO_ID. */
HP_STACK_INLINE uint32_t function_of(struct hp_exact_thread *t, uint32_t block)
{
    const struct hp_stack_block *spot = &t->exact->spots[block];
    if (!spot->asked)
        ask(t->exact, block);
    return spot->function;
}

/* The function that a call to this block enters. */
HP_STACK_INLINE uint32_t enter(struct hp_exact_thread *t, uint32_t block)
{
    if (function_of(t, block) == HP_NO_ID) {
        hp_functions_enter(t->exact->functions, block);
        ask(t->exact, block);
    }
    return t->exact->spots[block].function;
}

/* The function that control unexpectedly returns to: without a symbol, the one that earlier calls
 * returned to there. */
static uint32_t landing(struct hp_exact_thread *t, uint32_t block)
{
    uint32_t function = function_of(t, block);
    return function == HP_NO_ID ? t->exact->homes[block] : function;
}

/* A return led to the block for the first time, and has been handled. */
static __attribute__((noinline)) void settle(struct hp_exact_thread *t, uint32_t block)
{
    t->exact->spots[block].returned_to = true;
    t->exact->homes[block] = hp_stack_top(t) ? hp_stack_top(t)->function : HP_NO_ID;
    hp_ops_learned(t->exact, block);
}

uint32_t hp_exact_function_of(struct hp_exact_thread *t, uint32_t block)
{
    return function_of(t, block);
}

/* The function of a block: by symbol, or else the one that is running. */
HP_STACK_INLINE uint32_t running(struct hp_exact_thread *t, uint32_t block)
{
    uint32_t function = function_of(t, block);
    return function == HP_NO_ID && hp_stack_top(t) ? hp_stack_top(t)->function : function;
}

/* --- Transfers -------------------------------------------------------------------------------- */

uint32_t hp_exact_always_watch(const struct hp_block *block)
{
    switch (block->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: return HP_WATCH_CALL;
    case HP_FLOW_RETURN: return HP_WATCH_RETURN;
    case HP_FLOW_JUMP_IND: return HP_WATCH_JUMP;
    default: return HP_WATCH_NOT;
    }
}

bool hp_exact_leaves_function(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    uint8_t flow = t->exact->spots[from].flow;
    if (flow != HP_FLOW_JUMP && flow != HP_FLOW_COND)
        return false;
    return function_of(t, from) != function_of(t, to);
}

HP_STACK_INLINE enum hp_how call(struct hp_exact_thread *t, uint32_t from, uint32_t to,
                                 const bool loops)
{
    uint64_t behind = t->exact->spots[from].end;
    if (t->exact->spots[to].start == behind)
        return HP_HOW_STAYED; /* not taken, or it only reads the program counter */
    uint32_t caller = running(t, from);
    hp_stack_push(t, HP_FRAME_CALL, behind, enter(t, to), caller, from, loops);
    return HP_HOW_CALLED;
}

static __attribute__((noinline)) void on_call(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    call(t, from, to, false);
}

static __attribute__((noinline)) enum hp_how on_loop_call(struct hp_exact_thread *t, uint32_t from,
                                                          uint32_t to)
{
    return call(t, from, to, true);
}

/* A return that the top frame does not expect. */
static __attribute__((noinline)) enum hp_how unexpected_return(struct hp_exact_thread *t,
                                                               uint32_t from, uint32_t to)
{
    const struct hp_stack_block *spot = &t->exact->spots[from];
    uint64_t address = t->exact->spots[to].start;
    if (address == spot->end && spot->may_not_go)
        return HP_HOW_STAYED; /* a conditional return not taken */
    size_t n = hp_search_expecting(t, address);
    if (n) {
        pop_to(t, n - 1);
        return HP_HOW_BACK;
    }
    uint32_t function = landing(t, to);
    n = function == HP_NO_ID ? 0 : hp_search_function(t, function, false);
    if (n) {
        bool left = n < t->n_frames;
        pop_to(t, n);
        return left ? HP_HOW_THROWN : HP_HOW_STAYED;
    }
    if (!t->n_frames || hp_stack_top(t)->kind != HP_FRAME_BASE)
        return HP_HOW_STAYED;
    /* beyond the start of the history: a forked child, a coroutine */
    hp_stack_pop(t, t->loops);
    hp_stack_push(t, HP_FRAME_BASE, 0, function, HP_CONTEXT_NO_CALL, HP_NO_ID, t->loops);
    return HP_HOW_BEGUN;
}

HP_STACK_INLINE enum hp_how on_return(struct hp_exact_thread *t, uint32_t from, uint32_t to,
                                      const bool loops)
{
    const struct hp_frame *frame = hp_stack_top(t);
    enum hp_how how = HP_HOW_BACK;
    if (!frame || frame->expects != t->exact->spots[to].start || t->exact->spots[from].may_not_go) {
        how = unexpected_return(t, from, to);
    } else {
        while (hp_stack_top(t)->kind == HP_FRAME_TAIL)
            hp_stack_pop(t, loops);
        hp_stack_pop(t, loops);
    }
    if (__builtin_expect(!t->exact->spots[to].returned_to, 0))
        settle(t, to);
    return how;
}

/*
 * Whether the block is a stub: a few instructions, just entered, that end in a computed jump (a PLT
 * entry). A function begins where it goes, with or without a symbol.
 */
static bool is_stub(struct hp_exact_thread *t, uint32_t block)
{
    uint32_t insns = t->cells[t->exact->spots[block].unit].insns;
    if (t->loops && hp_exact_is_noting(t->loops))
        hp_exact_note_stub(t, insns);
    return t->exact->spots[block].flow == HP_FLOW_JUMP_IND && insns <= HP_STUB_INSNS &&
           hp_stack_top(t) && t->clock - hp_stack_top(t)->entered == insns;
}

/* Whether a jump comes from another module. Then it enters a function (lazy binding by the dynamic
 * linker), unless calls return there: longjmp. */
static bool enters_module(const struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    return t->exact->spots[from].module != t->exact->spots[to].module &&
           !t->exact->spots[to].returned_to;
}

/* A jump into `function`, which is not the one running. */
static __attribute__((noinline)) enum hp_how jump_into(struct hp_exact_thread *t, uint32_t from,
                                                       uint32_t to, uint32_t function)
{
    bool computed = t->exact->spots[from].flow == HP_FLOW_JUMP_IND;
    /* A direct jump inside a function changes nothing, whatever the stack holds. */
    if (!computed && function_of(t, from) == function)
        return HP_HOW_STAYED;
    bool entry = t->exact->spots[to].entry;
    uint32_t caller = entry ? running(t, from) : HP_CONTEXT_NO_CALL;
    /* Back into a function that jumped here (a cold part, mutual tail calls), or by longjmp. */
    size_t n = hp_search_function(t, function, entry || !computed);
    if (n) {
        pop_to(t, n);
        if (entry)
            hp_exact_contexts_again(t, hp_stack_top(t), caller);
        return entry ? HP_HOW_AGAIN : computed ? HP_HOW_THROWN : HP_HOW_BACK;
    }
    if (!entry && computed)
        return HP_HOW_STAYED;
    hp_stack_push(t, HP_FRAME_TAIL, hp_stack_top(t)->expects, function, caller, from, t->loops);
    return HP_HOW_JUMPED;
}

HP_STACK_INLINE enum hp_how on_jump(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    uint32_t function = function_of(t, to);
    if (function == HP_NO_ID && (is_stub(t, from) || enters_module(t, from, to)))
        function = enter(t, to);
    else if (function == HP_NO_ID && t->exact->spots[from].flow == HP_FLOW_JUMP_IND)
        function = t->exact->homes[to];
    if (function != HP_NO_ID && hp_stack_top(t) && hp_stack_top(t)->function != function)
        return jump_into(t, from, to, function);
    return HP_HOW_STAYED;
}

/* Updates the loops for a transfer, after the stack. */
HP_STACK_INLINE void arrive(struct hp_exact_thread *t, enum hp_how how, uint32_t from, uint32_t to)
{
    switch (how) {
    case HP_HOW_STAYED: hp_exact_loops_stay(t, from, to); break;
    case HP_HOW_CALLED: hp_exact_loops_call(t, to); break;
    case HP_HOW_JUMPED: hp_exact_loops_jump(t, from, to); break;
    case HP_HOW_AGAIN: hp_exact_loops_again(t, from, to); break;
    case HP_HOW_BACK: hp_exact_loops_back(t, from, to, false); break;
    case HP_HOW_THROWN: hp_exact_loops_back(t, from, to, true); break;
    case HP_HOW_BEGUN: hp_exact_loops_begin(t, to, true); break;
    }
}

/* `from` has retired and `to` is next; the clock includes `from`. */
HP_STACK_INLINE void transfer(struct hp_exact_thread *t, uint32_t kind, uint32_t from, uint32_t to,
                              const bool loops)
{
    if (loops) {
        enum hp_how how = kind == HP_WATCH_CALL     ? on_loop_call(t, from, to)
                          : kind == HP_WATCH_RETURN ? on_return(t, from, to, true)
                                                    : on_jump(t, from, to);
        arrive(t, how, from, to);
    } else if (kind == HP_WATCH_CALL) {
        on_call(t, from, to);
    } else if (kind == HP_WATCH_RETURN) {
        on_return(t, from, to, false);
    } else {
        on_jump(t, from, to);
    }
}

/* --- Counting --------------------------------------------------------------------------------- */

/* transfer() outside the main loop. */
static __attribute__((noinline)) void show(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    transfer(t, t->cells[t->exact->spots[from].unit].watch & HP_WATCH_LAST, from, to, false);
}

static __attribute__((noinline)) void show_loops(struct hp_exact_thread *t, uint32_t from,
                                                 uint32_t to)
{
    transfer(t, t->cells[t->exact->spots[from].unit].watch & HP_WATCH_LAST, from, to, true);
}

/* Stores the `n` operations of a run; without memory for them it stays new. `last`: what to watch
 * at its end. */
static void keep_ops(struct hp_exact_thread *t, struct hp_exact_cell *cell, struct hp_exact_op *ops,
                     uint32_t n, uint32_t last)
{
    cell->watch |= last;
    hp_excursions_find(ops, n);
    if (t->n_ops + n > HP_WATCH_MAX ||
        hp_grow(&t->ops, &t->cap_ops, t->n_ops + n, sizeof *ops) != HP_OK)
        return;
    cell->watch = last | (n ? HP_WATCH_INNER | (uint32_t)t->n_ops << 2 : 0);
    for (uint32_t i = 0; i < n; i++) {
        t->ops[t->n_ops] = ops[i];
        t->ops[t->n_ops++].more = i + 1 < n;
    }
}

/* The top frame, which has a cover, ran these blocks of a run. */
static __attribute__((noinline)) void cover(struct hp_exact_thread *t, uint32_t unit,
                                            uint32_t first, uint32_t end)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(t->exact->code, unit, &n);
    for (uint32_t i = first; i < end && i < n; i++)
        hp_exact_loops_covered(t, t->exact->spots[blocks[i]].unit);
}

/* Shows an inner transfer to the stack, and finds out what it always does. `inside`: see ops.h. */
static void show_inner(struct hp_exact_thread *t, uint32_t unit, uint32_t from, uint32_t to,
                       bool inside, struct hp_exact_op *op)
{
    if (t->loops)
        show_loops(t, from, to);
    else
        show(t, from, to);
    hp_ops_resolve(t, unit, from, to, inside, op);
}

/*
 * Walks the inner transfers of a run from its block `first` on, which starts at `clock`. With
 * `counts` they are counted too: for the last run of a batch, whose successor is not known yet.
 * Returns the clock at the start of the last block.
 */
static __attribute__((noinline)) uint64_t walk(struct hp_exact_thread *t, uint32_t unit,
                                               uint32_t first, uint64_t clock, bool counts)
{
    const struct hp_stack_block *spots = t->exact->spots;
    struct hp_exact_op ops[HP_RUN_MAX];
    uint64_t start = clock, learned = t->exact->learned;
    size_t marked = t->loops ? t->loops->n_marked : 0;
    uint32_t n, n_ops = 0;
    const uint32_t *blocks = hp_code_unit(t->exact->code, unit, &n);
    bool inside = false;
    for (uint32_t i = first; i + 1 < n; i++) {
        uint32_t from = spots[blocks[i]].unit;
        struct hp_exact_op *op = &ops[n_ops];
        clock += t->cells[from].insns;
        *op = (struct hp_exact_op){.insns = (uint32_t)(clock - start),
                                   .from = blocks[i],
                                   .to = blocks[i + 1],
                                   .context = HP_NO_ID,
                                   .at = (uint8_t)i};
        if (counts)
            hp_exact_count_edge(t, from, blocks[i + 1]);
        else
            hp_exact_note_edge(t, blocks[i], blocks[i + 1]);
        if (t->loops && t->loops->cover)
            hp_exact_loops_covered(t, from);
        if (t->cells[from].watch & HP_WATCH_LAST) {
            t->clock = clock;
            show_inner(t, unit, blocks[i], blocks[i + 1], inside, op);
            inside = op->does == HP_DOES_NOTHING;
            n_ops += op->does != HP_DOES_NOTHING || t->loops;
        } else if (t->loops && hp_exact_loops_matter(t->loops, blocks[i + 1])) {
            hp_exact_loops_follow(t, blocks[i], blocks[i + 1]);
            op->does = HP_DOES_FOLLOW;
            inside = true;
            n_ops++;
        } else {
            inside = true;
        }
    }
    if (!counts && t->loops && t->loops->cover)
        hp_exact_loops_covered(t, spots[blocks[n - 1]].unit);
    uint32_t last = t->cells[spots[blocks[n - 1]].unit].watch & HP_WATCH_LAST;
    bool again = t->exact->learned != learned || (t->loops && t->loops->n_marked != marked);
    if (!counts && (again || first)) /* something was learned on the way: it is walked again */
        t->cells[unit].watch |= last;
    else if (!counts && t->loops)
        hp_legs_keep(t, unit, ops, n_ops, last);
    else if (!counts)
        keep_ops(t, &t->cells[unit], ops, n_ops, last);
    return clock;
}

HP_STACK_INLINE uint32_t caller_of(struct hp_exact_thread *t, const struct hp_exact_op *op)
{
    return op->caller == HP_NO_ID && hp_stack_top(t) ? hp_stack_top(t)->function : op->caller;
}

/* Whether the top frame, or one that jumped there, may be of this function. */
HP_STACK_INLINE bool is_among_tails(struct hp_exact_thread *t, uint32_t function)
{
    const size_t most = 8;
    for (size_t i = 1; i <= most && i <= t->n_frames; i++) {
        const struct hp_frame *frame = &t->frames[t->n_frames - i];
        if (frame->function == function || frame->kind != HP_FRAME_TAIL)
            return frame->function == function;
    }
    return true;
}

/* Pushes a frame for an operation. Mostly it is done from the same context as the last time: then
 * the new one is known without a look at those that were entered before. False: out of memory. */
HP_STACK_INLINE bool push_op(struct hp_exact_thread *t, struct hp_exact_op *op,
                             enum hp_frame_kind kind, uint64_t expects)
{
    uint32_t below = hp_stack_top(t) ? hp_stack_top(t)->context : 0;
    if (op->context == below && !op->length && t->n_frames < t->cap_frames) {
        t->frames[t->n_frames++] = (struct hp_frame){.expects = expects,
                                                     .entered = t->clock,
                                                     .function = op->function,
                                                     .context = op->pushed,
                                                     .call = HP_NO_ID,
                                                     .kind = (uint8_t)kind};
        return true;
    }
    if (!hp_stack_push(t, kind, expects, op->function, caller_of(t, op), op->from, false))
        return false;
    if (op->length)
        return true;
    if (!hp_context_is_rest(
            &t->contexts[hp_stack_top(t)->context])) { /* which counts what enters it */
        op->context = below;
        op->pushed = hp_stack_top(t)->context;
    }
    return true;
}

/* Without loops; false: the transfer must be shown. */
HP_STACK_INLINE bool do_op(struct hp_exact_thread *t, struct hp_exact_op *op)
{
    const struct hp_frame *frame = hp_stack_top(t);
    switch (op->does) {
    case HP_DOES_CALL: push_op(t, op, HP_FRAME_CALL, op->expects); return true;
    case HP_DOES_RETURN:
        if (!frame || frame->expects != op->expects)
            return false;
        while (hp_stack_top(t)->kind == HP_FRAME_TAIL)
            hp_stack_pop(t, false);
        hp_stack_pop(t, false);
        return true;
    case HP_DOES_STAY: return frame && frame->function == op->function;
    case HP_DOES_TAIL:
        if (frame && frame->function == op->function)
            return true; /* it goes on there already */
        if (!frame || is_among_tails(t, op->function))
            return false;
        push_op(t, op, HP_FRAME_TAIL, frame->expects);
        return true;
    default: return false;
    }
}

/* Shows an excursion to the stack. The first time from its context, what it does is kept. */
static void show_excursion(struct hp_exact_thread *t, uint32_t first, uint64_t clock, bool keeps)
{
    struct hp_visit visits[HP_RUN_MAX];
    uint32_t visit_of[HP_RUN_MAX], n = 0, context = hp_stack_top(t)->context;
    const size_t base = t->n_frames, end = first + t->ops[first].length;
    for (size_t i = first; i < end; i++) {
        size_t before = t->n_frames;
        t->clock = clock + t->ops[i].insns;
        do_op(t, &t->ops[i]);
        for (size_t k = t->n_frames; k < before && k >= base; k++)
            visits[visit_of[k - base]].insns = (uint32_t)(t->clock - t->frames[k].entered);
        if (t->n_frames > before && before >= base) {
            visit_of[before - base] = n;
            visits[n++].context = t->frames[before].context;
        }
    }
    if (keeps && t->n_frames == base)
        hp_excursions_add(t, hp_excursion_key(first, context), visits, n);
}

/* An excursion from another context than the last time. */
static __attribute__((noinline)) void run_excursion(struct hp_exact_thread *t, uint32_t first,
                                                    uint64_t clock)
{
    uint32_t context = hp_stack_top(t)->context;
    uint64_t key = hp_excursion_key(first, context);
    if (hp_excursions_may_wait(t)) {
        hp_excursions_wait(t, key, context, first, t->ops[first].length);
        return;
    }
    uint32_t index = hp_excursions_get(&t->excursions, key);
    if (index != HP_NO_ID) {
        t->ops[first].context = context;
        t->ops[first].excursion = index;
    }
    if (index < HP_EXCURSION_SHOWN)
        t->excursions.counts[index]++;
    else
        show_excursion(t, first, clock, index == HP_NO_ID);
}

/* The inner transfers of a run that was walked before. */
static __attribute__((noinline)) void run_ops(struct hp_exact_thread *t, uint32_t unit,
                                              uint32_t watch, uint64_t clock)
{
    struct hp_exact_op *op = &t->ops[hp_watch_place(watch)];
    bool has_room = t->n_frames + HP_RUN_MAX < t->exact->most_frames;
    for (;; op++) {
        t->clock = clock + op->insns;
        if (op->length && has_room && t->n_frames) {
            if (op->context == hp_stack_top(t)->context && op->excursion < HP_EXCURSION_SHOWN)
                t->excursions.counts[op->excursion]++;
            else
                run_excursion(t, (uint32_t)(op - t->ops), clock);
            op += op->length - 1;
        } else if (!do_op(t, op)) {
            show(t, op->from, op->to);
            if (t->cells[unit].watch & HP_WATCH_NEW) { /* the others do something else now */
                walk(t, unit, op->at + 1u, t->clock, false);
                break;
            }
        }
        if (!op->more)
            break;
    }
}

/* --- The same with loops ---------------------------------------------------------------------- */

/* do_op() with loops; those of the other kinds cannot fail. */
static bool do_loop_op(struct hp_exact_thread *t, const struct hp_exact_op *op)
{
    const struct hp_frame *frame = hp_stack_top(t);
    uint32_t from = op->from, to = op->to;
    switch (op->does) {
    case HP_DOES_FOLLOW: hp_exact_loops_follow(t, from, to); return true;
    case HP_DOES_NOTHING: hp_exact_loops_stay(t, from, to); return true;
    case HP_DOES_STAY:
        if (!frame || frame->function != op->function)
            return false;
        hp_exact_loops_stay(t, from, to);
        return true;
    case HP_DOES_CALL:
        hp_stack_push(t, HP_FRAME_CALL, op->expects, op->function, caller_of(t, op), from, true);
        hp_exact_loops_call(t, to);
        return true;
    case HP_DOES_RETURN:
        if (!frame || frame->expects != op->expects)
            return false;
        while (hp_stack_top(t)->kind == HP_FRAME_TAIL)
            hp_stack_pop(t, true);
        hp_stack_pop(t, true);
        hp_exact_loops_back(t, from, to, false);
        return true;
    case HP_DOES_TAIL:
        if (frame && frame->function == op->function) {
            hp_exact_loops_stay(t, from, to);
            return true;
        }
        if (!frame || is_among_tails(t, op->function))
            return false;
        hp_stack_push(t, HP_FRAME_TAIL, frame->expects, op->function, caller_of(t, op), from, true);
        hp_exact_loops_jump(t, from, to);
        return true;
    default: return false;
    }
}

/* Does an operation of the unit, which started at `clock`. False: that made the unit new, and it
 * was walked to its end. */
static bool run_loop_op(struct hp_exact_thread *t, uint32_t unit, size_t index, uint64_t clock)
{
    const struct hp_exact_op op = t->ops[index]; /* the array may grow on the way */
    t->clock = clock + op.insns;
    if (!do_loop_op(t, &op))
        show_loops(t, op.from, op.to);
    if (__builtin_expect(!(t->cells[unit].watch & HP_WATCH_NEW), 1))
        return true;
    walk(t, unit, op.at + 1u, t->clock, false);
    return false;
}

/* What was entered and left while a leg was shown. */
struct shown {
    struct hp_visit visits[HP_RUN_MAX];
    uint32_t of[HP_RUN_MAX]; /* by depth: index into visits */
    uint32_t n;
    size_t base;
};

static void note_visit(struct hp_exact_thread *t, struct shown *s, size_t before)
{
    for (size_t k = t->n_frames; k < before && k >= s->base; k++)
        s->visits[s->of[k - s->base]].insns = (uint32_t)(t->clock - t->frames[k].entered);
    if (t->n_frames > before && before >= s->base && s->n < HP_RUN_MAX) {
        s->of[before - s->base] = s->n;
        s->visits[s->n++].context = t->frames[before].context;
    }
}

/* Shows the operations of a leg one by one; returns as run_loop_op(). With `key` what it does is
 * kept, to be counted from now on. */
static bool show_leg(struct hp_exact_thread *t, size_t index, uint64_t clock, const uint64_t *key)
{
    const struct hp_leg leg = t->loops->legs[index];
    struct shown s = {.n = 0, .base = t->n_frames};
    uint32_t first = leg.first;
    for (size_t i = leg.op; i < leg.op + leg.n_ops; i++) {
        size_t before = t->n_frames;
        if (t->loops->cover)
            cover(t, leg.unit, first, t->ops[i].at + 1u);
        first = t->ops[i].at + 1u;
        if (!run_loop_op(t, leg.unit, i, clock))
            return false;
        if (key)
            note_visit(t, &s, before);
    }
    if (t->loops->cover)
        cover(t, leg.unit, first, leg.end);
    if (key && t->n_frames == s.base && t->loops->version == leg.version)
        hp_excursions_add(t, *key, s.visits, s.n);
    return true;
}

HP_STACK_INLINE void count_excursion(struct hp_exact_thread *t, uint32_t counter)
{
    t->excursions.counts[counter]++;
    if (hp_exact_is_noting(t->loops))
        hp_exact_note_add(t, HP_ADDS_EXCURSION, counter, 1);
}

/* Counts a leg from its context and under its cover. False: it must be shown, if `key` is set for
 * the first time. */
static __attribute__((noinline)) bool count_leg(struct hp_exact_thread *t, size_t index,
                                                uint64_t *key, bool *is_first)
{
    struct hp_leg *leg = &t->loops->legs[index];
    uint32_t context = leg->calls ? hp_stack_top(t)->context : HP_LEG_ANYWHERE;
    *is_first = false;
    if ((leg->calls && context == HP_LEG_ANYWHERE) ||
        !hp_leg_key((uint32_t)index, context, t->loops->cover, key))
        return false;
    if (hp_excursions_may_wait(t) && !hp_exact_is_noting(t->loops)) {
        hp_excursions_wait(t, *key, context, leg->op, leg->calls ? leg->n_ops : 0);
        return true;
    }
    if (hp_excursions_get(&t->excursions, *key) == HP_NO_ID && !leg->calls)
        hp_excursions_add(t, *key, NULL, 0);
    uint32_t counter = hp_excursions_get(&t->excursions, *key);
    *is_first = counter == HP_NO_ID;
    if (counter >= HP_EXCURSION_SHOWN)
        return false;
    leg->context = context;
    leg->cover = t->loops->cover;
    leg->counter = counter;
    count_excursion(t, counter);
    return true;
}

/* Whether a leg can be counted, not shown, now: its excursions enter no function that is active,
 * and there is room for their frames. */
HP_STACK_INLINE bool is_usual(const struct hp_exact_thread *t, const struct hp_leg *leg)
{
    if (leg->shown || (leg->function != HP_NO_ID &&
                       (!t->n_frames || t->frames[t->n_frames - 1].function != leg->function)))
        return false;
    const struct hp_leg_event *entered = &t->loops->events[leg->event];
    for (uint32_t i = 0; i < leg->n_entered; i++)
        if (t->loops->newest[entered[i].loop])
            return false;
    return !leg->calls || (t->n_frames && t->n_frames + HP_RUN_MAX < t->exact->most_frames);
}

/* Returns as run_loop_op(). */
HP_STACK_INLINE bool run_leg(struct hp_exact_thread *t, size_t index, uint64_t clock)
{
    struct hp_exact_loop_thread *l = t->loops;
    struct hp_leg *leg = &l->legs[index];
    uint64_t key;
    bool is_first;
    if (__builtin_expect(leg->version != l->version, 0))
        hp_legs_work_out(t, leg);
    if (leg->plain && !l->cover) {
        hp_exact_loops_apply(t, &l->events[leg->event], leg->n_events);
        return true;
    }
    if (!is_usual(t, leg))
        return show_leg(t, index, clock, NULL);
    if (leg->calls || l->cover) {
        uint32_t context = leg->calls ? hp_stack_top(t)->context : HP_LEG_ANYWHERE;
        if (leg->context == context && leg->cover == l->cover)
            count_excursion(t, leg->counter);
        else if (!count_leg(t, index, &key, &is_first))
            return show_leg(t, index, clock, is_first ? &key : NULL);
    }
    hp_exact_loops_apply(t, &l->events[leg->event + leg->n_entered], leg->n_events);
    return true;
}

/* An operation that pushes a frame, and of which it is known what it enters. */
HP_STACK_INLINE void enter_known(struct hp_exact_thread *t, struct hp_exact_op *op,
                                 enum hp_frame_kind kind, uint64_t expects)
{
    struct hp_exact_loop_thread *l = t->loops;
    if (!push_op(t, op, kind, expects))
        return;
    hp_exact_loops_push_from(t, op->from, op->left);
    if (l->newest[op->entered])
        hp_exact_loops_set_cover(t, op->to);
    if (op->matters)
        hp_exact_loops_run(t, l, HP_LOOP_NOWHERE, op->to);
}

HP_STACK_INLINE void return_known(struct hp_exact_thread *t, const struct hp_exact_op *op)
{
    struct hp_exact_loop_thread *l = t->loops;
    while (hp_stack_top(t)->kind == HP_FRAME_TAIL)
        hp_stack_pop(t, true);
    hp_stack_pop(t, true);
    uint32_t site = l->frames[t->n_frames].site;
    hp_exact_loops_count_site(t, site);
    if (op->matters)
        hp_exact_loops_run(t, l, l->exits[site], op->to);
}

/* Whether a return comes back to where calls from that block usually do. */
HP_STACK_INLINE bool is_usual_return(const struct hp_exact_thread *t, const struct hp_exact_op *op)
{
    size_t n = t->n_frames;
    if (n == 0 || t->frames[n - 1].expects != op->expects)
        return false;
    while (t->frames[n - 1].kind == HP_FRAME_TAIL)
        n--;
    uint32_t site = t->loops->frames[n - 1].site;
    return site != HP_NO_ID && t->loops->sites[site].to == op->to;
}

/* Does the operation that ends a leg; returns as run_loop_op(). */
HP_STACK_INLINE bool end_leg(struct hp_exact_thread *t, uint32_t unit, size_t index, uint64_t clock)
{
    struct hp_exact_op *op = &t->ops[index];
    t->clock = clock + op->insns;
    if (op->known && op->does == HP_DOES_CALL)
        enter_known(t, op, HP_FRAME_CALL, op->expects);
    else if (op->known && op->does == HP_DOES_RETURN && is_usual_return(t, op))
        return_known(t, op);
    else if (op->known && op->does == HP_DOES_TAIL && t->n_frames &&
             !is_among_tails(t, op->function))
        enter_known(t, op, HP_FRAME_TAIL, hp_stack_top(t)->expects);
    else
        return run_loop_op(t, unit, index, clock);
    return true;
}

/* The inner transfers of a run that was walked before. */
static __attribute__((noinline)) void run_legs(struct hp_exact_thread *t, uint32_t unit,
                                               uint32_t watch, uint64_t clock)
{
    for (size_t i = hp_watch_place(watch);; i++) {
        if (!run_leg(t, i, clock))
            return;
        const struct hp_leg *leg = &t->loops->legs[i];
        if (!leg->more || !end_leg(t, unit, leg->op + leg->n_ops, clock))
            return;
    }
}

/* Whether one event is all that a run means now. */
HP_STACK_INLINE bool is_simple(const struct hp_exact_thread *t, uint32_t watch)
{
    const struct hp_leg *leg = &t->loops->legs[hp_watch_place(watch)];
    return leg->version == t->loops->version && !t->loops->cover && leg->plain && !leg->more &&
           leg->n_events == 1;
}

/* The same as hp_exact_count_some(). */
HP_STACK_INLINE void count_steps(struct hp_exact_thread *t, const struct hp_step *steps, size_t n,
                                 const bool loops)
{
    uint64_t clock = t->clock;
    const struct hp_step *end = steps + n;
    for (; steps < end; steps++) {
        struct hp_exact_cell *cell = &t->cells[steps->unit];
        __builtin_prefetch(&t->cells[steps[end - steps < AHEAD ? 0 : AHEAD].unit], 1);
        uint32_t to = steps[1].first, watch = cell->watch;
        if (watch & HP_WATCH_INNER) {
            if (watch & HP_WATCH_NEW)
                walk(t, steps->unit, 0, clock, false);
            else if (loops && is_simple(t, watch))
                hp_exact_loops_apply(t, &t->loops->legs[hp_watch_place(watch)].one, 1);
            else if (loops)
                run_legs(t, steps->unit, watch, clock);
            else
                run_ops(t, steps->unit, watch, clock);
        } else if (loops && t->loops->cover) {
            hp_exact_loops_covered(t, steps->unit);
        }
        clock += cell->insns;
        /* As hard to predict as the program's own branch: so there is no branch on it. */
        size_t side = cell->next[1] == to;
        if (__builtin_expect(cell->next[side] == to, 1))
            cell->count[side]++;
        else
            hp_exact_count_edge(t, steps->unit, to);
        if (cell->watch & HP_WATCH_LAST) {
            t->clock = clock;
            transfer(t, cell->watch & HP_WATCH_LAST, t->exact->lasts[steps->unit], to, loops);
        } else if (loops && t->cells[steps[1].unit].watch & HP_WATCH_HEAD) {
            hp_exact_loops_follow(t, t->exact->lasts[steps->unit], to);
        }
    }
    t->clock = clock;
}

void hp_exact_count_some(struct hp_exact_thread *t, const struct hp_step *steps, size_t n)
{
    count_steps(t, steps, n, true);
}

void hp_exact_count(struct hp_exact_thread *t, const struct hp_step *steps, size_t n)
{
    if (t->loops)
        hp_exact_phrases_count(t, steps, n);
    else
        count_steps(t, steps, n, false);
    t->clock = walk(t, steps[n].unit, 0, t->clock, true);
    if (t->excursions.n_waiting)
        hp_excursions_count(t);
}

/* --- Without a stack -------------------------------------------------------------------------- */

static bool is_call(const struct hp_stack_block *from, const struct hp_stack_block *to)
{
    return (from->flow == HP_FLOW_CALL || from->flow == HP_FLOW_CALL_IND) && to->start != from->end;
}

static void add_calls(struct hp_exact_thread *t, uint32_t from, uint32_t callee, uint64_t count)
{
    uint32_t call =
        callee == HP_NO_ID ? HP_NO_ID : hp_exact_find_call(t, function_of(t, from), callee);
    if (call != HP_NO_ID)
        t->calls[call].count += count;
}

/* The function that a jump enters, as on_jump() would find it; HP_NO_ID: none. */
static uint32_t entered_by_jump(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    const struct hp_stack_block *a = &t->exact->spots[from];
    uint32_t function = function_of(t, to);
    bool stub = a->flow == HP_FLOW_JUMP_IND &&
                hp_code_block(t->exact->code, from)->insns <= HP_STUB_INSNS &&
                function_of(t, from) != HP_NO_ID && a->entry;
    if (function == HP_NO_ID && (stub || enters_module(t, from, to)))
        function = enter(t, to);
    return function != function_of(t, from) && t->exact->spots[to].entry ? function : HP_NO_ID;
}

static bool is_jump(const struct hp_stack_block *from)
{
    return from->flow == HP_FLOW_JUMP || from->flow == HP_FLOW_COND ||
           from->flow == HP_FLOW_JUMP_IND;
}

/* Call and return targets first: they show where functions without symbols are. */
void hp_exact_count_calls(struct hp_exact_thread *t, const struct hp_edge_count *edges, size_t n)
{
    struct hp_stack_block *spots = t->exact->spots;
    for (size_t i = 0; i < n; i++) {
        uint32_t from = edges[i].from, to = edges[i].to;
        if (to == HP_NO_ID)
            continue;
        if (is_call(&spots[from], &spots[to]))
            enter(t, to);
        spots[to].returned_to |= spots[from].flow == HP_FLOW_RETURN;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t from = edges[i].from, to = edges[i].to;
        if (to != HP_NO_ID && is_call(&spots[from], &spots[to]))
            add_calls(t, from, enter(t, to), edges[i].count);
        else if (to != HP_NO_ID && is_jump(&spots[from]))
            add_calls(t, from, entered_by_jump(t, from, to), edges[i].count);
    }
}

/* --- Beginnings and ends ---------------------------------------------------------------------- */

void hp_exact_begin(struct hp_exact_thread *t, uint32_t block)
{
    hp_stack_push(t, HP_FRAME_BASE, 0, enter(t, block), HP_NO_ID, HP_NO_ID, t->loops);
    if (t->loops)
        hp_exact_loops_begin(t, block, false);
}

void hp_exact_enter_signal(struct hp_exact_thread *t)
{
    hp_stack_push(t, HP_FRAME_SIGNAL, 0, HP_NO_ID, HP_CONTEXT_NO_CALL,
                  t->loops ? t->loops->current : HP_NO_ID, t->loops);
    if (t->loops)
        t->loops->current =
            HP_NO_ID; /* a second signal before the handler begins interrupts nothing */
    t->fresh = true;
}

void hp_exact_leave_signal(struct hp_exact_thread *t)
{
    while (t->n_frames) {
        bool boundary = hp_stack_top(t)->kind == HP_FRAME_SIGNAL;
        hp_stack_pop(t, t->loops);
        if (boundary)
            break;
    }
    if (t->loops)
        t->loops->current = t->n_frames ? t->loops->frames[t->n_frames].site : HP_NO_ID;
    t->fresh = t->n_frames == 0;
}

/* At the limit a new history starts in the running function, as it is unknown which of the frames
 * will ever be returned to. */
bool hp_stack_make_room(struct hp_exact_thread *t, uint32_t from)
{
    if (t->n_frames >= t->exact->most_frames) {
        uint32_t function = hp_stack_top(t)->function;
        t->overflows++;
        if (t->loops)
            t->loops->current = from;
        hp_exact_unwind(t);
        hp_stack_push(t, HP_FRAME_BASE, 0, function, HP_CONTEXT_NO_CALL, HP_NO_ID, t->loops);
        if (t->loops && from != HP_NO_ID)
            hp_exact_loops_begin(t, from, true);
        return true;
    }
    if (hp_grow(&t->frames, &t->cap_frames, t->n_frames + 1, sizeof *t->frames) == HP_OK)
        return true;
    t->exact->out_of_memory = true;
    return false;
}

void hp_exact_unwind(struct hp_exact_thread *t)
{
    if (t->loops)
        hp_exact_loops_interrupt(t);
    pop_to(t, 0);
}
