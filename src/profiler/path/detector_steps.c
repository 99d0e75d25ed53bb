// SPDX-License-Identifier: MIT
/*
 * Path detection by units, with `by_address`: the same as detector.c, one segment of the plan at a
 * time. The top of the stack is in local variables. Rare cases (a full path, a system call) go
 * through hp_detector_transfer(), one transfer at a time.
 */
#include "profiler/path/detector_impl.h"

#include <stdlib.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define AHEAD         8 /* units for which the plan is prefetched */

/*
 * The state of the detector while the loop runs: a variable whose address is never taken, so that
 * most of it stays in registers. In memory, each outcome would wait for the store of the previous
 * one, at a third of the speed.
 */
struct state {
    /* The top of the stack. */
    uint64_t start, outcomes, insns, return_to;
    uint32_t block;
    int32_t length;
    /* The maximum path length; below 0 when something is pending, which needs the slow way. */
    int32_t room;
    struct hp_path_entry *top; /* its entry */
    struct hp_path *out;       /* where the next finished path goes */
    uint64_t branches, instructions;
};

/* What does not change while the loop runs. */
struct run {
    struct hp_detector *d;
    struct hp_path_plan *plan;
    const struct hp_code *code;
};

/* --- Between the loop and the detector -------------------------------------------------------- */

ALWAYS_INLINE void load_top(struct state *s)
{
    s->start = s->top->start;
    s->outcomes = s->top->outcomes;
    s->insns = s->top->insns;
    s->return_to = s->top->return_to;
    s->block = s->top->block;
    s->length = (int32_t)s->top->length;
}

ALWAYS_INLINE void store_top(const struct state *s)
{
    s->top->start = s->start;
    s->top->outcomes = s->outcomes;
    s->top->insns = s->insns;
    s->top->return_to = s->return_to;
    s->top->block = s->block;
    s->top->length = (uint32_t)s->length;
}

/* Loads the state from the detector. */
ALWAYS_INLINE void load(struct state *s, struct hp_detector *d)
{
    bool pending = d->pending.insns || d->pending.events;
    s->room = pending ? -1 : (int32_t)d->ppcr.max_length;
    s->top = &d->entries[d->n - 1];
    s->out = &d->paths[d->n_paths];
    s->branches = 0;
    s->instructions = 0;
    load_top(s);
}

/* Member by member: with an assignment the compiler (GCC 12) would keep both in memory. */
ALWAYS_INLINE void copy(struct state *to, const struct state *from)
{
    to->start = from->start;
    to->outcomes = from->outcomes;
    to->insns = from->insns;
    to->return_to = from->return_to;
    to->block = from->block;
    to->length = from->length;
    to->room = from->room;
    to->top = from->top;
    to->out = from->out;
    to->branches = from->branches;
    to->instructions = from->instructions;
}

/* The loop counts executions. Steps carry no other events than instructions. */
static void correct_events(struct hp_detector *d, size_t from, size_t to)
{
    bool instructions = d->ppcr.metric == HP_METRIC_INSTRUCTIONS;
    for (size_t i = from; i < to; i++) {
        uint64_t events = instructions ? d->paths[i].insns : 0;
        d->stats.saturated += events > d->counter_max;
        d->paths[i].events = (uint32_t)(events < d->counter_max ? events : d->counter_max);
    }
}

static void store_paths(struct hp_detector *d, const struct hp_path *out)
{
    size_t n = (size_t)(out - d->paths);
    if (d->ppcr.metric != HP_METRIC_EXECUTIONS)
        correct_events(d, d->n_paths, n);
    d->n_paths = n;
}

/* Stores the state in the detector. */
static void store(struct hp_detector *d, const struct state *s)
{
    store_top(s);
    d->n = (size_t)(s->top - d->entries) + 1;
    store_paths(d, s->out);
    d->stats.branches += s->branches;
    d->stats.blocks += s->branches;
    d->stats.instructions += s->instructions;
}

/* Returns where the next path goes. */
static __attribute__((noinline)) struct hp_path *flush(struct hp_detector *d,
                                                       const struct hp_path *out)
{
    store_paths(d, out);
    hp_detector_hand_over(d);
    return d->paths;
}

/* --- The slow way ----------------------------------------------------------------------------- */

static void retire(struct hp_detector *d, const struct hp_code *code, uint32_t from, uint32_t to)
{
    const struct hp_block *table = hp_code_blocks(code);
    bool taken = table[to].start != table[from].end || !hp_path_falls(code, &table[from]);
    hp_detector_retire(d, table, from, to, taken, 0);
}

/* Retires `n` blocks of a unit from `first` on; `next` follows the unit. */
static void retire_blocks(struct hp_detector *d, const struct hp_code *code, uint32_t unit,
                          uint32_t first, uint32_t n, uint32_t next)
{
    uint32_t all;
    const uint32_t *blocks = hp_code_unit(code, unit, &all);
    for (uint32_t i = first; i < first + n; i++)
        retire(d, code, blocks[i], i + 1 < all ? blocks[i + 1] : next);
}

static __attribute__((noinline)) void slow_blocks(const struct run *r, struct state *s,
                                                  const struct hp_step *step,
                                                  const struct hp_path_segment *segment)
{
    store(r->d, s);
    retire_blocks(r->d, r->code, step->unit, segment->first, segment->n, step[1].first);
    load(s, r->d);
}

