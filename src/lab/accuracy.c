// SPDX-License-Identifier: MIT
#include "lab/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The exact loops -------------------------------------------------------------------------- */

struct hp_lab_closing {
    uint64_t branch, target;
    size_t loop;
};

static int compare_closings(const void *left, const void *right)
{
    const struct hp_lab_closing *a = left, *b = right;
    if (a->branch != b->branch)
        return a->branch < b->branch ? -1 : 1;
    return a->target < b->target ? -1 : a->target > b->target;
}

static bool is_short(const struct hp_exact_back_edge *edge)
{
    return edge->target <= edge->branch && edge->branch - edge->target < HP_LAB_SHORT;
}

static void add_loop(struct hp_lab_loops *loops, const struct hp_exact_loop *exact, size_t i)
{
    const struct hp_exact_loop *e = &exact[i];
    struct hp_lab_loop *loop = &loops->loops[i];
    loop->own += e->counts.self; /* what is nested in it took its part off before, or will */
    loop->executions = e->counts.executions;
    loop->back_edges = e->counts.back_edges;
    loop->calls = e->counts.inclusive > e->counts.self;
    if (e->parent != HP_NO_ID)
        loops->loops[e->parent].own -= e->counts.self;
    for (size_t k = 0; k < e->n_back_edges; k++) {
        const struct hp_exact_back_edge *edge = &e->back_edges[k];
        loop->seen |= is_short(edge);
        loops->closings[loops->n_closings++] =
            (struct hp_lab_closing){edge->branch, edge->target, i};
    }
}

enum hp_err hp_lab_loops_init(struct hp_lab_loops *loops, const struct hp_exact_loop *exact,
                              size_t n, uint64_t instructions)
{
    size_t edges = 0;
    for (size_t i = 0; i < n; i++)
        edges += exact[i].n_back_edges;
    *loops = (struct hp_lab_loops){.n = n, .instructions = instructions};
    loops->loops = calloc(n + 1, sizeof *loops->loops);
    loops->closings = calloc(edges + 1, sizeof *loops->closings);
    if (!loops->loops || !loops->closings) {
        hp_lab_loops_fini(loops);
        return hp_fail_nomem();
    }
    for (size_t i = 0; i < n; i++)
        add_loop(loops, exact, i);
    qsort(loops->closings, loops->n_closings, sizeof *loops->closings, compare_closings);
    return HP_OK;
}

void hp_lab_loops_fini(struct hp_lab_loops *loops)
{
    free(loops->loops);
    free(loops->closings);
    *loops = (struct hp_lab_loops){0};
}

static bool is_chosen(const struct hp_lab_loop *loop, enum hp_lab_choice choice)
{
    return choice == HP_LAB_ALL || (loop->seen && !(choice == HP_LAB_CALM && loop->calls));
}

/* Puts `i` where its weight belongs among the heaviest so far, which weigh `weights`; returns how many there are now. */
static size_t insert(size_t top[HP_LAB_TOP], double weights[HP_LAB_TOP], size_t n, size_t i,
                     double weight)
{
    size_t k = n;
    while (k > 0 && weights[k - 1] < weight)
        k--;
    if (k == HP_LAB_TOP)
        return n;
    size_t kept = n < HP_LAB_TOP ? n : HP_LAB_TOP - 1;
    memmove(&top[k + 1], &top[k], (kept - k) * sizeof *top);
    memmove(&weights[k + 1], &weights[k], (kept - k) * sizeof *weights);
    top[k] = i;
    weights[k] = weight;
    return kept + 1;
}

size_t hp_lab_loops_top(const struct hp_lab_loops *loops, enum hp_lab_choice choice,
                        size_t top[HP_LAB_TOP])
{
    double weights[HP_LAB_TOP];
    size_t n = 0;
    for (size_t i = 0; i < loops->n; i++)
        if (is_chosen(&loops->loops[i], choice))
            n = insert(top, weights, n, i, (double)loops->loops[i].own);
    return n;
}

