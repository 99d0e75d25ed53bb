// SPDX-License-Identifier: MIT
/*
 * Keeping what is right of a profile in which something is not.
 *
 * Row by row: what hp_profile_check() refuses loses the references that lead nowhere, where a row may do without them, or what contradicts itself; what is
 * still refused is left out. Then what belongs to rows that are left out is, too, and references get the new indices.
 */
#include "profile/profile_memory.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS(name) HP_PARRAY_##name

/* That rows of `from` refer to rows of `to`, by an index at `at`. */
struct reference {
    enum hp_parray from, to;
    size_t at;
    bool optional; /* HP_PROFILE_NONE: to none */
};

static const struct reference references[] = {
    {ROWS(FUNCTIONS), ROWS(MODULES), offsetof(struct hp_pfunction, place.module), true},
    {ROWS(BLOCKS), ROWS(MODULES), offsetof(struct hp_pblock, place.module), true},
    {ROWS(BLOCKS), ROWS(FUNCTIONS), offsetof(struct hp_pblock, function), true},
    {ROWS(EDGES), ROWS(MODULES), offsetof(struct hp_pedge, from.module), true},
    {ROWS(EDGES), ROWS(MODULES), offsetof(struct hp_pedge, to.module), true},
    {ROWS(CALLS), ROWS(FUNCTIONS), offsetof(struct hp_pcall, caller), true},
    {ROWS(CALLS), ROWS(FUNCTIONS), offsetof(struct hp_pcall, callee), true},
    {ROWS(LINES), ROWS(BLOCKS), offsetof(struct hp_pline, block), false},
    {ROWS(BLOCK_COUNTS), ROWS(BLOCKS), offsetof(struct hp_pcount, item), false},
    {ROWS(BLOCK_COUNTS), ROWS(THREADS), offsetof(struct hp_pcount, thread), false},
    {ROWS(EDGE_COUNTS), ROWS(EDGES), offsetof(struct hp_pcount, item), false},
    {ROWS(EDGE_COUNTS), ROWS(THREADS), offsetof(struct hp_pcount, thread), false},
    {ROWS(FUNCTION_COUNTS), ROWS(FUNCTIONS), offsetof(struct hp_pfunction_count, item), false},
    {ROWS(FUNCTION_COUNTS), ROWS(THREADS), offsetof(struct hp_pfunction_count, thread), false},
    {ROWS(CALL_COUNTS), ROWS(CALLS), offsetof(struct hp_pcall_count, item), false},
    {ROWS(CALL_COUNTS), ROWS(THREADS), offsetof(struct hp_pcall_count, thread), false},
    {ROWS(CONTEXTS), ROWS(CONTEXTS), offsetof(struct hp_pcontext, parent), true},
    {ROWS(CONTEXTS), ROWS(FUNCTIONS), offsetof(struct hp_pcontext, function), true},
    {ROWS(CONTEXT_COUNTS), ROWS(CONTEXTS), offsetof(struct hp_pcontext_count, item), false},
    {ROWS(CONTEXT_COUNTS), ROWS(THREADS), offsetof(struct hp_pcontext_count, thread), false},
    {ROWS(PATHS), ROWS(MODULES), offsetof(struct hp_ppath, start.module), true},
    {ROWS(PATHS), ROWS(FUNCTIONS), offsetof(struct hp_ppath, function), true},
    {ROWS(PATH_STEPS), ROWS(PATHS), offsetof(struct hp_pstep, path), false},
    {ROWS(PATH_STEPS), ROWS(BLOCKS), offsetof(struct hp_pstep, block), false},
    {ROWS(PATH_COUNTS), ROWS(PATHS), offsetof(struct hp_ppath_count, item), false},
    {ROWS(PATH_COUNTS), ROWS(THREADS), offsetof(struct hp_ppath_count, thread), false},
    {ROWS(TABLE_PATHS), ROWS(PATHS), offsetof(struct hp_ptable_path, path), false},
    {ROWS(LOOPS), ROWS(MODULES), offsetof(struct hp_ploop, header.module), true},
    {ROWS(LOOPS), ROWS(FUNCTIONS), offsetof(struct hp_ploop, function), true},
    {ROWS(LOOPS), ROWS(LOOPS), offsetof(struct hp_ploop, parent), true},
    {ROWS(LOOP_COUNTS), ROWS(LOOPS), offsetof(struct hp_ploop_count, item), false},
    {ROWS(LOOP_COUNTS), ROWS(THREADS), offsetof(struct hp_ploop_count, thread), false},
    {ROWS(LOOP_TRIPS), ROWS(LOOPS), offsetof(struct hp_ploop_trips, loop), false},
    {ROWS(LOOP_BLOCKS), ROWS(LOOPS), offsetof(struct hp_ploop_block, loop), false},
    {ROWS(LOOP_BLOCKS), ROWS(BLOCKS), offsetof(struct hp_ploop_block, block), false},
    {ROWS(MODEL_LOOPS), ROWS(MODULES), offsetof(struct hp_pmodel_loop, branch.module), true},
    {ROWS(MODEL_LOOPS), ROWS(MODULES), offsetof(struct hp_pmodel_loop, target.module), true},
    {ROWS(MODEL_LOOPS), ROWS(FUNCTIONS), offsetof(struct hp_pmodel_loop, function), true},
    {ROWS(MODEL_LOOPS), ROWS(LOOPS), offsetof(struct hp_pmodel_loop, loop), true},
    {ROWS(HOTSPOT_BRANCHES), ROWS(HOTSPOTS), offsetof(struct hp_photspot_branch, hotspot), false},
    {ROWS(HOTSPOT_BRANCHES), ROWS(MODULES), offsetof(struct hp_photspot_branch, branch.module),
     true},
    {ROWS(HOTSPOT_BLOCKS), ROWS(HOTSPOTS), offsetof(struct hp_photspot_block, hotspot), false},
    {ROWS(HOTSPOT_BLOCKS), ROWS(BLOCKS), offsetof(struct hp_photspot_block, block), false},
    {ROWS(HOTSPOT_SLICES), ROWS(HOTSPOTS), offsetof(struct hp_photspot_slice, hotspot), false},
    {ROWS(INSNS), ROWS(MODULES), offsetof(struct hp_pinsn, place.module), true},
    {ROWS(INSNS), ROWS(FUNCTIONS), offsetof(struct hp_pinsn, function), true},
    {ROWS(INSN_TALLIES), ROWS(INSNS), offsetof(struct hp_pinsn_tally, insn), false},
    {ROWS(INSN_CYCLES), ROWS(INSNS), offsetof(struct hp_pinsn_cycles, insn), false},
    {ROWS(ATTRIBUTIONS), ROWS(INSNS), offsetof(struct hp_pattribution, insn), false},
    {ROWS(WAITS), ROWS(INSNS), offsetof(struct hp_pwait, insn), false},
    {ROWS(WAITS), ROWS(INSNS), offsetof(struct hp_pwait, producer), false},
    {ROWS(WINDOWS), ROWS(THREADS), offsetof(struct hp_pwindow, thread), false},
};
#define N_REFERENCES (sizeof references / sizeof references[0])