ALWAYS_INLINE void slow_segment(const struct run *r, struct state *s, const struct hp_step *step,
                                const struct hp_path_segment *segment)
{
    struct state seen;
    copy(&seen, s);
    slow_blocks(r, &seen, step, segment);
    copy(s, &seen);
}

/* --- The loop --------------------------------------------------------------------------------- */

static void take_targets(struct hp_detector *d, struct hp_path_entry *top, struct hp_path *path)
{
    path->targets = top->targets;
    path->n_targets = (uint8_t)top->n_targets;
    path->first_target = (uint32_t)d->n_targets;
    memcpy(d->targets + d->n_targets, d->lists[top - d->entries],
           top->n_targets * sizeof *d->targets);
    d->n_targets += top->n_targets;
    top->targets = 0;
    top->n_targets = 0;
}

ALWAYS_INLINE void emit(const struct run *r, struct state *s)
{
    struct hp_path *path = s->out++;
    *path = (struct hp_path){
        .start = s->start,
        .outcomes = s->outcomes,
        .block = s->block,
        .insns = s->insns < UINT32_MAX ? (uint32_t)s->insns : UINT32_MAX,
        .events = 1,
        .length = (uint8_t)s->length,
    };
    if (s->top->n_targets)
        take_targets(r->d, s->top, path);
    if (__builtin_expect(s->out == r->d->paths + HP_PATHS_MAX ||
                             r->d->n_targets > HP_DETECTOR_TARGETS - HP_PATH_MAX_LENGTH,
                         0))
        s->out = flush(r->d, s->out);
}

ALWAYS_INLINE void start_path(struct state *s, uint64_t start, uint32_t block)
{
    s->start = start;
    s->block = block;
    s->outcomes = 0;
    s->insns = 0;
    s->length = 0;
    s->top->extension = 0;
}

ALWAYS_INLINE void add_target(const struct run *r, struct hp_path_entry *top, uint64_t target)
{
    top->targets = hp_path_hash_target(top->targets, target);
    r->d->lists[top - r->d->entries][top->n_targets++] = target;
}

/* Adds the segment to the path at the top. */
ALWAYS_INLINE void apply(struct state *s, const struct hp_path_segment *segment, bool taken)
{
    s->outcomes = s->outcomes << segment->length | segment->bits | (taken & segment->add);
    s->insns += segment->insns;
    s->length += segment->length;
    s->branches += segment->branches;
    s->instructions += segment->insns;
}

/* Runs the segment and its act, which leads to `target`, the block `to`; `step` is the unit's. */
ALWAYS_INLINE void run_segment(const struct run *r, struct state *s, const struct hp_step *step,
                               const struct hp_path_segment *segment, uint64_t target, uint32_t to)
{
    bool taken = target != segment->fall;
    unsigned act = segment->act[taken];
    if (__builtin_expect(s->length + segment->length > s->room || act == HP_ACT_SLOW, 0)) {
        slow_segment(r, s, step, segment);
        return;
    }
    apply(s, segment, taken);
    if (act == HP_ACT_NONE)
        return;
    if (act == HP_ACT_ADDRESS && target > segment->place) {
        add_target(r, s->top, target);
        return;
    }
    emit(r, s);
    start_path(s, target, to);
}

static void run_steps(const struct run *r, const struct hp_step *step, size_t n)
{
    const struct hp_step *const end = step + n;
    const struct hp_path_segment *units = r->plan->units;
    const struct hp_path_segment *following = &units[step->unit];
    struct state s;
    load(&s, r->d);
    for (; step < end; step++) {
        const struct hp_path_segment *segment = following;
        following = &units[step[1].unit];
        __builtin_prefetch(&units[(end - step > AHEAD ? step + AHEAD : end)->unit]);
        for (; segment->next; segment = &r->plan->more[segment->next])
            run_segment(r, &s, step, segment, segment->target, segment->to);
        run_segment(r, &s, step, segment, following->start, step[1].first);
    }
    struct state seen;
    copy(&seen, &s);
    store(r->d, &seen);
}

/* Makes the plan cover the code map, or has the memo; false: out of memory. */
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
    if (!d->ppcr.by_address) {
        d->memo = &d->plan->memo;
        return hp_path_memo_bound(d->memo);
    }
    return d->plan->n_units >= hp_code_n_units(code) || hp_path_plan_grow(d->plan, code) == HP_OK;
}

static void by_address(struct hp_detector *d, const struct hp_steps *steps)
{
    const struct hp_step *last = &steps->steps[steps->n];
    struct run run = {.d = d, .plan = d->plan, .code = steps->code};
    uint32_t n;
    run_steps(&run, steps->steps, steps->n);
    /* For the last unit only the inner transfers are known. */
    hp_code_unit(steps->code, last->unit, &n);
    retire_blocks(d, steps->code, last->unit, 0, n - 1, HP_NO_ID);
}

void hp_detector_steps(struct hp_detector *d, const struct hp_steps *steps)
{
    if (!have_plan(d, steps->code)) {
        d->out_of_memory = true;
        return;
    }
    if (d->fresh)
        hp_detector_begin(d, hp_code_block(steps->code, steps->steps[0].first)->start,
                          steps->steps[0].first);
    if (d->ppcr.by_address)
        by_address(d, steps);
    else
        hp_detector_by_memo(d, steps);
}