/* --- What a model says ------------------------------------------------------------------------ */

static size_t loop_of(const struct hp_lab_loops *loops, const struct hp_loop_entry *entry)
{
    const struct hp_lab_closing key = {entry->address, entry->target, 0},
                                *found = bsearch(&key, loops->closings, loops->n_closings,
                                                 sizeof key, compare_closings);
    return found ? found->loop : loops->n;
}

enum hp_err hp_lab_report_init(struct hp_lab_report *report, const struct hp_lab_loops *loops,
                               const struct hp_loop_entry *entries, size_t n)
{
    double weights[HP_LAB_TOP];
    *report = (struct hp_lab_report){0};
    report->said = calloc(loops->n + 1, sizeof *report->said);
    if (!report->said)
        return hp_fail_nomem();
    for (size_t k = 0; k < n; k++) {
        const struct hp_loop_entry *entry = &entries[k];
        size_t i = loop_of(loops, entry);
        struct hp_lab_said *said = &report->said[i];
        report->all += entry->instructions;
        if (i == loops->n) {
            report->n_heaviest =
                insert(report->heaviest, weights, report->n_heaviest, i, entry->instructions);
            continue;
        }
        said->reported = true;
        said->iterations += entry->iterations;
        said->instructions += entry->instructions;
        said->executions = fmax(said->executions, entry->executions);
    }
    for (size_t i = 0; i < loops->n; i++)
        if (report->said[i].reported)
            report->n_heaviest = insert(report->heaviest, weights, report->n_heaviest, i,
                                        report->said[i].instructions);
    return HP_OK;
}

void hp_lab_report_fini(struct hp_lab_report *report)
{
    free(report->said);
    *report = (struct hp_lab_report){0};
}

/* --- Measures --------------------------------------------------------------------------------- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

void hp_lab_errors(const struct hp_lab_loops *loops, const struct hp_lab_report *report,
                   enum hp_lab_choice choice, double whole, struct hp_lab_errors *errors)
{
    size_t top[HP_LAB_TOP], n = hp_lab_loops_top(loops, choice, top);
    double executions = 0, said_executions = 0, averages = 0, off = 0;
    *errors = (struct hp_lab_errors){(double)NAN, (double)NAN, (double)NAN};
    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++) {
        executions += (double)loops->loops[top[k]].executions;
        said_executions += report->said[top[k]].executions;
    }
    errors->executions = errors->time = 0;
    for (size_t k = 0; k < n; k++) {
        const struct hp_lab_loop *loop = &loops->loops[top[k]];
        const struct hp_lab_said *said = &report->said[top[k]];
        double average = ratio((double)loop->back_edges, (double)loop->executions);
        averages += average;
        off += fabs(ratio(said->iterations, said->executions) - average);
        errors->executions += fabs(ratio(said->executions, said_executions) -
                                   ratio((double)loop->executions, executions)) *
                              100 / (double)n;
        errors->time += fabs(ratio(said->instructions, whole) -
                             ratio((double)loop->own, (double)loops->instructions)) *
                        100 / (double)n;
    }
    errors->iterations = 100 * ratio(off, averages);
}

double hp_lab_captured(const struct hp_lab_loops *loops, const struct hp_lab_report *report)
{
    double own = 0;
    for (size_t k = 0; k < report->n_heaviest; k++)
        if (report->heaviest[k] < loops->n)
            own += (double)loops->loops[report->heaviest[k]].own;
    return 100 * ratio(own, (double)loops->instructions);
}

double hp_lab_captured_all(const struct hp_lab_loops *loops, const struct hp_lab_report *report)
{
    double own = 0;
    for (size_t i = 0; i < loops->n; i++)
        if (report->said[i].reported)
            own += (double)loops->loops[i].own;
    return 100 * ratio(own, (double)loops->instructions);
}