struct mending {
    struct hp_profile *profile;
    bool **dead;
    size_t wrong;
    char *first;
};

static uint32_t *index_at(struct hp_profile *p, const struct reference *r, size_t i)
{
    struct hp_parray_view view = hp_profile_array(p, r->from);
    return (uint32_t *)((char *)hp_parray_items(&view) + i * view.size + r->at);
}

/* Counts what hp_fail() just said of a row. */
static void note_wrong(struct mending *m)
{
    if (m->wrong++ == 0)
        snprintf(m->first, 256, "%s", hp_error_text());
}

static enum hp_err kill(struct mending *m, enum hp_parray which, size_t i)
{
    size_t n = hp_profile_array_length(m->profile, which);
    if (!m->dead[which] && !(m->dead[which] = calloc(n + 1, sizeof **m->dead)))
        return hp_fail_nomem();
    m->dead[which][i] = true;
    return HP_OK;
}

static bool is_dead(const struct mending *m, enum hp_parray which, size_t i)
{
    return m->dead[which] && m->dead[which][i];
}

/* --- Row by row ------------------------------------------------------------------------------- */

/* References that lead nowhere lead to none. */
static void unrefer(struct hp_profile *p, enum hp_parray which, size_t i)
{
    for (size_t k = 0; k < N_REFERENCES; k++) {
        const struct reference *r = &references[k];
        if (r->from != which || !r->optional)
            continue;
        uint32_t *index = index_at(p, r, i);
        if (*index >= hp_profile_array_length(p, r->to))
            *index = HP_PROFILE_NONE;
    }
}

