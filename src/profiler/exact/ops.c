// SPDX-License-Identifier: MIT
#include "profiler/exact/ops.h"

#include "base/grow.h"
#include "profiler/exact/contexts.h"

/* --- What is not known ------------------------------------------------------------------------ */

void hp_ops_learned(struct hp_exact *exact, uint32_t block)
{
    exact->learned++;
    for (uint32_t i = exact->reliance_of[block]; i; i = exact->reliances[i - 1].next) {
        uint32_t unit = exact->reliances[i - 1].unit;
        for (size_t k = 0; k < exact->n_threads; k++)
            if (unit < exact->threads[k]->n_cells)
                exact->threads[k]->cells[unit].watch |= HP_WATCH_INNER | HP_WATCH_NEW;
    }
    exact->reliance_of[block] = 0;
}

/* The unit relies on what is not known about the block; false: out of memory. */
static bool rely(struct hp_exact *exact, uint32_t unit, uint32_t block)
{
    uint32_t first = exact->reliance_of[block];
    if (first && exact->reliances[first - 1].unit == unit)
        return true;
    if (hp_grow(&exact->reliances, &exact->cap_reliances, exact->n_reliances + 1,
                sizeof *exact->reliances) != HP_OK) {
        exact->out_of_memory = true;
        return false;
    }
    exact->reliances[exact->n_reliances++] = (struct hp_reliance){.unit = unit, .next = first};
    exact->reliance_of[block] = (uint32_t)exact->n_reliances;
    return true;
}

/* --- Transfers -------------------------------------------------------------------------------- */

/* The function that the block of a call or jump belongs to, for `caller` of its operation. */
static bool resolve_caller(struct hp_exact_thread *t, uint32_t unit, struct hp_exact_op *op)
{
    op->caller = hp_exact_function_of(t, op->from);
    return op->caller != HP_NO_ID || rely(t->exact, unit, op->from);
}

static enum hp_op_does resolve_call(struct hp_exact_thread *t, uint32_t unit,
                                    struct hp_exact_op *op)
{
    op->expects = t->exact->spots[op->from].end;
    op->function = hp_exact_function_of(t, op->to);
    if (t->exact->spots[op->to].start == op->expects)
        return HP_DOES_NOTHING;
    return op->function != HP_NO_ID && resolve_caller(t, unit, op) ? HP_DOES_CALL : HP_DOES_SHOW;
}

/* A jump to a block whose function is not known. */
static enum hp_op_does resolve_unknown(struct hp_exact_thread *t, uint32_t unit, bool inside,
                                       struct hp_exact_op *op)
{
    const struct hp_stack_block *from = &t->exact->spots[op->from];
    bool computed = from->flow == HP_FLOW_JUMP_IND;
    if ((computed && !inside && t->cells[from->unit].insns <= HP_STUB_INSNS) ||
        (from->module != t->exact->spots[op->to].module && !t->exact->spots[op->to].returned_to) ||
        !rely(t->exact, unit, op->to))
        return HP_DOES_SHOW;
    op->function = computed ? t->exact->homes[op->to] : HP_NO_ID;
    return op->function == HP_NO_ID ? HP_DOES_NOTHING : HP_DOES_STAY;
}

static enum hp_op_does resolve_jump(struct hp_exact_thread *t, uint32_t unit, bool inside,
                                    struct hp_exact_op *op)
{
    op->function = hp_exact_function_of(t, op->to);
    if (op->function == HP_NO_ID)
        return resolve_unknown(t, unit, inside, op);
    bool computed = t->exact->spots[op->from].flow == HP_FLOW_JUMP_IND;
    bool entry = t->exact->spots[op->to].entry;
    if (!resolve_caller(t, unit, op))
        return HP_DOES_SHOW;
    if (op->caller == op->function)
        return computed ? HP_DOES_STAY : HP_DOES_NOTHING;
    if (!entry)
        op->caller = HP_CONTEXT_NO_CALL;
    return entry || !computed ? HP_DOES_TAIL : HP_DOES_STAY;
}

void hp_ops_resolve(struct hp_exact_thread *t, uint32_t unit, uint32_t from, uint32_t to,
                    bool inside, struct hp_exact_op *op)
{
    op->from = from;
    op->to = to;
    switch (t->exact->spots[from].flow) {
    case HP_FLOW_CALL:
    case HP_FLOW_CALL_IND: op->does = (uint8_t)resolve_call(t, unit, op); break;
    case HP_FLOW_RETURN:
        op->expects = t->exact->spots[to].start;
        op->does = t->exact->spots[from].may_not_go ? HP_DOES_SHOW : HP_DOES_RETURN;
        break;
    case HP_FLOW_JUMP:
    case HP_FLOW_COND:
    case HP_FLOW_JUMP_IND: op->does = (uint8_t)resolve_jump(t, unit, inside, op); break;
    default: op->does = HP_DOES_SHOW;
    }
}
