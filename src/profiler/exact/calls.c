// SPDX-License-Identifier: MIT
/*
 * The shadow stack: which function runs inside which.
 */
#include "base/grow.h"
#include "profiler/exact/exact_impl.h"

#define SEARCH_LIMIT 4096 /* frames looked at for a return that the top does not expect */

static struct hp_frame *top(struct hp_exact_thread *t)
{
    return t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
}

/* --- Pushing and popping ---------------------------------------------------------------------- */

static struct hp_activity *activity(struct hp_exact_thread *t, uint32_t function)
{
    if (function >= t->cap_activities &&
        hp_grow(&t->activities, &t->cap_activities, hp_functions_count(t->exact->functions),
                sizeof *t->activities) != HP_OK) {
        t->exact->out_of_memory = true;
        return NULL;
    }
    return &t->activities[function];
}

/* Counts a call; its index, or HP_NO_ID. */
static uint32_t count_call(struct hp_exact_thread *t, uint32_t caller, uint32_t callee)
{
    if (callee == HP_NO_ID)
        return HP_NO_ID;
    uint64_t key = (uint64_t)caller << 32 | callee;
    uint32_t index = hp_map64_get(&t->call_of, key);
    if (index == HP_MAP64_NONE) {
        if (hp_grow(&t->calls, &t->cap_calls, t->n_calls + 1, sizeof *t->calls) != HP_OK ||
            hp_map64_put(&t->call_of, key, (uint32_t)t->n_calls) != HP_OK) {
            t->exact->out_of_memory = true;
            return HP_NO_ID;
        }
        index = (uint32_t)t->n_calls++;
        t->calls[index] = (struct hp_call){.caller = caller, .callee = callee};
    }
    t->calls[index].count++;
    return index;
}

static void push(struct hp_exact_thread *t, enum hp_frame_kind kind, uint64_t expects,
                 uint32_t function, uint32_t call)
{
    if (hp_grow(&t->frames, &t->cap_frames, t->n_frames + 1, sizeof *t->frames) != HP_OK) {
        t->exact->out_of_memory = true;
        return;
    }
    t->frames[t->n_frames++] = (struct hp_frame){.expects = expects,
                                                 .entered = t->clock,
                                                 .function = function,
                                                 .call = call,
                                                 .kind = (uint8_t)kind};
    struct hp_activity *a = function == HP_NO_ID ? NULL : activity(t, function);
    if (a)
        a->active++;
    if (call != HP_NO_ID)
        t->calls[call].active++;
}

static void pop(struct hp_exact_thread *t)
{
    const struct hp_frame *frame = &t->frames[--t->n_frames];
    uint64_t spent = t->clock - frame->entered;
    struct hp_activity *a = frame->function == HP_NO_ID ? NULL : activity(t, frame->function);
    if (a && --a->active == 0)
        a->inclusive += spent;
    if (frame->call != HP_NO_ID && --t->calls[frame->call].active == 0)
        t->calls[frame->call].inclusive += spent;
}

static void pop_to(struct hp_exact_thread *t, size_t n_frames)
{
    while (t->n_frames > n_frames)
        pop(t);
}

/* --- Finding a frame -------------------------------------------------------------------------- */

/* The number of frames up to the one that expects `address`, itself included, or 0. Does not look
 * below what a signal interrupted. */
static size_t find_expecting(const struct hp_exact_thread *t, uint64_t address)
{
    size_t end = t->n_frames > SEARCH_LIMIT ? t->n_frames - SEARCH_LIMIT : 0;
    for (size_t n = t->n_frames; n > end; n--) {
        const struct hp_frame *frame = &t->frames[n - 1];
        if (frame->kind == HP_FRAME_SIGNAL)
            return 0;
        if (frame->kind == HP_FRAME_CALL && frame->expects == address)
            return n;
    }
    return 0;
}

/* Likewise for a frame of `function`; with `tails_only`, no further than the frame that was called.
 */
static size_t find_function(const struct hp_exact_thread *t, uint32_t function, bool tails_only)
{
    size_t end = t->n_frames > SEARCH_LIMIT ? t->n_frames - SEARCH_LIMIT : 0;
    for (size_t n = t->n_frames; n > end; n--) {
        const struct hp_frame *frame = &t->frames[n - 1];
        if (frame->function == function)
            return n;
        if (tails_only && frame->kind != HP_FRAME_TAIL)
            return 0;
    }
    return 0;
}

/* --- Transfers -------------------------------------------------------------------------------- */