/* What a row can do without. */
static void repair(struct hp_profile *p, enum hp_parray which, size_t i)
{
    unrefer(p, which, i);
    if (which == HP_PARRAY_LOOPS) {
        struct hp_ploop *loop = &p->loops[i];
        if (loop->parent != HP_PROFILE_NONE && p->loops[loop->parent].function != loop->function)
            loop->parent = HP_PROFILE_NONE;
        if (loop->first_line > loop->last_line)
            loop->last_line = loop->first_line;
        loop->flags &= (uint32_t)HP_LOOP_IRREDUCIBLE;
    } else if (which == HP_PARRAY_LOOP_COUNTS) {
        struct hp_ploop_count *count = &p->loop_counts[i];
        count->min = count->max = count->same = count->stride = 0;
        if (count->interrupted > count->executions)
            count->interrupted = count->executions;
    } else if (which == HP_PARRAY_HOTSPOTS && p->hotspots[i].after > p->hotspots[i].total) {
        p->hotspots[i].after = p->hotspots[i].total;
    }
}

static enum hp_err mend_row(struct mending *m, enum hp_parray which, size_t i)
{
    if (is_dead(m, which, i) || hp_profile_check_row(m->profile, which, i) == HP_OK)
        return HP_OK;
    note_wrong(m);
    repair(m->profile, which, i);
    return hp_profile_check_row(m->profile, which, i) == HP_OK ? HP_OK : kill(m, which, i);
}

/* --- Samplers --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct hp_psampler *x = *(const struct hp_psampler *const *)a;
    const struct hp_psampler *y = *(const struct hp_psampler *const *)b;
    int order = hp_compare_text(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

/* Those of one name that were set differently cannot be one: the first stays. */
static enum hp_err mend_samplers(struct mending *m)
{
    struct hp_profile *p = m->profile;
    const struct hp_psampler **order = malloc((p->n_samplers + 1) * sizeof *order);
    enum hp_err err = order ? HP_OK : hp_fail_nomem();
    for (size_t i = 0; i < p->n_samplers && order; i++)
        order[i] = &p->samplers[i];
    if (order && p->n_samplers)
        qsort(order, p->n_samplers, sizeof *order, by_name);
    for (size_t i = 1, first = 0; order && i < p->n_samplers && err == HP_OK; i++) {
        const struct hp_psampler *a = order[first], *b = order[i];
        if (hp_compare_text(a->name, b->name) != 0) {
            first = i;
        } else if (a->interval != b->interval || a->window != b->window || a->width != b->width ||
                   a->near != b->near) {
            hp_fail(HP_ERR_INVALID, "samplers named '%s' were set differently", b->name);
            note_wrong(m);
            err = kill(m, HP_PARRAY_SAMPLERS, (size_t)(b - p->samplers));
        }
    }
    free(order);
    return err;
}

/* --- What is left out ------------------------------------------------------------------------- */

/* What refers to something that is left out. The arrays are in an order in which what is referred to comes first. */
static enum hp_err spread(struct mending *m)
{
    for (size_t k = 0; k < N_REFERENCES; k++) {
        const struct reference *r = &references[k];
        size_t n = hp_profile_array_length(m->profile, r->from);
        for (size_t i = 0; m->dead[r->to] && i < n; i++) {
            uint32_t *index = index_at(m->profile, r, i);
            if (is_dead(m, r->from, i) || *index == HP_PROFILE_NONE || !is_dead(m, r->to, *index))
                continue;
            if (r->optional)
                *index = HP_PROFILE_NONE;
            else
                HP_TRY(kill(m, r->from, i));
        }
    }
    return HP_OK;
}

