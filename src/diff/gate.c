// SPDX-License-Identifier: MIT
#include "diff/gate.h"

#include "diff/baseline.h"
#include "report/tables.h"
#include "text/number.h"

#include <stdlib.h>
#include <string.h>

const char *hp_gate_verdict_name(enum hp_gate_verdict verdict)
{
    static const char *const names[] = {"within", "improvement", "regression"};
    return names[verdict];
}

/* --- Judging ---------------------------------------------------------------------------------- */

bool hp_gate_has(const struct hp_gate *gate, enum hp_total total)
{
    const struct hp_digest *old = gate->diff->old, *new = gate->diff->new;
    return old->known[total] && new->known[total] &&
           (total < HP_TOTAL_CYCLES || strcmp(old->machine, new->machine) == 0);
}

/* Whether `to` is more than `limit` percent above `from`. */
static bool is_above(uint64_t from, uint64_t to, double limit)
{
    return limit >= 0 && to > from &&
           (long double)(to - from) * 100.0L > (long double)limit * (long double)from;
}

bool hp_gate_exceeds(const struct hp_gate *gate, enum hp_total total, bool down)
{
    uint64_t old = gate->diff->old->totals[total], new = gate->diff->new->totals[total];
    double limit = gate->limits.totals[total];
    if (!hp_gate_has(gate, total) || limit < 0)
        return false;
    /* A fall is measured by the same number of instructions as a rise. */
    return down ? new < old &&
                      (long double)(old - new) * 100.0L > (long double)limit *(long double)old
                : is_above(old, new, limit);
}

/* What is too small for a baseline may have been there: it counts as others. */
static bool is_listed(const struct hp_gate *gate, const struct hp_diff_function *f)
{
    const struct hp_digest *old = gate->diff->old;
    uint64_t part = old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
    if (f->old != HP_PROFILE_NONE)
        return strcmp(old->functions[f->old].name, HP_BASELINE_REST) != 0 && f->delta != 0;
    return f->after > 2 * part;
}

static void judge_functions(struct hp_gate *gate)
{
    const struct hp_diff *diff = gate->diff;
    int64_t listed = 0;
    for (uint32_t i = 0; i < diff->n_functions; i++) {
        const struct hp_diff_function *f = &diff->functions[i];
        if (!is_listed(gate, f))
            continue;
        listed += f->delta;
        gate->functions[gate->n_functions++] = (struct hp_gate_function){
            .function = i,
            /* A new one has nothing to be compared with. */
            .exceeded =
                f->old != HP_PROFILE_NONE && is_above(f->before, f->after, gate->limits.functions),
        };
        if (gate->functions[gate->n_functions - 1].exceeded)
            gate->verdict = HP_GATE_REGRESSED;
    }
    gate->rest = hp_delta(diff->old->totals[HP_TOTAL_INSTRUCTIONS],
                          diff->new->totals[HP_TOTAL_INSTRUCTIONS]) -
                 listed;
}

static void judge_totals(struct hp_gate *gate)
{
    for (int i = 0; i < HP_TOTALS; i++) {
        if (hp_gate_exceeds(gate, (enum hp_total)i, false))
            gate->verdict = HP_GATE_REGRESSED;
        else if (hp_gate_exceeds(gate, (enum hp_total)i, true) && gate->verdict == HP_GATE_WITHIN)
            gate->verdict = HP_GATE_IMPROVED;
    }
}

static void note(struct hp_gate *gate, const char *what, const char *old, const char *new)
{
    if (strcmp(old, new) != 0 && gate->n_differences < HP_GATE_DIFFERENCES)
        gate->differences[gate->n_differences++] = (struct hp_gate_difference){what, old, new};
}

enum hp_err hp_gate_make(const struct hp_diff *diff, const struct hp_gate_limits *limits,
                         struct hp_gate **made)
{
    struct hp_gate *gate = calloc(1, sizeof *gate);
    if (gate)
        gate->functions = calloc(diff->n_functions + 1, sizeof *gate->functions);
    if (!gate || !gate->functions) {
        free(gate);
        return hp_fail_nomem();
    }
    gate->diff = diff;
    gate->limits = *limits;
    judge_totals(gate);
    judge_functions(gate);
    const struct hp_digest *old = diff->old, *new = diff->new;
    note(gate, "command", old->command, new->command);
    note(gate, "hotpath", old->version, new->version);
    note(gate, "engine", old->engine, new->engine);
    note(gate, "arch", old->arch, new->arch);
    note(gate, "cpu", old->cpu, new->cpu);
    note(gate, "libc", old->libc, new->libc);
    note(gate, "machine", old->machine, new->machine);
    note(gate, "modules", old->modules, new->modules);
    *made = gate;
    return HP_OK;
}

