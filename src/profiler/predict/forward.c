// SPDX-License-Identifier: MIT
/*
 * The fast detector of forward paths.
 *
 * Of each unit (a block, or a run of blocks that an engine shows with one word) it is worked out once what it does to
 * the path at hand: a *cell*. Most only append the outcomes of their inner branches. Where a path ends inside, or an
 * indirect branch inside leads forward, a cell has *ops* before the outcomes that are left. What depends on the next unit is the last
 * block's transfer: two comparisons of addresses.
 *
 * A path that would grow too long is followed block by block.
 */
#include "profiler/predict/forward.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE     UINT64_MAX
#define MAX_SAVED   64 /* interrupted by signals: no more are returned to */
#define MAX_TARGETS 4096

enum { CELL_BRANCH = 1, CELL_INDIRECT = 2 }; /* of the last block */
#define CELL_SLOW 255                        /* for hp_forward_cell.n: it has ops */

struct cell {
    uint64_t start;
    uint64_t fall;     /* of the last block, NOWHERE: it does not fall through */
    uint64_t behind;   /* one more than the address of the last branch; 0: it is no branch */
    uint32_t outcomes; /* inner ones; behind the ops, if there are any */
    uint8_t n;         /* of them, or CELL_SLOW */
    uint8_t flags;
    uint16_t reserved;
};
_Static_assert(sizeof(struct cell) == 32, "two cells are a cache line");

enum op_kind { OP_OUTCOMES, OP_TARGET, OP_END };

/* Append `n` outcomes; then an indirect branch has led forward to `address`, or a path has ended and one starts there. */
struct op {
    uint64_t outcomes;
    uint64_t address;
    uint32_t block;
    uint8_t n;
    uint8_t kind;
};

/* Of a cell with ops: these, and what its `n` would be. */
struct slow_cell {
    uint32_t first_op, n_ops;
    uint8_t n;
};

/* A path at hand. */
struct open {
    uint64_t start, outcomes, targets;
    uint32_t block;
    uint32_t length;
    uint32_t first_target; /* in hp_forward.targets */
    bool fresh;            /* there is none */
};

struct saved {
    struct open open;
    uint64_t targets[HP_PATH_MAX_LENGTH];
    uint32_t n_targets;
};

struct hp_forward_thread {
    struct hp_forward *forward;
    struct saved now; /* between calls */
    struct saved *saved;
    size_t n_saved, cap_saved;
};

struct hp_forward {
    const struct hp_code *code;
    struct hp_path_sink *sink;
    uint32_t max_length;
    struct cell *cells; /* by unit */
    size_t n_cells, cap_cells;
    struct slow_cell *slow; /* by unit, as far as there are any */
    size_t cap_slow;
    struct op *ops;
    size_t n_ops, cap_ops;
    struct hp_forward_thread **threads;
    size_t n_threads, cap_threads;
    struct hp_forward_stats stats;
    bool out_of_memory;
    /* Finished paths, and the targets of all paths, those of the one at hand last. */
    size_t n_paths, n_targets;
    struct hp_path paths[HP_PATHS_MAX];
    uint64_t targets[MAX_TARGETS];
    struct hp_step steps[HP_BATCH_MAX + 1]; /* of a batch */
};

/* --- Cells ------------------------------------------------------------------------------------ */

static bool is_branch(const struct hp_block *block)
{
    return block->flow != HP_FLOW_NONE && block->flow != HP_FLOW_SYSCALL &&
           block->flow != HP_FLOW_TRAP;
}

static bool is_indirect(const struct hp_block *block)
{
    return block->flow == HP_FLOW_JUMP_IND || block->flow == HP_FLOW_CALL_IND ||
           block->flow == HP_FLOW_RETURN;
}

/* Where the block falls through to. Any transfer of Thumb may be conditional, and of code that nobody can decode. */
static uint64_t fall_of(const struct hp_code *code, const struct hp_block *block)
{
    bool may = block->flow == HP_FLOW_COND || !is_branch(block) ||
               block->flags & (HP_BLOCK_CONDITIONAL | HP_BLOCK_THUMB) ||
               hp_code_arch(code) == HP_ARCH_NONE;
    return may ? block->end : NOWHERE;
}

static enum hp_err add_op(struct hp_forward *f, struct slow_cell *slow, const struct op *op)
{
    HP_TRY(hp_grow(&f->ops, &f->cap_ops, f->n_ops + 1, sizeof *f->ops));
    if (!slow->n_ops)
        slow->first_op = (uint32_t)f->n_ops;
    slow->n_ops++;
    f->ops[f->n_ops++] = *op;
    return HP_OK;
}

