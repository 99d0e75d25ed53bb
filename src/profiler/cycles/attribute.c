// SPDX-License-Identifier: MIT
#include "profiler/cycles/attribute.h"

#include "base/grow.h"

#include <stdlib.h>

void hp_attributor_init(struct hp_attributor *attributor, uint64_t front_stages)
{
    *attributor =
        (struct hp_attributor){.front_stages = front_stages, .last = HP_NO_ID, .begins = true};
}

void hp_attributor_fini(struct hp_attributor *attributor)
{
    free(attributor->windows);
}

/* --- Attribution ------------------------------------------------------------------------------ */

static void give(struct hp_attributor *a, struct hp_cycles_row *rows, uint32_t insn,
                 enum hp_cause cause, uint64_t parts)
{
    if (insn == HP_NO_ID)
        return;
    rows[insn].parts[cause] += parts;
    a->windows[a->n_windows - 1].parts += parts;
}

/* The cycles from `from` up to, not including, `to`, if any. */
static void give_cycles(struct hp_attributor *a, struct hp_cycles_row *rows, uint32_t insn,
                        enum hp_cause cause, uint64_t from, uint64_t to)
{
    if (from < to)
        give(a, rows, insn, cause, (to - from) * HP_CYCLE_PARTS);
}

/* Divides the cycle in which the latest group retired among its instructions; the first one gets
 * the remainder. */
static void share_out(struct hp_attributor *a, struct hp_cycles_row *rows)
{
    uint32_t n = a->n_group;
    if (!n)
        return;
    uint64_t share = HP_CYCLE_PARTS / n;
    give(a, rows, a->group[0], HP_CAUSE_RETIRE, HP_CYCLE_PARTS - share * (n - 1));
    for (uint32_t i = 1; i < n; i++)
        give(a, rows, a->group[i], HP_CAUSE_RETIRE, share);
    a->n_group = 0;
}

/* --- Stalls ----------------------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Cycles without anything of the right path in the reorder buffer: `t` was not mapped yet. */
static void front_stall(struct hp_attributor *a, struct hp_cycles_row *rows,
                        const struct hp_timing *t, uint32_t insn, uint64_t from, uint64_t to)
{
    if (a->mispredicted) {
        give_cycles(a, rows, a->last, HP_CAUSE_MISPREDICT, from, to);
        return;
    }
    if (a->trapped) {
        give_cycles(a, rows, insn, HP_CAUSE_TRAP, from, to);
        return;
    }
    if (t->events & HP_TIMING_SERIAL) {
        uint64_t there = larger(from, t->fetched + a->front_stages);
        give_cycles(a, rows, insn, HP_CAUSE_SERIAL, there, to);
        to = smaller(to, there);
    }
    enum hp_cause cause = t->events & HP_TIMING_L1I    ? HP_CAUSE_L1I
                          : t->events & HP_TIMING_ITLB ? HP_CAUSE_ITLB
                                                       : HP_CAUSE_FETCH;
    give_cycles(a, rows, insn, cause, from, to);
}

/* A near result would have been in time if it had not started so late: the cause is what delayed
 * its start. */
static enum hp_cause late(const struct hp_timing *t, enum hp_cause cause)
{
    return t->events & HP_TIMING_SERIAL ? HP_CAUSE_SERIAL : cause;
}

/* A value forwarded from a store in flight takes no longer than one from the L1, wherever its line
 * is. */
static enum hp_cause cause_of_load(const struct hp_timing *t)
{
    uint8_t from = t->events & HP_TIMING_FORWARDED ? HP_FROM_NOWHERE : t->data_from;
    switch (from) {
    case HP_FROM_L2: return HP_CAUSE_L2;
    case HP_FROM_L3: return HP_CAUSE_L3;
    case HP_FROM_MEMORY: return HP_CAUSE_MEMORY;
    default: break;
    }
    if (from == HP_FROM_L1 && t->events & HP_TIMING_DTLB)
        return HP_CAUSE_DTLB;
    return late(t, t->events & HP_TIMING_BLOCKED ? HP_CAUSE_BLOCKED : HP_CAUSE_L1);
}