bool hp_exact_always_watch(const struct hp_block *block)
{
    switch (block->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND:
    case HP_FLOW_RETURN:
    case HP_FLOW_JUMP_IND: return true;
    default: return false;
    }
}

bool hp_exact_leaves_function(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    struct hp_functions *functions = t->exact->functions;
    uint8_t flow = hp_code_block(t->exact->code, from)->flow;
    if (flow != HP_FLOW_JUMP && flow != HP_FLOW_COND)
        return false;
    return hp_functions_of_block(functions, from) != hp_functions_of_block(functions, to);
}

/* The function a block is in: by symbol, or else the one that runs. */
static uint32_t running(struct hp_exact_thread *t, uint32_t block)
{
    uint32_t function = hp_functions_of_block(t->exact->functions, block);
    return function == HP_NO_ID && top(t) ? top(t)->function : function;
}

static void on_call(struct hp_exact_thread *t, const struct hp_block *block, uint32_t from,
                    uint32_t to)
{
    if (hp_code_block(t->exact->code, to)->start == block->end)
        return; /* a conditional call not taken, or one that only reads the program counter */
    uint32_t caller = running(t, from);
    uint32_t callee = hp_functions_enter(t->exact->functions, to);
    push(t, HP_FRAME_CALL, block->end, callee, count_call(t, caller, callee));
}

static void on_return(struct hp_exact_thread *t, const struct hp_block *block, uint32_t to)
{
    uint64_t address = hp_code_block(t->exact->code, to)->start;
    if (address == block->end && block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB))
        return; /* a conditional return not taken */
    size_t n = find_expecting(t, address);
    if (n) {
        pop_to(t, n - 1);
        return;
    }
    uint32_t function = hp_functions_of_block(t->exact->functions, to);
    n = function == HP_NO_ID ? 0 : find_function(t, function, false);
    if (n) {
        pop_to(t, n);
    } else if (t->n_frames && top(t)->kind == HP_FRAME_BASE) {
        /* out of where the history began: a forked child, a coroutine */
        pop(t);
        push(t, HP_FRAME_BASE, 0, function, HP_NO_ID);
    }
}

/* A jump, possibly into another function. */
static void on_jump(struct hp_exact_thread *t, const struct hp_block *block, uint32_t from,
                    uint32_t to)
{
    struct hp_functions *functions = t->exact->functions;
    uint32_t function = hp_functions_of_block(functions, to);
    if (function == HP_NO_ID || !top(t) || top(t)->function == function)
        return;
    /* A direct jump inside a function says nothing, whatever the stack holds. */
    if (block->flow != HP_FLOW_JUMP_IND && hp_functions_of_block(functions, from) == function)
        return;
    bool entry = hp_functions_is_entry(functions, to);
    uint32_t call = entry ? count_call(t, running(t, from), function) : HP_NO_ID;
    /* Back into a function that came here by jumps (a cold part, mutual tail calls), or by longjmp.
     */
    size_t n = find_function(t, function, entry || block->flow != HP_FLOW_JUMP_IND);
    if (n)
        pop_to(t, n);
    else if (entry || block->flow != HP_FLOW_JUMP_IND)
        push(t, HP_FRAME_TAIL, 0, function, call);
}

void hp_exact_transfer(struct hp_exact_thread *t, uint32_t from, uint32_t to)
{
    const struct hp_block *block = hp_code_block(t->exact->code, from);
    switch (block->flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: on_call(t, block, from, to); break;
    case HP_FLOW_RETURN: on_return(t, block, to); break;
    default: on_jump(t, block, from, to); break;
    }
}

/* --- Beginnings and ends ---------------------------------------------------------------------- */

void hp_exact_begin(struct hp_exact_thread *t, uint32_t block)
{
    uint32_t function = hp_functions_enter(t->exact->functions, block);
    push(t, HP_FRAME_BASE, 0, function, count_call(t, HP_NO_ID, function));
}

void hp_exact_enter_signal(struct hp_exact_thread *t)
{
    push(t, HP_FRAME_SIGNAL, 0, HP_NO_ID, HP_NO_ID);
    t->fresh = true;
}

void hp_exact_leave_signal(struct hp_exact_thread *t)
{
    while (t->n_frames) {
        bool boundary = top(t)->kind == HP_FRAME_SIGNAL;
        pop(t);
        if (boundary)
            break;
    }
    t->fresh = t->n_frames == 0;
}

void hp_exact_unwind(struct hp_exact_thread *t)
{
    pop_to(t, 0);
}
