// SPDX-License-Identifier: MIT
/*
 * Are instructions, and what is said of them, sound?
 */
#include "hotpath/cycles.h"
#include "profile/profile_memory.h"

static bool is_index(uint32_t index, size_t n)
{
    return index == HP_PROFILE_NONE || index < n;
}

static enum hp_err check_insn(const struct hp_profile *p, size_t i)
{
    const struct hp_pinsn *insn = &p->insns[i];
    if (!is_index(insn->place.module, p->n_modules) || !is_index(insn->function, p->n_functions))
        return hp_fail(HP_ERR_INVALID,
                       "instruction %zu is in a module or function that does not exist", i);
    if (insn->flow >= HP_FLOW_COUNT_ || insn->op >= HP_OP_COUNT_)
        return hp_fail(HP_ERR_INVALID, "instruction %zu has flow %u, class %u, which cannot be", i,
                       insn->flow, insn->op);
    return HP_OK;
}

/* Whether the parts are no more than what they are parts of. */
static bool tally_sound(const struct hp_pinsn_tally *t)
{
    const struct hp_insn_tally *tally = &t->tally;
    for (int i = 0; i < HP_INSN_EVENTS; i++)
        if (tally->events[i] > tally->retired)
            return false;
    return tally->retired <= tally->fetched && tally->wrong_path <= tally->fetched &&
           tally->trapped <= tally->fetched && t->useful <= t->pairs && t->near <= t->pairs;
}

static enum hp_err check_tally(const struct hp_profile *p, size_t i)
{
    if (p->insn_tallies[i].insn >= p->n_insns)
        return hp_fail(HP_ERR_INVALID, "tally %zu is of instruction %u, which does not exist", i,
                       p->insn_tallies[i].insn);
    if (!tally_sound(&p->insn_tallies[i]))
        return hp_fail(HP_ERR_INVALID, "tally %zu, of instruction %u, contradicts itself", i,
                       p->insn_tallies[i].insn);
    return HP_OK;
}

static enum hp_err check_cycles(const struct hp_profile *p, size_t i)
{
    if (p->insn_cycles[i].insn >= p->n_insns || p->insn_cycles[i].cause >= HP_CAUSES)
        return hp_fail(HP_ERR_INVALID,
                       "cycles %zu are of instruction %u and cause %u, which do not exist", i,
                       p->insn_cycles[i].insn, p->insn_cycles[i].cause);
    return HP_OK;
}

static enum hp_err check_attribution(const struct hp_profile *p, size_t i)
{
    if (p->attributions[i].insn >= p->n_insns)
        return hp_fail(HP_ERR_INVALID, "attribution %zu is to instruction %u, which does not exist",
                       i, p->attributions[i].insn);
    return HP_OK;
}

static enum hp_err check_wait(const struct hp_profile *p, size_t i)
{
    if (p->waits[i].insn >= p->n_insns || p->waits[i].producer >= p->n_insns)
        return hp_fail(HP_ERR_INVALID, "instruction %u waited for %u, which do not exist",
                       p->waits[i].insn, p->waits[i].producer);
    return HP_OK;
}

static enum hp_err check_sampler(const struct hp_profile *p, size_t i)
{
    if (p->samplers[i].interval == 0 || p->samplers[i].scale == 0)
        return hp_fail(HP_ERR_INVALID, "sampler %zu has an interval of %llu and a scale of %llu", i,
                       (unsigned long long)p->samplers[i].interval,
                       (unsigned long long)p->samplers[i].scale);
    return HP_OK;
}

static enum hp_err check_window(const struct hp_profile *p, size_t i)
{
    if (p->windows[i].thread >= p->n_threads)
        return hp_fail(HP_ERR_INVALID, "window %zu is of thread %u, which does not exist", i,
                       p->windows[i].thread);
    return HP_OK;
}

enum hp_err hp_insns_check_row(const struct hp_profile *p, enum hp_parray which, size_t i)
{
    switch (which) {
    case HP_PARRAY_INSNS: return check_insn(p, i);
    case HP_PARRAY_INSN_TALLIES: return check_tally(p, i);
    case HP_PARRAY_INSN_CYCLES: return check_cycles(p, i);
    case HP_PARRAY_ATTRIBUTIONS: return check_attribution(p, i);
    case HP_PARRAY_WAITS: return check_wait(p, i);
    case HP_PARRAY_SAMPLERS: return check_sampler(p, i);
    case HP_PARRAY_WINDOWS: return check_window(p, i);
    default: return HP_OK;
    }
}
