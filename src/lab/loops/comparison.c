// SPDX-License-Identifier: MIT
#include "lab/loops/comparison.h"

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

static bool is_short(uint64_t branch, uint64_t target)
{
    return target <= branch && branch - target < HP_LAB_SHORT;
}

static enum hp_err add_loop(struct hp_lab_loops *loops, const struct hp_exact_loop *exact, size_t i)
{
    const struct hp_exact_loop *e = &exact[i];
    struct hp_lab_loop *loop = &loops->loops[i];
    loop->own += e->counts.self; /* nested loops subtract their part */
    loop->executions = e->counts.executions - e->once;
    loop->back_edges = e->counts.back_edges;
    loop->parent = e->parent;
    loop->header = e->n_back_edges ? e->back_edges[0].target : 0;
    loop->goes = e->counts.back_edges >= e->counts.executions;
    loop->calls = e->counts.inclusive > e->counts.self;
    if (e->parent != HP_NO_ID)
        loops->loops[e->parent].own -= e->counts.self;
    for (size_t k = 0; k < e->n_back_edges; k++) {
        const struct hp_exact_back_edge *edge = &e->back_edges[k];
        loop->closed |= is_short(edge->branch, edge->target);
        loops->closings[loops->n_closings++] =
            (struct hp_lab_closing){edge->branch, edge->target, i};
    }
    for (size_t k = 0; k < e->n_nodes; k++) /* nested loops overwrite theirs later */
        HP_TRY(hp_map64_put(&loops->loop_at, hp_code_block(loops->code, e->nodes[k])->start,
                            (uint32_t)i));
    return HP_OK;
}

static enum hp_err add_blocks(struct hp_lab_loops *loops)
{
    for (uint32_t b = 0; b < hp_code_n_blocks(loops->code); b++) {
        const struct hp_block *block = hp_code_block(loops->code, b);
        uint32_t other = hp_map64_get(&loops->block_of, block->last);
        if (other == HP_MAP64_NONE || hp_code_block(loops->code, other)->start < block->start)
            HP_TRY(hp_map64_put(&loops->block_of, block->last, b));
    }
    return HP_OK;
}

static void find_seen(struct hp_lab_loops *loops)
{
    for (uint32_t b = 0; b < hp_code_n_blocks(loops->code); b++) {
        const struct hp_block *block = hp_code_block(loops->code, b);
        if (block->target && is_short(block->last, block->target) &&
            (block->flow == HP_FLOW_JUMP || block->flow == HP_FLOW_COND)) {
            size_t i = hp_lab_loops_find(loops, block->last, block->target);
            if (i < loops->n)
                loops->loops[i].seen = true;
        }
    }
}

enum hp_err hp_lab_loops_init(struct hp_lab_loops *loops, const struct hp_code *code,
                              const struct hp_exact_loop *exact, size_t n, uint64_t instructions)
{
    size_t edges = 0;
    enum hp_err err = HP_OK;
    for (size_t i = 0; i < n; i++)
        edges += exact[i].n_back_edges;
    *loops = (struct hp_lab_loops){.n = n, .instructions = instructions, .code = code};
    loops->loops = calloc(n + 1, sizeof *loops->loops);
    loops->closings = calloc(edges + 1, sizeof *loops->closings);
    if (!loops->loops || !loops->closings)
        err = hp_fail_nomem();
    for (size_t i = 0; i < n && err == HP_OK; i++)
        err = add_loop(loops, exact, i);
    if (err == HP_OK)
        err = add_blocks(loops);
    if (err != HP_OK) {
        hp_lab_loops_fini(loops);
        return err;
    }
    qsort(loops->closings, loops->n_closings, sizeof *loops->closings, compare_closings);
    find_seen(loops);
    return HP_OK;
}

void hp_lab_loops_fini(struct hp_lab_loops *loops)
{
    free(loops->loops);
    free(loops->closings);
    hp_map64_fini(&loops->loop_at);
    hp_map64_fini(&loops->block_of);
    *loops = (struct hp_lab_loops){0};
}

