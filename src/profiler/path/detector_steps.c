// SPDX-License-Identifier: MIT
/*
 * Path detection by units: the same as detector.c, a segment of the plan at a time. The top of the stack is in local variables; what is rare (a path that
 * is full, an extension, a system call, a frame that is gone, a stack that is full) goes through hp_detector_transfer(), a
 * transfer at a time.
 */
#include "profiler/path/detector_impl.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define AHEAD         8 /* units for which the plan is fetched */

/* The detector's state while the loop runs. */
struct run {
    struct hp_detector *d;
    struct hp_path_plan *plan;
    const struct hp_code *code;
    /* The top of the stack. */
    uint64_t start, outcomes, insns, return_to;
    uint32_t block;
    int32_t length;
    /* The longest path there may be; below 0 when something is pending, which is a matter for the slow way. */
    int32_t room;
    struct hp_path_entry *top;          /* its place */
    struct hp_path_entry *bottom, *end; /* a return from here, a call to here is slow */
    struct hp_path *out;                /* where the next finished path goes */
    uint64_t branches, instructions;
    /* How events are made of instructions. */
    uint64_t mask, one, max;
};

/* --- Between the loop and the detector -------------------------------------------------------- */

ALWAYS_INLINE void load_top(struct run *r)
{
    r->start = r->top->start;
    r->outcomes = r->top->outcomes;
    r->insns = r->top->insns;
    r->return_to = r->top->return_to;
    r->block = r->top->block;
    r->length = (int32_t)r->top->length;
}

ALWAYS_INLINE void store_top(struct run *r)
{
    r->top->start = r->start;
    r->top->outcomes = r->outcomes;
    r->top->insns = r->insns;
    r->top->return_to = r->return_to;
    r->top->block = r->block;
    r->top->length = (uint32_t)r->length;
}

/* From the detector. */
static void load(struct run *r)
{
    struct hp_detector *d = r->d;
    size_t limit = d->low + d->ppcr.stack_entries;
    r->top = &d->entries[d->n - 1];
    r->bottom = &d->entries[hp_detector_floor(d)];
    r->end = &d->entries[(limit < d->cap ? limit : d->cap) - 1];
    r->out = &d->paths[d->n_paths];
    r->room = d->pending.insns || d->pending.events ? -1 : (int32_t)d->ppcr.max_length;
    load_top(r);
}

static void store_paths(struct run *r)
{
    size_t n = (size_t)(r->out - r->d->paths);
    r->d->stats.paths += n - r->d->n_paths;
    r->d->n_paths = n;
}

/* To the detector. */
static void store(struct run *r)
{
    struct hp_detector *d = r->d;
    store_top(r);
    d->n = (size_t)(r->top - d->entries) + 1;
    store_paths(r);
    d->stats.branches += r->branches;
    d->stats.blocks += r->branches;
    d->stats.instructions += r->instructions;
    r->branches = r->instructions = 0;
}

static __attribute__((noinline)) void flush(struct run *r)
{
    store_paths(r);
    hp_detector_flush(r->d);
    r->out = r->d->paths;
}

/* --- The slow way ----------------------------------------------------------------------------- */

static void retire(struct hp_detector *d, const struct hp_code *code, uint32_t from, uint32_t to)
{
    const struct hp_block *table = hp_code_blocks(code);
    bool taken = table[to].start != table[from].end || !hp_path_falls(code, &table[from]);
    hp_detector_retire(d, table, from, to, taken, 0);
}

/* `n` blocks of a unit from `first` on; `next` follows the unit. */
static void retire_blocks(struct hp_detector *d, const struct hp_code *code, uint32_t unit,
                          uint32_t first, uint32_t n, uint32_t next)
{
    uint32_t all;
    const uint32_t *blocks = hp_code_unit(code, unit, &all);
    for (uint32_t i = first; i < first + n; i++)
        retire(d, code, blocks[i], i + 1 < all ? blocks[i + 1] : next);
}

static __attribute__((noinline)) void slow_segment(struct run *r, const struct hp_step *step,
                                                   const struct hp_path_segment *segment)
{
    store(r);
    retire_blocks(r->d, r->code, step->unit, segment->first, segment->n, step[1].first);
    load(r);
}

/* Whether an indirect jump out of the segment may be a longjmp. */
ALWAYS_INLINE bool may_land(struct run *r, const struct hp_path_segment *segment,
                            const struct hp_step *to)
{
    uint32_t landing = r->plan->units[to->unit].landing;
    if (landing == HP_LANDING_UNASKED)
        landing = hp_path_plan_landing(r->plan, to->unit, to->first);
    return landing != HP_LANDING_NOT && segment->to != HP_NO_ID && landing != segment->to;
}

/* --- The loop --------------------------------------------------------------------------------- */

ALWAYS_INLINE void emit(struct run *r, const bool by_address)
{
    struct hp_path *path = r->out++;
    uint64_t events = r->insns & r->mask;
    path->start = r->start;
    path->outcomes = r->outcomes;
    path->targets = 0;
    path->block = r->block;
    path->insns = r->insns < UINT32_MAX ? (uint32_t)r->insns : UINT32_MAX;
    path->events = (uint32_t)((events < r->max ? events : r->max) | r->one);
    path->length = (uint8_t)r->length;
    path->n_targets = 0;
    path->reserved = 0;
    path->first_target = 0;
    r->d->stats.saturated += events > r->max;
    if (by_address) {
        struct hp_detector *d = r->d;
        uint32_t n = r->top->n_targets;
        path->targets = r->top->targets;
        path->n_targets = (uint8_t)n;
        path->first_target = (uint32_t)d->n_targets;
        if (n) {
            memcpy(d->targets + d->n_targets, d->lists[r->top - d->entries],
                   n * sizeof *d->targets);
            d->n_targets += n;
            r->top->targets = 0;
            r->top->n_targets = 0;
        }
        if (d->n_targets > HP_DETECTOR_TARGETS - HP_PATH_MAX_LENGTH) {
            flush(r);
            return;
        }
    }
    if (__builtin_expect(r->out == r->d->paths + HP_PATHS_MAX, 0))
        flush(r);
}