/* The inner transfers of a unit: its ops, and in `rest` what is left behind them. */
static enum hp_err inner_transfers(struct hp_forward *f, const uint32_t *ids, uint32_t n,
                                   struct slow_cell *slow, struct op *rest)
{
    for (uint32_t i = 0; i + 1 < n; i++) {
        const struct hp_block *b = hp_code_block(f->code, ids[i]);
        const struct hp_block *to = hp_code_block(f->code, ids[i + 1]);
        if (!is_branch(b))
            continue;
        bool taken = to->start != fall_of(f->code, b);
        rest->outcomes = rest->outcomes << 1 | taken;
        rest->n++;
        if (taken && to->start <= b->last)
            rest->kind = OP_END;
        else if (taken && is_indirect(b))
            rest->kind = OP_TARGET;
        else
            continue;
        rest->address = to->start;
        rest->block = ids[i + 1];
        HP_TRY(add_op(f, slow, rest));
        *rest = (struct op){0};
    }
    if (rest->n > 32) { /* too many for a cell */
        HP_TRY(add_op(f, slow, rest));
        *rest = (struct op){0};
    }
    return HP_OK;
}

static enum hp_err add_cell(struct hp_forward *f, uint32_t unit)
{
    uint32_t n;
    const uint32_t *ids = hp_code_unit(f->code, unit, &n);
    const struct hp_block *last = hp_code_block(f->code, ids[n - 1]);
    struct slow_cell slow = {0};
    struct op rest = {0};
    HP_TRY(inner_transfers(f, ids, n, &slow, &rest));
    struct cell cell = {.start = hp_code_block(f->code, ids[0])->start,
                        .fall = fall_of(f->code, last),
                        .behind = is_branch(last) ? last->last + 1 : 0,
                        .outcomes = (uint32_t)rest.outcomes,
                        .n = rest.n};
    cell.flags =
        (uint8_t)((is_branch(last) ? CELL_BRANCH : 0) | (is_indirect(last) ? CELL_INDIRECT : 0));
    if (slow.n_ops) {
        slow.n = cell.n;
        cell.n = CELL_SLOW;
        HP_TRY(hp_grow(&f->slow, &f->cap_slow, unit + 1, sizeof *f->slow));
        f->slow[unit] = slow;
    }
    f->cells[unit] = cell;
    return HP_OK;
}