void hp_gate_free(struct hp_gate *gate)
{
    if (!gate)
        return;
    free(gate->functions);
    free(gate);
}

/* --- Why -------------------------------------------------------------------------------------- */

/* "12", "0.5" */
static void put_rate(struct hp_strbuf *text, double rate)
{
    char number[HP_NUMBER_SIZE];
    size_t n = hp_number_fixed(number, rate, 1);
    if (n > 2 && strcmp(number + n - 2, ".0") == 0)
        number[n - 2] = 0;
    hp_strbuf_add(text, number);
}

static void put_calls(struct hp_strbuf *text, uint64_t old_calls, uint64_t new_calls, uint64_t old,
                      uint64_t new)
{
    if (old_calls == new_calls) {
        hp_strbuf_add(text, "called as often");
    } else {
        hp_strbuf_add(text, "called ");
        hp_strbuf_grouped(text, new_calls);
        hp_strbuf_add(text, " times, not ");
        hp_strbuf_grouped(text, old_calls);
    }
    if (old_calls == 0 || new_calls == 0)
        return;
    double before = (double)old / (double)old_calls, after = (double)new / (double)new_calls;
    double more = after - before;
    if (more > -0.05 && more < 0.05) {
        hp_strbuf_add(text, ", as many instructions a call");
        return;
    }
    hp_strbuf_add(text, ", ");
    put_rate(text, more < 0 ? -more : more);
    hp_strbuf_add(text, more < 0 ? " fewer" : " more");
    hp_strbuf_add(text, " instructions a call");
}

/* The line that most of the change is at. A line that the baseline does not have may have been
 * below what it keeps. */
static void put_line(const struct hp_gate *gate, uint32_t function, struct hp_strbuf *text)
{
    const struct hp_diff *diff = gate->diff;
    uint64_t part = diff->old->totals[HP_TOTAL_INSTRUCTIONS] / HP_BASELINE_PART;
    int64_t delta = diff->functions[function].delta;
    for (size_t i = 0; i < diff->n_lines; i++) {
        const struct hp_diff_line *l = &diff->lines[i];
        if (l->function != function || l->new == HP_PROFILE_NONE)
            continue;
        const struct hp_dline *line = &diff->new->lines[l->new];
        uint64_t sure = hp_change(l->delta);
        if (l->old == HP_PROFILE_NONE)
            sure = sure > part ? sure - part : 0;
        if (line->line == 0 || (l->delta < 0) != (delta < 0) || sure < hp_change(delta) / 2)
            continue;
        hp_strbuf_add(text,
                      sure >= hp_change(delta) - hp_change(delta) / 10 ? ", at " : ", most at ");
        hp_strbuf_clean(text, hp_base_name(line->file));
        hp_strbuf_add(text, ":");
        hp_strbuf_uint(text, line->line);
        return;
    }
}

void hp_gate_why(const struct hp_gate *gate, uint32_t function, struct hp_strbuf *text)
{
    const struct hp_diff *diff = gate->diff;
    const struct hp_diff_function *f = &diff->functions[function];
    const struct hp_dfunction *old =
        f->old == HP_PROFILE_NONE ? NULL : &diff->old->functions[f->old];
    const struct hp_dfunction *new =
        f->new == HP_PROFILE_NONE ? NULL : &diff->new->functions[f->new];
    if (!new) {
        hp_strbuf_add(text, f->inlined == HP_PROFILE_NONE ? "gone" : "gone: inlined in ");
        if (f->inlined != HP_PROFILE_NONE)
            hp_strbuf_clean(text, diff->new->functions[f->inlined].name);
        return;
    }
    if (!old) {
        hp_strbuf_add(text, "new, called ");
        hp_strbuf_grouped(text, new->calls);
        hp_strbuf_add(text, new->calls == 1 ? " time" : " times");
        return;
    }
    if (f->how == HP_DIFF_RENAMED) {
        hp_strbuf_add(text, "was ");
        hp_strbuf_clean(text, old->name);
        hp_strbuf_add(text, "?, ");
    }
    put_calls(text, old->calls, new->calls, f->before, f->after);
    put_line(gate, function, text);
}