/* Cycles in which `t` was the oldest in the reorder buffer: up to its issue, its last load, its
 * completion, and after that. */
static void oldest_stall(struct hp_attributor *a, struct hp_cycles_row *rows,
                         const struct hp_timing *t, uint32_t insn, uint64_t from, uint64_t to)
{
    uint64_t done = larger(from, smaller(to, t->fetched + t->done));
    give_cycles(a, rows, insn, HP_CAUSE_QUEUE, done, to);
    uint64_t issued =
        t->issued == HP_NEVER ? from : larger(from, smaller(done, t->fetched + t->issued));
    give_cycles(a, rows, insn,
                late(t, t->events & HP_TIMING_BLOCKED ? HP_CAUSE_BLOCKED : HP_CAUSE_UNIT), from,
                issued);
    uint64_t loaded =
        t->loaded == HP_NEVER ? issued : larger(issued, smaller(done, t->fetched + t->loaded));
    give_cycles(a, rows, insn, cause_of_load(t), issued, loaded);
    give_cycles(a, rows, insn, late(t, HP_CAUSE_EXECUTE), loaded, done);
}

/* --- Retirement, in order --------------------------------------------------------------------- */

/* The first measured instruction, or the first after something not measured: earlier cycles do not
 * count, and its own begin with its fetch. */
static enum hp_err begin_window(struct hp_attributor *a, const struct hp_timing *t)
{
    HP_TRY(hp_grow(&a->windows, &a->cap_windows, a->n_windows + 1, sizeof *a->windows));
    a->windows[a->n_windows++] = (struct hp_cycles_window){0};
    a->next = larger(a->next, t->fetched);
    a->mispredicted = a->trapped = a->begins = false;
    return HP_OK;
}

static enum hp_err retire(struct hp_attributor *a, struct hp_cycles_row *rows,
                          const struct hp_timing *t)
{
    bool measured = t->events & HP_TIMING_MEASURED;
    uint32_t insn = measured ? t->insn : HP_NO_ID;
    uint64_t retired = t->fetched + t->left;
    if (retired >= a->next)
        share_out(a, rows);
    if (measured && a->begins)
        HP_TRY(begin_window(a, t));
    if (retired > a->next) {
        uint64_t mapped = larger(a->next, smaller(retired, t->fetched + t->mapped + 1));
        front_stall(a, rows, t, insn, a->next, mapped);
        oldest_stall(a, rows, t, insn, mapped, retired);
    }
    a->next = larger(a->next, retired + 1);
    if (a->n_group < HP_RETIRE_MAX)
        a->group[a->n_group++] = insn;
    if (measured)
        a->windows[a->n_windows - 1].instructions++;
    else
        a->begins = true;
    a->last = insn;
    a->mispredicted = t->events & HP_TIMING_MISPREDICTED;
    a->behind = a->trapped = false;
    return HP_OK;
}

enum hp_err hp_attributor_timings(struct hp_attributor *a, struct hp_cycles_row *rows,
                                  const struct hp_timing *timings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct hp_timing *t = &timings[i];
        if (!(t->events & HP_TIMING_MEASURED) || t->events & HP_TIMING_WINDOW) {
            a->unmeasured = true;
            a->begins |= (t->events & HP_TIMING_WINDOW) != 0;
        }
        if (!a->behind)
            a->trapped = t->events & HP_TIMING_TRAPPED;
        a->behind = true;
        if (t->events & HP_TIMING_RETIRED)
            HP_TRY(retire(a, rows, t));
    }
    return HP_OK;
}

void hp_attributor_end(struct hp_attributor *a, struct hp_cycles_row *rows)
{
    share_out(a, rows);
}