_Static_assert(HP_MAP64_NONE == HP_NO_ID, "a block in no loop");

/* The innermost loop that contains both; HP_NO_ID: none. Nested loops come later. */
static uint32_t common_loop(const struct hp_lab_loops *loops, uint32_t a, uint32_t b)
{
    while (a != b && a != HP_NO_ID && b != HP_NO_ID)
        if (a > b)
            a = loops->loops[a].parent;
        else
            b = loops->loops[b].parent;
    return a == b ? a : HP_NO_ID;
}

static const struct hp_lab_closing *find_closing(const struct hp_lab_loops *loops, uint64_t branch,
                                                 uint64_t target)
{
    const struct hp_lab_closing key = {.branch = branch, .target = target};
    return bsearch(&key, loops->closings, loops->n_closings, sizeof key, compare_closings);
}

size_t hp_lab_loops_find(const struct hp_lab_loops *loops, uint64_t branch, uint64_t target)
{
    const struct hp_lab_closing *closing = find_closing(loops, branch, target);
    uint32_t block = hp_map64_get(&loops->block_of, branch);
    if (closing || block == HP_MAP64_NONE)
        return closing ? closing->loop : loops->n;
    uint32_t from = hp_map64_get(&loops->loop_at, hp_code_block(loops->code, block)->start);
    uint32_t i = common_loop(loops, from, hp_map64_get(&loops->loop_at, target));
    return i != HP_NO_ID && (!loops->loops[i].closed || loops->loops[i].header == target)
               ? i
               : loops->n;
}

static bool is_chosen(const struct hp_lab_loops *loops, const struct hp_lab_loop *loop,
                      enum hp_lab_choice choice)
{
    bool hot = loop->goes && (double)loop->own >= HP_LAB_SHARE * (double)loops->instructions;
    switch (choice) {
    case HP_LAB_ANY: return true;
    case HP_LAB_HOT: return hot;
    case HP_LAB_SEEN: return hot && loop->seen;
    case HP_LAB_CALM: return hot && loop->seen && !loop->calls;
    }
    return false;
}

/* Inserts `i` by its weight among the heaviest so far, whose weights are `weights`; returns how
 * many there are now. */
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
        if (is_chosen(loops, &loops->loops[i], choice))
            n = insert(top, weights, n, i, (double)loops->loops[i].own);
    return n;
}

/* --- A model's report ------------------------------------------------------------------------- */

/* Marks the loops whose header is the target of an entry. */
static void find_named(struct hp_lab_report *report, const struct hp_lab_loops *loops,
                       const struct hp_loop_entry *entries, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = hp_lab_loops_find(loops, entries[k].address, entries[k].target);
        if (i < loops->n && loops->loops[i].header == entries[k].target)
            report->said[i].named = true;
    }
}

/* The loop of an entry. An entry inside a loop stands for it only where none has its header. */
static size_t find_loop(const struct hp_lab_report *report, const struct hp_lab_loops *loops,
                        const struct hp_loop_entry *entry)
{
    size_t i = hp_lab_loops_find(loops, entry->address, entry->target);
    if (i < loops->n && report->said[i].named && loops->loops[i].header != entry->target &&
        !find_closing(loops, entry->address, entry->target))
        return loops->n;
    return i;
}

enum hp_err hp_lab_report_init(struct hp_lab_report *report, const struct hp_lab_loops *loops,
                               const struct hp_loop_entry *entries, size_t n)
{
    double weights[HP_LAB_TOP];
    *report = (struct hp_lab_report){0};
    report->said = calloc(loops->n + 1, sizeof *report->said);
    if (!report->said)
        return hp_fail_nomem();
    find_named(report, loops, entries, n);
    for (size_t k = 0; k < n; k++) {
        const struct hp_loop_entry *entry = &entries[k];
        size_t i = find_loop(report, loops, entry);
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
