// SPDX-License-Identifier: MIT
#include "diff/gate.h"

#include "base/base.h"
#include "diff/baseline.h"

/* Whether `to` is more than `limit` percent of `whole` above `from`. */
static bool is_above(uint64_t from, uint64_t to, double limit, uint64_t whole)
{
    return limit >= 0 && to > from &&
           (long double)(to - from) * 100.0L > (long double)limit * (long double)whole;
}

bool hp_gate_exceeds(const struct hp_gate *gate, enum hp_total total)
{
    uint64_t old = gate->diff->old->totals[total], new = gate->diff->new->totals[total];
    return hp_diff_has(gate->diff, total) && is_above(old, new, gate->limits.totals[total], old);
}

static void judge_totals(struct hp_gate *gate)
{
    for (enum hp_total i = 0; i < HP_TOTALS; i++) {
        uint64_t old = gate->diff->old->totals[i], new = gate->diff->new->totals[i];
        if (hp_gate_exceeds(gate, i))
            gate->verdict = HP_GATE_REGRESSED;
        /* A fall is measured by the same number of instructions as a rise. */
        else if (gate->verdict == HP_GATE_WITHIN && hp_diff_has(gate->diff, i) &&
                 is_above(new, old, gate->limits.totals[i], old))
            gate->verdict = HP_GATE_IMPROVED;
    }
}

/* What is too small for a baseline may have been there: it counts as others. */
static bool is_listed(const struct hp_digest *old, const struct hp_change *f)
{
    if (f->old != HP_PROFILE_NONE)
        return strcmp(old->functions[f->old].name, HP_BASELINE_REST) != 0 && f->delta != 0;
    return f->after > 2 * (old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART);
}

static void judge_functions(struct hp_gate *gate)
{
    const struct hp_diff *diff = gate->diff;
    gate->rest = hp_delta(diff->old->totals[HP_TOTAL_INSTRUCTIONS],
                          diff->new->totals[HP_TOTAL_INSTRUCTIONS]);
    for (size_t i = 0; i < diff->functions.n; i++) {
        const struct hp_change *f = &diff->functions.items[i];
        /* A new one has nothing to be compared with. */
        bool exceeded = f->old != HP_PROFILE_NONE &&
                        is_above(f->before, f->after, gate->limits.functions, f->before);
        if (!is_listed(diff->old, f))
            continue;
        gate->rest -= f->delta;
        gate->functions[gate->n_functions++] = (struct hp_gate_function){f, exceeded};
        if (exceeded)
            gate->verdict = HP_GATE_REGRESSED;
    }
}

enum hp_err hp_gate_make(const struct hp_diff *diff, const struct hp_gate_limits *limits,
                         struct hp_gate **made)
{
    struct hp_gate *gate = *made =
        calloc(1, sizeof *gate + diff->functions.n * sizeof *gate->functions);
    if (!gate)
        return hp_fail_nomem();
    gate->diff = diff;
    gate->limits = *limits;
    judge_totals(gate);
    judge_functions(gate);
    return HP_OK;
}