ALWAYS_INLINE void start_path(struct run *r, uint64_t start, uint32_t block)
{
    r->start = start;
    r->block = block;
    r->outcomes = 0;
    r->insns = 0;
    r->length = 0;
    r->top->extension = 0;
}

ALWAYS_INLINE void add_target(struct run *r, uint64_t target)
{
    r->top->targets = hp_path_hash_target(r->top->targets, target);
    r->d->lists[r->top - r->d->entries][r->top->n_targets++] = target;
}

/* Whether the act cannot be done here after all. */
ALWAYS_INLINE bool is_slow(struct run *r, const struct hp_step *step,
                           const struct hp_path_segment *segment, unsigned act, uint64_t target)
{
    if (act == HP_ACT_RETURN)
        return (r->return_to != target && r->return_to) || r->top == r->bottom;
    if (act == HP_ACT_CALL)
        return r->top >= r->end;
    if (act == HP_ACT_INDIRECT)
        return may_land(r, segment, step + 1);
    return act == HP_ACT_SLOW;
}

ALWAYS_INLINE void do_act(struct run *r, const struct hp_path_segment *segment, unsigned act,
                          uint64_t target, uint32_t to, const bool by_address)
{
    if (by_address && act == HP_ACT_ADDRESS && target > segment->place) {
        add_target(r, target);
        return;
    }
    if (act != HP_ACT_CALL)
        emit(r, by_address);
    if (act == HP_ACT_RETURN) {
        r->top--;
        load_top(r);
        return;
    }
    if (act == HP_ACT_CALL) {
        store_top(r);
        r->top++;
        r->return_to = segment->place;
    }
    start_path(r, target, to);
}

ALWAYS_INLINE void run_steps(struct run *r, const struct hp_step *step, size_t n,
                             const bool by_address)
{
    const struct hp_step *const end = step + n;
    const struct hp_path_segment *units = r->plan->units;
    const struct hp_path_segment *following = &units[step->unit];
    for (; step < end; step++) {
        const struct hp_path_segment *segment = following;
        following = &units[step[1].unit];
        __builtin_prefetch(&units[(end - step > AHEAD ? step + AHEAD : end)->unit]);
        for (;; segment = &r->plan->more[segment->next]) {
            bool inside = segment->next != 0;
            uint64_t target = inside ? segment->target : following->start;
            uint32_t to = inside ? segment->to : step[1].first;
            bool taken = target != segment->fall;
            unsigned act = segment->act[taken];
            int32_t length = r->length + segment->length;
            if (__builtin_expect(length > r->room, 0) ||
                (act != HP_ACT_NONE && is_slow(r, step, segment, act, target))) {
                slow_segment(r, step, segment);
            } else {
                r->outcomes =
                    r->outcomes << segment->length | segment->bits | (taken & segment->add);
                r->insns += segment->insns;
                r->length = length;
                r->branches += segment->branches;
                r->instructions += segment->insns;
                if (act != HP_ACT_NONE)
                    do_act(r, segment, act, target, to, by_address);
            }
            if (!inside)
                break;
        }
    }
}

static __attribute__((noinline)) void run_by_class(struct run *r, const struct hp_step *steps,
                                                   size_t n)
{
    struct run local = *r;
    run_steps(&local, steps, n, false);
    *r = local;
}

static __attribute__((noinline)) void run_by_address(struct run *r, const struct hp_step *steps,
                                                     size_t n)
{
    struct run local = *r;
    run_steps(&local, steps, n, true);
    *r = local;
}

/* The plan covers the code map; false: there is no memory for it. */
static bool have_plan(struct hp_detector *d, const struct hp_code *code)
{
    if (!d->plan)
        d->plan = d->shared;
    if (!d->plan) {
        d->plan = malloc(sizeof *d->plan);
        if (!d->plan)
            return false;
        hp_path_plan_init(d->plan, &d->ppcr, d->frames);
    }
    return d->plan->n_units >= hp_code_n_units(code) || hp_path_plan_grow(d->plan, code) == HP_OK;
}

void hp_detector_steps(struct hp_detector *d, const struct hp_steps *steps)
{
    const struct hp_step *last = &steps->steps[steps->n];
    uint32_t n;
    if (!have_plan(d, steps->code)) {
        d->out_of_memory = true;
        return;
    }
    if (d->fresh)
        hp_detector_begin(d, hp_code_block(steps->code, steps->steps[0].first)->start,
                          steps->steps[0].first);
    struct run run = {.d = d,
                      .plan = d->plan,
                      .code = steps->code,
                      .mask = d->ppcr.metric == HP_METRIC_INSTRUCTIONS ? UINT64_MAX : 0,
                      .one = d->ppcr.metric == HP_METRIC_EXECUTIONS,
                      .max = d->counter_max};
    load(&run);
    if (d->ppcr.by_address)
        run_by_address(&run, steps->steps, steps->n);
    else
        run_by_class(&run, steps->steps, steps->n);
    store(&run);
    /* Of the last unit only the transfers inside are known. */
    hp_code_unit(steps->code, last->unit, &n);
    retire_blocks(d, steps->code, last->unit, 0, n - 1, HP_NO_ID);
}
