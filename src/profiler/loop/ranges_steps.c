// SPDX-License-Identifier: MIT
/*
 * The model "ranges" by units. Mostly all runs of a unit end in ranges of loops that are on, with
 * the same smallest one, and change nothing: then the unit only adds instructions, and perhaps
 * iterations. That is computed once, and again when a range where the unit is has changed.
 */
#include "profiler/loop/ranges.h"

#include "base/grow.h"
#include "profiler/loop/model.h"
#include "profiler/path/plan.h"

#define NOWHERE UINT64_MAX

/* --- What is known ---------------------------------------------------------------------------- */

/* Whether no range there has changed since that generation. */
static inline bool is_unchanged(const struct hp_loop_ranges *r, uint32_t generation, uint64_t first,
                                uint64_t last)
{
    if (r->generation - generation > HP_RANGES_CHANGES)
        return false;
    for (uint32_t g = r->generation; g != generation; g--) {
        const struct hp_ranges_change *change = &r->changes[g % HP_RANGES_CHANGES];
        if (first <= change->high && change->low <= last)
            return false;
    }
    return true;
}

/* The slots whose ranges contain the end of a block. */
static uint64_t slots_of(struct hp_loop_ranges *r, const struct hp_block *block, uint32_t id)
{
    struct hp_ranges_block *known = &r->blocks[id];
    if (!is_unchanged(r, known->generation, block->last, block->last))
        known->slots = hp_loop_ranges_find(r, block->last);
    known->generation = r->generation;
    return known->slots;
}

/* --- Planning units --------------------------------------------------------------------------- */

/* The run of a block; false: the unit is not simple. */
static bool plan_run(struct hp_loop_ranges *r, const struct hp_block *block, uint32_t id,
                     struct hp_ranges_plan *plan)
{
    uint64_t slots = slots_of(r, block, id);
    uint32_t smallest = HP_NO_ID;
    for (uint64_t rest = slots; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        if (hp_loop_ranges_is_loop(&r->slots[i]) &&
            (smallest == HP_NO_ID ||
             r->slots[i].high - r->slots[i].low < r->slots[smallest].high - r->slots[smallest].low))
            smallest = i;
    }
    smallest = smallest == HP_NO_ID ? HP_RANGES_MAX : smallest;
    if (plan->insns && plan->home != smallest)
        return false;
    for (uint64_t rest = slots; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(rest);
        bool head = block->start <= r->slots[i].head && r->slots[i].head <= block->last;
        if (head && i != smallest)
            return false;
        plan->heads = (uint16_t)(plan->heads + head);
    }
    plan->home = (uint16_t)smallest;
    plan->slots |= slots;
    plan->insns += block->insns;
    return true;
}

/* Whether it goes back to the start of its loop without going into another loop before it; nothing
 * changes then. */
static bool is_back(const struct hp_loop_ranges *r, const struct hp_block *block, uint32_t home,
                    uint64_t target)
{
    const struct hp_ranges_slot *slot = &r->slots[home];
    if (home == HP_RANGES_MAX)
        return false;
    for (uint32_t i = 0; i < r->config.entries; i++)
        if (r->slots[i].used && r->slots[i].low < target && target <= r->slots[i].high &&
            r->slots[i].high < block->last)
            return false;
    return (block->flow == HP_FLOW_JUMP || block->flow == HP_FLOW_COND) && target == slot->low &&
           target <= block->last && block->last <= slot->high &&
           block->last - target < r->config.max_offset;
}

static bool falls(const struct hp_code *code, const struct hp_block *block, uint64_t target)
{
    return target == block->end && hp_path_falls(code, block);
}

static bool is_jump(uint8_t flow)
{
    return flow == HP_FLOW_JUMP || flow == HP_FLOW_COND || flow == HP_FLOW_JUMP_IND;
}

/* A transfer inside the unit; false: the unit is not simple. */
static bool plan_transfer(const struct hp_loop_ranges *r, const struct hp_code *code,
                          const struct hp_block *block, uint64_t target,
                          struct hp_ranges_plan *plan)
{
    if (falls(code, block, target))
        return true;
    if (hp_sbb_depth(block->flow, target, block->end))
        return false;
    if (!is_jump(block->flow))
        return true;
    if (target > block->last) {
        plan->from = block->last;
        plan->to = target;
        return true;
    }
    if (!is_back(r, block, plan->home, target))
        return false;
    plan->lowest = target < plan->lowest ? target : plan->lowest;
    plan->backs++;
    return true;
}

/* Whether the plan of a unit is as it would be made now. */
static bool is_planned(const struct hp_loop_ranges *r, const struct hp_code *code, uint32_t unit)
{
    const struct hp_ranges_plan *plan = &r->plans[unit];
    uint32_t n;
    if (is_unchanged(r, plan->generation, plan->first, plan->top))
        return true;
    if (r->generation - plan->generation > HP_RANGES_CHANGES)
        return false;
    const uint32_t *blocks = hp_code_unit(code, unit, &n);
    const struct hp_block *table = hp_code_blocks(code);
    uint64_t target = table[blocks[n - 1]].target;
    bool unchanged = is_unchanged(r, plan->generation, target, target);
    for (uint32_t i = 0; i < n && unchanged; i++) {
        const struct hp_block *block = &table[blocks[i]];
        unchanged = is_unchanged(r, plan->generation, block->start, block->last);
    }
    return unchanged;
}