/* Gives references to rows of `which` their new index, and closes the gaps. */
static enum hp_err close_gaps(struct mending *m, enum hp_parray which)
{
    struct hp_parray_view view = hp_profile_array(m->profile, which);
    size_t n = *view.n, kept = 0;
    char *items = hp_parray_items(&view);
    uint32_t *map = malloc((n + 1) * sizeof *map);
    if (!map)
        return hp_fail_nomem();
    for (size_t i = 0; i < n; i++)
        map[i] = m->dead[which][i] ? HP_PROFILE_NONE : (uint32_t)kept++;
    for (size_t k = 0; k < N_REFERENCES; k++) {
        const struct reference *r = &references[k];
        for (size_t i = 0; r->to == which && i < hp_profile_array_length(m->profile, r->from);
             i++) {
            uint32_t *index = index_at(m->profile, r, i);
            if (*index < n)
                *index = map[*index];
        }
    }
    for (size_t i = 0; i < n; i++)
        if (map[i] != HP_PROFILE_NONE)
            memmove(items + map[i] * view.size, items + i * view.size, view.size);
    *view.n = kept;
    free(map);
    return HP_OK;
}

/* --- Trees ------------------------------------------------------------------------------------ */

#define FEW 16 /* circles that are opened one by one */

/* Opens circles; of more than a few nothing is believed. */
static enum hp_err mend_trees(struct mending *m)
{
    struct hp_profile *p = m->profile;
    uint32_t culprit;
    enum hp_err err;
    for (size_t i = 0; (err = hp_contexts_check_depth(p, &culprit)) == HP_ERR_INVALID; i++) {
        note_wrong(m);
        p->contexts[culprit].parent = HP_PROFILE_NONE;
        for (size_t k = 0; i >= FEW && k < p->n_contexts; k++)
            p->contexts[k].parent = HP_PROFILE_NONE;
    }
    for (size_t i = 0; err == HP_OK && (err = hp_loops_check_nesting(p, &culprit)) != HP_OK; i++) {
        if (err != HP_ERR_INVALID)
            return err;
        err = HP_OK;
        note_wrong(m);
        p->loops[culprit].parent = HP_PROFILE_NONE;
        for (size_t k = 0; i >= FEW && k < p->n_loops; k++)
            p->loops[k].parent = HP_PROFILE_NONE;
    }
    return err;
}

/* --- All -------------------------------------------------------------------------------------- */

static enum hp_err mend(struct mending *m)
{
    struct hp_profile *p = m->profile;
    if ((unsigned)p->run.arch >= HP_ARCH_COUNT_) {
        hp_fail(HP_ERR_INVALID, "architecture %d does not exist", (int)p->run.arch);
        note_wrong(m);
        p->run.arch = HP_ARCH_NONE;
    }
    for (int which = 0; which < HP_PARRAY_COUNT_; which++)
        for (size_t i = 0; i < hp_profile_array_length(p, (enum hp_parray)which); i++)
            HP_TRY(mend_row(m, (enum hp_parray)which, i));
    HP_TRY(mend_samplers(m));
    HP_TRY(spread(m));
    for (int which = 0; which < HP_PARRAY_COUNT_; which++)
        if (m->dead[which])
            HP_TRY(close_gaps(m, (enum hp_parray)which));
    return mend_trees(m);
}

enum hp_err hp_profile_mend_rows(struct hp_profile *p, bool *dead[HP_PARRAY_COUNT_], size_t *wrong,
                                 char first[256])
{
    struct mending m = {.profile = p, .dead = dead, .first = first};
    enum hp_err err = mend(&m);
    *wrong = m.wrong;
    return err;
}

enum hp_err hp_profile_mend(struct hp_profile *p, const char **what)
{
    bool *dead[HP_PARRAY_COUNT_] = {0};
    size_t wrong;
    char first[256];
    *what = NULL;
    enum hp_err err = hp_profile_mend_rows(p, dead, &wrong, first);
    for (int i = 0; i < HP_PARRAY_COUNT_; i++)
        free(dead[i]);
    HP_TRY(err);
    if (wrong == 0)
        return HP_OK;
    char text[400];
    snprintf(text, sizeof text,
             "something in the profile could not be right and was left out; the first: %s", first);
    HP_TRY(hp_profile_note(p, wrong, "mended", "%s", text));
    *what = hp_profile_string(p, text);
    return *what ? HP_OK : HP_ERR_NOMEM;
}