/* The code map may have grown. */
static bool add_cells(struct hp_forward *f)
{
    uint32_t n = hp_code_n_units(f->code);
    if (f->out_of_memory)
        return false;
    if (f->n_cells == n)
        return true;
    if (hp_grow(&f->cells, &f->cap_cells, n, sizeof *f->cells) != HP_OK) {
        f->out_of_memory = true;
        return false;
    }
    for (; f->n_cells < n; f->n_cells++)
        if (add_cell(f, (uint32_t)f->n_cells) != HP_OK) {
            f->out_of_memory = true;
            return false;
        }
    return true;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* Hands over the finished paths; of the targets only those of the path at hand stay. */
static __attribute__((noinline)) void deliver(struct hp_forward *f, struct open *o)
{
    struct hp_paths paths = {.paths = f->paths, .n = f->n_paths, .targets = f->targets};
    f->stats.paths += f->n_paths;
    if (f->n_paths)
        f->sink->paths(f->sink, &paths);
    f->n_paths = 0;
    f->n_targets -= o->first_target;
    memmove(f->targets, f->targets + o->first_target, f->n_targets * sizeof *f->targets);
    o->first_target = 0;
}

static void add_target(struct hp_forward *f, struct open *o, uint64_t target)
{
    if (__builtin_expect(f->n_targets == MAX_TARGETS, 0))
        deliver(f, o);
    f->targets[f->n_targets++] = target;
    o->targets = hp_path_hash_target(o->targets, target);
}

/* The path at hand is finished; another starts. Always inlined: it is most of the work. */
static inline __attribute__((always_inline)) void end_path(struct hp_forward *f, struct open *o,
                                                           uint64_t start, uint32_t block)
{
    f->paths[f->n_paths] = (struct hp_path){.start = o->start,
                                            .outcomes = o->outcomes,
                                            .targets = o->targets,
                                            .block = o->block,
                                            .events = 1,
                                            .length = (uint8_t)o->length,
                                            .n_targets = (uint8_t)(f->n_targets - o->first_target),
                                            .first_target = o->first_target};
    *o = (struct open){.start = start, .block = block, .first_target = (uint32_t)f->n_targets};
    if (__builtin_expect(++f->n_paths == HP_PATHS_MAX, 0))
        deliver(f, o);
}

/* --- Block by block --------------------------------------------------------------------------- */

static void transfer(struct hp_forward *f, struct open *o, uint32_t from, uint32_t to)
{
    const struct hp_block *b = hp_code_block(f->code, from);
    uint64_t target = hp_code_block(f->code, to)->start;
    bool taken = target != fall_of(f->code, b), back = taken && target <= b->last;
    if (!is_branch(b))
        return;
    if (o->length == f->max_length) {
        f->stats.splits++;
        end_path(f, o, target, to);
        return;
    }
    o->outcomes = o->outcomes << 1 | taken;
    o->length++;
    if (back)
        end_path(f, o, target, to);
    else if (taken && is_indirect(b))
        add_target(f, o, target);
}

/* --- Step by step ----------------------------------------------------------------------------- */

/* What the unit `to` does to the path at hand once control has arrived there. */
static void run_inside(struct hp_forward *f, struct open *o, uint32_t to)
{
    const struct slow_cell *slow = &f->slow[to];
    for (uint32_t i = 0; i < slow->n_ops; i++) {
        const struct op *op = &f->ops[slow->first_op + i];
        o->outcomes = o->outcomes << op->n | op->outcomes;
        o->length += op->n;
        if (op->kind == OP_END)
            end_path(f, o, op->address, op->block);
        else if (op->kind == OP_TARGET)
            add_target(f, o, op->address);
    }
    o->outcomes = o->outcomes << slow->n | f->cells[to].outcomes;
    o->length += slow->n;
}

/* Whether running through the unit cannot make a path too long that has `length` branches. */
static bool fits(const struct hp_forward *f, uint32_t unit, uint32_t length)
{
    const struct cell *cell = &f->cells[unit];
    if (cell->n != CELL_SLOW)
        return length + cell->n <= f->max_length;
    const struct slow_cell *slow = &f->slow[unit];
    for (uint32_t i = 0; i < slow->n_ops; i++) {
        const struct op *op = &f->ops[slow->first_op + i];
        if (length + op->n > f->max_length)
            return false;
        length = op->kind == OP_END ? 0 : length + op->n;
    }
    return length + slow->n <= f->max_length;
}

/* A step to a unit with ops, or one that may make the path too long. */
static __attribute__((noinline)) void slow_step(struct hp_forward *f, struct open *o, uint32_t last,
                                                const struct hp_step *to)
{
    uint32_t n;
    const uint32_t *ids = hp_code_unit(f->code, to->unit, &n);
    transfer(f, o, last, ids[0]);
    if (f->cells[to->unit].n == CELL_SLOW && fits(f, to->unit, o->length)) {
        run_inside(f, o, to->unit);
        return;
    }
    for (uint32_t i = 0; i + 1 < n; i++)
        transfer(f, o, ids[i], ids[i + 1]);
}

static uint32_t last_block(const struct hp_forward *f, uint32_t unit)
{
    uint32_t n;
    const uint32_t *ids = hp_code_unit(f->code, unit, &n);
    return ids[n - 1];
}

static __attribute__((noinline)) void run_steps(struct hp_forward *f, struct open *open,
                                                const struct hp_step *steps, size_t n)
{
    const struct cell *cells = f->cells, *from = &cells[steps[0].unit];
    const uint32_t max_length = f->max_length;
    struct open o = *open;
    for (size_t i = 0; i < n; i++) {
        const struct cell *to = &cells[steps[i + 1].unit];
        if (__builtin_expect(o.length + 1 + to->n > max_length, 0)) {
            *open = o;
            slow_step(f, open, last_block(f, steps[i].unit), &steps[i + 1]);
            o = *open;
            from = to;
            continue;
        }
        const uint64_t target = to->start;
        const uint32_t branch = from->flags & CELL_BRANCH;
        const uint32_t taken = (target != from->fall) & branch;
        o.outcomes = o.outcomes << branch | taken;
        o.length += branch;
        if (target < from->behind) {
            *open = o;
            end_path(f, open, target, steps[i + 1].first);
            o = *open;
        } else if (from->flags & taken << 1) {
            *open = o;
            add_target(f, open, target);
            o = *open;
        }
        o.outcomes = o.outcomes << to->n | to->outcomes;
        o.length += to->n;
        from = to;
    }
    *open = o;
}

/* --- Threads ---------------------------------------------------------------------------------- */

void hp_forward_steps(struct hp_forward_thread *thread, const struct hp_steps *steps)
{
    struct hp_forward *f = thread->forward;
    struct saved *now = &thread->now;
    if (!steps->n || !add_cells(f))
        return;
    if (now->open.fresh)
        now->open = (struct open){.start = hp_code_block(f->code, steps->steps[0].first)->start,
                                  .block = steps->steps[0].first};
    memcpy(f->targets, now->targets, now->n_targets * sizeof *f->targets);
    f->n_targets = now->n_targets;
    run_steps(f, &now->open, steps->steps, steps->n);
    deliver(f, &now->open);
    now->n_targets = (uint32_t)f->n_targets;
    memcpy(now->targets, f->targets, f->n_targets * sizeof *f->targets);
}

void hp_forward_batch(struct hp_forward_thread *thread, const struct hp_batch *batch)
{
    struct hp_forward *f = thread->forward;
    struct hp_steps steps = {.code = batch->code, .steps = f->steps, .n = batch->n};
    for (size_t i = 0; i <= batch->n; i++) {
        uint32_t block = batch->blocks[i];
        f->steps[i] =
            (struct hp_step){.unit = hp_code_unit_of_block(f->code, block), .first = block};
    }
    hp_forward_steps(thread, &steps);
}

static void forget(struct hp_forward_thread *thread)
{
    thread->now.open = (struct open){.fresh = true};
    thread->now.n_targets = 0;
}

/* A loss or the like: nothing is known of what was going on. */
static void purge(struct hp_forward_thread *thread)
{
    thread->forward->stats.purges += !thread->now.open.fresh || thread->n_saved;
    forget(thread);
    thread->n_saved = 0;
}

static void enter_signal(struct hp_forward_thread *thread)
{
    if (thread->n_saved == MAX_SAVED) {
        memmove(&thread->saved[0], &thread->saved[1], (MAX_SAVED - 1) * sizeof *thread->saved);
        thread->n_saved--;
    }
    if (hp_grow(&thread->saved, &thread->cap_saved, thread->n_saved + 1, sizeof *thread->saved) !=
        HP_OK) {
        thread->forward->out_of_memory = true;
        return;
    }
    thread->saved[thread->n_saved++] = thread->now;
    forget(thread);
}

void hp_forward_event(struct hp_forward_thread *thread, const struct hp_event *event)
{
    switch (event->kind) {
    case HP_EVENT_SIGNAL: enter_signal(thread); break;
    case HP_EVENT_SIGRETURN:
        if (thread->n_saved)
            thread->now = thread->saved[--thread->n_saved];
        else
            purge(thread);
        break;
    case HP_EVENT_LOST:
    case HP_EVENT_DISCONTINUITY: purge(thread); break;
    case HP_EVENT_END:
        forget(thread);
        free(thread->saved);
        thread->saved = NULL;
        thread->n_saved = thread->cap_saved = 0;
        break;
    default: break;
    }
}

enum hp_err hp_forward_thread_new(struct hp_forward *forward, struct hp_forward_thread **thread)
{
    HP_TRY(hp_grow(&forward->threads, &forward->cap_threads, forward->n_threads + 1,
                   sizeof *forward->threads));
    struct hp_forward_thread *t = calloc(1, sizeof *t);
    if (!t)
        return hp_fail_nomem();
    t->forward = forward;
    forget(t);
    forward->threads[forward->n_threads++] = t;
    *thread = t;
    return HP_OK;
}

/* --- Making ----------------------------------------------------------------------------------- */

enum hp_err hp_forward_new(const struct hp_code *code, uint32_t max_length,
                           struct hp_path_sink *sink, struct hp_forward **forward)
{
    if (!max_length || max_length > HP_PATH_MAX_LENGTH)
        return hp_fail(HP_ERR_INVALID, "paths of %u branches: 1 to %d are possible", max_length,
                       HP_PATH_MAX_LENGTH);
    struct hp_forward *f = calloc(1, sizeof *f);
    if (!f)
        return hp_fail_nomem();
    f->code = code;
    f->sink = sink;
    f->max_length = max_length;
    *forward = f;
    return HP_OK;
}

void hp_forward_free(struct hp_forward *forward)
{
    if (!forward)
        return;
    for (size_t i = 0; i < forward->n_threads; i++) {
        free(forward->threads[i]->saved);
        free(forward->threads[i]);
    }
    free(forward->threads);
    free(forward->cells);
    free(forward->slow);
    free(forward->ops);
    free(forward);
}

const struct hp_forward_stats *hp_forward_stats(const struct hp_forward *forward)
{
    return &forward->stats;
}

enum hp_err hp_forward_check(const struct hp_forward *forward)
{
    return forward->out_of_memory ? hp_fail_nomem() : HP_OK;
}