static void plan_unit(struct hp_loop_ranges *r, const struct hp_code *code, uint32_t unit,
                      struct hp_ranges_plan *plan)
{
    uint32_t n;
    const uint32_t *blocks = hp_code_unit(code, unit, &n);
    const struct hp_block *table = hp_code_blocks(code), *last = &table[blocks[n - 1]];
    *plan = (struct hp_ranges_plan){.generation = r->generation, .lowest = NOWHERE, .low = NOWHERE};
    plan->first = plan->top = last->target ? last->target : last->last;
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_block *block = &table[blocks[i]];
        plan->first = block->start < plan->first ? block->start : plan->first;
        plan->top = block->last > plan->top ? block->last : plan->top;
    }
    plan->fall = hp_path_falls(code, last) ? last->end : NOWHERE;
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_block *block = &table[blocks[i]];
        if (!plan_run(r, block, blocks[i], plan) ||
            (i + 1 < n && !plan_transfer(r, code, block, table[blocks[i + 1]].start, plan))) {
            return;
        }
    }
    plan->simple = true;
    if (is_back(r, last, plan->home, last->target))
        plan->low = last->target;
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Runs `n` blocks one by one; with `open`, the successor of the last one is unknown. */
static void run_blocks(struct hp_loop_ranges *r, const struct hp_code *code, const uint32_t *ids,
                       uint32_t n, uint64_t next, bool open)
{
    const struct hp_block *table = hp_code_blocks(code);
    for (uint32_t i = 0; i < n; i++) {
        const struct hp_block *block = &table[ids[i]];
        if (open && i + 1 == n)
            return; /* it comes again */
        hp_loop_ranges_run(r, slots_of(r, block, ids[i]), block->start, block->last, block->insns);
        uint64_t target = i + 1 < n ? table[ids[i + 1]].start : next;
        if (!falls(code, block, target))
            hp_loop_ranges_transfer(r, block->last, target, block->flow,
                                    hp_sbb_depth(block->flow, target, block->end));
    }
}

/* Runs the whole unit if it is simple; false: nothing was done. */
static inline bool run_simple(struct hp_loop_ranges *r, const struct hp_ranges_plan *plan)
{
    if (!plan->simple || plan->slots & ~r->frame || plan->lowest < r->frame_low)
        return false;
    if (plan->home != HP_RANGES_MAX && !(r->steady >> plan->home & 1))
        return false;
    if (plan->heads) {
        struct hp_ranges_live *live = &r->live[r->n_live - 1];
        while (live->slot != plan->home)
            live--;
        if (!live->counted || live->current + plan->heads >= HP_RANGES_CURRENT)
            return false;
        live->current += plan->heads;
    }
    if (plan->home == r->charged && !r->aside)
        r->insns += plan->insns;
    else
        hp_loop_ranges_charge(r, plan->home, plan->insns);
    r->stats->branches += plan->backs;
    if (plan->to) {
        r->jump_from = plan->from;
        r->jump_to = plan->to;
    }
    return true;
}

static void run_unit(struct hp_loop_ranges *r, const struct hp_code *code, uint32_t unit,
                     uint64_t next)
{
    struct hp_ranges_plan *plan = &r->plans[unit];
    uint32_t n;
    if (__builtin_expect(plan->generation != r->generation, 0)) {
        if (!is_planned(r, code, unit))
            plan_unit(r, code, unit, plan);
        plan->generation = r->generation;
    }
    if (__builtin_expect(!run_simple(r, plan), 0)) {
        const uint32_t *ids = hp_code_unit(code, unit, &n);
        run_blocks(r, code, ids, n, next, false);
        return;
    }
    if (next == plan->fall)
        return;
    if (next == plan->low && next >= r->frame_low) {
        r->stats->branches++;
        return;
    }
    const uint32_t *ids = hp_code_unit(code, unit, &n);
    const struct hp_block *last = hp_code_block(code, ids[n - 1]);
    hp_loop_ranges_transfer(r, last->last, next, last->flow,
                            hp_sbb_depth(last->flow, next, last->end));
}

enum hp_err hp_loop_ranges_steps(struct hp_loop_ranges *r, const struct hp_code *code,
                                 const struct hp_step *steps, size_t n)
{
    const struct hp_block *table = hp_code_blocks(code);
    uint32_t blocks;
    HP_TRY(hp_grow(&r->plans, &r->cap_plans, hp_code_n_units(code), sizeof *r->plans));
    HP_TRY(hp_grow(&r->blocks, &r->cap_blocks, hp_code_n_blocks(code), sizeof *r->blocks));
    for (size_t i = 0; i < n; i++)
        run_unit(r, code, steps[i].unit, table[steps[i + 1].first].start);
    const uint32_t *ids = hp_code_unit(code, steps[n].unit, &blocks);
    run_blocks(r, code, ids, blocks, 0, true);
    return HP_OK;
}
